/* Results as JSON and as text, made from values that no run of a test would give. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explorer/history/ablation.h"
#include "profile/measure/port_pressure.h"
#include "sessions/report/report.h"
#include "sessions/report/space_report.h"
#include "sessions/report/text_table.h"
#include "tests/unit/json_help.h"
#include "tests/unit/perm.h"
#include "tests/unit/programs.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* --- Text tables ------------------------------------------------------------------------------ */

/* Widths count characters and not bytes; the last cell of a row keeps its tabs. */
static void tables_are_aligned(void **state)
{
    struct text_table t = { .align = "lrl" };
    struct str out = {0};
    (void)state;
    text_table_row(&t, "%s\t%d\t%s", "name", 7, "first");
    text_table_row(&t, "b");
    text_table_add(&t, "µm");
    text_table_addf(&t, "%d", 123);
    text_table_add(&t, NULL);
    text_table_row(&t, "c\t4\tlong\tx");
    str_add(&out, "head \n");
    text_table_print(&out, &t);
    assert_string_equal(str_text(&out), "head \n"
                                        "  name" "  " "  7" "  " "first\n"
                                        "  b\n"
                                        "  µm  " "  " "123\n"
                                        "  c   " "  " "  4" "  " "long\tx\n");
    str_free(&out);
}

/* --- Search spaces ---------------------------------------------------------------------------- */

static const int64_t divisors[] = { 1, 2, 4 }, tiles[] = { 3, 5 };
static const char *const choices[] = { "no", "yes" };
static const struct layout_knob layout_knobs[] = {
    { .name = "h_t", .tensor = "Conv", .extent = 4, .n_divisors = 3, .divisor = divisors },
};
static const struct loop_knob loop_knobs[] = {
    { .kind = KNOB_VECTORIZE, .name = "vectorize", .n_choices = 2, .choice = choices, .size = 2 },
    { .kind = KNOB_SPATIAL, .name = "W", .extent = 14, .parts = 4, .levels = "S1 S2 S3 S4",
      .n_tiles = 2, .tile = tiles, .size = 20 },
    { .kind = KNOB_REDUCE, .name = "K", .extent = 8, .parts = 2, .levels = "R1 R2", .size = 4 },
};
static const struct layout_space layout_space = { .n = 1, .knob = layout_knobs, .size = 3 };
static const struct loop_space loop_space = { .n = 3, .knob = loop_knobs, .size = 160 };

static struct spaces spaces_known(void)
{
    return (struct spaces){ .layouts = &layout_space, .loops = &loop_space, .layouts_known = true,
                            .loops_known = true, .factor = { 2 },
                            .point.v = { { 1 }, { 1, 2, 7, 1 }, { 2, 4 } } };
}

static struct spaces spaces_unknown(void)
{
    struct spaces s = { .layouts = &layout_space, .loops = &loop_space };
    s.layouts_why = (struct point_why){ "layout", "Conv is stored otherwise" };
    s.loops_why = (struct point_why){ "fuse", "two loops are one" };
    return s;
}

static void spaces_as_text(void **state)
{
    struct spaces s = spaces_known();
    struct str out = {0};
    (void)state;
    space_report_text(&out, &s);
    assert_string_equal(str_text(&out),
        "Layouts: 1 factors, 3 points\n\n  factor   tensor extent     now\n"
        "  " "h_t     " " " "Conv  " " " "     4" "  " "     2  of 1 2 4\n"
        "\nLoops over the session's layouts: 3 knobs, 160 points\n\n  knob             values\n"
        "  " "vectorize       " " " "     2" "  " "no, [yes]\n"
        "  " "W               " " " "    20" "  "
        "14 = S1 S2 S3 S4: 1 2 7 1 (and tiles up to 5 that do not divide)\n"
        "  " "K               " " " "     4" "  " "8 = R1 R2: 2 4\n"
        "\nThe session's layouts are a point of the layout space, its loops are a point of the "
        "loop space, shown above.\n");
    str_clear(&out);
    s = spaces_unknown();
    space_report_text(&out, &s);
    assert_string_equal(str_text(&out),
        "Layouts: 1 factors, 3 points\n\n  factor   tensor extent\n"
        "  " "h_t     " " " "Conv  " " " "     4" "  " " 1 2 4\n"
        "\nLoops over the session's layouts: 3 knobs, 160 points\n\n  knob             values\n"
        "  " "vectorize       " " " "     2" "  " "no, yes\n"
        "  " "W               " " " "    20" "  "
        "14 = S1 S2 S3 S4 (and tiles up to 5 that do not divide)\n"
        "  " "K               " " " "     4" "  " "8 = R1 R2\n"
        "\nThe session's layouts are not a point of the layout space, its loops are not a point "
        "of the loop space.\n"
        "layouts: Conv is stored otherwise (layout)\nloops: two loops are one (fuse)\n");
    str_free(&out);
}

