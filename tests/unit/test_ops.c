/* Operators: specs, graphs, text, and the reference against its slow twin and SPEC A.10's golden
 * convolution. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/rng.h"
#include "kernels/ops/build.h"
#include "kernels/ops/reference.h"
#include "tests/unit/graph_print.h"
#include "tests/unit/random_ops.h"
#include "tests/unit/reference_slow.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static uint64_t seed = 1;

/* A graph with its data, float64 as the reference sees it. */
struct bench { struct arena *a; const struct graph *g; double **fast, **slow; };

static const struct graph *must_build(struct arena *a, const char *spec)
{
    const struct graph *g = NULL;
    struct err e;
    if (!graph_from_spec(a, spec, &g, &e))
        fail_msg("%s: %s", spec, e.text);
    return g;
}

static double **new_data(const struct graph *g)
{
    double **data = xcalloc((size_t)g->n_tensors, sizeof *data);
    for (int t = 0; t < g->n_tensors; t++)
        data[t] = xcalloc((size_t)tensor_elems(&g->tensor[t]), sizeof **data);
    return data;
}

static void free_data(const struct graph *g, double **data)
{
    for (int t = 0; t < g->n_tensors; t++)
        free(data[t]);
    free(data);
}

static void bench_close(struct bench *b)
{
    free_data(b->g, b->fast);
    free_data(b->g, b->slow);
    arena_free(b->a);
}

/* Small integers everywhere: sums are exact, so fast and slow must agree to the bit.  Outputs start
 * as rubbish. */
static struct bench bench_on(struct arena *a, const struct graph *g, struct rng *r)
{
    struct bench b = { a, g, new_data(g), new_data(g) };
    for (int t = 0; t < g->n_tensors; t++)
        for (int64_t i = 0; i < tensor_elems(&g->tensor[t]); i++) {
            bool given = g->tensor[t].producer < 0;
            b.fast[t][i] = given ? (double)rng_range(r, -9, 9) : NAN;
            b.slow[t][i] = given ? b.fast[t][i] : 77;
        }
    return b;
}

static struct bench bench_open(const char *spec, struct rng *r)
{
    struct arena *a = arena_new();
    return bench_on(a, must_build(a, spec), r);
}

static void check_fast_is_slow(struct bench *b, const char *what)
{
    struct err e;
    assert_true(reference_eval(b->g, b->fast, NULL, &e));
    reference_eval_slow(b->g, b->slow);
    for (int t = 0; t < b->g->n_tensors; t++)
        for (int64_t i = 0; i < tensor_elems(&b->g->tensor[t]); i++)
            if (b->fast[t][i] != b->slow[t][i])
                fail_msg("%s: %s[%lld] is %g, slowly %g", what, b->g->tensor[t].name, (long long)i,
                         b->fast[t][i], b->slow[t][i]);
}

/* SPEC A.10. */

static void golden_fill(const struct graph *g, double *const *data)
{
    double *x = data[graph_tensor(g, "Inp")], *k = data[graph_tensor(g, "Ker")];
    for (int i = 0; i < 72; i++) /* 36i + 6h + w and 18o + 9i + 3r + s are the flat indices */
        x[i] = i % 7 - 3;
    for (int i = 0; i < 72; i++)
        k[i] = i % 5 - 2;
}

static void check_golden(const double *y)
{
    static const double o0[] = { -5, -1, 3, 0, -2, -5, -1, 3, 1, -2, -5, -1, 4, 1, -2, -5 };
    static const double o3[] = { -3, -11, 2, 1, -2, -3, -11, 2, -1, -2, -3, -11, 14, -1, -2, -3 };
    static const double nhwo[] = { -5, -1, 8, -3, -1, 14, -6, -11, 3, 1, -6, 2, 0, 2, -6, 1 };
    double sum = 0, sum_abs = 0;
    for (int i = 0; i < 16; i++) {
        assert_true(y[i] == o0[i]);
        assert_true(y[48 + i] == o3[i]);
        assert_true(y[i % 4 * 16 + i / 4] == nhwo[i]);
    }
    for (int i = 0; i < 64; i++) {
        sum += y[i];
        sum_abs += fabs(y[i]);
    }
    assert_true(sum == -2 && sum_abs == 300);
}

