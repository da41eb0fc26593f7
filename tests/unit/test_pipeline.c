/* Pipelined copies: schedules that are right, their text, what is refused, and broken ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profile/measure/measure.h"
#include "profile/measure/program_text.h"
#include "tests/unit/broken_kernel.h"
#include "tests/unit/cuda_bind.h"
#include "tests/unit/golden.h"
#include "tests/unit/programs.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* Rows of B are copied 16 bytes at a time, those of A, which are padded, 4. */
static const char *const gemm[] = {
    "loop split C M 2 8 4", "loop split C N 2 8 4", "loop split C K 0 8",
    "loop reorder C M.0 N.0 M.1 N.1 K.0 K.1 M.2 N.2",
    "loop bind C M.0 block.y", "loop bind C N.0 block.x",
    "loop bind C M.1 thread.y", "loop bind C N.1 thread.x",
    "loop cache_write C at=N.1", "loop cache_read C A at=K.0 scope=shared pad=1",
    "loop cache_read C B at=K.0 scope=shared", "loop unroll C M.2", "loop unroll C N.2",
    "loop pipeline C K.0 stages=2",
};

/* The pipelined loop runs again for each of four parts of the sum, and B alone has stages. */
static const char *const again[] = {
    "loop split C M 2 8 4", "loop split C N 2 8 4", "loop split C K 4 4 4",
    "loop reorder C M.0 N.0 M.1 N.1 K.0 K.1 K.2 M.2 N.2",
    "loop bind C M.0 block.y", "loop bind C N.0 block.x",
    "loop bind C M.1 thread.y", "loop bind C N.1 thread.x",
    "loop cache_write C at=N.1", "loop cache_read C A at=K.0 scope=shared",
    "loop cache_read C B at=K.1 scope=shared", "loop unroll C M.2", "loop unroll C N.2",
    "loop pipeline C K.1 stages=3",
};

static const char *const tensor[] = {
    "loop split C M 0 2 2 16", "loop split C N 0 2 2 16", "loop split C K 0 2 16",
    "loop reorder C M.0 N.0 M.1 N.1 K.0 K.1 M.2 N.2 M.3 N.3 K.2",
    "loop bind C M.0 block.y", "loop bind C N.0 block.x",
    "loop bind C M.1 thread.z", "loop bind C N.1 thread.y",
    "loop unroll C M.2", "loop unroll C N.2",
    "loop cache_read C A at=K.0 scope=shared", "loop swizzle C A by=8",
    "loop cache_read C B at=K.0 scope=shared", "loop swizzle C B by=8",
    "loop tensorize C M.3 N.3 K.2", "loop pipeline C K.0 stages=3",
};

/* f32 as tf32: both operands by ldmatrix, from swizzled stages. */
static const char *const tf32[] = {
    "set multiply tf32", "layout set B \"N K\"", "loop split C M 0 2 2 16",
    "loop split C N 0 2 2 16", "loop split C K 0 2 8",
    "loop reorder C M.0 N.0 M.1 N.1 K.0 K.1 M.2 N.2 M.3 N.3 K.2",
    "loop bind C M.0 block.y", "loop bind C N.0 block.x",
    "loop bind C M.1 thread.z", "loop bind C N.1 thread.y",
    "loop unroll C M.2", "loop unroll C N.2",
    "loop cache_read C A at=K.0 scope=shared", "loop swizzle C A by=4",
    "loop cache_read C B at=K.0 scope=shared", "loop swizzle C B by=4",
    "loop tensorize C M.3 N.3 K.2", "loop pipeline C K.0 stages=3",
};

/* Three stages of 32 KiB: more than a kernel declares. */
static const char *const dynamic[] = {
    "loop split C M 0 2 2 16", "loop split C N 0 2 2 16", "loop split C K 0 8 16",
    "loop reorder C M.0 N.0 M.1 N.1 K.0 K.1 M.2 N.2 M.3 N.3 K.2",
    "loop bind C M.0 block.y", "loop bind C N.0 block.x",
    "loop bind C M.1 thread.z", "loop bind C N.1 thread.y",
    "loop unroll C M.2", "loop unroll C N.2",
    "loop cache_read C A at=K.0 scope=shared", "loop swizzle C A by=8",
    "loop cache_read C B at=K.0 scope=shared", "loop swizzle C B by=8",
    "loop tensorize C M.3 N.3 K.2", "loop pipeline C K.0 stages=3",
};

