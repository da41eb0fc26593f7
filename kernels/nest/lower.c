/* The lowering pass: one function body(depth) per stage builds what runs inside its first `depth`
 * loops.
 *
 *     at a depth:   tiles of producers attached here, and of operands cached here
 *                   the accumulator tile, when it opens here
 *                   initialisation of the sums, at the tile or before the first reduction loop,
 *                   whichever is further out; a tile inside of a reduction loads its sums instead
 *                   the rest of the nest
 *                   write-back of the accumulator, and the element-wise consumers attached here
 *
 * A loop of an inexact split is emitted in pieces (pieces.c): the part where every iteration is in
 * range, and the tail.  Each piece has a stage of its own, with exact extents where possible, so
 * that few pieces need a condition. */
#include "kernels/nest/lower.h"
#include "kernels/nest/lower_impl.h"
#include "kernels/nest/tensor.h"

#include <stdatomic.h>
#include <string.h>

#include "kernels/ir/simplify.h"

static atomic_long calls;

/* Whether node is attached to s at axis depth - 1 of s. */
static bool attached_here(const struct low *w, int node, const struct stage *s, int depth)
{
    const struct stage *c = w->in->stage[node];
    return c->attach == s->node && depth > 0 && streq(c->attach_axis, s->axis[depth - 1].name);
}

static const struct tree *loop_of(struct low *w, const struct stage *s, int axis,
                                  struct kids *body)
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

const struct expr *low_begin(struct exprs *p, const struct tree *loop)
{
    return loop->begin ? loop->begin : expr_const(p, 0);
}

const struct expr *low_end(struct exprs *p, const struct tree *loop)
{
    return loop->end ? loop->end : expr_const(p, loop->extent);
}

const struct tree *low_ranged(struct exprs *p, const struct tree *loop, const struct expr *lo,
                              const struct expr *hi)
{
    struct tree *copy = ARENA_DUP(exprs_arena(p), loop, 1);
    bool whole = expr_is_const(lo, 0) && expr_is_const(hi, loop->extent);
    copy->begin = whole ? NULL : lo;
    copy->end = whole ? NULL : hi;
    return copy;
}

const struct tree *low_with_kids(struct exprs *p, const struct tree *t, const struct kids *kids)
{
    struct tree *copy = ARENA_DUP(exprs_arena(p), t, 1);
    copy->n_kids = kids->len;
    copy->kid = ARENA_DUP(exprs_arena(p), kids->data, kids->len);
    return copy;
}

bool low_conjuncts(const struct expr *e, struct conjuncts *out)
{
    if (e->kind == EXPR_AND)
        return low_conjuncts(e->a, out) && low_conjuncts(e->b, out);
    if (out->n == MAX_CONJUNCTS)
        return false;
    out->c[out->n++] = e;
    return true;
}

const struct tree *low_store(struct low *w, int node, int buffer, const struct expr *const *idx,
                             int rank, enum store_how how, const struct val *value,
                             const struct expr *guard)
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

/* Wraps all of kids into the scope of a local buffer. */
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

/* Makes the accumulator tile.  Its dims are the spatial axes of s from axis `from` inwards, of
 * which there are at most MAX_DIMS (stage_check). */
static struct low_place tile_place(struct low *w, const struct stage *s, int from)
{
    struct low_place at = { 0 };
    int t = w->in->graph->node[s->node].out;
    struct buffer b = { .tensor = t,
                        .type = w->in->graph->tensor[t].type->sum,
                        .memory = MEMORY_LOCAL,
                        .read = true,
                        .written = true,
                        .elems = 1 };
    b.name = arena_printf(w->arena, "%s_acc", s->name);
    for (int i = from; i < s->n_axes; i++)
        if (!s->axis[i].reduce && !axis_is_fixed(&s->axis[i])) {
            b.shape[b.rank] = s->axis[i].extent;
            b.elems *= s->axis[i].extent;
            at.idx[b.rank++] = s->axis[i].var;
        }
    at.rank = b.rank;
    at.buffer = low_buffer(w, &b);
    return at;
}

static const struct tree *place_store(struct low *w, const struct stage *s,
                                      const struct low_place *at,
                                      enum store_how how, const struct val *v,
                                      const struct expr *guard)
{
    return low_store(w, s->node, at->buffer, at->idx, at->rank, how, v, guard);
}

