/* Private to the lowering pass: buffers, the rewritten body of a node, and the tiles of attached
 * producers. */
#ifndef TS_NEST_LOWER_IMPL_H
#define TS_NEST_LOWER_IMPL_H
#include "kernels/base/vec.h"
#include "kernels/nest/lower.h"

struct kids { const struct tree **data; int len, cap; };

/* Cuts loops around `select(3 <= h && h < 227, x, 0)` into ranges with no condition left; appends
 * the pieces of t to out. */
void tree_peel(struct exprs *p, const struct tree *t, struct kids *out);

/* Guards become bounds of loops, or hold by construction; what is outside is not computed. */
void tree_skip(struct exprs *p, const struct tree *t, struct kids *out);

/* A tensor whose loads are redirected while lowering the current nest. */
struct binding {
    const struct val *value;              /* element-wise: the load is this value (already at the
                                           * current point) */
    int tile;                             /* producer tile: buffer index, or -1 */
    bool one_copy;                        /* the tile holds the first copies of unfolded elements */
    const struct expr *origin[MAX_DIMS];  /* first physical index of the tile, per physical dim */
};

struct low {
    const struct lowering *in;
    struct arena *arena;
    VEC(struct buffer) buffers;
    int *param;                           /* per tensor: its parameter buffer, or -1 (lives only in
                                           * tiles) */
    struct binding *bound;                /* per tensor */
    bool past_tiles;                      /* loads do not go to tiles: see low_body_past_tiles */
    VEC(int) rebound;                     /* tensors that were bound since low_unbind(-1) */
    bool ok;
    struct err *e;
};

/* Or is it an intermediate that only attached nodes touch? */
bool low_lives_in_memory(const struct lowering *in, int t);
void low_open(struct low *w);             /* decides which tensors are parameters, makes their
                                           * buffers */
void low_close(struct low *w);
int low_buffer(struct low *w, const struct buffer *b);
void low_bind(struct low *w, int tensor, const struct val *value);
void low_unbind(struct low *w, int tensor);       /* -1: all */
const struct func *low_func(struct low *w, const struct kids *roots);

/* Where a stage's elements go: the accumulator tile while one is open, else its home in memory. */
struct place { int buffer, rank; const struct expr *idx[MAX_DIMS]; };

/* A stage on the way down its nest; in the pieces of a loop, with exact extents. */
struct nest_state {
    const struct stage *s;
    const struct node *n;
    int tile_from;                        /* depth at which the accumulator tile opens; -1 = none */
    struct place home, target;            /* target: the tile while it is open, else home */
    bool stored;                          /* home exists (else only consumers attached at the tile
                                           * read it) */
};

/* The pieces in which the loop of axis i is emitted; one, unless a limit of an inexact split cuts
 * it. */
#define MAX_PIECES 2
int low_pieces(struct low *w, const struct nest_state *st, int i, struct nest_state *out);
bool axis_is_fixed(const struct axis *x);             /* reduced to one iteration: no loop, var is a
                                                       * constant */
/* The conjunction of the limits still to be checked; with or without those of reductions. */
const struct expr *stage_inside(struct exprs *p, const struct stage *s, bool reductions);

const struct tree *low_loop(struct low *w, const struct stage *s, int axis, struct kids *body);
const struct tree *low_store(struct low *w, int node, int buffer, const struct expr *const *idx,
                             int rank,
                             enum store_how how, const struct val *value, const struct expr *guard);

/* What node computes at physical output position `index`; s gives the values of its reduction
 * variables when it is the node's own stage.  Loads carry buffers and physical indices. */
const struct val *low_body(struct low *w, int node, const struct expr *const *index,
                           const struct stage *s,
                           const struct expr **guard);

/* What the sums or maxima of node start from at physical output position `index`: 0 where its
 * layout has a hole. */
const struct val *low_init(struct low *w, int node, const struct expr *const *index);

/* In a sum, select(c, x, 0) and select(c, x, 0) * y are x and x * y where c holds: c joins *guard
 * (NULL: always), so that nothing is done for what adds nothing.  Transposed convolutions skip
 * three of four taps that way, and convolutions those in an inlined padding; there what s
 * vectorizes stays a select, since lanes go together. */
const struct val *low_summand(struct low *w, const struct val *v, const struct stage *s,
                              const struct expr **guard);

/* The same for a node that is computed at the loops of another: that node's tiles hold what itself
 * reads. */
const struct val *low_body_past_tiles(struct low *w, int node, const struct expr *const *index,
                                      const struct stage *s, const struct expr **guard);

/* v where guard holds, else 0: what a layout's holes contain (SPEC B.5). */
const struct val *low_guarded(struct low *w, const struct val *v, const struct expr *guard);

/* Makes the tile of producer `node` for what stage s reads inside depth pos, adds the nest that
 * fills it, binds it.
 * Returns the tile's buffer, or -1 with w->ok false. */
int low_producer(struct low *w, int node, const struct stage *s, int pos, struct kids *kids);
/* The same for an operand in memory (cache_read): the tile is a copy. */
int low_cached_read(struct low *w, int tensor, const struct stage *s, int pos, struct kids *kids);
#endif
