/* Measures of how well predicted scores order measured times. */
#ifndef TS_EXPLORER_MODEL_RANK_H
#define TS_EXPLORER_MODEL_RANK_H

/* Returns the share of pairs with different times that the scores order correctly, for n candidates
 * with score[i] (higher = predicted faster) and time[i] (INFINITY = failed).  Equal scores count
 * half.  NAN when all times are equal. */
double rank_pair_order(const double *score, const double *time, int n);
/* Returns the share of the k fastest candidates that is among the k with the highest scores; k is
 * at most n.  On ties the earlier candidate counts first.  NAN for n == 0. */
double rank_recall(const double *score, const double *time, int n, int k);
#endif
