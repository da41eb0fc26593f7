/* lanes of one aligned vector are shuffled; across its end, or in odd buffers, not */
typedef float v16 __attribute__((vector_size(64)));
typedef float u16 __attribute__((vector_size(64), aligned(4), may_alias));
static inline v16 load16(const float *p) { return *(const u16 *)p; }
static inline void store16(float *p, v16 x) { *(u16 *)p = x; }
static inline v16 shuffle0(v16 x)
{
    return __builtin_shufflevector(x, x,
        3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11, 15, 15, 15, 15);
}
static inline v16 shuffle1(v16 x)
{
    return __builtin_shufflevector(x, x,
        15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
}

/* kernel
 *   A        [5][32]  read
 *   B        [5][31]  read
 *   D        [70]  read
 *   C        [5][16]  written
 *   E        [5][16]  written
 *   F        [5][16]  written
 */
void kernel(const float *restrict A, const float *restrict B, const float *restrict D,
            float *restrict C, float *restrict E, float *restrict F)
{
    for (long m = 0; m < 5; m++) {
        /* lanes N(16) */
        const float *a = &A[32*m];
        const float *b = &B[31*m];
        const float *d = &D[m];
        const float *d_2 = &D[16*((m + 1) / 2)];
        store16(&C[16*m], shuffle0(load16(a + 16)) - shuffle1(load16(a)));
        float a0 = a[10];
        float a1 = a[11];
        float a2 = a[12];
        float a3 = a[13];
        float a4 = a[14];
        float a5 = a[15];
        float a6 = a[16];
        float a7 = a[17];
        float b0 = b[0];
        float b1 = b[4];
        float b2 = b[8];
        float b3 = b[12];
        store16(&E[16*m],
                ((v16){ a0, a0, a1, a1, a2, a2, a3, a3, a4, a4, a5, a5, a6, a6, a7, a7 }) +
                ((v16){ b0, b0, b0, b0, b1, b1, b1, b1, b2, b2, b2, b2, b3, b3, b3, b3 }));
        float d0 = d[0];
        float d1 = d[4];
        float d2 = d[8];
        float d3 = d[12];
        float d4 = d_2[0];
        float d5 = d_2[1];
        store16(&F[16*m],
                ((v16){ d0, d0, d0, d0, d1, d1, d1, d1, d2, d2, d2, d2, d3, d3, d3, d3 }) +
                ((v16){ d4, d4, d4, d4, d4, d4, d4, d4, d5, d5, d5, d5, d5, d5, d5, d5 }));
    }
}

void ts_entry(float *const *buffers)
{
    kernel(buffers[0], buffers[1], buffers[2], buffers[3], buffers[4], buffers[5]);
}
