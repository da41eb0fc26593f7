/* Convolutions with fewer multiplications (SPEC O): Winograd's algorithm F(m, 3) for windows of 3
 * with stride 1, along the last two spatial axes (in a 1-D convolution, along its only axis).
 *
 *     Y = At [(G g Gt) .* (Bt d B)] A
 *
 * A tile of m x m results needs (m + 2) x (m + 2) inputs, and (m + 2)^2 products for each pair of
 * channels.  With T tiles along an axis, and P positions in a tile, a 2-D convolution becomes
 *
 *     Inp_half  [PH][N][I][TH][W]          Bt along H
 *     Inp_wino  [PH][PW][N][I][TH][TW]     Bt along W
 *     Ker_wino  [PH][PW][O][I]             G along both: a constant, computed once
 *     Conv_wino [PH][PW][N][O][TH][TW]     sum over I: (m + 2)^2 matrix products
 *     Conv_half [PW][N][O][H][TW]          At along H
 *     Conv      [N][O][H][W]               At along W
 *
 * Each row of Bt and At is an expression of its non-zero terms, and the position selects the row.
 * Where the positions are unrolled, each copy of the body keeps one row. */
#ifndef TS_OPS_WINOGRAD_H
#define TS_OPS_WINOGRAD_H
#include "kernels/ops/graph.h"

/* Typical errors for m = 2 and m = 4, relative to the largest result (SPEC O).  With 512 channels
 * of random data, the error of the worst element is up to four times as large: 8e-7 and 2e-5. */
#define WINOGRAD_ERROR_2 2e-7
#define WINOGRAD_ERROR_4 6e-6

/* How a constant is computed from the weights of a convolution: by the matrix G of F(m, 3) along
 * the last n_axes dims, which become the first dims of the constant. */
struct winograd_weights { int m, n_axes; };

/* Whether `node` is a convolution to which F(m, 3) applies; else *e says why not. */
bool winograd_check(const struct graph *g, int node, int64_t m, struct err *e);
/* Returns the same graph with the convolution `node` in Winograd form; winograd_check must have
 * accepted it.  The transformed weights take the place of the weights, and tensors that are not
 * intermediate keep their order. */
const struct graph *graph_with_winograd(struct arena *a, const struct graph *g, int node, int m);
/* Returns the number of elements of the weights from which `to` is computed; `to` is a constant
 * with to->winograd set. */
int64_t winograd_n_weights(const struct tensor *to);
/* Computes the elements of `to` from the weights, both as doubles. */
void winograd_transform(const struct tensor *to, const double *weights, double *out);
/* Prints the transform as a function in C:  static void transform_NAME(const double *weights,
 * double *out) */
void winograd_print_c(struct str *out, const struct tensor *to);
#endif
