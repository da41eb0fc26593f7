/* The parts of the lowering pass that deal with buffers and accesses: which tensors are
 * parameters, the rewritten body of a node, and the tiles of producers computed inside a loop of
 * their consumer. */
#include "kernels/nest/lower_impl.h"

#include <string.h>

#include "kernels/ir/simplify.h"

#define MAX_TILE 262144 /* most elements of a producer tile: 1 MiB of stack */
#define MAX_VARS 64

/* A search for a load of a tensor, directly or through inlined nodes. */
struct producer_search {
    const struct lowering *in;
    int tensor;
    bool found;
};

static void search_load(void *ctx, const struct val *load)
{
    struct producer_search *s = ctx;
    int m = s->in->graph->tensor[load->source].producer;
    s->found = s->found || load->source == s->tensor;
    if (!s->found && m >= 0 && s->in->stage[m]->inlined)
        val_each_load(s->in->graph->node[m].body, search_load, s);
}

static bool reads_through(const struct lowering *in, int n, int t)
{
    struct producer_search s = { in, t, false };
    val_each_load(in->graph->node[n].body, search_load, &s);
    return s.found;
}

/* Tensor t lives in memory unless it is an intermediate that only attached nodes touch:
 *   - a producer attached to its only consumer lives in that consumer's tile;
 *   - an attached stage's intermediate lives in the accumulator tile when every consumer is
 * attached at the tile's own loop, and an attached consumer's intermediate when every consumer of
 * it is attached there as well. */
bool low_lives_in_memory(const struct lowering *in, int t)
{
    const struct graph *g = in->graph;
    const struct tensor *x = &g->tensor[t];
    if (x->producer < 0 || x->role == TENSOR_OUTPUT)
        return true;
    const struct stage *s = in->stage[x->producer];
    if (s->inlined || s->attach > x->producer)
        return false;
    int outer = s->attach >= 0 ? s->attach : x->producer;
    const char *at = s->attach >= 0 ? s->attach_axis : s->cache_at;
    int readers = 0;
    for (int n = 0; n < g->n_nodes; n++) {
        const struct stage *c = in->stage[n];
        if (c->inlined || !reads_through(in, n, t))
            continue;
        readers++;
        if (!at || c->attach != outer || !streq(c->attach_axis, at))
            return true;
    }
    return s->attach >= 0 ? readers != 1 : readers == 0;
}

static int host_of(const struct lowering *in, int t)
{
    return in->held_in ? in->held_in[t] : -1;
}

static struct buffer param_of(const struct lowering *in, int t)
{
    const struct layout *l = in->layout[t];
    struct buffer b = { .name = in->graph->tensor[t].name,
                        .tensor = t,
                        .type = in->graph->tensor[t].type,
                        .memory = MEMORY_GLOBAL,
                        .rank = l->rank,
                        .elems = l->elems,
                        .layout = l };
    memcpy(b.shape, l->shape, sizeof b.shape);
    b.written = in->graph->tensor[t].producer >= 0;
    b.stream = b.written && in->stage[in->graph->tensor[t].producer]->stream;
    for (int n = 0; n < in->graph->n_nodes; n++)
        b.read = b.read || graph_reads(in->graph, n, t);
    return b;
}

/* Returns a line for each tensor that is stored inside t ("K=64 holds Bias"), or NULL. */
static const char *guests_of(const struct low *w, int t)
{
    struct str out = { 0 };
    for (int k = 0; k < w->in->graph->n_tensors; k++)
        if (host_of(w->in, k) == t) {
            str_add(&out, out.len ? "\n" : "");
            layout_say_stored(&out, w->in->layout[k]);
        }
    const char *text = out.len ? arena_strdup(w->arena, str_text(&out)) : NULL;
    str_free(&out);
    return text;
}

/* Allocates tables with one entry per tensor on the heap: there may be hundreds of tensors. */
static void low_tables(struct low *w)
{
    w->param = xcalloc((size_t)w->in->graph->n_tensors, sizeof *w->param);
    w->bound = xcalloc((size_t)w->in->graph->n_tensors, sizeof *w->bound);
    for (int t = 0; t < w->in->graph->n_tensors; t++)
        w->bound[t].tile = -1;
}

