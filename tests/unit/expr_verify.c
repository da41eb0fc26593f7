#include "tests/unit/expr_verify.h"

#include "kernels/ir/expr_impl.h"

static const struct expr *built_again(struct exprs *p, const struct expr *e)
{
    return e->kind == EXPR_CONST ? expr_const(p, e->value)
         : e->kind == EXPR_VAR ? expr_var(p, e->name, e->lo, e->hi)
                               : expr_bin(p, e->kind, e->a, e->b);
}

void expr_verify(struct exprs *p, const struct expr *e)
{
    if (e->lo > e->hi)
        fail("empty bounds");
    if (built_again(p, e) != e)           /* expr_bin refuses other divisors */
        fail("an expression of another pool, or not interned");
    if (!e->a)
        return;
    struct range r = range_of(e->kind, range_expr(e->a), range_expr(e->b));
    if (r.lo != e->lo || r.hi != e->hi)
        fail("stale bounds");
    bool is_divmod = e->kind == EXPR_DIV || e->kind == EXPR_MOD;
    if (e->has_divmod != (is_divmod || e->a->has_divmod || e->b->has_divmod))
        fail("stale has_divmod");
    expr_verify(p, e->a);
    expr_verify(p, e->b);
}
