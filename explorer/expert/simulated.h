/* Schedules for a GPU, rated by simulation where no device can time them. */
#ifndef TS_EXPLORER_EXPERT_SIMULATED_H
#define TS_EXPLORER_EXPERT_SIMULATED_H
#include "explorer/expert/expert.h"
#include "profile/measure/gpu_memory.h"

/* The properties of a schedule that are known without a device.  compiled: NVRTC was there.  Then
 * registers, shared and stack are the largest values of any kernel, and occupancy is the
 * smallest. */
struct expert_rating {
    struct gpu_cost cost;
    /* The simulated time by which schedules are ranked: cost.ns, and more if fewer than
     * EXPERT_WARPS warps run on a multiprocessor, which are too few to hide latencies. */
    double ns;
    bool compiled;
    int registers;
    int64_t shared, stack;
    double occupancy;
};
#define EXPERT_WARPS 8                    /* two per scheduler: our choice, not from a data sheet */
/* a program with more accesses of threads is simulated on a sample of its blocks */
#define EXPERT_RATED_ACCESSES 1e6
/* Sets *best to the first of n schedules whose kernels NVRTC compiles without stack; without NVRTC,
 * or if all need stack, to the first of all.  ptxas limits the registers of a thread so that more
 * blocks fit on a multiprocessor, and spills what does not fit.  No formula predicts which tile
 * sizes spill. ERR_CANCEL. */
bool expert_first_without_stack(const char *spec, const struct expert_schedule *s, int n,
                                const struct cancel *c, int *best, struct err *e);
/* Rates the program of a schedule. A program whose kernels need stack is rated as well. */
bool expert_rate(const struct program *p, const struct gpu_memory_opts *o, const struct cancel *c,
                 struct expert_rating *out, struct err *e);
/* Sets *best to the schedule with the least simulated time among those that NVRTC compiles without
 * stack.  Without NVRTC, all schedules are considered.  Schedules that cannot be simulated are
 * skipped. ERR_WRONG when none is left. */
bool expert_least_simulated(const char *spec, const struct expert_schedule *s, int n,
                            const struct gpu_memory_opts *o, const struct progress *pr,
                            const struct cancel *c, int *best, struct expert_rating *rating,
                            struct err *e);
#endif
