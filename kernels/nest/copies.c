/* Copies in vectors: an innermost serial loop that only moves data along contiguous elements, such
 * as padding, a conversion or the filling of a tile, becomes vector loops:
 *
 *     for i in range(150): X[i] = Y[i]
 * ==>
 *     for i.v in range(2):
 *         for i in vectorize(64): X[64*i.v + i] = Y[64*i.v + i]
 *     for i in vectorize(22): X[i + 128] = Y[i + 128]
 *
 * A tile that a block shares is copied 16 bytes at a time from global memory of the same type,
 * where both sides are aligned.
 *
 * Without `set autovectorize on`, the compiler must not vectorize loops on its own, because then
 * other loops would run than the nest shows.  Lowering therefore vectorizes copies, also without a
 * step that asks for it: the order in which elements are copied does not matter. */
#include "kernels/nest/lower_impl.h"

#include "kernels/ir/simplify.h"

#define COPY_LANES 64                     /* lanes; a copy of twice this length or more is cut */

/* Whether v moves data only: a load or a constant. */
static bool moves(const struct val *v)
{
    return v->kind == VAL_LOAD || v->kind == VAL_CONST;
}

/* Whether t is a serial loop around one store that copies to adjacent elements. */
static bool is_copy(const struct low *w, const struct tree *t)
{
    struct exprs *p = w->in->pool;
    const struct tree *store = t->n_kids == 1 ? t->kid[0] : NULL;
    int64_t by;
    bool known = !t->begin || (t->begin->kind == EXPR_CONST && t->end->kind == EXPR_CONST);
    if (!known || t->ann != LOOP_SERIAL || t->reduce || t->n_prefetch > 0 || !store
        || store->kind != TREE_STORE || store->how != STORE_SET || store->guard
        || !moves(store->value))
        return false;
    const struct expr *at = buffer_offset(p, &w->buffers.data[store->buffer], store->idx);
    return expr_coef(p, at, t->var, &by) && by == 1;
}

/* Returns the store with `with` in place of variable var. */
static const struct tree *moved(struct exprs *p, const struct tree *store, const struct expr *var,
                                const struct expr *with)
{
    struct arena *a = exprs_arena(p);
    struct tree *copy = ARENA_DUP(a, store, 1);
    const struct expr **idx = ARENA_ARRAY(a, const struct expr *, store->rank + 1);
    for (int d = 0; d < store->rank; d++)
        idx[d] = expr_simplify(p, expr_subst(p, store->idx[d], &var, &with, 1));
    copy->idx = idx;
    copy->value = val_subst(p, store->value, var, with);
    return copy;
}

/* Returns loop t with another variable, extent, annotation and body; it begins at 0. */
static const struct tree *loop_like(struct arena *a, const struct tree *t, const struct expr *var,
                                    int64_t extent, enum loop_ann ann, const struct tree *kid)
{
    struct tree *loop = ARENA_DUP(a, t, 1);
    loop->begin = loop->end = NULL;
    loop->var = var;
    loop->extent = extent;
    loop->ann = ann;
    loop->kid = ARENA_DUP(a, &kid, 1);
    return loop;
}

/* Returns a vector loop that does iterations [from, from + n) of t. */
static const struct tree *lanes(struct exprs *p, const struct tree *t, const struct expr *from,
                                int64_t n)
{
    const struct expr *var = expr_var(p, t->var->name, 0, n - 1);
    const struct tree *store = moved(p, t->kid[0], t->var,
                                     expr_simplify(p, expr_add(p, from, var)));
    return loop_like(exprs_arena(p), t, var, n, LOOP_VECTORIZE, store);
}

/* Whether `offset` is a multiple of n whenever var is one, and grows by 1 when var grows by 1. */
static bool is_aligned(struct exprs *p, const struct expr *offset, const struct expr *var,
                       int64_t n)
{
    struct expr_linear sum = expr_linear(p, offset);
    bool aligned = sum.rest % n == 0, found = false;
    for (int i = 0; i < sum.n; i++) {
        found = found || sum.term[i] == var;
        aligned = aligned && (sum.term[i] == var ? sum.coef[i] == 1
                              : sum.coef[i] % n == 0 && !expr_uses(sum.term[i], var));
    }
    return aligned && found;
}

#define WIDE_BYTES 16                     /* the widest access of a thread of a GPU */

/* If t is the innermost loop that fills a shared tile, and can copy 16 bytes at a time, returns the
 * loop that does so; else returns t. */
static const struct tree *wide_copy(const struct low *w, const struct tree *t)
{
    struct exprs *p = w->in->pool;
    const struct tree *store = t->n_kids == 1 ? t->kid[0] : NULL;
    if (!store || store->kind != TREE_STORE || store->guard || store->value->kind != VAL_LOAD)
        return t;
    const struct buffer *to = &w->buffers.data[store->buffer];
    const struct buffer *from = &w->buffers.data[store->value->source];
    int64_t n = WIDE_BYTES / to->type->bytes;
    if (to->swizzle.mask & (n - 1))
        return t;                         /* the swizzle separates the 16 bytes */
    if (from->memory != MEMORY_GLOBAL || n < 2 || t->extent % n || to->type != from->type
        || !is_aligned(p, buffer_offset(p, to, store->idx), t->var, n)
        || !is_aligned(p, buffer_offset(p, from, store->value->idx), t->var, n))
        return t;
    const struct expr *turn = expr_var(p, arena_printf(exprs_arena(p), "%s.v", t->var->name), 0,
                                       t->extent / n - 1);
    const struct tree *inner = lanes(p, t, expr_mulc(p, turn, n), n);
    return loop_like(exprs_arena(p), t, turn, t->extent / n, LOOP_THREADS, inner);
}

static void cut_copy(struct exprs *p, const struct tree *t, struct kids *out)
{
    struct arena *a = exprs_arena(p);
    int64_t first = t->begin ? t->begin->value : 0;
    int64_t n = (t->end ? t->end->value : t->extent) - first, whole = n / COPY_LANES;
    if (whole * COPY_LANES == n || whole > 1) {
        const struct expr *turn = expr_var(p, arena_printf(a, "%s.v", t->var->name), 0, whole - 1);
        const struct expr *from = expr_addc(p, expr_mulc(p, turn, COPY_LANES), first);
        const struct tree *inner = lanes(p, t, whole > 1 ? from : expr_const(p, first),
                                         COPY_LANES);
        vec_push(out, whole > 1 ? loop_like(a, t, turn, whole, LOOP_SERIAL, inner) : inner);
        first += whole * COPY_LANES;
        n -= whole * COPY_LANES;
    }
    if (n > 1) {
        vec_push(out, lanes(p, t, expr_const(p, first), n));
    } else if (n == 1) {
        vec_push(out, low_ranged(p, t, expr_const(p, first), expr_const(p, first + 1)));
    }
}

void low_copies(struct low *w, const struct tree *t, struct kids *out)
{
    struct kids inner = { 0 };
    if (t->kind == TREE_LOOP && is_copy(w, t)) {
        cut_copy(w->in->pool, t, out);
        return;
    }
    if (t->kind == TREE_LOOP && t->ann == LOOP_THREADS) {
        const struct tree *wide = wide_copy(w, t);
        if (wide != t) {
            vec_push(out, wide);
            return;
        }
    }
    for (int i = 0; t->kind != TREE_STORE && i < t->n_kids; i++)
        low_copies(w, t->kid[i], &inner);
    vec_push(out, t->kind == TREE_STORE ? t : low_with_kids(w->in->pool, t, &inner));
    vec_free(&inner);
}
