/* tests/golden/nest/split-tail.in */
typedef float v2 __attribute__((vector_size(8)));
typedef float u2 __attribute__((vector_size(8), aligned(4), may_alias));
typedef int i2 __attribute__((vector_size(8)));
typedef float v8 __attribute__((vector_size(32)));
typedef float u8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef int i8 __attribute__((vector_size(32)));
typedef float v16 __attribute__((vector_size(64)));
typedef float u16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef int i16 __attribute__((vector_size(64)));
static inline v2 load2(const float *p) { return *(const u2 *)p; }
static inline void store2(float *p, v2 x) { *(u2 *)p = x; }
static inline v2 max2(v2 a, v2 b)
{
    i2 take_a = a > b;
    return (v2)(((i2)a & take_a) | ((i2)b & ~take_a));
}
static inline v8 load8(const float *p) { return *(const u8 *)p; }
static inline void store8(float *p, v8 x) { *(u8 *)p = x; }
static inline v8 max8(v8 a, v8 b)
{
    i8 take_a = a > b;
    return (v8)(((i8)a & take_a) | ((i8)b & ~take_a));
}
static inline v16 load16(const float *p) { return *(const u16 *)p; }
static inline void store16(float *p, v16 x) { *(u16 *)p = x; }
static inline v16 max16(v16 a, v16 b)
{
    i16 take_a = a > b;
    return (v16)(((i16)a & take_a) | ((i16)b & ~take_a));
}
/* Stays a loop: unrolled, it would need more registers than there are. */
#if defined __clang__
#define ROLLED _Pragma("clang loop unroll(disable)")
#else
#define ROLLED _Pragma("GCC unroll 1")
#endif

/* kernel
 *   A        [30][16]  M K, read
 *   B        [16][42]  K N, read
 *   ReLU     [30][42]  M N, written
 */
void kernel(const float *restrict A, const float *restrict B, float *restrict ReLU)
{
    /* C */
    for (long m_0 = 0; m_0 < 7; m_0++) {    /* M.0 */
        for (long n_0 = 0; n_0 < 2; n_0++) {    /* N.0 */
            /* unrolled M.1(4), lanes N.1(16) */
            v16 acc0 = {0}, acc1 = {0}, acc2 = {0}, acc3 = {0};
            ROLLED
            for (long k = 0; k < 16; k++) {
                /* unrolled M.1(4), lanes N.1(16) */
                const float *a = &A[64*m_0 + k];
                v16 b0 = load16(&B[42*k + 16*n_0]);
                acc0 += a[0] * b0;
                acc1 += a[16] * b0;
                acc2 += a[32] * b0;
                acc3 += a[48] * b0;
            }
            /* unrolled M.1(4), lanes N.1(16) */
            float *relu = &ReLU[168*m_0 + 16*n_0];
            store16(relu, max16(acc0, (v16){0}));
            store16(relu + 42, max16(acc1, (v16){0}));
            store16(relu + 84, max16(acc2, (v16){0}));
            store16(relu + 126, max16(acc3, (v16){0}));
        }
        {    /* N.0 = 2 */
            /* unrolled M.1(4), lanes N.1(10) */
            v8 acc0_0 = {0};
            v2 acc0_4 = {0};
            v8 acc1_0 = {0};
            v2 acc1_4 = {0};
            v8 acc2_0 = {0};
            v2 acc2_4 = {0};
            v8 acc3_0 = {0};
            v2 acc3_4 = {0};
            ROLLED
            for (long k = 0; k < 16; k++) {
                /* unrolled M.1(4), lanes N.1(10) */
                const float *a = &A[64*m_0 + k];
                const float *b = &B[42*k + 32];
                float a0 = a[0];
                v8 b0 = load8(b);
                acc0_0 += a0 * b0;
                v2 b1 = load2(b + 8);
                acc0_4 += a0 * b1;
                float a1 = a[16];
                acc1_0 += a1 * b0;
                acc1_4 += a1 * b1;
                float a2 = a[32];
                acc2_0 += a2 * b0;
                acc2_4 += a2 * b1;
                float a3 = a[48];
                acc3_0 += a3 * b0;
                acc3_4 += a3 * b1;
            }
            /* unrolled M.1(4), lanes N.1(10) */
            float *relu = &ReLU[168*m_0 + 32];
            store8(relu, max8(acc0_0, (v8){0}));
            store2(relu + 8, max2(acc0_4, (v2){0}));
            store8(relu + 42, max8(acc1_0, (v8){0}));
            store2(relu + 50, max2(acc1_4, (v2){0}));
            store8(relu + 84, max8(acc2_0, (v8){0}));
            store2(relu + 92, max2(acc2_4, (v2){0}));
            store8(relu + 126, max8(acc3_0, (v8){0}));
            store2(relu + 134, max2(acc3_4, (v2){0}));
        }
    }
    /* M.0 = 7 */
    for (long n_0 = 0; n_0 < 2; n_0++) {    /* N.0 */
        /* unrolled M.1(2), lanes N.1(16) */
        v16 acc0 = {0}, acc1 = {0};
        ROLLED
        for (long k = 0; k < 16; k++) {
            /* unrolled M.1(2), lanes N.1(16) */
            const float *a = &A[k + 448];
            v16 b0 = load16(&B[42*k + 16*n_0]);
            acc0 += a[0] * b0;
            acc1 += a[16] * b0;
        }
        /* unrolled M.1(2), lanes N.1(16) */
        float *relu = &ReLU[16*n_0 + 1176];
        store16(relu, max16(acc0, (v16){0}));
        store16(relu + 42, max16(acc1, (v16){0}));
    }
    {    /* N.0 = 2 */
        /* unrolled M.1(2), lanes N.1(10) */
        v8 acc0_0 = {0};
        v2 acc0_4 = {0};
        v8 acc1_0 = {0};
        v2 acc1_4 = {0};
        ROLLED
        for (long k = 0; k < 16; k++) {
            /* unrolled M.1(2), lanes N.1(10) */
            const float *a = &A[k + 448];
            const float *b = &B[42*k + 32];
            float a0 = a[0];
            v8 b0 = load8(b);
            acc0_0 += a0 * b0;
            v2 b1 = load2(b + 8);
            acc0_4 += a0 * b1;
            float a1 = a[16];
            acc1_0 += a1 * b0;
            acc1_4 += a1 * b1;
        }
        /* unrolled M.1(2), lanes N.1(10) */
        store8(ReLU + 1208, max8(acc0_0, (v8){0}));
        store2(ReLU + 1216, max2(acc0_4, (v2){0}));
        store8(ReLU + 1250, max8(acc1_0, (v8){0}));
        store2(ReLU + 1258, max2(acc1_4, (v2){0}));
    }
}

void ts_entry(float *const *buffers)
{
    kernel(buffers[0], buffers[1], buffers[2]);
}
