/* JSON results, assertions over them, and exported C: compiled without a warning, run, and right.
 */
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "profile/child/nvidia.h"
#include "profile/measure/meters.h"
#include "sessions/export/export.h"
#include "profile/counters/eventset.h"
#include "sessions/report/report.h"
#include "sessions/report/space_report.h"
#include "sessions/tuning/tuning.h"
#include "tests/unit/golden.h"
#include "tests/unit/json_help.h"
#include "tests/unit/roof_model.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static uint64_t seed = 1;
static const char *work_dir;

static struct session *must_open(const char *spec, const char *const *steps)
{
    struct session *s = NULL;
    struct err e;
    if (!session_new(spec, &s, &e))
        fail_msg("%s: %s", spec, e.text);
    for (int i = 0; steps && steps[i]; i++)
        if (!history_apply(s->history, steps[i], &e))
            fail_msg("%s: %s", steps[i], e.text);
    return s;
}

static const struct measurement good = {
    .outcome = OUTCOME_OK, .verified = true, .max_rel_err = 1.25e-6, .tolerance = 1e-4,
    .latency = { .median_ms = 0.31, .min_ms = 0.3, .max_ms = 0.42, .p10_ms = 0.301, .p25_ms = 0.305,
                 .p75_ms = 0.309, .p90_ms = 0.375, .spread = 0.0125, .runs = 41,
                 .disturbed = 0.25, .others = 0.02 },
    .gflops = 152.5, .executed_gflops = 152.5, .peak_gflops = 200, .peak_fraction = 0.7625,
    .baseline = {
        [VENDOR_ONEDNN] = { .available = true, .verified = true, .max_rel_err = 2.5e-6,
                            .ratio = 0.75,
                            .latency = { .median_ms = 0.4, .min_ms = 0.375, .max_ms = 0.5,
                                         .spread = 0.025, .runs = 41,
                                         .disturbed = NAN, .others = NAN },
                            .implementation = "oneDNN 2.6.3 brg:avx512_core",
                            .layout = "mk, NK16k64n to mn" },
        [VENDOR_OPENBLAS] = { .reason = "tilescope-openblas.so was not built" },
    },
    .sim = { .available = true, .loads = 4096, .stores = 1024, .l1_misses = 129,
             .cache = { .n_levels = 2, .level = { { .geometry = { 32768, 8, 64 } },
                                                  { .geometry = { 1 << 20, 16, 64 } } } },
             .writebacks = 64, .n = 2, .fraction = 1,
             .level = { { 5120, 129, 64, 0, 0 }, { 129, 100, 0, 0, 0 } },
             .by_tensor = { { "A", 3072, 0, { 65, 60, 0, .sectors = 0 } },
                            { "C", 1024, 1024, { 64, 40, 0, .sectors = 0 } } },
             .n_sites = 2,
             .site = { { "A[m][k]", 0, false, 3072, { 65, 60, 0, .sectors = 0 }, .degree = 0 },
                       { "others", 2, false, 2048, { 64, 40, 0, .sectors = 0 }, .degree = 0 } } },
    .counts[METER_ID_PERF] = { .reason = "no hardware events: this VM exposes no PMU" },
    .compiler = "gcc 12.2.0", .isa = "avx512",
    .threads = 2, .build_s = 0.05, .total_s = 0.5, .seed = 42,
};

#define ALL_METERS (METER_CLOCK | METER_SIM | METER_PERF)

/* shape */

static void test_run_json(void **state)
{
    (void)state;
    static const char *const steps[] = { "layout set C \"N M\"", "loop parallel C N", NULL };
    struct session *s = must_open("gmm m=32 k=16 n=32", steps);
    struct str out = {0};
    struct machine_model model = roof_model();
    snprintf(s->title, sizeof s->title, "a \"title\"");
    snprintf(s->machine, sizeof s->machine, "where the file was measured");
    report_run_json(&out, s, &good, ALL_METERS, "AMD EPYC | avx512", &model);
    golden_check("tests/golden/run.json", str_text(&out));
    session_free(s);
    str_free(&out);
}

static json_t *run_json(const struct measurement *m, unsigned meters)
{
    struct session *s = must_open("gmm m=32 k=16 n=32", NULL);
    struct str out = {0};
    report_run_json(&out, s, m, meters, NULL, NULL);
    json_error_t je;
    json_t *root = json_loads(str_text(&out), JSON_REJECT_DUPLICATES, &je);
    if (!root)
        fail_msg("%s", je.text);
    session_free(s);
    str_free(&out);
    return root;
}

