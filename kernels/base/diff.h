/* Differences of two lists of lines: Myers' greedy algorithm ("An O(ND) Difference Algorithm and
 * Its Variations", 1986). */
#ifndef TS_BASE_DIFF_H
#define TS_BASE_DIFF_H

/* A row of the alignment: line `a` of the first list equals line `b` of the second.  If the row is
 * a line of one list only, the index of the other list is -1. */
struct diff_row { int a, b; };
/* Aligns n lines with m lines so that as few lines as possible are in one list only.  With more
 * than DIFF_MOST such lines, all lines between the common beginning and the common end count as
 * different.  In each difference, lines of `a` come before lines of `b`.  The caller frees *out.
 * Returns the number of rows. */
#define DIFF_MOST 2000
int diff_lines(const char *const *a, int n, const char *const *b, int m, struct diff_row **out);
#endif
