#include "tests/unit/broken_kernel.h"

const char *const breakage_name[] = {
    "no barrier", "store shifted", "load shifted", "tile filled in part", "tile too narrow",
    "threads apart",
};

/* Breaks the n-th place of a kind; counts down. */
struct breaker {
    struct exprs *pool;
    const struct func *f;
    enum breakage what;
    int n;
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

static const struct val *break_load(void *ctx, const struct val *load)
{
    struct breaker *b = ctx;
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
    struct breaker b = { f->pool, f, what, n, NULL };
    struct func *out = ARENA_DUP(a, f, 1);
    const struct tree **root = ARENA_ARRAY(a, const struct tree *, f->n_roots + 1);
    struct buffer *buffer = ARENA_DUP(a, f->buffer, f->n_buffers);
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
