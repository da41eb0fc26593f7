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
    int n_cuts; int64_t cut[AXIS_CUTS];   /* sizes of blocks that end inside it, ascending */
    /* whether some blocks are longer than the axis, and end inside it at different places */
    bool straddles;
    int parts; enum loop_level level[LOOP_PARTS];
    int knob;  /* the knob of its split; -1: it is not split */
    unsigned operands;  /* bit o: whether the index of operand o depends on the axis */
};

enum { OPERAND_DATA, OPERAND_WEIGHTS, OPERANDS };

struct nest_info {
    const char *name;                     /* name of the stage: "Conv" */
    /* names of the tensors that the nest reads; NULL: there is none, or it is inlined */
    const char *operand[OPERANDS];
    int64_t operand_elems[OPERANDS];
    bool transposed;
    /* unfolded: the data are stored in overlapping tiles; grouped: in groups of these tiles */
    bool unfolded, grouped;
    bool pinned;                          /* whether lines fix its loops */
    const char *s1, *s2;  /* pinned: loops at which nodes are attached; NULL: none */
    int n_axes; struct loop_axis axis[NEST_AXES];       /* output axes as stored, then reductions */
    int vector;                           /* the axis that can be vectorized; -1: none */
    int n_orders; int (*order)[NEST_AXES];              /* orders of the output axes at S1 */
    int phases_last;                      /* index of the order with phases last in S1; -1: none */
    int n_reduce_orders; int (*reduce_order)[NEST_AXES];
    /* pad: the padding or conversion before the nest; NULL: none.  pad_in: its input */
    const char *pad, *pad_in;
    bool padded[MAX_SPATIAL];             /* axes of D H W that the padding extends */
    /* outermost and innermost loop of the padding, and the extent of the innermost one */
    struct root_axes { const char *outer, *inner; int64_t extent; } pad_root;
    int n_chain; const char *const *chain;              /* element-wise consumers, in order */
    struct root_axes chain_root;          /* outermost and innermost loop of the last consumer */
    const char *result;  /* the tensor that is stored last and may be streamed; NULL: none */
    bool streams;  /* whether the result is so large that start points stream it */
    /* Indices of knobs; -1: the space lacks the knob. */
    int k_order, k_reduce_order, k_parallel, k_vectorize, k_unroll;
    int k_cache_write, k_cache_read[OPERANDS], k_consumer, k_pad, k_stream;
    int k_prefetch[OPERANDS];
    int prefetch_axis[NEST_AXES];  /* choice c >= 1 of the data's prefetch: the axis of the loop */
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
    /* the last loop of S1 (-1: none), and the last loop of S2 (if it has none: of S1); tiles and
     * attached nodes are placed there */
    int s1, s2;
    int r1;                               /* last loop of R1; if R1 has none, s2 */
    /* loops to which the consumers and the padding are attached; or AT_ROOT, AT_INLINE (padding),
     * AT_PINNED */
    int consumer, pad;
    int cache_write;                      /* loop where the tile is placed; AT_NONE: no tile */
    int cache_read[OPERANDS];             /* loop where the copy is placed; AT_NONE: no copy */
    int prefetch[OPERANDS];  /* loop whose later iterations are prefetched; AT_NONE: no prefetch */
    int64_t ahead[OPERANDS];              /* number of iterations to prefetch ahead */
};
enum { AT_ROOT = -1, AT_INLINE = -2, AT_NONE = -3,
       AT_PINNED = -4 };  /* the loop S1 or S2 of a pinned nest; the choice says which */

/* Returns the tensor that a prefetch of the operand reads: of data whose padding is inlined, the
 * input of the padding; else the operand itself.  pad: as in struct loop_plan. */
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
/* Sets the split f[0] x 1 x .. x t of the extent. f[0] is rounded up. */
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
/* Reduces the number of stages of the shared tiles until the loop can be pipelined with so many. */
void gpu_point_fit(const struct loop_space *s, struct loop_point *p);
bool gpu_point_from_lines(const struct loop_space *s, const char *const *line, int n,
                          struct loop_point *p, struct point_why *why);

static inline int64_t knob_choice(const struct loop_point *p, int knob, int64_t otherwise)
{
    return knob >= 0 ? p->v[knob][0] : otherwise;
}
#endif
