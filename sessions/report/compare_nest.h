/* Aligns two printed loop nests: nests that write the same tensor and run about as often are put
 * beside each other, not those that happen to share a line. */
#ifndef TS_SESSIONS_COMPARE_NEST_H
#define TS_SESSIONS_COMPARE_NEST_H
#include "kernels/base/diff.h"

/* As diff_lines, for the n and m lines of two nests. */
int compare_nest_rows(const char *const *a, int n, const char *const *b, int m,
                      struct diff_row **out);
#endif
