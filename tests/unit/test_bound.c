/* The bound of float32 errors (reference_error), and the verdict on an output (oracle_compare):
 * right results in any order are right, wrong elements are wrong however small they are. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/rng.h"
#include "kernels/onnx/weights.h"
#include "kernels/ops/reference_impl.h"
#include "profile/measure/oracle.h"
#include "tests/unit/random_ops.h"

#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static uint64_t seed = 1;

/* --- The bound -------------------------------------------------------------------------------- */

static const struct graph *must_build(struct arena *a, const char *spec)
{
    const struct graph *g = NULL;
    struct err e;
    if (!graph_from_spec(a, spec, &g, &e))
        fail_msg("%s: %s", spec, e.text);
    return g;
}

struct evaluated { const struct graph *g; double **exact, **single, **error; };

static double **new_arrays(const struct graph *g, uint64_t data_seed)
{
    double **of = xcalloc((size_t)g->n_tensors, sizeof *of);
    for (int t = 0; t < g->n_tensors; t++) {
        int64_t n = tensor_elems(&g->tensor[t]);
        of[t] = xcalloc((size_t)n, sizeof **of);
        if (g->tensor[t].producer >= 0)
            continue;
        float *f = xcalloc((size_t)n, sizeof *f);
        struct err e;
        assert_true(weights_tensor_data(&g->tensor[t], data_seed, f, &e));
        for (int64_t i = 0; i < n; i++)
            of[t][i] = (double)f[i];
        free(f);
    }
    return of;
}

static void free_arrays(const struct graph *g, double **of)
{
    for (int t = 0; t < g->n_tensors; t++)
        free(of[t]);
    free(of);
}

static struct evaluated evaluate(const struct graph *g, uint64_t data_seed)
{
    struct evaluated v = { g, new_arrays(g, data_seed), new_arrays(g, data_seed),
                           new_arrays(g, data_seed) };
    struct err e;
    for (int t = 0; t < g->n_tensors; t++)
        if (g->tensor[t].producer < 0) {
            free(v.error[t]);
            v.error[t] = NULL;
        }
    double **again = new_arrays(g, data_seed);
    assert_true(reference_error(g, v.exact, v.error, NULL, &e));
    assert_true(reference_eval_single(g, v.single, NULL, &e));
    assert_true(reference_eval(g, again, NULL, &e));
    for (int t = 0; t < g->n_tensors; t++)
        assert_memory_equal(again[t], v.exact[t],
                            (size_t)tensor_elems(&g->tensor[t]) * sizeof **again);
    free_arrays(g, again);
    return v;
}

static void evaluated_free(struct evaluated *v)
{
    free_arrays(v->g, v->exact);
    free_arrays(v->g, v->single);
    free_arrays(v->g, v->error);
}

/* The worst of |float32 - float64| over its bound, of every tensor that is computed. */
static double worst_of(const struct evaluated *v, const char *spec)
{
    double worst = 0;
    for (int t = 0; t < v->g->n_tensors; t++)
        for (int64_t i = 0; v->error[t] && i < tensor_elems(&v->g->tensor[t]); i++) {
            double off = fabs(v->single[t][i] - v->exact[t][i]);
            if (!(v->error[t][i] >= 0))
                fail_msg("%s: %s[%lld] has the bound %g", spec, v->g->tensor[t].name,
                         (long long)i, v->error[t][i]);
            if (off > 0 && off / v->error[t][i] > worst)
                worst = off / v->error[t][i];
        }
    return worst;
}

/* Float32 in the order of the definition stays within the bound; the bound stays near it: 1e4 times
 * what is seen would hide everything. */
static void float32_stays_within(const char *spec, uint64_t data_seed)
{
    struct arena *a = arena_new();
    struct evaluated v = evaluate(must_build(a, spec), data_seed);
    double worst = worst_of(&v, spec);
    if (worst > 1)
        fail_msg("%s (seed %llu): float32 is off by %g of the bound", spec,
                 (unsigned long long)data_seed, worst);
    evaluated_free(&v);
    arena_free(a);
}

