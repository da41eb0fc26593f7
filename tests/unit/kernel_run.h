/* Compiling generated C in a test and calling it in this process. */
#ifndef TS_TESTS_KERNEL_RUN_H
#define TS_TESTS_KERNEL_RUN_H
#include "kernels/gen/gen.h"

/* NULL when the compiler is not installed (said on stdout, once). */
const char *kernel_compiler(const char *name);

/* Compiles n units, each with its own SYMBOL, into one shared object with -Wall -Wextra
 * -Werror and gen_cflags, and stores the n functions in fn.  On a refusal the compiler's text
 * is printed and the test fails.  Never unloaded. */
void kernel_compile(const char *cc, const struct target *t, const char *const *source, int n,
                    const char *symbol, void **fn);
/* The same for texts of gen_c, which gen_join makes one unit: a compiler starts once. */
void kernel_compile_joined(const char *cc, const struct target *t, const char *const *source,
                           int n, void **fn);
/* The same without optimising. */
void kernel_compile_quick(const char *cc, const struct target *t, const char *const *source,
                          int n, const char *symbol, void **fn);

/* Buffers of f's parameters, the inputs filled with small integers (so that any order of float
 * sums is exact). */
void **kernel_buffers(struct arena *a, const struct func *f, uint64_t seed);
#endif
