/* General matrix multiplication: C[m][n] = sum over k of A[m][k] * B[k][n]. */
#include "kernels/ops/params.h"

/* ORDER GMM: the enum numbers the rows of the table. */
enum { P_M, P_K, P_N };

static const struct op_param params[] = {
    [P_M] = ROW_SIZE("m", "rows of A and C"),
    [P_K] = ROW_SIZE("k", "columns of A, rows of B"),
    [P_N] = ROW_SIZE("n", "columns of B and C"),
    ROW_BIAS("1: add a bias per column"), ROW_RELU, ROW_ACT,
};

static bool canonical(int64_t *v, struct err *e)
{
    return finish_canonical(&gmm_family, v, e);
}

static bool build(struct graph *g, const int64_t *v, struct err *e)
{
    (void)e;
    static const char *const dims_a[] = { "M", "K" }, *const dims_b[] = { "K", "N" };
    static const char *const dims_c[] = { "M", "N" };
    const int64_t shape_a[] = { v[P_M], v[P_K] }, shape_b[] = { v[P_K], v[P_N] };
    const int64_t shape_c[] = { v[P_M], v[P_N] };
    int a = graph_add_tensor(g, &(struct tensor_def){ "A", 2, dims_a, shape_a, TENSOR_INPUT });
    int b = graph_add_tensor(g, &(struct tensor_def){ "B", 2, dims_b, shape_b, TENSOR_CONST });
    int c = graph_add_tensor(g, &(struct tensor_def){ "C", 2, dims_c, shape_c, TENSOR_INTER });

    struct node n = { .op = "matmul", .combine = COMBINE_SUM, .complex = true, .data_in = a };
    node_spatial(g, &n, c);
    const struct expr *k = node_reduce(g, &n, "K", v[P_K]);
    const struct expr *at_a[] = { n.spatial[0], k }, *at_b[] = { k, n.spatial[1] };
    n.body = val_bin(exprs_arena(g->pool), VAL_MUL, graph_load_at(g, a, at_a),
                     graph_load_at(g, b, at_b));
    graph_add_node(g, &n);
    finish_with(g, c, 1, &gmm_family, v);
    return true;
}

static const char *const data_params[] = { "m", "k", NULL };

const struct op_family gmm_family = {
    .data_params = data_params,
    .name = "gmm",
    .title = "matrix multiplication",
    .example = "gmm m=512 k=512 n=512",
    .help = "C[m][n] = sum over k of A[m][k] * B[k][n].  "
            "A (M K) is the input, B (K N) a constant, C is M N.  "
            "bias=1 adds Bias (N), relu=1 finishes with ReLU, act= with that or another "
            "function.",
    .n_params = COUNT_OF(params),
    .params = params,
    .build = build,
    .canonical = canonical,
};
