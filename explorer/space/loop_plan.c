/* Computes the plan of a point: the loops in order with their annotations, without any text. */
#include "explorer/space/loop_space_impl.h"

#include <string.h>

struct part { int64_t extent; enum loop_level level; bool phase; };
struct plan_parts { int n; struct part part[AXIS_LOOPS]; };

/* The numbers of elements after which loops of an axis end, descending: the products of its inner
 * factors, and its cuts.  Of any two of them, one divides the other. */
struct ends { int n; int64_t at[LOOP_PARTS + AXIS_CUTS + 2]; };

static bool divides_all(const struct ends *e, int64_t size)
{
    for (int i = 0; i < e->n; i++)
        if (e->at[i] % size && size % e->at[i])
            return false;
    return true;
}

/* Adds a size to the descending list, unless the list has it. */
static void add_end(struct ends *e, int64_t size)
{
    int i = e->n;
    for (int j = 0; j < e->n; j++)
        if (e->at[j] == size)
            return;
    for (; i > 0 && e->at[i - 1] < size; i--)
        e->at[i] = e->at[i - 1];
    e->at[i] = size;
    e->n++;
}

/* Whether to cut an axis at size `cut`.  A vector of whole registers is not cut at blocks smaller
 * than a register, so that groups of few channels share a vector. */
static bool cuts_here(const struct loop_space *s, int axis, int64_t cut, int64_t inner)
{
    const struct nest_info *nest = s->nest;
    return axis != nest->vector || inner % s->lanes || cut >= s->lanes;
}

/* Converts the factors of an axis to loops, outermost first, without loops of one iteration.
 * Returns false if some block ends inside a loop. */
static bool split_axis(const struct loop_space *s, int axis, const int64_t *factor,
                       struct plan_parts *out)
{
    const struct loop_axis *x = &s->nest->axis[axis];
    int64_t size[LOOP_PARTS + 1];         /* size[j]: the product of the factors from j on */
    struct ends e = { 0 };
    size[x->parts] = 1;
    for (int j = x->parts - 1; j >= 0; j--)
        size[j] = size[j + 1] * factor[j];
    for (int j = x->parts; j >= 0; j--)
        add_end(&e, size[j]);
    bool even = true;
    for (int c = 0; c < x->n_cuts; c++) {
        bool ends = size[0] % x->cut[c] == 0 && divides_all(&e, x->cut[c]) &&
                    cuts_here(s, axis, x->cut[c], factor[x->parts - 1]);
        even = even && ends;
        if (ends)
            add_end(&e, x->cut[c]);
    }
    for (int i = 0; i + 1 < e.n; i++) {
        int j = x->parts - 1;
        while (j > 0 && size[j] < e.at[i])
            j--;
        out->part[out->n++] = (struct part){ e.at[i] / e.at[i + 1], x->level[j], false };
    }
    return even;
}

static bool axis_parts(const struct loop_space *s, const struct loop_point *p, int axis,
                       struct plan_parts *out)
{
    const struct loop_axis *x = &s->nest->axis[axis];
    bool even = true;
    out->n = 0;
    if (x->knob >= 0)
        even = split_axis(s, axis, p->v[x->knob], out);
    if (x->phase > 1)
        out->part[out->n++] = (struct part){ x->phase, x->reduce ? LEVEL_R1 : LEVEL_S1, true };
    if (out->n == 0)
        out->part[out->n++] = (struct part){ 1, x->reduce ? LEVEL_R1 : LEVEL_S1, false };
    return even;
}

/* If no output loop is outside the tile, adds one of a single iteration: the tile must be placed
 * inside some loop. */
static void ensure_outer(const struct loop_space *s, struct plan_parts *all)
{
    int first = -1;
    for (int a = 0; a < s->nest->n_axes; a++) {
        if (s->nest->axis[a].reduce)
            continue;
        first = first < 0 ? a : first;
        if (all[a].part[0].level <= LEVEL_S2)
            return;
    }
    struct plan_parts *x = &all[first];
    memmove(x->part + 1, x->part, sizeof *x->part * (size_t)x->n);
    x->part[0] = (struct part){ 1, LEVEL_S1, false };
    x->n++;
}