/* A time is called noisy in JSON when it is called so everywhere else. */
static void noisy_times_are_noisy_in_json(void **state)
{
    (void)state;
    static const struct { double spread, median, others; bool noisy; } row[] = {
        { 0.05, 0.31, 0.02, false }, { 0.05, 0.31, NAN, false }, { 0.2, 0.31, 0.02, true },
        { 0.05, 0.34, 0.02, true }, { 0.05, 0.31, 0.5, true },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct measurement m = good;
        m.latency.spread = row[i].spread;
        m.latency.median_ms = row[i].median;
        m.latency.others = row[i].others;
        json_t *root = run_json(&m, METER_CLOCK);
        json_t *noisy = json_object_get(json_object_get(root, "latency_ms"), "noisy");
        if (json_is_true(noisy) != row[i].noisy || json_is_false(noisy) == row[i].noisy)
            fail_msg("row %d", i);
        json_decref(root);
    }
}

/* What was not measured is null or says why; no zero that was never counted. */
static void test_not_measured(void **state)
{
    (void)state;
    static const char *const nulls[] = { "max_rel_err", "tolerance", "latency_ms", "gflops",
                                         "cold_latency_ms", "cold_method", "huge_pages",
                                         "threads_note",
                                         "peak_gflops", "peak_fraction", "load", "measurements",
                                         "measured_at", "machine", "isa",
                                         "compiler", "threads", "title", "reason", "build_s",
                                         "total_s", "seed" };
    json_t *root = run_json(NULL, ALL_METERS);
    for (int i = 0; i < COUNT_OF(nulls); i++)
        assert_true(json_is_null(json_object_get(root, nulls[i])));
    json_t *sim = json_object_get(json_object_get(root, "counters"), "sim");
    assert_true(json_is_false(json_object_get(sim, "available")));
    assert_null(json_object_get(sim, "loads"));
    assert_string_equal(json_string_value(json_object_get(root, "outcome")),
        outcome_name[OUTCOME_NONE]);
    json_decref(root);
    root = run_json(&good, METER_CLOCK);
    sim = json_object_get(json_object_get(root, "counters"), "sim");
    assert_true(json_is_false(json_object_get(sim, "available")));
    assert_non_null(strstr(json_string_value(json_object_get(sim, "reason")), "not asked for"));
    json_decref(root);
}

static void test_odd_values(void **state)
{
    (void)state;
    struct measurement m = good;
    m.outcome = OUTCOME_WRONG;
    m.max_rel_err = 1e30;                 /* what the oracle says of NaN */
    m.gflops = NAN;
    m.seed = UINT64_MAX;
    snprintf(m.reason, sizeof m.reason, "cut \xe2\x82 \xff \x1b[31m");
    m.counts[METER_ID_PERF] = (struct counts){
        .available = true, .n = 4, .missing = "llc_loads: no such event",
        .count = { { "cycles", 12345, "", false, false, 1 },
                   { "l1d_load_misses", 0, "", true, false, 0.25 },
                   { "clock", 2.5, "GHz", false, true, 0 }, { "ipc", 2, "", false, true, 0 } },
    };
    m.baseline[0] = (struct baseline){ .available = true };
    json_t *root = run_json(&m, ALL_METERS);
    json_t *baseline = json_object_get(json_object_get(root, "baselines"), vendor_name[0]);
    assert_true(json_is_false(json_object_get(baseline, "available")));
    assert_string_equal(json_string_value(json_object_get(baseline, "reason")), "not timed");
    assert_true(json_is_null(json_object_get(root, "max_rel_err")));
    assert_true(json_is_null(json_object_get(root, "gflops")));
    assert_string_equal(json_string_value(json_object_get(root, "seed")), "18446744073709551615");
    assert_string_equal(json_string_value(json_object_get(root, "reason")), "cut ?? ? \x1b[31m");
    json_t *perf = json_object_get(json_object_get(root, "counters"), "perf");
    assert_int_equal(json_integer_value(json_object_get(perf, "l1d_load_misses")), 0);
    assert_true(json_is_true(json_object_get(perf, "scaled")));
    json_t *metrics = json_object_get(perf, "metrics"), *running = json_object_get(perf, "running");
    json_t *clock = json_object_get(metrics, "clock");
    assert_true(json_real_value(json_object_get(clock, "value")) == 2.5);
    assert_string_equal(json_string_value(json_object_get(clock, "unit")), "GHz");
    assert_true(json_is_null(json_object_get(json_object_get(metrics, "ipc"), "unit")));
    assert_int_equal(json_object_size(metrics), 2);
    assert_int_equal(json_object_size(running), 1);
    assert_true(json_real_value(json_object_get(running, "l1d_load_misses")) == 0.25);
    assert_null(json_object_get(perf, "clock"));
    assert_string_equal(json_string_value(json_object_get(perf, "missing")),
                        "llc_loads: no such event");
    json_decref(root);
}

