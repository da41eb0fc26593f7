/* Reductions, and the normalisations that use them. */
#include "kernels/ops/compose_ops_impl.h"

#include <math.h>
#include <string.h>

/* (x - mean) / sqrt(var + eps) * scale + bias, per channel (dim 1). */
int compose_batchnorm(struct call *c)
{
    struct node n = { .op = "batchnorm", .elementwise = true, .data_in = c->in[0],
                      .params.alpha = param_float(c, "eps", 1e-5) };
    const struct val *v[5];
    if (arg(c, 0)->rank < 2) {
        err_set(c->e, ERR_RANGE, "batchnorm needs a tensor with a channel dimension");
        return -1;
    }
    for (int i = 1; i < 5; i++)
        if (arg(c, i)->rank != 1 || arg(c, i)->shape[0] != arg(c, 0)->shape[1]) {
            err_set(c->e, ERR_RANGE, "%s is not a vector of %lld channels", arg(c, i)->name,
                    (long long)arg(c, 0)->shape[1]);
            return -1;
        }
    node_spatial(c->g, &n, tensor_like(c->g, c->in[0], compose_fresh(c, "Out")));
    for (int i = 0; i < 5; i++)
        v[i] = graph_load_at(c->g, c->in[i], i ? &n.spatial[1] : n.spatial);
    const struct val *root =
        un(c, VAL_SQRT, bin(c, VAL_ADD, v[4], num(c, param_float(c, "eps", 1e-5))));
    const struct val *unit = bin(c, VAL_DIV, bin(c, VAL_SUB, v[0], v[3]), root);
    n.body = bin(c, VAL_ADD, bin(c, VAL_MUL, unit, v[1]), v[2]);
    graph_add_node(c->g, &n);
    return n.out;
}

/* A reduction over the dims in the set that keeps them with extent 1 when `keep`. */
static int reduced(struct call *c, int x, unsigned dims, enum combine how, double scale, bool keep)
{
    const struct tensor t = c->g->tensor[x];
    const char *dim[MAX_RANK];
    int64_t shape[MAX_RANK];
    const struct expr *idx[MAX_RANK];
    int rank = 0, at = 0;
    for (int d = 0; d < t.rank; d++)
        if (keep || !(dims >> d & 1)) {
            dim[rank] = t.dim[d];
            shape[rank++] = dims >> d & 1 ? 1 : t.shape[d];
        }
    if (rank == 0) {
        dim[rank] = "ALL";
        shape[rank++] = 1;
    }
    struct node n = { .op = how == COMBINE_MAX ? "reduce_max" : "reduce_sum",
                      .combine = how,
                      .data_in = x,
                      .init = how == COMBINE_MAX ? -INFINITY : 0 };
    const char *name = compose_fresh(c, how == COMBINE_MAX ? "Max" : "Sum");
    struct tensor_def def = { name, rank, dim, shape, TENSOR_INTER };
    node_spatial(c->g, &n, graph_add_tensor(c->g, &def));
    const char *loop[2 * MAX_RANK];
    int n_loops = rank;
    memcpy(loop, dim, sizeof *dim * (size_t)rank);
    for (int d = 0; d < t.rank; d++) {
        bool gone = dims >> d & 1;
        if (gone) {
            const char *r = arena_printf(arena_of(c), "R%s", t.dim[d]);
            loop[n_loops] = compose_unlike(c, r, loop, n_loops);
            idx[d] = node_reduce(c->g, &n, loop[n_loops++], t.shape[d]);
        } else {
            idx[d] = n.spatial[at];
        }
        at += keep || !gone;
    }
    n.body = graph_load_at(c->g, x, idx);
    if (scale != 1)
        n.body = bin(c, VAL_MUL, n.body, num(c, scale));
    graph_add_node(c->g, &n);
    return n.out;
}

/* out = f(x, y) where y has extent 1 in the reduced dims of x. */
static int with_kept(struct call *c, const char *op, const char *name, int x, int y,
                     enum val_kind kind, bool exp)
{
    struct node n = { .op = op, .data_in = x };
    node_spatial(c->g, &n, tensor_like(c->g, x, compose_fresh(c, name)));
    n.body = bin(c, kind, graph_load_at(c->g, x, n.spatial), compose_load(c, y, &n));
    if (exp)
        n.body = un(c, VAL_EXP, n.body);
    graph_add_node(c->g, &n);
    return n.out;
}

