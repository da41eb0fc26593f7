/* Which task the next round goes to (SPEC L.3), against values worked by hand; that a search which
 * gets its budget in rounds goes the same way; and how a time limit is divided. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>

#include "explorer/tune/strategies.h"
#include "sessions/tuning/network_time.h"
#include "sessions/tuning/task_rounds.h"
#include "tests/unit/tune_landscape.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static void near(double got, double want)
{
    assert_true(fabs(got - want) <= 1e-12 * (1 + fabs(want)));
}

/* alpha 0.2, beta 2, three rounds back. */
static void the_gain_is_the_formula(void **state)
{
    static const double one[] = { 10 }, two[] = { 10, 9 }, five[] = { 10, 9, 8, 7.5, 7.4 };
    struct task_rounds t[] = {
        { .weight = 2, .flop = 100, .kind = "a", .n = 1, .best_s = one },
        { .weight = 3, .flop = 90, .kind = "b", .n = 2, .best_s = two },
        { .weight = 1, .flop = 74, .kind = "c", .n = 5, .best_s = five },
        { .weight = 1, .flop = 370, .kind = "c", .n = 1, .best_s = one },
        { .weight = 9, .flop = 1, .kind = "c" },
    };
    (void)state;
    /* no slope; -10/1 = -10 is less than 2 * 100 / 10 - 10 = 10 */
    near(task_rounds_gain(t, 5, 0), 2 * 0.8 * -10);
    /* (9 - 10) / 1; -9/2 is less than 2 * 90 / 10 - 9 */
    near(task_rounds_gain(t, 5, 1), 3 * (0.2 * -1 + 0.8 * -4.5));
    /* (7.4 - 9) / 3; V of its kind is 370 / 10, so 2 * 74 / 37 - 7.4 = -3.4 is less than -7.4/5 */
    near(task_rounds_gain(t, 5, 2), 0.2 * -1.6 / 3 + 0.8 * -3.4);
    near(task_rounds_gain(t, 5, 4), 0);
    assert_true(isinf(task_rounds_hope(t, 5)));          /* one had no round yet */
    near(task_rounds_hope(t, 4), 16);
    t[0].closed = true;
    near(task_rounds_hope(t, 4), 3 * (0.2 + 0.8 * 4.5));
}

static void rounds_go_where_most_is_gained(void **state)
{
    static const double fast[] = { 1 }, slow[] = { 8 };
    struct task_rounds t[] = {
        { .weight = 1, .flop = 1, .kind = "a", .n = 1, .best_s = fast },
        { .weight = 1, .flop = 1, .kind = "b" },
        { .weight = 1, .flop = 1, .kind = "c", .n = 1, .best_s = slow },
    };
    (void)state;
    assert_int_equal(task_rounds_next(t, 3, 2), 1);      /* one round of each first */
    t[1].n = 1;
    t[1].best_s = fast;
    assert_int_equal(task_rounds_next(t, 3, 3), 2);
    t[0].weight = 10;
    assert_int_equal(task_rounds_next(t, 3, 3), 0);
    t[0].closed = true;
    assert_int_equal(task_rounds_next(t, 3, 3), 2);
    t[2].bound_s = 7.9;                                  /* within 3 % of its bound */
    assert_int_equal(task_rounds_next(t, 3, 3), 1);
    t[1].closed = true;
    assert_int_equal(task_rounds_next(t, 3, 3), -1);
    assert_int_equal(task_rounds_next(t, 3, 19), -1);
}

static void one_round_in_twenty_goes_by_turns(void **state)
{
    static const double fast[] = { 1 }, slow[] = { 8 };
    struct task_rounds t[] = {
        { .weight = 1, .flop = 1, .kind = "a", .n = 1, .best_s = slow },
        { .weight = 1, .flop = 1, .kind = "b", .n = 1, .best_s = fast },
        { .weight = 1, .flop = 1, .kind = "c", .n = 1, .best_s = fast },
    };
    int rounds[3] = { 0 };
    (void)state;
    for (int i = 0; i < 120; i++)
        rounds[task_rounds_next(t, 3, i)]++;
    assert_int_equal(rounds[0], 116);
    assert_int_equal(rounds[1], 2);
    assert_int_equal(rounds[2], 2);
}

/* --- Searches in rounds ----------------------------------------------------------------------- */

