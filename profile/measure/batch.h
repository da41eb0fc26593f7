/* Many candidates of one operator, one after the other: what a search measures.
 *
 * The same kernels, checks and clock as measure_program, arranged so that a candidate costs little:
 * - all of a run are compiled first, several to a compiler call, one compiler per core at low
 *   priority; only when none of them is left does the clock start;
 * - data, the float64 reference and the child are made once; the child gets the next candidate's
 *   buffers, in the same pages when they are as large, and is replaced after whatever failed;
 * - a candidate is checked before it is timed.  One whose first call is far slower than the fastest
 *   so far is not called again; one that is near it is sampled longer;
 * - what later calls leave is compared as well, in less time than measure_program takes for it;
 * - no ceiling, no baselines, no meter but the clock: who wins is measured again by
 *   measure_compare.
 * A batch belongs to one thread. */
#ifndef TS_PROFILE_BATCH_H
#define TS_PROFILE_BATCH_H
#include "profile/measure/measure.h"

/* given_up: its latency is of a few calls, and slower than give_up_ratio times the fastest.
 * compile_s: its share of the compiler calls, in one core's time; measure_s: loading, checking and
 * timing. */
struct batch_item {
    const struct program *p;
    const char *code; bool openmp;       /* of program_text_code, where it is known; else NULL */
    struct measurement m;
    double compile_s, measure_s;
    bool given_up;
};

struct batch_opts {
    /* Of every candidate: threads, seed, limit_s, memory_bytes, huge_pages, compiler, isa, runner.
     * time_s (0 = 0.02) and min_runs (0 = 3) are of one that is not near the fastest; a call of
     * 20 ms and more is sampled once then. */
    struct measure_opts measure;
    int jobs;                            /* compilers at a time; 0 = as many as cores */
    /* A run is done in parts: of the first one of the batch every compiler has one candidate, each
     * later part has at most twice as many as the one before.  A search that is killed again and
     * again then has something to show each time. */
    bool soon;
    int per_call;                        /* kernels a compiler call at most; 0 = 8 */
    int compile_cpu_s;                   /* that the compiler may use for a kernel; 0 = 5 */
    double give_up_ratio;                /* 0 = 3; < 0: nothing is given up, or sampled only once */
    /* A call may take so many times the fastest, or 0.5 s when that is more; then it is killed, a
     * timeout.  0 = 100, or 10 and a second when that is less; never more than measure.limit_s. */
    double kill_ratio;
    /* Called as soon as an item is final, in their order, not for those that were cancelled; may be
     * NULL. */
    void (*measured)(void *ctx, struct batch_item *item);
    void *ctx;
};

struct batch;
/* For candidates of p's operator.  Computes the reference.  ERR_CANCEL, ERR_ENV. */
bool batch_new(const struct program *p, const struct batch_opts *o, const struct cancel *c,
               struct batch **out, struct err *e);
void batch_free(struct batch *b);        /* NULL is fine */

/* Fills in n items, of which p and code are given; the programs are of the batch's operator.  Bad
 * candidates are results, and so is OUTCOME_ENV for one whose compiler somebody killed twice: of
 * three in a row that were killed, the environment is to blame.  A process that is killed is
 * tried again; that of the same candidate twice is its crash.  False only on a cancel, or when
 * the environment lacks something; what was final before stays, the others have OUTCOME_CANCEL or
 * OUTCOME_ENV.  Reports "compiling" and "measuring". */
bool batch_run(struct batch *b, struct batch_item *item, int n, const struct progress *pr,
               const struct cancel *c, struct err *e);

/* The latency that give_up_ratio and kill_ratio refer to: the least of all OK items, or what a
 * caller knows from elsewhere when that is less. */
void batch_expect(struct batch *b, double best_ms);

/* What all runs took, and what became of the candidates; seconds by the clock on the wall. */
struct batch_stats {
    double compile_s, measure_s;
    int compiler_calls, cached;          /* cached: candidates that needed none */
    int children;                        /* that were started */
    int given_up, of[OUTCOME_COUNT]; /* of: by enum outcome */
};
struct batch_stats batch_stats(const struct batch *b);
#endif
