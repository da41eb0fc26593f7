/* Running a program in the test process: by the interpreter of lowered trees, against the float64
 * reference. */
#ifndef TS_TESTS_RUN_PROGRAM_H
#define TS_TESTS_RUN_PROGRAM_H
#include "kernels/program/program.h"

/* Fills inputs and constants from seed, packs them, interprets the lowered program, unpacks the
 * outputs and returns max |got - ref| / max(|ref|, rms(ref)) over all outputs; NaN when an element
 * was never written. */
double program_interpret_error(const struct program *p, uint64_t seed);
#endif
