/* Makes the space of the main nest of a program: its axes, where they must be cut, its knobs. */
#include "explorer/space/loop_space_impl.h"

#include <stdlib.h>
#include <string.h>
#include "kernels/base/number.h"
#include "kernels/gen/gen.h"
#include "kernels/nest/lower.h"

#define MOST_TILE 32  /* largest tile that does not divide its axis, unless the axis has cuts */
#define MOST_VECTORS 4  /* the same limit for the vector axis, in vector registers */
#define MOST_NEAR (1 << 20)  /* an operand of fewer bytes stays in the caches of a core */

const char *const knob_kind_name[KNOB_KINDS] = {
    [KNOB_SPATIAL] = "spatial", [KNOB_REDUCE] = "reduce", [KNOB_ORDER] = "order",
    [KNOB_PARALLEL] = "parallel", [KNOB_VECTORIZE] = "vectorize", [KNOB_UNROLL] = "unroll",
    [KNOB_CACHE_WRITE] = "cache_write", [KNOB_CACHE_READ] = "cache_read",
    [KNOB_CONSUMER] = "consumer", [KNOB_PAD] = "pad", [KNOB_RFACTOR] = "rfactor",
    [KNOB_STREAM] = "stream", [KNOB_PREFETCH] = "prefetch",
};

const char *const loop_level_name[LEVELS] = { "S1", "S2", "R1", "S3", "R2", "S4" };

struct loop_builder {
    struct arena *a;
    const struct program *p;
    const struct graph *g;
    const struct node *node;
    const struct stage *stage;
    struct loop_space *s;
    struct nest_info *nest;
    struct loop_knob *knob;
};

/* --- Where loops must be cut ------------------------------------------------------------------ */

static void add_cut(struct loop_axis *x, int64_t cut)
{
    int i = x->n_cuts;
    x->straddles = x->straddles || (cut > x->extent && cut % x->extent);
    for (int j = 0; j < x->n_cuts; j++)
        if (x->cut[j] == cut)
            return;
    if (cut <= 1 || cut >= x->extent || x->n_cuts == AXIS_CUTS)
        return;
    for (; i > 0 && x->cut[i - 1] > cut; i--)
        x->cut[i] = x->cut[i - 1];
    x->cut[i] = cut;
    x->n_cuts++;
}

/* Cuts every axis x of `sum`, an index expression that is divided by c.  (.. + coef x + ..) / c and
 * % c become affine if x is cut at c / gcd(c, coef).  In a transposed convolution, spatial axes get
 * phases instead. */
static void cut_by(struct loop_builder *b, const struct expr *sum, int64_t c)
{
    for (int i = 0; i < b->nest->n_axes; i++) {
        struct loop_axis *x = &b->nest->axis[i];
        const char *n = *x->name == 'K' ? x->name + 1 : x->name;
        bool spatial = b->nest->transposed && *n && strchr("DHW", *n);
        int64_t coef;
        if (!expr_coef(b->p->pool, sum, b->stage->axis[i].var, &coef) || coef == 0)
            continue;
        int64_t cut = c / gcd(c, coef);
        if (!spatial)
            add_cut(x, cut);
        else if (cut > 1)
            x->phase = cut < x->extent ? cut : x->extent;
    }
}

static void find_cuts(struct loop_builder *b, const struct expr *e)
{
    if (!e || e->kind == EXPR_CONST || e->kind == EXPR_VAR)
        return;
    if ((e->kind == EXPR_DIV || e->kind == EXPR_MOD) && e->b->kind == EXPR_CONST)
        cut_by(b, e->a, e->b->value);
    find_cuts(b, e->a);
    find_cuts(b, e->b);
}

static void see_load(void *ctx, const struct val *load)
{
    struct loop_builder *b = ctx;
    for (int o = 0; o < OPERANDS; o++) {
        if (!b->nest->operand[o] ||
            !streq(b->nest->operand[o], b->g->tensor[load->source].name))
            continue;
        for (int i = 0; i < b->nest->n_axes; i++)
            for (int d = 0; d < load->rank; d++)
                if (expr_uses(load->idx[d], b->stage->axis[i].var))
                    b->nest->axis[i].operands |= 1u << o;
    }
    for (int d = 0; d < load->rank; d++)
        find_cuts(b, load->idx[d]);
}

