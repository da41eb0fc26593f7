/* Divides the copies that the threads of a block make together.  A nest of LOOP_THREADS becomes one
 * loop, in which each of n threads takes every n-th element, so that adjacent threads copy adjacent
 * elements:
 *
 *     for m, k in threads(64, 8): T[m][k] = A[...]             by 256 threads
 * ==>
 *     for copy in range(2): T[32*copy + thread / 8][thread % 8] = A[...]
 *
 * Requires that all threads of the block run the nest, which is not checked here. */
#include "kernels/gen/gen_impl.h"
#include "kernels/ir/simplify.h"

/* The loops around a tree that are bound to thread.x, thread.y and thread.z, or NULL. */
struct block_threads { struct unit *u; const struct tree *loop[3]; };

/* Sets *index to the number of the thread in its block.  It is a variable that the printer of the
 * kernel declares, or 0 in a block of one thread.  Returns the number of threads of the block. */
static int64_t thread_number(const struct block_threads *b, const struct expr **index)
{
    int64_t n = 1;
    for (int i = 0; i < 3; i++)
        n *= b->loop[i] ? b->loop[i]->extent : 1;
    *index = n > 1 ? code_thread_var(b->u, n) : expr_const(b->u->func->pool, 0);
    return n;
}

const struct expr *code_thread_var(struct unit *u, int64_t n)
{
    return expr_var(u->func->pool, "thread", 0, n - 1);
}

/* A change of a tree: the variable `from` is replaced by `with`, and every store gets the condition
 * `inside` in addition; inside NULL: no condition. */
struct replaced { struct unit *u; const struct expr *from, *with, *inside; };

static const struct expr *replaced_expr(const struct replaced *r, const struct expr *e)
{
    struct exprs *p = r->u->func->pool;
    return e ? expr_simplify(p, expr_subst(p, e, &r->from, &r->with, 1)) : NULL;
}

static const struct tree *replace(const struct replaced *r, const struct tree *t)
{
    struct arena *a = r->u->arena;
    struct exprs *p = r->u->func->pool;
    struct tree *copy = ARENA_DUP(a, t, 1);
    if (t->kind == TREE_STORE) {
        const struct expr **idx = ARENA_ARRAY(a, const struct expr *, t->rank + 1);
        for (int d = 0; d < t->rank; d++)
            idx[d] = replaced_expr(r, t->idx[d]);
        copy->idx = idx;
        copy->value = val_subst(p, t->value, r->from, r->with);
        copy->guard = replaced_expr(r, t->guard);
        if (r->inside)
            copy->guard = copy->guard ? expr_simplify(p, expr_and(p, r->inside, copy->guard))
                                      : r->inside;
        return copy;
    }
    const struct tree **kid = ARENA_ARRAY(a, const struct tree *, t->n_kids + 1);
    for (int i = 0; i < t->n_kids; i++)
        kid[i] = replace(r, t->kid[i]);
    copy->kid = kid;
    copy->begin = replaced_expr(r, t->begin);
    copy->end = replaced_expr(r, t->end);
    return copy;
}

/* Returns the name of the tile into which t copies. */
static const char *tile_of(const struct unit *u, const struct tree *t)
{
    while (t->kind != TREE_STORE)
        t = t->kid[0];
    return u->func->buffer[t->buffer].name;
}

/* Returns the loop that replaces the nest of LOOP_THREADS at t: each thread copies its elements. */
static const struct tree *shared_out(const struct block_threads *b, const struct tree *t)
{
    struct unit *u = b->u;
    struct exprs *p = u->func->pool;
    const struct tree *inner = t;
    const struct expr *thread;
    int64_t all = t->extent, n = thread_number(b, &thread);
    while (inner->n_kids == 1 && inner->kid[0]->kind == TREE_LOOP
           && inner->kid[0]->ann == LOOP_THREADS)
        all *= (inner = inner->kid[0])->extent;
    int64_t turns = (all - 1) / n + 1, below = all;
    struct tree *loop = ARENA_DUP(u->arena, t, 1);
    loop->ann = LOOP_SERIAL;
    loop->axis = "copy";
    loop->var = expr_var(p, "copy", 0, turns - 1);
    loop->extent = turns;
    loop->n_kids = inner->n_kids;
    loop->kid = inner->kid;
    loop->piece = arena_printf(u->arena, "%s%s%s, by %lld threads", t->piece ? t->piece : "",
                               t->piece ? ": " : "", tile_of(u, inner), (long long)n);
    const struct expr *at = expr_add(p, expr_mulc(p, loop->var, n), thread);
    const struct expr *inside = turns * n > all ? expr_lt(p, at, expr_const(p, all)) : NULL;
    if (inside)
        inside = expr_simplify(p, inside);
    for (const struct tree *k = t;; k = k->kid[0]) {
        below /= k->extent;
        const struct expr *value = expr_divc(p, at, below);
        struct replaced r = { u, k->var, k == t ? value : expr_modc(p, value, k->extent),
                              k == inner ? inside : NULL };
        const struct tree **kid = ARENA_ARRAY(u->arena, const struct tree *, loop->n_kids + 1);
        r.with = expr_simplify(p, r.with);
        for (int i = 0; i < loop->n_kids; i++)
            kid[i] = replace(&r, loop->kid[i]);
        loop->kid = kid;
        if (k == inner)
            break;
    }
    return loop;
}

static const struct tree *share_tree(struct block_threads *b, const struct tree *t)
{
    if (t->kind == TREE_STORE)
        return t;
    if (t->kind == TREE_LOOP && t->ann == LOOP_THREADS)
        return shared_out(b, t);
    bool thread = t->kind == TREE_LOOP && t->ann >= LOOP_THREAD_X;
    if (thread)
        b->loop[t->ann - LOOP_THREAD_X] = t;
    struct tree *copy = ARENA_DUP(b->u->arena, t, 1);
    const struct tree **kid = ARENA_ARRAY(b->u->arena, const struct tree *, t->n_kids + 1);
    for (int i = 0; i < t->n_kids; i++)
        kid[i] = share_tree(b, t->kid[i]);
    copy->kid = kid;
    if (thread)
        b->loop[t->ann - LOOP_THREAD_X] = NULL;
    return copy;
}

void code_share_threads(struct unit *u)
{
    struct block_threads b = { .u = u };
    struct func *f = ARENA_DUP(u->arena, u->func, 1);
    const struct tree **root = ARENA_ARRAY(u->arena, const struct tree *, f->n_roots + 1);
    for (int i = 0; i < f->n_roots; i++)
        root[i] = share_tree(&b, f->root[i]);
    f->root = root;
    u->func = f;
}
