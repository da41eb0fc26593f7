/* Simulates only a part of the iterations of the outer loops of a kernel, and estimates the whole
 * from it.
 *
 * Each marked loop (gen.h) with many accesses is a population of iterations.  The first ones are
 * simulated and counted completely, because the cache warms up there.  The rest is divided into
 * periods of equal length.  At a random place in each period a few iterations warm the cache
 * without being counted, and the same number of iterations after them is counted.  All other
 * iterations are skipped, and so are the last ones, which do not fill a period.  The misses of the
 * counted iterations, times the number of iterations that each of them represents, estimate the
 * rest.
 *
 * The error of the estimate has two parts: the standard error of stratified sampling, from the
 * spread between periods, and half the difference between the first and the second half of the
 * counted iterations, which shows whether warming was too short. */
#ifndef TS_PROFILE_SIMSAMPLE_H
#define TS_PROFILE_SIMSAMPLE_H
#include "profile/sim/cachesim.h"
#include "profile/sim/sim_result.h"

#define SIMSAMPLE_MAX_MARKS 64

/* A marked loop: how often its body runs, and the accesses of one iteration. */
struct sample_loop { double iterations, accesses; };

struct simsample;
/* Plans the sampling. all: the accesses of the whole kernel; if they fit the budget, nothing is
 * skipped.  Each sampled loop has at least eight samples, each long enough to warm l1_lines lines,
 * even if these samples exceed the budget.  A loop is simulated completely if it is too short for
 * eight samples, has fewer than 64 iterations, or makes at most 1/8 of the budget in accesses. */
struct simsample *simsample_open(int n_sites, int n_loops, const struct sample_loop *loop,
                                 double all, double budget, int64_t l1_lines, uint64_t seed);
/* Whether iterations will be skipped.  Only L1 should be simulated then: a larger cache is not
 * warm after so few iterations, and its error would be unknown. */
bool simsample_cuts(const struct simsample *p);
/* If more than 1.25 times the budget is simulated, returns the reason: "simulated all 2e+09
 * accesses, more than the budget of 1e+06: a loop with ...".  Else returns "". */
#define SIMSAMPLE_HOW SIM_HOW
const char *simsample_how(const struct simsample *p);
/* Sets the simulator whose counts are read. It must be new; the caller owns it. */
void simsample_watch(struct simsample *p, const struct cachesim *s);
/* Sets a counter of conflict misses in L1, *conflicts, which the caller updates during the
 * simulation. After simsample_close, simsample_estimated returns an estimate of what the counter
 * would be for the whole kernel. */
void simsample_conflicts(struct simsample *p, const int64_t *conflicts);
int64_t simsample_estimated(const struct simsample *p);
void simsample_free(struct simsample *p);
/* To be called when an iteration of marked loop `loop` begins, and with -1 when a marked loop has
 * ended. Returns whether to skip the iteration. */
bool simsample_skip(struct simsample *p, int loop);
/* Returns the share of the accesses, 0..1, that lies in the iterations begun or skipped so far. */
double simsample_done(const struct simsample *p);
/* Stores the counts of the whole kernel after the run, which are estimates if iterations were
 * skipped.  Stores the share of the accesses that was counted, and the relative standard error of
 * the L1 misses. */
void simsample_close(struct simsample *p, struct site_count *site,
                     struct level_count level[CACHE_LEVELS], double *fraction,
                     double *error);
#endif
