/* The cost model: its objective, what it learns, when it trains, bytes, damage, missing library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "explorer/model/cost_model.h"
#include "explorer/model/rank.h"
#include "explorer/model/xgb.h"
#include "kernels/base/rng.h"
#include "tests/unit/fork_child.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define SKIP_WITHOUT_LIBRARY() \
    { \
        struct err missing; \
        if (!xgb_available(&missing)) { \
            print_message("%s\n", missing.text); \
            skip(); \
        } \
    }

static uint64_t seed;

/* --- Ranking --------------------------------------------------------------------------------- */

static void ranks(void **state)
{
    (void)state;
    const double time[] = { 1, 2, 3, INFINITY, INFINITY }, good[] = { 5, 4, 3, 2, 1 };
    const double bad[] = { 1, 2, 3, 4, 5 }, flat[] = { 7, 7, 7, 7, 7 };
    const double swapped[] = { 4, 5, 3, 2, 1 };
    assert_float_equal(rank_pair_order(good, time, 5), 1, 0);
    assert_float_equal(rank_pair_order(bad, time, 5), 0, 0);
    assert_float_equal(rank_pair_order(flat, time, 5), 0.5, 0);
    assert_float_equal(rank_pair_order(swapped, time, 5), 8.0 / 9, 1e-6);  /* two failed: no pair */
    assert_true(isnan(rank_pair_order(good, time + 3, 2)));
    assert_float_equal(rank_recall(good, time, 5, 2), 1, 0);
    assert_float_equal(rank_recall(bad, time, 5, 2), 0, 0);
    assert_float_equal(rank_recall(bad, time, 5, 4), 0.75, 0);
    assert_float_equal(rank_recall(flat, time, 5, 3), 1, 0);        /* earlier ones win ties */
    assert_float_equal(rank_recall(bad, time, 5, 9), 1, 0);
}

/* --- The objective --------------------------------------------------------------------------- */

static void pack_sum_by_hand(void **state)
{
    (void)state;
    /* SPEC E.4: predictions (.2, .3) of one pack, y = w = 1. */
    const int one[] = { 0, 2 }, two[] = { 0, 1, 3 };
    const double y[] = { 1 }, y2[] = { 0.5, 0 }, w2[] = { 0.5, 0.05 };
    const float p[] = { 0.2f, 0.3f }, p2[] = { 1, 0.25f, 0.25f };
    float g[3], h[3];
    assert_float_equal(pack_gradient(1, one, y, y, p, g, h), 0.5, 1e-6);
    for (int i = 0; i < 2; i++) {
        assert_float_equal(g[i], -0.5, 1e-6);
        assert_float_equal(h[i], 1, 0);
    }
    double error = pack_gradient(2, two, y2, w2, p2, g, h);
    assert_float_equal(g[0], 0.25, 1e-6);
    assert_float_equal(g[1], 0.025, 1e-6);
    assert_float_equal(g[2], 0.025, 1e-6);
    assert_float_equal(h[2], 0.05, 1e-6);
    assert_float_equal(error, 0.5, 1e-6);
}

/* The gradient is that of L = 1/2 sum of w (sum - y)^2, by differences. */
static void pack_sum_by_differences(void **state)
{
    (void)state;
    struct rng r = rng_seed(seed);
    const int first[] = { 0, 1, 4, 6, 9 };
    double y[4], w[4];
    float p[9], g[9], h[9], unused[9], unused2[9];
    for (int i = 0; i < 9; i++)
        p[i] = rng_float(&r);
    for (int i = 0; i < 4; i++) {
        y[i] = rng_unit(&r);
        w[i] = rng_unit(&r) + 0.1;
    }
    double weights = w[0] + w[1] + w[2] + w[3];
    pack_gradient(4, first, y, w, p, g, h);
    for (int i = 0; i < 9; i++) {
        const float step = 1.0f / 1024, at = p[i];
        p[i] = at + step;
        double up = pack_gradient(4, first, y, w, p, unused, unused2);
        double width = p[i];
        p[i] = at - step;
        double down = pack_gradient(4, first, y, w, p, unused, unused2);
        width -= p[i];
        p[i] = at;
        double slope = 0.5 * weights * (up * up - down * down) / width;
        if (fabs(slope - (double)g[i]) > 1e-3)
            fail_msg("seed %llu: row %d: gradient %g, difference %g", (unsigned long long)seed, i,
                     (double)g[i], slope);
    }
}