static void spaces_as_json(void **state)
{
    const struct program *p = program_bare(perm, "gmm m=8 k=8 n=8");
    struct spaces s = spaces_known();
    struct str out = {0};
    (void)state;
    space_report_json(&out, &s, p);
    assert_json_text(&out,
        "{\"operator\":\"gmm\",\"spec\":\"gmm m=8 k=8 n=8\","
        "\"layouts\":{\"size\":3.0,\"known\":true,\"why\":null,\"knobs\":["
        "{\"name\":\"h_t\",\"tensor\":\"Conv\",\"extent\":4,\"divisors\":[1,2,4],\"now\":2}]},"
        "\"loops\":{\"size\":160.0,\"known\":true,\"why\":null,\"knobs\":["
        "{\"name\":\"vectorize\",\"kind\":\"vectorize\",\"size\":2.0,\"choices\":[\"no\",\"yes\"],"
        "\"now\":\"yes\"},"
        "{\"name\":\"W\",\"kind\":\"spatial\",\"size\":20.0,\"extent\":14,"
        "\"levels\":\"S1 S2 S3 S4\",\"tiles\":[3,5],\"now\":[1,2,7,1]},"
        "{\"name\":\"K\",\"kind\":\"reduce\",\"size\":4.0,\"extent\":8,\"levels\":\"R1 R2\","
        "\"tiles\":[],\"now\":[2,4]}]}}");
    s = spaces_unknown();
    space_report_json(&out, &s, p);
    json_t *root = json_must_load(&out), *layouts = json_object_get(root, "layouts");
    json_t *loops = json_object_get(root, "loops"), *knobs = json_object_get(loops, "knobs");
    assert_true(json_is_false(json_object_get(layouts, "known")));
    assert_json(json_object_get(layouts, "why"),
                "{\"step\":\"layout\",\"text\":\"Conv is stored otherwise\"}");
    assert_json(json_object_get(loops, "why"),
                "{\"step\":\"fuse\",\"text\":\"two loops are one\"}");
    assert_json(json_object_get(json_array_get(json_object_get(layouts, "knobs"), 0), "now"),
                "null");
    for (size_t i = 0; i < 3; i++)
        assert_json(json_object_get(json_array_get(knobs, i), "now"), "null");
    json_decref(root);
}

/* --- Assembly --------------------------------------------------------------------------------- */

/* The loop has one instruction of 3 iterations beside one outside: 3/4 of those executed. */
static void assembly_as_json(void **state)
{
    static const char text[] = "C:\n    vadd\n    ret\n";
    static const int of[] = { -1, 0, -1 };
    struct code_loop loop = { .node = 0, .axis = "M", .trips = 3, .parent = -1 };
    struct code_lines lines = { .n_loops = 1, .loop = &loop, .n = 3, .of = of };
    struct port_pressure ports = { .loop = 0, .model = "znver3", .exact = true, .cycles = 4,
                                   .least = 2, .ipc = 1.5, .n = 2,
                                   .port = { { "P0", 2 }, { "P1", 0.5 } } };
    const struct program *p = program_bare(perm, "gmm m=8 k=8 n=8");
    struct str out = {0};
    (void)state;
    report_asm_json(&out, p, text, &lines, &ports);
    assert_json_text(&out,
        "{\"format\":1,\"assembly\":\"C:\\n    vadd\\n    ret\\n\","
        "\"hottest\":{\"stage\":\"C\",\"loop\":\"M\",\"share\":0.75},"
        "\"ports\":{\"model\":\"znver3\",\"exact\":true,\"cycles\":4.0,\"least\":2.0,\"ipc\":1.5,"
        "\"pressure\":[{\"port\":\"P0\",\"cycles\":2.0},{\"port\":\"P1\",\"cycles\":0.5}]},"
        "\"reason\":null}");
    loop.node = p->graph->n_nodes;         /* a loop of no node has no name to print */
    report_asm_json(&out, p, text, &lines, &ports);
    json_t *root = json_must_load(&out);
    assert_json(json_object_get(root, "hottest"), "null");
    json_decref(root);
    loop.node = -1;
    report_asm_json(&out, p, text, &lines, &ports);
    root = json_must_load(&out);
    assert_json(json_object_get(root, "hottest"), "null");
    json_decref(root);
    ports = (struct port_pressure){ .loop = -1, .reason = "the kernel has no loop" };
    report_asm_json(&out, p, "    ret\n", &lines, &ports);
    assert_json_text(&out, "{\"format\":1,\"assembly\":\"    ret\\n\",\"hottest\":null,"
                           "\"ports\":null,\"reason\":\"the kernel has no loop\"}");
}

