/* Small random operators of every family. */
#ifndef TS_TESTS_RANDOM_OPS_H
#define TS_TESTS_RANDOM_OPS_H
#include "kernels/base/rng.h"
#include "kernels/ops/graph.h"

/* A spec of that family; most are valid, some have kernels that do not fit (ERR_RANGE). */
const char *random_operator(struct arena *a, struct rng *r, const struct op_family *f);
const struct op_family *random_family(struct rng *r);
#endif
