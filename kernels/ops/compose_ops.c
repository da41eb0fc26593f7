/* Operators of graphs from statements that work on tensors of any rank: their table, and what
 * they share. */
#include "kernels/ops/compose_ops_impl.h"

#include <string.h>

int compose_axis(const struct call *c, int64_t axis, int rank)
{
    int64_t d = axis < 0 ? axis + rank : axis;
    if (d >= 0 && d < rank)
        return (int)d;
    err_set(c->e, ERR_DIM, "axis %lld does not exist: the tensor has %d dimensions",
            (long long)axis, rank);
    return -1;
}

const char *compose_fresh(const struct call *c, const char *name)
{
    const char *out = name;
    for (int i = 2; graph_tensor(c->g, out) >= 0; i++)
        out = arena_printf(arena_of(c), "%s%d", name, i);
    return out;
}

static bool among(const char *name, const char *const *list, int n)
{
    for (int i = 0; i < n; i++)
        if (strcaseeq(name, list[i]))
            return true;
    return false;
}

const char *compose_unlike(const struct call *c, const char *name, const char *const *others, int n)
{
    while (among(name, others, n))
        name = arena_printf(arena_of(c), "%s_", name);
    return name;
}

bool compose_broadcast(struct call *c, const struct tensor *x, const struct tensor *y,
                       struct tensor_def *def, const char **dim, int64_t *shape)
{
    int rank = x->rank > y->rank ? x->rank : y->rank;
    for (int d = 0; d < rank; d++) {
        int dx = d - (rank - x->rank), dy = d - (rank - y->rank);
        int64_t nx = dx >= 0 ? x->shape[dx] : 1, ny = dy >= 0 ? y->shape[dy] : 1;
        if (nx != ny && nx != 1 && ny != 1) {
            err_set(c->e, ERR_RANGE,
                    "%s cannot be broadcast with %s: one dimension has %lld and %lld elements",
                    x->name,
                    y->name, (long long)nx, (long long)ny);
            return false;
        }
        bool from_x = dx >= 0 && (nx == ny || ny == 1);
        dim[d] = from_x ? x->dim[dx] : y->dim[dy];
        shape[d] = nx > ny ? nx : ny;
    }
    for (int d = 0; d < rank; d++) /* x and y may use one name for different dims */
        if (among(dim[d], dim, d)) {
            const char *other[MAX_RANK] = { NULL };
            memcpy(other, dim, sizeof *dim * (size_t)rank);
            other[d] = "";
            dim[d] = compose_unlike(c, arena_printf(arena_of(c), "%s_%d", dim[d], d), other, rank);
        }
    *def = (struct tensor_def){ compose_fresh(c, "Out"), rank, dim, shape, TENSOR_INTER };
    return true;
}

const struct val *compose_load(struct call *c, int t, const struct node *n)
{
    const struct tensor *x = &c->g->tensor[t];
    const struct expr *idx[MAX_RANK];
    for (int d = 0; d < x->rank; d++) {
        const struct expr *v = n->spatial[n->n_spatial - x->rank + d];
        idx[d] = x->shape[d] == 1 ? expr_const(c->g->pool, 0) : v;
    }
    return graph_load_at(c->g, t, idx);
}

/* The operators, and the parameters that they take. */
static const struct row {
    const char *names, *params;
    int min, max;
    int (*build)(struct call *c);
} table[] = {
    { "relu relu6 sigmoid tanh gelu gelu_tanh silu hardswish softplus exp log sqrt erf neg abs "
      "reciprocal identity",
      "", 1, 1, compose_unary },
    { "clip", "min max", 1, 1, compose_unary },
    { "leaky elu", "alpha", 1, 1, compose_unary },
    { "hardsigmoid", "alpha beta", 1, 1, compose_unary },
    { "affine", "mul add", 1, 1, compose_unary },
    { "add sub mul div max min", "", 2, 2, compose_binary },
    { "matmul", "", 2, 2, compose_matmul },
    { "gemm", "transa transb alpha beta", 2, 3, compose_gemm },
    { "batchnorm", "eps", 5, 5, compose_batchnorm },
    { "layernorm", "axis eps", 1, 3, compose_layernorm },
    { "softmax logsoftmax", "axis", 1, 1, compose_softmax },
    { "reduce_sum reduce_max reduce_min reduce_mean", "axes keep", 1, 1, compose_reduce },
    { "transpose", "perm", 1, 1, compose_transpose },
    { "reshape", "shape", 1, 1, compose_reshape },
    { "concat", "axis", 1, 64, compose_concat },
    { "slice", "axis from to step", 1, 1, compose_slice },
    { "pad", "before after value", 1, 1, compose_pad },
    { "expand", "shape", 1, 1, compose_expand },
};

static const struct row *find(const char *name)
{
    for (int i = 0; i < COUNT_OF(table); i++)
        if (name[0] && words_have(table[i].names, name, strlen(name)))
            return &table[i];
    return NULL;
}

/* An operator family of the same name may take other parameters: concat(x, y) c2=2, transpose(x)
 * perm=213. */
bool compose_op_known(const char *name, const char *params)
{
    const struct row *r = find(name);
    bool digits = str_starts(params, "perm=") && !strchr(params, ',');
    return r && (!ops_find(name) || !(digits || params_unknown(r->params, params)));
}

int compose_op_build(struct call *c)
{
    const struct row *r = find(c->op);
    if (!params_check(c, r->params))
        return -1;
    if (c->n_in >= r->min && c->n_in <= r->max)
        return r->build(c);
    err_set(c->e, ERR_RANGE, "%s takes %d%s tensors, but %d are given", c->op, r->min,
            r->max > r->min ? " or more" : "", c->n_in);
    return -1;
}
