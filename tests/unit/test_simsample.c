/* Which iterations of marked loops are simulated, without a kernel: samples at random places, what
 * is said of a budget that does not suffice, more loops than can be sampled. */
#include <math.h>
#include <stdio.h>

#include "kernels/base/arena.h"
#include "profile/sim/simsample.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static struct cachesim *sim;

static int setup(void **state)
{
    struct cache_config cache = { .n_levels = 1, .level[0].geometry = { 4096, 4, 64 } };
    (void)state;
    return cachesim_open(&cache, 1, &sim, &(struct err){0}) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    cachesim_close(sim);
    return 0;
}

#define PLACES 64

/* The iterations at which a sample begins; returns how many there are. */
static int places(uint64_t seed, int at[PLACES])
{
    struct sample_loop loop = { 20000, 50 };
    struct simsample *p = simsample_open(1, 1, &loop, 1e6, 2.5e5, 8, seed);
    bool out = false;
    int n = 0;
    simsample_watch(p, sim);
    assert_true(simsample_cuts(p));
    for (int i = 0; i < 20000; i++) {
        bool skip = simsample_skip(p, 0);
        if (out && !skip && n < PLACES)
            at[n++] = i;
        out = skip;
    }
    simsample_free(p);
    return n;
}

/* A kernel that repeats itself every so many iterations must not meet samples that do as well. */
static void samples_begin_at_random_places(void **state)
{
    int one[PLACES], same[PLACES], other[PLACES];
    int n = places(1, one), distances = 0, differ = 0;
    (void)state;
    assert_true(n >= 8);
    assert_int_equal(places(1, same), n);
    assert_memory_equal(one, same, (size_t)n * sizeof *one);
    int n_other = places(2, other);
    for (int i = 0; i < n && i < n_other; i++)
        differ += one[i] != other[i];
    assert_true(differ > n / 2);
    for (int i = 2; i < n; i++)
        distances += one[i] - one[i - 1] != one[i - 1] - one[i - 2];
    assert_true(distances > n / 2);
}

/* Two loops, of which the second is small and simulated whole. */
static void a_word_when_the_budget_is_not_kept(void **state)
{
    struct sample_loop loop[] = { { 20000, 50 }, { 100, 20 } };
    double all = 20000 * 50 + 100 * 20, n;
    int kept = 0, told = 0;
    (void)state;
    for (double budget = 1.3 * all; budget > 1000; budget /= 1.1) {
        struct simsample *p = simsample_open(1, 2, loop, all, budget, 64, 1);
        double cost = 0;
        simsample_watch(p, sim);
        for (int i = 0; i < 2; i++)
            for (double k = 0; k < loop[i].iterations; k++)
                cost += simsample_skip(p, i) ? 0 : loop[i].accesses;
        const char *how = simsample_how(p);
        bool said = how[0] && sscanf(how, "%*[a-z ]%lf", &n) == 1;
        if (cost < 1.2 * budget && how[0])
            fail_msg("%g of a budget of %g, and yet: %s", cost, budget, how);
        if (cost > 1.3 * budget && !said)
            fail_msg("%g of a budget of %g, and only: %s", cost, budget, how);
        if (said && fabs(n / cost - 1) > 0.05)
            fail_msg("%g, and it says: %s", cost, how);
        kept += !how[0];
        told += said;
        simsample_free(p);
    }
    assert_true(kept > 8 && told > 8);
}

/* Each piece of a sample has as many accesses to warm up with as stands at WARM_ACCESSES: 128 for
 * each line of L1, which are three iterations here.  It has as many again that are counted. */
static void every_piece_is_warmed_up(void **state)
{
    struct sample_loop loop = { 2000, 30000 };
    int pieces = 0;
    (void)state;
    for (double share = 0.001; share < 0.9; share *= 1.03) {
        struct simsample *p = simsample_open(1, 1, &loop, 6e7, share * 6e7, 512, 1);
        int run = 0;
        bool whole = true;
        simsample_watch(p, sim);
        for (int k = 0; k < 2000; k++) {
            bool skipped = simsample_skip(p, 0);
            if (skipped && run > 0 && !whole && run < 2 * 3)
                fail_msg("a piece of %d iterations at %g of all", run, share);
            pieces += skipped && run > 0 && !whole;
            whole = whole && !skipped;    /* the head of the loop, before the first skip */
            run = skipped ? 0 : run + 1;
        }
        simsample_free(p);
    }
    assert_true(pieces > 100);
}

static void loops_beyond_the_most_are_simulated_whole(void **state)
{
    struct sample_loop loop[SIMSAMPLE_MAX_MARKS + 8];
    int n = SIMSAMPLE_MAX_MARKS + 8, left_out[SIMSAMPLE_MAX_MARKS + 8] = {0};
    struct site_count site = {0};
    struct level_count level[CACHE_LEVELS];
    double fraction, error;
    (void)state;
    for (int i = 0; i < n; i++)
        loop[i] = (struct sample_loop){ 1000, 100 };
    struct simsample *p = simsample_open(1, n, loop, n * 1e5, 5e5, 8, 1);
    simsample_watch(p, sim);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 1000; k++)
            left_out[i] += simsample_skip(p, i);
    for (int i = 0; i < n; i++)
        if ((left_out[i] > 0) != (i < SIMSAMPLE_MAX_MARKS))
            fail_msg("loop %d: %d of 1000 left out", i, left_out[i]);
    simsample_close(p, &site, level, &fraction, &error);
    assert_true(fraction > 8.0 / n && fraction < 0.5);
    simsample_free(p);
}

