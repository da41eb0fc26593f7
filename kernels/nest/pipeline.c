/* Pipelined copies (SPEC N): while the threads of a block compute with the shared tiles of one
 * iteration of a loop, asynchronous copies fill the tiles of the next ones.  With N stages
 *
 *     for k in range(K): T = A[k]; compute with T
 * ==>
 *     for f in range(N - 1): T[f] = A[f]; commit
 *     for k in range(K):
 *         wait until the copies of iteration k are done; barrier
 *         for a in range(k + N - 1, min(k + N, K)): T[a % N] = A[a]
 *         commit
 *         compute with T[k % N]
 *
 * Every iteration commits, also the last ones, which copy nothing, because the wait counts commits.
 * After the barrier, every thread sees the copies of all threads, and no thread still reads the
 * stage of iteration k - 1, which is overwritten next.  Running the tree in order, with each copy
 * made at once, computes the same. */
#include "kernels/nest/lower_impl.h"

#include "kernels/ir/simplify.h"

/* A loop that is being pipelined.  from: its variable; with: what replaces the variable in indices
 * (NULL: nothing); slot: the index of the stage to access; ring: per buffer, whether it has
 * stages. */
struct pipe {
    struct low *w;
    const struct stage *s;
    const struct tree *loop;
    bool *ring;
    bool fills;                           /* whether stores become asynchronous copies */
    const struct expr *from, *with, *slot;
};

static const struct expr *const *staged(const struct pipe *x, int buffer,
                                        const struct expr *const *idx, int rank)
{
    struct exprs *p = x->w->in->pool;
    const struct expr **out = ARENA_ARRAY(x->w->arena, const struct expr *, rank + 2);
    int n = 0;
    if (x->ring[buffer])
        out[n++] = x->slot;
    for (int d = 0; d < rank; d++)
        out[n++] = x->with ? expr_simplify(p, expr_subst(p, idx[d], &x->from, &x->with, 1))
                           : idx[d];
    return out;
}

static const struct val *staged_load(void *ctx, const struct val *load)
{
    const struct pipe *x = ctx;
    int rank = load->rank + x->ring[load->source];
    return val_load(x->w->arena, load->source, rank, staged(x, load->source, load->idx,
                                                            load->rank));
}

/* Returns t with slot as the first index of each access to a tile that has stages. */
static const struct tree *staged_tree(struct pipe *x, const struct tree *t)
{
    struct arena *a = x->w->arena;
    struct tree *copy = ARENA_DUP(a, t, 1);
    if (t->kind == TREE_STORE) {
        const struct val_map map = { .ctx = x, .load = staged_load };
        copy->idx = staged(x, t->buffer, t->idx, t->rank);
        copy->rank = t->rank + x->ring[t->buffer];
        copy->value = val_rebuild(a, t->value, &map);
        copy->async = x->fills;
        return copy;
    }
    const struct tree **kid = ARENA_ARRAY(a, const struct tree *, t->n_kids + 1);
    for (int i = 0; i < t->n_kids; i++)
        kid[i] = staged_tree(x, t->kid[i]);
    copy->kid = kid;
    return copy;
}

/* --- What can be copied ----------------------------------------------------------------------- */

/* Refuses to fill the tile by asynchronous copies. */
static bool refuse_copy(struct low *w, const char *tile, const char *why, const char *fix)
{
    err_set(w->e, ERR_STEP, "asynchronous copies of 4, 8 or 16 bytes cannot fill %s: it %s", tile,
            why);
    return err_fix(w->e, "%s", fix);
}

/* Whether t can become asynchronous copies: t must copy global memory to a shared tile, 4, 8 or 16
 * bytes at a time.  Sets w->e if t fills a tile in another way.  *buffer: the tile; -1: t is no
 * loop over threads. */
static bool can_copy(struct low *w, const struct tree *t, int *buffer)
{
    int64_t lanes = 1;
    bool single = true;                   /* whether t has one store */
    *buffer = -1;
    if (t->kind != TREE_LOOP || t->ann != LOOP_THREADS)
        return false;
    while (t->kind != TREE_STORE) {
        lanes = t->ann == LOOP_VECTORIZE ? t->extent : lanes;
        single = single && t->n_kids == 1;
        t = t->kid[0];
    }
    *buffer = t->buffer;
    const struct buffer *to = &w->buffers.data[t->buffer];
    if (!single)
        return refuse_copy(w, to->name, "is computed by a reduction",
                           "compute its tensor in memory (loop compute_root), and copy it with"
                           " loop cache_read");
    if (t->how != STORE_SET || t->guard || t->value->kind != VAL_LOAD)
        return refuse_copy(w, to->name, "is computed, or has a condition",
                           "split loops by factors that divide them, and inline no padding into"
                           " the tile");
    const struct buffer *from = &w->buffers.data[t->value->source];
    if (from->memory != MEMORY_GLOBAL || from->type != to->type)
        return refuse_copy(w, to->name, "is no copy of global memory", "loop cache_read instead");
    int64_t bytes = lanes * to->type->bytes;
    return bytes == 4 || bytes == 8 || bytes == 16
        || refuse_copy(w, to->name, "is copied by elements of 2 bytes",
                       "make its rows multiples of 16 bytes in memory and in the tile (pad=8)");
}

