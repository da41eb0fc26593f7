/* Tensor blocks: what a warp of a GPU multiplies on its tensor cores.
 *
 *     for k in tensor(16):                                 the sum
 *         for m.0, n.0, n.1 in tensor(2, 2, 2):            the 8 results of one lane
 *             C_acc[m.0][n.0][n.1] += A[8*m.0 + lane/4][k] * B[k][8*n.0 + 2*(lane%4) + n.1]
 *
 * Each of the 32 lanes adds to its own results, so the loops may run in any order.  On a GPU the
 * lanes of a warp load A and B once and share them.  This makes the block fast, and requires that
 * nothing inside depends on a condition. */
#ifndef TS_NEST_TENSOR_H
#define TS_NEST_TENSOR_H
#include "kernels/nest/tree.h"

/* A tensor block, with lane = 4 * row + column.
 *
 *   a      the load indexed by rows and sum
 *   a_idx  its indices; they use only `row` and the variables of sum, rows and outer loops
 *   b      the load indexed by sum and columns
 *   b_idx  its indices; they use only `column` and the variables of sum, columns, pair and outer
 *          loops */
struct tensor_block {
    const struct tree *sum, *rows, *columns, *pair, *store;
    const struct val *a, *b;
    const struct expr *row, *column;      /* in 0 .. 7 and 0 .. 3 */
    const struct expr *a_idx[MAX_DIMS], *b_idx[MAX_DIMS];
};

/* Reads the block that begins at t, the loop of its sum.  lane: the variable of the lanes; of: the
 * name of the result, for messages.  Fails with ERR_STEP when tensor cores cannot multiply the
 * block. */
bool tensor_block_read(struct exprs *p, const struct buffer *buffer, const struct tree *t,
                       const struct expr *lane, const char *of, struct tensor_block *out,
                       struct err *e);
#endif
