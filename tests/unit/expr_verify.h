/* Checks of one expression: interning, bounds, positive constant divisors. */
#ifndef TS_TESTS_EXPR_VERIFY_H
#define TS_TESTS_EXPR_VERIFY_H
#include "kernels/ir/expr.h"

/* fail()s when one is broken. */
void expr_verify(struct exprs *p, const struct expr *e);
#endif
