/* Tensor blocks: which are legal, the text, that it is right, and that broken ones are caught.
 *
 * $TENSOR_RANDOM is how many random schedules the suite tries. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/rng.h"
#include "profile/measure/gpu_memory.h"
#include "profile/measure/measure.h"
#include "profile/measure/oracle.h"
#include "profile/measure/program_text.h"
#include "tests/unit/cuda_bind.h"
#include "tests/unit/from_env.h"
#include "tests/unit/golden.h"
#include "tests/unit/programs.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* A block computes 64 x 64 results by four warps, a warp 32 x 32. */
static const char *const gemm[] = {
    "loop split C M 0 2 2 16", "loop split C N 0 2 2 16", "loop split C K 0 2 16",
    "loop reorder C M.0 N.0 M.1 N.1 K.0 K.1 M.2 N.2 M.3 N.3 K.2",
    "loop bind C M.0 block.y", "loop bind C N.0 block.x",
    "loop bind C M.1 thread.z", "loop bind C N.1 thread.y",
    "loop unroll C M.2", "loop unroll C N.2",
    "loop cache_read C A at=K.0 scope=shared pad=8",
    "loop cache_read C B at=K.0 scope=shared pad=8",
    "loop tensorize C M.3 N.3 K.2",
};

/* A warp of its own for 16 x 16 results, and operands from global memory. */
static const char *const plain[] = {
    "loop split C M 16", "loop split C N 16", "loop split C K 16",
    "loop reorder C M.0 N.0 K.0 M.1 N.1 K.1",
    "loop bind C M.0 block.y", "loop bind C N.0 block.x", "loop tensorize C M.1 N.1 K.1",
};

static const char *const batched[] = {
    "loop split C M 16", "loop split C N 16", "loop split C K 16",
    "loop reorder C B M.0 N.0 K.0 M.1 N.1 K.1", "loop bind C B block.z",
    "loop bind C M.0 block.y", "loop bind C N.0 thread.y",
    "loop cache_read C A at=K.0 scope=shared", "loop cache_read C B at=K.0 scope=shared",
    "loop swizzle C A by=8", "loop tensorize C M.1 N.1 K.1",
};

/* Rows are 2 x 8 pixels, the padding lies in the shared tile of the input. */
static const char *const conv[] = {
    "set input_layout given", "layout set Inp_in \"N H W I\"", "layout set Inp \"N H W I\"",
    "layout set Ker \"KH KW I O\"", "layout set Conv \"N H W O\"",
    "loop split Conv H 2", "loop split Conv W 8", "loop split Conv O 2 16",
    "loop split Conv I 0 16",
    "loop reorder Conv N H.0 W.0 O.0 I.0 KH KW H.1 W.1 O.1 I.1", "loop fuse Conv H.1 W.1",
    "loop bind Conv N block.z", "loop bind Conv H.0 block.y", "loop bind Conv W.0 block.x",
    "loop bind Conv O.0 thread.y",
    "loop compute_at Inp Conv I.0 scope=shared pad=8",
    "loop cache_read Conv Ker at=I.0 scope=shared pad=8",
    "loop tensorize Conv H.1_W.1 O.1 I.1",
};

/* f32, multiplied as tf32: B by columns, so that both operands come by ldmatrix. */
static const char *const tf32[] = {
    "set multiply tf32", "layout set B \"N K\"",
    "loop split C M 0 2 2 16", "loop split C N 0 2 2 16", "loop split C K 0 2 8",
    "loop reorder C M.0 N.0 M.1 N.1 K.0 K.1 M.2 N.2 M.3 N.3 K.2",
    "loop bind C M.0 block.y", "loop bind C N.0 block.x",
    "loop bind C M.1 thread.z", "loop bind C N.1 thread.y",
    "loop unroll C M.2", "loop unroll C N.2",
    "loop cache_read C A at=K.0 scope=shared pad=4",
    "loop cache_read C B at=K.0 scope=shared pad=4",
    "loop tensorize C M.3 N.3 K.2",
};
static const char *const tf32_plain[] = {
    "set multiply tf32", "loop split C M 16", "loop split C N 16", "loop split C K 8",
    "loop reorder C M.0 N.0 K.0 M.1 N.1 K.1", "loop bind C M.0 block.y",
    "loop bind C N.0 block.x", "loop cache_read C A at=K.0 scope=shared pad=4",
    "loop tensorize C M.1 N.1 K.1",
};

