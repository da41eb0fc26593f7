/* Tiles that the threads of a CUDA block share: schedules that are right, and broken kernels, which
 * the host twin must refuse.
 *
 * $SHARED_RANDOM and $SHARED_BROKEN are how many of each the suite tries (make test-cuda), and
 * $SHARED_SEED the seed of the first random schedule. */
/* tests/run.sh: takes 10 s */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/rng.h"
#include "profile/measure/measure.h"
#include "profile/measure/program_text.h"
#include "tests/unit/broken_kernel.h"
#include "tests/unit/cuda_bind.h"
#include "tests/unit/from_env.h"
#include "tests/unit/golden.h"
#include "tests/unit/programs.h"
#include "tests/unit/random_steps.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static const char gemm_spec[] = "gmm m=128 k=32 n=128";
static const char *const gemm[] = {
    "loop split C M 2 8 8", "loop split C N 2 8 8", "loop split C K 4 8",
    "loop reorder C M.0 N.0 M.1 N.1 K.0 K.1 M.2 N.2",
    "loop bind C M.0 block.y", "loop bind C N.0 block.x",
    "loop bind C M.1 thread.y", "loop bind C N.1 thread.x",
    "loop cache_write C at=N.1", "loop cache_read C A at=K.0 scope=shared",
    "loop cache_read C B at=K.0 scope=shared", "loop unroll C M.2", "loop unroll C N.2",
};

/* A convolution with its padding in the shared tile of the input. */
static const char conv_spec[] = "c2d n=1 i=8 h=18 w=18 o=32 k=3 p=1";
static const char *const conv[] = {
    "loop split Conv O 2 4 4", "loop split Conv W 3 6", "loop split Conv H 3 6",
    "loop split Conv I 2 4", "loop reorder Conv N O.0 H.0 W.0 H.1 W.1 O.1 I.0 I.1 KH KW O.2",
    "loop fuse Conv H.0 W.0", "loop bind Conv N block.z", "loop bind Conv O.0 block.y",
    "loop bind Conv H.0_W.0 block.x", "loop bind Conv H.1 thread.y", "loop bind Conv W.1 thread.x",
    "loop bind Conv O.1 thread.z", "loop cache_write Conv at=O.1",
    "loop compute_at Inp Conv I.0 scope=shared pad=1",
    "loop cache_read Conv Ker at=I.0 scope=shared",
    "loop unroll Conv O.2",
};

/* A product whose sizes no tile divides. */
static const char odd_spec[] = "gmm m=37 k=21 n=29";
static const char *const odd[] = {
    "loop split C M 0 4 2", "loop split C N 0 4 2", "loop split C K 8",
    "loop reorder C M.0 N.0 M.1 N.1 K.0 K.1 M.2 N.2", "loop bind C M.0 block.y",
    "loop bind C N.0 block.x", "loop bind C M.1 thread.y", "loop bind C N.1 thread.x",
    "loop cache_write C at=N.1", "loop cache_read C A at=K.0 scope=shared pad=1",
    "loop cache_read C B at=K.0 scope=shared",
};

/* 128 x 128 elements a block, 8 x 8 a thread in four parts of 4 x 4: two parts of rows, two of
 * columns. */
static const char large_spec[] = "gmm m=256 k=32 n=256";
static const char *const large[] = {
    "loop split C M 2 2 16 4", "loop split C N 2 2 16 4", "loop split C K 2 16",
    "loop reorder C M.0 N.0 M.2 N.2 K.0 K.1 M.1 N.1 M.3 N.3",
    "loop vthread C M.1", "loop vthread C N.1",
    "loop bind C M.0 block.y", "loop bind C N.0 block.x",
    "loop bind C M.2 thread.y", "loop bind C N.2 thread.x",
    "loop cache_write C at=N.2", "loop cache_read C A at=K.0 scope=shared pad=1",
    "loop cache_read C B at=K.0 scope=shared", "loop unroll C M.3", "loop unroll C N.3",
};

