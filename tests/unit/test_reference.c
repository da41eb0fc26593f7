/* The reference by hand: products under a test, indices that are out of range or no whole numbers,
 * and the errors of rounded factors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/rng.h"
#include "kernels/ops/reference.h"
#include "tests/unit/reference_slow.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static const struct graph *must_build(struct arena *a, const char *spec)
{
    const struct graph *g;
    struct err e;
    if (!graph_from_spec(a, spec, &g, &e))
        fail_msg("%s: %s", spec, e.text);
    return g;
}

/* One array per tensor, with random numbers. */
static double **random_arrays(struct arena *a, const struct graph *g)
{
    double **data = ARENA_ARRAY(a, double *, g->n_tensors);
    struct rng r = rng_seed(20261127);
    for (int t = 0; t < g->n_tensors; t++) {
        data[t] = ARENA_ARRAY(a, double, tensor_elems(&g->tensor[t]));
        for (int64_t i = 0; i < tensor_elems(&g->tensor[t]); i++)
            data[t][i] = rng_float(&r);
    }
    return data;
}

/* Blocks of products under a test, with columns that fill no block. */
static void tested_products_are_right(void **state)
{
    static const char *const specs[] = {
        "t2d n=2 i=3 h=5 w=7 o=16 k=3 s=2 p=1", "t2d n=1 i=130 h=3 w=3 o=9 k=2 s=2",
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(specs); i++) {
        struct arena *a = arena_new();
        const struct graph *g = must_build(a, specs[i]);
        double **fast = random_arrays(a, g), **slow = random_arrays(a, g);
        struct err e;
        assert_true(reference_eval(g, fast, NULL, &e));
        reference_eval_slow(g, slow);
        for (int t = 0; t < g->n_tensors; t++)
            for (int64_t k = 0; k < tensor_elems(&g->tensor[t]); k++)
                if (!(fabs(fast[t][k] - slow[t][k]) < 1e-12))
                    fail_msg("%s: %s[%lld] is %g, not %g", specs[i], g->tensor[t].name,
                             (long long)k, fast[t][k], slow[t][k]);
        arena_free(a);
    }
}

/* An index below 0 counts from the end; then it is cut to the range, and towards 0. */
static void indices_are_cut(void **state)
{
    static const struct { double index; int row; } rows[] = {
        { 0, 0 }, { 2.75, 2 }, { 4, 4 }, { 4.5, 4 }, { 99, 4 }, { -1, 4 }, { -5, 0 }, { -9, 0 },
    };
    (void)state;
    struct arena *a = arena_new();
    const struct graph *g = must_build(a, "t = const v=5 k=2; i = input n=8; e = gather(t, i)");
    double **data = random_arrays(a, g);
    int t = graph_tensor(g, "t"), i = graph_tensor(g, "i"), out = graph_tensor(g, "e");
    struct err e;
    for (int n = 0; n < COUNT_OF(rows); n++)
        data[i][n] = rows[n].index;
    assert_true(reference_eval(g, data, NULL, &e));
    for (int n = 0; n < COUNT_OF(rows); n++)
        for (int k = 0; k < 2; k++)
            assert_true(data[out][2 * n + k] == data[t][2 * rows[n].row + k]);
    arena_free(a);
}

/* Of factors that are off by es, ex, and are rounded by at most r: the formula in
 * reference_impl.h.  For few terms, r adds its worst case (2 r)^2 n for each square of a product;
 * for many, 8 standard deviations, of which a factor has r / sqrt(3). */
static void check_products(int terms, double of_rounding, bool blocks)
{
    enum { ROWS = 9, MOST = 100 };
    struct arena *a = arena_new();
    const int columns = blocks ? 11 : 1, rows = blocks ? ROWS : 1;
    const struct graph *g = must_build(a, arena_printf(a, "gmm m=%d k=%d n=%d", rows, terms,
                                                       columns));
    double **data = random_arrays(a, g), **error = random_arrays(a, g);
    const double u = 0x1p-24, r = 0x1p-11;
    int s = graph_tensor(g, "A"), x = graph_tensor(g, "B"), y = graph_tensor(g, "C");
    struct err e;
    ((struct node *)(uintptr_t)&g->node[0])->factor_roundoff = r;
    for (int t = 0; t < 2; t++)
        for (int64_t i = 0; i < tensor_elems(&g->tensor[t ? x : s]); i++)
            error[t ? x : s][i] = fabs(error[t ? x : s][i]) * (t ? 1e-4 : 1e-5);
    assert_true(reference_error(g, data, error, NULL, &e));
    for (int i = 0; i < rows * columns; i++) {
        double sum = 0, squares = 0, errors = 0;
        for (int k = 0; k < terms; k++) {
            int at = i / columns * terms + k, to = k * columns + i % columns;
            double p = data[s][at] * data[x][to], ep = data[s][at] * error[x][to];
            double ex = error[s][at] * data[x][to], both = error[s][at] * error[x][to];
            sum += p;
            squares += p * p;
            errors += ep * ep + ex * ex + both * both;
        }
        double many = fmin(terms * terms, 64. * terms / 3);
        double want = sqrt(errors + squares * (4 * u * u + of_rounding * r * r)
                           + many * u * u * (sum * sum + 4 * squares));
        if (!(fabs(error[y][i] - want) <= 1e-9 * want))
            fail_msg("%d terms: the error of %d is %g, not %g", terms, i, error[y][i], want);
    }
    arena_free(a);
}

static void rounded_factors_have_errors(void **state)
{
    (void)state;
    check_products(1, 4, true);
    check_products(10, 40, true);
    check_products(11, 64. * 2 / 3, true);
    check_products(100, 64. * 2 / 3, true);
}

/* Errors of different tensors are independent, those of one are not; two roundings of u each. */
static void sums_add_errors(void **state)
{
    static const struct { const char *spec; double factor; } rows[] = {
        { "x = input n=40; y = input n=40; z = add(x, y)", M_SQRT2 },
        { "x = input n=40; y = input n=40; z = sub(y, x)", M_SQRT2 },
        { "x = input n=40; y = input n=40; z = add(x, x)", 2 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(rows); i++) {
        struct arena *a = arena_new();
        const struct graph *g = must_build(a, rows[i].spec);
        double **data = random_arrays(a, g), **error = random_arrays(a, g);
        int z = graph_tensor(g, "z");
        struct err e;
        for (int t = 0; t < g->n_tensors; t++)
            for (int k = 0; k < 40; k++)
                error[t][k] = 1e-3;
        assert_true(reference_error(g, data, error, NULL, &e));
        for (int k = 0; k < 40; k++)
            assert_true(fabs(error[z][k] - rows[i].factor * 1e-3 - 0x1p-23 * fabs(data[z][k]))
                        < 1e-12);
        arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tested_products_are_right), cmocka_unit_test(indices_are_cut),
        cmocka_unit_test(rounded_factors_have_errors), cmocka_unit_test(sums_add_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