enum { BUDGET = 160, JOINT = 48 };

/* Runs a search to each of n budgets in turn.  text: gets what was measured. */
static void play(const struct strategy *strategy, const int *budget, int n, char **text)
{
    struct landscape *l = xcalloc(1, sizeof *l);
    struct search_opts o = { .budget = budget[0], .joint = JOINT, .seed = 4,
                             .strategy = strategy };
    struct err e = {0};
    l->values = 8;
    l->extent = 96;
    l->model = l->failures = true;
    l->learn_after = 32;
    l->noise = 0.3;
    landscape_open(l);
    struct search *s = search_new(&l->problem, &o, NULL, 0, NULL, &l->cancel);
    for (int i = 0; i < n; i++) {
        assert_true(search_extend(s, budget[i], 0));
        assert_int_equal(search_run(s, &e), SEARCH_BUDGET);
        assert_int_equal(search_view(s)->n_trials, budget[i]);
    }
    const struct tune_view *v = search_view(s);
    for (int i = 0; i < BUDGET; i++) {
        text[i] = xstrdup(v->trial[i]->text);
        assert_int_equal(v->trial[i]->stage, i < JOINT ? STAGE_JOINT : STAGE_LOOPS);
    }
    search_free(s);
    free(l);
}

static void a_search_in_rounds_goes_the_same_way(void **state)
{
    static const char *const name[] = { "random", "evo", "ppo", "q" };
    static const int whole[] = { BUDGET }, round[] = { 64, 72, 72, 136, BUDGET };
    (void)state;
    for (int i = 0; i < COUNT_OF(name); i++) {
        const struct strategy *strategy = strategy_find(name[i], NULL);
        char *want[BUDGET], *got[BUDGET];
        play(strategy, whole, 1, want);
        play(strategy, round, COUNT_OF(round), got);
        for (int k = 0; k < BUDGET; k++) {
            assert_string_equal(got[k], want[k]);
            free(got[k]);
            free(want[k]);
        }
    }
}

/* --- The time of a whole network -------------------------------------------------------------- */

/* Everything together takes at most the limit, where it leaves a quarter of itself for searches. */
static void the_limit_is_kept(void **state)
{
    (void)state;
    int searched = 0, turns[4] = {0};
    for (double limit = 1; limit < 4000; limit *= 1.3)
        for (double plain = 0.01; plain < 4; plain *= 2)
            for (int kernels = 1; kernels < 200; kernels *= 3) {
                struct network_costs c = {
                    .limit_s = limit, .plain_s = plain, .checked_s = 3 * plain,
                    .build_s = kernels % 2 * plain, .spent_s = 4 * plain, .n_kernels = kernels,
                };
                struct network_time t = network_time_of(&c);
                double all = c.spent_s + t.search_s + t.finals_s + network_time_end(&c, t.turns);
                assert_true(t.search_s >= 0.25 * limit && t.turns >= 1 && t.turns <= 3);
                assert_true(all <= limit * 1.001 || t.search_s == 0.25 * limit);
                assert_true(t.turns == 1 || network_time_end(&c, t.turns) <= 0.4 * limit);
                assert_true(t.compare_s < 0 ? t.finals_s == 0 : 16 * t.compare_s <= t.finals_s);
                searched += all <= limit * 1.001;
                turns[t.turns]++;
            }
    assert_true(searched > 100 && turns[1] > 0 && turns[2] > 0 && turns[3] > 0);
}

/* What was measured of ResNet-18: 20 seconds are divided, and not doubled. */
static void twenty_seconds(void **state)
{
    (void)state;
    struct network_costs c = { 20, 3.8, 0.93, 2.2, 1.4, 11 };
    struct network_time t = network_time_of(&c);
    assert_int_equal(t.turns, 1);
    assert_true(t.search_s > 6 && t.search_s < 8);
    c.limit_s = 0;
    t = network_time_of(&c);
    assert_true(t.search_s == 0 && t.compare_s == 0 && t.turns == 3);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gain_is_the_formula),
        cmocka_unit_test(rounds_go_where_most_is_gained),
        cmocka_unit_test(one_round_in_twenty_goes_by_turns),
        cmocka_unit_test(a_search_in_rounds_goes_the_same_way),
        cmocka_unit_test(the_limit_is_kept),
        cmocka_unit_test(twenty_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
