#include "tests/unit/gen_cases.h"

#include <glob.h>
#include <string.h>

#include "kernels/base/file.h"
#include "kernels/base/vec.h"
#include "kernels/program/program.h"
#include "tests/unit/tree_text.h"

/* One tree per row; the name says what is special. */
static const struct { const char *name, *text, *golden; } trees[] = {
    { "matrix product, 8 x 32 register tile",
      "in A[8][64][8]\nin B[2][64][32]\nout C[64][64]\n"
      "for n.0 2 parallel\n"
      "  for m.0 8 parallel\n"
      "    tile C_acc[8][2][16]\n"
      "      for m.1 8 unroll\n"
      "        for n.1 2 unroll\n"
      "          for n.2 16 vectorize\n"
      "            C_acc[m.1][n.1][n.2] = 0\n"
      "      for k 64 reduce\n"
      "        for m.1 8 unroll\n"
      "          for n.1 2 unroll\n"
      "            for n.2 16 vectorize\n"
      "              C_acc[m.1][n.1][n.2] += A[m.0][k][m.1] * B[n.0][k][16*n.1 + n.2]\n"
      "      for m.1 8 unroll\n"
      "        for n.1 2 unroll\n"
      "          for n.2 16 vectorize\n"
      "            C[8*m.0 + m.1][32*n.0 + 16*n.1 + n.2] = C_acc[m.1][n.1][n.2]\n",
      "tests/golden/c/gemm.c" },
    { "convolution with padding, bias and ReLU, taps of a row unrolled",
      "in Inp_in[1][2][6][14]\nin Ker[3][3][2][32]\nin Bias[32]\n"
      "inout Inp[1][8][16][2]\nout ReLU[1][6][14][32]\n"
      "for n 1\n"
      "  for h 8\n"
      "    for w 16\n"
      "      for i 2\n"
      "        Inp[n][h][w][i] = select(h >= 1 && h < 7 && w >= 1 && w < 15, "
      "Inp_in[n][i][h - 1][w - 1], 0)\n"
      "for n 1\n"
      "  for h 6 parallel\n"
      "    tile Conv_acc[14][2][16]\n"
      "      for w 14 unroll\n"
      "        for o.0 2 unroll\n"
      "          for o.1 16 vectorize\n"
      "            Conv_acc[w][o.0][o.1] = 0\n"
      "      for kh 3 reduce\n"
      "        for i 2 reduce\n"
      "          for kw 3 reduce unroll\n"
      "            for w 14 unroll\n"
      "              for o.0 2 unroll\n"
      "                for o.1 16 vectorize\n"
      "                  Conv_acc[w][o.0][o.1] += Inp[n][h + kh][w + kw][i] * "
      "Ker[kh][kw][i][16*o.0 + o.1]\n"
      "      tile BiasAdd_tile[14][2][16]\n"
      "        for w 14 unroll\n"
      "          for o.0 2 unroll\n"
      "            for o.1 16 vectorize\n"
      "              BiasAdd_tile[w][o.0][o.1] = Conv_acc[w][o.0][o.1] + Bias[16*o.0 + "
      "o.1]\n"
      "              ReLU[n][h][w][16*o.0 + o.1] = max(BiasAdd_tile[w][o.0][o.1], 0)\n",
      "tests/golden/c/conv.c" },
    { "scalar loops",
      "in A[5][7]\nout C[5]\n"
      "for m 5\n"
      "  C[m] = 0\n"
      "  for k 7 reduce\n"
      "    C[m] += A[m][k] * A[m][k] - 2\n",
      NULL },
    { "reduction outside, nothing to keep",
      "in A[7][5]\nout C[5]\n"
      "for m 5\n"
      "  C[m] = 0\n"
      "for k 7 reduce\n"
      "  for m 5\n"
      "    C[m] += A[k][m]\n",
      NULL },
    { "register tile",
      "in A[3][9][4]\nin B[2][9][32]\nout C[12][64]\n"
      "for n.0 2 parallel\n"
      "  for m.0 3\n"
      "    tile C_acc[4][2][16]\n"
      "      for m.1 4 unroll\n"
      "        for n.1 2 unroll\n"
      "          for n.2 16 vectorize\n"
      "            C_acc[m.1][n.1][n.2] = 0\n"
      "      for k 9 reduce\n"
      "        for m.1 4 unroll\n"
      "          for n.1 2 unroll\n"
      "            for n.2 16 vectorize\n"
      "              C_acc[m.1][n.1][n.2] += A[m.0][k][m.1] * B[n.0][k][16*n.1 + n.2]\n"
      "      for m.1 4 unroll\n"
      "        for n.1 2 unroll\n"
      "          for n.2 16 vectorize\n"
      "            C[4*m.0 + m.1][32*n.0 + 16*n.1 + n.2] = C_acc[m.1][n.1][n.2]\n",
      NULL },
    { "register tile with fused epilogue",
      "in A[3][9][4]\nin B[9][32]\nin Bias[32]\nout R[12][32]\n"
      "for m.0 3\n"
      "  tile C_acc[4][32]\n"
      "    for m.1 4 unroll\n"
      "      for n 32 vectorize\n"
      "        C_acc[m.1][n] = 0\n"
      "    for k 9 reduce\n"
      "      for m.1 4 unroll\n"
      "        for n 32 vectorize\n"
      "          C_acc[m.1][n] += A[m.0][k][m.1] * B[k][n]\n"
      "    tile BiasAdd_tile[4][32]\n"
      "      for m.1 4 unroll\n"
      "        for n 32 vectorize\n"
      "          BiasAdd_tile[m.1][n] = C_acc[m.1][n] + Bias[n]\n"
      "          R[4*m.0 + m.1][n] = max(BiasAdd_tile[m.1][n], 0)\n",
      NULL },
    { "tile as an array: serial loops index it",
      "in A[9][12]\nin B[9][16]\nout C[12][16]\n"
      "tile C_acc[12][16]\n"
      "  for m 12\n"
      "    for n 16 vectorize\n"
      "      C_acc[m][n] = 0\n"
      "  for k 9 reduce\n"
      "    for m 12\n"
      "      for n 16 vectorize\n"
      "        C_acc[m][n] += A[k][m] * B[k][n]\n"
      "  for m 12\n"
      "    for n 16 vectorize\n"
      "      C[m][n] = C_acc[m][n]\n",
      NULL },
    { "odd vector extents: 16 + 8 + 2 + 1",
      "in A[3][27]\nout C[3][27]\n"
      "for m 3\n"
      "  tile T[27]\n"
      "    for n 27 vectorize\n"
      "      T[n] = A[m][n] * 3\n"
      "    for n 27 vectorize\n"
      "      C[m][n] = T[n] + A[m][n]\n",
      NULL },
    { "gather and scatter with a stride",
      "in A[5][16][3]\nout C[16][5]\nout D[5][48]\n"
      "for m 5\n"
      "  for n 16 vectorize\n"
      "    C[n][m] = A[m][n][1] + A[m][n][2]\n"
      "    D[m][3*n + 1] = A[m][n][0]\n"
      "    D[m][3*n] = 7\n"
      "    D[m][3*n + 2] = 0\n",
      NULL },
    { "lanes through div and mod",
      "in A[4][3][4]\nout C[3][16]\n"
      "for m 3\n"
      "  for n 16 vectorize\n"
      "    C[m][n] = A[n / 4][m][n % 4] * 2\n",
      NULL },
    { "lanes of one aligned vector are shuffled; across its end, or in odd buffers, not",
      "in A[5][32]\nin B[5][31]\nin D[70]\nout C[5][16]\nout E[5][16]\nout F[5][16]\n"
      "for m 5\n"
      "  for n 16 vectorize\n"
      "    C[m][n] = A[m][16 + n / 4 * 4 + 3] - A[m][15 - n]\n"
      "    E[m][n] = A[m][n / 2 + 10] + B[m][n / 4 * 4]\n"
      "    F[m][n] = D[m + n / 4 * 4] + D[16 * ((m + 1) / 2) + n / 8]\n",
      "tests/golden/c/shuffle.c" },
    { "stored past the caches: whole aligned vectors, nothing else",
      "in A[4][40]\nstream C[4][48]\nstream D[4][40]\nstream E[4][32]\nstream F[4]\n"
      "for m 4\n"
      "  for n 40 vectorize\n"
      "    C[m][n] = A[m][n]\n"
      "    D[m][n] = A[m][n] * 2\n"
      "  for n 32 vectorize\n"
      "    E[m][n] = 1\n"
      "  for n 32 vectorize\n"
      "    E[m][n] += A[m][n]\n"
      "  F[m] = A[m][0]\n",
      "tests/golden/c/stream.c" },
    { "hints for the next row, in turns, and for the next panel",
      "in A[3][6][40]\nin B[2][40][32]\nout C[18][64]\n"
      "for n.0 2 prefetch B 1\n"
      "  for m.0 3 prefetch A 1\n"
      "    tile C_acc[6][32]\n"
      "      for m.1 6 unroll\n"
      "        for n.1 32 vectorize\n"
      "          C_acc[m.1][n.1] = 0\n"
      "      for k 40 reduce\n"
      "        for m.1 6 unroll\n"
      "          for n.1 32 vectorize\n"
      "            C_acc[m.1][n.1] += A[m.0][m.1][k] * B[n.0][k][n.1]\n"
      "      for m.1 6 unroll\n"
      "        for n.1 32 vectorize\n"
      "          C[6*m.0 + m.1][32*n.0 + n.1] = C_acc[m.1][n.1]\n",
      "tests/golden/c/prefetch.c" },
    { "a tensor with the name of a helper",
      "in prefetch[4][40]\nout C[4]\n"
      "for m 4 prefetch prefetch 1\n"
      "  C[m] = 0\n"
      "  for k 40 reduce\n"
      "    C[m] += prefetch[m][k]\n",
      NULL },
    { "lanes of a fused loop that are contiguous after all",
      "in A[8][32]\nout C[8][32]\n"
      "for f 8\n"
      "  for n 32 vectorize\n"
      "    C[(32*f + n) / 32][(32*f + n) % 32] = A[f][n] + 1\n",
      NULL },
    { "guard on the lane",
      "in A[4][13]\nout C[4][13]\n"
      "for m 4\n"
      "  for n.0 2\n"
      "    for n.1 8 vectorize\n"
      "      if 8*n.0 + n.1 < 13: C[m][8*n.0 + n.1] = A[m][8*n.0 + n.1] - 1\n",
      NULL },
    { "guard on the lane of a register tile",
      "in A[9][2]\nin B[9][16]\nout C[2][11]\n"
      "tile C_acc[2][16]\n"
      "  for m 2 unroll\n"
      "    for n 16 vectorize\n"
      "      C_acc[m][n] = 0\n"
      "  for k 9 reduce\n"
      "    for m 2 unroll\n"
      "      for n 16 vectorize\n"
      "        C_acc[m][n] += A[k][m] * B[k][n]\n"
      "  for m 2 unroll\n"
      "    for n 16 vectorize\n"
      "      if n < 11: C[m][n] = C_acc[m][n]\n",
      NULL },
    { "guard on outer loops, taken out of inner ones",
      "in A[10][6]\nout C[10]\n"
      "for m.0 3\n"
      "  for m.1 4\n"
      "    if 4*m.0 + m.1 < 10: C[4*m.0 + m.1] = 0\n"
      "    for k.0 2 reduce\n"
      "      for k.1 4 reduce\n"
      "        if 4*m.0 + m.1 < 10 && 4*k.0 + k.1 < 6: C[4*m.0 + m.1] += A[4*m.0 + "
      "m.1][4*k.0 + k.1]\n",
      NULL },
    { "padding by select, scalar and on lanes",
      "in A[6][6]\nout P[8][8]\nout Q[8][8]\n"
      "for h 8\n"
      "  for w 8\n"
      "    P[h][w] = select(h >= 1 && h < 7 && w >= 1 && w < 7, A[h - 1][w - 1], 0)\n"
      "for h 8\n"
      "  for w 8 vectorize\n"
      "    Q[h][w] = select(h >= 1 && h < 7 && w >= 1 && w < 7, A[h - 1][w - 1], 0)\n",
      NULL },
    { "select with a condition outside the lanes",
      "in A[6][16]\nout P[8][16]\n"
      "for h 8\n"
      "  for w 16 vectorize\n"
      "    P[h][w] = select(h < 6, A[h][w] * 2, 0.5) + 1\n",
      NULL },
    { "peeled loops: begin and end depend on outer variables",
      "in A[8]\nin K[3]\nout C[8]\n"
      "for h 8\n"
      "  C[h] = 0\n"
      "  for kh 3 reduce from max(0, 1 - h) to min(3, 9 - h)\n"
      "    C[h] += A[h + kh - 1] * K[kh]\n",
      NULL },
    { "max reduction and minimum",
      "in A[6][20]\nout C[6]\nout D[6]\n"
      "for m 6\n"
      "  C[m] = -100\n"
      "  for k 20 reduce\n"
      "    C[m] max= A[m][k]\n"
      "for m 6\n"
      "  D[m] = 100\n"
      "for m 6\n"
      "  for k 20 reduce\n"
      "    D[m] = min(D[m], A[m][k])\n",
      NULL },
    { "vector max reduction and division",
      "in A[20][16]\nout C[16]\n"
      "for n 16 vectorize\n"
      "  C[n] = -100\n"
      "for k 20 reduce\n"
      "  for n 16 vectorize\n"
      "    C[n] max= A[k][n] / 2\n"
      "for n 16 vectorize\n"
      "  C[n] = min(max(C[n], -1.5), 1.5)\n",
      NULL },
    { "taps unrolled with shared inputs: more values than registers",
      "in A[20][32]\nin K[5][32]\nout C[14][32]\n"
      "tile C_acc[14][32]\n"
      "  for w 14 unroll\n"
      "    for o 32 vectorize\n"
      "      C_acc[w][o] = 0\n"
      "  for i 2 reduce\n"
      "    for k 5 reduce unroll\n"
      "      for w 14 unroll\n"
      "        for o 32 vectorize\n"
      "          C_acc[w][o] += A[w + k][i] * K[k][o]\n"
      "  for w 14 unroll\n"
      "    for o 32 vectorize\n"
      "      C[w][o] = C_acc[w][o]\n",
      NULL },
    { "depthwise: weights kept over the innermost loop",
      "in A[10][16]\nin K[3][16]\nout C[8][16]\n"
      "for c.0 1\n"
      "  for w 8\n"
      "    for c.1 16 vectorize\n"
      "      C[w][c.1] = A[w][c.1] * K[0][c.1] + A[w + 1][c.1] * K[1][c.1] + A[w + "
      "2][c.1] * K[2][c.1]\n",
      NULL },
    { "in place: stores end the life of loads",
      "inout A[8]\nout C[8]\n"
      "for m 1 unroll\n"
      "  A[0] = A[0] + A[1]\n"
      "  A[1] = A[0] * A[2] + A[0]\n"
      "  A[0] += A[1] * A[0]\n"
      "  C[0] = A[0] - A[1]\n"
      "  C[1] = A[0] - A[1]\n"
      "for m 8 vectorize\n"
      "  if m >= 2: C[m] = A[m]\n",
      NULL },
    { "no dimensions and unit loops",
      "in A[1][4]\nout S\n"
      "for n 1 parallel\n"
      "  S = 0\n"
      "  for k 4 reduce\n"
      "    S += A[n][k]\n",
      NULL },
    { "negative operands of div and mod",
      "in A[16]\nout C[12]\n"
      "for m 12\n"
      "  C[m] = select((m - 6) / 4 == -2, A[(m - 5) % 4], A[(m - 9) / 4 + 3] + A[(m + "
      "3) / 4])\n",
      NULL },
    { "two variables of one name on a path are told apart",
      "in A[4][6]\nout C[6][4]\n"
      "for h.0 4\n"
      "  for h_0 6\n"
      "    C[h_0][h.0] = A[h.0][h_0]\n",
      NULL },
    { "names that C or the generator needs",
      "in float[4]\nin v16[4]\nout int[4]\n"
      "for main 4\n"
      "  int[main] = float[main] + v16[main]\n",
      NULL },
    { "names of the helpers of streamed stores, and macros of C's headers",
      "in NAN[4][16]\nin INT8_MAX[4][16]\nstream stream_done[4][16]\nstream stream16[4][16]\n"
      "for stderr 4\n"
      "  for n 16 vectorize\n"
      "    stream_done[stderr][n] = NAN[stderr][n] + INT8_MAX[stderr][n]\n"
      "for EOF 4\n"
      "  for n 16 vectorize\n"
      "    stream16[EOF][n] = NAN[EOF][n] - INT8_MAX[EOF][n]\n",
      NULL },
    { "a loop called like the lanes, and an index that is not linear in them",
      "in A[16][16][4]\nout C[16][64]\n"
      "for lane 16\n"
      "  for c 64 vectorize\n"
      "    C[lane][c] = A[c % 16][lane][c / 16] * 2\n",
      NULL },
    { "collapse of parallel loops, parallel inside",
      "in A[4][3][8]\nout C[4][3][8]\n"
      "for a 4 parallel\n"
      "  for b 3 parallel\n"
      "    for c 8\n"
      "      C[a][b][c] = A[a][b][c] + 1\n",
      NULL },
    { "scalar tile of a serial reduction, in one register",
      "in A[6][9]\nout C[6]\n"
      "for m 6\n"
      "  tile C_acc[1]\n"
      "    C_acc[0] = 0\n"
      "    for k 9 reduce\n"
      "      C_acc[0] += A[m][k]\n"
      "    C[m] = C_acc[0] * 2\n",
      NULL },
    { "a tile that is only written is no code at all",
      "in A[6]\nout C[6]\n"
      "for m 6\n"
      "  tile T_tile[1]\n"
      "    T_tile[0] = A[m]\n"
      "    C[m] = A[m] - 1\n",
      NULL },
    { "a tile that only one copy of an unrolled loop reads",
      "in A[4]\nout C[2]\n"
      "for m 2 unroll\n"
      "  tile T_tile[3]\n"
      "    for i 3\n"
      "      T_tile[i] = A[m + i]\n"
      "    if m < 1: C[m] = 0\n"
      "    for i 3\n"
      "      if m < 1: C[m] += T_tile[i]\n",
      NULL },
    { "tile set under conditions",
      "in A[4]\nout C[4]\n"
      "for m 4\n"
      "  tile T[1]\n"
      "    if m < 2: T[0] = A[m] + 1\n"
      "    if m >= 2: T[0] = A[m] - 1\n"
      "    C[m] = T[0] * 2\n",
      NULL },
    { "tile set lane by lane",
      "in A[3][16]\nout C[3][16]\n"
      "for m 3\n"
      "  tile T[16]\n"
      "    for n 16 vectorize\n"
      "      if n < 11: T[n] = A[m][n]\n"
      "    for n 16 vectorize\n"
      "      if n >= 11: T[n] = 5\n"
      "    for n 16 vectorize\n"
      "      C[m][n] = T[n] * 2\n",
      NULL },
    { "lanes that add up in one place",
      "in A[3][16]\nout C[3]\n"
      "for m 3\n"
      "  C[m] = 0\n"
      "  for k 16 vectorize\n"
      "    C[m] += A[m][k]\n",
      NULL },
    { "lanes that read what the lane before wrote",
      "inout A[17]\n"
      "for n 16 vectorize\n"
      "  A[n + 1] = A[n] + 1\n",
      NULL },
    { "an unrolled loop inside the lanes",
      "in A[2][16]\nout C[2][16]\n"
      "for n 16 vectorize\n"
      "  for m 2 unroll\n"
      "    C[m][n] = A[1 - m][n] + 1\n",
      NULL },
    { "functions of floats and of lanes",
      "in A[3][20]\nout C[3][20]\nout D[3]\n"
      "for m 3\n"
      "  for n 20 vectorize\n"
      "    C[m][n] = exp(A[m][n] / 8) - tanh(A[m][n]) - erf(max(A[m][n], 0))\n"
      "for m 3\n"
      "  D[m] = sqrt(log(A[m][0] * A[m][1] * A[m][0] * A[m][1] + 3))\n",
      "tests/golden/c/functions.c" },
    { "rows that are summed up in lanes, and largest elements",
      "in A[3][45]\nout S[3]\nout L[3]\n"
      "for m 3\n"
      "  S[m] = 0\n"
      "  for n 45 reduce vectorize\n"
      "    S[m] += A[m][n] * 2\n"
      "for m 3\n"
      "  L[m] = -100\n"
      "  for n 45 reduce vectorize\n"
      "    L[m] max= A[m][n]\n",
      "tests/golden/c/row_lanes.c" },
    { "functions on two lanes are not those of C with a 2",
      "in A[4][2]\nout C[4][2]\n"
      "for m 4\n"
      "  for n 2 vectorize\n"
      "    C[m][n] = exp(A[m][n]) + log(A[m][n] * A[m][n] + 1)\n",
      NULL },
    { "a function of one number for all lanes, and under a condition",
      "in A[4][16]\nout C[4][16]\nout exp_v16[4][16]\n"
      "for m 4\n"
      "  for n 16 vectorize\n"
      "    C[m][n] = A[m][n] + exp(A[m][0])\n"
      "for m 4\n"
      "  for n 16 vectorize\n"
      "    exp_v16[m][n] = select(m < 2, tanh(A[m][n]), sqrt(C[m][n] * C[m][n]))\n",
      NULL },
    { "a tile of more pieces than are named",
      "in A[300]\nout C[300]\n"
      "tile T[300]\n"
      "  for n 300 unroll\n"
      "    T[n] = A[n] * 2\n"
      "  for n 300 unroll\n"
      "    C[n] = T[299 - n]\n",
      NULL },
    { "a tile that is too large for the stack, filled in parallel",
      "in A[70]\nout C[70]\n"
      "tile T[70][1000]\n"
      "  for m 70 parallel\n"
      "    for n 1000\n"
      "      T[m][n] = A[m]\n"
      "  for m 70\n"
      "    C[m] = T[m][999]\n",
      "tests/golden/c/shared.c" },
    { "a tile per thread that is too large for the stack",
      "in A[3]\nout C[3]\n"
      "for m 3 parallel\n"
      "  tile T[70000]\n"
      "    for n 70000\n"
      "      T[n] = A[m]\n"
      "    C[m] = T[69999]\n",
      NULL },
    { "reduction that may be empty, with nothing set before",
      "in A[11]\ninout C[8]\n"
      "for h 8\n"
      "  for k 3 reduce from min(h, 3) to 3\n"
      "    C[h] += A[h + k]\n",
      NULL },
    { "two sums at once, and a parameter that nobody reads",
      "in A[3][9]\nin B[4]\nout C[3]\nout D[3]\n"
      "for m 3\n"
      "  C[m] = 0\n"
      "  D[m] = 1\n"
      "  for k 9 reduce\n"
      "    C[m] += A[m][k]\n"
      "    D[m] += A[m][k] * A[m][8 - k]\n",
      NULL },
    { "what was loaded may be overwritten at another place",
      "inout A[4]\nout C[4][4]\nout D[4][4]\n"
      "for m 4\n"
      "  for k 4\n"
      "    C[m][k] = A[m] * 2\n"
      "    A[k] = C[m][k] + 1\n"
      "    D[m][k] = A[m]\n",
      NULL },
    { "an old value that is read on a condition only",
      "inout A[6]\nout C[6]\n"
      "for m 6\n"
      "  A[m] = select(m < 2, A[m] * 2, 1)\n"
      "  C[m] = A[m] + 3\n",
      NULL },
    { "unit loops among unrolled ones, and an index that falls",
      "in A[16]\nout C[5][4]\n"
      "for m 5\n"
      "  for n 2 unroll\n"
      "    for i 1 unroll\n"
      "      for k 2 unroll\n"
      "        C[m][2*n + i + k] = A[15 - 3*m] * 2\n",
      NULL },
    { "hints for places that the inner loop does not pass evenly",
      "in A[4][8][5]\nout C[4]\n"
      "for m 4 prefetch A 1\n"
      "  C[m] = 0\n"
      "  for k 40 reduce\n"
      "    C[m] += A[m][k % 8][k / 8]\n",
      NULL },
    { "sums that are read before the loop, and hints out of order",
      "in A[3][40]\nout C[3]\nout D[3]\n"
      "for m 3 prefetch A 1\n"
      "  C[m] = A[m][20] + A[m][0] + A[m][3]\n"
      "  D[m] = C[m]\n"
      "  for k 9 reduce\n"
      "    C[m] += A[m][k]\n",
      NULL },
    { "a tile of which the last vector is set first",
      "in A[2][16]\nout C[2][16]\n"
      "tile T[2][16]\n"
      "  for m 2 unroll\n"
      "    for n 16 vectorize\n"
      "      T[1 - m][n] = A[m][n]\n"
      "  for m 2 unroll\n"
      "    for n 16 vectorize\n"
      "      C[m][n] = T[m][n] * 2\n",
      NULL },
    { "a condition on the reduction variable",
      "in A[8]\ninout C[4]\n"
      "for m 4\n"
      "  for k 8 reduce\n"
      "    if k < 5: C[m] += A[k]\n",
      NULL },
};

