/* What `run` prints of a measurement, where a run of a test would not always give it: doubts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/cli/cli_follow.h"
#include "app/views/measurement_doc.h"

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
    struct args none = {0};
    struct cli c = { .args = &none };
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
    m.latency.spread = 0.24;
    assert_non_null(strstr(printed(&m), "noisy: the middle half spreads over 24 %, "
                                        "however often it was sampled "));
    assert_null(strstr(printed(&m), "the ceiling was slow"));
    m.latency.disturbed = 0.9;
    assert_non_null(strstr(printed(&m), "; the ceiling was slow beside 90 % of the samples "));
    m.latency.noisy = false;
    m.latency.spread = 0.01;
    m.latency.others = 0.09;
    assert_null(strstr(printed(&m), "noisy:"));
    m.latency.others = 0.43;
    assert_non_null(strstr(printed(&m), "noisy: other work used 43 % of the CPUs meanwhile"));
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
        "latency: 0.250 ms best, 0.500 ms median, spread 4.0 %, 9 runs, 2 threads "
        "noisy: the median is 100 % above the best time "
        "cold: 2.000 ms best, 4.000 ms median, spread 9.0 %, 7 single calls, caches emptied before "
        "each "
        "speed: 90.0 GFLOP/s at the best (45.0 executed: padding is skipped), 50 % of this "
        "run's FMA ceiling (180.0 with avx2 on 2 threads) "
        "compiler: gcc 12, avx2, 0.25 s contract: as the caller has it ");
}

/* A step that was not compared with the reference has no error. */
static void a_step_in_a_line(void **state)
{
    static const struct { enum outcome outcome; double err; const char *line; } row[] = {
        { OUTCOME_OK, 3e-7, "   4  ok  err 3.0e-07  (the bare operator)\n" },
        { OUTCOME_WRONG, 0.5, "   4  wrong result  err 5.0e-01  (the bare operator)\n" },
        { OUTCOME_WRONG, NAN, "   4  wrong result  (the bare operator)\n" },
        { OUTCOME_CRASH, NAN, "   4  crash  (the bare operator)\n" },
        { OUTCOME_COMPILE, 0, "   4  compile error  (the bare operator)\n" },
    };
    struct args none = {0};
    struct cli c = { .args = &none };
    struct state st = { .step = "" };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct measurement m = { .outcome = row[i].outcome, .max_rel_err = row[i].err,
                                 .verified = row[i].outcome == OUTCOME_OK };
        struct str out = {0};
        cli_text_check_line(&out, &c, 4, &st, &m);
        assert_string_equal(str_text(&out), row[i].line);
        str_free(&out);
    }
}

