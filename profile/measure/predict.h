/* Predicts the cache misses of a program before anything is compiled. An interpreter walks the code
 * (kernels/gen/walk.h), and the simulator gets a sample of the code's accesses. */
#ifndef TS_PROFILE_PREDICT_H
#define TS_PROFILE_PREDICT_H
#include "kernels/gen/gen.h"
#include "profile/measure/measurement.h"

struct predict_opts {
    /* the caches, of which only L1 is simulated; all 0: the caches of this host */
    struct cache_config cache;
    const struct target *target;         /* NULL: the best of this CPU */
    /* Number of accesses above which a sample is simulated; 0: 1e6.  With a budget below 1e6, L1 is
     * also warmed up less before each part of the sample. */
    double budget;
    double limit_s;                      /* seconds after which to give up; 0: never */
    bool conflicts;                      /* also count conflict misses, which takes twice as long */
};

/* Misses of L1 in one run.  accesses: number of accesses of the run.  fraction: the share of the
 * accesses that was simulated and counted; if it is 1, the misses are exact. error: as in struct
 * sim_result.  conflicts: the misses that a fully associative cache of the same size would not
 * have; -1: not asked for, or the buffers are too large for counting them.  miss_bytes: the size of
 * the lines that the misses load.  cycles: struct gen_work, out_of_order; 0: unknown. */
struct prediction {
    int64_t l1_misses, conflicts;
    double accesses, fraction, error, miss_bytes;
    struct gen_cycles cycles;
};

/* Predicts the misses of p. ERR_TIMEOUT when the limit was reached; ERR_CANCEL; ERR_RANGE when the
 * cache cannot be simulated. */
bool predict_misses(const struct program *p, const struct predict_opts *o, const struct cancel *c,
                    struct prediction *out, struct err *e);
/* Returns the cache to simulate: the L1 of *c, or the L1 of this host if *c has no levels. */
struct cache_config predict_cache(const struct cache_config *c);
#endif