/* --- Simulated misses ------------------------------------------------------------------------- */

/* Returns the counters of a run with this measurement; the caller frees the root. */
static json_t *counters_of(const struct measurement *m, unsigned meters, json_t **root)
{
    struct session *s = NULL;
    struct str out = {0};
    struct err e;
    assert_true(session_new("gmm m=8 k=8 n=8", &s, &e));
    report_run_json(&out, s, m, meters, NULL, NULL);
    session_free(s);
    *root = json_must_load(&out);
    return json_object_get(*root, "counters");
}

static struct measurement simulated(int n_levels)
{
    struct measurement m = { .outcome = OUTCOME_OK, .isa = "avx2", .sim = {
        .available = true, .loads = 128, .stores = 64, .l1_misses = 24, .writebacks = 8, .n = 1,
        .n_sites = 1, .fraction = 1,
        .cache = { .n_levels = n_levels, .level = { { .geometry = { 4096, 4, 64 } },
                                                    { .geometry = { 8192, 8, 64 } },
                                                    { .geometry = { 16384, 16, 64 } } } },
        .level = { { 100, 24, 8, 1, 2 }, { 24, 16, 4, 0, 0 }, { 16, 10, 0, 0, 0 } },
        .by_tensor = { { "A", 128, 64, { 24, 16, 10, 40, 20, 3 } } },
        .site = { { "A[m][2*k]", 0, true, 4, { 24, 16, 10, 40, 20, 0 }, "global", 1, 4, 32, 8,
                    "C", 0 } },
    } };
    return m;
}

/* A CPU has no sectors, and no misses of levels that were not simulated.  Bytes below a level:
 * (misses + prefetches + writebacks) * 64. */
static void levels_of_a_cpu(void **state)
{
    static const char *const tensor[] = {
        "{\"A\":{\"loads\":128,\"stores\":64,\"l1_misses\":24}}",
        "{\"A\":{\"loads\":128,\"stores\":64,\"l1_misses\":24,\"l2_misses\":16}}",
        "{\"A\":{\"loads\":128,\"stores\":64,\"l1_misses\":24,\"l2_misses\":16,"
        "\"l3_misses\":10}}",
    };
    static const char *const site[] = {
        "[{\"site\":\"A[m][2*k]\",\"tensor\":\"A\",\"store\":true,\"accesses\":4,"
        "\"l1_misses\":24}]",
        "[{\"site\":\"A[m][2*k]\",\"tensor\":\"A\",\"store\":true,\"accesses\":4,"
        "\"l1_misses\":24,\"l2_misses\":16}]",
        "[{\"site\":\"A[m][2*k]\",\"tensor\":\"A\",\"store\":true,\"accesses\":4,"
        "\"l1_misses\":24,\"l2_misses\":16,\"l3_misses\":10}]",
    };
    static const char *const own[][5] = {           /* l2_misses, l3_misses, then bytes */
        { "none", "none", "none", "none", "none" },
        { "16", "none", "2112", "none", "1280" },
        { "16", "10", "2112", "1280", "640" },
    };
    static const char *const key[] = { "l2_misses", "l3_misses", "l2_bytes", "l3_bytes",
                                       "dram_bytes" };
    (void)state;
    for (int n = 1; n <= CACHE_LEVELS; n++) {
        struct measurement m = simulated(n);
        json_t *root, *sim = json_object_get(counters_of(&m, METER_SIM, &root), "sim");
        assert_json(json_object_get(sim, "by_tensor"), tensor[n - 1]);
        assert_json(json_object_get(sim, "sites"), site[n - 1]);
        assert_int_equal(json_array_size(json_object_get(sim, "levels")), n);
        for (int i = 0; i < COUNT_OF(key); i++) {
            const json_t *v = json_object_get(sim, key[i]);
            assert_int_equal(v == NULL, streq(own[n - 1][i], "none"));
            if (v)
                assert_json(v, own[n - 1][i]);
        }
        assert_null(json_object_get(sim, "gpu"));
        assert_null(json_object_get(sim, "sectors"));
        assert_json(json_object_get(sim, "sampled"), "null");
        assert_json(json_object_get(sim, "beyond_budget"), "null");
        assert_null(json_object_get(root, "device"));
        json_decref(root);
    }
}

