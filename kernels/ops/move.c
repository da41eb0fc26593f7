/* Builds operators that only move data: transpose, reshape, concat, slice, gather. */
#include "kernels/ops/params.h"
#include "kernels/ir/simplify.h"

int transpose_node(struct graph *g, int x, const int *perm)
{
    const struct tensor t = g->tensor[x];
    const char *dim[MAX_RANK];
    int64_t shape[MAX_RANK];
    const struct expr *idx[MAX_RANK];
    for (int d = 0; d < t.rank; d++) {
        dim[d] = t.dim[perm[d]];
        shape[d] = t.shape[perm[d]];
    }
    struct node n = { .op = "transpose", .data_in = x };
    node_spatial(g, &n, graph_add_tensor(g, &(struct tensor_def){ "Transpose", t.rank, dim, shape,
                                                                  TENSOR_INTER }));
    for (int d = 0; d < t.rank; d++)
        idx[perm[d]] = n.spatial[d];
    n.body = graph_load_at(g, x, idx);
    graph_add_node(g, &n);
    return n.out;
}

int reshape_node(struct graph *g, int x, int rank, const char *const *dims, const int64_t *shape)
{
    struct exprs *p = g->pool;
    const struct tensor t = g->tensor[x];
    struct node n = { .op = "reshape", .data_in = x };
    node_spatial(g, &n, graph_add_tensor(g, &(struct tensor_def){ "Reshape", rank, dims, shape,
                                                                  TENSOR_INTER }));
    const struct expr *flat = expr_const(p, 0), *idx[MAX_RANK];
    for (int d = 0; d < rank; d++)
        flat = expr_add(p, expr_mulc(p, flat, shape[d]), n.spatial[d]);
    flat = expr_simplify(p, flat);
    int64_t stride = 1;
    for (int d = t.rank - 1; d >= 0; d--) {
        idx[d] = expr_modc(p, expr_divc(p, flat, stride), t.shape[d]);
        stride *= t.shape[d];
    }
    n.body = graph_load_at(g, x, idx);
    graph_add_node(g, &n);
    return n.out;
}

int concat_node(struct graph *g, const int *x, int n_x, int dim)
{
    struct exprs *p = g->pool;
    const struct tensor t = g->tensor[x[0]];
    int64_t shape[MAX_RANK], end = 0;
    for (int d = 0; d < t.rank; d++)
        shape[d] = t.shape[d];
    for (int i = 1; i < n_x; i++)
        shape[dim] += g->tensor[x[i]].shape[dim];
    struct node n = { .op = "concat", .data_in = x[0] };
    node_spatial(g, &n, build_reshaped(g, x[0], "Concat", shape));
    end = shape[dim];
    for (int i = n_x - 1; i >= 0; i--) {
        const struct expr *idx[MAX_RANK];
        int64_t begin = end - g->tensor[x[i]].shape[dim];
        for (int d = 0; d < t.rank; d++)
            idx[d] = d == dim ? expr_addc(p, n.spatial[d], -begin) : n.spatial[d];
        const struct val *part = graph_load_at(g, x[i], idx);
        const struct expr *here = expr_lt(p, n.spatial[dim], expr_const(p, end));
        n.body = n.body ? val_select(exprs_arena(p), expr_simplify(p, here), part, n.body) : part;
        end = begin;
    }
    graph_add_node(g, &n);
    return n.out;
}

int slice_node(struct graph *g, int x, const struct slice *s)
{
    const struct tensor t = g->tensor[x];
    int64_t shape[MAX_RANK] = { 0 };
    const struct expr *idx[MAX_RANK];
    for (int d = 0; d < t.rank; d++)
        shape[d] = d == s->dim ? s->n : t.shape[d];
    struct node n = { .op = "slice", .data_in = x };
    node_spatial(g, &n, build_reshaped(g, x, "Slice", shape));
    for (int d = 0; d < t.rank; d++)
        idx[d] = n.spatial[d];
    idx[s->dim] = expr_addc(g->pool, expr_mulc(g->pool, idx[s->dim], s->step), s->from);
    n.body = graph_load_at(g, x, idx);
    graph_add_node(g, &n);
    return n.out;
}

/* Appends the dims [from, to) of x to *out, with names that differ from those of earlier dims. */
static void take_dims(const struct graph *g, const struct tensor *x, int from, int to,
                      struct tensor *out)
{
    for (int d = from; d < to; d++) {
        out->dim[out->rank] = build_unlike(g, x->dim[d], out->dim, out->rank);
        out->shape[out->rank++] = x->shape[d];
    }
}

