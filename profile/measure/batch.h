/* Measures many candidates of one operator one after the other, for a search.
 *
 * Kernels, checks and clock are those of measure_program, arranged so that a candidate costs
 * little:
 * - Candidates are compiled in parts, several to a compiler call, one compiler per CPU at low
 * priority.  While a part is timed, compilers on idle cores compile the next part, one on each
 * core; CPUs that share a core with the kernel stay idle.
 * - Data, the float64 reference and the child are made once.  The child gets the buffers of one
 * candidate after the other, in the same pages when the buffers have the same size.  After a
 * failure, and after 64 candidates, the child is replaced.
 * - A candidate is checked before it is timed.  A candidate whose first call is far slower than
 * the fastest one so far is not called again.  A candidate near the fastest is sampled longer.
 * - The results of later calls are checked too, in less time than measure_program takes for this.
 * - The clock is the only meter, without the FMA ceiling and baselines.  The share of other work
 * (latency.others) is unknown for candidates beside which the batch's own compilers run.
 *
 * A batch belongs to one thread. */
#ifndef TS_PROFILE_BATCH_H
#define TS_PROFILE_BATCH_H
#include "profile/measure/measure.h"

/* given_up: a call took more than give_up_ratio times as long as a call of the fastest candidate,
 * so the latency is from a few calls. compile_s: seconds for writing the candidate's C, plus its
 * share of the compiler calls. measure_s: seconds for loading, checking and timing it. */
struct batch_item {
    const struct program *p;
    /* code: C source by program_text_code; NULL: batch_run writes the source. openmp: whether
     * `code` uses OpenMP */
    const char *code; bool openmp;
    struct measurement m;
    double compile_s, measure_s;
    bool given_up;
};

struct batch_opts {
    /* meters, baselines, cold and detail are ignored. time_s (0 = 0.02) and min_runs (0 = 3) are
     * for the first samples of a candidate; a candidate near the fastest gets more. If candidates
     * can be given up and a call takes 20 ms or more, there is only one first sample. */
    struct measure_opts measure;
    int jobs;  /* compilers that run at a time; 0 = one per CPU */
    /* Whether to split a run into parts, so that a search that is killed again and again still
     * makes progress.  In the first part of a batch each compiler has one candidate.  Each later
     * part has at most twice the candidates of the part before.  If one part is compiled while
     * another is timed, a part also has at most two candidates per compiler. */
    bool soon;
    int per_call;                        /* most kernels per compiler call, up to 64; 0 = 8 */
    /* CPU seconds that a compiler call may take, 0 = 5; every two kernels in the
     * call add one second */
    int compile_cpu_s;
    /* see given_up of struct batch_item; 0 = 3; < 0: no candidate is given up */
    double give_up_ratio;
    /* Time limit of a call, as a multiple of the fastest call (at least 2 s). A call that takes
     * longer is killed and counts as a timeout. 0 = the lesser of 100 times the fastest call, and
     * 10 times the fastest call plus one second. The limit is never more than measure.limit_s. */
    double kill_ratio;
    /* Called for each item as soon as it is final, in order, except for cancelled items.  May be
     * NULL. */
    void (*measured)(void *ctx, struct batch_item *item);
    void *ctx;
};

struct batch;
/* Opens a batch for candidates of the operator of p, and computes the reference.  Fails as
 * oracle_acquire does. */
bool batch_new(const struct program *p, const struct batch_opts *o, const struct cancel *c,
               struct batch **out, struct err *e);
void batch_free(struct batch *b);        /* NULL is allowed */

/* Measures n items, whose programs have the operator of the batch.  If a candidate fails, the run
 * goes on; the item tells the outcome.  A candidate whose compiler or child another process kills
 * is tried again.  If this happens twice, the item gets OUTCOME_ENV (compiler) or OUTCOME_CRASH
 * (child).  After three such candidates in a row the run fails with ERR_ENV.
 *
 * Returns false only on a cancel, or when the environment lacks something.  Final items remain
 * final; the others get OUTCOME_CANCEL or OUTCOME_ENV.  Reports "compiling" and "measuring". */
bool batch_run(struct batch *b, struct batch_item *item, int n, const struct progress *pr,
               const struct cancel *c, struct err *e);

/* Tells the batch a latency that the caller knows.  give_up_ratio and kill_ratio refer to the least
 * of best_ms and the latencies of all OK items. */
void batch_expect(struct batch *b, double best_ms);

/* Statistics of all runs: times in seconds of wall clock, and the outcomes of the candidates. */
struct batch_stats {
    double compile_s, measure_s;
    int compiler_calls, cached;          /* cached: candidates that needed no compiler */
    int children;                        /* number of children started */
    int given_up, of[OUTCOME_COUNT]; /* of: number of candidates by enum outcome */
};
struct batch_stats batch_stats(const struct batch *b);
#endif
