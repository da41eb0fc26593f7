/* Samples times: calls contenders and the ceiling in turns, in batches that are long enough for the
 * clock. */
#ifndef TS_PROFILE_SAMPLING_H
#define TS_PROFILE_SAMPLING_H
#include "profile/child/protocol.h"
#include "profile/child/stats.h"

/* A kernel whose call takes this long needs no warm-up, and one sample can be enough, because
 * interruptions are short compared with the call. */
#define SAMPLING_LONG_S 20e-3

typedef void kernel_fn(void *const *buffers);

/* Something to sample.  If team > 0, it is the ceiling in its own process on `team` threads.  Else
 * it is the first of these members that is set: run_device (calls on a device), run (a function of
 * buffers), run_vendor (a primitive of a vendor library).  If none is set, the entry is unused. */
struct work {
    kernel_fn *run;
    void *const *buffers;
    /* Makes n calls on a device and stores the seconds of all of them by the device's clock.
     * Returning false ends the sampling. */
    bool (*run_device)(void *ctx, long n, double *seconds);
    void *device;                         /* the ctx of run_device */
    bool (*run_vendor)(struct vendor_handle *h);
    struct vendor_handle *vendor;
    int team;
    long batch;                           /* calls per sample */
    double call_s;                        /* seconds per call in the last batch; 0 = none yet */
    /* steady: whether the first result was right, so that later results must equal it. first_s:
     * seconds of the first call; 0: unknown. */
    bool steady;
    double first_s;
    int64_t calls;                        /* calls since the kernel was loaded */
};

/* Callbacks of the sampling. If one returns false, the sampling ends. renew: gives all buffers new
 * pages with the same contents. chill: removes the data of the contender from all caches. poison:
 * overwrites what a steady contender writes, either all elements or a few. same: whether the
 * last call of a steady contender left the right result. ceiling: makes the calls that struct
 * ceiling_ask describes, and stores the seconds per call. */
struct sampling_hooks {
    bool (*renew)(void *ctx);
    void (*chill)(void *ctx, int contender);
    void (*poison)(void *ctx, int contender, bool all);
    bool (*same)(void *ctx, int contender);
    bool (*ceiling)(void *ctx, int team, long batch, double *seconds);
    void *ctx;
};

/* Warms up, then samples in rounds.  The index of work[] and sh->sample is an enum series.
 * Sampling ends when q->time_s is over and there were min_runs rounds, when most_s is over, when
 * sh->sample is full, or when a callback ends it.  If give_up_s is not 0, sampling also ends after
 * a round (after a few rounds for short calls) if all samples of contenders took longer than
 * give_up_s.  A single kernel on one thread gets no warm-up when all its first calls take more than
 * twice give_up_s.  Appending needs no warm-up.
 *
 * Each round samples each entry of work[] once, in a new random order.  The time is divided into
 * q->epochs epochs; each epoch except the first renews the buffers.
 *
 * Hot samples: something else may have used the caches, so a short kernel is called once, untimed,
 * before its sample.  This happens if there are several contenders, after a renewal or a check,
 * and, for very short kernels, also if the ceiling is sampled.  Cold samples: each sample is one
 * call; on a CPU, the cost of reading the clock is subtracted.  The ceiling has no cold samples.
 *
 * The results of steady contenders are checked before the warm-up (not when appending), between
 * rounds (for a small share of the time), and at the end.  A check first asks whether the last call
 * left the right result.
 * Then it overwrites results and asks whether a few untimed calls produce the right result again.
 * Cold and long kernels are not called an extra time: their results are overwritten before each
 * sample and checked after it. */
void sampling_run(struct work work[SERIES_COUNT], const struct request *q,
                  const struct sampling_hooks *hooks, struct shared *sh);

/* Returns the rate of the ceiling: the calls per second of a team of `threads` threads on `cores`
 * cores; 0: the ceiling was not sampled.  Let n be the smaller of threads and cores, because more
 * threads than cores take turns.  The result is n times the higher of two rates: the rate of one
 * thread of the team, and the rate of one core alone.  A team on a busy machine waits for its
 * slowest thread. */
double sampling_ceiling(const struct summary *team, const struct summary *one_core, int threads,
                        int cores);
#endif