static const char gpu_json[] =
    "{\"available\":true,\"loads\":128,\"stores\":64,\"l1_misses\":24,\"l2_misses\":16,"
    "\"writebacks\":8,\"straddled\":0,\"streamed_bytes\":0,"
    "\"by_tensor\":{\"A\":{\"loads\":128,\"stores\":64,\"l1_misses\":24,\"l2_misses\":16,"
    "\"sectors\":40,\"ideal_sectors\":20,\"bank_conflicts\":3}},"
    "\"l1\":{\"size_bytes\":4096,\"ways\":4,\"line_bytes\":64},"
    "\"cache\":\"4K/4/64,8K/8/64\","
    "\"levels\":[{\"size_bytes\":4096,\"ways\":4,\"line_bytes\":64,\"level\":1,\"accesses\":100,"
    "\"misses\":24,\"writebacks\":8,\"prefetches\":1,\"useful\":2,\"bytes_below\":1056},"
    "{\"size_bytes\":8192,\"ways\":8,\"line_bytes\":64,\"level\":2,\"accesses\":24,"
    "\"misses\":16,\"writebacks\":4,\"prefetches\":0,\"useful\":null,\"bytes_below\":640}],"
    "\"l2_bytes\":1056,\"dram_bytes\":640,"
    "\"gpu\":\"h100\",\"sector_bytes\":32,\"sectors\":40,\"ideal_sectors\":20,"
    "\"bank_conflicts\":3,\"shared_bytes\":1024,"
    "\"fma_ns\":500.0,\"l1_ns\":250.0,\"l2_ns\":125.0,\"dram_ns\":750.0,"
    "\"sites\":[{\"site\":\"A[m][2*k]\",\"tensor\":\"A\",\"store\":true,\"accesses\":4,"
    "\"l1_misses\":24,\"l2_misses\":16,\"sectors\":40,\"ideal_sectors\":20,\"bank_conflicts\":0,"
    "\"memory\":\"global\",\"degree\":1,\"bytes\":4,\"run\":32,\"stride\":8,"
    "\"says\":\"A[m][2*k] stores 10 sectors for 5 ideal: consecutive threads stride by 2\"}],"
    "\"sampled\":{\"fraction\":0.5,\"error\":0.25},\"beyond_budget\":\"twice the budget\","
    "\"of_source\":true,\"skips_prefetches\":true,\"detail\":null,\"seconds\":0.25}";

/* A GPU counts in sectors of 32 bytes and says how a warp accesses memory. */
static void sectors_of_a_gpu(void **state)
{
    struct measurement m = simulated(2);
    json_t *root, *counters;
    (void)state;
    snprintf(m.isa, sizeof m.isa, "cuda");
    snprintf(m.sim.gpu, sizeof m.sim.gpu, "h100");
    snprintf(m.sim.how, sizeof m.sim.how, "twice the budget");
    snprintf(m.device.name, sizeof m.device.name, "H100");
    m.device.clock_mhz = 1980;
    m.sim.sector_bytes = 32;
    m.sim.sectors = 40;
    m.sim.ideal_sectors = 20;
    m.sim.bank_conflicts = 3;
    m.sim.shared_bytes = 1024;
    m.sim.fma_ns = 500;
    m.sim.l1_ns = 250;
    m.sim.l2_ns = 125;
    m.sim.dram_ns = 750;
    m.sim.fraction = 0.5;
    m.sim.error = 0.25;
    m.sim.of_source = true;
    m.sim.skips_prefetches = true;
    m.sim.seconds = 0.25;
    m.huge_asked = true;
    m.huge_bytes = 1024;
    m.huge_of_bytes = 2048;
    counters = counters_of(&m, METER_SIM, &root);
    assert_json(json_object_get(counters, "sim"), gpu_json);
    assert_json(json_object_get(root, "device"),
                "{\"name\":\"H100\",\"driver\":null,\"nvrtc\":null,\"clock_mhz\":1980,"
                "\"memory_mhz\":null,\"reason\":null}");
    assert_json(json_object_get(root, "huge_pages"), "{\"bytes\":1024,\"of_bytes\":2048}");
    json_decref(root);
}