void low_open(struct low *w)
{
    const struct graph *g = w->in->graph;
    low_tables(w);
    for (int t = 0; t < g->n_tensors; t++) {
        w->param[t] = -1;
        if (host_of(w->in, t) < 0 && low_lives_in_memory(w->in, t)) {
            struct buffer b = param_of(w->in, t);
            b.holds = guests_of(w, t);
            w->param[t] = low_buffer(w, &b);
        }
    }
    for (int t = 0; t < g->n_tensors; t++)
        if (host_of(w->in, t) >= 0)
            w->param[t] = w->param[host_of(w->in, t)];
}

void low_close(struct low *w)
{
    vec_free(&w->buffers);
    vec_free(&w->rebound);
    free(w->param);
    free(w->bound);
}

int low_buffer(struct low *w, const struct buffer *b)
{
    vec_push(&w->buffers, *b);
    return w->buffers.len - 1;
}

static struct binding *rebind(struct low *w, int tensor)
{
    vec_push(&w->rebound, tensor);
    return &w->bound[tensor];
}

void low_bind(struct low *w, int tensor, const struct val *value)
{
    *rebind(w, tensor) = (struct binding){ .value = value, .tile = -1 };
}

void low_unbind(struct low *w, int tensor)
{
    if (tensor >= 0)
        w->bound[tensor] = (struct binding){ .tile = -1 };
    for (int i = 0; tensor < 0 && i < w->rebound.len; i++)
        w->bound[w->rebound.data[i]] = (struct binding){ .tile = -1 };
    if (tensor < 0)
        vec_clear(&w->rebound);
}

const struct func *low_func(struct low *w, const struct kids *roots)
{
    struct func *f = ARENA_NEW(w->arena, struct func);
    f->pool = w->in->pool;
    f->graph = w->in->graph;
    f->n_buffers = w->buffers.len;
    f->buffer = ARENA_DUP(w->arena, w->buffers.data, w->buffers.len);
    while (f->n_params < f->n_buffers && f->buffer[f->n_params].memory == MEMORY_GLOBAL)
        f->n_params++;
    f->autovectorize = w->in->autovectorize;
    f->n_roots = roots->len;
    f->root = ARENA_DUP(w->arena, roots->data, roots->len);
    return f;
}

struct region;

/* The substitution for one node at one output position.  phi gives the logical variables, the stage
 * the reduction variables. */
struct point {
    struct low *w;
    int n_vars, n_reduce;
    const struct expr *var[MAX_VARS], *with[MAX_VARS];
    const struct expr *reduce_axis[MAX_VARS];
    struct region *region;  /* collects what is read of region->tensor; NULL: nothing */
};

static const struct expr *point_index(void *ctx, const struct expr *e)
{
    struct point *pt = ctx;
    struct exprs *p = pt->w->in->pool;
    return expr_simplify(p, expr_subst(p, e, pt->var, pt->with, pt->n_vars));
}

/* Computes phi_Y(index), and the guard of Y there. */
static void point_open(struct point *pt, struct low *w, int node, const struct expr *const *index,
                       const struct stage *s, const struct expr **guard)
{
    struct exprs *p = w->in->pool;
    const struct node *n = &w->in->graph->node[node];
    const struct layout *l = w->in->layout[n->out];
    *pt = (struct point){ .w = w };
    for (int d = 0; d < n->n_spatial; d++) {
        pt->var[pt->n_vars] = n->spatial[d];
        pt->with[pt->n_vars++] =
            expr_simplify(p, expr_subst(p, l->phi[d], l->phys, index, l->rank));
    }
    if (s->node == node)
        for (int r = 0; r < n->n_reduce; r++) {
            pt->var[pt->n_vars] = n->reduce[r];
            pt->with[pt->n_vars++] = s->reduce[r];
        }
    for (int i = 0; i < s->n_axes; i++)
        if (s->axis[i].reduce && !axis_is_fixed(&s->axis[i]))
            pt->reduce_axis[pt->n_reduce++] = s->axis[i].var;
    *guard = l->guard ? expr_simplify(p, expr_subst(p, l->guard, l->phys, index, l->rank)) : NULL;
}

static const struct val *point_load(void *ctx, const struct val *load);
static void region_note(struct low *w, struct region *r, int tensor, const struct expr *const *idx);
static bool one_copy(const struct point *pt, int tensor);

