/* Differences of two lists of lines: Myers' greedy algorithm ("An O(ND) Difference Algorithm and
 * Its Variations", 1986). */
#ifndef TS_BASE_DIFF_H
#define TS_BASE_DIFF_H

/* A row of the alignment: line a of the first list, equal to line b of the second.  Where a line is
 * in one list only, the index of the other list is -1. */
struct diff_row { int a, b; };
/* Aligns n lines with m lines so that as few lines as possible are in one list only.  If these are
 * more than DIFF_MOST, all lines between the common beginning and end count as different.  Lines of
 * a come before lines of b in each difference.  The caller frees *out.  Returns the number of
 * rows. */
#define DIFF_MOST 2000
int diff_lines(const char *const *a, int n, const char *const *b, int m, struct diff_row **out);
#endif
