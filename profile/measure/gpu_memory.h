/* Simulates the memory accesses of a GPU program (SPEC N), and computes their least cost. Nothing
 * is compiled: an interpreter walks the code that gen_cuda prints, block by block. */
#ifndef TS_PROFILE_GPU_MEMORY_H
#define TS_PROFILE_GPU_MEMORY_H
#include "profile/measure/measurement.h"
#include "profile/sim/gpu_device.h"

/* budget: number of thread accesses above which only some blocks are simulated (0 = 5e8); limit_s:
 * time limit in seconds (0: none). */
struct gpu_memory_opts {
    const struct gpu_device *device;     /* NULL: the default */
    double budget, limit_s;
    const struct progress *progress;     /* NULL: not wanted */
};

/* Simulates f, which is lowered for a GPU.  Simulates all blocks, or evenly spaced ones, so the
 * result is deterministic. Fills in *r.  ERR_TIMEOUT, ERR_CANCEL, ERR_RANGE (too large), ERR_STEP
 * (too much shared memory). */
bool gpu_memory(const struct func *f, const struct target *target, const struct gpu_memory_opts *o,
                const struct cancel *c, struct sim_result *r, struct err *e);

/* A simulated cost: not a measured time, but the roofline bound of the simulated traffic at the
 * rates in the device's data sheet. each: the nanoseconds that each part of the device would
 * need alone at its full rate. FMA units and L1s of multiprocessors without a block count as idle,
 * also in the last wave of blocks. ns: the longest of these times; bound: the part with this
 * time. */
enum gpu_bound { GPU_BOUND_FMA, GPU_BOUND_L1, GPU_BOUND_L2, GPU_BOUND_DRAM, GPU_BOUND_COUNT };
extern const char *const gpu_bound_name[GPU_BOUND_COUNT];       /* "FMA" "L1" "L2" "DRAM" */
struct gpu_cost { double ns, each[GPU_BOUND_COUNT]; enum gpu_bound bound; };
/* Returns the cost that gpu_memory stored in *r. */
struct gpu_cost gpu_memory_cost(const struct sim_result *r);
/* Returns the simulated cost of m in milliseconds if the kernel is right and no GPU has timed it;
 * else 0. */
double gpu_memory_untimed_ms(const struct measurement *m);
/* Simulates p, whose schedule binds loops to a GPU, and stores the simulated cost, by which a
 * search ranks schedules. */
bool gpu_memory_rate(const struct program *p, const struct gpu_memory_opts *o,
                     const struct cancel *c, struct gpu_cost *out, struct err *e);
/* Appends how a warp accesses memory at a site: "A[k][2*m] loads 8 sectors for 4 ideal: consecutive
 * threads stride by 2".  Appends nothing when the access is ideal. */
void gpu_memory_say(const struct sim_site *s, struct str *out);
#endif
