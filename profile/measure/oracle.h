/* What a program must compute, and whether it did: data for the parameters, the float64
 * reference, the verdict. */
#ifndef TS_PROFILE_ORACLE_H
#define TS_PROFILE_ORACLE_H
#include "kernels/base/subprocess.h"
#include "kernels/program/program.h"
#include "profile/child/protocol.h"

/* The data of one seed for an operator, and its reference outputs on them.  Layouts and schedules
 * do not matter to it, so the last few are kept for whoever measures the same operator next; every
 * function here may be called by any thread. */
struct oracle;
/* False: cancelled, or the data of a constant cannot be read. */
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
 * layout, everything else with BUFFER_POISON, a NaN that no kernel computes.  o: has the data;
 * NULL = they are made for this once, which fails when they are in a file that is gone
 * (tensor_data). */
bool oracle_fill(const struct oracle *o, const struct program *p, int tensor, uint64_t seed,
                 int64_t elems, void *physical, struct err *e);

/* How far an output is from the reference at its worst element. */
struct deviation {
    double rel_err;                       /* |got - ref| / max(|ref|, rms(ref)) */
    double of_bound;                      /* |got - ref| / what is allowed there */
};
#define ORACLE_INFINITE 1e30              /* where got is not finite */
#define ORACLE_TOLERANCE 1e-4             /* of rel_err, unless plain evaluation is off by more */

/* Compares an output, element by element, and takes what it finds into *worst.
 *
 * Each element may be off by what arithmetic in the tensor's type explains there (reference_error),
 * and by no more than ORACLE_TOLERANCE.  An element that is off by more gets a second opinion, as
 * SPEC L.2 has it: where the worst element of the plain evaluation of this output in that type is
 * off by r times its bound, 8r times the bound is allowed, up to a rel_err of 0.1.
 *
 * ERR_WRONG with a sentence about the first wrong element.  ERR_ILL when only such elements are off
 * of which this data says nothing: a reference beyond the type's largest number, one that the type
 * may miss as far by reference_error, or misses as far, one that a rounding of the inputs moves as
 * far. */
bool oracle_compare(const struct oracle *o, const struct program *p, int tensor,
                    const void *physical, const struct cancel *c, struct deviation *worst,
                    struct err *e);
#endif
