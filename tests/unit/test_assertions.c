/* What --assert checks before anything is measured, and why a path has no value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sessions/report/report.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define PATHS "tilescope run --json shows every path; a text stands in double quotes"

static const char json[] =
    "{\"operator\": \"c2d\", \"none\": null, \"list\": [{\"x\": 1}], \"empty\": {},"
    " \"latency_ms\": {\"median\": 0.5, \"deep\": {\"least\": null}},"
    " \"counters\": {\"perf\": {\"available\": false, \"reason\": \"no PMU\"},"
    " \"perf-sw\": {\"available\": true, \"page_faults\": 3},"
    " \"papi\": {\"available\": false}, \"sim\": {\"available\": true, \"reason\": \"odd\"}}}";

/* A group that is not known yet may get any member: null, a list, {} and one without counts. */
static void paths_that_can_be(void **state)
{
    static const struct { const char *expr, *text, *fix; } row[] = {
        { "none > 1", NULL, NULL }, { "none.a.b > 1", NULL, NULL },
        { "list.7.y.z > 1", NULL, NULL }, { "empty.any > 1", NULL, NULL },
        { "counters.perf.cycles > 1", NULL, NULL }, { "counters.papi.any > 1", NULL, NULL },
        { "counters.perf_sw.page_faults > 1", NULL, NULL },
        { "latency_ms.median > 1 && operator == \"c2d\"", NULL, NULL },
        { "latency_ms.deep.least.x > 1", NULL, NULL },
        { "nothing > 1", "the result has no \"nothing\"", PATHS },
        { "latency_ms.median.x > 1", "the result has no \"latency_ms.median.x\"",
          "did you mean latency_ms.median?" },
        { "counters.perf_sw.page_fault > 1", "the result has no \"counters.perf_sw.page_fault\"",
          "did you mean counters.perf_sw.page_faults?" },
        { "operator == \"c2d\" && other.page_faults > 1",
          "the result has no \"other.page_faults\"",
          "did you mean counters.perf_sw.page_faults?" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct err e = {0};
        bool ok = report_assert_named(json, row[i].expr, &e);
        if (ok != (row[i].text == NULL))
            fail_msg("%s: %s", row[i].expr, ok ? "accepted" : e.text);
        if (ok)
            continue;
        assert_int_equal(e.code, ERR_NAME);
        assert_string_equal(e.text, row[i].text);
        assert_string_equal(e.fix, row[i].fix);
    }
}

static void paths_without_a_value(void **state)
{
    static const struct { const char *expr, *text; enum err_code code; } row[] = {
        { "none > 1", "\"none\" has no value: it was not measured", ERR_TYPE },
        { "none.a.b > 1", "\"none.a.b\" has no value: none was not measured", ERR_TYPE },
        { "latency_ms.deep.least.x > 1",
          "\"latency_ms.deep.least.x\" has no value: latency_ms.deep.least was not measured",
          ERR_TYPE },
        { "counters.perf.cycles > 1", "perf is not available: no PMU", ERR_TYPE },
        { "counters.papi.cycles > 1", "the result has no \"counters.papi.cycles\"", ERR_NAME },
        { "counters.sim.cycles > 1", "the result has no \"counters.sim.cycles\"", ERR_NAME },
        { "list.1.x > 1", "the result has no \"list.1.x\"", ERR_NAME },
        { "list.x > 1", "the result has no \"list.x\"", ERR_NAME },
        { "list > 1", "\"list\" is a group, not a value", ERR_TYPE },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct err e = {0};
        bool holds;
        if (report_assert(json, row[i].expr, &holds, NULL, &e))
            fail_msg("%s has a value", row[i].expr);
        assert_string_equal(e.text, row[i].text);
        assert_int_equal(e.code, row[i].code);
    }
}

/* Every kind of value, each once. */
static void values_are_listed(void **state)
{
    static const struct { const char *expr, *want; bool holds; } row[] = {
        { "operator == \"c2d\"", "operator is \"c2d\"", true },
        { "counters.perf.available", "counters.perf.available is false", false },
        { "list.0.x == 2 || list.0.x == latency_ms.median",
          "list.0.x is 1, latency_ms.median is 0.5", false },
        { "counters.perf_sw.available && counters.perf_sw.page_faults > 2",
          "counters.perf_sw.available is true, counters.perf_sw.page_faults is 3", true },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct str values = {0};
        struct err e;
        bool holds;
        if (!report_assert(json, row[i].expr, &holds, &values, &e))
            fail_msg("%s: %s", row[i].expr, e.text);
        assert_int_equal(holds, row[i].holds);
        assert_string_equal(str_text(&values), row[i].want);
        str_free(&values);
    }
}

/* --- What was not asked for ------------------------------------------------------------------- */

#define CLOCK METER_CLOCK
#define REST (METER_SIM | METER_PERF)
#define NEEDS_CLOCK(path) { path " > 1", REST, 0, false, false, path " is not measured", \
                            "add clock to --meters" }

