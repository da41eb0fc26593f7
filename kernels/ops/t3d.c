/* Transposed 3-D convolution: the builder of transposed.c over D, H and W. */
#include "kernels/ops/conv.h"

static const struct op_param params[] = {
    ROW_N, ROW_SIZE("i", "input channels"), ROWS_DHW, ROW_SIZE("o", "output channels"), ROWS_K3,
    ROWS_S3(1), ROWS_P3, ROWS_OP3, ROWS_D3(1), ROW_CONV_BIAS, ROW_RELU, ROW_ACT,
};

static bool canonical(int64_t *v, struct err *e)
{
    return window_canonical(&t3d_family, v, e);
}

static bool build(struct graph *g, const int64_t *v, struct err *e)
{
    return transposed_build(g, &(struct conv){ &t3d_family, "tconv3d", 3, false }, v, e);
}

static const char *const data_params[] = { "n", "i", "depth", "h", "w", NULL };

const struct op_family t3d_family = {
    .data_params = data_params,
    .name = "t3d",
    .title = "transposed 3-D convolution",
    .example = "t3d n=1 i=32 depth=8 h=7 w=7 o=16 k=3 s=2 p=1",
    .help = "t2d with a third axis D in front of H and W (its size is depth=): Ker is "
            "I O KD KH KW, the output N O D H W with D = (depth - 1)*s - 2*p + kd + op.",
    .n_params = COUNT_OF(params),
    .params = params,
    .build = build,
    .canonical = canonical,
};
