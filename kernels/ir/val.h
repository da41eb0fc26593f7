/* Float-valued tensor expressions: what an operator computes for one element.  They are plain trees
 * in an arena. */
#ifndef TS_IR_VAL_H
#define TS_IR_VAL_H
#include "kernels/ir/expr.h"

#define MAX_DIMS 24                       /* most dims of a physical tensor; more are E_RANK */

/* VAL(id, arity, text): the kinds of values, with the number of float operands and the printed
 * name. */
#define VAL_KINDS(VAL) \
    VAL(CONST, 0, "const") VAL(LOAD, 0, "load") \
    VAL(ADD, 2, "+") VAL(SUB, 2, "-") VAL(MUL, 2, "*") VAL(DIV, 2, "/") \
    VAL(MAX, 2, "max") VAL(MIN, 2, "min") \
    VAL(LE, 2, "le")                      /* 1 where a <= b, else 0 */ \
    VAL(KEEP, 2, "keep")                  /* b where a >= 1, else 0 */ \
    VAL(EXP, 1, "exp") VAL(LOG, 1, "log") VAL(TANH, 1, "tanh") VAL(ERF, 1, "erf") \
    VAL(SQRT, 1, "sqrt") VAL(FLOOR, 1, "floor") VAL(SIN, 1, "sin") VAL(COS, 1, "cos") \
    VAL(ATAN, 1, "atan") \
    VAL(SELECT, 2, "select")              /* cond ? a : b; only one side is evaluated */ \
    VAL(PICK, 2, "pick")  /* b, where the variable `cond` has the value val_picked(a, cond->hi) */

/* The functions of one float, as labels of a switch: `case VAL_FUNCTIONS:`. */
#define VAL_FUNCTIONS \
    VAL_EXP: case VAL_LOG: case VAL_TANH: case VAL_ERF: case VAL_SQRT: case VAL_FLOOR: \
    case VAL_SIN: case VAL_COS: case VAL_ATAN

enum val_kind {
#define VAL(id, arity, text) VAL_##id,
    VAL_KINDS(VAL)
#undef VAL
    VAL_KIND_COUNT
};

struct val {
    enum val_kind kind;
    double value;                         /* CONST: the value */
    const struct val *a, *b;              /* operands; NULL if the kind has fewer */
    const struct expr *cond;              /* SELECT: the condition; PICK: the variable */
    int source;  /* LOAD: the tensor (in a graph) or the buffer (when lowered) */
    int rank;
    const struct expr *const *idx;        /* LOAD: rank index expressions */
};

const struct val *val_const(struct arena *a, double v);
const struct val *val_load(struct arena *a, int source, int rank, const struct expr *const *idx);
const struct val *val_un(struct arena *a, enum val_kind kind, const struct val *x);
const struct val *val_bin(struct arena *a, enum val_kind kind, const struct val *x,
                          const struct val *y);
const struct val *val_select(struct arena *a, const struct expr *cond, const struct val *x,
                             const struct val *y);
/* Returns the operation that evaluates `in` with var = val_picked(x, var->hi), an index that is
 * computed from data.  The index is in [0, var->hi] for every x, so an access of `in` at this index
 * stays in bounds. */
const struct val *val_pick(struct arena *a, const struct expr *var, const struct val *x,
                           const struct val *in);
/* Returns the variable of a pick.  Its name begins with @, unlike names of dims and loops. */
const struct expr *val_pick_var(struct exprs *p, const char *name, int64_t extent);
/* Whether a small change of an operand can change the result much, because the operation compares
 * the operand, cuts it off or uses it as an index.  second: asks about operand b, else a. */
bool val_decides(enum val_kind kind, bool second);
/* Whether e depends on the variable of a pick. */
bool val_picks(const struct expr *e);
/* Returns the index in [0, hi] that x picks: a negative x counts from the end, a fraction is cut
 * off, and an index beyond either end becomes that end (NaN: 0). */
static inline int64_t val_picked(double x, int64_t hi)
{
    double at = x < 0 ? x + (double)hi + 1 : x;
    return at >= (double)hi ? hi : at > 0 ? (int64_t)at : 0;
}
/* Returns the operation of v with operands x and y; y is NULL if v->b is NULL. */
const struct val *val_with(struct arena *a, const struct val *v, const struct val *x,
                           const struct val *y);
/* Returns the printed name: "+", "max", "exp". Functions of one float have their names in C. */
const char *val_name(enum val_kind kind);
bool val_is_function(enum val_kind kind);                /* a function of one float */
bool val_is_const(const struct val *v, double value);

/* The replacements of val_rebuild.  `load` returns that of a LOAD; NULL: keep loads.  `index`
 * returns that of an index, a condition or the variable of a pick; NULL: keep them. */
struct val_map {
    void *ctx;
    /* called with a load whose indices `index` has already replaced */
    const struct val *(*load)(void *ctx, const struct val *load);
    const struct expr *(*index)(void *ctx, const struct expr *e);
};
const struct val *val_rebuild(struct arena *a, const struct val *v, const struct val_map *map);
/* Replaces variable var by `with` in every index and condition of v, and simplifies them. */
const struct val *val_subst(struct exprs *p, const struct val *v, const struct expr *var,
                            const struct expr *with);
/* Calls f on every LOAD, left to right. */
void val_each_load(const struct val *v, void (*f)(void *ctx, const struct val *load), void *ctx);
/* Returns the number of float operations of v: 1 for each arithmetic node and function.  SELECT
 * counts as its more expensive side, PICK as both of its operands. */
int val_flops(const struct val *v);
/* Prints v in the notation of the paper: Inp[n][i][h + kh] * Ker[o][i][kh]. names[i] is
 * the name of source i. */
void val_print(struct str *out, const struct val *v, const char *const *names);
/* Like val_print, for views.  Of a very long value, which inlining can make, it prints only the
 * beginning and the number of loads. */
void val_print_brief(struct str *out, const struct val *v, const char *const *names);
#endif
