/* The families of convolutions: their parameters and help.  conv.c and transposed.c build them. */
#include "kernels/ops/conv.h"

#define ROW_I ROW_SIZE("i", "input channels")
#define ROW_O ROW_SIZE("o", "output channels")
#define ROWS_END ROW_BIAS("1: add a bias per output channel"), ROW_RELU, ROW_ACT
#define ROWS_2D(dilation) \
    ROW_N, ROW_I, ROWS_HW, ROW_O, ROWS_K2, ROWS_S2(1), ROWS_P2, ROWS_D2(dilation), ROWS_END
#define ROWS_OP2 \
    ROW_STEP("op", 0, 0, "output padding: more rows and columns at the end"), \
    ROW_STEP("oph", OP_UNSET, 0, "more output rows at the end"), \
    ROW_STEP("opw", OP_UNSET, 0, "more output columns at the end")
#define ROWS_OP3 \
    ROW_STEP("op", 0, 0, "output padding: more of every axis at the end"), \
    ROW_STEP("opd", OP_UNSET, 0, "more output planes at the end"), \
    ROW_STEP("oph", OP_UNSET, 0, "more output rows at the end"), \
    ROW_STEP("opw", OP_UNSET, 0, "more output columns at the end")

const struct op_family c1d_family = {
    .name = "c1d",
    .title = "1-D convolution",
    .example = "c1d n=1 i=64 w=256 o=128 k=3 s=2 p=1",
    .help = "Conv[n][o][w] = sum over i, kw of Inp[n][i][s*w + d*kw] * Ker[o][i][kw].  "
            "The input is N I W, Ker (O I KW) a constant, the output N O W with "
            "W = (w + 2*p - d*(k - 1) - 1) / s + 1.  With padding the caller's tensor is "
            "Inp_in and a pad node writes Inp.  bias=1 adds Bias (O), act= finishes with a "
            "function.",
    .data_params = { "n", "i", "w" },
    PARAMS(ROW_N, ROW_I, ROW_SIZE("w", "input columns, before padding"), ROW_O, ROWS_K1,
           ROWS_S1(1), ROWS_P1, ROWS_D1(1), ROWS_END),
    .build = conv_build,
};

const struct op_family c2d_family = {
    .name = "c2d",
    .title = "2-D convolution",
    .example = "c2d n=1 i=64 h=56 w=56 o=64 k=3 p=1",
    .help = "Conv[n][o][h][w] = sum over i, kh, kw of "
            "Inp[n][i][sh*h + dh*kh][sw*w + dw*kw] * Ker[o][i][kh][kw].  "
            "The input is N I H W, Ker (O I KH KW) a constant, the output N O H W with "
            "H = (h + 2*ph - dh*(kh - 1) - 1) / sh + 1.  With padding the caller's tensor is "
            "Inp_in and a pad node writes Inp; ph0, ph1, pw0, pw1 pad each side by its own.  "
            "bias=1 adds Bias (O); relu=1 applies ReLU at the end; act= applies any of the "
            "functions.",
    .data_params = { "n", "i", "h", "w" },
    PARAMS(ROWS_2D(1)),
    .build = conv_build,
};

const struct op_family c3d_family = {
    .name = "c3d",
    .title = "3-D convolution",
    .example = "c3d n=1 i=16 depth=8 h=28 w=28 o=32 k=3 p=1",
    .help = "Conv[n][o][d][h][w] = sum over i, kd, kh, kw of "
            "Inp[n][i][sd*d + dd*kd][sh*h + dh*kh][sw*w + dw*kw] * Ker[o][i][kd][kh][kw].  "
            "The input is N I D H W (D is depth=: d= is the dilation), Ker (O I KD KH KW) a "
            "constant, the output N O D H W.  With padding the caller's tensor is Inp_in and a "
            "pad node writes Inp.  bias=1 adds Bias (O), act= finishes with a function.",
    .data_params = { "n", "i", "depth", "h", "w" },
    PARAMS(ROW_N, ROW_I, ROWS_DHW, ROW_O, ROWS_K3, ROWS_S3(1), ROWS_P3, ROWS_D3(1), ROWS_END),
    .build = conv_build,
};

