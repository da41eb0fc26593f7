/* The networks of the agents: products, layers against a slow twin, gradients against central
 * differences, initial weights, optimisers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/mat.h"
#include "explorer/agent/nn.h"
#include "tests/unit/gradient.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define COUNT(a) ((int)(sizeof (a) / sizeof *(a)))
#define SEED 20261121u

static void near(double got, double want, double off)
{
    if (!(fabs(got - want) <= off))
        fail_msg("%.17g, not %.17g", got, want);
}

static double *random_doubles(struct arena *a, struct rng *r, int n)
{
    double *x = ARENA_ARRAY(a, double, n);
    for (int i = 0; i < n; i++)
        x[i] = nn_gaussian(r);
    return x;
}

/* --- Products --------------------------------------------------------------------------------- */

static void products_equal_plain_sums_bit_for_bit(void **state)
{
    struct rng r = rng_seed(SEED);
    (void)state;
    for (int round = 0; round < 300; round++) {
        struct arena *a = arena_new();
        int m = (int)rng_range(&r, 1, 21), n = (int)rng_range(&r, 1, 50);
        int k = (int)rng_range(&r, 1, 40);
        bool add = rng_unit(&r) < 0.5, turned = rng_unit(&r) < 0.5;
        const double *x = random_doubles(a, &r, m * k), *b = random_doubles(a, &r, k * n);
        double *c = random_doubles(a, &r, m * n), *want = ARENA_DUP(a, c, m * n);
        struct mat_view view = turned ? (struct mat_view){ x, 1, m } : (struct mat_view){ x, k, 1 };
        mat_mul(c, view, b, m, n, k, add);
        mat_mul_plain(want, view, b, m, n, k, add);
        if (memcmp(c, want, (size_t)(m * n) * sizeof *c))
            fail_msg("%d x %d x %d, add %d, turned %d (seed %u)", m, n, k, add, turned, SEED);
        arena_free(a);
    }
}

static void float_products_round_every_step(void **state)
{
    struct rng r = rng_seed(SEED);
    (void)state;
    for (int round = 0; round < 100; round++) {
        struct arena *a = arena_new();
        int m = (int)rng_range(&r, 1, 9), n = (int)rng_range(&r, 1, 70);
        int k = (int)rng_range(&r, 1, 40);
        float *x = ARENA_ARRAY(a, float, m * k), *b = ARENA_ARRAY(a, float, k * n);
        float *c = ARENA_ARRAY(a, float, m * n), *want = ARENA_ARRAY(a, float, m * n);
        for (int i = 0; i < m * k; i++)
            x[i] = rng_float(&r);
        for (int i = 0; i < k * n; i++)
            b[i] = rng_float(&r);
        for (int i = 0; i < m * n * k; i++) {
            volatile float product = x[i / k / n * k + i % k] * b[i % k * n + i / k % n];
            want[i / k] = want[i / k] + product;
        }
        mat_mul_single(c, (struct mat_view_single){ x, k, 1 }, b, m, n, k, true);
        if (memcmp(c, want, (size_t)(m * n) * sizeof *c))
            fail_msg("%d x %d x %d (seed %u)", m, n, k, SEED);
        arena_free(a);
    }
}

static void sums_and_transposes(void **state)
{
    struct rng r = rng_seed(SEED);
    (void)state;
    for (int n = 0; n < 40; n++) {
        struct arena *a = arena_new();
        const double *x = random_doubles(a, &r, n + 1), *y = random_doubles(a, &r, n + 1);
        double sum = 0, dot = 0;
        for (int i = 0; i < n; i++) {
            sum += x[i];
            dot += x[i] * y[i];
        }
        near(mat_sum(x, n), sum, 1e-13 * (n + 1));
        near(mat_dot(x, y, n), dot, 1e-13 * (n + 1));
        arena_free(a);
    }
    double in[6] = { 1, 2, 3, 4, 5, 6 }, out[6], want[6] = { 1, 4, 2, 5, 3, 6 };
    mat_transpose(out, in, 2, 3);
    assert_memory_equal(out, want, sizeof want);
}

/* --- Layers ----------------------------------------------------------------------------------- */

static void slow_norm(double *x, int n)
{
    double mean = 0, square = 0;
    for (int i = 0; i < n; i++)
        mean += x[i] / n;
    for (int i = 0; i < n; i++)
        square += (x[i] - mean) * (x[i] - mean) / n;
    for (int i = 0; i < n; i++)
        x[i] = (x[i] - mean) / sqrt(square + NN_NORM_EPSILON);
}