static void golden_conv(void **state)
{
    (void)state;
    struct rng r = rng_seed(seed);
    struct bench b = bench_open("c2d i=2 h=6 o=4 k=3", &r);
    int y = graph_tensor(b.g, "Conv");
    struct err e;
    golden_fill(b.g, b.fast);
    golden_fill(b.g, b.slow);
    assert_int_equal(tensor_elems(&b.g->tensor[y]), 64);
    assert_true(reference_eval(b.g, b.fast, NULL, &e));
    reference_eval_slow(b.g, b.slow);
    check_golden(b.fast[y]);
    check_golden(b.slow[y]);
    bench_close(&b);
}

/* Random operators: of every family, and one in ten with rows longer than any block of the fast
 * evaluator. */

static const char *wide_operator(struct arena *a, struct rng *r)
{
    int k = (int)rng_range(r, 1, 3), m = (int)rng_range(r, 1, 3);
    if (rng_range(r, 0, 1))
        return arena_printf(a, "gmm m=%d k=%d n=%d", m, (int)rng_range(r, 1, 20),
                            (int)rng_range(r, 1, 2100));
    return arena_printf(a, "%s i=%d h=%d w=%d o=%d k=%d s=%d p=%d relu=1",
                        rng_range(r, 0, 1) ? "c2d" : "t2d", m, (int)rng_range(r, k, 5),
                        (int)rng_range(r, k, 300), k, k, m, (int)rng_range(r, 0, k - 1));
}

static void fast_equals_slow(void **state)
{
    (void)state;
    struct rng r = rng_seed(seed);
    int done = 0, rounds = 700;
    for (int i = 0; i < rounds; i++) {
        struct arena *a = arena_new();
        const struct op_family *f = ops_get(i % ops_count());
        const char *spec = i % 10 ? random_operator(a, &r, f) : wide_operator(a, &r);
        const struct graph *g;
        struct err e;
        if (graph_from_spec(a, spec, &g, &e)) {
            struct bench b = bench_on(a, g, &r);
            check_fast_is_slow(&b, spec);
            bench_close(&b);
            done++;
        } else {
            assert_int_equal(e.code, ERR_RANGE);      /* the kernel does not fit */
            arena_free(a);
        }
    }
    assert_true(done > rounds * 3 / 4);
}

/* Blocks of a row that lie in the padding as a whole. */
static void wide_padding(void **state)
{
    (void)state;
    static const char *const specs[] = { "c2d i=1 h=1 w=8 o=1 kh=1 kw=3 ph=0 pw=300",
                                         "c2d i=1 h=8 o=1 k=3 p=300" };
    struct rng r = rng_seed(seed);
    for (int i = 0; i < COUNT_OF(specs); i++) {
        struct bench b = bench_open(specs[i], &r);
        check_fast_is_slow(&b, specs[i]);
        bench_close(&b);
    }
}

/* Matrix products of several blocks, of parts of blocks, in batches and under a test. */
static void products_of_blocks(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "gmm m=131 k=3 n=140 bias=1 act=relu", "gmm m=5 k=300 n=17", "gmm m=260 k=7 n=4",
        "bmm b=3 m=9 k=10 n=130", "c2d n=2 i=3 h=13 o=5 k=3 p=1", "c2d i=2 h=9 w=40 o=130 k=2 s=2",
        "grp i=8 h=12 o=16 g=2 k=3 p=1", "grp i=6 h=9 o=9 g=3 k=3",
        "grp n=2 i=2 h=5 o=300 g=2 k=1", "dep c=5 h=11 k=3 p=1", "gmm m=1 k=9 n=1100",
        "t2d i=5 h=9 o=6 k=4 s=2 p=1", "t2d i=4 h=7 o=8 k=3 s=3",
        "gmm m=1100 k=9 n=1", "gmm m=20 k=1 n=20", "gmm m=3 k=129 n=7",
        "x = input n=7 m=40; y = input n=7 k=40; a = transpose(x) perm=1,0; z = matmul(a, y)",
    };
    struct rng r = rng_seed(seed);
    for (int i = 0; i < COUNT_OF(specs); i++) {
        struct bench b = bench_open(specs[i], &r);
        check_fast_is_slow(&b, specs[i]);
        bench_close(&b);
    }
}

