/* Bounds how far arithmetic in a type is from the reference, element by element (reference.h).
 *
 * One rounding of x is off by at most u|x|, u = 2^-24 in float32; generated code and libraries may
 * round twice where the definition does once (a / c as a * (1 / c)), so an operation is granted 2u.
 *
 * A sum of n terms p in any order rounds n partial sums.  Their errors are as good as independent,
 * each has a variance of at most (u|partial sum|)^2 / 3, and the partial sums of terms in no
 * particular order stay near |S| + SPREAD * sqrt(sum p^2).  The bound is MARGIN standard deviations
 * of that:
 *
 *     E^2 = sum E_p^2 + (MARGIN u)^2 * n / 3 * (S^2 + SPREAD^2 * sum p^2) */
#include "kernels/ops/reference_impl.h"

#include <float.h>
#include <stdlib.h>

#define ROUNDINGS 2                       /* the bound of an operation, in units u */
#define FUNCTION 8  /* the bound of exp, tanh..., in units u: libraries are off by up to 4 ulp */
#define MARGIN 8.0
#define SPREAD 2.0

static double square(double x)
{
    return x * x;
}

/* Returns the unit roundoff u of a type. */
static double unit_of(const struct elem_type *type)
{
    return fmax(type->roundoff, DBL_EPSILON);
}

/* Returns the bound of a result; INFINITY when the result exceeds the type, or the bound is NaN. */
static double settled(const struct elem_type *type, double error, double result)
{
    return error <= type->largest && fabs(result) <= type->largest ? error : INFINITY;
}

/* --- Operations ------------------------------------------------------------------------------- */

/* The own error of one operation: part * |result| + tiny. */
struct own { double part, tiny; };