/* Adds the loops of an axis at a level: its loop over phases (phase = true), or its other loops. */
static void push_level(struct loop_plan *plan, const struct plan_parts *all, int axis,
                       enum loop_level level, bool phase)
{
    for (int i = 0; i < all[axis].n; i++) {
        const struct part *x = &all[axis].part[i];
        if (x->level == level && x->phase == phase)
            plan->loop[plan->n++] = (struct plan_loop){ axis, i, x->extent, level, phase,
                                                        LOOP_SERIAL };
    }
}

static void push_phases(const struct loop_space *s, struct loop_plan *plan,
                        const struct plan_parts *all, bool reduce)
{
    for (int a = 0; a < s->nest->n_axes; a++)
        if (s->nest->axis[a].reduce == reduce)
            push_level(plan, all, a, reduce ? LEVEL_R1 : LEVEL_S1, true);
}

/* Adds the loops of S1 in the chosen order.  All loops over phases are added together: before the
 * first axis that has phases, or last. */
static void push_outer(const struct loop_space *s, struct loop_plan *plan,
                       const struct plan_parts *all, const int *order, int n)
{
    bool last = s->nest->phases_last >= 0 && order == s->nest->order[s->nest->phases_last];
    bool done = last;
    for (int i = 0; i < n; i++) {
        if (s->nest->axis[order[i]].phase > 1 && !done) {
            done = true;
            push_phases(s, plan, all, false);
        }
        push_level(plan, all, order[i], LEVEL_S1, false);
    }
    if (last)
        push_phases(s, plan, all, false);
}

static void order_loops(const struct loop_space *s, const struct loop_point *p,
                        const struct plan_parts *all, struct loop_plan *plan)
{
    const struct nest_info *nest = s->nest;
    const int *plain = nest->order[0], *order = nest->order[knob_choice(p, nest->k_order, 0)];
    const int *reduce = nest->reduce_order[knob_choice(p, nest->k_reduce_order, 0)];
    int n = 0, r;
    while (n < nest->n_axes && !nest->axis[n].reduce)
        n++;
    r = nest->n_axes - n;
    push_outer(s, plan, all, order, n);
    plan->s1 = plan->n - 1;
    for (int i = 0; i < n; i++)
        push_level(plan, all, plain[i], LEVEL_S2, false);
    plan->s2 = plan->n - 1;
    push_phases(s, plan, all, true);
    for (int i = 0; i < r; i++)
        push_level(plan, all, reduce[i], LEVEL_R1, false);
    plan->r1 = plan->n - 1;
    for (int i = 0; i < n; i++)
        push_level(plan, all, plain[i], LEVEL_S3, false);
    for (int i = 0; i < r; i++)
        push_level(plan, all, reduce[i], LEVEL_R2, false);
    for (int i = 0; i < n; i++)
        push_level(plan, all, plain[i], LEVEL_S4, false);
}

/* Annotates inner loops, as far as the knobs say: vectorizes the innermost loop; unrolls the tile
 * and some innermost reduction loops. */
static void mark_inner(const struct loop_space *s, const struct loop_point *p,
                       struct loop_plan *plan)
{
    const struct nest_info *nest = s->nest;
    int64_t unroll = knob_choice(p, nest->k_unroll, 0), reductions = unroll - 1;
    struct plan_loop *last = &plan->loop[plan->n - 1];
    if (knob_choice(p, nest->k_vectorize, 0) && last->axis == nest->vector &&
        last->level == LEVEL_S4)
        last->ann = LOOP_VECTORIZE;
    for (int i = plan->n - 1; i > plan->s2 && unroll > 0; i--) {
        struct plan_loop *l = &plan->loop[i];
        if (l->ann == LOOP_VECTORIZE || l->extent == 1)
            continue;
        if (l->level == LEVEL_S3 || l->level == LEVEL_S4 || reductions-- > 0)
            l->ann = LOOP_UNROLL;
    }
}

/* Makes outer loops of S1 parallel.  Choice 0: none.  Choice 1, `auto`: as few loops as give each
 * thread more than 16 iterations, or all.  Choice q + 1: the first q loops with more than one
 * iteration. */
static void mark_parallel(const struct loop_space *s, const struct loop_point *p,
                          struct loop_plan *plan)
{
    int64_t choice = knob_choice(p, s->nest->k_parallel, 0), iterations = 1, q = 0;
    for (int i = 0; i <= plan->s1 && choice > 0; i++) {
        if (choice == 1 ? iterations > 16 * s->opts.threads : q == choice - 1)
            return;
        plan->loop[i].ann = LOOP_PARALLEL;
        iterations *= plan->loop[i].extent;
        q += plan->loop[i].extent > 1;
    }
}

