/* Expressions from text, for tests that write them down: the inverse of expr_print. */
#ifndef TS_TESTS_EXPR_PARSE_H
#define TS_TESTS_EXPR_PARSE_H
#include "kernels/ir/expr.h"

/* Free names are looked up among vars; an unknown one is ERR_NAME with its column. Not
 * simplified. */
bool expr_parse(struct exprs *p, const char *text, const struct expr *const *vars, int n_vars,
                const struct expr **out, struct err *e);
#endif