/* The same tiles, swizzled: that of A by single elements, that of B with 16 bytes together. */
static const char *const swizzled[] = {
    "loop split C M 2 8 8", "loop split C N 2 8 8", "loop split C K 4 8",
    "loop reorder C M.0 N.0 M.1 N.1 K.0 K.1 M.2 N.2",
    "loop bind C M.0 block.y", "loop bind C N.0 block.x",
    "loop bind C M.1 thread.y", "loop bind C N.1 thread.x",
    "loop cache_write C at=N.1", "loop cache_read C A at=K.0 scope=shared",
    "loop cache_read C B at=K.0 scope=shared", "loop unroll C M.2", "loop unroll C N.2",
    "loop swizzle C A", "loop swizzle C B by=4",
};

/* Tensor blocks, two of four warps in a block, with tiles of exactly what they read. */
static const char tensor_spec[] = "gmm m=64 k=64 n=64 type=f16";
static const char *const tensor[] = {
    "loop split C M 2 2 16", "loop split C N 2 2 16", "loop split C K 2 2 16",
    "loop reorder C M.0 N.0 M.1 N.1 K.0 K.1 M.2 N.2 K.2", "loop bind C M.0 block.y",
    "loop bind C N.0 block.x", "loop bind C M.1 thread.z", "loop bind C N.1 thread.y",
    "loop cache_read C A at=K.0 scope=shared", "loop cache_read C B at=K.0 scope=shared",
    "loop tensorize C M.2 N.2 K.2",
};

/* Tiles of 64 KiB and a half: more than a kernel declares. */
static const char dynamic_spec[] = "gmm m=128 k=128 n=128";
static const char *const dynamic[] = {
    "loop split C M 1 16 8", "loop split C N 1 16 8", "loop split C K 2 64",
    "loop reorder C M.0 N.0 M.1 N.1 K.0 K.1 M.2 N.2",
    "loop bind C M.0 block.y", "loop bind C N.0 block.x",
    "loop bind C M.1 thread.y", "loop bind C N.1 thread.x",
    "loop cache_write C at=N.1", "loop cache_read C A at=K.0 scope=shared pad=1",
    "loop cache_read C B at=K.0 scope=shared", "loop unroll C M.2", "loop unroll C N.2",
};

static const struct { const char *spec; const char *const *line; int n; } good[] = {
    { gemm_spec, gemm, COUNT_OF(gemm) }, { conv_spec, conv, COUNT_OF(conv) },
    { odd_spec, odd, COUNT_OF(odd) }, { large_spec, large, COUNT_OF(large) },
    { gemm_spec, swizzled, COUNT_OF(swizzled) }, { tensor_spec, tensor, COUNT_OF(tensor) },
    { dynamic_spec, dynamic, COUNT_OF(dynamic) },
};
#define TENSOR_CASE 5

static const struct program *good_program(struct arena *a, int i)
{
    return program_with(a, good[i].spec, good[i].line, good[i].n);
}

/* Measures p. */
static void twin(const struct program *p, struct measurement *m, struct err *e)
{
    struct measure_opts o = { .seed = 3, .limit_s = 60 };
    memset(e, 0, sizeof *e);
    memset(m, 0, sizeof *m);
    (void)measure_program(p, &o, NULL, NULL, m, e);
}

/* NVRTC takes the text without stack: accumulators and inputs are in registers. */
static void compiles(struct arena *a, const struct program *p, int64_t shared)
{
    struct str text = {0};
    struct gpu_build b;
    bool built = cuda_build(a, p, &text, &b);
    const char *says = arena_printf(a, " %lld of %d bytes of shared memory", (long long)shared,
                                    shared > SHARED_BYTES ? SHARED_MOST : SHARED_BYTES);
    assert_non_null(strstr(str_text(&text), says));
    if (built) {
        assert_true(b.n == 1 && b.kernel[0].stack == 0 && b.kernel[0].shared >= shared);
        if (p->base->op[0] == 'g' && shared > 1024 && !strstr(str_text(&text), "swizzle(")
            && !strstr(str_text(&text), "mma("))
            /* rows of 8 or 4 of B */
            assert_non_null(strstr(b.ptx, "ld.shared.v4.f32"));
    }
    str_free(&text);
}

