#include "explorer/history/rename.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "kernels/base/vec.h"

/* Returns the stage or tensor whose loops or dimensions the step names. */
static const char *owner_of(const struct step *s)
{
    bool at_other = s->kind == STEP_LOOP_COMPUTE_AT && s->n_args > 0;
    return at_other ? s->arg[0].text : s->target;
}

/* Returns how many words after the target name tensors or stages, although a loop can have the same
 * name: 1 for B in "loop cache_read C B at=K" of a bmm. */
static int n_tensors(const struct step *s)
{
    return str_starts(step_info(s->kind)->syntax, "T T2");
}

/* The present names of the loops of a stage, or of the dimensions of a layout. */
struct loop_names { int n; const char *of[MAX_DIMS * 4]; };

static struct loop_names names_of(const struct program *p, const struct step *s)
{
    struct loop_names x = {0};
    const char *owner = owner_of(s);
    bool loops = streq(step_info(s->kind)->room, "loop");
    int t = loops ? program_stage(p, owner) : graph_tensor(p->graph, owner);
    if (t < 0)
        return x;
    const struct stage *stage = loops ? p->stage[t] : NULL;
    int n = loops ? stage->n_axes : p->layout[t]->rank;
    for (; x.n < n && x.n < COUNT_OF(x.of); x.n++)
        x.of[x.n] = loops ? stage->axis[x.n].name : p->layout[t]->dim[x.n];
    return x;
}

static bool has(const struct loop_names *x, const char *name, size_t len)
{
    for (int i = 0; i < x->n; i++)
        if (strlen(x->of[i]) == len && strncasecmp(x->of[i], name, len) == 0)
            return true;
    return false;
}

/* Returns the present names for a loop `name` that x does not have: the parts into which it was
 * split; if there are none, the loop of which it was a part. */
static struct loop_names now_called(struct arena *a, const struct loop_names *x, const char *name)
{
    struct loop_names found = {0};
    size_t len = strlen(name);
    for (int i = 0; i < x->n; i++)
        if (strncasecmp(x->of[i], name, len) == 0 && x->of[i][len] == '.')
            found.of[found.n++] = x->of[i];
    while (found.n == 0 && len > 0) {
        while (len > 0 && name[len] != '.')
            len--;
        if (len > 0 && has(x, name, len))
            found.of[found.n++] = arena_strndup(a, name, len);
        else
            len -= len > 0;
    }
    return found;
}

struct renaming {
    struct arena *a;
    const struct program *p;
    const struct step *step;
    struct loop_names names;
    const struct step_word *word;         /* words of the whole line */
    int n_words;
    const char **line;                    /* the lines found */
    int n;
    struct err *why;
};

/* Adds a new line to r->line if it applies, or sets *r->why if it does not apply. */
static void propose(struct renaming *r, const char *text)
{
    const struct step *s;
    const struct program *next;
    struct err why;
    for (int i = 0; i < r->n; i++)
        if (streq(r->line[i], text))
            return;
    if (r->n == RENAMES_MAX || streq(text, r->step->text) || !step_parse(r->a, text, &s, &why))
        return;
    if (program_apply(r->p, s, &next, &why)) {
        r->line[r->n++] = s->text;
        return;
    }
    *r->why = why;
    err_prefix(r->why, "as `%.200s`: ", s->text);
}

/* Returns the line without repetitions: of equal words from word `from` on, only the last one
 * stays.  O.0 and O.1 in a list of loops may both have become O. */
static const char *without_repeats(struct arena *a, const char *line, int from)
{
    const struct step_word *w;
    int n;
    struct err ignored;
    struct str out = {0};
    if (!step_words(a, line, &w, &n, &ignored))
        return line;
    for (int i = 0; i < n; i++) {
        bool again = false;
        for (int k = i + 1; k < n; k++)
            again |= i >= from && strcaseeq(w[i].text, w[k].text);
        if (!again)
            str_printf(&out, "%s%s", out.len ? " " : "", w[i].text);
    }
    const char *text = arena_strdup(a, str_text(&out));
    str_free(&out);
    return text;
}

/* Appends word i and the words after it to the line `begun`, and proposes the finished line.  If a
 * word may mean several present names: a step with a list of names gets all of them in one line;
 * for other steps, each of these names makes a line of its own. */
static void write_from(struct renaming *r, int i, const char *begun)
{
    bool list = r->step->kind == STEP_LOOP_REORDER || r->step->kind == STEP_LOOP_FUSE
             || r->step->kind == STEP_LAYOUT_REORDER || r->step->kind == STEP_LAYOUT_FUSE;
    if (i == r->n_words) {
        propose(r, list ? without_repeats(r->a, begun, 3) : begun);
        return;
    }
    const char *text = r->word[i].text, *head = "";
    if (str_starts(text, "at=")) {
        head = "at=";
        text += 3;
    }
    struct loop_names now = {0};
    if (i >= 3 + n_tensors(r->step) && !r->word[i].quoted && !has(&r->names, text, strlen(text)))
        now = now_called(r->a, &r->names, text);
    const char *quote = r->word[i].quoted ? "\"" : "";
    if (now.n == 0)
        write_from(r, i + 1, arena_printf(r->a, "%s%s%s%s%s%s", begun, i ? " " : "", quote, head,
                                          text, quote));
    struct str all = {0};
    for (int k = 0; k < now.n; k++) {
        str_printf(&all, " %s", now.of[k]);
        if (!list)
            write_from(r, i + 1, arena_printf(r->a, "%s %s%s", begun, head, now.of[k]));
    }
    if (list && now.n > 0)
        write_from(r, i + 1, arena_printf(r->a, "%s%s", begun, str_text(&all)));
    str_free(&all);
}

