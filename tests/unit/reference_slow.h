/* The slow reference that the fast one is compared with: every point of every node, every index by
 * expr_eval, every access checked. */
#ifndef TS_TESTS_REFERENCE_SLOW_H
#define TS_TESTS_REFERENCE_SLOW_H
#include "kernels/ops/graph.h"

void reference_eval_slow(const struct graph *g, double *const *data);
#endif
