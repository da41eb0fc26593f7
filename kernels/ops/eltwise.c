/* The families of element-wise operators: activations, sums and products of two tensors, batch
 * normalisation.  They take a tensor N C H W; the last dims may be left out or added. */
#include "kernels/ops/params.h"

static bool build_act(struct graph *g, const struct op_family *f, const int64_t *v, struct err *e)
{
    (void)e;
    enum act act = (enum act)(param_value(f, v, "f", 0) + 1);
    graph_set_output(g, act_node(g, family_input(g, f, v), act, 0, 0));
    return true;
}

const struct op_family act_family = {
    .name = "act",
    .title = "activation",
    .example = "act n=1 c=64 h=56 w=56 f=gelu",
    .help = "f(Inp[n][c][h][w]).  f is relu = max(x, 0); relu6 = min(max(x, 0), 6); sigmoid = "
            "1 / (1 + exp(-x)); tanh; gelu = x * 0.5 * (1 + erf(x / sqrt(2))); gelu_tanh, its "
            "approximation by tanh; silu = x * sigmoid(x); hardswish = x * relu6(x + 3) / 6; or "
            "softplus = log(1 + exp(x)).",
    .data_params = DATA_DIMS,
    PARAMS(ROWS_DIMS(OP_UNSET),
           { "f", OP_REQUIRED, 0, ACT_COUNT - 2, "the function", act_words + 1 }),
    .build = build_act,
};

/* Shapes of the second operand, and the words for them (ORDER SHAPE). */
enum { SHAPE_FULL, SHAPE_CHANNEL, SHAPE_ROW, SHAPE_ONE };
static const char *const shape_words[] = { "full", "channel", "row", "one", NULL };

/* Adds the second operand, whose dims are matched with the last dims of the first operand, x. */
static int second_input(struct graph *g, int x, int64_t shape)
{
    const struct tensor t = g->tensor[x];
    int first = shape == SHAPE_FULL ? 0 : shape == SHAPE_CHANNEL ? 1 : t.rank - 1;
    int64_t size[MAX_RANK];
    for (int d = first; d < t.rank; d++) {
        bool one = shape == SHAPE_ONE || (shape == SHAPE_CHANNEL && d > 1);
        size[d - first] = one ? 1 : t.shape[d];
    }
    return graph_add_tensor(g, &(struct tensor_def){ "Inp2", t.rank - first, t.dim + first, size,
                                                     TENSOR_INPUT });
}

static bool build_binary(struct graph *g, const struct op_family *f, const int64_t *v,
                         struct err *e)
{
    bool sum = f == &add_family;
    int xy[2] = { family_input(g, f, v) };
    xy[1] = second_input(g, xy[0], param_value(f, v, "y", SHAPE_FULL));
    graph_set_output(g, binary_node(g, xy, sum ? VAL_ADD : VAL_MUL, f->name, sum ? "Add" : "Mul",
                                    e));
    return true;
}

#define ROWS_BINARY \
    ROWS_DIMS(OP_UNSET), { "y", SHAPE_FULL, 0, SHAPE_ONE, \
                           "shape of the second operand: full (as the first), channel (C 1 1), " \
                           "row (the last dim), one (a number)", shape_words }

const struct op_family add_family = {
    .name = "add",
    .title = "sum of two tensors",
    .example = "add n=1 c=64 h=56 w=56",
    .help = "Add[n][c][h][w] = Inp[n][c][h][w] + Inp2[...].  Inp2 has the same shape, or with y= "
            "is repeated: channel (C 1 1), row (W), or one number.",
    .data_params = DATA_DIMS,
    PARAMS(ROWS_BINARY),
    .build = build_binary,
};

const struct op_family mul_family = {
    .name = "mul",
    .title = "product of two tensors",
    .example = "mul n=1 c=64 h=56 w=56 y=channel",
    .help = "Mul[n][c][h][w] = Inp[n][c][h][w] * Inp2[...].  Inp2 has the same shape, or with y= "
            "is repeated: channel (C 1 1), row (W), or one number.",
    .data_params = DATA_DIMS,
    PARAMS(ROWS_BINARY),
    .build = build_binary,
};

static bool build_bn(struct graph *g, const struct op_family *f, const int64_t *v, struct err *e)
{
    (void)e;
    int x = family_input(g, f, v);
    int scale = build_channel(g, x, 1, "Scale"), shift = build_channel(g, x, 1, "Shift");
    struct node n = build_like(g, x, "norm", "BatchNorm");
    n.elementwise = true;
    n.body = bin(g, VAL_MUL, n.body, graph_load_at(g, scale, &n.spatial[1]));
    n.body = bin(g, VAL_ADD, n.body, graph_load_at(g, shift, &n.spatial[1]));
    graph_add_node(g, &n);
    finish_with(g, n.out, 1, f, v);
    return true;
}

const struct op_family bn_family = {
    .name = "bn",
    .title = "batch normalisation",
    .example = "bn n=1 c=64 h=56 w=56 relu=1",
    .help = "BatchNorm[n][c][h][w] = Inp[n][c][h][w] * Scale[c] + Shift[c], as inference computes "
            "it: Scale = gamma / sqrt(variance + eps) and Shift = beta - mean * Scale are "
            "constants that were folded before.  act= finishes with a function.",
    .data_params = DATA_DIMS,
    PARAMS(ROWS_DIMS(OP_UNSET), ROW_RELU, ROW_ACT),
    .build = build_bn,
};
