/* Integer index expressions: constants, bounded variables, + * floor-div mod min max, and the
 * conditions < == && that guard padding.  They are hash-consed in a pool: structurally equal
 * expressions of one pool are the same pointer, so that equality is ==.  Every expression carries
 * bounds [lo, hi], which hold if no operation overflows 64 bits.
 *
 * expr_bin and the other constructors build the given operation: they fold nothing (except the
 * constant of expr_ge) and do not reorder operands.  All algebra happens in expr_simplify
 * (simplify.h).
 *
 * A pool belongs to one thread. / is floor division and % its remainder, in [0, c); divisors are
 * positive constants; conditions have the values 0 and 1. */
#ifndef TS_IR_EXPR_H
#define TS_IR_EXPR_H
#include <stdbool.h>
#include <stdint.h>
#include "kernels/base/arena.h"
#include "kernels/base/err.h"
#include "kernels/base/str.h"

/* The kinds of expressions.  expr_order sorts by this order; expr_print.c has a table by kind
 * (ORDER EXPR). */
enum expr_kind {
    EXPR_CONST, EXPR_VAR,
    EXPR_ADD, EXPR_MUL, EXPR_DIV, EXPR_MOD, EXPR_MIN, EXPR_MAX,
    EXPR_LT, EXPR_EQ, EXPR_AND,
    EXPR_KIND_COUNT
};

struct expr {
    enum expr_kind kind;
    int64_t value;                 /* CONST: the value */
    const struct expr *a, *b;      /* operands of the binary kinds */
    const char *name;              /* VAR: its name, "o.1" */
    int var;                       /* VAR: its index in the pool (for expr_eval); else -1 */
    int64_t lo, hi;  /* bounds of the value, not always the tightest */
    uint32_t id;                   /* number in the order of creation in the pool: a sort key */
    bool has_divmod;               /* whether it contains a DIV or MOD */
};

struct exprs;                                            /* a pool of expressions */
struct exprs *exprs_new(struct arena *a);                /* lives as long as the arena */
struct arena *exprs_arena(struct exprs *p);
/* Returns how many variables there are, which is the number of values that expr_eval needs. */
int exprs_n_vars(const struct exprs *p);

const struct expr *expr_const(struct exprs *p, int64_t v);
/* Returns the variable `name` in [lo, hi].  The same name and range give the same variable. */
const struct expr *expr_var(struct exprs *p, const char *name, int64_t lo, int64_t hi);
/* Returns the variable of a dim or loop: its name in lower case, in [0, extent). */
const struct expr *expr_dim(struct exprs *p, const char *dim, int64_t extent);
const struct expr *expr_bin(struct exprs *p, enum expr_kind kind, const struct expr *a,
                            const struct expr *b);
const struct expr *expr_add(struct exprs *p, const struct expr *a, const struct expr *b);
/* Returns a + b * -1. */
const struct expr *expr_sub(struct exprs *p, const struct expr *a, const struct expr *b);
const struct expr *expr_mul(struct exprs *p, const struct expr *a, const struct expr *b);
const struct expr *expr_div(struct exprs *p, const struct expr *a, const struct expr *b);
const struct expr *expr_mod(struct exprs *p, const struct expr *a, const struct expr *b);
const struct expr *expr_min(struct exprs *p, const struct expr *a, const struct expr *b);
const struct expr *expr_max(struct exprs *p, const struct expr *a, const struct expr *b);
const struct expr *expr_lt(struct exprs *p, const struct expr *a, const struct expr *b);
/* Returns a >= b as b + -1 < a, or as c - 1 < a when b is a constant c. */
const struct expr *expr_ge(struct exprs *p, const struct expr *a, const struct expr *b);
const struct expr *expr_eq(struct exprs *p, const struct expr *a, const struct expr *b);
const struct expr *expr_and(struct exprs *p, const struct expr *a, const struct expr *b);
/* Shorthands with a constant. */
const struct expr *expr_addc(struct exprs *p, const struct expr *a, int64_t c);
const struct expr *expr_mulc(struct exprs *p, const struct expr *a, int64_t c);
const struct expr *expr_divc(struct exprs *p, const struct expr *a, int64_t c);
const struct expr *expr_modc(struct exprs *p, const struct expr *a, int64_t c);

static inline bool expr_is_const(const struct expr *e, int64_t v)
{
    return e->kind == EXPR_CONST && e->value == v;
}
bool expr_uses(const struct expr *e, const struct expr *var);   /* whether var occurs in e */

/* Replaces each vars[i] in e by with[i], all n at once. The result is not simplified. */
const struct expr *expr_subst(struct exprs *p, const struct expr *e,
                              const struct expr *const *vars, const struct expr *const *with,
                              int n);

/* Rebuilds e in pool p; e may belong to another pool. A variable called from[i] becomes to[i]. */
const struct expr *expr_import(struct exprs *p, const struct expr *e, const char *const *from,
                               const struct expr *const *to, int n);

/* Returns e's value where variable v has the value vals[v->var]. / and % are floor division. */
int64_t expr_eval(const struct expr *e, const int64_t *vals);

/* e = sum of coef[i] * term[i] + rest.  The terms are variables or non-linear subexpressions,
 * each once and in id order; coefficients are not 0.  The arrays live in the arena of the pool. */
struct expr_linear { int n; const struct expr **term; int64_t *coef; int64_t rest; };
struct expr_linear expr_linear(struct exprs *p, const struct expr *e);
const struct expr *expr_from_linear(struct exprs *p, const struct expr_linear *l);
/* Sets *coef to the factor of var in e; 0: var does not occur. Returns false, and leaves *coef
 * alone, if e is not linear in var. */
bool expr_coef(struct exprs *p, const struct expr *e, const struct expr *var, int64_t *coef);

/* Prints e with C precedence and few parentheses: "8*h.0 + h.1 + kh", "(2*o + i) / 4", "x - 1",
 * "x >= 3", "a && b", "min(a, b)".  The tests parse the text again: parse(print(e)) == e for
 * simplified e. */
void expr_print(struct str *out, const struct expr *e);
#endif
