/* Build, check, time and count one program: the only way a number gets into tilescope.
 *
 * The kernel runs in a child process (tilescope-runner) with time and memory limits on buffers
 * fenced by guard pages.  It is compared with the float64 reference on random data before it is
 * timed, and so is what later calls leave: a wrong kernel has no time.  Kernel and FMA ceiling are
 * sampled alternately, the ceiling in a process of its own, so peak_fraction is a ratio of one run
 * (PERF.md, noise). */
#ifndef TS_PROFILE_MEASURE_H
#define TS_PROFILE_MEASURE_H
#include "profile/measure/measurement.h"

/* Fills *m in every case (outcome and reason say how it went).  False only when the environment
 * lacks something or on a cancel, with *e; a bad candidate is a result, not an error. */
bool measure_program(const struct program *p, const struct measure_opts *o,
                     const struct progress *pr, const struct cancel *c, struct measurement *m,
                     struct err *e);

/* Programs against each other: each is built and checked as above, then all that are right are
 * timed in one child, in shuffled rounds, each against the first of them.  The clock is the only
 * meter; time_s 0 = 1.  Up to MEASURE_MAX_COMPARED; the same program may be there twice.  A program
 * that fails is a result, and the others are timed without it.  ratio 0 and VERDICT_NONE: the
 * first, or not timed. */
#define MEASURE_MAX_COMPARED 6
struct compared {
    struct measurement m;
    struct ratio ratio;                  /* of its time over the first one's */
    enum verdict verdict;
};
/* Rounds that were sampled, and the sittings that they were drawn in (stats_ratio's blocks). */
struct comparison { int rounds, sittings; double disturbed; };
bool measure_compare(const struct program *const *p, int n, const struct measure_opts *o,
                     const struct progress *pr, const struct cancel *c, struct compared *out,
                     struct comparison *how, struct err *e);
#endif