/* --- Axes ------------------------------------------------------------------------------------- */

/* Whether a dim is a part of a tiled dim.  *inner: whether it is the innermost part, as "H.1" is if
 * there is no "H.2". */
static bool is_part(const struct loop_builder *b, const char *name, bool *inner)
{
    const char *dot = strrchr(name, '.');
    if (!dot)
        return false;
    const char *next = arena_printf(b->a, "%.*s.%d", (int)(dot - name), name, atoi(dot + 1) + 1);
    *inner = stage_axis(b->stage, next) < 0;
    return true;
}

static void set_levels(const struct loop_builder *b, struct loop_axis *x)
{
    static const enum loop_level all[] = { LEVEL_S1, LEVEL_S2, LEVEL_S3, LEVEL_S4 };
    bool inner = false, part = is_part(b, x->name, &inner);
    int from = 0, to = 4;
    if (x->reduce) {
        x->parts = 2;
        x->level[0] = LEVEL_R1;
        x->level[1] = LEVEL_R2;
        return;
    }
    if (!b->s->opts.full) {
        from = part && inner ? 1 : 0;
        to = (part && !inner) || streq(x->name, "N") ? 2 : 4;
        if (streq(x->name, "N") && streq(b->node->op, "matmul"))
            to = 4;
    }
    x->parts = to - from;
    memcpy(x->level, all + from, sizeof *all * (size_t)x->parts);
}

static void fill_axes(struct loop_builder *b)
{
    struct nest_info *nest = b->nest;
    struct lowering in = { .pool = b->p->pool, .graph = b->g, .layout = b->p->layout,
                           .stage = b->p->stage, .held_in = b->p->held_in };
    const struct expr *guard;
    nest->vector = -1;
    for (int i = 0; i < b->stage->n_axes; i++) {
        const struct axis *from = &b->stage->axis[i];
        struct loop_axis *x = &nest->axis[nest->n_axes++];
        *x = (struct loop_axis){ .name = from->name, .extent = from->extent,
                                 .reduce = from->reduce, .phase = 1, .knob = -1 };
        set_levels(b, x);
        if (!x->reduce && x->extent > 1)
            nest->vector = i;
    }
    val_each_load(lower_access(&in, b->stage->node, b->stage, &guard), see_load, b);
    for (int i = 0; i < nest->n_axes; i++) {
        struct loop_axis *x = &nest->axis[i];
        x->rest = (x->extent + x->phase - 1) / x->phase;
        x->n_cuts = x->phase > 1 ? 0 : x->n_cuts;
    }
}

/* --- Knobs ------------------------------------------------------------------------------------ */

static int add_knob(struct loop_builder *b, struct loop_knob k)
{
    if (b->s->n == LOOP_KNOBS)
        fail("a loop space with more than %d knobs", LOOP_KNOBS);
    k.size = k.n_choices ? k.n_choices : k.size;
    b->knob[b->s->n] = k;
    b->s->size *= k.size;
    return b->s->n++;
}

static int choice_knob(struct loop_builder *b, enum knob_kind kind, const char *name,
                       const char *const *choice, int n)
{
    if (n < 2)
        return -1;
    return add_knob(b, (struct loop_knob){ .kind = kind, .name = name, .n_choices = n,
                                           .choice = ARENA_DUP(b->a, choice, n) });
}

/* Whether the space offers a tile of t iterations that does not divide the axis (the last tile is
 * shorter).  For the vector axis, t must be a few whole registers.  If blocks of a layout end
 * inside the axis, their sizes must not divide the axis, but must divide t: then accesses stay
 * affine. */
