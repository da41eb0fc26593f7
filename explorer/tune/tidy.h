/* Simplifies a schedule to what a person would have typed: layouts first, no lines without
 * effect. */
#ifndef TS_EXPLORER_TUNE_TIDY_H
#define TS_EXPLORER_TUNE_TIDY_H
#include "kernels/base/arena.h"
#include "kernels/base/err.h"
#include "kernels/gen/target.h"

/* Returns those lines of a program that generate the same C as all of them, for target (NULL: this
 * CPU's best), in arena a.  Lines that cannot be moved or left out without changing it remain.
 * Errors of the lines as of program_replay. */
bool tidy_lines(struct arena *a, const char *spec, const struct target *target,
                const char *const *line, int n, const char *const **out, int *n_out, struct err *e);
/* Whether the lines x and y generate the same C, except for names of loops, comments and blanks.
 * False also when x or y generates no C. */
bool tidy_same(const char *spec, const struct target *target, const char *const *x, int n_x,
               const char *const *y, int n_y);
#endif
