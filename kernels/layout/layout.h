/* Data layouts as sequences of primitives (ALT 4.1; exact semantics in SPEC A).
 *
 * A layout maps logical indices to physical ones (rho, the S of the paper) and back (phi, S^-1).
 * The sequence of primitives defines the layout (except one made by layout_store_at); shape, rho,
 * phi, class and expansion are derived when a primitive is appended.  Values are immutable:
 * layout_apply returns a new layout.  Physical storage is row-major over the physical dims. */
#ifndef TS_LAYOUT_LAYOUT_H
#define TS_LAYOUT_LAYOUT_H
#include "kernels/ops/graph.h"

/* The kinds of primitives.  prim_name has their names in this order (ORDER PRIM). */
enum prim_kind {
    PRIM_SPLIT, PRIM_REORDER, PRIM_FUSE, PRIM_UNFOLD, PRIM_FOLD, PRIM_PAD, PRIM_UNPAD
};

/* Dims are 0-based positions in the shape to which the primitive is applied. */
struct prim {
    enum prim_kind kind;
    int dim;  /* the dim, or the first of adjacent dims; unused by REORDER */
    int n;                                /* SPLIT: number of factors; REORDER: rank; FUSE: number
                                           * of dims */
    int64_t factor[MAX_DIMS];             /* SPLIT; factor[0] may be 0: inferred */
    bool allow_pad;                       /* SPLIT: whether the split may pad the dim */
    int perm[MAX_DIMS];                   /* REORDER: new position j holds old dim perm[j] */
    int64_t tile, stride;  /* UNFOLD: B, S of SPEC A.4; FOLD: stride, 0: that of the unfold */
    int64_t size;  /* UNFOLD: D_used, 0: the whole dim; FOLD: the new extent, 0: inferred */
    int64_t before, after;                /* PAD, UNPAD: positions at each end */
};

/* Trimmed unfold: an UNFOLD with a size (SPEC A.4, ERR-7).  A convolution with stride V and a
 * window of M rows reads only D_used = V*(H_out-1) + M of the D rows.  It never reads tiles beyond
 * these rows, and size = D_used leaves them out:
 *
 *     n = ceil((D_used - B) / S) + 1 tiles hold the rows [0, S*(n-1) + B)
 *
 * Later rows are not stored at all: rho is defined only for indices below `stored`, and phi(rho(i))
 * = i holds there.  Rows of [D_used, D) that fit into the last tile are still stored (the guard of
 * phi is < D).  Example, the first layer of ResNet-18: D = 230, B = 13, S = 8 makes 29 tiles; with
 * size = 229 there are 28. */

enum layout_class { LAYOUT_BIJECTIVE, LAYOUT_PADDED, LAYOUT_DUPLICATING };

struct lineage;                           /* the origin of a physical dim (layout_impl.h) */

struct layout {
    const struct layout *prev;  /* the layout before the last primitive; NULL: there is none */
    int n_prims;
    /* the primitives; values that a step left open (factor 0, size and stride of fold) are filled
     * in */
    const struct prim *prims;
    const struct tensor *tensor;          /* logical name, dims and shape */
    int64_t stored[MAX_RANK];  /* indices below this are stored: the extent, or less if trimmed */
    const struct expr *logical[MAX_RANK]; /* variables of rho, in 0 .. stored-1: "n" "o" "h" "w" */
    int rank;                             /* number of physical dims */
    const char *dim[MAX_DIMS];            /* "N" "O.0" "H" "W" "O.1": split O gives O.0 O.1, unfold
                                           * H gives H.0 (tile) H.1 (offset), fuse H W gives H_W;
                                           * an inverse primitive brings the old name back */
    int64_t shape[MAX_DIMS];
    const struct lineage *line[MAX_DIMS];
    const struct expr *phys[MAX_DIMS];    /* variables of phi, in 0 .. P-1: "o.1" for dim "O.1" */
    const struct expr *rho[MAX_DIMS];     /* physical indices over logical[], simplified */
    const struct expr *phi[MAX_RANK];     /* logical indices over phys[], simplified */
    const struct expr *guard;  /* the condition under which phi is defined; NULL: everywhere */
    int n_overlaps;  /* number of unfolds whose tiles share elements and that no fold undid */
    enum layout_class klass;              /* class of the layout of the stored elements */
    int64_t elems;                        /* number of physical elements */
    double expansion;  /* elems / logical elements; below 1 only when trimmed; layout_store_at: 1 */
    bool advanced;                        /* whether it is not propagated, because it pads, copies
                                           * or trims (SPEC A.9) */
};

#define LAYOUT_MAX_ELEMS ((int64_t)1 << 40)
#define LAYOUT_MAX_PRIMS 256

const struct layout *layout_identity(struct exprs *p, const struct tensor *t);
/* Sets *out to l with one more primitive.  Errors have the codes of SPEC A.0, or ERR_RANGE when the
 * sequence is too long or its expressions are too large.  Most give the number of the primitive,
 * and say what would be legal ("56 = 2^3*7: 16 does not divide it; 14 or 28 do"). */
bool layout_apply(struct exprs *p, const struct layout *l, const struct prim *prim,
                  const struct layout **out, struct err *e);
bool layout_apply_all(struct exprs *p, const struct tensor *t, const struct prim *prims, int n,
                      const struct layout **out, struct err *e);
int layout_dim(const struct layout *l, const char *name);    /* position, or -1; case-insensitive */
/* Computes the row-major strides of the physical dims, in elements. */
void layout_strides(const struct layout *l, int64_t *stride);

