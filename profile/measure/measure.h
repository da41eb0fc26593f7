/* Builds, checks, times and counts one program, or compares several.
 *
 * A kernel runs in a child process (tilescope-runner) with time and memory limits, on buffers
 * between guard pages.  Before the kernel is timed, its result on random data is compared with the
 * float64 reference.  Results of later calls are compared, too: a wrong kernel has no time.  Kernel
 * and FMA ceiling are sampled alternately, the ceiling in its own process, so that peak_fraction is
 * a ratio within one run (PERF.md, noise). */
#ifndef TS_PROFILE_MEASURE_H
#define TS_PROFILE_MEASURE_H
#include "profile/measure/measurement.h"

/* Measures one program.  *m is always filled; outcome and reason say how it went.  False, with
 * *e, only on a cancel or when the environment lacks something: a failed candidate is a result
 * and not an error. */
bool measure_program(const struct program *p, const struct measure_opts *o,
                     const struct progress *pr, const struct cancel *c, struct measurement *m,
                     struct err *e);

/* Compares at most MEASURE_MAX_COMPARED programs; a program may occur twice.  Each is built and
 * checked as above.  Then the right ones are timed in one child, in shuffled rounds, and compared
 * with the first right one.  The clock is the only meter.
 *
 * o->time_s = 0 stands for 1 s.  A program that fails is a result, and the others are timed without
 * it.  The first right program, and programs that are not timed, have ratio 0 and VERDICT_NONE.  A
 * program with the same source as the first right one has VERDICT_SAME (without an interval,
 * VERDICT_NONE): any difference of their times is noise.
 *
 * Programs for a GPU are timed on it after their host twins (the same loops, run on the CPU) were
 * found right.  Without a GPU they are only checked, m.device has the reason, and there are no
 * rounds.  ERR_RANGE when only some of the programs are for a GPU. */
#define MEASURE_MAX_COMPARED 6
struct compared {
    struct measurement m;
    struct ratio ratio;                  /* its time over the time of the first right program */
    enum verdict verdict;
    bool same_code;                      /* its source is that of the first right program */
};
/* rounds: number of sampled rounds. epochs: number of epochs in which they were sampled (the blocks
 * of stats_ratio). disturbed: the share of the rounds in which the ceiling was slow
 * (stats_disturbed); NAN: no ceiling was sampled. */
struct comparison { int rounds, epochs; double disturbed; };
bool measure_compare(const struct program *const *p, int n, const struct measure_opts *o,
                     const struct progress *pr, const struct cancel *c, struct compared *out,
                     struct comparison *how, struct err *e);
/* Like measure_compare, for two programs or more, in groups. Each group contains the first program,
 * to which all ratios refer. out[0] and *how are those of the last group. ERR_RANGE if the first
 * program fails. */
bool measure_compare_each(const struct program *const *p, int n, const struct measure_opts *o,
                          const struct progress *pr, const struct cancel *c, struct compared *out,
                          struct comparison *how, struct err *e);
#endif
