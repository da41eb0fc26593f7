/* The interface between the driver of the simplifier (simplify.c) and its rules (rules_*.c). */
#ifndef TS_IR_SIMPLIFY_IMPL_H
#define TS_IR_SIMPLIFY_IMPL_H
#include "kernels/ir/linear.h"
#include "kernels/ir/simplify.h"

/* The input of a rule: e = a OP b with simplified operands, and a linear form l that depends on the
 * kind of e.  l is sorted, so that a rule tries the same terms first in every pool. */
struct redex {
    struct exprs *p;
    const struct expr *e, *a, *b;
    int64_t c;               /* DIV, MOD: the divisor */
    struct lin l;            /* ADD, MUL: e; DIV, MOD: a; MIN, MAX, LT, EQ: a - b, simplified */
    struct range range;      /* bounds of l; infinite if its coefficients or c are too large */
};

/* Every rule returns the rewritten expression, whose parts need not be simplified.  A rule that
 * does not apply returns NULL or e itself. */
const struct expr *rule_fold(struct redex *r);

const struct expr *rule_add_zero(struct redex *r);
const struct expr *rule_mul_zero(struct redex *r);
const struct expr *rule_mul_one(struct redex *r);
const struct expr *rule_mul_content(struct redex *r);
const struct expr *rule_mul_order(struct redex *r);
const struct expr *rule_sum_join(struct redex *r);
const struct expr *rule_sum_digits(struct redex *r);
const struct expr *rule_sum_to_mod(struct redex *r);
const struct expr *rule_sum_to_div(struct redex *r);
const struct expr *rule_sum_collect(struct redex *r);

const struct expr *rule_div_one(struct redex *r);
const struct expr *rule_div_bounds(struct redex *r);
const struct expr *rule_div_split(struct redex *r);
const struct expr *rule_div_pull(struct redex *r);
const struct expr *rule_div_factor(struct redex *r);
const struct expr *rule_div_div(struct redex *r);
const struct expr *rule_div_mod(struct redex *r);

const struct expr *rule_mod_one(struct redex *r);
const struct expr *rule_mod_bounds(struct redex *r);
const struct expr *rule_mod_split(struct redex *r);
const struct expr *rule_mod_mod(struct redex *r);
const struct expr *rule_mod_reduce(struct redex *r);
const struct expr *rule_mod_factor(struct redex *r);

const struct expr *rule_minmax_bounds(struct redex *r);
const struct expr *rule_minmax_order(struct redex *r);
const struct expr *rule_lt_bounds(struct redex *r);
const struct expr *rule_lt_div(struct redex *r);
const struct expr *rule_lt_digit(struct redex *r);
const struct expr *rule_lt_sides(struct redex *r);
const struct expr *rule_eq_bounds(struct redex *r);
const struct expr *rule_eq_gcd(struct redex *r);
const struct expr *rule_eq_sides(struct redex *r);
const struct expr *rule_and_const(struct redex *r);
const struct expr *rule_and_list(struct redex *r);
const struct expr *rule_and_implied(struct redex *r);
const struct expr *rule_and_never(struct redex *r);
#endif
