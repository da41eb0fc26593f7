/* PPO: the vectors of SPEC E.3, both heads as distributions, and the gradients of the whole losses
 * against central differences. */
#include <math.h>
#include <stdio.h>

#include "explorer/agent/ppo.h"
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

/* --- Formulas --------------------------------------------------------------------------------- */

static void the_objective_is_clipped_where_it_would_gain(void **state)
{
    static const struct { double ratio, advantage, want; } table[] = {
        { 1.5, 2, 2.4 }, { 0.5, -1, -0.8 },             /* SPEC E.3 */
        { 1, 2, 2 }, { 1.1, 2, 2.2 }, { 0.5, 2, 1 }, { 1.5, -1, -1.5 }, { 0.9, -1, -0.9 },
        { 3, 0, 0 },
    };
    (void)state;
    for (int i = 0; i < COUNT(table); i++)
        near(ppo_objective(table[i].ratio, table[i].advantage, 0.2), table[i].want, 1e-15);
}

static void huber_is_quadratic_then_linear(void **state)
{
    (void)state;
    near(ppo_huber(0, 10), 0, 0);
    near(ppo_huber(-3, 10), 4.5, 0);
    near(ppo_huber(10, 10), 50, 0);
    near(ppo_huber(-12, 10), 70, 0);
}

static void the_value_loss_holds_values_near_the_old_ones(void **state)
{
    static const struct { double value, old, target, loss, slope; } table[] = {
        { 1, 1, 3, 2, -2 },                             /* unmoved */
        { 1.1, 1, 3, 1.805, -1.9 },                     /* within the clip */
        { 1.5, 1, 3, 1.62, 0 },                         /* beyond it, towards the target */
        { 0.5, 1, 3, 3.125, -2.5 },                     /* beyond it, away from the target */
        { 1, 1, 21, 150, -10 }, { 1, 1, -29, 250, 10 }, /* linear */
    };
    struct ppo_opts o = ppo_defaults();
    (void)state;
    for (int i = 0; i < COUNT(table); i++) {
        double slope;
        near(ppo_value_loss(table[i].value, table[i].old, table[i].target, &o, &slope),
             table[i].loss, 1e-12);
        near(slope, table[i].slope, 1e-12);
    }
}

static void advantages_are_those_of_the_specification(void **state)
{
    static const double r[] = { 0, 0, 1 }, v[] = { 0.1, 0.2, 0.3 };
    static const double want[] = { 0.808406675, 0.75535, 0.7 };
    struct ppo_opts o = ppo_defaults();
    double a[3];
    (void)state;
    ppo_gae(r, v, 3, 0, &o, a);
    for (int t = 0; t < 3; t++)
        near(a[t], want[t], 1e-12);
    ppo_gae(r, v, 3, 0.5, &o, a);                       /* the episode goes on */
    near(a[2], 0.7 + 0.99 * 0.5, 1e-12);
    o.lambda = 1;                                       /* then it is the return less the value */
    ppo_gae(r, v, 3, 0, &o, a);
    near(a[0], 0.99 * 0.99 - 0.1, 1e-12);
    o.lambda = 0;
    ppo_gae(r, v, 3, 0, &o, a);
    near(a[0], 0.098, 1e-12);
    near(a[1], 0.097, 1e-12);
}

static void advantages_are_standardised(void **state)
{
    double x[4] = { 1, 2, 3, 6 }, equal[3] = { 2, 2, 2 }, sum = 0, square = 0;
    (void)state;
    ppo_standardise(x, 4);
    for (int i = 0; i < 4; i++) {
        sum += x[i];
        square += x[i] * x[i];
    }
    near(sum, 0, 1e-12);
    near(square, 4, 1e-4);
    assert_true(x[0] < x[1] && x[1] < x[2] && x[2] < x[3]);
    ppo_standardise(equal, 3);
    near(equal[0], 0, 0);
}