/* --- Learning -------------------------------------------------------------------------------- */

/* Made-up programs of two rows; the time follows from four of the columns. */
struct made { struct features f; double ms; };

static struct made make(struct arena *a, struct rng *r)
{
    struct made m = { .f = { .rows = 2, .columns = FEATURES } };
    double cost = 1;
    m.f.x = ARENA_ARRAY(a, float, m.f.rows * m.f.columns);
    for (int i = 0; i < m.f.rows; i++) {
        float *x = m.f.x + i * m.f.columns;
        for (int c = 0; c < 40; c++)
            x[4 * c] = (float)rng_range(r, 0, 12);
        cost += exp2((double)x[0] / 4) + (x[4] > 6 ? 4 : 0) + (double)(x[8] * x[12]) / 12;
    }
    m.ms = cost;
    return m;
}

static struct cost_model *fresh(uint64_t model_seed)
{
    struct cost_model_opts o = { .seed = model_seed };
    struct cost_model *m;
    struct err e;
    if (!cost_model_new(&o, &m, &e))
        fail_msg("%s", e.text);
    return m;
}

/* Adds n made-up programs, training when it is due. */
static void teach(struct arena *a, struct rng *r, struct cost_model *m, int n)
{
    struct err e;
    for (int i = 0; i < n; i++) {
        struct made x = make(a, r);
        assert_true(cost_model_add(m, &x.f, rng_range(r, 0, 19) ? x.ms : INFINITY));
        if (!cost_model_train(m, NULL, &e))
            fail_msg("%s", e.text);
    }
}

static void predictions(struct cost_model *m, double *score, double *ms, int n)
{
    struct arena *a = arena_new();
    struct rng r = rng_seed(99);
    struct features *f = ARENA_ARRAY(a, struct features, n);
    for (int i = 0; i < n; i++) {
        struct made x = make(a, &r);
        f[i] = x.f;
        ms[i] = x.ms;
    }
    cost_model_predict(m, f, n, score);
    arena_free(a);
}

#define TESTS 100

static void it_learns(void **state)
{
    (void)state;
    SKIP_WITHOUT_LIBRARY();
    struct arena *a = arena_new();
    struct rng r = rng_seed(1);
    double before[TESTS], after[TESTS], ms[TESTS];
    struct cost_model *m = fresh(1);
    predictions(m, before, ms, TESTS);
    assert_false(cost_model_stats(m).learned);
    double order = rank_pair_order(before, ms, TESTS);
    assert_true(order > 0.3 && order < 0.7);      /* random */
    teach(a, &r, m, 31);
    assert_int_equal(cost_model_stats(m).trainings, 0);
    teach(a, &r, m, 1);                           /* 32 */
    assert_int_equal(cost_model_stats(m).trainings, 1);
    teach(a, &r, m, 6);                           /* 38 < 32 * 1.2 */
    assert_int_equal(cost_model_stats(m).trainings, 1);
    teach(a, &r, m, 1);
    assert_int_equal(cost_model_stats(m).trainings, 2);
    teach(a, &r, m, 300);
    predictions(m, after, ms, TESTS);
    assert_true(rank_pair_order(after, ms, TESTS) > 0.8);
    assert_true(cost_model_stats(m).failed > 0);
    struct model_accuracy acc = cost_model_accuracy(m);
    assert_true(acc.known);
    assert_int_equal(acc.n, MODEL_WINDOW);
    assert_true(acc.pair_order > 0.7);            /* with failures, which nothing foretells */
    assert_true(acc.recall8 > 0);
    cost_model_free(m);
    arena_free(a);
}

static void the_same_samples_give_the_same_scores(void **state)
{
    (void)state;
    SKIP_WITHOUT_LIBRARY();
    double score[2][TESTS], ms[TESTS];
    for (int i = 0; i < 2; i++) {
        struct arena *a = arena_new();
        struct rng r = rng_seed(7);
        struct cost_model *m = fresh(3);
        teach(a, &r, m, 80);
        predictions(m, score[i], ms, TESTS);
        cost_model_free(m);
        arena_free(a);
    }
    assert_memory_equal(score[0], score[1], sizeof score[0]);
}

/* A made-up program with an estimate of its cycles, whose time is that times a power of one
 * column. */
