/* Products of small dense matrices: the inner loops of the agents' networks, and of the float64 and
 * float32 references.
 *
 * Each sum of a product is taken in ascending order, one multiplication at a time, never fused.
 * The result is therefore the same bit for bit on every machine and with every vector length.  The
 * products use AVX-512 or AVX2 where the processor has it. */
#ifndef TS_BASE_MAT_H
#define TS_BASE_MAT_H
#include <stdbool.h>

/* An m x k operand whose element (i, j) is a[i * row + j * col].  (row, col) is (k, 1) for a dense
 * matrix, (1, m) for the transpose of a dense k x m matrix. */
struct mat_view { const double *a; int row, col; };
struct mat_view_single { const float *a; int row, col; };

/* Computes c = a b, or c += a b if `add` is set.  c (m x n) and b (k x n) must be dense, and c must
 * overlap neither a nor b. */
void mat_mul(double *c, struct mat_view a, const double *b, int m, int n, int k, bool add);
/* mat_mul in float32. */
void mat_mul_single(float *c, struct mat_view_single a, const float *b, int m, int n, int k,
                    bool add);
/* mat_mul without vectors.  Tests check that the results of both are equal bit for bit. */
void mat_mul_plain(double *c, struct mat_view a, const double *b, int m, int n, int k, bool add);

/* Stores the transpose of in (m x n, dense) in out (n x m). */
void mat_transpose(double *out, const double *in, int m, int n);
/* Return the sum of x[i], or of x[i] * y[i]: eight partial sums, added in ascending order. */
double mat_sum(const double *x, int n);
double mat_dot(const double *x, const double *y, int n);
#endif