static void shared_tiles_are_right(void **state)
{
    static const int64_t shared[] = { 4096, 3456, (8 * 9 + 8 * 8) * 4,
                                      (128 * 17 + 16 * 128) * 4, 4096, 4096,
                                      (128 * 65 + 64 * 128) * 4 };
    (void)state;
    for (int i = 0; i < COUNT_OF(good); i++) {
        struct arena *a = arena_new();
        struct measurement m;
        struct err e;
        const struct program *p = good_program(a, i);
        twin(p, &m, &e);
        if (!m.verified)
            fail_msg("%s: %s%s", good[i].spec, e.text, m.reason);
        compiles(a, p, shared[i]);
        arena_free(a);
    }
}

static void the_text_is_as_before(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct str out = {0};
    struct err e = {0};
    const struct func *f;
    setenv("TILESCOPE_NVRTC", "/nowhere/libnvrtc.so", 1);
    static const int which[] = { 1, 2, 4, 6 };
    for (int i = 0; i < COUNT_OF(which); i++) {
        const struct program *p = good_program(a, which[i]);
        assert_true(program_lower(p, &f, &e));
        func_print(&out, f);
        str_add(&out, "\n");
        assert_true(program_text_cuda(p, &out, &e));
    }
    unsetenv("TILESCOPE_NVRTC");
    golden_check("tests/golden/shared.txt", str_text(&out));
    str_free(&out);
    arena_free(a);
}

static void what_is_refused(void **state)
{
    static const struct { const char *step[4], *text, *fix; } row[] = {
        { { "loop cache_read C A at=M scope=global" }, "there is no such scope", "local|shared" },
        { { "loop cache_read C A at=M scope=shared pad=99" }, "not between 0 and 64", "" },
        { { "loop cache_read C A at=M scope=shared", "loop cache_read C B at=M scope=shared" },
          "need 264192 bytes", "deeper loop" },
        { { "loop bind C M thread.y", "loop cache_read C A at=M scope=shared" },
          "need 262144 bytes", "deeper loop" },
        { { "loop cache_read C A at=M scope=shared", "loop bind C M thread.y" },
          "need 262144 bytes", "deeper loop" },
        { { "loop cache_read C A at=M scope=shared", "loop bind C M block.x",
            "loop bind C N thread.x" }, "inside of a tile at loop M", "put the tile at N" },
        { { "loop vthread C K" }, "it is a reduction", "output's dimensions" },
        { { "loop swizzle C A" }, "has no shared tile of A", "scope=shared" },
        { { "loop cache_read C A at=M", "loop swizzle C A" }, "no shared tile", "scope=shared" },
        { { "loop cache_read C A at=M scope=shared", "loop swizzle C X" }, "X", "" },
        { { "loop cache_read C A at=M scope=shared", "loop swizzle C A by=3" },
          "by=3 is not 1, 2, 4, 8 or 16", "" },
        { { "loop cache_read C A at=M scope=shared pad=1", "loop swizzle C A" },
          "rows of 513 elements", "8, 16, 32 or 64" },
        { { "loop cache_read C A at=M scope=shared", "loop swizzle C A", "loop swizzle C A" },
          "already swizzled by 1", "" },
        { { "loop bind C M block.x", "loop vthread C M" }, "is marked block.x",
          "loop serial C M" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct arena *a = arena_new();
        const struct program *p = program_bare(a, "gmm m=128 k=512 n=128");
        program_refuses(p, i, row[i].step, COUNT_OF(row[i].step), row[i].text, row[i].fix);
        arena_free(a);
    }
}

/* The tiles of 232,448 bytes are the most; of a device with less, the simulator says so. */
static void large_tiles_depend_on_the_device(void **state)
{
    static const struct { const char *gpu; bool fits; } row[] = {
        { "h100", true }, { "a100", false }, { "a100,shared=228", true },
        { "h100,shared=164", false },
    };
    static const char *const line[] = {
        "loop bind C M block.x", "loop bind C N thread.x", "loop cache_read C B at=N scope=shared",
    };
    (void)state;
    struct arena *a = arena_new();
    const struct program *p = program_with(a, "gmm m=2 k=908 n=64", line, COUNT_OF(line));
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct gpu_device gpu;
        struct measure_opts o = { .seed = 3, .meters = METER_SIM, .gpu = &gpu };
        struct measurement m;
        struct err e = {0};
        assert_true(gpu_device_parse(row[i].gpu, &gpu, &e));
        if (!measure_program(p, &o, NULL, NULL, &m, &e) || !m.verified)
            fail_msg("%s%s", e.text, m.reason);
        assert_int_equal(m.sim.available, row[i].fits);
        if (row[i].fits)
            assert_int_equal(m.sim.shared_bytes, SHARED_MOST);
        else
            assert_non_null(strstr(m.sim.reason, "at most 166912"));
    }
    assert_false(program_apply_line(p, "loop cache_read C A at=N scope=shared", &p,
                                    &(struct err){ 0 }));
    arena_free(a);
}

