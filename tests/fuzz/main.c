/* One fuzz target as libFuzzer calls it; FUZZ_TARGET is one of the functions of fuzz.h. */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    return FUZZ_TARGET(data, n);
}