/* Whether another tile has the same name, because the loop was cut into pieces. */
static bool is_cut(const struct low *w, int buffer)
{
    int n = 0;
    for (int i = 0; i < w->buffers.len; i++)
        n += w->buffers.data[i].memory == MEMORY_SHARED
          && streq(w->buffers.data[i].name, w->buffers.data[buffer].name);
    return n > 1;
}

static bool refuse_loop(const struct pipe *x, const char *why, const char *fix)
{
    err_set(x->w->e, ERR_STEP, "loop %s of %s cannot be pipelined: %s", x->loop->axis, x->s->name,
            why);
    return err_fix(x->w->e, "%s", fix);
}

/* Gives the tile a new outermost dim, the number of the stage. */
static bool add_stages(struct pipe *x, int buffer)
{
    struct buffer *b = &x->w->buffers.data[buffer];
    if (is_cut(x->w, buffer))
        return refuse_loop(x, "it is cut into pieces", "split it by factors that divide it");
    if (b->rank == MAX_DIMS)
        return refuse_loop(x, arena_printf(x->w->arena, "%s has %d dims, the most that are"
                                           " possible, and the number of the stage would be one"
                                           " more", b->name, b->rank),
                           "give its tensor a layout with fewer dims");
    for (int d = b->rank++; d > 0; d--)
        b->shape[d] = b->shape[d - 1];
    b->shape[0] = b->stages = x->s->pipe_stages;
    b->elems *= b->stages;
    x->ring[buffer] = true;
    return true;
}

/* --- The loops -------------------------------------------------------------------------------- */

/* Returns a loop over var, in [0, extent), that fills the tiles of iteration var of the pipelined
 * loop. */
static struct tree *copies(struct pipe *x, const struct kids *fills, const struct expr *var,
                           int64_t extent)
{
    struct exprs *p = x->w->in->pool;
    struct kids kids = { 0 };
    x->fills = true;
    x->with = var;
    x->slot = expr_simplify(p, expr_modc(p, var, x->s->pipe_stages));
    for (int i = 0; i < fills->len; i++)
        vec_push(&kids, staged_tree(x, fills->data[i]));
    struct tree *t = ARENA_DUP(x->w->arena, low_with_kids(p, x->loop, &kids), 1);
    t->var = var;
    t->extent = extent;
    t->reduce = false;
    t->piece = NULL;
    t->n_prefetch = 0;
    t->prefetch = NULL;
    vec_free(&kids);
    return t;
}

/* Returns the loop of copies before the pipelined loop.  Each of its iterations ends with a
 * commit. */
static const struct tree *first_copies(struct pipe *x, const struct kids *fills)
{
    const char *name = arena_printf(x->w->arena, "%s.first", x->loop->var->name);
    int64_t n = x->s->pipe_stages - 1;
    struct tree *t = copies(x, fills, expr_var(x->w->in->pool, name, 0, n - 1), n);
    const struct tree **kid = ARENA_DUP(x->w->arena, t->kid, t->n_kids);
    struct tree *last = ARENA_DUP(x->w->arena, kid[t->n_kids - 1], 1);
    last->commit = true;
    kid[t->n_kids - 1] = last;
    t->kid = kid;
    t->pipelined = true;
    return t;
}

/* Returns the copies that an iteration of the pipelined loop makes for a later iteration.  Before
 * these copies, the iteration waits for the copies of its own tiles. */
static const struct tree *copies_ahead(struct pipe *x, const struct kids *fills)
{
    struct exprs *p = x->w->in->pool;
    const char *name = arena_printf(x->w->arena, "%s.ahead", x->loop->var->name);
    int64_t n = x->s->pipe_stages, all = x->loop->extent;
    struct tree *t = copies(x, fills, expr_var(p, name, 0, all - 1), all);
    t->begin = expr_addc(p, x->loop->var, n - 1);
    t->end = expr_simplify(p, expr_min(p, expr_addc(p, x->loop->var, n), expr_const(p, all)));
    t->wait = (int)n - 1;
    t->barrier = t->commit = true;
    return t;
}

