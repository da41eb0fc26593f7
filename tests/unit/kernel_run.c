#include "tests/unit/kernel_run.h"
#include "tests/unit/temp_dir.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "kernels/base/subprocess.h"
#include "kernels/base/vec.h"

#if defined __SANITIZE_ADDRESS__
#define SANITIZE "-fsanitize=address,undefined"
#else
#define SANITIZE NULL
#endif

const char *kernel_compiler(const char *name)
{
    static const char *absent[4];
    struct str path = { 0 };
    bool found = subprocess_find(name, &path);
    str_free(&path);
    for (int i = 0; !found && i < COUNT_OF(absent); i++) {
        if (absent[i] && streq(absent[i], name))
            break;
        if (!absent[i]) {
            absent[i] = name;
            printf("SKIP: %s is not installed\n", name);
            break;
        }
    }
    return found ? name : NULL;
}

/* source with every "symbol" followed by "_I": units of one object must not clash. */
static void write_unit(const char *path, const char *source, const char *symbol, int i)
{
    struct str text = { 0 };
    struct err e;
    size_t n = strlen(symbol);
    for (const char *s = source; *s; s++)
        if (str_starts(s, symbol)) {
            str_printf(&text, "%s_%d", symbol, i);
            s += n - 1;
        } else {
            str_add_char(&text, *s);
        }
    if (!file_write_atomic(path, str_text(&text), text.len, &e))
        fail("%s", e.text);
    str_free(&text);
}

struct argv { const char **data; int len, cap; };

static void compile(const char *cc, const struct target *t, bool quick,
                    const struct argv *files, const char *so)
{
    struct argv argv = { 0 };
    bool is_clang = str_starts(cc, "clang");
    /* Vectors wider than those of this CPU never cross a call: their ABI does not matter. */
    static const char *const fixed[] = { "-Wall", "-Wextra", "-Werror", "-Wno-psabi", "-std=c17",
                                         "-fPIC", "-shared", "-fopenmp", "-o" };
    vec_push(&argv, cc);
    for (const char *const *flag = target_flags(t, is_clang); *flag; flag++)
        vec_push(&argv, *flag);
    if (quick)
        vec_push(&argv, "-O0");
    if (SANITIZE && !is_clang)
        vec_push(&argv, SANITIZE);
    for (int i = 0; i < COUNT_OF(fixed); i++)
        vec_push(&argv, fixed[i]);
    vec_push(&argv, so);
    for (int i = 0; i < files->len; i++)
        vec_push(&argv, files->data[i]);
    vec_push(&argv, "-lm");
    vec_push(&argv, NULL);
    struct subprocess_result res = { 0 };
    struct err e;
    if (!subprocess_run(argv.data, 120, NULL, &res, &e))
        fail("%s: %s", cc, e.text);
    if (res.exit_code != 0)
        fail("%s refused the generated code:\n%.4000s", cc, str_text(&res.out));
    str_free(&res.out);
    vec_free(&argv);
}

/* Finds the functions SYMBOL_0, SYMBOL_1, ... of the object in dir, and removes dir. */
static void load(struct arena *a, const char *dir, const char *symbol, int n, void **fn)
{
    void *handle = dlopen(arena_printf(a, "%s/all.so", dir), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        fail("%s", dlerror());
    for (int i = 0; i < n; i++) {
        fn[i] = dlsym(handle, arena_printf(a, "%s_%d", symbol, i));
        if (!fn[i])
            fail("%s", dlerror());
    }
    dir_remove(dir);
}

static void compile_units(const char *cc, const struct target *t, bool quick,
                          const char *const *source, int n, const char *symbol, void **fn)
{
    const char *dir = temp_dir(NULL);
    struct arena *a = arena_new();
    struct argv files = { 0 };
    for (int i = 0; i < n; i++) {
        const char *path = arena_printf(a, "%s/unit_%d.c", dir, i);
        write_unit(path, source[i], symbol, i);
        vec_push(&files, path);
    }
    compile(cc, t, quick, &files, arena_printf(a, "%s/all.so", dir));
    load(a, dir, symbol, n, fn);
    vec_free(&files);
    arena_free(a);
}

void kernel_compile_joined(const char *cc, const struct target *t, const char *const *source,
                           int n, void **fn)
{
    const char *dir = temp_dir(NULL);
    struct arena *a = arena_new();
    struct argv files = { 0 };
    struct str text = { 0 };
    struct err e;
    gen_join(source, n, 0, &text);
    vec_push(&files, arena_printf(a, "%s/all.c", dir));
    if (!file_write_atomic(files.data[0], str_text(&text), text.len, &e))
        fail("%s", e.text);
    compile(cc, t, false, &files, arena_printf(a, "%s/all.so", dir));
    load(a, dir, "ts_entry", n, fn);
    str_free(&text);
    vec_free(&files);
    arena_free(a);
}

void kernel_compile(const char *cc, const struct target *t, const char *const *source, int n,
                    const char *symbol, void **fn)
{
    compile_units(cc, t, false, source, n, symbol, fn);
}

void kernel_compile_quick(const char *cc, const struct target *t, const char *const *source,
                          int n, const char *symbol, void **fn)
{
    compile_units(cc, t, true, source, n, symbol, fn);
}

void **kernel_buffers(struct arena *a, const struct func *f, uint64_t seed)
{
    struct rng r = rng_seed(seed);
    void **data = ARENA_ARRAY(a, void *, f->n_params);
    for (int b = 0; b < f->n_params; b++) {
        const struct elem_type *type = f->buffer[b].type;
        size_t lines = ((size_t)buffer_bytes(&f->buffer[b]) + 63) / 64;
        data[b] = aligned_alloc(64, 64 * (lines + 1));
        for (int64_t i = 0; i < f->buffer[b].elems; i++) {
            double x = (double)rng_range(&r, -4, 4);
            type->write(&x, 1, (char *)data[b] + i * type->bytes);
        }
    }
    return data;
}