/* NVRTC knows nothing of dynamic memory; the launch does, and it limits the occupancy. */
static void the_launch_counts_for_occupancy(void **state)
{
    struct arena *a = arena_new();
    struct gpu_build b;
    struct err e = {0};
    (void)state;
    if (!nvrtc_there(&e))
        skip();
    assert_true(program_build_cuda(a, good_program(a, COUNT_OF(good) - 1), &b, &e));
    assert_true(b.n == 1 && b.kernel[0].shared == (128 * 65 + 64 * 128) * 4);
    assert_true(gpu_occupancy(&gpu_sm_90, &b.kernel[0]) <= 3 * 8 / 64.0);      /* three blocks */
    arena_free(a);
}

/* A program with a shared tile is for a GPU, and no other code has such tiles. */
static void only_for_a_gpu(void **state)
{
    static const char *const line[] = { "loop cache_read C A at=M scope=shared" };
    (void)state;
    struct arena *a = arena_new();
    struct str out = {0};
    struct err e = {0};
    const struct program *p = program_with(a, "gmm m=8 k=8 n=8", line, 1);
    assert_true(program_is_bound(p));
    assert_false(program_text_c(p, target_named("plain"), &out, &e));
    assert_non_null(strstr(e.text, "shared memory"));
    str_free(&out);
    arena_free(a);
}

/* --- Broken kernels --------------------------------------------------------------------------- */

/* Returns how many broken kernels of program p were tried; each must be refused. */
static int try_broken(const struct program *p, int most)
{
    const struct func *right;
    struct err e = {0};
    int tried = 0;
    assert_true(program_lower(p, &right, &e));
    for (int what = 0; what < BREAKAGES; what++)
        for (int n = 0; tried < most; n++) {
            struct measurement m;
            const struct func *f = broken_kernel(p->arena, right, (enum breakage)what, n);
            if (!f)
                break;
            *p->lowered = f;
            twin(p, &m, &e);
            *p->lowered = right;
            const char *says = m.reason[0] ? m.reason : e.text;
            if (m.verified || (e.code != ERR_WRONG && e.code != ERR_CRASH)) {
                program_say(p);
                fail_msg("%s %d: %s", breakage_name[what], n, m.verified ? "verified" : says);
            }
            if (what == NO_BARRIER && !strstr(says, "race on element"))
                fail_msg("%s %d: %s", breakage_name[what], n, says);
            if (what == APART && !strstr(says, "its threads diverge"))
                fail_msg("%s %d: %s", breakage_name[what], n, says);
            tried++;
        }
    return tried;
}

