#include "explorer/history/blame.h"

#include <string.h>
#include "kernels/base/vec.h"

/* The findings of blame_loop so far.  names: the loop, and the loops of older states from which it
 * was made.  said: the effects of steps, newest first; by: the numbers of these steps. */
struct blamed {
    struct arena *a;
    const char *stage;
    VEC(const char *) names;
    VEC(const char *) said;
    VEC(int) by;
};

static const struct stage *find_stage(const struct program *p, const char *name)
{
    int s = program_stage(p, name);
    return s >= 0 ? p->stage[s] : NULL;
}

/* Whether a loop's name contains `part` as a whole: names are joined by _ and numbered after a dot,
 * so that KH.0 contains KH but not H. */
static bool contains(const char *name, const char *part)
{
    size_t n = strlen(part);
    for (const char *at = name; *at; at++)
        if ((at == name || at[-1] == '_') && strncasecmp(at, part, n) == 0
            && strchr("._", at[n]))      /* also true at the end of the name */
            return true;
    return false;
}

/* Adds the loops from which a step made the loop `name`: the loops of `old` that the step replaced
 * and whose names are related (O for O.1, N and H for N_H); if there are none, all loops that the
 * step replaced. */
static void add_origins(struct blamed *b, const struct stage *old, const struct stage *now,
                        const char *name)
{
    int before = b->names.len;
    for (int related = 1; related >= 0 && b->names.len == before; related--)
        for (int i = 0; i < old->n_axes; i++) {
            const char *x = old->axis[i].name;
            if (stage_axis(now, x) < 0 && (!related || contains(name, x) || contains(x, name)))
                vec_push(&b->names, x);
        }
}

static bool names_loop(const struct step *s, const char *stage, const char *loop)
{
    bool here = s->target && strcaseeq(s->target, stage), found = false;
    for (int i = 0; i < s->n_args; i++) {
        found = found || (here && strcaseeq(s->arg[i].text, loop));
        here = here || (s->kind == STEP_LOOP_COMPUTE_AT && strcaseeq(s->arg[i].text, stage));
    }
    for (int i = 0; i < s->n_opts; i++)
        found = found || (here && streq(s->opt[i].key, "at") && s->opt[i].text
                          && strcaseeq(s->opt[i].text, loop));
    return found;
}

/* Returns a description of what step s did to a loop; NULL: it did nothing to it.  old, now: the
 * loop's stage before and after the step; old is NULL if the stage did not exist. */
static const char *effect_on(struct blamed *b, const struct step *s, const struct stage *old,
                             const struct stage *now, const char *loop)
{
    int i = old ? stage_axis(old, loop) : -1, j = stage_axis(now, loop);
    if (j < 0)
        return NULL;
    loop = now->axis[j].name;
    if (i < 0)
        return arena_printf(b->a, "made %s", loop);
    const struct axis *x = &old->axis[i], *y = &now->axis[j];
    if (x->ann != y->ann)
        return arena_printf(b->a, "set %s to %s", loop,
                            y->ann == LOOP_SERIAL ? "serial" : loop_ann_name[y->ann]);
    if (x->extent != y->extent)
        return arena_printf(b->a, "changed %s from %lld to %lld iterations", loop,
                            (long long)x->extent, (long long)y->extent);
    if (!names_loop(s, b->stage, loop))
        return NULL;
    return arena_printf(b->a, s->kind == STEP_LOOP_REORDER ? "moved %s" : "uses %s", loop);
}

/* Notes what a state's step did to the loops in b->names.  Returns false when the step made the
 * stage of these loops: older states do not have this stage. */
static bool look_at(struct blamed *b, const struct state *at, const struct program *before,
                    int number)
{
    const struct program *p = at->program;
    const struct stage *now = find_stage(p, b->stage), *old = find_stage(before, b->stage);
    const struct step *s = p->parsed[p->n_steps - 1];
    struct str text = {0};
    for (int i = 0, n = b->names.len; now && i < n; i++) {
        const char *name = b->names.data[i], *what = effect_on(b, s, old, now, name);
        if (!what)
            continue;
        str_printf(&text, "%s%s", text.len ? " and " : "", what);
        if (old && stage_axis(old, name) < 0)
            add_origins(b, old, now, name);
    }
    if (text.len > 0) {
        vec_push(&b->said, arena_printf(b->a, "step %d (%s) %s", number, at->step,
                                        str_text(&text)));
        vec_push(&b->by, number);
    }
    str_free(&text);
    return old != NULL;
}

static struct blamed find_blame(const struct history *h, const char *stage, const char *loop)
{
    struct blamed b = { .a = arena_new(), .stage = stage };
    int n, at;
    const int *path = history_path(h, history_branch_index(h), &n, &at);
    vec_push(&b.names, loop);
    for (int i = at; i > 0; i--) {
        const struct state *s = history_state(h, path[i]);
        const struct program *before = history_state(h, s->parent)->program;
        if (!s->held && !look_at(&b, s, before, i))
            break;
    }
    return b;
}

static void blamed_free(struct blamed *b)
{
    vec_free(&b->names);
    vec_free(&b->said);
    vec_free(&b->by);
    arena_free(b->a);
}