/* Iterations of one miss each: the estimate is all of them, and it knows that it is good. */
static void what_is_even_is_known_well(void **state)
{
    struct sample_loop loop = { 20000, 50 };
    struct site_count site = {0};
    struct level_count level[CACHE_LEVELS];
    double fraction, error;
    (void)state;
    struct simsample *p = simsample_open(1, 1, &loop, 1e6, 2.5e5, 64, 1);
    simsample_watch(p, sim);
    for (int i = 0; i < 20000; i++)
        if (!simsample_skip(p, 0))
            cachesim_access(sim, (uint64_t)(i + 1) << 20, 0, 4);
    simsample_close(p, &site, level, &fraction, &error);
    assert_true(fabs((double)level[0].misses / 20000 - 1) < 0.01);
    assert_true(error >= 0 && error < 0.01);
    simsample_free(p);
}

/* The plan of a loop of 20000 iterations of 50 accesses with an L1 of 8 lines and a quarter of its
 * accesses as the budget.  By simsample.c: a sixteenth of the iterations, 1250, are counted whole.
 * 3/8 of a quarter of the rest, 1757, are counted in 64 periods: 26 in each, an even number, after
 * 26 that warm up.  A period has 18750 / 64 = 292 iterations. */
enum { HEAD = 1250, PERIOD = 292, PERIODS = 64, EACH = 26 };

enum misses { ALWAYS, EVEN_PERIODS, SECOND_HALVES };

struct estimate {
    struct site_count site;
    struct level_count level[CACHE_LEVELS];
    double fraction, error, done;
    int64_t conflicts;
};

/* Runs the loop, in which iterations store to a new line where `when` says so. */
static struct estimate estimate(enum misses when)
{
    struct sample_loop loop = { 20000, 50 };
    struct cache_config cache = { .n_levels = 1, .level[0].geometry = { 4096, 4, 64 } };
    struct cachesim *s = NULL;
    struct estimate x = { .conflicts = 0 };
    struct err e;
    int64_t conflicts = 0;
    int in_period = 0;
    assert_true(cachesim_open(&cache, 1, &s, &e));
    cachesim_store_site(s, 0);
    struct simsample *p = simsample_open(1, 1, &loop, 1e6, 2.5e5, 8, 1);
    simsample_watch(p, s);
    simsample_conflicts(p, &conflicts);
    for (int i = 0; i < 20000; i++) {
        int period = (i - HEAD) / PERIOD;
        in_period = i < HEAD || (i - HEAD) % PERIOD == 0 ? 0 : in_period;
        if (simsample_skip(p, 0))
            continue;
        in_period++;
        bool miss = when == ALWAYS
                 || (i >= HEAD && (when == EVEN_PERIODS ? period % 2 == 0
                                                        : in_period > EACH + EACH / 2));
        if (miss)
            cachesim_access(s, (uint64_t)(i + 1) << 20, 0, 4);
        conflicts += 3;
    }
    x.done = simsample_done(p);
    simsample_close(p, &x.site, x.level, &x.fraction, &x.error);
    x.conflicts = simsample_estimated(p);
    simsample_free(p);
    cachesim_close(s);
    return x;
}

/* All lines fall into one set of 4 ways: each store but the first 4 writes a line back. */
static void counts_are_scaled_to_the_loop(void **state)
{
    (void)state;
    struct estimate x = estimate(ALWAYS);
    assert_int_equal(x.level[0].accesses, 0);            /* unknown of L1 (sim_result.h) */
    assert_int_equal(x.level[0].misses, 20000);
    assert_int_equal(x.site.misses[0], 20000);
    assert_int_equal(x.level[0].writebacks, 20000 - 4);
    assert_int_equal(x.level[0].prefetches + x.level[0].useful + x.level[0].straddled, 0);
    assert_int_equal(x.conflicts, 60000);
    assert_true(x.done == 1 && x.error == 0);
    assert_true(fabs(x.fraction - (HEAD + PERIODS * EACH) / 20000.0) < 1e-12);
}

/* Half of the samples have 26 misses, half none: the variance is (32 * 26^2 - 64 * 13^2) / 63. */
static void the_error_is_the_spread_of_the_samples(void **state)
{
    double weight = (20000.0 - HEAD) / (PERIODS * EACH);
    (void)state;
    struct estimate x = estimate(EVEN_PERIODS);
    assert_int_equal(x.level[0].misses, (20000 - HEAD) / 2);
    double square = 10816.0 / 63 * PERIODS * weight * weight * (1 - 1 / weight);
    assert_true(fabs(x.error - sqrt(square) / 9375) < 1e-9);
}

