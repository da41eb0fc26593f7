/* Translates element-wise operators, products, normalisation and reductions. */
#include "kernels/onnx/onnx_impl.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Translates functions of one tensor for which there is a statement without parameters. */
static bool unary(struct imp *im)
{
    static const struct { const char *op, *stmt; } same[] = {
        { "Relu", "relu" }, { "Sigmoid", "sigmoid" }, { "Tanh", "tanh" }, { "Exp", "exp" },
        { "Log", "log" }, { "Sqrt", "sqrt" }, { "Erf", "erf" }, { "Neg", "neg" },
        { "Abs", "abs" }, { "Reciprocal", "reciprocal" }, { "Softplus", "softplus" },
        { "HardSwish", "hardswish" }, { "Floor", "floor" }, { "Sin", "sin" }, { "Cos", "cos" },
        { "Atan", "atan" },
    };
    int x;
    if (!onnx_in_stmt(im, 0, &x))
        return false;
    for (int i = 0; i < COUNT_OF(same); i++)
        if (streq(same[i].op, im->n->op))
            return onnx_done(im, onnx_emit1(im, same[i].stmt, x));
    UNREACHABLE();
}

/* Translates functions of one tensor with numbers as parameters, and Softsign. */
static bool curve(struct imp *im)
{
    const char *op = im->n->op;
    int x;
    if (!onnx_in_stmt(im, 0, &x))
        return false;
    struct shape s = *onnx_shape_of(im, x);
    if (streq(op, "LeakyRelu"))
        return onnx_done(im,
                         onnx_emit(im, "leaky", &x, 1, &s, "alpha=%.9g",
                                   onnx_attr_float(im, "alpha", 0.01)));
    if (streq(op, "HardSigmoid"))
        return onnx_done(im, onnx_emit(im, "hardsigmoid", &x, 1, &s, "alpha=%.9g beta=%.9g",
                                       onnx_attr_float(im, "alpha",
                                                       0.2), onnx_attr_float(im, "beta", 0.5)));
    if (streq(op, "Elu"))
        return onnx_done(im,
                         onnx_emit(im, "elu", &x, 1, &s, "alpha=%.9g",
                                   onnx_attr_float(im, "alpha", 1)));
    if (streq(op, "Selu")) {
        int e = onnx_emit(im, "elu", &x, 1, &s, "alpha=%.9g",
                          onnx_attr_float(im, "alpha", 1.67326319217681884765625));
        return onnx_done(im,
                         onnx_emit_affine(im, e,
                                          onnx_attr_float(im, "gamma",
                                                          1.05070102214813232421875), 0));
    }
    if (streq(op, "Celu")) {
        double alpha = onnx_attr_float(im, "alpha", 1);
        if (!(fabs(alpha) > 1e-30))
            return onnx_refuse(im, "attribute alpha is 0, which is not supported");
        int in = onnx_emit_affine(im, x, 1 / alpha, 0);
        return onnx_done(im,
                         onnx_emit_affine(im, onnx_emit(im, "elu", &in, 1, &s, "alpha=1"), alpha,
                                          0));
    }
    int y, up = onnx_emit_affine(im, onnx_emit1(im, "abs", x), 1, 1);            /* Softsign */
    return onnx_emit2(im, "div", x, up, &y) && onnx_done(im, y);
}

static bool bound(struct imp *im, int i, const char *name, double otherwise, double *v, int *s)
{
    *v = onnx_attr_float(im, name, otherwise);
    *s = -1;
    if (!onnx_has_in(im, i))
        return true;
    const struct value *in = onnx_in_value(im, i);
    if (in->data && (in->data->f || in->data->i) && in->data->elems == 1) {
        *v = onnx_number(in->data, 0);
        return true;
    }
    return onnx_in_stmt(im, i, s);
}

