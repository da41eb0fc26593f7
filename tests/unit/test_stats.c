/* Order statistics and comparisons, on scripted samples. */
#include <math.h>
#include <stdio.h>

#include "kernels/base/arena.h"
#include "kernels/base/rng.h"
#include "profile/child/stats.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define COUNT(a) ((int)(sizeof (a) / sizeof *(a)))

static void assert_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-12))
        fail_msg("%.17g, not %.17g", got, want);
}

static void quantiles_lie_between_neighbours(void **state)
{
    static const double one[] = { 7 }, two[] = { 1, 3 }, five[] = { 1, 2, 4, 8, 16 };
    static const struct { const double *x; int n; double q, want; } table[] = {
        { one, 1, 0, 7 }, { one, 1, 0.5, 7 }, { one, 1, 1, 7 },
        { two, 2, 0, 1 }, { two, 2, 0.25, 1.5 }, { two, 2, 0.5, 2 }, { two, 2, 1, 3 },
        { five, 5, 0, 1 }, { five, 5, 0.10, 1.4 }, { five, 5, 0.25, 2 }, { five, 5, 0.5, 4 },
        { five, 5, 0.75, 8 }, { five, 5, 0.9, 12.8 }, { five, 5, 1, 16 },
    };
    (void)state;
    for (int i = 0; i < COUNT(table); i++)
        assert_near(stats_quantile(table[i].x, table[i].n, table[i].q), table[i].want);
}

static void summaries_need_no_order(void **state)
{
    static const double x[] = { 16, 1, 8, 4, 2 };
    struct summary s = stats_summary(x, 5), none = stats_summary(x, 0);
    (void)state;
    assert_near(s.min, 1);
    assert_near(s.p10, 1.4);
    assert_near(s.p25, 2);
    assert_near(s.median, 4);
    assert_near(s.p75, 8);
    assert_near(s.p90, 12.8);
    assert_near(s.max, 16);
    assert_near(s.spread, 1.5);
    assert_near(x[0], 16);
    assert_near(none.max + none.median + none.spread, 0);
}

static void disturbed_rounds_are_those_of_a_slow_ceiling(void **state)
{
    double x[100] = {0};
    (void)state;
    assert_near(stats_disturbed(x, 0), 0);
    for (int slow = 0; slow <= 80; slow += 20) {
        for (int i = 0; i < 100; i++)
            x[i] = i < slow ? 1.5 : i % 2 ? 1.0 : 1.1;
        assert_near(stats_disturbed(x, 100), slow / 100.0);
    }
}

/* --- Scripted runs --------------------------------------------------------------------------- */

#define BLOCKS 20
#define ROUNDS 25
#define ALL (BLOCKS * ROUNDS)

/* What a machine does to samples: each alone (up to some), both of a round alike, bursts over
 * several rounds, a slow drift, and the place of the buffers, new in each block. */
struct script { double alone, round, bursts, drift, place; };
static const struct script scripts[] = {
    { .alone = 0.02 },
    { .alone = 0.02, .round = 0.3 },
    { .alone = 0.01, .bursts = 0.1 },
    { .alone = 0.01, .drift = 0.5 },
    { .alone = 0.005, .place = 0.02 },
    { .alone = 0.02, .round = 0.1, .bursts = 0.05, .drift = 0.2, .place = 0.01 },
};

struct runs { double a[ALL], b[ALL]; int block[BLOCKS]; };

/* b is `factor` times a. */
static void play(const struct script *s, double factor, uint64_t seed, struct runs *out)
{
    struct rng r = rng_seed(seed);
    double place_a = 0, place_b = 0;
    int burst = 0;
    for (int i = 0; i < ALL; i++) {
        if (i % ROUNDS == 0) {
            out->block[i / ROUNDS] = i;
            place_a = s->place * rng_unit(&r);
            place_b = s->place * rng_unit(&r);
        }
        burst = burst > 0 ? burst - 1 : rng_unit(&r) < s->bursts / 5 ? 5 : 0;
        double both = (1 + s->round * rng_unit(&r)) * (1 + s->drift * i / ALL) * (burst ? 3 : 1);
        out->a[i] = both * (1 + place_a) * (1 + s->alone * rng_unit(&r));
        out->b[i] = factor * both * (1 + place_b) * (1 + s->alone * rng_unit(&r));
    }
}

