/* A schedule in the making: step lines and the program that they make; and the plain schedule of
 * nodes that no expert knows. */
#ifndef TS_EXPLORER_DRAFT_H
#define TS_EXPLORER_DRAFT_H
#include "kernels/base/vec.h"
#include "kernels/program/program.h"

struct draft {
    struct arena *a;
    const struct program *p;
    VEC(const char *) line;               /* vec_free */
};

/* Applies a line.  False with *e, and unchanged, where it is not legal. */
bool draft_line(struct draft *d, const char *line, struct err *e);

struct draft_machine { int lanes, registers, threads; bool gpu; };

/* Schedules every node that has no schedule yet.
 *
 * A node that is cheap, or has one reader, is computed where it is read (inline).  Other nodes
 * have loops of their own: lanes run along the loop with the most contiguous accesses (for a row
 * that is summed, along the row), reductions accumulate a tile in registers, and the outer loops
 * are parallel.  On a GPU every element is a thread (draft_bind).  Constants lie
 * as the lanes want them; the layouts of other tensors stay. */
void draft_rest(struct draft *d, const struct draft_machine *m);

/* Binds the output's loops of a node to blocks and threads of a GPU.  False with *e, and unchanged,
 * where a step is not legal. */
bool draft_bind(struct draft *d, int node, struct err *e);
#endif
