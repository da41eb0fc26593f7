#include "profile/child/stats.h"

#include "kernels/base/arena.h"
#include "kernels/base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDE 0.10  /* an interval that contains 1 and is wider than this decides nothing */
#define RESAMPLES 1000
#define LEAST_BLOCKS 4
#define DISTURBED 1.2
#define Z_975 1.959964
#define MOST_DECIMALS 4

const char *const verdict_name[] = {
    [VERDICT_NONE] = "", [VERDICT_FASTER] = "faster", [VERDICT_SLOWER] = "slower",
    [VERDICT_SAME] = "no difference that these runs show", [VERDICT_UNDECIDED] = "undecided",
};

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

double stats_quantile(const double *ascending, int n, double q)
{
    double at = q * (n - 1);
    int i = (int)at;
    if (i >= n - 1)
        return ascending[n - 1];
    return ascending[i] + (at - i) * (ascending[i + 1] - ascending[i]);
}

static double *sorted(const double *sample, int n)
{
    double *x = xcalloc((size_t)n, sizeof *x);
    memcpy(x, sample, (size_t)n * sizeof *x);
    qsort(x, (size_t)n, sizeof *x, by_value);
    return x;
}

struct summary stats_summary(const double *sample, int n)
{
    if (n < 1)
        return (struct summary){0};
    double *x = sorted(sample, n);
    struct summary s = {
        .min = x[0], .p10 = stats_quantile(x, n, 0.10), .p25 = stats_quantile(x, n, 0.25),
        .median = stats_quantile(x, n, 0.50), .p75 = stats_quantile(x, n, 0.75),
        .p90 = stats_quantile(x, n, 0.90), .max = x[n - 1],
    };
    s.spread = s.median > 0 ? (s.p75 - s.p25) / s.median : 0;
    free(x);
    return s;
}

double stats_disturbed(const double *ceiling, int n)
{
    if (n < 1)
        return 0;
    double limit = DISTURBED * stats_summary(ceiling, n).p10;
    int count = 0;
    for (int i = 0; i < n; i++)
        count += ceiling[i] > limit;
    return (double)count / n;
}

/* --- The bootstrap --------------------------------------------------------------------------- */

/* A sample with its block. An array of them is sorted by value. A bootstrap resample is then a
 * weight for each block, and its median takes one pass over the array. */
struct ranked { double value; int block; };

static int by_rank(const void *a, const void *b)
{
    return by_value(&((const struct ranked *)a)->value, &((const struct ranked *)b)->value);
}

static struct ranked *rank_samples(const double *sample, int n, const int *block, int n_blocks)
{
    struct ranked *r = xcalloc((size_t)n, sizeof *r);
    for (int i = 0, k = 0; i < n; i++) {
        while (k + 1 < n_blocks && block[k + 1] <= i)
            k++;
        r[i] = (struct ranked){ sample[i], k };
    }
    qsort(r, (size_t)n, sizeof *r, by_rank);
    return r;
}

/* Returns the median of the samples when each is counted as often as its block was drawn. weight:
 * for each block, how often it was drawn; total: the number of samples counted in this way. */
static double weighted_median(const struct ranked *r, const int *weight, int64_t total)
{
    int64_t seen = 0;
    for (int i = 0;; i++) {
        seen += weight[r[i].block];
        if (2 * seen > total)
            return r[i].value;
        if (2 * seen == total) {
            int next = i + 1;
            while (weight[r[next].block] == 0)
                next++;
            return (r[i].value + r[next].value) / 2;
        }
    }
}

/* Draws n_blocks blocks with replacement; returns how many rounds they have together. */
static int64_t draw_blocks(const int *rounds, int n_blocks, int *weight, struct rng *rng)
{
    int64_t total = 0;
    memset(weight, 0, (size_t)n_blocks * sizeof *weight);
    for (int i = 0; i < n_blocks; i++) {
        int k = (int)rng_range(rng, 0, n_blocks - 1);
        weight[k]++;
        total += rounds[k];
    }
    return total;
}

/* Returns the tail that a percentile interval of n blocks must leave out on each side to contain
 * the value in 95 of 100 cases. This is Phi(-sqrt(n / (n - 1)) t), where t is the 0.975 quantile of
 * Student's t with n - 1 degrees of freedom. t is computed by its expansion in 1 / (n - 1). */
static double tail_share(int n)
{
    double z = Z_975, v = n - 1;
    double t = z + (pow(z, 3) + z) / (4 * v)
             + (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * v * v);
    return 0.5 * erfc(sqrt(n / v) * t / sqrt(2));
}

