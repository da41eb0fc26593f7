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

void roof_simulated(struct measurement *m, int n_levels, const long *misses,
                    const long *writebacks)
{
    static const struct cache_geometry g[] = { { 32 << 10, 8, 64 }, { 1 << 20, 16, 64 },
                                               { 16 << 20, 16, 64 } };
    m->sim.available = n_levels > 0;
    m->sim.cache.n_levels = n_levels;
    for (int i = 0; i < n_levels; i++) {
        m->sim.cache.level[i].geometry = g[i];
        m->sim.level[i] = (struct sim_level){ .misses = misses[i], .writebacks = writebacks[i] };
    }
    m->sim.l1_misses = n_levels > 0 ? misses[0] : 0;
    m->sim.writebacks = n_levels > 0 ? writebacks[0] : 0;
}