int gather_node(struct graph *g, int x, int at, int dim, bool each)
{
    const struct tensor t = g->tensor[x], i = g->tensor[at];
    struct tensor out = { .rank = 0 };
    const struct expr *idx[MAX_RANK], *var = val_pick_var(g->pool, "at", t.shape[dim]);
    take_dims(g, &t, 0, each ? 0 : dim, &out);
    take_dims(g, &i, 0, i.rank, &out);
    take_dims(g, &t, each ? t.rank : dim + 1, t.rank, &out);
    struct node n = { .op = "gather", .data_in = x };
    node_spatial(g, &n, graph_add_tensor(g, &(struct tensor_def){ "Out", out.rank, out.dim,
                                                                  out.shape, TENSOR_INTER }));
    for (int d = 0; d < t.rank; d++)
        if (d != dim)
            idx[d] = n.spatial[each || d < dim ? d : d - 1 + i.rank];
    idx[dim] = t.shape[dim] > 1 ? var : expr_const(g->pool, 0);
    n.body = graph_load_at(g, x, idx);
    if (t.shape[dim] > 1)
        n.body = val_pick(exprs_arena(g->pool), var,
                          graph_load_at(g, at, n.spatial + (each ? 0 : dim)), n.body);
    else  /* any index, even NaN, picks element 0, but the node must still read the indices */
        n.body = bin(g, VAL_ADD, n.body, bin(g, VAL_KEEP, graph_load_at(g, at, n.spatial +
                     (each ? 0 : dim)), num(g, 0)));
    graph_add_node(g, &n);
    return n.out;
}

/* The families.  Each takes a tensor N C H W; the last dims may be left out or added. */

static bool build_transpose(struct graph *g, const struct op_family *f, const int64_t *v,
                            struct err *e)
{
    int perm[MAX_RANK], x = family_input(g, f, v), rank = g->tensor[x].rank;
    int64_t digits = param_value(f, v, "perm", 0), rest = digits;
    unsigned seen = 0;
    for (int d = rank - 1; d >= 0; d--, rest /= 10) {
        perm[d] = (int)(rest % 10) - 1;
        seen |= perm[d] >= 0 && perm[d] < rank ? 1u << perm[d] : 0;
    }
    if (rest || seen != (1u << rank) - 1) {
        err_set(e, ERR_RANGE, "perm=%lld is not an order of %d dimensions", (long long)digits,
                rank);
        return err_fix(e, "write each of 1 to %d once: for four dimensions, 1342 makes N H W C",
                       rank);
    }
    graph_set_output(g, transpose_node(g, x, perm));
    return true;
}

const struct op_family transpose_family = {
    .name = "transpose",
    .title = "dims in another order",
    .example = "transpose n=1 c=64 h=56 w=56 perm=1342",
    .help = "Transpose has the dims of Inp (N C H W) in the order that perm says: with 1342 it is "
            "Transpose[n][h][w][c] = Inp[n][c][h][w].",
    .data_params = DATA_DIMS,
    PARAMS(ROWS_DIMS(OP_UNSET), { "perm", OP_REQUIRED, 12, 54321,
                                  "the old dims in their new order: 1342 is N H W C", NULL }),
    .build = build_transpose,
};

static const char *const result_params[] = { "m", "k", "l", "j" };

static bool canonical_reshape(const struct op_family *f, int64_t *v, struct err *e)
{
    int m = param_row(f, "m");
    for (int i = 1; i < COUNT_OF(result_params); i++)
        if (param_value(f, v, result_params[i], 0) && !param_value(f, v, result_params[i - 1], 0)) {
            err_set(e, ERR_SYNTAX, "%s= needs %s= too", result_params[i], result_params[i - 1]);
            return err_fix(e, "give the dimensions of the result from the first on");
        }
    if (v[m] == v[param_row(f, "n")] && !param_value(f, v, "k", 0))
        v[m] = OP_UNSET;
    return true;
}

