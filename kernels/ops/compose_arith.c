/* Builds arithmetic: functions of one tensor, of two element by element, and matrix products. */
#include "kernels/ops/compose_ops_impl.h"

#include <math.h>

/* Functions with parameters, and the names and defaults of their parameters. */
static const struct {
    enum act act;
    const char *alpha, *beta;
    double alpha_def, beta_def;
} numbers[] = {
    { ACT_CLIP, "min", "max", -INFINITY, INFINITY },
    { ACT_LEAKY, "alpha", "", 0.01, 0 },
    { ACT_ELU, "alpha", "", 1, 0 },
    { ACT_AFFINE, "mul", "add", 1, 0 },
    { ACT_HARDSIGMOID, "alpha", "beta", 0.2, 0.5 },
};

int compose_unary(struct call *c)
{
    double alpha = 0, beta = 0;
    int act = ACT_NONE + 1;
    while (act == ACT_COUNT || !streq(act_words[act], c->op))
        act++;
    for (int i = 0; i < COUNT_OF(numbers); i++)
        if ((int)numbers[i].act == act) {
            alpha = param_float(c, numbers[i].alpha, numbers[i].alpha_def);
            beta = param_float(c, numbers[i].beta, numbers[i].beta_def);
        }
    return act_node(c->g, c->in[0], (enum act)act, alpha, beta);
}

int compose_binary(struct call *c)
{
    static const struct { const char *name; enum val_kind kind; } kinds[] = {
        { "add", VAL_ADD }, { "sub", VAL_SUB }, { "mul", VAL_MUL },
        { "div", VAL_DIV }, { "max", VAL_MAX }, { "min", VAL_MIN },
        { "equal", VAL_LE }, { "less", VAL_LE }, { "lessequal", VAL_LE },
    };
    int i = 0;
    while (!streq(kinds[i].name, c->op))
        i++;
    return binary_node(c->g, c->in, kinds[i].kind, c->op, "Out", c->e);
}

int compose_where(struct call *c)
{
    return where_node(c->g, c->in, c->e);
}

/* Broadcasts the batch dims of the two arguments.  Stores the names (B0 B1 ...) and the extents of
 * the result's batch dims.  Returns the number of these dims, or -1 with an error. */
static int add_batches(struct call *c, const char **dim, int64_t *shape)
{
    const struct tensor *x = arg(c, 0), *y = arg(c, 1);
    int bx = x->rank < 2 ? 0 : x->rank - 2, by = y->rank < 2 ? 0 : y->rank - 2;
    int n = bx > by ? bx : by;
    for (int d = 0; d < n; d++) {
        int64_t nx = d - (n - bx) >= 0 ? x->shape[d - (n - bx)] : 1;
        int64_t ny = d - (n - by) >= 0 ? y->shape[d - (n - by)] : 1;
        if (nx != ny && nx != 1 && ny != 1)
            return refuse(c, ERR_RANGE, "batches of %lld and of %lld cannot be multiplied",
                          (long long)nx, (long long)ny);
        dim[d] = arena_printf(exprs_arena(c->g->pool), "B%d", d);
        shape[d] = nx > ny ? nx : ny;
    }
    return n;
}

/* Adds the third tensor of the call, if there is one, to the product.  Then applies the function
 * act=. */
static int finish_product(struct call *c, int product)
{
    enum act act = (enum act)param_word(c, "act", ACT_NONE);
    if (c->n_in == 3) {
        const struct tensor *bias = arg(c, 2), *out = &c->g->tensor[product];
        if (!compose_repeats(bias, out))
            return refuse(c, ERR_RANGE, "%s cannot be repeated to the shape of the product",
                          bias->name);
        struct node n = build_like(c->g, product, "bias", "BiasAdd");
        n.elementwise = true;
        n.body = bin(c->g, VAL_ADD, n.body, build_load(c->g, c->in[2], &n));
        graph_add_node(c->g, &n);
        product = n.out;
    }
    return act == ACT_NONE ? product : act_node(c->g, product, act, 0, 0);
}

/* Computes a[.., m, k] * b[.., k, n] with broadcast batches.  A vector a has no m; a vector b has
 * no n. */
int compose_matmul(struct call *c)
{
    const struct tensor x = *arg(c, 0), y = *arg(c, 1);
    const char *dim[MAX_RANK];
    int64_t shape[MAX_RANK];
    if (x.rank < 1 || y.rank < 1)
        return refuse(c, ERR_DIM, "%s has no dimensions: matmul multiplies vectors and matrices",
                      x.rank < 1 ? x.name : y.name);
    int64_t k = x.shape[x.rank - 1], ky = y.shape[y.rank == 1 ? 0 : y.rank - 2];
    if (k != ky)
        return refuse(c, ERR_RANGE, "%s has %lld columns, but %s has %lld rows", x.name,
                      (long long)k, y.name, (long long)ky);
    int rank = add_batches(c, dim, shape);
    if (rank < 0)
        return -1;
    if (x.rank > 1) {
        dim[rank] = "M";
        shape[rank++] = x.shape[x.rank - 2];
    }
    if (y.rank > 1) {
        dim[rank] = "N";
        shape[rank++] = y.shape[y.rank - 1];
    }
    int product = matmul_node(c->g, &(struct matmul){ c->in[0], c->in[1], false, false,
                                                      { "Out", rank, dim, shape, TENSOR_INTER } });
    return finish_product(c, product);
}

/* Computes alpha * A * B, or alpha * A * B + beta * C; transa=1 and transb=1 transpose A and B. */
int compose_gemm(struct call *c)
{
    static const char *const dim[] = { "M", "N" };
    const struct tensor x = *arg(c, 0), y = *arg(c, 1);
    bool ta = param_int(c, "transa", 0) & 1, tb = param_int(c, "transb", 0) & 1;
    double alpha = param_float(c, "alpha", 1), beta = param_float(c, "beta", 1);
    if (x.rank != 2 || y.rank != 2 || x.shape[!ta] != y.shape[tb])
        return refuse(c, ERR_RANGE, "%s and %s are not matrices that can be multiplied", x.name,
                      y.name);
    const int64_t shape[] = { x.shape[ta], y.shape[!tb] };
    int product = matmul_node(c->g, &(struct matmul){ c->in[0], c->in[1], ta, tb,
                                                      { "Out", 2, dim, shape, TENSOR_INTER } });
    if (c->n_in < 3 && alpha == 1)
        return product;
    if (c->n_in == 3 && !compose_repeats(arg(c, 2), &c->g->tensor[product]))
        return refuse(c, ERR_RANGE, "%s cannot be added to a matrix of %lld x %lld",
                      arg(c, 2)->name, (long long)shape[0], (long long)shape[1]);
    struct node s = build_like(c->g, product, "scale", "Sum");
    s.elementwise = true;
    if (alpha != 1)
        s.body = bin(c->g, VAL_MUL, s.body, num(c->g, alpha));
    if (c->n_in == 3) {
        const struct val *add = build_load(c->g, c->in[2], &s);
        if (beta != 1)
            add = bin(c->g, VAL_MUL, add, num(c->g, beta));
        s.body = bin(c->g, VAL_ADD, s.body, add);
    }
    graph_add_node(c->g, &s);
    return s.out;
}