/* Data that no sum is exact for: sums in another order agree to 1e-12 of their largest term. */
static void sums_agree_in_any_order(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "gmm m=20 k=400 n=30", "c2d i=40 h=9 o=8 k=3 p=1 bias=1 act=gelu",
        "x = input n=9 m=700; y = layernorm(x) axis=1; z = softmax(y) axis=1",
    };
    struct rng r = rng_seed(seed);
    for (int i = 0; i < COUNT_OF(specs); i++) {
        struct bench b = bench_open(specs[i], &r);
        struct err e;
        for (int t = 0; t < b.g->n_tensors; t++)
            for (int64_t k = 0; k < tensor_elems(&b.g->tensor[t]); k++)
                b.slow[t][k] = b.fast[t][k] = (double)rng_float(&r);
        assert_true(reference_eval(b.g, b.fast, NULL, &e));
        reference_eval_slow(b.g, b.slow);
        for (int t = 0; t < b.g->n_tensors; t++)
            for (int64_t k = 0; k < tensor_elems(&b.g->tensor[t]); k++)
                if (!(fabs(b.fast[t][k] - b.slow[t][k]) <= 1e-12 * fmax(1, fabs(b.slow[t][k]))))
                    fail_msg("%s: %s[%lld] is %.17g, slowly %.17g", specs[i],
                             b.g->tensor[t].name, (long long)k, b.fast[t][k], b.slow[t][k]);
        bench_close(&b);
    }
}

/* Nodes that the families do not make: whatever the expressions are, rows must evaluate them. */

static struct graph *one_input(struct arena *a, int64_t c, int64_t w)
{
    static const char *const dims[] = { "C", "W" };
    struct graph *g = graph_new(a, "test");
    const int64_t shape[] = { c, w };
    graph_add_tensor(g, &(struct tensor_def){ "X", 2, dims, shape, TENSOR_INPUT });
    return g;
}

static int output(struct graph *g, int64_t c, int64_t w, struct node *n)
{
    static const char *const dims[] = { "C", "W" };
    const int64_t shape[] = { c, w };
    int y = graph_add_tensor(g, &(struct tensor_def){ "Y", 2, dims, shape, TENSOR_OUTPUT });
    node_spatial(g, n, y);
    return y;
}

static void check_odd(struct graph *g, struct node *n, struct arena *a, const char *what)
{
    struct rng r = rng_seed(seed);
    graph_add_node(g, n);
    struct bench b = bench_on(a, g, &r);
    check_fast_is_slow(&b, what);
    bench_close(&b);
}

/* Y[c][w] = max over k of X[c][2*w + k] */
static void odd_pooling(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct graph *g = one_input(a, 3, 701);
    struct node n = { .op = "maxpool", .combine = COMBINE_MAX, .init = -1e30 };
    output(g, 3, 350, &n);
    const struct expr *k = node_reduce(g, &n, "K", 3);
    const struct expr *idx[] = { n.spatial[0],
                                 expr_add(g->pool, expr_mulc(g->pool, n.spatial[1], 2), k) };
    n.body = graph_load_at(g, 0, idx);
    check_odd(g, &n, a, "pooling");
}

/* Y[c][w] = sum over i of X[3*(c / 2) + i][w] * X[c][i + w], as grouped convolutions index */
static void odd_groups(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct graph *g = one_input(a, 6, 40);
    struct exprs *p = g->pool;
    struct node n = { .op = "group", .combine = COMBINE_SUM, .init = 2 };
    output(g, 4, 38, &n);
    const struct expr *i = node_reduce(g, &n, "I", 3);
    const struct expr *c = expr_add(p, expr_mulc(p, expr_divc(p, n.spatial[0], 2), 3), i);
    const struct expr *left[] = { c, n.spatial[1] },
                      *right[] = { n.spatial[0], expr_add(p, i, n.spatial[1]) };
    n.body = val_bin(a, VAL_MUL, graph_load_at(g, 0, left), graph_load_at(g, 0, right));
    check_odd(g, &n, a, "groups");
}

/* Y[c][w] = sum over k of (w + k even and w + k <= 16) ? X[c][(w + k) / 2] : -1, as transposed
 * convolutions do */
