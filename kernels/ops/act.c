/* Activations: element-wise functions of one tensor. */
#include "kernels/ops/build.h"

static const struct val *num(struct arena *a, double v)
{
    return val_const(a, v);
}

static const struct val *mul(struct arena *a, const struct val *x, const struct val *y)
{
    return val_bin(a, VAL_MUL, x, y);
}

static const struct val *add(struct arena *a, const struct val *x, const struct val *y)
{
    return val_bin(a, VAL_ADD, x, y);
}

static const struct val *relu(struct arena *a, const struct val *x)
{
    return val_bin(a, VAL_MAX, x, num(a, 0));
}

static const struct val *relu6(struct arena *a, const struct val *x)
{
    return val_bin(a, VAL_MIN, relu(a, x), num(a, 6));
}

/* 1 + exp(-x) */
static const struct val *logistic(struct arena *a, const struct val *x)
{
    return add(a, num(a, 1), val_un(a, VAL_EXP, val_bin(a, VAL_SUB, num(a, 0), x)));
}

static const struct val *sigmoid(struct arena *a, const struct val *x)
{
    return val_bin(a, VAL_DIV, num(a, 1), logistic(a, x));
}

static const struct val *hyperbolic(struct arena *a, const struct val *x)
{
    return val_un(a, VAL_TANH, x);
}

/* x * 0.5 * (1 + erf(x / sqrt(2))) */
static const struct val *gelu(struct arena *a, const struct val *x)
{
    const struct val *e = val_un(a, VAL_ERF, mul(a, x, num(a, 0.70710678118654752)));
    return mul(a, mul(a, x, num(a, 0.5)), add(a, num(a, 1), e));
}

/* x * 0.5 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715*x^3))) (Hendrycks and Gimpel 2016) */
static const struct val *gelu_tanh(struct arena *a, const struct val *x)
{
    const struct val *square = mul(a, mul(a, x, x), num(a, 0.044715));
    const struct val *inner = mul(a, mul(a, x, num(a, 0.79788456080286536)),
                                  add(a, num(a, 1), square));
    return mul(a, mul(a, x, num(a, 0.5)), add(a, num(a, 1), val_un(a, VAL_TANH, inner)));
}

static const struct val *silu(struct arena *a, const struct val *x)
{
    return val_bin(a, VAL_DIV, x, logistic(a, x));
}

/* x * min(max(x + 3, 0), 6) / 6 */
static const struct val *hardswish(struct arena *a, const struct val *x)
{
    return mul(a, mul(a, x, relu6(a, add(a, x, num(a, 3)))), num(a, 1.0 / 6));
}

/* max(x, 0) + log(1 + exp(-|x|)): log(1 + exp(x)) without overflow */
static const struct val *softplus(struct arena *a, const struct val *x)
{
    const struct val *below = val_bin(a, VAL_MIN, x, val_bin(a, VAL_SUB, num(a, 0), x));
    const struct val *sum = add(a, num(a, 1), val_un(a, VAL_EXP, below));
    return add(a, relu(a, x), val_un(a, VAL_LOG, sum));
}

struct function {
    const char *op, *out;
    const struct val *(*apply)(struct arena *a, const struct val *x);
};

/* ORDER ACT */
static const struct function functions[ACT_COUNT] = {
    [ACT_RELU] = { "relu", "ReLU", relu },
    [ACT_RELU6] = { "relu6", "ReLU6", relu6 },
    [ACT_SIGMOID] = { "sigmoid", "Sigmoid", sigmoid },
    [ACT_TANH] = { "tanh", "Tanh", hyperbolic },
    [ACT_GELU] = { "gelu", "GELU", gelu },
    [ACT_GELU_TANH] = { "gelu", "GELU", gelu_tanh },
    [ACT_SILU] = { "silu", "SiLU", silu },
    [ACT_HARDSWISH] = { "hardswish", "HardSwish", hardswish },
    [ACT_SOFTPLUS] = { "softplus", "SoftPlus", softplus },
};

const char *const act_words[] = {
    [ACT_NONE] = "none", [ACT_RELU] = "relu", [ACT_RELU6] = "relu6",
    [ACT_SIGMOID] = "sigmoid", [ACT_TANH] = "tanh", [ACT_GELU] = "gelu",
    [ACT_GELU_TANH] = "gelu_tanh", [ACT_SILU] = "silu", [ACT_HARDSWISH] = "hardswish",
    [ACT_SOFTPLUS] = "softplus", [ACT_COUNT] = NULL,
};

int act_node(struct graph *g, int x, enum act act, const char *out)
{
    const struct function *f = &functions[act];
    struct node n = { .op = f->op, .elementwise = true, .data_in = x,
                      .params.function = act_words[act] };
    node_spatial(g, &n, tensor_like(g, x, out ? out : f->out));
    n.body = f->apply(exprs_arena(g->pool), graph_load_at(g, x, n.spatial));
    graph_add_node(g, &n);
    return n.out;
}