/* Returns the number after the last dot of a loop's name, 1 for "O.1"; -1: the name has no dot.
 * *stem: the length of the name before the dot, or of the whole name. */
static long part_of(const char *name, size_t *stem)
{
    const char *dot = strrchr(name, '.');
    *stem = dot ? (size_t)(dot - name) : strlen(name);
    return dot ? strtol(dot + 1, NULL, 10) : -1;
}

/* Returns the highest number among the parts of the split loop to which `name` belongs. */
static long last_part(const struct stage *s, const char *name)
{
    size_t stem;
    long last = part_of(name, &stem);
    for (int i = 0; i < s->n_axes; i++) {
        const char *other = s->axis[i].name;
        if (strncasecmp(other, name, stem + 1) == 0 && strtol(other + stem + 1, NULL, 10) > last)
            last = strtol(other + stem + 1, NULL, 10);
    }
    return last;
}

/* Whether `name` is a part of a split loop and means another part now: the loop has another number
 * of parts, and the part another extent.  O.0 is always the outermost part, so it never counts. */
static bool is_other_part(const struct stage *was, const struct stage *now, const char *name)
{
    size_t stem;
    int i = stage_axis(was, name), k = stage_axis(now, name);
    return i >= 0 && k >= 0 && part_of(name, &stem) > 0
        && was->axis[i].extent != now->axis[k].extent
        && last_part(was, name) != last_part(now, name);
}

bool rename_other_loops(struct arena *a, const struct program *was, const struct program *now,
                        const struct step *s, struct str *out)
{
    const struct step_word *w;
    int n, before = program_stage(was, owner_of(s)), after = program_stage(now, owner_of(s));
    struct err ignored;
    bool any = false;
    if (!streq(step_info(s->kind)->room, "loop") || before < 0 || after < 0
        || !step_words(a, s->text, &w, &n, &ignored))
        return false;
    const struct stage *x = was->stage[before], *y = now->stage[after];
    for (int i = 3 + n_tensors(s); i < n; i++) {
        const char *name = w[i].text + (str_starts(w[i].text, "at=") ? 3 : 0);
        if (!is_other_part(x, y, name))
            continue;
        str_printf(out, "%s%s is now another loop (extent %lld, was %lld)", any ? ", " : "",
                   name, (long long)y->axis[stage_axis(y, name)].extent,
                   (long long)x->axis[stage_axis(x, name)].extent);
        any = true;
    }
    return any;
}

int rename_step(struct arena *a, const struct program *p, const struct step *s,
                const char *line[RENAMES_MAX], struct err *why)
{
    struct renaming r = { .a = a, .p = p, .step = s, .names = names_of(p, s), .line = line,
                          .why = why };
    struct err ignored;
    if (step_words(a, s->text, &r.word, &r.n_words, &ignored))
        write_from(&r, 0, "");
    return r.n;
}

/* Whether the fused loop `name` was made of the loop `part`: H_W of H and W. */
static bool is_fused_of(const char *name, const char *part)
{
    size_t n = strlen(part);
    for (const char *at = name; strchr(name, '_') && at; at = strchr(at, '_')) {
        at += *at == '_';
        if (strncasecmp(at, part, n) == 0 && (!at[n] || at[n] == '_'))
            return true;
    }
    return false;
}

/* Appends the loops of a stage into which the loop `name` was split or, with `fused`, was fused.
 * Returns their number. */
static int add_successors(const struct stage *s, const char *name, bool fused, struct str *out)
{
    size_t n = strlen(name);
    int found = 0;
    for (int i = 0; i < s->n_axes; i++) {
        const struct axis *x = &s->axis[i];
        bool part = strncasecmp(x->name, name, n) == 0 && x->name[n] == '.';
        if (fused ? !is_fused_of(x->name, name) : !part)
            continue;
        str_printf(out, "%s%s (%lld)", found++ ? ", " : "", x->name, (long long)x->extent);
    }
    return found;
}

const char *rename_why_gone(struct arena *a, const struct program *p, const struct step *s,
                            const struct err *own)
{
    bool loops = own->code == ERR_NAME && streq(step_info(s->kind)->room, "loop");
    int stage = loops ? program_stage(p, owner_of(s)) : -1;
    const char *why = NULL;
    for (int i = n_tensors(s); stage >= 0 && i < s->n_args + s->n_opts && !why; i++) {
        const struct step_opt *o = i < s->n_args ? NULL : &s->opt[i - s->n_args];
        const char *name = !o ? s->arg[i].text : streq(o->key, "at") ? o->text : NULL;
        struct str text = {0};
        if (!name || stage_axis(p->stage[stage], name) >= 0)
            continue;
        if (s->kind == STEP_LOOP_SPLIT && add_successors(p->stage[stage], name, false, &text) > 1)
            why = arena_printf(a, "%s" RENAME_DIVIDED "%s", own->text, str_text(&text));
        else if (str_clear(&text), add_successors(p->stage[stage], name, true, &text) > 0)
            why = arena_printf(a, "%s: it is fused into %s", own->text, str_text(&text));
        str_free(&text);
        break;                            /* *own is about the first name that is gone */
    }
    return why;
}
