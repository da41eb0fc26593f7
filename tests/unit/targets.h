/* Targets that no row of target.def is. */
#ifndef TS_TESTS_TARGETS_H
#define TS_TESTS_TARGETS_H
#include "kernels/gen/target.h"

/* This machine's target with vectors of so many floats, and so many registers; lives on. */
const struct target *target_with(int lanes, int registers);
#endif
