/* Builds activations and other functions of one tensor, element by element. */
#include "kernels/ops/build.h"

#include <math.h>

const char *const act_words[ACT_ALL] = {
    [ACT_NONE] = "none", [ACT_RELU] = "relu", [ACT_RELU6] = "relu6",
    [ACT_SIGMOID] = "sigmoid", [ACT_TANH] = "tanh", [ACT_GELU] = "gelu",
    [ACT_GELU_TANH] = "gelu_tanh", [ACT_SILU] = "silu", [ACT_HARDSWISH] = "hardswish",
    [ACT_SOFTPLUS] = "softplus", [ACT_COUNT] = NULL,
    [ACT_EXP] = "exp", [ACT_LOG] = "log", [ACT_SQRT] = "sqrt", [ACT_ERF] = "erf",
    [ACT_NEG] = "neg", [ACT_ABS] = "abs", [ACT_RECIPROCAL] = "reciprocal",
    [ACT_IDENTITY] = "identity", [ACT_FLOOR] = "floor", [ACT_SIN] = "sin", [ACT_COS] = "cos",
    [ACT_ATAN] = "atan", [ACT_CLIP] = "clip", [ACT_LEAKY] = "leaky", [ACT_ELU] = "elu",
    [ACT_AFFINE] = "affine", [ACT_HARDSIGMOID] = "hardsigmoid",
};

/* Names of the output tensors, for the functions that families offer. */
static const char *const outs[ACT_COUNT] = {
    [ACT_RELU] = "ReLU", [ACT_RELU6] = "ReLU6", [ACT_SIGMOID] = "Sigmoid", [ACT_TANH] = "Tanh",
    [ACT_GELU] = "GELU", [ACT_GELU_TANH] = "GELU", [ACT_SILU] = "SiLU",
    [ACT_HARDSWISH] = "HardSwish", [ACT_SOFTPLUS] = "SoftPlus",
};

static const struct val *mul(const struct graph *g, const struct val *x, const struct val *y)
{
    return bin(g, VAL_MUL, x, y);
}

static const struct val *add(const struct graph *g, const struct val *x, const struct val *y)
{
    return bin(g, VAL_ADD, x, y);
}

static const struct val *relu(const struct graph *g, const struct val *x)
{
    return bin(g, VAL_MAX, x, num(g, 0));
}

static const struct val *relu6(const struct graph *g, const struct val *x)
{
    return bin(g, VAL_MIN, relu(g, x), num(g, 6));
}

static const struct val *negated(const struct graph *g, const struct val *x)
{
    return bin(g, VAL_SUB, num(g, 0), x);
}

/* Returns 1 + exp(x). */
static const struct val *exp_plus_1(const struct graph *g, const struct val *x)
{
    return add(g, num(g, 1), un(g, VAL_EXP, x));
}

/* Returns sqrt(2 / pi) * (x + 0.044715*x^3) (Hendrycks and Gimpel 2016). */
static const struct val *gelu_inner(const struct graph *g, const struct val *x)
{
    const struct val *square = mul(g, mul(g, x, x), num(g, 0.044715));
    return mul(g, mul(g, x, num(g, 0.79788456080286536)), add(g, num(g, 1), square));
}

/* Returns x * 0.5 * (1 + f(inner)). */
static const struct val *gelu(const struct graph *g, const struct val *x, enum val_kind f,
                              const struct val *inner)
{
    return mul(g, mul(g, x, num(g, 0.5)), add(g, num(g, 1), un(g, f, inner)));
}

/* Returns f(x) for a function f that has the parameters alpha and beta, or only alpha. */
static const struct val *with_numbers(const struct graph *g, enum act f, const struct val *x,
                                      double alpha, double beta)
{
    const struct val *a = num(g, alpha), *b = num(g, beta);
    const struct val *below = bin(g, VAL_MIN, x, num(g, 0));
    if (f == ACT_LEAKY)                   /* max(x, 0) + alpha * min(x, 0) */
        return add(g, relu(g, x), mul(g, a, below));
    if (f == ACT_ELU)                     /* max(x, 0) + alpha * (exp(min(x, 0)) - 1) */
        return add(g, relu(g, x),
                   mul(g, a, bin(g, VAL_SUB, un(g, VAL_EXP, below), num(g, 1))));
    if (f == ACT_AFFINE)
        return add(g, mul(g, x, a), b);
    if (f == ACT_HARDSIGMOID)             /* min(max(alpha * x + beta, 0), 1) */
        return bin(g, VAL_MIN, relu(g, add(g, mul(g, a, x), b)), num(g, 1));
    if (alpha > -INFINITY)                /* clip to [alpha, beta] */
        x = bin(g, VAL_MAX, x, a);
    return beta < INFINITY ? bin(g, VAL_MIN, x, b) : x;
}

static const struct val *apply(const struct graph *g, enum act f, const struct val *x)
{
    const struct val *minus = negated(g, x);
    switch (f) {
    case ACT_RELU: return relu(g, x);
    case ACT_RELU6: return relu6(g, x);
    case ACT_SIGMOID: return bin(g, VAL_DIV, num(g, 1), exp_plus_1(g, minus));
    case ACT_TANH: return un(g, VAL_TANH, x);
    case ACT_GELU: return gelu(g, x, VAL_ERF, mul(g, x, num(g, 0.70710678118654752)));
    case ACT_GELU_TANH: return gelu(g, x, VAL_TANH, gelu_inner(g, x));
    case ACT_SILU: return bin(g, VAL_DIV, x, exp_plus_1(g, minus));
    case ACT_HARDSWISH:                   /* x * min(max(x + 3, 0), 6) / 6 */
        return mul(g, mul(g, x, relu6(g, add(g, x, num(g, 3)))), num(g, 1.0 / 6));
    case ACT_SOFTPLUS:  /* max(x, 0) + log(1 + exp(-|x|)): log(1 + exp(x)) without overflow */
        return add(g, relu(g, x),
                   un(g, VAL_LOG, exp_plus_1(g, bin(g, VAL_MIN, x, minus))));
    case ACT_EXP: return un(g, VAL_EXP, x);
    case ACT_LOG: return un(g, VAL_LOG, x);
    case ACT_SQRT: return un(g, VAL_SQRT, x);
    case ACT_ERF: return un(g, VAL_ERF, x);
    case ACT_NEG: return minus;
    case ACT_ABS: return bin(g, VAL_MAX, x, minus);
    case ACT_RECIPROCAL: return bin(g, VAL_DIV, num(g, 1), x);
    case ACT_IDENTITY: return x;
    case ACT_FLOOR: return un(g, VAL_FLOOR, x);
    case ACT_SIN: return un(g, VAL_SIN, x);
    case ACT_COS: return un(g, VAL_COS, x);
    case ACT_ATAN: return un(g, VAL_ATAN, x);
    case ACT_CLIP: case ACT_LEAKY: case ACT_ELU: case ACT_AFFINE: case ACT_HARDSIGMOID:
    case ACT_NONE: case ACT_COUNT: case ACT_ALL: break;
    }
    UNREACHABLE();
}

int act_node(struct graph *g, int x, enum act act, double alpha, double beta)
{
    const char *op = act == ACT_GELU_TANH ? "gelu" : act_words[act];
    struct node n = build_like(g, x, op, act < ACT_COUNT ? outs[act] : "Out");
    n.elementwise = true;
    n.params.function = act_words[act];
    n.params.alpha = alpha;
    n.params.beta = beta;
    n.body = act >= ACT_CLIP ? with_numbers(g, act, n.body, alpha, beta) : apply(g, act, n.body);
    graph_add_node(g, &n);
    return n.out;
}
