/* The agents: toy tasks that must be learnt, what belongs to which episode, weights as bytes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explorer/agent/agents_impl.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define COUNT(a) ((int)(sizeof (a) / sizeof *(a)))

static const float some_op[OP_FEATURES] = { 0, 0.375f, 0.375f, 0.36f, 0.36f };

/* --- A layout whose best factors are known ---------------------------------------------------- */

static const int extent[3] = { 56, 56, 64 }, best[3] = { 7, 28, 16 };

/* The nearest divisor. */
static int rounded(double x, int of)
{
    int found = 1;
    for (int f = 1; f <= of; f++)
        if (of % f == 0 && fabs(f - x) < fabs(found - x))
            found = f;
    return found;
}

/* At most 1; 1 less for three factors of two away from the best layout. */
static double layout_worth(const int *factor)
{
    double off = 0;
    for (int i = 0; i < 3; i++)
        off += fabs(log2(factor[i]) - log2(best[i])) / 3;
    return 1 - off;
}

static double layout_episode(struct agents *g)
{
    float state[LAYOUT_STATE] = {0};
    int factor[3];
    for (int i = 0; i < 3; i++) {
        double u = agents_layout_act(g, state, some_op, i);
        factor[i] = rounded(agents_fraction(u) * extent[i], extent[i]);
        state[2 * i] = (float)log2(extent[i] / factor[i]) / 16;
        state[2 * i + 1] = (float)log2(factor[i]) / 16;
    }
    double r = layout_worth(factor);
    agents_layout_reward(g, r);
    return r;
}

static double random_layouts(struct rng *r, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++) {
        int factor[3];
        for (int i = 0; i < 3; i++)
            factor[i] = rounded(rng_unit(r) * extent[i], extent[i]);
        sum += layout_worth(factor);
    }
    return sum / n;
}

static void the_split_actor_learns_the_best_factors(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct agents *g = agents_new(seed, NULL);
        struct rng r = rng_seed(seed);
        double random = random_layouts(&r, 2000), late = 0;
        for (int i = 0; i < 400; i++) {
            double reward = layout_episode(g);
            late += i >= 360 ? reward / 40 : 0;
        }
        printf("layouts, seed %d: random %.3f, after 400 episodes %.3f\n", (int)seed, random, late);
        assert_true(late > 0.7 && late > random + 0.5);
        agents_free(g);
    }
}

/* --- Knobs that should move to a target ------------------------------------------------------- */

#define KNOBS 3
#define CHOICES 8
#define STEPS 32

static const struct { enum knob_kind kind; int target; } knobs[KNOBS] = {
    { KNOB_VECTORIZE, 5 }, { KNOB_VECTORIZE, 1 }, { KNOB_CACHE_READ, 3 },
};

static double knobs_worth(const int *at)
{
    double sum = 0;
    for (int k = 0; k < KNOBS; k++) {
        int off = abs(at[k] - knobs[k].target);
        sum += (off > CHOICES / 2 ? CHOICES - off : off) / (double)KNOBS;
    }
    return 1 - sum;
}

/* -1, +1 around the circle, or stay; g NULL: at random.  The mean reward. */
static double walk(struct agents *g, struct rng *r)
{
    int at[KNOBS];
    double sum = 0;
    for (int k = 0; k < KNOBS; k++)
        at[k] = (int)rng_range(r, 0, CHOICES - 1);
    for (int t = 0; t < STEPS; t++) {
        float state[LOOP_STATE] = {0};
        for (int k = 0; k < KNOBS; k++)
            state[CHOICES * k + at[k]] = 1;
        for (int k = 0; k < KNOBS; k++) {
            int d = g ? agents_loop_act(g, knobs[k].kind, k, state, some_op, 3)
                      : (int)rng_range(r, 0, 2);
            at[k] = (at[k] + (d == 0 ? CHOICES - 1 : d == 1 ? 1 : 0)) % CHOICES;
        }
        double reward = knobs_worth(at);
        sum += reward / STEPS;
        if (g)
            agents_loop_step_end(g, reward);
    }
    if (g)
        agents_loop_episode_end(g);
    return sum;
}

