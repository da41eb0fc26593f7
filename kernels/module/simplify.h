/* Simplifications of a network before it is cut into kernels (SPEC L.1).  Each is a named pass over
 * the statements of a graph; the result is a graph composed from new statements.
 *
 * A pass finds statements as exporters write them, and replaces them by fewer or cheaper ones with
 * the same value.  Results that stay keep their names.  Values that depend on constants alone stay
 * in the graph as statements over constants, which are computed once:
 *
 *     c = c2d(x, w) o=64 k=3                  r = c2d(x, n_Ker, n_Shift) o=64 k=3 bias=1 act=relu
 *     n = batchnorm(c, g, b, m, v)     ->     with n_Ker = mul(w, n_Factor), n_Factor = ...
 *     r = relu(n)
 *
 * A product of a tensor of any rank with a constant matrix is written matmul(x, w, bias) act=gelu.
 * The matrix w has the dims K N, and bias is a vector of N elements.
 *
 * Statements that no output needs are dropped.  Inputs are never dropped. */
#ifndef TS_MODULE_SIMPLIFY_H
#define TS_MODULE_SIMPLIFY_H
#include "kernels/ops/graph.h"

enum { SIMPLIFY_MAX_PASSES = 16 };
struct simplify_pass { const char *name, *help; bool on; };       /* on: runs by default */
int simplify_n_passes(void);
const struct simplify_pass *simplify_pass(int i);
unsigned simplify_default(void);          /* the passes that are on: bit i for pass i */

/* Runs the passes whose bits are set in `passes` over the statements of g, until none of these
 * passes changes anything.  Sets *out to a new graph in a, and counts[i] to the number of changes
 * that pass i made (counts may be NULL).  For a graph without statements (one operator), *out is g.
 * Fails if the graph becomes too large, or is of a narrow type. */
bool simplify_graph(struct arena *a, const struct graph *g, unsigned passes,
                    const struct graph **out, int *counts, struct err *e);
#endif
