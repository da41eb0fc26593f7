/* The numbers of a study that a script measured: findings over cases and groups of cases, how the
 * text says them, and the limits of what a study may ask for. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/measure/meters.h"
#include "sessions/study/study_impl.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define HEAD "study: 1\nid: nums\ntitle: numbers\n"
#define CASES "operator: gmm m={M} k=8 n={N}\n" \
              "cases:\n" \
              "- {id: a, for: {M: 8, N: 8}}\n- {id: b, for: {M: 8, N: 16}}\n" \
              "- {id: c, for: {M: 16, N: 8}}\n- {id: d, for: {M: 16, N: 16}}\n"
#define VARIANTS "variants:\n- {id: plain}\n- {id: split, steps: [loop split C K 2]}\n"
#define METRICS "metrics:\n- {id: t, unit: ms, value: latency_ms.min, base: plain}\n"
#define FINDINGS "findings:\n"

static struct study *parsed(const char *text, struct err *e)
{
    struct study *s = NULL;
    *e = (struct err){0};
    return study_parse("nums.yaml", text, strlen(text), &s, e) ? s : NULL;
}

/* The times of the cases a to d, without and with the split, which crashes in d. */
static bool measured_so(void *ctx, const struct program *p, const struct measure_opts *o,
                        const struct cancel *c, struct measurement *m, struct err *e)
{
    static const struct { const char *spec; double plain, split; } row[] = {
        { "gmm m=8 k=8 n=8", 4, 1 }, { "gmm m=8 k=8 n=16", 16, 2 },
        { "gmm m=16 k=8 n=8", 8, 8 }, { "gmm m=16 k=8 n=16", 8, 0 },
    };
    (void)ctx, (void)c, (void)e;
    for (int i = 0; i < COUNT_OF(row); i++) {
        double ms = p->n_steps > 0 ? row[i].split : row[i].plain;
        if (!streq(row[i].spec, p->base->spec))
            continue;
        *m = (struct measurement){ .outcome = ms > 0 ? OUTCOME_OK : OUTCOME_CRASH,
                                   .verified = ms > 0, .threads = o->threads, .seed = o->seed };
        if (ms > 0)
            m->latency = (struct latency){ .median_ms = ms, .min_ms = ms, .max_ms = ms,
                                           .runs = 3 };
        return true;
    }
    fail_msg("%s is measured", p->base->spec);
    return false;
}

static struct study_report *reported(const struct study *s, double scale)
{
    struct study_opts o = { .scale = scale, .meters = METER_CLOCK, .measure = measured_so,
                            .date = "2026-01-02T03:04:05Z", .host = "an Abacus | wood" };
    struct study_report *r = NULL;
    struct cancel cancel = {0};
    struct err e = {0};
    if (!study_run(s, &o, NULL, &cancel, &r, &e))
        fail_msg("%s", e.text);
    return r;
}

/* --- Findings --------------------------------------------------------------------------------- */

static bool near(double x, double want)
{
    return fabs(x - want) < 1e-9 * fabs(want);
}

static const char combined[] = HEAD CASES VARIANTS METRICS FINDINGS
    "- {text: ratios, each: split.t / plain.t, combine: geomean, unit: x, paper: 0.25, by: M}\n"
    "- {text: means, each: plain.t, combine: mean, unit: ms, by: M}\n"
    "- {text: least, each: plain.t, combine: min}\n"
    "- {text: most, each: split.t, combine: max}\n"
    "- {text: faster, each: split.t < plain.t, by: M}\n"
    "- {text: wide, each: N > 8}\n"
    "- {text: above four, each: plain.t - 4, combine: geomean}\n"
    "- {text: all known, each: plain.t >= 4}\n";

/* Ratios of a, b, c: 1/4, 1/8, 1, whose product is 1/32; d has none.  The times of plain are 4, 16,
 * 8 and 8. */
static void findings_are_combined(void **state)
{
    struct err e;
    struct study *s = parsed(combined, &e);
    (void)state;
    if (!s)
        fail_msg("%s", e.text);
    struct study_report *r = reported(s, 1);
    const struct study_result *x = r->result;
    assert_true(x[0].known && near(x[0].value, pow(1.0 / 32, 1.0 / 3)));
    assert_true(x[0].n_cases == 3 && x[0].n_missing == 1);
    assert_string_equal(x[0].missing, "d: \"split.t\" has no value: it was not measured");
    assert_int_equal(x[0].verdict, AGREE_TWICE);         /* log(0.315) / log(0.25) = 0.83 */
    assert_int_equal(x[0].n_groups, 2);
    assert_string_equal(x[0].group[0].value, "8");
    assert_true(x[0].group[0].n_cases == 2 && near(x[0].group[0].number, sqrt(1.0 / 32)));
    assert_string_equal(x[0].group[1].value, "16");
    assert_true(x[0].group[1].n_cases == 1 && x[0].group[1].number == 1);
    assert_true(near(x[1].value, 9) && x[1].n_cases == 4 && x[1].n_missing == 0);
    assert_true(near(x[1].group[0].number, 10) && near(x[1].group[1].number, 8));
    assert_int_equal(x[1].group[1].n_cases, 2);
    assert_int_equal(x[1].verdict, AGREE_NONE);
    assert_true(x[2].value == 4 && x[2].n_groups == 0);
    assert_true(x[3].value == 8 && x[3].n_cases == 3);
    assert_true(x[4].known && !x[4].holds && x[4].n_cases == 3);
    assert_string_equal(x[4].failing, "c");
    assert_true(x[4].group[0].holds && !x[4].group[1].holds);
    assert_true(!x[5].holds);
    assert_string_equal(x[5].failing, "a");              /* the first of a and c */
    assert_true(near(x[6].value, cbrt(12 * 4 * 4)) && x[6].n_cases == 3);
    assert_string_equal(x[6].missing, "a: geomean of 0 is not defined");
    assert_true(x[7].holds && !x[7].failing && x[7].n_cases == 4);
    study_report_free(r);
    study_free(s);
}

