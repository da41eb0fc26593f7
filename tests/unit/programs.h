/* Programs for tests: an operator with steps, and the nine operators of ALT 7.1 in small. */
#ifndef TS_TESTS_PROGRAMS_H
#define TS_TESTS_PROGRAMS_H
#include "kernels/program/program.h"

/* The nine operators, with borders, strides and sizes that no block of a GPU divides. */
#define NINE 9
extern const char *const nine[NINE];

/* Returns the operator with n steps; the test fails at one that is refused. */
const struct program *program_with(struct arena *a, const char *spec, const char *const *line,
                                   int n);
const struct program *program_bare(struct arena *a, const char *spec);
/* Fails the test unless p takes all of the steps but the last, and the error of that one has these
 * texts in what it says and in its fix.  The list ends with NULL, or after `most` steps; row: its
 * number, for messages. */
void program_refuses(const struct program *p, int row, const char *const *step, int most,
                     const char *text, const char *fix);
/* Prints the operator and the steps of p. */
void program_say(const struct program *p);
#endif