/* The tile of the input is computed, with its padding: only that of the weights is copied. */
static const char *const conv[] = {
    "loop split Conv O 2 4 4", "loop split Conv W 3 6", "loop split Conv H 3 6",
    "loop split Conv I 4 2", "loop reorder Conv N O.0 H.0 W.0 H.1 W.1 O.1 I.0 I.1 KH KW O.2",
    "loop fuse Conv H.0 W.0", "loop bind Conv N block.z", "loop bind Conv O.0 block.y",
    "loop bind Conv H.0_W.0 block.x", "loop bind Conv H.1 thread.y", "loop bind Conv W.1 thread.x",
    "loop bind Conv O.1 thread.z", "loop cache_write Conv at=O.1",
    "loop compute_at Inp Conv I.0 scope=shared pad=1",
    "loop cache_read Conv Ker at=I.0 scope=shared",
    "loop unroll Conv O.2", "loop pipeline Conv I.0 stages=4",
};

static const struct {
    const char *spec; const char *const *line; int n;
    const char *copies;                   /* in the text */
} good[] = {
    { "gmm m=64 k=40 n=64", gemm, COUNT_OF(gemm), "copy_async16(&B_tile[" },
    { "gmm m=64 k=64 n=64", again, COUNT_OF(again), "copy_async16(&B_tile[" },
    { "gmm m=64 k=160 n=64 type=f16", tensor, COUNT_OF(tensor), "copy_async16(&A_tile[" },
    { "c2d n=1 i=8 h=18 w=18 o=32 k=3 p=1", conv, COUNT_OF(conv), "copy_async4(&Ker_tile[" },
    { "gmm m=64 k=96 n=64", tf32, COUNT_OF(tf32), "copy_async16(&B_tile[" },
    { "gmm m=64 k=512 n=64 type=f16", dynamic, COUNT_OF(dynamic), "copy_async16(&A_tile[" },
};
#define DYNAMIC_CASE 5

static const struct program *good_program(struct arena *a, int i)
{
    return program_with(a, good[i].spec, good[i].line, good[i].n);
}

static void twin(const struct program *p, unsigned meters, struct measurement *m, struct err *e)
{
    struct measure_opts o = { .seed = 3, .limit_s = 60, .meters = meters };
    memset(e, 0, sizeof *e);
    memset(m, 0, sizeof *m);
    (void)measure_program(p, &o, NULL, NULL, m, e);
}

static void assert_right(const struct program *p)
{
    struct measurement m;
    struct err e;
    twin(p, METER_SIM, &m, &e);
    if (m.verified && m.sim.available)
        return;
    program_say(p);
    fail_msg("%s%s%s", e.text, m.reason, m.sim.reason);
}

static void pipelined_loops_are_right(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(good); i++) {
        struct arena *a = arena_new();
        const struct program *p = good_program(a, i);
        struct str text = {0};
        struct gpu_build b;
        assert_right(p);
        if (cuda_build(a, p, &text, &b)) {
            assert_true(b.kernel[b.n - 1].stack == 0);
            assert_non_null(strstr(b.ptx, "cp.async."));
            assert_non_null(strstr(b.ptx, "cp.async.wait_group"));
        }
        if (!strstr(str_text(&text), good[i].copies))
            fail_msg("no %s in\n%s", good[i].copies, str_text(&text));
        str_free(&text);
        arena_free(a);
    }
}

/* One stage, some, and as many as iterations, and the last iterations, which copy nothing. */
static void any_number_of_stages_is_right(void **state)
{
    (void)state;
    for (int stages = 1; stages <= 5; stages += 2) {
        struct arena *a = arena_new();
        const struct program *p = good_program(a, 0);
        struct err e;
        const char *line = arena_printf(a, "loop pipeline C K.0 stages=%d", stages);
        assert_true(program_apply_line(p, line, &p, &e));
        assert_right(p);
        arena_free(a);
    }
}