/* The nests whose C is compared as well. */
static const struct { const char *nest, *golden; } of_nest[] = {
    { "/split-tail.in", "tests/golden/c/tail.c" },
    { "/store-at.in", "tests/golden/c/store_at.c" },
};

/* A .in file: comment lines, the operator, then steps. */
static const struct func *lowered(struct arena *a, const char *path)
{
    struct str text = { 0 };
    struct err e;
    const struct program *p = NULL;
    const struct func *f;
    char *rest = NULL;
    if (!file_read(path, 1 << 20, &text, &e))
        fail("%s", e.text);
    for (char *l = strtok_r(text.data, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest))
        if (l[0] != '#' && !(p ? program_apply_line(p, l, &p, &e) : program_new(a, l, &p, &e)))
            fail("%s: %s: %s", path, l, e.text);
    str_free(&text);
    if (!program_lower(p, &f, &e))
        fail("%s: %s", path, e.text);
    return f;
}

const struct gen_case *gen_cases(struct arena *a, int *n)
{
    VEC(struct gen_case) all = { 0 };
    for (int i = 0; i < COUNT_OF(trees); i++) {
        const struct func *f = tree_from_text(a, trees[i].text);
        vec_push(&all, (struct gen_case){ trees[i].name, f, trees[i].golden });
    }
    glob_t g;
    if (glob("tests/golden/nest/*.in", 0, NULL, &g) != 0)
        fail("no tests/golden/nest");
    for (size_t i = 0; i < g.gl_pathc; i++) {
        const char *name = arena_strdup(a, g.gl_pathv[i]);
        const char *golden = NULL;
        for (int k = 0; k < COUNT_OF(of_nest); k++)
            if (strstr(name, of_nest[k].nest))
                golden = of_nest[k].golden;
        vec_push(&all, (struct gen_case){ name, lowered(a, name), golden });
    }
    globfree(&g);
    const struct gen_case *copy = ARENA_DUP(a, all.data, all.len);
    *n = all.len;
    vec_free(&all);
    return copy;
}
