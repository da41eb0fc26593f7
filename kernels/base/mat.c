#include "kernels/base/mat.h"

#include <stdint.h>

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF            /* gcc never contracts with -std=c17 */
#endif

#define LANES 8
#define ROWS 4
#define INLINE static inline __attribute__((always_inline))

/* A vector that the compiler divides into vectors of the target; it may be at any address of a
 * double. */
typedef double vec __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));

struct product { double *c; struct mat_view a; const double *b; int n, k; bool add; };

static double one(const struct product *p, int i, int j)
{
    double sum = p->add ? p->c[(int64_t)i * p->n + j] : 0;
    const double *a = p->a.a + (int64_t)i * p->a.row;
    for (int k = 0; k < p->k; k++)
        sum += a[(int64_t)k * p->a.col] * p->b[(int64_t)k * p->n + j];
    return sum;
}

void mat_mul_plain(double *c, struct mat_view a, const double *b, int m, int n, int k, bool add)
{
    struct product p = { c, a, b, n, k, add };
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            c[(int64_t)i * n + j] = one(&p, i, j);
}

#define AT(p) (*(vec *)(p))
#define READ(p) (*(const vec *)(p))

/* Computes four rows and two vectors of the result: eight sums in registers hide the latency of
 * additions. */
INLINE void tile(const struct product *p, int i, int j)
{
    int64_t row = p->a.row, col = p->a.col, n = p->n;
    const double *a = p->a.a + i * row, *b = p->b + j;
    double *c = p->c + i * n + j;
    vec s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, t0 = {0}, t1 = {0}, t2 = {0}, t3 = {0};
    if (p->add) {
        s0 = AT(c), s1 = AT(c + n), s2 = AT(c + 2 * n), s3 = AT(c + 3 * n);
        c += LANES;
        t0 = AT(c), t1 = AT(c + n), t2 = AT(c + 2 * n), t3 = AT(c + 3 * n);
        c -= LANES;
    }
    for (int k = 0; k < p->k; k++, a += col, b += n) {
        vec left = READ(b), right = READ(b + LANES);
        s0 += a[0] * left, t0 += a[0] * right;
        s1 += a[row] * left, t1 += a[row] * right;
        s2 += a[2 * row] * left, t2 += a[2 * row] * right;
        s3 += a[3 * row] * left, t3 += a[3 * row] * right;
    }
    AT(c) = s0, AT(c + n) = s1, AT(c + 2 * n) = s2, AT(c + 3 * n) = s3;
    c += LANES;
    AT(c) = t0, AT(c + n) = t1, AT(c + 2 * n) = t2, AT(c + 3 * n) = t3;
}

/* Computes one vector of one row. */
INLINE void strip(const struct product *p, int i, int j)
{
    const double *a = p->a.a + (int64_t)i * p->a.row, *b = p->b + j;
    double *c = p->c + (int64_t)i * p->n + j;
    vec sum = {0};
    if (p->add)
        sum = AT(c);
    for (int k = 0; k < p->k; k++, a += p->a.col, b += p->n)
        sum += *a * READ(b);
    AT(c) = sum;
}

INLINE void band(const struct product *p, int i, int rows)
{
    int j = 0;
    for (; rows == ROWS && j + 2 * LANES <= p->n; j += 2 * LANES)
        tile(p, i, j);
    for (; j + LANES <= p->n; j += LANES)
        for (int r = 0; r < rows; r++)
            strip(p, i + r, j);
    for (; j < p->n; j++)
        for (int r = 0; r < rows; r++)
            p->c[(int64_t)(i + r) * p->n + j] = one(p, i + r, j);
}

INLINE void multiply(const struct product *p, int m)
{
    int i = 0;
    for (; i + ROWS <= m; i += ROWS)
        band(p, i, ROWS);
    for (; i < m; i++)
        band(p, i, 1);
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) static void multiply_avx512(const struct product *p, int m)
{
    multiply(p, m);
}

__attribute__((target("avx2"))) static void multiply_avx2(const struct product *p, int m)
{
    multiply(p, m);
}

void mat_mul(double *c, struct mat_view a, const double *b, int m, int n, int k, bool add)
{
    struct product p = { c, a, b, n, k, add };
    if (__builtin_cpu_supports("avx512f"))
        multiply_avx512(&p, m);
    else if (__builtin_cpu_supports("avx2"))
        multiply_avx2(&p, m);
    else
        multiply(&p, m);
}
#else
void mat_mul(double *c, struct mat_view a, const double *b, int m, int n, int k, bool add)
{
    struct product p = { c, a, b, n, k, add };
    multiply(&p, m);
}
#endif

void mat_transpose(double *out, const double *in, int m, int n)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            out[(int64_t)j * m + i] = in[(int64_t)i * n + j];
}

static double lanes_sum(const double *s)
{
    double sum = 0;
    for (int l = 0; l < LANES; l++)
        sum += s[l];
    return sum;
}

double mat_sum(const double *x, int n)
{
    double s[LANES] = {0};
    int i = 0;
    for (; i + LANES <= n; i += LANES)
        AT(s) += READ(x + i);
    for (int l = 0; i < n; i++, l++)
        s[l] += x[i];
    return lanes_sum(s);
}

double mat_dot(const double *x, const double *y, int n)
{
    double s[LANES] = {0};
    int i = 0;
    for (; i + LANES <= n; i += LANES)
        AT(s) += READ(x + i) * READ(y + i);
    for (int l = 0; i < n; i++, l++)
        s[l] += x[i] * y[i];
    return lanes_sum(s);
}
