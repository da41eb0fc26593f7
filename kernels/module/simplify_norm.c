/* Passes that recognise softmax and layer normalisation where exporters write them as several
 * statements. */
#include "kernels/module/simplify_impl.h"

/* Whether i is x / y, written as a quotient or as x * (1 / y). */
static bool is_quotient(const struct rewrite *r, int i, int *x, int *y)
{
    const int *arg = rewrite_at(r, i)->arg;
    if (rewrite_is(r, i, "div")) {
        *x = arg[0];
        *y = arg[1];
        return true;
    }
    if (!rewrite_is(r, i, "mul"))
        return false;
    int second = rewrite_is(r, arg[1], "reciprocal");
    if (!rewrite_is(r, arg[second], "reciprocal"))
        return false;
    *x = arg[!second];
    *y = rewrite_at(r, arg[second])->arg[0];
    return true;
}

/* Whether reduction i reduces a single dim, *dim, and keeps it with extent 1. */
static bool reduced_dim(const struct rewrite *r, int i, int *dim)
{
    int64_t axes[MAX_RANK];
    int rank = rewrite_at(r, rewrite_at(r, i)->arg[0])->shape.rank;
    if (rewrite_list(r, i, "axes", axes) != 1 || rewrite_int(r, i, "keep", 1) == 0)
        return false;
    *dim = (int)(axes[0] < 0 ? axes[0] + rank : axes[0]);
    return true;
}

/* Matches exp(x - max(x)) / sum(exp(x - max(x))), or exp(x) / sum(exp(x)). */
bool pass_softmax(struct rewrite *r, int i)
{
    int e, sum, dim, dim_max;
    if (!is_quotient(r, i, &e, &sum) || !rewrite_is(r, e, "exp") ||
        !rewrite_is(r, sum, "reduce_sum") || rewrite_at(r, sum)->arg[0] != e ||
        !reduced_dim(r, sum, &dim))
        return false;
    int x = rewrite_at(r, e)->arg[0];
    if (rewrite_is(r, x, "sub")) {
        const int *arg = rewrite_at(r, x)->arg;
        if (rewrite_is(r, arg[1], "reduce_max") && rewrite_at(r, arg[1])->arg[0] == arg[0] &&
            reduced_dim(r, arg[1], &dim_max) && dim_max == dim)
            x = arg[0];
    }
    rewrite_set(r, i, "softmax", &x, 1, "axis=%d", dim);
    return true;
}

/* Whether i is the mean of *x over all dims from *axis on, and keeps these dims. */
static bool is_mean(const struct rewrite *r, int i, int *x, int *axis)
{
    int64_t axes[MAX_RANK];
    if (!rewrite_is(r, i, "reduce_mean") || rewrite_int(r, i, "keep", 1) == 0)
        return false;
    *x = rewrite_at(r, i)->arg[0];
    int rank = rewrite_at(r, *x)->shape.rank, n = rewrite_list(r, i, "axes", axes);
    unsigned dims = n == 0 ? (1u << rank) - 1 : 0;
    for (int k = 0; k < n; k++)
        dims |= 1u << (axes[k] < 0 ? axes[k] + rank : axes[k]);
    *axis = __builtin_ctz(dims);
    return dims >> *axis == (1u << (rank - *axis)) - 1;
}

/* Whether i is x minus its mean. */
static bool is_centered(const struct rewrite *r, int i, int *x, int *axis)
{
    const int *arg = rewrite_at(r, i)->arg;
    return rewrite_is(r, i, "sub") && is_mean(r, arg[1], x, axis) && arg[0] == *x;
}

/* Whether i is sqrt(variance of x + eps).  Exporters may write x - mean twice,
 * so the statements for the variance can differ from those for the quotient. */
static bool is_deviation(const struct rewrite *r, int i, int x, int axis, double *eps)
{
    int square, centered, other, other_axis;
    if (!rewrite_is(r, i, "sqrt"))
        return false;
    int v = rewrite_at(r, i)->arg[0];
    *eps = 0;
    if (rewrite_is(r, v, "affine")) {
        *eps = rewrite_float(r, v, "add", 0);
        if (rewrite_float(r, v, "mul", 1) != 1)
            return false;
        v = rewrite_at(r, v)->arg[0];
    }
    if (*eps < 0 || !is_mean(r, v, &square, &other_axis) || other_axis != axis ||
        !rewrite_is(r, square, "mul"))
        return false;
    centered = rewrite_at(r, square)->arg[0];
    return rewrite_at(r, square)->arg[1] == centered &&
           is_centered(r, centered, &other, &other_axis) && other == x && other_axis == axis;
}

/* Adds a constant with the shape of c whose elements are 1. Returns it. */
static int ones_like(struct rewrite *r, int i, int c)
{
    const struct tensor shape = rewrite_at(r, c)->shape;
    struct str params = { 0 };
    for (int d = 0; d < shape.rank; d++)
        str_printf(&params, "d%d=%lld ", d, (long long)shape.shape[d]);
    int one = rewrite_add(r, i, "ones", &shape, "const", &c, 0, "%svalue=1", str_text(&params));
    str_free(&params);
    return one;
}

/* Merges statement i, the product or sum of a layernorm and a constant, into the layernorm. */
static bool merge_scale(struct rewrite *r, int i)
{
    bool shift = rewrite_is(r, i, "add");
    if (!shift && !rewrite_is(r, i, "mul"))
        return false;
    for (int k = 0; k < 2; k++) {
        int norm = rewrite_at(r, i)->arg[k], c = rewrite_at(r, i)->arg[!k];
        const struct rewrite_stmt *s = rewrite_at(r, norm);
        if (!rewrite_is(r, norm, "layernorm") || !rewrite_is_inner(r, norm) ||
            s->n_args > 1 + shift || !rewrite_at(r, c)->constant || !rewrite_same_shape(r, i, norm))
            continue;
        const char *params = s->params;
        int arg[3] = { s->arg[0], s->n_args > 1 ? s->arg[1] : c, c };
        if (shift && s->n_args == 1)
            arg[1] = ones_like(r, i, c);
        rewrite_set(r, i, "layernorm", arg, shift ? 3 : 2, "%s", params);
        return true;
    }
    return false;
}

bool pass_layernorm(struct rewrite *r, int i)
{
    int d, deviation, x, axis;
    double eps;
    if (merge_scale(r, i))
        return true;
    if (!is_quotient(r, i, &d, &deviation) || !is_centered(r, d, &x, &axis) ||
        !is_deviation(r, deviation, x, axis, &eps))
        return false;
    rewrite_set(r, i, "layernorm", &x, 1, "axis=%d eps=%s", axis, rewrite_text(r, eps));
    return true;
}