static void values_are_normalised_over_all_batches(void **state)
{
    static const double one[] = { 0, 4 }, two[] = { 6, 6, 6 };
    struct value_norm v = {0};
    (void)state;
    near(value_norm_in(&v, 7), 7, 0);
    value_norm_add(&v, one, 2);                         /* mean 2, mean square 8 */
    near(value_norm_in(&v, 4), 1, 1e-9);
    near(value_norm_out(&v, -1), 0, 1e-9);
    value_norm_add(&v, two, 3);                         /* means of 2 and 6, of 8 and 36 */
    near(value_norm_in(&v, 4), 0, 1e-4);
    near(value_norm_out(&v, 1), 4 + sqrt(6), 1e-4);
    for (double x = -3; x < 4; x++)
        near(value_norm_out(&v, value_norm_in(&v, x)), x, 1e-12);
}

/* --- Heads ------------------------------------------------------------------------------------ */

/* A small policy whose outputs differ. */
static struct actor *some_actor(struct arena *a, enum actor_head head, int in, int out,
                                struct rng *r)
{
    struct ppo_opts o = ppo_defaults();
    o.width = 12;
    struct actor *p = actor_new(a, head, in, out, &o, r);
    for (int i = 0; i < p->net->n; i++)
        p->net->param[i] += 0.3 * nn_gaussian(r);
    return p;
}

static void draws_follow_the_probabilities_and_the_mask(void **state)
{
    struct rng r = rng_seed(SEED);
    struct arena *a = arena_new();
    struct actor *p = some_actor(a, HEAD_CATEGORICAL, 5, 9, &r);
    struct mlp_tape *t = mlp_tape_new(a, &p->net->shape, PPO_CHUNK);
    double x[5] = { 1, -2, 0.5, 3, 0 };
    (void)state;
    for (int n = 1; n <= 9; n += 4) {
        int count[9] = {0};
        double sum = 0, entropy, h = 0;
        for (int i = 0; i < 20000; i++) {
            struct action act = actor_act(p, t, x, n, &r);
            count[(int)act.value]++;
            near(act.log_prob, actor_log_prob(p, t, x, n, act.value, NULL), 0);
        }
        for (int i = 0; i < n; i++) {
            double log_p = actor_log_prob(p, t, x, n, i, &entropy), prob = exp(log_p);
            near(count[i] / 20000.0, prob, 4 * sqrt(prob * (1 - prob) / 20000) + 1e-12);
            sum += prob;
            h -= prob * log_p;
        }
        near(sum, 1, 1e-12);
        near(entropy, h, 1e-12);
        for (int i = n; i < 9; i++)
            assert_int_equal(count[i], 0);
    }
    arena_free(a);
}

static void real_actions_are_gaussian(void **state)
{
    struct rng r = rng_seed(SEED);
    struct arena *a = arena_new();
    struct actor *p = some_actor(a, HEAD_GAUSSIAN, 5, 1, &r);
    struct mlp_tape *t = mlp_tape_new(a, &p->net->shape, PPO_CHUNK);
    double x[5] = { 1, -2, 0.5, 3, 0 }, mean = mlp_forward(p->net, t, x, 1)[0], entropy;
    double std = exp(p->net->param[p->net->extra]), sum = 0, square = 0, mass = 0, h = 0;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        double u = actor_act(p, t, x, 0, &r).value;
        sum += u / 20000;
        square += (u - mean) * (u - mean) / 20000;
    }
    near(sum, mean, 0.03 * std);
    near(sqrt(square), std, 0.03 * std);
    for (double u = mean - 8 * std; u < mean + 8 * std; u += std / 100) {
        double log_p = actor_log_prob(p, t, x, 0, u, &entropy);
        mass += exp(log_p) * std / 100;
        h -= exp(log_p) * log_p * std / 100;
    }
    near(mass, 1, 1e-9);
    near(entropy, h, 1e-9);
    arena_free(a);
}

/* --- Losses ----------------------------------------------------------------------------------- */

struct actor_case { struct actor *p; struct mlp_tape *t; struct actor_batch b; struct ppo_opts o; };