static struct made estimated(struct arena *a, struct rng *r)
{
    struct made m = { .f = { .rows = 2, .columns = FEATURES_ALL } };
    m.f.x = ARENA_ARRAY(a, float, m.f.rows * m.f.columns);
    float *x = m.f.x + rng_range(r, 0, 1) * m.f.columns;
    double ratio = (double)rng_range(r, 32, 4096);
    int column = (int)rng_range(r, 0, 3);
    m.f.x[8] = (float)column;
    x[FEATURE_WORK_CYCLES] = (float)log2(ratio + 1);
    m.ms = ratio * exp2(column);
    return m;
}

static double order_of(struct cost_model *m, const struct made *x, int n)
{
    double score[TESTS], ms[TESTS];
    for (int i = 0; i < n; i++) {
        cost_model_predict(m, &x[i].f, 1, &score[i]);
        ms[i] = x[i].ms;
    }
    return rank_pair_order(score, ms, n);
}

/* Estimates rank before anything was learned, and what is learned corrects them: the time of a
 * program that is twice as slow as its estimate is known from 40 others. */
static void estimates_rank_and_are_corrected(void **state)
{
    (void)state;
    SKIP_WITHOUT_LIBRARY();
    struct arena *a = arena_new();
    struct rng r = rng_seed(seed);
    struct cost_model *m = fresh(1);
    struct made x[TESTS];
    struct err e;
    for (int i = 0; i < TESTS; i++)
        x[i] = estimated(a, &r);
    double before = order_of(m, x, TESTS);
    assert_false(cost_model_stats(m).learned);
    assert_true(before > 0.7 && before < 0.95);
    for (int i = 0; i < 40; i++) {
        struct made y = estimated(a, &r);
        assert_true(cost_model_add(m, &y.f, i == 7 ? INFINITY : y.ms));
    }
    assert_true(cost_model_train_now(m, NULL, &e));
    double after = order_of(m, x, TESTS);
    if (after < before + 0.03 || after < 0.93)
        fail_msg("seed %llu: %.3f before, %.3f after", (unsigned long long)seed, before, after);
    cost_model_free(m);
    arena_free(a);
}

static void random_scores_follow_the_seed(void **state)
{
    (void)state;
    double one[TESTS], again[TESTS], other[TESTS], ms[TESTS];
    struct cost_model *m;
    struct err e;
    for (int i = 0; i < 3; i++) {         /* needs no library */
        struct cost_model_opts o = { .random = true, .seed = i == 2 ? 5 : 4 };
        assert_true(cost_model_new(&o, &m, &e));
        predictions(m, i == 0 ? one : i == 1 ? again : other, ms, TESTS);
        struct arena *a = arena_new();
        struct rng r = rng_seed(1);
        teach(a, &r, m, 40);
        assert_false(cost_model_stats(m).learned);
        assert_false(cost_model_accuracy(m).known);
        cost_model_free(m);
        arena_free(a);
    }
    assert_memory_equal(one, again, sizeof one);
    assert_memory_not_equal(one, other, sizeof one);
}

static void what_is_no_number_stays_outside(void **state)
{
    (void)state;
    struct cost_model_opts o = { .random = true };
    struct arena *a = arena_new();
    struct rng r = rng_seed(1);
    struct cost_model *m;
    struct err e;
    struct made x = make(a, &r);
    double score;
    assert_true(cost_model_new(&o, &m, &e));
    static const float bad[] = { NAN, INFINITY, -INFINITY };
    for (int i = 0; i < 3; i++) {
        float keep = x.f.x[5];
        x.f.x[5] = bad[i];
        assert_false(cost_model_add(m, &x.f, 1));
        cost_model_predict(m, &x.f, 1, &score);
        assert_true(score == -INFINITY);
        x.f.x[5] = keep;
    }
    static const double times[] = { NAN, INFINITY, 0, -1 };
    for (int i = 0; i < 4; i++)
        assert_true(cost_model_add(m, &x.f, times[i]));
    assert_int_equal(cost_model_stats(m).samples, 4);
    assert_int_equal(cost_model_stats(m).failed, 4);
    x.f.columns--;
    assert_false(cost_model_add(m, &x.f, 1));
    cost_model_free(m);
    arena_free(a);
}

