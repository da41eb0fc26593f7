#include "tests/unit/broken_kernel.h"

const char *const breakage_name[] = {
    "no barrier", "store shifted", "load shifted", "tile filled in part", "tile too narrow",
    "threads apart", "no wait", "stage shifted", "a stage too few",
};

/* Breaks the n-th place of a kind; counts down. */
struct breaker {
    struct exprs *pool;
    const struct func *f;
    enum breakage what;
    int n;
    int few;                              /* the tile with a stage too few, or -1 */
    const struct expr *thread;            /* the index of the thread, in the innermost bound loop */
};

static bool shared(const struct breaker *b, int buffer)
{
    return b->f->buffer[buffer].memory == MEMORY_SHARED;
}

static const struct expr *const *shifted(struct breaker *b, const struct expr *const *idx, int rank)
{
    struct arena *a = exprs_arena(b->pool);
    const struct expr **out = ARENA_DUP(a, idx, rank);
    int last = rank - 1;
    while (last > 0 && idx[last]->kind == EXPR_CONST)
        last--;
    out[last] = expr_addc(b->pool, idx[last], 1);
    return out;
}

/* Returns idx with the stage that f gives. */
static const struct expr *const *staged(struct breaker *b, const struct expr *const *idx, int rank,
                                        const struct expr *stage)
{
    const struct expr **out = ARENA_DUP(exprs_arena(b->pool), idx, rank);
    out[0] = stage;
    return out;
}

/* Returns idx of an element of a tile with a stage too few. */
static const struct expr *const *fewer(struct breaker *b, int buffer,
                                       const struct expr *const *idx, int rank)
{
    if (buffer != b->few)
        return idx;
    return staged(b, idx, rank, expr_modc(b->pool, idx[0], b->f->buffer[buffer].stages - 1));
}

static const struct val *break_load(void *ctx, const struct val *load)
{
    struct breaker *b = ctx;
    int64_t stages = b->f->buffer[load->source].stages;
    if (b->few == load->source)
        return val_load(exprs_arena(b->pool), load->source, load->rank,
                        fewer(b, load->source, load->idx, load->rank));
    if (b->what == SHIFT_STAGE && stages > 0 && b->n-- == 0)
        return val_load(exprs_arena(b->pool), load->source, load->rank,
                        staged(b, load->idx, load->rank,
                               expr_modc(b->pool, expr_addc(b->pool, load->idx[0], 1), stages)));
    if (b->what != SHIFT_LOAD || !shared(b, load->source) || b->n-- != 0)
        return load;
    return val_load(exprs_arena(b->pool), load->source, load->rank,
                    shifted(b, load->idx, load->rank));
}

/* Whether t is a loop with a barrier in it, which all threads run equally often. */
static bool meets(const struct tree *t)
{
    for (int i = 0; t->kind == TREE_LOOP && t->ann == LOOP_SERIAL && i < t->n_kids; i++)
        for (const struct tree *k = t->kid[i]; k; k = k->n_kids > 0 ? k->kid[0] : NULL)
            if (k->barrier)
                return true;
    return false;
}

static const struct tree *break_tree(struct breaker *b, const struct tree *t)
{
    struct arena *a = exprs_arena(b->pool);
    struct tree *copy = ARENA_DUP(a, t, 1);
    const struct val_map map = { .ctx = b, .load = break_load };
    if (t->barrier && b->what == NO_BARRIER && b->n-- == 0)
        copy->barrier = false;
    if (t->wait && b->what == NO_WAIT && b->n-- == 0)
        copy->wait = 0;
    if (t->piece && b->what == SHORT_FILL)
        return t;                         /* of the tail, more is filled than is read */
    if (t->kind == TREE_LOOP && t->ann == LOOP_THREADS && b->what == SHORT_FILL && b->n-- == 0)
        copy->extent--;
    if (t->kind == TREE_LOOP && t->ann >= LOOP_THREAD_X && t->extent > 1)
        b->thread = t->var;
    if (b->what == APART && meets(t) && b->n-- == 0) {
        copy->begin = expr_const(b->pool, 0);
        copy->end = expr_min(b->pool, expr_const(b->pool, t->extent),
                             expr_addc(b->pool, b->thread, 1));
    }
    if (t->kind == TREE_STORE) {
        copy->value = val_rebuild(a, t->value, &map);
        copy->idx = fewer(b, t->buffer, t->idx, t->rank);
        if (shared(b, t->buffer) && b->what == SHIFT_STORE && b->n-- == 0)
            copy->idx = shifted(b, t->idx, t->rank);
        return copy;
    }
    const struct tree **kid = ARENA_ARRAY(a, const struct tree *, t->n_kids + 1);
    for (int i = 0; i < t->n_kids; i++)
        kid[i] = break_tree(b, t->kid[i]);
    copy->kid = kid;
    return copy;
}

const struct func *broken_kernel(struct arena *a, const struct func *f, enum breakage what, int n)
{
    struct breaker b = { f->pool, f, what, n, -1, NULL };
    struct func *out = ARENA_DUP(a, f, 1);
    const struct tree **root = ARENA_ARRAY(a, const struct tree *, f->n_roots + 1);
    struct buffer *buffer = ARENA_DUP(a, f->buffer, f->n_buffers);
    for (int i = 0; i < f->n_buffers && what == FEW_STAGES; i++)
        if (f->buffer[i].stages > 0 && b.n-- == 0)
            b.few = i;
    for (int i = 0; i < f->n_roots; i++)
        root[i] = break_tree(&b, f->root[i]);
    for (int i = 0; i < f->n_buffers && what == NARROW_TILE; i++)
        if (shared(&b, i) && b.n-- == 0) {
            int d = buffer[i].rank - 1;
            buffer[i].elems = buffer[i].elems / buffer[i].shape[d] * (buffer[i].shape[d] - 2);
            buffer[i].shape[d] -= 2;      /* 2: the padding of a row may be 1 */
        }
    out->root = root;
    out->buffer = buffer;
    return b.n < 0 ? out : NULL;
}
