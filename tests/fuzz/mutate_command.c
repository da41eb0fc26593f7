/* Mutations of command inputs that mean something: a line made of what completion offers at that
 * place in the history.  Half of the mutations are libFuzzer's own. */
#include "explorer/history/history.h"
#include "tests/fuzz/mutate_lines.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t max, unsigned seed)
{
    struct rng r = rng_seed(seed);
    if (n < 2 || rng_range(&r, 0, 1))
        return LLVMFuzzerMutate(data, n, max);
    struct history *h = fuzz_command_history(data[0]);
    n = mutate_lines(h, data, n, max, 1, &r);
    history_free(h);
    return n;
}
