/* Completion of steps and commands.  The syntax column of step.def says which kind of word is
 * possible at each place of a step (such as T for a tensor, D for a dimension, F for a factor).
 * The names and factors offered are those of the current program. */
#include "explorer/history/command.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include "explorer/history/command_impl.h"
#include "kernels/base/vec.h"
#include "kernels/ops/winograd.h"

#define FACTORS_MAX 64

struct completer {
    struct arena *a;
    const struct history *h;
    const struct program *p;  /* the current program; in `edit N`, the program before step N */
    const char *prefix;                   /* the typed part of the word */
    const struct step_word *word;  /* words before `prefix`; in `edit N STEP`, only those of STEP */
    int n_words;
    VEC(struct completion) found;
};

static void offer(struct completer *c, const char *word, const char *help)
{
    if (strncasecmp(word, c->prefix, strlen(c->prefix)) != 0)
        return;
    for (int i = 0; i < c->found.len; i++)
        if (streq(c->found.data[i].word, word))
            return;
    vec_push(&c->found, (struct completion){ arena_strdup(c->a, word), arena_strdup(c->a, help) });
}

/* --- Slots of the syntax of a step ------------------------------------------------------------ */

/* Returns a word of the syntax of a step, without its brackets.  The first word, T, does not count.
 * option = true: the i-th word that contains '=', as "at=D".  option = false: the i-th of the other
 * words, as "F2"; the word before "..." repeats.  NULL: there is no such word. */
