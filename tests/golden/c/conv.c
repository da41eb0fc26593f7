/* convolution with padding, bias and ReLU, taps of a row unrolled */
typedef float v16 __attribute__((vector_size(64)));
typedef float u16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef int i16 __attribute__((vector_size(64)));
static inline v16 load16(const float *p) { return *(const u16 *)p; }
static inline void store16(float *p, v16 x) { *(u16 *)p = x; }
static inline v16 max16(v16 a, v16 b)
{
    i16 take_a = a > b;
    return (v16)(((i16)a & take_a) | ((i16)b & ~take_a));
}
/* Returns p, but the compiler does not know that: it loads again instead of spilling. */
static inline const float *again(const float *p)
{
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}
/* Stays a loop: unrolled, it would need more registers than there are. */
#if defined __clang__
#define ROLLED _Pragma("clang loop unroll(disable)")
#else
#define ROLLED _Pragma("GCC unroll 1")
#endif
/* Stays a loop of two: gcc -O2 unrolls it because of "unroll 1", and not without. */
#if defined __clang__
#define ROLLED_PAIR _Pragma("clang loop unroll(disable)")
#else
#define ROLLED_PAIR
#endif

/* kernel
 *   Inp_in   [1][2][6][14]  read
 *   Ker      [3][3][2][32]  read
 *   Bias     [32]  read
 *   Inp      [1][8][16][2]  written and read
 *   ReLU     [1][6][14][32]  written
 */
