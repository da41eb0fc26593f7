/* rows that are summed up in lanes, and largest elements */
typedef float v4 __attribute__((vector_size(16)));
typedef float u4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef int i4 __attribute__((vector_size(16)));
typedef float v8 __attribute__((vector_size(32)));
typedef float u8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef int i8 __attribute__((vector_size(32)));
typedef float v16 __attribute__((vector_size(64)));
typedef float u16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef int i16 __attribute__((vector_size(64)));
static inline v4 load4(const float *p) { return *(const u4 *)p; }
static inline v4 max4(v4 a, v4 b)
{
    i4 take_a = a > b;
    return (v4)(((i4)a & take_a) | ((i4)b & ~take_a));
}
static inline float sum_lanes4(v4 x)
{
    x += __builtin_shufflevector(x, x,
        2, 3, 0, 1);
    x += __builtin_shufflevector(x, x,
        1, 0, 3, 2);
    return x[0];
}
static inline float max_lanes4(v4 x)
{
    x = max4(x, __builtin_shufflevector(x, x,
        2, 3, 0, 1));
    x = max4(x, __builtin_shufflevector(x, x,
        1, 0, 3, 2));
    return x[0];
}
static inline v8 load8(const float *p) { return *(const u8 *)p; }
static inline v8 max8(v8 a, v8 b)
{
    i8 take_a = a > b;
    return (v8)(((i8)a & take_a) | ((i8)b & ~take_a));
}
static inline float sum_lanes8(v8 x)
{
    x += __builtin_shufflevector(x, x,
        4, 5, 6, 7, 0, 1, 2, 3);
    x += __builtin_shufflevector(x, x,
        2, 3, 0, 1, 6, 7, 4, 5);
    x += __builtin_shufflevector(x, x,
        1, 0, 3, 2, 5, 4, 7, 6);
    return x[0];
}
static inline float max_lanes8(v8 x)
{
    x = max8(x, __builtin_shufflevector(x, x,
        4, 5, 6, 7, 0, 1, 2, 3));
    x = max8(x, __builtin_shufflevector(x, x,
        2, 3, 0, 1, 6, 7, 4, 5));
    x = max8(x, __builtin_shufflevector(x, x,
        1, 0, 3, 2, 5, 4, 7, 6));
    return x[0];
}
static inline v16 load16(const float *p) { return *(const u16 *)p; }
static inline v16 max16(v16 a, v16 b)
{
    i16 take_a = a > b;
    return (v16)(((i16)a & take_a) | ((i16)b & ~take_a));
}
static inline float sum_lanes16(v16 x)
{
    x += __builtin_shufflevector(x, x,
        8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    x += __builtin_shufflevector(x, x,
        4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
    x += __builtin_shufflevector(x, x,
        2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
    x += __builtin_shufflevector(x, x,
        1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
    return x[0];
}
static inline float max_lanes16(v16 x)
{
    x = max16(x, __builtin_shufflevector(x, x,
        8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
    x = max16(x, __builtin_shufflevector(x, x,
        4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
    x = max16(x, __builtin_shufflevector(x, x,
        2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
    x = max16(x, __builtin_shufflevector(x, x,
        1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
    return x[0];
}
static inline float maxf(float a, float b) { return a > b ? a : b; }

/* kernel
 *   A        [3][45]  read
 *   S        [3]  written
 *   L        [3]  written
 */
void kernel(const float *restrict A, float *restrict S, float *restrict L)
{
    /* Out */
    for (long m = 0; m < 3; m++) {
        float s0 = 0.0f;
        /* lanes N(45) */
        const float *a = &A[45*m];
        s0 += sum_lanes16(load16(a) * 2.0f + load16(a + 16) * 2.0f);
        s0 += sum_lanes8(load8(a + 32) * 2.0f);
        s0 += sum_lanes4(load4(a + 40) * 2.0f);
        s0 += a[44] * 2.0f;
        S[m] = s0;
    }
    for (long m = 0; m < 3; m++) {
        const float *a = &A[45*m];
        float l0 = -100.0f;
        /* lanes N(45) */
        l0 = maxf(l0, max_lanes16(max16(load16(a), load16(a + 16))));
        l0 = maxf(l0, max_lanes8(load8(a + 32)));
        l0 = maxf(l0, max_lanes4(load4(a + 40)));
        l0 = maxf(l0, a[44]);
        L[m] = l0;
    }
}

void ts_entry(float *const *buffers)
{
    kernel(buffers[0], buffers[1], buffers[2]);
}