static void broken_kernels_are_caught(void **state)
{
    int want = from_env("SHARED_BROKEN", 24), tried = 0;
    (void)state;
    for (int i = 0; tried < want; i++) {
        struct arena *a = arena_new();
        const struct program *p;
        if (i < 4) {
            p = good_program(a, i < 3 ? i : TENSOR_CASE);
        } else {                          /* products of more sizes */
            const char *line[COUNT_OF(gemm)];
            memcpy(line, gemm, sizeof line);
            line[0] = arena_printf(a, "loop split C M 0 %d %d", 2 + i % 3, 1 + i % 4);
            line[1] = arena_printf(a, "loop split C N 0 %d %d", 2 + i % 5, 1 + i / 2 % 4);
            line[2] = arena_printf(a, "loop split C K 0 %d", 3 + i % 4);
            const char *spec = arena_printf(a, "gmm m=%d k=%d n=%d", 17 + i % 7, 20 + i,
                                            19 + i % 11);
            p = program_with(a, spec, line, COUNT_OF(line));
        }
        int left = want - tried, most = want / 4 + 1;
        tried += try_broken(p, left < most ? left : most);
        arena_free(a);
    }
    print_message("# %d broken kernels, all refused\n", tried);
}

/* --- Random schedules ------------------------------------------------------------------------- */

/* Adds the first part of every output axis to blocks, of some a second part to threads, and puts
 * the loops of blocks outside, then those of threads, then reductions.  Returns the innermost
 * bound loop, or NULL when there is none. */
static const char *bind_random(struct arena *a, struct rng *r, const struct program **p, int node)
{
    static const char *const index[] = { "x", "y", "z" };
    const char *name = (*p)->stage[node]->name, *blocks = "", *threads = "", *sums = "", *rest = "";
    const char *block[3], *thread[3], *last = NULL;
    int n_block = 0, n_thread = 0;
    const struct stage *s = (*p)->stage[node];
    for (int i = 0; i < s->n_axes; i++) {
        const struct axis *x = &s->axis[i];
        if (x->extent > 1 && (!x->reduce || rng_range(r, 0, 1)))
            cuda_try(p, arena_printf(a, "loop split %s %s %d", name, x->name,
                                     (int)rng_range(r, 1, x->extent < 9 ? x->extent : 9)));
        if (!x->reduce && x->extent > 4)
            cuda_try(p, arena_printf(a, "loop split %s %s.1 %d", name, x->name,
                                     (int)rng_range(r, 1, 3)));
    }
    s = (*p)->stage[node];
    for (int i = 0; i < s->n_axes; i++) {
        const struct axis *x = &s->axis[i];
        if (x->reduce) {
            sums = arena_printf(a, "%s %s", sums, x->name);
        } else if (n_block < 3 && str_ends(x->name, ".0") && rng_range(r, 0, 4)) {
            blocks = arena_printf(a, "%s %s", blocks, x->name);
            block[n_block++] = x->name;
        } else if (n_thread < 3 && x->extent > 1 && x->extent <= 32 && rng_range(r, 0, 3)) {
            threads = arena_printf(a, "%s %s", threads, x->name);
            thread[n_thread++] = x->name;
        } else {
            rest = arena_printf(a, "%s %s", rest, x->name);
        }
    }
    cuda_try(p, arena_printf(a, "loop reorder %s%s%s%s%s", name, blocks, threads, sums, rest));
    for (int i = 0; i < n_block; i++)
        cuda_try(p, arena_printf(a, "loop bind %s %s block.%s", name, last = block[i], index[i]));
    for (int i = 0; i < n_thread; i++)
        cuda_try(p, arena_printf(a, "loop bind %s %s thread.%s", name, last = thread[i], index[i]));
    return last;
}

/* Returns a random loop of s from the named one on. */
static const char *loop_from(struct rng *r, const struct stage *s, const char *name)
{
    int first = stage_axis(s, name), end = first;
    while (end + 1 < s->n_axes && s->axis[end + 1].reduce)
        end++;
    return s->axis[rng_range(r, first, end)].name;
}

