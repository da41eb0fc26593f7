/* The plain schedule of the nodes that no expert schedules. */
#include "explorer/expert/draft.h"

#include <stdarg.h>

#define VECTORS 4                         /* most vectors of a vectorized output loop */
#define MAX_ROW 256                       /* most iterations of a vectorized reduction loop */
#define MAX_CHEAP 2                       /* most operations of a node that is cheap to repeat */
#define MIN_PARALLEL 100000.0             /* least operations for which waking threads pays off */

bool draft_line(struct draft *d, const char *line, struct err *e)
{
    if (!program_apply_line(d->p, line, &d->p, e))
        return false;
    vec_push(&d->line, arena_strdup(d->a, line));
    return true;
}

/* Applies a step line if it is legal.  Returns whether it was applied. */
static bool try_line(struct draft *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool try_line(struct draft *d, const char *fmt, ...)
{
    struct str line = {0};
    struct err ignored = {0};
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&line, fmt, ap);
    va_end(ap);
    bool ok = draft_line(d, str_text(&line), &ignored);
    str_free(&line);
    return ok;
}

static const struct stage *stage_at(const struct draft *d, int node)
{
    return d->p->stage[node];
}

/* Whether no step has scheduled this node yet. */
static bool is_open(const struct draft *d, int node)
{
    const struct stage *s = stage_at(d, node);
    return s->n_steps == 0 && !s->inlined && s->attach < 0 && !s->cache_at;
}

/* --- Inlining -------------------------------------------------------------------------------- */

static bool has_function(const struct val *v)
{
    return v && (val_is_function(v->kind) || v->kind == VAL_DIV || has_function(v->a)
                 || has_function(v->b));
}

/* Whether a product reads the result of a node, directly or through padding.  A product reads each
 * element often, so a node that computes something must not be inlined into it. */
static bool read_by_product(const struct graph *g, int node)
{
    for (int i = node + 1; i < g->n_nodes; i++)
        if (graph_reads(g, i, g->node[node].out)
            && (g->node[i].complex || (streq(g->node[i].op, "pad") && read_by_product(g, i))))
            return true;
    return false;
}

/* Whether a pad extends the contiguous dim of its operand.  If such a pad were inlined, vector
 * lanes along that dim could not skip the padding. */
static bool pads_lines(const struct program *p, const struct node *n)
{
    const struct tensor *to = &p->graph->tensor[n->out], *from = &p->graph->tensor[n->data_in];
    const struct layout *l = p->layout[n->data_in];
    for (int d = 0; d < to->rank; d++)
        if (to->shape[d] != from->shape[d] && expr_uses(l->rho[l->rank - 1], l->logical[d]))
            return true;
    return false;
}

/* Returns how many times an element of a node's result is read on average, by all readers
 * together. */
static double reads_each(const struct graph *g, int node)
{
    double reads = 0;
    for (int i = node + 1; i < g->n_nodes; i++) {
        const struct node *n = &g->node[i];
        double points = (double)tensor_elems(&g->tensor[n->out]);
        for (int r = 0; r < n->n_reduce; r++)
            points *= (double)(n->reduce[r]->hi + 1);
        reads += graph_reads(g, i, g->node[node].out) ? points : 0;
    }
    return reads / (double)tensor_elems(&g->tensor[g->node[node].out]);
}

/* Whether to inline a node into its readers.  Yes for a pad that keeps the contiguous dim.  Yes for
 * a node that no product reads, if it is cheap or each of its elements is read once.  No for
 * reductions and outputs. */
static bool worth_inlining(const struct program *p, int node)
{
    const struct graph *g = p->graph;
    const struct node *n = &g->node[node];
    if (n->n_reduce > 0 || g->tensor[n->out].role == TENSOR_OUTPUT)
        return false;
    if (streq(n->op, "pad"))
        return !pads_lines(p, n);
    bool cheap = val_flops(n->body) <= MAX_CHEAP && !has_function(n->body);
    return !read_by_product(g, node) && (cheap || reads_each(g, node) <= 1);
}

/* --- Where lanes run ------------------------------------------------------------------------- */

#define JUMPS INT64_MIN  /* value of axis_moves.by if the distance is not constant */

