/* What `run` prints of a measurement, where a run of a test would not always give it: doubts. */
#include <stdio.h>
#include <string.h>

#include "app/cli/cli.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* Runs of blanks and line ends become one blank. */
static const char *printed(const struct measurement *m)
{
    static char words[4096];
    struct session *s = NULL;
    struct err e;
    struct cli c = {0};
    struct str out = {0};
    size_t n = 0;
    assert_true(session_new("gmm m=8 k=8 n=8", &s, &e));
    cli_text_measurement(&out, &c, s, m, METER_CLOCK, NULL);
    for (const char *p = str_text(&out); *p && n + 1 < sizeof words; p++)
        if ((*p != ' ' && *p != '\n') || (n > 0 && words[n - 1] != ' '))
            words[n++] = *p == '\n' ? ' ' : *p;
    words[n] = '\0';
    str_free(&out);
    session_free(s);
    return words;
}

static void doubts_are_told(void **state)
{
    struct measurement m = { .outcome = OUTCOME_OK, .verified = true, .threads = 1, .gflops = 1 };
    (void)state;
    m.latency.runs = 9;
    m.latency.median_ms = m.latency.min_ms = m.latency.max_ms = 0.5;
    assert_null(strstr(printed(&m), "noisy:"));
    assert_null(strstr(printed(&m), "threads:"));
    m.latency.noisy = true;
    assert_non_null(strstr(printed(&m), "noisy: the middle half spreads over more than 10 %, "
                                        "however often it was sampled "));
    assert_null(strstr(printed(&m), "the ceiling was slow"));
    m.latency.disturbed = 0.9;
    assert_non_null(strstr(printed(&m), "; the ceiling was slow beside 90 % of the samples "));
    snprintf(m.threads_note, sizeof m.threads_note, "two of them on one core");
    assert_non_null(strstr(printed(&m), "threads: two of them on one core "));
    m.latency.runs = 0;
    assert_non_null(strstr(printed(&m), "latency: not timed "));
}

/* Every line under its own label. */
static void a_measurement_in_words(void **state)
{
    struct measurement m = {
        .outcome = OUTCOME_OK, .verified = true, .tolerance = 1e-4, .max_rel_err = 3e-7,
        .error_of_bound = 0.25, .build_s = 0.25, .threads = 2, .gflops = 90, .executed_gflops = 45,
        .peak_fraction = 0.5, .peak_gflops = 180,
        .latency = { .runs = 9, .median_ms = 0.5, .min_ms = 0.25, .spread = 0.04 },
        .cold_latency = { .runs = 7, .median_ms = 4, .min_ms = 2, .spread = 0.09 },
    };
    (void)state;
    snprintf(m.compiler, sizeof m.compiler, "gcc 12");
    snprintf(m.isa, sizeof m.isa, "avx2");
    snprintf(m.cold_method, sizeof m.cold_method, "caches emptied");
    assert_string_equal(printed(&m),
        "gmm m=8 k=8 n=8 session: branch main, step 0 "
        "verified: true max rel err 3.0e-07, 0.25 of the bound "
        "compiler: gcc 12, avx2, 0.25 s "
        "latency: 0.500 ms median, 0.250 ms min, spread 4.0 %, 9 runs, 2 threads "
        "cold: 4.000 ms median, 2.000 ms min, spread 9.0 %, 7 single calls, caches emptied before "
        "each "
        "speed: 90.0 GFLOP/s at the minimum (45.0 executed: padding is skipped), 50 % of this "
        "run's FMA ceiling (180.0) ");
}

/* A column for each part of a tensor's memory, the fullest one as @. */
static void heat_has_a_column_each(void **state)
{
    static struct sim_detail d = { .n_tensors = 1, .tensor = { {
        .n_cells = 3, .cell_lines = 2, .cell = { { 9, 9 }, { 1, 0 }, { 4, 1 } } } },
        .n_sets = 64, .n_set_cells = 2, .set = { { 8, 0 }, { 8, 4 } } };
    static struct sim_result s = { .available = true, .n = 1, .by_tensor = { { .tensor = "A" } },
                                   .detail = &d };
    struct cli c = {0};
    struct str out = {0};
    (void)state;
    cli_text_detail(&out, &c, &s);
    assert_non_null(strstr(str_text(&out), "A           |@ .|  most 9 in 2 lines\n"));
    assert_non_null(strstr(str_text(&out), "(sets)      | @|  most 4 in 32 sets\n"));
    str_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubts_are_told),
        cmocka_unit_test(a_measurement_in_words),
        cmocka_unit_test(heat_has_a_column_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
