/* Schedules for a GPU, rated by simulation where no device can time them. */
#ifndef TS_EXPLORER_EXPERT_SIMULATED_H
#define TS_EXPLORER_EXPERT_SIMULATED_H
#include "explorer/expert/expert.h"
#include "profile/measure/gpu_memory.h"

/* The properties of a schedule that are known without a device.  compiled: whether NVRTC has
 * compiled its kernels; if not, the members after it are 0.  registers (per thread), shared and
 * stack (bytes) are the largest values of any of its kernels; occupancy is the smallest. */
struct expert_rating {
    struct gpu_cost cost;
    /* The simulated time in nanoseconds, by which schedules are ranked.  It is cost.ns; but if the
     * kernels are compiled, and only w < EXPERT_WARPS warps fit on a multiprocessor, it is
     * cost.ns * EXPERT_WARPS / w, because so few warps do not hide latencies. */
    double ns;
    bool compiled;
    int registers;
    int64_t shared, stack;
    double occupancy;
};
#define EXPERT_WARPS 8                    /* two per scheduler: our choice, not from a data sheet */
/* if the threads of a program make more accesses, only a sample of its blocks is simulated */
#define EXPERT_RATED_ACCESSES 1e6
/* Sets *best to the first of n schedules whose kernels need no stack memory once NVRTC has compiled
 * them.  Without NVRTC, or if there is no such schedule, *best is 0.  Kernels need stack because
 * ptxas limits the registers of a thread, so that more blocks fit on a multiprocessor, and spills
 * what does not fit.  No formula predicts which tile sizes spill.  ERR_CANCEL: it was cancelled. */
bool expert_first_without_stack(const char *spec, const struct expert_schedule *s, int n,
                                const struct cancel *c, int *best, struct err *e);
/* Rates the program of a schedule, even if its kernels need stack. */
bool expert_rate(const struct program *p, const struct gpu_memory_opts *o, const struct cancel *c,
                 struct expert_rating *out, struct err *e);
/* Considers the schedules that can be simulated and whose kernels need no stack once NVRTC has
 * compiled them; without NVRTC, all that can be simulated.  Sets *best to the one with the least
 * simulated time, and *rating to its rating.  ERR_WRONG: there is none.  ERR_CANCEL: it was
 * cancelled. */
bool expert_least_simulated(const char *spec, const struct expert_schedule *s, int n,
                            const struct gpu_memory_opts *o, const struct progress *pr,
                            const struct cancel *c, int *best, struct expert_rating *rating,
                            struct err *e);
#endif
