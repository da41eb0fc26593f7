/* Memory-equality (SPEC A.0): two layouts of one shape put every element at the same flat offset,
 * in buffers of the same size.  For example, a fuse moves no element, and neither does a split
 * whose factors divide the dim. */
#include "kernels/layout/layout_impl.h"
#include "kernels/ir/simplify.h"
#include <stdlib.h>

/* most elements that are compared point by point, when the algebra does not decide */
#define COMPARE_LIMIT 1000000

/* Returns the flat offset of an element in l, over the logical variables of layout `names`. */
static const struct expr *offset_over(struct exprs *p, const struct layout *l,
                                      const struct layout *names)
{
    const struct expr *flat = layout_flat(p, l->rank, l->shape, l->rho);
    return expr_simplify(p, expr_subst(p, flat, l->logical, names->logical, l->tensor->rank));
}

/* Whether expressions a and b over vars are equal at all points of the box of this shape. */
static bool equal_on_box(const struct exprs *p, const struct expr *a, const struct expr *b,
                         const struct expr *const *vars, const int64_t *shape, int rank)
{
    int64_t *env = xcalloc((size_t)exprs_n_vars(p), sizeof *env), point[MAX_DIMS] = { 0 };
    bool equal;
    do {
        for (int k = 0; k < rank; k++)
            env[vars[k]->var] = point[k];
        equal = expr_eval(a, env) == expr_eval(b, env);
    } while (equal && layout_next_point(point, shape, rank));
    free(env);
    return equal;
}

static bool equal_offsets(struct exprs *p, const struct layout *a, const struct layout *b)
{
    const struct expr *x = offset_over(p, a, a), *y = offset_over(p, b, a);
    if (x == y || expr_is_const(expr_simplify(p, expr_sub(p, x, y)), 0))
        return true;
    int64_t elems = 1;
    for (int k = 0; k < a->tensor->rank; k++)
        elems *= a->stored[k];
    return elems <= COMPARE_LIMIT && equal_on_box(p, x, y, a->logical, a->stored, a->tensor->rank);
}

/* Returns the logical flat offset stored at a physical point; -1 for padding. */
static int64_t held_at(const struct layout *l, int64_t *env, const int64_t *point)
{
    for (int j = 0; j < l->rank; j++)
        env[l->phys[j]->var] = point[j];
    if (l->guard && expr_eval(l->guard, env) == 0)
        return -1;
    int64_t flat = 0;
    for (int k = 0; k < l->tensor->rank; k++)
        flat = flat * l->tensor->shape[k] + expr_eval(l->phi[k], env);
    return flat;
}

/* Whether a and b hold the same element at every flat offset.  This compares the contents, because
 * rho does not describe copies. */
static bool equal_contents(const struct exprs *p, const struct layout *a, const struct layout *b)
{
    if (a->elems > COMPARE_LIMIT)
        return false;
    int64_t *env = xcalloc((size_t)exprs_n_vars(p), sizeof *env);
    int64_t at_a[MAX_DIMS] = { 0 }, at_b[MAX_DIMS] = { 0 };
    bool equal;
    do
        equal = held_at(a, env, at_a) == held_at(b, env, at_b);
    while (equal && layout_next_point(at_a, a->shape, a->rank)
           && layout_next_point(at_b, b->shape, b->rank));
    free(env);
    return equal;
}

/* Whether a and b have the same dims with the same meaning: equal expressions rho and phi. */
static bool equal_maps(const struct layout *a, const struct layout *b)
{
    if (a->rank != b->rank || a->guard != b->guard)
        return false;
    for (int j = 0; j < a->rank; j++)
        if (a->shape[j] != b->shape[j] || a->rho[j] != b->rho[j])
            return false;
    for (int k = 0; k < a->tensor->rank; k++)
        if (a->logical[k] != b->logical[k] || a->phi[k] != b->phi[k])
            return false;
    return true;
}

bool layout_memory_equal(struct exprs *p, const struct layout *a, const struct layout *b)
{
    const int rank = a->tensor->rank;
    if (rank != b->tensor->rank || a->elems != b->elems || a->klass != b->klass)
        return false;
    for (int k = 0; k < rank; k++)
        if (a->tensor->shape[k] != b->tensor->shape[k] || a->stored[k] != b->stored[k])
            return false;
    if (equal_maps(a, b))
        return true;
    return equal_offsets(p, a, b) && (a->klass != LAYOUT_DUPLICATING || equal_contents(p, a, b));
}
