/* Cuts the graph of a network into kernels (SPEC L.1).  A kernel is a group of statements with one
 * result, and has a text of its own, which opens as a program: a family ("c2d n=1 i=64 ... bias=1")
 * where that says everything, else statements.  The text has names by role (Inp_in, Ker, Res), so
 * that equal kernels have equal texts.
 *
 * Every statement begins a group, except an element-wise one that has the shape of one of its
 * operands and is the only reader of this operand.  It joins the group that computes the operand.
 * If there are several such groups, it joins the last one: a residual add, for example, is done by
 * the later of its two producers.
 *
 * Steps override this rule, in their order:
 *
 *     module cut T        the kernel that computes tensor T, and would go on after it, ends at T
 *     module join A B     the kernel of tensor A, and that of tensor B, which reads the result of
 *                         the first, become one kernel */
#ifndef TS_MODULE_PARTITION_H
#define TS_MODULE_PARTITION_H
#include "kernels/ops/graph.h"

/* An operand: the input or constant `name` in a kernel's text is this tensor of the network. */
struct part_operand { const char *name; int tensor; };

struct net_part {
    const char *spec;                     /* the text of the kernel */
    const char *result;                   /* name of its result in spec */
    int out;                              /* the tensor of the network that it computes */
    int n_operands;
    const struct part_operand *operand;
    int n_inner; const int *inner;        /* the tensors of the network that stay inside */
    int first, last;                      /* its first and last statement */
    /* Whether the statement only reshapes operand 0: same elements, same row-major order (reshape,
     * identity). It needs no kernel where the layout allows a view. */
    bool view;
    bool constant;                        /* whether it computes on constants only */
};
/* part: the parts in the order of calls. */
struct partition { int n; const struct net_part *part; int n_steps; const char *const *step; };

/* Cuts g, a graph of statements.  The parts are in arena a.  Fails when a step is not legal; the
 * error says why. */
bool partition(struct arena *a, const struct graph *g, int n_steps, const char *const *step,
               struct partition *out, struct err *e);
/* Whether the network of g can be cut by these steps. Its statements are simplified first. */
bool partition_check(const struct graph *g, int n_steps, const char *const *step, struct err *e);
/* Returns how many kernels run when no steps override the rule: views, and kernels over constants
 * alone, do not count. */
int partition_count(const struct graph *g);
#endif