void blame_loop(struct str *out, const struct history *h, const char *stage, const char *loop)
{
    struct blamed b = find_blame(h, stage, loop);
    str_printf(out, "%s of %s: ", loop, stage);
    for (int i = b.said.len - 1; i >= 0; i--)
        str_printf(out, "%s%s", b.said.data[i], i > 0 ? "; " : "");
    if (b.said.len == 0)
        str_add(out, "no step; it is a loop of the operator itself");
    blamed_free(&b);
}

/* Returns the number of the last of the steps 1 to `at` of a path that gave a loop its annotation;
 * 0: no step did. */
static int annotated_by(const struct history *h, const int *path, int at, const char *stage,
                        const char *loop)
{
    for (int i = at; i > 0; i--) {
        char verb[16], of[64], name[64];
        const struct state *s = history_state(h, path[i]);
        if (!s->held && history_annotation(s->step, verb, of, name) && strcaseeq(of, stage)
            && strcaseeq(name, loop))
            return i;
    }
    return 0;
}

/* Returns the number of the last of the steps 1 to `at` of a path that made a loop of this name; 0:
 * no step did. */
static int made_by(const struct history *h, const int *path, int at, const char *stage,
                   const char *loop)
{
    for (int i = at; i > 0; i--) {
        const struct state *s = history_state(h, path[i]);
        const struct stage *now = find_stage(s->program, stage);
        const struct stage *old = find_stage(history_state(h, s->parent)->program, stage);
        if (!s->held && now && old && stage_axis(now, loop) >= 0 && stage_axis(old, loop) < 0)
            return i;
    }
    return 0;
}

static bool is_told(enum loop_ann ann)
{
    return ann == LOOP_VECTORIZE || ann == LOOP_UNROLL || ann == LOOP_PARALLEL;
}

/* Appends the steps that set the loops inside loop number `outer` of stage s to what they are, and
 * those that made these loops, so that they have as many iterations as they have. */
static void print_annotations(struct str *out, const struct history *h, const struct stage *s,
                              int outer, const int *path, int at)
{
    bool first = true;
    int last = 0;
    for (int i = outer + 1; i < s->n_axes; i++) {
        const struct axis *x = &s->axis[i];
        int by = is_told(x->ann) ? annotated_by(h, path, at, s->name, x->name) : 0;
        if (by == 0)
            continue;
        str_printf(out, "; %sstep %d (%s) set %s to %s", first ? "inside it, " : "", by,
                   history_state(h, path[by])->step, x->name, loop_ann_name[x->ann]);
        first = false;
    }
    for (int i = outer + 1; i < s->n_axes; i++) {
        const struct axis *x = &s->axis[i];
        int by = is_told(x->ann) ? made_by(h, path, at, s->name, x->name) : 0;
        if (by > 0 && by == last)
            str_printf(out, " and %s", x->name);
        else if (by > 0)
            str_printf(out, "; step %d (%s) made %s", by, history_state(h, path[by])->step,
                       x->name);
        last = by > 0 ? by : last;
    }
}

/* Whether a step gave tiles or other stages to the loops of stage number `of`, or took them away;
 * p: the program after the step. */
static bool moves_work_into(const struct step *s, const struct program *p, int of)
{
    int target = s->target ? program_stage(p, s->target) : -1;
    bool tile = s->kind == STEP_LOOP_CACHE_WRITE || s->kind == STEP_LOOP_CACHE_READ
                || s->kind == STEP_LOOP_PREFETCH || s->kind == STEP_LOOP_STREAM;
    if (s->kind == STEP_LOOP_COMPUTE_AT && s->n_args > 0 && program_stage(p, s->arg[0].text) == of)
        return true;
    if (s->kind == STEP_LOOP_INLINE || s->kind == STEP_LOOP_COMPUTE_ROOT)
        return target >= 0 && graph_reads(p->graph, of, p->graph->node[target].out);
    return (tile || s->kind == STEP_LOOP_COMPUTE_AT) && target == of;
}

void blame_inside(struct str *out, const struct history *h, const char *stage, const char *loop)
{
    const struct stage *s = find_stage(history_current(h)->program, stage);
    int n, at, outer = s ? stage_axis(s, loop) : -1;
    const int *path = history_path(h, history_branch_index(h), &n, &at);
    if (outer < 0)
        return;
    print_annotations(out, h, s, outer, path, at);
    struct blamed b = find_blame(h, stage, loop);
    bool first = true;
    for (int i = 1, k = b.by.len - 1; i <= at; i++) {
        bool listed = k >= 0 && b.by.data[k] == i;       /* by blame_loop */
        k -= listed;
        const struct state *of = history_state(h, path[i]);
        const struct program *p = of->program;
        const struct step *step = of->held ? NULL : p->parsed[p->n_steps - 1];
        int here = step ? program_stage(p, stage) : -1;
        if (here < 0 || listed || !moves_work_into(step, p, here))
            continue;
        str_printf(out, "%sstep %d (%s)", first ? "; in the same stage, " : ", ", i, of->step);
        first = false;
    }
    blamed_free(&b);
}

void blame_print(struct str *out, const struct history *h)
{
    const struct program *p = history_current(h)->program;
    for (int s = 0; s < p->graph->n_nodes; s++)
        for (int i = 0; i < p->stage[s]->n_axes; i++) {
            blame_loop(out, h, p->stage[s]->name, p->stage[s]->axis[i].name);
            str_add_char(out, '\n');
        }
}
