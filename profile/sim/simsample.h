/* Simulating a part of the iterations of a kernel's outer loops, and what that says of the whole.
 *
 * Each marked loop of the twin (gen.h) with many accesses is a population of iterations.  Its first
 * ones are simulated and counted as they are: that is where a cache warms up.  The rest is cut into
 * periods of equal length.  At a random place in each, a few iterations warm the cache without
 * being counted, and as many are counted; everything else is left out.  Misses of the counted
 * iterations, times the iterations that each stands for, estimate the rest.
 *
 * error: the standard error of stratified sampling, from the spread between the periods, and half
 * the difference between the first and the second half of the counted iterations, which shows what
 * warming up left undone. */
#ifndef TS_PROFILE_SIMSAMPLE_H
#define TS_PROFILE_SIMSAMPLE_H
#include "profile/sim/cachesim.h"
#include "profile/sim/sim_result.h"

#define SIMSAMPLE_MAX_MARKS 64

/* A marked loop: how often its body runs, and the accesses of one iteration. */
struct sample_loop { double iterations, accesses; };

struct simsample;
/* all: the accesses of the whole kernel; when they fit the budget, nothing is left out.  Fewer than
 * eight samples, each long enough for l1_lines, are never taken, whatever the budget: then a loop
 * costs more than its share, and one that is not much longer is simulated whole. */
struct simsample *simsample_open(int n_sites, int n_loops, const struct sample_loop *loop,
                                 double all, double budget, int64_t l1_lines, uint64_t seed);
/* Will something be left out?  Then only L1 should be simulated: a larger cache is not warm after
 * so few iterations, and nothing would tell how wrong its counts are. */
bool simsample_cuts(const struct simsample *p);
/* Why more is simulated than the budget allows: "all of 2e+09 accesses, beyond the budget of 1e+06:
 * a loop with ..."; "" when it is kept. */
#define SIMSAMPLE_HOW SIM_HOW
const char *simsample_how(const struct simsample *p);
/* The simulator that the counts come from, not used yet; it stays the caller's. */
void simsample_watch(struct simsample *p, const struct cachesim *s);
void simsample_free(struct simsample *p);
/* At the head of an iteration of a loop (-1: behind one): true: leave it out. */
bool simsample_skip(struct simsample *p, int loop);
/* The part of the accesses that has been simulated or left out. */
double simsample_done(const struct simsample *p);
/* After the run: estimates of the whole kernel's counts; the part of its accesses that was counted;
 * the relative standard error of L1's misses. */
void simsample_close(struct simsample *p, struct site_count *site,
                     struct level_count level[CACHE_LEVELS], double *fraction,
                     double *error);
#endif
