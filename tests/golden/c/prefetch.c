/* hints for the next row, in turns, and for the next panel */
typedef float v16 __attribute__((vector_size(64)));
typedef float u16 __attribute__((vector_size(64), aligned(4), may_alias));
static inline v16 load16(const float *p) { return *(const u16 *)p; }
static inline void store16(float *p, v16 x) { *(u16 *)p = x; }
/* Asks for the line of p[by], which may lie outside of the array: a hint never faults. */
static inline void prefetch(const float *p, long by)
{
    __builtin_prefetch((const void *)((__UINTPTR_TYPE__)p + 4 * (__UINTPTR_TYPE__)by));
}
/* Stays a loop: unrolled, it would need more registers than there are. */
#if defined __clang__
#define ROLLED _Pragma("clang loop unroll(disable)")
#else
#define ROLLED _Pragma("GCC unroll 1")
#endif

/* kernel
 *   A        [3][6][40]  read
 *   B        [2][40][32]  read
 *   C        [18][64]  written
 */
void kernel(const float *restrict A, const float *restrict B, float *restrict C)
{
    for (long n_0 = 0; n_0 < 2; n_0++) {    /* N.0 */
        for (long m_0 = 0; m_0 < 3; m_0++) {    /* M.0 */
            /* unrolled M.1(6), lanes N.1(32) */
            v16 acc0_0 = {0}, acc0_1 = {0}, acc1_0 = {0}, acc1_1 = {0}, acc2_0 = {0};
            v16 acc2_1 = {0}, acc3_0 = {0}, acc3_1 = {0}, acc4_0 = {0}, acc4_1 = {0};
            v16 acc5_0 = {0}, acc5_1 = {0};
            ROLLED
            for (long k = 0; k < 40; k++) {
                /* unrolled M.1(6), lanes N.1(32) */
                /* prefetch A of m.0 + 1 */
                const float *a = &A[240*m_0 + k];
                const float *b = &B[1280*n_0 + 32*k];
                prefetch(a, 39*(k % 6) + 240);
                /* prefetch B of n.0 + 1 */
                prefetch(b, 1280);
                prefetch(b + 16, 1280);
                float a0 = a[0];
                v16 b0 = load16(b);
                acc0_0 += a0 * b0;
                v16 b1 = load16(b + 16);
                acc0_1 += a0 * b1;
                float a1 = a[40];
                acc1_0 += a1 * b0;
                acc1_1 += a1 * b1;
                float a2 = a[80];
                acc2_0 += a2 * b0;
                acc2_1 += a2 * b1;
                float a3 = a[120];
                acc3_0 += a3 * b0;
                acc3_1 += a3 * b1;
                float a4 = a[160];
                acc4_0 += a4 * b0;
                acc4_1 += a4 * b1;
                float a5 = a[200];
                acc5_0 += a5 * b0;
                acc5_1 += a5 * b1;
            }
            /* unrolled M.1(6), lanes N.1(32) */
            float *c = &C[384*m_0 + 32*n_0];
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
        }
    }
}

void ts_entry(float *const *buffers)
{
    kernel(buffers[0], buffers[1], buffers[2]);
}
