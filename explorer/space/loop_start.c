/* The points that a person would try first. */
#include "explorer/space/loop_space_impl.h"

#include <math.h>
#include <string.h>

/* TILES: number of tiles kept; AXES_TILED: most axes that are tiled besides the vector */
enum { TILES = 3, AXES_TILED = 2 };
#define PAIR_COSTS 0.02                   /* least gain of score for which a second axis is tiled */

/* Whether the lanes are pixels of a row: channels are then planes, and weights are broadcast. */
static bool lanes_are_pixels(const struct nest_info *nest)
{
    const char *name = nest->vector >= 0 ? nest->axis[nest->vector].name : "";
    return name[0] == 'W' || name[0] == 'H' || name[0] == 'D';
}

/* Makes a point with all iterations in the outermost loops, and no loop vectorized or unrolled. */
static void plain_point(const struct loop_space *s, struct loop_point *p)
{
    const struct nest_info *nest = s->nest;
    bool pixels = lanes_are_pixels(nest);
    memset(p, 0, sizeof *p);
    for (int k = 0; k < s->n; k++) {
        const struct loop_knob *x = &s->knob[k];
        for (int i = 0; i < x->parts; i++)
            p->v[k][i] = i == 0 ? x->extent : 1;
        if (x->kind == KNOB_CONSUMER)
            p->v[k][0] = 2;
        if (x->kind == KNOB_PARALLEL || (x->kind == KNOB_PAD && pixels))
            p->v[k][0] = 1;  /* parallel `auto`; padding `root`: vectors of pixels need a copy */
    }
    /* channels outermost: their weights stay in the cache while the loops over pixels run */
    for (int i = 0; nest->k_order >= 0 && nest->vector >= 0 && i < nest->n_orders; i++)
        if (nest->n_axes > 4 && nest->order[i][0] == nest->vector && !pixels &&
            !p->v[nest->k_order][0])
            p->v[nest->k_order][0] = i;
    if (nest->k_reduce_order >= 0 && !pixels)
        p->v[nest->k_reduce_order][0] = nest->n_reduce_orders - 1;
}

/* A tile: v lanes of the vector axis, and m[i] iterations of each of the n other tiled axes. */
struct start_tile {
    int n, axis[AXES_TILED];
    int64_t v, m[AXES_TILED];
    double used;  /* share of the tile's lanes and pixels that lie inside the extents */
    bool apart;  /* whether every lane has an input of its own, so that vectors share no loads */
};

/* Whether different iterations of an axis read different elements of an operand.  Channels of one
 * group read the same data. */
static bool reads(const struct loop_space *s, int axis, int operand)
{
    const struct loop_axis *x = &s->nest->axis[axis];
    bool weights = x->operands >> OPERAND_WEIGHTS & 1;
    bool group = operand == OPERAND_DATA && x->n_cuts > 0 && weights;
    return !group && x->operands >> operand & 1;
}

/* Scores a tile, as the expert schedules do: by the share of lanes and pixels that is used, and the
 * multiply-adds per load. */
static double tile_score(const struct loop_space *s, const struct start_tile *t)
{
    double vectors = (double)((t->v + s->lanes - 1) / s->lanes), most = s->opts.target->registers;
    double used = t->used * (double)t->v / (vectors * s->lanes), tile = vectors, loads = 0;
    for (int i = 0; i < t->n; i++)
        tile *= (double)t->m[i];
    if (tile > (t->apart ? most / 2 : most - 4))
        return 0;
    if (t->apart) {
        double m = tile / vectors;
        return used * fmin(1, tile / 5) * m / (m + 0.5) - 0.02 * vectors;
    }
    for (int o = 0; o < OPERANDS; o++) {
        double n = reads(s, s->nest->vector, o) ? vectors : 1;
        for (int i = 0; i < t->n; i++)
            n *= reads(s, t->axis[i], o) ? (double)t->m[i] : 1;
        loads += n;
    }
    return used * fmin(1, tile / 10) * tile / (tile + 0.25 * loads);
}

/* Whether every lane has an input of its own, as in depthwise convolutions or small groups that
 * share a vector. */
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

/* Sets the innermost factor of split k to t.  Returns false if t neither divides the extent nor is
 * a tile of k, or if the innermost part is not S4. */
static bool take_tile(const struct loop_knob *k, int64_t t, int64_t *f)
{
    bool there = k->extent % t == 0;
    for (int i = 0; i < k->n_tiles; i++)
        there = there || k->tile[i] == t;
    if (there && k->levels[strlen(k->levels) - 1] == '4')
        knob_set_tile(k, t, f);
    return there && k->levels[strlen(k->levels) - 1] == '4';
}

/* The best tiles so far, best first. */
struct starts {
    const struct loop_space *s;
    int n; struct loop_point p[TILES]; double score[TILES];
};

/* Inserts a point with its tile unrolled; or if that is not sound, with the tile not unrolled; or
 * if neither is, nothing. */
