/* The features of a lowered program for the cost model: SPEC E.4.1, after the auto-scheduler of
 * TVM.
 *
 * There is one row of numbers for each buffer that is written.  The initialisation and the update
 * of a buffer, and the pieces into which borders cut them, are one row.  Numbers are sgn(x) *
 * log2(|x| + 1), one-hot columns are 0 or 1, and all are finite.  They depend on shapes and
 * structure but not on names, so that equal programs have equal features.
 *
 * Literal features are exactly those of TVM.  Other features differ where TVM's mislead:
 *   - acc += a * b counts as one mad, and not also as mul and addsub.
 *   - The type of an annotation is the real place of the innermost loop with that annotation, among
 *     the spatial or the reduction loops (mixed: loops of both kinds are annotated).
 *   - int_* and bool_op also count the indices of the store, guards and bounds.
 *   - A loop with its own bounds counts with the mean of its trip counts.  The region of an
 *     iteration is evaluated in the middle of the outer loops, not at their start, which is a
 *     border.
 *   - A loop that does not index a buffer shortens the buffer's lines by its own extent.
 *   - If several statements write a buffer, the access columns are those of the statement that does
 *     most work, and pieces of one statement do not count as reuse of each other.
 *   - A buffer that several statements of a loop share is reused in that iteration, not in the
 *     next.
 *   - A buffer counts once in the bytes that a loop touches. Loops of one iteration are ignored. */
#ifndef TS_EXPLORER_MODEL_FEATURES_H
#define TS_EXPLORER_MODEL_FEATURES_H
#include "kernels/gen/gen.h"

#define FEATURE_BUFFERS 5  /* the buffers with most cache lines; others are left out */

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
    /* Add the columns of the layout.  Their tile is the data of all loops from the outermost
     * reduction inwards.  The members below are caches and lanes of the machine (0: 32 KiB, 1 MiB,
     * 16). */
    bool layout;
    int64_t l1_bytes, l2_bytes;
    int lanes;
    /* Add the columns of the code that executes this work, behind those of the layout (which are 0
     * unless `layout` is set).  Only the row that does most work has them; in other rows they are
     * 0.  NULL: do not add them. */
    const struct gen_work *code;
};

/* Computes the features of f in arena a; o may be NULL. ERR_STEP when f stores nothing. */
bool features_of(struct arena *a, const struct func *f, const struct feature_opts *o,
                 struct features *out, struct err *e);

/* Returns a hash of the bits of the features. */
uint64_t features_hash(const struct features *f);
#endif
