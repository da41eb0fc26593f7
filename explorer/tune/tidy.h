/* Simplifies a schedule to the lines that a person would type: layouts first, no lines without
 * effect. */
#ifndef TS_EXPLORER_TUNE_TIDY_H
#define TS_EXPLORER_TUNE_TIDY_H
#include "kernels/base/arena.h"
#include "kernels/base/err.h"
#include "kernels/gen/target.h"

/* Finds the lines of a program that are needed to generate the same C, in arena a.  Lines that
 * cannot be moved or dropped without changing the C remain.  target: of the C; NULL: the best CPU
 * target, or a GPU if loops are bound.  Fails if the lines do not generate C. */
bool tidy_lines(struct arena *a, const char *spec, const struct target *target,
                const char *const *line, int n, const char *const **out, int *n_out, struct err *e);
/* Whether the lines x and y generate the same C, except for names, comments and blanks.  False also
 * if x or y generates no C. */
bool tidy_same(const char *spec, const struct target *target, const char *const *x, int n_x,
               const char *const *y, int n_y);
#endif
