/* Shared by the files of kernels/layout: where dims come from, and what one primitive does. */
#ifndef TS_LAYOUT_LAYOUT_IMPL_H
#define TS_LAYOUT_LAYOUT_IMPL_H
#include "kernels/layout/layout.h"

/* One split or unfold of a dim, shared by the dims it made. */
struct division {
    const struct lineage *of;
    bool unfold;
    int n;                                /* dims it made; unfold: tile index, offset */
    const int64_t *size;                  /* their extents */
    int64_t stride;                       /* unfold: S */
    int64_t covered;                      /* unfold: [0, covered) of `of` is in some tile */
    bool overlaps;                        /* unfold: tiles share elements (not only padding) */
};

/* The family tree of a physical dim.  It gives inverse primitives the old names back, tells fold
 * which unfold it undoes, and is what the short notation is printed from. */
enum lineage_kind { LINE_LOGICAL, LINE_PART, LINE_FUSED, LINE_RESIZED };

struct lineage {
    enum lineage_kind kind;
    const char *name;
    int64_t size;
    int logical;                          /* LOGICAL: which dim of the tensor */
    const struct division *division;      /* PART */
    int part;                             /* PART: its place in the division, outermost 0 */
    int n_kids;                           /* FUSED */
    const struct lineage *const *kid;
    const struct lineage *base;           /* RESIZED (pad, unpad): of equal name, not RESIZED */
    int64_t before, after;                /* RESIZED: positions added, negative = taken away */
};

/* What a primitive makes of the dims. */
struct reshape {
    struct prim prim;                     /* with what was left open filled in */
    int rank;
    int64_t shape[MAX_DIMS];
    const struct lineage *line[MAX_DIMS];
    int trimmed;                          /* the logical dim that loses its tail, or -1 */
    int64_t stored;                       /* how much of it stays */
    int overlaps;                         /* +1: overlapping tiles appear, -1: they go */
};

extern const char *const prim_name[];     /* ORDER PRIM: by enum prim_kind */

/* prim_check.c: preconditions, and the dims that result.  False: *e says what is wrong and what
 * would be right. */
bool prim_check(struct exprs *p, const struct layout *l, const struct prim *prim, struct reshape *r,
                struct err *e);
/* ceil((D - B) / S) + 1, at least 1 (SPEC A.4). */
int64_t prim_tiles(int64_t size, int64_t tile, int64_t stride);
/* Are all elements at lo..hi of the physical dim padding?  False when that cannot be decided. */
bool layout_is_padding(struct exprs *p, const struct layout *l, int dim, int64_t lo, int64_t hi);

/* lineage.c */
const struct lineage *lineage_logical(struct arena *a, const struct tensor *t, int dim);
/* Part j of division d, named NAME.j. */
const struct lineage *lineage_part(struct arena *a, const struct division *d, int j);
/* The kids as one dim: their common origin when they are all parts of one split, in order. */
const struct lineage *lineage_fuse(struct arena *a, const struct lineage *const *kid, int n,
                                   int64_t size);
const struct lineage *lineage_resize(struct arena *a, const struct lineage *of, int64_t before,
                                     int64_t after);
/* The same dim under another name. */
const struct lineage *lineage_rename(struct arena *a, const struct lineage *of, const char *name);
/* The unfold that made dims (k, k+1) of l, both untouched since; NULL if there is none. */
const struct division *lineage_unfold(const struct layout *l, int k);

/* prim_map.c: the algebra.  `before` is the layout that pr applies to; only its rank and shape
 * are read. */
/* rho: physical indices before -> after. */
void prim_rho(struct exprs *p, const struct prim *pr, const struct layout *before,
              const struct expr *const *in, const struct expr **out);
/* phi: indices after -> before; *guard is where that is defined (NULL = everywhere). */
void prim_phi(struct exprs *p, const struct prim *pr, const struct layout *before,
              const struct expr *const *in, const struct expr **out, const struct expr **guard);

/* layout.c */
/* The row-major flat offset of idx in shape, simplified. */
const struct expr *layout_flat(struct exprs *p, int rank, const int64_t *shape,
                               const struct expr *const *idx);
/* The layouts from the identity to l, n_prims + 1 of them; the caller frees the array. */
const struct layout **layout_chain(const struct layout *l);
/* "N(1) O.0(4) H(56)" */
void layout_print_dims(struct str *out, const struct layout *l);
/* The next point of a box in row-major order; false after the last one. */
bool layout_next_point(int64_t *point, const int64_t *shape, int rank);
#endif
