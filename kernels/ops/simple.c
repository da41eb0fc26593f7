/* The simple operators around the complex ones (SPEC C.1), as node builders. */
#include "kernels/ir/simplify.h"
#include "kernels/ops/build.h"

int tensor_like(struct graph *g, int x, const char *name)
{
    const struct tensor t = g->tensor[x];
    return graph_add_tensor(g, &(struct tensor_def){ name, t.rank, t.dim, t.shape, TENSOR_INTER });
}

/* Builds cond && more, where NULL means "always". */
static const struct expr *also(struct exprs *p, const struct expr *cond, const struct expr *more)
{
    return cond ? expr_and(p, cond, more) : more;
}

int pad_node(struct graph *g, int x, const char *out, const int64_t *before, const int64_t *after,
             double value)
{
    const struct tensor t = g->tensor[x];
    int64_t shape[MAX_RANK];
    for (int d = 0; d < t.rank; d++)
        shape[d] = t.shape[d] + before[d] + after[d];
    struct tensor_def def = { out, t.rank, t.dim, shape, TENSOR_INTER };
    struct node n = { .op = "pad", .data_in = x, .params.alpha = value };
    node_spatial(g, &n, graph_add_tensor(g, &def));

    struct exprs *p = g->pool;
    const struct expr *cond = NULL, *idx[MAX_RANK];
    for (int d = 0; d < t.rank; d++) {
        const struct expr *v = n.spatial[d], *end = expr_const(p, before[d] + t.shape[d]);
        idx[d] = expr_addc(p, v, -before[d]);
        n.params.before[d] = before[d];
        if (before[d] > 0)
            cond = also(p, cond, expr_ge(p, v, expr_const(p, before[d])));
        if (after[d] > 0)
            cond = also(p, cond, expr_lt(p, v, end));
    }
    n.body = graph_load_at(g, x, idx);
    if (cond)
        n.body = val_select(exprs_arena(p), expr_simplify(p, cond), n.body,
                            val_const(exprs_arena(p), value));
    graph_add_node(g, &n);
    return n.out;
}

int bias_node(struct graph *g, int x, int channel_dim)
{
    const struct tensor t = g->tensor[x];
    int bias = graph_add_tensor(g, &(struct tensor_def){ "Bias", 1, &t.dim[channel_dim],
                                                         &t.shape[channel_dim], TENSOR_CONST });
    struct node n = { .op = "bias", .elementwise = true, .data_in = x };
    node_spatial(g, &n, tensor_like(g, x, "BiasAdd"));
    n.body = val_bin(exprs_arena(g->pool), VAL_ADD, graph_load_at(g, x, n.spatial),
                     graph_load_at(g, bias, &n.spatial[channel_dim]));
    graph_add_node(g, &n);
    return n.out;
}
