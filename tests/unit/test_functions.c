/* The functions of vectors in generated C, on floats of all magnitudes, against the library's in
 * double precision. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/program/program.h"
#include "tests/unit/kernel_run.h"
#undef fail
#include <cmocka.h>

#define N 4096
#define STRIDE 521                        /* of the bit patterns that are tried */

static const struct { const char *op; double (*exact)(double); double most; } table[] = {
    { "exp", exp, 2 }, { "log", log, 2 }, { "tanh", tanh, 3 }, { "erf", erf, 2 },
};

/* How far got is from exact, in distances between floats there. */
static double ulps(float got, double exact)
{
    float near = (float)exact;
    if (isnan(exact) || isinf(near) || isinf(got) || isnan(got))
        return (isnan(got) && isnan(exact)) || got == near ? 0 : INFINITY;
    double unit = fmax(ldexp(1, ilogb(exact == 0 ? 1e-45 : exact) - 23), 0x1p-149);
    return fabs(got - exact) / unit;
}

static void compile(struct arena *a, const char *cc, const char *op, const struct target *t,
                    void (**fn)(float *const *))
{
    const struct program *p;
    const struct func *f;
    struct err e;
    struct str text = {0};
    const char *spec = arena_printf(a, "X = input d=%d; Y = %s(X)", N, op);
    struct gen_opts o = { .target = t };
    if (!program_new(a, spec, &p, &e) || !program_apply_line(p, "loop split Y D 256 16", &p, &e)
        || !program_apply_line(p, "loop vectorize Y D.1", &p, &e) || !program_lower(p, &f, &e)
        || !gen_c(f, &o, &text, &e))
        fail_msg("%s: %s", spec, e.text);
    assert_null(strstr(str_text(&text), "__builtin_exp"));
    const char *source = str_text(&text);
    void *loaded;
    kernel_compile(cc, t, &source, 1, "ts_entry", &loaded);
    memcpy(fn, &loaded, sizeof loaded);
    str_free(&text);
}

static double worst_of(void (*fn)(float *const *), double (*exact)(double), float *at)
{
    static float x[N] __attribute__((aligned(64))), y[N] __attribute__((aligned(64)));
    double worst = 0;
    for (uint64_t bits = 0; bits < (1ull << 32); bits += (uint64_t)N * STRIDE) {
        for (int i = 0; i < N; i++) {
            uint32_t b = (uint32_t)(bits + (uint64_t)i * STRIDE);
            memcpy(&x[i], &b, sizeof b);
        }
        fn((float *const[]){ x, y });
        for (int i = 0; i < N; i++) {
            double u = ulps(y[i], exact(x[i]));
            if (u > worst) {
                worst = u;
                *at = x[i];
            }
        }
    }
    return worst;
}

static void functions_are_near(void **state)
{
    (void)state;
    const char *cc = kernel_compiler("gcc");
    if (!cc)
        skip();
    for (int i = 0; i < COUNT_OF(table) * targets_count(); i++) {
        const struct target *t = target_get(i % targets_count());
        const int k = i / targets_count();
        if (!t->vector_bytes || !t->runs_here())
            continue;
        struct arena *a = arena_new();
        void (*fn)(float *const *);
        float at = 0;
        compile(a, cc, table[k].op, t, &fn);
        double worst = worst_of(fn, table[k].exact, &at);
        print_message("%s, %s: %.2f ulp, at %g\n", table[k].op, t->isa, worst, at);
        if (!(worst <= table[k].most))
            fail_msg("%s(%.9g) is off by %g ulp on %s", table[k].op, at, worst, t->isa);
        arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(functions_are_near) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