static void odd_parity(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct graph *g = one_input(a, 2, 9);
    struct exprs *p = g->pool;
    struct node n = { .op = "transposed", .combine = COMBINE_SUM };
    output(g, 2, 16, &n);
    const struct expr *k = node_reduce(g, &n, "K", 4), *at = expr_add(p, n.spatial[1], k);
    const struct expr *idx[] = { n.spatial[0], expr_divc(p, at, 2) };
    const struct expr *even = expr_eq(p, expr_modc(p, at, 2), expr_const(p, 0));
    n.body = val_select(a, expr_and(p, even, expr_lt(p, at, expr_const(p, 17))),
                        graph_load_at(g, 0, idx), val_const(a, -1));
    check_odd(g, &n, a, "parity");
}

/* Y[c][w] = X[c][8 - w] guarded by falling and by fixed tests, then some arithmetic */
static void odd_reversed(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct graph *g = one_input(a, 5, 9);
    struct exprs *p = g->pool;
    struct node n = { .op = "reverse" };
    output(g, 7, 12, &n);
    const struct expr *c = n.spatial[0], *back = expr_sub(p, expr_const(p, 8), n.spatial[1]);
    const struct expr *idx[] = { c, back };
    const struct expr *inside = expr_and(p, expr_ge(p, expr_mulc(p, back, 3), expr_const(p, 0)),
                                         expr_lt(p, c, expr_const(p, 5)));
    const struct val *x = val_select(a, inside, graph_load_at(g, 0, idx), val_const(a, 4));
    n.body = val_bin(a, VAL_SUB, val_bin(a, VAL_MIN, x, val_const(a, 3)),
                     val_bin(a, VAL_DIV, x, val_const(a, 8)));
    check_odd(g, &n, a, "reversed");
}

/* Y[c][w] = X[(c + 7 * w) / 9][(41 - 5 * w) % 4 + (2 - w) / 5 + 3], with w also below 0 inside the
 * divisions: quotients and remainders along a row, upwards and downwards. */
static void odd_divisions(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct graph *g = one_input(a, 14, 9);
    struct exprs *p = g->pool;
    struct node n = { .op = "divide" };
    output(g, 9, 16, &n);
    const struct expr *c = n.spatial[0], *w = n.spatial[1];
    const struct expr *up = expr_divc(p, expr_add(p, c, expr_mulc(p, w, 7)), 9);
    const struct expr *rest = expr_modc(p, expr_addc(p, expr_mulc(p, w, -5), 41), 4);
    const struct expr *down = expr_divc(p, expr_addc(p, expr_mulc(p, w, -1), 2), 5);
    const struct expr *idx[] = { up, expr_addc(p, expr_add(p, rest, down), 3) };
    n.body = graph_load_at(g, 0, idx);
    check_odd(g, &n, a, "divisions");
}

/* Specs. */

static void canonical_specs(void **state)
{
    (void)state;
    static const struct { const char *given, *canonical; } table[] = {
        { "c2d n=1 i=64 h=56 w=56 o=64 k=3 p=1", "c2d n=1 i=64 h=56 w=56 o=64 k=3 p=1" },
        { "c2d i=64 h=56 o=64 k=3", "c2d n=1 i=64 h=56 w=56 o=64 k=3" },
        { "  C2D  K=3\to=64 H=56  i=64 s=1 p=0 d=1 bias=0 relu=0 \n",
          "c2d n=1 i=64 h=56 w=56 o=64 k=3" },
        { "c2d i=1 h=9 w=8 o=1 kh=3 kw=3 sh=2 sw=2 ph=1 pw=1 dh=2 dw=2",
          "c2d n=1 i=1 h=9 w=8 o=1 k=3 s=2 p=1 d=2" },
        { "c2d i=1 h=9 o=1 kh=3 kw=1 sh=2 sw=1 ph=0 pw=1 dw=1",
          "c2d n=1 i=1 h=9 w=9 o=1 kh=3 kw=1 sh=2 pw=1" },
        { "c2d i=1 h=9 o=1 k=1 sw=3 pw=0 dh=1", "c2d n=1 i=1 h=9 w=9 o=1 k=1 sw=3" },
        { "c2d relu=1 bias=1 n=2 i=1 h=9 o=1 k=1", "c2d n=2 i=1 h=9 w=9 o=1 k=1 bias=1 relu=1" },
        { "gmm m=3 k=4 n=5", "gmm m=3 k=4 n=5" },
        { "GMM N=5 K=4 M=3 relu=1 bias=1", "gmm m=3 k=4 n=5 bias=1 relu=1" },
    };
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct arena *a = arena_new();
        const struct graph *g = must_build(a, table[i].given), *again = must_build(a, g->spec);
        struct str one = {0}, two = {0};
        graph_print(&one, g);
        graph_print(&two, again);
        assert_string_equal(g->spec, table[i].canonical);
        assert_string_equal(str_text(&one), str_text(&two));
        str_free(&one);
        str_free(&two);
        arena_free(a);
    }
    for (int i = 0; i < ops_count(); i++) {
        struct arena *a = arena_new();
        const struct graph *g = must_build(a, ops_get(i)->example);
        assert_string_equal(g->spec, ops_get(i)->example);
        assert_string_equal(g->op, ops_get(i)->name);
        arena_free(a);
    }
}