static bool offers_tile(const struct loop_builder *b, const struct loop_axis *x, int64_t t)
{
    bool vector = x - b->nest->axis == b->nest->vector;
    for (int i = 0; i < x->n_cuts; i++)
        if (x->extent % x->cut[i] == 0 || t % x->cut[i] != 0)
            return false;
    bool few = t <= MOST_TILE && (!vector || t <= MOST_VECTORS * b->s->lanes);
    return x->rest % t != 0 && (few || x->n_cuts > 0) && (!vector || t % b->s->lanes == 0);
}

static void add_tiles(const struct loop_builder *b, const struct loop_axis *x, struct loop_knob *k)
{
    int64_t *tile = ARENA_ARRAY(b->a, int64_t, MOST_INNER);
    k->tile = tile;
    bool none = b->s->opts.dividing || x->reduce || strchr(x->name, '.') ||
                x->level[x->parts - 1] != LEVEL_S4 || x->level[0] == LEVEL_S4;
    for (int64_t t = 2; !none && t <= MOST_INNER && t < x->rest; t++)
        if (offers_tile(b, x, t))
            tile[k->n_tiles++] = t;
}

static const char *level_names(struct loop_builder *b, const struct loop_axis *x)
{
    struct str s = { 0 };
    for (int i = 0; i < x->parts; i++)
        str_printf(&s, "%s%s", i ? " " : "", loop_level_name[x->level[i]]);
    const char *kept = arena_strdup(b->a, str_text(&s));
    str_free(&s);
    return kept;
}

/* Counts the factorizations whose last factor is at most MOST_INNER, and the tiles. */
static double count_splits(const struct loop_builder *b, const struct loop_knob *k)
{
    int n;
    const int64_t *list = factor_divisors(b->a, k->extent, &n);
    double size = k->n_tiles;
    for (int i = 0; i < n && list[i] <= MOST_INNER; i++)
        size += factor_count(k->extent / list[i], k->parts - 1);
    return size;
}

static void split_knobs(struct loop_builder *b)
{
    for (int i = 0; i < b->nest->n_axes; i++) {
        struct loop_axis *x = &b->nest->axis[i];
        struct loop_knob k = { .kind = x->reduce ? KNOB_REDUCE : KNOB_SPATIAL, .name = x->name,
                               .extent = x->rest, .parts = x->parts };
        if (x->rest == 1 || x->parts < 2)
            continue;
        add_tiles(b, x, &k);
        k.levels = level_names(b, x);
        k.size = count_splits(b, &k);
        x->knob = add_knob(b, k);
    }
}

/* Makes an order of n axes: `axis` is first or last, the others stay in their plain order. */
static void order_with(const int *plain, int n, int axis, bool first, int *out)
{
    int m = 0;
    if (first)
        out[m++] = axis;
    for (int i = 0; i < n; i++)
        if (plain[i] != axis)
            out[m++] = plain[i];
    if (!first)
        out[m++] = axis;
}

/* Adds an order unless it is there already. */
static void add_order(int (*list)[NEST_AXES], int *n_list, const int *order, int n,
                      const char **choice, const char *name)
{
    for (int i = 0; i < *n_list; i++)
        if (memcmp(list[i], order, sizeof *order * (size_t)n) == 0)
            return;
    memcpy(list[*n_list], order, sizeof *order * (size_t)n);
    choice[(*n_list)++] = name;
}

/* Adds the knobs for orders.  At S1, the orders are the stored one, and those with one axis moved
 * outermost or innermost (the innermost axis decides which data are reused soon).  Loops over
 * phases are outside the loops over pixels, so that the weights of a phase stay in the caches; in
 * one order they are inside, so that the inputs stay there. */
