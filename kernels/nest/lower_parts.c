/* The parts of the lowering pass that deal with buffers and accesses: which tensors are
 * parameters, and the rewritten body of a node. */
#include "kernels/nest/lower_impl.h"

#include <string.h>

#include "kernels/ir/simplify.h"

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

/* Whether tensor t is stored in memory.  These tensors are not:
 *   - the result of an inlined node;
 *   - the result of an attached producer, which is in a tile of its consumer;
 *   - the result of a stage with an accumulator tile, if all readers are attached at its loop;
 *   - the result of an attached consumer with one reader that is attached at the same loop. */
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

void low_bind_tile(struct low *w, int tensor, const struct binding *b)
{
    *rebind(w, tensor) = *b;
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

/* Returns t with numbers for its loops; *loops: the number of loops before t. */
static const struct tree *numbered(struct low *w, const struct tree *t, int *loops)
{
    if (t->kind == TREE_STORE)
        return t;
    struct tree *copy = ARENA_DUP(w->arena, t, 1);
    const struct tree **kid = ARENA_ARRAY(w->arena, const struct tree *, t->n_kids);
    if (t->kind == TREE_LOOP)
        copy->number = ++*loops;
    for (int i = 0; i < t->n_kids; i++)
        kid[i] = numbered(w, t->kid[i], loops);
    copy->kid = kid;
    return copy;
}

const struct func *low_func(struct low *w, const struct kids *roots)
{
    const struct tree **root = ARENA_ARRAY(w->arena, const struct tree *, roots->len);
    int loops = 0;
    for (int i = 0; i < roots->len; i++)
        root[i] = numbered(w, roots->data[i], &loops);
    struct func *f = ARENA_NEW(w->arena, struct func);
    f->pool = w->in->pool;
    f->graph = w->in->graph;
    f->n_buffers = w->buffers.len;
    f->buffer = ARENA_DUP(w->arena, w->buffers.data, w->buffers.len);
    while (f->n_params < f->n_buffers && f->buffer[f->n_params].memory == MEMORY_GLOBAL)
        f->n_params++;
    f->autovectorize = w->in->autovectorize;
    f->n_roots = roots->len;
    f->root = root;
    return f;
}

/* The substitution that computes one node at one output position: var[i] becomes with[i].  phi
 * gives the values of the logical variables, the stage those of the reduction variables.
 * reduce_axis: the loop variables of the reductions. */
struct point {
    struct low *w;
    int n_vars, n_reduce;
    const struct expr *var[MAX_VARS], *with[MAX_VARS];
    const struct expr *reduce_axis[MAX_VARS];
    const struct low_reading *reading;    /* collects the reads of a tensor; may be NULL */
};

static const struct expr *point_index(void *ctx, const struct expr *e)
{
    struct point *pt = ctx;
    struct exprs *p = pt->w->in->pool;
    return expr_simplify(p, expr_subst(p, e, pt->var, pt->with, pt->n_vars));
}

/* Sets *pt to the substitution for `node` at physical position `index` of its output, and *guard to
 * the guard of the output's layout there. */
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

/* Whether accesses to a tensor must use the canonical copy of an unfolded element.  Other accesses
 * read a copy that depends on the loop bounds.  This copy would be wrong where a loop inside of a
 * tile is cut, because the loop then has other bounds than those that the tile was made for. */
static bool one_copy(const struct point *pt, int tensor)
{
    const struct binding *b = &pt->w->bound[tensor];
    if (pt->reading && pt->reading->tensor == tensor)
        return pt->reading->s->n_limits > 0;
    return b->tile >= 0 && !pt->w->past_tiles && b->one_copy;
}

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
    if (pt->reading && pt->reading->tensor == load->source)
        pt->reading->note(pt->reading->ctx, idx);
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

/* Simplifies the selects in v:
 *     select(1, x, y) ==> x       select(c, select(d, x, k), k) ==> select(c && d, x, k)
 *     select(0, x, y) ==> y           for a constant k */
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

/* Moves the conjuncts of e that are equal in all lanes to *guard. Returns the rest of e, or NULL if
 * no conjunct is left. */
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

/* Moves the conditions of the factors of product v to *guard, where they are equal in all lanes.
 * Returns v without the conditions that were moved. */
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

void low_each_read(struct low *w, const struct low_reading *r)
{
    const struct expr *unused;
    struct point pt;
    struct val_map map = { .ctx = &pt, .load = point_load, .index = point_index };
    point_open(&pt, w, r->s->node, r->s->index, r->s, &unused);
    pt.reading = r;
    val_rebuild(w->arena, w->in->graph->node[r->s->node].body, &map);
}

const struct val *low_body_past_tiles(struct low *w, int node, const struct expr *const *index,
                                      const struct stage *s, const struct expr **guard)
{
    w->past_tiles = true;
    const struct val *v = low_body(w, node, index, s, guard);
    w->past_tiles = false;
    return v;
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
