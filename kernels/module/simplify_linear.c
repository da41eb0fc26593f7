/* Passes over matrix products. Most products with constant matrices become matmul(x, w, bias). */
#include "kernels/module/simplify_impl.h"

/* Whether c is a constant with one element for each column of product i: a vector, or a tensor that
 * is broadcast like one. */
static bool is_row(const struct rewrite *r, int i, int c)
{
    const struct tensor *x = &rewrite_at(r, i)->shape, *y = &rewrite_at(r, c)->shape;
    return rewrite_at(r, c)->constant && y->rank >= 1 && y->rank <= x->rank &&
           y->shape[y->rank - 1] == x->shape[x->rank - 1] &&
           tensor_elems(y) == x->shape[x->rank - 1];
}

/* Returns a statement with constant c as a vector: c itself, or a reshape that is added. */
static int as_vector(struct rewrite *r, int by, int c)
{
    struct tensor v = { .rank = 1, .shape = { tensor_elems(&rewrite_at(r, c)->shape) } };
    return rewrite_at(r, c)->shape.rank == 1 ? c :
           rewrite_add(r, by, "Vector", &v, "reshape", &c, 1, "shape=%lld",
                       (long long)v.shape[0]);
}

static int scaled(struct rewrite *r, int by, const char *suffix, int c, double factor)
{
    struct tensor shape = rewrite_at(r, c)->shape;
    return factor == 1 ? c : rewrite_add(r, by, suffix, &shape, "affine", &c, 1, "mul=%s add=0",
                                         rewrite_text(r, factor));
}

bool pass_gemm(struct rewrite *r, int i)
{
    const struct rewrite_stmt s = *rewrite_at(r, i);
    if (!rewrite_is(r, i, "gemm") || !rewrite_at(r, s.arg[1])->constant ||
        rewrite_int(r, i, "transa", 0) & 1 || (s.n_args == 3 && !is_row(r, i, s.arg[2])))
        return false;
    double alpha = rewrite_float(r, i, "alpha", 1), beta = rewrite_float(r, i, "beta", 1);
    int arg[3] = { s.arg[0], s.arg[1], s.n_args == 3 ? s.arg[2] : -1 };
    if (rewrite_int(r, i, "transb", 0) & 1) {
        struct tensor w = rewrite_at(r, arg[1])->shape;
        struct tensor turned = { .rank = 2, .shape = { w.shape[1], w.shape[0] } };
        arg[1] = rewrite_add(r, i, "W", &turned, "transpose", &arg[1], 1, "perm=1,0");
    }
    arg[1] = scaled(r, i, "Scaled", arg[1], alpha);
    if (s.n_args == 3)
        arg[2] = scaled(r, i, "Bias", as_vector(r, i, arg[2]), beta);
    rewrite_set(r, i, "matmul", arg, s.n_args, "%s", "");
    return true;
}

/* Moves a factor of one operand of product i into the other operand, if the other operand is
 * constant.  If not, and if the product has no bias and no function, moves the factor behind the
 * product, where later statements can merge it. */
bool pass_scale(struct rewrite *r, int i)
{
    const struct rewrite_stmt s = *rewrite_at(r, i);
    for (int k = 0; k < 2 && rewrite_is(r, i, "matmul"); k++) {
        int scale = s.arg[k], other = s.arg[!k];
        double mul = rewrite_float(r, scale, "mul", 1);
        bool weights = rewrite_at(r, other)->constant;
        if (!rewrite_is(r, scale, "affine") || !rewrite_is_inner(r, scale) ||
            rewrite_float(r, scale, "add", 0) != 0 || rewrite_at(r, scale)->constant ||
            (!weights && (s.n_args > 2 || s.params[0])))
            continue;
        s.arg[k] = rewrite_at(r, scale)->arg[0];
        if (weights) {
            s.arg[!k] = scaled(r, i, "Weights", other, mul);
            return true;
        }
        int product = rewrite_add(r, i, "Product", &s.shape, "matmul", s.arg, 2, "%s", "");
        rewrite_set(r, i, "affine", &product, 1, "mul=%s add=0", rewrite_text(r, mul));
        return true;
    }
    return false;
}

/* Whether i is a product with a constant matrix, with or without a bias, without an activation. */
static bool is_projection(const struct rewrite *r, int i)
{
    const struct rewrite_stmt *s = rewrite_at(r, i);
    if (!rewrite_is(r, i, "matmul") || !s->live || s->fixed || s->params[0])
        return false;
    const struct rewrite_stmt *w = rewrite_at(r, s->arg[1]);
    bool row = s->n_args < 3 || (rewrite_at(r, s->arg[2])->shape.rank == 1 &&
                                 is_row(r, i, s->arg[2]));
    return w->constant && w->shape.rank == 2 && row;
}

/* Adds a statement that concatenates, along dim `axis`, argument k of each of the n statements. */
static int add_concat(struct rewrite *r, const int *stmt, int n, int k, int axis,
                      const char *suffix)
{
    int arg[64];
    struct tensor shape = rewrite_at(r, rewrite_at(r, stmt[0])->arg[k])->shape;
    shape.shape[axis] = 0;
    for (int m = 0; m < n; m++) {
        arg[m] = rewrite_at(r, stmt[m])->arg[k];
        shape.shape[axis] += rewrite_at(r, arg[m])->shape.shape[axis];
    }
    return rewrite_add(r, stmt[0], suffix, &shape, "concat", arg, n, "axis=%d", axis);
}

bool pass_projections(struct rewrite *r, int i)
{
    int stmt[64], n = 0;
    const struct rewrite_stmt first = *rewrite_at(r, i);
    for (int j = i; is_projection(r, i) && j < r->stmt.len && n < COUNT_OF(stmt); j++)
        if (is_projection(r, j) && rewrite_at(r, j)->arg[0] == first.arg[0] &&
            rewrite_at(r, j)->n_args == first.n_args)
            stmt[n++] = j;
    if (n < 2)
        return false;
    int arg[3] = { first.arg[0], add_concat(r, stmt, n, 1, 1, "Ws"), -1 };
    if (first.n_args == 3)
        arg[2] = add_concat(r, stmt, n, 2, 0, "Bs");
    struct tensor shape = first.shape;
    int last = shape.rank - 1;
    shape.shape[last] = rewrite_at(r, arg[1])->shape.shape[1];
    int all = rewrite_add(r, i, "All", &shape, "matmul", arg, first.n_args, "%s", "");
    int64_t from = 0;
    for (int m = 0; m < n; m++) {
        int64_t to = from + rewrite_at(r, stmt[m])->shape.shape[last];
        rewrite_set(r, stmt[m], "slice", &all, 1, "axis=%d from=%lld to=%lld step=1", last,
                    (long long)from, (long long)to);
        from = to;
    }
    return true;
}
