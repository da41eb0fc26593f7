#include "explorer/agent/qwalk.h"

#include <math.h>
#include <string.h>

#include "explorer/agent/nn.h"
#include "kernels/base/vec.h"

#define WIDTH 64
#define HIDDEN 3
#define STEP_SIZE 0.02
#define DISCOUNT 0.9
#define EPOCHS 20
#define MOST_MOVES 1000
#define BATCH 32

struct qwalk_move { double *from, *to; int direction; double reward; };

struct knob {
    int n_directions;
    struct mlp *net, *target;
    struct mlp_tape *tape;
    struct adadelta step;
    VEC(struct qwalk_move) move;
};

struct qwalk {
    struct arena *a;
    struct rng rng;
    int n_state, n_knobs;
    struct knob *knob;
    double *x;                          /* a batch of states */
};

static struct knob knob_new(struct arena *a, int n_state, int n_directions, struct rng *r)
{
    struct mlp_shape shape = { .in = n_state, .out = n_directions, .width = WIDTH,
                               .hidden = HIDDEN };
    struct knob k = { .n_directions = n_directions, .net = mlp_new(a, &shape),
                      .target = mlp_new(a, &shape), .tape = mlp_tape_new(a, &shape, BATCH) };
    mlp_init(k.net, r, 1);
    k.step = adadelta_new(a, k.net->n, STEP_SIZE);
    return k;
}

struct qwalk *qwalk_new(uint64_t seed, int n_state, const int *n_directions, int n_knobs)
{
    struct arena *a = arena_new();
    struct qwalk *q = ARENA_NEW(a, struct qwalk);
    q->a = a;
    q->rng = rng_seed(seed);
    q->n_state = n_state;
    q->n_knobs = n_knobs;
    q->knob = ARENA_ARRAY(a, struct knob, n_knobs);
    q->x = ARENA_ARRAY(a, double, BATCH * n_state);
    for (int k = 0; k < n_knobs; k++)
        q->knob[k] = knob_new(a, n_state, n_directions[k], &q->rng);
    return q;
}

void qwalk_free(struct qwalk *q)
{
    for (int k = 0; q && k < q->n_knobs; k++)
        vec_free(&q->knob[k].move);
    if (q)
        arena_free(q->a);
}

/* --- Walking ---------------------------------------------------------------------------------- */

double qwalk_epsilon(int trial)
{
    return fmax(0.8 * exp(-0.01 * trial), 0.1);
}

double qwalk_acceptance(double value, double best)
{
    return fmin(exp(-0.5 * (value - best) / best), 1);
}

double qwalk_reward(double from, double to)
{
    return tanh(fmax(from - to, 0));
}

bool qwalk_accept(struct qwalk *q, double value, double best)
{
    return rng_unit(&q->rng) < qwalk_acceptance(value, best);
}

static struct knob *knob_at(struct qwalk *q, int knob)
{
    if (knob < 0 || knob >= q->n_knobs)
        fail("knob %d of %d", knob, q->n_knobs);
    return &q->knob[knob];
}

void qwalk_values(struct qwalk *q, int knob, const float *state, double *out)
{
    struct knob *k = knob_at(q, knob);
    for (int i = 0; i < q->n_state; i++)
        q->x[i] = (double)state[i];
    memcpy(out, mlp_forward(k->net, k->tape, q->x, 1), (size_t)k->n_directions * sizeof *out);
}

static int largest(const double *x, int n)
{
    int at = 0;
    for (int i = 1; i < n; i++)
        at = x[i] > x[at] ? i : at;
    return at;
}

int qwalk_act(struct qwalk *q, int knob, const float *state, int trial)
{
    struct knob *k = knob_at(q, knob);
    if (rng_unit(&q->rng) < qwalk_epsilon(trial))
        return (int)rng_range(&q->rng, 0, k->n_directions - 1);
    for (int i = 0; i < q->n_state; i++)
        q->x[i] = (double)state[i];
    return largest(mlp_forward(k->net, k->tape, q->x, 1), k->n_directions);
}

