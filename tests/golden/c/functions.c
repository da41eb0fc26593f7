/* functions of floats and of lanes */
typedef float v4 __attribute__((vector_size(16)));
typedef float u4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef int i4 __attribute__((vector_size(16)));
typedef float v16 __attribute__((vector_size(64)));
typedef float u16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef int i16 __attribute__((vector_size(64)));
static inline v4 load4(const float *p) { return *(const u4 *)p; }
static inline void store4(float *p, v4 x) { *(u4 *)p = x; }
/* The lanes of a where take is set, else those of b. */
static inline v4 pick4(i4 take, v4 a, v4 b)
{
    return (v4)(((i4)a & take) | ((i4)b & ~take));
}
/* exp(x) = 2^k (1 + the result). */
static inline v4 exp_parts4(v4 x, i4 *k)
{
    v4 n = x * 1.44269504f + 12582912.0f;    /* rounds: the last bits are the integer */
    *k = (i4)n - 0x4b400000;
    n -= 12582912.0f;
    v4 r = x - n * 0.693359375f + n * 2.12194440e-4f;
    v4 s = r * r, p = 1.9875691500e-4f * r + 1.3981999507e-3f;
    p = p * s + (8.3334519073e-3f * r + 4.1665795894e-2f);
    p = p * s + (1.6666665459e-1f * r + 5.0000001201e-1f);
    return p * s + r;
}
static inline v4 exp_v4(v4 x)
{
    i4 k;
    x = pick4(x > 89.0f, 89.0f - (v4){0}, x);
    x = pick4(x < -105.0f, -105.0f - (v4){0}, x);
    v4 p = exp_parts4(x, &k) + 1.0f;
    return p * (v4)(((k >> 1) + 127) << 23) * (v4)((k - (k >> 1) + 127) << 23);
}
static inline v4 tanh_v4(v4 x)
{
    i4 k;
    v4 t = (v4)((i4)x & 0x7fffffff);
    t = pick4(t > 20.0f, 20.0f - (v4){0}, t);
    v4 p = exp_parts4(-2.0f * t, &k), s = (v4)((k + 127) << 23);
    p = 1.0f - s - p * s;                         /* 1 - 2^k (1 + p) */
    p = p / (2.0f - p);
    return (v4)((i4)p | ((i4)x & ~0x7fffffff));
}
static inline v4 erf_v4(v4 x)
{
    i4 k;
    v4 t = (v4)((i4)x & 0x7fffffff);
    t = pick4(t > 4.0f, 4.0f - (v4){0}, t);
    v4 y = t * t, p = -9.255815712e-6f * y + (1.176370788e-4f * t - 6.328211748e-4f);
    p = p * y + (1.666997210e-3f * t - 1.603637647e-4f);
    p = p * y + (-1.915308274e-2f * t + 1.027778387e-1f);
    p = p * y + (6.366193891e-1f * t + 1.283791671e-1f);
    p = exp_parts4(-t * p - t, &k);
    v4 s = (v4)((k + 127) << 23);
    p = 1.0f - s - p * s;                         /* 1 - 2^k (1 + p) */
    return (v4)((i4)p | ((i4)x & ~0x7fffffff));
}
static inline v4 max4(v4 a, v4 b)
{
    i4 take_a = a > b;
    return (v4)(((i4)a & take_a) | ((i4)b & ~take_a));
}
static inline v16 load16(const float *p) { return *(const u16 *)p; }
static inline void store16(float *p, v16 x) { *(u16 *)p = x; }
/* The lanes of a where take is set, else those of b. */
static inline v16 pick16(i16 take, v16 a, v16 b)
{
    return (v16)(((i16)a & take) | ((i16)b & ~take));
}
/* exp(x) = 2^k (1 + the result). */
static inline v16 exp_parts16(v16 x, i16 *k)
{
    v16 n = x * 1.44269504f + 12582912.0f;    /* rounds: the last bits are the integer */
    *k = (i16)n - 0x4b400000;
    n -= 12582912.0f;
    v16 r = x - n * 0.693359375f + n * 2.12194440e-4f;
    v16 s = r * r, p = 1.9875691500e-4f * r + 1.3981999507e-3f;
    p = p * s + (8.3334519073e-3f * r + 4.1665795894e-2f);
    p = p * s + (1.6666665459e-1f * r + 5.0000001201e-1f);
    return p * s + r;
}
static inline v16 exp_v16(v16 x)
{
    i16 k;
    x = pick16(x > 89.0f, 89.0f - (v16){0}, x);
    x = pick16(x < -105.0f, -105.0f - (v16){0}, x);
    v16 p = exp_parts16(x, &k) + 1.0f;
    return p * (v16)(((k >> 1) + 127) << 23) * (v16)((k - (k >> 1) + 127) << 23);
}
static inline v16 tanh_v16(v16 x)
{
    i16 k;
    v16 t = (v16)((i16)x & 0x7fffffff);
    t = pick16(t > 20.0f, 20.0f - (v16){0}, t);
    v16 p = exp_parts16(-2.0f * t, &k), s = (v16)((k + 127) << 23);
    p = 1.0f - s - p * s;                         /* 1 - 2^k (1 + p) */
    p = p / (2.0f - p);
    return (v16)((i16)p | ((i16)x & ~0x7fffffff));
}
static inline v16 erf_v16(v16 x)
{
    i16 k;
    v16 t = (v16)((i16)x & 0x7fffffff);
    t = pick16(t > 4.0f, 4.0f - (v16){0}, t);
    v16 y = t * t, p = -9.255815712e-6f * y + (1.176370788e-4f * t - 6.328211748e-4f);
    p = p * y + (1.666997210e-3f * t - 1.603637647e-4f);
    p = p * y + (-1.915308274e-2f * t + 1.027778387e-1f);
    p = p * y + (6.366193891e-1f * t + 1.283791671e-1f);
    p = exp_parts16(-t * p - t, &k);
    v16 s = (v16)((k + 127) << 23);
    p = 1.0f - s - p * s;                         /* 1 - 2^k (1 + p) */
    return (v16)((i16)p | ((i16)x & ~0x7fffffff));
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