static void order_knobs(struct loop_builder *b)
{
    struct nest_info *nest = b->nest;
    const char *choice[2 * NEST_AXES + 3];
    int plain[NEST_AXES], reduce[NEST_AXES], order[NEST_AXES], n = 0, r = 0, last = -1;
    bool phases = false;
    nest->order = arena_alloc(b->a, sizeof *nest->order * (2 * NEST_AXES + 3));
    nest->reduce_order = arena_alloc(b->a, sizeof *nest->reduce_order * 2);
    for (int i = 0; i < nest->n_axes; i++) {
        if (nest->axis[i].reduce)
            reduce[r++] = i;
        else
            plain[n++] = i;
    }
    add_order(nest->order, &nest->n_orders, plain, n, choice, "as stored");
    for (int k = 0; k < 2 * n; k++) {
        const struct loop_axis *x = &nest->axis[plain[k / 2]];
        phases = phases || x->phase > 1;
        if (x->rest == 1 || x->level[0] != LEVEL_S1)
            continue;
        last = plain[k / 2];
        order_with(plain, n, plain[k / 2], k % 2 == 0, order);
        add_order(nest->order, &nest->n_orders, order, n, choice,
                  arena_printf(b->a, "%s %s", x->name, k % 2 ? "last" : "first"));
    }
    /* move the last axis to the second place, for orders such as N O H W */
    if (last >= 0 && nest->axis[plain[0]].rest > 1) {
        order_with(plain + 1, n - 1, last, true, order + 1);
        order[0] = plain[0];
        add_order(nest->order, &nest->n_orders, order, n, choice,
                  arena_printf(b->a, "%s second", nest->axis[last].name));
    }
    nest->phases_last = phases ? nest->n_orders : -1;
    if (phases) {
        memcpy(nest->order[nest->n_orders], plain, sizeof *plain * (size_t)n);
        choice[nest->n_orders++] = "phases last";
    }
    nest->k_order = choice_knob(b, KNOB_ORDER, "order", choice, nest->n_orders);
    add_order(nest->reduce_order, &nest->n_reduce_orders, reduce, r, choice, "as defined");
    if (r > 1 && nest->axis[reduce[0]].extent > 1) {
        order_with(reduce, r, reduce[0], false, order);
        add_order(nest->reduce_order, &nest->n_reduce_orders, order, r, choice,
                  arena_printf(b->a, "%s last", nest->axis[reduce[0]].name));
    }
    nest->k_reduce_order = choice_knob(b, KNOB_ORDER, "reduce order", choice,
                                       nest->n_reduce_orders);
}

static void mark_knobs(struct loop_builder *b)
{
    static const char *const off_on[] = { "off", "on" };
    static const char *const unroll[] = { "off", "tile", "tile+1", "tile+2", "tile+3", "tile+4" };
    static const char *const where[] = { "off", "S2", "R1" };
    static const char *const parallel[] = { "off", "auto", "1", "2", "3", "4" };
    struct nest_info *nest = b->nest;
    int reductions = 0;
    for (int i = 0; i < nest->n_axes; i++)
        reductions += nest->axis[i].reduce && nest->axis[i].extent > 1;
    if (nest->vector >= 0)
        nest->k_vectorize = choice_knob(b, KNOB_VECTORIZE, "vectorize", off_on, 2);
    nest->k_unroll = choice_knob(b, KNOB_UNROLL, "unroll", unroll,
                                 2 + (reductions < 4 ? reductions : 4));
    nest->k_cache_write = choice_knob(b, KNOB_CACHE_WRITE, "cache_write", off_on, 2);
    for (int o = 0; o < OPERANDS; o++)
        if (nest->operand[o])
            nest->k_cache_read[o] = choice_knob(b, KNOB_CACHE_READ,
                                                arena_printf(b->a, "cache_read %s",
                                                             nest->operand[o]), where, 3);
    if (b->s->opts.threads > 1)
        nest->k_parallel = choice_knob(b, KNOB_PARALLEL, "parallel", parallel, COUNT_OF(parallel));
}

/* --- Neighbouring nodes ----------------------------------------------------------------------- */

/* Applies one more line to *p. If the line is illegal, returns false and leaves *p unchanged. */
static bool try_line(const struct program **p, const char *line)
{
    struct err e;
    return program_apply_line(*p, line, p, &e);
}

/* Returns the outermost and the innermost output loop with more than one iteration; NULL: there is
 * no such loop. */
