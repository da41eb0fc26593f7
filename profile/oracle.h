/* What a program must compute, and whether it did: data for the parameters, the float64
 * reference, the verdict. */
#ifndef TS_PROFILE_ORACLE_H
#define TS_PROFILE_ORACLE_H
#include "kernels/base/subprocess.h"
#include "kernels/program/program.h"

/* The data of one seed for an operator, and its reference outputs on them.  Layouts and schedules
 * do not matter to it, so the last few are kept for whoever measures the same operator next; every
 * function here may be called by any thread. */
struct oracle;
bool oracle_acquire(const struct graph *base, uint64_t seed, const struct cancel *c,
                    const struct oracle **out, struct err *e);
const struct oracle *oracle_kept(const struct graph *base, uint64_t seed);   /* NULL: it is not */
const struct oracle *oracle_again(const struct oracle *o);           /* to be released once more */
void oracle_release(const struct oracle *o);             /* NULL is fine */
int64_t oracle_bytes(const struct graph *base);          /* what computing it takes */

/* The tensor of p->base whose data a tensor of p->graph holds, -1 for intermediates: conversions
 * rename the caller's tensors but keep their order. */
int oracle_base_tensor(const struct program *p, int tensor);

/* Fills the physical buffer of a tensor: inputs and constants with the seed's data in their
 * layout, everything else with a NaN that no kernel computes.  o: has the data; NULL = they are
 * made for this once. */
void oracle_fill(const struct oracle *o, const struct program *p, int tensor, uint64_t seed,
                 int64_t elems, float *physical);

/* Compares an output.  max_rel_err = |got - ref| / max(|ref|, rms(ref)), maximum over all
 * elements; what is not finite is wrong (and counts as ORACLE_INFINITE).  False with a sentence
 * about the first wrong element. */
#define ORACLE_INFINITE 1e30
bool oracle_compare(const struct oracle *o, const struct program *p, int tensor,
                    const float *physical, double tolerance, double *max_rel_err, struct err *e);
#endif
