/* The texts of code that other suites only run: kernels in C and CUDA C, and traces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gen/gen_impl.h"
#include "profile/measure/program_text.h"
#include "tests/unit/gen_cases.h"
#include "tests/unit/golden.h"
#include "tests/unit/programs.h"
#include "tests/unit/tree_text.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* Whether the case is one of a list, which names nests by a part of their path.  The list ends with
 * NULL. */
static bool is_listed(const struct gen_case *c, const char *const *list)
{
    while (*list && !strstr(c->name, *list))
        list++;
    return *list != NULL;
}

/* The marks of loops as '@'. */
static void show_marks(struct str *text)
{
    for (char *s = text->data; s && (s = strchr(s, GEN_MARK)); s++)
        *s = '@';
}

/* Appends the C of a case, under its name. */
static void add_c(struct str *out, const struct gen_case *c, struct gen_opts o)
{
    struct err e;
    o.header = c->name;
    if (!gen_c(c->f, &o, out, &e))
        fail_msg("%s: %s", c->name, e.text);
}

/* Checks the C of all trees without a golden file of their own, and of some nests. */
static void kernels_are_as_before(void **state)
{
    static const char *const large[] = {
        "a tile of more pieces", "taps unrolled with shared", "tests/golden/nest", NULL,
    };
    static const char *const nests[] = {
        "/gather-rows", "/prefetch_border", "/fig7", "/t2d-parity", NULL,
    };
    struct arena *a = arena_new();
    int n;
    const struct gen_case *cases = gen_cases(a, &n);
    struct str out = { 0 };
    (void)state;
    for (int i = 0; i < n; i++) {
        if (cases[i].golden || (is_listed(&cases[i], large) && !is_listed(&cases[i], nests)))
            continue;
        add_c(&out, &cases[i],
              (struct gen_opts){ .target = target_named("avx512"), .openmp = true });
        str_add(&out, "\n");
    }
    golden_check("tests/golden/kernels.txt", str_text(&out));
    str_free(&out);
    arena_free(a);
}

/* Without vectors and pragmas, and with marks. */
static void scalars_are_as_before(void **state)
{
    static const char *const list[] = {
        "/pad-inlined", "/pad-wide", "/softmax-inlined", "lanes that read what", "hints for the",
        NULL,
    };
    struct arena *a = arena_new();
    int n;
    const struct gen_case *cases = gen_cases(a, &n);
    struct str out = { 0 };
    (void)state;
    for (int i = 0; i < n; i++)
        if (is_listed(&cases[i], list))
            add_c(&out, &cases[i], (struct gen_opts){ .target = target_named("plain"),
                                                      .marks = true, .name = "scalars" });
    show_marks(&out);
    golden_check("tests/golden/scalars.txt", str_text(&out));
    str_free(&out);
    arena_free(a);
}

/* Appends the walks of a trace, without what all traces begin with, and its table. */
static void add_trace(struct str *out, const struct gen_case *c)
{
    struct gen_opts o = { .target = target_named("avx512") };
    struct trace_table t;
    struct str text = { 0 };
    struct err e;
    if (!gen_trace(c->f, &o, 64, &text, &t, &e))
        fail_msg("%s: %s", c->name, e.text);
    str_printf(out, "/* %s */\n%s", c->name, strstr(str_text(&text), "void ts_trace("));
    for (int i = 0; i < t.n_sites; i++)
        str_printf(out, "site %d: %s%s, operand %d of tensor %d\n", i, t.site[i].text,
                   t.site[i].is_store ? " stored" : "", t.site[i].operand, t.site[i].into);
    for (int i = 0; i < t.n_uses; i++)
        str_printf(out, "block %d: %d of site %d, %d bytes streamed\n", t.use[i].block, t.use[i].n,
                   t.use[i].site, t.use[i].streamed);
    for (int i = 0; i < t.n_blocks; i++)
        str_printf(out, "%sblock %d in mark %d", i ? ", " : "", i, t.block_mark[i]);
    for (int i = 0; i < t.n_marks; i++)
        str_printf(out, "\nmark %d: block %d, %s", i, t.mark[i].block, t.mark[i].loops);
    str_add(out, "\n\n");
    str_free(&text);
}

static void traces_are_as_before(void **state)
{
    static const char *const list[] = {
        "negative operands", "a condition on the reduction", "only one copy of an unrolled",
        "select with a condition", "stores end the life", "reduction that may be empty",
        "names of the helpers of streamed", "/gather-rows", NULL,
    };
    struct arena *a = arena_new();
    int n;
    const struct gen_case *cases = gen_cases(a, &n);
    struct str out = { 0 };
    (void)state;
    for (int i = 0; i < n; i++)
        if (is_listed(&cases[i], list))
            add_trace(&out, &cases[i]);
    golden_check("tests/golden/traces.txt", str_text(&out));
    str_free(&out);
    arena_free(a);
}

