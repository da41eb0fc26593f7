/* From layouts and schedules to the loop tree: the pass that applies the rewriting rule (SPEC B).
 *
 * For node Y = F(X...) with loops L' over Y's physical dims (as split, fused, reordered by its
 * stage):
 *     logical variables   l  = phi_Y(L')                       (inverse layout of the output)
 *     operand accesses    X[a(l, R)] -> X[rho_X(a(l, R))]      (S_X(a(S_Y^-1(L'), R)))
 *     store               Y[L'], under phi_Y's guard when the layout has holes. */
#ifndef TS_NEST_LOWER_H
#define TS_NEST_LOWER_H
#include "kernels/nest/stage.h"

struct lowering {
    struct exprs *pool;
    const struct graph *graph;
    const struct layout *const *layout;      /* per tensor */
    const struct stage *const *stage;        /* per node */
    const int *host;        /* per tensor: whose buffer holds it (store_at), or -1; may be NULL */
};

/* ERR_STEP when the tile of an attached producer or of a cached operand would be too large; nothing
 * else is refused, so a program without such tiles always has a tree. */
bool lower(const struct lowering *in, const struct func **out, struct err *e);
int lower_tiles(const struct lowering *in);              /* how many of them there are */
/* How often lower() was called, by any thread: for tests and benchmarks. */
long lower_calls(void);

/* May `node` be computed inside axis `axis` of stage `at`?  Either an element-wise consumer of the
 * stage (directly, or through consumers already attached there) whose physical layout is the
 * producer's, or a simple producer read only by it. */
bool lower_attach_check(const struct lowering *in, int node, int at, const char *axis,
                        struct err *e);

/* May `node` be inlined, so that no element reads more than 4096 others?  May it cache `tensor`? */
bool lower_inline_check(const struct lowering *in, int node, struct err *e);
/* May the result of `node` be stored past the caches?  It lives in memory and is stored once. */
bool lower_stream_check(const struct lowering *in, int node, struct err *e);
/* Is it still stored once, in the loops that it has now?  True of what does not live in memory. */
bool lower_streamed_check(const struct lowering *in, int node, struct err *e);
bool lower_read_check(const struct lowering *in, int node, const char *tensor, struct err *e);
/* May `node` ask for `tensor` ahead of the iterations of axis `axis`?  It is read from memory
 * there, and not from a tile, at places that move with the axis. */
bool lower_prefetch_check(const struct lowering *in, int node, const char *tensor, const char *axis,
                          struct err *e);

/* What a node computes over the loops of `loops` (its own stage, a fresh one, or the stage that it
 * is attached to), with physical accesses; loads carry tensor indices.  For the access view. */
const struct val *lower_access(const struct lowering *in, int node, const struct stage *loops,
                               const struct expr **guard);
#endif