/* The short notation of the papers, for `layout set`.  Blanks separate the physical dims,
 * outermost first:
 *
 *     N             the whole dim
 *     O/16          O in blocks of 16: the index of the block, the outer part
 *     16o           the index inside a block of 16 of O: the inner part
 *     16            an inner part of a divided dim that still needs one (such dims take turns)
 *     O/64 4o 16o   two levels, outer part first
 *     H/8 13h       a tile larger than its stride: unfold tile=13 stride=8
 *     H/8:28 13h    28 tiles; rows beyond them are trimmed away
 *     H/32 4h 13h   tiles of 13 every 32/4 = 8, in groups of 4
 *     NHWO          dims with one-letter names in a row
 *     (H W)         made one dim (fuse)
 *     NO/16HW16o    the parts without blanks: capitals for names, small letters for tiles
 *
 * Examples: "N O/16 H W 16o", "N H/4 W/16 O/16 4 16 16", "N H/8 W/32 I 13h 37w".  With blanks,
 * upper and lower case mean the same.  Every dim of t must appear exactly once: whole, or as an
 * outer part with its inner parts.
 *
 * layout_from_notation finds the primitives that make the layout from the identity of t: splits and
 * unfolds, from the last dim to the first (SPEC D.2), then one reorder, then fuses.  It stores them
 * in `out`, which must have room for MAX_NOTATION_PRIMS, and their number in *n.  Errors have the
 * column (err.at) and the text (err.source). */
#define MAX_NOTATION_PRIMS 32
bool layout_from_notation(struct exprs *p, const struct tensor *t, const char *text,
                          struct prim *out, int *n, struct err *e);
/* Prints the notation of l, "N O/16 H W 16o".  Returns false when l has none (for example, because
 * of pads or padded splits).  From the text, layout_from_notation makes a memory-equal layout of
 * the same shape. */
bool layout_notation(const struct layout *l, struct str *out);
/* Prints a primitive as a step line writes it, with the dim names of `before`, the layout that it
 * applies to:
 *
 *     split O 4 16                   split O 3 4 allow_pad=1
 *     reorder N O.0 H W O.1          fuse H W
 *     unfold H tile=13 stride=8      unfold H tile=13 stride=8 size=229
 *     fold H.0 H.1 size=58 stride=8
 *     pad I after=13                 unpad I before=1 after=13 */
void prim_print(struct str *out, const struct layout *before, const struct prim *prim);

/* Applies rho to an access: idx[tensor->rank] logical index expressions -> out[rank] physical ones,
 * simplified.  In an unfolded dim, the n_reduce variables of `reduce` move an access inside a
 * window.  If the bounds prove that the tile of the window's first element holds the whole window,
 * all of it is read from this tile (window-aligned map: formula (1), ALT 4.1.2).  Otherwise each
 * element is read from its canonical tile (SPEC A.4).  layout_covers must hold for the access, and
 * l must not be made by layout_store_at. */
void layout_rewrite(struct exprs *p, const struct layout *l, const struct expr *const *idx,
                    const struct expr *const *reduce, int n_reduce, const struct expr **out);
/* Whether the bounds of the indices show that the access reads only stored elements.  Fails only
 * when an unfold trimmed too much of the tensor (ERR_UNFOLD, with a size that is enough). */
bool layout_covers(const struct layout *l, const struct expr *const *idx, struct err *e);

/* Whether a and b are memory-equal (SPEC A.0): they have equal size and class, store the same
 * elements at the same flat offsets, and hold the same copies.  Decides symbolically or point by
 * point, and returns false when it can do neither (more than 10^6 elements). */
bool layout_memory_equal(struct exprs *p, const struct layout *a, const struct layout *b);

/* store_at (SPEC A.7): the constant src, in the plain layout, becomes one more slice of another
 * constant, the enclosing tensor, along its physical dim `dim`. with_slice is the layout of the
 * enclosing tensor with that dim one longer (pad after=1).  *out is the layout of src inside the
 * buffer of the enclosing tensor.  With k = dim, of extent N_k before the padding:
 *
 *     rho_src(j) = (j_1 .. j_{k-1}, N_k, j_k ..)
 *
 * src may lack dims of the enclosing tensor that have extent 1.  Fails with ERR_ATTACH when the
 * shapes do not fit.  The caller must apply later primitives of the enclosing tensor to *out as
 * well. */
bool layout_store_at(struct exprs *p, const struct layout *with_slice, int dim,
                     const struct tensor *src, const struct layout **out, struct err *e);
/* Prints where l, made by layout_store_at, lies in the enclosing tensor: "K=64 holds Bias". */
void layout_say_stored(struct str *out, const struct layout *l);
/* Copies the elements of a tensor into the buffer of its enclosing tensor (layout_store_at), and
 * leaves the rest of the buffer alone. */
void layout_place(struct exprs *p, const struct layout *l, const void *logical, void *phys);

int64_t layout_bytes(const struct layout *l);  /* size of the physical elements in bytes */
/* Copy the elements of a tensor from the plain layout into l, and back.  layout_pack fills the
 * l->elems elements of phys by rule I3 of SPEC A.0 (padding is 0).  layout_unpack reads the
 * canonical copies, and writes 0 for an element that is not stored.  Both take a few nanoseconds
 * per element and are safe in any thread. */
void layout_pack(const struct layout *l, const void *logical, void *phys);
/* Like layout_pack; but if l->tensor is a constant that is computed from weights
 * (tensor->winograd), `given` has the weights. */
void layout_pack_given(const struct layout *l, const void *given, void *phys);
void layout_unpack(const struct layout *l, const void *phys, void *logical);

/* Draws shape, class, expansion and strides in ASCII, `width` columns wide; then, for the first
 * max_lines lines of 64 bytes, which logical elements lie there in memory. */
void layout_draw(struct str *out, struct exprs *p, const struct layout *l, int width,
                 int max_lines);
#endif