/* Returns the first loop of an axis that is outside the tile and has more than `ahead` iterations;
 * -1: there is none. */
static int first_loop(const struct loop_plan *plan, int axis, int64_t ahead)
{
    for (int i = 0; i <= plan->s2; i++)
        if (plan->loop[i].axis == axis && !plan->loop[i].phase && plan->loop[i].extent > ahead)
            return i;
    return -1;
}

/* Returns the innermost loop at R1, if the weights depend on its axis and it has more than `ahead`
 * iterations; else -1. */
static int last_reduction(const struct nest_info *nest, const struct loop_plan *plan,
                          int64_t ahead)
{
    const struct plan_loop *l = &plan->loop[plan->r1];
    bool there = plan->r1 > plan->s2 && !l->phase && l->extent > ahead;
    return there && nest->axis[l->axis].operands >> OPERAND_WEIGHTS & 1 ? plan->r1 : -1;
}

/* Sets the prefetches.  If there is no suitable loop for a choice, sets -1 (AT_ROOT), which
 * prefetch_sound refuses. */
static void plan_prefetch(const struct loop_space *s, const struct loop_point *p,
                          struct loop_plan *plan)
{
    static const int64_t ahead[] = { 0, 8, 24, 64 };        /* as the choices of find_prefetch */
    for (int o = 0; o < OPERANDS; o++) {
        int64_t c = knob_choice(p, s->nest->k_prefetch[o], 0);
        plan->ahead[o] = o == OPERAND_WEIGHTS ? ahead[c] : c > 0;
        plan->prefetch[o] = c == 0 ? AT_NONE
                            : o == OPERAND_WEIGHTS ? last_reduction(s->nest, plan, ahead[c])
                                                   : first_loop(plan, s->nest->prefetch_axis[c], 1);
    }
}

/* Returns the loop to which a node is attached (SPEC D.5).  choice: 0 root, 1 S1, 2 S2.  The knob
 * of the padding has one choice more, `inline`, before these. */
static int attach_at(const struct loop_space *s, const struct loop_plan *plan, int64_t choice)
{
    if (choice <= 0)
        return AT_ROOT;
    return s->nest->pinned ? AT_PINNED : choice == 1 ? plan->s1 : plan->s2;
}

void loop_plan_of(const struct loop_space *s, const struct loop_point *p, struct loop_plan *plan)
{
    const struct nest_info *nest = s->nest;
    struct plan_parts all[NEST_AXES];
    *plan = (struct loop_plan){ .s1 = -1, .s2 = -1, .r1 = -1 };
    int64_t consumer = knob_choice(p, nest->k_consumer, 0), pad = knob_choice(p, nest->k_pad, 1);
    if (!nest->pinned) {
        for (int a = 0; a < nest->n_axes; a++)
            plan->uneven |= axis_parts(s, p, a, &all[a]) && !nest->axis[a].straddles ? 0 : 1u << a;
        ensure_outer(s, all);
        order_loops(s, p, all, plan);
        for (int a = 0; a < nest->n_axes; a++) {
            plan->n_parts[a] = all[a].n;
            for (int i = 0; i < all[a].n; i++)
                plan->part[a][i] = all[a].part[i].extent;
        }
        mark_inner(s, p, plan);
        mark_parallel(s, p, plan);
    }
    plan->consumer = attach_at(s, plan, consumer);
    plan->pad = pad == 0 ? AT_INLINE : attach_at(s, plan, pad - 1);
    plan->cache_write = knob_choice(p, nest->k_cache_write, 0) ? plan->s2 : AT_NONE;
    for (int o = 0; o < OPERANDS; o++) {
        int64_t c = knob_choice(p, nest->k_cache_read[o], 0);
        plan->cache_read[o] = c == 0 ? AT_NONE : c == 1 ? plan->s2 : plan->r1;
    }
    plan_prefetch(s, p, plan);
}

const char *loop_plan_name(const struct loop_space *s, const struct loop_plan *plan, int loop,
                           struct str *buffer)
{
    const struct plan_loop *l = &plan->loop[loop];
    const char *name = s->nest->axis[l->axis].name;
    if (plan->n_parts[l->axis] == 1)
        return name;
    str_clear(buffer);
    str_printf(buffer, "%s.%d", name, l->part);
    return str_text(buffer);
}
