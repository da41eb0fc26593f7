/* Builds the operators that move data. */
#include "kernels/ops/compose_ops_impl.h"

int compose_transpose(struct call *c)
{
    int64_t perm[MAX_RANK];
    int p[MAX_RANK], rank = arg(c, 0)->rank, n = param_list(c, "perm", perm);
    unsigned seen = 0;
    for (int d = 0; d < rank; d++) {
        int64_t from = n == rank ? perm[d] : rank - 1 - d;
        if ((n != 0 && n != rank) || from < 0 || from >= rank || seen >> from & 1)
            return refuse(c, ERR_PERM, "perm= is not a permutation of %d dimensions", rank);
        seen |= 1u << from;
        p[d] = (int)from;
    }
    return transpose_node(c->g, c->in[0], p);
}

/* Names the dims D0 D1 ... */
static void plain_dims(struct call *c, const char **dim, int rank)
{
    for (int d = 0; d < rank; d++)
        dim[d] = arena_printf(exprs_arena(c->g->pool), "D%d", d);
}

int compose_reshape(struct call *c)
{
    int64_t shape[MAX_RANK], elems = 1;
    const char *dim[MAX_RANK];
    int rank = param_list(c, "shape", shape);
    for (int d = 0; d < rank; d++)
        if (shape[d] < 1 || shape[d] > TENSOR_MAX_ELEMS / elems)
            elems = (int64_t)1 << 41;
        else
            elems *= shape[d];
    if (rank < 1 || elems != tensor_elems(arg(c, 0)))
        return refuse(c, ERR_RANGE, "shape= does not hold the %lld elements of %s",
                      (long long)tensor_elems(arg(c, 0)), arg(c, 0)->name);
    plain_dims(c, dim, rank);
    return reshape_node(c->g, c->in[0], rank, dim, shape);
}

int compose_concat(struct call *c)
{
    const struct tensor *x = arg(c, 0);
    int d = compose_axis(c, param_int(c, "axis", x->rank > 1), x->rank);
    if (d < 0)
        return -1;
    for (int i = 1; i < c->n_in; i++) {
        const struct tensor *y = arg(c, i);
        if (y->rank != x->rank)
            return refuse(c, ERR_RANGE, "%s has %d dimensions, and %s has %d", x->name, x->rank,
                          y->name, y->rank);
        for (int k = 0; k < x->rank; k++)
            if (k != d && y->shape[k] != x->shape[k])
                return refuse(c, ERR_RANGE, "%s and %s differ in a dimension that is not joined",
                              x->name, y->name);
    }
    return concat_node(c->g, c->in, c->n_in, d);
}

/* Builds out[i] = x[from + step * i] along one dim. */
int compose_slice(struct call *c)
{
    const struct tensor t = *arg(c, 0);
    int d = compose_axis(c, param_int(c, "axis", t.rank > 1), t.rank);
    if (d < 0)
        return -1;
    int64_t step = param_int(c, "step", 1), from = param_int(c, "from", 0),
            to = param_int(c, "to", t.shape[d]);
    int64_t n = step == 0 ? 0 : (to - from + step - (step > 0 ? 1 : -1)) / step;
    int64_t last = from + step * (n - 1);
    if (n < 1 || from < 0 || from >= t.shape[d] || last < 0 || last >= t.shape[d])
        return refuse(c, ERR_RANGE, "from=%lld to=%lld step=%lld selects %s a dimension of %lld",
                      (long long)from, (long long)to, (long long)step,
                      n < 1 ? "no elements of" : "elements outside of", (long long)t.shape[d]);
    return slice_node(c->g, c->in[0], &(struct slice){ d, from, step, n });
}

/* Builds gather or gather_elements along dim d.  gather: the dims of `at`, which has any rank,
 * replace dim d of x.  gather_elements: out[i] is the element of x at the indices i, except that
 * at[i] replaces index d. */
int compose_gather(struct call *c)
{
    const struct tensor *x = arg(c, 0), *at = arg(c, 1);
    bool each = streq(c->op, "gather_elements");
    int d = compose_axis(c, param_int(c, "axis", 0), x->rank);
    if (d < 0)
        return -1;
    if (!each && x->rank - 1 + at->rank > MAX_RANK)
        return refuse(c, ERR_RANK, "the result has more than %d dimensions", MAX_RANK);
    for (int k = 0; each && k < x->rank; k++)
        if (at->rank != x->rank || (k != d && at->shape[k] > x->shape[k]))
            return refuse(c, ERR_RANGE, "%s has %s than %s", at->name,
                          at->rank != x->rank ? "another number of dimensions"
                                              : "a larger dimension beside axis=", x->name);
    return gather_node(c->g, c->in[0], c->in[1], d, each);
}

#define MAX_PAD (1 << 20)                 /* most elements added on a side */

int compose_pad(struct call *c)
{
    int64_t before[MAX_RANK] = { 0 }, after[MAX_RANK] = { 0 };
    int rank = arg(c, 0)->rank, b = param_list(c, "before", before);
    int a = param_list(c, "after", after);
    for (int d = 0; d < rank; d++)
        if (b != rank || a != rank || before[d] < 0 || after[d] < 0 || before[d] > MAX_PAD ||
            after[d] > MAX_PAD)
            return refuse(c, ERR_PAD, "before= and after= take %d number%s, each between 0 and %d",
                          rank, rank == 1 ? "" : "s", MAX_PAD);
    return pad_node(c->g, c->in[0], "Out", before, after, param_float(c, "value", 0));
}

int compose_expand(struct call *c)
{
    int64_t shape[MAX_RANK], out[MAX_RANK];
    const char *dim[MAX_RANK];
    int rank = param_list(c, "shape", shape);
    if (rank < 1)
        return refuse(c, ERR_RANGE, "shape= is missing");
    struct tensor like = { .name = "shape", .rank = rank };
    struct tensor_def def;
    plain_dims(c, like.dim, rank);
    for (int d = 0; d < rank; d++) {
        like.shape[d] = shape[d];
        if (shape[d] >= 1)
            continue;
        err_set(c->e, ERR_RANGE, "shape= cannot expand dimension %d to %lld elements", d,
                (long long)shape[d]);
        err_fix(c->e, "use 1 to keep a dimension; only a dimension of 1 can become larger");
        return -1;
    }
    const struct tensor x = *arg(c, 0);
    if (!build_broadcast(c->g, &x, &like, &def, dim, out, c->e))
        return -1;
    struct node n = { .op = "expand", .data_in = c->in[0] };
    node_spatial(c->g, &n, graph_add_tensor(c->g, &def));
    n.body = build_load(c->g, c->in[0], &n);
    graph_add_node(c->g, &n);
    return n.out;
}