static const struct val *place_load(struct low *w, const struct low_place *at)
{
    return val_load(w->arena, at->buffer, at->rank,
                    ARENA_DUP(w->arena, at->idx, at->rank ? at->rank : 1));
}

/* What a nest over the spatial axes does at each element: initialise it, copy it from memory to its
 * tile, or run its epilogue. */
enum leaf { LEAF_INIT, LEAF_FILL, LEAF_EPILOGUE };

/* Writes the tile back if it opened at this depth, then runs the consumers attached here. */
static void epilogue_leaf(struct low *w, const struct nest_state *st, int depth, struct kids *kids)
{
    const struct graph *g = w->in->graph;
    const struct stage *s = st->s;
    const struct expr *inside = stage_inside(w->in->pool, s, false);
    bool from_tile = st->tile_from >= 0 && depth >= st->tile_from;
    if (st->tile_from == depth && st->stored)
        vec_push(kids, place_store(w, s, &st->home, STORE_SET, place_load(w, &st->target), inside));
    low_bind(w, st->n->out, place_load(w, from_tile ? &st->target : &st->home));
    for (int c = s->node + 1; c < g->n_nodes; c++) {
        if (!attached_here(w, c, s, depth))
            continue;
        const struct expr *guard = NULL;
        const struct val *v = low_body_past_tiles(w, c, s->index, s, &guard);
        v = low_guarded(w, v, guard);
        int t = g->node[c].out;
        if (w->param[t] < 0)
            low_bind(w, t, v);
        else
            vec_push(kids, low_store(w, c, w->param[t], s->index, s->rank, STORE_SET, v, inside));
    }
    low_unbind(w, st->n->out);
}

static void leaf(struct low *w, const struct nest_state *st, int depth, enum leaf what,
                 struct kids *kids)
{
    const struct expr *inside = stage_inside(w->in->pool, st->s, false);
    if (what == LEAF_INIT)
        vec_push(kids, place_store(w, st->s, &st->target, STORE_SET,
                                   low_init(w, st->s->node, st->s->index),
                                   w->overrun ? NULL : inside));
    else if (what == LEAF_FILL)
        vec_push(kids,
                 place_store(w, st->s, &st->target, STORE_SET, place_load(w, &st->home), inside));
    else
        epilogue_leaf(w, st, depth, kids);
}

/* Makes the loop of an axis around work that is done once for each element.  There, a loop of a
 * tensor block is a plain unrolled loop over the results of a lane. */
static const struct tree *spatial_loop(struct low *w, const struct stage *s, int i,
                                       struct kids *inner)
{
    struct tree *t = ARENA_DUP(w->arena, loop_of(w, s, i, inner), 1);
    t->ann = t->ann == LOOP_TENSOR ? LOOP_UNROLL : t->ann;
    return t;
}

/* Adds a nest over the spatial axes from axis i inwards, with the annotations of the main nest. */
static void spatial_nest(struct low *w, const struct nest_state *st, int i, int depth,
                         enum leaf what, struct kids *kids)
{
    if (i == st->s->n_axes) {
        leaf(w, st, depth, what, kids);
        return;
    }
    if (st->s->axis[i].reduce) {
        spatial_nest(w, st, i + 1, depth, what, kids);
        return;
    }
    struct nest_state piece[MAX_PIECES];
    int n = low_pieces(w, st, i, piece);
    for (int k = 0; k < n; k++) {
        struct kids inner = { 0 };
        bool fixed = axis_is_fixed(&piece[k].s->axis[i]);
        spatial_nest(w, &piece[k], i + 1, depth, what, fixed ? kids : &inner);
        if (inner.len)
            vec_push(kids, spatial_loop(w, piece[k].s, i, &inner));
        vec_free(&inner);
    }
}

/* Returns the store that updates a sum or maximum, or that stores the value of a node without a
 * reduction.  NULL: the update would add nothing. */
static const struct tree *update_store(struct low *w, const struct nest_state *st)
{
    const struct expr *guard = NULL;
    const struct expr *inside = w->overrun ? expr_const(w->in->pool, 1)
                                           : stage_inside(w->in->pool, st->s, true);
    const struct val *v = low_body(w, st->s->node, st->s->index, st->s, &guard);
    if (st->n->combine == COMBINE_NONE)
        return place_store(w, st->s, &st->target, STORE_SET, low_guarded(w, v, guard), inside);
    enum store_how how = st->n->combine == COMBINE_SUM ? STORE_ADD : STORE_MAX;
    if (how == STORE_ADD && val_is_const(v = low_summand(w, v, st->s, &guard), 0))
        return NULL;
    if (guard)
        inside = expr_simplify(w->in->pool, expr_and(w->in->pool, inside, guard));
    return place_store(w, st->s, &st->target, how, v, inside);
}

