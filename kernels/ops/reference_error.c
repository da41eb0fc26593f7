/* Bounds how far arithmetic in a type is from the reference, element by element (reference.h).
 *
 * One rounding of x is off by at most u|x|, u = 2^-24 in float32; generated code and libraries may
 * round twice where the definition does once (a / c as a * (1 / c)), so an operation is granted 2u.
 *
 * A sum S of n terms p, in any order, rounds n partial sums.  The errors of these roundings are
 * almost independent.  Each has a variance of at most (u|partial sum|)^2 / 3.  The partial sums of
 * terms in no particular order stay near |S| + SPREAD * sqrt(sum p^2).  The bound E adds MARGIN
 * standard deviations of all roundings to the errors E_p of the terms, by squares:
 *
 *     E^2 = sum E_p^2 + (MARGIN u)^2 * n / 3 * (S^2 + SPREAD^2 * sum p^2) */
#include "kernels/ops/reference_impl.h"

#include <float.h>

#define ROUNDINGS 2                       /* the bound of an operation, in units u */
#define FUNCTION 8  /* the bound of exp, tanh..., in units u: libraries are off by up to 4 ulp */
#define MARGIN 8.0
#define SPREAD 2.0

static double square(double x)
{
    return x * x;
}

/* Returns the unit roundoff u of a type, but not less than that of the reference itself. */
static double unit_of(const struct elem_type *type)
{
    return fmax(type->roundoff, DBL_EPSILON);
}

/* Returns the bound of a result; INFINITY when the result or the bound exceeds the type or is
 * NaN. */
static double settled(const struct elem_type *type, double error, double result)
{
    return error <= type->largest && fabs(result) <= type->largest ? error : INFINITY;
}

/* --- Operations ------------------------------------------------------------------------------- */

/* The error that one operation itself adds: part * |result| + tiny. */
struct own { double part, tiny; };

static double sum_error(const struct own *o, bool shared, double r, double ea, double eb)
{
    double e = shared || ea == 0 || eb == 0 ? ea + eb : sqrt(square(ea) + square(eb));
    return e + o->part * fabs(r);
}

static double product_error(const struct own *o, double a, double ea, double b, double eb)
{
    return fabs(a) * eb + fabs(b) * ea + ea * eb + o->part * fabs(a * b) + o->tiny;
}

static double quotient_error(const struct own *o, double a, double ea, double b, double eb)
{
    double q = fabs(a / b);
    return fabs(b) <= eb ? INFINITY : (ea + q * eb) / (fabs(b) - eb) + o->part * q + o->tiny;
}

/* Returns the error of max(a, b): the error of the larger operand, or the larger error when either
 * operand may be the maximum. */
static double larger_error(double a, double ea, double b, double eb)
{
    return a - ea > b + eb ? ea : b - eb > a + ea ? eb : fmax(ea, eb);
}

/* Returns the error of `a >= 1 ? b : 0`.  When the error of a makes the comparison uncertain,
 * returns |b| plus the error of b. */
static double kept_error(double a, double ea, double b, double eb)
{
    return a - ea >= 1 ? eb : a + ea < 1 ? 0 : fabs(b) + eb;
}

/* Returns the error of y = f(x) for an increasing function f: the error of f itself, plus the
 * larger difference from y at the ends of [x - e, x + e], or INFINITY when f is undefined at an
 * end. */
static double function_error(const struct own *o, enum val_kind f, double x, double y, double e)
{
    double own = o->part * fabs(y) + o->tiny;
    if (e == 0)
        return own;
    double low = arith(f, x - e, 0), high = arith(f, x + e, 0);
    return low <= y && y <= high ? fmax(high - y, y - low) + own : INFINITY;
}

