/* FlexTensor's Q-walk: its formulas, and that it learns where a knob should go. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explorer/agent/nn.h"
#include "explorer/agent/qwalk.h"
#include "kernels/base/rng.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define CHOICES 8
#define KNOBS 2

static const int target[KNOBS] = { 5, 2 };
static const int n_directions[KNOBS] = { 3, 3 };

static void near(double got, double want, double off)
{
    if (!(fabs(got - want) <= off))
        fail_msg("%.17g, not %.17g", got, want);
}

static void formulas_are_those_of_the_specification(void **state)
{
    (void)state;
    near(qwalk_epsilon(0), 0.8, 0);
    near(qwalk_epsilon(100), 0.8 * exp(-1), 1e-15);
    near(qwalk_epsilon(1000), 0.1, 0);
    near(qwalk_acceptance(2, 2), 1, 0);
    near(qwalk_acceptance(6, 2), exp(-1), 1e-15);
    near(qwalk_acceptance(1, 2), 1, 0);
    near(qwalk_acceptance(INFINITY, 2), 0, 0);
    near(qwalk_reward(3, 2), tanh(1), 1e-15);
    near(qwalk_reward(2, 3), 0, 0);
}

static void starts_are_accepted_that_often(void **state)
{
    struct qwalk *q = qwalk_new(1, 4, n_directions, KNOBS);
    int accepted = 0;
    (void)state;
    for (int i = 0; i < 10000; i++)
        accepted += qwalk_accept(q, 3, 2);
    near(accepted / 10000.0, exp(-0.25), 0.02);
    qwalk_free(q);
}

static void moves_are_random_as_often_as_epsilon_says(void **state)
{
    struct qwalk *q = qwalk_new(1, 4, n_directions, KNOBS);
    float x[4] = { 0.1f, 0.2f, 0.3f, 0.4f };
    double value[3];
    (void)state;
    qwalk_values(q, 1, x, value);
    int best = value[0] >= value[1] && value[0] >= value[2] ? 0 : value[1] >= value[2] ? 1 : 2;
    for (int trial = 0; trial <= 200; trial += 100) {
        int other = 0;
        for (int i = 0; i < 10000; i++)
            other += qwalk_act(q, 1, x, trial) != best;
        near(other / 10000.0, qwalk_epsilon(trial) * 2 / 3, 0.02);
    }
    qwalk_free(q);
}

/* --- Knobs on a circle, each with a target ---------------------------------------------------- */

static double cost(const int *at)
{
    double ms = 1;
    for (int k = 0; k < KNOBS; k++) {
        int off = abs(at[k] - target[k]);
        ms += off > CHOICES / 2 ? CHOICES - off : off;
    }
    return ms;
}

static void encode(const int *at, float *x)
{
    for (int i = 0; i < KNOBS * CHOICES; i++)
        x[i] = i % CHOICES == at[i / CHOICES];
}

static int moved(int at, int direction)
{
    return (at + (direction == 0 ? CHOICES - 1 : direction == 1 ? 1 : 0)) % CHOICES;
}

/* Random moves of single knobs, all measured. */
static void gather(struct qwalk *q, int n, struct rng *r)
{
    for (int i = 0; i < n; i++) {
        int at[KNOBS], to[KNOBS], k = i % KNOBS;
        float x[KNOBS * CHOICES], y[KNOBS * CHOICES];
        for (int j = 0; j < KNOBS; j++)
            to[j] = at[j] = (int)rng_range(r, 0, CHOICES - 1);
        encode(at, x);
        int direction = qwalk_act(q, k, x, 0);
        to[k] = moved(at[k], direction);
        encode(to, y);
        qwalk_add(q, k, x, direction, y, cost(at), cost(to));
    }
}

/* Of all points, how often the best direction of a knob comes nearer, or stays at the target. */
static double good_moves(struct qwalk *q)
{
    int good = 0, all = 0;
    for (int p = 0; p < CHOICES * CHOICES; p++)
        for (int k = 0; k < KNOBS; k++) {
            int at[KNOBS] = { p % CHOICES, p / CHOICES }, to[KNOBS] = { at[0], at[1] };
            float x[KNOBS * CHOICES];
            double v[3];
            encode(at, x);
            qwalk_values(q, k, x, v);
            to[k] = moved(at[k], v[0] > v[1] && v[0] > v[2] ? 0 : v[1] > v[2] ? 1 : 2);
            if (at[k] != target[k]) {
                good += cost(to) < cost(at);
                all++;
            }
        }
    return (double)good / all;
}

static void it_learns_where_a_knob_should_go(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct qwalk *q = qwalk_new(seed, KNOBS * CHOICES, n_directions, KNOBS);
        struct rng r = rng_seed(seed);
        double before = good_moves(q), loss[2];
        for (int round = 0; round < 8; round++) {
            gather(q, 80, &r);
            loss[round > 0] = qwalk_train(q);
        }
        double after = good_moves(q);
        printf("seed %d: %.2f of the moves come nearer at first, %.2f at last; loss %.3f, %.3f\n",
               (int)seed, before, after, loss[0], loss[1]);
        assert_true(after > 0.75);
        qwalk_free(q);
    }
}