/* One row, as the header's formula reads. */
static void slow_forward(const struct mlp *m, const double *x, double *out)
{
    double from[64], to[64];
    memcpy(from, x, (size_t)m->shape.in * sizeof *x);
    if (m->shape.norm)
        slow_norm(from, m->shape.in);
    for (int i = 0; i < m->n_layers; i++) {
        const struct mlp_layer *l = &m->layer[i];
        const double *p = m->param;
        for (int j = 0; j < l->out; j++) {
            to[j] = p[l->bias + j];
            for (int k = 0; k < l->in; k++)
                to[j] += from[k] * p[l->weight + k * l->out + j];
            to[j] = i + 1 < m->n_layers ? fmax(to[j], 0) : to[j];
        }
        if (m->shape.norm && i + 1 < m->n_layers) {
            slow_norm(to, l->out);
            for (int j = 0; j < l->out; j++)
                to[j] = to[j] * p[l->gain + j] + p[l->shift + j];
        }
        memcpy(from, to, sizeof from);
    }
    memcpy(out, from, (size_t)m->shape.out * sizeof *out);
}

static const struct mlp_shape shapes[] = {
    { .in = 3, .out = 1, .width = 5, .hidden = 1 },
    { .in = 3, .out = 2, .width = 5, .hidden = 1, .norm = true },
    { .in = 11, .out = 7, .width = 16, .hidden = 2, .norm = true, .extra = 1 },
    { .in = 20, .out = 16, .width = 20, .hidden = 2, .norm = true },
    { .in = 9, .out = 3, .width = 24, .hidden = 3, .norm = false, .extra = 2 },
    { .in = 6, .out = 30, .width = 8, .hidden = 4, .norm = true },
};

/* Every parameter random, so that gains, shifts and biases count. */
static struct mlp *random_net(struct arena *a, const struct mlp_shape *s, struct rng *r)
{
    struct mlp *m = mlp_new(a, s);
    for (int i = 0; i < m->n; i++)
        m->param[i] = 0.6 * nn_gaussian(r);
    return m;
}

static void layers_compute_what_the_formula_says(void **state)
{
    struct rng r = rng_seed(SEED);
    (void)state;
    for (int i = 0; i < COUNT(shapes); i++) {
        struct arena *a = arena_new();
        const struct mlp_shape *s = &shapes[i];
        struct mlp *m = random_net(a, s, &r);
        struct mlp_tape *t = mlp_tape_new(a, s, 9);
        for (int rows = 1; rows <= 9; rows++) {
            const double *x = random_doubles(a, &r, rows * s->in);
            const double *out = mlp_forward(m, t, x, rows);
            for (int k = 0; k < rows; k++) {
                double want[64];
                slow_forward(m, x + k * s->in, want);
                for (int j = 0; j < s->out; j++)
                    near(out[k * s->out + j], want[j], 1e-10);
            }
        }
        arena_free(a);
    }
}

struct weighed { const struct mlp *net; struct mlp_tape *t; const double *x, *weight; int rows; };

static double weighed_sum(void *context)
{
    const struct weighed *w = context;
    return mat_dot(mlp_forward(w->net, w->t, w->x, w->rows), w->weight,
                   w->rows * w->net->shape.out);
}

static void gradients_are_those_of_central_differences(void **state)
{
    (void)state;
    printf("seed %u\n", SEED);
    for (int i = 0; i < COUNT(shapes); i++)
        for (int rows = 1; rows <= 6; rows += 5) {
            struct rng r = rng_seed(SEED + (unsigned)i);
            struct arena *a = arena_new();
            const struct mlp_shape *s = &shapes[i];
            struct mlp *m = random_net(a, s, &r);
            struct weighed w = { m, mlp_tape_new(a, s, rows), random_doubles(a, &r, rows * s->in),
                                 random_doubles(a, &r, rows * s->out), rows };
            char worst[64];
            weighed_sum(&w);
            mlp_backward(m, w.t, w.weight);
            double off = gradient_check(m, weighed_sum, &w, worst);
            if (!(off < 1e-6))
                fail_msg("net %d, %d rows: %s is off by %g", i, rows, worst, off);
            arena_free(a);
        }
}

