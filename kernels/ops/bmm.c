/* Batched matrix multiplication: C[b][m][n] = sum over k of A[b][m][k] * B[b][k][n]. */
#include "kernels/ops/params.h"

/* ORDER BMM: the enum numbers the rows of the table. */
enum { P_B, P_M, P_K, P_N };

static const struct op_param params[] = {
    [P_B] = ROW_SIZE("b", "matrices in a batch"),
    [P_M] = ROW_SIZE("m", "rows of A and C"),
    [P_K] = ROW_SIZE("k", "columns of A, rows of B"),
    [P_N] = ROW_SIZE("n", "columns of B and C"),
    ROW_RELU, ROW_ACT,
};

static bool canonical(int64_t *v, struct err *e)
{
    return finish_canonical(&bmm_family, v, e);
}

static bool build(struct graph *g, const int64_t *v, struct err *e)
{
    (void)e;
    static const char *const dims_a[] = { "B", "M", "K" }, *const dims_b[] = { "B", "K", "N" };
    static const char *const dims_c[] = { "B", "M", "N" };
    const int64_t shape_a[] = { v[P_B], v[P_M], v[P_K] }, shape_b[] = { v[P_B], v[P_K], v[P_N] };
    const int64_t shape_c[] = { v[P_B], v[P_M], v[P_N] };
    int a = graph_add_tensor(g, &(struct tensor_def){ "A", 3, dims_a, shape_a, TENSOR_INPUT });
    int b = graph_add_tensor(g, &(struct tensor_def){ "B", 3, dims_b, shape_b, TENSOR_INPUT });
    int c = graph_add_tensor(g, &(struct tensor_def){ "C", 3, dims_c, shape_c, TENSOR_INTER });

    struct node n = { .op = "matmul", .combine = COMBINE_SUM, .complex = true, .data_in = a };
    node_spatial(g, &n, c);
    const struct expr *k = node_reduce(g, &n, "K", v[P_K]);
    const struct expr *at_a[] = { n.spatial[0], n.spatial[1], k };
    const struct expr *at_b[] = { n.spatial[0], k, n.spatial[2] };
    n.body = val_bin(exprs_arena(g->pool), VAL_MUL, graph_load_at(g, a, at_a),
                     graph_load_at(g, b, at_b));
    graph_add_node(g, &n);
    finish_with(g, c, 2, &bmm_family, v);
    return true;
}

static const char *const data_params[] = { "b", "m", "k", NULL };

const struct op_family bmm_family = {
    .data_params = data_params,
    .name = "bmm",
    .title = "batched matrix multiplication",
    .example = "bmm b=12 m=128 k=64 n=128",
    .help = "C[b][m][n] = sum over k of A[b][m][k] * B[b][k][n].  A (B M K) and B (B K N) are "
            "inputs, C is B M N.  act= finishes with a function.",
    .n_params = COUNT_OF(params),
    .params = params,
    .build = build,
    .canonical = canonical,
};
