/* Products of matrices, of one type of elements and with vectors of one length.  Only mat_widths.h
 * includes this: REAL is the type, BYTES the length of a vector, FOR_TARGET the attribute of the
 * instruction set, OF(name) the variant of a function, and PRODUCT the struct of the operands. */

/* A vector may be at any address of an element.  It must not be longer than a vector register of
 * the target: gcc would keep it in memory. */
typedef REAL OF(vec) __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));
#define LANES ((int)(BYTES / sizeof(REAL)))
#define AT(p) (*(OF(vec) *)(p))
#define READ(p) (*(const OF(vec) *)(p))

static REAL OF(one)(const struct PRODUCT *p, int i, int j)
{
    REAL sum = p->add ? p->c[(int64_t)i * p->n + j] : 0;
    const REAL *a = p->a.a + (int64_t)i * p->a.row;
    for (int k = 0; k < p->k; k++)
        sum += a[(int64_t)k * p->a.col] * p->b[(int64_t)k * p->n + j];
    return sum;
}

/* Computes two vectors in each of four rows of the result: eight sums in registers hide the latency
 * of additions. */
INLINE void OF(tile)(const struct PRODUCT *p, int i, int j)
{
    int64_t row = p->a.row, col = p->a.col, n = p->n;
    const REAL *a = p->a.a + i * row, *b = p->b + j;
    REAL *c = p->c + i * n + j;
    OF(vec) s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, t0 = {0}, t1 = {0}, t2 = {0}, t3 = {0};
    if (p->add) {
        s0 = AT(c), s1 = AT(c + n), s2 = AT(c + 2 * n), s3 = AT(c + 3 * n);
        c += LANES;
        t0 = AT(c), t1 = AT(c + n), t2 = AT(c + 2 * n), t3 = AT(c + 3 * n);
        c -= LANES;
    }
    for (int k = 0; k < p->k; k++, a += col, b += n) {
        OF(vec) left = READ(b), right = READ(b + LANES);
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
INLINE void OF(strip)(const struct PRODUCT *p, int i, int j)
{
    const REAL *a = p->a.a + (int64_t)i * p->a.row, *b = p->b + j;
    REAL *c = p->c + (int64_t)i * p->n + j;
    OF(vec) sum = {0};
    if (p->add)
        sum = AT(c);
    for (int k = 0; k < p->k; k++, a += p->a.col, b += p->n)
        sum += *a * READ(b);
    AT(c) = sum;
}

INLINE void OF(band)(const struct PRODUCT *p, int i, int rows)
{
    int j = 0;
    for (; rows == ROWS && j + 2 * LANES <= p->n; j += 2 * LANES)
        OF(tile)(p, i, j);
    for (; j + LANES <= p->n; j += LANES)
        for (int r = 0; r < rows; r++)
            OF(strip)(p, i + r, j);
    for (; j < p->n; j++)
        for (int r = 0; r < rows; r++)
            p->c[(int64_t)(i + r) * p->n + j] = OF(one)(p, i + r, j);
}

FOR_TARGET static void OF(product)(const struct PRODUCT *p, int m)
{
    int i = 0;
    for (; i + ROWS <= m; i += ROWS)
        OF(band)(p, i, ROWS);
    for (; i < m; i++)
        OF(band)(p, i, 1);
}

#undef LANES
#undef AT
#undef READ
#undef BYTES
#undef FOR_TARGET
#undef OF