struct ratio stats_ratio(const double *a, const double *b, int n, const int *block, int n_blocks,
                         uint64_t seed)
{
    struct summary sum_a = stats_summary(a, n), sum_b = stats_summary(b, n);
    struct ratio out = { .high = INFINITY };
    if (!(sum_a.median > 0))
        return out;
    out.ratio = sum_b.median / sum_a.median;
    out.best = sum_a.min > 0 ? sum_b.min / sum_a.min : 0;
    if (n_blocks < LEAST_BLOCKS)
        return out;
    struct ranked *of_a = rank_samples(a, n, block, n_blocks);
    struct ranked *of_b = rank_samples(b, n, block, n_blocks);
    int *weight = xcalloc((size_t)n_blocks, sizeof *weight);
    int *rounds = xcalloc((size_t)n_blocks, sizeof *rounds);
    double drawn[RESAMPLES];
    struct rng rng = rng_seed(seed);
    for (int i = 0; i < n_blocks; i++)
        rounds[i] = (i + 1 < n_blocks ? block[i + 1] : n) - block[i];
    for (int i = 0; i < RESAMPLES; i++) {
        int64_t total = draw_blocks(rounds, n_blocks, weight, &rng);
        drawn[i] = weighted_median(of_b, weight, total) / weighted_median(of_a, weight, total);
    }
    qsort(drawn, RESAMPLES, sizeof *drawn, by_value);
    out.low = stats_quantile(drawn, RESAMPLES, tail_share(n_blocks)) * (1 - STATS_PLACE);
    out.high = stats_quantile(drawn, RESAMPLES, 1 - tail_share(n_blocks)) * (1 + STATS_PLACE);
    free(of_a);
    free(of_b);
    free(weight);
    free(rounds);
    return out;
}

enum verdict stats_verdict(const struct ratio *r)
{
    if (!(r->ratio > 0) || isinf(r->high))
        return VERDICT_NONE;
    if (r->best > 0 && ((r->high < 1 && r->best > 1 + STATS_OPPOSITE)
                        || (r->low > 1 && r->best < 1 / (1 + STATS_OPPOSITE))))
        return VERDICT_UNDECIDED;
    return r->high < 1 ? VERDICT_FASTER : r->low > 1 ? VERDICT_SLOWER : VERDICT_SAME;
}

bool stats_undecided(const struct ratio *r)
{
    enum verdict v = stats_verdict(r);
    return v == VERDICT_UNDECIDED || (v == VERDICT_SAME && r->high - r->low > WIDE);
}

bool stats_print_undecided(struct str *out, const struct ratio *r)
{
    if (!stats_undecided(r))
        return false;
    if (stats_verdict(r) == VERDICT_UNDECIDED)
        str_printf(out, "the best times say the opposite: %.3g", r->best);
    else
        str_add(out, "the interval is wider than 10 %");
    return true;
}

struct ratio ratio_inverse(const struct ratio *r)
{
    return (struct ratio){ 1 / r->ratio, 1 / r->high, 1 / r->low, r->best > 0 ? 1 / r->best : 0 };
}

/* Whether a number other than 1 is printed as 1 with this number of decimals. */
static bool hides_side(double x, int decimals)
{
    return x != 1 && fabs(x - 1) <= 0.5 * pow(10, -decimals);
}

/* Returns how many decimals to print for the ends of an interval: at least `least`, and enough that
 * no end other than 1 is printed as 1. If MOST_DECIMALS are not enough for that, returns
 * `least`. */
static int decimals_of(const struct ratio *r, int least)
{
    int n = least;
    while (n < MOST_DECIMALS && (hides_side(r->low, n) || hides_side(r->high, n)))
        n++;
    return hides_side(r->low, n) || hides_side(r->high, n) ? least : n;
}

static void print_interval(struct str *out, const struct ratio *r, const char *what)
{
    int least = r->ratio >= 99.5 ? 0 : r->ratio >= 9.95 ? 1 : r->ratio >= 0.995 ? 2 : 3;
    int decimals = decimals_of(r, least);
    if (r->ratio < 0.1)
        str_printf(out, "%.3g%s (%.3g to %.3g)", r->ratio, what, r->low, r->high);
    else
        str_printf(out, "%.*f%s (%.*f to %.*f)", decimals, r->ratio, what, decimals, r->low,
                   decimals, r->high);
}

void ratio_print(struct str *out, const struct ratio *r)
{
    print_interval(out, r, "");
}

void ratio_print_times(struct str *out, const struct ratio *r)
{
    const struct ratio inverse = ratio_inverse(r);
    print_interval(out, r->ratio < 1 ? &inverse : r, r->ratio < 1 ? "x faster" : "x slower");
}

void ratio_print_ends(struct str *out, const struct ratio *r)
{
    int decimals = decimals_of(r, 2);
    str_printf(out, "%.*f to %.*f", decimals, r->low, decimals, r->high);
}
