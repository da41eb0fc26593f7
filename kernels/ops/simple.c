/* Helpers that builders of graphs share: names, broadcasting, and the simple operators around the
 * complex ones (SPEC C.1). */
#include <string.h>

#include "kernels/ir/simplify.h"
#include "kernels/ops/build.h"

const char *build_fresh(const struct graph *g, const char *name)
{
    const char *out = name;
    for (int i = 2; graph_tensor(g, out) >= 0; i++)
        out = arena_printf(exprs_arena(g->pool), "%s%d", name, i);
    return out;
}

static bool among(const char *name, const char *const *list, int n)
{
    for (int i = 0; i < n; i++)
        if (strcaseeq(name, list[i]))
            return true;
    return false;
}

const char *build_unlike(const struct graph *g, const char *name, const char *const *others, int n)
{
    while (among(name, others, n))
        name = arena_printf(exprs_arena(g->pool), "%s_", name);
    return name;
}

int build_reshaped(struct graph *g, int x, const char *name, const int64_t *shape)
{
    const struct tensor t = g->tensor[x];
    return graph_add_tensor(g, &(struct tensor_def){ build_fresh(g, name), t.rank, t.dim,
                                                     shape ? shape : t.shape, TENSOR_INTER });
}

int build_channel(struct graph *g, int x, int dim, const char *name)
{
    const struct tensor t = g->tensor[x];
    return graph_add_tensor(g, &(struct tensor_def){ name, 1, &t.dim[dim], &t.shape[dim],
                                                     TENSOR_CONST });
}

struct node build_like(struct graph *g, int x, const char *op, const char *out)
{
    struct node n = { .op = op, .data_in = x };
    node_spatial(g, &n, build_reshaped(g, x, out, NULL));
    n.body = graph_load_at(g, x, n.spatial);
    return n;
}

/* --- Broadcasting ----------------------------------------------------------------------------- */

bool build_broadcast(const struct graph *g, const struct tensor *x, const struct tensor *y,
                     struct tensor_def *def, const char **dim, int64_t *shape, struct err *e)
{
    int rank = x->rank > y->rank ? x->rank : y->rank;
    for (int d = 0; d < rank; d++) {
        int dx = d - (rank - x->rank), dy = d - (rank - y->rank);
        int64_t nx = dx >= 0 ? x->shape[dx] : 1, ny = dy >= 0 ? y->shape[dy] : 1;
        if (nx != ny && nx != 1 && ny != 1)
            return err_set(e, ERR_RANGE, "%s cannot be broadcast with %s: one dimension has %lld "
                           "and %lld elements", x->name, y->name, (long long)nx, (long long)ny);
        bool from_x = dx >= 0 && (nx == ny || ny == 1);
        dim[d] = from_x ? x->dim[dx] : y->dim[dy];
        shape[d] = nx > ny ? nx : ny;
    }
    for (int d = 0; d < rank; d++) /* x and y may have different dims with the same name */
        if (among(dim[d], dim, d)) {
            const char *other[MAX_RANK] = { NULL };
            memcpy(other, dim, sizeof *dim * (size_t)rank);
            other[d] = "";
            dim[d] = build_unlike(g, arena_printf(exprs_arena(g->pool), "%s_%d", dim[d], d),
                                  other, rank);
        }
    *def = (struct tensor_def){ "Out", rank, dim, shape, TENSOR_INTER };
    return true;
}

const struct expr *build_index(const struct graph *g, int64_t extent, const struct expr *v)
{
    return extent == 1 && (g->call || v->hi > 0) ? expr_const(g->pool, 0) : v;
}

const struct val *build_load(const struct graph *g, int t, const struct node *n)
{
    const struct tensor *x = &g->tensor[t];
    const struct expr *idx[MAX_RANK];
    for (int d = 0; d < x->rank; d++)
        idx[d] = build_index(g, x->shape[d], n->spatial[n->n_spatial - x->rank + d]);
    return graph_load_at(g, t, idx);
}

const struct val *build_product(const struct graph *g, int x, const struct expr *const *at_x,
                                int y, const struct expr *const *at_y)
{
    return bin(g, VAL_MUL, graph_load_at(g, x, at_x), graph_load_at(g, y, at_y));
}

/* --- Nodes ------------------------------------------------------------------------------------ */