static const struct program *random_program(struct arena *a, uint64_t seed)
{
    struct rng r = rng_seed(seed);
    const struct program *p = program_bare(a, nine[rng_range(&r, 0, NINE - 1)]);
    for (int k = (int)rng_range(&r, 0, 3); k > 0; k--)
        cuda_try(&p, random_layout_step(a, &r, p));
    int node = p->graph->main_node;
    const char *last = bind_random(a, &r, &p, node), *name = p->stage[node]->name;
    if (last) {
        if (rng_range(&r, 0, 3))
            cuda_try(&p, arena_printf(a, "loop cache_write %s at=%s", name, last));
        for (int t = 0; t < p->graph->n_tensors; t++) {
            const struct stage *s = p->stage[node];
            const char *scope = rng_range(&r, 0, 5) ? "shared" : "local";
            int pad = (int)rng_range(&r, 0, 2);
            const struct tensor *x = &p->graph->tensor[t];
            const char *at = loop_from(&r, s, last);
            if (!graph_reads(p->graph, node, t) || !rng_range(&r, 0, 4))
                continue;
            if (x->producer >= 0 && rng_range(&r, 0, 2))
                cuda_try(&p, arena_printf(a, "loop compute_at %s %s %s scope=%s pad=%d", x->name,
                                          name, at, scope, pad));
            else if (x->producer >= 0 && rng_range(&r, 0, 1))
                cuda_try(&p, arena_printf(a, "loop inline %s", x->name));
            else
                cuda_try(&p, arena_printf(a, "loop cache_read %s %s at=%s scope=%s pad=%d", name,
                                          x->name, at, scope, pad));
            if (rng_range(&r, 0, 1))
                cuda_try(&p, arena_printf(a, "loop swizzle %s %s by=%d", name, x->name,
                                          1 << rng_range(&r, 0, 2)));
        }
    }
    if (last && rng_range(&r, 0, 2))
        cuda_try(&p, arena_printf(a, "loop pipeline %s %s stages=%d", name,
                                  loop_from(&r, p->stage[node], last), (int)rng_range(&r, 2, 4)));
    cuda_random_loops(a, &r, &p, (int)rng_range(&r, 0, 5));
    return p;
}

static void random_schedules_are_right(void **state)
{
    uint64_t seed = (uint64_t)from_env("SHARED_SEED", 20261123);
    int n = from_env("SHARED_RANDOM", 24), refused = 0, with_tiles = 0, with_stages = 0;
    (void)state;
    print_message("# random schedules from seed %llu on\n", (unsigned long long)seed);
    for (int i = 0; i < n; i++) {
        struct arena *a = arena_new();
        const struct program *p = random_program(a, seed + (uint64_t)i);
        const struct func *f;
        struct measurement m;
        struct err e = {0};
        bool tiles = false, stages = false;
        assert_true(program_lower(p, &f, &e));
        for (int k = 0; k < f->n_buffers; k++)
            tiles = tiles || f->buffer[k].memory == MEMORY_SHARED;
        for (int k = 0; k < f->n_buffers; k++)
            stages = stages || f->buffer[k].stages > 0;
        with_tiles += tiles;
        with_stages += stages;
        if (program_is_bound(p)) {
            twin(p, &m, &e);
            refused += !m.verified;
            if (!m.verified && (e.code != ERR_STEP || !e.text[0])) {
                program_say(p);
                fail_msg("seed %llu: %s%s", (unsigned long long)(seed + (uint64_t)i), e.text,
                         m.reason);
            }
        }
        arena_free(a);
    }
    print_message("# %d schedules, %d with shared tiles, %d of them pipelined, %d refused with a"
                  " reason\n", n, with_tiles, with_stages, refused);
    assert_true(with_tiles >= n / 2 && refused <= n / 4);
}

int main(void)
{
    setenv("TILESCOPE_CFLAGS", "-O0", 0);  /* what is checked does not depend on gcc's work */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_tiles_are_right), cmocka_unit_test(the_text_is_as_before),
        cmocka_unit_test(what_is_refused), cmocka_unit_test(only_for_a_gpu),
        cmocka_unit_test(large_tiles_depend_on_the_device),
        cmocka_unit_test(the_launch_counts_for_occupancy),
        cmocka_unit_test(broken_kernels_are_caught), cmocka_unit_test(random_schedules_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
