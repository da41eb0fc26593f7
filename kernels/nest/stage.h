/* The schedule of one node: its loops and what the loop primitives did to them (ALT 4.3; SPEC B.8,
 * D.5).
 *
 * A fresh stage has one spatial axis per physical dim of the node's output, in physical order, then
 * one axis per reduction variable.  Every primitive makes a new stage; an illegal one fails, and
 * its error names the reason, the loop, and mostly what would make it legal.  Rules that involve
 * other stages are in attach.c and program_loop.c. */
#ifndef TS_NEST_STAGE_H
#define TS_NEST_STAGE_H
#include "kernels/nest/tree.h"

struct axis {
    const char *name;                     /* unique in its stage: "O.1", "KH" */
    int64_t extent;
    bool reduce;
    enum loop_ann ann;
    const struct expr *var;               /* in 0 .. extent-1; the name in lower case */
};

/* The condition `value < below`.  It must be checked where the loops of an inexact split run past
 * the end.  reduce: whether they are loops of a reduction. */
struct limit { const struct expr *value; int64_t below; bool reduce; };
#define MAX_LIMITS 8
#define MAX_READS 4

/* Where and how a tile is stored: in local memory, or in memory that a block shares.  pad: number
 * of elements added to each row.  keep: columns are swizzled in groups of `keep` elements; 0: not
 * swizzled. */
struct tile_form { enum memory_scope memory; int64_t pad, keep; };

struct stage {
    int node;
    const char *name;  /* name of the output tensor of the node, used in commands */
    int n_axes;
    const struct axis *axis;              /* outermost first */
    int rank;
    /* each physical dim of the output as an expression over the axis variables */
    const struct expr *index[MAX_DIMS];
    /* each reduction variable as an expression over the axis variables */
    const struct expr *reduce[MAX_RANK];
    int n_limits;
    struct limit limit[MAX_LIMITS];
    const char *cache_at;                 /* cache_write: the axis inside which the sums are kept
                                           * in a local tile; NULL: no cache_write */
    bool narrow_sum;                      /* whether the node is a sum and has a narrow type */
    int n_reads;
    /* cache_read: operands that are copied to tiles inside the axis */
    struct cached_read { const char *tensor, *axis; struct tile_form form; } read[MAX_READS];
    /* pipeline: the loop whose shared tiles have pipe_stages stages; NULL: no loop */
    const char *pipe_at;
    int64_t pipe_stages;
    int n_ahead;
    /* prefetch: operands that are fetched `by` iterations of the axis before they are read */
    struct read_ahead { const char *tensor, *axis; int64_t by; } ahead[MAX_READS];
    bool inlined;                         /* whether its value is computed wherever it is read */
    bool stream;  /* whether its tensor is stored around the caches (non-temporal stores) */
    int attach;  /* compute_at: the stage in whose loops this stage is computed; -1: none */
    const char *attach_axis;              /* compute_at: the axis of that stage */
    struct tile_form attach_form;         /* compute_at of a producer: its tile */
    /* tensorize: the loop over the 32 lanes of the warp that multiplies the tensor block; NULL: the
     * stage has no tensor block */
    const char *lane;
    int n_steps;                          /* loop steps applied to this stage so far */
};

const struct stage *stage_new(struct exprs *p, const struct graph *g, int node,
                              const struct layout *out);
/* Whether the tile of cache_write keeps partial sums: a reduction is inside of the loop at which
 * the tile is. */
bool stage_tile_sums(const struct stage *s);
/* Returns the innermost axis outside of all reductions, or -1. */
int stage_above_sums(const struct stage *s);
/* Returns how many loops are outside of the accumulator tile, or -1 without a tile.  A sum of a
 * narrow type needs a tile outside of all reductions, because memory of this type would round every
 * addition.  So does the sum of a tensor block, because tensor cores add to registers. */
int stage_tile_depth(const struct stage *s);
/* Returns the position of the axis with this name (in upper or lower case), or -1. */
int stage_axis(const struct stage *s, const char *name);

/* Splits an axis.  Factors are given outermost first; one of them may be 0 (inferred), and a single
 * factor f means {0, f}. If the factors do not divide the extent, the last iterations run past its
 * end and the stage gets a limit; lowering cuts the loops there (pieces.c). */
