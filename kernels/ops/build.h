/* What operator families share while they build their graph.  Only kernels/ops includes this. */
#ifndef TS_OPS_BUILD_H
#define TS_OPS_BUILD_H
#include "kernels/ops/graph.h"

/* The families, listed in ops.c. */
extern const struct op_family c2d_family, gmm_family, c1d_family, c3d_family, grp_family,
    dep_family, dil_family, t2d_family, t3d_family, bmm_family;

/* The graph that statements make (compose.c). */
bool graph_compose(struct arena *a, const char *text, const struct graph **out, struct err *e);

/* An empty graph over a fresh pool in a. */
struct graph *graph_new(struct arena *a, const char *op);

/* Tensor t, so far INTER, becomes the graph's output. */
void graph_set_output(struct graph *g, int t);

/* The loops of *n: one spatial variable per dim of tensor out, named like it in lower case. */
void node_spatial(const struct graph *g, struct node *n, int out);
/* Appends a reduction over dim (upper case), of that extent; returns its variable. */
const struct expr *node_reduce(const struct graph *g, struct node *n, const char *dim,
                               int64_t extent);
/* Tensor t at idx[rank], every index simplified. */
const struct val *load_at(const struct graph *g, int t, const struct expr *const *idx);

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
#endif
