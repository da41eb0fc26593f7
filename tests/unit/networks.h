/* Graphs and networks for tests. */
#ifndef TS_TESTS_NETWORKS_H
#define TS_TESTS_NETWORKS_H
#include "kernels/module/network.h"

/* Returns the graph of a text.  The test fails if there is none. */
const struct graph *graph_must(struct arena *a, const char *text);
/* Returns the network of a graph, with the instant schedules of the experts.  These are read once,
 * into a, which must live as long as the tests. */
const struct network *network_must(struct arena *a, const struct graph *g);
#endif
