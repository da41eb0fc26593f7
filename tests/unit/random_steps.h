/* Random steps on a program, as text in arena a; many are illegal and will be refused. */
#ifndef TS_TESTS_RANDOM_STEPS_H
#define TS_TESTS_RANDOM_STEPS_H
#include "kernels/base/rng.h"
#include "kernels/program/program.h"

const char *random_layout_step(struct arena *a, struct rng *r, const struct program *p);
const char *random_loop_step(struct arena *a, struct rng *r, const struct program *p);
#endif
