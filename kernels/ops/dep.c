/* Depthwise 2-D convolution: the builder of conv.c with one filter a channel. */
#include "kernels/ops/conv.h"

static const struct op_param params[] = {
    ROW_N, ROW_SIZE("c", "channels"), ROWS_HW, ROWS_K2, ROWS_S2(1), ROWS_P2, ROWS_D2(1),
    ROW_BIAS("1: add a bias per channel"), ROW_RELU, ROW_ACT,
};

static bool canonical(int64_t *v, struct err *e)
{
    return window_canonical(&dep_family, v, e);
}

static bool build(struct graph *g, const int64_t *v, struct err *e)
{
    return conv_build(g, &(struct conv){ &dep_family, "dwconv2d", 2, true }, v, e);
}

static const char *const data_params[] = { "n", "c", "h", "w", NULL };

const struct op_family dep_family = {
    .data_params = data_params,
    .name = "dep",
    .title = "depthwise 2-D convolution",
    .example = "dep n=1 c=32 h=112 w=112 k=3 p=1",
    .help = "Conv[n][c][h][w] = sum over kh, kw of "
            "Inp[n][c][sh*h + dh*kh][sw*w + dw*kw] * Ker[c][kh][kw].  "
            "The input is N C H W, Ker (C KH KW) a constant, the output N C H W.  "
            "Padding, bias=1 and act= as for c2d.",
    .n_params = COUNT_OF(params),
    .params = params,
    .build = build,
    .canonical = canonical,
};
