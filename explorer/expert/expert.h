/* Expert schedules, as a person who knows the machine would write them, with parameters for shapes.
 * They are data (sessions/experts/NAME.yaml, read by sessions/file/expert_file.h):
 *
 *     expert: 1
 *     title: ...
 *     note: why it is good
 *     for: [c2d, dil]                       # operators
 *     target: cuda                          # default: every CPU; only this target is offered it
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
 * Names in expressions and in {braces}: the extents of the main node's loops (N O H W I KH KW, M N
 * K ...; 1 where there is none), strides sd sh sw, dilations dd dh dw, G groups, `padded` (its
 * operand is padded), in_H in_W ... of that operand, with the padding, lanes and registers of the
 * target, elem_bytes (of an element of the tensors: 2 of f16 and bf16), threads, last_cache (its
 * bytes), operand_bytes (of that operand, with the padding), `result` (the last tensor) and
 * `stream` (1: the result should bypass the caches); `main` and `operand` (the names of the main
 * node's result and operand), in_rank, dim_0 dim_1 ... (the names of the operand's dims), `images`
 * (1: all of its dims but the first two are reduced).
 * `accuracy` (the relative error that an algorithm may have), `last` (the last of the main node and
 * the element-wise nodes after it).
 * `for: epilogue` makes one line for each element-wise node after the main one; `for: fused` makes
 * one for the main node and each of those but the last, {fused}.
 *
 * In a graph of statements, the expert of the one with the most work schedules that statement and
 * the element-wise ones after it, whose other operands get the layout of the main result.  Nodes
 * that no expert knows get a plain schedule (draft.h). */
#ifndef TS_EXPLORER_EXPERT_H
#define TS_EXPLORER_EXPERT_H
#include "explorer/expert/param.h"
#include "kernels/gen/target.h"
#include "profile/measure/measure.h"

struct expert {
    const char *id, *path, *title, *note;
    const char *target;                                  /* "cuda"; NULL: every CPU */
    int n_families; const char *const *family;
    const char *when, *only, *prefer;                    /* NULL: always, all, in file order */
    struct param_grid choose;
    int n_lets; const struct param_value *let;           /* name, expression */
    int n_steps; const struct expert_step *step;
};
struct expert_step { const char *text, *condition; const char *each; };      /* NULL: one line */
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
/* Finds the legal schedules of spec among the best 400 by `prefer`: best first, at most max; equal
 * scores in the order of expert files. target: has registers and lanes; NULL: the best of this CPU.
 * threads > 1: parallel loops where the expert has them.  Where no expert is for this operator or
 * its sizes, there is one plain schedule.  ERR_NAME when experts are for it, and none of their
 * tilings is legal; errors in the expressions of an expert name the expert. */
bool expert_schedules(struct arena *a, const struct experts *all, const char *spec,
                      const struct target *target, int threads, int max,
                      struct expert_schedule *out, int *n, struct err *e);

/* Returns the chosen parameters as text: "nv=2, wt=14, order=0". */
const char *expert_chosen_text(struct arena *a, const struct expert_schedule *s);

/* Measures n schedules of spec one after the other; *best is the one with the least minimum, *m its
 * measurement.  Failed schedules are skipped; ERR_WRONG when all fail. */
bool expert_fastest(const char *spec, const struct expert_schedule *s, int n,
                    const struct measure_opts *o, const struct progress *pr,
                    const struct cancel *c, int *best, struct measurement *m, struct err *e);
#endif
