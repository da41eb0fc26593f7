/* What the cost model sees of a lowered program: SPEC E.4.1, after TVM's auto-scheduler.
 *
 * One row of numbers for each buffer that is written: its initialisation, its update and the pieces
 * that borders cut it into are one row.  Numbers are sgn(x) * log2(|x| + 1), one-hot columns are 0
 * or 1; all are finite.  They depend on shapes and structure only, never on names, so equal
 * programs have equal features.
 *
 * Literal features are TVM's, with its peculiarities.  Ours differ where the peculiarity misleads:
 *   - acc += a * b is one mad, and neither a mul nor an addsub;
 *   - the type of an annotation is the real place of the innermost such loop among the spatial or
 *     the reduction loops (mixed: both kinds are annotated);
 *   - int_* and bool_op see the indices of the store, guards and bounds too;
 *   - a loop with bounds of its own has the mean of its trips, and what one iteration touches is
 *     taken in the middle of the outer loops, not at their start, where the border is;
 *   - a loop that does not index a buffer shortens its lines by its own extent;
 *   - where several statements write a buffer, the access columns are those of the one that does
 *     most, and pieces of one statement are not each other's reuse;
 *   - a buffer that several statements of a loop share is reused there, not in the next iteration;
 *   - a buffer is counted once in what a loop touches.
 * Loops of one iteration are no loops. */
#ifndef TS_EXPLORER_MODEL_FEATURES_H
#define TS_EXPLORER_MODEL_FEATURES_H
#include "kernels/nest/tree.h"

#define FEATURE_BUFFERS 5                 /* with most cache lines; the rest is left out */

enum feature {
#define FEATURE(id, text) FEATURE_##id,
#include "explorer/model/features.def"
#undef FEATURE
    FEATURES_ALL
};
#define FEATURES FEATURE_OUT_EXPANSION    /* 164; FEATURES_ALL has the columns of the layout, too */
#define FEATURES_PER_BUFFER 18
extern const char *const feature_name[FEATURES_ALL];

/* rows x columns, row by row; rows by the first statement that writes their buffer. */
struct features { int rows, columns; float *x; };

struct feature_opts {
    bool literal;                         /* TVM's own */
    /* Add the columns of the layout.  The tile is what all loops from the outermost reduction on
     * touch; bytes and lanes of the machine (0: 32 KiB, 1 MiB, 16). */
    bool layout;
    int64_t l1_bytes, l2_bytes;
    int lanes;
};

/* The features of f, in a; o may be NULL.  ERR_STEP when f stores nothing. */
bool features_of(struct arena *a, const struct func *f, const struct feature_opts *o,
                 struct features *out, struct err *e);

/* Equal for equal features; of their bits. */
uint64_t features_hash(const struct features *f);
#endif