static void the_loop_actors_learn_to_move_to_targets(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct agents *g = agents_new(seed, NULL);
        struct rng r = rng_seed(seed);
        double random = 0, late = 0;
        for (int i = 0; i < 100; i++)
            random += walk(NULL, &r) / 100;
        for (int i = 0; i < 60; i++) {
            double reward = walk(g, &r);
            late += i >= 50 ? reward / 10 : 0;
        }
        printf("loops, seed %d: random %.3f, after 60 episodes %.3f\n", (int)seed, random, late);
        assert_true(late > random + 0.8);
        agents_free(g);
    }
}

/* --- Episodes --------------------------------------------------------------------------------- */

static struct str weights(const struct agents *g)
{
    struct str s = {0};
    agents_save(g, "a test", &s);
    return s;
}

static bool same_weights(const struct agents *a, const struct agents *b)
{
    struct str x = weights(a), y = weights(b);
    bool same = x.len == y.len && memcmp(x.data, y.data, x.len) == 0;
    str_free(&x);
    str_free(&y);
    return same;
}

static void the_seed_and_the_calls_decide(void **state)
{
    struct agents *g[3] = { agents_new(7, NULL), agents_new(7, NULL), agents_new(8, NULL) };
    (void)state;
    assert_true(same_weights(g[0], g[1]) && !same_weights(g[0], g[2]));
    for (int i = 0; i < 2; i++) {
        struct rng r = rng_seed(1);
        for (int k = 0; k < 3; k++)
            walk(g[i], &r);
        for (int k = 0; k < 5; k++)
            layout_episode(g[i]);
    }
    assert_true(same_weights(g[0], g[1]));
    for (int i = 0; i < 3; i++)
        agents_free(g[i]);
}

static void layouts_train_after_every_fourth(void **state)
{
    struct agents *g = agents_new(1, NULL);
    struct str before = weights(g);
    (void)state;
    assert_true(isnan(agents_stats(g).layout_entropy));
    for (int i = 1; i <= 9; i++) {
        layout_episode(g);
        struct agent_stats s = agents_stats(g);
        struct str now = weights(g);
        assert_int_equal(s.episodes, i);
        assert_int_equal(s.trainings, i / 4);
        assert_int_equal(memcmp(before.data, now.data, now.len) == 0, i < 4);
        str_free(&now);
    }
    assert_true(fabs(agents_stats(g).layout_entropy - (1.4189 - 0.5)) < 0.05);
    assert_true(isnan(agents_stats(g).loop_entropy));
    agents_layout_reward(g, 1);                         /* nothing was drawn: no episode */
    assert_int_equal(agents_stats(g).episodes, 9);
    agents_layout_end(g);                               /* the ninth alone */
    agents_layout_end(g);
    assert_int_equal(agents_stats(g).trainings, 3);
    assert_int_equal(g->layout.len, 0);                 /* nothing is trained on twice */
    for (int i = 0; i < 4; i++)
        layout_episode(g);
    assert_int_equal(agents_stats(g).trainings, 4);
    str_free(&before);
    agents_free(g);
}

/* Draws n candidates of two actions, keeps one.  u[] of all. */
static void candidates(struct agents *g, int n, int keep, double reward, double *u)
{
    float state[LAYOUT_STATE] = { 0.25f };
    for (int c = 0; c < n; c++) {
        agents_layout_begin(g);
        for (int i = 0; i < 2; i++)
            *u++ = agents_layout_act(g, state, some_op, i);
    }
    agents_layout_keep(g, keep);
    agents_layout_reward(g, reward);
}

