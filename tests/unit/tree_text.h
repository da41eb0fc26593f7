/* Loop trees from text, for tests of what reads trees.  Indentation nests, two blanks a level:
 *
 *     in A[64][8]
 *     out C[8][16]
 *     for n.0 4 parallel
 *       tile C_acc[8]
 *         for n.1 8 unroll
 *           C_acc[n.1] = 0
 *         for k 64 reduce
 *           ...
 *         for h 3 from max(0, 1 - n.0) to 3
 *           if h < 2: C[h][n.0] += select(h == 0, A[h][n.0], 0.5) * max(A[h][0], 0)
 *
 * "inout" is a parameter that is read and written, "stream" one that is stored past the caches;
 * "max=" keeps the larger; "for n.0 4 prefetch A 1" looks ahead.  Malformed text fail()s. */
#ifndef TS_TESTS_TREE_TEXT_H
#define TS_TESTS_TREE_TEXT_H
#include "kernels/nest/tree.h"

const struct func *tree_from_text(struct arena *a, const char *text);
#endif
