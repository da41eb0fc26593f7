/* The vector units that generated code can be written for. */
#include "kernels/gen/gen.h"

static const struct target targets[] = {
    { 16, "avx512", 32 }, { 8, "avx2", 16 }, { 4, "neon", 32 }, { 4, "sse", 16 },
    { 1, "plain", 16 },
};

struct target target_named(const char *isa)
{
    if (!isa)
        return target_host();
    for (int i = 0; i < COUNT_OF(targets); i++)
        if (streq(targets[i].isa, isa))
            return targets[i];
    return targets[COUNT_OF(targets) - 1];
}

static bool runs_here(const char *isa)
{
#if defined __x86_64__
    __builtin_cpu_init();
    if (streq(isa, "avx2"))
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
            && __builtin_cpu_supports("bmi2");
    if (streq(isa, "sse"))
        return __builtin_cpu_supports("sse4.2");
#endif
    return streq(isa, "plain") || streq(isa, target_host().isa);
}

bool target_find(const char *isa, struct target *out, struct err *e)
{
    const char *name[COUNT_OF(targets)];
    for (int i = 0; i < COUNT_OF(targets); i++) {
        name[i] = targets[i].isa;
        if (!streq(isa, name[i]))
            continue;
        if (!runs_here(isa))
            return err_set(e, ERR_ENV, "this CPU has no %s: its instruction set is %s", isa,
                           target_host().isa);
        *out = targets[i];
        return true;
    }
    const char *near = str_nearest(isa, name, COUNT_OF(targets));
    err_set(e, ERR_NAME, "no instruction set named '%s'", isa);
    return err_fix(e, "%s", near ? near : "avx512, avx2, sse, neon or plain");
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
