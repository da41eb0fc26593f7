/* Operators of composed graphs that work on tensors of any rank.  One row each in the table at the
 * end. */
#include "kernels/ops/compose_params.h"

#include <math.h>
#include <string.h>

#include "kernels/ir/simplify.h"

/* The dim that axis= names; negative counts from the end. */
static int axis_of(const struct call *c, int64_t axis, int rank)
{
    int64_t d = axis < 0 ? axis + rank : axis;
    if (d >= 0 && d < rank)
        return (int)d;
    err_set(c->e, ERR_DIM, "axis %lld of a tensor with %d dimensions", (long long)axis, rank);
    return -1;
}

static const struct tensor *arg(const struct call *c, int i)
{
    return &c->g->tensor[c->in[i]];
}

static struct arena *arena_of(const struct call *c)
{
    return exprs_arena(c->g->pool);
}

/* `name`, or name2, name3...: tensors of one call have different names. */
static const char *fresh(const struct call *c, const char *name)
{
    const char *out = name;
    for (int i = 2; graph_tensor(c->g, out) >= 0; i++)
        out = arena_printf(arena_of(c), "%s%d", name, i);
    return out;
}

/* Element-wise functions of one tensor. */

/* The functions that take numbers, with their defaults; f_clip and the others read
 * the same ones. */
static void note_params(const struct call *c, struct node_params *p)
{
    static const struct {
        const char *function, *alpha, *beta;
        double alpha_def, beta_def;
    } rows[] = {
        { "clip", "min", "max", -INFINITY, INFINITY },
        { "leaky", "alpha", "", 0.01, 0 },
        { "elu", "alpha", "", 1, 0 },
        { "affine", "mul", "add", 1, 0 },
        { "hardsigmoid", "alpha", "beta", 0.2, 0.5 },
    };
    for (int i = 0; i < COUNT_OF(rows); i++)
        if (streq(rows[i].function, p->function)) {
            p->alpha = param_float(c, rows[i].alpha, rows[i].alpha_def);
            p->beta = rows[i].beta[0] ? param_float(c, rows[i].beta, rows[i].beta_def) : 0;
        }
}

static int unary(struct call *c, const char *op,
                 const struct val *(*f)(const struct call *, const struct val *))
{
    struct node n = { .op = op, .elementwise = true, .data_in = c->in[0], .params.function = op };
    node_spatial(c->g, &n, tensor_like(c->g, c->in[0], fresh(c, "Out")));
    note_params(c, &n.params);
    n.body = f(c, load_at(c->g, c->in[0], n.spatial));
    graph_add_node(c->g, &n);
    return n.out;
}

static const struct val *num(const struct call *c, double v)
{
    return val_const(arena_of(c), v);
}

static const struct val *bin(const struct call *c, enum val_kind k, const struct val *x,
                             const struct val *y)
{
    return val_bin(arena_of(c), k, x, y);
}

static const struct val *un(const struct call *c, enum val_kind k, const struct val *x)
{
    return val_un(arena_of(c), k, x);
}

static const struct val *f_exp(const struct call *c, const struct val *x)
{
    return un(c, VAL_EXP, x);
}
static const struct val *f_log(const struct call *c, const struct val *x)
{
    return un(c, VAL_LOG, x);
}
static const struct val *f_sqrt(const struct call *c, const struct val *x)
{
    return un(c, VAL_SQRT, x);
}
static const struct val *f_erf(const struct call *c, const struct val *x)
{
    return un(c, VAL_ERF, x);
}
static const struct val *f_neg(const struct call *c, const struct val *x)
{
    return bin(c, VAL_SUB, num(c, 0), x);
}
static const struct val *f_abs(const struct call *c, const struct val *x)
{
    return bin(c, VAL_MAX, x, f_neg(c, x));
}
static const struct val *f_same(const struct call *c, const struct val *x)
{
    return bin(c, VAL_MUL, x, num(c, 1));
}

static const struct val *f_reciprocal(const struct call *c, const struct val *x)
{
    return bin(c, VAL_DIV, num(c, 1), x);
}

static const struct val *f_clip(const struct call *c, const struct val *x)
{
    if (param_given(c, "min"))
        x = bin(c, VAL_MAX, x, num(c, param_float(c, "min", 0)));
    if (param_given(c, "max"))
        x = bin(c, VAL_MIN, x, num(c, param_float(c, "max", 0)));
    return x;
}

