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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_begin_at_random_places),
        cmocka_unit_test(a_word_when_the_budget_is_not_kept),
        cmocka_unit_test(every_piece_is_warmed_up),
        cmocka_unit_test(loops_beyond_the_most_are_simulated_whole),
        cmocka_unit_test(what_is_even_is_known_well),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
