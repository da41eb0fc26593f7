/* A schedule as a person would have typed it: layouts first, without lines that do nothing. */
#ifndef TS_EXPLORER_TUNE_TIDY_H
#define TS_EXPLORER_TUNE_TIDY_H
#include "kernels/base/arena.h"
#include "kernels/base/err.h"
#include "kernels/gen/target.h"

/* The lines of a program that generate the same C as all of them, for target (NULL: this CPU's
 * best), in arena a.  What cannot be moved
 * or left out without changing it stays.  Errors of the lines as program_replay. */
bool tidy_lines(struct arena *a, const char *spec, const struct target *target,
                const char *const *line, int n, const char *const **out, int *n_out, struct err *e);
/* Do both generate the same C, but for the names of loops, comments and blanks?  False as well when
 * one of them generates none. */
bool tidy_same(const char *spec, const struct target *target, const char *const *x, int n_x,
               const char *const *y, int n_y);
#endif