/* A second half with misses only: half of the difference of the rates, in all iterations. */
static void the_error_knows_a_trend_within_samples(void **state)
{
    (void)state;
    struct estimate x = estimate(SECOND_HALVES);
    assert_int_equal(x.level[0].misses, (20000 - HEAD) / 2);
    assert_true(fabs(x.error - 1) < 1e-9);
}

static void each_period_has_one_sample(void **state)
{
    struct sample_loop loop = { 20000, 50 };
    struct simsample *p = simsample_open(1, 1, &loop, 1e6, 2.5e5, 8, 3);
    int run[PERIODS + 1] = { 0 }, pieces[PERIODS + 1] = { 0 };
    bool before = true;
    (void)state;
    simsample_watch(p, sim);
    for (int i = 0; i < 20000; i++) {
        bool skip = simsample_skip(p, 0);
        int k = (i - HEAD) / PERIOD;
        if (i < HEAD) {
            assert_false(skip);
            continue;
        }
        before = before || (i - HEAD) % PERIOD == 0;
        run[k] += !skip;
        pieces[k] += !skip && before;
        before = skip;
    }
    for (int k = 0; k < PERIODS; k++)
        if (run[k] != 2 * EACH || pieces[k] != 1)
            fail_msg("period %d: %d iterations in %d pieces", k, run[k], pieces[k]);
    assert_int_equal(run[PERIODS], 0);    /* too few for a period */
    simsample_free(p);
}

/* What the loops get of the budget, by the iterations that are simulated (8 lines of L1).
 * kept: 500 + 33 * 44 of a share of 1e5 accesses; 750 + 49 * 44 of 1.5e5, half of the budget. */
static void loops_share_the_budget(void **state)
{
    static const struct { double all, budget; int n, kept[2]; } t[] = {
        { 1002000, 102000, 2, { 1952, 100 } },          /* the second is small: whole */
        { 1200000, 300000, 1, { 2906 } },               /* 2e5 accesses are outside of loops */
        { 1000000, 1000000, 1, { 20000 } },
    };
    struct sample_loop loop[] = { { 20000, 50 }, { 100, 20 } };
    (void)state;
    for (int i = 0; i < COUNT_OF(t); i++) {
        struct simsample *p = simsample_open(1, t[i].n, loop, t[i].all, t[i].budget, 8, 1);
        simsample_watch(p, sim);
        assert_int_equal(simsample_cuts(p), t[i].kept[0] < 20000);
        for (int l = 0; l < t[i].n; l++) {
            int kept = 0;
            for (double k = 0; k < loop[l].iterations; k++)
                kept += !simsample_skip(p, l);
            if (kept != t[i].kept[l])
                fail_msg("row %d, loop %d: %d iterations", i, l, kept);
        }
        simsample_free(p);
    }
}

#define MORE(what, n) "simulated " what " accesses, more than the budget of " n ": "
static void what_is_simulated_is_told(void **state)
{
    static const struct { struct sample_loop loop; int n; double all, budget; int lines;
                          const char *how; } t[] = {
        { { 20000, 50 }, 1, 1e6, 1000, 8, MORE("a sample of 1.78e+04", "1e+03")
          "a sample cannot be smaller: 8 pieces, each with the L1 warmed up before it" },
        { { 63, 1000 }, 1, 63000, 1000, 8, MORE("all 6.3e+04", "1e+03")
          "a loop with fewer than 64 iterations is not sampled" },
        { { 64, 1000 }, 1, 64000, 1000, 8, MORE("a sample of 3.4e+04", "1e+03")
          "a sample cannot be smaller: 8 pieces, each with the L1 warmed up before it" },
        { { 64, 1000 }, 1, 64000, 1000, 16, MORE("all 6.4e+04", "1e+03")
          "a loop shorter than 8 samples with their L1 warm-up is not sampled" },
        { { 0, 0 }, 0, 5000, 1000, 8, MORE("all 5e+03", "1e+03")
          "there is no outer loop to sample" },
        { { 0, 0 }, 0, 1251, 1000, 8, MORE("all 1.25e+03", "1e+03")
          "there is no outer loop to sample" },
        { { 0, 0 }, 0, 1250, 1000, 8, "" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(t); i++) {
        struct simsample *p = simsample_open(1, t[i].n, &t[i].loop, t[i].all, t[i].budget,
                                             t[i].lines, 1);
        assert_string_equal(simsample_how(p), t[i].how);
        simsample_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_begin_at_random_places),
        cmocka_unit_test(a_word_when_the_budget_is_not_kept),
        cmocka_unit_test(every_piece_is_warmed_up),
        cmocka_unit_test(loops_beyond_the_most_are_simulated_whole),
        cmocka_unit_test(what_is_even_is_known_well),
        cmocka_unit_test(counts_are_scaled_to_the_loop),
        cmocka_unit_test(the_error_is_the_spread_of_the_samples),
        cmocka_unit_test(the_error_knows_a_trend_within_samples),
        cmocka_unit_test(each_period_has_one_sample),
        cmocka_unit_test(loops_share_the_budget),
        cmocka_unit_test(what_is_simulated_is_told),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