/* max(x, 0) + alpha * min(x, 0) */
static const struct val *f_leaky(const struct call *c, const struct val *x)
{
    const struct val *below =
        bin(c, VAL_MUL, num(c, param_float(c, "alpha", 0.01)), bin(c, VAL_MIN, x, num(c, 0)));
    return bin(c, VAL_ADD, bin(c, VAL_MAX, x, num(c, 0)), below);
}

/* max(x, 0) + alpha * (exp(min(x, 0)) - 1) */
static const struct val *f_elu(const struct call *c, const struct val *x)
{
    const struct val *e = bin(c, VAL_SUB, un(c, VAL_EXP, bin(c, VAL_MIN, x, num(c, 0))), num(c, 1));
    return bin(c, VAL_ADD, bin(c, VAL_MAX, x, num(c, 0)),
               bin(c, VAL_MUL, num(c, param_float(c, "alpha", 1)), e));
}

/* mul * x + add */
static const struct val *f_affine(const struct call *c, const struct val *x)
{
    const struct val *scaled = bin(c, VAL_MUL, x, num(c, param_float(c, "mul", 1)));
    return bin(c, VAL_ADD, scaled, num(c, param_float(c, "add", 0)));
}

/* min(max(alpha * x + beta, 0), 1) */
static const struct val *f_hardsigmoid(const struct call *c, const struct val *x)
{
    const struct val *line =
        bin(c, VAL_ADD, bin(c, VAL_MUL, num(c, param_float(c, "alpha", 0.2)), x),
            num(c, param_float(c, "beta", 0.5)));
    return bin(c, VAL_MIN, bin(c, VAL_MAX, line, num(c, 0)), num(c, 1));
}

static const struct {
    const char *name;
    const struct val *(*f)(const struct call *, const struct val *);
} unaries[] = {
    { "exp", f_exp },
    { "log", f_log },
    { "sqrt", f_sqrt },
    { "erf", f_erf },
    { "neg", f_neg },
    { "abs", f_abs },
    { "reciprocal", f_reciprocal },
    { "identity", f_same },
    { "clip", f_clip },
    { "leaky", f_leaky },
    { "elu", f_elu },
    { "affine", f_affine },
    { "hardsigmoid", f_hardsigmoid },
};

static int build_unary(struct call *c)
{
    for (int a = ACT_NONE + 1; a < ACT_COUNT; a++)
        if (streq(act_words[a], c->op))
            return act_node(c->g, c->in[0], (enum act)a, NULL);
    for (int i = 0; i < COUNT_OF(unaries); i++)
        if (streq(unaries[i].name, c->op))
            return unary(c, c->op, unaries[i].f);
    UNREACHABLE();
}

static bool among(const char *name, const char *const *list, int n)
{
    for (int i = 0; i < n; i++)
        if (strcaseeq(name, list[i]))
            return true;
    return false;
}

/* The name of a dim, with _ behind it as long as one of the n others has it: loops are called after
 * dims, in lower case. */
static const char *unlike(const struct call *c, const char *name, const char *const *others, int n)
{
    while (among(name, others, n))
        name = arena_printf(arena_of(c), "%s_", name);
    return name;
}

/* Two tensors, broadcast as numpy does: dims from the last, 1 repeats. */

