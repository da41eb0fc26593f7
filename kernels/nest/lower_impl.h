/* Private to the lowering pass: buffers, the rewritten body of a node, and the tiles of attached
 * producers. */
#ifndef TS_NEST_LOWER_IMPL_H
#define TS_NEST_LOWER_IMPL_H
#include "kernels/base/vec.h"
#include "kernels/nest/lower.h"

struct kids { const struct tree **data; int len, cap; };

/* Peels t: cuts loops around a select, such as `select(3 <= h && h < 227, x, 0)`, into ranges in
 * which fewer of its conditions must be tested, or none.  Appends the pieces of t to out. */
void tree_peel(struct exprs *p, const struct tree *t, struct kids *out);

/* Leaves out iterations for which a guard is false: turns guards into bounds of loops, and drops
 * guards in pieces of loops where they always hold.  Appends the pieces of t to out. */
void tree_skip(struct exprs *p, const struct tree *t, struct kids *out);

/* Makes vector loops of the innermost serial loops of t that only copy or fill adjacent elements.
 * Lets the threads of a block copy 16 bytes at a time to shared tiles where they can.  Appends the
 * new t to out. */
struct low;
void low_copies(struct low *w, const struct tree *t, struct kids *out);
/* Returns t with asynchronous copies in the loop that its stage pipelines (pipeline.c). */
const struct tree *low_pipeline(struct low *w, const struct tree *t);

/* The replacement for the loads of a tensor in the nest that is lowered: a value, or a tile. */
struct binding {
    /* the value of the tensor at the current element, for element-wise readers; NULL: none */
    const struct val *value;
    int tile;                             /* buffer of the tensor's tile; -1: no tile */
    bool one_copy;  /* whether the tile holds only the canonical copy of an unfolded element */
    /* first physical index that the tile holds, per physical dim */
    const struct expr *origin[MAX_DIMS];
};

/* Returns t with barriers where threads of a block share tiles: between the writes of one thread
 * and the reads of others, and before elements are overwritten.  If t has no shared tiles, returns
 * t itself. */
const struct tree *tree_barriers(struct exprs *p, const struct buffer *buffer, int n_buffers,
                                 const struct tree *t);
/* Whether the threads of a block fill a tile inside t together. All threads must then run the loops
 * around that tile equally often, so lowering must not change the bounds of these loops. */
bool tree_shares(const struct tree *t);

struct low {
    const struct lowering *in;
    struct arena *arena;
    VEC(struct buffer) buffers;
    int *param;  /* per tensor: its parameter buffer; -1: the tensor is not stored in memory */
    struct binding *bound;                /* per tensor: what replaces its loads now */
    bool past_tiles;                      /* whether loads do not use tiles (low_body_past_tiles) */
    VEC(int) rebound;                     /* tensors bound since the last low_unbind(-1) */
    int first_shared;                     /* the first buffer of the nest that is being lowered */
    bool overrun;                         /* whether tensor blocks of this nest may overrun
                                           * (low_overrun) */
    bool ok;
    struct err *e;
};

/* Whether tensor t is stored in memory; some intermediates are only in a tile, or inlined. */
bool low_lives_in_memory(const struct lowering *in, int t);
void low_open(struct low *w);  /* decides which tensors are parameters and makes their buffers */
void low_close(struct low *w);
int low_buffer(struct low *w, const struct buffer *b);
void low_bind(struct low *w, int tensor, const struct val *value);
void low_bind_tile(struct low *w, int tensor, const struct binding *b);
void low_unbind(struct low *w, int tensor);       /* tensor -1: unbinds all */
const struct func *low_func(struct low *w, const struct kids *roots);

/* The place where the elements of a stage are stored: the accumulator tile while it is open, else
 * the place in memory. */
struct low_place { int buffer, rank; const struct expr *idx[MAX_DIMS]; };

/* The state of lowering one stage, while its loops are emitted from the outside to the inside.  In
 * a piece of a loop, s has the extents of that piece. */
struct nest_state {
    const struct stage *s;
    const struct node *n;
    int tile_from;  /* depth at which the accumulator tile opens; -1: no tile */
    struct low_place home, target;  /* home: the place in memory; target: the tile while it is
                                     * open, else home */
    /* whether the result is stored at home; if not, only consumers attached at the tile read it */
    bool stored;
};