/* Translates Clip, whose bounds are attributes, constants or tensors. */
static bool clip(struct imp *im)
{
    double lo, hi;
    int x, at_lo, at_hi;
    if (!onnx_in_stmt(im, 0, &x) || !bound(im, 1, "min", -FLT_MAX, &lo, &at_lo) ||
        !bound(im, 2, "max", FLT_MAX, &hi, &at_hi))
        return false;
    struct shape s = *onnx_shape_of(im, x);
    if (at_lo >= 0 && !onnx_emit2(im, "max", x, at_lo, &x))
        return false;
    if (at_hi >= 0 && !onnx_emit2(im, "min", x, at_hi, &x))
        return false;
    const char *min = at_lo < 0 && lo > -FLT_MAX ? arena_printf(im->a, "min=%.9g ", lo) : "";
    const char *max = at_hi < 0 && hi < FLT_MAX ? arena_printf(im->a, "max=%.9g", hi) : "";
    if (at_lo < 0 || at_hi < 0)
        x = *min || *max ? onnx_emit(im, "clip", &x, 1, &s, "%s%s", min,
                                     max) : onnx_emit1(im, "identity", x);
    return onnx_done(im, x);
}

static bool prelu(struct imp *im)
{
    int x, slope, below, y;
    if (!onnx_in_stmt(im, 0, &x) || !onnx_in_stmt(im, 1, &slope))
        return false;
    struct shape s = *onnx_shape_of(im, x), channel = { .rank = s.rank - 1 };
    for (int d = 0; d < channel.rank; d++)
        channel.dim[d] = d == 0 ? s.dim[1] : 1;
    bool per_channel = im->m->opset < 7 && s.rank > 1 && onnx_shape_of(im, slope)->rank == 1 &&
                       onnx_shape_of(im, slope)->dim[0] == s.dim[1];
    if (per_channel && !onnx_emit_reshape(im, slope, &channel, &slope))
        return false;
    below = onnx_emit(im, "clip", &x, 1, &s, "max=0");
    return onnx_emit2(im, "mul", below, slope,
                      &y) && onnx_emit2(im, "add", onnx_emit1(im, "relu", x), y, &y) &&
           onnx_done(im, y);
}

bool onnx_old_broadcast(struct imp *im, int x, int *y)
{
    int64_t axis = onnx_attr_int(im, "axis", -1);
    const struct shape *sx = onnx_shape_of(im, x), *sy = onnx_shape_of(im, *y);
    if (im->m->opset >= 7 || !onnx_attr_int(im, "broadcast", 0) || axis < 0)
        return true;
    if (axis + sy->rank > sx->rank)
        return onnx_refuse(im, "axis %lld does not exist in %s", (long long)axis,
               onnx_shape_text(im, sx, "x"));
    struct shape to = *sy;
    while (axis + to.rank < sx->rank)
        to.dim[to.rank++] = 1;
    return onnx_emit_reshape(im, *y, &to, y);
}

/* Translates Add Sub Mul Div of two tensors, and Sum Mean Max Min of any number of tensors. */
static bool arithmetic(struct imp *im)
{
    static const struct { const char *op, *stmt; } same[] = {
        { "Add", "add" }, { "Sub", "sub" }, { "Mul", "mul" }, { "Div", "div" }, { "Sum", "add" },
        { "Mean", "add" }, { "Max", "max" }, { "Min", "min" },
    };
    int x, y, i = 0, rank = 0;
    while (!streq(same[i].op, im->n->op))
        i++;
    if (!onnx_in_stmt(im, 0, &x))
        return false;
    for (int k = 0; k < im->n->n_in; k++) {
        const struct value *v = onnx_in_value(im, k);
        if (!v)
            return false;
        rank = v->shape.rank > rank ? v->shape.rank : rank;
    }
    for (int k = 1; k < im->n->n_in; k++)
        if (!onnx_in_stmt(im, k, &y) || !onnx_old_broadcast(im, x, &y) ||
            !onnx_emit2(im, same[i].stmt, x, y, &x))
            return false;
    if (i < 4 && im->n->n_in != 2)
        return onnx_refuse(im, "it does not have two inputs");
    if (streq(im->n->op, "Mean"))
        x = onnx_emit_affine(im, x, 1.0 / im->n->n_in, 0);
    if (streq(im->n->op, "Div") && onnx_is_int(im->type))
        x = onnx_emit_trunc(im, x);
    if (im->n->n_in == 1)
        x = onnx_emit1(im, "identity", x);
    struct shape s = *onnx_shape_of(im, x);
    s.rank = rank ? s.rank : 0;
    onnx_set_out(im, 0, x, &s);
    return true;
}