static void test_lists(void **state)
{
    (void)state;
    struct str out = {0};
    struct machine machine = { .cpu = "A CPU", .isa = "avx2", .vector_floats = 8, .cores = 2,
                               .l1d = { 32768, 8, 64 }, .l1d_assumed = true };
    struct machine_model model = {
        .cores = 2, .n_isa = 2,
        .isa = { { "avx2", 8, { { 100, 90, 0.1, 7 }, { 190, 150, 0.2, 7 } } },
                 { .isa = "sse", .vector_floats = 4 } },
        .level[MODEL_L2] = { .bytes = 512 << 10, .load.one = { 50, 45, 0.1, 7 } },
    };
    const struct meter_info meters[] = { { "clock", "wall time", true, "" },
                                         { "perf", "counters", false, "no PMU" } };
    report_machine_json(&out, &machine, &model);
    json_t *root = json_must_load(&out);
    assert_true(json_is_null(json_object_get(root, "l2")));
    assert_true(json_real_value(json_object_get(root, "peak_gflops")) == 100);
    json_t *levels = json_object_get(json_object_get(root, "model"), "bandwidth_gb_s");
    json_t *l2 = json_array_get(levels, MODEL_L2), *l3 = json_array_get(levels, MODEL_L3);
    json_t *one = json_object_get(l2, "load_one_core");
    assert_true(json_real_value(json_object_get(one, "best")) == 50);
    assert_true(json_is_null(json_object_get(l2, "load_all_cores")));
    assert_true(json_is_null(json_object_get(l3, "load_one_core")));
    json_decref(root);
    report_machine_json(&out, &machine, NULL);
    root = json_must_load(&out);
    assert_true(json_is_null(json_object_get(root, "peak_gflops")));
    json_decref(root);
    struct arena *a = arena_new();
    struct event_sets sets = event_sets_load(a, NULL);
    struct nvidia_info nvidia[NVIDIA_COUNT] = {
        { "driver", "runs", true, .version = "13.0", .detail = "GPU 0" },
        [NVIDIA_CUPTI] = { "cupti", "counts", false, .reason = "not here", .fix = "install it" },
    };
    for (int i = 0; i < NVIDIA_COUNT; i++)
        if (!nvidia[i].name)
            nvidia[i].name = nvidia[i].what = "";
    report_meters_json(&out, meters, 2, nvidia, &sets);
    root = json_must_load(&out);
    json_t *parts = json_object_get(root, "nvidia"), *driver = json_array_get(parts, 0);
    assert_int_equal(json_array_size(parts), NVIDIA_COUNT);
    assert_string_equal(json_string_value(json_object_get(driver, "detail")), "GPU 0");
    assert_true(json_is_null(json_object_get(driver, "reason")));
    assert_true(json_is_null(json_object_get(driver, "path")));
    assert_string_equal(json_string_value(json_object_get(json_array_get(parts, NVIDIA_CUPTI),
                                                          "fix")), "install it");
    json_t *set = json_array_get(json_object_get(root, "sets"), 0);
    assert_int_equal(json_array_size(json_object_get(root, "sets")), sets.n);
    assert_string_equal(json_string_value(json_object_get(set, "name")), sets.set[0]->name);
    assert_int_equal(json_array_size(json_object_get(set, "events")), sets.set[0]->n);
    arena_free(a);
    json_t *perf = json_array_get(json_object_get(root, "meters"), 1);
    assert_string_equal(json_string_value(json_object_get(perf, "reason")), "no PMU");
    json_decref(root);
    report_ops_json(&out);
    root = json_must_load(&out);
    assert_int_equal(json_array_size(json_object_get(root, "operators")), ops_count());
    json_decref(root);
}

/* What the simulator's detail becomes: buckets up to the last that is not empty. */
static void test_detail_json(void **state)
{
    (void)state;
    static struct sim_detail d = {
        .classes = { 3, 2, 1 }, .reuse = { .first = 3, .bucket = { 5, 0, 2 } }, .n_tensors = 2,
        .tensor = { { .classes = { 3, 2, 1 }, .reuse = { .first = 3 }, .cell_lines = 4,
                      .n_cells = 2, .cell = { { 8, 6 }, { 1, 0 } } } },
        .n_sets = 64, .n_set_cells = 1, .set = { { 9, 6 } }, .n_loops = 1, .loop[0].axes = "M",
        .n_moments = 1, .moment = { { 0, 1, 2, 9, 6 } },
    };
    static struct measurement m;
    m = good;
    m.sim.detail = &d;
    m.sim.n = 1;
    snprintf(m.sim.by_tensor[0].tensor, sizeof m.sim.by_tensor[0].tensor, "A");
    json_t *root = run_json(&m, METER_SIM);
    json_t *sim = json_object_get(json_object_get(root, "counters"), "sim");
    char *text = json_dumps(json_object_get(sim, "detail"), JSON_COMPACT);
    static const char want[] =
        "{\"available\":true,"
        "\"causes\":{\"compulsory\":3,\"capacity\":2,\"conflict\":1},"
        "\"reuse\":{\"first\":3,\"buckets\":[5,0,2]},"
        "\"tensors\":{\"A\":{\"causes\":{\"compulsory\":3,\"capacity\":2,\"conflict\":1},"
        "\"reuse\":{\"first\":3,\"buckets\":[]},"
        "\"lines\":{\"accesses\":[8,1],\"misses\":[6,0],\"cell_lines\":4}}},"
        "\"sets\":{\"accesses\":[9],\"misses\":[6],\"sets\":64},"
        "\"time\":[{\"loops\":\"M\",\"first\":1,\"iterations\":2,\"accesses\":9,\"misses\":6}]}";
    assert_string_equal(text, want);
    free(text);
    json_decref(root);
}