/* Of the meters that nobody asked for, only the default ones and perf-sw are listed. */
static void counters_that_are_missing(void **state)
{
    struct measurement m = simulated(1);
    json_t *root, *counters;
    (void)state;
    m.sim.available = false;
    m.counts[METER_ID_PERF] = (struct counts){
        .available = true, .n = 1, .source = "event set l1, 2 threads",
        .count = { { "L1d load-misses", 5, "", false, false, 0 } },
    };
    counters = counters_of(&m, METER_SIM | METER_PERF | METER_PAPI, &root);
    assert_json(counters,
        "{\"sim\":{\"available\":false,\"reason\":\"not measured\"},"
        "\"perf\":{\"available\":true,\"l1d_load_misses\":5,\"scaled\":false,\"metrics\":{},"
        "\"source\":\"event set l1, 2 threads\"},"
        "\"perf-sw\":{\"available\":false,\"reason\":\"not asked for (--meters perf-sw)\"},"
        "\"papi\":{\"available\":false,\"reason\":\"not measured\"}}");
    json_decref(root);
    snprintf(m.sim.reason, sizeof m.sim.reason, "too large");
    counters = counters_of(&m, METER_SIM, &root);
    assert_json(counters,
        "{\"sim\":{\"available\":false,\"reason\":\"too large\"},"
        "\"perf\":{\"available\":false,\"reason\":\"not asked for (--meters perf)\"},"
        "\"perf-sw\":{\"available\":false,\"reason\":\"not asked for (--meters perf-sw)\"}}");
    json_decref(root);
}

/* --- Comparisons ------------------------------------------------------------------------------ */

static void ablations_as_json(void **state)
{
    static const char *const step[] = { "loop unroll C K" };
    struct ablated row[] = {
        { .step = 1, .text = step[0], .note = "", .same = true },
        { .step = 3, .text = "layout set C \"N M\"", .note = "step 4 is dropped",
          .result = { .m = { .outcome = OUTCOME_OK,
                             .latency = { .median_ms = 0.5, .min_ms = 0.25, .max_ms = 1,
                                          .runs = 3 } },
                      .ratio = { 2, 1.5, 2.5, 0 }, .verdict = VERDICT_SLOWER } },
    };
    struct ablation a = { .whole = program_with(perm, "gmm m=8 k=8 n=8", step, 1), .n = 2,
                          .row = row };
    struct str out = {0};
    (void)state;
    report_ablation_json(&out, "x.yaml", &a);
    assert_json_text(&out,
        "{\"format\":1,\"name\":\"x.yaml\",\"spec\":\"gmm m=8 k=8 n=8\","
        "\"steps\":[\"loop unroll C K\"],\"contract\":\"as the caller has it\","
        "\"latency_ms\":null,\"without\":["
        "{\"step\":1,\"text\":\"loop unroll C K\",\"note\":null,\"same_code\":true,"
        "\"outcome\":\"none\",\"reason\":null,\"latency_ms\":null,\"ratio\":null,"
        "\"verdict\":null},"
        "{\"step\":3,\"text\":\"layout set C \\\"N M\\\"\",\"note\":\"step 4 is dropped\","
        "\"same_code\":false,\"outcome\":\"ok\",\"reason\":null,"
        "\"latency_ms\":{\"median\":0.5,\"min\":0.25,\"max\":1.0,\"p10\":null,\"p25\":null,"
        "\"p75\":null,\"p90\":null,\"spread\":0.0,\"runs\":3,\"noisy\":true,\"disturbed\":0.0,"
        "\"others\":0.0},"
        "\"ratio\":{\"value\":2.0,\"low\":1.5,\"high\":2.5,\"best\":null},"
        "\"verdict\":\"slower\"}]}");
}

