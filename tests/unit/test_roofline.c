/* Roofline arithmetic on a fixed machine model: which edges of the memory count, and which of them
 * is the lowest roof. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "kernels/base/arena.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(which_roof), cmocka_unit_test(unknown), cmocka_unit_test(another_cache),
        cmocka_unit_test(own_ceiling), cmocka_unit_test(executed),
    };
    return cmocka_run_group_tests_name("roofline", tests, NULL, NULL);
}