static const struct {
    const char *expr;
    unsigned meters, baselines;
    bool cold, huge;
    const char *what, *fix;              /* NULL: all is asked for */
} asked[] = {
    NEEDS_CLOCK("gflops"), NEEDS_CLOCK("executed_gflops"), NEEDS_CLOCK("peak_gflops"),
    NEEDS_CLOCK("peak_fraction"),
    { "latency_ms.min > 1", REST, 0, false, false, "latency_ms is not measured",
      "add clock to --meters" },
    { "latency_ms.min > 1", CLOCK, 0, false, false, NULL, NULL },
    { "cold_latency_ms.min > 1", CLOCK, 0, false, false, "cold_latency_ms is not measured",
      "--cold" },
    { "cold_latency_ms.min > 1", REST, 0, true, false, NULL, NULL },
    { "cold_method == \"x\"", CLOCK, 0, false, false, "cold_method is not measured", "--cold" },
    { "huge_pages.bytes > 1", CLOCK, 0, true, false, "huge_pages is not measured",
      "--huge-pages" },
    { "huge_pages.bytes > 1", CLOCK, 0, false, true, NULL, NULL },
    /* texts and parts of other names are no paths */
    { "operator == \"gflops\" && my.gflops > 1 && gflops_of > 1 && mygflops > 1", REST, 0, false,
      false, NULL, NULL },
    { "operator == \"x\" && gflops > 1", REST, 0, false, false, "gflops is not measured",
      "add clock to --meters" },
    { "baselines.onednn.ratio > 1", CLOCK, 0, false, false, "onednn is not available",
      "--baselines onednn" },
    { "baselines.openblas.ratio > 1", CLOCK, 1u << VENDOR_ONEDNN, false, false,
      "openblas is not available", "--baselines openblas" },
    { "baselines.openblas.ratio > 1", CLOCK, 1u << VENDOR_OPENBLAS, false, false, NULL, NULL },
    { "counters.sim.loads > 1", CLOCK, 0, false, false, "sim is not available",
      "add sim to --meters" },
    { "counters.sim.loads > 1", REST, 0, false, false, NULL, NULL },
    { "counters.perf_sw.page_faults > 1", CLOCK | REST, 0, false, false,
      "perf-sw is not available", "add perf-sw to --meters" },
    { "counters.perf_sw.page_faults > 1", METER_PERF_SW, 0, false, false, NULL, NULL },
    /* whether a default meter is available can be asked without it; of others it cannot */
    { "!counters.perf.available || counters.perf.cycles > 1", CLOCK, 0, false, false, NULL, NULL },
    { "counters.perf.reason == \"\" || counters.perf.cycles > 1", CLOCK, 0, false, false, NULL,
      NULL },
    { "counters.perf.cycles > 1", CLOCK, 0, false, false, "perf is not available",
      "add perf to --meters" },
    { "!counters.papi.available || counters.papi.cycles > 1", CLOCK, 0, false, false,
      "papi is not available", "add papi to --meters" },
    { "counters.sim.available && counters.perf.cycles > 1", CLOCK, 0, false, false,
      "perf is not available", "add perf to --meters" },
};

static void what_is_needed_is_asked_for(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(asked); i++) {
        struct measure_opts o = { .meters = asked[i].meters, .baselines = asked[i].baselines,
                                  .cold = asked[i].cold, .huge_pages = asked[i].huge };
        struct str want = {0};
        struct err e = {0};
        bool ok = report_assert_asked(asked[i].expr, &o, &e);
        if (ok != (asked[i].what == NULL))
            fail_msg("row %d, %s: %s", i, asked[i].expr, ok ? "accepted" : e.text);
        if (ok)
            continue;
        const char *is_not = strstr(asked[i].what, " is not");
        str_printf(&want, "--assert '%s': %.*s was not requested, so it%s", asked[i].expr,
                   (int)(is_not - asked[i].what), asked[i].what, is_not);
        assert_string_equal(e.text, str_text(&want));
        assert_string_equal(e.fix, asked[i].fix);
        assert_int_equal(e.code, ERR_NAME);
        str_free(&want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_that_can_be), cmocka_unit_test(paths_without_a_value),
        cmocka_unit_test(values_are_listed), cmocka_unit_test(what_is_needed_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
