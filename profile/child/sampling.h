/* The clock: batches long enough for it, contenders and ceiling in turns, and what the samples
 * say. */
#ifndef TS_PROFILE_SAMPLING_H
#define TS_PROFILE_SAMPLING_H
#include "profile/child/protocol.h"
#include "profile/child/stats.h"

/* A call that takes so long is warm after one, and an interruption is short to it: one sample
 * tells. */
#define SAMPLING_LONG_S 20e-3

typedef void kernel_fn(float *const *buffers);

/* A thing to sample: a function of buffers, a library's primitive, or (team > 0) the ceiling in its
 * own process, on so many threads at once; none of them = not this one. */
struct work {
    kernel_fn *run;
    float *const *buffers;
    bool (*run_vendor)(struct vendor_handle *h);
    struct vendor_handle *vendor;
    int team;
    long batch;
    double call_s;                        /* in the last batch; 0 = none yet */
    /* Its result is known to be right, and is looked at again.  first_s: what the call took that
     * was checked. */
    bool steady;
    double first_s;
    int64_t calls;                        /* that were made of it, with those before */
};

/* What the sampling asks of the buffers.  Renew: new pages, the same contents; false ends the
 * sampling.  Chill: nothing of the contender stays in a cache.  Of steady contenders: spoil writes
 * over the results, over all of them or over a few elements; same tells whether the last call left
 * the right ones, and ends the sampling when it did not.  Ceiling: as struct ceiling_ask; false
 * ends the sampling. */
struct sampling_hooks {
    bool (*renew)(void *ctx);
    void (*chill)(void *ctx, int contender);
    void (*spoil)(void *ctx, int contender, bool all);
    bool (*same)(void *ctx, int contender);
    bool (*ceiling)(void *ctx, int team, long batch, double *seconds);
    void *ctx;
};

/* Warms up, then samples the works, one for each enum series, in rounds into sh->sample until
 * request->time_s is over and there are min_runs of each, or most_s is over, or after a round (a
 * few of short calls) in which every contender took longer than give_up_s, if that is not 0; one
 * thread that is alone is not even warmed up when its first calls (one long one, a few short ones)
 * all take twice as long.  Appending needs no warm-up.
 * Each round samples each work once, in a new order, so that no contender always follows the same
 * other; for each of request->sittings equal parts of the time the buffers are renewed.  Hot: with
 * several contenders, and after a renewal, a short one is called once before its sample.  Cold: a
 * sample is one call, with the cost of reading the clock taken off; only contenders are
 * sampled.
 * Steady contenders are inspected: that the last call left the right result, then that a few more
 * calls (never timed) give it again over spoilt ones.  This is done before the warm-up, after
 * rounds for a small share of the time, and at the end.  Cold and long calls are not called once
 * more: their results are spoilt before each sample, and looked at after it. */
void sampling_run(struct work work[SERIES_COUNT], const struct request *q,
                  const struct sampling_hooks *hooks, struct shared *sh);

/* How many calls of the ceiling a second `threads` of them can make on `cores`: what the team did,
 * or what one core did so many times over when that is more (a team on a busy machine waits for its
 * slowest thread).  0: not sampled. */
double sampling_ceiling(const struct summary *team, const struct summary *one_core, int threads,
                        int cores);
#endif
