/* The float64 reference: the results that every schedule must compute.  It evaluates the tensor
 * expressions on logical (row-major, unpadded) data and is independent of layouts, loops and
 * generated code. */
#ifndef TS_OPS_REFERENCE_H
#define TS_OPS_REFERENCE_H
#include "kernels/ops/graph.h"
#include "kernels/base/subprocess.h"

/* Fills data[tensor_elems(t)] with random floats in [-1, 1), or with whole numbers if t->whole is
 * set.  The data depend only on the seed, the name of the tensor and t->whole. */
void reference_fill(const struct tensor *t, uint64_t seed, f32 *data);

/* Evaluates the nodes in order.  data[t] has the elements of tensor t in logical row-major order.
 * The caller allocates the arrays of all tensors, and fills those of inputs and constants; the
 * other arrays are written.  Large sums of products run as blocked matrix products, other nodes row
 * by row.  Fails only with ERR_CANCEL.  Does not change the graph or its pool.  Large nodes use all
 * threads (OpenMP), with the same result for any number of threads.  A thread needs less than 2 MiB
 * of memory. */
bool reference_eval(const struct graph *g, double *const *data, const struct cancel *c,
                    struct err *e);
/* Like reference_eval, but in the arithmetic of the tensors' type: every operation is rounded, and
 * sums run in the order of the definition. */
bool reference_eval_single(const struct graph *g, double *const *data, const struct cancel *c,
                           struct err *e);
/* Evaluates one node like reference_eval, or like reference_eval_single if `single` is set.  Only
 * the tensors that the node reads and writes need arrays. */
bool reference_eval_node(const struct graph *g, int node, double *const *data, bool single,
                         const struct cancel *c, struct err *e);

/* Like reference_eval, and also bounds the error of each element that nodes compute in the type of
 * the tensors, when sums run in any order (SPEC L.2).  error[t]: an array like data[t].  For an
 * input or constant, the caller fills it, or passes NULL if the data are exact; for all other
 * tensors it is written.  An error is INFINITY where no bound exists: for example, a divisor may be
 * 0, or a value exceeds the type.
 *
 * The roundings of one element are bounded in the worst case.  Errors of the terms of a sum, and of
 * different tensors that are added, are added by their squares, as independent errors (Higham and
 * Mary, A new approach to probabilistic rounding error analysis, 2019); a worst-case bound would be
 * useless after a few layers.  The bound is therefore an estimate with a margin, not a proof.
 * Where an element exceeds it slightly, compare the element with reference_eval_single. */
bool reference_error(const struct graph *g, double *const *data, double *const *error,
                     const struct cancel *c, struct err *e);
#endif
