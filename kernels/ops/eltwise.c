/* Element-wise operators: activations, sums and products of two tensors, batch normalisation. */
#include "kernels/ops/params.h"

int binary_node(struct graph *g, int x, int y, enum val_kind kind, const char *op, const char *out)
{
    struct node n = { .op = op, .elementwise = true, .data_in = x };
    node_spatial(g, &n, tensor_like(g, x, out));
    const struct tensor *t = &g->tensor[y];
    const struct expr *idx[MAX_RANK];
    for (int d = 0; d < t->rank; d++) {
        const struct expr *var = n.spatial[n.n_spatial - t->rank + d];
        idx[d] = t->shape[d] == var->hi + 1 ? var : expr_const(g->pool, 0);
    }
    n.body = val_bin(exprs_arena(g->pool), kind, graph_load_at(g, x, n.spatial),
                     graph_load_at(g, y, idx));
    graph_add_node(g, &n);
    return n.out;
}

int batch_norm_node(struct graph *g, int x, int channel_dim)
{
    struct arena *a = exprs_arena(g->pool);
    const struct tensor t = g->tensor[x];
    const char *const *dim = &t.dim[channel_dim];
    const int64_t *shape = &t.shape[channel_dim];
    int scale = graph_add_tensor(g, &(struct tensor_def){ "Scale", 1, dim, shape, TENSOR_CONST });
    int shift = graph_add_tensor(g, &(struct tensor_def){ "Shift", 1, dim, shape, TENSOR_CONST });
    struct node n = { .op = "norm", .elementwise = true, .data_in = x };
    node_spatial(g, &n, tensor_like(g, x, "BatchNorm"));
    const struct expr *const *channel = &n.spatial[channel_dim];
    const struct val *scaled = val_bin(a, VAL_MUL, graph_load_at(g, x, n.spatial),
                                       graph_load_at(g, scale, channel));
    n.body = val_bin(a, VAL_ADD, scaled, graph_load_at(g, shift, channel));
    graph_add_node(g, &n);
    return n.out;
}

/* The families: a tensor N C H W, of more or fewer dims, and a function of it. */

static bool build_act(struct graph *g, const int64_t *v, struct err *e)
{
    (void)e;
    int x = dims_input(g, &act_family, v);
    enum act act = (enum act)(param_value(&act_family, v, "f", 0) + 1);
    graph_set_output(g, act_node(g, x, act, NULL));
    return true;
}

static bool canonical_act(int64_t *v, struct err *e)
{
    return dims_canonical(&act_family, v, e);
}

static const struct op_param params_act[] = {
    ROWS_DIMS(OP_UNSET),
    { "f", OP_REQUIRED, 0, ACT_COUNT - 2, "the function", act_words + 1 },
};

const struct op_family act_family = {
    .name = "act",
    .title = "activation",
    .example = "act n=1 c=64 h=56 w=56 f=gelu",
    .data_params = dims_params,
    .help = "f(Inp[n][c][h][w]).  f is relu = max(x, 0); relu6 = min(max(x, 0), 6); sigmoid = "
            "1 / (1 + exp(-x)); tanh; gelu = x * 0.5 * (1 + erf(x / sqrt(2))); gelu_tanh, its "
            "approximation by tanh; silu = x * sigmoid(x); hardswish = x * relu6(x + 3) / 6; or "
            "softplus = log(1 + exp(x)).",
    .n_params = COUNT_OF(params_act),
    .params = params_act,
    .build = build_act,
    .canonical = canonical_act,
};

/* ORDER SHAPE: of the second operand. */
enum { SHAPE_FULL, SHAPE_CHANNEL, SHAPE_ROW, SHAPE_ONE };
static const char *const shape_words[] = { "full", "channel", "row", "one", NULL };

static const struct op_param params_binary[] = {
    ROWS_DIMS(OP_UNSET),
    { "y", SHAPE_FULL, 0, SHAPE_ONE, "shape of the second operand: all, C 1 1, the last or 1",
      shape_words },
};

/* Adds a second input aligned with the last dims of the first operand. */
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
                         enum val_kind kind, const char *out)
{
    int x = dims_input(g, f, v), y = second_input(g, x, param_value(f, v, "y", SHAPE_FULL));
    graph_set_output(g, binary_node(g, x, y, kind, f->name, out));
    return true;
}

static bool build_add(struct graph *g, const int64_t *v, struct err *e)
{
    (void)e;
    return build_binary(g, &add_family, v, VAL_ADD, "Add");
}

static bool build_mul(struct graph *g, const int64_t *v, struct err *e)
{
    (void)e;
    return build_binary(g, &mul_family, v, VAL_MUL, "Mul");
}

static bool canonical_binary(int64_t *v, struct err *e)
{
    return dims_canonical(&add_family, v, e);       /* mul has the same parameters */
}

const struct op_family add_family = {
    .name = "add",
    .title = "sum of two tensors",
    .example = "add n=1 c=64 h=56 w=56",
    .data_params = dims_params,
    .help = "Add[n][c][h][w] = Inp[n][c][h][w] + Inp2[...].  Inp2 has the same shape, or with y= "
            "is repeated: channel (C 1 1), row (W), or one number.",
    .n_params = COUNT_OF(params_binary),
    .params = params_binary,
    .build = build_add,
    .canonical = canonical_binary,
};

const struct op_family mul_family = {
    .name = "mul",
    .title = "product of two tensors",
    .example = "mul n=1 c=64 h=56 w=56 y=channel",
    .data_params = dims_params,
    .help = "Mul[n][c][h][w] = Inp[n][c][h][w] * Inp2[...].  Inp2 has the same shape, or with y= "
            "is repeated: channel (C 1 1), row (W), or one number.",
    .n_params = COUNT_OF(params_binary),
    .params = params_binary,
    .build = build_mul,
    .canonical = canonical_binary,
};

static const struct op_param params_bn[] = { ROWS_DIMS(OP_UNSET), ROW_RELU, ROW_ACT };

static bool canonical_bn(int64_t *v, struct err *e)
{
    return dims_canonical(&bn_family, v, e) && finish_canonical(&bn_family, v, e);
}

static bool build_bn(struct graph *g, const int64_t *v, struct err *e)
{
    (void)e;
    finish_with(g, batch_norm_node(g, dims_input(g, &bn_family, v), 1), 1, &bn_family, v);
    return true;
}

const struct op_family bn_family = {
    .name = "bn",
    .title = "batch normalisation",
    .example = "bn n=1 c=64 h=56 w=56 relu=1",
    .data_params = dims_params,
    .help = "BatchNorm[n][c][h][w] = Inp[n][c][h][w] * Scale[c] + Shift[c], as inference computes "
            "it: Scale = gamma / sqrt(variance + eps) and Shift = beta - mean * Scale are "
            "constants that were folded before.  act= finishes with a function.",
    .n_params = COUNT_OF(params_bn),
    .params = params_bn,
    .build = build_bn,
    .canonical = canonical_bn,
};
