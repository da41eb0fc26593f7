#include "tests/unit/roof_model.h"

static struct rates rate(double one, double all)
{
    return (struct rates){ { one, 0.9 * one, 0.02, 30 }, { all, 0.8 * all, 0.1, 30 } };
}

struct machine_model roof_model(void)
{
    return (struct machine_model){
        .fingerprint = "a CPU | avx512 | 4 cores", .date = "2026-11-21T02:00:00Z",
        .compiler = "gcc", .cores = 4, .seconds = 3, .n_isa = 2,
        .isa = { { "avx512", 16, rate(200, 700) }, { "plain", 1, rate(12, 48) } },
        .level = {
            { 32 << 10, 16 << 10, rate(400, 1600), { .one.runs = 0 }, "" },
            { 1 << 20, 512 << 10, rate(100, 400), { .one.runs = 0 }, "" },
            { 16 << 20, 2 << 20, rate(40, 130), { .one.runs = 0 }, "" },
            { 0, 64 << 20, rate(10, 25), rate(9, 20), "" },
        },
    };
}

void roof_simulated(struct measurement *m, long misses, long writebacks)
{
    m->sim.available = misses > 0;
    m->sim.l1 = (struct cache_geometry){ 32 << 10, 8, 64 };
    m->sim.l1_misses = misses;
    m->sim.writebacks = writebacks;
}
