/* The lowering pass: one function body(pos) per stage builds what runs inside its first pos loops.
 *
 *     inside depth pos:   tiles of producers attached here
 *                         accumulator tile of cache_write, when it lives here
 *                         initialisation, when the next loop is the first reduction loop
 *                         the rest of the nest
 *                         write-back of the accumulator, and the element-wise consumers attached here
 */
#include "kernels/nest/lower.h"
#include "kernels/nest/lower_parts.h"

#include <string.h>

#include "kernels/base/vec.h"
#include "kernels/ir/simplify.h"

/* Consumers of node s attached at depth pos (that is, inside axis pos - 1). */
static bool attached_here(const struct low *w, int node, const struct stage *s, int pos)
{
    const struct stage *c = w->in->stage[node];
    return c->attach == s->node && pos > 0 && streq(c->attach_axis, s->axis[pos - 1].name);
}

static bool is_consumer_of_stage(const struct low *w, int node, const struct stage *s)
{
    return node > s->node && w->in->stage[node]->attach == s->node;
}

const struct tree *low_loop(struct low *w, const struct stage *s, int axis, struct kids *body)
{
    const struct axis *x = &s->axis[axis];
    struct tree *t = ARENA_NEW(w->arena, struct tree);
    t->kind = TREE_LOOP;
    t->var = x->var;
    t->extent = x->extent;
    t->ann = x->ann;
    t->reduce = x->reduce;
    t->axis = x->name;
    t->node = s->node;
    t->n_kids = body->len;
    t->kid = ARENA_DUP(w->arena, body->data, body->len);
    vec_clear(body);
    return t;
}

/* Wraps kids in the spatial loops of s from depth `from` inward; only loops that some kid uses are needed, but all are
 * kept so that every copy of the nest has the same shape. */
static void wrap_spatial(struct low *w, const struct stage *s, int from, struct kids *kids)
{
    for (int i = s->n_axes - 1; i >= from; i--)
        if (!s->axis[i].reduce) {
            const struct tree *t = low_loop(w, s, i, kids);
            vec_push(kids, t);
        }
}

const struct tree *low_store(struct low *w, int node, int buffer, const struct expr *const *idx, int rank,
                             enum store_how how, const struct val *value, const struct expr *guard)
{
    struct tree *t = ARENA_NEW(w->arena, struct tree);
    t->kind = TREE_STORE;
    t->node = node;
    t->buffer = buffer;
    t->rank = rank;
    t->idx = rank ? ARENA_DUP(w->arena, idx, rank) : NULL;
    t->how = how;
    t->value = value;
    t->guard = guard && !expr_is_const(guard, 1) ? guard : NULL;
    return t;
}

/* Puts everything in kids into the scope of a local buffer. */
static void wrap_scope(struct low *w, int node, int buffer, struct kids *kids)
{
    struct tree *t = ARENA_NEW(w->arena, struct tree);
    t->kind = TREE_SCOPE;
    t->node = node;
    t->buffer = buffer;
    t->n_kids = kids->len;
    t->kid = ARENA_DUP(w->arena, kids->data, kids->len);
    vec_clear(kids);
    vec_push(kids, t);
}

/* Where the stage's elements go: the accumulator tile while one is open, else its home. */
struct place { int buffer, rank; const struct expr *idx[MAX_DIMS]; };

static struct place home_place(const struct low *w, const struct stage *s)
{
    struct place at = { .buffer = w->param[w->in->graph->node[s->node].out], .rank = s->rank };
    memcpy(at.idx, s->index, sizeof at.idx);
    return at;
}

/* The tile dims are the spatial axes inside the cache_write axis. */
static struct place tile_place(struct low *w, const struct stage *s, int from)
{
    struct place at = { 0 };
    struct buffer b = { .tensor = w->in->graph->node[s->node].out, .scope = BUFFER_LOCAL,
                        .read = true, .written = true, .elems = 1 };
    b.name = arena_printf(w->arena, "%s_acc", s->name);
    for (int i = from; i < s->n_axes; i++)
        if (!s->axis[i].reduce) {
            b.shape[b.rank] = s->axis[i].extent;
            b.elems *= s->axis[i].extent;
            at.idx[b.rank++] = s->axis[i].var;
        }
    at.rank = b.rank;
    at.buffer = low_buffer(w, &b);
    return at;
}

static const struct tree *place_store(struct low *w, const struct stage *s, const struct place *at,
                                      enum store_how how, const struct val *v, const struct expr *guard)
{
    return low_store(w, s->node, at->buffer, at->idx, at->rank, how, v, guard);
}

static const struct val *place_load(struct low *w, const struct place *at)
{
    return val_load(w->arena, at->buffer, at->rank, ARENA_DUP(w->arena, at->idx, at->rank ? at->rank : 1));
}

struct nest_state {
    const struct stage *s;
    const struct node *n;
    int first_reduce;             /* position of the first reduction axis; n_axes when there is none */
    int tile_from;                /* depth at which the accumulator tile opens; -1 = none */
    struct place home, target;    /* target: the tile while it is open, else home */
    bool stored;                  /* home exists in memory (else only consumers attached at the tile read it) */
};

/* A nest of its own that runs one store over the spatial axes inside depth pos. */
static void add_spatial_nest(struct low *w, struct nest_state *st, int pos, const struct tree *store,
                             struct kids *kids)
{
    struct kids nest = { 0 };
    vec_push(&nest, store);
    wrap_spatial(w, st->s, pos, &nest);
    for (int i = 0; i < nest.len; i++)
        vec_push(kids, nest.data[i]);
    vec_free(&nest);
}