/* The first has no ratio, B is twice as fast, C failed. */
static json_t *bench_json(const struct measurement *m)
{
    struct session *s = must_open("gmm m=32 k=16 n=32", NULL);
    struct compared r[3] = {
        { .m = *m }, { .m = *m, .ratio = { 0.5, 0.45, 0.55, 0.5 }, .verdict = VERDICT_FASTER },
        { .m = { .outcome = OUTCOME_CRASH, .reason = "crashed: SIGSEGV" } },
    };
    const struct bench_entry entry[] = {
        { .name = "a.yaml", .session = s, .result = &r[0] },
        { .name = "b.yaml", .session = s, .result = &r[1] },
        { .name = "c.yaml", .session = s, .result = &r[2] },
    };
    struct comparison how = { .rounds = 120, .epochs = 20, .disturbed = 0.05 };
    struct str out = {0};
    report_bench_json(&out, entry, 3, &how, "AMD EPYC | avx512");
    if (m == &good)
        golden_check("tests/golden/bench.json", str_text(&out));
    json_t *root = json_must_load(&out);
    session_free(s);
    return root;
}

static void test_bench_json(void **state)
{
    (void)state;
    json_t *root = bench_json(&good), *list = json_object_get(root, "contenders");
    json_t *a = json_object_get(list, "A"), *b = json_object_get(list, "B");
    json_t *c = json_object_get(list, "C"), *ratio = json_object_get(b, "ratio");
    assert_int_equal(json_object_size(list), 3);
    assert_true(json_is_null(json_object_get(a, "ratio")));
    assert_true(json_is_null(json_object_get(a, "verdict")));
    assert_true(json_real_value(json_object_get(ratio, "value")) == 0.5);
    assert_true(json_real_value(json_object_get(ratio, "high")) == 0.55);
    assert_true(json_real_value(json_object_get(ratio, "best")) == 0.5);
    assert_string_equal(json_string_value(json_object_get(b, "verdict")), "faster");
    assert_string_equal(json_string_value(json_object_get(c, "outcome")), "crash");
    assert_true(json_is_null(json_object_get(c, "latency_ms")));
    assert_int_equal(json_integer_value(json_object_get(root, "rounds")), 120);
    json_decref(root);
}

/* Every key of a result stands in schema.md. */
static void check_documented(const json_t *node, const char *schema)
{
    const char *key;
    json_t *child;
    for (size_t i = 0; i < json_array_size(node); i++)
        check_documented(json_array_get(node, i), schema);
    if (!json_is_object(node))
        return;
    json_object_foreach((json_t *)node, key, child) {
        char quoted[64];
        snprintf(quoted, sizeof quoted, "`%s`", key);
        if (!strstr(schema, quoted))
            fail_msg("sessions/schema.md says nothing about %s", quoted);
        if (!streq(key, "by_tensor"))
            check_documented(child, schema);
    }
}

