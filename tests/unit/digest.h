/* Digests: long texts of many random cases, of which the repository keeps only a hash of each.  A
 * change of the program that changes any of the texts is seen.  Which text it was is shown by
 * TS_DIGESTS=DIR, which writes all texts to DIR, before and after the change. */
#ifndef TS_TESTS_DIGEST_H
#define TS_TESTS_DIGEST_H
#include "kernels/base/str.h"

struct digests { struct str lines; };

/* Adds a case: the texts of its n parts, named by `part`, become one line "NAME hash hash ...".
 * Frees the texts. */
void digest_add(struct digests *d, const char *name, const char *const *part, struct str *text,
                int n);
/* Compares all lines with the file at `path`, as golden_check does; frees them. */
void digest_check(struct digests *d, const char *path);
#endif
