/* Points of loop spaces for the search. */
#include "explorer/tune/kernels_impl.h"

#include <string.h>

static const struct loop_space *space_of(void *ctx, int arm)
{
    return ((struct kernels *)ctx)->arm.data[arm].space;
}

static void point_start(void *ctx, int arm, void *point)
{
    loop_point_start(space_of(ctx, arm), point);
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

void kernels_point_problem(struct tune_problem *p)
{
    p->point_bytes = sizeof(struct loop_point);
    p->point_start = point_start;
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
}
