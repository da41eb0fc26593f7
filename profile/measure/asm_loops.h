/* Finds the loops of the machine code, so that an instruction counts where it runs and not where
 * its C line stands: the compiler moves code out of loops, inlines helpers that stand elsewhere,
 * and unrolls loops of few iterations.
 *
 * A loop is an edge of the control flow back to a block that dominates its source, with all blocks
 * from which that source is reached without passing the target (a natural loop). */
#ifndef TS_PROFILE_ASM_LOOPS_H
#define TS_PROFILE_ASM_LOOPS_H
#include "kernels/base/arena.h"
#include "kernels/gen/gen.h"

/* Replaces lines->of. assembly: a text of build_disassemble, of one or several functions; lines:
 * the loop of each of its lines by the compiler's line table, -1: unknown. After the call lines->of
 * has the loop whose code the line is in. A loop of the machine code is that of the C code to which
 * the jump at its end belongs; a loop around another one is never the same. The new array is
 * allocated in arena a. */
void asm_loops_find(struct arena *a, const char *assembly, struct code_lines *lines);
#endif
