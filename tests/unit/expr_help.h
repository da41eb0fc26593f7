/* For tests of expressions: spaces of variables written as text, and every point of them. */
#ifndef TS_TEST_EXPR_HELP_H
#define TS_TEST_EXPR_HELP_H
#include "kernels/ir/expr.h"
#include "kernels/ir/simplify.h"

#define SPACE_VARS 8

struct space { struct exprs *p; int n; const struct expr *var[SPACE_VARS]; };

/* "i:0..15 j:-3..7" in a fresh pool of arena a. */
struct space space_parse(struct arena *a, const char *ranges);
/* The inverse, for messages. */
void space_print(struct str *out, const struct space *s);
/* Parses text over the variables of s; a failing parse fails the test with the message. */
const struct expr *space_expr(const struct space *s, const char *text);

/* for (bool more = space_first(&s, vals); more; more = space_next(&s, vals)) */
bool space_first(const struct space *s, int64_t *vals);
bool space_next(const struct space *s, int64_t *vals);

/* The printed form, in the pool's arena. */
const char *expr_text(const struct space *s, const struct expr *e);
/* NULL, or where x and y differ ("i=3 j=0: 4 but 5"). */
const char *space_differ(const struct space *s, const struct expr *x, const struct expr *y);
/* NULL, or a point where e leaves its bounds. */
const char *space_outside(const struct space *s, const struct expr *e);

/* Occurrences of / and % in the tree; of variables and non-linear operators. */
int expr_n_divmod(const struct expr *e);
int expr_n_leaves(const struct expr *e);
#endif