bool stage_split(struct exprs *p, const struct stage *s, int axis, const int64_t *factor, int n,
                 const struct stage **out, struct err *e);
bool stage_fuse(struct exprs *p, const struct stage *s, int first, int n, const struct stage **out,
                struct err *e);
/* Reorders all axes: new position j holds old axis perm[j]. */
bool stage_reorder(struct exprs *p, const struct stage *s, const int *perm,
                   const struct stage **out, struct err *e);
/* Annotates an axis as vectorize, unroll or parallel, or binds it to an index of a GPU; LOOP_SERIAL
 * removes the annotation.  On a loop of a tensor block, LOOP_SERIAL removes the annotations of all
 * loops of the block.  The lanes of a vectorized reduction are combined to one value after its last
 * iteration. */
bool stage_annotate(struct exprs *p, const struct stage *s, int axis, enum loop_ann ann,
                    const struct stage **out, struct err *e);
/* Makes a tensor block of three loops: over 16 rows, 16 columns, and 16 (f32: 8) steps of a sum.  A
 * warp multiplies the block on its tensor cores (tensor.h).  Each lane gets 8 of the 16 x 16
 * results, as the instruction mma.m16n8k16 distributes them:
 *
 *     rows = 8 * rows.0 + lane / 4,   columns = 8 * columns.0 + 2 * (lane % 4) + columns.1
 *
 * The loop `lane` is bound to thread.x, inside of the other bound loops.  The loops of the sum, of
 * rows.0, columns.0 and columns.1 become the innermost ones, in this order. */
#define TENSOR_SIDE 16
#define TENSOR_LANES 32
struct tensor_axes { int rows, columns, sum; int64_t steps; };
/* Returns the number of steps in a block's sum: 16 for a type of 16 bits, 8 for f32 (as tf32). */
static inline int64_t tensor_steps(const struct elem_type *type)
{
    return 32 / type->bytes;
}
bool stage_tensorize(struct exprs *p, const struct stage *s, struct tensor_axes at,
                     const struct stage **out, struct err *e);
bool stage_cache_write(struct exprs *p, const struct stage *s, int axis, const struct stage **out,
                       struct err *e);
/* Adds a cache_read: before the loops inside the axis run, the elements of an operand that they
 * read are copied into a tile. */
bool stage_cache_read(struct exprs *p, const struct stage *s, const char *tensor, int axis,
                      struct tile_form form, const struct stage **out, struct err *e);
/* Swizzles the shared tile of a cached operand in groups of `keep` adjacent elements. */
bool stage_swizzle(struct exprs *p, const struct stage *s, const char *tensor, int64_t keep,
                   const struct stage **out, struct err *e);
/* Gives the shared tiles at the axis several stages: asynchronous copies fill a stage while another
 * one is read.  stages = 1 undoes this. */
#define MAX_STAGES 8
bool stage_pipeline(struct exprs *p, const struct stage *s, int axis, int64_t stages,
                    const struct stage **out, struct err *e);
/* Adds a prefetch: each iteration of the axis fetches the elements of an operand that the loops
 * inside read `by` iterations later.  A second prefetch of the same operand replaces the first. */
#define MAX_AHEAD 65536
bool stage_prefetch(struct exprs *p, const struct stage *s, const char *tensor, int axis,
                    int64_t by, const struct stage **out, struct err *e);
#define STAGE_MAX_VECTOR 256  /* most iterations of a vectorized loop, split into machine vectors */
/* Checks every rule that concerns one stage alone (vector axis innermost, no parallel reduction,
 * ...).  If a tile is inside a vectorized loop and another loop can have the tile, the fix in *e is
 * STAGE_PUT_TILE and the name of that loop. */
#define STAGE_PUT_TILE "put the tile at "
bool stage_check(const struct stage *s, struct err *e);

/* Replaces each of n variables from[i] by with[i] in every index expression and limit of *s. */
void stage_subst(struct exprs *p, struct stage *s, const struct expr *const *from,
                 const struct expr *const *with, int n);

/* Prints the loops in order with their extents, for error messages: "N.0(128) M.0(32) K(1024)". */
void stage_print_axes(struct str *out, const struct stage *s);
#endif
