/* Generated C: against the interpreter of trees, in many forms, under gcc and clang; its
 * trace; golden files. */
/* tests/run.sh: takes 40 s */
#include <setjmp.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/rng.h"
#include "kernels/base/subprocess.h"
#include "kernels/base/vec.h"
#include "kernels/ops/reference.h"
#include "tests/unit/from_env.h"
#include "tests/unit/gen_cases.h"
#include "tests/unit/golden.h"
#include "tests/unit/kernel_run.h"
#include "tests/unit/reference_slow.h"
#include "tests/unit/tree_text.h"
#include "tests/unit/unit_check.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static uint64_t seed;
static struct arena *arena;
static const struct gen_case *cases;
static int n_cases;

/* Every case for each of the numbers of lanes (ended by 0). */
static struct unit *all_units(const int *lanes, int *n)
{
    VEC(struct unit) u = { 0 };
    for (int i = 0; i < n_cases; i++)
        for (const int *l = lanes; *l; l++) {
            const char *what = arena_printf(arena, "%s, %d lanes", cases[i].name, *l);
            vec_push(&u, (struct unit){ cases[i].f, *l, what });
        }
    struct unit *copy = ARENA_DUP(arena, u.data, u.len);
    *n = u.len;
    vec_free(&u);
    return copy;
}

static void values_gcc(void **state)
{
    (void)state;
    int n;
    const struct unit *u = all_units((const int[]){ 16, 1, 0 }, &n);
    unit_check_values(arena, "gcc", u, n, seed);
}

static void values_clang(void **state)
{
    (void)state;
    int n;
    const struct unit *u = all_units((const int[]){ 8, 0 }, &n);
    unit_check_values(arena, "clang", u, n, seed);
}

static void trace_is_the_code(void **state)
{
    (void)state;
    int n;
    const int scalars = from_env("TEST_LONG", 0);          /* test_gen_random has some of them */
    const struct unit *u = all_units((const int[]){ 16, scalars, 0 }, &n);
    unit_check_traces(arena, u, n, seed);
}

static void golden_c(void **state)
{
    (void)state;
    for (int i = 0; i < n_cases; i++) {
        struct gen_opts o = { .target = target_named("avx512"), .openmp = true };
        struct str out = { 0 };
        struct err e;
        o.header = cases[i].name;
        if (!cases[i].golden)
            continue;
        if (!gen_c(cases[i].f, &o, &out, &e))
            fail_msg("%s", e.text);
        golden_check(cases[i].golden, str_text(&out));
        str_free(&out);
    }
}

static void trace_names_sites(void **state)
{
    (void)state;
    const struct func *f = tree_from_text(arena,
                                          "in A[4][8]\nout C[4]\n"
                                          "for m.0 4\n"
                                          "  C[m.0] = 0\n"
                                          "  for k 8 reduce\n"
                                          "    C[m.0] += A[m.0][k]\n");
    static const struct { const char *text; bool is_store; int count; } want[] = {
        { "C[m.0]", true, 4 }, { "A[m.0][k]", false, 32 }, { "C[m.0]", false, 0 },
    };
    struct gen_opts o = unit_options(1);
    struct str out = { 0 };
    struct err e;
    struct trace_table t;
    assert_true(gen_trace(f, &o, 64, &out, &t, &e));
    assert_int_equal(t.n_sites, COUNT_OF(want));
    for (int i = 0; i < t.n_sites; i++) {
        assert_string_equal(t.site[i].text, want[i].text);
        assert_int_equal(t.site[i].is_store, want[i].is_store);
    }
    str_free(&out);
}

static void too_large_a_body(void **state)
{
    (void)state;
    const struct func *f = tree_from_text(arena,
                                          "out C[100][50]\n"
                                          "for m 100 unroll\n"
                                          "  for n 50 unroll\n"
                                          "    C[m][n] = 0\n");
    struct gen_opts o = unit_options(16);
    struct str out = { 0 };
    struct err e;
    assert_false(gen_c(f, &o, &out, &e));
    assert_int_equal(e.code, ERR_STEP);
    assert_string_equal(e.text, "the unrolled body of Out has more than 4096 statements: "
                                "M(100) N(50)");
    assert_string_equal(e.fix, "loop serial Out M");
    assert_int_equal(out.len, 0);
}

/* The compiled reference against the evaluator of tensor expressions, on every tensor. */
static void check_reference(const struct graph *g, void *fn)
{
    double **got = ARENA_ARRAY(arena, double *, g->n_tensors);
    double **want = ARENA_ARRAY(arena, double *, g->n_tensors);
    struct rng r = rng_seed(seed);
    void (*entry)(double **) = NULL;
    memcpy(&entry, &fn, sizeof entry);
    for (int t = 0; t < g->n_tensors; t++) {
        int64_t n = tensor_elems(&g->tensor[t]);
        got[t] = ARENA_ARRAY(arena, double, n);
        want[t] = ARENA_ARRAY(arena, double, n);
        for (int64_t i = 0; i < n; i++)
            got[t][i] = want[t][i] = rng_float(&r);
    }
    entry(got);
    reference_eval_slow(g, want);
    for (int t = 0; t < g->n_tensors; t++)
        for (int64_t i = 0; i < tensor_elems(&g->tensor[t]); i++)
            if (fabs(got[t][i] - want[t][i]) > 1e-12)
                fail_msg("%s[%lld] is %g, not %g", g->tensor[t].name, (long long)i, got[t][i],
                         want[t][i]);
}