/* softmax = e / sum e with e = exp(x - max x); logsoftmax = (x - max x) - log sum e */
int compose_softmax(struct call *c)
{
    int d = compose_axis(c, param_int(c, "axis", -1), arg(c, 0)->rank);
    if (d < 0)
        return -1;
    int max = reduced(c, c->in[0], 1u << d, COMBINE_MAX, 1, true);
    int e = with_kept(c, "exp", "Exp", c->in[0], max, VAL_SUB, true);
    int sum = reduced(c, e, 1u << d, COMBINE_SUM, 1, true);
    if (streq(c->op, "softmax"))
        return with_kept(c, "softmax", "Out", e, sum, VAL_DIV, false);
    struct node l = { .op = "log", .data_in = sum };
    node_spatial(c->g, &l, tensor_like(c->g, sum, compose_fresh(c, "Log")));
    l.body = un(c, VAL_LOG, graph_load_at(c->g, sum, l.spatial));
    graph_add_node(c->g, &l);
    int shifted = with_kept(c, "shift", "Shifted", c->in[0], max, VAL_SUB, false);
    return with_kept(c, "logsoftmax", "Out", shifted, l.out, VAL_SUB, false);
}

int compose_layernorm(struct call *c)
{
    int rank = arg(c, 0)->rank, d = compose_axis(c, param_int(c, "axis", -1), rank);
    if (d < 0)
        return -1;
    double count = 1;
    unsigned dims = 0;
    for (int k = d; k < rank; k++) {
        dims |= 1u << k;
        count *= (double)arg(c, 0)->shape[k];
    }
    int mean = reduced(c, c->in[0], dims, COMBINE_SUM, 1 / count, true);
    int off = with_kept(c, "center", "Centered", c->in[0], mean, VAL_SUB, false);
    struct node sq = { .op = "square", .elementwise = true, .data_in = off };
    node_spatial(c->g, &sq, tensor_like(c->g, off, compose_fresh(c, "Square")));
    sq.body = bin(c, VAL_MUL, graph_load_at(c->g, off, sq.spatial),
                  graph_load_at(c->g, off, sq.spatial));
    graph_add_node(c->g, &sq);
    int var = reduced(c, sq.out, dims, COMBINE_SUM, 1 / count, true);
    struct node n = { .op = "layernorm", .data_in = off,
                      .params.alpha = param_float(c, "eps", 1e-5) };
    node_spatial(c->g, &n, tensor_like(c->g, off, compose_fresh(c, "Out")));
    const struct val *root =
        un(c, VAL_SQRT,
           bin(c, VAL_ADD, compose_load(c, var, &n), num(c, param_float(c, "eps", 1e-5))));
    n.body = bin(c, VAL_DIV, graph_load_at(c->g, off, n.spatial), root);
    for (int i = 1; i < c->n_in; i++)
        n.body = bin(c, i == 1 ? VAL_MUL : VAL_ADD, n.body, compose_load(c, c->in[i], &n));
    graph_add_node(c->g, &n);
    return n.out;
}

int compose_reduce(struct call *c)
{
    int64_t axes[MAX_RANK];
    int rank = arg(c, 0)->rank, n = param_list(c, "axes", axes);
    bool keep = param_int(c, "keep", 1) != 0, min = streq(c->op, "reduce_min");
    unsigned dims = 0;
    double count = 1;
    for (int i = 0; i < n; i++) {
        int d = compose_axis(c, axes[i], rank);
        if (d < 0)
            return -1;
        if (dims >> d & 1)
            return err_set(c->e, ERR_DIM, "axes= names dimension %d twice", d) ? 0 : -1;
        dims |= 1u << d;
    }
    if (n == 0)
        dims = (1u << rank) - 1;
    for (int d = 0; d < rank; d++)
        count *= dims >> d & 1 ? (double)arg(c, 0)->shape[d] : 1;
    if (!min)
        return reduced(c, c->in[0], dims, streq(c->op, "reduce_max") ? COMBINE_MAX : COMBINE_SUM,
                       streq(c->op, "reduce_mean") ? 1 / count : 1, keep);
    c->in[0] = compose_negated(c); /* min x = -max(-x) */
    c->in[0] = reduced(c, c->in[0], dims, COMBINE_MAX, 1, keep);
    return compose_negated(c);
}
