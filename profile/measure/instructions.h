/* The instructions meter: how many instructions one call of the compiled kernel executes, and of
 * which kind, on x86-64, without a PMU.
 *
 * The generated C is compiled to assembly with the flags of the kernel (without OpenMP: one
 * thread) and divided into basic blocks (asmtext.h).  A copy with a counter in each block runs
 * once on the real data, so that trip counts are measured.  The result is the sum over all blocks
 * of (executions of the block) x (instructions in the block).  Functions outside of the kernel that
 * it calls (such as expf and memset) are listed and not counted. */
#ifndef TS_PROFILE_INSTRUCTIONS_H
#define TS_PROFILE_INSTRUCTIONS_H
#include "profile/measure/job.h"

void instructions_probe(struct counts *out);
/* Counts instructions = fma + vector + scalar + branches; loads, stores, stack_loads,
 * stack_stores (see struct insn); and fma_share and other shares in percent.  False with *e when
 * the copy cannot be built or run, or computes a wrong result. */
bool instructions_count(struct measure_job *j, struct counts *out, struct err *e);
#endif
