/* What operator families share while they build their graph.  Only kernels/ops includes this. */
#ifndef TS_OPS_BUILD_H
#define TS_OPS_BUILD_H
#include "kernels/ops/graph.h"

/* The families: one file each, listed in ops.c. */
extern const struct op_family c2d_family, gmm_family;

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

/* The simple nodes.  Each reads tensor x, adds the tensor it writes (INTER), returns its index. */

/* out[d..] = x[d - before..] inside, 0 outside; before and after count zeros per dim.  The
 * condition names only the dims that are really padded. */
int pad_node(struct graph *g, int x, const char *out, const int64_t *before, const int64_t *after);
/* BiasAdd = x + Bias[channel dim]; adds the constant Bias. */
int bias_node(struct graph *g, int x, int channel_dim);
/* ReLU = max(x, 0) */
int relu_node(struct graph *g, int x);

/* The bias and ReLU that are wanted after tensor x; the last tensor becomes the graph's output. */
void finish_with(struct graph *g, int x, int channel_dim, bool bias, bool relu);
#endif
