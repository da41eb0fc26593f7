/* Whole kernels of a GPU in the simulated memory, against the accesses that their CUDA C makes,
 * counted thread by thread without anything of the simulator. */
#ifndef TS_TESTS_GPU_COUNT_H
#define TS_TESTS_GPU_COUNT_H
#include "profile/measure/gpu_memory.h"

/* Simulates f on the device.  The test fails when that is refused. */
void gpu_simulate(const struct func *f, const char *device, double budget, struct sim_result *r);

/* A kernel to compare, and its name in messages. */
struct gpu_unit { const struct program *p; const struct func *f; char what[160]; };
void gpu_unit(struct gpu_unit *u, const struct program *p);

/* Runs the CUDA C of n kernels.  The test fails unless the simulator has the same accesses,
 * sectors, conflicts and misses for every tensor; it is skipped where there is no g++. */
void gpu_check_units(const struct gpu_unit *u, int n);
#endif
