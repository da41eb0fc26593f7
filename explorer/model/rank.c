#include "explorer/model/rank.h"

#include <math.h>
#include <stdbool.h>

double rank_pair_order(const double *score, const double *time, int n)
{
    double right = 0, pairs = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++) {
            if (time[i] == time[k])
                continue;
            bool first = time[i] < time[k];
            pairs++;
            right += score[i] == score[k] ? 0.5 : (score[i] > score[k]) == first;
        }
    return pairs > 0 ? right / pairs : NAN;
}

/* Returns the place of value i, from 0, in the sorted list of values: in ascending order for sign
 * 1, in descending order for sign -1. */
static int place(const double *value, double sign, int n, int i)
{
    int before = 0;
    for (int k = 0; k < n; k++)
        before += sign * value[k] < sign * value[i] || (value[k] == value[i] && k < i);
    return before;
}

double rank_recall(const double *score, const double *time, int n, int k)
{
    int both = 0;
    k = k < n ? k : n;
    for (int i = 0; i < n; i++)
        both += place(score, -1, n, i) < k && place(time, 1, n, i) < k;
    return k > 0 ? (double)both / k : NAN;
}
