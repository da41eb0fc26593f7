/* CUDA schedules: what may be bound, the text, and the twin that runs it on the CPU. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/rng.h"
#include "profile/build/nvrtc.h"
#include "profile/measure/measure.h"
#include "profile/measure/program_text.h"
#include "tests/unit/cuda_bind.h"
#include "tests/unit/golden.h"
#include "tests/unit/programs.h"
#include "tests/unit/random_steps.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static void assert_right(const struct program *p)
{
    struct measure_opts o = { .meters = METER_CLOCK | METER_SIM, .seed = 3 };
    struct measurement m;
    struct err e = {0};
    if (!measure_program(p, &o, NULL, NULL, &m, &e) || !m.verified) {
        program_say(p);
        fail_msg("%s%s", e.text, m.reason);
    }
    assert_string_equal(m.isa, "cuda");
    assert_true(m.latency.runs == 0 && m.sim.available && streq(m.sim.gpu, "h100"));
}

/* NVRTC takes the text, where it is there, without spills. */
static void assert_compiles(struct arena *a, const struct program *p)
{
    struct str text = {0};
    struct gpu_build b;
    if (cuda_build(a, p, &text, &b)) {
        assert_true(b.n > 0);
        for (int i = 0; i < b.n; i++)
            assert_true(b.kernel[i].registers > 0 && b.kernel[i].stack == 0
                        && b.kernel[i].threads > 0);
    }
    str_free(&text);
}

static void all_operators_are_right(void **state)
{
    (void)state;
    for (int i = 0; i < NINE; i++) {
        struct arena *a = arena_new();
        const struct program *p = program_bare(a, nine[i]);
        for (int n = 0; n < p->graph->n_nodes; n++)
            p = cuda_bind_all(a, p, n, 96);
        assert_right(p);
        assert_compiles(a, p);
        arena_free(a);
    }
}

/* NVRTC knows the functions and the infinities that kernels use: it has none of gcc's builtins. */
static void functions_compile(void **state)
{
    static const char *const of[] = { "exp", "log", "tanh", "erf", "sqrt", "floor", "sin", "cos",
                                      "atan", "gelu", "softplus", "reduce_max" };
    (void)state;
    for (int i = 0; i < COUNT_OF(of); i++) {
        struct arena *a = arena_new();
        char spec[100];
        snprintf(spec, sizeof spec, "x = input n=1 c=4 h=4 w=4; expf = %s(x)", of[i]);
        const struct program *p = program_bare(a, spec);
        struct str text = {0};
        struct gpu_build b;
        struct err e = {0};
        assert_true(program_text_cuda(p, &text, &e));
        if (strstr(str_text(&text), "__builtin_"))
            fail_msg("%s: %s", of[i], str_text(&text));
        str_clear(&text);
        if (cuda_build(a, p, &text, &b))
            assert_true(b.n > 0);
        str_free(&text);
        arena_free(a);
    }
}

static void tiles_and_epilogues_are_right(void **state)
{
    static const char *const line[] = {
        "loop inline Inp", "loop split Conv O 2 4", "loop split Conv W 3 3",
        "loop reorder Conv N H O.0 W.0 I KH KW W.1 O.1",
        "loop bind Conv H block.x", "loop bind Conv N block.y",
        "loop bind Conv O.0 thread.y", "loop bind Conv W.0 thread.x",
        "loop reorder Conv H N O.0 W.0 I KH KW W.1 O.1",
        "loop cache_write Conv at=W.0", "loop unroll Conv W.1", "loop unroll Conv O.1",
        "loop compute_at BiasAdd Conv W.0", "loop compute_at ReLU Conv W.0",
    };
    (void)state;
    struct arena *a = arena_new();
    const struct program *p = program_with(a, nine[0], line, 1);
    struct err e = {0};
    for (int i = 1; i < COUNT_OF(line); i++)
        if (!program_apply_line(p, line[i], &p, &e))
            print_message("%s: %s\n", line[i], e.text);
    assert_right(p);
    assert_compiles(a, p);
    arena_free(a);
}

/* A producer that is computed in the loop of the blocks, around that of the threads: each thread
 * computes all of its tile. */
static void a_tile_around_bound_loops_is_right(void **state)
{
    static const char *const line[] = {
        "loop bind Conv N block.y", "loop reorder Conv N H W O", "loop bind Conv H block.x",
        "loop bind Conv W thread.x", "loop compute_at Inp Conv N",
    };
    (void)state;
    struct arena *a = arena_new();
    assert_right(program_with(a, "c2d n=2 i=3 h=5 w=5 o=4 k=3 p=1", line, COUNT_OF(line)));
    arena_free(a);
}

/* A nest of one element has only loops of one iteration.  A bound one of them makes the nest a
 * kernel of its own, which it must be beside other kernels. */
static void a_nest_of_one_element_can_be_bound(void **state)
{
    static const char *const line[] = { "loop bind y M block.x", "loop bind y N thread.x" };
    (void)state;
    struct arena *a = arena_new();
    const struct program *p = program_with(a, "x = input m=1 k=64; a = gmm(x) n=1; y = gmm(a) n=64",
                                           line, COUNT_OF(line));
    struct str text = {0};
    struct err e = {0};
    assert_false(program_text_cuda(p, &text, &e));
    assert_string_equal(e.fix, "bind a loop of each nest, or none");
    if (!program_apply_line(p, "loop bind a M block.x", &p, &e))
        fail_msg("%s", e.text);
    assert_right(p);
    assert_compiles(a, p);
    str_free(&text);
    arena_free(a);
}

