/* Generated C: against the interpreter of trees, in many forms, under gcc and clang; its
 * trace; golden files. */
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
#include "tests/unit/gen_cases.h"
#include "tests/unit/golden.h"
#include "tests/unit/kernel_run.h"
#include "tests/unit/touch.h"
#include "tests/unit/tree_text.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static uint64_t seed;
static struct arena *arena;
static const struct gen_case *cases;
static int n_cases;

/* A case for a number of lanes. */
struct unit { const struct gen_case *c; int lanes; const char *what; };

static struct gen_opts options(int lanes)
{
    struct gen_opts o = { .target = target_host(), .openmp = true, .name = "ts_entry_kernel" };
    o.target.vector_floats = lanes;
    return o;
}

/* Every case for each of the numbers of lanes (ended by 0). */
static struct unit *all_units(const int *lanes, int *n)
{
    VEC(struct unit) u = { 0 };
    for (int i = 0; i < n_cases; i++)
        for (const int *l = lanes; *l; l++) {
            const char *what = arena_printf(arena, "%s, %d lanes", cases[i].name, *l);
            vec_push(&u, (struct unit){ &cases[i], *l, what });
        }
    struct unit *copy = ARENA_DUP(arena, u.data, u.len);
    *n = u.len;
    vec_free(&u);
    return copy;
}

static const char *c_text(const struct func *f, const struct gen_opts *o)
{
    struct str out = { 0 };
    struct err e;
    if (!gen_c(f, o, &out, &e))
        fail_msg("%s", e.text);
    const char *text = arena_strdup(arena, str_text(&out));
    str_free(&out);
    return text;
}

/* Runs fn and the interpreter on equal data; fails at the first difference. */
static void check_equal(const struct func *f, void *fn, const char *what)
{
    struct arena *a = arena_new();
    float **got = kernel_buffers(a, f, seed), **want = kernel_buffers(a, f, seed);
    void (*entry)(float *const *) = NULL;
    memcpy(&entry, &fn, sizeof entry);
    entry(got);
    func_interpret(f, want);
    for (int b = 0; b < f->n_params; b++) {
        for (int64_t i = 0; i < f->buffer[b].elems; i++)
            if (memcmp(&got[b][i], &want[b][i], sizeof(float)) && !(got[b][i] == want[b][i]))
                fail_msg("%s: %s[%lld] is %g, not %g", what, f->buffer[b].name, (long long)i,
                         (double)got[b][i], (double)want[b][i]);
        free(got[b]);
        free(want[b]);
    }
    arena_free(a);
}

static void check_all(const char *name, const int *lanes)
{
    const char *cc = kernel_compiler(name);
    if (!cc)
        skip();
    int n;
    struct unit *u = all_units(lanes, &n);
    const char **source = ARENA_ARRAY(arena, const char *, n);
    void **fn = ARENA_ARRAY(arena, void *, n);
    struct target host = target_host();
    for (int i = 0; i < n; i++) {
        struct gen_opts o = options(u[i].lanes);
        source[i] = c_text(u[i].c->f, &o);
    }
    kernel_compile(cc, &host, source, n, "ts_entry", fn);
    for (int i = 0; i < n; i++)
        check_equal(u[i].c->f, fn[i], u[i].what);
}

static void values_gcc(void **state)
{
    (void)state;
    check_all("gcc", (const int[]){ 16, 1, 0 });
}

static void values_clang(void **state)
{
    (void)state;
    check_all("clang", (const int[]){ 8, 0 });
}

/* Every buffer of f, locals too. */
static float **all_buffers(struct arena *a, const struct func *f)
{
    float **params = kernel_buffers(a, f, seed), **all = ARENA_ARRAY(a, float *, f->n_buffers);
    for (int b = 0; b < f->n_buffers; b++)
        all[b] = b < f->n_params ? params[b] :
                                   xcalloc((size_t)f->buffer[b].elems, sizeof(float));
    return all;
}

static int by_place(const void *x, const void *y)
{
    const struct touch *a = x, *b = y;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return (int)a->bytes - (int)b->bytes;
}

/* Which of the loads between two stores comes first is the compiler's choice. */
static void sort_loads(struct touch *t, long n)
{
    for (long i = 0, from = 0; i <= n; i++)
        if (i == n || t[i].is_store) {
            qsort(t + from, (size_t)(i - from), sizeof *t, by_place);
            from = i + 1;
        }
}

#define MAX_TOUCHES (1 << 20)
struct trace_log {
    struct touch *to;
    long n, cap;
    const struct site *site;
    struct ts_rec *buf;
};

static struct ts_rec *take_records(void *ctx, struct ts_rec *end)
{
    struct trace_log *log = ctx;
    assert_true(end - log->buf <= log->cap);
    for (struct ts_rec *r = log->buf; r < end; r++) {
        assert_true(log->n < MAX_TOUCHES);
        struct touch t = { .is_store = log->site[r->site].is_store, .bytes = r->bytes };
        memcpy(&t.at, &r->addr, sizeof t.at);
        log->to[log->n++] = t;
    }
    return log->buf;
}

typedef void trace_fn(const unsigned long long *base, struct ts_rec *buf, long cap,
                      struct ts_rec *(*flush)(void *, struct ts_rec *), void *ctx);

static long run_trace(const struct func *f, trace_fn *fn, const struct site *site,
                      float *const *data, struct touch *to)
{
    static struct ts_rec buf[100];
    unsigned long long base[16];
    struct trace_log log = { to, 0, COUNT_OF(buf), site, buf };
    for (int b = 0; b < f->n_buffers; b++)
        base[b] = (unsigned long long)(uintptr_t)data[b];
    fn(base, buf, COUNT_OF(buf), take_records, &log);
    return log.n;
}

