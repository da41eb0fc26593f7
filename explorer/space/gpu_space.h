/* Private to gpu_*.c: the loop space of a GPU's target (SPEC D.5).
 *
 *     blocks threads | outer reductions | inner reductions | vthreads registers
 *
 * An output axis of extent e is split into ceil(e / (v t r)) blocks, v vthreads, t threads and r
 * elements of a register tile; a reduction into an outer and an inner part.  Of the output axes
 * with more than one element, the last has the index x and the one before it y; all axes before
 * these share z.  Tiles of the operands in shared memory are copied at the last outer reduction,
 * where they may have several stages (loop pipeline).  All knobs are choices, so points are drawn,
 * moved and crossed like those of a CPU's space. */
#ifndef TS_EXPLORER_SPACE_GPU_SPACE_H
#define TS_EXPLORER_SPACE_GPU_SPACE_H
#include "explorer/space/loop_space_impl.h"

#define GPU_AXES 10

/* A part of an axis. Its size is value[choice of knob]; knob -1: its size is 1. */
struct gpu_part { int knob; const int64_t *value; };

struct gpu_axis {
    const char *name;
    int64_t extent;
    bool reduce;
    struct gpu_part vthread, thread, tile;   /* a reduction has only `tile`, its inner part */
};

/* The memory from which a thread reads an operand.  For a padded operand, FROM_GLOBAL inlines the
 * padding. */
enum gpu_from { FROM_GLOBAL, FROM_SHARED, FROM_SHARED_PAD, FROM_SHARED_SWIZZLE, GPU_FROMS };

/* An operand as it lies in memory.  shape[d]: the extent of dim d.  coef[d][a]: the coefficient of
 * axis a in the index of dim d.  known: whether the index is linear; else the size of the operand's
 * tile is not known. */
struct gpu_operand {
    const char *name;                     /* its name; NULL: there is no such operand */
    int knob;  /* index of the knob that chooses enum gpu_from; -1: no such knob */
    /* padding: whether this nest can compute the node that makes the operand */
    bool known, padding;
    int64_t bytes;                        /* bytes of an element in the operand's tile */
    int rank; int64_t shape[MAX_DIMS], coef[MAX_DIMS][GPU_AXES];
    unsigned axes;                        /* bit a: the index depends on axis a */
};

struct gpu_nest {
    const char *name;                     /* name of the stage: "Conv" */
    /* output axes as stored, then reductions */
    int n_axes, n_output; struct gpu_axis axis[GPU_AXES];
    struct gpu_operand operand[OPERANDS];
    /* index of the knob for unrolling; choice 0: only the register tile is unrolled; 1: the inner
     * reduction too.  -1: no such knob */
    int k_unroll;
    /* index of the knob for the number of stages of the shared tiles; choice i: i + 1 stages.  -1:
     * no tile can have more than one stage */
    int k_stages;
    int64_t bytes;                        /* bytes of a stored element */
    int n_chain; const char *const *chain;           /* element-wise consumers, in order */
    int n_rest; const char *const *rest;  /* lines that bind the loops of the other nodes */
};

/* The sizes of one axis in a point: outer * vthread * thread * tile covers the extent. */
struct gpu_sizes { int64_t outer, vthread, thread, tile; };
struct gpu_sizes gpu_sizes_of(const struct gpu_nest *g, const struct loop_point *p, int axis);
/* Returns the GPU index to which the loops of an output axis are bound: 0 for x, 1 for y, 2 for z.
 * An axis of extent 1 has no loops to bind.  Exception: if all output axes have extent 1, the last
 * one is bound to a thread. */
int gpu_index_of(const struct gpu_nest *g, int axis);
/* Returns the reduction to which the innermost inner part with more than one iteration belongs; -1:
 * no inner part has more than one. */
int gpu_innermost(const struct gpu_nest *g, const struct loop_point *p);
/* Whether asynchronous copies of memory can fill the tile of an operand.  They cannot fill the tile
 * of a padding, which the kernel computes, nor that of partial sums in a wider type (rfactor). */
bool gpu_is_stored(const struct gpu_nest *g, const struct gpu_operand *o);
/* Returns the stages of the shared tiles: 1 without a pipeline. */
int64_t gpu_stages(const struct gpu_nest *g, const struct loop_point *p);
/* Returns the reduction in whose outer loop the tiles are copied; -1: tiles are copied once. */
int gpu_copies_at(const struct gpu_nest *g, const struct loop_point *p);
/* What a point needs: threads per block, sums and registers (an estimate) per thread, bytes of
 * shared memory per block, and blocks of the grid. */
struct gpu_need { int64_t threads, sums, registers, shared, blocks; };
struct gpu_need gpu_need_of(const struct gpu_nest *g, const struct loop_point *p);
static inline enum gpu_from gpu_from_of(const struct gpu_operand *o, const struct loop_point *p)
{
    return o->knob >= 0 ? (enum gpu_from)p->v[o->knob][0] : FROM_GLOBAL;
}
#endif