/* One access of a node.  by: per axis, the distance in elements by which its address moves when the
 * axis advances by one.  free: whether it reads a constant whose layout can be chosen, so that it
 * can be contiguous along any axis (pack_constants). */
struct axis_moves {
    const int64_t *by;
    int tensor;
    bool store, free;
    const struct expr *const *idx;
};

struct moves {
    struct draft *d;
    const struct func *f;
    const struct stage *s;
    const struct expr **var;              /* per axis: its variable, in the nest of the access */
    VEC(struct axis_moves) access;
};

static void add_move(struct moves *m, int buffer, const struct expr *const *idx, bool store)
{
    struct exprs *pool = m->f->pool;
    const struct buffer *b = &m->f->buffer[buffer];
    const struct expr *at = buffer_offset(pool, b, idx);
    int64_t *by = ARENA_ARRAY(m->d->a, int64_t, m->s->n_axes + 1);
    for (int i = 0; i < m->s->n_axes; i++)
        if (m->var[i] && !expr_coef(pool, at, m->var[i], &by[i]))
            by[i] = JUMPS;
    struct axis_moves x = { by, b->tensor, store, false, idx };
    x.free = m->d->p->graph->tensor[b->tensor].role == TENSOR_CONST
          && m->d->p->held_in[b->tensor] < 0;
    vec_push(&m->access, x);
}

static void add_load(void *ctx, const struct val *load)
{
    add_move(ctx, load->source, load->idx, false);
}

/* Adds the accesses of all stores of the node in tree t. */
static void add_moves(struct moves *m, const struct tree *t)
{
    if (t->node != m->s->node)
        return;
    if (t->kind == TREE_STORE) {
        val_each_load(t->value, add_load, m);
        add_move(m, t->buffer, t->idx, true);
    }
    int axis = t->kind == TREE_LOOP ? stage_axis(m->s, t->axis) : -1;
    if (axis >= 0)
        m->var[axis] = t->var;
    for (int i = 0; i < t->n_kids; i++)
        add_moves(m, t->kid[i]);
}

static bool find_moves(struct draft *d, int node, struct moves *m)
{
    struct err ignored;
    *m = (struct moves){ .d = d, .s = stage_at(d, node) };
    if (!program_lower(d->p, &m->f, &ignored))
        return false;
    m->var = ARENA_ARRAY(d->a, const struct expr *, m->s->n_axes + 1);
    for (int i = 0; i < m->f->n_roots; i++)
        add_moves(m, m->f->root[i]);
    return true;
}

/* Returns the number of vector instructions per element of a vectorized loop.  For example, 13
 * elements with 8 lanes take 3 instructions, for 8 + 4 + 1 elements: 3 / 13. */
static double per_element(int64_t extent, int lanes)
{
    return (double)(extent / lanes + __builtin_popcountll((uint64_t)(extent % lanes)))
         / (double)extent;
}

/* Returns how many values a node combines into one stored element: 1 without a reduction. */
static double reductions(const struct moves *m)
{
    double n = 1;
    for (int i = 0; i < m->s->n_axes; i++)
        n *= m->s->axis[i].reduce ? (double)m->s->axis[i].extent : 1;
    return n;
}

/* Returns the cost of one iteration if the node is vectorized along an axis.  The unit is the cost
 * of a scalar access. */
static double lane_cost(const struct moves *m, int axis, int lanes)
{
    const struct axis *x = &m->s->axis[axis];
    double part = per_element(x->extent, lanes), cost = part / 4, rare = 1 / reductions(m);
    if (x->reduce && x->extent < lanes)
        return (double)m->access.len + 1;
    for (int i = 0; i < m->access.len; i++) {
        const struct axis_moves *a = &m->access.data[i];
        int64_t by = a->by[axis];
        if (a->store && x->reduce)        /* at the end of a row, the lanes are added up */
            cost += 8.0 / (x->extent < MAX_ROW ? (double)x->extent : MAX_ROW);
        else if (a->store)
            cost += rare * (by == 1 ? part : 1.25);
        else
            cost += by == 0 ? part / 4 : by == 1 || (a->free && !x->reduce) ? part : 1;
    }
    return cost;
}

/* Returns the axis to vectorize: the cheapest one, of equal ones the innermost.  -1: all axes have
 * extent 1. */
