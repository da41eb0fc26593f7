/* The processor models of llvm-mca that are nearest to a CPU. Every call of llvm-mca names a model,
 * because on a CPU without a model of its own llvm-mca silently assumes a Sandy Bridge. */
#ifndef TS_PROFILE_MCA_MODELS_H
#define TS_PROFILE_MCA_MODELS_H
#include <stdbool.h>

#include "profile/host/machine.h"

#define MCA_MODELS 8
/* Names of models, the nearest first. exact: the first one is a model of the CPU itself.
 * fma_cycles: cycles per 256-bit FMA on this CPU when many FMAs are independent; 0: unknown. Some
 * models are wrong about FMAs: the models of Zen 3 and 4 say 1 cycle instead of 0.5 (llvm-project
 * issue 63877), so their bound would be above the time that the loop takes. */
struct mca_models { int n; bool exact; double fma_cycles; const char *name[MCA_MODELS]; };

/* Returns the models for a CPU. help: the output of `llvm-mca -mcpu=help`; models that it does not
 * list are left out. The last models are for code that the nearer ones reject, such as AVX-512 when
 * the nearest model is of an older CPU without it. */
struct mca_models mca_models_of(const struct machine_cpu *cpu, const char *help);
#endif