/* Builds the value of an inlined node at logical position idx, over the loops of its reader. */
static const struct val *inlined_value(const struct point *reader, int node,
                                       const struct expr *const *idx)
{
    const struct node *n = &reader->w->in->graph->node[node];
    struct point at = *reader;
    at.n_vars = n->n_spatial;
    for (int d = 0; d < n->n_spatial; d++) {
        at.var[d] = n->spatial[d];
        at.with[d] = idx[d];
    }
    struct val_map map = { .ctx = &at, .load = point_load, .index = point_index };
    return val_rebuild(reader->w->arena, n->body, &map);
}

static const struct val *point_load(void *ctx, const struct val *load)
{
    struct point *pt = ctx;
    struct low *w = pt->w;
    struct exprs *p = w->in->pool;
    const struct binding *b = &w->bound[load->source];
    const struct layout *l = w->in->layout[load->source];
    const struct expr *idx[MAX_DIMS];
    int producer = w->in->graph->tensor[load->source].producer;
    if (b->value)
        return b->value;
    if (producer >= 0 && w->in->stage[producer]->inlined)
        return inlined_value(pt, producer, load->idx);
    if (host_of(w->in, load->source) >= 0)
        for (int d = 0; d < l->rank; d++)
            idx[d] = expr_simplify(p, expr_subst(p, l->rho[d], l->logical, load->idx, load->rank));
    else
        layout_rewrite(p, l, load->idx, pt->reduce_axis,
                       one_copy(pt, load->source) ? 0 : pt->n_reduce, idx);
    if (pt->region)
        region_note(w, pt->region, load->source, idx);
    bool tile = b->tile >= 0 && !w->past_tiles;
    for (int d = 0; tile && d < l->rank; d++)
        idx[d] = expr_simplify(p, expr_sub(p, idx[d], b->origin[d]));
    return val_load(w->arena, tile ? b->tile : w->param[load->source], l->rank,
                    ARENA_DUP(w->arena, idx, l->rank));
}

static bool same_const(const struct val *x, const struct val *y)
{
    return x->kind == VAL_CONST && y->kind == VAL_CONST && x->value == y->value;
}

/* select(1, x, y) ==> x, select(0, x, y) ==> y, select(c, select(d, x, k), k) ==> select(c && d, x,
 * k) for constant k. */
static const struct val *fold_selects(struct exprs *p, const struct val *v)
{
    struct arena *a = exprs_arena(p);
    if (v->kind == VAL_CONST || v->kind == VAL_LOAD)
        return v;
    if (v->kind == VAL_SELECT && v->cond->kind == EXPR_CONST)
        return fold_selects(p, v->cond->value ? v->a : v->b);
    const struct val *x = fold_selects(p, v->a), *y = v->b ? fold_selects(p, v->b) : NULL;
    if (v->kind == VAL_SELECT && x->kind == VAL_SELECT && same_const(x->b, y))
        return val_select(a, expr_simplify(p, expr_and(p, v->cond, x->cond)), x->a, y);
    return val_with(a, v, x, y);
}

const struct val *low_guarded(struct low *w, const struct val *v, const struct expr *guard)
{
    if (!guard || expr_is_const(guard, 1))
        return v;
    return fold_selects(w->in->pool, val_select(w->arena, guard, v, val_const(w->arena, 0)));
}

const struct val *low_init(struct low *w, int node, const struct expr *const *index)
{
    struct exprs *p = w->in->pool;
    const struct node *n = &w->in->graph->node[node];
    const struct layout *l = w->in->layout[n->out];
    const struct val *init = val_const(w->arena, n->init);
    if (!l->guard || n->init == 0)
        return init;
    return low_guarded(w, init, expr_simplify(p, expr_subst(p, l->guard, l->phys, index, l->rank)));
}

static void join(struct exprs *p, const struct expr **guard, const struct expr *c)
{
    *guard = *guard ? expr_simplify(p, expr_and(p, *guard, c)) : c;
}

/* Whether e has the same value in all lanes of the vectorized loop of s. */
static bool lanes_agree(const struct stage *s, const struct expr *e)
{
    for (int i = 0; i < s->n_axes; i++)
        if (s->axis[i].ann == LOOP_VECTORIZE && expr_uses(e, s->axis[i].var))
            return false;
    return true;
}