static int best_lanes(const struct moves *m, int lanes)
{
    int best = -1;
    double least = 0;
    for (int i = 0; i < m->s->n_axes; i++) {
        double cost = lane_cost(m, i, lanes);
        if (m->s->axis[i].extent > 1 && (best < 0 || cost <= least)) {
            best = i;
            least = cost;
        }
    }
    return best;
}

/* --- Loops ----------------------------------------------------------------------------------- */

/* Whether axes i and i + 1 can be one longer axis with constant distances, in all accesses. */
static bool one_line(const struct moves *m, int i)
{
    const struct axis *x = m->s->axis;
    if (i < 0 || x[i].reduce != x[i + 1].reduce)
        return false;
    for (int k = 0; k < m->access.len; k++) {
        const int64_t *by = m->access.data[k].by;
        if (by[i] == JUMPS || by[i + 1] == JUMPS || by[i] != by[i + 1] * x[i + 1].extent)
            return false;
    }
    return true;
}

/* Fuses the axis with the axes before it, as far as the fused axis still moves by constant
 * distances.  Returns the position of the fused axis. */
static int fuse_line(struct draft *d, int node, int axis)
{
    struct moves m;
    while (axis > 0 && find_moves(d, node, &m)) {
        bool fits = one_line(&m, axis - 1);
        vec_free(&m.access);
        if (!fits || !try_line(d, "loop fuse %s %s %s", m.s->name, m.s->axis[axis - 1].name,
                               m.s->axis[axis].name))
            break;
        axis--;
    }
    return axis;
}

/* Splits an axis of a node into pieces of `inner` iterations.  Returns false if the axis is not
 * longer than a piece, or if the step is not legal. */
static bool cut(struct draft *d, int node, const char *axis, int64_t inner)
{
    const struct stage *s = stage_at(d, node);
    int64_t extent = s->axis[stage_axis(s, axis)].extent;
    return inner < extent
        && try_line(d, "loop split %s %s %lld %lld", s->name, axis,
                    (long long)((extent + inner - 1) / inner), (long long)inner);
}

/* Returns the length of the vectorized loop.  If the axis is too long, it is cut into as few pieces
 * as possible, of equal length, rounded up to whole vectors. */
static int64_t lane_length(const struct draft_machine *m, const struct axis *x, bool square)
{
    int64_t most = square ? m->lanes : x->reduce ? MAX_ROW : (int64_t)VECTORS * m->lanes;
    if (x->extent <= most)
        return x->extent;
    int64_t pieces = (x->extent + most - 1) / most, each = (x->extent + pieces - 1) / pieces;
    return (each + m->lanes - 1) / m->lanes * m->lanes;
}

/* Returns the innermost output axis along which some load does not move; -1: there is none.  The
 * iterations of a tile of this axis share what the load reads.  lanes: the vectorized axis.  If
 * step is 1, considers only loads of vectors: they move by one element from lane to lane, or they
 * move and read a free constant.  If step is 0, considers only loads of scalars, which do not move
 * from lane to lane. */
static int reuse_axis(const struct moves *m, int lanes, int64_t step)
{
    for (int i = m->s->n_axes - 1; i >= 0; i--)
        for (int k = 0; k < m->access.len && !m->s->axis[i].reduce; k++) {
            const struct axis_moves *a = &m->access.data[k];
            if (i != lanes && m->s->axis[i].extent > 1 && !a->store && a->by[i] == 0
                && (a->by[lanes] == step || (step == 1 && a->free && a->by[lanes] != 0)))
                return i;
        }
    return -1;
}

/* Returns the axis for the tile of a reduction; -1: none.  An axis whose iterations share vectors
 * is better than one whose iterations share scalars. */
static int tile_axis(const struct moves *m, int lanes)
{
    int axis = reuse_axis(m, lanes, 1);
    return axis < 0 ? reuse_axis(m, lanes, 0) : axis;
}

/* Finds a load that transposes: its lanes are far apart, but it is contiguous along another axis.
 * Returns that axis: if both axes are tiled, the tile is a square that stays in the cache.  -1: no
 * load transposes. */
static int square_axis(const struct moves *m, int lanes)
{
    for (int k = 0; k < m->access.len; k++) {
        const struct axis_moves *a = &m->access.data[k];
        for (int i = 0; i < m->s->n_axes && !a->store; i++)
            if (i != lanes && a->by[i] == 1 && a->by[lanes] != 0 && a->by[lanes] != 1)
                return i;
    }
    return -1;
}

