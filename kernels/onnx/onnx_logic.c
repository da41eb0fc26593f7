/* Translates casts, comparisons, logic, rounding, and functions that choose by comparisons.  False
 * and true are 0 and 1. */
#include "kernels/onnx/onnx_impl.h"

#include <math.h>
#include <string.h>

static int negated(struct imp *im, int x)
{
    return onnx_emit_affine(im, x, -1, 1);
}

static bool cast_to(struct imp *im, int x, int from, int64_t to, const struct shape *shape)
{
    int y = x, zero;
    im->type = (int)to;
    if (to == TYPE_BOOL && from != TYPE_BOOL) {
        zero = onnx_emit_number(im, 0);
        if (!onnx_emit2(im, "equal", x, zero, &y))
            return false;
        y = negated(im, y);
    } else if (onnx_is_int((int)to) && !onnx_is_int(from)) {
        y = onnx_emit_trunc(im, x);
    } else if (to != TYPE_FLOAT && to != TYPE_DOUBLE && to != TYPE_FLOAT16 &&
               !onnx_is_int((int)to)) {
        return onnx_refuse(im, "rounding to %s is not supported",
                           onnx_type_name((int)(to & 0xff)));
    }
    onnx_set_out(im, 0, y, shape);
    return true;
}

static bool cast(struct imp *im)
{
    int x;
    const struct value *v = onnx_in_value(im, 0);
    const struct value *like = onnx_has_in(im, 1) ? onnx_in_value(im, 1) : NULL;
    if (!v || !onnx_in_stmt(im, 0, &x))
        return false;
    return cast_to(im, x, v->type, like ? like->type : onnx_attr_int(im, "to", 0), &v->shape);
}

/* Translates comparisons.  x > y is computed as y < x. */
static bool compare(struct imp *im)
{
    static const struct { const char *op, *stmt; bool swap; } ops[] = {
        { "Equal", "equal", false }, { "Less", "less", false }, { "Greater", "less", true },
        { "LessOrEqual", "lessequal", false }, { "GreaterOrEqual", "lessequal", true },
    };
    int x, y, i = 0;
    while (!streq(ops[i].op, im->n->op))
        i++;
    if (!onnx_in_stmt(im, 0, &x) || !onnx_in_stmt(im, 1, &y) || !onnx_old_broadcast(im, x, &y) ||
        !onnx_emit2(im, ops[i].stmt, ops[i].swap ? y : x, ops[i].swap ? x : y, &x))
        return false;
    im->type = TYPE_BOOL;
    return onnx_done(im, x);
}

static bool logic(struct imp *im)
{
    const char *op = im->n->op;
    int x, y;
    im->type = TYPE_BOOL;
    if (!onnx_in_stmt(im, 0, &x))
        return false;
    if (streq(op, "Not"))
        return onnx_done(im, negated(im, x));
    if (!onnx_in_stmt(im, 1, &y) || !onnx_old_broadcast(im, x, &y) ||
        !onnx_emit2(im, streq(op, "And") ? "mul" : streq(op, "Or") ? "max" : "sub", x, y, &x))
        return false;
    return onnx_done(im, streq(op, "Xor") ? onnx_emit1(im, "abs", x) : x);
}

static bool where(struct imp *im)
{
    int c, x, y;
    const struct value *v = onnx_in_value(im, 1);
    if (!v || !onnx_in_stmt(im, 0, &c) || !onnx_in_stmt(im, 1, &x) || !onnx_in_stmt(im, 2, &y) ||
        !onnx_emit_where(im, c, x, y, &x))
        return false;
    im->type = v->type;
    return onnx_done(im, x);
}

static bool is_special(struct imp *im)
{
    bool nan = streq(im->n->op, "IsNaN");
    int64_t low = onnx_attr_int(im, "detect_negative", 1);
    int64_t high = onnx_attr_int(im, "detect_positive", 1);
    int x, y;
    if (!onnx_in_stmt(im, 0, &x))
        return false;
    y = nan ? x : onnx_emit_number(im, high ? INFINITY : -INFINITY);
    if (!nan && low && high)
        x = onnx_emit1(im, "abs", x);
    if (!nan && !low && !high)
        y = onnx_emit_number(im, NAN);
    if (!onnx_emit2(im, "equal", x, y, &x))
        return false;
    im->type = TYPE_BOOL;
    return onnx_done(im, nan ? negated(im, x) : x);
}

