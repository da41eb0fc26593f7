/* Expert schedules: schedules as a person who knows the machine would write them, with parameters
 * for the shapes.  They are data (sessions/experts/NAME.yaml, read by sessions/file/expert_file.h):
 *
 *     expert: 1
 *     title: ...
 *     note: why it is good
 *     for: [c2d, dil]                       # operators
 *     target: cuda                          # only for this target; default: every CPU
 *     when: sw == 1                         # condition for applying it; default: always
 *     choose: {nv: [1, 2, 4], wt: [4, 7]}   # every combination is a schedule
 *     let:                                  # names for values, computed one after the other
 *     - {ob: "min(nv * lanes, O)"}
 *     only: "ob * wt <= 24"                 # combinations that make sense
 *     prefer: "ob * wt / (ob + wt)"         # larger is better; decides without measuring
 *     steps:
 *     - layout set Conv "N H W O"
 *     - {if: padded, step: "loop inline Inp"}
 *     - {for: epilogue, step: "loop compute_at {epilogue} Conv W.0"}
 *
 * Names in expressions and in {braces}:
 *     N O H W I KH KW, M N K ...  extents of the main node's loops; 1 where there is no such loop
 *     sd sh sw, dd dh dw, G        strides, dilations, number of groups
 *     padded                       whether the main node's operand is padded
 *     in_H in_W ..., in_rank       extents and rank of the main node's operand, with padding
 *     dim_0 dim_1 ...              names of the operand's dims
 *     images                       1: all dims of the operand but the first two are reduced
 *     operand_bytes                bytes of the operand, with padding
 *     lanes, registers             vector lanes and registers of the target
 *     elem_bytes                   size of an element of the tensors: 2 of f16 and bf16
 *     threads, last_cache          number of threads; bytes of the last cache
 *     main, operand, result        names of the main node's result, its operand, the last tensor
 *     last                         name of the result of the last element-wise node after the main
 *                                  one; without such nodes, of the main one
 *     stream                       1: the result should bypass the caches
 *     accuracy                     the relative error that an algorithm may have
 *
 * `for: epilogue` makes one line for each element-wise node after the main one, which it names
 * {epilogue}.  `for: fused` makes one line for the main node and each element-wise node after it,
 * except the last of them all; it names the node {fused}.
 *
 * In a graph of statements, one expert schedules the statement with the most work and the
 * element-wise ones after it.  Other operands of these get the layout of the main result if they
 * have its shape.  Nodes that no expert schedules get a plain schedule (draft.h). */
#ifndef TS_EXPLORER_EXPERT_H
#define TS_EXPLORER_EXPERT_H
#include "explorer/expert/param.h"
#include "kernels/gen/target.h"
#include "profile/measure/measure.h"

struct expert {
    const char *id, *path, *title, *note;
    const char *target;                                  /* "cuda"; NULL: every CPU */
    int n_families; const char *const *family;
    const char *when, *only, *prefer;  /* NULL: no condition, all combinations, in file order */
    struct param_grid choose;
    int n_lets; const struct param_value *let;           /* each has a name and an expression */
    int n_steps; const struct expert_step *step;
};
/* A step line of an expert.  each: "epilogue" or "fused" if the line is repeated for several nodes
 * (`for:` above); NULL: one line. */
struct expert_step { const char *text, *condition; const char *each; };
/* accuracy: the largest relative error of an algorithm that experts may choose; 0: none, so all
 * operators are computed as defined. */
#define EXPERT_ACCURACY 1e-5              /* the default in networks */
struct experts { int n; const struct expert *const *item; double accuracy; };

/* Whether any expert is for this family on this target (NULL: this CPU).  Its `when` may still
 * exclude the sizes of an operator. */
bool experts_for(const struct experts *all, const char *family, const struct target *target);

/* A schedule of an operator: its step lines, in the order of applying. */
struct expert_schedule {
    const struct expert *expert;
    struct param_set chosen;                             /* "nv=2, wt=14" */
    double score;
    int n; const char *const *step;
};
/* Finds at most max legal schedules of spec, among the 400 combinations with the largest `prefer`.
 * They are sorted, best first; equal scores are in the order of expert files.  target: has
 * registers and lanes; NULL: the best of this CPU.  With threads > 1, loops are parallel where the
 * expert has parallel loops.
 *
 * If no expert is for this operator or its sizes, there is one plain schedule.  If experts are for
 * it, but none of their tilings is legal: ERR_NAME, or for a graph of statements one plain
 * schedule.  Errors in the expressions of an expert name the expert. */
bool expert_schedules(struct arena *a, const struct experts *all, const char *spec,
                      const struct target *target, int threads, int max,
                      struct expert_schedule *out, int *n, struct err *e);

/* Returns the chosen parameters as text: "nv=2, wt=14, order=0". */
const char *expert_chosen_text(struct arena *a, const struct expert_schedule *s);

/* Measures n schedules of spec one after the other.  *best gets the index of the one with the least
 * minimum time, *m its measurement.  Failed schedules are skipped; ERR_WRONG when all fail. */
bool expert_fastest(const char *spec, const struct expert_schedule *s, int n,
                    const struct measure_opts *o, const struct progress *pr,
                    const struct cancel *c, int *best, struct measurement *m, struct err *e);
#endif