/* Whose the mean action becomes says which candidates were learnt from. */
static void only_the_candidate_that_was_kept_is_learnt(void **state)
{
    (void)state;
    for (int keep = 0; keep < 4; keep++) {
        struct agents *g = agents_new(3, NULL);
        float layout[LAYOUT_STATE] = { 0.25f };
        double towards = 0, mean[2], deviation, u[8];
        agents_layout_policy(g, layout, some_op, 1, &mean[0], &deviation);
        assert_true(fabs(deviation - exp(-0.5)) < 1e-12);
        for (int episode = 0; episode < 4; episode++) {
            double r = episode % 2 ? 1 : -1;
            candidates(g, 4, keep, r, u);
            towards += r * (u[2 * keep + 1] - mean[0]);
        }
        agents_layout_policy(g, layout, some_op, 1, &mean[1], &deviation);
        assert_int_equal(agents_stats(g).trainings, 1);
        assert_true((mean[1] > mean[0]) == (towards > 0));
        agents_free(g);
    }
}

/* Candidates that were dropped between two episodes leave no trace but in the random numbers. */
static void dropped_candidates_are_not_learnt(void **state)
{
    static const float some_state[LAYOUT_STATE] = { 0.25f };
    struct agents *g = agents_new(3, NULL);
    double u[8];
    (void)state;
    for (int episode = 0; episode < 4; episode++) {
        struct str before = weights(g);
        candidates(g, 3, 1, 1, u);
        struct str now = weights(g);
        assert_int_equal(memcmp(before.data, now.data, now.len) == 0, episode < 3);
        str_free(&before);
        str_free(&now);
        for (int c = 0; c < 2; c++) {
            agents_layout_begin(g);
            agents_layout_act(g, some_state, some_op, 0);
        }
        agents_layout_drop(g);
        agents_layout_reward(g, -4);                    /* of nothing */
        assert_int_equal(agents_stats(g).episodes, episode + 1);
    }
    assert_int_equal(agents_stats(g).trainings, 1);
    agents_free(g);
}

/* With one actor per step, a knob's reward is the sum until it moves again. */
static void a_knob_that_rests_gets_what_comes_for_its_last_move(void **state)
{
    struct agents *g[2] = { agents_new(5, NULL), agents_new(5, NULL) };
    float point[LOOP_STATE] = { 0.5f };
    (void)state;
    for (int i = 0; i < 2; i++) {
        for (int t = 0; t < 6; t++) {
            agents_loop_act(g[i], KNOB_ORDER, t % 2, point, some_op, 5);
            if (i == 0) {
                agents_loop_step_end(g[i], t);
                agents_loop_step_end(g[i], -1);
            } else {
                agents_loop_step_end(g[i], t - 1);
            }
        }
        agents_loop_episode_end(g[i]);
    }
    assert_true(same_weights(g[0], g[1]));
    assert_int_equal(agents_stats(g[0]).trainings, 1);
    assert_true(fabs(agents_stats(g[0]).loop_entropy - log(5)) < 0.1);
    agents_loop_act(g[0], KNOB_ORDER, 0, point, some_op, 5);
    agents_loop_episode_drop(g[0]);
    agents_loop_episode_end(g[0]);
    assert_int_equal(agents_stats(g[0]).trainings, 1);
    agents_free(g[0]);
    agents_free(g[1]);
}

/* After the end of a walk, rewards are not for the moves of that walk; and the value of its last
 * state does not count, as a critic that thinks everything worth 0 cannot tell. */
static void a_walk_that_ended_gets_nothing_of_the_next(void **state)
{
    struct agents *g = agents_new(5, NULL);
    double value[4] = { 3, 3, 3, 3 }, advantage[4], gamma = g->o.ppo.gamma;
    float point[LOOP_STATE] = { 0.5f };
    (void)state;
    for (int t = 0; t < 4; t++) {
        agents_loop_act(g, KNOB_ORDER, t % 2, point, some_op, 5);
        agents_loop_step_end(g, t + 1);
        if (t == 1)
            agents_loop_walk_end(g);
    }
    agents_advantages(g, g->loop.data, g->loop.len, value, advantage);
    for (int t = 0; t < 4; t++) {
        double want = t == 0 ? 1 + 2 : t == 2 ? 3 + 4 : t + 1;        /* its own and the next's */
        double later = t < 2 ? 0 : gamma * 3;                         /* the second walk goes on */
        assert_true(fabs(advantage[t] - (want + later - 3)) < 1e-12);
    }
    agents_loop_walk_end(g);
    agents_loop_walk_end(g);                                          /* an empty walk */
    agents_loop_episode_end(g);
    assert_int_equal(agents_stats(g).trainings, 1);
    agents_free(g);
}

