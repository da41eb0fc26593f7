/* Schedules for a GPU, for tests. */
#ifndef TS_TESTS_CUDA_BIND_H
#define TS_TESTS_CUDA_BIND_H
#include "kernels/base/rng.h"
#include "kernels/program/program.h"
#include "profile/build/nvrtc.h"

/* Binds the loops of a stage as a beginner would: fuses those of the output, and cuts what there is
 * into blocks of `threads`. */
const struct program *cuda_bind_all(struct arena *a, const struct program *p, int node,
                                    int threads);

/* Tries a step on *p; the test fails when one is refused without a reason. */
void cuda_try(const struct program **p, const char *line);
/* Tries n random loop steps, of those that a GPU has. */
void cuda_random_loops(struct arena *a, struct rng *r, const struct program **p, int n);
/* Returns the operator with random layouts, bound loops, and random loop steps under them. */
const struct program *cuda_random(struct arena *a, struct rng *r, const char *spec);

/* Appends the CUDA C of p, and compiles it for sm_90.  False when NVRTC is not installed; the test
 * fails when it refuses the text. */
bool cuda_build(struct arena *a, const struct program *p, struct str *text, struct gpu_build *b);
#endif