/* Emits x ^ y for any tensors x and y: exp(y log |x|), negated where x is negative and y is odd.
 * The result is 1 where y is 0, and NaN where x is negative and y is not whole. */
static bool general_power(struct imp *im, int x, int y, int *out)
{
    int size, below, odd, sign, none, whole, wrong;
    int one = onnx_emit_number(im, 1), zero = onnx_emit_number(im, 0);
    int half = onnx_emit1(im, "floor", onnx_emit_affine(im, y, 0.5, 0));
    if (!onnx_emit2(im, "mul", onnx_emit1(im, "log", onnx_emit1(im, "abs", x)), y, &size) ||
        !onnx_emit2(im, "less", x, zero, &below) ||
        !onnx_emit2(im, "sub", y, onnx_emit_affine(im, half, 2, 0), &odd) ||
        !onnx_emit2(im, "mul", below, odd, &sign) || !onnx_emit2(im, "equal", y, zero, &none))
        return false;
    sign = onnx_emit_affine(im, sign, -2, 1);
    size = onnx_emit1(im, "exp", size);
    if (!onnx_emit2(im, "mul", size, sign, &size) ||
        !onnx_emit2(im, "equal", y, onnx_emit1(im, "floor", y), &whole) ||
        !onnx_emit2(im, "mul", below, onnx_emit_affine(im, whole, -1, 1), &wrong))
        return false;
    return onnx_emit_where(im, wrong, onnx_emit_number(im, NAN), size, &size) &&
           onnx_emit_where(im, none, one, size, out);
}

/* Translates Pow.  With a constant whole exponent from 1 to 16 it becomes a chain of products, with
 * the exponent 0.5 a square root. */
static bool power(struct imp *im)
{
    int x, y;
    const struct value *v = onnx_in_value(im, 1);
    if (!v || !onnx_in_stmt(im, 0, &x))
        return false;
    bool known = v->data && v->data->elems == 1 && (v->data->f || v->data->i);
    double e = known ? onnx_number(v->data, 0) : 0;
    if (e == 0.5)
        return onnx_done(im, onnx_emit1(im, "sqrt", x));
    if (e < 1 || e > 16 || e != floor(e)) {
        if (!onnx_in_stmt(im, 1, &y) || !general_power(im, x, y, &y))
            return false;
        if (onnx_is_int(im->type))
            y = onnx_emit1(im, "floor", onnx_emit_affine(im, y, 1, 0.5));
        return onnx_done(im, y);
    }
    y = e == 1 ? onnx_emit1(im, "identity", x) : x;
    for (int k = 1; k < (int)e; k++)
        if (!onnx_emit2(im, "mul", y, x, &y))
            return false;
    return onnx_done(im, y);
}

/* Translates MatMul.  A vector gets a second dim of 1, which the result loses again. */
static bool matmul(struct imp *im)
{
    int x, y;
    if (!onnx_in_stmt(im, 0, &x) || !onnx_in_stmt(im, 1, &y))
        return false;
    struct shape a = *onnx_shape_of(im, x), b = *onnx_shape_of(im, y), out = { 0 };
    bool row = a.rank == 1, column = b.rank == 1;
    if (row)
        a = (struct shape){ 2, { 1, a.dim[0] } };
    if (column)
        b = (struct shape){ 2, { b.dim[0], 1 } };
    if (!onnx_emit_reshape(im, x, &a, &x) || !onnx_emit_reshape(im, y, &b, &y))
        return false;
    if (a.dim[a.rank - 1] != b.dim[b.rank - 2])
        return onnx_refuse(im, "%s cannot be multiplied by %s", onnx_shape_text(im, &a, "x"),
                           onnx_shape_text(im, &b, "x"));
    out.rank = a.rank > b.rank ? a.rank : b.rank;
    for (int d = 0; d < out.rank - 2; d++) {
        int da = d - (out.rank - a.rank), db = d - (out.rank - b.rank);
        int64_t na = da >= 0 ? a.dim[da] : 1, nb = db >= 0 ? b.dim[db] : 1;
        out.dim[d] = na > nb ? na : nb;
    }
    out.dim[out.rank - 2] = a.dim[a.rank - 2];
    out.dim[out.rank - 1] = b.dim[b.rank - 1];
    int s = onnx_emit(im, "matmul", (int[]){ x, y }, 2, &out, "%s", "");
    struct shape to = { 0 };
    for (int d = 0; d < out.rank; d++)
        if (!(row && d == out.rank - 2) && !(column && d == out.rank - 1))
            to.dim[to.rank++] = out.dim[d];
    if (!onnx_emit_reshape(im, s, &to, &s))
        return false;
    onnx_set_out(im, 0, s, &to);
    return true;
}

