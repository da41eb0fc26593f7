/* Measures of how well predicted scores order measured times. */
#ifndef TS_EXPLORER_MODEL_RANK_H
#define TS_EXPLORER_MODEL_RANK_H

/* Compares the scores (higher = predicted faster) and times (INFINITY = failed) of n candidates.
 * Among the pairs of candidates with different times, returns the share of pairs that the scores
 * order correctly.  A pair with equal scores counts half.  NAN: all times are equal. */
double rank_pair_order(const double *score, const double *time, int n);
/* Returns the share of the k fastest candidates that are also among the k candidates with the
 * highest scores.  If k > n, uses n instead.  Of equal candidates, the one with the lower index
 * comes first.  NAN: n is 0. */
double rank_recall(const double *score, const double *time, int n, int k);
#endif
