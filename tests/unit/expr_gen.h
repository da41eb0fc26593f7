/* Random expressions over a few small ranges, for tests that compare values. */
#ifndef TS_TEST_EXPR_GEN_H
#define TS_TEST_EXPR_GEN_H
#include "kernels/base/rng.h"
#include "tests/unit/expr_help.h"

/* One to three variables with at most 125 points, in a fresh pool of arena a. */
struct space random_space(struct rng *r, struct arena *a);
/* Every kind of operator, nested at most `depth` deep. */
const struct expr *random_expr(struct rng *r, const struct space *s, int depth);
/* What layouts make: the digits of such an expression, weighted and summed again, sometimes
 * slightly wrong. */
const struct expr *random_digits(struct rng *r, const struct space *s, int depth);
#endif
