/* Copies of graphs with changes, for functions that derive one graph from another. */
#ifndef TS_OPS_GRAPH_REWRITE_H
#define TS_OPS_GRAPH_REWRITE_H
#include "kernels/ops/graph.h"

/* How tensor indices change from the old graph to the new graph g: indices from `from` on grow by
 * `by`. */
struct remap { struct graph *g; int from, by; };

/* Returns an empty graph over the pool of g, with its operator, spec and type. */
struct graph *graph_like(struct arena *a, const struct graph *g);
/* Adds a copy of tensor t, with this role. */
int graph_copy_tensor(struct graph *to, const struct tensor *t, enum tensor_role role);
/* Adds a copy of the node `from` of the old graph to m->g, with the new indices of its tensors. */
void graph_copy_node(const struct remap *m, const struct node *from);
/* Sets the main node of `to`.  Usually it is node N, which computes the same tensor as the main
 * node of g.  If the main node of g is complex and N is not, as after `rfactor` or in a Winograd
 * form, it is the nearest complex node before N. */
void graph_keep_main(struct graph *to, const struct graph *g);
/* Returns base + suffix, with _ appended until no tensor has that name.  Graphs from text may use
 * any name. */
const char *graph_free_name(struct arena *a, const struct graph *g, const char *base,
                            const char *suffix);
#endif
