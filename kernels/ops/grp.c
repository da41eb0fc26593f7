/* Grouped 2-D convolution: the builder of conv.c with g groups of channels. */
#include "kernels/ops/conv.h"

static const struct op_param params[] = {
    ROW_N, ROW_SIZE("i", "input channels"), ROWS_HW, ROW_SIZE("o", "output channels"),
    ROW_SIZE("g", "groups; divides i and o"), ROWS_K2, ROWS_S2(1), ROWS_P2, ROWS_D2(1),
    ROW_CONV_BIAS, ROW_RELU, ROW_ACT,
};

static bool canonical(int64_t *v, struct err *e)
{
    return window_canonical(&grp_family, v, e);
}

static bool build(struct graph *g, const int64_t *v, struct err *e)
{
    return conv_build(g, &(struct conv){ &grp_family, "conv2d", 2, false }, v, e);
}

static const char *const data_params[] = { "n", "i", "h", "w", NULL };

const struct op_family grp_family = {
    .data_params = data_params,
    .name = "grp",
    .title = "grouped 2-D convolution",
    .example = "grp n=1 i=64 h=56 w=56 o=128 g=4 k=3 s=2 p=1",
    .help = "Conv[n][o][h][w] = sum over i, kh, kw of "
            "Inp[n][o / (O/g) * (I/g) + i][sh*h + dh*kh][sw*w + dw*kw] * Ker[o][i][kh][kw]: the "
            "O/g output channels of a group read its I/g input channels.  The input is N I H W, "
            "Ker (O I/g KH KW) a constant, the output N O H W.  Split O by O/g, or by divisors of "
            "it all the way, and the accesses have no division.  Padding, bias=1 and act= as "
            "for c2d.",
    .n_params = COUNT_OF(params),
    .params = params,
    .build = build,
    .canonical = canonical,
};