/* A = the sum over what follows on the path of (gamma lambda)^l delta, by definition. */
static double slow_advantage(const struct agents *g, const struct agent_row *row,
                             const double *value, int n, int i)
{
    double sum = 0, weight = 1, gamma = g->o.ppo.gamma;
    for (int t = i; t < n; t++) {
        int next = t + 1;
        if (row[t].path != row[i].path)
            continue;
        while (next < n && row[next].path != row[i].path)
            next++;
        double last = row[t].ends ? 0 : value[t];
        sum += weight * (row[t].reward + gamma * (next < n ? value[next] : last) - value[t]);
        weight *= gamma * g->o.ppo.lambda;
    }
    return sum;
}

static void advantages_follow_each_knob_and_each_layout(void **state)
{
    struct rng r = rng_seed(6);
    struct agents *g = agents_new(1, NULL);
    (void)state;
    printf("seed 6\n");
    for (int round = 0; round < 20; round++) {
        struct agent_row row[60] = {{.kind = 0}};
        double value[60], advantage[60];
        int n = (int)rng_range(&r, 1, 60), kind = round % 2 ? LAYOUT_KIND : 3;
        for (int i = 0; i < n; i++) {
            row[i].kind = kind;
            row[i].ends = kind == LAYOUT_KIND;
            row[i].path = (int)rng_range(&r, 0, 6);
            row[i].reward = nn_gaussian(&r);
            value[i] = nn_gaussian(&r);
        }
        agents_advantages(g, row, n, value, advantage);
        for (int i = 0; i < n; i++)
            assert_true(fabs(advantage[i] - slow_advantage(g, row, value, n, i)) < 1e-12);
    }
    agents_free(g);
}

static void rewards_are_within_their_range(void **state)
{
    static const struct { double latency, want; } table[] = {
        { 1, 0.5 }, { 2, 0 }, { 3, -0.5 }, { 10, -4 }, { 1e9, -4 }, { INFINITY, -4 }, { NAN, -4 },
        { 0, 1 },
    };
    (void)state;
    for (int i = 0; i < COUNT(table); i++)
        assert_true(fabs(agents_reward(table[i].latency, 2) - table[i].want) < 1e-15);
    assert_true(fabs(112 * agents_log_fraction(0, 112) - sqrt(112)) < 1e-12);
    assert_true(fabs(agents_log_fraction(-40, 64) * 64 - 1) < 1e-9
                && fabs(agents_log_fraction(40, 64) - 1) < 1e-9);
    assert_true(agents_fraction(0) == 0.5 && agents_fraction(-800) >= 0
                && agents_fraction(800) <= 1);
}

/* --- The spaces that they are for ------------------------------------------------------------- */

static void in_range(const float *state, int n)
{
    for (int i = 0; i < n; i++)
        if (!(state[i] >= 0 && state[i] <= 2))
            fail_msg("state[%d] is %g", i, (double)state[i]);
}

static void draw_layout(struct agents *g, const struct layout_space *s, int64_t *factor)
{
    assert_true(s->n >= 1 && s->n <= LAYOUT_KNOBS);
    memset(factor, 0, LAYOUT_KNOBS * sizeof *factor);
    for (int k = 0; k < s->n; k++) {
        float now[LAYOUT_STATE];
        layout_space_state(s, factor, now);
        in_range(now, LAYOUT_STATE);
        double u = agents_layout_act(g, now, s->op, k), whole = (double)s->knob[k].extent;
        factor[k] = layout_factor(s, k, factor, agents_log_fraction(u, whole));
    }
}

