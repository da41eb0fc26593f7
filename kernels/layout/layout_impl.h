/* Shared by the files of kernels/layout: the origin of dims, and the effect of one primitive. */
#ifndef TS_LAYOUT_LAYOUT_IMPL_H
#define TS_LAYOUT_LAYOUT_IMPL_H
#include "kernels/layout/layout.h"

/* One split or unfold of a dim. The dims that it made share it. */
struct division {
    const struct lineage *of;
    bool unfold;
    int n;  /* number of dims that it made; of an unfold two: tile and offset */
    const int64_t *size;                  /* their extents */
    int64_t stride;                       /* unfold: S */
    int64_t covered;  /* unfold: positions [0, covered) of `of` are in some tile */
    bool overlaps;                        /* unfold: tiles share elements (not only padding) */
};

/* The origin of a physical dim as a tree.  It gives old names back to inverse primitives, tells
 * fold which unfold it undoes, and is used to print the short notation. */
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

/* The effect of a primitive on the dims. */
struct reshape {
    struct prim prim;                     /* with inferred values filled in */
    int rank;
    int64_t shape[MAX_DIMS];
    const struct lineage *line[MAX_DIMS];
    int trimmed;                          /* the logical dim that loses its tail, or -1 */
    int64_t stored;                       /* how many of its elements stay */
    int overlaps;                         /* +1: makes overlapping tiles, -1: removes them */
};

extern const char *const prim_name[];     /* ORDER PRIM: by enum prim_kind */

/* prim_check.c: checks the preconditions of a primitive and computes the dims that result.  On
 * failure *e says what is wrong and what would be right. */
bool prim_check(struct exprs *p, const struct layout *l, const struct prim *prim, struct reshape *r,
                struct err *e);
/* Returns the number of dims that pr consumes (after = false) or makes at its dim. */
int prim_dims(const struct prim *pr, bool after);
/* ceil((D - B) / S) + 1, at least 1 (SPEC A.4). */
int64_t prim_tiles(int64_t size, int64_t tile, int64_t stride);

/* lineage.c */
const struct lineage *lineage_logical(struct arena *a, const struct tensor *t, int dim);
/* Part j of division d, named NAME.j. */
const struct lineage *lineage_part(struct arena *a, const struct division *d, int j);
/* Fuses the kids into one dim.  If they are all parts of one split, in order, the result is the
 * dim that was split. */
const struct lineage *lineage_fuse(struct arena *a, const struct lineage *const *kid, int n,
                                   int64_t size);
const struct lineage *lineage_resize(struct arena *a, const struct lineage *of, int64_t before,
                                     int64_t after);
/* Returns the same dim with another name. */
const struct lineage *lineage_rename(struct arena *a, const struct lineage *of, const char *name);
/* Returns the unfold that made dims (k, k+1) of l, if both are unchanged since; else NULL. */
const struct division *lineage_unfold(const struct layout *l, int k);

/* prim_map.c: the algebra.  `before` is the layout that pr applies to; only its rank and shape
 * are read. */
/* Applies rho of one primitive: maps physical indices before it to those after it. */
void prim_rho(struct exprs *p, const struct prim *pr, const struct layout *before,
              const struct expr *const *in, const struct expr **out);
/* Applies phi of one primitive: maps indices after it to those before it.  *guard is the
 * condition where that is defined (NULL = everywhere). */
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
/* Moves to the next point of a box in row-major order. False after the last one. */
bool layout_next_point(int64_t *point, const int64_t *shape, int rank);
#endif
