/* The point that a person would try first. */
#include "explorer/space/loop_space_impl.h"

#include <math.h>
#include <string.h>

/* Sets all loops outside, without annotations. */
static void plain_point(const struct loop_space *s, struct loop_point *p)
{
    memset(p, 0, sizeof *p);
    for (int k = 0; k < s->n; k++) {
        const struct loop_knob *x = &s->knob[k];
        for (int i = 0; i < x->parts; i++)
            p->v[k][i] = i == 0 ? x->extent : 1;
        if (x->kind == KNOB_CONSUMER)
            p->v[k][0] = 2;
        if (x->kind == KNOB_PARALLEL)
            p->v[k][0] = 1;
    }
    /* channels outermost: their weights stay in the cache while the pixels pass */
    const struct nest_info *nest = s->nest;
    for (int i = 0; nest->k_order >= 0 && nest->vector >= 0 && i < nest->n_orders; i++)
        if (nest->n_axes > 4 && nest->order[i][0] == nest->vector && !p->v[nest->k_order][0])
            p->v[nest->k_order][0] = i;
    if (nest->k_reduce_order >= 0)
        p->v[nest->k_reduce_order][0] = nest->n_reduce_orders - 1;
}

/* Scores a tile of m x v lanes, as the expert schedules do: by the share of lanes and pixels that
 * is used, and the multiply-adds per load.  `apart`: every lane has its own input, so that vectors
 * share no loads. */
static double tile_score(const struct loop_space *s, int64_t m, int64_t v, double used, bool apart)
{
    double vectors = (double)((v + s->lanes - 1) / s->lanes);
    double tile = vectors * (double)m, most = s->opts.target->registers - 4;
    if (tile > (apart ? s->opts.target->registers / 2 : most))
        return 0;
    used *= (double)v / (vectors * s->lanes);
    if (apart)
        return used * fmin(1, tile / 5) * (double)m / ((double)m + 0.5) - 0.02 * vectors;
    return used * fmin(1, tile / 10) * tile / (tile + 0.25 * (vectors + (double)m));
}

/* Whether every lane has an input of its own: depthwise, or small groups that share a vector. */
static bool lanes_apart(const struct loop_space *s, const struct loop_point *p)
{
    struct loop_plan plan;
    bool channels = false;
    for (int a = 0; a < s->nest->n_axes; a++)
        channels = channels || streq(s->nest->axis[a].name, "I") ||
                   streq(s->nest->axis[a].name, "K");
    loop_plan_of(s, p, &plan);
    return !channels || plan.uneven >> s->nest->vector & 1;
}

/* Sets the innermost factor t of knob k; false when there is no such split. */
static bool take_tile(const struct loop_knob *k, int64_t t, int64_t *f)
{
    bool there = k->extent % t == 0;
    for (int i = 0; i < k->n_tiles; i++)
        there = there || k->tile[i] == t;
    if (there && k->levels[strlen(k->levels) - 1] == '4')
        knob_set_tile(k, t, f);
    return there && k->levels[strlen(k->levels) - 1] == '4';
}

struct start { const struct loop_space *s; struct loop_point best; double score; };

static void try_start(struct start *b, struct loop_point *p, double score)
{
    const struct nest_info *nest = b->s->nest;
    if (score <= b->score)
        return;
    for (int64_t unroll = nest->k_unroll >= 0 ? 1 : 0; unroll >= 0; unroll--) {
        if (nest->k_unroll >= 0)
            p->v[nest->k_unroll][0] = unroll;
        if (!loop_point_sound(b->s, p, NULL))
            continue;
        b->best = *p;
        b->score = score;
        return;
    }
}

/* Tries m iterations of one other axis beside the vector. */
static void try_axis(struct start *b, const struct loop_point *from, int axis, int64_t v,
                     double lanes_used, bool apart)
{
    const struct loop_axis *x = &b->s->nest->axis[axis];
    const struct loop_knob *k = &b->s->knob[x->knob];
    for (int64_t m = 1; m <= b->s->opts.target->registers && m <= x->rest; m++) {
        struct loop_point p = *from;
        if (!take_tile(k, m, p.v[x->knob]))
            continue;
        double used = lanes_used * (double)x->rest / (double)((x->rest + m - 1) / m * m);
        try_start(b, &p, tile_score(b->s, m, v, used, apart) - 1e-3 * (b->s->nest->vector - axis));
    }
}

/* Unrolls more while the whole body stays small: the taps of a depthwise window, the channels of
 * a first layer. */
static void unroll_more(const struct loop_space *s, struct loop_point *p)
{
    const struct nest_info *nest = s->nest;
    int64_t most = lanes_apart(s, p) ? 256 : 64;
    for (int64_t u = nest->k_unroll >= 0 ? s->knob[nest->k_unroll].n_choices - 1 : 0; u > 1; u--) {
        struct loop_point q = *p;
        struct loop_plan plan;
        int64_t body = 1;
        q.v[nest->k_unroll][0] = u;
        if (!loop_point_sound(s, &q, NULL))
            continue;
        loop_plan_of(s, &q, &plan);
        for (int i = 0; i < plan.n; i++)
            body *= plan.loop[i].ann == LOOP_UNROLL ? plan.loop[i].extent : 1;
        if (body <= most) {
            *p = q;
            return;
        }
    }
}

void loop_point_start(const struct loop_space *s, struct loop_point *p)
{
    const struct nest_info *nest = s->nest;
    struct start b = { .s = s, .score = -1 };
    if (s->gpu) {
        gpu_point_start(s, p);
        return;
    }
    plain_point(s, p);
    b.best = *p;
    if (nest->pinned || nest->vector < 0)
        return;
    int kv = nest->axis[nest->vector].knob;
    for (int64_t v = 2; kv >= 0 && v <= 64; v++) {
        struct loop_point q = *p;
        if (!take_tile(&s->knob[kv], v, q.v[kv]))
            continue;
        q.v[nest->k_vectorize][0] = 1;
        q.v[nest->k_cache_write][0] = 1;
        if (nest->k_stream >= 0)
            q.v[nest->k_stream][0] = nest->streams;
        bool apart = lanes_apart(s, &q);
        int64_t rest = s->knob[kv].extent;
        double used = 0.7 + 0.3 * (double)rest / (double)((rest + v - 1) / v * v);
        try_start(&b, &q, tile_score(s, 1, v, used, apart) - 0.1);
        for (int a = 0; a < nest->vector; a++)
            if (!nest->axis[a].reduce && nest->axis[a].knob >= 0)
                try_axis(&b, &q, a, v, used, apart);
    }
    *p = b.best;
    unroll_more(s, p);
}