/* Moves the conjuncts of e that are equal in all lanes to *guard.  Returns the others; or NULL. */
static const struct expr *uniform_part(struct exprs *p, const struct stage *s,
                                       const struct expr *e, const struct expr **guard)
{
    if (e->kind == EXPR_AND) {
        const struct expr *a = uniform_part(p, s, e->a, guard);
        const struct expr *b = uniform_part(p, s, e->b, guard);
        return !a ? b : !b ? a : expr_and(p, a, b);
    }
    if (!lanes_agree(s, e))
        return e;
    join(p, guard, e);
    return NULL;
}

/* Moves the conditions of the factors of product v to *guard. Returns v without them. */
static const struct val *factor(struct low *w, const struct val *v, const struct stage *s,
                                const struct expr **guard)
{
    struct exprs *p = w->in->pool;
    if (v->kind == VAL_MUL)
        return val_with(w->arena, v, factor(w, v->a, s, guard), factor(w, v->b, s, guard));
    if (v->kind != VAL_SELECT || !val_is_const(v->b, 0))
        return v;
    const struct expr *rest = uniform_part(p, s, v->cond, guard);
    return rest ? val_select(w->arena, expr_simplify(p, rest), v->a, v->b)
                : factor(w, v->a, s, guard);
}

const struct val *low_summand(struct low *w, const struct val *v, const struct stage *s,
                              const struct expr **guard)
{
    struct exprs *p = w->in->pool;
    for (; v->kind == VAL_SELECT && val_is_const(v->b, 0); v = v->a)
        join(p, guard, v->cond);
    return v->kind == VAL_MUL ? factor(w, v, s, guard) : v;
}

const struct val *low_body(struct low *w, int node, const struct expr *const *index,
                           const struct stage *s, const struct expr **guard)
{
    struct point pt;
    point_open(&pt, w, node, index, s, guard);
    struct val_map map = { .ctx = &pt, .load = point_load, .index = point_index };
    return fold_selects(w->in->pool, val_rebuild(w->arena, w->in->graph->node[node].body, &map));
}

const struct val *low_body_past_tiles(struct low *w, int node, const struct expr *const *index,
                                      const struct stage *s, const struct expr **guard)
{
    w->past_tiles = true;
    const struct val *v = low_body(w, node, index, s, guard);
    w->past_tiles = false;
    return v;
}

/* The box of physical indices of tensor t that stage s reads in its loops inside depth pos:
 *     origin[d] = access with the inner variables at 0,   extent[d] = 1 + max of (access - origin)
 * In a dim where access - origin depends on outer loops, or the access on data, the box is the
 * whole dim. */
struct region {
    const struct stage *s;
    int tensor, pos, n_loads;
    const struct expr *origin[MAX_DIMS];
    int64_t extent[MAX_DIMS];
};

/* Whether the tile must always hold the same copy of an unfolded element.  The loop bounds decide
 * which copy a window reads, and a loop that is cut inside of a tile gets other bounds than the
 * tile was made for. */
static bool one_copy(const struct point *pt, int tensor)
{
    const struct binding *b = &pt->w->bound[tensor];
    if (pt->region && pt->region->tensor == tensor)
        return pt->region->s->n_limits > 0;
    return b->tile >= 0 && !pt->w->past_tiles && b->one_copy;
}

static void region_dim(struct exprs *p, struct region *r, const struct layout *l, int d,
                       const struct expr *access)
{
    const struct expr *inner[MAX_VARS], *zero[MAX_VARS];
    int n = 0;
    for (int i = r->pos; i < r->s->n_axes; i++)
        if (!axis_is_fixed(&r->s->axis[i])) {
            inner[n] = r->s->axis[i].var;
            zero[n++] = expr_const(p, 0);
        }
    const struct expr *origin = expr_simplify(p, expr_subst(p, access, inner, zero, n));
    const struct expr *reach = expr_simplify(p, expr_sub(p, access, origin));
    bool exact = r->n_loads == 0 && reach->lo >= 0 && origin->lo >= 0 && !val_picks(access);
    for (int i = 0; i < r->pos; i++)
        exact = exact && (axis_is_fixed(&r->s->axis[i]) || !expr_uses(reach, r->s->axis[i].var));
    r->origin[d] = exact ? origin : expr_const(p, 0);
    r->extent[d] = exact ? reach->hi + 1 : l->shape[d];
}

