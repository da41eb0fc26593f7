/* Roofline arithmetic on a fixed machine model: which edges of the memory count, and which of them
 * is the lowest roof. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "kernels/base/arena.h"
#include "profile/machine/network_profile.h"
#include "profile/machine/roofline.h"
#include "tests/unit/roof_model.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define LINE 64.0
#define MIB 1048576.0

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b));
}

/* One core: peak 200, L1 400 GB/s, L2 100, L3 40, DRAM 10; 32 KiB, 1 MiB, 16 MiB. */
static void which_roof(void **state)
{
    (void)state;
    static const struct {
        double flops, bytes; int levels; long misses[3], back[3]; int threads; const char *isa;
        double intensity; enum model_level home; int n; double bound; const char *by;
    } row[] = {
        /* fits L1: only its loads, 400 * 1000 / 800 */
        { 1000, 800, 0, { 0 }, { 0 }, 1, "", 1.25, MODEL_L1, 1, 200, "FMA" },
        { 100, 800, 0, { 0 }, { 0 }, 1, "", 0.125, MODEL_L1, 1, 50, "L1" },
        /* fits L2, simulated: 100 * 1e6 / (9000 + 1000) / 64 = 156.25; cold misses of L2 are none
         * of a hot call */
        { 1e6, 5e5, 1, { 9000 }, { 1000 }, 1, "", 1e6 / 64e4, MODEL_L2, 1, 156.25, "L2" },
        { 1e6, 5e5, 3, { 9000, 7800, 7800 }, { 1000 }, 1, "", 1e6 / 64e4, MODEL_L2, 1, 156.25,
          "L2" },
        /* fits L2, not simulated: the data less L1's 32768 bytes */
        { 1e6, 1032768, 0, { 0 }, { 0 }, 1, "", 1e6 / 1032768, MODEL_L2, 1, 100, "L2" },
        /* at home in L3: 40 * 4e7 / 1e7 of what L2 cannot keep, 160; L2: 312.5 */
        { 4e7, 1e7 + MIB, 1, { 150000 }, { 50000 }, 1, "", 4e7 / (LINE * 2e5), MODEL_L3, 2, 160,
          "L3" },
        /* the same with many more misses: 100 * 4e7 / (64 * 1e6) = 62.5 */
        { 4e7, 1e7, 1, { 900000 }, { 100000 }, 1, "", 0.625, MODEL_L3, 2, 62.5, "L2" },
        /* what was simulated beyond L1 changes nothing */
        { 4e7, 1e7, 2, { 900000, 400000 }, { 100000, 100000 }, 1, "", 0.625, MODEL_L3, 2, 62.5,
          "L2" },
        /* from DRAM, what L3's 16 MiB do not keep: 10 * 3 */
        { 3e8, 1e8 + 16 * MIB, 1, { 1000 }, { 0 }, 1, "", 3e8 / 64e3, MODEL_DRAM, 3, 30, "DRAM" },
        { 3e8, 1e8 + 16 * MIB, 3, { 1000, 900, 2000000 }, { 0, 0, 1000000 }, 1, "", 3e8 / 64e3,
          MODEL_DRAM, 3, 30, "DRAM" },
        /* two of four cores: twice of one; all four: 25 and 700 */
        { 3e8, 1e8 + 16 * MIB, 1, { 1000 }, { 0 }, 2, "", 3e8 / 64e3, MODEL_DRAM, 3, 60, "DRAM" },
        { 3e8, 1e8 + 16 * MIB, 1, { 1000 }, { 0 }, 4, "", 3e8 / 64e3, MODEL_DRAM, 3, 75, "DRAM" },
        /* each of four cores has an L2: 130 * 2e7 / 8e6 */
        { 2e7, 8e6 + 4 * MIB, 1, { 1000 }, { 0 }, 4, "", 2e7 / 64e3, MODEL_L3, 2, 325, "L3" },
        { 3e12, 1e8, 1, { 1000 }, { 0 }, 4, "", 3e12 / 64e3, MODEL_DRAM, 3, 700, "FMA" },
        { 3e12, 1e8, 1, { 1000 }, { 0 }, 1, "plain", 3e12 / 64e3, MODEL_DRAM, 3, 12, "FMA" },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct machine_model model = roof_model();
        struct measurement m = { .latency.runs = 5, .gflops = 30, .threads = row[i].threads };
        struct roofline r;
        strcpy(m.isa, row[i].isa);
        roof_simulated(&m, row[i].levels, row[i].misses, row[i].back);
        roofline_of(&model, row[i].flops, row[i].bytes, &m, &r);
        if (!near(r.intensity, row[i].intensity) || r.home != row[i].home || r.n != row[i].n
            || !near(r.bound, row[i].bound) || !streq(roofline_by_name(r.by), row[i].by))
            fail_msg("row %d: intensity %g, home %s, %d roofs, bound %g by %s", i, r.intensity,
                     model_level_name[r.home], r.n, r.bound, roofline_by_name(r.by));
        assert_true(near(r.fraction, 30 / row[i].bound));
        assert_true(near(r.compulsory, row[i].flops / row[i].bytes));
        assert_true(r.simulated == (row[i].levels > 0));
    }
}

