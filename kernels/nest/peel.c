/* Peeling: a loop nest around one store of select(c1 && c2 ..., x, y) is cut into ranges so
 * that the conditions hold by construction, as a person writes padding: zero the border, copy the
 * middle.
 *
 * A condition x < y that is linear in the loop variable v, without variables of inner loops,
 * becomes a bound of v:
 *     y - x - 1 = c*v + rest >= 0   ==>   v >= ceil(-rest / c)        when c > 0,
 *                                         v < floor(rest / -c) + 1    when c < 0
 * Other conditions stay in the select. */
#include "kernels/nest/lower_impl.h"
#include "kernels/ir/simplify.h"

/* Returns the store at the end of a perfect nest of loops, or NULL. */
static const struct tree *perfect_store(const struct tree *t)
{
    while (t->kind == TREE_LOOP) {
        if (t->n_kids != 1)
            return NULL;
        t = t->kid[0];
    }
    return t->kind == TREE_STORE ? t : NULL;
}

static bool uses_inner(const struct tree *loop, const struct expr *e)
{
    for (const struct tree *t = loop->kid[0]; t->kind == TREE_LOOP; t = t->kid[0])
        if (expr_uses(e, t->var))
            return true;
    return false;
}

/* Tightens [*lo, *hi) by one condition. Returns false when the condition does not bound the
 * variable of this loop. */
static bool bound(struct exprs *p, const struct tree *loop, const struct expr *cond,
                  const struct expr **lo, const struct expr **hi)
{
    int64_t c;
    if (cond->kind != EXPR_LT || !expr_uses(cond, loop->var) || uses_inner(loop, cond))
        return false;
    const struct expr *room = expr_simplify(p, expr_addc(p, expr_sub(p, cond->b, cond->a), -1));
    if (!expr_coef(p, room, loop->var, &c) || c == 0)
        return false;
    const struct expr *rest = expr_sub(p, room, expr_mulc(p, loop->var, c));
    if (c > 0)
        *lo = expr_max(p, *lo, expr_divc(p, expr_addc(p, expr_mulc(p, rest, -1), c - 1), c));
    else
        *hi = expr_min(p, *hi, expr_addc(p, expr_divc(p, rest, -c), 1));
    return true;
}

/* Returns the nest with v as the value of its store. */
static const struct tree *with_value(struct arena *a, const struct tree *t, const struct val *v)
{
    struct tree *copy = ARENA_DUP(a, t, 1);
    if (t->kind == TREE_STORE) {
        copy->value = v;
    } else {
        const struct tree *kid = with_value(a, t->kid[0], v);
        copy->kid = ARENA_DUP(a, &kid, 1);
    }
    return copy;
}

static bool empty(const struct expr *lo, const struct expr *hi)
{
    return lo == hi || (lo->kind == EXPR_CONST && hi->kind == EXPR_CONST && lo->value >= hi->value);
}

/* Cuts one loop into pieces, which replace it.  Returns false when no condition bounds the loop, or
 * when there are too many conditions. */
static bool cut(struct exprs *p, const struct tree *loop, const struct tree *store,
                struct kids *out)
{
    struct arena *a = exprs_arena(p);
    const struct val *sel = store->value;
    struct conjuncts all = { 0 };
    const struct expr *first = low_begin(p, loop), *last = low_end(p, loop);
    const struct expr *lo = first, *hi = last, *rest = expr_const(p, 1);
    bool any = false;
    if (!low_conjuncts(sel->cond, &all))
        return false;
    for (int i = 0; i < all.n; i++) {
        if (bound(p, loop, all.c[i], &lo, &hi))
            any = true;
        else
            rest = expr_and(p, rest, all.c[i]);
    }
    if (!any)
        return false;
    lo = expr_simplify(p, expr_min(p, lo, last));
    hi = expr_simplify(p, expr_max(p, hi, lo));
    rest = expr_simplify(p, rest);
    const struct val *middle =
        expr_is_const(rest, 1) ? sel->a : val_select(a, rest, sel->a, sel->b);
    const struct tree *border = with_value(a, loop, sel->b);
    if (!empty(first, lo))
        vec_push(out, low_ranged(p, border, first, lo));
    if (!empty(lo, hi))
        vec_push(out, low_ranged(p, with_value(a, loop, middle), lo, hi));
    if (!empty(hi, last))
        vec_push(out, low_ranged(p, border, hi, last));
    return true;
}

/* Whether t is a serial loop with constant bounds around a select.  Its bounds need not be those of
 * a whole loop, because a piece may be cut again: concatenating three tensors needs two cuts. */
static bool peelable(const struct tree *t, const struct tree *store)
{
    bool known = !t->begin || (t->begin->kind == EXPR_CONST && t->end->kind == EXPR_CONST);
    return store && t->ann == LOOP_SERIAL && known && store->value->kind == VAL_SELECT &&
           store->how == STORE_SET;
}

void tree_peel(struct exprs *p, const struct tree *t, struct kids *out)
{
    struct kids inner = { 0 };
    const struct tree *store = t->kind == TREE_LOOP ? perfect_store(t) : NULL;
    if (t->kind == TREE_STORE) {
        vec_push(out, t);
        return;
    }
    if (t->kind == TREE_LOOP && peelable(t, store) && cut(p, t, store, &inner)) {
        for (int i = 0; i < inner.len; i++)
            tree_peel(p, inner.data[i], out);
    } else {
        for (int i = 0; i < t->n_kids; i++)
            tree_peel(p, t->kid[i], &inner);
        vec_push(out, low_with_kids(p, t, &inner));
    }
    vec_free(&inner);
}
