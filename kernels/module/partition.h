/* Cuts the graph of a network into kernels (SPEC L.1).  A kernel is a group of statements with one
 * result.  It has a text of its own, which can be opened as a program: a family ("c2d n=1 i=64 ...
 * bias=1") if this describes the whole group, else statements.  The text names tensors by their
 * roles (Inp_in, Ker, Res), so that equal kernels have equal texts.
 *
 * By the rule, an element-wise statement joins the group that computes one of its operands, if the
 * operand has the shape of the result and no other reader (group_to_join has further conditions).
 * If there are several such groups, the statement joins the last one: a residual add, for example,
 * is done by the later of its two producers.  Every other statement begins a group.
 *
 * Steps override this rule, in their order:
 *
 *     module cut T        the kernel that computes tensor T ends at T
 *     module join A B     the kernel that computes tensor A and the one that computes tensor B
 *                         become one; the second must read the result of the first */
#ifndef TS_MODULE_PARTITION_H
#define TS_MODULE_PARTITION_H
#include "kernels/ops/graph.h"

/* An operand of a kernel. name: of the input or constant in the kernel's text; tensor: this input
 * or constant in the network. */
struct part_operand { const char *name; int tensor; };

struct net_part {
    const char *spec;                     /* the text of the kernel */
    const char *result;                   /* name of the kernel's result in spec */
    int out;                              /* the tensor of the network that the kernel computes */
    int n_operands;
    const struct part_operand *operand;
    /* the tensors of the network that the kernel computes but does not store: all except `out` */
    int n_inner; const int *inner;
    int first, last;                      /* the first and last statement of the part */
    /* Whether the part is one statement that only reshapes operand 0 (reshape, identity): it keeps
     * the elements in row-major order. It needs no kernel. */
    bool view;
    bool constant;                        /* whether it depends on constants only */
};
/* part: the parts, in the order in which they are called. */
struct partition { int n; const struct net_part *part; int n_steps; const char *const *step; };

/* Cuts g, a graph of statements.  The parts are in arena a.  Fails when a step is not legal; the
 * error says why. */
bool partition(struct arena *a, const struct graph *g, int n_steps, const char *const *step,
               struct partition *out, struct err *e);
/* Whether the network of g can be cut by these steps. Its statements are simplified first. */
bool partition_check(const struct graph *g, int n_steps, const char *const *step, struct err *e);
/* Returns how many kernels a run has when no steps override the rule. Views, conversions,
 * and parts that depend on constants only do not count. */
int partition_count(const struct graph *g);
#endif
