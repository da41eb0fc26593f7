#include "kernels/base/mat.h"

#include <stdint.h>

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF            /* gcc never contracts with -std=c17 */
#endif

#define ROWS 4
#define INLINE static inline __attribute__((always_inline))

struct product_single { float *c; struct mat_view_single a; const float *b; int n, k; bool add; };
struct product_double { double *c; struct mat_view a; const double *b; int n, k; bool add; };

#define REAL float
#define PRODUCT product_single
#define TYPED(name) name##_single
#include "kernels/base/mat_widths.h"

#define REAL double
#define PRODUCT product_double
#define TYPED(name) name##_double
#include "kernels/base/mat_widths.h"

/* Eight partial sums. */
typedef double eight __attribute__((vector_size(64), aligned(sizeof(double)), may_alias));
#define LANES 8
#define AT(p) (*(eight *)(p))
#define READ(p) (*(const eight *)(p))

void mat_mul(double *c, struct mat_view a, const double *b, int m, int n, int k, bool add)
{
    widest_double(&(struct product_double){ c, a, b, n, k, add }, m);
}

void mat_mul_single(float *c, struct mat_view_single a, const float *b, int m, int n, int k,
                    bool add)
{
    widest_single(&(struct product_single){ c, a, b, n, k, add }, m);
}

void mat_mul_plain(double *c, struct mat_view a, const double *b, int m, int n, int k, bool add)
{
    struct product_double p = { c, a, b, n, k, add };
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            c[(int64_t)i * n + j] = one_16_double(&p, i, j);
}

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
