/* The processor models of llvm-mca that are nearest to a CPU. If llvm-mca has no model of the CPU
 * it silently assumes a Sandy Bridge, so a model is always named. */
#ifndef TS_PROFILE_MCA_MODELS_H
#define TS_PROFILE_MCA_MODELS_H
#include <stdbool.h>

#include "profile/host/machine.h"

#define MCA_MODELS 8
/* Names of models, the nearest first.  exact: the first one is a model of the CPU itself.
 * fma_cycles: the cycles that a 256-bit FMA takes of this CPU when many are independent; 0: it is
 * unknown. Some models are wrong about it: that of Zen 3 and 4 has 1 instead of 0.5 (llvm-project
 * issue 63877), which would be a bound above what the loop takes. */
struct mca_models { int n; bool exact; double fma_cycles; const char *name[MCA_MODELS]; };

/* Returns those models that `help`, the output of `llvm-mca -mcpu=help`, lists. The last ones are
 * for code that the nearer models reject, such as AVX-512 for a CPU whose older model lacks it. */
struct mca_models mca_models_of(const struct machine_cpu *cpu, const char *help);
#endif