#define SEEDS 200
static int count_verdicts(const struct script *s, double factor, uint64_t seeds,
                          enum verdict which)
{
    static struct runs runs;
    int n = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        play(s, factor, seed, &runs);
        struct ratio r = stats_ratio(runs.a, runs.b, ALL, runs.block, BLOCKS, 1);
        assert_true(r.low <= r.high);
        if (which == VERDICT_SAME) {
            r.low /= 1 - STATS_PLACE;
            r.high /= 1 + STATS_PLACE;
        }
        n += stats_verdict(&r) == which;
    }
    return n;
}

/* Without what is added for the place of the buffers, 95 of 100 such intervals hold 1; of 200
 * seeds, 20 or more outside would be a chance of 1 in 1000. */
static void equal_kernels_show_no_difference(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(scripts); i++) {
        int same = count_verdicts(&scripts[i], 1, SEEDS, VERDICT_SAME);
        if (same <= SEEDS - 20)
            fail_msg("script %d: %d of %d seeds", i, same, SEEDS);
    }
}

static void differences_are_seen(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(scripts); i++) {
        assert_int_equal(count_verdicts(&scripts[i], 0.9, 20, VERDICT_FASTER), 20);
        assert_int_equal(count_verdicts(&scripts[i], 1.1, 20, VERDICT_SLOWER), 20);
    }
}

/* The same samples twice; and a bootstrap that repeats itself. */
static void one_kernel_twice_is_exactly_one(void **state)
{
    static struct runs runs;
    (void)state;
    play(&scripts[COUNT(scripts) - 1], 1, 5, &runs);
    struct ratio r = stats_ratio(runs.a, runs.a, ALL, runs.block, BLOCKS, 1);
    assert_true(r.ratio == 1 && r.low == 1 - STATS_PLACE && r.high == 1 + STATS_PLACE);
    assert_int_equal(stats_verdict(&r), VERDICT_SAME);
    struct ratio x = stats_ratio(runs.a, runs.b, ALL, runs.block, BLOCKS, 1);
    struct ratio y = stats_ratio(runs.a, runs.b, ALL, runs.block, BLOCKS, 1);
    assert_true(x.low == y.low && x.high == y.high && x.low < x.high);
}

/* What is twice as fast is half as slow: the bounds of a / b are those of b / a, turned over, but
 * for what lies between two of the thousand resamples. */
static void bounds_turn_over_with_the_ratio(void **state)
{
    static struct runs runs;
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        play(&scripts[COUNT(scripts) - 1], 1.3, seed, &runs);
        struct ratio r = stats_ratio(runs.a, runs.b, ALL, runs.block, BLOCKS, 1);
        struct ratio turned = stats_ratio(runs.b, runs.a, ALL, runs.block, BLOCKS, 1);
        double low = r.low / (1 - STATS_PLACE), high = r.high / (1 + STATS_PLACE);
        assert_true(low < r.ratio && r.ratio < high);
        assert_true(fabs(low * turned.high / (1 + STATS_PLACE) - 1) < 1e-4);
        assert_true(fabs(high * turned.low / (1 - STATS_PLACE) - 1) < 1e-4);
    }
}

/* However sure the samples are, half a percent may be the place of the buffers. */
static void less_than_the_place_of_buffers_is_no_difference(void **state)
{
    static const struct { double factor; enum verdict want; } table[] = {
        { 0.98, VERDICT_FASTER }, { 0.995, VERDICT_SAME }, { 1.005, VERDICT_SAME },
        { 1.02, VERDICT_SLOWER },
    };
    static struct runs runs;
    const struct script calm = { .alone = 1e-4 };
    (void)state;
    for (int i = 0; i < COUNT(table); i++) {
        play(&calm, table[i].factor, 7, &runs);
        struct ratio r = stats_ratio(runs.a, runs.b, ALL, runs.block, BLOCKS, 1);
        assert_int_equal(stats_verdict(&r), table[i].want);
    }
}

