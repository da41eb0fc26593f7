/* Builds matrix products, and defines their families. */
#include "kernels/ops/params.h"

/* Sets the indices of the batches of t: its dims before the last two. */
static void batch_indices(const struct graph *g, const struct tensor *t,
                          const struct expr *const *batch, int n_batch, const struct expr **idx)
{
    for (int d = 0; d < t->rank - 2; d++)
        idx[d] = build_index(g, t->shape[d], batch[n_batch - (t->rank - 2) + d]);
}

int matmul_node(struct graph *g, const struct matmul *m)
{
    const struct tensor a = g->tensor[m->a], b = g->tensor[m->b];
    const struct expr *at_a[MAX_RANK], *at_b[MAX_RANK];
    bool rows = a.rank > 1, columns = b.rank > 1;
    int n_batch = m->out.rank - rows - columns;
    struct node n = { .op = "matmul", .combine = COMBINE_SUM, .complex = true, .data_in = m->a };
    node_spatial(g, &n, graph_add_tensor(g, &m->out));
    const struct expr *k = node_reduce(g, &n, "K", a.shape[a.rank - 1 - m->ta]);
    batch_indices(g, &a, n.spatial, n_batch, at_a);
    batch_indices(g, &b, n.spatial, n_batch, at_b);
    at_a[a.rank - 1 - m->ta] = k;
    at_b[b.rank - 1 - (columns && !m->tb)] = k;
    if (rows)
        at_a[a.rank - 2 + m->ta] = n.spatial[n_batch];
    if (columns)
        at_b[b.rank - 1 - m->tb] = n.spatial[n.n_spatial - 1];
    n.body = build_product(g, m->a, at_a, m->b, at_b);
    graph_add_node(g, &n);
    return n.out;
}

/* The families: C = A B for matrices, and for batches of matrices. */

static bool build_matmul(struct graph *g, const struct op_family *f, const int64_t *v,
                         struct err *e)
{
    (void)e;
    static const char *const dims_a[] = { "B", "M", "K" }, *const dims_b[] = { "B", "K", "N" };
    static const char *const dims_c[] = { "B", "M", "N" };
    int64_t batch = param_value(f, v, "b", 1), m = param_value(f, v, "m", 1);
    int64_t k = param_value(f, v, "k", 1), n = param_value(f, v, "n", 1);
    const int64_t shape_a[] = { batch, m, k }, shape_b[] = { batch, k, n };
    const int64_t shape_c[] = { batch, m, n };
    bool one = param_row(f, "b") < 0;     /* true: no batch dim, and B is a constant */
    int rank = one ? 2 : 3;
    int a = graph_add_tensor(g, &(struct tensor_def){ "A", rank, dims_a + one, shape_a + one,
                                                      TENSOR_INPUT });
    int b = graph_add_tensor(g, &(struct tensor_def){ "B", rank, dims_b + one, shape_b + one,
                                                      one ? TENSOR_CONST : TENSOR_INPUT });
    struct matmul product = { a, b, false, false,
                              { "C", rank, dims_c + one, shape_c + one, TENSOR_INTER } };
    finish_with(g, matmul_node(g, &product), rank - 1, f, v);
    return true;
}

#define ROWS_MKN \
    ROW_SIZE("m", "rows of A and C"), ROW_SIZE("k", "columns of A, rows of B"), \
    ROW_SIZE("n", "columns of B and C")

const struct op_family gmm_family = {
    .name = "gmm",
    .title = "matrix multiplication",
    .example = "gmm m=512 k=512 n=512",
    .help = "C[m][n] = sum over k of A[m][k] * B[k][n].  "
            "A (M K) is the input, B (K N) a constant, C is M N.  "
            "bias=1 adds Bias (N); relu=1 applies ReLU at the end; act= applies any of the "
            "functions.",
    .data_params = { "m", "k" },
    PARAMS(ROWS_MKN, ROW_BIAS("1: add a bias per column"), ROW_RELU, ROW_ACT),
    .build = build_matmul,
};

const struct op_family bmm_family = {
    .name = "bmm",
    .title = "batched matrix multiplication",
    .example = "bmm b=12 m=128 k=64 n=128",
    .help = "C[b][m][n] = sum over k of A[b][m][k] * B[b][k][n].  A (B M K) and B (B K N) are "
            "inputs, C is B M N.  act= finishes with a function.",
    .data_params = { "b", "m", "k" },
    PARAMS(ROW_SIZE("b", "matrices in a batch"), ROWS_MKN, ROW_RELU, ROW_ACT),
    .build = build_matmul,
};
