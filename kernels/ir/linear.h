/* Linear forms, on which the simplifier works.
 *
 *     e  =  sum of coef_i * e_i  +  rest
 *
 * where the e_i are variables or non-linear expressions, each once, in id order.
 *
 * Linear forms live in the pool's scratch memory: use them between scratch_mark and
 * scratch_release. */
#ifndef TS_IR_LINEAR_H
#define TS_IR_LINEAR_H
#include "kernels/ir/expr_impl.h"

struct term { const struct expr *e; int64_t coef; };
struct lin { struct exprs *p; int n, cap; struct term *t; int64_t rest; };

struct lin lin_new(struct exprs *p);
struct lin lin_of(struct exprs *p, const struct expr *e);
/* Adds coef * term to l. term must be a variable or non-linear expression. */
void lin_add_term(struct lin *l, const struct expr *term, int64_t coef);
void lin_add(struct lin *l, const struct expr *e, int64_t scale);            /* adds scale * e */
void lin_add_lin(struct lin *l, const struct lin *m, int64_t scale);
int64_t lin_coef(const struct lin *l, const struct expr *term);              /* 0 if absent */
struct range lin_range(const struct lin *l);
int64_t lin_gcd(const struct lin *l);  /* gcd of the coefficients; 0 when there are none */
bool lin_divisible(const struct lin *l, int64_t c);  /* c divides every coefficient and the rest */
/* Compares two expressions in a total order that depends only on their structure: first by kind,
 * then by operands.  Of x < 5 and 5 < x, the first operand compared is x.  Variables are ordered by
 * the length of their names, then alphabetically, then by their bounds. */
int expr_order(const struct expr *a, const struct expr *b);
/* Puts the terms in canonical order: the larger |coefficient| first; of equal ones, the parts of a
 * split first; the rest by expr_order.  After this, lin_coef and the lin_add functions must not be
 * called on l, because they need the terms in id order. */
void lin_sort(struct lin *l);
/* Returns the canonical expression of l, with terms in canonical order. */
const struct expr *lin_expr(const struct lin *l);
#endif
