/* functions of floats and of lanes */
typedef float v4 __attribute__((vector_size(16)));
typedef float u4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef int i4 __attribute__((vector_size(16)));
typedef float v16 __attribute__((vector_size(64)));
typedef float u16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef int i16 __attribute__((vector_size(64)));
static inline v4 load4(const float *p) { return *(const u4 *)p; }
static inline void store4(float *p, v4 x) { *(u4 *)p = x; }
static inline v4 exp_v4(v4 x)
{
    for (int l = 0; l < 4; l++)
        x[l] = __builtin_expf(x[l]);
    return x;
}
static inline v4 tanh_v4(v4 x)
{
    for (int l = 0; l < 4; l++)
        x[l] = __builtin_tanhf(x[l]);
    return x;
}
static inline v4 erf_v4(v4 x)
{
    for (int l = 0; l < 4; l++)
        x[l] = __builtin_erff(x[l]);
    return x;
}
static inline v4 max4(v4 a, v4 b)
{
    i4 take_a = a > b;
    return (v4)(((i4)a & take_a) | ((i4)b & ~take_a));
}
static inline v16 load16(const float *p) { return *(const u16 *)p; }
static inline void store16(float *p, v16 x) { *(u16 *)p = x; }
static inline v16 exp_v16(v16 x)
{
    for (int l = 0; l < 16; l++)
        x[l] = __builtin_expf(x[l]);
    return x;
}
static inline v16 tanh_v16(v16 x)
{
    for (int l = 0; l < 16; l++)
        x[l] = __builtin_tanhf(x[l]);
    return x;
}
static inline v16 erf_v16(v16 x)
{
    for (int l = 0; l < 16; l++)
        x[l] = __builtin_erff(x[l]);
    return x;
}
static inline v16 max16(v16 a, v16 b)
{
    i16 take_a = a > b;
    return (v16)(((i16)a & take_a) | ((i16)b & ~take_a));
}

/* kernel
 *   A        [3][20]  read
 *   C        [3][20]  written
 *   D        [3]  written
 */
void kernel(const float *restrict A, float *restrict C, float *restrict D)
{
    /* Out */
    for (long m = 0; m < 3; m++) {
        /* lanes N(20) */
        const float *a = &A[20*m];
        float *c = &C[20*m];
        v16 a0 = load16(a);
        store16(c, exp_v16(a0 / 8.0f) - tanh_v16(a0) - erf_v16(max16(a0, (v16){0})));
        v4 a1 = load4(a + 16);
        store4(c + 16, exp_v4(a1 / 8.0f) - tanh_v4(a1) - erf_v4(max4(a1, (v4){0})));
    }
    for (long m = 0; m < 3; m++) {
        const float *a = &A[20*m];
        float a0 = a[0];
        float a1 = a[1];
        D[m] = __builtin_sqrtf(__builtin_logf(a0 * a1 * a0 * a1 + 3.0f));
    }
}

void ts_entry(float *const *buffers)
{
    kernel(buffers[0], buffers[1], buffers[2]);
}
