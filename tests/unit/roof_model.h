/* A machine model with round numbers, for tests of what is made of one. */
#ifndef TS_TESTS_ROOF_MODEL_H
#define TS_TESTS_ROOF_MODEL_H
#include "profile/machine/machine_model.h"
#include "profile/measure/measure.h"

/* Four cores; one core: avx512 200 GFLOP/s, plain 12; L1 400 GB/s, L2 100, L3 40, DRAM 10; all
 * four: 700 and 48, 1600, 400, 130, 25.  Caches of 32 KiB, 1 MiB, 16 MiB. */
struct machine_model roof_model(void);
/* As if simulated with its caches: n_levels of them, of which misses[i] lines were missed and
 * writebacks[i] written below.  0 levels: not simulated. */
void roof_simulated(struct measurement *m, int n_levels, const long *misses,
                    const long *writebacks);
#endif
