/* The names of meters and event sets, and what the meter of instructions says of its counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/counters/eventset.h"
#include "profile/measure/instructions.h"
#include "profile/measure/measure.h"
#include "profile/measure/meters.h"
#include "tests/unit/perm.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define ALL "any of clock,sim,perf,perf-sw,papi,cachegrind,instructions,cupti, or none " \
            "(tilescope meters)"

static void meters_have_names(void **state)
{
    static const struct { const char *text; unsigned bits; const char *error, *fix; } row[] = {
        { "clock", METER_CLOCK, NULL, NULL }, { "cupti", METER_CUPTI, NULL, NULL },
        { "sim,clock", METER_SIM | METER_CLOCK, NULL, NULL }, { "none", 0, NULL, NULL },
        { "none,perf-sw,none", METER_PERF_SW, NULL, NULL },
        { "clok", 0, "no meter named 'clok'", "--meters clock" },
        { "sim,papy", METER_SIM, "no meter named 'papy'", "--meters papi" },
        { "clock,", METER_CLOCK, "no meter named ''", ALL },
        { "something-else", 0, "no meter named 'something-else'", ALL },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct err e = {0};
        unsigned bits = 77;
        bool ok = meters_parse(row[i].text, &bits, &e);
        if (ok != !row[i].error || bits != row[i].bits)
            fail_msg("%s: %d, %u, %s", row[i].text, ok, bits, e.text);
        if (!ok) {
            assert_int_equal(e.code, ERR_NAME);
            assert_string_equal(e.text, row[i].error);
            assert_string_equal(e.fix, row[i].fix);
        }
    }
    assert_int_equal(meters_default(), METER_CLOCK | METER_SIM | METER_PERF);
}

/* Each set turns on its meter; the other meters stay. */
static void event_sets_turn_on_meters(void **state)
{
    struct measure_opts o = { .meters = METER_CLOCK };
    struct err e = {0};
    (void)state;
    assert_true(meters_events(perm, "l1,papi-sw,gpu,sw", &o, &e));
    assert_int_equal(o.meters, METER_CLOCK | METER_PERF | METER_PERF_SW | METER_PAPI | METER_CUPTI);
    assert_string_equal(o.set[METER_ID_PERF]->name, "l1");
    assert_string_equal(o.set[METER_ID_PAPI]->name, "papi-sw");
    assert_string_equal(o.set[METER_ID_PERF_SW]->name, "sw");
    assert_string_equal(o.set[METER_ID_CUPTI]->name, "gpu");
    assert_true(!o.set[METER_ID_CLOCK] && !o.set[METER_ID_SIM]);
    o = (struct measure_opts){ .meters = METER_SIM };
    assert_false(meters_events(perm, "l1,papi,tlb", &o, &e));
    assert_int_equal(e.code, ERR_RANGE);
    assert_string_equal(e.text, "l1 and tlb are both counted by the meter perf");
    assert_string_equal(e.fix, "use one of them, and a second run for the other");
    assert_int_equal(o.meters, METER_SIM | METER_PERF | METER_PAPI);
    assert_string_equal(o.set[METER_ID_PERF]->name, "l1");
    assert_false(meters_events(perm, "l1,nosuch", &o, &e));
    assert_int_equal(e.code, ERR_NAME);
}

static void meters_are_listed_in_order(void **state)
{
    struct meter_info m[2];
    (void)state;
    assert_int_equal(meters_probe(m, 2), 2);
    assert_string_equal(m[0].name, "clock");
    assert_string_equal(m[0].what, "latency, GFLOP/s and share of the FMA ceiling");
    assert_string_equal(m[1].name, "sim");
    assert_true(m[0].available && m[1].available && !m[0].reason[0] && !m[1].reason[0]);
}

static double value(const struct counts *c, const char *name)
{
    double v = -1;
    if (!counts_get(c, name, &v))
        fail_msg("no %s", name);
    return v;
}

/* The shares are percents of all instructions, and derived from the other counts. */
static void instructions_have_shares(void **state)
{
    static const struct { const char *share, *part; } row[] = {
        { "fma_share", "fma" }, { "vector_share", "vector" }, { "scalar_share", "scalar" },
        { "branch_share", "branches" },
    };
    struct measure_opts o = { .meters = METER_INSTRUCTIONS, .seed = 5 };
    struct counts probe = { .n = 0 };
    const struct program *p;
    struct measurement m;
    struct err e;
    (void)state;
    instructions_probe(&probe);
    if (!probe.available)
        skip();
    assert_true(program_new(perm, "gmm m=24 k=40 n=48", &p, &e));
    assert_true(measure_program(p, &o, NULL, NULL, &m, &e));
    const struct counts *c = &m.counts[METER_ID_INSTRUCTIONS];
    if (m.outcome != OUTCOME_OK || !c->available)
        fail_msg("%s%s", m.reason, c->reason);
    double all = value(c, "instructions");
    for (int i = 0; i < COUNT_OF(row); i++)
        assert_true(value(c, row[i].share) == 100 * value(c, row[i].part) / all);
    for (int i = 0; i < c->n; i++) {
        bool share = strstr(c->count[i].name, "_share") != NULL;
        assert_string_equal(c->count[i].unit, share ? "%" : "");
        assert_int_equal(c->count[i].derived, share);
    }
    assert_int_equal(c->n, 9 + COUNT_OF(row));
    char source[200];
    const char *last = strrchr(m.compiler, ' ');
    snprintf(source, sizeof source, " %s, %s", last ? last + 1 : "", m.isa);
    assert_int_equal(strncmp(c->source, "counted blocks of the compiled code, ", 37), 0);
    assert_non_null(strstr(c->source, source));
    assert_int_equal(m.latency.runs, 0);
}

static int set_up(void **state)
{
    temp_dir("XDG_CACHE_HOME");
    temp_dir("XDG_CONFIG_HOME");          /* no event sets of the user */
    return perm_setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meters_have_names), cmocka_unit_test(event_sets_turn_on_meters),
        cmocka_unit_test(meters_are_listed_in_order), cmocka_unit_test(instructions_have_shares),
    };
    return cmocka_run_group_tests_name("meters", tests, set_up, perm_teardown);
}