const struct op_family grp_family = {
    .name = "grp",
    .title = "grouped 2-D convolution",
    .example = "grp n=1 i=64 h=56 w=56 o=128 g=4 k=3 s=2 p=1",
    .help = "Conv[n][o][h][w] = sum over i, kh, kw of "
            "Inp[n][o / (O/g) * (I/g) + i][sh*h + dh*kh][sw*w + dw*kw] * Ker[o][i][kh][kw]: the "
            "O/g output channels of a group read its I/g input channels.  The input is N I H W, "
            "Ker (O I/g KH KW) a constant, the output N O H W.  The accesses have no division once "
            "O is split by O/g, at once or factor by factor.  Padding, bias=1 and act= as for c2d.",
    .data_params = { "n", "i", "h", "w" },
    PARAMS(ROW_N, ROW_I, ROWS_HW, ROW_O, ROW_SIZE("g", "groups; divides i and o"), ROWS_K2,
           ROWS_S2(1), ROWS_P2, ROWS_D2(1), ROWS_END),
    .build = conv_build,
};

const struct op_family dep_family = {
    .name = "dep",
    .title = "depthwise 2-D convolution",
    .example = "dep n=1 c=32 h=112 w=112 k=3 p=1",
    .help = "Conv[n][c][h][w] = sum over kh, kw of "
            "Inp[n][c][sh*h + dh*kh][sw*w + dw*kw] * Ker[c][kh][kw].  "
            "The input is N C H W, Ker (C KH KW) a constant, the output N C H W.  "
            "Padding, bias=1 and act= as for c2d.",
    .data_params = { "n", "c", "h", "w" },
    PARAMS(ROW_N, ROW_SIZE("c", "channels"), ROWS_HW, ROWS_K2, ROWS_S2(1), ROWS_P2, ROWS_D2(1),
           ROW_BIAS("1: add a bias per channel"), ROW_RELU, ROW_ACT),
    .build = conv_build,
};

const struct op_family dil_family = {
    .name = "dil",
    .title = "dilated 2-D convolution",
    .example = "dil n=1 i=64 h=56 w=56 o=64 k=3 p=2",
    .help = "c2d with d=2 unless given: Conv[n][o][h][w] = sum over i, kh, kw of "
            "Inp[n][i][sh*h + dh*kh][sw*w + dw*kw] * Ker[o][i][kh][kw].",
    .data_params = { "n", "i", "h", "w" },
    PARAMS(ROWS_2D(2)),
    .build = conv_build,
};

const struct op_family t2d_family = {
    .name = "t2d",
    .title = "transposed 2-D convolution",
    .example = "t2d n=1 i=64 h=28 w=28 o=32 k=4 s=2 p=1",
    .help = "The gather form: Conv[n][o][h][w] = sum over i, kh, kw of "
            "Inp[n][i][(h + kh + b) / s][(w + kw + b) / s] * Ker[i][o][KH-1-kh][KW-1-kw] where "
            "both divisions leave no remainder, else 0.  H = (h - 1)*s - 2*p + kh + op.  A pad "
            "node writes Inp from the caller's Inp_in: ceil((kh - 1 - p) / s) zeros on each side; "
            "b = (p - kh + 1) mod s.  Ker is I O KH KW, unflipped, as PyTorch and ONNX store it.  "
            "Split H and KH (W and KW) by s and unroll the inner parts, and the tests are "
            "constants.  bias=1 and act= as for c2d.",
    .data_params = { "n", "i", "h", "w" },
    PARAMS(ROW_N, ROW_I, ROWS_HW, ROW_O, ROWS_K2, ROWS_S2(1), ROWS_P2, ROWS_OP2, ROWS_D2(1),
           ROWS_END),
    .build = transposed_build,
};

const struct op_family t3d_family = {
    .name = "t3d",
    .title = "transposed 3-D convolution",
    .example = "t3d n=1 i=32 depth=8 h=7 w=7 o=16 k=3 s=2 p=1",
    .help = "t2d with a third axis D in front of H and W (its size is depth=): Ker is "
            "I O KD KH KW, the output N O D H W with D = (depth - 1)*s - 2*p + kd + op.",
    .data_params = { "n", "i", "depth", "h", "w" },
    PARAMS(ROW_N, ROW_I, ROWS_DHW, ROW_O, ROWS_K3, ROWS_S3(1), ROWS_P3, ROWS_OP3, ROWS_D3(1),
           ROWS_END),
    .build = transposed_build,
};