/* A schedule that was only simulated, and a program that is not ours. */
static void contenders_of_other_kinds(void **state)
{
    struct compared r[2] = {
        { .m = { .outcome = OUTCOME_OK, .seed = 7, .total_s = 0.5, .threads = 2 } },
        { .m = { .outcome = OUTCOME_CRASH, .reason = "crashed: SIGSEGV" } },
    };
    struct session *s = NULL;
    struct comparison how = { .disturbed = 0.25 };
    struct str out = {0};
    struct err e;
    (void)state;
    assert_true(session_new("gmm m=8 k=8 n=8", &s, &e));
    const struct bench_entry entry[] = {
        { .name = "a.yaml", .session = s, .result = &r[0], .gpu = "h100", .simulated_ms = 0.5 },
        { .name = "./prog 3", .command = "./prog 3", .result = &r[1] },
    };
    report_bench_json(&out, entry, 2, &how, NULL);
    json_t *root = json_must_load(&out), *list = json_object_get(root, "contenders");
    json_t *a = json_object_get(list, "A");
    assert_json(json_object_get(a, "gpu"), "\"h100\"");
    assert_json(json_object_get(a, "simulated_ms"), "0.5");
    assert_json(json_object_get(list, "B"),
                "{\"name\":\"./prog 3\",\"command\":\"./prog 3\",\"outcome\":\"crash\","
                "\"reason\":\"crashed: SIGSEGV\",\"latency_ms\":null,\"ratio\":null,"
                "\"verdict\":null}");
    json_object_clear(list);
    assert_json(root, "{\"format\":1,\"rounds\":null,\"sittings\":null,\"disturbed\":0.25,"
                      "\"contenders\":{},\"machine\":null,\"isa\":null,\"compiler\":null,"
                      "\"threads\":2,\"seed\":7,\"total_s\":0.5}");
    json_decref(root);
    session_free(s);
}

/* --- Lists ------------------------------------------------------------------------------------ */

static void a_machine_as_json(void **state)
{
    struct machine m = { .cpu = "A CPU", .isa = "avx2", .vector_floats = 8, .cores = 1,
                         .l1d = { 32768, 8, 64 }, .l1d_assumed = true, .l3 = { 1 << 20, 16, 64 },
                         .memory_bytes = 4096, .os = "Linux 6.1", .has_pmu = true };
    struct str out = {0};
    (void)state;
    report_machine_json(&out, &m, NULL);
    assert_json_text(&out,
        "{\"fingerprint\":\"A CPU | avx2 | 1 core | L1d 32K/8/64 (assumed)\",\"cpu\":\"A CPU\","
        "\"isa\":\"avx2\",\"vector_floats\":8,\"cores\":1,"
        "\"l1d\":{\"size_bytes\":32768,\"ways\":8,\"line_bytes\":64},\"l1d_assumed\":true,"
        "\"l2\":null,\"l3\":{\"size_bytes\":1048576,\"ways\":16,\"line_bytes\":64},"
        "\"memory_bytes\":4096,\"os\":\"Linux 6.1\",\"has_pmu\":true,\"peak_gflops\":null,"
        "\"doubts\":null,\"model\":null}");
}

/* Returns the parameter of an operator in the list of `tilescope ops --json`. */
static const json_t *param_of(const json_t *root, const char *op, const char *name)
{
    const json_t *families = json_object_get(root, "operators");
    for (size_t i = 0; i < json_array_size(families); i++) {
        const json_t *f = json_array_get(families, i), *params = json_object_get(f, "params");
        if (!streq(json_string_value(json_object_get(f, "name")), op))
            continue;
        for (size_t k = 0; k < json_array_size(params); k++)
            if (streq(json_string_value(json_object_get(json_array_get(params, k), "name")), name))
                return json_array_get(params, k);
    }
    fail_msg("%s has no parameter %s", op, name);
    return NULL;
}

/* A word, a number that must be given, and one that the operator derives. */
static void parameters_as_json(void **state)
{
    struct str out = {0};
    (void)state;
    report_ops_json(&out);
    json_t *root = json_must_load(&out);
    assert_json(param_of(root, "gpool", "f"),
                "{\"name\":\"f\",\"required\":false,\"default\":0,\"min\":0,\"max\":1,"
                "\"help\":\"how an image is reduced\",\"words\":[\"mean\",\"max\"]}");
    assert_json(param_of(root, "gpool", "c"),
                "{\"name\":\"c\",\"required\":true,\"default\":null,\"min\":1,\"max\":1048576,"
                "\"help\":\"channels\"}");
    assert_json(param_of(root, "gpool", "n"),
                "{\"name\":\"n\",\"required\":false,\"default\":null,\"min\":1,\"max\":1048576,"
                "\"help\":\"batch, 1 unless given\"}");
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_aligned), cmocka_unit_test(spaces_as_text),
        cmocka_unit_test(spaces_as_json), cmocka_unit_test(assembly_as_json),
        cmocka_unit_test(levels_of_a_cpu), cmocka_unit_test(sectors_of_a_gpu),
        cmocka_unit_test(counters_that_are_missing), cmocka_unit_test(ablations_as_json),
        cmocka_unit_test(contenders_of_other_kinds), cmocka_unit_test(a_machine_as_json),
        cmocka_unit_test(parameters_as_json),
    };
    return cmocka_run_group_tests(tests, perm_setup, perm_teardown);
}
