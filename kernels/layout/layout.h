/* Data layouts as sequences of primitives (ALT 4.1; exact semantics in SPEC A).
 *
 * A layout maps logical indices to physical ones (rho, the paper's S) and back (phi, S^-1).  The sequence is
 * the truth; shape, rho, phi, class and expansion are derived when a primitive is appended.  Values are
 * immutable: layout_apply returns a new layout.  Physical storage is row-major over the physical dims. */
#ifndef TS_LAYOUT_LAYOUT_H
#define TS_LAYOUT_LAYOUT_H
#include "kernels/ops/graph.h"

enum prim_kind { PRIM_SPLIT, PRIM_REORDER, PRIM_FUSE, PRIM_UNFOLD, PRIM_FOLD, PRIM_PAD, PRIM_UNPAD };

/* Dims are 0-based positions in the shape the primitive is applied to. */
struct prim {
    enum prim_kind kind;
    int dim;                              /* all but REORDER: the (first) dim */
    int n;                                /* SPLIT: factors; REORDER: rank; FUSE: how many adjacent dims */
    int64_t factor[MAX_DIMS];             /* SPLIT; factor[0] may be 0: inferred */
    bool allow_pad;                       /* SPLIT */
    int perm[MAX_DIMS];                   /* REORDER: new position j holds old dim perm[j] */
    int64_t tile, stride;                 /* UNFOLD: B, S; FOLD: stride S */
    int64_t size;                         /* FOLD: D */
    int64_t before, after;                /* PAD, UNPAD */
};

enum layout_class { LAYOUT_BIJECTIVE, LAYOUT_PADDED, LAYOUT_DUPLICATING };

struct layout {
    int n_prims;
    const struct prim *prims;
    const struct tensor *tensor;          /* logical name, dims and shape */
    const struct expr *logical[MAX_RANK]; /* variables of rho, lower-case dim names, 0..N-1 */
    int rank;                             /* physical */
    const char *dim[MAX_DIMS];            /* "N" "O.0" "H" "W" "O.1"; unfold gives H.0 (tile) H.1 (offset); fuse of H and W gives "H_W" */
    int64_t shape[MAX_DIMS];
    const struct expr *phys[MAX_DIMS];    /* variables of phi, lower-case physical dim names, 0..P-1 */
    const struct expr *rho[MAX_DIMS];     /* rank expressions over logical[], simplified */
    const struct expr *phi[MAX_RANK];     /* tensor->rank expressions over phys[], simplified */
    const struct expr *guard;             /* phi is defined where this is 1; NULL = everywhere */
    enum layout_class klass;
    int64_t elems;                        /* physical elements */
    double expansion;                     /* elems / logical elements, >= 1 */
    bool advanced;                        /* has a non-trivial unfold, pad or padded split (SPEC A.9) */
};

const struct layout *layout_identity(struct exprs *p, const struct tensor *t);
/* Appends one primitive.  Errors are SPEC A.0's codes, name the primitive's number in the sequence, and say what
 * would be right ("56 = 2^3*7: factors of 16 do not divide; 14 or 28 do"). */
bool layout_apply(struct exprs *p, const struct layout *l, const struct prim *prim,
                  const struct layout **out, struct err *e);
bool layout_apply_all(struct exprs *p, const struct tensor *t, const struct prim *prims, int n,
                      const struct layout **out, struct err *e);
/* The sequence of inverse primitives (last first), legal on l; ERR_NOINV names the one without an inverse. */
bool layout_inverse(struct exprs *p, const struct layout *l, struct prim *out, int *n, struct err *e);
int layout_dim(const struct layout *l, const char *name);     /* position, -1 if none; case-insensitive */

/* The short notation of the papers, for `layout set`: "N O/16 H W 16o", "N H/4 W/16 O/16 4 16 16" (bare
 * numbers belong to the divided dims in order), "O/64 4o 16o" (two levels), "N H/8 W/32 I 13h 37w" (a tile
 * larger than its stride unfolds), "NHWO" when all dims are single letters.  Translates to primitives from
 * the identity of t.  Errors carry the column in text. */
bool layout_from_notation(struct exprs *p, const struct tensor *t, const char *text,
                          struct prim *out, int *n, struct err *e);
/* The notation of l, "N O/16 H W 16o"; false when it has none (pads, padded splits...). */
bool layout_notation(const struct layout *l, struct str *out);
/* A primitive as text with dim names of the layout it applies to: "split O 4 16", "reorder N O.0 H W O.1",
 * "unfold H tile=13 stride=8", "pad I after=13", "fuse H W", "fold H.0 H.1 size=58 stride=8", "unpad I after=13". */
void prim_print(struct str *out, const struct layout *before, const struct prim *prim);

/* rho applied to access a: idx[tensor->rank] logical index expressions -> out[rank] physical ones, simplified.
 * Unfolded dims use the window-aligned map (formula (1), ALT 4.1.2): the tile of an access is the tile of its
 * spatial part, e - (its part over the reduce variables), whenever the bounds prove that the whole window
 * stays inside the tile; else the canonical map (SPEC A.4). */
void layout_rewrite(struct exprs *p, const struct layout *l, const struct expr *const *idx,
                    const struct expr *const *reduce, int n_reduce, const struct expr **out);

/* Equal flat offsets at every logical point and equal size (SPEC A.0: memory-equal). */
bool layout_memory_equal(struct exprs *p, const struct layout *a, const struct layout *b);

/* Moves data: pack fills phys (elems) by rule I3 (padding is 0); unpack reads the canonical copies. */
void layout_pack(struct exprs *p, const struct layout *l, const float *logical, float *phys);
void layout_unpack(struct exprs *p, const struct layout *l, const float *phys, float *logical);

/* A picture: which logical element sits where in memory, line (64 B) by line, up to max_lines of them, with the
 * shape, class, expansion and strides above it. width = columns available. */
void layout_draw(struct str *out, struct exprs *p, const struct layout *l, int width, int max_lines);
#endif
