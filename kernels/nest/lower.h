/* Lowers layouts and schedules to the loop tree: the pass that applies the rewriting rule (SPEC B).
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
    const struct layout *const *layout;      /* layout of each tensor */
    const struct stage *const *stage;        /* stage of each node */
    /* per tensor: the tensor whose buffer holds it (store_at), or -1. NULL: store_at is not used */
    const int *held_in;
    /* whether compilers may vectorize and reorder loops; lowering then leaves copies as loops */
    bool autovectorize;
};

/* Lowers a program to a loop tree.  Fails with ERR_STEP only when the tile of an attached producer
 * or of a cached operand, a tensor block or a pipelined loop is impossible.  A program without
 * these always has a tree. */
bool lower(const struct lowering *in, const struct func **out, struct err *e);
/* Returns how many things the program has for which lower() may fail: tiles of attached producers
 * and of cached operands, tensor blocks, and pipelined loops. */
int lower_tiles(const struct lowering *in);
/* Returns how often lower() was called, by any thread: for tests and benchmarks. */
long lower_calls(void);

/* Whether `node` can be computed inside axis `axis` of stage `at`.  Two kinds of nodes can: a
 * simple producer that only stage `at` reads, and an element-wise consumer of stage `at` that has
 * the same physical layout.  A consumer reads the stage directly, or through inlined nodes and
 * consumers that are already computed at this axis. */
bool lower_attach_check(const struct lowering *in, int node, int at, const char *axis,
                        struct err *e);

/* Whether `node` can be inlined. One condition is that each element of each node then reads at most
 * 4096 elements. */
bool lower_inline_check(const struct lowering *in, int node, struct err *e);
/* Whether the result of `node` can be stored around the caches: each element is stored in memory,
 * and only once. */
bool lower_stream_check(const struct lowering *in, int node, struct err *e);
/* Whether the present loops of a streamed node store each element only once.  True for a node that
 * is not stored in memory. */
bool lower_streamed_check(const struct lowering *in, int node, struct err *e);
/* Whether `node` can copy its operand `tensor` to a tile: the tensor is in a buffer of its own. */
bool lower_read_check(const struct lowering *in, int node, const char *tensor, struct err *e);
/* Whether `node` can prefetch `tensor` for later iterations of axis `axis`: it reads the tensor
 * there from memory (not from a tile), at addresses that depend on the axis. */
bool lower_prefetch_check(const struct lowering *in, int node, const char *tensor, const char *axis,
                          struct err *e);

/* Returns the expression that a node computes inside `loops`, with physical accesses.  The source
 * of a load is a tensor, not a buffer.  loops: the stage of the node, a new stage, or the stage
 * that the node is attached to.  *guard: as in low_body (lower_impl.h). */
const struct val *lower_access(const struct lowering *in, int node, const struct stage *loops,
                               const struct expr **guard);
#endif