static void reference_is_the_reference(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "c2d n=1 i=3 h=9 w=8 o=4 k=3 s=2 p=1 bias=1 relu=1", "gmm m=5 k=7 n=6",
        "unread = const n=2; c = gmm m=2 k=3 n=4",
        "t2d i=2 h=3 o=2 k=3 s=2 p=1 act=gelu", "maxpool c=2 h=5 k=3 p=1", "softmax m=3 n=9",
        "ln m=3 n=9", "act c=7 f=softplus", "act c=7 f=gelu_tanh", "avgpool c=1 h=4 k=3 p=1",
    };
    const char *cc = kernel_compiler("gcc"), *source[COUNT_OF(specs)];
    const struct graph *g[COUNT_OF(specs)];
    void *fn[COUNT_OF(specs)];
    const struct target *host = target_host();
    struct err e;
    if (!cc)
        skip();
    for (int i = 0; i < COUNT_OF(specs); i++) {
        struct str out = { 0 };
        if (!graph_from_spec(arena, specs[i], &g[i], &e))
            fail_msg("%s", e.text);
        gen_reference(g[i], "reference_kernel", &out);
        assert_non_null(strstr(str_text(&out), "\n    for (long "));
        str_printf(&out, "void reference(double **t)\n{\n    reference_kernel(");
        for (int t = 0; t < g[i]->n_tensors; t++)
            str_printf(&out, "%st[%d]", t ? ", " : "", t);
        str_add(&out, ");\n}\n");
        source[i] = arena_strdup(arena, str_text(&out));
        str_free(&out);
    }
    kernel_compile(cc, host, source, COUNT_OF(specs), "reference", fn);
    for (int i = 0; i < COUNT_OF(specs); i++)
        check_reference(g[i], fn[i]);
}

static void peak_runs(void **state)
{
    (void)state;
    const char *cc = kernel_compiler("gcc"), *source;
    const struct target *host = target_host();
    struct str out = { 0 };
    void *fn;
    void (*entry)(float *const *);
    if (!cc)
        skip();
    double flops = gen_peak(host, &type_f32, &out);
    source = str_text(&out);
    kernel_compile(cc, host, &source, 1, "ts_entry", &fn);
    memcpy(&entry, &fn, sizeof entry);
    entry(NULL);
    double start = clock_s();
    entry(NULL);
    double seconds = clock_s() - start;
    assert_true(flops > 1e6);
    if (seconds < 1e-5)
        fail_msg("%g FLOPs in %g s: the loop was optimised away", flops, seconds);
    str_free(&out);
}

/* The buffers are the thread's own: nothing is passed in. */
static void memory_loops_run(void **state)
{
    (void)state;
    static const char *const compiler[] = { "gcc", "clang" };
    const struct target *target[] = { target_host(), target_named("plain") };
    for (int k = 0; k < COUNT_OF(compiler) * COUNT_OF(target); k++) {
        const char *cc = kernel_compiler(compiler[k / 2]);
        struct str text[2] = { { 0 }, { 0 } };
        double bytes[] = { gen_load(target[k % 2], &type_f32, 40000, &text[0]),
                           gen_copy(target[k % 2], &type_f32, 40000, &text[1]) };
        for (int i = 0; i < 2 && cc; i++) {
            const char *source = str_text(&text[i]);
            void (*entry)(float *const *);
            void *fn;
            kernel_compile(cc, target[k % 2], &source, 1, "ts_entry", &fn);
            memcpy(&entry, &fn, sizeof entry);
            entry(NULL);
            double start = clock_s();
            entry(NULL);
            double seconds = clock_s() - start;
            assert_true(bytes[i] >= 16 << 20 && bytes[i] < 20 << 20);
            if (seconds < 1e-5)
                fail_msg("%g bytes in %g s: the loop was optimised away", bytes[i], seconds);
        }
        str_free(&text[0]);
        str_free(&text[1]);
    }
}

static void targets(void **state)
{
    (void)state;
    static const struct { const char *isa; int lanes; const char *flag; } rows[] = {
        { "avx512", 16, "-mprefer-vector-width=512" }, { "avx2", 8, "-march=x86-64-v3" },
        { "neon", 4, "" }, { "sse", 4, "-march=x86-64-v2" }, { "plain", 1, "" },
    };
    for (int i = 0; i < COUNT_OF(rows); i++) {
        const struct target *t = target_named(rows[i].isa);
        assert_int_equal(target_lanes(t, &type_f32), rows[i].lanes);
        assert_string_equal(t->isa, rows[i].isa);
        for (int clang = 0; clang < 2; clang++) {
            const char *const *flag = target_flags(t, clang);
            bool there = !rows[i].flag[0], of_gcc = false;
            assert_string_equal(flag[0], "-O2");
            for (; *flag; flag++) {
                there = there || streq(*flag, rows[i].flag);
                of_gcc = of_gcc || streq(*flag, "-fvect-cost-model=dynamic");
            }
            assert_true(there && of_gcc == !clang);
        }
    }
    assert_string_equal(target_named("vax")->isa, "plain");
    assert_true(target_lanes(target_host(), &type_f32) >= 1);
}

int main(void)
{
    const char *given = getenv("TS_SEED");
    seed = given ? strtoull(given, NULL, 0) : 20261101;
    printf("# seed %llu\n", (unsigned long long)seed);
    arena = arena_new();
    cases = gen_cases(arena, &n_cases);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_gcc),
        cmocka_unit_test(values_clang),
        cmocka_unit_test(trace_is_the_code),
        cmocka_unit_test(trace_names_sites),
        cmocka_unit_test(golden_c),
        cmocka_unit_test(too_large_a_body),
        cmocka_unit_test(reference_is_the_reference),
        cmocka_unit_test(peak_runs),
        cmocka_unit_test(memory_loops_run),
        cmocka_unit_test(targets),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_free(arena);
    return failed;
}