/* If the loop of axis x was cut into n > 1 pieces and this piece has a single iteration, no loop
 * shows the value of x in it.  Then notes the value at kids[from], where the piece begins. */
static void note_piece(struct low *w, const struct axis *x, int n, struct kids *kids, int from)
{
    if (n < 2 || !axis_is_fixed(x) || kids->len == from)
        return;
    struct tree *t = ARENA_DUP(w->arena, kids->data[from], 1);
    const char *inner = t->piece ? arena_printf(w->arena, ", %s", t->piece) : "";
    t->piece = arena_printf(w->arena, "%s = %lld%s", x->name, (long long)x->var->value, inner);
    kids->data[from] = t;
}

static void body(struct low *w, const struct nest_state *outer, int depth, struct kids *kids);

/* Makes the loop of axis i, with the prefetches at this axis. */
static const struct tree *loop_ahead(struct low *w, const struct stage *s, int i,
                                     struct kids *inner)
{
    struct tree *t = ARENA_DUP(w->arena, loop_of(w, s, i, inner), 1);
    struct prefetch list[MAX_READS];
    for (int k = 0; k < s->n_ahead; k++)
        if (streq(s->ahead[k].axis, s->axis[i].name))
            list[t->n_prefetch++] = (struct prefetch){
                w->param[graph_tensor(w->in->graph, s->ahead[k].tensor)], s->ahead[k].by };
    if (t->n_prefetch)
        t->prefetch = ARENA_DUP(w->arena, list, t->n_prefetch);
    return t;
}

/* Emits all pieces of the loop of axis `depth`, with their bodies. */
static void main_loop(struct low *w, const struct nest_state *st, int depth, struct kids *kids)
{
    struct nest_state piece[MAX_PIECES];
    int n = low_pieces(w, st, depth, piece);
    for (int k = 0; k < n; k++) {
        struct kids inner = { 0 };
        bool fixed = axis_is_fixed(&piece[k].s->axis[depth]);
        int before = kids->len;
        body(w, &piece[k], depth + 1, fixed ? kids : &inner);
        note_piece(w, &piece[k].s->axis[depth], n, kids, before);
        if (inner.len) {
            const struct tree *t = loop_ahead(w, piece[k].s, depth, &inner);
            vec_push(kids, t);
        }
        vec_free(&inner);
    }
}

static bool has_epilogue(const struct low *w, const struct nest_state *st, int depth)
{
    if (st->tile_from == depth && st->stored)
        return true;
    for (int c = st->s->node + 1; c < w->in->graph->n_nodes; c++)
        if (attached_here(w, c, st->s, depth))
            return true;
    return false;
}

/* Emits what runs at a depth after its tiles are opened: the initialisation, then the loops inside
 * (or the update of one element), then the epilogue. */
static void body_inside(struct low *w, const struct nest_state *st, int depth, struct kids *kids)
{
    int reduction = stage_above_sums(st->s) + 1;
    bool reduces = reduction < st->s->n_axes, opens = st->tile_from == depth;
    if (reduces && opens && reduction < depth)
        spatial_nest(w, st, depth, depth, LEAF_FILL, kids);
    else if (reduces &&
             (opens || (depth == reduction && (st->tile_from < 0 || st->tile_from > depth))))
        spatial_nest(w, st, depth, depth, LEAF_INIT, kids);
    const struct tree *update = depth == st->s->n_axes ? update_store(w, st) : NULL;
    if (update)
        vec_push(kids, update);
    else if (depth < st->s->n_axes)
        main_loop(w, st, depth, kids);
    if (has_epilogue(w, st, depth))
        spatial_nest(w, st, depth, depth, LEAF_EPILOGUE, kids);
}

