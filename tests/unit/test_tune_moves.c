/* Where strategies start from, on made-up landscapes that watch them: no layout twice in a batch of
 * drawn ones, and walks that begin at points that were measured in the same layout. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explorer/agent/agents.h"
#include "explorer/tune/strategies.h"
#include "tests/unit/tune_landscape.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { ARMS = 64, TRIALS = 512 };

/* What is known of an arm: whether it is open, what was measured in it, and the best of that. */
struct watched {
    bool closed;
    int n, best;
    struct land_point point[TRIALS];
    double ms[TRIALS];
};

static struct watched watched[ARMS];
static struct tune_problem plain;        /* what the landscape does itself */
static struct land_point moved;          /* what the last move led to */

/* Walks, counted: those that began at a point not measured in their layout; the first ones of a
 * layout, with one batch measured or less; those that came back to a layout, and from its best;
 * those that did not begin at the best, and how much slower they began than the mean of their
 * layout (a logarithm). */
static struct {
    int arm, measured, walks, strange, first, at_once, early, again, again_at_best, others;
    double slower;
} seen;

static void use(int arm)
{
    assert_in_range(arm, 0, ARMS - 1);
    if (watched[arm].closed)
        fail_msg("layout %d is used after it was closed", arm);
}

static int watch_open(void *ctx, const int64_t *factor)
{
    int arm = plain.arm_open(ctx, factor);
    watched[arm].closed = false;
    return arm;
}

static void watch_close(void *ctx, int arm)
{
    use(arm);
    watched[arm].closed = true;
    plain.arm_close(ctx, arm);
}

static void watch_draw(void *ctx, int arm, struct rng *r, void *point)
{
    use(arm);
    plain.point_draw(ctx, arm, r, point);
}

/* A step of a walk from `point`: its first one, unless the point is what the last step led to. */
static void note_step(int arm, const struct land_point *point)
{
    const struct watched *w = &watched[arm];
    int at = -1;
    double sum = 0;
    use(arm);
    if (arm == seen.arm && memcmp(point, &moved, sizeof moved) == 0)
        return;
    for (int i = 0, n = 0; i < w->n; i++) {
        if (memcmp(point, &w->point[i], sizeof *point) == 0 && isfinite(w->ms[i]))
            at = i;
        sum += isfinite(w->ms[i]) ? (log(w->ms[i]) - sum) / ++n : 0;
    }
    seen.walks++;
    seen.strange += at < 0;
    if (at >= 0 && at != w->best) {
        seen.others++;
        seen.slower += log(w->ms[at]) - sum;
    }
    if (arm != seen.arm) {
        seen.first++;
        seen.at_once += w->n == TUNE_TOP;
        seen.early += w->n < TUNE_TOP;
        seen.again += arm != seen.measured && w->n >= TUNE_TOP;
        seen.again_at_best += arm != seen.measured && at == w->best;
    }
    seen.arm = arm;
}

static void watch_mutate(void *ctx, int arm, struct rng *r, void *point)
{
    note_step(arm, point);
    plain.point_mutate(ctx, arm, r, point);
    moved = *(struct land_point *)point;
}

static void watch_move(void *ctx, int arm, void *point, int knob, int direction)
{
    note_step(arm, point);
    plain.point_move(ctx, arm, point, knob, direction);
}

static void (*mover)(void *, int, void *, int, int) = watch_move;

/* As a model scores: 1 is as fast as the best, which is what most moves are compared with. */
static void watch_score(void *ctx, struct arena *a, struct tune_candidate **c, int n)
{
    plain.score(ctx, a, c, n);
    for (int i = 0; i < n; i++)
        c[i]->score *= landscape_best(ctx) / 0.05;
}

static void watch_measured(void *ctx, const struct tune_candidate *c)
{
    struct watched *w = &watched[c->arm];
    (void)ctx;
    use(c->arm);
    if (!c->point)
        return;
    assert_in_range(w->n, 0, TRIALS - 1);
    w->point[w->n] = *(const struct land_point *)c->point;
    w->ms[w->n] = c->ms;
    if (c->ms < w->ms[w->best])
        w->best = w->n;
    w->n++;
    seen.measured = c->arm;
}

