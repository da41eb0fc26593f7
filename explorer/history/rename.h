/* Renames the loops and dimensions that a step names, when they were split or joined since. */
#ifndef TS_EXPLORER_RENAME_H
#define TS_EXPLORER_RENAME_H
#include "kernels/program/program.h"

#define RENAMES_MAX 16

/* Lists the lines that the step may have meant for p, in which it does not apply: a name O that is
 * gone is O.0 or O.1 where O was split, and O.1 is O where it is whole again; a list of names takes
 * all parts.  Only lines that apply are listed, at most RENAMES_MAX.  They live in a; returns their
 * number.  When there is none, but some name was replaced, *why is why the new line does not apply;
 * else *why stays. */
int rename_step(struct arena *a, const struct program *p, const struct step *s,
                const char *line[RENAMES_MAX], struct err *why);
#endif