static double sum_error(const struct own *o, const struct row_val *v, double r, double ea,
                        double eb)
{
    double e = v->shared || ea == 0 || eb == 0 ? ea + eb : sqrt(square(ea) + square(eb));
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

/* Returns the error of max(a, b): that of the larger operand, or the larger error when either may
 * be the maximum. */
static double larger_error(double a, double ea, double b, double eb)
{
    return a - ea > b + eb ? ea : b - eb > a + ea ? eb : fmax(ea, eb);
}

/* Returns the error of b where a >= 1: all of b, when that is uncertain. */
static double kept_error(double a, double ea, double b, double eb)
{
    return a - ea >= 1 ? eb : a + ea < 1 ? 0 : fabs(b) + eb;
}

/* Returns the error of a monotonic function f: the largest at the ends of [x - e, x + e];
 * INFINITY when f is undefined at an end. */
static double function_error(const struct own *o, enum val_kind f, double x, double e)
{
    double y = arith(f, x, 0), own = o->part * fabs(y) + o->tiny;
    if (e == 0)
        return own;
    double low = arith(f, x - e, 0), high = arith(f, x + e, 0);
    return low <= y && y <= high ? fmax(high - y, y - low) + own : INFINITY;
}

void error_row(const struct elem_type *type, const struct row_val *v, int64_t n,
               const struct row_pair *of, double *e)
{
    const int roundings = val_is_function(v->kind) ? FUNCTION : ROUNDINGS;
    const struct own o = { roundings * unit_of(type), type->tiny };
    const double *a = of->a, *ea = of->ea, *b = of->b, *eb = of->eb;
    for (int64_t i = 0; i < n; i++) {
        double r = arith(v->kind, a[i], b[i]), own;
        switch (v->kind) {
        case VAL_ADD: case VAL_SUB: own = sum_error(&o, v, r, ea[i], eb[i]); break;
        case VAL_MUL: own = product_error(&o, a[i], ea[i], b[i], eb[i]); break;
        case VAL_DIV: own = quotient_error(&o, a[i], ea[i], b[i], eb[i]); break;
        case VAL_MAX: own = larger_error(a[i], ea[i], b[i], eb[i]); break;
        case VAL_MIN: own = larger_error(-a[i], ea[i], -b[i], eb[i]); break;
        case VAL_LE: own = fabs(a[i] - b[i]) <= ea[i] + eb[i] && ea[i] + eb[i] > 0; break;
        case VAL_KEEP: own = kept_error(a[i], ea[i], b[i], eb[i]); break;
        case VAL_SIN: case VAL_COS: own = fmin(ea[i], 2) + o.part + o.tiny; break;
        case VAL_EXP: case VAL_LOG: case VAL_TANH: case VAL_ERF: case VAL_SQRT:
        case VAL_FLOOR: case VAL_ATAN:
            own = function_error(&o, v->kind, a[i], ea[i]);
            break;
        case VAL_CONST: case VAL_LOAD: case VAL_SELECT: case VAL_PICK: case VAL_KIND_COUNT:
        default:
            UNREACHABLE();
        }
        e[i] = settled(type, own, r);
    }
}

/* --- Nodes ------------------------------------------------------------------------------------ */

static double reduction_size(const struct node *n)
{
    double size = 1;
    for (int i = 0; i < n->n_reduce; i++)
        size *= (double)(n->reduce[i]->hi + 1);
    return size;
}

/* Returns (MARGIN u)^2 * n / 3, or for few terms (n u)^2, which is smaller. */
static double sum_factor(double u, double n)
{
    return square(u) * fmin(square(n), square(MARGIN) * n / 3);
}

/* The reduction of one segment so far: values, their errors, and sums of squares. */
struct found { double value[ROW_SEGMENT], error[ROW_SEGMENT], squares[ROW_SEGMENT]; };

static void find_sum(struct found *f, int64_t n, const double *value, const double *error)
{
    for (int64_t i = 0; i < n; i++) {
        f->value[i] += value[i];
        f->error[i] += square(error[i]);
        f->squares[i] += square(value[i]);
    }
}

static void find_largest(struct found *f, int64_t n, const double *value, const double *error)
{
    for (int64_t i = 0; i < n; i++) {
        f->error[i] = larger_error(f->value[i], f->error[i], value[i], error[i]);
        f->value[i] = combined(COMBINE_MAX, f->value[i], value[i]);
    }
}

static double error_of_sum(double u, double n, double sum, double squares, double terms)
{
    return sqrt(terms + sum_factor(u, n) * (square(sum) + square(SPREAD) * squares));
}

static void error_segment(const struct row_segment *s)
{
    const struct node *n = s->p->n;
    double *out = s->p->how.error[n->out] + s->out, terms = reduction_size(n);
    double u = unit_of(s->p->type), value[ROW_SEGMENT], error[ROW_SEGMENT];
    struct found f = { 0 };
    for (int64_t i = 0; i < s->n; i++)
        f.value[i] = n->init;
    first_point(n->reduce, n->n_reduce, s->env);
    do {
        row_values(s, s->p->body, value, error);
        if (n->combine == COMBINE_SUM)
            find_sum(&f, s->n, value, error);
        else if (n->combine == COMBINE_MAX)
            find_largest(&f, s->n, value, error);
    } while (row_next(s));
    for (int64_t i = 0; i < s->n; i++) {
        double e = n->combine == COMBINE_NONE ? error[i]
                 : n->combine == COMBINE_MAX ? f.error[i]
                 : error_of_sum(u, terms, f.value[i], f.squares[i], f.error[i]);
        double result = n->combine == COMBINE_NONE ? value[i] : f.value[i];
        out[i * s->p->row_stride] = settled(s->p->type, e, result);
    }
}

/* --- Sums of products, at the reference's speed ----------------------------------------------- */

/* With factors s, x, errors Es, Ex: sum E_p^2 = sum x^2 Es^2 + s^2 Ex^2 + Es^2 Ex^2 + (2u s x)^2,
 * and what sum p^2 = sum s^2 x^2 adds is of the same form:
 *
 *     E^2 = sum s^2 * (c x^2 + Ex^2) + sum Es^2 * (x^2 + Ex^2) + sum_factor(n) * S^2 */
struct products {
    const struct graph *g;
    struct node node;                     /* the same sum, with init 0 */
    struct row_how how;                   /* options of the caller */
    double **data;                        /* per tensor: the data that replace its data */
    int s, x;
};

enum squared { OF_VALUE, OF_ERROR, OF_BOTH };

/* Replaces the data of tensor t by c * value^2, by error^2, or by the sum of both. */
static void put_squares(struct products *p, int t, enum squared what, double c)
{
    int64_t n = tensor_elems(&p->g->tensor[t]);
    const double *value = p->how.data[t], *error = p->how.error[t];
    for (int64_t i = 0; i < n; i++)
        p->data[t][i] = (what == OF_ERROR ? 0 : c * square(value[i]))
                      + (what == OF_VALUE || !error ? 0 : square(error[i]));
}

/* Computes out = sum over r of s * x, with the replaced data. */
static bool sum_of_products(struct products *p, double *out)
{
    struct arena *a = arena_new();
    struct row_how how = { .data = p->data, .cancel = p->how.cancel };
    p->data[p->node.out] = out;
    bool ok = mac_eval(row_plan_new(a, p->g, &p->node, &how));
    arena_free(a);
    return ok;
}

/* Adds sum Es^2 * (x^2 + Ex^2) to *error. */
static void add_error_of_s(struct products *p, double *error, int64_t n)
{
    double *more = xmalloc_elems((size_t)n, sizeof *more);
    put_squares(p, p->s, OF_ERROR, 0);
    put_squares(p, p->x, OF_BOTH, 1);
    sum_of_products(p, more);
    for (int64_t i = 0; i < n; i++)
        error[i] += more[i];
    free(more);
}

static bool products_error(struct products *p)
{
    int64_t n = tensor_elems(&p->g->tensor[p->node.out]);
    const double *sum = p->how.data[p->node.out];
    const struct elem_type *type = p->g->tensor[p->node.out].type->sum;
    double terms = reduction_size(&p->node), u = unit_of(type), factor = sum_factor(u, terms);
    double *error = p->how.error[p->node.out];
    put_squares(p, p->s, OF_VALUE, 1);
    put_squares(p, p->x, OF_BOTH, square(ROUNDINGS * u) + factor * square(SPREAD));
    if (!sum_of_products(p, error))
        return false;
    if (p->how.error[p->s])
        add_error_of_s(p, error, n);
    for (int64_t i = 0; i < n; i++)
        error[i] = settled(type, sqrt(error[i] + factor * square(sum[i])
                                      + terms * square(type->tiny)), sum[i]);
    return true;
}

/* Handles sums of products. Returns false, and does nothing, for nodes of another form. */
static bool error_of_products(const struct graph *g, const struct node *node,
                              const struct row_how *how)
{
    const struct val *product = mac_product(node);
    if (!product || product->a->source == product->b->source)
        return false;
    struct products p = { .g = g, .node = *node, .how = *how, .s = product->a->source,
                          .x = product->b->source };
    const int used[] = { p.s, p.x };
    p.node.init = 0;
    p.data = xcalloc((size_t)g->n_tensors, sizeof *p.data);
    for (int i = 0; i < COUNT_OF(used); i++)
        p.data[used[i]] = xmalloc_elems((size_t)tensor_elems(&g->tensor[used[i]]),
                                        sizeof **p.data);
    bool ok = products_error(&p);
    for (int i = 0; i < COUNT_OF(used); i++)
        free(p.data[used[i]]);
    free(p.data);
    return ok;
}

bool reference_error(const struct graph *g, double *const *data, double *const *error,
                     const struct cancel *c, struct err *e)
{
    struct row_how how = { .data = data, .error = error, .cancel = c };
    for (int i = 0; i < g->n_nodes && !cancelled(c); i++) {
        if (error_of_products(g, &g->node[i], &how))
            continue;
        struct arena *a = arena_new();
        row_each_segment(row_plan_new(a, g, &g->node[i], &how), error_segment);
        arena_free(a);
    }
    return !cancelled(c) || err_set(e, ERR_CANCEL, "cancelled while computing the reference");
}
