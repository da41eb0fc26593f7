/* Convolutions: one builder for 1, 2 and 3 spatial axes, dense, grouped and depthwise, and one for
 * the transposed ones.  Only kernels/ops includes this. */
#ifndef TS_OPS_CONV_H
#define TS_OPS_CONV_H
#include "kernels/ops/window.h"

struct conv {
    const struct op_family *family;
    const char *op;                       /* name of the node: "conv2d" */
    int n_axes;                           /* how many of the axes D H W, from the last */
    bool depthwise;  /* the tensors are N C ... and Ker C ...: one filter per channel */
};

/* Over tensors Inp N I D H W, Ker O I KD KH KW, Conv N O D H W; per axis x of stride s, dilation d:
 *
 *     Conv[n][o][x] = sum over i, k of Inp[n][i][s*x + d*k] * Ker[o][i][k]
 *
 * With g groups Ker has I/g input channels, and the input channel is (o / (O/g))*(I/g) + i: affine
 * as soon as a layout or a loop splits O by a divisor of O/g and the rest by what remains of O/g.
 * Depthwise: both channels are c. */
bool conv_build(struct graph *g, const struct conv *c, const int64_t *v, struct err *e);

/* The gather form (SPEC D.3).  Ker is I O KD KH KW, unflipped, as PyTorch and ONNX store it; per
 * axis of stride s, dilation d, kernel K and padding p before, with q = d*(K - 1) - p:
 *
 *     Conv[n][o][x] = sum over i, k of
 *                     (x + d*k + b) % s == 0 ? Inp[n][i][(x + d*k + b) / s] * Ker[i][o][K-1-k] : 0
 *
 * where Inp is the input with ceil(q / s) zeros before (none when q < 0), b = s*ceil(q / s) - q,
 * and the same after; out = (in - 1)*s - before - after + d*(K - 1) + 1 + op. */
bool transposed_build(struct graph *g, const struct conv *c, const int64_t *v, struct err *e);

#define ROWS_OP2 \
    ROW_STEP("op", 0, 0, "output padding: more rows and columns at the end"), \
    ROW_STEP("oph", OP_UNSET, 0, "more output rows at the end"), \
    ROW_STEP("opw", OP_UNSET, 0, "more output columns at the end")
#define ROWS_OP3 \
    ROW_STEP("op", 0, 0, "output padding: more of every axis at the end"), \
    ROW_STEP("opd", OP_UNSET, 0, "more output planes at the end"), \
    ROW_STEP("oph", OP_UNSET, 0, "more output rows at the end"), \
    ROW_STEP("opw", OP_UNSET, 0, "more output columns at the end")
#define ROW_CONV_BIAS ROW_BIAS("1: add a bias per output channel")
#endif