static void every_operator_stays_within_its_bound(void **state)
{
    struct rng r = rng_seed(seed);
    (void)state;
    for (int k = 0; k < 150; k++) {
        struct arena *a = arena_new();
        const char *spec = random_operator(a, &r, random_family(&r));
        const struct graph *g;
        struct err e;
        if (graph_from_spec(a, spec, &g, &e) && g->flops < 1e7)
            float32_stays_within(spec, seed + (uint64_t)k);
        arena_free(a);
    }
}

static void graphs_stay_within_their_bounds(void **state)
{
    static const char *const spec[] = {
        "x = input n=512; a = mul(x, x); b = mul(a, a); c = mul(b, b); d = mul(c, c)",
        "x = input n=512; a = abs(x); b = affine(a) add=0.1; c = log(b); d = exp(c); e = sub(d, b)",
        "x = input n=16 m=300; y = softmax(x) axis=1; z = layernorm(y) axis=1; w = gelu(z)",
        "x = input n=16 m=64; y = input m=64 k=32; z = matmul(x, y); w = softmax(z) axis=1;"
        " v = transpose(y) perm=1,0; u = matmul(w, v); t = add(u, x); s = layernorm(t) axis=1",
        "x = input n=4 m=20000; y = reduce_sum(x) axes=1; z = relu(x); w = reduce_mean(z) axes=1",
        "x = input n=1 i=8 h=20 w=20; c = c2d(x) o=16 k=3 p=1 relu=1; d = c2d(c) o=16 k=3 p=1;"
        " e = add(c, d); f = silu(e); g = c2d(f) o=8 k=1; h = sigmoid(g); i = tanh(h)",
        "x = input; y = exp(x); z = mul(y, x)",
        "x = input n=400; y = hardswish(x); z = softplus(y); w = elu(z) alpha=0.3; v = erf(w);"
        " u = affine(v) add=1.5; t = sqrt(u); s = reciprocal(t); q = max(s, x); p = min(q, t)",
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(spec); i++)
        float32_stays_within(spec[i], seed + (uint64_t)i);
}