static bool broadcast(struct call *c, const struct tensor *x, const struct tensor *y,
                      struct tensor_def *def, const char **dim, int64_t *shape)
{
    int rank = x->rank > y->rank ? x->rank : y->rank;
    for (int d = 0; d < rank; d++) {
        int dx = d - (rank - x->rank), dy = d - (rank - y->rank);
        int64_t nx = dx >= 0 ? x->shape[dx] : 1, ny = dy >= 0 ? y->shape[dy] : 1;
        if (nx != ny && nx != 1 && ny != 1) {
            err_set(c->e, ERR_RANGE, "%s cannot be broadcast with %s: %lld against %lld", x->name,
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
            dim[d] = unlike(c, arena_printf(arena_of(c), "%s_%d", dim[d], d), other, rank);
        }
    *def = (struct tensor_def){ fresh(c, "Out"), rank, dim, shape, TENSOR_INTER };
    return true;
}

/* The indices of t in a broadcast result with these variables. */
static const struct val *broadcast_load(struct call *c, int t, const struct node *n)
{
    const struct tensor *x = &c->g->tensor[t];
    const struct expr *idx[MAX_RANK];
    for (int d = 0; d < x->rank; d++) {
        const struct expr *v = n->spatial[n->n_spatial - x->rank + d];
        idx[d] = x->shape[d] == 1 ? expr_const(c->g->pool, 0) : v;
    }
    return load_at(c->g, t, idx);
}

static bool same_shape(const struct tensor *a, const struct tensor_def *b)
{
    return a->rank == b->rank &&
           memcmp(a->shape, b->shape, sizeof *a->shape * (size_t)a->rank) == 0;
}

static int build_binary(struct call *c)
{
    static const struct {
        const char *name;
        enum val_kind kind;
    } kinds[] = {
        { "add", VAL_ADD }, { "sub", VAL_SUB }, { "mul", VAL_MUL },
        { "div", VAL_DIV }, { "max", VAL_MAX }, { "min", VAL_MIN },
    };
    const struct tensor x = *arg(c, 0), y = *arg(c, 1);
    const char *dim[MAX_RANK];
    int64_t shape[MAX_RANK];
    struct tensor_def def;
    if (!broadcast(c, &x, &y, &def, dim, shape))
        return -1;
    struct node n = { .op = c->op, .data_in = c->in[0], .elementwise = same_shape(&x, &def) };
    node_spatial(c->g, &n, graph_add_tensor(c->g, &def));
    for (int i = 0; i < COUNT_OF(kinds); i++)
        if (streq(kinds[i].name, c->op))
            n.body = bin(c, kinds[i].kind, broadcast_load(c, c->in[0], &n),
                         broadcast_load(c, c->in[1], &n));
    graph_add_node(c->g, &n);
    return n.out;
}

/* Matrix products. */

/* a[.., m, k] * b[.., k, n] with broadcast batch dims; vectors lose their dim again. */
static int build_matmul(struct call *c)
{
    struct exprs *p = c->g->pool;
    const struct tensor x = *arg(c, 0), y = *arg(c, 1);
    bool row = x.rank == 1, column = y.rank == 1;
    int bx = row ? 0 : x.rank - 2, by = column ? 0 : y.rank - 2, batch = bx > by ? bx : by,
        rank = batch;
    int64_t k = x.shape[x.rank - 1], ky = y.shape[column ? 0 : y.rank - 2], shape[MAX_RANK];
    const char *dim[MAX_RANK];
    if (k != ky || x.rank < 1 || y.rank < 1) {
        err_set(c->e, ERR_RANGE, "%s has %lld columns, %s %lld rows", x.name, (long long)k, y.name,
                (long long)ky);
        return -1;
    }
    for (int d = 0; d < batch; d++) {
        int64_t nx = d - (batch - bx) >= 0 ? x.shape[d - (batch - bx)] : 1;
        int64_t ny = d - (batch - by) >= 0 ? y.shape[d - (batch - by)] : 1;
        if (nx != ny && nx != 1 && ny != 1) {
            err_set(c->e, ERR_RANGE, "batches of %lld and %lld", (long long)nx, (long long)ny);
            return -1;
        }
        dim[d] = arena_printf(arena_of(c), "B%d", d);
        shape[d] = nx > ny ? nx : ny;
    }
    if (!row) {
        dim[rank] = "M";
        shape[rank++] = x.shape[x.rank - 2];
    }
    if (!column) {
        dim[rank] = "N";
        shape[rank++] = y.shape[y.rank - 1];
    }
    struct node n = {
        .op = "matmul", .combine = COMBINE_SUM, .complex = true, .data_in = c->in[0]
    };
    node_spatial(c->g, &n,
                 graph_add_tensor(c->g, &(struct tensor_def){ fresh(c, "Out"), rank, dim, shape,
                                                              TENSOR_INTER }));
    const struct expr *r = node_reduce(c->g, &n, "K", k), *ix[MAX_RANK], *iy[MAX_RANK];
    for (int d = 0; d < bx; d++)
        ix[d] = x.shape[d] == 1 ? expr_const(p, 0) : n.spatial[batch - bx + d];
    for (int d = 0; d < by; d++)
        iy[d] = y.shape[d] == 1 ? expr_const(p, 0) : n.spatial[batch - by + d];
    if (!row)
        ix[bx] = n.spatial[batch];
    ix[x.rank - 1] = r;
    iy[column ? 0 : by] = r;
    if (!column)
        iy[by + 1] = n.spatial[rank - 1];
    n.body = bin(c, VAL_MUL, load_at(c->g, c->in[0], ix), load_at(c->g, c->in[1], iy));
    graph_add_node(c->g, &n);
    return n.out;
}

/* alpha * A' B' (+ beta * C) */
static int build_gemm(struct call *c)
{
    const struct tensor x = *arg(c, 0), y = *arg(c, 1);
    int ta = (int)param_int(c, "transa", 0) & 1, tb = (int)param_int(c, "transb", 0) & 1;
    double alpha = param_float(c, "alpha", 1), beta = param_float(c, "beta", 1);
    if (x.rank != 2 || y.rank != 2 || x.shape[!ta] != y.shape[tb]) {
        err_set(c->e, ERR_RANGE, "%s and %s are no matrices that can be multiplied", x.name,
                y.name);
        return -1;
    }
    int64_t shape[2] = { x.shape[ta], y.shape[!tb] };
    const char *dim[2] = { "M", "N" };
    struct tensor_def def = { fresh(c, "Out"), 2, dim, shape, TENSOR_INTER };
    struct node n = {
        .op = "matmul", .combine = COMBINE_SUM, .complex = true, .data_in = c->in[0]
    };
    node_spatial(c->g, &n, graph_add_tensor(c->g, &def));
    const struct expr *k = node_reduce(c->g, &n, "K", x.shape[!ta]), *ix[2], *iy[2];
    ix[ta] = n.spatial[0];
    ix[!ta] = k;
    iy[tb] = k;
    iy[!tb] = n.spatial[1];
    n.body = bin(c, VAL_MUL, load_at(c->g, c->in[0], ix), load_at(c->g, c->in[1], iy));
    graph_add_node(c->g, &n);
    if (c->n_in < 3 && alpha == 1)
        return n.out;
    struct node s = { .op = "scale", .elementwise = true, .data_in = n.out };
    node_spatial(c->g, &s, tensor_like(c->g, n.out, fresh(c, "Sum")));
    s.body = load_at(c->g, n.out, s.spatial);
    if (alpha != 1)
        s.body = bin(c, VAL_MUL, s.body, num(c, alpha));
    if (c->n_in == 3) {
        const struct tensor *z = arg(c, 2);
        for (int d = 0; d < z->rank; d++)
            if (z->rank > 2 || (z->shape[d] != 1 && z->shape[d] != shape[2 - z->rank + d])) {
                err_set(c->e, ERR_RANGE, "%s cannot be added to %lld x %lld", z->name,
                        (long long)shape[0], (long long)shape[1]);
                return -1;
            }
        const struct val *add = broadcast_load(c, c->in[2], &s);
        s.body = bin(c, VAL_ADD, s.body, beta == 1 ? add : bin(c, VAL_MUL, add, num(c, beta)));
    }
    graph_add_node(c->g, &s);
    return s.out;
}

/* Normalisation. */

/* (x - mean) / sqrt(var + eps) * scale + bias, per channel (dim 1). */
static int build_batchnorm(struct call *c)
{
    struct node n = { .op = "batchnorm", .elementwise = true, .data_in = c->in[0],
                      .params.alpha = param_float(c, "eps", 1e-5) };
    const struct val *v[5];
    if (arg(c, 0)->rank < 2) {
        err_set(c->e, ERR_RANGE, "batch norm of a tensor without a channel dimension");
        return -1;
    }
    for (int i = 1; i < 5; i++)
        if (arg(c, i)->rank != 1 || arg(c, i)->shape[0] != arg(c, 0)->shape[1]) {
            err_set(c->e, ERR_RANGE, "%s is no vector of %lld channels", arg(c, i)->name,
                    (long long)arg(c, 0)->shape[1]);
            return -1;
        }
    node_spatial(c->g, &n, tensor_like(c->g, c->in[0], fresh(c, "Out")));
    for (int i = 0; i < 5; i++)
        v[i] = load_at(c->g, c->in[i], i ? &n.spatial[1] : n.spatial);
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
    node_spatial(c->g, &n,
                 graph_add_tensor(c->g, &(struct tensor_def){
                                            fresh(c, how == COMBINE_MAX ? "Max" : "Sum"), rank, dim,
                                            shape, TENSOR_INTER }));
    const char *loop[2 * MAX_RANK];
    int n_loops = rank;
    memcpy(loop, dim, sizeof *dim * (size_t)rank);
    for (int d = 0; d < t.rank; d++) {
        bool gone = dims >> d & 1;
        if (gone) {
            loop[n_loops] = unlike(c, arena_printf(arena_of(c), "R%s", t.dim[d]), loop, n_loops);
            idx[d] = node_reduce(c->g, &n, loop[n_loops++], t.shape[d]);
        } else {
            idx[d] = n.spatial[at];
        }
        at += keep || !gone;
    }
    n.body = load_at(c->g, x, idx);
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
    node_spatial(c->g, &n, tensor_like(c->g, x, fresh(c, name)));
    n.body = bin(c, kind, load_at(c->g, x, n.spatial), broadcast_load(c, y, &n));
    if (exp)
        n.body = un(c, VAL_EXP, n.body);
    graph_add_node(c->g, &n);
    return n.out;
}

/* softmax = e / sum e with e = exp(x - max x); logsoftmax = (x - max x) - log sum e */
static int build_softmax(struct call *c)
{
    int d = axis_of(c, param_int(c, "axis", -1), arg(c, 0)->rank);
    if (d < 0)
        return -1;
    int max = reduced(c, c->in[0], 1u << d, COMBINE_MAX, 1, true);
    int e = with_kept(c, "exp", "Exp", c->in[0], max, VAL_SUB, true);
    int sum = reduced(c, e, 1u << d, COMBINE_SUM, 1, true);
    if (streq(c->op, "softmax"))
        return with_kept(c, "softmax", "Out", e, sum, VAL_DIV, false);
    struct node l = { .op = "log", .data_in = sum };
    node_spatial(c->g, &l, tensor_like(c->g, sum, fresh(c, "Log")));
    l.body = un(c, VAL_LOG, load_at(c->g, sum, l.spatial));
    graph_add_node(c->g, &l);
    int shifted = with_kept(c, "shift", "Shifted", c->in[0], max, VAL_SUB, false);
    return with_kept(c, "logsoftmax", "Out", shifted, l.out, VAL_SUB, false);
}

static int build_layernorm(struct call *c)
{
    int rank = arg(c, 0)->rank, d = axis_of(c, param_int(c, "axis", -1), rank);
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
    node_spatial(c->g, &sq, tensor_like(c->g, off, fresh(c, "Square")));
    sq.body = bin(c, VAL_MUL, load_at(c->g, off, sq.spatial), load_at(c->g, off, sq.spatial));
    graph_add_node(c->g, &sq);
    int var = reduced(c, sq.out, dims, COMBINE_SUM, 1 / count, true);
    struct node n = { .op = "layernorm", .data_in = off,
                      .params.alpha = param_float(c, "eps", 1e-5) };
    node_spatial(c->g, &n, tensor_like(c->g, off, fresh(c, "Out")));
    const struct val *root =
        un(c, VAL_SQRT,
           bin(c, VAL_ADD, broadcast_load(c, var, &n), num(c, param_float(c, "eps", 1e-5))));
    n.body = bin(c, VAL_DIV, load_at(c->g, off, n.spatial), root);
    for (int i = 1; i < c->n_in; i++)
        n.body = bin(c, i == 1 ? VAL_MUL : VAL_ADD, n.body, broadcast_load(c, c->in[i], &n));
    graph_add_node(c->g, &n);
    return n.out;
}

static int build_reduce(struct call *c)
{
    int64_t axes[MAX_RANK];
    int rank = arg(c, 0)->rank, n = param_list(c, "axes", axes);
    bool keep = param_int(c, "keep", 1) != 0, min = streq(c->op, "reduce_min");
    unsigned dims = 0;
    double count = 1;
    for (int i = 0; i < n; i++) {
        int d = axis_of(c, axes[i], rank);
        if (d < 0)
            return -1;
        if (dims >> d & 1)
            return err_set(c->e, ERR_DIM, "axes= has dimension %d twice", d) ? 0 : -1;
        dims |= 1u << d;
    }
    if (n == 0)
        dims = (1u << rank) - 1;
    for (int d = 0; d < rank; d++)
        count *= dims >> d & 1 ? (double)arg(c, 0)->shape[d] : 1;
    if (!min)
        return reduced(c, c->in[0], dims, streq(c->op, "reduce_max") ? COMBINE_MAX : COMBINE_SUM,
                       streq(c->op, "reduce_mean") ? 1 / count : 1, keep);
    c->in[0] = unary(c, "neg", f_neg); /* min x = -max(-x) */
    c->in[0] = reduced(c, c->in[0], dims, COMBINE_MAX, 1, keep);
    return unary(c, "neg", f_neg);
}

/* Moving data. */

static int build_transpose(struct call *c)
{
    int64_t perm[MAX_RANK];
    int p[MAX_RANK], rank = arg(c, 0)->rank, n = param_list(c, "perm", perm);
    unsigned seen = 0;
    for (int d = 0; d < rank; d++) {
        int64_t from = n == rank ? perm[d] : rank - 1 - d;
        if ((n != 0 && n != rank) || from < 0 || from >= rank || seen >> from & 1) {
            err_set(c->e, ERR_PERM, "perm= is no permutation of %d dimensions", rank);
            return -1;
        }
        seen |= 1u << from;
        p[d] = (int)from;
    }
    return transpose_node(c->g, c->in[0], p);
}

/* D0 D1 ... */
static void plain_dims(struct call *c, const char **dim, int rank)
{
    for (int d = 0; d < rank; d++)
        dim[d] = arena_printf(arena_of(c), "D%d", d);
}

static int build_reshape(struct call *c)
{
    int64_t shape[MAX_RANK], elems = 1;
    const char *dim[MAX_RANK];
    int rank = param_list(c, "shape", shape);
    for (int d = 0; d < rank; d++)
        if (shape[d] < 1 || shape[d] > TENSOR_MAX_ELEMS / elems)
            elems = (int64_t)1 << 41;
        else
            elems *= shape[d];
    if (rank < 1 || elems != tensor_elems(arg(c, 0))) {
        err_set(c->e, ERR_RANGE, "shape= does not hold the %lld elements of %s",
                (long long)tensor_elems(arg(c, 0)), arg(c, 0)->name);
        return -1;
    }
    plain_dims(c, dim, rank);
    return reshape_node(c->g, c->in[0], rank, dim, shape);
}

static int build_concat(struct call *c)
{
    const struct tensor *x = arg(c, 0);
    int d = axis_of(c, param_int(c, "axis", x->rank > 1), x->rank);
    if (d < 0)
        return -1;
    for (int i = 1; i < c->n_in; i++) {
        const struct tensor *y = arg(c, i);
        for (int k = 0; k < x->rank; k++)
            if (y->rank != x->rank || (k != d && y->shape[k] != x->shape[k])) {
                err_set(c->e, ERR_RANGE, "%s and %s differ in more than the joined dimension",
                        x->name, y->name);
                return -1;
            }
    }
    return concat_node(c->g, c->in, c->n_in, d);
}

/* out[i] = x[from + step * i] along one dim. */
static int build_slice(struct call *c)
{
    const struct tensor t = *arg(c, 0);
    int d = axis_of(c, param_int(c, "axis", t.rank > 1), t.rank);
    if (d < 0)
        return -1;
    int64_t step = param_int(c, "step", 1), from = param_int(c, "from", 0),
            to = param_int(c, "to", t.shape[d]);
    int64_t n = step == 0 ? 0 : (to - from + step - (step > 0 ? 1 : -1)) / step;
    if (n < 1 || from < 0 || from >= t.shape[d] || from + step * (n - 1) < 0 ||
        from + step * (n - 1) >= t.shape[d]) {
        err_set(c->e, ERR_RANGE, "no elements %lld to %lld by %lld in a dimension of %lld",
                (long long)from, (long long)to, (long long)step, (long long)t.shape[d]);
        return -1;
    }
    int64_t shape[MAX_RANK];
    const struct expr *idx[MAX_RANK];
    memcpy(shape, t.shape, sizeof shape);
    shape[d] = n;
    struct node s = { .op = "slice", .data_in = c->in[0] };
    struct tensor_def def = { fresh(c, "Out"), t.rank, t.dim, shape, TENSOR_INTER };
    node_spatial(c->g, &s, graph_add_tensor(c->g, &def));
    for (int k = 0; k < t.rank; k++)
        idx[k] = s.spatial[k];
    idx[d] = expr_addc(c->g->pool, expr_mulc(c->g->pool, s.spatial[d], step), from);
    s.body = load_at(c->g, c->in[0], idx);
    graph_add_node(c->g, &s);
    return s.out;
}

static int build_pad(struct call *c)
{
    int64_t before[MAX_RANK] = { 0 }, after[MAX_RANK] = { 0 };
    int rank = arg(c, 0)->rank, b = param_list(c, "before", before);
    int a = param_list(c, "after", after);
    for (int d = 0; d < rank; d++)
        if (b != rank || a != rank || before[d] < 0 || after[d] < 0 || before[d] > 1 << 20 ||
            after[d] > 1 << 20) {
            err_set(c->e, ERR_PAD, "before= and after= take %d numbers from 0 on", rank);
            return -1;
        }
    return pad_node(c->g, c->in[0], "Out", before, after, param_float(c, "value", 0));
}

static int build_expand(struct call *c)
{
    int64_t shape[MAX_RANK], out[MAX_RANK];
    const char *dim[MAX_RANK], *names[MAX_RANK];
    int rank = param_list(c, "shape", shape);
    if (rank < 1)
        return err_set(c->e, ERR_RANGE, "shape= is missing") ? 0 : -1;
    for (int d = 0; d < rank; d++)
        if (shape[d] < 1) {
            err_set(c->e, ERR_RANGE, "shape= has dimension %d of %lld elements", d,
                    (long long)shape[d]);
            return err_fix(c->e, "1 keeps what is there, more repeats a dimension of 1") ? 0 : -1;
        }
    plain_dims(c, names, rank);
    struct tensor like = { .name = "shape", .rank = rank };
    struct tensor_def def;
    for (int d = 0; d < rank; d++) {
        like.dim[d] = names[d];
        like.shape[d] = shape[d];
    }
    const struct tensor x = *arg(c, 0);
    if (!broadcast(c, &x, &like, &def, dim, out))
        return -1;
    struct node n = { .op = "expand", .data_in = c->in[0] };
    node_spatial(c->g, &n, graph_add_tensor(c->g, &def));
    n.body = broadcast_load(c, c->in[0], &n);
    graph_add_node(c->g, &n);
    return n.out;
}

/* The parameters that the operators of a row take. */
static const struct row {
    const char *names, *params;
    int min, max;
    int (*build)(struct call *c);
} table[] = {
    { "relu relu6 sigmoid tanh gelu gelu_tanh silu hardswish softplus exp log sqrt erf neg abs "
      "reciprocal identity",
      "", 1, 1, build_unary },
    { "clip", "min max", 1, 1, build_unary },
    { "leaky elu", "alpha", 1, 1, build_unary },
    { "hardsigmoid", "alpha beta", 1, 1, build_unary },
    { "affine", "mul add", 1, 1, build_unary },
    { "add sub mul div max min", "", 2, 2, build_binary },
    { "matmul", "", 2, 2, build_matmul },
    { "gemm", "transa transb alpha beta", 2, 3, build_gemm },
    { "batchnorm", "eps", 5, 5, build_batchnorm },
    { "layernorm", "axis eps", 1, 3, build_layernorm },
    { "softmax logsoftmax", "axis", 1, 1, build_softmax },
    { "reduce_sum reduce_max reduce_min reduce_mean", "axes keep", 1, 1, build_reduce },
    { "transpose", "perm", 1, 1, build_transpose },
    { "reshape", "shape", 1, 1, build_reshape },
    { "concat", "axis", 1, 64, build_concat },
    { "slice", "axis from to step", 1, 1, build_slice },
    { "pad", "before after value", 1, 1, build_pad },
    { "expand", "shape", 1, 1, build_expand },
};

static const struct row *find(const char *name)
{
    for (int i = 0; i < COUNT_OF(table); i++)
        if (name[0] && words_have(table[i].names, name, strlen(name)))
            return &table[i];
    return NULL;
}

/* A family of the same name may take other parameters: concat(x, y) c2=2, transpose(x) perm=213. */
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
    err_set(c->e, ERR_RANGE, "%s takes %d%s tensors, %d are given", c->op, r->min,
            r->max > r->min ? " or more" : "", c->n_in);
    return -1;
}
