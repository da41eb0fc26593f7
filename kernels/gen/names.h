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
/* names_claim claims the first free name of want, want_2, want_3, ...; names_claim_numbered the
 * first free name of stem0, stem1, ...  A character that no identifier can have becomes _. */
const char *names_claim(struct names *n, const char *want);
const char *names_claim_numbered(struct names *n, const char *stem);
/* names_claim_var claims a name for a loop variable; names_var returns this name. */
void names_claim_var(struct names *n, const struct expr *var);
const char *names_var(const struct names *n, const struct expr *var);
#endif