/* The point that an episode of n steps ends at. */
static void walk_loops(struct agents *g, const struct loop_space *s, const float *op, int n,
                       struct loop_point *p)
{
    loop_point_start(s, p);
    for (int t = 0; t < n; t++) {
        float now[LOOP_STATE];
        loop_point_state(s, p, now);
        in_range(now, LOOP_STATE);
        for (int k = 0; k < s->n; k++) {
            const struct loop_knob *knob = &s->knob[k];
            int d = agents_loop_act(g, knob->kind, k, now, op, loop_knob_directions(knob));
            loop_point_move(s, p, k, d);
        }
        agents_loop_step_end(g, loop_point_sound(s, p, NULL) ? 0 : -4);
    }
    agents_loop_episode_end(g);
}

static void they_walk_through_the_spaces_of_operators(void **state)
{
    static const char *const spec[] = {
        "c2d n=1 i=64 h=28 w=28 o=64 k=3 p=1", "gmm m=128 k=768 n=768",
        "t3d n=1 i=32 depth=8 h=7 w=7 o=16 k=3 s=2 p=1", "dep n=1 c=32 h=112 w=112 k=3 p=1",
    };
    struct agents *g = agents_new(1, NULL);
    (void)state;
    for (int i = 0; i < COUNT(spec); i++) {
        struct arena *a = arena_new();
        const struct layout_opts two = { .levels = 2 };
        const struct layout_space *layouts;
        const struct loop_space *loops;
        const char *const *line;
        int64_t factor[LAYOUT_KNOBS];
        struct loop_point p;
        struct err e;
        int n;
        if (!layout_space_new(a, spec[i], NULL, 0, i % 2 ? &two : NULL, &layouts, &e))
            fail_msg("%s", e.text);
        draw_layout(g, layouts, factor);
        agents_layout_reward(g, 0);
        if (!layout_space_lines(layouts, a, factor, &line, &n, NULL, &e)
            || !loop_space_new(a, spec[i], line, n, NULL, &loops, &e))
            fail_msg("%s", e.text);
        walk_loops(g, loops, layouts->op, 8, &p);
        arena_free(a);
    }
    assert_int_equal(agents_stats(g).trainings, COUNT(spec) + 1);
    assert_int_equal(agents_stats(g).episodes, 2 * COUNT(spec));
    agents_free(g);
}

/* --- Weights ---------------------------------------------------------------------------------- */

static struct agents *trained(uint64_t seed)
{
    struct agents *g = agents_new(seed, NULL);
    struct rng r = rng_seed(seed);
    walk(g, &r);
    for (int i = 0; i < 4; i++)
        layout_episode(g);
    return g;
}

static void weights_come_back_as_they_were(void **state)
{
    struct agents *from = trained(11), *to[2] = { agents_new(12, NULL), agents_new(12, NULL) };
    struct agents *raw = agents_new(12, NULL);
    struct str s = {0};
    struct err e;
    const char *by;
    (void)state;
    agents_save(from, "24 workloads,\nseed 1", &s);
    for (int i = 0; i < 2; i++) {
        layout_episode(to[i]);                          /* an open batch is forgotten */
        if (!agents_load(to[i], s.data, s.len, &by, &e))
            fail_msg("%s", e.text);
        assert_string_equal(by, "24 workloads, seed 1");
        assert_true(same_weights(from, to[i]));
    }
    layout_episode(raw);
    float state_l[LAYOUT_STATE] = { 0.1f }, point[LOOP_STATE] = { 0, 0.2f };
    bool all = true;
    for (int i = 0; i < 40; i++) {
        double p[2][7];
        agents_loop_policy(from, i % KNOB_KINDS, i % LOOP_KNOBS, point, some_op, 7, p[0]);
        agents_loop_policy(to[0], i % KNOB_KINDS, i % LOOP_KNOBS, point, some_op, 7, p[1]);
        assert_memory_equal(p[0], p[1], sizeof p[0]);
        double u = agents_layout_act(to[0], state_l, some_op, i % 6);
        assert_true(u == agents_layout_act(to[1], state_l, some_op, i % 6));
        all = all && u == agents_layout_act(raw, state_l, some_op, i % 6);
        assert_int_equal(agents_loop_act(to[0], KNOB_UNROLL, i % 9, point, some_op, 7),
                         agents_loop_act(to[1], KNOB_UNROLL, i % 9, point, some_op, 7));
    }
    assert_false(all);                                  /* the weights do decide */
    str_free(&s);
    agents_free(from);
    agents_free(to[0]);
    agents_free(to[1]);
    agents_free(raw);
}