static struct root_axes outer_and_inner(const struct stage *s)
{
    struct root_axes r = { 0 };
    for (int i = 0; i < s->n_axes; i++) {
        if (s->axis[i].reduce || s->axis[i].extent == 1)
            continue;
        r.outer = r.outer ? r.outer : s->axis[i].name;
        r.inner = s->axis[i].name;
        r.extent = s->axis[i].extent;
    }
    return r;
}

/* Finds the chain of element-wise nodes that can be computed inside the loops of the main one. */
static void find_chain(struct loop_builder *b)
{
    static const char *const where[] = { "root", "S1", "S2" };
    const struct program *p = b->p;
    const char **chain = ARENA_ARRAY(b->a, const char *, b->g->n_nodes);
    const char *axis = b->nest->pinned ? b->nest->s1 : b->stage->axis[0].name;
    int last = -1;
    for (int t = b->node->out; t >= 0 && axis && !b->stage->axis[0].reduce;) {
        int reader = -1, readers = 0;
        for (int n = 0; n < b->g->n_nodes; n++)
            if (graph_reads(b->g, n, t)) {
                reader = n;
                readers++;
            }
        if (readers != 1 || b->p->stage[reader]->attach >= 0 || b->p->stage[reader]->inlined ||
            b->p->stage[reader]->n_steps > 0)
            break;
        const char *name = b->p->stage[reader]->name;
        if (!try_line(&p, arena_printf(b->a, "loop compute_at %s %s %s", name, b->stage->name,
                                       axis)))
            break;
        chain[b->nest->n_chain++] = name;
        last = reader;
        t = b->g->node[reader].out;
    }
    b->nest->chain = chain;
    if (last >= 0)
        b->nest->chain_root = outer_and_inner(b->p->stage[last]);
    if (last >= 0)
        b->nest->k_consumer = choice_knob(b, KNOB_CONSUMER, "consumers", where, 3);
}

/* Finds a padding or conversion whose result only the main node reads. */
static void find_pad(struct loop_builder *b)
{
    static const char *const where[] = { "inline", "root", "S1", "S2" };
    int n = b->g->tensor[b->node->data_in].producer, readers = 0;
    for (int i = 0; i < b->g->n_nodes; i++)
        readers += graph_reads(b->g, i, b->node->data_in);
    if (n < 0 || readers != 1 || b->g->node[n].complex || b->g->node[n].n_reduce > 0 ||
        b->p->stage[n]->n_steps > 0 || b->p->stage[n]->attach >= 0 || b->p->stage[n]->inlined)
        return;
    const struct tensor *out = &b->g->tensor[b->node->data_in];
    const struct tensor *in = &b->g->tensor[b->g->node[n].data_in];
    static const char axes[] = "DHW";
    for (int d = 0; d < out->rank && d < in->rank; d++) {
        const char *at = strchr(axes, *out->dim[d]);
        if (at && out->shape[d] != in->shape[d])
            b->nest->padded[at - axes] = true;
    }
    b->nest->pad = b->p->stage[n]->name;
    b->nest->pad_in = in->name;
    b->nest->pad_root = outer_and_inner(b->p->stage[n]);
    b->nest->k_pad = choice_knob(b, KNOB_PAD, arena_printf(b->a, "%s %s", b->g->node[n].op,
                                                           b->nest->pad), where, 4);
}

/* Adds knobs that prefetch operands which do not stay in the caches of a core.  The data are
 * prefetched for the next iteration of a loop outside the tile.  The weights are prefetched some
 * iterations ahead in the innermost loop of R1. */