static void findings_in_words(void **state)
{
    static const char *const part[] = {
        "\n      measured 0.315 x, geomean over 3 of 4 cases | paper 0.25 x | agrees in sign and "
        "within x2\n"
        "  " "    " "  " "8 " "  " "0.1768 x" "  " "2 cases\n"
        "  " "    " "  " "16" "  " "     1 x" "  " " 1 case\n",
        "\n      measured 9 ms, mean over 4 of 4 cases\n"
        "  " "    " "  " "8 " "  " "10 ms" "  " "2 cases\n"
        "  " "    " "  " "16" "  " " 8 ms" "  " "2 cases\n",
        "\n      measured 4, min over 4 of 4 cases\n",
        "\n      measured 8, max over 3 of 4 cases\n",
        "\n      does not hold in c (3 of 4 cases measured)\n"
        "  " "    " "  " "8 " "  " "        holds" "  " "2 cases\n"
        "  " "    " "  " "16" "  " "does not hold" "  " " 1 case\n",
        "\n      does not hold in a (4 of 4 cases measured)\n",
        "\n      measured 5.769, geomean over 3 of 4 cases\n",
        "\n      holds in all measured cases (4 of 4)\n",
    };
    struct err e;
    struct study *s = parsed(combined, &e);
    struct str out = {0};
    (void)state;
    struct study_report *r = reported(s, 1);
    study_text(&out, r);
    const char *at = str_text(&out);
    for (int i = 0; i < COUNT_OF(part); i++) {           /* in the order of the findings */
        const char *found = strstr(at, part[i]);
        if (!found)
            fail_msg("no \"%s\" in:\n%s", part[i], at);
        at = found;
    }
    str_free(&out);
    study_report_free(r);
    study_free(s);
}

/* --scale takes a share of the cases, rounded up and evenly spread, but at least so many as the
 * study says: case i * 4 / n of the four. */
static void cases_are_spread(void **state)
{
    static const struct { double scale; const char *line; int n, at[4]; } row[] = {
        { 1, "", 4, { 0, 1, 2, 3 } }, { 0.76, "", 4, { 0, 1, 2, 3 } },
        { 0.75, "", 3, { 0, 1, 2 } }, { 0.5, "", 2, { 0, 2 } }, { 0.25, "", 1, { 0 } },
        { 0.26, "", 2, { 0, 2 } }, { 0.25, "scale: {cases: 3}\n", 3, { 0, 1, 2 } },
        { 0.25, "scale: {cases: 9}\n", 4, { 0, 1, 2, 3 } },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct str text = {0};
        struct err e;
        str_printf(&text, "%s%s", HEAD CASES VARIANTS METRICS, row[i].line);
        struct study *s = parsed(str_text(&text), &e);
        if (!s)
            fail_msg("%s", e.text);
        struct study_report *r = reported(s, row[i].scale);
        assert_int_equal(r->n_cases, row[i].n);
        for (int c = 0; c < r->n_cases; c++)
            assert_int_equal(r->cases[c], row[i].at[c]);
        study_report_free(r);
        study_free(s);
        str_free(&text);
    }
}

/* --- What is refused -------------------------------------------------------------------------- */

