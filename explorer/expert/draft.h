/* A draft: a schedule under construction.  It has the step lines so far, and the program after
 * these lines.  Functions here also make the plain schedule of nodes that no expert schedules. */
#ifndef TS_EXPLORER_DRAFT_H
#define TS_EXPLORER_DRAFT_H
#include "kernels/base/vec.h"
#include "kernels/program/program.h"

struct draft {
    struct arena *a;
    const struct program *p;
    VEC(const char *) line;  /* lines in arena a; the owner frees the array (vec_free) */
};

/* Applies a step line and appends it.  If the step is not legal, returns false with *e and leaves
 * the draft unchanged. */
bool draft_line(struct draft *d, const char *line, struct err *e);

/* lanes: elements of a vector; registers: number of vector registers. */
struct draft_machine { int lanes, registers, threads; bool gpu; };

/* Schedules the nodes that have no schedule yet, as far as the steps are legal.
 *
 * A node that is neither a reduction nor an output is inlined into its readers if it is cheap, or
 * if each of its elements is read once.  Only padding is inlined into a product.  Other nodes get
 * loops of their own: the loop along which the accesses are cheapest is vectorized, reductions
 * accumulate a tile in registers, and outer loops are parallel if the node has enough work.
 * Constants that reductions read get the layout that suits the vectors; the layouts of other
 * tensors stay.
 *
 * On a GPU, each element is computed by a thread (draft_bind), and all layouts stay. */
void draft_rest(struct draft *d, const struct draft_machine *m);

/* Fuses the output loops of a node and binds them to blocks and threads of a GPU.  If a step is not
 * legal, returns false with *e and leaves the draft unchanged. */
bool draft_bind(struct draft *d, int node, struct err *e);
#endif
