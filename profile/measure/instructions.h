/* The instructions meter: how many instructions one call of the compiled kernel is, and of which
 * kind, without a PMU and for any instruction set of this CPU.
 *
 * The generated C is compiled to assembly with the kernel's flags (without OpenMP: one thread) and
 * cut into basic blocks (asmtext.h).  A twin with a counter in each block runs once on the real
 * data, so trip counts are measured, not guessed; the sum of count x contents is the result.  What
 * the kernel calls elsewhere (expf, memset) is named and not counted. */
#ifndef TS_PROFILE_INSTRUCTIONS_H
#define TS_PROFILE_INSTRUCTIONS_H
#include "profile/measure/job.h"

void instructions_probe(struct counts *out);
/* instructions = fma + vector + scalar + branches; loads, stores, stack_loads, stack_stores (see
 * struct insn); fma_share etc. in percent.  False only on a cancel. */
bool instructions_count(struct measure_job *j, struct counts *out, struct err *e);
#endif