/* Returns cond && more, or just `more` if cond is NULL. */
static const struct expr *also(struct exprs *p, const struct expr *cond, const struct expr *more)
{
    return cond ? expr_and(p, cond, more) : more;
}

int pad_node(struct graph *g, int x, const char *out, const int64_t *before, const int64_t *after,
             double value)
{
    const struct tensor t = g->tensor[x];
    int64_t shape[MAX_RANK] = { 0 };
    for (int d = 0; d < t.rank; d++)
        shape[d] = t.shape[d] + before[d] + after[d];
    struct node n = { .op = "pad", .data_in = x, .params.alpha = value };
    node_spatial(g, &n, build_reshaped(g, x, out, shape));

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
        n.body = val_select(exprs_arena(p), expr_simplify(p, cond), n.body, num(g, value));
    graph_add_node(g, &n);
    return n.out;
}

int bias_node(struct graph *g, int x, int channel_dim)
{
    int bias = build_channel(g, x, channel_dim, "Bias");
    struct node n = build_like(g, x, "bias", "BiasAdd");
    n.elementwise = true;
    n.body = bin(g, VAL_ADD, n.body, graph_load_at(g, bias, &n.spatial[channel_dim]));
    graph_add_node(g, &n);
    return n.out;
}

/* Returns 1 where the comparison is true, else 0. */
static const struct val *compared(const struct graph *g, const char *op, const struct val *x,
                                  const struct val *y)
{
    const struct val *le = bin(g, VAL_LE, x, y), *ge = bin(g, VAL_LE, y, x);
    if (streq(op, "equal"))
        return bin(g, VAL_MUL, le, ge);
    return streq(op, "less") ? bin(g, VAL_MUL, le, bin(g, VAL_SUB, num(g, 1), ge)) : le;
}

int binary_node(struct graph *g, const int *xy, enum val_kind kind, const char *op,
                const char *out, struct err *e)
{
    const struct tensor x = g->tensor[xy[0]], y = g->tensor[xy[1]];
    const char *dim[MAX_RANK];
    int64_t shape[MAX_RANK];
    struct tensor_def def;
    if (!build_broadcast(g, &x, &y, &def, dim, shape, e))
        return -1;
    def.name = out;
    struct node n = { .op = op, .data_in = xy[0] };
    node_spatial(g, &n, graph_add_tensor(g, &def));
    n.elementwise = x.rank == def.rank
                 && memcmp(x.shape, shape, sizeof *shape * (size_t)x.rank) == 0;
    const struct val *a = build_load(g, xy[0], &n), *b = build_load(g, xy[1], &n);
    n.body = kind == VAL_LE ? compared(g, op, a, b) : bin(g, kind, a, b);
    graph_add_node(g, &n);
    return n.out;
}

int where_node(struct graph *g, const int *cxy, struct err *e)
{
    struct tensor all = g->tensor[cxy[0]];
    struct node n = { .op = "where", .data_in = cxy[1] };
    for (int i = 1; i < 3; i++) {
        const struct tensor x = g->tensor[cxy[i]];
        struct tensor_def def;
        const char *dim[MAX_RANK];
        int64_t shape[MAX_RANK];
        if (!build_broadcast(g, &all, &x, &def, dim, shape, e))
            return -1;
        all.rank = def.rank;
        memcpy(all.dim, dim, sizeof *dim * (size_t)def.rank);
        memcpy(all.shape, shape, sizeof *shape * (size_t)def.rank);
    }
    node_spatial(g, &n, graph_add_tensor(g, &(struct tensor_def){ "Out", all.rank, all.dim,
                                                                  all.shape, TENSOR_INTER }));
    for (int i = 0; i < 3 && !n.elementwise; i++) {
        const struct tensor *x = &g->tensor[cxy[i]];
        n.data_in = cxy[i];
        n.elementwise = x->rank == all.rank &&
                        memcmp(x->shape, all.shape, sizeof *x->shape * (size_t)x->rank) == 0;
    }
    const struct val *c = build_load(g, cxy[0], &n), *not = bin(g, VAL_SUB, num(g, 1), c);
    n.body = bin(g, VAL_ADD, bin(g, VAL_KEEP, c, build_load(g, cxy[1], &n)),
                 bin(g, VAL_KEEP, not, build_load(g, cxy[2], &n)));
    graph_add_node(g, &n);
    return n.out;
}
