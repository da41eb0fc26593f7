/* The inverse of a sequence of primitives (SPEC A.9): applied after it, it gives the identity. */
#ifndef TS_TESTS_LAYOUT_INVERSE_H
#define TS_TESTS_LAYOUT_INVERSE_H
#include "kernels/layout/layout.h"

/* Stores the inverse primitives, last first, which can be applied to l.  ERR_NOINV names a
 * primitive that has no inverse (an unfold that trimmed elements). out has room for 2 *
 * l->n_prims. */
bool layout_inverse(const struct layout *l, struct prim *out, int *n, struct err *e);
#endif
