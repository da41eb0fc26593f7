/* stored past the caches: whole aligned vectors, nothing else */
typedef float v8 __attribute__((vector_size(32)));
typedef float u8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef float v16 __attribute__((vector_size(64)));
typedef float u16 __attribute__((vector_size(64), aligned(4), may_alias));
static inline v8 load8(const float *p) { return *(const u8 *)p; }
static inline void store8(float *p, v8 x) { *(u8 *)p = x; }
static inline v16 load16(const float *p) { return *(const u16 *)p; }
static inline void store16(float *p, v16 x) { *(u16 *)p = x; }
/* Past the caches, to an address that is a multiple of 64. */
static inline void stream16(float *p, v16 x)
{
#if defined __clang__
    __builtin_nontemporal_store(x, (v16 *)p);
#elif defined __AVX512F__
    __builtin_ia32_movntps512(p, x);
#else
    *(u16 *)p = x;
#endif
}
static inline v16 splat16(float x) { return x - (v16){0}; }
/* Makes streamed stores visible before any later store. */
static inline void stream_done(void)
{
#if defined __SSE__
    __builtin_ia32_sfence();
#endif
}

/* kernel
 *   A        [4][40]  read
 *   C        [4][48]  written past the caches: aligned to its vectors
 *   D        [4][40]  written
 *   E        [4][32]  written past the caches: aligned to its vectors
 *   F        [4]  written
 */
void kernel(const float *restrict A, float *restrict C, float *restrict D, float *restrict E,
            float *restrict F)
{
    for (long m = 0; m < 4; m++) {
        /* lanes N(40) */
        const float *a = &A[40*m];
        float *c = &C[48*m];
        float *d = &D[40*m];
        float *e = &E[32*m];
        v16 a0 = load16(a);
        stream16(c, a0);
        store16(d, a0 * 2.0f);
        v16 a1 = load16(a + 16);
        stream16(c + 16, a1);
        store16(d + 16, a1 * 2.0f);
        v8 a2 = load8(a + 32);
        store8(c + 32, a2);
        store8(d + 32, a2 * 2.0f);
        /* lanes N(32) */
        v16 e0 = splat16(1.0f);
        v16 e1 = splat16(1.0f);
        /* lanes N(32) */
        e0 += a0;
        stream16(e, e0);
        e1 += a1;
        stream16(e + 16, e1);
        F[m] = a[0];
    }
    stream_done();
}

void ts_entry(float *const *buffers)
{
    kernel(buffers[0], buffers[1], buffers[2], buffers[3], buffers[4]);
}