/* Emits x - y * floor(x / y), or x - y * trunc(x / y) if the attribute fmod is 1. */
static bool mod(struct imp *im)
{
    int x, y, q, r;
    if (!onnx_in_stmt(im, 0, &x) || !onnx_in_stmt(im, 1, &y) || !onnx_emit2(im, "div", x, y, &q))
        return false;
    q = onnx_attr_int(im, "fmod", 0) ? onnx_emit_trunc(im, q) : onnx_emit1(im, "floor", q);
    return onnx_emit2(im, "mul", q, y, &q) && onnx_emit2(im, "sub", x, q, &r) && onnx_done(im, r);
}

/* Translates BitShift: x * 2^y, or floor(x / 2^y). */
static bool bit_shift(struct imp *im)
{
    int x, y;
    bool left = streq(onnx_attr_text(im, "direction"), "LEFT");
    if (!onnx_in_stmt(im, 0, &x) || !onnx_in_stmt(im, 1, &y))
        return false;
    y = onnx_emit1(im, "exp", onnx_emit_affine(im, y, M_LN2, 0));
    y = onnx_emit1(im, "floor", onnx_emit_affine(im, y, 1, 0.5));
    if (!onnx_emit2(im, left ? "mul" : "div", x, y, &x))
        return false;
    return onnx_done(im, left ? x : onnx_emit1(im, "floor", x));
}

/* Emits x rounded to a whole number, halves to even ones: y = floor(x), plus 1 where x - y > 0.5 or
 * where x - y = 0.5 and y is odd.  x + 0.5 would not do: float32 rounds this sum where it passes a
 * power of 2, for example 0.50000006 + 0.5 to 1.  x - y is rounded only for -0.5 < x < 0, where the
 * result stays right: y is -1, which is odd. */
static bool round_to_even(struct imp *im, int x, int *out)
{
    int y = onnx_emit1(im, "floor", x), part, tie, odd, over;
    int pairs = onnx_emit1(im, "floor", onnx_emit_affine(im, y, 0.5, 0));
    int half = onnx_emit_number(im, 0.5);
    return onnx_emit2(im, "sub", x, y, &part) &&
           onnx_emit2(im, "sub", y, onnx_emit_affine(im, pairs, 2, 0), &odd) &&
           onnx_emit2(im, "equal", part, half, &tie) &&
           onnx_emit2(im, "less", half, part, &over) &&
           onnx_emit_where(im, tie, odd, over, &odd) && onnx_emit2(im, "add", y, odd, out);
}

/* Translates Ceil, Round and Sign. */
static bool rounding(struct imp *im)
{
    int x, y, z;
    if (!onnx_in_stmt(im, 0, &x))
        return false;
    if (streq(im->n->op, "Ceil"))
        return onnx_done(im, onnx_emit1(im, "neg",
                                        onnx_emit1(im, "floor", onnx_emit1(im, "neg", x))));
    if (streq(im->n->op, "Sign")) {
        int zero = onnx_emit_number(im, 0);
        return onnx_emit2(im, "less", zero, x, &y) && onnx_emit2(im, "less", x, zero, &z) &&
               onnx_emit2(im, "sub", y, z, &y) && onnx_done(im, y);
    }
    return round_to_even(im, x, &y) && onnx_done(im, y);
}

/* Functions of one tensor, most of which become several statements. */

/* Emits (exp(x) + sign * exp(-x)) / 2. */
static bool hyperbolic(struct imp *im, int x, double sign, int *out)
{
    int down = onnx_emit1(im, "exp", onnx_emit1(im, "neg", x));
    if (!onnx_emit2(im, sign > 0 ? "add" : "sub", onnx_emit1(im, "exp", x), down, out))
        return false;
    *out = onnx_emit_affine(im, *out, 0.5, 0);
    return true;
}

/* Emits log(x + sqrt(x^2 + add)). */
static bool inverse_hyperbolic(struct imp *im, int x, double add, int *out)
{
    int sq;
    if (!onnx_emit2(im, "mul", x, x, &sq) ||
        !onnx_emit2(im, "add", x, onnx_emit1(im, "sqrt", onnx_emit_affine(im, sq, 1, add)), out))
        return false;
    *out = onnx_emit1(im, "log", *out);
    return true;
}

