/* Seeds: the user's schedule and the experts' schedules, combined with the pins. */
#include "explorer/tune/kernels_impl.h"

#include <string.h>

/* Returns the tensor of a layout step, or the key of a setting; "" for other lines. */
static const char *target_of(struct arena *a, const char *line)
{
    const struct step *s;
    struct err e;
    return step_parse(a, line, &s, &e) && s->target ? s->target : "";
}

static bool is_pinned(const struct kernels *k, struct arena *a, const char *line)
{
    if (k->o.fixed)
        return true;
    for (int i = 0; i < k->o.n_pins; i++)
        if (strcaseeq(target_of(a, k->o.pin[i]), target_of(a, line)))
            return true;
    return false;
}

/* A schedule of n lines.  The first n_layout are those that are no loop steps: settings, algorithms
 * and layouts. */
struct schedule { int n_layout, n; const char **line; };

static bool is_algorithm(const char *line)
{
    return str_starts(line, "algorithm ");
}

/* Adds the algorithm lines of a seed.  They must come before the layouts, because some layouts are
 * for tensors that an algorithm makes. */
static void add_algorithms(struct schedule *s, const struct tune_lines *from)
{
    for (int i = 0; i < from->n; i++)
        if (is_algorithm(from->line[i]))
            s->line[s->n++] = from->line[i];
}

/* Combines these lines, in this order: the algorithm lines of a seed; the pinned lines (or all
 * layout lines of the first seed, if k->o.fixed is set); the layout lines of the seed for other
 * tensors; its loop lines.  The first seed keeps its own lines; only the layout lines move to the
 * front. */
static struct schedule over_pins(const struct kernels *k, struct arena *a,
                                 const struct tune_lines *from, bool first)
{
    const struct tune_lines *base = &k->o.schedule[0];
    struct schedule s = {0};
    s.line = ARENA_ARRAY(a, const char *, k->o.n_pins + base->n + from->n);
    if (!first)
        add_algorithms(&s, from);
    if (!first && k->o.fixed) {
        for (int i = 0; i < base->n; i++)
            if (kernels_is_layout(base->line[i]))
                s.line[s.n++] = base->line[i];
    } else if (!first) {
        for (int i = 0; i < k->o.n_pins; i++)
            s.line[s.n++] = k->o.pin[i];
    }
    for (int i = 0; i < from->n; i++)
        if (kernels_is_layout(from->line[i])
            && (first || !(is_algorithm(from->line[i]) || is_pinned(k, a, from->line[i]))))
            s.line[s.n++] = from->line[i];
    s.n_layout = s.n;
    for (int i = 0; i < from->n; i++)
        if (!kernels_is_layout(from->line[i]))
            s.line[s.n++] = from->line[i];
    return s;
}

static const char *family_of(struct kernels *k, const struct program *p)
{
    struct str text = {0};
    const char *family = "";
    int out = p->graph->node[p->graph->main_node].out;
    if (layout_notation(p->layout[out], &text))
        family = arena_strdup(k->keep, str_text(&text));
    str_free(&text);
    return family;
}

/* Whether these lines make a program with as many conversions as p.  An input layout that the
 * caller does not provide costs a conversion, so that equal layouts can belong to different
 * programs. */
static bool converts_alike(const struct kernels *k, struct arena *a, const char *const *line,
                           int n, const struct program *p)
{
    const struct program *other;
    struct err e;
    int bad;
    return program_replay(a, k->o.spec, line, n, &other, &bad, &e) &&
           other->n_conversions == p->n_conversions;
}

/* Returns the arm of the schedule's layout lines: an arm with the same point of the template or the
 * same text, or a new arm.  -1: the lines have no loop space. */
static int arm_of(struct kernels *k, struct arena *a, const struct schedule *s,
                  const struct program *p)
{
    int64_t factor[LAYOUT_KNOBS];
    const char *const *line;
    uint64_t key = 0;
    int n;
    struct err e;
    if (k->layouts && layout_space_find(k->layouts, s->line, s->n_layout, factor, NULL) &&
        !(layout_space_lines(k->layouts, a, factor, &line, &n, &key, &e) &&
          converts_alike(k, a, line, n, p)))
        key = 0;
    const char *text = search_text(a, s->line, s->n_layout);
    for (int i = 0; i < k->arm.len; i++) {
        const struct kernels_arm *x = &k->arm.data[i];
        if ((key && x->key == key) || streq(text, search_text(a, x->line, x->n)))
            return i;
    }
    return kernels_add_arm(k, s->line, s->n_layout, key, family_of(k, p));
}