/* What is not known is 0, never a guess. */
static void unknown(void **state)
{
    (void)state;
    struct machine_model model = roof_model();
    struct measurement m = { .latency.runs = 5, .gflops = 30, .threads = 1 };
    struct roofline r;
    roof_simulated(&m, 1, (long[]){ 1000 }, (long[]){ 0 });
    roofline_of(NULL, 64e3, 1e3, &m, &r);
    assert_true(near(r.intensity, 1) && r.compulsory == 64 && r.gflops == 30);
    assert_true(r.bound == 0 && r.fraction == 0 && r.n == 0);
    roofline_of(&model, 64e3, 1e3, NULL, &r);
    assert_true(r.gflops == 0 && r.fraction == 0 && r.bound == 200 && r.intensity == 64);
    m.latency.runs = 0;
    roofline_of(&model, 64e3, 1e3, &m, &r);
    assert_true(r.gflops == 0 && r.fraction == 0);
    roofline_of(&model, 0, 1e3, &m, &r);                 /* a copy computes nothing */
    assert_true(r.intensity == 0 && r.bound == 0);
    model.level[MODEL_L2].load = (struct rates){0};      /* a level without a bandwidth */
    roofline_of(&model, 1e6, 5e5, &m, &r);
    assert_true(r.home == MODEL_L2 && r.n == 0 && r.bound == 200);
}

/* Misses of another cache than this machine's say nothing of its roofs. */
static void another_cache(void **state)
{
    (void)state;
    struct machine_model model = roof_model();
    struct measurement m = { .latency.runs = 5, .gflops = 30, .threads = 1 };
    struct roofline r;
    roof_simulated(&m, 1, (long[]){ 9000 }, (long[]){ 1000 });
    model.level[MODEL_L1].capacity = 48 << 10;
    roofline_of(&model, 1e6, 5e5, &m, &r);
    assert_false(r.simulated);
    assert_true(r.intensity == 2 && r.bound == 200);
}

/* The ceiling of the run itself was higher than the model's. */
static void own_ceiling(void **state)
{
    (void)state;
    struct machine_model model = roof_model();
    struct measurement m = { .latency.runs = 5, .gflops = 110, .threads = 1, .peak_gflops = 220 };
    struct roofline r;
    roofline_of(&model, 1e9, 1e3, &m, &r);
    assert_true(r.peak == 220 && r.bound == 220 && r.fraction == 0.5);
}

/* A kernel that skips the taps in the padding executes fewer FLOPs than the operator has. */
static void executed(void **state)
{
    (void)state;
    struct machine_model model = roof_model();
    struct measurement m = { .latency.runs = 5, .gflops = 100, .executed_gflops = 80,
                             .threads = 1 };
    struct roofline r;
    roofline_of(&model, 1e9, 1e6, &m, &r);
    assert_true(r.gflops == 80 && near(r.compulsory, 800) && near(r.fraction, 0.4));
}

/* From DRAM: the simulated bytes between L1 and L2, the data less L2's 1 MiB, and less L3's 16. */
static void each_roof(void **state)
{
    (void)state;
    const double bytes = 1e8 + 16 * MIB, flops = 3e8;
    const struct roof want[] = {
        { MODEL_L2, 64e3, flops / 64e3, 100 * flops / 64e3 },
        { MODEL_L3, bytes - MIB, flops / (bytes - MIB), 40 * flops / (bytes - MIB) },
        { MODEL_DRAM, 1e8, 3, 30 },
    };
    struct machine_model model = roof_model();
    struct measurement m = { .latency.runs = 5, .gflops = 30, .threads = 1 };
    struct roofline r;
    roof_simulated(&m, 1, (long[]){ 1000 }, (long[]){ 0 });
    roofline_of(&model, flops, bytes, &m, &r);
    assert_true(r.n == 3 && r.peak == 200 && r.home == MODEL_DRAM);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(r.roof[i].from, want[i].from);
        assert_true(near(r.roof[i].bytes, want[i].bytes) && near(r.roof[i].gflops, want[i].gflops));
        assert_true(near(r.roof[i].intensity, want[i].intensity));
    }
}