static const struct tree *update_store(struct low *w, struct nest_state *st)
{
    const struct expr *guard = NULL;
    const struct val *v = low_body(w, st->s->node, st->s->index, st->s, &guard);
    if (st->n->combine == COMBINE_NONE)
        return place_store(w, st->s, &st->target, STORE_SET, low_guarded(w, v, guard), NULL);
    enum store_how how = st->n->combine == COMBINE_SUM ? STORE_ADD : STORE_MAX;
    return place_store(w, st->s, &st->target, how, v, guard);
}

/* Write-back of the tile and the consumers attached at this depth share one nest over the spatial axes. */
static void add_epilogue(struct low *w, struct nest_state *st, int pos, struct kids *kids)
{
    struct kids body = { 0 };
    const struct graph *g = w->in->graph;
    bool from_tile = st->tile_from >= 0 && pos >= st->tile_from;
    const struct place *source = from_tile ? &st->target : &st->home;
    if (st->tile_from == pos && st->stored)
        vec_push(&body, place_store(w, st->s, &st->home, STORE_SET, place_load(w, &st->target), NULL));
    low_bind(w, st->n->out, place_load(w, source));
    for (int c = 0; c < g->n_nodes; c++) {
        if (!is_consumer_of_stage(w, c, st->s) || !attached_here(w, c, st->s, pos))
            continue;
        const struct expr *guard = NULL;
        const struct val *v = low_body(w, c, st->s->index, st->s, &guard);
        v = low_guarded(w, v, guard);
        int t = g->node[c].out;
        if (w->param[t] < 0)
            low_bind(w, t, v);
        else
            vec_push(&body, low_store(w, c, w->param[t], st->s->index, st->s->rank, STORE_SET, v, NULL));
    }
    low_unbind(w, st->n->out);
    if (body.len)
        wrap_spatial(w, st->s, pos, &body);
    for (int i = 0; i < body.len; i++)
        vec_push(kids, body.data[i]);
    vec_free(&body);
}

static void body(struct low *w, struct nest_state *st, int pos, struct kids *kids);

/* Depth pos with every tile that it needs already open: initialise, go deeper (or update), finish. */
static void body_inside(struct low *w, struct nest_state *st, int pos, struct kids *kids)
{
    const struct stage *s = st->s;
    bool opens = st->tile_from == pos;
    bool reduces = st->first_reduce < s->n_axes;
    if (reduces && opens && st->first_reduce < pos)
        add_spatial_nest(w, st, pos, place_store(w, s, &st->target, STORE_SET, place_load(w, &st->home), NULL), kids);
    else if (reduces && (opens || (pos == st->first_reduce && (st->tile_from < 0 || st->tile_from > pos))))
        add_spatial_nest(w, st, pos, place_store(w, s, &st->target, STORE_SET,
                                                 val_const(w->arena, st->n->init), NULL), kids);
    if (pos == s->n_axes) {
        vec_push(kids, update_store(w, st));
    } else {
        struct kids inner = { 0 };
        body(w, st, pos + 1, &inner);
        const struct tree *t = low_loop(w, s, pos, &inner);
        vec_push(kids, t);
        vec_free(&inner);
    }
    add_epilogue(w, st, pos, kids);
}

static void body(struct low *w, struct nest_state *st, int pos, struct kids *kids)
{
    struct kids here = { 0 };
    int opened[2 * MAX_RANK], n_opened = 0;
    const struct place outer = st->target;
    for (int p = 0; p < st->s->node && n_opened < MAX_RANK; p++)
        if (attached_here(w, p, st->s, pos)) {
            int b = low_producer(w, p, st->s, pos, &here);
            if (b < 0)
                goto out;
            opened[n_opened++] = b;
        }
    if (st->tile_from == pos) {
        st->target = tile_place(w, st->s, pos);
        opened[n_opened++] = st->target.buffer;
    }
    body_inside(w, st, pos, &here);
    st->target = outer;
    while (n_opened > 0)
        wrap_scope(w, st->s->node, opened[--n_opened], &here);
out:
    for (int i = 0; i < here.len; i++)
        vec_push(kids, here.data[i]);
    vec_free(&here);
}

static void lower_root(struct low *w, int node, struct kids *roots)
{
    struct nest_state st = { .s = w->in->stage[node], .n = &w->in->graph->node[node], .tile_from = -1 };
    st.first_reduce = st.s->n_axes;
    for (int i = st.s->n_axes - 1; i >= 0; i--)
        if (st.s->axis[i].reduce)
            st.first_reduce = i;
    if (st.s->cache_at)
        st.tile_from = stage_axis(st.s, st.s->cache_at) + 1;
    st.home = home_place(w, st.s);
    st.target = st.home;
    st.stored = w->param[st.n->out] >= 0;
    low_unbind(w, -1);
    body(w, &st, 0, roots);
}

static void add_peeled(struct exprs *p, const struct tree *t, struct kids *out)
{
    const struct tree *piece[TREE_PIECES];
    int n = tree_peel(p, t, piece);
    for (int i = 0; i < n; i++)
        vec_push(out, piece[i]);
}

bool lower(const struct lowering *in, const struct func **out, struct err *e)
{
    struct low w = { .in = in, .arena = exprs_arena(in->pool), .e = e, .ok = true };
    struct kids roots = { 0 };
    low_open(&w);
    for (int n = 0; n < in->graph->n_nodes && w.ok; n++)
        if (in->stage[n]->attach < 0)
            lower_root(&w, n, &roots);
    if (w.ok) {
        struct kids peeled = { 0 };
        for (int i = 0; i < roots.len; i++)
            add_peeled(in->pool, roots.data[i], &peeled);
        *out = low_func(&w, &peeled);
        tree_verify(*out);
        vec_free(&peeled);
    }
    vec_free(&roots);
    low_close(&w);
    return w.ok;
}
