/* Mutations of step lines that mean something. */
#ifndef TS_TESTS_MUTATE_LINES_H
#define TS_TESTS_MUTATE_LINES_H
#include "kernels/base/rng.h"
#include "tests/fuzz/fuzz.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t max, unsigned seed);

/* Types some of the lines from `first` on at h, and puts a line behind them that is made of what
 * completion offers there; the new length. */
size_t mutate_lines(struct history *h, uint8_t *data, size_t n, size_t max, size_t first,
                    struct rng *r);
#endif