static void spec_errors(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        enum err_code code;
        int col, len;
        const char *text, *fix;
    } table[] = {
        { "", ERR_SYNTAX, 1, 0, "no operator given", "c2d, gmm" },
        { "c2e i=1", ERR_NAME, 1, 3, "unknown operator \"c2e\"", "did you mean c2d?" },
        { "convolution i=1", ERR_NAME, 1, 11, "unknown operator", "operators are c2d, gmm" },
        { "c2d i=64 h=56 w=56 k=3", ERR_SYNTAX, 1, 3,
          "c2d needs o=", "try `c2d n=1 i=64 h=56 w=56 o=64 k=3 p=1`" },
        { "gmm", ERR_SYNTAX, 1, 3, "gmm needs m=, k= and n=", "try `gmm" },
        { "  c2d o=1", ERR_SYNTAX, 3, 3, "c2d needs i=, h= and k=", "" },
        { "gmm m=1 k=1 n=1 relue=1", ERR_NAME, 17, 5, "gmm has no parameter \"relue\"",
          "did you mean relu=?" },
        { "gmm m=1 k=1 n=1 zzzzz=1", ERR_NAME, 17, 5, "no parameter", "m k n bias relu" },
        { "gmm m=1 k=1 m=1 n=1", ERR_SYNTAX, 13, 3, "m= is given twice", "" },
        { "gmm m=x k=1 n=1", ERR_TYPE, 7, 1, "m= takes a whole number, not \"x\"", "rows of A" },
        { "gmm m=1.5 k=1 n=1", ERR_TYPE, 7, 3, "whole number", "" },
        { "gmm m= k=1 n=1", ERR_SYNTAX, 5, 2, "m= has no value", "" },
        { "gmm m k=1 n=1", ERR_SYNTAX, 5, 1, "\"m\" is not of the form NAME=VALUE", "try" },
        { "gmm =3", ERR_SYNTAX, 5, 2, "NAME=VALUE", "" },
        { "gmm m=0 k=1 n=1", ERR_RANGE, 7, 1, "m=0 is out of range", "1 to 1048576" },
        { "gmm m=-3 k=1 n=1", ERR_RANGE, 7, 2, "m=-3 is out of range", "" },
        { "gmm m=99999999999999999999 k=1 n=1", ERR_RANGE, 7, 20, "out of range", "" },
        { "gmm m=1 k=1 n=1 bias=2", ERR_RANGE, 22, 1, "bias=2 is out of range", "0 to 1" },
        { "gmm m=1048576 k=1048576 n=1048576 bias=1", ERR_NONE, 0, 0, "", "" },
        { "c2d i=1048576 h=1048576 o=1 k=1", ERR_OVERFLOW, 1, 3,
          "tensor Inp (N=1 I=1048576 H=1048576 W=1048576) has more than 2^40 elements", "" },
        { "c2d n=1048576 i=1048576 h=1048576 o=1048576 k=1048576", ERR_OVERFLOW, 1, 3, "tensor Inp",
          "" },
        { "c2d i=1 h=6 o=1 k=3 kw=5", ERR_SYNTAX, 21, 4, "kw= sets what k=3 already sets",
          "kh= and kw=" },
        { "c2d i=1 h=6 o=1 k=3 s=2 sh=2", ERR_SYNTAX, 25, 4, "sh= sets what s=2 already sets", "" },
        { "c2d i=1 h=6 o=1 kw=5", ERR_SYNTAX, 17, 4, "kw= needs kh= too", "k= for equal" },
        { "c2d i=1 h=6 o=1 k=9 p=1", ERR_RANGE, 17, 3,
          "k=9 makes the kernel span 9 rows, but the padded input has 8 (h=6 + 2*1)",
          "use at most k=8, or a larger padding: p=2" },
        { "c2d i=1 h=9 w=6 o=1 kh=1 kw=7", ERR_RANGE, 26, 4,
          "kw=7 makes the kernel span 7 columns, but the padded input has 6 (w=6 + 2*0)", "kw=6" },
        { "c2d i=1 h=6 o=1 k=3 d=3", ERR_RANGE, 21, 3, "d=3 makes the kernel span 7 rows", "d=2" },
        { "c2d i=1 h=6 o=1 k=6 d=2 pw=9", ERR_RANGE, 21, 3, "d=2 makes the kernel span 11 rows",
          "d=1" },
        { "c2d i=1 h=6 o=1 k=7 d=2 pw=9", ERR_RANGE, 17, 3, "k=7 makes the kernel span 13 rows",
          "k=3" },
    };
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct arena *a = arena_new();
        const struct graph *g = NULL;
        struct err e = {0};
        bool ok = graph_from_spec(a, table[i].spec, &g, &e);
        bool same = e.code == table[i].code && e.at.col == table[i].col &&
                    e.at.len == table[i].len && strstr(e.text, table[i].text) &&
                    strstr(e.fix, table[i].fix) && streq(e.source, ok ? "" : table[i].spec);
        if (ok != (table[i].code == ERR_NONE) || ok != (g != NULL) || !same)
            fail_msg("\"%s\": %s at %d+%d: %s (fix: %s)", table[i].spec, err_name(e.code), e.at.col,
                     e.at.len, e.text, e.fix);
        arena_free(a);
    }
}

