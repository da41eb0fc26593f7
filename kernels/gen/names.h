/* Names in generated C: identifiers that are not words of C, of the compiler or of the generated
 * helpers.  A name is free again after the scope that claimed it. */
#ifndef TS_GEN_NAMES_H
#define TS_GEN_NAMES_H
#include "kernels/ir/val.h"

#define GEN_MAX_LANES 64  /* most lanes of a vector whose helpers have reserved names */

struct names *names_new(struct arena *a);
void names_free(struct names *n);
/* names_reset(n, mark) frees the names that were claimed after names_mark returned `mark`. */
int names_mark(const struct names *n);
void names_reset(struct names *n, int mark);
/* Claim the first free name of want, want_2, ... (dots become _), or of stem0, stem1, ... */
const char *names_claim(struct names *n, const char *want);
const char *names_claim_numbered(struct names *n, const char *stem);
void names_claim_var(struct names *n, const struct expr *var);            /* a loop variable */
const char *names_var(const struct names *n, const struct expr *var);     /* its name */
#endif
