/* What operator families share while they build their graph.  Only kernels/ops includes this. */
#ifndef TS_OPS_BUILD_H
#define TS_OPS_BUILD_H
#include "kernels/ops/graph.h"

/* The families, listed in ops.c. */
extern const struct op_family c2d_family, gmm_family, c1d_family, c3d_family, grp_family,
    dep_family, dil_family, t2d_family, t3d_family, bmm_family, act_family, add_family,
    mul_family, bn_family, maxpool_family, avgpool_family, gpool_family, softmax_family, ln_family,
    reduce_family, transpose_family, reshape_family, concat_family, slice_family;

/* The graph that statements make (compose.c). */
bool graph_compose(struct arena *a, const char *text, const struct graph **out, struct err *e);

/* A new tensor (INTER) shaped like x. */
int tensor_like(struct graph *g, int x, const char *name);

/* The simple nodes.  Each reads tensor x, adds the tensor it writes (INTER), returns its index. */

/* out[d..] = x[d - before..] inside, `value` outside; before and after count elements per dim.  The
 * condition names only the dims that are really padded. */
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
/* out = act(x); out NULL: called after the function ("ReLU", "GELU"...). */
int act_node(struct graph *g, int x, enum act act, const char *out);
/* out = x OP y; y's dims are the last ones of x, or of extent 1: repeated. */
int binary_node(struct graph *g, int x, int y, enum val_kind kind, const char *op,
                const char *out);
/* BatchNorm = x * Scale[channel dim] + Shift[channel dim]; adds these constants. */
int batch_norm_node(struct graph *g, int x, int channel_dim);

/* ORDER REDUCE */
enum reduce { REDUCE_SUM, REDUCE_MAX, REDUCE_MEAN };
/* Over the dims in the set (bit d: dim d), but not all of them.  out NULL: Sum, Max, Mean. */
int reduce_node(struct graph *g, int x, unsigned dims, enum reduce how, const char *out);
/* Over the last dim: Max, Exp, Sum and Softmax; Mean, Var and LayerNorm with the constants Gamma
 * and Beta. */
int softmax_node(struct graph *g, int x);
int layer_norm_node(struct graph *g, int x);

/* Windows over the last n_axes dims of x, which holds their padding already (window.h).  AvgPool
 * without count_pad: PoolSum / Count. */
struct window;
int max_pool_node(struct graph *g, int x, int n_axes, const struct window *w);
int avg_pool_node(struct graph *g, int x, int n_axes, const struct window *w, bool count_pad);

/* Transpose: new dim d is old dim perm[d].  Reshape: the same elements in row-major order.
 * Concat: along dim, where alone the shapes may differ.  Slice: [from, to) of dim. */
int transpose_node(struct graph *g, int x, const int *perm);
int reshape_node(struct graph *g, int x, int rank, const char *const *dims, const int64_t *shape);
int concat_node(struct graph *g, const int *x, int n_x, int dim);
int slice_node(struct graph *g, int x, int dim, int64_t from, int64_t to);
#endif