/* The launch asks for the stages that exceed what a kernel declares, and the simulator knows. */
static void many_stages_are_dynamic(void **state)
{
    struct arena *a = arena_new();
    const struct program *p = good_program(a, DYNAMIC_CASE);
    struct str text = {0};
    struct gpu_build b;
    struct measurement m;
    struct err e;
    (void)state;
    (void)cuda_build(a, p, &text, &b);
    assert_non_null(strstr(str_text(&text), "98304 of 232448 bytes of shared memory"));
    twin(p, METER_SIM, &m, &e);
    assert_int_equal(m.sim.shared_bytes, 3 * (64 * 128 + 128 * 64) * 2);
    assert_true(program_apply_line(p, "loop pipeline C K.0 stages=4", &p, &e));
    twin(p, METER_SIM, &m, &e);
    assert_int_equal(m.sim.shared_bytes, 4 * (64 * 128 + 128 * 64) * 2);
    str_free(&text);
    arena_free(a);
}

/* The simulator sees as many loads of global memory as without stages: the copies move only. */
static void the_same_is_copied(void **state)
{
    struct arena *a = arena_new();
    struct measurement m, plain;
    struct err e;
    const struct program *p = good_program(a, 0), *q;
    (void)state;
    assert_true(program_apply_line(p, "loop pipeline C K.0 stages=1", &q, &e));
    twin(p, METER_SIM, &m, &e);
    twin(q, METER_SIM, &plain, &e);
    assert_true(m.verified && plain.verified);
    assert_int_equal(m.sim.shared_bytes, 2 * plain.sim.shared_bytes);
    assert_true(m.sim.sectors == plain.sim.sectors && m.sim.loads == plain.sim.loads
                && m.sim.stores == plain.sim.stores);
    arena_free(a);
}

static void the_text_is_as_before(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct str out = {0};
    struct err e = {0};
    const struct func *f;
    setenv("TILESCOPE_NVRTC", "/nowhere/libnvrtc.so", 1);
    for (int i = 0; i < COUNT_OF(good); i++) {
        const struct program *p = good_program(a, i);
        assert_true(program_lower(p, &f, &e));
        func_print(&out, f);
        str_add(&out, "\n");
        if (i == 0 || i == DYNAMIC_CASE)
            assert_true(program_text_cuda(p, &out, &e));
    }
    unsetenv("TILESCOPE_NVRTC");
    golden_check("tests/golden/pipeline.txt", str_text(&out));
    str_free(&out);
    arena_free(a);
}

/* The loops of copies do not prefetch what the pipelined loop prefetches. */
static void only_the_loop_prefetches(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    const struct program *p = good_program(a, 0);
    const struct func *f;
    struct str nest = {0};
    struct err e = {0};
    if (!program_apply_line(p, "loop prefetch C A at=K.0", &p, &e) || !program_lower(p, &f, &e))
        fail_msg("%s", e.text);
    func_print(&nest, f);
    const char *first = strstr(str_text(&nest), "# prefetch A of ");
    if (!first || strstr(first + 1, "# prefetch"))
        fail_msg("%s", str_text(&nest));
    str_free(&nest);
    arena_free(a);
}