static bool gemm(struct imp *im)
{
    int in[3], n = 2;
    if (!onnx_in_stmt(im, 0, &in[0]) || !onnx_in_stmt(im, 1, &in[1]) ||
        (onnx_has_in(im, 2) && !onnx_in_stmt(im, 2, &in[n++])))
        return false;
    const struct shape *a = onnx_shape_of(im, in[0]), *b = onnx_shape_of(im, in[1]);
    int ta = onnx_attr_int(im, "transA", 0) != 0, tb = onnx_attr_int(im, "transB", 0) != 0;
    if (a->rank != 2 || b->rank != 2 || a->dim[!ta] != b->dim[tb])
        return onnx_refuse(im, "%s and %s cannot be multiplied", onnx_shape_text(im, a, "x"),
                           onnx_shape_text(im, b, "x"));
    struct shape out = { 2, { a->dim[ta], b->dim[!tb] } };
    return onnx_done(im,
                     onnx_emit(im, "gemm", in, n, &out, "transa=%d transb=%d alpha=%.9g beta=%.9g",
                               ta, tb,
                               onnx_attr_float(im, "alpha", 1),
                               onnx_attr_float(im, "beta", 1)));
}

/* --- Normalisation ---------------------------------------------------------------------------- */

static bool batchnorm(struct imp *im)
{
    int in[5];
    for (int i = 0; i < 5; i++)
        if (!onnx_in_stmt(im, i, &in[i]))
            return false;
    if (onnx_attr_int(im, "training_mode", 0) || !onnx_attr_int(im, "spatial", 1))
        return onnx_refuse(im, "only inference with one mean per channel is supported");
    for (int k = 1; k < im->n->n_out; k++)
        if (onnx_wants_out(im, k))
            return onnx_refuse(im, "only inference is supported, and output %s belongs to training",
                               im->n->out[k]);
    struct shape s = *onnx_shape_of(im, in[0]);
    return onnx_done(im,
                     onnx_emit(im, "batchnorm", in, 5, &s, "eps=%.9g",
                               onnx_attr_float(im, "epsilon", 1e-5)));
}

/* Emits (x - mean) / sqrt(var + eps), with mean and variance over `dims`.  Sets *mean and *inv to
 * the statements of the mean and of the factor 1 / sqrt(var + eps). */
static bool standardize(struct imp *im, int x, unsigned dims, double eps, int *mean, int *inv,
                        int *out)
{
    int sq;
    *mean = onnx_emit_reduce(im, "reduce_mean", x, dims, true);
    if (!onnx_emit2(im, "sub", x, *mean, out) || !onnx_emit2(im, "mul", *out, *out, &sq))
        return false;
    int var = onnx_emit_reduce(im, "reduce_mean", sq, dims, true);
    *inv = onnx_emit1(im, "reciprocal", onnx_emit1(im, "sqrt", onnx_emit_affine(im, var, 1, eps)));
    return onnx_emit2(im, "mul", *out, *inv, out);
}