static void gradients_add_up_until_they_are_cleared(void **state)
{
    struct rng r = rng_seed(SEED);
    struct arena *a = arena_new();
    const struct mlp_shape *s = &shapes[2];
    struct mlp *m = random_net(a, s, &r);
    struct weighed w = { m, mlp_tape_new(a, s, 8), random_doubles(a, &r, 8 * s->in),
                         random_doubles(a, &r, 8 * s->out), 8 };
    (void)state;
    weighed_sum(&w);
    mlp_backward(m, w.t, w.weight);
    double *whole = ARENA_DUP(a, m->grad, m->n);
    mlp_clear_grad(m);
    for (int part = 0; part < 2; part++) {
        mlp_forward(m, w.t, w.x + part * 4 * s->in, 4);
        mlp_backward(m, w.t, w.weight + part * 4 * s->out);
    }
    for (int i = 0; i < m->n; i++)
        near(m->grad[i], whole[i], 1e-10);
    arena_free(a);
}

/* --- Initial weights -------------------------------------------------------------------------- */

static void initial_weights_are_orthogonal(void **state)
{
    static const struct { int rows, cols; double gain; } table[] = {
        { 1, 1, 2 }, { 8, 8, 1 }, { 64, 64, 1.5 }, { 172, 64, 1.4142135623730951 },
        { 64, 16, 0.01 }, { 5, 9, 3 }, { 64, 1, 0.01 },
    };
    struct rng r = rng_seed(SEED);
    (void)state;
    for (int i = 0; i < COUNT(table); i++) {
        int rows = table[i].rows, cols = table[i].cols, n = rows < cols ? rows : cols;
        double *w = calloc((size_t)(rows * cols), sizeof *w), g2 = table[i].gain * table[i].gain;
        nn_orthogonal(w, rows, cols, table[i].gain, &r);
        for (int p = 0; p < n; p++)
            for (int q = 0; q < n; q++) {
                double dot = 0;
                for (int k = 0; k < (n == cols ? rows : cols); k++)
                    dot += n == cols ? w[k * cols + p] * w[k * cols + q]
                                     : w[p * cols + k] * w[q * cols + k];
                near(dot, p == q ? g2 : 0, 1e-13 * (1 + g2));
            }
        free(w);
    }
}

static void a_new_network_has_no_biases_and_says_little(void **state)
{
    struct rng r = rng_seed(SEED), again = rng_seed(SEED);
    struct arena *a = arena_new();
    struct mlp_shape s = { .in = 40, .out = 5, .width = 64, .hidden = 2, .norm = true, .extra = 1 };
    struct mlp *m = mlp_new(a, &s), *same = mlp_new(a, &s);
    (void)state;
    mlp_init(m, &r, 0.01);
    mlp_init(same, &again, 0.01);
    assert_memory_equal(m->param, same->param, (size_t)m->n * sizeof *m->param);
    assert_int_equal(m->n, 40 * 64 + 3 * 64 + 64 * 64 + 3 * 64 + 64 * 5 + 5 + 1);
    for (int i = 0; i < m->n_layers; i++)
        for (int j = 0; j < m->layer[i].out; j++) {
            near(m->param[m->layer[i].bias + j], 0, 0);
            if (i < s.hidden)
                near(m->param[m->layer[i].gain + j], 1, 0);
        }
    const double *out = mlp_forward(m, mlp_tape_new(a, &s, 1), random_doubles(a, &r, 40), 1);
    for (int i = 0; i < 5; i++)
        assert_true(out[i] != 0 && fabs(out[i]) < 0.1);
    arena_free(a);
}

static void gaussian_numbers_have_mean_0_and_deviation_1(void **state)
{
    struct rng r = rng_seed(SEED);
    double sum = 0, square = 0, fourth = 0;
    int n = 200000;
    (void)state;
    for (int i = 0; i < n; i++) {
        double x = nn_gaussian(&r);
        sum += x / n;
        square += x * x / n;
        fourth += x * x * x * x / n;
    }
    near(sum, 0, 0.01);
    near(square, 1, 0.01);
    near(fourth, 3, 0.1);
}

/* --- Optimisers ------------------------------------------------------------------------------- */

/* By hand from algorithm 1 of the paper: m = 0.9 m + 0.1 g, v = 0.999 v + 0.001 g^2, and what they
 * are divided by, 1 - 0.9^t and 1 - 0.999^t. */