static void what_may_be_bound(void **state)
{
    static const struct { const char *step[3], *text, *fix; } row[] = {
        { { "loop bind C K thread.x" }, "it is a reduction", "output's dimensions" },
        { { "loop bind C N block.x" }, "loop M around it is not bound", "loop reorder C N M" },
        { { "loop bind C M block.x", "loop bind C N block.x" }, "are both bound to block.x",
          "fuse them" },
        { { "loop bind C M thread.z" }, "128 iterations, and at most 64", "split it first" },
        { { "loop bind C M thread.y", "loop bind C N thread.x" },
          "16384 threads in a block, and at most 1024", "split it first" },
        { { "loop cache_write C at=M", "loop bind C M block.x", "loop bind C N thread.x" },
          "inside of a tile at loop M", "at N or deeper" },
        { { "loop bind C M block.w" }, "there is no index block.w", "block." },
        { { "loop bind C M block.x", "loop split C M 4" }, "the loop is marked block.x",
          "loop serial C M" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct arena *a = arena_new();
        const struct program *p = program_bare(a, "gmm m=128 k=8 n=128");
        program_refuses(p, i, row[i].step, COUNT_OF(row[i].step), row[i].text, row[i].fix);
        arena_free(a);
    }
}

/* Random loops and layouts under bound ones. */
static void random_schedules_are_right(void **state)
{
    struct rng r = rng_seed(20261123);
    int bound = 0;
    (void)state;
    for (int i = 0; i < 40; i++) {
        struct arena *a = arena_new();
        const struct program *p = cuda_random(a, &r, nine[i % NINE]);
        bound += program_is_bound(p);
        if (program_is_bound(p))
            assert_right(p);
        arena_free(a);
    }
    assert_true(bound > 30);
}

static void the_text_is_as_before(void **state)
{
    static const char *const line[] = {
        "loop split C M 4 8", "loop split C N 2 4 4", "loop reorder C M.0 N.0 M.1 N.1 K N.2",
        "loop bind C M.0 block.y", "loop bind C N.0 block.x", "loop bind C M.1 thread.y",
        "loop bind C N.1 thread.x", "loop cache_write C at=N.1", "loop unroll C N.2",
    };
    (void)state;
    struct arena *a = arena_new();
    struct str out = {0};
    struct err e = {0};
    setenv("TILESCOPE_NVRTC", "/nowhere/libnvrtc.so", 1);
    const struct program *p = program_with(a, "gmm m=32 k=20 n=30", line, COUNT_OF(line));
    assert_true(program_text_cuda(p, &out, &e));
    assert_false(program_text_ptx(p, &out, &e));
    assert_int_equal(e.code, ERR_ENV);
    unsetenv("TILESCOPE_NVRTC");
    str_add(&out, "\n");
    assert_true(program_text_c(p, target_named("cuda"), &out, &e));
    golden_check("tests/golden/cuda.txt", str_text(&out));
    assert_false(program_text_c(p, target_named("plain"), &out, &e));
    assert_non_null(strstr(e.fix, "--target cuda"));
    str_free(&out);
    arena_free(a);
}

/* Worked by hand: 64 warps, 65,536 registers in units of 256 a warp, 228 KiB; on an A100 164. */
static void occupancy_is_the_formula(void **state)
{
    static const struct {
        const char *device; int threads, registers; int64_t shared; double share;
    } row[] = {
        { "h100", 256, 32, 0, 1 },        /* 8 blocks of 8 warps: 64 */
        { "h100", 256, 128, 0, 0.25 },    /* a block has 8 * 4096 registers: 2 blocks */
        { "h100", 1024, 33, 0, 0.5 },     /* 33 * 32 = 1056, in units 1280; 32 warps: 1 block */
        { "h100", 32, 16, 0, 0.5 },       /* 32 blocks of a warp */
        { "h100", 96, 40, 0, 0.75 },      /* 12 warps of 1280 a quarter: 48; 16 blocks of 3 */
        /* 101 KiB with the system's: 2 blocks of 4 warps, on an A100 1 block */
        { "h100", 128, 32, 100 << 10, 0.125 },
        { "h200", 128, 32, 100 << 10, 0.125 },
        { "a100", 128, 32, 100 << 10, 0.0625 },
        { "h100,shared=164", 128, 32, 100 << 10, 0.0625 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct gpu_kernel k = { "k", row[i].threads, row[i].registers, 0, row[i].shared };
        struct gpu_device d;
        struct err e;
        assert_true(gpu_device_parse(row[i].device, &d, &e));
        struct gpu_limits limits = gpu_limits_of(&d);
        assert_true(fabs(gpu_occupancy(&limits, &k) - row[i].share) < 1e-9);
    }
}

int main(void)
{
    setenv("TILESCOPE_CFLAGS", "-O0", 0);  /* what is checked does not depend on gcc's work */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_operators_are_right), cmocka_unit_test(functions_compile),
        cmocka_unit_test(tiles_and_epilogues_are_right),
        cmocka_unit_test(a_tile_around_bound_loops_is_right),
        cmocka_unit_test(a_nest_of_one_element_can_be_bound), cmocka_unit_test(what_may_be_bound),
        cmocka_unit_test(random_schedules_are_right),
        cmocka_unit_test(the_text_is_as_before), cmocka_unit_test(occupancy_is_the_formula),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