/* A search over eight layouts, or one, whose model ranks after the first batch. */
static void search(const struct strategy *strategy, bool fixed, bool failures, int budget,
                   uint64_t seed)
{
    struct landscape *l = xcalloc(1, sizeof *l);
    *l = (struct landscape){ .seed = seed, .values = 8, .extent = 2, .model = true, .fixed = fixed,
                             .failures = failures, .learn_after = 8, .noise = 0.3 };
    struct search_opts o = { .budget = budget, .seed = seed, .strategy = strategy };
    struct search_sink sink = { .measured = watch_measured };
    struct err e = {0};
    memset(watched, 0, sizeof watched);
    seen.arm = seen.measured = -1;
    landscape_open(l);
    plain = l->problem;
    l->problem.arm_open = watch_open;
    l->problem.arm_close = watch_close;
    l->problem.point_draw = watch_draw;
    l->problem.point_mutate = watch_mutate;
    l->problem.point_move = mover;
    if (mover != watch_move)
        l->problem.score = watch_score;
    struct search *s = search_new(&l->problem, &o, NULL, 0, &sink, &l->cancel);
    assert_int_equal(search_run(s, &e), SEARCH_BUDGET);
    search_free(s);
    free(l);
}

/* Of a layout that was drawn twice, one would be closed while the other is searched. */
static void no_layout_twice_in_a_batch(void **state)
{
    (void)state;
    for (int i = 0; i < strategy_count(); i++)
        for (uint64_t seed = 1; seed <= 2 && !strategy_get(i)->ordered; seed++)
            search(strategy_get(i), false, false, 120, seed);
}

/* Random points until there is a batch to walk from; then from a measured one; annealing from the
 * best when the search comes back to a layout. */
static void walks_begin_at_measured_points(void **state)
{
    static const char *const walkers[] = { "sa", "q" };
    (void)state;
    for (int i = 0; i < COUNT_OF(walkers); i++)
        for (int fixed = 0; fixed < 2; fixed++) {
            memset(&seen, 0, sizeof seen);
            for (uint64_t seed = 1; seed <= 3; seed++)
                search(strategy_find(walkers[i], NULL), fixed, true, i ? 120 : 300, seed);
            print_message("# %s: %d walks, %d first ones, %d where it was before\n", walkers[i],
                          seen.walks, seen.first, seen.again);
            assert_true(seen.walks > 100 && seen.first >= 3);
            assert_int_equal(seen.strange, 0);
            assert_int_equal(seen.early, 0);
            assert_true(!fixed || seen.at_once == seen.first);
            assert_true(fixed || i || seen.again > 0);
            if (i == 0)
                assert_int_equal(seen.again_at_best, seen.again);
            else
                assert_true(seen.slower < 0 && seen.others > 100);
        }
}

/* What agents are told of walks: that one ended before a move starts somewhere else, and before
 * they learn from it; and what a move or a layout was worth.  (The Makefile wraps these functions
 * for this program.) */
static struct {
    struct land_point from, to;          /* the last move's */
    bool on;                             /* a walk has begun, and nobody said that it ended */
    bool known;                          /* where the last step led to, or not a program */
    double gain;                         /* a ratio of times; 1: not judged */
    int walks, untold, lessons, paid, unfair, layouts;
} told;

void __real_agents_layout_reward(struct agents *g, double r);
void __wrap_agents_layout_reward(struct agents *g, double r);
void __real_agents_loop_step_end(struct agents *g, double r);
void __wrap_agents_loop_step_end(struct agents *g, double r);

void __real_agents_loop_walk_end(struct agents *g);
void __wrap_agents_loop_walk_end(struct agents *g);
void __real_agents_loop_episode_end(struct agents *g);
void __wrap_agents_loop_episode_end(struct agents *g);

void __wrap_agents_layout_reward(struct agents *g, double r)
{
    told.layouts++;
    __real_agents_layout_reward(g, r);
}

