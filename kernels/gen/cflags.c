/* The flags that the generated form wants.  What each is for:
 *   -ffp-contract=fast             c += a * b becomes one instruction
 *   -mprefer-vector-width=512      clang would split 16 lanes in two halves and spill them
 *   -mtune=icelake-server, haswell gcc's tuning for Zen loads again in every multiply-add: 0.83
 *   -fno-predictive-commoning      gcc would keep overlapping inputs and spill accumulators
 *   -fvect-cost-model=dynamic      gcc -O2 would leave padding and conversion loops scalar
 *   -fno-math-errno, -fno-trapping-math   no value changes; comparisons may become masks */
#include "kernels/gen/gen.h"

#if defined __x86_64__ || defined __aarch64__
#define NATIVE "-march=native"
#else
#define NATIVE "-O2"
#endif
/* Plain C for any CPU of its kind, not for the vectors of this one. */
#if defined __x86_64__
#define ANY "-march=x86-64"
#else
#define ANY NATIVE
#endif
#define COMMON "-O2", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math"
#define GCC_ONLY "-fno-predictive-commoning", "-fvect-cost-model=dynamic"

struct flags { const char *isa; bool is_clang; const char *flag[12]; };

static const struct flags table[] = {
    { "avx512",
      false,
      { COMMON, NATIVE, "-mtune=icelake-server", "-mprefer-vector-width=512", GCC_ONLY } },
    { "avx512", true, { COMMON, NATIVE, "-mprefer-vector-width=512" } },
    { "avx2", false, { COMMON, "-march=x86-64-v3", "-mtune=haswell", GCC_ONLY } },
    { "avx2", true, { COMMON, "-march=x86-64-v3" } },
    { "sse", false, { COMMON, "-march=x86-64-v2", GCC_ONLY } },
    { "sse", true, { COMMON, "-march=x86-64-v2" } },
    { "neon", false, { COMMON, NATIVE, GCC_ONLY } },
    { "neon", true, { COMMON, NATIVE } },
    { "plain", false, { COMMON, ANY, GCC_ONLY } },
    { "plain", true, { COMMON, ANY } },
};

const char *const *gen_cflags(const struct target *t, bool is_clang)
{
    for (int i = 0; i < COUNT_OF(table); i++)
        if (streq(table[i].isa, t->isa) && table[i].is_clang == is_clang)
            return table[i].flag;
    struct target plain = target_named("plain");
    return gen_cflags(&plain, is_clang);
}