static void check_trace(const struct func *f, trace_fn *trace, const struct site *site,
                        touch_fn *run, const char *what)
{
    static struct touch want[MAX_TOUCHES], got[MAX_TOUCHES];
    struct arena *a = arena_new();
    float **data = all_buffers(a, f);
    long n_got = run_trace(f, trace, site, data, got);
    long n_want = run(data, want);
    if (n_got != n_want)
        fail_msg("%s: %ld records for %ld accesses", what, n_got, n_want);
    sort_loads(want, n_want);
    sort_loads(got, n_got);
    for (long i = 0; i < n_want; i++)
        if (by_place(&want[i], &got[i]) || want[i].is_store != got[i].is_store)
            fail_msg("%s: record %ld differs", what, i);
    for (int b = 0; b < f->n_buffers; b++)
        free(data[b]);
    arena_free(a);
}

static const char *trace_text(const struct unit *u, const struct site **site)
{
    struct gen_opts o = options(u->lanes);
    struct str out = { 0 };
    struct err e;
    int n;
    if (!gen_trace(u->c->f, &o, &out, site, &n, &e))
        fail_msg("%s: %s", u->what, e.text);
    const char *text = arena_strdup(arena, str_text(&out));
    str_free(&out);
    return text;
}

/* The records of the trace are the accesses of the C text. */
static void trace_is_the_code(void **state)
{
    (void)state;
    const char *cc = kernel_compiler("gcc"), *cxx = kernel_compiler("g++");
    if (!cc || !cxx)
        skip();
    int n;
    struct unit *u = all_units((const int[]){ 16, 1, 0 }, &n);
    struct str cpp = { 0 };
    const char **trace = ARENA_ARRAY(arena, const char *, n);
    const struct site **site = ARENA_ARRAY(arena, const struct site *, n);
    void **symbol = ARENA_ARRAY(arena, void *, n);
    touch_fn **run = ARENA_ARRAY(arena, touch_fn *, n);
    struct target host = target_host();
    str_add(&cpp, touch_prologue);
    for (int i = 0; i < n; i++) {
        struct gen_opts o = options(u[i].lanes);
        touch_unit(&cpp, u[i].c->f, c_text(u[i].c->f, &o), i);
        trace[i] = trace_text(&u[i], &site[i]);
    }
    touch_compile(cxx, str_text(&cpp), n, run);
    kernel_compile_quick(cc, &host, trace, n, "ts_trace", symbol);
    for (int i = 0; i < n; i++) {
        trace_fn *fn;
        memcpy(&fn, &symbol[i], sizeof fn);
        check_trace(u[i].c->f, fn, site[i], run[i], u[i].what);
    }
    str_free(&cpp);
}

static void golden_c(void **state)
{
    (void)state;
    for (int i = 0; i < n_cases; i++) {
        struct gen_opts o = { .target = target_named("avx512"), .openmp = true };
        o.header = cases[i].name;
        if (cases[i].golden)
            golden_check(cases[i].golden, c_text(cases[i].f, &o));
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
    struct gen_opts o = options(1);
    struct str out = { 0 };
    struct err e;
    const struct site *site;
    int n;
    assert_true(gen_trace(f, &o, &out, &site, &n, &e));
    assert_int_equal(n, COUNT_OF(want));
    for (int i = 0; i < n; i++) {
        assert_string_equal(site[i].text, want[i].text);
        assert_int_equal(site[i].is_store, want[i].is_store);
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
    struct gen_opts o = options(16);
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
    };
    const char *cc = kernel_compiler("gcc"), *source[COUNT_OF(specs)];
    const struct graph *g[COUNT_OF(specs)];
    void *fn[COUNT_OF(specs)];
    struct target host = target_host();
    struct err e;
    if (!cc)
        skip();
    for (int i = 0; i < COUNT_OF(specs); i++) {
        struct str out = { 0 };
        if (!graph_from_spec(arena, specs[i], &g[i], &e))
            fail_msg("%s", e.text);
        gen_reference(g[i], "reference_kernel", &out);
        str_printf(&out, "void reference(double **t)\n{\n    reference_kernel(");
        for (int t = 0; t < g[i]->n_tensors; t++)
            str_printf(&out, "%st[%d]", t ? ", " : "", t);
        str_add(&out, ");\n}\n");
        source[i] = arena_strdup(arena, str_text(&out));
        str_free(&out);
    }
    kernel_compile(cc, &host, source, COUNT_OF(specs), "reference", fn);
    for (int i = 0; i < COUNT_OF(specs); i++)
        check_reference(g[i], fn[i]);
}

static void peak_runs(void **state)
{
    (void)state;
    const char *cc = kernel_compiler("gcc"), *source;
    struct target host = target_host();
    struct str out = { 0 };
    void *fn;
    void (*entry)(float *const *);
    if (!cc)
        skip();
    double flops = gen_peak(&host, &out);
    source = str_text(&out);
    kernel_compile(cc, &host, &source, 1, "ts_entry", &fn);
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

static void targets(void **state)
{
    (void)state;
    static const struct { const char *isa; int lanes; } rows[] = {
        { "avx512", 16 }, { "avx2", 8 }, { "neon", 4 }, { "sse", 4 }, { "plain", 1 },
    };
    for (int i = 0; i < COUNT_OF(rows); i++) {
        struct target t = target_named(rows[i].isa);
        assert_int_equal(t.vector_floats, rows[i].lanes);
        assert_string_equal(t.isa, rows[i].isa);
        for (int clang = 0; clang < 2; clang++)
            assert_string_equal(gen_cflags(&t, clang)[0], "-O2");
    }
    assert_string_equal(target_named("vax").isa, "plain");
    assert_true(target_host().vector_floats >= 1);
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
        cmocka_unit_test(targets),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_free(arena);
    return failed;
}