static void body(struct low *w, const struct nest_state *outer, int depth, struct kids *kids)
{
    struct kids here = { 0 };
    struct nest_state st = *outer;
    VEC(int) opened = { 0 };
    for (int p = 0; p < st.s->node && w->ok; p++)
        if (attached_here(w, p, st.s, depth)) {
            int b = low_producer(w, p, st.s, depth, &here);
            if (b >= 0)
                vec_push(&opened, b);
        }
    for (int i = 0; i < st.s->n_reads && depth > 0 && w->ok; i++)
        if (streq(st.s->read[i].axis, st.s->axis[depth - 1].name)) {
            int b = low_cached_read(w, &st.s->read[i], st.s, depth, &here);
            if (b >= 0)
                vec_push(&opened, b);
        }
    if (st.tile_from == depth) {
        st.target = tile_place(w, st.s, depth);
        vec_push(&opened, st.target.buffer);
    }
    if (w->ok)
        body_inside(w, &st, depth, &here);
    while (opened.len > 0)
        wrap_scope(w, st.s->node, vec_pop(&opened), &here);
    vec_free(&opened);
    for (int i = 0; i < here.len; i++)
        vec_push(kids, here.data[i]);
    vec_free(&here);
}

static void lower_root(struct low *w, int node, struct kids *roots)
{
    const struct stage *s = w->in->stage[node];
    struct nest_state st = { .s = s, .n = &w->in->graph->node[node] };
    st.tile_from = stage_tile_depth(s);
    st.home = (struct low_place){ .buffer = w->param[st.n->out], .rank = s->rank };
    memcpy(st.home.idx, s->index, sizeof st.home.idx);
    st.target = st.home;
    st.stored = w->param[st.n->out] >= 0;
    w->first_shared = w->buffers.len;
    w->overrun = low_overrun(w->in, s);
    low_unbind(w, -1);
    body(w, &st, 0, roots);
}

int lower_tiles(const struct lowering *in)
{
    int tiles = 0;
    for (int n = 0; n < in->graph->n_nodes; n++)
        tiles += (in->stage[n]->attach > n) + in->stage[n]->n_reads + (in->stage[n]->lane != NULL)
               + (in->stage[n]->pipe_at != NULL);
    return tiles;
}

/* Checks that tensor cores can multiply the tensor blocks in t.  lane: the lane variable of the
 * enclosing loops. */
static bool check_tensors(struct low *w, const struct tree *t, const struct expr *lane)
{
    const struct graph *g = w->in->graph;
    struct tensor_block unused;
    bool ok = true;
    if (t->kind == TREE_LOOP && t->ann == LOOP_TENSOR)
        return tensor_block_read(w->in->pool, w->buffers.data, t, lane,
                                 g->tensor[g->node[t->node].out].name, &unused, w->e);
    if (t->kind == TREE_LOOP && t->ann == LOOP_THREAD_X)
        lane = t->var;
    for (int i = 0; t->kind != TREE_STORE && i < t->n_kids && ok; i++)
        ok = check_tensors(w, t->kid[i], lane);
    return ok;
}

long lower_calls(void)
{
    return atomic_load(&calls);
}

bool lower(const struct lowering *in, const struct func **out, struct err *e)
{
    atomic_fetch_add(&calls, 1);
    struct low w = { .in = in, .arena = exprs_arena(in->pool), .e = e, .ok = true };
    struct kids roots = { 0 };
    low_open(&w);
    for (int n = 0; n < in->graph->n_nodes && w.ok; n++)
        if (in->stage[n]->attach < 0 && !in->stage[n]->inlined)
            lower_root(&w, n, &roots);
    if (w.ok) {
        struct kids skipped = { 0 }, peeled = { 0 }, copied = { 0 };
        for (int i = 0; i < roots.len; i++)
            tree_skip(in->pool, roots.data[i], &skipped);
        for (int i = 0; i < skipped.len; i++)
            tree_peel(in->pool, skipped.data[i], &peeled);
        for (int i = 0; i < peeled.len; i++)
            if (in->autovectorize)
                vec_push(&copied, peeled.data[i]);
            else
                low_copies(&w, peeled.data[i], &copied);
        for (int i = 0; i < copied.len && w.ok; i++)
            copied.data[i] = low_pipeline(&w, copied.data[i]);
        for (int i = 0; i < copied.len; i++)
            copied.data[i] = tree_barriers(in->pool, w.buffers.data, w.buffers.len,
                                           copied.data[i]);
        for (int i = 0; i < copied.len && w.ok; i++)
            w.ok = check_tensors(&w, copied.data[i], NULL);
        if (w.ok) {
            *out = low_func(&w, &copied);
            tree_verify(*out);
        }
        vec_free(&copied);
        vec_free(&skipped);
        vec_free(&peeled);
    }
    vec_free(&roots);
    low_close(&w);
    return w.ok;
}