static void the_seed_and_the_calls_decide(void **state)
{
    double v[2][3];
    float x[KNOBS * CHOICES] = { 1 };
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct qwalk *q = qwalk_new(4, KNOBS * CHOICES, n_directions, KNOBS);
        struct rng r = rng_seed(9);
        near(qwalk_train(q), 0, 0);
        gather(q, 70, &r);
        qwalk_add(q, 0, x, 2, x, INFINITY, INFINITY);
        assert_true(isfinite(qwalk_train(q)));
        qwalk_values(q, 0, x, v[i]);
        qwalk_free(q);
    }
    assert_memory_equal(v[0], v[1], sizeof v[0]);
}

/* --- A slow twin of the training of one knob -------------------------------------------------- */

#define IN 3
#define OUT 4
#define MOVES 70                          /* two batches of 32 and one of 6 */

struct twin_move { float from[IN], to[IN]; int direction; double from_ms, to_ms; };

struct twin {
    struct mlp *net, *before;
    struct mlp_tape *tape;
    struct rng rng;
    struct twin_move move[MOVES];
};

static void widen(double *to, const float *x)
{
    for (int i = 0; i < IN; i++)
        to[i] = (double)x[i];
}

/* Computes the gradient of n moves from `first` on.  Returns the sum of their squared errors. */
static double twin_batch(struct twin *w, int first, int n)
{
    double sum = 0, d_out[32 * OUT] = {0}, goal[32], x[32 * IN] = {0};
    for (int i = 0; i < n; i++)
        widen(x + i * IN, w->move[first + i].to);
    const double *out = mlp_forward(w->before, w->tape, x, n);
    for (int i = 0; i < n; i++) {
        const struct twin_move *m = &w->move[first + i];
        double most = fmax(fmax(out[i * OUT], out[i * OUT + 1]),
                           fmax(out[i * OUT + 2], out[i * OUT + 3]));
        double reward = isfinite(m->from_ms) ? tanh(fmax(m->from_ms - m->to_ms, 0)) : 0;
        goal[i] = reward + 0.9 * most;
    }
    for (int i = 0; i < n; i++)
        widen(x + i * IN, w->move[first + i].from);
    out = mlp_forward(w->net, w->tape, x, n);
    for (int i = 0; i < n; i++) {
        int at = i * OUT + w->move[first + i].direction;
        d_out[at] = 2 * (out[at] - goal[i]);
        sum += (out[at] - goal[i]) * (out[at] - goal[i]);
    }
    mlp_clear_grad(w->net);
    mlp_backward(w->net, w->tape, d_out);
    return sum;
}

static double twin_train(struct arena *a, struct twin *w)
{
    struct adadelta step = adadelta_new(a, w->net->n, 0.02);
    double sum = 0;
    for (int i = MOVES - 1; i > 0; i--) {
        int j = (int)rng_range(&w->rng, 0, i);
        struct twin_move swap = w->move[i];
        w->move[i] = w->move[j];
        w->move[j] = swap;
    }
    for (int epoch = 0; epoch < 20; epoch++) {
        memcpy(w->before->param, w->net->param, (size_t)w->net->n * sizeof(double));
        sum = 0;
        for (int first = 0; first < MOVES; first += 32) {
            sum += twin_batch(w, first, MOVES - first < 32 ? MOVES - first : 32);
            adadelta_step(&step, w->net->param, w->net->grad);
        }
    }
    return sum / MOVES;
}

/* What the head of qwalk.h says, twice: each training starts its steps anew. */
static void training_is_as_described(void **state)
{
    static const struct mlp_shape shape = { .in = IN, .out = OUT, .width = 64, .hidden = 3 };
    static const int directions[] = { OUT };
    struct arena *a = arena_new();
    struct twin *w = ARENA_NEW(a, struct twin);
    struct qwalk *q = qwalk_new(5, IN, directions, 1);
    struct rng r = rng_seed(6);
    (void)state;
    w->net = mlp_new(a, &shape);
    w->before = mlp_new(a, &shape);
    w->tape = mlp_tape_new(a, &shape, 32);
    w->rng = rng_seed(5);
    mlp_init(w->net, &w->rng, 1);
    for (int i = 0; i < MOVES; i++) {
        struct twin_move *m = &w->move[i];
        for (int k = 0; k < IN; k++) {
            m->from[k] = rng_float(&r);
            m->to[k] = rng_float(&r);
        }
        m->direction = (int)rng_range(&r, 0, OUT - 1);
        m->from_ms = i % 9 ? 2 * rng_unit(&r) : INFINITY;
        m->to_ms = rng_unit(&r);
        qwalk_add(q, 0, m->from, m->direction, m->to, m->from_ms, m->to_ms);
    }
    for (int round = 0; round < 2; round++) {
        double got[OUT], x[IN];
        float at[IN] = { 0.5f, -0.25f, 1 };
        near(qwalk_train(q), twin_train(a, w), 1e-9);
        qwalk_values(q, 0, at, got);
        widen(x, at);
        const double *want = mlp_forward(w->net, w->tape, x, 1);
        for (int i = 0; i < OUT; i++)
            near(got[i], want[i], 1e-9);
    }
    qwalk_free(q);
    qwalk_free(NULL);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas_are_those_of_the_specification),
        cmocka_unit_test(starts_are_accepted_that_often),
        cmocka_unit_test(moves_are_random_as_often_as_epsilon_says),
        cmocka_unit_test(it_learns_where_a_knob_should_go),
        cmocka_unit_test(the_seed_and_the_calls_decide),
        cmocka_unit_test(training_is_as_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