static void find_prefetch(struct loop_builder *b)
{
    static const char *const ahead[] = { "off", "8 ahead", "24 ahead", "64 ahead" };
    struct nest_info *nest = b->nest;
    int64_t near = b->s->opts.last_cache / 4, size = b->g->type->bytes;
    const char *choice[NEST_AXES + 1] = { "off" };
    int n = 1;
    near = near > 0 && near < MOST_NEAR ? near : MOST_NEAR;
    for (int i = 0; i < nest->n_axes; i++) {
        const struct loop_axis *x = &nest->axis[i];
        if (x->reduce || x->level[0] > LEVEL_S2 || x->rest == 1 ||
            !(x->operands >> OPERAND_DATA & 1))
            continue;
        nest->prefetch_axis[n] = i;
        choice[n++] = x->name;
    }
    for (int o = 0; o < OPERANDS; o++)
        if (nest->operand[o] && nest->operand_elems[o] * size >= near)
            nest->k_prefetch[o] =
                choice_knob(b, KNOB_PREFETCH, arena_printf(b->a, "prefetch %s", nest->operand[o]),
                            o == OPERAND_DATA ? choice : ahead,
                            o == OPERAND_DATA ? n : COUNT_OF(ahead));
}

/* Finds a result that may be streamed: the output of the last node of the chain or, without a
 * chain, of the main nest.  The result must have at least a quarter of the bytes of the last
 * cache. */
static void find_result(struct loop_builder *b)
{
    static const char *const off_on[] = { "off", "on" };
    struct nest_info *nest = b->nest;
    const char *name = nest->n_chain > 0 ? nest->chain[nest->n_chain - 1] : nest->name;
    int out = b->g->node[program_stage(b->p, name)].out;
    int64_t bytes = layout_bytes(b->p->layout[out]);
    for (int n = 0; n < b->g->n_nodes; n++)
        if (graph_reads(b->g, n, out))
            return;
    for (int n = 0; n < b->g->n_nodes; n++)
        if (b->p->stage[n]->stream)
            return;
    bool held = nest->pinned && nest->n_chain == 0 && !b->stage->cache_at;
    if (b->s->opts.last_cache <= 0 || bytes < b->s->opts.last_cache / 4 || held)
        return;
    nest->result = name;
    nest->streams = bytes >= b->s->opts.last_cache / 2;
    nest->k_stream = choice_knob(b, KNOB_STREAM, arena_printf(b->a, "stream %s", name), off_on,
                                 2);
}

static void see_operand(void *ctx, const struct val *load)
{
    struct loop_builder *b = ctx;
    int t = load->source;
    const char *name = b->g->tensor[t].name;
    int p = b->g->tensor[t].producer;
    bool gone = p >= 0 && b->p->stage[p]->inlined;
    int o = t == b->node->data_in ? OPERAND_DATA : OPERAND_WEIGHTS;
    b->nest->operand[o] = gone ? NULL : name;
    b->nest->operand_elems[o] = b->p->layout[t]->elems;
}

/* Finds whether lines pin the nest.  If so, nodes can be attached at s1, the first output loop, and
 * at s2: the loop of the tile or, without a tile, the last loop before a reduction or vectorized
 * loop. */
static void pin_nest(struct loop_builder *b)
{
    const struct stage *s = b->stage;
    for (int i = 0; i < b->p->n_steps; i++) {
        const struct step *x = b->p->parsed[i];
        bool loop = (x->kind > STEP_LOOP_SPLIT && x->kind <= STEP_LOOP_CACHE_READ) ||
                    x->kind == STEP_LOOP_PREFETCH;
        if (loop && strcaseeq(x->target, s->name))
            b->nest->pinned = true;
    }
    for (int i = 0; b->nest->pinned && i < s->n_axes && !s->axis[i].reduce &&
                    s->axis[i].ann != LOOP_VECTORIZE; i++) {
        b->nest->s1 = i == 0 ? s->axis[i].name : b->nest->s1;
        b->nest->s2 = s->axis[i].name;
        if (s->cache_at && streq(s->cache_at, s->axis[i].name))
            break;
    }
}

