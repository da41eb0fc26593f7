/* A whole graph as text: a line per tensor, and per node with its tensor expression. */
#ifndef TS_TESTS_GRAPH_PRINT_H
#define TS_TESTS_GRAPH_PRINT_H
#include "kernels/ops/graph.h"

void graph_print(struct str *out, const struct graph *g);
#endif