/* Returns the pipelined loop, with its first copies, inside of the scopes of its tiles. */
static const struct tree *pipelined(struct pipe *x, const struct kids *scopes,
                                    const struct kids *fills, const struct kids *rest)
{
    struct exprs *p = x->w->in->pool;
    struct kids kids = { 0 };
    vec_push(&kids, copies_ahead(x, fills));
    x->fills = false;
    x->with = NULL;
    x->slot = expr_simplify(p, expr_modc(p, x->loop->var, x->s->pipe_stages));
    for (int i = 0; i < rest->len; i++)
        vec_push(&kids, staged_tree(x, rest->data[i]));
    for (int i = scopes->len - 1; i >= 0; i--)
        if (!x->ring[scopes->data[i]->buffer]) {
            const struct tree *scope = low_with_kids(p, scopes->data[i], &kids);
            vec_clear(&kids);
            vec_push(&kids, scope);
        }
    struct tree *loop = ARENA_DUP(x->w->arena, low_with_kids(p, x->loop, &kids), 1);
    loop->pipelined = true;
    vec_clear(&kids);
    vec_push(&kids, first_copies(x, fills));
    vec_push(&kids, loop);
    for (int i = scopes->len - 1; i >= 0; i--)
        if (x->ring[scopes->data[i]->buffer]) {
            const struct tree *scope = low_with_kids(p, scopes->data[i], &kids);
            vec_clear(&kids);
            vec_push(&kids, scope);
        }
    const struct tree *all = kids.data[0];
    vec_free(&kids);
    return all;
}

/* Divides the body of the loop into the scopes of its tiles, the copies that fill tiles, and the
 * rest.  Gives stages to the tiles that the copies fill. */
static bool part_loop(struct pipe *x, struct kids *scopes, struct kids *fills, struct kids *rest)
{
    const struct tree *t = x->loop;
    int buffer, copied = 0;
    if (t->begin || t->end || t->extent != x->s->axis[stage_axis(x->s, t->axis)].extent)
        return refuse_loop(x, "it is cut into pieces", "split it by factors that divide it");
    if (t->extent < x->s->pipe_stages)
        return refuse_loop(x, "it has fewer iterations than stages", "use fewer stages");
    if (t->ann != LOOP_SERIAL)
        return refuse_loop(x, "it is marked as another kind of loop", "loop serial");
    for (; t->n_kids == 1 && t->kid[0]->kind == TREE_SCOPE; t = t->kid[0])
        vec_push(scopes, t->kid[0]);
    refuse_loop(x, "no shared tile is filled there", "loop cache_read at this loop, scope=shared");
    for (int i = 0; i < t->n_kids; i++) {
        bool copy = can_copy(x->w, t->kid[i], &buffer);
        if (copy && !add_stages(x, buffer))
            return false;
        copied += copy;
        vec_push(copy ? fills : rest, t->kid[i]);
    }
    return copied > 0;
}

static const struct tree *pipeline_loop(struct low *w, const struct stage *s,
                                        const struct tree *t)
{
    struct pipe x = { .w = w, .s = s, .loop = t, .from = t->var,
                      .ring = ARENA_ARRAY(w->arena, bool, w->buffers.len + 1) };
    struct kids scopes = { 0 }, fills = { 0 }, rest = { 0 };
    const struct tree *out = t;
    w->ok = part_loop(&x, &scopes, &fills, &rest);
    if (w->ok)
        out = pipelined(&x, &scopes, &fills, &rest);
    vec_free(&scopes);
    vec_free(&fills);
    vec_free(&rest);
    return out;
}

static bool check_memory(struct low *w, const struct tree *t)
{
    const struct func f = { .buffer = w->buffers.data, .n_buffers = w->buffers.len };
    int64_t bytes = tree_shared_bytes(&f, t);
    if (bytes <= SHARED_MOST)
        return true;
    err_set(w->e, ERR_STEP, "the stages of the shared tiles need %lld bytes, and a block has at"
            " most %d", (long long)bytes, SHARED_MOST);
    return err_fix(w->e, "use fewer stages, or make the tiles of the block smaller");
}

static const struct tree *pipeline(struct low *w, const struct tree *t, bool *any)
{
    const struct stage *s = w->in->stage[t->node];
    if (t->kind == TREE_STORE || !w->ok)
        return t;
    if (t->kind == TREE_LOOP && s->pipe_at && streq(s->pipe_at, t->axis) && t->reduce) {
        *any = true;
        return pipeline_loop(w, s, t);
    }
    struct kids kids = { 0 };
    for (int i = 0; i < t->n_kids; i++)
        vec_push(&kids, pipeline(w, t->kid[i], any));
    const struct tree *copy = low_with_kids(w->in->pool, t, &kids);
    vec_free(&kids);
    return copy;
}

const struct tree *low_pipeline(struct low *w, const struct tree *t)
{
    bool any = false;
    const struct tree *out = pipeline(w, t, &any);
    if (any && w->ok)
        w->ok = check_memory(w, out);
    return any ? out : t;
}