void error_row(const struct elem_type *type, enum val_kind kind, int64_t n,
               const struct row_pair *of, double *e)
{
    const int roundings = val_is_function(kind) ? FUNCTION : ROUNDINGS;
    const struct own o = { roundings * unit_of(type), type->tiny };
    const double *a = of->a, *ea = of->ea, *b = of->b, *eb = of->eb;
#define ROW(k, bound) \
    case k: \
        for (int64_t i = 0; i < n; i++) { \
            double r = arith(k, a[i], b[i]); \
            e[i] = settled(type, bound, r); \
        } \
        return;
#define MAP(k) ROW(k, function_error(&o, k, a[i], r, ea[i]))
    switch (kind) {
    ROW(VAL_ADD, sum_error(&o, of->shared, r, ea[i], eb[i]))
    ROW(VAL_SUB, sum_error(&o, of->shared, r, ea[i], eb[i]))
    ROW(VAL_MUL, product_error(&o, a[i], ea[i], b[i], eb[i]))
    ROW(VAL_DIV, quotient_error(&o, a[i], ea[i], b[i], eb[i]))
    ROW(VAL_MAX, larger_error(a[i], ea[i], b[i], eb[i]))
    ROW(VAL_MIN, larger_error(-a[i], ea[i], -b[i], eb[i]))
    ROW(VAL_LE, fabs(a[i] - b[i]) <= ea[i] + eb[i] && ea[i] + eb[i] > 0)
    ROW(VAL_KEEP, kept_error(a[i], ea[i], b[i], eb[i]))
    ROW(VAL_SIN, fmin(ea[i], 2) + o.part + o.tiny)
    ROW(VAL_COS, fmin(ea[i], 2) + o.part + o.tiny)
    MAP(VAL_EXP) MAP(VAL_LOG) MAP(VAL_TANH) MAP(VAL_ERF) MAP(VAL_SQRT)
    MAP(VAL_FLOOR) MAP(VAL_ATAN)
    case VAL_CONST: case VAL_LOAD: case VAL_SELECT: case VAL_PICK: case VAL_KIND_COUNT: break;
    }
#undef MAP
#undef ROW
    UNREACHABLE();
}

static bool loads(const struct val *v, int tensor)
{
    return v && ((v->kind == VAL_LOAD && v->source == tensor) || loads(v->a, tensor)
                 || loads(v->b, tensor));
}

bool vals_share_tensor(const struct val *a, const struct val *b)
{
    if (a->kind == VAL_LOAD)
        return loads(b, a->source);
    return (a->a && vals_share_tensor(a->a, b)) || (a->b && vals_share_tensor(a->b, b));
}

/* --- Reductions ------------------------------------------------------------------------------- */

/* Returns the smaller of (MARGIN u)^2 * n / 3 and (n u)^2.  For few terms it is (n u)^2. */
static double sum_factor(const struct row_plan *p)
{
    double n = (double)p->terms;
    return square(unit_of(p->type)) * fmin(square(n), square(MARGIN) * n / 3);
}

void error_combine(struct row_sums *f, enum combine how, int64_t n, const double *value,
                   const double *error)
{
    for (int64_t i = 0; i < n && how == COMBINE_SUM; i++) {
        f->error[i] += square(error[i]);
        f->squares[i] += square(value[i]);
    }
    for (int64_t i = 0; i < n && how == COMBINE_MAX; i++)
        f->error[i] = larger_error(f->value[i], f->error[i], value[i], error[i]);
    for (int64_t i = 0; i < n && how == COMBINE_NONE; i++)
        f->error[i] = error[i];
}

void error_finish(struct row_sums *f, const struct row_plan *p, int64_t n)
{
    double factor = sum_factor(p);
    for (int64_t i = 0; i < n; i++) {
        if (p->n->combine == COMBINE_SUM)
            f->error[i] = sqrt(f->error[i] + factor * (square(f->value[i])
                                                       + square(SPREAD) * f->squares[i]));
        f->error[i] = settled(p->type, f->error[i], f->value[i]);
    }
}

/* Returns the part of per_square (struct product_bound) that is due to rounded factors.  Each
 * factor is off by at most r = factor_roundoff, and its error has a variance of at most r^2 / 3. */
static double factors_square(const struct row_plan *p)
{
    double n = (double)p->terms;
    return square(p->n->factor_roundoff) * fmin(4 * n, square(MARGIN) * 2 / 3);
}

struct product_bound product_bound(const struct row_plan *p)
{
    double factor = sum_factor(p);
    return (struct product_bound){
        .per_square = square(ROUNDINGS * unit_of(p->type)) + factor * square(SPREAD)
                    + factors_square(p),
        .per_value = factor, .tiny = (double)p->terms * square(p->type->tiny),
    };
}

double error_of_product(const struct row_plan *p, const struct product_bound *b, double value,
                        double squares)
{
    return settled(p->type, sqrt(squares + b->per_value * square(value) + b->tiny), value);
}

/* --- Stored results --------------------------------------------------------------------------- */

/* Returns the error of a stored value: 0 if the value is exact and the type can represent it,
 * INFINITY if the value may exceed the type. */
static double stored_error(const struct elem_type *type, double value, double error)
{
    double same = value, most = fabs(value) + error;
    type->round(&same, 1);
    if (error == 0 && same == value)
        return 0;
    return most <= type->largest ? error + fmax(type->roundoff * most, type->tiny) : INFINITY;
}

void row_stored(const struct row_plan *p, int64_t n, double *value, double *error)
{
    const struct elem_type *type = p->g->tensor[p->n->out].type;
    if (!type_is_narrow(type))
        return;
    if (p->how.single)
        type->round(value, n);
    for (int64_t i = 0; error && i < n; i++)
        error[i] = stored_error(type, value[i], error[i]);
}