/* Each number at its limit and beyond. */
static void numbers_have_limits(void **state)
{
    static const struct { const char *line, *text, *fix; } row[] = {
        { "measure: {time: 0.001}", NULL, NULL }, { "measure: {time: 600}", NULL, NULL },
        { "measure: {time: 0.0009}", "time: 0.0009 is out of range", "0.001 to 600" },
        { "measure: {time: 600.5}", "time: 600.5 is out of range", "0.001 to 600" },
        { "measure: {search_time: 0.001}", NULL, NULL },
        { "measure: {search_time: 600}", NULL, NULL },
        { "measure: {search_time: 0.0009}", "search_time: 0.0009 is out of range", "0.001 to 600" },
        { "measure: {limit: 0.01}", NULL, NULL }, { "measure: {limit: 86400}", NULL, NULL },
        { "measure: {limit: 0.009}", "limit: 0.009 is out of range", "0.01 to 86400" },
        { "measure: {limit: 86401}", "limit: 86401 is out of range", "0.01 to 86400" },
        { "measure: {budget: 1e-9}", NULL, NULL }, { "measure: {budget: 1e7}", NULL, NULL },
        { "measure: {budget: 1e-10}", "budget: 1e-10 is out of range", "1e-09 to 1e+07" },
        { "measure: {budget: 2e7}", "budget: 2e7 is out of range", "1e-09 to 1e+07" },
        { "measure: {threads: 1}", NULL, NULL }, { "measure: {threads: 1024}", NULL, NULL },
        { "measure: {threads: 1025}", "threads: 1025 is out of range", "1 to 1024" },
        { "scale: {time: 0.001}", NULL, NULL }, { "scale: {time: 600}", NULL, NULL },
        { "scale: {time: 0.0009}", "time: 0.0009 is out of range", "0.001 to 600" },
        { "scale: {time: 601}", "time: 601 is out of range", "0.001 to 600" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct str text = {0};
        struct err e;
        str_printf(&text, "%s%s\n", HEAD CASES VARIANTS METRICS, row[i].line);
        struct study *s = parsed(str_text(&text), &e);
        if ((s != NULL) != (row[i].text == NULL))
            fail_msg("%s: %s", row[i].line, s ? "accepted" : e.text);
        if (!s) {
            assert_string_equal(e.text, row[i].text);
            assert_string_equal(e.fix, row[i].fix);
            assert_int_equal(e.code, ERR_RANGE);
        }
        study_free(s);
        str_free(&text);
    }
}

static void findings_are_refused(void **state)
{
    static const struct { const char *finding, *text; } row[] = {
        { "- {text: x, each: plain.t, combine: mean, by: Q}",
          "by: case a has no parameter \"Q\"" },
        { "- {text: x, each: plain.t > 1, paper: 2}",
          "paper: \"all\" makes a truth value, not a number" },
        { "- {text: x, each: plain.t, combine: mean, paper: 0}", "paper: a ratio is above 0" },
        { "- {text: x, each: plain.t, combine: sum}", "combine: there is no \"sum\"" },
        { "- {text: x, each: plane.t > 1}", "there is no parameter or metric \"plane.t\"" },
        { "- {text: x, each: plain.q > 1}", "there is no parameter or metric \"plain.q\"" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct str text = {0};
        struct err e;
        str_printf(&text, "%s%s\n", HEAD CASES VARIANTS METRICS FINDINGS, row[i].finding);
        struct study *s = parsed(str_text(&text), &e);
        if (s)
            fail_msg("%s: accepted", row[i].finding);
        assert_string_equal(e.text, row[i].text);
        str_free(&text);
    }
}

/* Twelve names are listed; of more, the first twelve and their number. */
static void names_are_listed(void **state)
{
    static const struct { const char *sizes, *fix; } row[] = {
        { "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12",
          "it has m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12; * and ? match any letters" },
        { "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13",
          "it has m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, ... (13); * and ? match any "
          "letters" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct str text = {0};
        struct err e;
        bool keep[13];
        str_printf(&text, "%soperator: gmm m={M} k=8 n=8\ncases:\n"
                   "- {id: \"m{M}\", for: {M: [%s]}}\n%s", HEAD, row[i].sizes, VARIANTS METRICS);
        struct study *s = parsed(str_text(&text), &e);
        if (!s)
            fail_msg("%s", e.text);
        assert_false(study_pick_cases(s, "another name", keep, &e));
        assert_string_equal(e.text, "study nums has no case \"another name\"");
        assert_string_equal(e.fix, row[i].fix);
        assert_true(study_pick_cases(s, "m1?,m3", keep, &e));
        for (int c = 0; c < s->n_cases; c++)
            assert_int_equal(keep[c], c == 2 || c >= 9);
        study_free(s);
        str_free(&text);
    }
}

/* --- The list of studies ---------------------------------------------------------------------- */

/* Titles have at least 40 columns beside the others, which take 35 here, or lines of their own. */
static void studies_are_listed(void **state)
{
    struct study one = { .id = "nums", .title = "a title", .item = "Table 3", .n_cases = 12,
                         .n_variants = 3 };
    struct study *list[] = { &one };
    struct str out = {0};
    (void)state;
    study_list_text(&out, list, 1, 100);
    const char *row = strstr(str_text(&out), "  nums  ");
    assert_non_null(row);
    assert_true(str_ends(row, "  Table 3  a title\n"));
    str_clear(&out);
    study_list_text(&out, list, 1, 60);
    assert_true(str_ends(str_text(&out), "  Table 3\n      a title\n"));
    str_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(findings_are_combined), cmocka_unit_test(findings_in_words),
        cmocka_unit_test(cases_are_spread), cmocka_unit_test(numbers_have_limits),
        cmocka_unit_test(findings_are_refused),
        cmocka_unit_test(names_are_listed), cmocka_unit_test(studies_are_listed),
    };
    return cmocka_run_group_tests_name("study numbers", tests, NULL, NULL);
}
