/* Simulates the memory accesses of a GPU program (SPEC N), and computes their least cost. Nothing
 * is compiled: an interpreter walks the code that gen_cuda prints, block by block. */
#ifndef TS_PROFILE_GPU_MEMORY_H
#define TS_PROFILE_GPU_MEMORY_H
#include "profile/measure/measurement.h"
#include "profile/sim/gpu_device.h"

/* budget: number of thread accesses above which only some blocks are simulated (0 = 5e8); limit_s:
 * seconds after which to give up (0: never). */
struct gpu_memory_opts {
    const struct gpu_device *device;     /* NULL: the default */
    double budget, limit_s;
    const struct progress *progress;     /* NULL: not wanted */
};

/* Simulates f, which is lowered for a GPU, in deterministic blocks: all, or evenly spaced ones.
 * Fills in *r.  ERR_TIMEOUT, ERR_CANCEL, ERR_RANGE (too large). */
bool gpu_memory(const struct func *f, const struct target *target, const struct gpu_memory_opts *o,
                const struct cancel *c, struct sim_result *r, struct err *e);

/* A simulated cost: no time, but the roofline of the device's data sheet over the simulated
 * traffic.  each: nanoseconds that every part needs by itself, at its full rate; the FMA units and
 * L1s of multiprocessors that have no block do nothing, in the last wave too.  ns: the longest, of
 * part `bound`. */
enum gpu_bound { GPU_BOUND_FMA, GPU_BOUND_L1, GPU_BOUND_L2, GPU_BOUND_DRAM, GPU_BOUND_COUNT };
extern const char *const gpu_bound_name[GPU_BOUND_COUNT];       /* "FMA" "L1" "L2" "DRAM" */
struct gpu_cost { double ns, each[GPU_BOUND_COUNT]; enum gpu_bound bound; };
/* Returns the cost in a result of gpu_memory. */
struct gpu_cost gpu_memory_cost(const struct sim_result *r);
/* Returns the milliseconds of that cost for a right kernel that no GPU has timed; else 0. */
double gpu_memory_untimed_ms(const struct measurement *m);
/* Simulates a schedule for a GPU, which has bound loops, for its cost. */
bool gpu_memory_rate(const struct program *p, const struct gpu_memory_opts *o,
                     const struct cancel *c, struct gpu_cost *out, struct err *e);
/* Appends how a warp accesses memory at a site: "A[k][2*m] loads 8 sectors for 4 ideal: consecutive
 * threads stride by 2"; nothing when the access is ideal. */
void gpu_memory_say(const struct sim_site *s, struct str *out);
#endif
