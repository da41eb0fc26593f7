/* Evaluates one node of the reference fast, by rows. One spatial variable of the node, the row
 * variable, runs in the innermost loop, and all others are constant in a row.  An index expression
 * is therefore evaluated once for a segment of a row, as start + i * step, unless the row variable
 * is an operand of a division, a comparison, min or max.  Only reference*.c and tests include
 * this. */
#ifndef TS_OPS_REFERENCE_IMPL_H
#define TS_OPS_REFERENCE_IMPL_H
#include <math.h>
#include "kernels/ops/reference.h"

/* The operands and the mode of an evaluation.  Arrays are one per tensor, logical and row-major. */
struct row_how {
    double *const *data;
    /* error[t]: the errors of the elements of tensor t; NULL: the elements are exact.  If `error`
     * itself is NULL, no errors are computed. */
    double *const *error;
    bool single;  /* whether every operation is rounded to the type of the tensors */
    const struct cancel *cancel;
};

/* Some points of a node's iteration space, arranged as rows.  A row runs along the row variable;
 * there is one row for each point of the outer variables. */
struct rows {
    const struct expr *row;  /* the row variable; NULL: no row variable, rows have one element */
    int64_t len, stride;  /* extent of the row variable, and its stride in the output */
    int n_outer;
    const struct expr *outer[MAX_RANK];   /* the outer variables, the fastest one first */
    int64_t outer_stride[MAX_RANK];       /* stride of outer[i] in the output */
    int64_t n_points;                     /* number of rows: product of the extents of outer */
};

struct row_plan {
    const struct graph *g;
    const struct node *n;
    struct row_how how;
    const struct elem_type *type;         /* type of the arithmetic */
    int64_t terms;                        /* number of points of the reduction */
    double work;  /* number of points of the iteration space, reductions included */
};

/* One segment of one row: n elements from element i0 on.  env has the values of all variables
 * except the row variable. */
#define ROW_SEGMENT 256  /* greatest length of a segment; the scratch rows then stay in L1 */
struct row_segment {
    const struct row_plan *p;
    const struct rows *rows;
    int64_t *env, i0, n;
};

struct row_plan row_plan_of(const struct graph *g, const struct node *n, const struct row_how *how);
/* Makes rows along the given spatial variables of the node (bit d: the variable of dim d). */
struct rows rows_of(const struct row_plan *p, unsigned dims);
/* Sets the row variable and the outer variables in env to the values that they have at point i.
 * The points of one row have consecutive numbers.  Returns the part of the offset in the output
 * that these variables contribute. */
int64_t rows_point(const struct rows *rows, int64_t i, int64_t *env);
/* Evaluates v at the elements of the segment; if error is not NULL, also bounds their errors in
 * arithmetic of the type (reference_error). */
void row_values(const struct row_segment *s, const struct val *v, double *out, double *error);
/* Computes the offsets of the elements of the segment that a load reads. */
void row_offsets(const struct row_segment *s, const struct val *load, int64_t *out);
int64_t *row_env(const struct row_plan *p);              /* an env of zeros; the caller frees it */
/* Evaluates any node. */
void row_eval(const struct row_plan *p);
/* Evaluates sums of products, perhaps under a test, as blocked matrix products.  Returns false, and
 * does nothing, when the node does not have that form, its matrices are too small, or how.single
 * asks for another type than float32. */
bool mac_eval(const struct row_plan *p);

/* error_row sets e[n] to bounds of the errors of an operation in the arithmetic of the type. a and
 * b: its operands; ea and eb: their errors (zeros if there is no b).  The arrays e and ea can be
 * the same. shared: a and b are computed from one tensor, so their errors are not independent. */
struct row_pair { const double *a, *ea, *b, *eb; bool shared; };
void error_row(const struct elem_type *type, enum val_kind kind, int64_t n,
               const struct row_pair *of, double *e);
/* The reduction of one segment so far: values, their errors, and sums of squares. */
struct row_sums { double value[ROW_SEGMENT], error[ROW_SEGMENT], squares[ROW_SEGMENT]; };
/* Adds the errors of n terms to *f: one term of each of n elements.  Call it before the values of
 * these terms are combined into f->value. */
void error_combine(struct row_sums *f, enum combine how, int64_t n, const double *value,
                   const double *error);
/* Turns f->error into the bounds of the results f->value. */
void error_finish(struct row_sums *f, const struct row_plan *p, int64_t n);
/* A sum of products of two factors s, x with errors Es, Ex has the error E,
 *
 *     E^2 = sum s^2 * (c x^2 + Ex^2) + sum Es^2 * (x^2 + Ex^2) + f * S^2 + tiny
 *
 * with S the sum, c = per_square and f = per_value.  error_of_product returns E; its argument
 * `squares` is the two sums on the right side. */
struct product_bound { double per_square, per_value, tiny; };
struct product_bound product_bound(const struct row_plan *p);
double error_of_product(const struct row_plan *p, const struct product_bound *b, double value,
                        double squares);
/* Accounts for storing n results of the node in its tensor.  If the type of the tensor is narrow,
 * adds the error of the rounding to error[n] (unless NULL), and rounds the values if how.single is
 * set.  For other types, does nothing. */
void row_stored(const struct row_plan *p, int64_t n, double *value, double *error);
/* Whether there is a tensor that both a and b load. */
bool vals_share_tensor(const struct val *a, const struct val *b);

/* Calls f(ctx, i, env) for every i in [0, n), until cancelled, on all cores if p->work is large
 * enough.  env has room for every variable of the pool, and no other thread uses it. */
void each_task(const struct row_plan *p, int64_t n, void (*f)(const void *ctx, int64_t i,
               int64_t *env), const void *ctx);
/* first_point sets n variables in env to 0; reference_next_point moves them to the next point, the
 * last variable fastest.  After the last point it sets them to 0 again, and returns false. */
bool reference_next_point(const struct expr *const *vars, int n, int64_t *env);
void first_point(const struct expr *const *vars, int n, int64_t *env);

/* Returns x OP y, or the function `kind` of x, which ignores y. */
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
#endif