/* The names of a node's loops in their new order: those of `outer`, then `reduce`, then `inner`. */
struct loop_order { VEC(const char *) outer, reduce, inner; };

/* Lists the loops of an axis: one loop, or if the axis was cut, an outer and an inner one. */
static void list_axis(struct draft *d, struct loop_order *o, const char *name, bool reduce,
                      bool was_cut)
{
    const char *first = was_cut ? arena_printf(d->a, "%s.0", name) : name;
    const char *last = was_cut ? arena_printf(d->a, "%s.1", name) : name;
    if (reduce && was_cut)
        vec_push(&o->reduce, first);
    else if (was_cut)
        vec_push(&o->outer, first);
    vec_push(&o->inner, last);
}

static void reorder(struct draft *d, int node, const struct loop_order *o)
{
    struct str all = {0};
    for (int i = 0; i < o->outer.len; i++)
        str_printf(&all, " %s", o->outer.data[i]);
    for (int i = 0; i < o->reduce.len; i++)
        str_printf(&all, " %s", o->reduce.data[i]);
    for (int i = 0; i < o->inner.len; i++)
        str_printf(&all, " %s", o->inner.data[i]);
    try_line(d, "loop reorder %s%s", stage_at(d, node)->name, str_text(&all));
    str_free(&all);
}

/* lanes: the axis of a node that is vectorized.  tile: the axis that is tiled, or -1.  square:
 * whether the node transposes, so that both axes are tiled. */
struct lane_plan { int lanes, tile; bool square; };

/* Cuts the axes plan->lanes and plan->tile, and lists all loops in their new order. */
static void cut_axes(struct draft *d, int node, const struct lane_plan *plan,
                     const struct draft_machine *m, struct loop_order *o)
{
    const struct stage *s = stage_at(d, node);
    const int lanes = plan->lanes, tile = plan->tile;
    int64_t wide = lane_length(m, &s->axis[lanes], plan->square);
    int64_t vectors = (wide + m->lanes - 1) / m->lanes;
    int64_t most = plan->square ? m->lanes : (m->registers - 4) / vectors - 1;
    for (int i = 0; i < s->n_axes; i++) {
        const struct axis *x = &s->axis[i];
        int64_t rows = (x->extent + most - 1) / (most > 0 ? most : 1);
        if (i == tile && most > 1)
            list_axis(d, o, x->name, false,
                      cut(d, node, x->name, (x->extent + rows - 1) / rows));
        else if (i != lanes && x->reduce)
            vec_push(&o->reduce, x->name);
        else if (i != lanes)
            vec_push(&o->outer, x->name);
    }
    const struct axis *x = &s->axis[lanes];
    list_axis(d, o, x->name, x->reduce, cut(d, node, x->name, wide));
}

/* Makes outer loops parallel until they have enough iterations for the threads; none of them if the
 * node has little work. */
static void parallel(struct draft *d, int node, const struct loop_order *o,
                     const struct draft_machine *m)
{
    const struct graph *g = d->p->graph;
    const struct stage *s = stage_at(d, node);
    double work = g->node[node].flops + (double)tensor_elems(&g->tensor[g->node[node].out]);
    int64_t shared = 1;
    if (m->threads < 2 || work < MIN_PARALLEL)
        return;
    for (int i = 0; i < o->outer.len && shared < 8 * (int64_t)m->threads; i++) {
        if (!try_line(d, "loop parallel %s %s", s->name, o->outer.data[i]))
            return;
        shared *= s->axis[stage_axis(stage_at(d, node), o->outer.data[i])].extent;
    }
}

/* Computes the element-wise nodes after `node` inside its loop `axis`, where that is legal. */
static void attach_followers(struct draft *d, int node, const char *axis)
{
    for (int i = node + 1; i < d->p->graph->n_nodes; i++) {
        const struct node *n = &d->p->graph->node[i];
        if (n->elementwise && is_open(d, i))
            try_line(d, "loop compute_at %s %s %s", stage_at(d, i)->name,
                     stage_at(d, node)->name, axis);
    }
}

static void order_free(struct loop_order *o)
{
    vec_free(&o->outer);
    vec_free(&o->reduce);
    vec_free(&o->inner);
}

