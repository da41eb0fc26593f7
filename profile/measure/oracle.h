/* The expected results of a program: data for its parameters, the float64 reference, and the
 * comparison. */
#ifndef TS_PROFILE_ORACLE_H
#define TS_PROFILE_ORACLE_H
#include "kernels/base/subprocess.h"
#include "kernels/program/program.h"
#include "profile/child/protocol.h"

/* The data of one seed for an operator, and the reference outputs for them.  They do not depend
 * on layouts and schedules, so the last few oracles are kept for later measurements of the same
 * operator.  Callers must release each oracle that they get.  Every function here may be called by
 * any thread. */
struct oracle;
/* Makes an oracle or finds a kept one.  False when cancelled, or when the data of a constant
 * cannot be read. */
bool oracle_acquire(const struct graph *base, uint64_t seed, const struct cancel *c,
                    const struct oracle **out, struct err *e);
/* Makes an oracle that is not kept, from the caller's data: given[t] has the elements of input or
 * constant t of the base graph; NULL: zeros. */
bool oracle_of(const struct program *p, void *const *given, const struct cancel *c,
               const struct oracle **out, struct err *e);
void oracle_poison(void *data, int64_t bytes);           /* fills data with BUFFER_POISON */
/* Finds a kept oracle without computing one; NULL when there is none. */
const struct oracle *oracle_kept(const struct graph *base, uint64_t seed);
const struct oracle *oracle_again(const struct oracle *o);  /* adds a reference to o */
void oracle_release(const struct oracle *o);             /* NULL is allowed */
/* oracle_bytes returns the bytes for computing the reference of p. oracle_form_bytes returns the
 * bytes for the error bounds of the algorithms that steps of p chose; 0 = no step chose one. */
int64_t oracle_bytes(const struct program *p);
int64_t oracle_form_bytes(const struct program *p);

/* Fills the physical buffer of a tensor. Inputs and constants get the data of the seed in their
 * layout. All other tensors get BUFFER_POISON, a NaN that no kernel computes. o: the oracle that
 * has the data; if o is NULL, oracle_fill makes the data, and fails as weights_tensor_data does. */
bool oracle_fill(const struct oracle *o, const struct program *p, int tensor, uint64_t seed,
                 int64_t elems, void *physical, struct err *e);

/* The deviation of an output from the reference, at the worst element. */
struct deviation {
    double rel_err;                       /* |got - ref| / max(|ref|, rms(ref)) */
    double of_bound;                      /* |got - ref| / bound of the element */
};
#define ORACLE_INFINITE 1e30  /* largest value of rel_err and of_bound, also if `got` is infinite */
#define ORACLE_TOLERANCE 1e-4  /* least oracle_tolerance */

#define ORACLE_FORM_TOLERANCE 1e-3  /* least oracle_tolerance with a chosen algorithm */
#define ORACLE_ROUNDINGS 16  /* least oracle_tolerance, in roundoffs of the type or of tf32 */
double oracle_tolerance(const struct program *p);

/* Compares an output with the reference element by element, and merges the largest difference into
 * *worst.
 *
 * Each element may be off by its bound: an estimate, with a margin, of the largest error that
 * arithmetic in its type can cause there (reference_error), at most oracle_tolerance(). For a
 * program with a chosen algorithm (winograd), this is the arithmetic of that algorithm: the bound
 * comes from p->form, the reference from the base graph.
 *
 * An element beyond its bound gets a second opinion (SPEC L.2): a plain evaluation of the output in
 * the type of the tensors. If the worst element of this evaluation is off by r times its bound, 8r
 * times the bound is allowed, up to a rel_err of 0.1.
 *
 * ERR_WRONG with a sentence about the first wrong element. ERR_ILL when no element is certainly
 * wrong, but the data cannot tell whether all are right. An element cannot be judged in two cases:
 * its reference exceeds the type; or reference_error, the plain evaluation or a rounding of the
 * inputs explains a difference as large as that of the element. */
bool oracle_compare(const struct oracle *o, const struct program *p, int tensor,
                    const void *physical, const struct cancel *c, struct deviation *worst,
                    struct err *e);
#endif
