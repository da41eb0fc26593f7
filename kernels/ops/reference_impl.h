/* Evaluates one node of the reference fast, by rows.
 *
 * One spatial variable of the node, the row variable, runs in the innermost loop; an access whose
 * flat offset is linear in it is a stride.  All other variables are constant in a row, so terms of
 * them alone (a division by the channels of a group, a parity test) are computed once a row.  Only
 * reference*.c include this. */
#ifndef TS_OPS_REFERENCE_IMPL_H
#define TS_OPS_REFERENCE_IMPL_H
#include <math.h>
#include "kernels/base/number.h"
#include "kernels/ops/reference.h"

/* The sum rest + sum of coef * term.  The terms are variables and non-linear subexpressions; a term
 * may occur twice.  (expr_linear cannot be used: it would allocate in the pool of the graph, which
 * evaluation must not change.) */
struct sum_term { const struct expr *e; int64_t coef; };
struct sum { int64_t rest; int n; struct sum_term *term; };

/* Adds scale * e to *s. */
void sum_add(struct arena *a, struct sum *s, const struct expr *e, int64_t scale);
int64_t sum_at(const struct sum *s, const int64_t *env);

/* The body of a node, prepared for evaluation by rows. */
struct row_test {
    const struct expr *cond;
    bool linear;  /* cond is diff < 0, and step is the stride of diff along the row */
    struct sum diff;
    int64_t step;
    bool moves;                           /* whether cond depends on the row variable */
};
struct row_val {
    enum val_kind kind;
    double value;                         /* CONST: the value */
    struct row_val *a, *b;
    const struct expr *var;               /* PICK: the variable */
    const double *data;                   /* LOAD: data[flat], plus stride per row element */
    const double *error;                  /* error of that element; NULL: exact */
    struct sum flat;
    int64_t stride;
    bool bent;                            /* whether flat is not linear in the row variable */
    bool shared;                          /* whether a and b load one tensor: their errors are not
                                           * independent */
    int n_tests;  /* SELECT: the value is a where all tests are true, else b */
    struct row_test *test;
};

/* The operands and the mode of an evaluation. Arrays are one per tensor, logical and row-major. */
struct row_how {
    double *const *data;
    double *const *error;  /* per tensor: errors of the elements of data; NULL: exact */
    bool single;  /* whether to round after every operation, as the type does */
    const struct cancel *cancel;
};

struct row_plan {
    struct arena *a;                      /* owns the plan */
    const struct graph *g;
    const struct node *n;
    struct row_how how;
    const struct expr *row;               /* the row variable */
    int64_t row_len, row_stride;          /* extent of row; its stride in the output */
    int n_outer;                          /* number of the other spatial variables */
    const struct expr *outer[MAX_RANK];
    int64_t outer_stride[MAX_RANK];       /* stride of outer[i] in the output */
    int64_t n_points;                     /* product of the extents of outer */
    double work;                          /* number of points of the whole iteration space */
    const struct elem_type *type;         /* type of the arithmetic */
    const struct row_val *body;
};

/* Makes the plan of one node; allocates everything in a. */
const struct row_plan *row_plan_new(struct arena *a, const struct graph *g, const struct node *n,
                                    const struct row_how *how);
/* Evaluates any node. */
void row_eval(const struct row_plan *p);
/* Evaluates sums of products of two loads, perhaps under a test: convolutions and matrix
 * products.  Returns false, and does nothing, when the node does not have that form.  Computes in
 * double. */
bool mac_eval(const struct row_plan *p);
/* One segment of one output row: n elements from element i0 on. env holds the outer variables. out:
 * offset of the first element in the output. */
#define ROW_SEGMENT 256  /* most elements of a segment; the scratch rows then stay in L1 */
struct row_segment { const struct row_plan *p; int64_t *env, i0, n, out; };
void row_each_segment(const struct row_plan *p, void (*f)(const struct row_segment *s));
/* Moves to the next point of the reduction of the node.  Returns false after the last one, and when
 * cancelled. */
bool row_next(const struct row_segment *s);
/* Evaluates v at the elements of the segment; if error is not NULL, also bounds their errors in
 * arithmetic of the type (reference_error). */
void row_values(const struct row_segment *s, const struct row_val *v, double *out, double *error);
/* Returns the product that the node sums (see mac_eval), or NULL. */
const struct val *mac_product(const struct node *n);

/* reference_error.c: bounds the errors e of an operation in arithmetic of the type, for a row of n
 * elements. a and b: its operands; ea and eb: their errors (zeros where there is no b). e may be
 * ea. */
struct row_pair { const double *a, *ea, *b, *eb; };
void error_row(const struct elem_type *type, const struct row_val *v, int64_t n,
               const struct row_pair *of, double *e);

/* Calls f(ctx, i, env) for every i in [0, n), on all cores when the work (in operations) is worth
 * it. env has room for every variable of the pool and is private to the call. */
void each_task(const struct row_plan *p, int64_t n, double work,
               void (*f)(const void *ctx, int64_t i, int64_t *env), const void *ctx);
/* Moves to the next point of n variables that start at 0, the last one fastest.  Returns false
 * after the last point. */
bool reference_next_point(const struct expr *const *vars, int n, int64_t *env);
void first_point(const struct expr *const *vars, int n, int64_t *env);

/* Computes a OP b, or the function of x; functions ignore y. */
static inline double arith(enum val_kind kind, double x, double y)
{
    switch (kind) {
    case VAL_ADD: return x + y;
    case VAL_SUB: return x - y;
    case VAL_MUL: return x * y;
    case VAL_DIV: return x / y;
    case VAL_MAX: return x > y ? x : y;
    case VAL_MIN: return x < y ? x : y;
    case VAL_LE: return x <= y;
    case VAL_KEEP: return x >= 1 ? y : 0;
    case VAL_EXP: return exp(x);
    case VAL_LOG: return log(x);
    case VAL_TANH: return tanh(x);
    case VAL_ERF: return erf(x);
    case VAL_SQRT: return sqrt(x);
    case VAL_FLOOR: return floor(x);
    case VAL_SIN: return sin(x);
    case VAL_COS: return cos(x);
    case VAL_ATAN: return atan(x);
    case VAL_CONST: case VAL_LOAD: case VAL_SELECT: case VAL_PICK: case VAL_KIND_COUNT: break;
    }
    UNREACHABLE();
}

static inline double combined(enum combine how, double old, double value)
{
    switch (how) {
    case COMBINE_NONE: return value;
    case COMBINE_SUM: return old + value;
    case COMBINE_MAX: return old > value ? old : value;
    }
    UNREACHABLE();
}
#endif