/* Whether the tensor blocks of s may overrun the extents of the operator (overrun.c).  Limits then
 * do not cut blocks, and the products in a block have no condition. */
bool low_overrun(const struct lowering *in, const struct stage *s);

/* Cuts the loop of axis i into the pieces in which it is emitted.  Returns their number: one,
 * unless a limit of an inexact split cuts the loop. */
#define MAX_PIECES 2
int low_pieces(struct low *w, const struct nest_state *st, int i, struct nest_state *out);
/* Whether the variable of the axis is a constant, because a cut left one iteration (low_pieces).
 * Such an axis has no loop.  An axis of extent 1 that was not cut keeps its variable and loop. */
bool axis_is_fixed(const struct axis *x);
/* Returns the conjunction of the limits of s that must still be checked.  reductions: whether to
 * include the limits of reductions. */
const struct expr *stage_inside(struct exprs *p, const struct stage *s, bool reductions);

/* Return the first value of a loop, and the value after its last. */
const struct expr *low_begin(struct exprs *p, const struct tree *loop);
const struct expr *low_end(struct exprs *p, const struct tree *loop);
/* Return the loop with other bounds, and t with other kids. */
const struct tree *low_ranged(struct exprs *p, const struct tree *loop, const struct expr *lo,
                              const struct expr *hi);
const struct tree *low_with_kids(struct exprs *p, const struct tree *t, const struct kids *kids);
/* Appends the conjuncts of e. Returns false when there are too many; then some are left out. */
#define MAX_CONJUNCTS 32
struct conjuncts { int n; const struct expr *c[MAX_CONJUNCTS]; };
bool low_conjuncts(const struct expr *e, struct conjuncts *out);

const struct tree *low_store(struct low *w, int node, int buffer, const struct expr *const *idx,
                             int rank,
                             enum store_how how, const struct val *value, const struct expr *guard);

/* Returns the value that node computes at physical output position `index`.  s: the node's own
 * stage, which gives the values of the reduction variables, or the stage that it is attached to.
 * Loads have buffers and physical indices.  *guard: the condition under which the layout of the
 * output has an element at `index`; NULL: always. */
const struct val *low_body(struct low *w, int node, const struct expr *const *index,
                           const struct stage *s,
                           const struct expr **guard);

/* A search for the elements of a tensor that stage s reads, directly and through inlined nodes.
 * low_each_read calls note with the physical index of every such load. */
struct low_reading {
    const struct stage *s;
    int tensor;
    void (*note)(void *ctx, const struct expr *const *idx);
    void *ctx;
};
void low_each_read(struct low *w, const struct low_reading *r);

/* Returns the initial value of the sums or maxima of node at physical output position `index`; 0
 * where its layout has a hole. */
const struct val *low_init(struct low *w, int node, const struct expr *const *index);

/* Moves conditions from v, a term of a sum, to *guard (NULL: always true), and returns the rest of
 * v.  select(c, x, 0) becomes x, and select(c, x, 0) * y becomes x * y, with c in *guard.  Terms
 * that add nothing then cost nothing: transposed convolutions skip three of four taps that way, and
 * convolutions skip the taps in an inlined padding.  In a factor of a product, a condition on the
 * variable that s vectorizes stays a select, because all lanes execute together. */
const struct val *low_summand(struct low *w, const struct val *v, const struct stage *s,
                              const struct expr **guard);

/* Like low_body, for a node computed inside the loops of another node.  Its loads do not use the
 * tiles there, because these hold operands of the other node. */
const struct val *low_body_past_tiles(struct low *w, int node, const struct expr *const *index,
                                      const struct stage *s, const struct expr **guard);

/* Returns v where guard holds and 0 elsewhere: the holes of a layout contain 0 (SPEC B.5). */
const struct val *low_guarded(struct low *w, const struct val *v, const struct expr *guard);

/* Makes a tile of producer `node`, in the form that its stage requests.  The tile covers the
 * elements that stage s reads inside its first pos loops.  Adds the nest that fills the tile, and
 * binds the tensor to the tile.  Returns the buffer of the tile, or -1 with w->ok false. */
int low_producer(struct low *w, int node, const struct stage *s, int pos, struct kids *kids);
/* Like low_producer, for an operand in memory (cache_read): the tile is a copy. */
int low_cached_read(struct low *w, const struct cached_read *read, const struct stage *s, int pos,
                    struct kids *kids);
#endif