static void region_note(struct low *w, struct region *r, int tensor, const struct expr *const *idx)
{
    const struct layout *l = w->in->layout[tensor];
    if (tensor != r->tensor)
        return;
    for (int d = 0; d < l->rank; d++)
        region_dim(w->in->pool, r, l, d, idx[d]);
    r->n_loads++;
}

/* Returns a variable called `name`, or TENSOR.name when an enclosing loop has that name, because
 * variables on one path must be distinct. */
static const struct expr *own_var(struct low *w, const struct tensor *t, const char *name,
                                  int64_t extent, const struct stage *outer)
{
    if (stage_axis(outer, name) >= 0)
        name = arena_printf(w->arena, "%s.%s", t->name, name);
    return expr_dim(w->in->pool, name, extent);
}

static const struct tree *own_loop(struct low *w, int node, const char *axis,
                                   const struct expr *var, bool reduce,
                                   const struct tree *const *kid, int n_kids)
{
    struct tree *t = ARENA_NEW(w->arena, struct tree);
    t->kind = TREE_LOOP;
    t->node = node;
    t->axis = axis;
    t->var = var;
    t->extent = var->hi + 1;
    t->reduce = reduce;
    t->n_kids = n_kids;
    t->kid = ARENA_DUP(w->arena, kid, n_kids);
    return t;
}

/* A local tile for the region of tensor t that stage s reads inside depth pos. */
struct tile {
    struct region r;
    const struct layout *l;
    int buffer;
    const struct expr *var[MAX_DIMS],
        *index[MAX_DIMS]; /* loops of the tile, and the physical index that they stand for */
    const struct expr
        *inside; /* condition that is 0 outside of the tensor */
};

static bool tile_open(struct low *w, struct tile *x, int t, const struct stage *s, int pos,
                      const char *axis)
{
    struct exprs *p = w->in->pool;
    const struct expr *unused;
    struct point pt;
    struct val_map map = { .ctx = &pt, .load = point_load, .index = point_index };
    *x = (struct tile){ .l = w->in->layout[t], .inside = expr_const(p, 1) };
    x->r = (struct region){ .s = s, .tensor = t, .pos = pos };
    point_open(&pt, w, s->node, s->index, s, &unused);
    pt.region = &x->r;
    val_rebuild(w->arena, w->in->graph->node[s->node].body, &map);
    struct buffer b = { .name = arena_printf(w->arena, "%s_tile", x->l->tensor->name),
                        .tensor = t,
                        .type = x->l->tensor->type,
                        .memory = MEMORY_LOCAL,
                        .read = true,
                        .written = true,
                        .rank = x->l->rank,
                        .elems = 1 };
    for (int d = 0; d < b.rank; d++) {
        int64_t extent = b.shape[d] = x->r.extent[d];
        if (__builtin_mul_overflow(b.elems, extent, &b.elems))
            b.elems = INT64_MAX;
        x->var[d] =
            extent > 1 ? own_var(w, x->l->tensor, x->l->dim[d], extent, s) : expr_const(p, 0);
        x->index[d] = expr_simplify(p, expr_add(p, x->r.origin[d], x->var[d]));
        if (x->index[d]->hi >= x->l->shape[d])
            x->inside =
                expr_and(p, x->inside, expr_lt(p, x->index[d], expr_const(p, x->l->shape[d])));
    }
    x->inside = expr_simplify(p, x->inside);
    if (b.elems > MAX_TILE) {
        err_set(w->e, ERR_STEP,
                "computing %s inside loop %s of %s needs a tile of %lld elements, more than %d",
                x->l->tensor->name, axis, s->name, (long long)b.elems, MAX_TILE);
        w->ok = err_fix(w->e, "compute it at a deeper loop");
        return false;
    }
    x->buffer = low_buffer(w, &b);
    return true;
}

/* Puts the loops of the tile around the stores in body. From now on s reads the tile. */
static void tile_close(struct low *w, const struct tile *x, int node, struct kids *body,
                       struct kids *kids)
{
    for (int d = x->l->rank - 1; d >= 0; d--)
        if (x->r.extent[d] > 1) {
            const struct tree *t =
                own_loop(w, node, x->l->dim[d], x->var[d], false, body->data, body->len);
            vec_clear(body);
            vec_push(body, t);
        }
    for (int i = 0; i < body->len; i++)
        vec_push(kids, body->data[i]);
    vec_free(body);
    struct binding *b = rebind(w, x->r.tensor);
    *b = (struct binding){ .tile = x->buffer, .one_copy = x->r.s->n_limits > 0 };
    memcpy(b->origin, x->r.origin, sizeof b->origin);
}