static bool open_program(struct loop_builder *b, const char *spec, const char *const *line, int n,
                         struct err *e)
{
    int bad;
    if (!program_replay(b->a, spec, line, n, &b->p, &bad, e))
        return false;
    b->g = b->p->graph;
    b->node = &b->g->node[b->g->main_node];
    b->stage = b->p->stage[b->g->main_node];
    if (b->p->n_algorithms > 0) {
        err_set(e, ERR_NAME, "%s has no loop space: the search does not know its algorithm",
                b->g->op);
        return err_fix(e, "undo the step `algorithm`, or take an expert's schedule");
    }
    bool conv = strstr(b->node->op, "conv") && !streq(b->node->op, "convert");
    if (!b->node->complex || (!conv && !streq(b->node->op, "matmul"))) {
        err_set(e, ERR_NAME,
                "%s has no loop space: %s is neither a convolution nor a matrix product",
                b->g->op, streq(b->g->op, "graph") ? b->node->op : b->g->op);
        return err_fix(e,
                       "the operators with a loop space are c1d c2d c3d grp dep dil t2d t3d gmm "
                       "bmm");
    }
    if (b->stage->n_axes <= NEST_AXES)
        return true;
    return err_set(e, ERR_RANK, "%s has %d loops, but a loop space has at most %d", b->stage->name,
                   b->stage->n_axes, NEST_AXES);
}

static struct loop_opts fill_options(const struct loop_opts *given)
{
    struct loop_opts o = given ? *given : (struct loop_opts){ 0 };
    o.target = target_or_host(o.target);
    o.shared = o.shared > 0 && o.shared < SHARED_MOST ? o.shared : SHARED_MOST;
    return o;
}

/* Fills in the nest and the knobs of a CPU's space. */
static void fill_nest(struct loop_builder *b)
{
    struct nest_info *nest = b->nest;
    nest->k_order = nest->k_reduce_order = nest->k_parallel = nest->k_vectorize = -1;
    nest->k_unroll = nest->k_cache_write = nest->k_consumer = nest->k_pad = nest->k_stream = -1;
    nest->phases_last = -1;
    nest->k_cache_read[OPERAND_DATA] = nest->k_cache_read[OPERAND_WEIGHTS] = -1;
    nest->k_prefetch[OPERAND_DATA] = nest->k_prefetch[OPERAND_WEIGHTS] = -1;
    nest->name = b->stage->name;
    const struct layout *data = b->p->layout[b->node->data_in];
    nest->unfolded = data->n_overlaps > 0;
    /* a dim with two dots, as "H.0.1", means that the tiles of H are in groups */
    for (int d = 0; d < data->rank && nest->unfolded; d++)
        nest->grouped = nest->grouped || strchr(data->dim[d], '.') != strrchr(data->dim[d], '.');
    nest->transposed = str_starts(b->node->op, "tconv");
    pin_nest(b);
    val_each_load(b->node->body, see_operand, b);
    fill_axes(b);
    if (!nest->pinned) {
        split_knobs(b);
        order_knobs(b);
        mark_knobs(b);
    }
    find_pad(b);
    find_chain(b);
    find_result(b);
    if (!nest->pinned)
        find_prefetch(b);
    b->s->knob = b->knob;
    b->s->nest = nest;
}

bool loop_space_new(struct arena *a, const char *spec, const char *const *line, int n,
                    const struct loop_opts *opts, const struct loop_space **out, struct err *e)
{
    struct loop_builder b = { .a = a, .s = ARENA_NEW(a, struct loop_space),
                              .nest = ARENA_NEW(a, struct nest_info),
                              .knob = ARENA_ARRAY(a, struct loop_knob, LOOP_KNOBS) };
    if (!open_program(&b, spec, line, n, e))
        return false;
    b.s->opts = fill_options(opts);
    b.s->lanes = target_lanes(b.s->opts.target, b.g->type);
    b.s->size = 1;
    if (!b.s->opts.target->gpu)
        fill_nest(&b);
    else if (!gpu_space_fill(a, b.p, b.g->main_node, b.s, e))
        return false;
    const char **base = ARENA_ARRAY(a, const char *, n + 1);
    for (int i = 0; i < n; i++)
        base[i] = arena_strdup(a, line[i]);
    b.s->spec = arena_strdup(a, spec);
    b.s->base = base;
    b.s->n_base = n;
    *out = b.s;
    return true;
}