/* Data of exactly a cache's size are at home there. */
static void homes_have_ends(void **state)
{
    static const struct { double bytes; enum model_level home; } row[] = {
        { 32768, MODEL_L1 }, { 32769, MODEL_L2 }, { MIB, MODEL_L2 }, { MIB + 1, MODEL_L3 },
        { 16 * MIB, MODEL_L3 }, { 16 * MIB + 1, MODEL_DRAM },
    };
    struct machine_model model = roof_model();
    struct roofline r;
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        roofline_of(&model, 1, row[i].bytes, NULL, &r);
        assert_int_equal(r.home, row[i].home);
    }
}

/* The model is of the CPU, and says nothing about a GPU. */
static void a_gpu_has_no_roofs(void **state)
{
    struct machine_model model = roof_model();
    struct measurement m = { .latency.runs = 5, .gflops = 30, .device.name = "GPU" };
    struct roofline r;
    (void)state;
    roofline_of(&model, 1e6, 1e3, &m, &r);
    assert_true(r.gflops == 30 && r.intensity == 1e3 && r.n == 0 && r.bound == 0 && r.peak == 0);
    assert_true(r.by == ROOF_FMA && r.fraction == 0 && !r.simulated);
    assert_string_equal(roofline_by_name(ROOF_FMA), "FMA");
}

/* One set of instructions need not be the fastest with every number of threads. */
static void peaks_are_of_threads(void **state)
{
    struct machine_model model = roof_model();
    (void)state;
    assert_true(machine_model_peak(&model, 1) == 200 && machine_model_peak(&model, 0) == 200);
    assert_true(machine_model_peak(&model, 2) == 400 && machine_model_peak(&model, 4) == 700);
    model.isa[1].gflops.all.best = 800;
    assert_true(machine_model_peak(&model, 1) == 200 && machine_model_peak(&model, 4) == 800);
    model.n_isa = 0;
    assert_true(machine_model_peak(&model, 4) == 0);
}