static void adam_follows_a_table(void **state)
{
    static const struct { double g, m, v, by_m, by_v; } table[] = {
        { 1,    0.1,     0.001,          0.1,    0.001 },
        { -2,  -0.11,    0.004999,       0.19,   0.001999 },
        { 0.5, -0.049,   0.005244001,    0.271,  0.002997001 },
        { 0,   -0.0441,  0.005238756999, 0.3439, 0.003994003999 },
    };
    struct arena *a = arena_new();
    struct adam o = adam_new(a, 1, 0.1, 0);
    double p = 1, want = 1, minus_two = -2;
    (void)state;
    for (int i = 0; i < COUNT(table); i++) {
        adam_step(&o, &p, &table[i].g);
        want -= 0.1 * (table[i].m / table[i].by_m) / sqrt(table[i].v / table[i].by_v);
        near(p, want, 1e-12);
    }
    near(want, 0.96147629, 5e-9);
    o = adam_new(a, 1, 0.1, 1);
    p = 1;
    adam_step(&o, &p, &minus_two);
    near(p, 1 + 0.1 * 2 / (2 + 1.0), 1e-15);
    arena_free(a);
}

/* Step 1: E[g^2] = 0.1, d = 1e-3 / sqrt(0.100001), E[d^2] = 0.1 d^2 = 0.1e-6 / 0.100001.  Step 2,
 * g = 0: nothing moves.  Step 3, g = -1: E[g^2] = 0.081 + 0.1, E[d^2] = 0.9 of what it was. */
static void adadelta_follows_a_table(void **state)
{
    static const double g[] = { 1, 0, -1 };
    double want[3], p = 1;
    struct arena *a = arena_new();
    struct adadelta o = adadelta_new(a, 1, 0.02);
    (void)state;
    want[0] = 1 - 0.02 * 1e-3 / sqrt(0.100001);
    want[1] = want[0];
    want[2] = want[1] + 0.02 * sqrt(0.9 * 0.1e-6 / 0.100001 + 1e-6) / sqrt(0.181001);
    for (int i = 0; i < COUNT(g); i++) {
        adadelta_step(&o, &p, &g[i]);
        near(p, want[i], 1e-15);
    }
    arena_free(a);
}

static void clipping_keeps_the_direction(void **state)
{
    double g[2] = { 3, -4 };
    (void)state;
    near(nn_clip(g, 2, 10), 5, 0);
    near(g[0], 3, 0);
    near(nn_clip(g, 2, 1), 5, 0);
    near(g[0], 0.6, 1e-15);
    near(g[1], -0.8, 1e-15);
}

/* A network learns a function that no straight line fits. */
static void a_network_learns_a_curve(void **state)
{
    struct rng r = rng_seed(SEED);
    struct arena *a = arena_new();
    struct mlp_shape s = { .in = 3, .out = 1, .width = 32, .hidden = 2 };
    struct mlp *m = mlp_new(a, &s);
    struct mlp_tape *t = mlp_tape_new(a, &s, 32);
    double x[32 * 3], d[32], loss = 0, first = 0;
    (void)state;
    mlp_init(m, &r, 1);
    struct adam o = adam_new(a, m->n, 5e-3, 1e-8);
    for (int i = 0; i < 32 * 3; i++)
        x[i] = i % 3 ? nn_gaussian(&r) : i / 96.0;
    for (int step = 0; step < 400; step++) {
        const double *out = mlp_forward(m, t, x, 32);
        loss = 0;
        for (int i = 0; i < 32; i++) {
            d[i] = out[i] - sin(2 * x[3 * i + 1]) * x[3 * i + 2];
            loss += d[i] * d[i] / 32;
        }
        first = step == 0 ? loss : first;
        mlp_clear_grad(m);
        mlp_backward(m, t, d);
        adam_step(&o, m->param, m->grad);
    }
    if (!(loss < first / 100))
        fail_msg("the loss fell from %g to %g only", first, loss);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_equal_plain_sums_bit_for_bit),
        cmocka_unit_test(float_products_round_every_step),
        cmocka_unit_test(sums_and_transposes),
        cmocka_unit_test(layers_compute_what_the_formula_says),
        cmocka_unit_test(gradients_are_those_of_central_differences),
        cmocka_unit_test(gradients_add_up_until_they_are_cleared),
        cmocka_unit_test(initial_weights_are_orthogonal),
        cmocka_unit_test(a_new_network_has_no_biases_and_says_little),
        cmocka_unit_test(gaussian_numbers_have_mean_0_and_deviation_1),
        cmocka_unit_test(adam_follows_a_table),
        cmocka_unit_test(adadelta_follows_a_table),
        cmocka_unit_test(clipping_keeps_the_direction),
        cmocka_unit_test(a_network_learns_a_curve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
