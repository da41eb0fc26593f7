/* A schedule under construction: the step lines so far, and the program after these lines. Also
 * makes the plain schedule of the nodes that no expert schedules. */
#ifndef TS_EXPLORER_DRAFT_H
#define TS_EXPLORER_DRAFT_H
#include "kernels/base/vec.h"
#include "kernels/program/program.h"

struct draft {
    struct arena *a;
    const struct program *p;
    VEC(const char *) line;  /* lines in arena a; the owner frees the array (vec_free) */
};

/* Applies a line.  If the line is not legal, returns false with *e and leaves the draft
 * unchanged. */
bool draft_line(struct draft *d, const char *line, struct err *e);

struct draft_machine { int lanes, registers, threads; bool gpu; };

/* Schedules every node that has no schedule yet. A node is inlined into its readers if it is cheap,
 * or each of its elements is read once; but not into a product, except for padding. Other nodes get
 * loops of their own: the loop with the most contiguous accesses is vectorized (for the sum of a
 * row, the loop along the row), reductions accumulate a tile in registers, and the outer loops are
 * parallel. On a GPU every element is a thread (draft_bind). Constants get the layout that suits
 * the vectors; the layouts of other tensors stay. */
void draft_rest(struct draft *d, const struct draft_machine *m);

/* Binds the output loops of a node to blocks and threads of a GPU.  If a step is not legal, returns
 * false with *e and leaves the draft unchanged. */
bool draft_bind(struct draft *d, int node, struct err *e);
#endif
