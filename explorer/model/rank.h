/* How well predicted scores order measured times. */
#ifndef TS_EXPLORER_MODEL_RANK_H
#define TS_EXPLORER_MODEL_RANK_H

/* Of n candidates: score[i] is higher for what should be faster; time[i] may be INFINITY (failed).
 * The share of pairs with different times that the scores order rightly; equal scores count half.
 * NAN when there is no such pair. */
double rank_pair_order(const double *score, const double *time, int n);
/* The share of the k fastest that is among the k with the highest scores; k is at most n.  Earlier
 * ones win ties.  NAN for n == 0. */
double rank_recall(const double *score, const double *time, int n, int k);
#endif
