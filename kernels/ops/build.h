/* Helpers that operator families share to build their graphs. Only kernels/ops includes this. */
#ifndef TS_OPS_BUILD_H
#define TS_OPS_BUILD_H
#include "kernels/ops/graph.h"

/* The families, listed in ops.c. */
extern const struct op_family c2d_family, gmm_family, c1d_family, c3d_family, grp_family,
    dep_family, dil_family, t2d_family, t3d_family, bmm_family, act_family, add_family,
    mul_family, bn_family, maxpool_family, avgpool_family, gpool_family, softmax_family, ln_family,
    reduce_family, transpose_family, reshape_family, concat_family, slice_family;

/* Builds the graph of a list of statements (compose.c). */
bool graph_compose(struct arena *a, const char *text, const struct graph **out, struct err *e);

/* A new tensor (INTER) shaped like x. */
int tensor_like(struct graph *g, int x, const char *name);

/* The builders of simple nodes.  Each adds a node that reads tensor x and a tensor (INTER) that
 * it writes, and returns the index of that tensor. */

/* out[d..] = x[d - before..] inside x, and `value` outside. before and after count elements per
 * dim.  The condition of the node names only the dims that are padded. */
int pad_node(struct graph *g, int x, const char *out, const int64_t *before, const int64_t *after,
             double value);
/* BiasAdd = x + Bias[channel dim]; adds the constant Bias. */
int bias_node(struct graph *g, int x, int channel_dim);

/* ORDER ACT: act_words has their names, NULL at the end. */
enum act {
    ACT_NONE, ACT_RELU, ACT_RELU6, ACT_SIGMOID, ACT_TANH, ACT_GELU /* with erf */,
    ACT_GELU_TANH /* its approximation */, ACT_SILU, ACT_HARDSWISH, ACT_SOFTPLUS, ACT_COUNT
};
extern const char *const act_words[];
/* out = act(x); with out NULL, the tensor is named after the function ("ReLU", "GELU"). */
int act_node(struct graph *g, int x, enum act act, const char *out);
/* out = x OP y.  The dims of y are the last ones of x; where y has extent 1, its element is
 * repeated. */
int binary_node(struct graph *g, int x, int y, enum val_kind kind, const char *op,
                const char *out);
/* BatchNorm = x * Scale[channel dim] + Shift[channel dim]; adds these constants. */
int batch_norm_node(struct graph *g, int x, int channel_dim);

/* ORDER REDUCE */
enum reduce { REDUCE_SUM, REDUCE_MAX, REDUCE_MEAN };
/* Reduces over the dims in the set (bit d: dim d), which are not all dims of x.  With out NULL
 * the tensor is named Sum, Max or Mean. */
int reduce_node(struct graph *g, int x, unsigned dims, enum reduce how, const char *out);
/* Both work on the last dim.  Softmax adds the tensors Max, Exp, Sum and Softmax; layer norm adds
 * Mean, Var, LayerNorm and the constants Gamma and Beta. */
int softmax_node(struct graph *g, int x);
int layer_norm_node(struct graph *g, int x);

/* Pooling by windows over the last n_axes dims of x, which is already padded (window.h).  Without
 * count_pad, AvgPool is PoolSum / Count. */
struct window;
int max_pool_node(struct graph *g, int x, int n_axes, const struct window *w);
int avg_pool_node(struct graph *g, int x, int n_axes, const struct window *w, bool count_pad);

/* Transpose: new dim d is old dim perm[d]. Reshape: the same elements in row-major order.
 * Concat: joins along dim; all other dims have equal sizes.  Slice: elements [from, to) of dim. */
int transpose_node(struct graph *g, int x, const int *perm);
int reshape_node(struct graph *g, int x, int rank, const char *const *dims, const int64_t *shape);
int concat_node(struct graph *g, const int *x, int n_x, int dim);
int slice_node(struct graph *g, int x, int dim, int64_t from, int64_t to);
#endif
