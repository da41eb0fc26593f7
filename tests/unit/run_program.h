/* Running a program in the test process: by the interpreter of lowered trees, against the float64
 * reference. */
#ifndef TS_TESTS_RUN_PROGRAM_H
#define TS_TESTS_RUN_PROGRAM_H
#include "kernels/program/program.h"

/* Fills inputs and constants from seed, packs them, interprets the lowered program, unpacks the
 * outputs and returns by how much of its bound the worst element is off (oracle.h): up to 1 is
 * right; far above where an element was never written. */
double program_interpret_of_bound(const struct program *p, uint64_t seed);

/* The same with data: logical[t] per tensor of p->graph, row-major; inputs and constants are given,
 * outputs are written.  False when the program cannot be lowered. */
bool program_interpret(const struct program *p, float *const *logical, struct err *e);
#endif
