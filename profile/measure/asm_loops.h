/* Finds the loops of the machine code, so that an instruction counts where it runs and not where
 * its C line stands. The two differ because the compiler moves code out of loops, inlines helpers
 * that stand elsewhere, and unrolls loops of few iterations.
 *
 * A loop is a natural loop: a jump back to a block that dominates the jump (the header), and all
 * blocks that reach the jump without passing the header. */
#ifndef TS_PROFILE_ASM_LOOPS_H
#define TS_PROFILE_ASM_LOOPS_H
#include "kernels/base/arena.h"
#include "kernels/gen/gen.h"

/* Replaces lines->of, which has the C loop of each line of `assembly`. The assembly is a text of
 * build_disassemble with one or several functions. Before the call, the loops come from the
 * compiler's line table (-1: unknown). After the call, they are the loops in which the instructions
 * run. The C loop of a machine loop is that of the jump at its end, unless this contradicts the
 * nesting of the C loops. The new array is allocated in arena a. */
void asm_loops_find(struct arena *a, const char *assembly, struct code_lines *lines);
#endif
