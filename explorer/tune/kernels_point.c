/* Points of loop spaces for the search. */
#include "explorer/tune/kernels_impl.h"

#include <string.h>

static const struct loop_space *space_of(void *ctx, int arm)
{
    return ((struct kernels *)ctx)->arm.data[arm].space;
}

static int point_starts(void *ctx, int arm, void *points, int most)
{
    return loop_point_starts(space_of(ctx, arm), points, most);
}

static void point_draw(void *ctx, int arm, struct rng *r, void *point)
{
    loop_point_random(space_of(ctx, arm), r, point);
}

static void point_mutate(void *ctx, int arm, struct rng *r, void *point)
{
    loop_point_mutate(space_of(ctx, arm), r, point);
}

static void point_cross(void *ctx, int arm, struct rng *r, const void *a, const void *b, void *out)
{
    loop_point_cross(space_of(ctx, arm), r, a, b, out);
}

static int n_knobs(void *ctx, int arm)
{
    const struct loop_space *s = space_of(ctx, arm);
    return s ? s->n : 0;
}

static int knob_kind(void *ctx, int arm, int knob)
{
    return (int)space_of(ctx, arm)->knob[knob].kind;
}

static int directions(void *ctx, int arm, int knob)
{
    return loop_knob_directions(&space_of(ctx, arm)->knob[knob]);
}

static void point_move(void *ctx, int arm, void *point, int knob, int direction)
{
    loop_point_move(space_of(ctx, arm), point, knob, direction);
}

static void point_state(void *ctx, int arm, const void *point, float out[TUNE_POINT_STATE])
{
    loop_point_state(space_of(ctx, arm), point, out);
}

/* Writes layout lines, then loop lines. */
static bool point_lines(void *ctx, int arm, const void *point, struct arena *a,
                        const char *const **line, int *n)
{
    const struct kernels_arm *x = &((struct kernels *)ctx)->arm.data[arm];
    const char *const *loops;
    struct err e;
    int n_loops;
    if (!loop_point_sound(x->space, point, &e) ||
        !loop_point_lines(x->space, a, point, &loops, &n_loops, &e))
        return false;
    const char **all = ARENA_ARRAY(a, const char *, x->n + n_loops);
    memcpy(all, x->line, (size_t)x->n * sizeof *all);
    memcpy(all + x->n, loops, (size_t)n_loops * sizeof *all);
    *line = all;
    *n = x->n + n_loops;
    return true;
}

static void point_first(void *ctx, int arm, void *point)
{
    loop_point_first(space_of(ctx, arm), point);
}

static bool point_next(void *ctx, int arm, void *point)
{
    return loop_point_next(space_of(ctx, arm), point);
}

static int point_apart(void *ctx, int arm, const void *x, const void *y)
{
    return loop_point_apart(space_of(ctx, arm), x, y);
}

/* Returns the open arm with the same layouts as the lines of the followed schedule; -1: there is
 * none. Without a layout space, returns arm 0. */
static int arm_like(const struct kernels *k, const struct follow *f, struct arena *a,
                    struct point_why *why)
{
    int64_t factor[LAYOUT_KNOBS];
    const char *const *line;
    struct err e;
    uint64_t key;
    int n, found = k->layouts ? -1 : 0;
    if (k->layouts && layout_space_find(k->layouts, f->line, f->n_lines, factor, why) &&
        layout_space_lines(k->layouts, a, factor, &line, &n, &key, &e))
        for (int i = 0; i < k->arm.len; i++)
            if (k->arm.data[i].key == key && k->arm.data[i].space)
                found = i;
    return found;
}

static bool followed(void *ctx, struct follow *f, struct arena *a, struct tune_candidate *c)
{
    const struct kernels *k = ctx;
    const char **loops = ARENA_ARRAY(a, const char *, f->n_lines + 1);
    struct loop_point p;
    int n = 0;
    for (int i = 0; i < f->n_lines; i++)
        if (!kernels_is_layout(f->line[i]))
            loops[n++] = f->line[i];
    c->arm = arm_like(k, f, a, &f->why);
    if (c->arm < 0 || !k->arm.data[c->arm].space ||
        !loop_point_from_lines(k->arm.data[c->arm].space, loops, n, &p, &f->why))
        return false;
    c->point = ARENA_DUP(a, &p, 1);
    return point_lines(ctx, c->arm, &p, a, &c->line, &c->n_lines);
}

void kernels_point_problem(struct tune_problem *p)
{
    p->point_bytes = sizeof(struct loop_point);
    p->point_starts = point_starts;
    p->point_draw = point_draw;
    p->point_mutate = point_mutate;
    p->point_cross = point_cross;
    p->point_first = point_first;
    p->point_next = point_next;
    p->n_knobs = n_knobs;
    p->knob_kind = knob_kind;
    p->directions = directions;
    p->point_move = point_move;
    p->point_state = point_state;
    p->point_lines = point_lines;
    p->point_apart = point_apart;
    p->followed = followed;
}
