/* The features of a lowered program for the cost model: SPEC E.4.1, after the auto-scheduler of
 * TVM.
 *
 * There is one row of numbers for each buffer that is written.  The initialisation and the update
 * of a buffer are one row, and so are the pieces into which borders cut them.  Numbers are sgn(x) *
 * log2(|x| + 1), one-hot columns are 0 or 1, and all are finite.  They depend on shapes and
 * structure but not on names, so that equal programs have equal features.
 *
 * If feature_opts.literal is set, the features are exactly those of TVM.  Otherwise they differ
 * where TVM's features mislead:
 *   - acc += a * b counts as one mad.  TVM counts it as mul and addsub.
 *   - The type of an annotation tells where the innermost annotated loop lies among the loops of
 *     its kind, spatial or reduction: inside, in the middle or outside.  It is "mixed" if loops of
 *     both kinds are annotated.  TVM's type is always "mixed".
 *   - int_* and bool_op also count the operations in the indices of the store and in its guard.
 *   - A loop whose bounds depend on outer loops counts with its mean trip count.  TVM takes the
 *     largest.
 *   - The memory that one iteration of a loop touches is computed with the variables of this loop
 *     and the outer ones in the middle of their ranges.  TVM takes their first values, which lie at
 *     a border.
 *   - The innermost loops may have variables that do not index a buffer.  The count of the buffer's
 *     cache lines is divided by the trip count of each of these loops.  TVM divides by that of the
 *     innermost loop each time.
 *   - If several statements write a buffer, the access columns are those of the statement that does
 *     most work.  Pieces of one statement do not count as reuse of each other.
 *   - If several statements of a loop access a buffer, its reuse is serial: within one iteration.
 *     TVM looks first whether the next iteration accesses the same elements.
 *   - A buffer counts once in the bytes that a loop touches.
 * Loops with one iteration are ignored. */
#ifndef TS_EXPLORER_MODEL_FEATURES_H
#define TS_EXPLORER_MODEL_FEATURES_H
#include "kernels/gen/gen.h"

#define FEATURE_BUFFERS 5  /* only the buffers with the most cache lines have columns */

enum feature {
#define FEATURE(id, text) FEATURE_##id,
#include "explorer/model/features.def"
#undef FEATURE
    FEATURES_ALL
};
#define FEATURES FEATURE_OUT_EXPANSION    /* 164 columns, without the columns of the layout */
#define FEATURES_LAYOUT FEATURE_WORK_VECTOR  /* 176 columns, without the columns of the code */
#define FEATURES_PER_BUFFER 18
extern const char *const feature_name[FEATURES_ALL];

/* rows x columns numbers, row by row.  Rows are in the order of the first statements that write
 * their buffers. */
struct features { int rows, columns; float *x; };

struct feature_opts {
    bool literal;                         /* compute the features of TVM exactly */
    /* Add the columns of the layout.  The tile in these columns is the data that the loops from the
     * outermost reduction inwards touch.  The members below describe the machine: sizes of its
     * caches (0: 32 KiB, 1 MiB), and lanes of a vector (0: 16; in the columns of the code 8). */
    bool layout;
    int64_t l1_bytes, l2_bytes;
    int lanes;
    /* A count of the work of the generated code, which adds the columns of the code; NULL: no such
     * columns.  They come after the columns of the layout, which are then there as well, but 0
     * unless `layout` is set.  Only the row with the most work has values in the columns of the
     * code; other rows have 0 there. */
    const struct gen_work *code;
};

/* Computes the features of f in arena a; o may be NULL. ERR_STEP when f stores nothing. */
bool features_of(struct arena *a, const struct func *f, const struct feature_opts *o,
                 struct features *out, struct err *e);

/* Returns a hash of the bits of the features. */
uint64_t features_hash(const struct features *f);
#endif
