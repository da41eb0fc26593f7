/* Convolutions: one builder for dense, grouped and depthwise ones with 1 to 3 spatial axes, and one
 * for transposed ones.  Only kernels/ops includes this. */
#ifndef TS_OPS_CONV_H
#define TS_OPS_CONV_H
#include "kernels/ops/window.h"

/* Builds a convolution.  Its tensors have the dims
 *
 *     Inp:  N I D H W
 *     Ker:  O I KD KH KW
 *     Conv: N O D H W
 *
 * With two axes, D and KD are missing; with one axis, H and KH are missing, too.  Along each axis
 * x, with stride s and dilation d:
 *
 *     Conv[n][o][x] = sum over i, k of Inp[n][i][s*x + d*k] * Ker[o][i][k]
 *
 * With g groups Ker has I/g input channels, and the channel of Inp is (o / (O/g))*(I/g) + i.  This
 * index is affine once a layout or loops have split O by O/g, at once or factor by factor.
 * Depthwise (c= instead of i= and o=): both channels are c, and Ker is C KD KH KW. */
bool conv_build(struct graph *g, const struct op_family *f, const int64_t *v, struct err *e);

/* Builds a transposed convolution in the gather form (SPEC D.3).  Ker is I O KD KH KW, unflipped,
 * as PyTorch and ONNX store it.  Along each axis x, with stride s, dilation d, kernel K, padding p
 * before, and q = d*(K - 1) - p:
 *
 *     Conv[n][o][x] = sum over i, k of
 *                     (x + d*k + b) % s == 0 ? Inp[n][i][(x + d*k + b) / s] * Ker[i][o][K-1-k] : 0
 *
 * where Inp is the input with z = max(ceil(q / s), 0) zeros before it, and b = s*z - q.  The number
 * of zeros after the input follows from the padding `after` and from op.  The size of Conv is
 * out = (in - 1)*s - before - after + d*(K - 1) + 1 + op. */
bool transposed_build(struct graph *g, const struct op_family *f, const int64_t *v,
                      struct err *e);

/* The state of both builders. */
struct conv {
    const struct op_family *f;
    int n_axes;
    struct window w[MAX_AXES];
    int inp, ker;                         /* tensors of the input and the weights */
};
/* Adds the tensors Inp, Ker and Conv.  Returns the node that computes Conv, called "conv2d" with
 * `prefix` before it.  The node has no reductions and no body yet: the caller makes them, and adds
 * the node. lead: the dims of Ker before KD KH KW. */
struct node conv_node(struct graph *g, struct conv *c, const int64_t *v, const char *prefix,
                      const struct tensor_def *lead);
#endif