static void few_blocks_give_wide_intervals_or_none(void **state)
{
    static struct runs runs;
    double last = 0;
    (void)state;
    play(&scripts[0], 1, 3, &runs);
    for (int n = 1; n <= BLOCKS; n++) {
        struct ratio r = stats_ratio(runs.a, runs.b, n, (int[]){ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
                                     10, 11, 12, 13, 14, 15, 16, 17, 18, 19 }, n, 1);
        assert_int_equal(isinf(r.high), n < 4);
        assert_int_equal(stats_verdict(&r) == VERDICT_NONE, n < 4);
        if (n == 4)
            last = r.high - r.low;
        if (n == BLOCKS)
            assert_true(r.high - r.low < last);
    }
    double zero[4] = {0};
    struct ratio r = stats_ratio(zero, zero, 4, (int[]){ 0, 1, 2, 3 }, 4, 1);
    assert_int_equal(stats_verdict(&r), VERDICT_NONE);
}

/* Other work slows b less in nearly all rounds: the interval is narrow, and the best times say the
 * opposite. They must differ by more than 3 % to do so. */
static void best_times_can_contradict_the_interval(void **state)
{
    static const struct { double quiet_b; enum verdict want; } table[] = {
        { 1.18, VERDICT_UNDECIDED }, { 1.02, VERDICT_FASTER }, { 0.9, VERDICT_FASTER },
    };
    static struct runs runs;
    const struct script calm = { .alone = 1e-3 };
    (void)state;
    for (int i = 0; i < COUNT(table); i++) {
        play(&calm, 0.86, 3, &runs);
        runs.a[5] = 0.5 * runs.a[0];
        runs.b[5] = table[i].quiet_b * runs.a[5];
        struct ratio r = stats_ratio(runs.a, runs.b, ALL, runs.block, BLOCKS, 1);
        struct ratio back = ratio_inverse(&r);
        assert_true(r.high < 1 && fabs(r.best - table[i].quiet_b) < 1e-9);
        assert_int_equal(stats_verdict(&r), table[i].want);
        assert_int_equal(stats_undecided(&r), table[i].want == VERDICT_UNDECIDED);
        assert_int_equal(stats_verdict(&back), table[i].want == VERDICT_FASTER ? VERDICT_SLOWER
                                                                               : VERDICT_UNDECIDED);
    }
}

/* An interval shows on which side of 1 it ends. */
static void ends_are_not_rounded_to_one(void **state)
{
    static const struct { struct ratio r; const char *text; } table[] = {
        { { 1.02, 1.003, 1.04, 0 }, "1.020 (1.003 to 1.040)" },
        { { 1.04, 0.9996, 1.08, 0 }, "1.0400 (0.9996 to 1.0800)" },
        { { 0.97, 0.95, 0.9998, 0 }, "0.9700 (0.9500 to 0.9998)" },
        { { 1, 1, 1, 0 }, "1.00 (1.00 to 1.00)" },
        { { 1.32, 1.30, 1.34, 0 }, "1.32 (1.30 to 1.34)" },
        { { 1.02, 1.0000001, 1.04, 0 }, "1.02 (1.00 to 1.04)" },
    };
    (void)state;
    for (int i = 0; i < COUNT(table); i++) {
        struct str out = {0};
        ratio_print(&out, &table[i].r);
        assert_string_equal(str_text(&out), table[i].text);
        str_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_lie_between_neighbours),
        cmocka_unit_test(summaries_need_no_order),
        cmocka_unit_test(disturbed_rounds_are_those_of_a_slow_ceiling),
        cmocka_unit_test(equal_kernels_show_no_difference),
        cmocka_unit_test(differences_are_seen),
        cmocka_unit_test(one_kernel_twice_is_exactly_one),
        cmocka_unit_test(bounds_turn_over_with_the_ratio),
        cmocka_unit_test(less_than_the_place_of_buffers_is_no_difference),
        cmocka_unit_test(few_blocks_give_wide_intervals_or_none),
        cmocka_unit_test(best_times_can_contradict_the_interval),
        cmocka_unit_test(ends_are_not_rounded_to_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
