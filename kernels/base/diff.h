/* Differences of two lists of lines: Myers' greedy algorithm ("An O(ND) Difference Algorithm and
 * Its Variations", 1986). */
#ifndef TS_BASE_DIFF_H
#define TS_BASE_DIFF_H

/* A row of the alignment: line a of the first list and line b of the second are equal; -1: the
 * other line is only in one list. */
struct diff_row { int a, b; };
/* Aligns n lines with m lines so that as few lines as possible are in one list only (over DIFF_MOST
 * lines, approximately). The caller frees *out. Returns the number of rows. In each difference the
 * lines of a come before those of b. */
#define DIFF_MOST 2000
int diff_lines(const char *const *a, int n, const char *const *b, int m, struct diff_row **out);
#endif
