/* Which elements of a layout are padding. */
#include "kernels/layout/layout_impl.h"
#include "kernels/ir/simplify.h"
#include <stdlib.h>

/* Largest region, in elements, that is searched when the algebra cannot decide. */
#define SEARCH_LIMIT 1000000

bool layout_is_padding(struct exprs *p, const struct layout *l, int dim, int64_t lo, int64_t hi)
{
    if (lo > hi)
        return true;
    if (!l->guard)
        return false;
    int64_t shape[MAX_DIMS], point[MAX_DIMS] = { 0 }, elems = hi - lo + 1;
    const struct expr *vars[MAX_DIMS];
    for (int j = 0; j < l->rank; j++) {
        vars[j] = l->phys[j];
        shape[j] = l->shape[j];
        elems *= j == dim ? 1 : l->shape[j];
    }
    shape[dim] = hi - lo + 1;
    vars[dim] = expr_var(p, l->phys[dim]->name, lo, hi);
    const struct expr *guard =
        expr_simplify(p, expr_subst(p, l->guard, &l->phys[dim], &vars[dim], 1));
    if (guard->hi == 0 || guard->lo == 1)
        return guard->hi == 0;
    if (elems > SEARCH_LIMIT)
        return false;
    int64_t *env = xcalloc((size_t)exprs_n_vars(p), sizeof *env);
    bool padding = true;
    do {
        for (int j = 0; j < l->rank; j++)
            env[vars[j]->var] = point[j] + (j == dim ? lo : 0);
        padding = expr_eval(guard, env) == 0;
    } while (padding && layout_next_point(point, shape, l->rank));
    free(env);
    return padding;
}