/* Schedules a node with loops of its own. */
static void schedule(struct draft *d, int node, const struct draft_machine *machine)
{
    const struct node *n = &d->p->graph->node[node];
    struct loop_order o = {0};
    struct moves m;
    if (!find_moves(d, node, &m))
        return;
    struct lane_plan plan = { best_lanes(&m, machine->lanes), -1, n->n_reduce == 0 };
    if (plan.lanes >= 0)
        plan.tile = (plan.square ? square_axis : tile_axis)(&m, plan.lanes);
    plan.square &= plan.tile >= 0;
    vec_free(&m.access);
    if (plan.lanes < 0)
        return;
    const char *name = m.s->name;
    if (plan.tile < 0)
        plan.lanes = fuse_line(d, node, plan.lanes);
    cut_axes(d, node, &plan, machine, &o);
    reorder(d, node, &o);
    const char *at = o.outer.len > 0 ? o.outer.data[o.outer.len - 1] : NULL;
    if (n->n_reduce > 0 && at)
        try_line(d, "loop cache_write %s at=%s", name, at);
    for (int i = 0; i + 1 < o.inner.len && !plan.square; i++)
        try_line(d, "loop unroll %s %s", name, o.inner.data[i]);
    try_line(d, "loop vectorize %s %s", name, o.inner.data[o.inner.len - 1]);
    if (n->n_reduce > 0 && at)
        attach_followers(d, node, at);
    parallel(d, node, &o, machine);
    order_free(&o);
}

/* Sets the layout of the constant that access `a` reads, so that lanes along `axis` are contiguous.
 * The dim that `axis` indexes is stored in blocks as long as the vectorized loop.  If it does not
 * consist of several whole blocks, it becomes the last dim instead. */
static void pack_constant(struct draft *d, const struct moves *m, const struct axis_moves *a,
                          int axis, const struct draft_machine *machine)
{
    const struct tensor *t = &d->p->graph->tensor[a->tensor];
    int64_t wide = lane_length(machine, &m->s->axis[axis], false);
    struct str text = {0};
    int dim = -1, n = 0;
    for (int k = 0; k < t->rank; k++)
        if (expr_uses(a->idx[k], m->s->axis[axis].var)) {
            dim = k;
            n++;
        }
    bool blocks = n == 1 && t->shape[dim] % wide == 0 && t->shape[dim] > wide;
    if (blocks)
        str_printf(&text, "%s/%lld", t->dim[dim], (long long)wide);
    for (int k = 0; k < t->rank; k++)
        if (k != dim)
            str_printf(&text, "%s%s", text.len ? " " : "", t->dim[k]);
    if (blocks)
        str_printf(&text, " %lld", (long long)wide);
    else if (n == 1)
        str_printf(&text, " %s", t->dim[dim]);
    if (n == 1 && (blocks || a->by[axis] != 1))
        try_line(d, "layout set %s \"%s\"", t->name, str_text(&text));
    str_free(&text);
}

static void pack_constants(struct draft *d, int node, const struct draft_machine *machine)
{
    struct moves m;
    if (d->p->graph->node[node].n_reduce == 0 || !find_moves(d, node, &m))
        return;
    int lanes = best_lanes(&m, machine->lanes);
    for (int k = 0; k < m.access.len && lanes >= 0; k++) {
        const struct axis_moves *a = &m.access.data[k];
        if (a->free && d->p->layout[a->tensor]->n_prims == 0 && !m.s->axis[lanes].reduce
            && a->by[lanes] != 0)
            pack_constant(d, &m, a, lanes, machine);
    }
    vec_free(&m.access);
}

void draft_rest(struct draft *d, const struct draft_machine *m)
{
    for (int i = 0; i < d->p->graph->n_nodes; i++)
        if (is_open(d, i) && !m->gpu)
            pack_constants(d, i, m);
    for (int i = 0; i < d->p->graph->n_nodes; i++)
        if (is_open(d, i) && worth_inlining(d->p, i))
            try_line(d, "loop inline %s", stage_at(d, i)->name);
    for (int i = 0; i < d->p->graph->n_nodes; i++)
        if (is_open(d, i) && m->gpu)
            (void)draft_bind(d, i, &(struct err){0});
        else if (is_open(d, i))
            schedule(d, i, m);
}
