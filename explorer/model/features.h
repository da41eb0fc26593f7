/* The features of a lowered program for the cost model: SPEC E.4.1, after the auto-scheduler of
 * TVM.
 *
 * There is one row of numbers for each buffer that is written.  The row covers all statements that
 * write the buffer: its initialisation, its update, and the pieces into which borders cut these.  A
 * number x is stored as sgn(x) * log2(|x| + 1); one-hot columns are 0 or 1.  All numbers are
 * finite.  They depend on shapes and structure but not on names, so that equal programs have equal
 * features.
 *
 * If feature_opts.literal is set, the features are exactly those of TVM.  Otherwise they differ
 * where TVM's features mislead:
 *   - acc += a * b counts as one mad.  TVM counts it as mul and addsub.
 *   - The type of an annotation tells where the innermost loop with this annotation lies among the
 *     loops of its kind, spatial or reduction: innermost, in the middle, outermost.  It is "mixed"
 *     if loops of both kinds have the annotation.  TVM's type of such loops is always "mixed".
 *   - int_* and bool_op also count the operations in the indices of the store and in its guard.
 *     select_op also counts the guard.
 *   - A loop whose bounds depend on outer loops counts with its mean trip count.  TVM takes the
 *     largest.
 *   - The memory that one iteration of a loop touches is computed with the variables of this loop
 *     and the outer ones in the middle of their ranges.  TVM takes their first values, which lie at
 *     a border.
 *   - If the variables of the innermost loops do not index a buffer, the number of the buffer's
 *     cache lines is divided by the trip count of each of these loops.  TVM divides by the trip
 *     count of the innermost loop, once for each of these loops.
 *   - If several statements write a buffer, the access columns are those of the statement that does
 *     most work.  Pieces of one statement do not count as reuse of each other.
 *   - If several statements of a loop access a buffer, the reuse is "serial": within one iteration.
 *     TVM first looks whether the next iteration accesses the same elements.
 *   - In the bytes that a loop touches, each buffer counts once.  TVM counts every access.
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

/* x[rows][columns].  The rows are in the order in which the program first writes their buffers. */
struct features { int rows, columns; float *x; };

struct feature_opts {
    bool literal;                         /* whether to compute exactly the features of TVM */
    /* Whether to add the columns of the layout.  The tile in these columns is the data that the
     * outermost reduction loop and the loops inside it touch.  The next three members describe the
     * machine.  l1_bytes, l2_bytes: sizes of its caches; 0: 32 KiB and 1 MiB.  lanes: lanes of its
     * vectors; 0: 16 for the columns of the layout, 8 for the columns of the code. */
    bool layout;
    int64_t l1_bytes, l2_bytes;
    int lanes;
    /* The work of the generated code, for the columns of the code; NULL: there are no such columns.
     * The columns of the code come after the columns of the layout.  So the latter then exist even
     * if `layout` is not set, but are 0.  Only the row with the most work has values in the columns
     * of the code; other rows have 0. */
    const struct gen_work *code;
};

/* Computes the features of f in arena a.  `o` NULL: no option is set.  ERR_STEP: f stores
 * nothing. */
bool features_of(struct arena *a, const struct func *f, const struct feature_opts *o,
                 struct features *out, struct err *e);

/* Returns a hash of the bits of the features. */
uint64_t features_hash(const struct features *f);
#endif