static bool layernorm(struct imp *im)
{
    int x, y, in[3], n = 1, axis, mean, inv;
    double eps = onnx_attr_float(im, "epsilon", 1e-5);
    if (!onnx_in_stmt(im, 0, &x))
        return false;
    struct shape s = *onnx_shape_of(im, x);
    in[0] = x;
    if (!onnx_axis_in(im, onnx_attr_int(im, "axis", -1), s.rank, &axis))
        return false;
    for (int i = 1; i < 3; i++)
        if (onnx_has_in(im, i) && !onnx_in_stmt(im, i, &in[n++]))
            return false;
    if (!onnx_wants_out(im, 1) && !onnx_wants_out(im, 2))
        return onnx_done(im, onnx_emit(im, "layernorm", in, n, &s, "axis=%d eps=%.9g", axis, eps));
    unsigned dims = ((1u << s.rank) - 1) & ~((1u << axis) - 1);
    if (!standardize(im, x, dims, eps, &mean, &inv, &y))
        return false;
    for (int i = 1; i < n; i++)
        if (!onnx_emit2(im, i == 1 ? "mul" : "add", y, in[i], &y))
            return false;
    struct shape small = *onnx_shape_of(im, mean);
    onnx_set_out(im, 1, mean, &small);
    onnx_set_out(im, 2, inv, &small);
    return onnx_done(im, y);
}

/* Multiplies *y by input 1 and adds input 2, both reshaped to `channel`. */
static bool scale_and_shift(struct imp *im, const struct shape *channel, int *y)
{
    for (int i = 1; i < 3; i++) {
        int v;
        if (!onnx_in_stmt(im, i, &v) || !onnx_emit_reshape(im, v, channel, &v) ||
            !onnx_emit2(im, i == 1 ? "mul" : "add", *y, v, y))
            return false;
    }
    return true;
}

static bool instancenorm(struct imp *im)
{
    int x, y, mean, inv;
    if (!onnx_in_stmt(im, 0, &x))
        return false;
    struct shape s = *onnx_shape_of(im, x), channel = { .rank = s.rank - 1 };
    if (s.rank < 3)
        return onnx_refuse(im, "its input has fewer than 3 dimensions");
    for (int d = 0; d < channel.rank; d++)
        channel.dim[d] = d == 0 ? s.dim[1] : 1;
    if (!standardize(im, x, ((1u << s.rank) - 1) & ~3u, onnx_attr_float(im, "epsilon", 1e-5), &mean,
                     &inv, &y))
        return false;
    return scale_and_shift(im, &channel, &y) && onnx_done(im, y);
}

/* Translates MeanVarianceNormalization: (x - mean) / (sqrt(var) + 1e-9), over `axes`. */
static bool mvn(struct imp *im)
{
    int64_t axes[ONNX_MAX_RANK] = { 0, 2, 3 };
    int x, y, sq, n;
    unsigned dims = 0;
    if (!onnx_in_stmt(im, 0, &x) || !onnx_attr_ints(im, "axes", axes, ONNX_MAX_RANK, &n))
        return false;
    for (int i = 0; i < (onnx_attr(im, "axes") ? n : 3); i++) {
        int d;
        if (!onnx_axis_in(im, axes[i], onnx_shape_of(im, x)->rank, &d))
            return false;
        dims |= 1u << d;
    }
    int mean = onnx_emit_reduce(im, "reduce_mean", x, dims, true);
    if (!onnx_emit2(im, "sub", x, mean, &y) || !onnx_emit2(im, "mul", y, y, &sq))
        return false;
    int dev = onnx_emit1(im, "sqrt", onnx_emit_reduce(im, "reduce_mean", sq, dims, true));
    return onnx_emit2(im, "div", y, onnx_emit_affine(im, dev, 1, 1e-9), &y) && onnx_done(im, y);
}

/* Translates Softmax and LogSoftmax.  Before opset 13, all dims from axis on are treated as one
 * dim. */
static bool softmax(struct imp *im)
{
    int x, axis;
    bool old = im->m->opset < 13;
    const char *op = streq(im->n->op, "Softmax") ? "softmax" : "logsoftmax";
    if (!onnx_in_stmt(im, 0, &x))
        return false;
    struct shape s = *onnx_shape_of(im, x), flat = { 2, { 1, 1 } };
    if (!onnx_axis_in(im, onnx_attr_int(im, "axis", old ? 1 : -1), s.rank, &axis))
        return false;
    if (!old || axis == s.rank - 1)
        return onnx_done(im, onnx_emit(im, op, &x, 1, &s, "axis=%d", axis));
    for (int d = 0; d < s.rank; d++)
        flat.dim[d >= axis] *= s.dim[d];
    if (!onnx_emit_reshape(im, x, &flat, &x))
        return false;
    x = onnx_emit(im, op, &x, 1, &flat, "axis=1");
    return onnx_emit_reshape(im, x, &s, &x) && onnx_done(im, x);
}