/* What show --what space --json prints of a scheduled convolution; its own schedule is in it. */
static void check_spaces(const char *schema)
{
    static const char *const steps[] = {
        "layout set Conv \"N H W O\"", "layout set Ker \"O/16 KH KW I 16o\"", "loop inline Inp",
        "loop split Conv W 2 7", "loop reorder Conv N H W.0 KH KW I W.1 O",
        "loop cache_write Conv at=W.0", "loop unroll Conv W.1", "loop vectorize Conv O",
    };
    struct arena *a = arena_new();
    const struct program *p;
    struct spaces spaces;
    struct str out = {0};
    struct err e;
    int bad;
    assert_true(program_replay(a, "c2d i=4 h=14 w=14 o=16 k=3 p=1", steps, COUNT_OF(steps), &p,
                               &bad, &e));
    assert_true(space_report(a, p, 1, &spaces, &e));
    space_report_json(&out, &spaces, p);
    json_t *root = json_must_load(&out), *loops = json_object_get(root, "loops"), *knob;
    check_documented(root, schema);
    assert_true(json_is_true(json_object_get(loops, "known")));
    double size = 1;
    for (size_t i = 0; i < json_array_size(json_object_get(loops, "knobs")); i++) {
        knob = json_array_get(json_object_get(loops, "knobs"), i);
        size *= json_number_value(json_object_get(knob, "size"));
        if (streq(json_string_value(json_object_get(knob, "name")), "W"))
            assert_int_equal(json_integer_value(json_array_get(json_object_get(knob, "now"), 3)),
                             7);
    }
    assert_true(size == json_number_value(json_object_get(loops, "size")));
    json_decref(root);
    str_free(&out);
    assert_true(program_new(a, "softmax m=4 n=4", &p, &e));
    assert_false(space_report(a, p, 1, &spaces, &e));
    arena_free(a);
}

static void test_schema(void **state)
{
    (void)state;
    struct str schema = {0}, out = {0};
    struct machine machine = {0};
    struct meter_info meter = { "clock", "", true, "" };
    struct err e;
    assert_true(file_read("sessions/schema.md", 1 << 20, &schema, &e));
    struct measurement m = good;
    m.counts[METER_ID_PERF] = (struct counts){ .available = true };
    m.huge_asked = true;
    check_spaces(str_text(&schema));
    json_t *root = run_json(&m, ALL_METERS);
    check_documented(root, str_text(&schema));
    json_decref(root);
    root = bench_json(&m);
    json_t *contenders = json_object_get(root, "contenders");
    check_documented(json_object_get(contenders, "A"), str_text(&schema));
    check_documented(json_object_get(contenders, "B"), str_text(&schema));
    json_object_clear(contenders);
    check_documented(root, str_text(&schema));
    json_decref(root);
    struct machine_model model = { .n_isa = 1 };
    model.isa[0].gflops.one.runs = model.level[0].load.one.runs = 1;
    report_machine_json(&out, &machine, &model);
    root = json_must_load(&out);
    check_documented(root, str_text(&schema));
    json_decref(root);
    struct arena *a = arena_new();
    struct event_sets sets = event_sets_load(a, NULL);
    struct nvidia_info nvidia[NVIDIA_COUNT];
    for (int i = 0; i < NVIDIA_COUNT; i++)
        nvidia[i] = (struct nvidia_info){ .name = "driver", .what = "" };
    report_meters_json(&out, &meter, 1, nvidia, &sets);
    arena_free(a);
    root = json_must_load(&out);
    json_t *set = json_array_get(json_object_get(root, "sets"), 0);
    check_documented(json_array_get(json_object_get(root, "meters"), 0), str_text(&schema));
    check_documented(set, str_text(&schema));
    check_documented(json_array_get(json_object_get(set, "events"), 0), str_text(&schema));
    check_documented(json_array_get(json_object_get(set, "metrics"), 0), str_text(&schema));
    json_decref(root);
    report_ops_json(&out);
    root = json_must_load(&out);
    json_t *family = json_array_get(json_object_get(root, "operators"), 0);
    check_documented(family, str_text(&schema));
    check_documented(json_array_get(json_object_get(family, "params"), 0), str_text(&schema));
    json_decref(root);
    str_free(&schema);
}

/* assertions */

static const char json[] =
    "{\"operator\": \"c2d\", \"verified\": true, \"failed\": false, \"max_rel_err\": 1.5e-6,\n"
    " \"gflops\": null,\n"
    " \"steps\": [\"loop parallel Conv N\"], \"list\": [1, 2], \"baselines\": {},\n"
    " \"latency_ms\": {\"median\": 0.31, \"min\": 0.30},\n"
    " \"counters\": {\"sim\": {\"l1_misses\": 129,\n"
    "                        \"by_tensor\": {\"Inp\": {\"l1_misses\": 65}}},\n"
    "              \"perf\": {\"available\": false}}}";

/* Every relation between less, equal and more. */
static void test_relations(void **state)
{
    (void)state;
    static const struct { const char *relation; bool want[3]; } row[] = {
        { "<", { true, false, false } }, { "<=", { true, true, false } },
        { ">", { false, false, true } }, { ">=", { false, true, true } },
        { "==", { false, true, false } }, { "!=", { true, false, true } },
    };
    for (int i = 0; i < COUNT_OF(row); i++)
        for (int k = 0; k < 3; k++) {
            char expr[40];
            bool got;
            struct err e;
            snprintf(expr, sizeof expr, "%d %s 2", 1 + k, row[i].relation);
            if (!report_assert(json, expr, &got, NULL, &e) || got != row[i].want[k])
                fail_msg("%s", expr);
        }
}