/* Whatever the words, an error or a graph. */
static void spec_rubbish(void **state)
{
    (void)state;
    static const char *const words[] = { "c2d",  "gmm",  "i=3", "h=8",  "o=4", "k=3", "k=",
                                         "=",    "==1",  "p=1", "p=-1", "m=2", "n=2", "\xff=\xfe",
                                         "kh=2", "kw=2", "s=9", "d=4",  "\t",  "i=3i" };
    struct rng r = rng_seed(seed);
    for (int i = 0; i < 3000; i++) {
        struct arena *a = arena_new();
        struct str s = {0};
        const struct graph *g = NULL;
        struct err e = {0};
        str_add(&s, words[rng_range(&r, 0, 1)]);
        for (int n = (int)rng_range(&r, 0, 7); n > 0; n--)
            str_printf(&s, " %s", words[rng_range(&r, 0, COUNT_OF(words) - 1)]);
        if (graph_from_spec(a, str_text(&s), &g, &e))
            assert_string_equal(must_build(a, g->spec)->spec, g->spec);
        else
            assert_true(e.code != ERR_NONE && e.text[0] && e.at.col > 0);
        str_free(&s);
        arena_free(a);
    }
}

/* Counts: SPEC I.2's ResNet-18 list. */
static void resnet18_macs(void **state)
{
    (void)state;
    static const struct { int count; const char *spec; } convs[] = {
        { 1, "c2d i=3 h=224 o=64 k=7 s=2 p=3" }, { 4, "c2d i=64 h=56 o=64 k=3 p=1" },
        { 1, "c2d i=64 h=56 o=128 k=3 s=2 p=1" }, { 1, "c2d i=64 h=56 o=128 k=1 s=2" },
        { 3, "c2d i=128 h=28 o=128 k=3 p=1" }, { 1, "c2d i=128 h=28 o=256 k=3 s=2 p=1" },
        { 1, "c2d i=128 h=28 o=256 k=1 s=2" }, { 3, "c2d i=256 h=14 o=256 k=3 p=1" },
        { 1, "c2d i=256 h=14 o=512 k=3 s=2 p=1" }, { 1, "c2d i=256 h=14 o=512 k=1 s=2" },
        { 3, "c2d i=512 h=7 o=512 k=3 p=1" },
    };
    double macs = 0;
    struct arena *a = arena_new();
    for (int i = 0; i < COUNT_OF(convs); i++)
        macs += convs[i].count * must_build(a, convs[i].spec)->flops / 2;
    assert_true(macs == 1813561344);
    assert_true(macs + must_build(a, "gmm m=1 k=512 n=1000")->flops / 2 == 1814073344);

    const struct graph *g = must_build(a, "c2d i=2 h=4 o=3 k=3 p=1 bias=1 relu=1");
    assert_true(g->node[g->main_node].flops == 2 * 48 * 18);
    assert_true(g->flops == 2 * 48 * 18 + 48 + 48);
    assert_true(g->bytes == 4 * (32 + 54 + 3 + 48));  /* Inp_in, Ker, Bias, ReLU */
    arena_free(a);
}