/* Builds a reshape to the dims that are given.  If elements are left, they form a last dim. */
static bool build_reshape(struct graph *g, const struct op_family *f, const int64_t *v,
                          struct err *e)
{
    static const char *const dims[] = { "M", "K", "L", "J", "R" };
    int x = family_input(g, f, v), rank = 0;
    int64_t elems = tensor_elems(&g->tensor[x]), left = elems, shape[5];
    for (; rank < 4 && (rank == 0 || param_value(f, v, result_params[rank], 0)); rank++) {
        shape[rank] = param_value(f, v, result_params[rank], g->tensor[x].shape[0]);
        if (left % shape[rank]) {
            err_set(e, ERR_RANGE, "%s=%lld does not divide the %lld elements that are left",
                    result_params[rank], (long long)shape[rank], (long long)left);
            return err_fix(e, "choose dimensions that multiply to %lld", (long long)elems);
        }
        left /= shape[rank];
    }
    if (left > 1 || rank == 1)
        shape[rank++] = left;
    graph_set_output(g, reshape_node(g, x, rank, dims, shape));
    return true;
}

const struct op_family reshape_family = {
    .name = "reshape",
    .title = "the same elements in another shape",
    .example = "reshape n=1 c=512 h=7 w=7",
    .help = "Reshape holds the elements of Inp (N C H W) in the same row-major order.  Its dims "
            "are m, k, l, j, as far as they are given, and what is left; m is n unless given: "
            "every image becomes a row.",
    .data_params = DATA_DIMS,
    PARAMS(ROWS_DIMS(OP_UNSET), ROW_PART_OF("m", "first dim of the result; n unless given"),
           ROW_PART_OF("k", "second dim"), ROW_PART_OF("l", "third dim"),
           ROW_PART_OF("j", "fourth dim")),
    .build = build_reshape,
    .canonical = canonical_reshape,
};

static bool build_concat(struct graph *g, const struct op_family *f, const int64_t *v,
                         struct err *e)
{
    static const char *const size[] = { "c2", "c3", "c4" }, *const name[] = { "Inp2", "Inp3",
                                                                              "Inp4" };
    int x[4] = { family_input(g, f, v) }, n = 1;
    (void)e;
    for (int i = 0; i < COUNT_OF(size); i++) {
        struct tensor t = g->tensor[x[0]];
        t.shape[1] = param_value(f, v, size[i], 0);
        if (t.shape[1] > 0)
            x[n++] = graph_add_tensor(g, &(struct tensor_def){ name[i], t.rank, t.dim, t.shape,
                                                               TENSOR_INPUT });
    }
    graph_set_output(g, concat_node(g, x, n, 1));
    return true;
}

const struct op_family concat_family = {
    .name = "concat",
    .title = "tensors one after the other",
    .example = "concat n=1 c=64 h=28 w=28 c2=128",
    .help = "Concat[n][c][h][w] = Inp[n][c][h][w] while c is a channel of Inp, then the channels "
            "of Inp2, and of Inp3 and Inp4 where c3= and c4= are given.",
    .data_params = DATA_DIMS,
    PARAMS(ROWS_DIMS(OP_UNSET), ROW_SIZE("c2", "channels of Inp2, the second input"),
           { "c3", 0, 0, MAX_SIZE, "channels of a third input, 0: none", NULL },
           { "c4", 0, 0, MAX_SIZE, "channels of a fourth input, 0: none", NULL }),
    .build = build_concat,
};

static bool canonical_slice(const struct op_family *f, int64_t *v, struct err *e)
{
    (void)e;
    int to = param_row(f, "to");
    if (v[to] == v[param_row(f, "c")])
        v[to] = OP_UNSET;
    return true;
}

static bool build_slice(struct graph *g, const struct op_family *f, const int64_t *v,
                        struct err *e)
{
    int x = family_input(g, f, v);
    int64_t c = g->tensor[x].shape[1], from = param_value(f, v, "from", 0);
    int64_t to = param_value(f, v, "to", c);
    if (to > c || from >= to) {
        err_set(e, ERR_RANGE, "%s=%lld: channels %lld to %lld are not a part of the %lld",
                to > c ? "to" : "from", (long long)(to > c ? to : from), (long long)from,
                (long long)to - 1, (long long)c);
        return err_fix(e, "use from= below to=, and to= at most %lld", (long long)c);
    }
    graph_set_output(g, slice_node(g, x, &(struct slice){ 1, from, 1, to - from }));
    return true;
}

const struct op_family slice_family = {
    .name = "slice",
    .title = "a part of the channels",
    .example = "slice n=1 c=64 h=28 w=28 from=16 to=48",
    .help = "Slice[n][c][h][w] = Inp[n][c + from][h][w], the channels from to - 1.",
    .data_params = DATA_DIMS,
    PARAMS(ROWS_DIMS(OP_UNSET), { "from", 0, 0, MAX_SIZE, "first channel", NULL },
           ROW_PART_OF("to", "the channel after the last; c unless given")),
    .build = build_slice,
    .canonical = canonical_slice,
};
