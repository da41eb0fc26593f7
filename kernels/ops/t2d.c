/* Transposed 2-D convolution: the builder of transposed.c over H and W. */
#include "kernels/ops/conv.h"

static const struct op_param params[] = {
    ROW_N, ROW_SIZE("i", "input channels"), ROWS_HW, ROW_SIZE("o", "output channels"), ROWS_K2,
    ROWS_S2(1), ROWS_P2, ROWS_OP2, ROWS_D2(1), ROW_CONV_BIAS, ROW_RELU, ROW_ACT,
};

static bool canonical(int64_t *v, struct err *e)
{
    return window_canonical(&t2d_family, v, e);
}

static bool build(struct graph *g, const int64_t *v, struct err *e)
{
    return transposed_build(g, &(struct conv){ &t2d_family, "tconv2d", 2, false }, v, e);
}

static const char *const data_params[] = { "n", "i", "h", "w", NULL };

const struct op_family t2d_family = {
    .data_params = data_params,
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
    .n_params = COUNT_OF(params),
    .params = params,
    .build = build,
    .canonical = canonical,
};
