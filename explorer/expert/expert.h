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
 *     prefer: "ob * wt / (ob + wt)"         # score of a combination; the largest is best
 *     steps:
 *     - layout set Conv "N H W O"
 *     - {if: padded, step: "loop inline Inp"}
 *     - {for: epilogue, step: "loop compute_at {epilogue} Conv W.0"}
 *
 * Names in expressions and in {braces}:
 *     N O H W I KH KW, M N K ...  extents of the main node's loops; 1 where there is no such loop
 *     sd sh sw, dd dh dw, G        strides, dilations, number of groups
 *     padded                       1: the main node's operand is the tensor Inp_in with padding
 *     in_H in_W ..., in_rank       extents and rank of the main node's operand, with padding
 *     dim_0 dim_1 ...              names of the operand's dims
 *     images                       1: the main node reduces all dims of its operand but the first 2
 *     operand_bytes                bytes of the operand, with padding
 *     lanes, registers             vector lanes and registers of the target
 *     elem_bytes                   size of an element of the tensors: 2 of f16 and bf16
 *     threads, last_cache          number of threads; bytes of the last cache
 *     main, operand                names of the main node's result and of its operand
 *     result                       name of the graph's last tensor
 *     last                         name of the result of the last epilogue node (see below);
 *                                  without epilogue, of the main node
 *     stream                       1: the result should bypass the caches
 *     accuracy                     the largest relative error that an algorithm may have
 *
 * The epilogue is the element-wise nodes that continue the main node.  A step with `for: epilogue`
 * makes one line for each epilogue node; {epilogue} is the name of the node's result.  A step with
 * `for: fused` makes one line for the main node and one for each epilogue node, but none for the
 * last of these nodes; {fused} is the name of the node's result.
 *
 * In a graph of statements, one expert schedules one statement and its epilogue.  Among the
 * statements whose operator has an expert, this is the statement with the most work.  Another
 * operand of the epilogue that has the shape of the main result gets the layout of the main result.
 * Nodes that no expert schedules get a plain schedule (draft.h). */
#ifndef TS_EXPLORER_EXPERT_H
#define TS_EXPLORER_EXPERT_H
#include "explorer/expert/param.h"
#include "kernels/gen/target.h"
#include "profile/measure/measure.h"

struct expert {
    const char *id, *path, *title, *note;
    const char *target;                                  /* "cuda"; NULL: every CPU */
    int n_families; const char *const *family;
    /* when, only: NULL if there is no condition.  prefer: NULL if no combination has a score */
    const char *when, *only, *prefer;
    struct param_grid choose;
    int n_lets; const struct param_value *let;           /* value: an expression */
    int n_steps; const struct expert_step *step;
};
/* A step of an expert.  condition: its `if`; NULL: none.  each: its `for`, "epilogue" or "fused";
 * NULL: the step makes one line. */
struct expert_step { const char *text, *condition; const char *each; };
#define EXPERT_ACCURACY 1e-5              /* experts.accuracy in networks, unless set otherwise */
/* All experts.  accuracy: the largest relative error of an algorithm that an expert may choose; 0:
 * no expert chooses an algorithm, so all operators are computed as defined. */
struct experts { int n; const struct expert *const *item; double accuracy; };

/* Whether any expert is for this family of operators on this target (NULL: this CPU).  The `when`
 * of the expert can still exclude an operator of the family. */
bool experts_for(const struct experts *all, const char *family, const struct target *target);

/* A schedule of an operator that an expert makes. */
struct expert_schedule {
    const struct expert *expert;
    struct param_set chosen;                             /* its combination of `choose` */
    double score;                                        /* its value of `prefer`, or 0 */
    int n; const char *const *step;                      /* its step lines, in order */
};
/* Finds at most `max` legal schedules of an operator, among the 400 combinations with the largest
 * score.  Stores them in out[], the largest score first; schedules with equal scores are in the
 * order of the expert files.  target NULL: the best of this CPU.  If threads > 1, schedules have
 * parallel loops where the expert has them.
 *
 * If no expert is for this operator and its sizes, out[] gets one plain schedule.  If some are but
 * none of their combinations is legal, a graph of statements gets one plain schedule, and any other
 * operator fails with ERR_NAME.  If an expression in an expert's file is wrong, the message names
 * the expert. */
bool expert_schedules(struct arena *a, const struct experts *all, const char *spec,
                      const struct target *target, int threads, int max,
                      struct expert_schedule *out, int *n, struct err *e);

struct machine;
/* Whether a result should bypass the caches of machine m: a streaming store does not read the cache
 * line first, and evicts no operands; but the next reader of the result misses the caches.  So a
 * result is streamed only if it would not stay in the last cache anyway.  This is taken to be so in
 * two cases: the result has at least half the size of that cache; or the result has at least a
 * quarter, and result and operand together have at least the whole size.  Where nothing is known of
 * a cache beyond the first level, nothing is streamed. */
bool expert_streams(const struct machine *m, int64_t result, int64_t operand);

/* Returns s->chosen as text: "nv=2, wt=14, order=0". */
const char *expert_chosen_text(struct arena *a, const struct expert_schedule *s);

/* Measures n schedules of an operator one after the other, n >= 1.  *best: the index of the
 * schedule with the least minimum time; *m: its measurement.  Ignores schedules that fail (crash,
 * wrong result); ERR_WRONG: all fail. */
bool expert_fastest(const char *spec, const struct expert_schedule *s, int n,
                    const struct measure_opts *o, const struct progress *pr,
                    const struct cancel *c, int *best, struct measurement *m, struct err *e);
#endif