static void test_assert(void **state)
{
    (void)state;
    static const struct { const char *expr; bool want; } table[] = {
        { "verified", true }, { "!verified", false }, { "!!verified", true }, { "failed", false },
        { "true", true }, { "false", false }, { "!false", true }, { "(((true)))", true },
        { "latency_ms.median < 1", true }, { "latency_ms.median<0.31", false },
        { "latency_ms.median <= 0.31", true }, { "latency_ms.median > latency_ms.min", true },
        { "latency_ms.min / latency_ms.median >= 0.9", true }, { "1 + 2 * 3 == 7", true },
        { "(1 + 2) * 3 == 9", true }, { "10 - 4 - 3 == 3", true }, { "16 / 4 / 2 == 2", true },
        { "-2 * -3 == 6", true }, { "2 - -3 == 5", true }, { "--2 == 2", true }, { "- 2 < 0",
        true },
        { "1e3 == 1000", true }, { ".5 + .5 == 1", true }, { "1 != 2", true }, { "1 == 1.0", true },
        { "counters.sim.by_tensor.Inp.l1_misses < 100", true },
        { "counters.sim.by_tensor.Inp.l1_misses / counters.sim.l1_misses > 0.5", true },
        { "verified && max_rel_err < 1e-5", true }, { "failed || verified", true },
        { "failed || failed", false }, { "verified && failed", false },
        { "true || true && false", true }, { "(true || true) && false", false },
        { "!failed && verified", true }, { "!(1 < 2)", false }, { "!1 < 2", false },
        { "true == verified", true }, { "verified != failed", true },
        { "operator == \"c2d\"", true }, { "operator != \"gmm\"", true },
        { "steps.0 == \"loop parallel Conv N\"", true }, { "list.1 == 2", true },
        { "!counters.perf.available || counters.perf.cycles < 1", true },
        { "counters.perf.available && counters.perf.cycles < 1", false },
        { "true || gflops > 1", true }, { "false && 1 / 0 > 1", false }, { "true || 1 < true",
        true },
        { "false && nothing && nothing", false }, { "\ttrue ", true }, { "falsey == 1 || true",
        false },
        { "1<2&&2<3", true },
    };
    for (int i = 0; i < COUNT_OF(table); i++) {
        bool holds = !table[i].want;
        struct err e = {0};
        bool ok = report_assert(json, table[i].expr, &holds, NULL, &e);
        if (streq(table[i].expr, "falsey == 1 || true")) {
            assert_false(ok);
            continue;
        }
        if (!ok)
            fail_msg("%s: %s", table[i].expr, e.text);
        if (holds != table[i].want)
            fail_msg("%s is %s", table[i].expr, holds ? "true" : "false");
    }
}

static void test_assert_refused(void **state)
{
    (void)state;
    static const char *const table[] = {
        "", "  ", "(", ")", "(true", "true)", "()", "1", "\"x\"", "latency_ms.median", "latency_ms",
        "verified < 1", "1 < verified", "1 + true == 2", "true + 1 == 2", "-true", "!1",
        "1 && true",
        "failed || 2", "verified == 1", "1 == \"1\"", "operator == c2d", "operator < \"d\"",
        "latency.median < 1", "latency_ms.medain < 1", "median < 1", "quux.frob < 1",
        "steps.1 == 2",
        "gflops > 100", "verified.x", "latency_ms.median.x < 1", "1 = 1", "1 < 2 < 3", "1 <", "< 1",
        "1 2", "1 / 0 > 1", "1 / (2 - 2) > 1", "1e999 > 1", "1e308 * 10 > 1", "0x10 == 16",
        "1x < 2",
        "1. < 2 &", "true & true", "true | false", "operator == \"c2d", "a.b..c < 1", "a. < 1",
        "1 ! 2",
        "steps == 1", "baselines == 1", "\x80 < 1", "counters.sim.by_tensor.inp.l1_misses < 100",
        "gflops.min < 1",
    };
    struct str out = {0}, deep = {0};
    bool holds = false;
    struct err e = {0};
    for (int i = 0; i < COUNT_OF(table); i++) {
        if (report_assert(json, table[i], &holds, NULL, &e))
            fail_msg("\"%s\" is accepted", table[i]);
        err_print(&out, &e);
    }
    golden_check("tests/golden/err/assert.txt", str_text(&out));
    str_repeat(&deep, '(', 100000);
    assert_false(report_assert(json, str_text(&deep), &holds, NULL, &e));
    str_clear(&deep);
    str_repeat(&deep, '-', 100000);
    assert_false(report_assert(json, str_text(&deep), &holds, NULL, &e));
    assert_false(report_assert("{\"a\": 1, \"a\": 2}", "a == 1", &holds, NULL, &e));
    assert_false(report_assert("nonsense", "true", &holds, NULL, &e));
    str_free(&out);
    str_free(&deep);
}

