/* Arithmetic: functions of one tensor, of two element by element, and matrix products. */
#include "kernels/ops/compose_ops_impl.h"

#include <math.h>
#include <string.h>

/* Notes the parameters of the functions that take numbers.  The defaults are those of f_clip and
 * the others. */
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
    node_spatial(c->g, &n, tensor_like(c->g, c->in[0], compose_fresh(c, "Out")));
    note_params(c, &n.params);
    n.body = f(c, graph_load_at(c->g, c->in[0], n.spatial));
    graph_add_node(c->g, &n);
    return n.out;
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

int compose_unary(struct call *c)
{
    for (int a = ACT_NONE + 1; a < ACT_COUNT; a++)
        if (streq(act_words[a], c->op))
            return act_node(c->g, c->in[0], (enum act)a, NULL);
    for (int i = 0; i < COUNT_OF(unaries); i++)
        if (streq(unaries[i].name, c->op))
            return unary(c, c->op, unaries[i].f);
    UNREACHABLE();
}

int compose_negated(struct call *c)
{
    return unary(c, "neg", f_neg);
}

static bool same_shape(const struct tensor *a, const struct tensor_def *b)
{
    return a->rank == b->rank &&
           memcmp(a->shape, b->shape, sizeof *a->shape * (size_t)a->rank) == 0;
}

int compose_binary(struct call *c)
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
    if (!compose_broadcast(c, &x, &y, &def, dim, shape))
        return -1;
    struct node n = { .op = c->op, .data_in = c->in[0], .elementwise = same_shape(&x, &def) };
    node_spatial(c->g, &n, graph_add_tensor(c->g, &def));
    for (int i = 0; i < COUNT_OF(kinds); i++)
        if (streq(kinds[i].name, c->op))
            n.body = bin(c, kinds[i].kind, compose_load(c, c->in[0], &n),
                         compose_load(c, c->in[1], &n));
    graph_add_node(c->g, &n);
    return n.out;
}

/* a[.., m, k] * b[.., k, n] with broadcast batch dims; vectors lose their dim again. */
int compose_matmul(struct call *c)
{
    struct exprs *p = c->g->pool;
    const struct tensor x = *arg(c, 0), y = *arg(c, 1);
    if (x.rank < 1 || y.rank < 1) {
        err_set(c->e, ERR_DIM, "%s has no dimensions: matmul multiplies vectors and matrices",
                x.rank < 1 ? x.name : y.name);
        return -1;
    }
    bool row = x.rank == 1, column = y.rank == 1;
    int bx = row ? 0 : x.rank - 2, by = column ? 0 : y.rank - 2, batch = bx > by ? bx : by,
        rank = batch;
    int64_t k = x.shape[x.rank - 1], ky = y.shape[column ? 0 : y.rank - 2], shape[MAX_RANK];
    const char *dim[MAX_RANK];
    if (k != ky) {
        err_set(c->e, ERR_RANGE, "%s has %lld columns, but %s has %lld rows", x.name, (long long)k,
                y.name,
                (long long)ky);
        return -1;
    }
    for (int d = 0; d < batch; d++) {
        int64_t nx = d - (batch - bx) >= 0 ? x.shape[d - (batch - bx)] : 1;
        int64_t ny = d - (batch - by) >= 0 ? y.shape[d - (batch - by)] : 1;
        if (nx != ny && nx != 1 && ny != 1) {
            err_set(c->e, ERR_RANGE, "batches of %lld and of %lld cannot be multiplied",
                    (long long)nx, (long long)ny);
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
    struct tensor_def def = { compose_fresh(c, "Out"), rank, dim, shape, TENSOR_INTER };
    node_spatial(c->g, &n, graph_add_tensor(c->g, &def));
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
    n.body = bin(c, VAL_MUL, graph_load_at(c->g, c->in[0], ix), graph_load_at(c->g, c->in[1], iy));
    graph_add_node(c->g, &n);
    return n.out;
}

/* alpha * A' B' (+ beta * C) */
int compose_gemm(struct call *c)
{
    const struct tensor x = *arg(c, 0), y = *arg(c, 1);
    int ta = (int)param_int(c, "transa", 0) & 1, tb = (int)param_int(c, "transb", 0) & 1;
    double alpha = param_float(c, "alpha", 1), beta = param_float(c, "beta", 1);
    if (x.rank != 2 || y.rank != 2 || x.shape[!ta] != y.shape[tb]) {
        err_set(c->e, ERR_RANGE, "%s and %s are not matrices that can be multiplied", x.name,
                y.name);
        return -1;
    }
    int64_t shape[2] = { x.shape[ta], y.shape[!tb] };
    const char *dim[2] = { "M", "N" };
    struct tensor_def def = { compose_fresh(c, "Out"), 2, dim, shape, TENSOR_INTER };
    struct node n = {
        .op = "matmul", .combine = COMBINE_SUM, .complex = true, .data_in = c->in[0]
    };
    node_spatial(c->g, &n, graph_add_tensor(c->g, &def));
    const struct expr *k = node_reduce(c->g, &n, "K", x.shape[!ta]), *ix[2], *iy[2];
    ix[ta] = n.spatial[0];
    ix[!ta] = k;
    iy[tb] = k;
    iy[!tb] = n.spatial[1];
    n.body = bin(c, VAL_MUL, graph_load_at(c->g, c->in[0], ix), graph_load_at(c->g, c->in[1], iy));
    graph_add_node(c->g, &n);
    if (c->n_in < 3 && alpha == 1)
        return n.out;
    struct node s = { .op = "scale", .elementwise = true, .data_in = n.out };
    node_spatial(c->g, &s, tensor_like(c->g, n.out, compose_fresh(c, "Sum")));
    s.body = graph_load_at(c->g, n.out, s.spatial);
    if (alpha != 1)
        s.body = bin(c, VAL_MUL, s.body, num(c, alpha));
    if (c->n_in == 3) {
        const struct tensor *z = arg(c, 2);
        for (int d = 0; d < z->rank; d++)
            if (z->rank > 2 || (z->shape[d] != 1 && z->shape[d] != shape[2 - z->rank + d])) {
                err_set(c->e, ERR_RANGE, "%s cannot be added to a matrix of %lld x %lld", z->name,
                        (long long)shape[0], (long long)shape[1]);
                return -1;
            }
        const struct val *add = compose_load(c, c->in[2], &s);
        s.body = bin(c, VAL_ADD, s.body, beta == 1 ? add : bin(c, VAL_MUL, add, num(c, beta)));
    }
    graph_add_node(c->g, &s);
    return s.out;
}