/* 0: both are as slow as counts. */
void __wrap_agents_loop_step_end(struct agents *g, double r)
{
    bool judged = r > -1 && r != 0 && told.gain != 1;
    told.known = r <= -1;
    told.paid += judged;
    told.unfair += judged && (r > 0) != (told.gain > 1);
    told.gain = 1;
    __real_agents_loop_step_end(g, r);
}

void __wrap_agents_loop_walk_end(struct agents *g)
{
    told.walks += told.on;
    told.on = false;
    __real_agents_loop_walk_end(g);
}

void __wrap_agents_loop_episode_end(struct agents *g)
{
    told.lessons++;
    told.untold += told.on;
    told.on = false;
    __real_agents_loop_episode_end(g);
}

static bool was_measured(int arm, const struct land_point *point)
{
    for (int i = 0; i < watched[arm].n; i++)
        if (memcmp(point, &watched[arm].point[i], sizeof *point) == 0)
            return true;
    return false;
}

/* From what is no program a walk goes back to where it was. */
static void watch_agent(void *ctx, int arm, void *point, int knob, int direction)
{
    bool goes_on = memcmp(point, &told.to, sizeof told.to) == 0
                || memcmp(point, &told.from, sizeof told.from) == 0;
    told.untold += told.on && !goes_on;
    told.on = true;
    told.from = *(struct land_point *)point;
    plain.point_move(ctx, arm, point, knob, direction);
    told.to = *(struct land_point *)point;
    told.gain = landscape_ms(ctx, arm, &told.from) / landscape_ms(ctx, arm, &told.to);
    if ((told.gain > 0.7 && told.gain < 1.4) || told.known || was_measured(arm, &told.from))
        told.gain = 1;                   /* the model is off by 15 %, and by more where it knows */
}

static void agents_know_where_walks_end(void **state)
{
    (void)state;
    memset(&told, 0, sizeof told);
    mover = watch_agent;
    for (uint64_t seed = 1; seed <= 3; seed++)
        search(&strategy_ppo, true, true, 120, seed);
    mover = watch_move;
    print_message("# %d walks, %d lessons, %d of %d moves paid wrongly\n", told.walks, told.lessons,
                  told.unfair, told.paid);
    assert_true(told.paid > 50);
    assert_true(20 * told.unfair < told.paid);   /* what was drawn may be known as well */
    assert_int_equal(told.layouts, 0);
    assert_true(told.lessons > 10);
    assert_int_equal(told.walks, TUNE_BATCH / 8 * told.lessons);
    assert_int_equal(told.untold, 0);
}

static void agents_are_paid_for_layouts(void **state)
{
    (void)state;
    memset(&told, 0, sizeof told);
    search(&strategy_ppo, false, false, 240, 1);
    print_message("# %d layouts\n", told.layouts);
    assert_true(told.layouts > 0);
}

/* A search that ends before there is a lesson has the weights that it was given. */
static void agents_begin_with_given_weights(void **state)
{
    (void)state;
    struct landscape *l = xcalloc(1, sizeof *l);
    struct agents *g = agents_new(77, NULL);
    struct str given = {0}, left = {0};
    struct err e;
    agents_save(g, "", &given);
    *l = (struct landscape){ .seed = 1, .values = 8, .extent = 2, .model = true, .fixed = true,
                             .learn_after = 8 };
    landscape_open(l);
    struct search_opts o = { .budget = TUNE_TOP, .seed = 1, .strategy = &strategy_ppo,
                             .weights = given.data, .weights_bytes = given.len,
                             .weights_out = &left };
    struct search_sink none = {0};
    struct search *s = search_new(&l->problem, &o, NULL, 0, &none, &l->cancel);
    assert_int_equal(search_run(s, &e), SEARCH_BUDGET);
    search_free(s);
    assert_int_equal(left.len, given.len);
    assert_memory_equal(left.data, given.data, given.len);
    str_free(&left);
    str_free(&given);
    agents_free(g);
    free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_layout_twice_in_a_batch),
        cmocka_unit_test(walks_begin_at_measured_points),
        cmocka_unit_test(agents_know_where_walks_end),
        cmocka_unit_test(agents_are_paid_for_layouts),
        cmocka_unit_test(agents_begin_with_given_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
