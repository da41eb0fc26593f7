/* Integer factors of extents: the values of the knobs of the search spaces (SPEC D.1, D.5). */
#ifndef TS_EXPLORER_SPACE_FACTOR_H
#define TS_EXPLORER_SPACE_FACTOR_H
#include <stdint.h>
#include "kernels/base/arena.h"

/* Returns the divisors of n >= 1, ascending, in arena a; *count is their number. */
const int64_t *factor_divisors(struct arena *a, int64_t n, int *count);
int64_t factor_count_divisors(int64_t n);
/* Returns sizes of blocks for n elements, ascending, in arena a: the divisors of n; and sizes that
 * do not divide n, but are up to 8 vectors of 8 or 16 lanes.  Such a size pads the last block, by
 * at most a third of n. */
const int64_t *factor_blocks(struct arena *a, int64_t n, int *count);
/* Returns the number of ways to write n = f_1 * ... * f_parts, where order matters: 56 for n = 32
 * and 4 parts. */
double factor_count(int64_t n, int parts);

/* Returns the element of the ascending list[0..n) nearest to x; of two equally near ones the
 * larger.  With the divisors of an extent as the list, this is R(x; extent) of SPEC D.1. */
int64_t factor_nearest(const int64_t *list, int n, double x);
#endif