/* Old log-probabilities differ from the present ones, so that some ratios are beyond the clip. */
static struct actor_case actor_case(struct arena *a, enum actor_head head, int rows, struct rng *r)
{
    int in = 5, out = head == HEAD_GAUSSIAN ? 1 : 7;
    struct actor_case c = { some_actor(a, head, in, out, r), NULL, { .rows = rows },
                            ppo_defaults() };
    double *x = ARENA_ARRAY(a, double, rows * in), *advantage = ARENA_ARRAY(a, double, rows);
    struct action *action = ARENA_ARRAY(a, struct action, rows);
    int *n_choices = ARENA_ARRAY(a, int, rows);
    c.t = mlp_tape_new(a, &c.p->net->shape, PPO_CHUNK);
    c.o.entropy_coef = 0.3;
    for (int i = 0; i < rows; i++) {
        for (int k = 0; k < in; k++)
            x[i * in + k] = nn_gaussian(r);
        n_choices[i] = (int)rng_range(r, 2, 7);
        action[i] = actor_act(c.p, c.t, x + i * in, n_choices[i], r);
        action[i].log_prob += 0.3 * nn_gaussian(r);
        advantage[i] = nn_gaussian(r);
    }
    c.b.x = x;
    c.b.action = action;
    c.b.advantage = advantage;
    c.b.n_choices = head == HEAD_GAUSSIAN ? NULL : n_choices;
    return c;
}

/* From the formulas alone, row by row. */
static double plain_actor_loss(void *context)
{
    const struct actor_case *c = context;
    double sum = 0;
    for (int i = 0; i < c->b.rows; i++) {
        double entropy, log_p = actor_log_prob(c->p, c->t, c->b.x + 5 * i,
                                               c->b.n_choices ? c->b.n_choices[i] : 0,
                                               c->b.action[i].value, &entropy);
        sum -= ppo_objective(exp(log_p - c->b.action[i].log_prob), c->b.advantage[i], c->o.clip)
               + c->o.entropy_coef * entropy;
    }
    return sum / c->b.rows;
}

static void policy_gradients_are_those_of_central_differences(void **state)
{
    (void)state;
    printf("seed %u\n", SEED);
    for (enum actor_head head = HEAD_GAUSSIAN; head <= HEAD_CATEGORICAL; head++)
        for (int rows = 1; rows <= PPO_CHUNK + 40; rows += (PPO_CHUNK + 39) / 2) {
            struct arena *a = arena_new();
            struct rng r = rng_seed(SEED + (unsigned)rows);
            struct actor_case c = actor_case(a, head, rows, &r);
            char worst[64];
            struct actor_report report = actor_loss(c.p, c.t, &c.b, &c.o);
            near(report.loss, plain_actor_loss(&c), 1e-12);
            if (rows > 1)
                assert_true(report.clipped > 0.2 && report.clipped < 0.9);
            double off = gradient_check(c.p->net, plain_actor_loss, &c, worst);
            if (!(off < 1e-6))
                fail_msg("head %d, %d rows: %s is off by %g", head, rows, worst, off);
            arena_free(a);
        }
}

struct critic_case {
    struct critic *c; struct mlp_tape *t; struct critic_batch b; struct ppo_opts o;
};

static double plain_critic_loss(void *context)
{
    const struct critic_case *c = context;
    double sum = 0, slope;
    for (int i = 0; i < c->b.rows; i++) {
        double v = mlp_forward(c->c->net, c->t, c->b.x + 5 * i, 1)[0];
        sum += ppo_value_loss(v, c->b.old[i], c->b.target[i], &c->o, &slope);
    }
    return c->o.value_coef * sum / c->b.rows;
}

static void value_gradients_are_those_of_central_differences(void **state)
{
    struct rng r = rng_seed(SEED);
    struct arena *a = arena_new();
    int rows = PPO_CHUNK + 30;
    struct critic_case c = { .o = ppo_defaults() };
    double *x = ARENA_ARRAY(a, double, rows * 5), *old = ARENA_ARRAY(a, double, rows);
    double *target = ARENA_ARRAY(a, double, rows);
    char worst[64];
    (void)state;
    printf("seed %u\n", SEED);
    c.o.width = 12;
    c.o.huber = 1;                                      /* both of its branches */
    c.o.value_coef = 0.7;
    c.c = critic_new(a, 5, &c.o, &r);
    c.t = mlp_tape_new(a, &c.c->net->shape, PPO_CHUNK);
    for (int i = 0; i < c.c->net->n; i++)
        c.c->net->param[i] += 0.3 * nn_gaussian(&r);
    for (int i = 0; i < rows * 5; i++)
        x[i] = nn_gaussian(&r);
    critic_values(c.c, c.t, x, rows, old);
    for (int i = 0; i < rows; i++) {
        old[i] += 0.2 * nn_gaussian(&r);
        target[i] = old[i] + nn_gaussian(&r);
    }
    c.b = (struct critic_batch){ rows, x, old, target };
    near(critic_loss(c.c, c.t, &c.b, &c.o), plain_critic_loss(&c), 1e-12);
    double off = gradient_check(c.c->net, plain_critic_loss, &c, worst);
    if (!(off < 1e-6))
        fail_msg("%s is off by %g", worst, off);
    arena_free(a);
}

