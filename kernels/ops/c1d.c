/* 1-D convolution: the builder of conv.c over W. */
#include "kernels/ops/conv.h"

static const struct op_param params[] = {
    ROW_N, ROW_SIZE("i", "input channels"), ROW_SIZE("w", "input columns, before padding"),
    ROW_SIZE("o", "output channels"), ROWS_K1, ROWS_S1(1), ROWS_P1, ROWS_D1(1), ROW_CONV_BIAS,
    ROW_RELU, ROW_ACT,
};

static bool canonical(int64_t *v, struct err *e)
{
    return window_canonical(&c1d_family, v, e);
}

static bool build(struct graph *g, const int64_t *v, struct err *e)
{
    return conv_build(g, &(struct conv){ &c1d_family, "conv1d", 1, false }, v, e);
}

static const char *const data_params[] = { "n", "i", "w", NULL };

const struct op_family c1d_family = {
    .data_params = data_params,
    .name = "c1d",
    .title = "1-D convolution",
    .example = "c1d n=1 i=64 w=256 o=128 k=3 s=2 p=1",
    .help = "Conv[n][o][w] = sum over i, kw of Inp[n][i][s*w + d*kw] * Ker[o][i][kw].  "
            "The input is N I W, Ker (O I KW) a constant, the output N O W with "
            "W = (w + 2*p - d*(k - 1) - 1) / s + 1.  With padding the caller's tensor is "
            "Inp_in and a pad node writes Inp.  bias=1 adds Bias (O), act= finishes with a "
            "function.",
    .n_params = COUNT_OF(params),
    .params = params,
    .build = build,
    .canonical = canonical,
};