static bool trigonometry(struct imp *im)
{
    const char *op = im->n->op;
    int x, y = 0, z;
    bool ok = true;
    if (!onnx_in_stmt(im, 0, &x))
        return false;
    if (streq(op, "Tan")) {
        y = onnx_emit1(im, "sin", x);
        ok = onnx_emit2(im, "div", y, onnx_emit1(im, "cos", x), &y);
    } else if (streq(op, "Sinh") || streq(op, "Cosh")) {
        ok = hyperbolic(im, x, op[0] == 'S' ? -1 : 1, &y);
    } else if (streq(op, "Asinh") || streq(op, "Acosh")) {
        ok = inverse_hyperbolic(im, x, op[1] == 's' ? 1 : -1, &y);
    } else if (streq(op, "Atanh")) {
        y = onnx_emit_affine(im, x, 1, 1);
        ok = onnx_emit2(im, "div", y, negated(im, x), &y);
        y = onnx_emit_affine(im, onnx_emit1(im, "log", y), 0.5, 0);
    } else {                              /* asin x = atan(x / sqrt(1 - x^2)) */
        ok = onnx_emit2(im, "mul", x, x, &z) &&
             onnx_emit2(im, "div", x, onnx_emit1(im, "sqrt", negated(im, z)), &y);
        y = onnx_emit1(im, "atan", y);
        if (streq(op, "Acos"))
            y = onnx_emit_affine(im, y, -1, M_PI_2);
    }
    return ok && onnx_done(im, y);
}

/* Emits x, moved by `bias` towards 0, where |x| > lambd, else 0. */
static bool shrink(struct imp *im)
{
    double limit = onnx_attr_float(im, "lambd", 0.5), bias = onnx_attr_float(im, "bias", 0);
    int x, low, high, y;
    if (!onnx_in_stmt(im, 0, &x))
        return false;
    int zero = onnx_emit_number(im, 0);
    if (!onnx_emit2(im, "less", x, onnx_emit_number(im, -limit), &low) ||
        !onnx_emit2(im, "less", onnx_emit_number(im, limit), x, &high) ||
        !onnx_emit_where(im, high, onnx_emit_affine(im, x, 1, -bias), zero, &y) ||
        !onnx_emit_where(im, low, onnx_emit_affine(im, x, 1, bias), y, &y))
        return false;
    return onnx_done(im, y);
}

static bool thresholded(struct imp *im)
{
    int x, c, y;
    if (!onnx_in_stmt(im, 0, &x))
        return false;
    int limit = onnx_emit_number(im, onnx_attr_float(im, "alpha", 1));
    return onnx_emit2(im, "less", limit, x, &c) &&
           onnx_emit_where(im, c, x, onnx_emit_number(im, 0), &y) && onnx_done(im, y);
}

static bool curves(struct imp *im)
{
    int x, y;
    if (!onnx_in_stmt(im, 0, &x))
        return false;
    if (streq(im->n->op, "Gelu"))
        return onnx_done(im, onnx_emit1(im, streq(onnx_attr_text(im, "approximate"), "tanh")
                                            ? "gelu_tanh" : "gelu", x));
    y = onnx_emit1(im, "tanh", onnx_emit1(im, "softplus", x));                    /* Mish */
    return onnx_emit2(im, "mul", x, y, &y) && onnx_done(im, y);
}

const struct handler onnx_logic_ops[] = {
    { "Cast", cast }, { "CastLike", cast }, { "Equal", compare }, { "Less", compare },
    { "Greater", compare }, { "LessOrEqual", compare }, { "GreaterOrEqual", compare },
    { "Not", logic }, { "And", logic }, { "Or", logic }, { "Xor", logic }, { "Where", where },
    { "IsNaN", is_special }, { "IsInf", is_special }, { "Mod", mod }, { "BitShift", bit_shift },
    { "Ceil", rounding }, { "Round", rounding }, { "Sign", rounding }, { "Tan", trigonometry },
    { "Sinh", trigonometry }, { "Cosh", trigonometry }, { "Asinh", trigonometry },
    { "Acosh", trigonometry }, { "Atanh", trigonometry }, { "Asin", trigonometry },
    { "Acos", trigonometry }, { "Shrink", shrink }, { "ThresholdedRelu", thresholded },
    { "Gelu", curves }, { "Mish", curves }, { NULL, NULL },
};
