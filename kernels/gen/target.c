/* The vector units that generated code can be written for. */
#include "kernels/gen/gen.h"

static const struct target targets[] = {
    { 16, "avx512" }, { 8, "avx2" }, { 4, "neon" }, { 4, "sse" }, { 1, "plain" },
};

struct target target_named(const char *isa)
{
    for (int i = 0; i < COUNT_OF(targets); i++)
        if (streq(targets[i].isa, isa))
            return targets[i];
    return targets[COUNT_OF(targets) - 1];
}

struct target target_host(void)
{
#if defined __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq"))
        return target_named("avx512");
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return target_named("avx2");
    return target_named("sse");
#elif defined __aarch64__
    return target_named("neon");
#else
    return target_named("plain");
#endif
}