/* Text and structure. */

static void check_print(const struct graph *g, const char *want)
{
    struct str s = {0};
    graph_print(&s, g);
    assert_string_equal(str_text(&s), want);
    str_free(&s);
}

static void printed_graphs(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    check_print(must_build(a, "c2d n=2 i=3 h=8 w=9 o=4 kh=3 kw=5 s=2 ph=1 d=2 bias=1 relu=1"),
                "c2d n=2 i=3 h=8 w=9 o=4 kh=3 kw=5 s=2 ph=1 d=2 bias=1 relu=1\n"
                "  Inp_in   input  N(2) I(3) H(8) W(9)\n"
                "  Inp      inter  N(2) I(3) H(10) W(9)\n"
                "  Ker      const  O(4) I(3) KH(3) KW(5)\n"
                "  Conv     inter  N(2) O(4) H(3) W(1)\n"
                "  Bias     const  O(4)\n"
                "  BiasAdd  inter  N(2) O(4) H(3) W(1)\n"
                "  ReLU     output N(2) O(4) H(3) W(1)\n"
                "  pad      Inp[n][i][h][w] = select(h >= 1 && h < 9, Inp_in[n][i][h - 1][w], 0)\n"
                "  conv2d   Conv[n][o][h][w] += Inp[n][i][2*h + 2*kh][2*w + 2*kw] * "
                "Ker[o][i][kh][kw]"
                "  over I(3) KH(3) KW(5)\n"
                "  bias     BiasAdd[n][o][h][w] = Conv[n][o][h][w] + Bias[o]\n"
                "  relu     ReLU[n][o][h][w] = max(BiasAdd[n][o][h][w], 0)\n"
                "  2208 flops, 2560 bytes\n");
    check_print(must_build(a, "gmm m=2 k=3 n=4"),
                "gmm m=2 k=3 n=4\n"
                "  A        input  M(2) K(3)\n"
                "  B        const  K(3) N(4)\n"
                "  C        output M(2) N(4)\n"
                "  matmul   C[m][n] += A[m][k] * B[k][n]  over K(3)\n"
                "  48 flops, 104 bytes\n");
    arena_free(a);
}

static void lookups(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    const struct graph *g = must_build(a, "c2d i=3 h=8 o=4 k=3 p=1 relu=1");
    int inp = graph_tensor(g, "inp"), conv = graph_node_of(g, "CONV"),
        relu = graph_node_of(g, "ReLU");
    assert_string_equal(g->tensor[inp].name, "Inp");
    assert_int_equal(graph_tensor(g, "Bias"), -1);
    assert_int_equal(graph_node_of(g, "Inp_in"), -1);
    assert_int_equal(graph_node_of(g, "nothing"), -1);
    assert_int_equal(g->main_node, conv);
    assert_int_equal(g->node[relu].data_in, graph_tensor(g, "Conv"));
    assert_true(graph_reads(g, conv, inp) && !graph_reads(g, relu, inp));
    assert_true(g->node[conv].complex && !g->node[conv].elementwise);
    assert_true(!g->node[relu].complex && g->node[relu].elementwise);
    assert_true(!g->node[0].complex && !g->node[0].elementwise);
    assert_int_equal(g->tensor[inp].role, TENSOR_INTER);
    assert_null(ops_find("c2"));
    assert_ptr_equal(ops_find("GMM"), ops_get(1));
    arena_free(a);
}

/* The main node of a graph without a complex node is found again behind a conversion. */
static void conversion_of_edge(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    const struct graph *g = must_build(a, "maxpool c=2 h=4 k=3 p=1 s=1");
    assert_int_equal(g->main_node, 1);
    g = graph_with_edge_conversion(a, g, graph_tensor(g, "Inp"), 1);
    assert_string_equal(g->node[1].op, "convert");
    assert_string_equal(g->tensor[g->node[2].data_in].name, "MaxPool_Inp");
    assert_int_equal(g->main_node, 2);
    arena_free(a);
}

