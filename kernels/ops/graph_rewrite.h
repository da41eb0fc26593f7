/* Copies of graphs with changes, for functions that derive one graph from another. */
#ifndef TS_OPS_GRAPH_REWRITE_H
#define TS_OPS_GRAPH_REWRITE_H
#include "kernels/ops/graph.h"

/* Tensors of the old graph with index >= from have an index greater by `by` in the new graph g. */
struct remap { struct graph *g; int from, by; };

/* Returns an empty graph over the pool of g, with its name and type. */
struct graph *graph_like(struct arena *a, const struct graph *g);
/* Adds a copy of tensor t.  role INTER makes the copy an intermediate tensor; otherwise it has the
 * role of t. */
int graph_copy_tensor(struct graph *to, const struct tensor *t, enum tensor_role role);
/* Adds a copy of the node `from`. */
void graph_copy_node(const struct remap *m, const struct node *from);
/* Sets the main node of `to`, if that of g is not complex: the node that computes the same tensor
 * as the main node of g. */
void graph_keep_main(struct graph *to, const struct graph *g);
/* Returns base + suffix, with _ appended while a tensor has that name, since graphs from text may
 * use any name. */
const char *graph_free_name(struct arena *a, const struct graph *g, const char *base,
                            const char *suffix);
#endif