/* The fate of a schedule in a search, in words. */
static void fates_in_words(void **state)
{
    static const struct { struct follow f; const char *want; } row[] = {
        { { .why = { "fuse", "two loops are one" }, .opened = 3, .proposed = 3, .trial = 3 },
          "the search cannot find this schedule, because it is not in the search space: two loops "
          "are one (fuse)" },
        { { .opened = -1, .proposed = -1, .trial = -1 }, "its layout was never tried" },
        { { .opened = 0, .proposed = 0, .trial = 0, .ms = 0.25 },
          "layout tried from trial 1 on, measured as trial 1: 0.25 ms" },
        { { .why = { "", "" }, .opened = 3, .proposed = 5, .trial = 7, .ms = 0.5 },
          "layout tried from trial 4 on, measured as trial 8: 0.5 ms" },
        { { .opened = 3, .proposed = 5, .trial = 7, .ms = INFINITY },
          "layout tried from trial 4 on, proposed at trial 6, not measured" },
        { { .opened = 3, .proposed = 0, .trial = -1 },
          "layout tried from trial 4 on, proposed at trial 1, not measured" },
        { { .opened = 3, .proposed = -1, .trial = -1 },
          "layout tried from trial 4 on, never proposed" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct str out = {0}, want = {0};
        cli_follow_text(&out, &row[i].f);
        str_printf(&want, "followed: %s\n           after  predicted  better in round    knobs "
                   "apart\n", row[i].want);
        assert_string_equal(str_text(&out), str_text(&want));
        str_free(&out);
        str_free(&want);
    }
}

static void rounds_in_rows(void **state)
{
    static struct follow_round round[] = {
        { .trials = 4 }, { .trials = 8, .open = true, .refused = true, .apart = 2 },
        { .trials = 12, .open = true, .apart = 0 },
        { .trials = 16, .open = true, .apart = -1 },
        { .trials = 20, .open = true, .learned = true, .score = 0.75, .better = 3, .pool = 64,
          .apart = 2 },
    };
    struct follow f = { .opened = -1, .round = { .data = round, .len = COUNT_OF(round) } };
    struct str out = {0};
    (void)state;
    cli_follow_text(&out, &f);
    const char *rows = strstr(str_text(&out), "apart\n");
    assert_non_null(rows);
    assert_string_equal(rows + 6,
        "               4  its layout is not open\n"
        "               8  refused: its code is too large for a candidate\n"
        "              12        -                   -                0\n"
        "              16        -                   -\n"
        "              20    0.750           3 of   64                2\n");
    str_free(&out);
}

/* A report prints 16 of 20 rounds, with the first and the last: line i is round i * 19 / 15. */
static void some_of_many_rounds(void **state)
{
    static const int want[] = { 0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13, 15, 16, 17, 19 };
    static struct follow_round round[20];
    struct str out = {0}, rows = {0};
    (void)state;
    for (int i = 0; i < COUNT_OF(round); i++)
        round[i].trials = i;
    struct follow f = { .opened = -1, .round = { .data = round, .len = COUNT_OF(round) } };
    cli_follow_text(&out, &f);
    for (int i = 0; i < COUNT_OF(want); i++)
        str_printf(&rows, "           %5d  its layout is not open\n", want[i]);
    const char *at = strstr(str_text(&out), "apart\n");
    assert_non_null(at);
    assert_string_equal(at + 6, str_text(&rows));
    f.round.len = 1;
    str_clear(&out);
    cli_follow_text(&out, &f);
    assert_true(str_ends(str_text(&out), "apart\n               0  its layout is not open\n"));
    str_free(&out);
    str_free(&rows);
}

/* A cell for each part of a tensor's memory, the fullest one darkest, in ASCII too. */
static void heat_has_a_cell_each(void **state)
{
    static struct sim_detail d = { .n_tensors = 1, .tensor = { {
        .n_cells = 3, .cell_lines = 2, .cell = { { 9, 9 }, { 1, 0 }, { 4, 1 } } } },
        .n_sets = 64, .n_set_cells = 2, .set = { { 8, 0 }, { 8, 4 } } };
    static struct sim_result s = { .available = true, .n = 1, .by_tensor = { { .tensor = "A" } },
                                   .detail = &d };
    struct args none = {0};
    struct cli c = { .args = &none };
    struct measurement_look look = { .width = 80, .exact = true };
    struct str out = {0};
    struct doc doc;
    (void)state;
    setenv("LC_ALL", "C", 1);
    doc_open(&doc);
    sim_doc(&doc, &s, &look);
    cli_add_doc(&out, &c, &doc);
    assert_non_null(strstr(str_text(&out), "\n  A           #.:  most 9 in 2 lines\n"));
    assert_non_null(strstr(str_text(&out), "\n  (sets)      .#  most 4 in 32 sets\n"));
    str_free(&out);
    doc_close(&doc);
}

/* What is drawn is replaced where the locale has no Unicode; a name stays as it is written. */
static void names_stay_in_ascii(void **state)
{
    struct args none = {0};
    struct cli c = { .args = &none };
    struct str out = {0};
    struct doc doc;
    (void)state;
    setenv("LC_ALL", "C", 1);
    doc_open(&doc);
    doc_put(&doc, STYLE_PLAIN, "größe ");
    doc_bar(&doc, STYLE_GOOD, 0.5, 4);
    doc_line(&doc, STYLE_PLAIN, "   ");
    cli_add_doc(&out, &c, &doc);
    assert_string_equal(str_text(&out), "größe ##..\n");
    str_free(&out);
    doc_close(&doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubts_are_told),
        cmocka_unit_test(a_measurement_in_words),
        cmocka_unit_test(a_step_in_a_line),
        cmocka_unit_test(fates_in_words), cmocka_unit_test(rounds_in_rows),
        cmocka_unit_test(some_of_many_rounds),
        cmocka_unit_test(heat_has_a_cell_each),
        cmocka_unit_test(names_stay_in_ascii),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