/* Any result of moved operands is within the bound, and half of the bound is not enough. */
static void operations_propagate_errors(void **state)
{
    static const struct {
        enum val_kind kind;
        double a, ea, b, eb, least, most;
    } row[] = {
        { VAL_ADD, 3, 0, 4, 0, 7 * 0x1p-24, 7 * 0x1p-22 },
        { VAL_ADD, 1, 0.3, 1, 0.4, 0.5, 0.501 },               /* independent: by their squares */
        { VAL_SUB, 1, 0, 1, 0, 0, 0 },
        { VAL_MUL, 3, 0.1, -5, 0.2, 1.12, 1.121 },
        { VAL_DIV, 1, 0, 4, 1, 1. / 3 - 1. / 4, 0.0834 },
        { VAL_DIV, 1, 0, 0.5, 0.5, INFINITY, INFINITY },
        { VAL_DIV, 0, 0, 0, 0, INFINITY, INFINITY },
        { VAL_MAX, 1, 0.1, 2, 0.3, 0.3, 0.3 },                 /* the smaller one cannot win */
        { VAL_MAX, 1, 0.5, 1.1, 0.1, 0.5, 0.5 },
        { VAL_MIN, 1, 0.1, 2, 0.3, 0.1, 0.1 },
        { VAL_EXP, 0, 0.5, 0, 0, 0.6487, 0.6488 },
        { VAL_EXP, 100, 0, 0, 0, INFINITY, INFINITY },         /* beyond float32 */
        { VAL_LOG, 1, 0.5, 0, 0, 0.6931, 0.6932 },
        { VAL_LOG, 1, 1, 0, 0, INFINITY, INFINITY },
        { VAL_SQRT, 1, 2, 0, 0, INFINITY, INFINITY },
        { VAL_SQRT, 4, 1, 0, 0, 2 - 1.7320509, 0.26796 },
        { VAL_LE, 1, 0, 1, 0, 0, 0 },                          /* exact operands */
        { VAL_LE, 1, 0.1, 1.15, 0.1, 1, 1 },                   /* either may be larger */
        { VAL_KEEP, 1, 0, 5, 0.1, 0.1, 0.1 },
        { VAL_KEEP, 0, 0, 5, 0.1, 0, 0 },
        { VAL_KEEP, 1, 1, 5, 0.1, 5.1, 5.1 },                  /* it may be dropped */
        { VAL_FLOOR, 0.9, 0.2, 0, 0, 1, 1.1 },
        { VAL_SIN, 1, 0.1, 0, 0, 0.1, 0.101 },
        { VAL_COS, 1, 5, 0, 0, 2, 2.001 },
        { VAL_ATAN, 0, 0.1, 0, 0, 0.0996, 0.0997 },
        { VAL_TANH, 20, 1, 0, 0, 0, 1e-6 },
        { VAL_ERF, 0, 0.1, 0, 0, 0.1124, 0.1125 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct row_pair of = { &row[i].a, &row[i].ea, &row[i].b, &row[i].eb, false };
        double e;
        error_row(&type_f32, row[i].kind, 1, &of, &e);
        if (!(e >= row[i].least && e <= row[i].most))
            fail_msg("row %d: %s gives %.9g, not %.9g to %.9g", i, val_name(row[i].kind), e,
                     row[i].least, row[i].most);
    }
}

/* x + x moves with x: twice its error, not sqrt 2 times. */
static void errors_of_one_tensor_are_not_independent(void **state)
{
    double one = 1, tenth = 0.1, e;
    struct row_pair of = { &one, &tenth, &one, &tenth, true };
    (void)state;
    error_row(&type_f32, VAL_ADD, 1, &of, &e);
    assert_true(e >= 0.2);
    float32_stays_within("x = input n=64; a = exp(x); b = add(a, a); c = add(b, b); d = add(c, c);"
                         " f = add(d, d); g = add(f, f); h = add(g, g); i = add(h, h)", seed);
}

/* Sums of products have the bound by hand, from the formula at the head of reference_error.c: as
 * matrix products, and by rows when the matrices are too small for that.  Rows add the roundings
 * of one term and not their squares. */
static void products_have_the_bound_of_any_sum(int rows, int columns)
{
    struct arena *a = arena_new();
    char spec[2][200];
    snprintf(spec[0], sizeof spec[0], "x = input n=%d k=50; w = const k=50 m=%d;"
             " y = matmul(x, w)", rows, columns);
    snprintf(spec[1], sizeof spec[1], "x = input n=%d k=50; w = const k=50 m=%d;"
             " z = exp(w); y = matmul(x, z)", rows, columns);
    struct evaluated p = evaluate(must_build(a, spec[0]), seed);
    struct evaluated q = evaluate(must_build(a, spec[1]), seed);
    int y = graph_tensor(p.g, "y"), other = graph_tensor(q.g, "y"), z = graph_tensor(q.g, "z");
    for (int64_t i = 0; i < rows * columns; i++) {
        double s = 0, squares = 0, exps = 0, exp_squares = 0, of_exp = 0;
        for (int k = 0; k < 50; k++) {
            int64_t w = k * columns + i % columns;
            double x = p.exact[0][i / columns * 50 + k];
            double t = x * p.exact[1][w], u = x * q.exact[z][w];
            s += t;
            squares += t * t;
            exps += u;
            exp_squares += u * u;
            of_exp += x * x * q.error[z][w] * q.error[z][w];
        }
        double want = 0x1p-24 * sqrt(4 * squares + 64. * 50 / 3 * (s * s + 4 * squares));
        assert_true(fabs(p.error[y][i] - want) <= 1e-9 * want);
        want = sqrt(of_exp + 0x1p-48 * (4 * exp_squares + 64. * 50 / 3 * (exps * exps
                                                                         + 4 * exp_squares)));
        assert_true(fabs(q.error[other][i] - want) <= (columns < 8 ? 0.1 : 1e-6) * want);
    }
    evaluated_free(&p);
    evaluated_free(&q);
    arena_free(a);
}

static void products_have_the_bound_of_any_sum_by_rows(void **state)
{
    (void)state;
    products_have_the_bound_of_any_sum(3, 7);
}

static void products_have_the_bound_of_any_sum_by_blocks(void **state)
{
    (void)state;
    products_have_the_bound_of_any_sum(20, 150);
    products_have_the_bound_of_any_sum(150, 20);
    products_have_the_bound_of_any_sum(1, 600);
}

/* --- The verdict ------------------------------------------------------------------------------ */

/* A program with its data, its only output as double, and what is offered as its result. */
struct trial {
    struct arena *a;
    const struct program *p;
    const struct oracle *o;
    int out;
    int64_t n;
    double *exact;
    float *got;
};

static struct trial trial_open(const char *spec, uint64_t data_seed)
{
    struct trial t = { .a = arena_new() };
    struct err e;
    if (!program_new(t.a, spec, &t.p, &e) || !oracle_acquire(t.p->base, data_seed, NULL, &t.o, &e))
        fail_msg("%s: %s", spec, e.text);
    const struct graph *g = t.p->graph;
    struct evaluated v = evaluate(g, data_seed);
    while (g->tensor[t.out].role != TENSOR_OUTPUT)
        t.out++;
    t.n = tensor_elems(&g->tensor[t.out]);
    t.exact = ARENA_ARRAY(t.a, double, t.n);
    t.got = ARENA_ARRAY(t.a, float, t.n);
    for (int64_t i = 0; i < t.n; i++) {
        t.exact[i] = v.exact[t.out][i];
        t.got[i] = (float)t.exact[i];
    }
    evaluated_free(&v);
    return t;
}

static enum err_code verdict(const struct trial *t)
{
    struct deviation worst = { 0 };
    struct err e = { .code = ERR_NONE };
    bool ok = oracle_compare(t->o, t->p, t->out, t->got, NULL, &worst, &e);
    assert_true(ok == (e.code == ERR_NONE));
    return e.code;
}

static void trial_close(struct trial *t)
{
    oracle_release(t->o);
    arena_free(t->a);
}

#define POWERS "x = input n=4096; a = mul(x, x); b = mul(a, a); c = mul(b, b); d = mul(c, c)"

/* Half of the outputs are below 1e-4 of their root mean square. */
static void small_outputs_count_as_well(void **state)
{
    struct trial t = trial_open(POWERS, seed);
    int zeroed = 0;
    (void)state;
    assert_int_equal(verdict(&t), ERR_NONE);
    for (int64_t i = 0; i < t.n; i++)
        if (t.exact[i] < 1e-5) {
            t.got[i] = 0;
            zeroed++;
        }
    assert_true(zeroed > 1000);
    assert_int_equal(verdict(&t), ERR_WRONG);
    trial_close(&t);
}

static void one_element_is_enough(void **state)
{
    static const char *const spec[] = {
        POWERS, "gmm m=20 n=30 k=500", "c2d n=1 i=64 h=9 w=9 o=8 k=3 p=1 bias=1 relu=1",
        "x = input n=40 m=768; y = softmax(x) axis=1",
        "x = input n=4 m=900; y = reduce_sum(x) axes=1", "x = input n=40 m=50; y = tanh(x)",
    };
    struct rng r = rng_seed(seed);
    (void)state;
    for (int k = 0; k < COUNT_OF(spec); k++) {
        struct trial t = trial_open(spec[k], seed);
        double size = 0;
        for (int64_t i = 0; i < t.n; i++)
            size += fabs(t.exact[i]) / (double)t.n;
        assert_int_equal(verdict(&t), ERR_NONE);
        for (int i = 0; i < 50; i++) {
            int64_t at = rng_range(&r, 0, t.n - 1);
            float keep = t.got[at];
            if (fabs(t.exact[at]) < (k > 0 ? size / 2 : 1e-30))
                continue;                 /* of sums: the bound is that of their terms */
            t.got[at] = keep * (1 + (float)rng_unit(&r) * 1e-3f + 2e-4f);
            if (verdict(&t) != ERR_WRONG)
                fail_msg("%s: %g instead of %.9g is fine", spec[k], (double)t.got[at],
                         t.exact[at]);
            t.got[at] = keep;
        }
        t.got[0] = NAN;
        assert_int_equal(verdict(&t), ERR_WRONG);
        trial_close(&t);
    }
}

/* Results that lost bits, as half precision or bfloat16 products would. */
static void half_precision_is_wrong(void **state)
{
    static const char *const spec[] = { "gmm m=20 n=30 k=4000", "gmm m=8 n=8 k=64",
                                        "x = input n=64 m=900; y = reduce_mean(x) axes=1" };
    (void)state;
    for (int k = 0; k < COUNT_OF(spec); k++) {
        struct trial t = trial_open(spec[k], seed);
        for (int64_t i = 0; i < t.n; i++)
            t.got[i] = (float)ldexp(rint(ldexp(t.exact[i], 11 - ilogb(t.exact[i]))),
                                    ilogb(t.exact[i]) - 11);
        assert_int_equal(verdict(&t), ERR_WRONG);
        trial_close(&t);
    }
}

/* A term that is left out of a sum of 4,608, at every output. */
static void a_dropped_term_is_wrong(void **state)
{
    struct trial t = trial_open("gmm m=16 n=16 k=4608", seed);
    const struct graph *g = t.p->graph;
    double **data = new_arrays(g, seed);
    (void)state;
    for (int64_t i = 0; i < t.n; i++)
        t.got[i] = (float)(t.exact[i] - data[0][i / 16 * 4608 + 77] * data[1][77 * 16 + i % 16]);
    assert_int_equal(verdict(&t), ERR_WRONG);
    free_arrays(g, data);
    trial_close(&t);
}

/* Sums of floats: forwards, backwards, in lanes, in blocks, shuffled. */
static float ordered_sum(const float *x, int64_t n, int order, struct rng *r, int64_t *perm)
{
    float lane[16] = { 0 }, sum = 0;
    for (int64_t i = 0; i < n; i++)
        perm[i] = order == 1 ? n - 1 - i : i;
    for (int64_t i = n - 1; order == 4 && i > 0; i--) {
        int64_t j = rng_range(r, 0, i), at = perm[i];
        perm[i] = perm[j];
        perm[j] = at;
    }
    for (int64_t i = 0; i < n; i++)
        if (order == 2)
            lane[i % 16] += x[perm[i]];
        else if (order == 3)
            lane[i * 16 / n] += x[perm[i]];
        else
            sum += x[perm[i]];
    for (int l = 0; l < 16; l++)
        sum += lane[l];
    return sum;
}

/* Sums of up to a million terms: of both signs, of one, and all alike, so that rounding always errs
 * to one side. */
static void sums_in_any_order_are_right(void **state)
{
    static const char *const spec[] = {
        "x = input n=3 m=%d; y = reduce_sum(x) axes=1",
        "x = input n=3 m=%d; z = abs(x); y = reduce_sum(z) axes=1",
        "x = input n=3 m=1; z = expand(x) shape=3,%d; y = reduce_sum(z) axes=1",
    };
    struct rng r = rng_seed(seed);
    (void)state;
    for (int k = 0; k < COUNT_OF(spec); k++)
        for (int n = 100; n <= 1000000; n *= 100) {
            char text[200];
            snprintf(text, sizeof text, spec[k], n);
            struct trial t = trial_open(text, seed);
            double **data = new_arrays(t.p->graph, seed);
            float *x = xcalloc((size_t)n, sizeof *x);
            int64_t *perm = xcalloc((size_t)n, sizeof *perm);
            for (int order = 0; order < 5; order++) {
                for (int row = 0; row < 3; row++) {
                    for (int i = 0; i < n; i++)
                        x[i] = (float)(k == 2 ? data[0][row] : data[0][(int64_t)row * n + i]);
                    for (int i = 0; i < n && k == 1; i++)
                        x[i] = fabsf(x[i]);
                    t.got[row] = ordered_sum(x, n, order, &r, perm);
                }
                if (verdict(&t) != ERR_NONE)
                    fail_msg("%s: order %d is wrong", text, order);
            }
            free(x);
            free(perm);
            free_arrays(t.p->graph, data);
            trial_close(&t);
        }
}

/* Where the data says nothing, that is what is said. */
static void ill_conditioned_is_not_wrong(void **state)
{
    static const struct { const char *spec; float got; enum err_code want; } row[] = {
        /* the reference overflows */
        { "x = input n=9; y = affine(x) mul=1e30; z = mul(y, y)", INFINITY, ERR_ILL },
        { "x = input n=9; y = abs(x); z = neg(y); w = log(z)", NAN, ERR_ILL },
        /* float32 overflows on the way: 1 / (1 + exp(500 |x|)) */
        { "x = input n=9; y = abs(x); a = affine(y) mul=500 add=100; b = exp(a);"
          " c = affine(b) mul=1e-38; d = log(c)", INFINITY, ERR_ILL },
        /* the differences of neighbours, which a change of x in its last bit moves by themselves */
        { "x = input n=9; y = affine(x) mul=1e-7; a = add(x, y); b = sub(a, x); c = div(b, y)",
          1.6f, ERR_ILL },
        /* whole numbers that are no indices change like others */
        { "c = const n=9 value=3; d = const n=9 value=1; y = sub(c, d)", 2.000004f, ERR_ILL },
        /* and what no change explains */
        { "x = input n=9; y = affine(x) mul=1e-3; a = add(x, y); b = sub(a, x); c = div(b, y)",
          1.6f, ERR_WRONG },
        { "x = input n=9; y = affine(x) mul=2", 1e30f, ERR_WRONG },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct trial t = trial_open(row[i].spec, seed);
        for (int64_t k = 0; k < t.n; k++)
            t.got[k] = row[i].got;
        enum err_code code = verdict(&t);
        if (code != row[i].want)
            fail_msg("%s: %s", row[i].spec, err_name(code));
        trial_close(&t);
    }
}

/* Indices and conditions are exact: a wrong element that another index would explain is wrong.
 * Several seeds, because a change of the inputs may also go up. */
static void indices_and_conditions_do_not_move(void **state)
{
    static const char *const spec[] = {
        "t = input n=9; i = const k=1 value=5; y = gather(t, i)",
        "c = const n=1 value=1; a = input n=1; b = input n=1; y = where(c, a, b)",
        "t = input n=9; i = const k=1 value=5; j = relu(i); h = relu(j); y = gather(t, h)",
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(spec); i++)
        for (uint64_t more = 0; more < 8; more++) {
            struct trial t = trial_open(spec[i], seed + 10 * more);
            t.got[0] = 1.6f;
            enum err_code code = verdict(&t);
            if (code != ERR_WRONG)
                fail_msg("%s, seed %llu: %s", spec[i], (unsigned long long)(seed + 10 * more),
                         err_name(code));
            trial_close(&t);
        }
}

/* Blocked products in float32 are the sums in the order of the definition, bit for bit. */
static void blocked_float32_sums_keep_their_order(void **state)
{
    const int n = 37, c = 150, h = 9, k = 3;
    (void)state;
    struct arena *a = arena_new();
    const struct graph *g = must_build(a, "x = input n=1 i=150 h=9 w=9; "
                                          "y = c2d(x) o=37 k=3 p=1");
    struct err e;
    double **data = new_arrays(g, seed);
    assert_true(reference_eval_single(g, data, NULL, &e));
    const double *x = data[graph_tensor(g, "x")], *w = data[graph_tensor(g, "y_Ker")];
    const double *y = data[graph_tensor(g, "y")];
    for (int i = 0; i < n * h * h; i++) {
        volatile float sum = 0;
        for (int r = 0; r < c * k * k; r++) {
            int row = i / h % h + r / k % k - 1, col = i % h + r % k - 1;
            if (row < 0 || row >= h || col < 0 || col >= h)
                continue;
            volatile float term = (float)x[(r / k / k * h + row) * h + col]
                                * (float)w[i / h / h * c * k * k + r];
            sum = sum + term;
        }
        assert_true(y[i] == (double)sum);
    }
    free_arrays(g, data);
    arena_free(a);
}

/* Products below float32's normal numbers are rounded by whole steps. */
static void denormal_products_are_right(void **state)
{
    static const char *const value[] = { "3e-41", "3e-43", "1e-44" };
    (void)state;
    for (int i = 0; i < COUNT_OF(value); i++) {
        char text[200];
        snprintf(text, sizeof text, "x = input n=4 k=8; w = const k=8 m=2 value=%s; "
                 "y = matmul(x, w)", value[i]);
        struct trial t = trial_open(text, seed);
        struct arena *a = arena_new();
        const struct graph *g = must_build(a, text);
        struct err e;
        double **data = new_arrays(g, seed);
        assert_true(reference_eval_single(g, data, NULL, &e));
        for (int64_t j = 0; j < t.n; j++)
            t.got[j] = (float)data[t.out][j];
        assert_int_equal(verdict(&t), ERR_NONE);
        free_arrays(g, data);
        arena_free(a);
        trial_close(&t);
    }
}

/* Even where nothing can be said of a value, it has to be written. */
static void unwritten_elements_are_wrong(void **state)
{
    static const char *const spec[] = {
        "x = input n=9; z = mul(x, x); v = sub(z, z); y = sqrt(v)",
        "x = input n=9; y = affine(x) mul=1e30; z = mul(y, y)",
    };
    const uint32_t poison = BUFFER_POISON;
    (void)state;
    for (int i = 0; i < COUNT_OF(spec); i++) {
        struct trial t = trial_open(spec[i], seed);
        for (int64_t k = 0; k < t.n; k++)
            memcpy(&t.got[k], &poison, sizeof poison);
        assert_int_equal(verdict(&t), ERR_WRONG);
        trial_close(&t);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_stays_within_its_bound),
        cmocka_unit_test(graphs_stay_within_their_bounds),
        cmocka_unit_test(operations_propagate_errors),
        cmocka_unit_test(errors_of_one_tensor_are_not_independent),
        cmocka_unit_test(products_have_the_bound_of_any_sum_by_rows),
        cmocka_unit_test(products_have_the_bound_of_any_sum_by_blocks),
        cmocka_unit_test(small_outputs_count_as_well),
        cmocka_unit_test(one_element_is_enough),
        cmocka_unit_test(half_precision_is_wrong),
        cmocka_unit_test(a_dropped_term_is_wrong),
        cmocka_unit_test(sums_in_any_order_are_right),
        cmocka_unit_test(ill_conditioned_is_not_wrong),
        cmocka_unit_test(indices_and_conditions_do_not_move),
        cmocka_unit_test(blocked_float32_sums_keep_their_order),
        cmocka_unit_test(denormal_products_are_right),
        cmocka_unit_test(unwritten_elements_are_wrong),
    };
    if (argc > 1)
        seed = strtoull(argv[1], NULL, 0);
    printf("# seed %llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests_name("bound", tests, NULL, NULL);
}