/* Returns a stage with the reductions of the producer itself (a pooling window).  Their names are
 * not those of enclosing loops. */
static const struct stage *own_reductions(struct low *w, const struct stage *own,
                                          const struct stage *outer)
{
    struct stage *s = ARENA_DUP(w->arena, own, 1);
    struct axis *list = ARENA_DUP(w->arena, own->axis, own->n_axes);
    const struct tensor *t = w->in->layout[w->in->graph->node[own->node].out]->tensor;
    s->axis = list;
    for (int i = 0; i < s->n_axes; i++)
        if (list[i].reduce) {
            const struct expr *old = list[i].var;
            list[i].var = own_var(w, t, list[i].name, list[i].extent, outer);
            stage_subst(w->in->pool, s, &old, &list[i].var, 1);
        }
    return s;
}

/* Adds the stores of a producer: an initialisation and an update inside its reductions, or a single
 * store if it has none. */
static void producer_stores(struct low *w, const struct tile *x, const struct stage *own,
                            struct kids *body)
{
    const struct node *n = &w->in->graph->node[own->node];
    const struct expr *guard = NULL;
    const struct val *v = low_body_past_tiles(w, own->node, x->index, own, &guard);
    int rank = x->l->rank;
    if (n->combine == COMBINE_NONE) {
        v = low_guarded(w, low_guarded(w, v, guard), x->inside);
        vec_push(body, low_store(w, own->node, x->buffer, x->var, rank, STORE_SET, v, NULL));
        return;
    }
    struct exprs *p = w->in->pool;
    if (n->combine == COMBINE_SUM)
        v = low_summand(w, v, own, &guard);
    guard = guard ? expr_simplify(p, expr_and(p, guard, x->inside)) : x->inside;
    const struct tree *t = low_store(w, own->node, x->buffer, x->var, rank,
                                     n->combine == COMBINE_SUM ? STORE_ADD : STORE_MAX, v, guard);
    for (int i = own->n_axes - 1; i >= 0; i--)
        if (own->axis[i].reduce)
            t = own_loop(w, own->node, own->axis[i].name, own->axis[i].var, true, &t, 1);
    vec_push(body, low_store(w, own->node, x->buffer, x->var, rank, STORE_SET,
                             low_init(w, own->node, x->index), NULL));
    if (n->combine != COMBINE_SUM || !val_is_const(v, 0))
        vec_push(body, t);
}

int low_producer(struct low *w, int node, const struct stage *s, int pos, struct kids *kids)
{
    struct tile x;
    struct kids body = { 0 };
    const struct stage *own = own_reductions(w, w->in->stage[node], s);
    if (!tile_open(w, &x, w->in->graph->node[node].out, s, pos, own->attach_axis))
        return -1;
    producer_stores(w, &x, own, &body);
    tile_close(w, &x, node, &body, kids);
    return x.buffer;
}

int low_cached_read(struct low *w, int tensor, const struct stage *s, int pos, struct kids *kids)
{
    struct tile x;
    struct kids body = { 0 };
    if (!tile_open(w, &x, tensor, s, pos, s->axis[pos - 1].name))
        return -1;
    const struct val *v =
        val_load(w->arena, w->param[tensor], x.l->rank, ARENA_DUP(w->arena, x.index, x.l->rank));
    vec_push(&body, low_store(w, s->node, x.buffer, x.var, x.l->rank, STORE_SET,
                              low_guarded(w, v, x.inside), NULL));
    tile_close(w, &x, s->node, &body, kids);
    return x.buffer;
}

const struct val *lower_access(const struct lowering *in, int node, const struct stage *loops,
                               const struct expr **guard)
{
    struct low w = { .in = in, .arena = exprs_arena(in->pool) };
    low_tables(&w);
    for (int t = 0; t < in->graph->n_tensors; t++)
        w.param[t] = t;
    const struct val *v = low_body(&w, node, loops->index, loops, guard);
    low_close(&w);
    return v;
}