/* Programs in C for a CPU, or in CUDA C. */
static const struct { const char *spec, *target, *step[16]; } programs[] = {
    { "gmm m=8 k=12 n=48 type=bf16", "avx512",
      { "loop split C N 16", "loop reorder C N.0 M K N.1", "loop vectorize C N.1",
        "loop cache_write C at=M", "loop stream C", "loop prefetch C A at=M",
        "loop prefetch C B at=K ahead=2" } },
    { "x = input m=6 n=33 type=f16; y = gelu(x); z = exp(y)", "avx2",
      { "loop inline y", "loop vectorize z N" } },
    { "x = input m=3 n=24 type=f16; y = relu(x)", "avx2",
      { "loop vectorize y N", "loop stream y" } },
    { "gmm m=4 k=3 n=6 type=bf16", "avx2", { NULL } },
    { "x = input m=3 n=20; y = input m=3 n=20; e = equal(x, y); z = where(e, x, y)", "avx2",
      { "loop vectorize e N", "loop parallel z M" } },
    { "maxpool n=1 c=8 h=5 w=5 k=3 p=1 type=bf16", "sse",
      { "set input_layout given", "layout set Inp_in \"N H W C\"", "layout set MaxPool \"N H W C\"",
        "loop inline Inp", "loop reorder MaxPool N H W KH KW C", "loop cache_write MaxPool at=W",
        "loop vectorize MaxPool C" } },
    { "gmm m=4 k=8 n=16", "avx512", { "set autovectorize on", "loop reorder C M K N" } },
    { "c1d n=1 i=2 w=8 o=16 k=3 type=bf16", "avx2",
      { "set input_layout given", "layout set Inp \"N W I\"", "layout set Ker \"I KW O\"",
        "layout set Conv \"N W O\"", "loop reorder Conv N I KW W O", "loop cache_write Conv at=N",
        "loop unroll Conv KW", "loop unroll Conv W", "loop vectorize Conv O" } },
    { "concat n=1 c=48 c2=16 type=f16", "avx512", { NULL } },
    { "t = const v=9 i=3 w=5; x = input n=2; e = gather(t, x); y = c1d(e) o=4 k=3 p=1", "avx2",
      { "loop inline e", "loop inline y_Inp" } },
    { "t = const v=9 k=5; x = input n=3; e = gather(t, x)", "avx2", { "loop split e K 2" } },
    { "t = const v=9 k=2; x = input n=4; e = gather(t, x); z = input n=4 k=2; y = add(e, z)", "sse",
      { "loop inline e", "loop reorder y K N", "loop vectorize y N" } },
    { "t = const v=9 k=6; x = input n=5; e = gather(t, x)", "avx2",
      { "layout pad e N after=3", "loop parallel e N" } },
    { "t = const v=100 k=48; i = input n=40; e = gather(t, i); y = relu(e)", "cuda",
      { "loop bind e N block.x", "loop bind e K thread.x", "loop split y N 0 16",
        "loop bind y N.0 block.x", "loop bind y N.1 thread.y" } },
    { "x = input n=1 c=4 h=6 w=6; m = maxpool(x) k=3 p=1; y = relu(m)", "cuda",
      { "loop bind m N block.y", "loop bind m C block.x", "loop bind m H thread.y",
        "loop bind y N block.x" } },
    { "gmm m=4 k=8 n=96 type=f16", "cuda",
      { "loop bind C M block.x", "loop bind C N thread.x" } },
    { "gmm m=4 k=8 n=1", "cuda", { "loop bind C M block.x", "loop bind C N thread.x" } },
    { "gmm m=4 k=8 n=16", "cuda",
      { "loop reorder C M K N", "loop bind C M block.x", "loop vectorize C N" } },
    { "gmm m=8 k=16 n=8", "cuda",
      { "loop split C K 4", "loop reorder C M N K.0 K.1", "loop bind C M block.x",
        "loop bind C N thread.x", "loop cache_read C B at=K.0 scope=shared" } },
    { "gmm m=8 k=16 n=2", "cuda",
      { "loop split C K 4", "loop reorder C M N K.0 K.1", "loop bind C M thread.y",
        "loop bind C N thread.x", "loop cache_read C A at=K.0 scope=shared" } },
    { "gmm m=32 k=32 n=16 type=f16", "cuda",
      { "loop split C M 16", "loop split C N 16", "loop split C K 16",
        "loop reorder C M.0 N.0 K.0 M.1 N.1 K.1", "loop bind C M.0 block.y",
        "loop bind C N.0 block.x", "loop cache_read C A at=K.0 scope=shared pad=2",
        "loop cache_read C B at=K.0 scope=shared pad=1", "loop tensorize C M.1 N.1 K.1" } },
};