/* Loads and must be refused, with nothing changed. */
static void refused(struct agents *g, const char *data, size_t n, enum err_code code,
                    const char *reason)
{
    struct str before = weights(g), after;
    struct err e = { .code = ERR_NONE };
    if (agents_load(g, data, n, NULL, &e))
        fail_msg("loaded, not refused with \"%s\"", reason);
    if (e.code != code || !strstr(e.text, reason))
        fail_msg("%s: %s, not \"%s\"", err_name(e.code), e.text, reason);
    after = weights(g);
    assert_int_equal(before.len, after.len);
    assert_memory_equal(before.data, after.data, before.len);
    str_free(&before);
    str_free(&after);
}

static void weights_of_another_version_are_refused(void **state)
{
    struct agents *g = trained(1), *other;
    struct agents_opts o = agents_defaults();
    struct str s = weights(g);
    char *hash = strstr(s.data, "encoding ") + 9;
    (void)state;
    hash[3] = hash[3] == '0' ? '1' : '0';
    refused(g, s.data, s.len, ERR_TYPE, "states encoded as");
    str_free(&s);
    o.ppo.width = 32;
    other = agents_new(1, &o);
    assert_true(agents_encoding(g) != agents_encoding(other));
    s = weights(other);
    refused(g, s.data, s.len, ERR_TYPE, "states encoded as");
    str_free(&s);
    agents_free(other);
    agents_free(g);
}

static void damaged_weights_are_refused_with_the_reason(void **state)
{
    struct agents *g = trained(1);
    struct str s = weights(g);
    size_t body = (size_t)(strstr(s.data, "\n\n") + 2 - s.data);
    struct err e;
    (void)state;
    refused(g, "", 0, ERR_SYNTAX, "line 1");
    refused(g, "hello\n", 6, ERR_SYNTAX, "line 1 does not start with \"tilescope agents 1\"");
    refused(g, s.data, s.len - 1, ERR_SYNTAX, "bytes of numbers instead of");
    refused(g, s.data, s.len + 1, ERR_SYNTAX, "bytes of numbers instead of");         /* its NUL */
    for (size_t n = 0; n < body; n++)
        assert_false(agents_load(g, s.data, n, NULL, &e));
    for (size_t i = body; i < s.len; i += s.len / 9) {
        s.data[i] ^= 0x10;
        refused(g, s.data, s.len, ERR_SYNTAX, "checksum");
        s.data[i] ^= 0x10;
    }
    int harmless = 0;                                   /* what is said about the training */
    for (size_t i = 0; i < body; i++) {
        s.data[i] ^= 0x01;
        harmless += agents_load(g, s.data, s.len, NULL, &e);
        s.data[i] ^= 0x01;
    }
    assert_int_equal(harmless, strlen("a test"));
    assert_true(agents_load(g, s.data, s.len, NULL, &e));
    str_free(&s);
    agents_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_split_actor_learns_the_best_factors),
        cmocka_unit_test(the_loop_actors_learn_to_move_to_targets),
        cmocka_unit_test(the_seed_and_the_calls_decide),
        cmocka_unit_test(layouts_train_after_every_fourth),
        cmocka_unit_test(only_the_candidate_that_was_kept_is_learnt),
        cmocka_unit_test(dropped_candidates_are_not_learnt),
        cmocka_unit_test(a_knob_that_rests_gets_what_comes_for_its_last_move),
        cmocka_unit_test(a_walk_that_ended_gets_nothing_of_the_next),
        cmocka_unit_test(advantages_follow_each_knob_and_each_layout),
        cmocka_unit_test(rewards_are_within_their_range),
        cmocka_unit_test(they_walk_through_the_spaces_of_operators),
        cmocka_unit_test(weights_come_back_as_they_were),
        cmocka_unit_test(weights_of_another_version_are_refused),
        cmocka_unit_test(damaged_weights_are_refused_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
