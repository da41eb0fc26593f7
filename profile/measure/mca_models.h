/* The processor models of llvm-mca that are nearest to a CPU.  llvm-mca without a model of the CPU
 * takes it for a Sandy Bridge and does not say so, therefore a model is always named. */
#ifndef TS_PROFILE_MCA_MODELS_H
#define TS_PROFILE_MCA_MODELS_H
#include <stdbool.h>

#include "profile/host/machine.h"

#define MCA_MODELS 8
/* Names of models, the nearest first.  exact: the first one is a model of the CPU itself. */
struct mca_models { int n; bool exact; const char *name[MCA_MODELS]; };

/* Returns those that stand in help, the output of `llvm-mca -mcpu=help`.  The last ones are for
 * code that nearer models do not read, such as AVX-512 of a CPU whose elder model has none. */
struct mca_models mca_models_of(const struct machine_cpu *cpu, const char *help);
#endif
