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
/* The same in float32: every operation is rounded, sums run in the order of the definition. */
bool reference_eval_single(const struct graph *g, double *const *data, const struct cancel *c,
                           struct err *e);

/* How far float32 arithmetic may come from each element of the tensors that nodes compute, when
 * inputs and constants are exact and sums run in any order (SPEC L.2).  data: of reference_eval;
 * error[t]: an array like data[t] that is written, NULL where t has no producer.  INFINITY where
 * nothing can be said: a divisor that may be 0, a value beyond float32.
 *
 * An element's own roundings are bounded; errors of different tensors, and of the terms of a sum,
 * add as independent ones do, by their squares (Higham and Mary, A new approach to probabilistic
 * rounding error analysis, 2019): a bound for the worst case would say nothing after a few layers.
 * So it is a scale with a margin, no proof: who finds an element just beyond it asks
 * reference_eval_single. */
bool reference_error(const struct graph *g, double *const *data, double *const *error,
                     const struct cancel *c, struct err *e);
/* The obvious slow twin: every point by expr_eval, every access checked.  The oracle. */
void reference_eval_slow(const struct graph *g, double *const *data);
#endif
