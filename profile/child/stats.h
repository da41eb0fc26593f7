/* Statistics of times: order statistics, and whether one kernel is faster than another.  Pure
 * functions, tested on scripted samples. */
#ifndef TS_PROFILE_STATS_H
#define TS_PROFILE_STATS_H
#include <stdbool.h>
#include <stdint.h>
#include "kernels/base/str.h"

/* Returns the q-quantile of n > 0 ascending values, interpolated between the two nearest values
 * (type 7 of Hyndman and Fan 1996). */
double stats_quantile(const double *ascending, int n, double q);

/* Summary of n samples in any order; all 0 when there are none. spread: (p75 - p25) / median. */
struct summary { double min, p10, p25, median, p75, p90, max, spread; };
struct summary stats_summary(const double *sample, int n);

/* Above this spread the samples are called noisy. */
#define STATS_NOISY 0.10

/* Returns the share of the n rounds in which the ceiling took more than 1.2 times its 10 %
 * quantile. The ceiling always does the same work, so other processes used the cores in these
 * rounds. */
double stats_disturbed(const double *ceiling, int n);

/* The smallest difference that counts.  Smaller ones can be effects of memory placement, which no
 * number of rounds averages out. */
#define STATS_PLACE 0.01

/* The ratio of the medians, b over a, of n rounds that sampled a and b, with the 95 % interval of a
 * bootstrap.  The bootstrap draws blocks of rounds, because neighbouring rounds share
 * disturbances and the placement of buffers: block[i] is the first round of block i, ascending
 * from 0.  With few blocks the interval is widened to that of Student's t (Hesterberg 2015,
 * section 3.4).  The interval is always widened by the share STATS_PLACE at both ends.  With fewer
 * than 4 blocks there is no interval: low = 0, high = infinity.  best: the ratio of the least
 * samples.  ratio and best: 0 = unknown. */
struct ratio { double ratio, low, high, best; };
struct ratio stats_ratio(const double *a, const double *b, int n, const int *block, int n_blocks,
                         uint64_t seed);

/* Let an interval lie on one side of 1. The ratio of the least times contradicts the interval if
 * this ratio lies on the opposite side of 1 and differs from 1 by more than this share. */
#define STATS_OPPOSITE 0.03

enum verdict { VERDICT_NONE, VERDICT_FASTER, VERDICT_SLOWER, VERDICT_SAME, VERDICT_UNDECIDED };
/* Returns whether b is faster or slower than a, from the interval of time b / time a.  An interval
 * that contains 1 means no difference.  VERDICT_NONE: there is no interval.  VERDICT_UNDECIDED: the
 * least times say the opposite of the interval.  Work on the second hardware thread of a core can
 * slow one kernel more than the other in nearly every round.  The interval is then narrow and
 * wrong; the least times are disturbed least. */
enum verdict stats_verdict(const struct ratio *r);
/* Whether the samples tell nothing: the verdict is undecided, or the interval contains 1 and is
 * wider than 10 %. */
bool stats_undecided(const struct ratio *r);
/* Appends why the samples tell nothing: "the best times say the opposite: 1.18" or "the interval is
 * wider than 10 %". If they tell something, appends nothing and returns false. */
bool stats_print_undecided(struct str *out, const struct ratio *r);
/* names of enum verdict: "", "faster", "slower", "no difference that these runs show",
 * "undecided" */
extern const char *const verdict_name[];
struct ratio ratio_inverse(const struct ratio *r);       /* returns the ratio time a / time b */
/* Appends "1.32 (1.30 to 1.34)", with three digits of the ratio.  If an end of the interval would
 * be printed as 1.00 without being 1, up to four decimals are printed, because the verdict depends
 * on the side of 1 on which the end lies. */
void ratio_print(struct str *out, const struct ratio *r);
/* Appends "1.32x slower (1.30 to 1.34)"; for a ratio below 1 the inverse, "1.32x faster (...)". */
void ratio_print_times(struct str *out, const struct ratio *r);
/* Appends only the interval: "0.98 to 1.02". */
void ratio_print_ends(struct str *out, const struct ratio *r);
#endif