/* Every value is listed once, also one whose text is a part of another. */
static void test_assert_lists_values(void **state)
{
    (void)state;
    static const struct { const char *expr, *want; } row[] = {
        { "executed_gflops > gflops + gflops", "executed_gflops is 54, gflops is 5" },
        { "gflops > executed_gflops", "gflops is 5, executed_gflops is 54" },
        { "a.b + b > 0 && b + a.b > 0", "a.b is 1, b is 1" },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct str values = {0};
        struct err e;
        bool holds;
        assert_true(report_assert("{\"gflops\": 5, \"executed_gflops\": 54, \"b\": 1, "
                                  "\"a\": {\"b\": 1}}", row[i].expr, &holds, &values, &e));
        assert_string_equal(str_text(&values), row[i].want);
        str_free(&values);
    }
}

static void test_assert_random(void **state)
{
    (void)state;
    static const char *const words[] = {
        "true", "false", "1", "0", "2.5", "verified", "latency_ms.min", "gflops", "nothing",
        "\"c2d\"",
        "operator", "(", ")", "!", "-", "+", "*", "/", "<", "<=", "==", "!=", "&&", "||", "&", "\"",
    };
    struct rng r = rng_seed(seed);
    for (int i = 0; i < 20000; i++) {
        struct str expr = {0};
        struct err e = {0};
        bool holds;
        for (int64_t n = rng_range(&r, 0, 9); n > 0; n--)
            str_printf(&expr, "%s ", words[rng_range(&r, 0, COUNT_OF(words) - 1)]);
        const char *text = str_text(&expr);
        if (!report_assert("{\"verified\": true, \"latency_ms\": {\"min\": 1}, \"gflops\": null, "
                           "\"operator\": \"c2d\"}", text, &holds, NULL, &e)
            && (!e.text[0] || e.at.col < 1 || e.at.col > (int)strlen(text) + 1))
            fail_msg("%s: error \"%s\" at column %d", text, e.text, e.at.col);
        str_free(&expr);
    }
}

/* export */

struct exported { const char *name, *spec, *steps[10]; };
static const struct exported exports[] = {
    { "plain", "gmm m=12 k=8 n=20 bias=1", { NULL } },
    { "gmm", "gmm m=32 k=64 n=48 bias=1 relu=1",
      { "layout set C \"M/4 N/16 4m 16n\"", "layout set B \"N/16 K 16n\"", "layout pad A K after=3",
        "loop reorder C M.0 N.0 K M.1 N.1", "loop cache_write C at=N.0", "loop unroll C M.1",
        "loop vectorize C N.1", "loop parallel C M.0" } },
    { "c2d", "c2d n=1 i=4 h=18 w=18 o=32 k=3 s=1 p=1 bias=1 relu=1",
      { "layout set Conv \"N H/6 W 6h O\"", "layout set Inp \"N H/6 W I 8h\"",
        "layout set Ker \"KH KW I O\"", "loop vectorize ReLU O", "loop parallel Conv H.0" } },
    { "constants", "x = input m=6 k=4; s = const d0=1 value=8; eps = const d0=1 value=1e-12;"
                   "mask = const k=4 value=0,0.5,-inf,-1.25; d = div(x, s); e = add(d, eps);"
                   "f = add(e, mask); y = softmax(f) axis=1", { "layout pad mask K after=1" } },
    { "winograd", "c2d n=2 i=4 h=7 w=9 o=6 k=3 p=1 bias=1 relu=1",
      { "set input_layout given", "algorithm Conv winograd m=4", "layout set Inp_in \"N H W I\"",
        "layout set Ker_wino \"PH PW I O\"", "loop unroll Inp_wino PW" } },
    { "winograd-1d", "c1d n=1 i=3 w=10 o=2 k=3", { "algorithm Conv winograd m=2" } },
    { "nothing-random", "x = const m=2 value=3,4; y = mul(x, x)", { NULL } },
};

/* Compiles path without a single warning; false when the compiler is not there. */
static bool compile(const char *cc, const char *path, const char *binary, bool openmp)
{
    const char *const argv[] = { cc, "-O1", "-march=native", "-Wall", "-Wextra", "-Werror",
                                 openmp ? "-fopenmp" : "-DNO_OPENMP", path, "-o", binary, "-lm",
                                     NULL };
    struct subprocess_result res = {0};
    struct str found = {0};
    struct err e;
    bool there = subprocess_find(cc, &found);
    str_free(&found);
    if (!there)
        return false;
    if (!subprocess_run(argv, 60, NULL, &res, &e))
        fail_msg("%s", e.text);
    if (res.exit_code != 0 || res.out.len > 0)
        fail_msg("%s %s: %s", cc, path, str_text(&res.out));
    str_free(&res.out);
    return true;
}

