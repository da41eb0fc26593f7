#include "tests/unit/isl_help.h"
#ifdef TS_ISL
#include <setjmp.h>
#include <stdarg.h>
#include <isl/local_space.h>
#include <isl/options.h>
#include <isl/space.h>
#include <isl/val.h>
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

isl_ctx *oracle_new(unsigned long max_operations)
{
    isl_ctx *ctx = isl_ctx_alloc();
    isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
    isl_ctx_set_max_operations(ctx, max_operations);
    return ctx;
}

void oracle_free(isl_ctx *ctx)
{
    isl_options_set_on_error(ctx, ISL_ON_ERROR_WARN);
    isl_ctx_free(ctx);
}

void oracle_ask(isl_ctx *ctx)
{
    isl_ctx_reset_error(ctx);
    isl_ctx_reset_operations(ctx);
}

bool oracle_decided(isl_ctx *ctx)
{
    const enum isl_error error = isl_ctx_last_error(ctx);
    if (error != isl_error_none && error != isl_error_quota)
        fail_msg("isl: %s (%s:%d)", isl_ctx_last_error_msg(ctx), isl_ctx_last_error_file(ctx),
                 isl_ctx_last_error_line(ctx));
    return error == isl_error_none;
}

struct box box_of(isl_ctx *ctx, const struct expr *const *var, int n)
{
    isl_set *points = isl_set_universe(isl_space_set_alloc(ctx, 0, (unsigned)n));
    for (int i = 0; i < n; i++) {
        const unsigned at = (unsigned)i;
        points = isl_set_lower_bound_val(points, isl_dim_set, at,
                                         isl_val_int_from_si(ctx, var[i]->lo));
        points = isl_set_upper_bound_val(points, isl_dim_set, at,
                                         isl_val_int_from_si(ctx, var[i]->hi));
    }
    return (struct box){ ctx, points, n, var };
}

void box_free(struct box *b)
{
    isl_set_free(b->points);
}

static isl_pw_aff *aff_const(const struct box *b, int64_t value)
{
    return isl_pw_aff_val_on_domain(isl_set_copy(b->points),
                                    isl_val_int_from_si(b->ctx, value));
}

static isl_pw_aff *aff_var(const struct box *b, const struct expr *e)
{
    int i = 0;
    while (i < b->n && b->var[i] != e)
        i++;
    if (i == b->n)
        fail_msg("%s is no variable of the box", e->name);
    isl_local_space *space = isl_local_space_from_space(isl_set_get_space(b->points));
    return isl_pw_aff_intersect_domain(isl_pw_aff_var_on_domain(space, isl_dim_set, (unsigned)i),
                                       isl_set_copy(b->points));
}

/* 1 on the points of set, 0 on the others of b. */
static isl_pw_aff *aff_test(const struct box *b, isl_set *set)
{
    return isl_pw_aff_intersect_domain(isl_set_indicator_function(set), isl_set_copy(b->points));
}

static isl_set *not_zero(const struct box *b, isl_pw_aff *a)
{
    return isl_pw_aff_ne_set(a, aff_const(b, 0));
}

static bool is_constant(isl_pw_aff *a)
{
    return isl_pw_aff_is_cst(a) != isl_bool_false;
}

/* isl_pw_aff_min_val wants integer coefficients, which functions on a lattice may lack. */
void aff_extremes(isl_pw_aff *a, isl_val **lo, isl_val **hi)
{
    isl_set *values = isl_map_range(isl_map_from_pw_aff(isl_pw_aff_copy(a)));
    *lo = isl_set_dim_min_val(isl_set_copy(values), 0);
    *hi = isl_set_dim_max_val(values, 0);
}

/* The values of a: the least of them, and how many up to the largest. */
struct span { int64_t lo, n; };

enum { MANY = 1000 };                     /* and more: not worth counting */

static struct span span_of(isl_pw_aff *a)
{
    isl_val *lo, *hi;
    aff_extremes(a, &lo, &hi);
    isl_val *n = isl_val_sub(hi, isl_val_copy(lo));
    struct span s = { .n = MANY };
    if (lo && n && isl_val_cmp_si(n, MANY) < 0)
        s = (struct span){ isl_val_get_num_si(lo), isl_val_get_num_si(n) + 1 };
    isl_val_free(lo);
    isl_val_free(n);
    return s;
}

