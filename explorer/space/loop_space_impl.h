/* Private to loop_*.c: the nest of a space, and the plan of a point. */
#ifndef TS_EXPLORER_SPACE_LOOP_SPACE_IMPL_H
#define TS_EXPLORER_SPACE_LOOP_SPACE_IMPL_H
#include "explorer/space/factor.h"
#include "explorer/space/loop_space.h"

#define NEST_AXES 20
#define AXIS_CUTS 4
#define AXIS_LOOPS (2 * LOOP_PARTS + 2)   /* most loops of an axis: factors, cuts, a phase, a loop
                                           * outside of the tile */
#define PLAN_LOOPS (NEST_AXES * AXIS_LOOPS)

enum loop_level { LEVEL_S1, LEVEL_S2, LEVEL_R1, LEVEL_S3, LEVEL_R2, LEVEL_S4, LEVELS };
extern const char *const loop_level_name[LEVELS];           /* "S1" "S2" "R1" ... */

/* A loop of the nest before any schedule. */
struct loop_axis {
    const char *name;
    int64_t extent;
    bool reduce;
    /* number of phases of the axis in a transposed convolution; else 1 */
    int64_t phase;
    int64_t rest;  /* ceil(extent / phase): the extent that the factors cover */
    int n_cuts; int64_t cut[AXIS_CUTS];   /* sizes of blocks that end inside the axis, ascending */
    /* whether some blocks are longer than the axis, and end inside it at different places */
    bool straddles;
    int parts; enum loop_level level[LOOP_PARTS];
    int knob;  /* index of the knob that splits it; -1: it is not split */
    unsigned operands;  /* bit o: whether the index of operand o depends on the axis */
};

enum { OPERAND_DATA, OPERAND_WEIGHTS, OPERANDS };

struct nest_info {
    const char *name;                     /* name of the stage: "Conv" */
    /* names of the tensors that the nest reads; NULL: there is no such operand, or it is inlined */
    const char *operand[OPERANDS];
    int64_t operand_elems[OPERANDS];
    bool transposed;
    /* unfolded: whether the data are stored in overlapping tiles; grouped: whether these tiles are
     * stored in groups */
    bool unfolded, grouped;
    bool pinned;                          /* whether lines fix the loops of the nest */
    /* of a pinned nest: loops at which nodes can be attached; NULL: no such loop */
    const char *s1, *s2;
    int n_axes; struct loop_axis axis[NEST_AXES];       /* output axes as stored, then reductions */
    int vector;                           /* the axis that can be vectorized; -1: no axis */
    int n_orders; int (*order)[NEST_AXES];              /* orders of the output axes at S1 */
    int phases_last;  /* index of the order with phases last in S1; -1: no such order */
    int n_reduce_orders; int (*reduce_order)[NEST_AXES];
    /* pad: the node before the nest, a padding or conversion; NULL: no such node.  pad_in: the
     * tensor that this node reads */
    const char *pad, *pad_in;
    bool padded[MAX_SPATIAL];             /* [i]: whether the padding extends axis i of D H W */
    /* outermost and innermost loop of the padding, and the extent of the innermost one */
    struct root_axes { const char *outer, *inner; int64_t extent; } pad_root;
    int n_chain; const char *const *chain;              /* element-wise consumers, in order */
    struct root_axes chain_root;          /* outermost and innermost loop of the last consumer */
    /* the node whose output is stored last and may be streamed; NULL: no such node */
    const char *result;
    bool streams;  /* whether the output of `result` is so large that start points stream it */
    /* Indices of knobs; -1: the space lacks the knob. */
    int k_order, k_reduce_order, k_parallel, k_vectorize, k_unroll;
    int k_cache_write, k_cache_read[OPERANDS], k_consumer, k_pad, k_stream;
    int k_prefetch[OPERANDS];
    /* [c]: axis of the loop that choice c >= 1 of the data's knob means */
    int prefetch_axis[NEST_AXES];
};

