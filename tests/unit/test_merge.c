/* Two measurements of one program become one: which time stays, and what is taken beside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "kernels/base/arena.h"
#include "profile/measure/measurement.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static void text_of(char *out, size_t n, const char *what, int k)
{
    snprintf(out, n, "%s %d", what, k);
}

/* A measurement of which every part says k; the least time is k milliseconds. */
static struct measurement number(int k)
{
    struct measurement m = {
        .outcome = OUTCOME_OK, .threads = 1, .isa = "avx2", .compiler = "gcc 12", .code = "0a",
        .latency = { .min_ms = k, .runs = k }, .cold_latency = { .min_ms = 2 * k, .runs = k },
        .huge_asked = k % 2, .huge_bytes = 10 * k, .huge_of_bytes = 20 * k, .gflops = 30 * k,
        .executed_gflops = 40 * k, .peak_gflops = 50 * k, .peak_fraction = 60 * k, .load = 70 * k,
        .measurements = k, .device = { .clock_mhz = 80 * k }, .sim = { .available = true,
                                                                       .loads = 90 * k },
    };
    text_of(m.threads_note, sizeof m.threads_note, "note", k);
    text_of(m.peak_reason, sizeof m.peak_reason, "reason", k);
    text_of(m.measured_at, sizeof m.measured_at, "date", k);
    text_of(m.cold_method, sizeof m.cold_method, "method", k);
    for (int i = 0; i < VENDOR_COUNT; i++)
        m.baseline[i] = (struct baseline){ .available = i == VENDOR_COUNT - 1, .ratio = k };
    for (int i = METER_ID_PERF; i < METER_COUNT; i++)
        m.counts[i] = (struct counts){ .available = true, .n = k };
    return m;
}

static struct measurement untimed(struct measurement m)
{
    m.latency = (struct latency){ 0 };
    return m;
}

/* Without baselines; each says why. */
static struct measurement alone(struct measurement m, const char *why)
{
    for (int i = 0; i < VENDOR_COUNT; i++) {
        m.baseline[i] = (struct baseline){ .available = false };
        snprintf(m.baseline[i].reason, sizeof m.baseline[i].reason, "%s", why);
    }
    return m;
}

/* The time of m and what depends on it, as text. */
static void clock_print(struct str *out, const struct measurement *m)
{
    str_printf(out, "%g ms of %d runs, huge %d, %lld of %lld, %s, %g of %g of %g: %g %s, load %g,"
               " %s, %d MHz", m->latency.min_ms, m->latency.runs, m->huge_asked,
               (long long)m->huge_bytes, (long long)m->huge_of_bytes, m->threads_note, m->gflops,
               m->executed_gflops, m->peak_gflops, m->peak_fraction, m->peak_reason, m->load,
               m->measured_at, m->device.clock_mhz);
}

static void baselines_print(struct str *out, const struct measurement *m)
{
    for (int i = 0; i < VENDOR_COUNT; i++)
        str_printf(out, "%d %g %s; ", m->baseline[i].available, m->baseline[i].ratio,
                   m->baseline[i].reason);
}

static void assert_as(void (*print)(struct str *out, const struct measurement *m),
                      const struct measurement *got, const struct measurement *want, int row)
{
    struct str a = {0}, b = {0};
    print(&a, got);
    print(&b, want);
    if (!streq(str_text(&a), str_text(&b)))
        fail_msg("row %d: %s, not %s", row, str_text(&a), str_text(&b));
    str_free(&a);
    str_free(&b);
}

/* k: the times of the new and of the old measurement; 0: it has none.  bare: it has no baselines.
 * old_*: whether that part of the result is the old one. */