static void run_exported(const char *binary, int exit_code, const char *first, const char *second)
{
    const char *const argv[] = { binary, NULL };
    struct subprocess_result res = {0};
    struct err e;
    if (!subprocess_run(argv, 60, NULL, &res, &e))
        fail_msg("%s", e.text);
    const char *out = str_text(&res.out);
    if (res.exit_code != exit_code || !strstr(out, first) || !strstr(out, second))
        fail_msg("%s: exit code %d, signal %d: %s", binary, res.exit_code, res.signal, out);
    str_free(&res.out);
}

static void export_to(const struct exported *x, const char *path, const char *from, const char *to)
{
    struct session *s = must_open(x->spec, x->steps);
    struct str text = {0}, edited = {0};
    struct err e;
    snprintf(s->title, sizeof s->title, "tricky */ title");
    if (!export_c(s, &(struct export_opts){ .file = path }, &text, &e))
        fail_msg("%s: %s", x->name, e.text);
    const char *at = from ? strstr(str_text(&text), from) : NULL;
    if (from)
        assert_non_null(at);
    str_add_n(&edited, text.data, at ? (size_t)(at - text.data) : text.len);
    if (at)
        str_printf(&edited, "%s%s", to, at + strlen(from));
    assert_true(file_write_atomic(path, edited.data, edited.len, &e));
    session_free(s);
    str_free(&text);
    str_free(&edited);
}

static void check_exported(const char *cc, bool openmp)
{
    char path[128], binary[128];
    for (int i = 0; i < COUNT_OF(exports); i++) {
        snprintf(path, sizeof path, "%s/%s.c", work_dir, exports[i].name);
        snprintf(binary, sizeof binary, "%s/%s-%s", work_dir, exports[i].name, cc);
        export_to(&exports[i], path, NULL, NULL);
        if (!compile(cc, path, binary, openmp)) {
            print_message("# SKIP: %s is not installed\n", cc);
            skip();
        }
        run_exported(binary, 0, ": ok\nmin ", " GFLOP/s\n");
    }
}

static void test_export_gcc(void **state)
{
    (void)state;
    check_exported("gcc", true);
}

static void test_export_clang(void **state)
{
    (void)state;
    check_exported("clang", false);
}

/* The check in the file finds a kernel that is wrong. */
static void test_export_wrong(void **state)
{
    (void)state;
    char path[128], binary[128];
    snprintf(path, sizeof path, "%s/wrong.c", work_dir);
    snprintf(binary, sizeof binary, "%s/wrong", work_dir);
    export_to(&exports[0], path, "+=", "-=");
    if (!compile("gcc", path, binary, false))
        skip();
    run_exported(binary, 1, "max rel err ", ": WRONG\n");
}

static int setup(void **state)
{
    (void)state;
    work_dir = temp_dir(NULL);
    return 0;
}

/* A baseline that was not timed says why; one that nobody asked for is left out. */
static void a_tunings_baselines(void **state)
{
    (void)state;
    struct tuning t = { .spec = "gmm m=8 k=8 n=8", .isa = "avx2", .strategy = "random",
                        .measured = true };
    struct str out = {0};
    json_error_t ignored;
    snprintf(t.m.baseline[0].reason, sizeof t.m.baseline[0].reason, "no such operator");
    tuning_json(&out, &t, NULL);
    json_t *all = json_loads(str_text(&out), 0, &ignored);
    json_t *baselines = json_object_get(all, "baselines");
    assert_int_equal(json_object_size(baselines), 1);
    assert_string_equal(json_string_value(json_object_get(
        json_object_get(baselines, vendor_name[0]), "reason")), "no such operator");
    json_decref(all);
    str_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_json),
        cmocka_unit_test(noisy_times_are_noisy_in_json),
        cmocka_unit_test(test_not_measured),
        cmocka_unit_test(test_odd_values),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_detail_json),
        cmocka_unit_test(test_bench_json),
        cmocka_unit_test(test_schema),
        cmocka_unit_test(test_relations), cmocka_unit_test(test_assert),
        cmocka_unit_test(test_assert_refused),
        cmocka_unit_test(test_assert_random),
        cmocka_unit_test(test_assert_lists_values),
        cmocka_unit_test(test_export_gcc),
        cmocka_unit_test(test_export_clang),
        cmocka_unit_test(test_export_wrong),
        cmocka_unit_test(a_tunings_baselines),
    };
    if (getenv("TS_SEED"))
        seed = strtoull(getenv("TS_SEED"), NULL, 10);
    printf("# TS_SEED=%llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, setup, NULL);
}
