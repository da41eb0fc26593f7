/* Aligns two printed programs: nests that write the same tensor about as often stand beside each
 * other, even if other nests share more lines. */
#ifndef TS_SESSIONS_COMPARE_NEST_H
#define TS_SESSIONS_COMPARE_NEST_H
#include "kernels/base/diff.h"

/* Like diff_lines, for the n and m lines of two nests. */
int compare_nest_rows(const char *const *a, int n, const char *const *b, int m,
                      struct diff_row **out);
#endif