/* --- Learning --------------------------------------------------------------------------------- */

static double *widened(struct arena *a, const float *x, int n)
{
    double *wide = ARENA_ARRAY(a, double, n);
    for (int i = 0; i < n; i++)
        wide[i] = (double)x[i];
    return wide;
}

void qwalk_add(struct qwalk *q, int knob, const float *from, int direction, const float *to,
               double from_ms, double to_ms)
{
    struct knob *k = knob_at(q, knob);
    if (direction < 0 || direction >= k->n_directions)
        fail("direction %d of %d", direction, k->n_directions);
    struct qwalk_move m = { widened(q->a, from, q->n_state), widened(q->a, to, q->n_state),
                           direction, isfinite(from_ms) && isfinite(to_ms)
                                    ? qwalk_reward(from_ms, to_ms) : 0 };
    vec_push(&k->move, m);
}

static void shuffle(struct knob *k, struct rng *r)
{
    for (int i = k->move.len - 1; i > 0; i--) {
        int j = (int)rng_range(r, 0, i);
        struct qwalk_move swap = k->move.data[i];
        k->move.data[i] = k->move.data[j];
        k->move.data[j] = swap;
    }
}

/* Computes goal[i] = reward + 0.9 max Q'(to) of each of n moves; Q' is k->target. */
static void goals(struct qwalk *q, struct knob *k, const struct qwalk_move *m, int n, double *goal)
{
    for (int i = 0; i < n; i++)
        memcpy(q->x + i * q->n_state, m[i].to, (size_t)q->n_state * sizeof *q->x);
    const double *out = mlp_forward(k->target, k->tape, q->x, n);
    for (int i = 0; i < n; i++, out += k->n_directions)
        goal[i] = m[i].reward + DISCOUNT * out[largest(out, k->n_directions)];
}

/* Makes one step of AdaDelta on a batch of n moves.  Returns the sum of the squared errors before
 * the step. */
static double learn(struct qwalk *q, struct knob *k, const struct qwalk_move *m, int n,
                    double *d_out)
{
    double goal[BATCH], sum = 0;
    goals(q, k, m, n, goal);
    for (int i = 0; i < n; i++)
        memcpy(q->x + i * q->n_state, m[i].from, (size_t)q->n_state * sizeof *q->x);
    const double *out = mlp_forward(k->net, k->tape, q->x, n);
    memset(d_out, 0, (size_t)(n * k->n_directions) * sizeof *d_out);
    for (int i = 0; i < n; i++) {
        int at = i * k->n_directions + m[i].direction;
        double off = out[at] - goal[i];
        d_out[at] = 2 * off;
        sum += off * off;
    }
    mlp_clear_grad(k->net);
    mlp_backward(k->net, k->tape, d_out);
    adadelta_step(&k->step, k->net->param, k->net->grad);
    return sum;
}

static double train_knob(struct qwalk *q, struct knob *k, int n)
{
    double *d_out = xcalloc((size_t)(BATCH * k->n_directions), sizeof *d_out), sum = 0;
    shuffle(k, &q->rng);
    memset(k->step.square, 0, (size_t)k->step.n * sizeof *k->step.square);
    memset(k->step.delta, 0, (size_t)k->step.n * sizeof *k->step.delta);
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        memcpy(k->target->param, k->net->param, (size_t)k->net->n * sizeof(double));
        sum = 0;
        for (int i = 0; i < n; i += BATCH)
            sum += learn(q, k, k->move.data + i, n - i < BATCH ? n - i : BATCH, d_out);
    }
    free(d_out);
    return sum;
}

double qwalk_train(struct qwalk *q)
{
    double sum = 0;
    int moves = 0;
    for (int i = 0; i < q->n_knobs; i++) {
        struct knob *k = &q->knob[i];
        int n = k->move.len < MOST_MOVES ? k->move.len : MOST_MOVES;
        sum += train_knob(q, k, n);
        moves += n;
    }
    return moves > 0 ? sum / moves : 0;
}