/* Returns the point of this schedule in the space of the arm; NULL: it is no point there. */
static const void *point_of(struct kernels *k, int arm, const struct schedule *s)
{
    struct loop_point p;
    const struct kernels_arm *x = &k->arm.data[arm];
    memset(&p, 0, sizeof p);
    if (!x->space ||
        !loop_point_from_lines(x->space, s->line + s->n_layout, s->n - s->n_layout, &p, NULL))
        return NULL;
    return ARENA_DUP(k->keep, &p, 1);
}

/* Whether the session's program p has the pinned steps.  If not, the search does not start from the
 * session, but the result is still compared with the session. */
static bool keeps_pins(const struct kernels *k, const struct program *p)
{
    for (int i = 0; i < k->o.n_pins; i++) {
        bool there = false;
        for (int j = 0; j < p->n_steps; j++)
            there = there || streq(p->steps[j], k->o.pin[i]);
        if (!there)
            return false;
    }
    return true;
}

/* Sets the error that says why these layouts have no loops to search; returns false. */
static bool say_why(const struct kernels *k, struct arena *a, const struct schedule *s,
                    struct err *e)
{
    struct loop_opts o = kernels_loop_opts(k);
    const struct loop_space *space;
    return loop_space_new(a, k->o.spec, s->line, s->n_layout, &o, &space, e)
        && err_set(e, ERR_STEP, "the layouts of the session have no loops to tune");
}

/* Closes an arm and clears its key, so that arm_open never opens it again.  Otherwise arm_open
 * would return this arm, which lacks the pins, for a point of the template with the pins. */
static void close_for_good(struct kernels_arm *arm)
{
    arena_free(arm->mem);
    arm->mem = NULL;
    arm->space = NULL;
    arm->key = 0;
}

/* Adds a seed.  first: whether it is the session.  Errors of the session are reported; another seed
 * with errors is left out. */
static bool add_seed(struct kernels *k, struct arena *a, const struct tune_lines *from,
                     bool first, struct err *e)
{
    struct schedule s = over_pins(k, a, from, first);
    const struct program *p;
    const char *const *line = first ? from->line : s.line;
    int n = first ? from->n : s.n, bad;
    if (!program_replay(a, k->o.spec, line, n, &p, &bad, e))
        return !first;
    int arm = arm_of(k, a, &s, p);
    if (arm < 0 && p->n_algorithms > 0)  /* the seed is measured, but its arm has no search space */
        arm = kernels_add_closed(k, s.line, s.n_layout, family_of(k, p));
    if (arm < 0)
        return !first || say_why(k, a, &s, e);
    if (first && !k->o.fixed && !keeps_pins(k, p))
        close_for_good(&k->arm.data[arm]);
    struct tune_seed seed = { .arm = arm, .n_lines = n };
    seed.point = point_of(k, arm, &s);
    const char **copy = ARENA_ARRAY(k->keep, const char *, n + 1);
    for (int i = 0; i < n; i++)
        copy[i] = arena_strdup(k->keep, p->steps[i]);
    seed.line = copy;
    vec_push(&k->seed, seed);
    return true;
}

static bool any_space(const struct kernels *k)
{
    bool any = false;
    for (int i = 0; i < k->arm.len; i++)
        any = any || k->arm.data[i].space;
    return any;
}

/* Adds an arm with only the pins. */
static bool add_pins(struct kernels *k, struct arena *a, struct err *e)
{
    static const struct tune_lines nothing = { "pins", 0, NULL };
    struct schedule s = over_pins(k, a, &nothing, false);
    const struct program *p;
    int bad;
    return program_replay(a, k->o.spec, s.line, s.n, &p, &bad, e)
        && (arm_of(k, a, &s, p) >= 0 || say_why(k, a, &s, e));
}

/* Adds the seeds.  If no arm of a seed can be searched, also adds an arm with only the pins:
 * without this arm, the search would have no layout if the budget is small or the template has no
 * knobs. */
bool kernels_add_seeds(struct kernels *k, struct err *e)
{
    struct arena *a = arena_new();
    bool ok = true;
    for (int i = 0; ok && i < k->o.n_seeds; i++) {
        arena_reset(a);
        ok = add_seed(k, a, &k->o.schedule[i], i == 0, e);
    }
    if (ok && !any_space(k))
        ok = add_pins(k, a, e);
    arena_free(a);
    return ok;
}