/* Sizes that no block divides: rows, columns and steps past the end are 0 in the tiles. */
static const char *const overrun[] = {
    "loop split C M 0 2 2 16", "loop split C N 0 2 16", "loop split C K 0 2 16",
    "loop reorder C M.0 N.0 M.1 N.1 K.0 K.1 M.2 N.2 M.3 K.2", "loop bind C M.0 block.y",
    "loop bind C N.0 block.x", "loop bind C M.1 thread.z", "loop bind C N.1 thread.y",
    "loop unroll C M.2", "loop cache_read C A at=K.0 scope=shared pad=8",
    "loop cache_read C B at=K.0 scope=shared pad=8", "loop tensorize C M.3 N.2 K.2",
};
static const char *const tf32_overrun[] = {
    "set multiply tf32", "loop split C M 0 16", "loop split C N 0 16", "loop split C K 0 2 8",
    "loop reorder C M.0 N.0 K.0 K.1 M.1 N.1 K.2", "loop bind C M.0 block.y",
    "loop bind C N.0 thread.y", "loop cache_read C A at=K.0 scope=shared pad=4",
    "loop cache_read C B at=K.1 scope=shared", "loop swizzle C B by=4",
    "loop tensorize C M.1 N.1 K.2",
};

/* The operand h is a product itself: its tile is a copy of the f16 that are stored. */
static const char *const chained[] = {
    "loop bind h M block.x", "loop bind h N thread.x",
    "loop split y M 0 16", "loop split y N 0 16", "loop split y K 0 16",
    "loop reorder y M.0 N.0 K.0 M.1 N.1 K.1", "loop bind y M.0 block.y", "loop bind y N.0 block.x",
    "loop cache_read y h at=K.0 scope=shared pad=8", "loop tensorize y M.1 N.1 K.1",
};

/* has: in the text; NULL: nothing. */
static const struct {
    const char *spec; const char *const *line; int n; const char *more, *has;
} good[] = {
    { "gmm m=128 k=64 n=128 type=f16", gemm, COUNT_OF(gemm), NULL, "fragment_rows(a0, &A_tile[" },
    { "gmm m=128 k=64 n=64 type=bf16", gemm, COUNT_OF(gemm), NULL,
      "fragment_columns(b0, &B_tile[" },
    { "gmm m=64 k=32 n=64 bias=1 relu=1 type=f16", gemm, COUNT_OF(gemm),
      "loop compute_at BiasAdd C N.1", "__syncthreads" },
    { "gmm m=32 k=48 n=32 type=f16", plain, COUNT_OF(plain), NULL, "fragment_pair(&A[" },
    { "gmm m=32 k=48 n=32 type=bf16", plain, COUNT_OF(plain), NULL, "fragment_both(B[" },
    { "bmm b=3 m=32 k=32 n=32 type=f16", batched, COUNT_OF(batched), NULL,
      "fragment_rows(a0, &A_tile[swizzle(" },
    { "c2d n=1 i=16 h=8 w=16 o=32 k=3 p=1 type=f16", conv, COUNT_OF(conv), NULL,
      "fragment_rows(inp0," },
    { "c2d n=2 i=32 h=4 w=8 o=32 k=3 p=1 type=bf16", conv, COUNT_OF(conv), NULL,
      "fragment_columns(ker0," },
    { "gmm m=128 k=64 n=64", tf32, COUNT_OF(tf32), NULL, "fragment_rows(b0," },
    { "gmm m=32 k=40 n=32 bias=1 relu=1", tf32_plain, COUNT_OF(tf32_plain),
      "loop compute_at BiasAdd C lane", "tf32(B[" },
    { "gmm m=33 k=40 n=20 bias=1 type=f16", overrun, COUNT_OF(overrun),
      "loop compute_at BiasAdd C lane", "fragment_rows(a0," },
    { "gmm m=30 k=26 n=60", tf32_overrun, COUNT_OF(tf32_overrun), NULL, "fragment_rows(a0," },
    { "c2d n=1 i=16 h=7 w=9 o=32 k=3 p=1 type=f16", conv, COUNT_OF(conv), NULL,
      "fragment_rows(inp0," },
    { "x = input m=64 k=32 type=f16; h = gmm(x) n=64; y = gmm(h) n=32", chained, COUNT_OF(chained),
      NULL, "&h_tile[" },
};