static void try_start(struct starts *b, const struct loop_point *from, double score)
{
    const struct nest_info *nest = b->s->nest;
    int at = b->n;
    while (at > 0 && b->score[at - 1] < score)
        at--;
    if (at == TILES || score <= -1)
        return;
    struct loop_point p = *from;
    int64_t unroll = nest->k_unroll >= 0 ? 1 : 0;
    for (; unroll >= 0; unroll--) {
        if (nest->k_unroll >= 0)
            p.v[nest->k_unroll][0] = unroll;
        if (loop_point_sound(b->s, &p, NULL))
            break;
    }
    if (unroll < 0)
        return;
    b->n += b->n < TILES;
    for (int i = b->n - 1; i > at; i--) {
        b->p[i] = b->p[i - 1];
        b->score[i] = b->score[i - 1];
    }
    b->p[at] = p;
    b->score[at] = score;
}

/* Tiles one more axis, with an index less than `below`, besides those of tile *t of point *from.
 * Tries all sizes of the tile along this axis, and then further axes, up to AXES_TILED.  less: is
 * subtracted from the scores. */
static void try_axes(struct starts *b, const struct loop_point *from, const struct start_tile *t,
                     int below, double less)
{
    const struct loop_space *s = b->s;
    for (int a = 0; a < below; a++) {
        const struct loop_axis *x = &s->nest->axis[a];
        for (int64_t m = t->n > 0 ? 2 : 1;
             !x->reduce && x->knob >= 0 && m <= s->opts.target->registers && m <= x->rest; m++) {
            struct loop_point p = *from;
            struct start_tile u = *t;
            if (!take_tile(&s->knob[x->knob], m, p.v[x->knob]))
                continue;
            u.axis[u.n] = a;
            u.m[u.n++] = m;
            u.used *= (double)x->rest / (double)((x->rest + m - 1) / m * m);
            double cost = less + 1e-3 * (s->nest->vector - a);
            try_start(b, &p, tile_score(s, &u) - cost);
            if (u.n < AXES_TILED && m > 1)
                try_axes(b, &p, &u, a, cost + PAIR_COSTS);
        }
    }
}

/* Unrolls also reductions, as many as keep the whole body small: the taps of a depthwise window, or
 * the few input channels of a first layer. */
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

/* Finds the best tiles, for all lengths of the vector. */
static void find_tiles(struct starts *b)
{
    const struct loop_space *s = b->s;
    const struct nest_info *nest = s->nest;
    struct loop_point p;
    plain_point(s, &p);
    if (nest->pinned || nest->vector < 0)
        return;
    int kv = nest->axis[nest->vector].knob;
    for (int64_t v = 2; kv >= 0 && v <= 64; v++) {
        struct loop_point q = p;
        if (!take_tile(&s->knob[kv], v, q.v[kv]))
            continue;
        q.v[nest->k_vectorize][0] = 1;
        q.v[nest->k_cache_write][0] = 1;
        if (nest->k_stream >= 0)
            q.v[nest->k_stream][0] = nest->streams;
        int64_t rest = s->knob[kv].extent;
        struct start_tile t = { .v = v, .apart = lanes_apart(s, &q) };
        t.used = 0.7 + 0.3 * (double)rest / (double)((rest + v - 1) / v * v);
        try_start(b, &q, tile_score(s, &t) - 0.1);
        try_axes(b, &q, &t, nest->vector, 0);
    }
}

/* Copies the padding instead of inlining it (how & 1), and unrolls less (how & 2).  Returns whether
 * the new point is sound. */
static bool vary(const struct loop_space *s, int how, struct loop_point *p)
{
    const struct nest_info *nest = s->nest;
    if (how & 1 && nest->k_pad >= 0)
        p->v[nest->k_pad][0] = 1;
    if (how & 2 && nest->k_unroll >= 0 && p->v[nest->k_unroll][0] > 1)
        p->v[nest->k_unroll][0]--;
    return loop_point_sound(s, p, NULL);
}

int loop_point_starts(const struct loop_space *s, struct loop_point *p, int most)
{
    /* the best tile: as it is, with the padding copied, less unrolled, both; then other tiles */
    static const struct { int tile, how; } order[] = {
        { 0, 0 }, { 0, 1 }, { 0, 2 }, { 0, 3 }, { 1, 0 }, { 1, 1 }, { 2, 0 }, { 2, 1 },
    };
    struct starts b = { .s = s };
    int n = 0;
    if (s->gpu) {
        gpu_point_start(s, p);
        return 1;
    }
    find_tiles(&b);
    for (int t = 0; t < b.n; t++)
        unroll_more(s, &b.p[t]);
    for (int i = 0; i < COUNT_OF(order) && n < most && order[i].tile < b.n; i++) {
        bool known = false;
        p[n] = b.p[order[i].tile];
        if (!vary(s, order[i].how, &p[n]))
            continue;
        for (int j = 0; j < n; j++)
            known = known || loop_point_equal(s, &p[j], &p[n]);
        n += !known;
    }
    if (n == 0 && most > 0)
        plain_point(s, &p[n++]);
    return n;
}

void loop_point_start(const struct loop_space *s, struct loop_point *p)
{
    loop_point_starts(s, p, 1);
}
