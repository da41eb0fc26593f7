/* The simplifier: a table of named rules, each with its identity and side condition, applied
 * bottom-up until nothing changes.
 *
 * Contract (after LuaJIT's lj_opt_fold.c): a rule (1) preserves the value at every point of
 * the variables' ranges, (2) returns NULL or its input when it does not apply, (3) lowers the cost
 * (divs and mods first, then leaves), or keeps it and moves towards the canonical form, so the
 * whole set terminates.  Simplifying is idempotent.
 *
 * Obligation (SPEC B): the lowered accesses of a schedule template whose factors all divide contain
 * no / and no %. */
#ifndef TS_IR_SIMPLIFY_H
#define TS_IR_SIMPLIFY_H
#include "kernels/ir/expr.h"

/* Simplifies e.  Results are memoised in the pool.  The result is canonical: sums by stride
 * ("8*h.0 + h.1 + kh"), the constant last, unless the sum would begin with a minus
 * ("20 - 4*h" rather than "-4*h + 20"). */
const struct expr *expr_simplify(struct exprs *p, const struct expr *e);

/* The rules, for tests. */
struct simplify_rule { const char *name, *identity, *condition; };
int simplify_n_rules(void);
const struct simplify_rule *simplify_rule(int i);
/* Returns how often rule i was applied since the pool was made. */
long simplify_fired(const struct exprs *p, int i);
/* Sets a hook that every rewrite calls with the rule's name and the expression before and after the
 * rewrite (for tests). */
void simplify_trace(struct exprs *p,
                    void (*hook)(void *ctx, const char *rule, const struct expr *before,
                                 const struct expr *after), void *ctx);
#endif