static void what_is_refused(void **state)
{
    static const char spec[] = "gmm m=64 k=64 n=64";
    static const struct { const char *spec, *step[7], *text, *fix; } row[] = {
        { spec, { "loop pipeline C M stages=2" }, "loop M of C is no reduction", "reduction" },
        { spec, { "loop pipeline C K stages=9" }, "stages=9 is not between 1 and 8", "" },
        { spec, { "loop split C K 2 32", "loop pipeline C K.0 stages=3" },
          "2 iterations, fewer than 3 stages", "fewer stages" },
        { spec, { "loop split C K 4 16", "loop pipeline C K.0 stages=2" },
          "no shared tile is filled there", "scope=shared" },
        { spec, { "loop split C K 4 16", "loop cache_read C A at=K.0",
                 "loop pipeline C K.0 stages=2" }, "no shared tile is filled there", "" },
        { "gmm m=64 k=64 n=63 type=f16",
          { "loop reorder C M K N", "loop cache_read C B at=K scope=shared",
            "loop pipeline C K stages=2" },
          "cannot fill B_tile: it is copied by elements of 2 bytes", "pad=8" },
        { "c2d n=1 i=8 h=8 w=8 o=8 k=3 p=1",
          { "loop reorder Conv N O I H W KH KW", "loop compute_at Inp Conv I scope=shared",
            "loop pipeline Conv I stages=2" }, "Inp_tile: it is computed, or has a condition", "" },
        { "x = input m=64 k=64 r=3; q = reduce_sum(x) axes=2 keep=0; y = gmm(q) n=64",
          { "loop reorder y K M N", "loop compute_at q y K scope=shared",
            "loop pipeline y K stages=2" }, "q_tile: it is computed by a reduction", "cache_read" },
        { spec, { "layout split A M 64 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
                 "loop reorder C K M N", "loop cache_read C A at=K scope=shared",
                 "loop pipeline C K stages=2" }, "A_tile has 24 dims", "fewer dims" },
        { "gmm m=64 k=50 n=64",
          { "loop split C K 0 8", "loop reorder C K.0 M N K.1",
            "loop cache_read C B at=K.0 scope=shared", "loop pipeline C K.0 stages=2" },
          "it is cut into pieces", "factors that divide" },
        { "gmm m=64 k=512 n=512",
          { "loop split C K 16 32", "loop reorder C K.0 M N K.1",
            "loop cache_read C B at=K.0 scope=shared", "loop pipeline C K.0 stages=4" },
          "the stages of the shared tiles need 262144 bytes", "fewer stages" },
        { spec, { "loop split C K 4 16", "loop reorder C K.0 M N K.1",
                 "loop cache_read C B at=K.0 scope=shared", "loop pipeline C K.0 stages=2",
                 "loop unroll C K.0" }, "another kind of loop", "loop serial" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct arena *a = arena_new();
        program_refuses(program_bare(a, row[i].spec), i, row[i].step, COUNT_OF(row[i].step),
                        row[i].text, row[i].fix);
        arena_free(a);
    }
}

/* Each kernel in each way: a wait less, a stage next to the right one, a stage too few, and what
 * can be wrong with other shared tiles. */
static void broken_kernels_are_caught(void **state)
{
    int tried[BREAKAGES] = { 0 };
    (void)state;
    for (int i = 0; i < COUNT_OF(good); i++)
        for (int what = 0; what < BREAKAGES; what++)
            for (int n = 0; n < 2; n++) {
                if (i > 0 && what > NO_BARRIER && what < NO_WAIT)
                    continue;             /* test_shared.c breaks such tiles */
                struct arena *a = arena_new();
                const struct program *p = good_program(a, i);
                const struct func *right, *f;
                struct measurement m;
                struct err e;
                assert_true(program_lower(p, &right, &e));
                f = broken_kernel(p->arena, right, (enum breakage)what, n);
                if (f) {
                    *p->lowered = f;
                    twin(p, 0, &m, &e);
                    const char *says = m.reason[0] ? m.reason : e.text;
                    if (m.verified || (e.code != ERR_WRONG && e.code != ERR_CRASH))
                        fail_msg("%s, %s %d: %s", good[i].spec, breakage_name[what], n,
                                 m.verified ? "verified" : says);
                    if (what == NO_WAIT && !strstr(says, "which nobody has waited for"))
                        fail_msg("%s: %s", breakage_name[what], says);
                    tried[what]++;
                }
                arena_free(a);
            }
    assert_int_equal(tried[NO_WAIT], COUNT_OF(good));
    assert_true(tried[SHIFT_STAGE] >= COUNT_OF(good) && tried[FEW_STAGES] >= COUNT_OF(good));
}

int main(void)
{
    setenv("TILESCOPE_CFLAGS", "-O0", 0);  /* what is checked does not depend on gcc's work */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pipelined_loops_are_right),
        cmocka_unit_test(any_number_of_stages_is_right), cmocka_unit_test(many_stages_are_dynamic),
        cmocka_unit_test(the_same_is_copied), cmocka_unit_test(only_the_loop_prefetches),
        cmocka_unit_test(the_text_is_as_before), cmocka_unit_test(what_is_refused),
        cmocka_unit_test(broken_kernels_are_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
