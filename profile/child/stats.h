/* What samples of time say: order statistics, and whether one kernel is faster than another.  Pure
 * functions; a test scripts the samples. */
#ifndef TS_PROFILE_STATS_H
#define TS_PROFILE_STATS_H
#include <stdbool.h>
#include <stdint.h>

/* The q-quantile of n > 0 ascending values, between the two nearest ones in proportion (type 7 of
 * Hyndman and Fan 1996). */
double stats_quantile(const double *ascending, int n, double q);

/* Of n samples in any order; all 0 when there are none.  spread: (p75 - p25) / median. */
struct summary { double min, p10, p25, median, p75, p90, max, spread; };
struct summary stats_summary(const double *sample, int n);

/* Above this spread the samples are called noisy. */
#define STATS_NOISY 0.10

/* The share of rounds in which the ceiling took more than 1.2 times its low decile: the ceiling is
 * the same work every time, so in these something else had the cores. */
double stats_disturbed(const double *ceiling, int n);

/* What no number of rounds averages out, however the buffers move: less is not called a
 * difference. */
#define STATS_PLACE 0.01

/* b over a, of n rounds that sampled both: ratio of the medians, with the 95 % interval of a
 * bootstrap.  What is drawn are blocks of rounds, since neighbours share their disturbances and the
 * place of their buffers: block[i] is the first round of block i, ascending from 0.  With few
 * blocks the interval is widened to what Student's t asks for (Hesterberg 2015, section 3.4), and
 * then on both sides by STATS_PLACE.  Below 4 blocks there is no interval: low = 0, high =
 * infinity. */
struct ratio { double ratio, low, high; };
struct ratio stats_ratio(const double *a, const double *b, int n, const int *block, int n_blocks,
                         uint64_t seed);

enum verdict { VERDICT_NONE, VERDICT_FASTER, VERDICT_SLOWER, VERDICT_SAME };
/* Of b, by an interval of its time over a's: the same unless 1 lies outside. */
enum verdict stats_verdict(const struct ratio *r);
/* "", "faster", "slower", "no difference that these runs show" */
extern const char *const verdict_name[];
#endif
