/* 2-D convolution: the builder of conv.c over H and W. */
#include "kernels/ops/conv.h"

static const struct op_param params[] = {
    ROW_N, ROW_SIZE("i", "input channels"), ROWS_HW, ROW_SIZE("o", "output channels"), ROWS_K2,
    ROWS_S2(1), ROWS_P2, ROWS_D2(1), ROW_CONV_BIAS, ROW_RELU, ROW_ACT,
};

static bool canonical(int64_t *v, struct err *e)
{
    return window_canonical(&c2d_family, v, e);
}

static bool build(struct graph *g, const int64_t *v, struct err *e)
{
    return conv_build(g, &(struct conv){ &c2d_family, "conv2d", 2, false }, v, e);
}

static const char *const data_params[] = { "n", "i", "h", "w", NULL };

const struct op_family c2d_family = {
    .data_params = data_params,
    .name = "c2d",
    .title = "2-D convolution",
    .example = "c2d n=1 i=64 h=56 w=56 o=64 k=3 p=1",
    .help = "Conv[n][o][h][w] = sum over i, kh, kw of "
            "Inp[n][i][sh*h + dh*kh][sw*w + dw*kw] * Ker[o][i][kh][kw].  "
            "The input is N I H W, Ker (O I KH KW) a constant, the output N O H W with "
            "H = (h + 2*ph - dh*(kh - 1) - 1) / sh + 1.  With padding the caller's tensor is "
            "Inp_in and a pad node writes Inp; ph0, ph1, pw0, pw1 pad each side by its own.  "
            "bias=1 adds Bias (O), relu=1 finishes with ReLU, act= with that or another function.",
    .n_params = COUNT_OF(params),
    .params = params,
    .build = build,
    .canonical = canonical,
};
