/* Schedules for a GPU, for tests. */
#ifndef TS_TESTS_CUDA_BIND_H
#define TS_TESTS_CUDA_BIND_H
#include "kernels/program/program.h"

/* Binds the loops of a stage as a beginner would: fuses those of the output, and cuts what there is
 * into blocks of `threads`. */
const struct program *cuda_bind_all(struct arena *a, const struct program *p, int node,
                                    int threads);
#endif