/* Nothing but failures, all samples alike, a single sample: no trap, no nonsense. */
static void poor_samples(void **state)
{
    (void)state;
    SKIP_WITHOUT_LIBRARY();
    struct arena *a = arena_new();
    struct rng r = rng_seed(1);
    struct made x = make(a, &r);
    struct err e;
    double score;
    for (int kind = 0; kind < 3; kind++) {
        struct cost_model *m = fresh(1);
        for (int i = 0; i < (kind == 2 ? 1 : 40); i++) {
            struct made y = kind == 0 ? make(a, &r) : x;
            assert_true(cost_model_add(m, &y.f, kind == 0 ? INFINITY : 2));
        }
        assert_true(cost_model_train_now(m, NULL, &e));
        cost_model_predict(m, &x.f, 1, &score);
        assert_true(isfinite(score));
        cost_model_free(m);
    }
    arena_free(a);
}

static void cancelling_keeps_what_was_learned(void **state)
{
    (void)state;
    SKIP_WITHOUT_LIBRARY();
    struct arena *a = arena_new();
    struct rng r = rng_seed(1);
    struct cost_model *m = fresh(1);
    struct cancel c = { .raised = 1 };
    struct err e;
    double before[TESTS], after[TESTS], ms[TESTS];
    teach(a, &r, m, 40);
    predictions(m, before, ms, TESTS);
    assert_false(cost_model_train_now(m, &c, &e));
    assert_int_equal(e.code, ERR_CANCEL);
    predictions(m, after, ms, TESTS);
    assert_memory_equal(before, after, sizeof before);
    cost_model_free(m);
    arena_free(a);
}

/* --- The trap -------------------------------------------------------------------------------- */

/* A forked child of a process that trained trains, too: with more than one thread it would hang. */
static void a_forked_child_trains(void **state)
{
    (void)state;
    SKIP_WITHOUT_LIBRARY();
    struct arena *a = arena_new();
    struct rng r = rng_seed(1);
    struct cost_model *m = fresh(1);
    int status;
    teach(a, &r, m, 40);
    pid_t child = fork_child();
    assert_true(child >= 0);
    if (child == 0) {
        struct err e;
        alarm(60);
        _exit(cost_model_train_now(m, NULL, &e) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    cost_model_free(m);
    arena_free(a);
}

/* --- No library ------------------------------------------------------------------------------ */

/* The body of the process whose loader finds no library that works: its exit code. */
static int without_library(void)
{
    struct cost_model_opts o = { .seed = 1 };
    struct cost_model *m = NULL;
    struct err e = { 0 };
    double score[TESTS], ms[TESTS];
    if (cost_model_new(&o, &m, &e) || m)
        return 1;
    if (e.code != ERR_ENV || !strstr(e.text, "XGBoost is missing: ") ||
        !strstr(e.text, "libxgboost.so.0"))
        return 2;
    if (!strstr(e.fix, "libxgboost0"))
        return 3;
    struct err again = { 0 };
    if (xgb_available(&again) || !streq(again.text, e.text))
        return 5;
    o.random = true;
    if (!cost_model_new(&o, &m, &e) || !cost_model_train_now(m, NULL, &e))
        return 4;
    predictions(m, score, ms, TESTS);
    cost_model_free(m);
    return 0;
}

static void a_machine_without_the_library(void **state)
{
    (void)state;
    const char *dir = temp_dir(NULL);
    char path[300];
    int status;
    snprintf(path, sizeof path, "%s/libxgboost.so.0", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("this is no library\n", f);
    fclose(f);
    pid_t child = fork_child();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("LD_LIBRARY_PATH", dir, 1);
        execl("/proc/self/exe", "test_cost_model", "without-library", (char *)NULL);
        _exit(99);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "without-library") == 0)
        return without_library();
    const char *given = getenv("TS_SEED");
    seed = given ? strtoull(given, NULL, 10) : 20261121;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks),
        cmocka_unit_test(pack_sum_by_hand),
        cmocka_unit_test(pack_sum_by_differences),
        cmocka_unit_test(it_learns),
        cmocka_unit_test(the_same_samples_give_the_same_scores),
        cmocka_unit_test(estimates_rank_and_are_corrected),
        cmocka_unit_test(random_scores_follow_the_seed),
        cmocka_unit_test(what_is_no_number_stays_outside),
        cmocka_unit_test(poor_samples),
        cmocka_unit_test(cancelling_keeps_what_was_learned),
        cmocka_unit_test(a_forked_child_trains),
        cmocka_unit_test(a_machine_without_the_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
