/* 3-D convolution: the builder of conv.c over D, H and W. */
#include "kernels/ops/conv.h"

static const struct op_param params[] = {
    ROW_N, ROW_SIZE("i", "input channels"), ROWS_DHW, ROW_SIZE("o", "output channels"), ROWS_K3,
    ROWS_S3(1), ROWS_P3, ROWS_D3(1), ROW_CONV_BIAS, ROW_RELU, ROW_ACT,
};

static bool canonical(int64_t *v, struct err *e)
{
    return window_canonical(&c3d_family, v, e);
}

static bool build(struct graph *g, const int64_t *v, struct err *e)
{
    return conv_build(g, &(struct conv){ &c3d_family, "conv3d", 3, false }, v, e);
}

static const char *const data_params[] = { "n", "i", "depth", "h", "w", NULL };

const struct op_family c3d_family = {
    .data_params = data_params,
    .name = "c3d",
    .title = "3-D convolution",
    .example = "c3d n=1 i=16 depth=8 h=28 w=28 o=32 k=3 p=1",
    .help = "Conv[n][o][d][h][w] = sum over i, kd, kh, kw of "
            "Inp[n][i][sd*d + dd*kd][sh*h + dh*kh][sw*w + dw*kw] * Ker[o][i][kd][kh][kw].  "
            "The input is N I D H W (D is depth=: d= is the dilation), Ker (O I KD KH KW) a "
            "constant, the output N O D H W.  With padding the caller's tensor is Inp_in and a "
            "pad node writes Inp.  bias=1 adds Bias (O), act= finishes with a function.",
    .n_params = COUNT_OF(params),
    .params = params,
    .build = build,
    .canonical = canonical,
};