static void which_time_stays(void **state)
{
    static const struct {
        int k, old_k; bool bare, old_bare, newest, old_time, old_baselines, replaced; int times;
    } row[] = {
        { 3, 1, false, false, false, true, true, true, 4 },
        { 1, 3, false, false, false, false, false, false, 4 },
        { 3, 1, false, false, true, false, false, false, 4 },
        { 0, 2, false, false, false, true, true, false, 2 },
        { 0, 2, false, false, true, true, true, false, 2 },
        { 2, 0, false, false, false, false, false, false, 2 },
        /* ratios go with the time that they were sampled beside, where there are any */
        { 3, 1, false, true, false, true, false, true, 4 },
        { 3, 1, true, true, false, true, true, true, 4 },
        { 1, 3, true, false, false, false, true, false, 4 },
        { 1, 3, true, true, false, false, false, false, 4 },
        { 1, 3, true, false, true, false, false, false, 4 },
        { 3, 1, true, false, true, false, false, false, 4 },
        { 0, 2, true, true, true, true, true, false, 2 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct measurement m = number(row[i].k ? row[i].k : 7);
        struct measurement old = number(row[i].old_k ? row[i].old_k : 8);
        m = row[i].k ? m : untimed(m);
        old = row[i].old_k ? old : untimed(old);
        m = row[i].bare ? alone(m, "new") : m;
        old = row[i].old_bare ? alone(old, "old") : old;
        const struct measurement new = m;
        assert_int_equal(measurement_merge(&m, &old, row[i].newest), row[i].replaced);
        assert_as(clock_print, &m, row[i].old_time ? &old : &new, i);
        assert_as(baselines_print, &m, row[i].old_baselines ? &old : &new, i);
        assert_int_equal(m.measurements, row[i].times);
        assert_true(m.cold_latency.min_ms == new.cold_latency.min_ms);
        assert_string_equal(m.cold_method, new.cold_method);
        assert_true(m.sim.loads == new.sim.loads);
        for (int k = METER_ID_PERF; k < METER_COUNT; k++)
            assert_int_equal(m.counts[k].n, new.counts[k].n);
    }
}

/* Of equal times the new one stays. */
static void equal_times(void **state)
{
    struct measurement m = number(5), old = number(2);
    (void)state;
    old.latency.min_ms = 5;
    assert_false(measurement_merge(&m, &old, false));
    assert_int_equal(m.latency.runs, 5);
}

/* Files of before have no number of measurements. */
static void times_are_counted(void **state)
{
    struct measurement m = number(1), old = number(2);
    (void)state;
    m.measurements = old.measurements = 0;
    measurement_merge(&m, &old, false);
    assert_int_equal(m.measurements, 2);
}

/* What the new one did not measure is the old one's, whichever time stays. */
static void the_rest_is_completed(void **state)
{
    (void)state;
    for (int newest = 0; newest < 2; newest++) {
        struct measurement m = number(1), old = number(2);
        m.cold_latency.runs = 0;
        m.sim.available = false;
        for (int i = METER_ID_PERF; i < METER_COUNT; i += 2)
            counts_refuse(&m.counts[i], "no counter");
        assert_false(measurement_merge(&m, &old, newest));
        assert_true(m.cold_latency.min_ms == 4 && m.sim.loads == 180);
        assert_string_equal(m.cold_method, "method 2");
        for (int i = METER_ID_PERF; i < METER_COUNT; i++)
            assert_int_equal(m.counts[i].n, (i - METER_ID_PERF) % 2 == 0 ? 2 : 1);
        m = number(1);
        m.sim = (struct sim_result){ .reason = "new" };
        old.sim = (struct sim_result){ .reason = "old" };
        counts_refuse(&m.counts[METER_ID_PAPI], "new");
        counts_refuse(&old.counts[METER_ID_PAPI], "old");
        measurement_merge(&m, &old, newest);
        assert_string_equal(m.sim.reason, "new");
        assert_string_equal(m.counts[METER_ID_PAPI].reason, "new");
    }
}

/* Nothing is taken from a measurement that was made in another way. */
static void only_of_the_same_way(void **state)
{
    struct measurement one = number(3), other[9];
    (void)state;
    for (int i = 0; i < COUNT_OF(other); i++)
        other[i] = number(1);
    other[0].threads = 2;
    strcpy(other[1].isa, "sse");
    strcpy(other[2].compiler, "gcc 13");
    strcpy(other[3].code, "0b");
    strcpy(other[4].device.name, "GPU");
    strcpy(other[5].device.driver, "12.0");
    strcpy(other[6].device.nvrtc, "12.0");
    other[7].outcome = OUTCOME_WRONG;
    other[8].threads = 0;                 /* stands for 1 */
    for (int i = 0; i < COUNT_OF(other); i++) {
        struct measurement m = one;
        bool taken = measurement_merge(&m, &other[i], false);
        if (taken != (i == 8) || m.latency.runs != (i == 8 ? 1 : 3)
            || m.measurements != (i == 8 ? 4 : 3))
            fail_msg("row %d: %d, %d runs", i, taken, m.latency.runs);
    }
    struct measurement m = one;
    assert_false(measurement_merge(&m, NULL, false));
    m.outcome = OUTCOME_CRASH;
    assert_false(measurement_merge(&m, &other[8], false));
    assert_int_equal(m.latency.runs, 3);
    /* the device counts only where both have a time */
    m = untimed(one);
    assert_false(measurement_same_way(&one, &other[4]));
    assert_true(measurement_same_way(&m, &other[4]) && measurement_same_way(&other[4], &m));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(which_time_stays), cmocka_unit_test(equal_times),
        cmocka_unit_test(times_are_counted), cmocka_unit_test(the_rest_is_completed),
        cmocka_unit_test(only_of_the_same_way),
    };
    return cmocka_run_group_tests_name("merge", tests, NULL, NULL);
}
