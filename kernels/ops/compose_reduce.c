/* Builds reductions, and the normalisations that use them. */
#include "kernels/ops/compose_ops_impl.h"

/* Builds (x - mean) / sqrt(var + eps) * scale + bias, per channel (dim 1). */
int compose_batchnorm(struct call *c)
{
    const struct val *v[5];
    if (arg(c, 0)->rank < 2)
        return refuse(c, ERR_RANGE, "batchnorm needs a tensor with a channel dimension");
    for (int i = 1; i < 5; i++)
        if (arg(c, i)->rank != 1 || arg(c, i)->shape[0] != arg(c, 0)->shape[1])
            return refuse(c, ERR_RANGE, "%s is not a vector of %lld channels", arg(c, i)->name,
                          (long long)arg(c, 0)->shape[1]);
    struct node n = build_like(c->g, c->in[0], "batchnorm", "Out");
    n.elementwise = true;
    n.params.alpha = param_float(c, "eps", 1e-5);
    for (int i = 1; i < 5; i++)
        v[i] = graph_load_at(c->g, c->in[i], &n.spatial[1]);
    n.body = reduce_norm(c->g, bin(c->g, VAL_SUB, n.body, v[3]), v[4], n.params.alpha, v[1], v[2]);
    graph_add_node(c->g, &n);
    return n.out;
}

int compose_softmax(struct call *c)
{
    int d = compose_axis(c, param_int(c, "axis", -1), arg(c, 0)->rank);
    return d < 0 ? -1 : softmax_node(c->g, c->in[0], d, streq(c->op, "logsoftmax"));
}

int compose_layernorm(struct call *c)
{
    int rank = arg(c, 0)->rank, d = compose_axis(c, param_int(c, "axis", -1), rank);
    if (d < 0)
        return -1;
    for (int i = 1; i < c->n_in; i++)
        if (!compose_repeats(arg(c, i), arg(c, 0)))
            return refuse(c, ERR_RANGE, "%s cannot be repeated to the shape of %s",
                          arg(c, i)->name, arg(c, 0)->name);
    struct reduction r = { .dims = (1u << rank) - (1u << d), .keep = true, .how = REDUCE_MEAN };
    int mean = reduce_node(c->g, c->in[0], &r);
    struct node off = build_like(c->g, c->in[0], "center", "Centered");
    off.body = bin(c->g, VAL_SUB, off.body, build_load(c->g, mean, &off));
    graph_add_node(c->g, &off);
    struct node sq = build_like(c->g, off.out, "square", "Square");
    sq.elementwise = true;
    sq.body = bin(c->g, VAL_MUL, sq.body, sq.body);
    graph_add_node(c->g, &sq);
    int var = reduce_node(c->g, sq.out, &r);
    struct node n = build_like(c->g, off.out, "layernorm", "Out");
    n.params.alpha = param_float(c, "eps", 1e-5);
    n.body = reduce_norm(c->g, n.body, build_load(c->g, var, &n), n.params.alpha,
                         c->n_in > 1 ? build_load(c->g, c->in[1], &n) : NULL,
                         c->n_in > 2 ? build_load(c->g, c->in[2], &n) : NULL);
    graph_add_node(c->g, &n);
    return n.out;
}

int compose_reduce(struct call *c)
{
    int64_t axes[MAX_RANK];
    int rank = arg(c, 0)->rank, n = param_list(c, "axes", axes);
    struct reduction r = { .keep = param_int(c, "keep", 1) != 0,
                           .how = streq(c->op, "reduce_mean") ? REDUCE_MEAN
                                : streq(c->op, "reduce_sum") ? REDUCE_SUM : REDUCE_MAX };
    for (int i = 0; i < n; i++) {
        int d = compose_axis(c, axes[i], rank);
        if (d < 0)
            return -1;
        if (r.dims >> d & 1)
            return refuse(c, ERR_DIM, "axes= names dimension %d twice", d);
        r.dims |= 1u << d;
    }
    if (n == 0)
        r.dims = (1u << rank) - 1;
    if (!streq(c->op, "reduce_min"))
        return reduce_node(c->g, c->in[0], &r);
    int minus = act_node(c->g, c->in[0], ACT_NEG, 0, 0);    /* min x = -max(-x) */
    return act_node(c->g, reduce_node(c->g, minus, &r), ACT_NEG, 0, 0);
}