void kernel(const float *restrict Inp_in, const float *restrict Ker, const float *restrict Bias,
            float *restrict Inp, float *restrict ReLU)
{
    /* Out */
    for (long h = 0; h < 8; h++) {
        for (long w = 0; w < 16; w++) {
            for (long i = 0; i < 2; i++) {
                Inp[32*h + 2*w + i] = h >= 1 && h < 7 && w >= 1 && w < 15 ?
                        Inp_in[84*i + 14*h + w - 15] : 0.0f;
            }
        }
    }
    #pragma omp parallel for schedule(static)
    for (long h = 0; h < 6; h++) {
        /* unrolled W(14) O.0(2), lanes O.1(16) */
        v16 acc0_0 = {0}, acc0_1 = {0}, acc1_0 = {0}, acc1_1 = {0}, acc2_0 = {0};
        v16 acc2_1 = {0}, acc3_0 = {0}, acc3_1 = {0}, acc4_0 = {0}, acc4_1 = {0};
        v16 acc5_0 = {0}, acc5_1 = {0}, acc6_0 = {0}, acc6_1 = {0}, acc7_0 = {0};
        v16 acc7_1 = {0}, acc8_0 = {0}, acc8_1 = {0}, acc9_0 = {0}, acc9_1 = {0};
        v16 acc10_0 = {0}, acc10_1 = {0}, acc11_0 = {0}, acc11_1 = {0}, acc12_0 = {0};
        v16 acc12_1 = {0}, acc13_0 = {0}, acc13_1 = {0};
        ROLLED
        for (long kh = 0; kh < 3; kh++) {
            ROLLED_PAIR
            for (long i = 0; i < 2; i++) {
                /* unrolled KW(3) W(14) O.0(2), lanes O.1(16) */
                const float *inp = &Inp[32*h + 32*kh + i];
                const float *ker = &Ker[192*kh + 32*i];
                float inp0 = inp[0];
                v16 ker0 = load16(ker);
                acc0_0 += inp0 * ker0;
                v16 ker1 = load16(ker + 16);
                acc0_1 += inp0 * ker1;
                float inp1 = inp[2];
                acc1_0 += inp1 * ker0;
                acc1_1 += inp1 * ker1;
                float inp2 = inp[4];
                acc2_0 += inp2 * ker0;
                acc2_1 += inp2 * ker1;
                float inp3 = inp[6];
                acc3_0 += inp3 * ker0;
                acc3_1 += inp3 * ker1;
                float inp4 = inp[8];
                acc4_0 += inp4 * ker0;
                acc4_1 += inp4 * ker1;
                float inp5 = inp[10];
                acc5_0 += inp5 * ker0;
                acc5_1 += inp5 * ker1;
                float inp6 = inp[12];
                acc6_0 += inp6 * ker0;
                acc6_1 += inp6 * ker1;
                float inp7 = inp[14];
                acc7_0 += inp7 * ker0;
                acc7_1 += inp7 * ker1;
                float inp8 = inp[16];
                acc8_0 += inp8 * ker0;
                acc8_1 += inp8 * ker1;
                float inp9 = inp[18];
                acc9_0 += inp9 * ker0;
                acc9_1 += inp9 * ker1;
                float inp10 = inp[20];
                acc10_0 += inp10 * ker0;
                acc10_1 += inp10 * ker1;
                float inp11 = inp[22];
                acc11_0 += inp11 * ker0;
                acc11_1 += inp11 * ker1;
                float inp12 = inp[24];
                acc12_0 += inp12 * ker0;
                acc12_1 += inp12 * ker1;
                float inp13 = inp[26];
                acc13_0 += inp13 * ker0;
                acc13_1 += inp13 * ker1;
                inp = again(inp);
                float inp14 = inp[2];
                v16 ker2 = load16(ker + 64);
                acc0_0 += inp14 * ker2;
                v16 ker3 = load16(ker + 80);
                acc0_1 += inp14 * ker3;
                float inp15 = inp[4];
                acc1_0 += inp15 * ker2;
                acc1_1 += inp15 * ker3;
                float inp16 = inp[6];
                acc2_0 += inp16 * ker2;
                acc2_1 += inp16 * ker3;
                float inp17 = inp[8];
                acc3_0 += inp17 * ker2;
                acc3_1 += inp17 * ker3;
                float inp18 = inp[10];
                acc4_0 += inp18 * ker2;
                acc4_1 += inp18 * ker3;
                float inp19 = inp[12];
                acc5_0 += inp19 * ker2;
                acc5_1 += inp19 * ker3;
                float inp20 = inp[14];
                acc6_0 += inp20 * ker2;
                acc6_1 += inp20 * ker3;
                float inp21 = inp[16];
                acc7_0 += inp21 * ker2;
                acc7_1 += inp21 * ker3;
                float inp22 = inp[18];
                acc8_0 += inp22 * ker2;
                acc8_1 += inp22 * ker3;
                float inp23 = inp[20];
                acc9_0 += inp23 * ker2;
                acc9_1 += inp23 * ker3;
                float inp24 = inp[22];
                acc10_0 += inp24 * ker2;
                acc10_1 += inp24 * ker3;
                float inp25 = inp[24];
                acc11_0 += inp25 * ker2;
                acc11_1 += inp25 * ker3;
                float inp26 = inp[26];
                acc12_0 += inp26 * ker2;
                acc12_1 += inp26 * ker3;
                float inp27 = inp[28];
                acc13_0 += inp27 * ker2;
                acc13_1 += inp27 * ker3;
                inp = again(inp);
                float inp28 = inp[4];
                v16 ker4 = load16(ker + 128);
                acc0_0 += inp28 * ker4;
                v16 ker5 = load16(ker + 144);
                acc0_1 += inp28 * ker5;
                float inp29 = inp[6];
                acc1_0 += inp29 * ker4;
                acc1_1 += inp29 * ker5;
                float inp30 = inp[8];
                acc2_0 += inp30 * ker4;
                acc2_1 += inp30 * ker5;
                float inp31 = inp[10];
                acc3_0 += inp31 * ker4;
                acc3_1 += inp31 * ker5;
                float inp32 = inp[12];
                acc4_0 += inp32 * ker4;
                acc4_1 += inp32 * ker5;
                float inp33 = inp[14];
                acc5_0 += inp33 * ker4;
                acc5_1 += inp33 * ker5;
                float inp34 = inp[16];
                acc6_0 += inp34 * ker4;
                acc6_1 += inp34 * ker5;
                float inp35 = inp[18];
                acc7_0 += inp35 * ker4;
                acc7_1 += inp35 * ker5;
                float inp36 = inp[20];
                acc8_0 += inp36 * ker4;
                acc8_1 += inp36 * ker5;
                float inp37 = inp[22];
                acc9_0 += inp37 * ker4;
                acc9_1 += inp37 * ker5;
                float inp38 = inp[24];
                acc10_0 += inp38 * ker4;
                acc10_1 += inp38 * ker5;
                float inp39 = inp[26];
                acc11_0 += inp39 * ker4;
                acc11_1 += inp39 * ker5;
                float inp40 = inp[28];
                acc12_0 += inp40 * ker4;
                acc12_1 += inp40 * ker5;
                float inp41 = inp[30];
                acc13_0 += inp41 * ker4;
                acc13_1 += inp41 * ker5;
            }
        }
        /* unrolled W(14) O.0(2), lanes O.1(16) */
        float *relu = &ReLU[448*h];
        v16 bias0 = load16(Bias);
        v16 biasadd0_0 = acc0_0 + bias0;
        store16(relu, max16(biasadd0_0, (v16){0}));
        v16 bias1 = load16(Bias + 16);
        v16 biasadd0_1 = acc0_1 + bias1;
        store16(relu + 16, max16(biasadd0_1, (v16){0}));
        v16 biasadd1_0 = acc1_0 + bias0;
        store16(relu + 32, max16(biasadd1_0, (v16){0}));
        v16 biasadd1_1 = acc1_1 + bias1;
        store16(relu + 48, max16(biasadd1_1, (v16){0}));
        v16 biasadd2_0 = acc2_0 + bias0;
        store16(relu + 64, max16(biasadd2_0, (v16){0}));
        v16 biasadd2_1 = acc2_1 + bias1;
        store16(relu + 80, max16(biasadd2_1, (v16){0}));
        v16 biasadd3_0 = acc3_0 + bias0;
        store16(relu + 96, max16(biasadd3_0, (v16){0}));
        v16 biasadd3_1 = acc3_1 + bias1;
        store16(relu + 112, max16(biasadd3_1, (v16){0}));
        v16 biasadd4_0 = acc4_0 + bias0;
        store16(relu + 128, max16(biasadd4_0, (v16){0}));
        v16 biasadd4_1 = acc4_1 + bias1;
        store16(relu + 144, max16(biasadd4_1, (v16){0}));
        v16 biasadd5_0 = acc5_0 + bias0;
        store16(relu + 160, max16(biasadd5_0, (v16){0}));
        v16 biasadd5_1 = acc5_1 + bias1;
        store16(relu + 176, max16(biasadd5_1, (v16){0}));
        v16 biasadd6_0 = acc6_0 + bias0;
        store16(relu + 192, max16(biasadd6_0, (v16){0}));
        v16 biasadd6_1 = acc6_1 + bias1;
        store16(relu + 208, max16(biasadd6_1, (v16){0}));
        v16 biasadd7_0 = acc7_0 + bias0;
        store16(relu + 224, max16(biasadd7_0, (v16){0}));
        v16 biasadd7_1 = acc7_1 + bias1;
        store16(relu + 240, max16(biasadd7_1, (v16){0}));
        v16 biasadd8_0 = acc8_0 + bias0;
        store16(relu + 256, max16(biasadd8_0, (v16){0}));
        v16 biasadd8_1 = acc8_1 + bias1;
        store16(relu + 272, max16(biasadd8_1, (v16){0}));
        v16 biasadd9_0 = acc9_0 + bias0;
        store16(relu + 288, max16(biasadd9_0, (v16){0}));
        v16 biasadd9_1 = acc9_1 + bias1;
        store16(relu + 304, max16(biasadd9_1, (v16){0}));
        v16 biasadd10_0 = acc10_0 + bias0;
        store16(relu + 320, max16(biasadd10_0, (v16){0}));
        v16 biasadd10_1 = acc10_1 + bias1;
        store16(relu + 336, max16(biasadd10_1, (v16){0}));
        v16 biasadd11_0 = acc11_0 + bias0;
        store16(relu + 352, max16(biasadd11_0, (v16){0}));
        v16 biasadd11_1 = acc11_1 + bias1;
        store16(relu + 368, max16(biasadd11_1, (v16){0}));
        v16 biasadd12_0 = acc12_0 + bias0;
        store16(relu + 384, max16(biasadd12_0, (v16){0}));
        v16 biasadd12_1 = acc12_1 + bias1;
        store16(relu + 400, max16(biasadd12_1, (v16){0}));
        v16 biasadd13_0 = acc13_0 + bias0;
        store16(relu + 416, max16(biasadd13_0, (v16){0}));
        v16 biasadd13_1 = acc13_1 + bias1;
        store16(relu + 432, max16(biasadd13_1, (v16){0}));
    }
}

void ts_entry(float *const *buffers)
{
    kernel(buffers[0], buffers[1], buffers[2], buffers[3], buffers[4]);
}