/* a * b: case by case over the values of a. */
static isl_pw_aff *product_by_cases(const struct box *box, isl_pw_aff *a, isl_pw_aff *b,
                                    struct span of_a)
{
    isl_pw_aff *sum = isl_pw_aff_empty(isl_pw_aff_get_space(a));
    for (int64_t v = of_a.lo; v < of_a.lo + of_a.n && sum; v++) {
        isl_pw_aff *value = aff_const(box, v);
        isl_set *here = isl_pw_aff_eq_set(isl_pw_aff_copy(a), isl_pw_aff_copy(value));
        isl_pw_aff *part = isl_pw_aff_mul(isl_pw_aff_copy(b), value);
        sum = isl_pw_aff_union_add(sum, isl_pw_aff_intersect_domain(part, here));
    }
    isl_pw_aff_free(a);
    isl_pw_aff_free(b);
    return sum;
}

/* a * b, which need not be affine. */
static isl_pw_aff *product(const struct box *box, isl_pw_aff *a, isl_pw_aff *b)
{
    if (is_constant(a) || is_constant(b))
        return isl_pw_aff_mul(a, b);
    const struct span of_a = span_of(a), of_b = span_of(b);
    return of_a.n <= of_b.n ? product_by_cases(box, a, b, of_a)
                            : product_by_cases(box, b, a, of_b);
}

/* e / c and e % c with a positive constant c. */
static isl_pw_aff *divided(const struct box *box, const struct expr *e)
{
    isl_pw_aff *a = box_aff(box, e->a);
    isl_val *c = isl_val_int_from_si(box->ctx, e->b->value);
    if (e->kind == EXPR_MOD)
        return isl_pw_aff_mod_val(a, c);
    return isl_pw_aff_floor(isl_pw_aff_scale_down_val(a, c));
}

isl_pw_aff *box_aff(const struct box *box, const struct expr *e)
{
    if (e->kind == EXPR_CONST)
        return aff_const(box, e->value);
    if (e->kind == EXPR_VAR)
        return aff_var(box, e);
    if (e->kind == EXPR_DIV || e->kind == EXPR_MOD)
        return divided(box, e);
    isl_pw_aff *a = box_aff(box, e->a), *b = box_aff(box, e->b);
    switch (e->kind) {
    case EXPR_ADD: return isl_pw_aff_add(a, b);
    case EXPR_MUL: return product(box, a, b);
    case EXPR_MIN: return isl_pw_aff_min(a, b);
    case EXPR_MAX: return isl_pw_aff_max(a, b);
    case EXPR_LT: return aff_test(box, isl_pw_aff_lt_set(a, b));
    case EXPR_EQ: return aff_test(box, isl_pw_aff_eq_set(a, b));
    case EXPR_AND:
        return aff_test(box, isl_set_intersect(not_zero(box, a), not_zero(box, b)));
    case EXPR_CONST: case EXPR_VAR: case EXPR_DIV: case EXPR_MOD: case EXPR_KIND_COUNT: break;
    }
    UNREACHABLE();
}

isl_set *box_where(const struct box *b, const struct expr *e)
{
    return e ? not_zero(b, box_aff(b, e)) : isl_set_copy(b->points);
}

isl_map *box_map(const struct box *b, const struct expr *const *e, int n)
{
    isl_pw_aff_list *list = isl_pw_aff_list_alloc(b->ctx, n);
    for (int j = 0; j < n; j++)
        list = isl_pw_aff_list_add(list, box_aff(b, e[j]));
    isl_space *space = isl_space_map_from_domain_and_range(
        isl_set_get_space(b->points), isl_space_set_alloc(b->ctx, 0, (unsigned)n));
    return isl_map_from_multi_pw_aff(isl_multi_pw_aff_from_pw_aff_list(space, list));
}

struct maps maps_of(isl_ctx *ctx, const struct layout *l)
{
    struct maps m = { .logical = box_of(ctx, l->logical, l->tensor->rank),
                      .physical = box_of(ctx, l->phys, l->rank) };
    m.rho = box_map(&m.logical, l->rho, l->rank);
    m.phi = isl_map_intersect_domain(box_map(&m.physical, l->phi, l->tensor->rank),
                                     box_where(&m.physical, l->guard));
    return m;
}

void maps_free(struct maps *m)
{
    isl_map_free(m->rho);
    isl_map_free(m->phi);
    box_free(&m->logical);
    box_free(&m->physical);
}
#endif