/* Sets *dims to the set of dims that a reduction over `rank` dims reduces.  The axes are the second
 * input or an attribute.  Without axes, the set has all dims, or no dim if noop_with_empty_axes is
 * set. */
static bool reduce_dims(struct imp *im, int rank, unsigned *dims)
{
    int64_t axes[ONNX_MAX_RANK];
    int n = 0;
    if (onnx_has_in(im, 1) ? !onnx_in_ints(im, 1, axes, ONNX_MAX_RANK, &n)
                      : !onnx_attr_ints(im, "axes", axes, ONNX_MAX_RANK, &n))
        return false;
    *dims = 0;
    for (int i = 0; i < n; i++) {
        int d;
        if (!onnx_axis_in(im, axes[i], rank, &d))
            return false;
        *dims |= 1u << d;
    }
    if (n == 0 && !onnx_attr_int(im, "noop_with_empty_axes", 0))
        *dims = (1u << rank) - 1;
    return true;
}

static const struct onnx_reduction { const char *op, *before, *stmt, *after; } reductions[] = {
    { "ReduceSum", "", "reduce_sum", "" },
    { "ReduceMean", "", "reduce_mean", "" },
    { "ReduceMax", "", "reduce_max", "" },
    { "ReduceMin", "", "reduce_min", "" },
    { "ReduceL1", "abs", "reduce_sum", "" },
    { "ReduceL2", "square", "reduce_sum", "sqrt" },
    { "ReduceSumSquare", "square", "reduce_sum", "" },
    { "ReduceLogSum", "", "reduce_sum", "log" },
    { "ReduceLogSumExp", "exp", "reduce_sum", "log" },
};

static bool reduce(struct imp *im)
{
    const struct onnx_reduction *r = reductions;
    struct value *v = onnx_in_value(im, 0);
    unsigned dims;
    int x;
    while (!streq(r->op, im->n->op))
        r++;
    if (!v || !onnx_in_stmt(im, 0, &x) || !reduce_dims(im, v->shape.rank, &dims))
        return false;
    bool keep = onnx_attr_int(im, "keepdims", 1) != 0;
    struct shape from = v->shape, s = { 0 };
    for (int d = 0; d < from.rank; d++)
        if (keep || !(dims >> d & 1))
            s.dim[s.rank++] = dims >> d & 1 ? 1 : from.dim[d];
    if (streq(r->before, "square")) {
        if (!onnx_emit2(im, "mul", x, x, &x))
            return false;
    } else if (r->before[0]) {
        x = onnx_emit1(im, r->before, x);
    }
    x = dims ? onnx_emit_reduce(im, r->stmt, x, dims, keep) : onnx_emit1(im, "identity", x);
    if (r->after[0])
        x = onnx_emit1(im, r->after, x);
    onnx_set_out(im, 0, x, &s);
    return true;
}

/* Translates ReduceProd to products of slices of one element. */
static bool reduce_prod(struct imp *im)
{
    enum { MAX_FACTORS = 64 };
    struct value *v = onnx_in_value(im, 0);
    bool keep = onnx_attr_int(im, "keepdims", 1) != 0;
    unsigned dims;
    int x, y;
    if (!v || !onnx_in_stmt(im, 0, &x) || !reduce_dims(im, v->shape.rank, &dims))
        return false;
    struct shape s = { 0 };
    for (int d = 0; d < v->shape.rank; d++) {
        int64_t n = v->shape.dim[d];
        bool gone = dims >> d & 1;
        if (gone && n > MAX_FACTORS)
            return onnx_refuse(im, "a product of %lld factors is not supported", (long long)n);
        y = gone ? onnx_emit_slice(im, x, d, 0, 1, 1) : x;
        for (int64_t k = 1; gone && k < n; k++)
            if (!onnx_emit2(im, "mul", y, onnx_emit_slice(im, x, d, k, 1, 1), &y))
                return false;
        x = y;
        if (keep || !gone)
            s.dim[s.rank++] = gone ? 1 : n;
    }
    if (!onnx_emit_reshape(im, x, &s, &x))
        return false;
    onnx_set_out(im, 0, im->stmt.data[x].n_in ? x : onnx_emit1(im, "identity", x), &s);
    return true;
}