static void low_roofs_are_doubted(void **state)
{
    static const struct { double ceiling, dram; const char *want; } row[] = {
        { 205, 10, "" },                  /* a little faster is nothing */
        { 211, 10, "FMA peak of 200 GFLOP/s, and this run's ceiling was 211" },
        { 205, 50, "L3 slower than DRAM" },
        { 211, 50, "L3 slower than DRAM; FMA peak of 200 GFLOP/s, and this run's ceiling was 211" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct machine_model model = roof_model();
        struct measurement m = { .threads = 1, .peak_gflops = row[i].ceiling };
        struct str out = {0};
        model.level[MODEL_DRAM].load = (struct rates){
            { row[i].dram, row[i].dram, 0, 3 }, { 2 * row[i].dram, 2 * row[i].dram, 0, 3 } };
        roofline_doubts(&model, &m, &out);
        assert_string_equal(str_text(&out), row[i].want);
        model.n_isa = 0;                  /* an unknown peak is not too low */
        str_clear(&out);
        roofline_doubts(&model, &m, &out);
        assert_null(strstr(str_text(&out), "FMA peak"));
        str_free(&out);
    }
}

/* 200 GFLOP/s of 16 lanes are 3.125 GHz, the clock for plain code as well; 1e8 bytes at 100 GB/s
 * take 1 ms.  If its lanes are half as fast as those of AVX2, AVX-512 takes two turns for a
 * vector. */
static void times_are_predicted(void **state)
{
    struct machine_model model = roof_model();
    const struct gen_cycles c = { 6.25e6, 12.5e6 }, same = { 6.25e6, 6.25e6 };
    (void)state;
    assert_true(near(roofline_predict_ms(&model, "plain", same, 0), 2));
    assert_true(near(roofline_predict_ms(&model, "plain", same, 1.5e8), 2.5));
    assert_true(near(roofline_predict_ms(&model, "avx512", c, 1.5e8), 2.5));
    assert_true(roofline_predict_ms(&model, "sse", c, 1e8) == 0);
    model.n_isa = 1;
    model.isa[0].vector_floats = 0;       /* counts as one lane */
    assert_true(near(roofline_predict_ms(&model, "avx512", same, 0), 0.125));
    model.isa[1] = model.isa[0];
    model.isa[0].vector_floats = 16;
    model.isa[1].vector_floats = 8;
    snprintf(model.isa[1].isa, sizeof model.isa[1].isa, "avx2");
    model.n_isa = 2;                      /* 6.25 GHz */
    assert_true(near(roofline_predict_ms(&model, "avx2", c, 0), 1));
    assert_true(near(roofline_predict_ms(&model, "avx512", c, 0), 2));
    model.isa[0].gflops.one.best *= 0.75;
    model.isa[0].gflops.one.best /= 0.5;  /* three quarters of the speed: a third of two turns */
    assert_true(near(roofline_predict_ms(&model, "avx512", c, 0), 4.0 / 3));
    model.level[MODEL_L2].load.one.best = 0;
    assert_true(roofline_predict_ms(&model, "plain", same, 0) == 0);
}

/* --- Networks --------------------------------------------------------------------------------- */

/* Three products, bound by the FMA units: 48 KiB less what L1 keeps could come faster.  Two
 * functions and a copy, bound by the loads from L1. */
static void profiles_of_kernels(void **state)
{
    static const struct { const char *spec; int count; double bytes; int by; } row[] = {
        { "gmm m=64 n=64 k=64", 3, 3 * 16384, ROOF_FMA },
        { "act n=1 c=1000 f=relu", 2, 8000, MODEL_L1 },
        { "transpose n=9 c=13 perm=21", 1, 936, MODEL_L1 },
    };
    struct arena *a = arena_new();
    struct machine_model model = roof_model();
    struct network_task task[3];
    struct network net = { .n_tasks = 3, .task = task };
    struct kernel_profile p[3];
    double sum = 0;
    struct err e;
    (void)state;
    memset(task, 0, sizeof task);
    for (int i = 0; i < 3; i++) {
        const struct program *program;
        assert_true(program_new(a, row[i].spec, &program, &e));
        task[i].program = program;
        task[i].count = row[i].count;
        assert_true(program_lower(program, &task[i].func, &e));
    }
    network_profile(&model, &net, 1, "avx512", p);
    for (int i = 0; i < 3; i++) {
        double flops = task[i].program->base->flops, n = row[i].count;
        double bound_s = row[i].by == ROOF_FMA ? flops / 200e9 : row[i].bytes / 400e9;
        assert_true(near(p[i].flops, n * flops) && near(p[i].executed, n * flops));
        assert_true(near(p[i].bytes, n * row[i].bytes) && near(p[i].bound_s, n * bound_s));
        assert_int_equal(p[i].by, row[i].by);
        sum += p[i].bound_s;
    }
    assert_true(p[2].flops == 0 && near(network_profile_bound(&net, p), sum));
    network_profile(&model, &net, 1, "plain", p);
    assert_true(near(p[0].bound_s, 3 * 524288 / 12e9));
    network_profile(&model, &net, 4, "", p);
    assert_true(near(p[0].bound_s, 3 * 524288 / 700e9));
    network_profile(NULL, &net, 1, "", p);
    assert_true(p[0].bound_s == 0 && near(p[0].flops, 3 * 524288) && p[0].by == ROOF_FMA);
    assert_true(network_profile_bound(&net, p) == 0);
    arena_free(a);
}

/* The additions of Winograd's transforms may run beside its products, so that its bound is below
 * the time of all its operations at the peak. */
static void additions_run_beside_products(void **state)
{
    (void)state;
    /* products: of the transformed tiles; constants: of the transforms with 4, 5, 2 and 8 */
    static const struct { const char *spec, *step; double products; bool additions; } row[] = {
        { "c2d n=1 i=16 h=32 w=32 o=16 k=3 p=1", "algorithm Conv winograd m=2",
          16.0 * (16 * 16) * (16 * 16), false },
        { "c2d n=1 i=3 h=56 w=56 o=32 k=3 p=1", "algorithm Conv winograd m=4",
          36.0 * (14 * 14) * (3 * 32), true },
    };
    struct machine_model model = roof_model();
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct arena *a = arena_new();
        struct network_task task = { .count = 2 };
        const struct network net = { .n_tasks = 1, .task = &task };
        struct kernel_profile p;
        struct err e;
        int bad;
        if (!program_replay(a, row[i].spec, &row[i].step, 1, &task.program, &bad, &e)
            || !program_lower(task.program, &task.func, &e))
            fail_msg("%s", e.text);
        double all = func_flops(task.func), additions = all - func_products(task.func, true);
        assert_true(func_products(task.func, false) == row[i].products);
        assert_true(all > 2 * row[i].products && all < task.program->base->flops);
        assert_true((additions > 2 * row[i].products) == row[i].additions);
        network_profile(&model, &net, 1, "avx512", &p);
        assert_int_equal(p.by, ROOF_FMA);
        assert_true(near(p.executed, 2 * all));
        double turns = row[i].additions ? additions : 2 * row[i].products;
        assert_true(near(p.bound_s, 2 * turns / 200e9));
        arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(which_roof), cmocka_unit_test(unknown), cmocka_unit_test(another_cache),
        cmocka_unit_test(own_ceiling), cmocka_unit_test(executed), cmocka_unit_test(each_roof),
        cmocka_unit_test(homes_have_ends), cmocka_unit_test(a_gpu_has_no_roofs),
        cmocka_unit_test(peaks_are_of_threads), cmocka_unit_test(low_roofs_are_doubted),
        cmocka_unit_test(additions_run_beside_products),
        cmocka_unit_test(times_are_predicted), cmocka_unit_test(profiles_of_kernels),
    };
    return cmocka_run_group_tests_name("roofline", tests, NULL, NULL);
}