struct plan_loop {
    int axis, part;                       /* part: number of the part of the axis, 0 = outermost */
    int64_t extent;
    enum loop_level level;
    bool phase;
    enum loop_ann ann;
};

struct loop_plan {
    int n; struct plan_loop loop[PLAN_LOOPS];           /* outermost first */
    int n_parts[NEST_AXES]; int64_t part[NEST_AXES][AXIS_LOOPS];
    unsigned uneven;                      /* bit a: whether blocks end inside loops of axis a */
    /* s1: the last loop of S1; -1: S1 has no loop.  s2: the last loop of S2; if S2 has no loop, s1.
     * Tiles and attached nodes are placed at these loops */
    int s1, s2;
    int r1;                               /* the last loop of R1; if R1 has no loop, s2 */
    /* the loops at which the consumers and the padding are attached; or AT_ROOT or AT_PINNED; for
     * the padding also AT_INLINE */
    int consumer, pad;
    int cache_write;                      /* loop where the tile is placed; AT_NONE: no tile */
    int cache_read[OPERANDS];             /* loop where the copy is placed; AT_NONE: no copy */
    int prefetch[OPERANDS];  /* loop whose later iterations are prefetched; AT_NONE: no prefetch */
    int64_t ahead[OPERANDS];              /* number of iterations to prefetch ahead */
};
enum { AT_ROOT = -1, AT_INLINE = -2, AT_NONE = -3,
       AT_PINNED = -4 };  /* the loop S1 or S2 of a pinned nest; the choice says which */

/* Returns the tensor that a prefetch of the operand reads: the input of the padding if the operand
 * is data and its padding is inlined; else the operand itself.  pad: as in struct loop_plan. */
static inline const char *prefetched(const struct nest_info *nest, int pad, int operand)
{
    bool before = operand == OPERAND_DATA && nest->k_pad >= 0 && pad == AT_INLINE;
    return before ? nest->pad_in : nest->operand[operand];
}

/* loop_plan.c: computes the loops of a point. */
void loop_plan_of(const struct loop_space *s, const struct loop_point *p, struct loop_plan *plan);
/* Returns the name of a loop, "O.1.0"; valid until *buffer changes. */
const char *loop_plan_name(const struct loop_space *s, const struct loop_plan *plan, int loop,
                           struct str *buffer);

#define MOST_INNER 64                     /* largest innermost factor (SPEC D.5) */
/* Sets f to the split (extent / t, rounded up) x 1 x .. x 1 x t. */
void knob_set_tile(const struct loop_knob *k, int64_t t, int64_t *f);

/* gpu_space.c: fills in the knobs and s->gpu of a GPU's space (gpu_space.h), whose knobs are all
 * choices.  node: number of the main node of p. */
bool gpu_space_fill(struct arena *a, const struct program *p, int node, struct loop_space *s,
                    struct err *e);
/* gpu_sound.c, gpu_lines.c, gpu_start.c, gpu_recover.c: the functions of loop_space.h for a GPU's
 * space.  The caller must have checked that all choices are in range. */
bool gpu_point_sound(const struct loop_space *s, const struct loop_point *p, struct err *e);
void gpu_point_lines(const struct loop_space *s, struct arena *a, const struct loop_point *p,
                     const char *const **line, int *n);
void gpu_point_start(const struct loop_space *s, struct loop_point *p);
/* Reduces the number of stages of the shared tiles until the copying loop can be pipelined with
 * this number. */
void gpu_point_fit(const struct loop_space *s, struct loop_point *p);
bool gpu_point_from_lines(const struct loop_space *s, const char *const *line, int n,
                          struct loop_point *p, struct point_why *why);

static inline int64_t knob_choice(const struct loop_point *p, int knob, int64_t otherwise)
{
    return knob >= 0 ? p->v[knob][0] : otherwise;
}
#endif