/* Translates GroupNormalization.  Before opset 21, scale and bias have one element per group; from
 * opset 21 on, one per channel.  Here the lengths of scale and bias decide, not the opset. */
static bool groupnorm(struct imp *im)
{
    int64_t groups = onnx_attr_int(im, "num_groups", 0);
    int x, y, mean, inv;
    if (!onnx_in_stmt(im, 0, &x))
        return false;
    struct shape s = *onnx_shape_of(im, x), apart = { 3, { s.dim[0], groups, 1 } };
    if (s.rank < 3 || groups < 1 || s.dim[1] % groups)
        return onnx_refuse(im, "%lld groups of %s are not possible", (long long)groups,
                           onnx_shape_text(im, &s, "x"));
    apart.dim[2] = onnx_shape_elems(&s) / s.dim[0] / groups;
    struct shape channel = { .rank = s.rank - 1 }, flat = s;
    bool per_group = false;
    for (int i = 1; i < 3; i++) {
        const struct value *v = onnx_in_value(im, i);
        if (!v)
            return false;
        per_group = v->shape.rank == 1 && v->shape.dim[0] == groups && s.dim[1] != groups;
    }
    for (int d = 0; d < channel.rank; d++)
        channel.dim[d] = d == 0 ? s.dim[1] : 1;
    if (per_group) {
        channel = (struct shape){ 2, { groups, 1 } };
        flat = apart;
    }
    if (!onnx_emit_reshape(im, x, &apart, &x) ||
        !standardize(im, x, 4, onnx_attr_float(im, "epsilon", 1e-5), &mean, &inv, &y) ||
        !onnx_emit_reshape(im, y, &flat, &y))
        return false;
    return scale_and_shift(im, &channel, &y) && onnx_emit_reshape(im, y, &s, &y) &&
           onnx_done(im, y);
}

const struct handler onnx_math_ops[] = {
    { "Relu", unary }, { "Sigmoid", unary }, { "Tanh", unary }, { "Exp", unary },
    { "Log", unary }, { "Sqrt", unary }, { "Erf", unary }, { "Neg", unary }, { "Abs", unary },
    { "Reciprocal", unary }, { "Softplus", unary }, { "HardSwish", unary },
    { "Floor", unary }, { "Sin", unary }, { "Cos", unary }, { "Atan", unary },
    { "LeakyRelu", curve }, { "HardSigmoid", curve }, { "Elu", curve }, { "Selu", curve },
    { "Celu", curve }, { "Softsign", curve }, { "Clip", clip }, { "PRelu", prelu },
    { "Add", arithmetic }, { "Sub", arithmetic }, { "Mul", arithmetic }, { "Div", arithmetic },
    { "Sum", arithmetic }, { "Mean", arithmetic }, { "Max", arithmetic }, { "Min", arithmetic },
    { "Pow", power }, { "MatMul", matmul }, { "Gemm", gemm },
    { "BatchNormalization", batchnorm }, { "LayerNormalization", layernorm },
    { "GroupNormalization", groupnorm }, { "ReduceProd", reduce_prod },
    { "InstanceNormalization", instancenorm }, { "MeanVarianceNormalization", mvn },
    { "Softmax", softmax }, { "LogSoftmax", softmax },
    { "ReduceSum", reduce }, { "ReduceMean", reduce }, { "ReduceMax", reduce },
    { "ReduceMin", reduce }, { "ReduceL1", reduce }, { "ReduceL2", reduce },
    { "ReduceSumSquare", reduce }, { "ReduceLogSum", reduce }, { "ReduceLogSumExp", reduce },
    { NULL, NULL },
};