static const struct program *good_program(struct arena *a, int i)
{
    const struct program *p = program_with(a, good[i].spec, good[i].line, good[i].n);
    struct err e;
    if (good[i].more && !program_apply_line(p, good[i].more, &p, &e))
        fail_msg("%s: %s", good[i].more, e.text);
    return p;
}

static void twin(const struct program *p, struct measurement *m, struct err *e)
{
    struct measure_opts o = { .seed = 3, .limit_s = 60 };
    memset(e, 0, sizeof *e);
    memset(m, 0, sizeof *m);
    (void)measure_program(p, &o, NULL, NULL, m, e);
}

static void assert_right(const struct program *p)
{
    struct measurement m;
    struct err e;
    twin(p, &m, &e);
    if (m.verified)
        return;
    program_say(p);
    fail_msg("%s%s", e.text, m.reason);
}

/* NVRTC takes the text; the sums are in registers, and PTX has the instruction. */
static void compiles(struct arena *a, const struct program *p, const char *has)
{
    struct str text = {0};
    struct gpu_build b;
    bool built = cuda_build(a, p, &text, &b);
    if (has && !strstr(str_text(&text), has))
        fail_msg("no %s in\n%s", has, str_text(&text));
    if (built) {
        assert_true(b.kernel[b.n - 1].stack == 0 && b.kernel[b.n - 1].threads % 32 == 0);
        assert_non_null(strstr(b.ptx, p->tf32 ? "mma.sync.aligned.m16n8k8.row.col.f32.tf32."
                                              : "mma.sync.aligned.m16n8k16.row.col.f32."));
        assert_true(!p->tf32 || strstr(b.ptx, "cvt.rna.tf32.f32"));
        assert_true(!strstr(str_text(&text), "fragment_rows(")
                    || strstr(b.ptx, "ldmatrix.sync.aligned.m8n8.x4.shared.b16"));
    }
    str_free(&text);
}

static void tensor_blocks_are_right(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(good); i++) {
        struct arena *a = arena_new();
        const struct program *p = good_program(a, i);
        assert_right(p);
        compiles(a, p, good[i].has);
        arena_free(a);
    }
}

static void the_text_is_as_before(void **state)
{
    static const int which[] = { 0, 4, 6, 9, 10, 11 };
    (void)state;
    struct arena *a = arena_new();
    struct str out = {0};
    struct err e = {0};
    const struct func *f;
    setenv("TILESCOPE_NVRTC", "/nowhere/libnvrtc.so", 1);
    for (int i = 0; i < COUNT_OF(which); i++) {
        const struct program *p = good_program(a, which[i]);
        assert_true(program_lower(p, &f, &e));
        func_print(&out, f);
        str_add(&out, "\n");
        assert_true(program_text_cuda(p, &out, &e));
    }
    str_add(&out, "\n");
    assert_true(program_text_c(good_program(a, 3), target_named("cuda"), &out, &e));
    unsetenv("TILESCOPE_NVRTC");
    golden_check("tests/golden/tensor.txt", str_text(&out));
    str_free(&out);
    arena_free(a);
}

