/* Divisors and ordered factorizations. */
#include "explorer/space/factor.h"

#include <math.h>
#include <stdbool.h>

#define MOST_BLOCK 128

int64_t factor_count_divisors(int64_t n)
{
    int64_t count = 0;
    for (int64_t d = 1; d <= n / d; d++)
        if (n % d == 0)
            count += d == n / d ? 1 : 2;
    return count;
}

/* Stores the small divisors from the front, and n divided by each of them from the back. */
const int64_t *factor_divisors(struct arena *a, int64_t n, int *count)
{
    *count = (int)factor_count_divisors(n);
    int64_t *list = ARENA_ARRAY(a, int64_t, *count);
    int low = 0, high = *count - 1;
    for (int64_t d = 1; d <= n / d; d++)
        if (n % d == 0) {
            list[low++] = d;
            list[high--] = n / d;
        }
    return list;
}

/* Whether f is a size of padded blocks for n elements: it is up to 8 vectors of 8 or of 16 lanes,
 * does not divide n, and adds padding of at most a third of n. */
static bool padded_block(int64_t n, int64_t f)
{
    bool vectors = f % 8 == 0 && (f <= 64 || f % 16 == 0);
    return vectors && n % f != 0 && 3 * (((n - 1) / f + 1) * f) <= 4 * n;
}

const int64_t *factor_blocks(struct arena *a, int64_t n, int *count)
{
    int divisors, k = 0;
    const int64_t *divisor = factor_divisors(a, n, &divisors);
    int64_t *list = ARENA_ARRAY(a, int64_t, divisors + MOST_BLOCK / 8), *all = list;
    for (int64_t f = 8; f <= MOST_BLOCK && f < n; f += 8) {
        while (k < divisors && divisor[k] < f)
            *all++ = divisor[k++];
        if (padded_block(n, f))
            *all++ = f;
    }
    while (k < divisors)
        *all++ = divisor[k++];
    *count = (int)(all - list);
    return list;
}

static double choose(int64_t n, int64_t k)
{
    double c = 1;
    for (int64_t i = 1; i <= k; i++)
        c = c * (double)(n - k + i) / (double)i;
    return c;
}

/* The prime powers p^e of n are distributed to the parts independently of each other, each in C(e +
 * parts - 1, parts - 1) ways. */
double factor_count(int64_t n, int parts)
{
    double ways = 1;
    for (int64_t p = 2; n > 1; p = p * p > n ? n : p + 1) {
        int64_t e = 0;
        for (; n % p == 0; n /= p)
            e++;
        ways *= choose(e + parts - 1, parts - 1);
    }
    return floor(ways + 0.5);
}

int64_t factor_nearest(const int64_t *list, int n, double x)
{
    int64_t best = list[0];
    double least = INFINITY;
    for (int i = 0; i < n; i++) {
        double d = fabs((double)list[i] - x);
        if (d <= least) {
            best = list[i];
            least = d;
        }
    }
    return best;
}
