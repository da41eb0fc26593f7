/* Shared by the files of kernels/layout: the origin of dims, and the effect of one primitive. */
#ifndef TS_LAYOUT_LAYOUT_IMPL_H
#define TS_LAYOUT_LAYOUT_IMPL_H
#include "kernels/layout/layout.h"

/* One split or unfold of a dim. All dims that it made refer to it. */
struct division {
    const struct lineage *of;
    bool unfold;
    int n;  /* number of dims that it made; two for an unfold: tile and offset */
    const int64_t *size;                  /* extents of these dims */
    int64_t stride;                       /* unfold: the stride S */
    int64_t covered;  /* unfold: the tiles contain positions [0, covered) of `of` */
    bool overlaps;  /* unfold: whether tiles share elements other than padding */
};

/* The origin of a physical dim as a tree.  An inverse primitive takes the old names from the tree,
 * fold takes the unfold to undo, and layout_notation reads how each dim was made. */
enum lineage_kind { LINE_LOGICAL, LINE_PART, LINE_FUSED, LINE_RESIZED };

struct lineage {
    enum lineage_kind kind;
    const char *name;
    int64_t size;
    int logical;                          /* LOGICAL: the dim of the tensor */
    const struct division *division;      /* PART: the division that made it */
    int part;                             /* PART: its position in the division; outermost 0 */
    int n_kids;                           /* FUSED: number of dims fused */
    const struct lineage *const *kid;
    const struct lineage *base;  /* RESIZED (pad, unpad): the dim before any resizing */
    int64_t before, after;                /* RESIZED: positions added, or removed if negative */
};

/* The effect of a primitive on the dims. */
struct reshape {
    struct prim prim;                     /* the primitive, with inferred values filled in */
    int rank;
    int64_t shape[MAX_DIMS];
    const struct lineage *line[MAX_DIMS];
    int trimmed;                          /* the logical dim that loses its end, or -1 */
    int64_t stored;                       /* how many indices of the trimmed dim stay */
    int overlaps;  /* +1: makes overlapping tiles; -1: removes them; 0: neither */
};

extern const char *const prim_name[];     /* by enum prim_kind (ORDER PRIM) */

/* prim_check.c: checks the preconditions of a primitive and computes the resulting dims. On failure
 * *e has the error, and mostly what would be legal. */
bool prim_check(struct exprs *p, const struct layout *l, const struct prim *prim, struct reshape *r,
                struct err *e);
/* Returns the number of dims that pr replaces (after = false), or of the dims that replace them
 * (after = true).  Not for REORDER. */
int prim_dims(const struct prim *pr, bool after);
/* Returns the number of tiles, ceil((D - B) / S) + 1, at least 1 (SPEC A.4). */
int64_t prim_tiles(int64_t size, int64_t tile, int64_t stride);

/* padding.c */
/* Whether all elements at lo..hi of the physical dim are padding.  Returns false when undecided. */
bool layout_is_padding(struct exprs *p, const struct layout *l, int dim, int64_t lo, int64_t hi);

/* lineage.c */
const struct lineage *lineage_logical(struct arena *a, const struct tensor *t, int dim);
/* Returns part j of division d, which is named NAME.j. */
const struct lineage *lineage_part(struct arena *a, const struct division *d, int j);
/* Returns the fusion of n dims.  If these are all parts of one split, in order, the result is the
 * dim that was split, resized if the split padded it. */
const struct lineage *lineage_fuse(struct arena *a, const struct lineage *const *kid, int n,
                                   int64_t size);
const struct lineage *lineage_resize(struct arena *a, const struct lineage *of, int64_t before,
                                     int64_t after);
/* Returns a copy of dim `of` with another name. */
const struct lineage *lineage_rename(struct arena *a, const struct lineage *of, const char *name);
/* Returns the unfold that made dims k and k+1 of l.  NULL: no unfold made them, or one of them has
 * changed since. */
const struct division *lineage_unfold(const struct layout *l, int k);

/* prim_map.c: the algebra.  `before` is the layout that pr applies to; only its rank and shape
 * are read. */
/* Applies rho of one primitive: maps the physical indices before the primitive (in) to those after
 * it (out). */
void prim_rho(struct exprs *p, const struct prim *pr, const struct layout *before,
              const struct expr *const *in, const struct expr **out);
/* Applies phi of one primitive: maps the physical indices after the primitive (in) to those before
 * it (out).  *guard: the condition under which the indices in `out` exist; NULL: always. */
void prim_phi(struct exprs *p, const struct prim *pr, const struct layout *before,
              const struct expr *const *in, const struct expr **out, const struct expr **guard);

/* layout.c */
/* Returns the row-major flat offset of idx in shape, simplified. */
const struct expr *layout_flat(struct exprs *p, int rank, const int64_t *shape,
                               const struct expr *const *idx);
/* Returns the n_prims + 1 layouts from the first one to l. The caller frees the array. */
const struct layout **layout_chain(const struct layout *l);
/* Prints the dims and their extents: "N(1) O.0(4) H(56)". */
void layout_print_dims(struct str *out, const struct layout *l);
/* Moves to the next point of a box in row-major order. Returns false after the last one. */
bool layout_next_point(int64_t *point, const int64_t *shape, int rank);
#endif
