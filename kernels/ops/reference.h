/* The float64 reference: what every schedule must compute, straight from the tensor expressions on
 * logical (row-major, unpadded) data.  Independent of layouts, loops and generated code. */
#ifndef TS_OPS_REFERENCE_H
#define TS_OPS_REFERENCE_H
#include "kernels/ops/graph.h"
#include "kernels/base/subprocess.h"

/* Uniform floats in [-1, 1), deterministic in (seed, tensor name); n = tensor_elems(t). */
void reference_fill(const struct tensor *t, uint64_t seed, float *data);

/* data[t]: one double array per tensor in logical row-major order; inputs and constants are given,
 * the rest are written (all n_tensors arrays are allocated by the caller).  Affine sums of products
 * run as blocked row updates (well under 1 ns a multiply-add), everything else row by row.  False
 * only on ERR_CANCEL.
 * Reads the graph and its pool without changing them; large nodes use all threads (OpenMP), with
 * the same result for any number of them. */
bool reference_eval(const struct graph *g, double *const *data, const struct cancel *c,
                    struct err *e);
/* The obvious slow twin: every point by expr_eval, every access checked.  The oracle. */
void reference_eval_slow(const struct graph *g, double *const *data);
#endif