static void add_program(struct str *out, int i)
{
    struct arena *a = arena_new();
    const struct program *p = program_bare(a, programs[i].spec);
    struct err e;
    for (int k = 0; k < COUNT_OF(programs[i].step) && programs[i].step[k]; k++)
        if (!program_apply_line(p, programs[i].step[k], &p, &e))
            fail_msg("%s: %s: %s %s", programs[i].spec, programs[i].step[k], e.text, e.fix);
    bool cuda = streq(programs[i].target, "cuda"), openmp;
    if (!cuda)
        str_printf(out, "/* %s */\n", programs[i].spec);
    if (!(cuda ? program_text_cuda(p, out, &e)
               : program_text_code(p, target_named(programs[i].target), out, &openmp, NULL, &e)))
        fail_msg("%s: %s", programs[i].spec, e.text);
    str_add(out, "\n");
    arena_free(a);
}

static void programs_are_as_before(void **state)
{
    struct str out = { 0 };
    (void)state;
    setenv("TILESCOPE_NVRTC", "/nowhere/libnvrtc.so", 1);
    for (int i = 0; i < COUNT_OF(programs); i++)
        add_program(&out, i);
    unsetenv("TILESCOPE_NVRTC");
    golden_check("tests/golden/programs.txt", str_text(&out));
    str_free(&out);
}

/* Each nest is a launch with the parameters that it uses, and what is before it another. */
static void launches_are_listed(void **state)
{
    static const struct { const char *name; int64_t extent[6]; int argument[2]; } want[] = {
        { "three_0", { 1, 1, 1, 1, 1, 1 }, { 0, 1 } },
        { "three_1", { 4, 1, 1, 1, 3, 1 }, { 1, 2 } },
        { "three_2", { 3, 1, 1, 1, 1, 1 }, { 2, 3 } },
    };
    static const char *const line[] = {
        "loop bind m N block.y", "loop bind m C block.x", "loop bind m H thread.y",
        "loop reorder y H N", "loop bind y H block.x",
    };
    (void)state;
    struct arena *a = arena_new();
    const struct program *p = program_with(
        a, "x = input n=1 c=4 h=6 w=6; m = maxpool(x) k=3 p=1; y = relu(m)", line, COUNT_OF(line));
    struct gen_opts o = { .target = target_named("cuda"), .name = "three" };
    struct gen_launches got;
    const struct func *f;
    struct str out = { 0 };
    struct err e;
    if (!program_lower(p, &f, &e) || !gen_cuda(f, &o, &out, &got, &e))
        fail_msg("%s", e.text);
    assert_int_equal(got.n, COUNT_OF(want));
    for (int i = 0; i < got.n; i++) {
        const struct gen_launch *x = &got.launch[i];
        assert_string_equal(x->name, want[i].name);
        assert_memory_equal(x->extent, want[i].extent, sizeof x->extent);
        assert_true(x->shared == 0 && x->n == COUNT_OF(want[i].argument));
        assert_memory_equal(x->argument, want[i].argument, sizeof want[i].argument);
    }
    str_free(&out);
    arena_free(a);
}

/* A body of 4,096 statements is written out, and two of them one after the other; not one more. */
static void bodies_are_counted(void **state)
{
    static const struct { const char *tree, *error; } rows[] = {
        { "out C[64][64]\nfor m 64 unroll\n  for n 64 unroll\n    C[m][n] = 0\n"
          "for k 64 unroll\n  for i 64 unroll\n    C[k][i] = 1\n", NULL },
        { "out C[17][241]\nfor m 17 unroll\n  for n 241 unroll\n    C[m][n] = 0\n",
          "the unrolled body of Out has more than 4096 statements: M(17) N(241)" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(rows); i++) {
        struct arena *a = arena_new();
        struct gen_opts o = { .target = target_named("avx2") };
        struct str out = { 0 };
        struct err e = { 0 };
        bool ok = gen_c(tree_from_text(a, rows[i].tree), &o, &out, &e);
        assert_string_equal(ok ? "" : e.text, rows[i].error ? rows[i].error : "");
        str_free(&out);
        arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_as_before), cmocka_unit_test(scalars_are_as_before),
        cmocka_unit_test(traces_are_as_before),
        cmocka_unit_test(programs_are_as_before), cmocka_unit_test(launches_are_listed),
        cmocka_unit_test(bodies_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