static void what_is_refused(void **state)
{
    static const char f16[] = "gmm m=32 k=32 n=32 type=f16";
    static const struct { const char *spec, *step[9], *text, *fix; } row[] = {
        { f16, { "loop tensorize C M N K" }, "loop M of C has 32 iterations", "split C M 16" },
        { "gmm m=40 k=32 n=32 type=f16", { "loop tensorize C M N K" }, "40 iterations",
          "of which 16 divides" },
        { f16, { "loop split C M 16", "loop tensorize C M.1 K N" }, "loop K of C is a reduction",
          "two loops of the output" },
        { f16, { "loop split C M 16", "loop split C N 16", "loop tensorize C M.1 N.1 M.0" },
          "loop M.0 of C is no reduction", "then one of a reduction" },
        { f16, { "loop bind C M thread.x", "loop tensorize C M N K" }, "bound to thread.x",
          "thread.y or thread.z" },
        { f16, { "loop split C M 16", "loop unroll C M.1", "loop split C N 16",
                 "loop split C K 16", "loop tensorize C M.1 N.1 K.1" }, "is marked unroll", "" },
        { f16, { "loop split C M 16", "loop split C N 16", "loop split C K 16",
                 "loop cache_write C at=N.1", "loop tensorize C M.1 N.1 K.1" },
          "loop N.1 of C cannot be in a tensor block", "" },
        { "gmm m=32 k=32 n=32", { "loop split C M 16", "loop split C N 16", "loop split C K 16",
                                  "loop tensorize C M.1 N.1 K.1" },
          "C has elements of type f32", "set multiply tf32" },
        { "gmm m=32 k=32 n=32", { "set multiply tf32", "loop split C M 16", "loop split C N 16",
                                  "loop split C K 16", "loop tensorize C M.1 N.1 K.1" },
          "16 iterations, and a tensor block has 8 steps", "loop split C K.1 8" },
        { "gmm m=32 k=32 n=32", { "set multiply tf32", "loop split C M 16", "loop split C N 16",
                                  "loop split C K 8", "loop tensorize C M.1 N.1 K.1",
                                  "set multiply f32" }, "would no longer apply", "" },
        { "gmm m=32 k=32 n=32", { "set accuracy 1e-5", "set multiply tf32" },
          "products in tf32 have a relative error of about 1e-03", "set multiply f32" },
        { "gmm m=32 k=32 n=32", { "set multiply tf32", "set accuracy 0" },
          "products in tf32", "set accuracy 1e-03" },
        { "gmm m=32 k=32 n=32", { "set multiply f16" }, "takes one of f32, tf32", "" },
        { "gmm m=40 k=32 n=32 type=f16",
          { "loop split C M 0 16", "loop split C N 16", "loop split C K 16",
            "loop tensorize C M.1 N.1 K.1" }, "the tensor block of C depends on the condition",
          "read A from a shared tile, which is 0 past the end" },
        { "gmm m=40 k=32 n=32 type=f16",
          { "loop split C M 0 16", "loop split C N 16", "loop split C K 16",
            "loop reorder C M.0 N.0 K.0 M.1 N.1 K.1", "loop cache_read C A at=K.0 scope=shared",
            "loop tensorize C M.1 N.1 K.1" }, "depends on the condition",
          "read B from a shared tile" },
        { "gmm m=40 k=32 n=32 type=f16",
          { "layout split A M 5", "loop split C M 0 16", "loop split C N 16", "loop split C K 16",
            "loop reorder C M.0 N.0 K.0 M.1 N.1 K.1", "loop cache_read C A at=K.0 scope=shared",
            "loop cache_read C B at=K.0 scope=shared", "loop tensorize C M.1 N.1 K.1" },
          "reads past the end of A", "factors that divide" },
        /* past its end, a maximum is -inf: its products with 0 are no numbers */
        { "x = input n=1 i=24 h=4 w=16 type=f16; p = maxpool(x) k=3 p=1 s=1; y = c2d(p) o=16 k=1",
          { "set input_layout given", "loop split y I 0 16",
            "loop reorder y N H I.0 KH KW W O I.1", "loop compute_at p y I.0 scope=shared",
            "loop cache_read y y_Ker at=I.0 scope=shared", "loop tensorize y W O I.1" },
          "the tensor block of y", "split loops by factors that divide them" },
        { "grp n=1 i=48 h=4 w=4 o=32 k=1 g=2 type=f16",
          { "loop fuse Conv H W", "loop split Conv O 16", "loop split Conv I 0 16",
            "loop reorder Conv N O.0 I.0 KH KW H_W O.1 I.1",
            "loop cache_read Conv Inp at=I.0 scope=shared",
            "loop cache_read Conv Ker at=I.0 scope=shared", "loop tensorize Conv H_W O.1 I.1" },
          "leaves out iterations", "split loops by factors that divide them" },
        { "gmm m=32 k=40 n=32 type=f16",
          { "loop split C M 16", "loop split C N 16", "loop split C K 0 16",
            "loop tensorize C M.1 N.1 K.1" }, "the lanes of a warp multiply all or nothing",
          "factors that divide" },
        { f16, { "loop split C M 16", "loop split C N 16", "loop split C K 16",
                 "loop reorder C M.0 N.0 K.0 M.1 N.1 K.1", "loop tensorize C M.1 N.1 K.1",
                 "loop cache_read C A at=K.0" }, "A_tile is a tile of one thread", "scope=shared" },
        { f16, { "loop split C M 16", "loop split C N 16", "loop split C K 16",
                 "loop tensorize C M.1 N.1 K.1", "loop cache_read C A at=K.1 scope=shared" },
          "something else is computed inside", "outside of the block" },
        { f16, { "loop split C M 16", "loop split C N 16", "loop split C K 16",
                 "loop tensorize C M.1 N.1 K.1", "loop tensorize C M.0 N.0 K.0" },
          "already has a tensor block", "" },
        { f16, { "loop split C M 16", "loop split C N 16", "loop split C K 16",
                 "loop tensorize C M.1 N.1 K.1", "loop split C K.1 4" }, "is marked tensor",
          "loop serial C K.1" },
        { f16, { "loop split C M 16", "loop split C N 16", "loop split C K 16",
                 "loop tensorize C M.1 N.1 K.1", "loop reorder C K.1 K.0" },
          "stay its innermost loops", "loop serial C" },
        { f16, { "loop split C M 16", "loop split C N 16", "loop split C K 16",
                 "loop tensorize C M.1 N.1 K.1", "loop unroll C K.1" },
          "stay its innermost loops", "loop serial C" },
        { f16, { "loop split C M 16", "loop split C N 16", "loop split C K 16",
                 "loop tensorize C M.1 N.1 K.1", "loop serial C lane" },
          "must be bound to thread.x", "loop serial C N.1.1" },
        { "x = input m=32 k=32 r=3 type=f16; q = reduce_sum(x) axes=2 keep=0; y = gmm(q) n=32",
          { "loop split y M 16", "loop split y N 16", "loop split y K 16",
            "loop reorder y M.0 N.0 K.0 M.1 N.1 K.1", "loop compute_at q y K.0 scope=shared",
            "loop tensorize y M.1 N.1 K.1" },
          "tensor cores multiply elements of one type", "(loop compute_root)" },
        { "dep n=1 c=16 h=4 w=16 k=3 p=1 type=f16",
          { "loop tensorize Conv W C KH" },
          "loop KH of Conv has 3 iterations", "of which 16 divides" },
        { "dep n=1 c=16 h=31 w=31 k=16 type=f16", { "loop tensorize Conv W C KW" },
          "is no matrix product", "a loop that indexes only one operand" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct arena *a = arena_new();
        program_refuses(program_bare(a, row[i].spec), i, row[i].step, COUNT_OF(row[i].step),
                        row[i].text, row[i].fix);
        arena_free(a);
    }
}

/* A CPU has no tensor cores; sums in an array have no registers to add to. */
static void what_has_no_code(void **state)
{
    static const char *const rolled[] = {
        "loop split C M 2 16", "loop split C N 16", "loop split C K 16",
        "loop reorder C N.0 K.0 M.0 M.1 N.1 K.1", "loop bind C N.0 block.x",
        "loop tensorize C M.1 N.1 K.1",
    };
    (void)state;
    struct arena *a = arena_new();
    struct str out = {0};
    struct err e = {0};
    const struct program *p = program_with(a, "gmm m=32 k=32 n=32 type=f16", plain,
                                           COUNT_OF(plain));
    assert_true(program_is_bound(p));
    assert_false(program_text_c(p, target_named("plain"), &out, &e));
    assert_non_null(strstr(e.fix, "--target cuda"));
    p = program_with(a, "gmm m=32 k=32 n=32 type=f16", rolled, COUNT_OF(rolled));
    assert_false(program_text_cuda(p, &out, &e));
    assert_non_null(strstr(e.text, "are in C_acc"));
    assert_true(program_apply_line(p, "loop unroll C M.0", &p, &e));
    assert_right(p);
    assert_true(program_apply_line(p, "loop serial C K.1", &p, &e));       /* a plain nest again */
    assert_true(p->stage[p->graph->main_node]->lane == NULL);
    assert_right(p);
    str_free(&out);
    arena_free(a);
}

/* The error is that of tf32, and it is the bound of tf32 that explains it. */
static void tf32_rounds_factors(void **state)
{
    struct arena *a = arena_new();
    struct measurement m;
    struct str method = {0};
    struct err e;
    (void)state;
    const struct program *p = program_with(a, "gmm m=64 k=256 n=64", tf32, COUNT_OF(tf32));
    twin(p, &m, &e);
    assert_true(m.verified && m.max_rel_err > 1e-4 && m.max_rel_err < 4e-3);
    assert_true(m.error_of_bound > 0.1 && m.error_of_bound < 1);
    assert_true(oracle_tolerance(p) > 7e-3 && oracle_tolerance(p) < 9e-3);
    program_print_algorithms(&method, p);
    assert_string_equal(str_text(&method), "products in tf32");
    struct program exact = *p;            /* the same kernel by the bound of float32 */
    exact.form = exact.base;
    exact.tf32 = false;
    twin(&exact, &m, &e);
    assert_true(!m.verified && e.code == ERR_WRONG);
    str_free(&method);
    arena_free(a);
}

/* Of a product in tf32, tensor cores take twice the time of one in f16 (gpu.def). */
static void tf32_has_half_the_rate(void **state)
{
    struct arena *a = arena_new();
    struct gpu_memory_opts o = { .device = NULL };
    struct gpu_cost half, full;
    struct err e;
    (void)state;
    const struct program *p = program_with(a, "gmm m=64 k=64 n=64", tf32, COUNT_OF(tf32)),
                         *q = program_with(a, "gmm m=64 k=64 n=64 type=f16", gemm,
                                           COUNT_OF(gemm));
    assert_true(gpu_memory_rate(p, &o, NULL, &half, &e) && gpu_memory_rate(q, &o, NULL, &full, &e));
    assert_true(full.each[0] > 0 && fabs(half.each[0] / full.each[0] - 2) < 1e-9);
    arena_free(a);
}

static const char *pick(struct rng *r, const char *const *of, int n)
{
    return of[rng_range(r, 0, n - 1)];
}

/* Returns n, or, past, up to 15 less, but at least `least`, and more than half of n. */
static int short_of(struct rng *r, int n, int least, bool past)
{
    least = least > n / 2 ? least : n / 2 + 1;
    return past ? n - (int)rng_range(r, 0, n - least < 15 ? n - least : 15) : n;
}

/* A product of random sizes: how many blocks, warps, and tensor blocks a warp computes, where the
 * operands lie, and how.  With both in shared tiles, rows, columns and steps may overrun. */
static const struct program *random_gemm(struct arena *a, struct rng *r, int *refused)
{
    static const char *const type[] = { "f16", "bf16", "f32" }, *const lay_a[] = { "M K", "K M" },
                      *const lay_b[] = { "K N", "N K" };
    static const char *const form[] = { "", " pad=8", " pad=2", " pad=1" };
    int mb = (int)rng_range(r, 1, 2), nb = (int)rng_range(r, 1, 2), mw = (int)rng_range(r, 1, 2),
        nw = (int)rng_range(r, 1, 3), mt = (int)rng_range(r, 1, 2), nt = (int)rng_range(r, 1, 2),
        ko = (int)rng_range(r, 1, 2), ki = (int)rng_range(r, 1, 2);
    const char *of = pick(r, type, COUNT_OF(type));
    int steps = of[0] == 'f' && of[1] == '3' ? 8 : 16;
    bool shared_a = rng_range(r, 0, 3), shared_b = rng_range(r, 0, 3);
    bool past = shared_a && shared_b && rng_range(r, 0, 1);
    const struct program *p = program_bare(a, arena_printf(
        a, "gmm m=%d k=%d n=%d type=%s%s", short_of(r, 16 * mb * mw * mt, 16, past),
        short_of(r, steps * ko * ki, steps, past), short_of(r, 16 * nb * nw * nt, 16, past), of,
        rng_range(r, 0, 1) ? " bias=1" : ""));
    struct err e = {0};
    const char *line[] = {
        "set input_layout given", steps == 8 ? "set multiply tf32" : "",
        arena_printf(a, "layout set A \"%s\"", pick(r, lay_a, 2)),
        arena_printf(a, "layout set B \"%s\"", pick(r, lay_b, 2)),
        arena_printf(a, "loop split C M %d %d %d 16", mb, mw, mt),
        arena_printf(a, "loop split C N %d %d %d 16", nb, nw, nt),
        arena_printf(a, "loop split C K %d %d %d", ko, ki, steps),
        "loop reorder C M.0 N.0 M.1 N.1 K.0 K.1 M.2 N.2 M.3 N.3 K.2",
        "loop bind C M.0 block.y", "loop bind C N.0 block.x", "loop bind C M.1 thread.z",
        "loop bind C N.1 thread.y", "loop unroll C M.2", "loop unroll C N.2",
        shared_a ? arena_printf(a, "loop cache_read C A at=%s scope=shared%s",
                                          rng_range(r, 0, 1) ? "K.0" : "N.1",
                                          pick(r, form, COUNT_OF(form))) : "",
        shared_b ? arena_printf(a, "loop cache_read C B at=%s scope=shared%s",
                                          rng_range(r, 0, 1) ? "K.0" : "K.1",
                                          pick(r, form, COUNT_OF(form))) : "",
        "loop tensorize C M.3 N.3 K.2",
        arena_printf(a, "loop swizzle C A by=%d", 1 << rng_range(r, 1, 3)),
        arena_printf(a, "loop swizzle C B by=%d", 1 << rng_range(r, 1, 3)),
        rng_range(r, 0, 1) ? "loop compute_at BiasAdd C N.1" : "",
    };
    for (int i = 0; i < COUNT_OF(line); i++) {
        const struct program *next;
        if (!line[i][0])
            continue;
        if (program_apply_line(p, line[i], &next, &e))
            p = next;
        else if (!e.text[0])
            fail_msg("%s: refused without a reason", line[i]);
        else if (str_starts(line[i], "loop tensorize"))
            ++*refused;
    }
    return p;
}

static void random_schedules_are_right(void **state)
{
    struct rng r = rng_seed(20261123);
    int n = from_env("TENSOR_RANDOM", 8), refused = 0;
    (void)state;
    print_message("# seed 20261123\n");
    for (int i = 0; i < n; i++) {
        struct arena *a = arena_new();
        const struct program *p = random_gemm(a, &r, &refused);
        assert_true(program_is_bound(p));
        assert_right(p);
        arena_free(a);
    }
    print_message("# %d schedules, %d with a refused block\n", n, refused);
    assert_int_equal(refused, 0);
}

/* --- Broken blocks ---------------------------------------------------------------------------- */

/* Breaks the n-th load of a tensor block: its last index is that of another element. */
struct breaker { struct exprs *pool; int n; bool in_block, pairs; };

static const struct val *break_load(void *ctx, const struct val *load)
{
    struct breaker *b = ctx;
    struct arena *a = exprs_arena(b->pool);
    if (!b->in_block || b->n-- != 0)
        return load;
    const struct expr **idx = ARENA_DUP(a, load->idx, load->rank);
    int last = load->rank - 1;
    if (b->pairs)                         /* the other one of each pair */
        idx[last] = expr_add(b->pool, idx[last],
                             expr_sub(b->pool, expr_const(b->pool, 1),
                                      expr_mulc(b->pool, expr_modc(b->pool, idx[last], 2), 2)));
    else
        idx[last] = expr_addc(b->pool, expr_modc(b->pool, idx[last], 8), 8);
    return val_load(a, load->source, load->rank, idx);
}

static const struct tree *break_tree(struct breaker *b, const struct tree *t)
{
    struct arena *a = exprs_arena(b->pool);
    struct tree *copy = ARENA_DUP(a, t, 1);
    const struct val_map map = { .ctx = b, .load = break_load };
    bool outside = !b->in_block;
    if (t->kind == TREE_STORE) {
        copy->value = val_rebuild(a, t->value, &map);
        return copy;
    }
    b->in_block |= t->kind == TREE_LOOP && t->ann == LOOP_TENSOR;
    const struct tree **kid = ARENA_ARRAY(a, const struct tree *, t->n_kids + 1);
    for (int i = 0; i < t->n_kids; i++)
        kid[i] = break_tree(b, t->kid[i]);
    copy->kid = kid;
    b->in_block &= !outside;
    return copy;
}

/* Breaks a load of program i, in one of two ways: the twin must refuse it. */
static void try_broken(int i, int load, bool pairs)
{
    struct arena *a = arena_new();
    const struct program *p = good_program(a, i);
    const struct func *f;
    struct measurement m;
    struct err e;
    assert_true(program_lower(p, &f, &e));
    struct breaker b = { .pool = f->pool, .n = load, .pairs = pairs };
    struct func *broken = ARENA_DUP(p->arena, f, 1);
    const struct tree **root = ARENA_ARRAY(p->arena, const struct tree *, f->n_roots + 1);
    for (int t = 0; t < f->n_roots; t++)
        root[t] = break_tree(&b, f->root[t]);
    broken->root = root;
    assert_true(b.n < 0);
    *p->lowered = broken;
    twin(p, &m, &e);
    if (m.verified || (e.code != ERR_WRONG && e.code != ERR_CRASH)) {
        program_say(p);
        fail_msg("load %d, way %d: %s", load, pairs, m.verified ? "verified" : e.text);
    }
    arena_free(a);
}

static void broken_blocks_are_caught(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(good); i++)
        try_broken(i, i / 2 % 2, i % 2);
}

int main(void)
{
    setenv("TILESCOPE_CFLAGS", "-O0", 0);  /* what is checked does not depend on gcc's work */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensor_blocks_are_right), cmocka_unit_test(the_text_is_as_before),
        cmocka_unit_test(what_is_refused), cmocka_unit_test(what_has_no_code),
        cmocka_unit_test(tf32_rounds_factors), cmocka_unit_test(tf32_has_half_the_rate),
        cmocka_unit_test(random_schedules_are_right), cmocka_unit_test(broken_blocks_are_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
