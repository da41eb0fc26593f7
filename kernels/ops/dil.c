/* Dilated 2-D convolution: c2d with a dilation of 2 unless another is given. */
#include "kernels/ops/conv.h"

static const struct op_param params[] = {
    ROW_N, ROW_SIZE("i", "input channels"), ROWS_HW, ROW_SIZE("o", "output channels"), ROWS_K2,
    ROWS_S2(1), ROWS_P2, ROWS_D2(2), ROW_CONV_BIAS, ROW_RELU, ROW_ACT,
};

static bool canonical(int64_t *v, struct err *e)
{
    return window_canonical(&dil_family, v, e);
}

static bool build(struct graph *g, const int64_t *v, struct err *e)
{
    return conv_build(g, &(struct conv){ &dil_family, "conv2d", 2, false }, v, e);
}

static const char *const data_params[] = { "n", "i", "h", "w", NULL };

const struct op_family dil_family = {
    .data_params = data_params,
    .name = "dil",
    .title = "dilated 2-D convolution",
    .example = "dil n=1 i=64 h=56 w=56 o=64 k=3 p=2",
    .help = "c2d with d=2 unless given: Conv[n][o][h][w] = sum over i, kh, kw of "
            "Inp[n][i][sh*h + dh*kh][sw*w + dw*kw] * Ker[o][i][kh][kw].",
    .n_params = COUNT_OF(params),
    .params = params,
    .build = build,
    .canonical = canonical,
};