static const char *slot(struct arena *a, enum step_kind kind, int i, bool option)
{
    char *text = arena_strdup(a, step_info(kind)->syntax), *rest = NULL;
    const char *last = NULL;
    strtok_r(text, " ", &rest);
    for (char *w = strtok_r(NULL, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
        w += *w == '[';
        size_t len = strlen(w);
        if (w[len - 1] == ']')
            w[len - 1] = '\0';
        bool repeats = streq(w, "...");
        if (repeats && !option)
            return last;
        if (repeats || (strchr(w, '=') != NULL) != option)
            continue;
        last = w;
        if (i-- == 0)
            return w;
    }
    return NULL;
}

static bool typed_before(const struct completer *c, const char *name, int first)
{
    for (int i = first; i < c->n_words; i++)
        if (strcaseeq(c->word[i].text, name))
            return true;
    return false;
}

/* --- Names in the program --------------------------------------------------------------------- */

static void offer_tensors(struct completer *c)
{
    const struct graph *g = c->p->graph;
    for (int t = 0; t < g->n_tensors; t++) {
        const struct layout *l = c->p->layout[t];
        struct str help = {0};
        for (int d = 0; d < l->rank; d++)
            str_printf(&help, "%s%s=%lld", d ? " " : "", l->dim[d], (long long)l->shape[d]);
        offer(c, g->tensor[t].name, str_text(&help));
        str_free(&help);
    }
}

static void offer_stages(struct completer *c, const char *except)
{
    for (int i = 0; i < c->p->graph->n_nodes; i++) {
        const struct stage *s = c->p->stage[i];
        struct str help = {0};
        stage_print_axes(&help, s);
        const char *text = str_text(&help);
        if (!except || !strcaseeq(s->name, except))
            offer(c, s->name, text + (*text == ' '));
        str_free(&help);
    }
}

/* The dimensions of a tensor's layout, or the loops of a stage. */
struct dims { int n; struct { const char *name; int64_t extent; bool reduce; } dim[64]; };

static struct dims dims_of(const struct completer *c, bool loops, const char *target)
{
    struct dims d = {0};
    int t = loops ? program_stage(c->p, target) : graph_tensor(c->p->graph, target);
    if (t < 0)
        return d;
    const struct stage *s = loops ? c->p->stage[t] : NULL;
    const struct layout *l = loops ? NULL : c->p->layout[t];
    int n = loops ? s->n_axes : l->rank;
    for (; d.n < n && d.n < COUNT_OF(d.dim); d.n++) {
        d.dim[d.n].name = loops ? s->axis[d.n].name : l->dim[d.n];
        d.dim[d.n].extent = loops ? s->axis[d.n].extent : l->shape[d.n];
        d.dim[d.n].reduce = loops && s->axis[d.n].reduce;
    }
    return d;
}

/* Offers the names in d, except those already typed in words `first` and later. head: text before
 * each name, "at=" for an option, else "". */
static void offer_dims(struct completer *c, const struct dims *d, const char *head, int first)
{
    for (int i = 0; i < d->n; i++) {
        if (typed_before(c, d->dim[i].name, first))
            continue;
        const char *help = arena_printf(c->a, "%lld%s", (long long)d->dim[i].extent,
                                        d->dim[i].reduce ? ", a reduction" : "");
        offer(c, arena_printf(c->a, "%s%s", head, d->dim[i].name), help);
    }
}

static void offer_factor(struct completer *c, int64_t factor, int64_t left)
{
    offer(c, arena_printf(c->a, "%lld", (long long)factor),
          arena_printf(c->a, "%lld = %lld x %lld", (long long)left, (long long)(left / factor),
                       (long long)factor));
}

/* Offers the factors that divide the rest of a dimension: its extent divided by the factors typed
 * so far, which begin at word `first`.  Offers the rest itself only after another factor, because a
 * split by the whole extent would leave an outer part of 1. */
static void offer_factors(struct completer *c, const struct dims *d, const char *dim, int first)
{
    int64_t left = 0, large[FACTORS_MAX];
    int n_large = 0;
    for (int i = 0; i < d->n; i++)
        if (strcaseeq(d->dim[i].name, dim))
            left = d->dim[i].extent;
    for (int i = first; i < c->n_words; i++) {
        long long f;
        if (str_to_int64(c->word[i].text, 1, left > 0 ? left : 1, &f))
            left = left % f == 0 ? left / f : 0;
    }
    for (int64_t f = 2; f <= left / f && n_large < FACTORS_MAX; f++) {
        if (left % f != 0)
            continue;
        offer_factor(c, f, left);
        if (left / f != f)
            large[n_large++] = left / f;
    }
    while (n_large > 0)
        offer_factor(c, large[--n_large], left);
    if (left > 1 && c->n_words > first)
        offer_factor(c, left, left);
}

static void offer_other_branches(struct completer *c)
{
    for (int i = 0; i < history_n_branches(c->h); i++) {
        int n, at;
        history_path(c->h, i, &n, &at);
        if (i != history_branch_index(c->h))
            offer(c, history_branch(c->h, i)->name, arena_printf(c->a, "%d step%s", n - 1,
                                                                  n == 2 ? "" : "s"));
    }
}

/* Offers the numbers of the steps of branch b, from `first` on. If b is -1, offers nothing. */
static void offer_positions(struct completer *c, int b, int first)
{
    int n = 0, at;
    const int *path = b < 0 ? NULL : history_path(c->h, b, &n, &at);
    for (int i = first; i < n; i++)
        offer(c, arena_printf(c->a, "%d", i),
              i ? history_state(c->h, path[i])->step : "the bare operator");
}

/* Offers settings from the help of `set`: "change a setting: propagate on|off,
 * output_layout ...". If key is NULL, offers the keys; else the values of this key. */
static void offer_settings(struct completer *c, const char *key)
{
    const char *list = strchr(step_info(STEP_SET)->help, ':');
    char *text = arena_strdup(c->a, list ? list + 1 : ""), *rest = NULL;
    for (char *item = strtok_r(text, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        char *in = NULL, *name = strtok_r(item, " ", &in), *values = strtok_r(NULL, " ", &in);
        if (!name || !values)
            continue;
        if (!key)
            offer(c, name, values);
        for (char *v = strtok_r(values, "|", &in); key && strcaseeq(key, name) && v;
             v = strtok_r(NULL, "|", &in))
            offer(c, v, name);
    }
}

/* Offers the notation of the present layout, if it has one, for editing. */
static void offer_notation(struct completer *c, const char *target)
{
    int t = graph_tensor(c->p->graph, target);
    struct str text = {0};
    if (t >= 0 && layout_notation(c->p->layout[t], &text))
        offer(c, arena_printf(c->a, "\"%s\"", str_text(&text)), "the current layout");
    str_free(&text);
}

/* Offers "scope=local" and "scope=shared" for the slot "scope=local|shared". */
static void offer_choices(struct completer *c, const char *option, const char *key,
                          const char *help)
{
    char *rest = NULL, *text = arena_strdup(c->a, option + strlen(key));
    for (char *v = strtok_r(text, "|", &rest); v; v = strtok_r(NULL, "|", &rest))
        offer(c, arena_printf(c->a, "%s%s", key, v), help);
}

/* --- Steps ------------------------------------------------------------------------------------ */

static void offer_verbs(struct completer *c, const char *room)
{
    for (int k = 0; k < STEP_KIND_COUNT; k++) {
        const struct step_info *i = step_info((enum step_kind)k);
        if (streq(i->room, room) && i->verb[0])
            offer(c, i->verb, arena_printf(c->a, "%s: %s", i->syntax, i->help));
    }
}

/* Offers the second words of steps once a letter is typed: at the prompt of the screen, the first
 * word may be left out. */
static void offer_bare_verbs(struct completer *c)
{
    if (!c->prefix[0])
        return;
    offer_verbs(c, "loop");
    offer_verbs(c, "layout");
}

static void offer_options(struct completer *c, enum step_kind kind, int first, const struct dims *d)
{
    const char *option;
    for (int i = 0; (option = slot(c->a, kind, i, true)) != NULL; i++) {
        size_t key_len = (size_t)(strchr(option, '=') - option) + 1;
        const char *key = arena_strndup(c->a, option, key_len);
        bool given = false;
        for (int w = first; w < c->n_words; w++)
            given |= str_starts(c->word[w].text, key);
        if (given)
            continue;
        if (streq(option + key_len, "D"))
            offer_dims(c, d, key, c->n_words);
        else if (option[key_len] >= '0' && option[key_len] <= '9')
            offer(c, option, step_info(kind)->help);
        else if (islower((unsigned char)option[key_len]))
            offer_choices(c, option, key, step_info(kind)->help);
        else
            offer(c, key, option);
    }
}

static void complete_args(struct completer *c, enum step_kind kind)
{
    const struct step_info *info = step_info(kind);
    bool loops = streq(info->room, "loop");
    const char *target = c->word[2].text, *dim = "", *owner = target;
    int n_args = 0, first_arg = 3;
    for (int i = 3; i < c->n_words; i++) {
        if (strchr(c->word[i].text, '='))
            continue;
        if (n_args == 0)
            dim = c->word[i].text;
        n_args++;
    }
    if (kind == STEP_LOOP_COMPUTE_AT && n_args > 0)
        owner = dim;
    const struct dims d = dims_of(c, loops, owner);
    const char *want = slot(c->a, kind, n_args, false);
    if (want && *want == '"')
        offer_notation(c, target);
    else if (want && *want == 'T')
        offer_stages(c, target);
    else if (want && *want == 'D')
        offer_dims(c, &d, "", first_arg);
    else if (want && *want == 'I')
        for (int ann = LOOP_BLOCK_X; ann < LOOP_ANN_COUNT; ann++)
            offer(c, loop_ann_name[ann], info->help);
    else if (want && *want == 'F')
        offer_factors(c, &d, dim, first_arg + 1);
    if (!want || (*want != 'D' && *want != 'T'))
        offer_options(c, kind, first_arg, &d);
}

static void complete_step(struct completer *c)
{
    const char *room = c->word[0].text;
    if (c->n_words == 1) {
        offer_verbs(c, room);
        return;
    }
    for (int k = 0; k < STEP_KIND_COUNT; k++) {
        const struct step_info *i = step_info((enum step_kind)k);
        if (!streq(i->room, room) || !streq(i->verb, c->word[1].text))
            continue;
        if (c->n_words > 2)
            complete_args(c, (enum step_kind)k);
        else if (streq(room, "loop"))
            offer_stages(c, NULL);
        else
            offer_tensors(c);
    }
}

/* Completes the words of `algorithm T winograd m=M`.  T: the result of a convolution; M: the size
 * of a tile. */
static void complete_algorithm(struct completer *c)
{
    const struct graph *g = c->p->graph;
    const char *help = step_info(STEP_ALGORITHM)->help;
    struct err ignored;
    for (int n = 0; c->n_words == 1 && n < g->n_nodes; n++)
        if (winograd_check(g, n, 2, &ignored))
            offer(c, g->tensor[g->node[n].out].name, help);
    if (c->n_words == 2)
        offer(c, "winograd", help);
    if (c->n_words == 3) {
        offer(c, "m=2", "2.25 times fewer multiplications of a 2-D convolution");
        offer(c, "m=4", "4 times fewer; larger rounding errors and weights");
    }
}

/* Completes a line if it is a step or still empty.  Returns whether the line is one of these. */
static bool complete_any_step(struct completer *c)
{
    const char *first = c->n_words ? c->word[0].text : "";
    if (c->n_words == 0) {
        offer(c, "layout", "change how a tensor is stored");
        offer(c, "loop", "change the loops of a stage");
        offer(c, "algorithm", step_info(STEP_ALGORITHM)->help);
        offer(c, "set", step_info(STEP_SET)->help);
    } else if (streq(first, "layout") || streq(first, "loop")) {
        complete_step(c);
    } else if (streq(first, "algorithm")) {
        complete_algorithm(c);
    } else if (streq(first, "set") && c->n_words <= 2) {
        offer_settings(c, c->n_words == 2 ? c->word[1].text : NULL);
    } else {
        return false;
    }
    return true;
}

/* --- Commands --------------------------------------------------------------------------------- */

static void offer_commands(struct completer *c, const char *const *extra)
{
    for (int i = 0; i < COMMAND_COUNT; i++)
        offer(c, command_info((enum command_id)i)->name, command_info((enum command_id)i)->help);
    for (int i = 0; extra && extra[i]; i++)
        offer(c, extra[i], "");
}

/* Completes STEP in `edit N STEP` and `insert N STEP`, for the program before step N. */
static void complete_changed_step(struct completer *c)
{
    long long number;
    int n, at;
    const int *path = history_path(c->h, history_branch_index(c->h), &n, &at);
    if (!str_to_int64(c->word[1].text, 1, n, &number))
        return;
    c->p = history_state(c->h, path[number - 1])->program;
    c->word += 2;
    c->n_words -= 2;
    if (complete_any_step(c) && c->n_words == 0)
        offer_bare_verbs(c);
}

static void complete_command(struct completer *c, enum command_id id)
{
    if (c->n_words > 1 && (id == COMMAND_EDIT || id == COMMAND_INSERT)) {
        complete_changed_step(c);
        return;
    }
    if (c->n_words == 2 && id == COMMAND_MOVE) {
        offer(c, "up", "one place earlier");
        offer(c, "down", "one place later");
    }
    struct err ignored;
    bool at = id == COMMAND_BRANCH && c->n_words == 2 && streq(c->word[1].text, "at");
    if (id == COMMAND_BRANCH && c->n_words == 1)
        offer(c, "at", "another step than the current one");
    if (at)
        offer_positions(c, history_branch_index(c->h), 0);
    if (c->n_words == 2 && id == COMMAND_PICK)
        offer_positions(c, history_branch_find(c->h, c->word[1].text, &ignored), 1);
    if (c->n_words > 1)
        return;
    if (id == COMMAND_GOTO || (id >= COMMAND_EDIT && id <= COMMAND_INSERT))
        offer_positions(c, history_branch_index(c->h), id == COMMAND_GOTO ? 0 : 1);
    else if (id == COMMAND_SWITCH || id == COMMAND_DELETE || id == COMMAND_PICK)
        offer_other_branches(c);
}

/* Returns the byte offset at which the last word of the line starts. */
static int word_start(const char *line)
{
    int start = 0;
    bool quoted = false;
    for (int i = 0; line[i]; i++) {
        if (line[i] == '"') {
            quoted = !quoted;
            start = quoted ? i : start;
        } else if (!quoted && (line[i] == ' ' || line[i] == '\t')) {
            start = i + 1;
        }
    }
    return start;
}

void command_complete(struct arena *a, const struct history *h, const char *line,
                      const char *const *extra, struct completions *out)
{
    struct completer c = { .a = a, .h = h, .p = history_current(h)->program };
    struct err ignored;
    *out = (struct completions){ .replace_from = word_start(line) };
    c.prefix = line + out->replace_from;
    const char *head = arena_strndup(a, line, (size_t)out->replace_from);
    if (strchr(line, '#') || !step_words(a, head, &c.word, &c.n_words, &ignored))
        return;
    int id = c.n_words ? command_find(c.word[0].text) : -1;
    if (complete_any_step(&c) && c.n_words == 0) {
        offer_commands(&c, extra);
        offer_bare_verbs(&c);
    } else if (id >= 0) {
        complete_command(&c, (enum command_id)id);
    }
    out->n = c.found.len;
    if (c.found.len > 0)
        out->item = ARENA_DUP(a, c.found.data, c.found.len);
    vec_free(&c.found);
}
