/* The table of targets, the checks which of them this machine can run, and the kinds of loops and
 * memories that the code for each target can have. */
#include "kernels/gen/target.h"

#include "kernels/base/rng.h"

/* The flag for plain C.  On x86, plain C is compiled for any CPU and not for this machine's
 * vectors; on ARM, for this machine.  On other architectures the flag changes nothing. */
#if defined __x86_64__
#define ANY_CPU "-march=x86-64"
#elif defined __aarch64__
#define ANY_CPU "-march=native"
#else
#define ANY_CPU "-O2"
#endif

static bool never(void)
{
    return false;
}

#if defined __x86_64__
static bool has_avx512(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")
        && __builtin_cpu_supports("avx512dq");
}

static bool has_avx2(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
        && __builtin_cpu_supports("bmi2");
}

static bool has_sse(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("sse4.2");
}
#else
#define has_avx512 never
#define has_avx2 never
#define has_sse never
#endif
#if defined __aarch64__
#define has_neon always
#else
#define has_neon never
#endif

static bool always(void)
{
    return true;
}

/* The kinds of loops that code for a CPU can have: all that need no GPU. */
#define CPU_LOOPS \
    (1u << LOOP_SERIAL | 1u << LOOP_PARALLEL | 1u << LOOP_VECTORIZE | 1u << LOOP_UNROLL)
#define CPU_MEMORIES (1u << MEMORY_GLOBAL | 1u << MEMORY_LOCAL)

#define GPU_MEMORIES (CPU_MEMORIES | 1u << MEMORY_SHARED)
#define GPU_LOOPS ((CPU_LOOPS & ~(1u << LOOP_PARALLEL)) | 1u << LOOP_THREADS | 1u << LOOP_TENSOR \
    | ((1u << LOOP_ANN_COUNT) - (1u << LOOP_BLOCK_X)))
#define TARGET(id, vector_bytes, registers, runs_here, emulated, chains, rounds, gcc, clang) \
    static const char *const id##_gcc[] = gcc, *const id##_clang[] = clang;
#include "kernels/gen/target.def"

static const struct target targets[] = {
#define TARGET(id, vector_bytes, registers, runs_here, emulated, chains, rounds, gcc, clang) \
    { #id, vector_bytes, registers, CPU_LOOPS, CPU_MEMORIES, emulated, chains, rounds, id##_gcc, \
      id##_clang, runs_here, false, code_print_c },
#include "kernels/gen/target.def"
};

/* The target of CUDA C (gen_cuda). gen_c generates the host twin of its kernels: plain C for any
 * CPU. */
static const struct target cuda = {
    .isa = "cuda", .registers = 255, .annotations = GPU_LOOPS, .memories = GPU_MEMORIES,
    .gcc = plain_gcc, .clang = plain_clang, .runs_here = always, .gpu = true,
    .print = code_print_twin,
};

int target_lanes(const struct target *t, const struct elem_type *type)
{
    return t->vector_bytes > 0 ? t->vector_bytes / type->sum->bytes : 1;
}

int targets_count(void)
{
    return COUNT_OF(targets);
}

const struct target *target_get(int i)
{
    return &targets[i];
}

const struct target *target_host(void)
{
    const struct target *t = targets;
    while (!t->runs_here())
        t++;
    return t;
}

const struct target *target_or_host(const struct target *t)
{
    return t ? t : target_host();
}

static const struct target *by_name(const char *isa)
{
    for (int i = 0; i < COUNT_OF(targets); i++)
        if (streq(targets[i].isa, isa))
            return &targets[i];
    return streq(isa, cuda.isa) ? &cuda : NULL;
}

const struct target *target_named(const char *isa)
{
    const struct target *t = isa ? by_name(isa) : target_host();
    return t ? t : &targets[COUNT_OF(targets) - 1];
}

const struct target *target_find(const char *isa, struct err *e)
{
    const struct target *t = by_name(isa);
    if (t && t->runs_here())
        return t;
    if (t) {
        err_set(e, ERR_ENV, "this CPU has no %s: its instruction set is %s", isa,
                target_host()->isa);
        return NULL;
    }
    const char *name[COUNT_OF(targets) + 1];
    for (int i = 0; i < COUNT_OF(targets); i++)
        name[i] = targets[i].isa;
    name[COUNT_OF(targets)] = cuda.isa;
    const char *near = str_nearest(isa, name, COUNT_OF(name));
    err_set(e, ERR_NAME, "no instruction set named '%s'", isa);
    err_fix(e, "%s", near ? near : "avx512, avx2, sse, neon, plain or cuda");
    return NULL;
}

const char *const *target_flags(const struct target *t, bool is_clang)
{
    return is_clang ? t->clang : t->gcc;
}

bool target_binds(const char *flag)
{
    return streq(flag, "-fno-vectorize") || str_starts(flag, "-fno-builtin-");
}

uint64_t target_code(void)
{
    struct str text = {0};
    str_printf(&text, "%d", GEN_VERSION);
    for (int i = 0; i < 2 * COUNT_OF(targets); i++)
        for (const char *const *f = target_flags(&targets[i / 2], i % 2); *f; f++)
            str_printf(&text, " %s", *f);
    uint64_t hash = hash_text(str_text(&text));
    str_free(&text);
    return hash;
}

/* Returns the first loop with an annotation that target t does not have, or NULL. */
static const struct tree *foreign_loop(const struct target *t, int n, const struct tree *const *at)
{
    for (int i = 0; i < n; i++) {
        if (at[i]->kind == TREE_LOOP && !(t->annotations & 1u << at[i]->ann))
            return at[i];
        const struct tree *below = foreign_loop(t, at[i]->n_kids, at[i]->kid);
        if (below)
            return below;
    }
    return NULL;
}

bool target_takes(const struct target *t, const struct func *f, struct err *e)
{
    for (int i = 0; i < f->n_buffers; i++)
        if (!(t->memories & 1u << f->buffer[i].memory)) {
            err_set(e, ERR_STEP, "%s lies in shared memory, which %s code does not have",
                    f->buffer[i].name, t->isa);
            return err_fix(e, "--target cuda");
        }
    const struct tree *loop = foreign_loop(t, f->n_roots, f->root);
    if (loop) {
        err_set(e, ERR_STEP, "loop %s is marked %s, and %s code has no such loops", loop->axis,
                loop_ann_name[loop->ann], t->isa);
        return loop_is_bound(loop->ann) ? err_fix(e, "--target cuda") : false;
    }
    return true;
}
