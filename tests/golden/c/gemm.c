/* matrix product, 8 x 32 register tile */
typedef float v16 __attribute__((vector_size(64)));
typedef float u16 __attribute__((vector_size(64), aligned(4), may_alias));
static inline v16 load16(const float *p) { return *(const u16 *)p; }
static inline void store16(float *p, v16 x) { *(u16 *)p = x; }
/* Stays a loop: unrolled, it would need more registers than there are. */
#if defined __clang__
#define ROLLED _Pragma("clang loop unroll(disable)")
#else
#define ROLLED _Pragma("GCC unroll 1")
#endif

/* kernel
 *   A        [8][64][8]  read
 *   B        [2][64][32]  read
 *   C        [64][64]  written
 */
void kernel(const float *restrict A, const float *restrict B, float *restrict C)
{
    #pragma omp parallel for schedule(static) collapse(2)
    for (long n_0 = 0; n_0 < 2; n_0++) {    /* N.0 */
        for (long m_0 = 0; m_0 < 8; m_0++) {    /* M.0 */
            /* unrolled M.1(8) N.1(2), lanes N.2(16) */
            v16 acc0_0 = {0}, acc0_1 = {0}, acc1_0 = {0}, acc1_1 = {0}, acc2_0 = {0};
            v16 acc2_1 = {0}, acc3_0 = {0}, acc3_1 = {0}, acc4_0 = {0}, acc4_1 = {0};
            v16 acc5_0 = {0}, acc5_1 = {0}, acc6_0 = {0}, acc6_1 = {0}, acc7_0 = {0};
            v16 acc7_1 = {0};
            ROLLED
            for (long k = 0; k < 64; k++) {
                /* unrolled M.1(8) N.1(2), lanes N.2(16) */
                const float *a = &A[512*m_0 + 8*k];
                const float *b = &B[2048*n_0 + 32*k];
                float a0 = a[0];
                v16 b0 = load16(b);
                acc0_0 += a0 * b0;
                v16 b1 = load16(b + 16);
                acc0_1 += a0 * b1;
                float a1 = a[1];
                acc1_0 += a1 * b0;
                acc1_1 += a1 * b1;
                float a2 = a[2];
                acc2_0 += a2 * b0;
                acc2_1 += a2 * b1;
                float a3 = a[3];
                acc3_0 += a3 * b0;
                acc3_1 += a3 * b1;
                float a4 = a[4];
                acc4_0 += a4 * b0;
                acc4_1 += a4 * b1;
                float a5 = a[5];
                acc5_0 += a5 * b0;
                acc5_1 += a5 * b1;
                float a6 = a[6];
                acc6_0 += a6 * b0;
                acc6_1 += a6 * b1;
                float a7 = a[7];
                acc7_0 += a7 * b0;
                acc7_1 += a7 * b1;
            }
            /* unrolled M.1(8) N.1(2), lanes N.2(16) */
            float *c = &C[512*m_0 + 32*n_0];
            store16(c, acc0_0);
            store16(c + 16, acc0_1);
            store16(c + 64, acc1_0);
            store16(c + 80, acc1_1);
            store16(c + 128, acc2_0);
            store16(c + 144, acc2_1);
            store16(c + 192, acc3_0);
            store16(c + 208, acc3_1);
            store16(c + 256, acc4_0);
            store16(c + 272, acc4_1);
            store16(c + 320, acc5_0);
            store16(c + 336, acc5_1);
            store16(c + 384, acc6_0);
            store16(c + 400, acc6_1);
            store16(c + 448, acc7_0);
            store16(c + 464, acc7_1);
        }
    }
}

void ts_entry(float *const *buffers)
{
    kernel(buffers[0], buffers[1], buffers[2]);
}