/* With both conversions the graph computes the same. */
static void conversions(void **state)
{
    (void)state;
    struct rng r = rng_seed(seed);
    struct bench b = bench_open("c2d i=2 h=4 o=3 k=3", &r);
    const struct graph *in = graph_with_conversion(b.a, b.g, graph_tensor(b.g, "Inp"));
    const struct graph *both = graph_with_conversion(b.a, in, graph_tensor(in, "Conv"));
    check_print(both, "c2d n=1 i=2 h=4 w=4 o=3 k=3\n"
                      "  Inp_in   input  N(1) I(2) H(4) W(4)\n"
                      "  Inp      inter  N(1) I(2) H(4) W(4)\n"
                      "  Ker      const  O(3) I(2) KH(3) KW(3)\n"
                      "  Conv     inter  N(1) O(3) H(2) W(2)\n"
                      "  Conv_out output N(1) O(3) H(2) W(2)\n"
                      "  convert  Inp[n][i][h][w] = Inp_in[n][i][h][w]\n"
                      "  conv2d   Conv[n][o][h][w] += Inp[n][i][h + kh][w + kw] * Ker[o][i][kh][kw]"
                      "  over I(2) KH(3) KW(3)\n"
                      "  convert  Conv_out[n][o][h][w] = Conv[n][o][h][w]\n"
                      "  432 flops, 392 bytes\n");
    assert_int_equal(both->main_node, 1);
    assert_true(!both->node[0].complex && !both->node[0].elementwise);
    assert_true(both->flops == b.g->flops && both->bytes == b.g->bytes);
    assert_int_equal(b.g->n_tensors, 3);              /* the original is untouched */

    reference_eval_slow(b.g, b.slow);
    double **data = new_data(both);
    struct err e;
    memcpy(data[0], b.slow[0], 32 * sizeof(double));
    memcpy(data[2], b.slow[1], 54 * sizeof(double));
    assert_true(reference_eval(both, data, NULL, &e));
    assert_memory_equal(data[4], b.slow[2], 12 * sizeof(double));
    free_data(both, data);
    bench_close(&b);
}

static void reference_data(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    const struct graph *g = must_build(a, "gmm m=16 k=16 n=16");
    float x[256], y[256], z[256];
    double sum = 0;
    reference_fill(&g->tensor[0], seed, x);
    reference_fill(&g->tensor[0], seed, y);
    assert_memory_equal(x, y, sizeof x);
    reference_fill(&g->tensor[1], seed, y);           /* another name, another seed: other values */
    reference_fill(&g->tensor[0], seed + 1, z);
    assert_true(memcmp(x, y, sizeof x) && memcmp(x, z, sizeof x));
    for (int i = 0; i < 256; i++) {
        assert_true(x[i] >= -1 && x[i] < 1);
        sum += x[i];
    }
    assert_true(fabs(sum) < 60);
    arena_free(a);
}

static void reference_cancels(void **state)
{
    (void)state;
    struct rng r = rng_seed(seed);
    struct bench b = bench_open("gmm m=8 k=8 n=8 relu=1", &r);
    struct cancel c = { .raised = 1 };
    struct err e;
    assert_false(reference_eval(b.g, b.fast, &c, &e));
    assert_int_equal(e.code, ERR_CANCEL);
    bench_close(&b);
}

int main(void)
{
    if (getenv("TS_SEED"))
        seed = strtoull(getenv("TS_SEED"), NULL, 0);
    printf("TS_SEED=%llu\n", (unsigned long long)seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_conv),       cmocka_unit_test(fast_equals_slow),
        cmocka_unit_test(odd_pooling),       cmocka_unit_test(odd_groups),
        cmocka_unit_test(odd_parity),        cmocka_unit_test(odd_reversed),
        cmocka_unit_test(odd_divisions),     cmocka_unit_test(products_of_blocks),
        cmocka_unit_test(sums_agree_in_any_order),
        cmocka_unit_test(canonical_specs),   cmocka_unit_test(spec_errors),
        cmocka_unit_test(spec_rubbish),      cmocka_unit_test(resnet18_macs),
        cmocka_unit_test(printed_graphs),    cmocka_unit_test(lookups),
        cmocka_unit_test(conversions),       cmocka_unit_test(conversion_of_edge),
        cmocka_unit_test(reference_data),
        cmocka_unit_test(reference_cancels),  cmocka_unit_test(wide_padding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