/* --- Training --------------------------------------------------------------------------------- */

/* The gradient ends where the other three have 0.8 of what they had, at 1 - 0.8 * 0.75 = 0.4; the
 * momentum goes a little further. */
static void training_raises_what_paid_and_stays_near_the_old_policy(void **state)
{
    struct rng r = rng_seed(SEED);
    struct arena *a = arena_new();
    struct ppo_opts o = ppo_defaults();
    struct actor *p = actor_new(a, HEAD_CATEGORICAL, 5, 4, &o, &r);
    struct mlp_tape *t = mlp_tape_new(a, &p->net->shape, PPO_CHUNK);
    double x[40 * 5], advantage[40];
    struct action action[40];
    int n_choices[40];
    (void)state;
    for (int i = 0; i < 40; i++) {
        for (int k = 0; k < 5; k++)
            x[5 * i + k] = k == 1;
        n_choices[i] = 4;
        action[i] = actor_act(p, t, x, 4, &r);
        advantage[i] = (int)action[i].value == 2;
    }
    ppo_standardise(advantage, 40);
    double before = exp(actor_log_prob(p, t, x, 4, 2, NULL));
    struct actor_batch b = { 40, x, action, n_choices, advantage };
    for (int i = 0; i < 20; i++)
        actor_train(p, t, &b, &o);
    double after = exp(actor_log_prob(p, t, x, 4, 2, NULL));
    if (!(fabs(before - 0.25) < 0.01 && after > 0.35 && after < 0.45))
        fail_msg("the probability went from %g to %g", before, after);
    arena_free(a);
}

static void log_std_stays_in_its_range(void **state)
{
    struct rng r = rng_seed(SEED);
    struct arena *a = arena_new();
    struct ppo_opts o = ppo_defaults();
    o.log_std = 7;
    struct actor *p = actor_new(a, HEAD_GAUSSIAN, 2, 1, &o, &r);
    struct mlp_tape *t = mlp_tape_new(a, &p->net->shape, PPO_CHUNK);
    double x[2] = { 1, 0 }, *log_std = &p->net->param[p->net->extra], advantage = 0;
    struct action action = { 0, -1 };
    (void)state;
    near(*log_std, 0.5, 0);
    o.entropy_coef = 1;
    o.epochs = 100;
    struct actor_batch b = { 1, x, &action, NULL, &advantage };
    actor_train(p, t, &b, &o);
    near(*log_std, 0.5, 0);
    o.entropy_coef = -1;
    *log_std = -2.99;
    actor_train(p, t, &b, &o);
    near(*log_std, -3, 0);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_objective_is_clipped_where_it_would_gain),
        cmocka_unit_test(huber_is_quadratic_then_linear),
        cmocka_unit_test(the_value_loss_holds_values_near_the_old_ones),
        cmocka_unit_test(advantages_are_those_of_the_specification),
        cmocka_unit_test(advantages_are_standardised),
        cmocka_unit_test(values_are_normalised_over_all_batches),
        cmocka_unit_test(draws_follow_the_probabilities_and_the_mask),
        cmocka_unit_test(real_actions_are_gaussian),
        cmocka_unit_test(policy_gradients_are_those_of_central_differences),
        cmocka_unit_test(value_gradients_are_those_of_central_differences),
        cmocka_unit_test(training_raises_what_paid_and_stays_near_the_old_policy),
        cmocka_unit_test(log_std_stays_in_its_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
