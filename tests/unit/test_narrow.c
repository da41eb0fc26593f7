/* The types that are stored in 16 bits: conversions, code, bounds, and whole programs. */
/* tests/run.sh: takes 18 s */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gen/gen.h"
#include "kernels/module/simplify.h"
#include "kernels/ops/reference.h"
#include "kernels/program/program.h"
#include "profile/measure/measure.h"
#include "profile/measure/oracle.h"
#include "profile/measure/program_text.h"
#include "sessions/file/expert_file.h"
#include "tests/unit/cuda_bind.h"
#include "tests/unit/from_env.h"
#include "tests/unit/interp.h"
#include "tests/unit/kernel_run.h"
#include "tests/unit/perm.h"
#include "tests/unit/programs.h"
#include "tests/unit/random_steps.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static const struct elem_type *const types[] = { &type_f16, &type_bf16 };

/* The nine operators, with borders and strides, and channels that fill vectors of 16. */
static const char *const wide[] = {
    "c2d n=1 i=16 h=9 w=9 o=32 k=3 p=1 bias=1 relu=1", "c1d n=2 i=8 w=19 o=16 k=3 s=2 p=1",
    "c3d n=1 i=3 depth=4 h=6 w=6 o=16 k=3 p=1", "grp n=1 i=16 h=7 w=7 o=32 k=3 p=1 g=2",
    "dep n=1 c=24 h=9 w=9 k=3 p=1", "dil n=1 i=8 h=9 w=9 o=16 k=3 p=2 d=2",
    "t2d n=1 i=8 h=5 w=5 o=16 k=3 s=2 p=1", "t3d n=1 i=4 depth=3 h=4 w=4 o=8 k=3 s=2 p=1",
    "gmm m=33 k=200 n=48",
};

static const char *of_type(struct arena *a, const char *spec, const struct elem_type *type)
{
    return arena_printf(a, "%s type=%s", spec, type->name);
}

/* --- Conversions ------------------------------------------------------------------------------ */

#if defined __FLT16_MANT_DIG__ && !defined __clang__
#define HALF 1
__extension__ typedef _Float16 half_float;
#endif

/* The same by another way: bf16 is half of a float, and compilers know _Float16. */
static float value_of(const struct elem_type *type, uint16_t bits)
{
    uint32_t word = (uint32_t)bits << 16;
    float x = 0;
    if (type == &type_bf16)
        memcpy(&x, &word, sizeof x);
#if defined HALF
    half_float half;
    memcpy(&half, &bits, sizeof half);
    if (type == &type_f16)
        x = (float)half;
#else
    double own;
    if (type == &type_f16)
        type->read(&bits, 1, &own), x = (float)own;
#endif
    return x;
}

static uint16_t bits_of(const struct elem_type *type, float x)
{
    uint32_t word;
    uint16_t bits = 0;
    memcpy(&word, &x, sizeof word);
    if (type == &type_bf16)
        return (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
#if defined HALF
    half_float half = (half_float)x;
    memcpy(&bits, &half, sizeof bits);
#else
    double own = (double)x;
    type->write(&own, 1, &bits);
#endif
    return bits;
}

static void conversions_round_to_nearest_even(void **state)
{
    static const struct { double x; uint16_t f16, bf16; } row[] = {
        { 1, 0x3c00, 0x3f80 }, { -2, 0xc000, 0xc000 }, { 0, 0, 0 }, { -0.0, 0x8000, 0x8000 },
        { 1 + 0x1p-11, 0x3c00, 0x3f80 },          /* a tie of f16: to the even 1 */
        { 1 + 0x3p-11, 0x3c02, 0x3f80 },          /* a tie: to the even 1 + 2^-9 */
        { 1 + 0x1p-11 + 0x1p-30, 0x3c01, 0x3f80 },         /* above the tie */
        { 1 + 0x1p-8, 0x3c04, 0x3f80 }, { 1 + 0x3p-8, 0x3c0c, 0x3f82 },    /* ties of bf16 */
        { 2 - 0x1p-12, 0x4000, 0x4000 },          /* the carry changes the exponent */
        { 65504, 0x7bff, 0x4780 }, { 65519.99, 0x7bff, 0x4780 },
        { 65520, 0x7c00, 0x4780 }, { -1e6, 0xfc00, 0xc974 }, { 1e39, 0x7c00, 0x7f80 },
        { 0x1p-24, 0x0001, 0x3380 }, { 0x1p-25, 0, 0x3300 },       /* subnormal; a tie to 0 */
        { 0x3p-25, 0x0002, 0x33c0 }, { 0x1.ff8p-15, 0x03ff, 0x3880 },
        { 0x1.ffcp-15, 0x0400, 0x3880 },          /* rounds up to the smallest normal number */
        { 0x1p-133, 0, 0x0001 }, { 0x1p-134, 0, 0 }, { 0x3p-134, 0, 0x0002 },
        { 0x1.fep127, 0x7c00, 0x7f7f }, { 0x1.ff8p127, 0x7c00, 0x7f80 },
        { INFINITY, 0x7c00, 0x7f80 }, { -INFINITY, 0xfc00, 0xff80 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++)
        for (int k = 0; k < 2; k++) {
            uint16_t bits, want = k ? row[i].bf16 : row[i].f16;
            types[k]->write(&row[i].x, 1, &bits);
            if (bits != want)
                fail_msg("%s of %a is %04x, not %04x", types[k]->name, row[i].x, bits, want);
        }
    assert_true(type_f16.roundoff == 0x1p-11 && type_bf16.roundoff == 0x1p-8);
    assert_true(type_f16.tiny == 0x1p-24 && type_f16.normal == 0x1p-14);
    assert_true(type_bf16.tiny == 0x1p-133 && type_bf16.normal == 0x1p-126);
    assert_true(type_f16.largest > 65504 && type_f16.largest < 65520);
    assert_true(type_bf16.largest > 0x1.fep127 && type_bf16.largest < 0x1.ffp127);
}

static void conversions_are_those_of_another_way(void **state)
{
    struct rng r = rng_seed(7);
    (void)state;
    for (int k = 0; k < 2; k++) {
        for (int h = 0; h < 65536; h++) {
            uint16_t bits = (uint16_t)h, back;
            float want = value_of(types[k], bits);
            double x;
            types[k]->read(&bits, 1, &x);
            assert_true(isnan(want) ? isnan(x)
                                    : x == (double)want && !signbit(x) == !signbit(want));
            types[k]->write(&x, 1, &back);
            assert_true(isnan(x) || back == bits);
        }
        for (int i = 0; i < 1000000; i++) {
            uint32_t word = (uint32_t)rng_range(&r, 0, UINT32_MAX);
            float x;
            memcpy(&x, &word, sizeof x);
            if (i % 2)
                x = ldexpf((float)(word % 8192), (int)(word >> 16) % 45 - 45);
            double exact = (double)x;
            uint16_t got;
            types[k]->write(&exact, 1, &got);
            assert_true(isnan(x) || got == bits_of(types[k], x));
        }
    }
}

/* --- Code ------------------------------------------------------------------------------------- */

/* Every pattern of 16 bits is loaded, added to a random one, and stored, by scalars and by vectors
 * of each length. */
static void code_converts_as_the_types_do(void **state)
{
    enum { ROWS = 1024, LINE = 95, N = ROWS * LINE };      /* 64 + 16 + 8 + 4 + 2 + 1 lanes */
    static const char *const lanes[] = { "loop vectorize Add W" };
    static const char *const cc[] = { "gcc", "clang" };
    static uint16_t data[3][N + 32] __attribute__((aligned(64)));
    void *buffers[] = { data[0], data[1], data[2] };
    struct rng r = rng_seed(11);
    (void)state;
    for (int i = 0; i < N; i++) {
        data[0][i] = (uint16_t)i;
        data[1][i] = i % 3 ? (uint16_t)rng_range(&r, 0, UINT32_MAX) : 0;
    }
    for (int v = 0; v < 2 * 2 * 2 * targets_count(); v++) {
        const struct elem_type *type = types[v % 2];
        const struct target *t = target_get(v / 8);
        const char *spec = of_type(perm, "add n=1 c=1 h=1024 w=95", type);
        struct gen_opts o = { .target = t, .name = "ts_entry_kernel" };
        const struct func *f;
        struct str text = {0};
        struct err e;
        void *fn;
        void (*entry)(void *const *);
        if (!t->runs_here() || !kernel_compiler(cc[v / 2 % 2]))
            continue;
        assert_true(program_lower(program_with(perm, spec, lanes, v / 4 % 2), &f, &e));
        assert_true(gen_c(f, &o, &text, &e));
        const char *source = str_text(&text);
        kernel_compile(cc[v / 2 % 2], t, &source, 1, "ts_entry", &fn);
        memcpy(&entry, &fn, sizeof entry);
        memset(data[2], 0, sizeof data[2]);
        entry(buffers);
        for (int i = 0; i < N; i++) {
            float want = value_of(type, data[0][i]) + value_of(type, data[1][i]);
            uint16_t bits = bits_of(type, want);
            if (isnan(want) ? !isnan(value_of(type, data[2][i])) : data[2][i] != bits)
                fail_msg("%s, %s, %s: %04x + %04x is %04x, not %04x", type->name, t->isa,
                         cc[v / 2 % 2], data[0][i], data[1][i], data[2][i], bits);
        }
        str_free(&text);
    }
}

/* Wherever the loops are, products are summed up in float32. */
static void sums_are_in_float32(void **state)
{
    static const char *const way[][6] = {
        { NULL },
        { "loop reorder C K M N", NULL },
        { "loop split C K 4 16", "loop split C N 2 16", "loop reorder C K.0 M N.0 K.1 N.1",
          "loop cache_write C at=N.0", "loop vectorize C N.1", NULL },
        { "loop rfactor C K 8", NULL },
    };
    (void)state;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < COUNT_OF(way); i++) {
            const char *spec = of_type(perm, "gmm m=3 k=64 n=32", types[k]);
            const struct program *p = program_bare(perm, spec);
            const struct func *f;
            struct err e;
            for (int s = 0; way[i][s]; s++)
                if (!program_apply_line(p, way[i][s], &p, &e))
                    fail_msg("%s: %s", way[i][s], e.text);
            assert_true(program_lower(p, &f, &e));
            void *data[4] = { NULL };
            const double one = 1, small = types[k]->roundoff;
            const uint16_t *c = NULL;
            for (int t = 0; t < f->n_params; t++) {
                const struct buffer *x = &f->buffer[t];
                data[t] = xcalloc((size_t)x->elems, (size_t)x->type->bytes);
                for (int j = 0; j < x->elems && !x->written; j++)
                    types[k]->write(x->name[0] == 'A' && j % 64 ? &small : &one, 1,
                                    (uint16_t *)data[t] + j);
                c = streq(x->name, "C") ? data[t] : c;
            }
            func_interpret(f, data);
            for (int j = 0; j < 3 * 32; j++) {
                double got, want = 1 + 63 * small;         /* with rounded sums it stays 1 */
                types[k]->round(&want, 1);
                types[k]->read(&c[j], 1, &got);
                assert_true(got == want);
            }
            for (int t = 0; t < f->n_params; t++)
                free(data[t]);
        }
}

/* --- Whole programs --------------------------------------------------------------------------- */

static void must_be_right(const struct program *p, const char *isa, struct measurement *m)
{
    struct measure_opts o = { .meters = METER_CLOCK | METER_SIM, .seed = 3, .time_s = 0.001,
                              .min_runs = 1, .target = target_named(isa) };
    struct err e = {0};
    o.cache.n_levels = 1;
    o.cache.level[0].geometry = (struct cache_geometry){ 32 << 10, 8, 64 };
    if (!measure_program(p, &o, NULL, NULL, m, &e) || !m->verified) {
        program_say(p);
        fail_msg("%s: %s%s", isa ? isa : "", e.text, m->reason);
    }
}

static void operators_and_experts_are_right(void **state)
{
    static const char *const isa[] = { "avx512", "avx2", "sse", "plain" };
    struct experts all;
    struct err e = {0};
    struct measurement m;
    (void)state;
    if (!expert_file_all(perm, &all, &e))
        fail_msg("%s", e.text);
    for (int i = 0; i < 2 * COUNT_OF(wide); i++) {
        if (i / 2 % 2 != i % 2 && !from_env("NARROW_RANDOM", 0))
            continue;
        const char *spec = of_type(perm, wide[i / 2], types[i % 2]);
        const char *name = isa[i / 2 % COUNT_OF(isa)];
        struct expert_schedule s;
        int n = 0;
        if (!target_named(name)->runs_here())
            name = NULL;
        must_be_right(program_bare(perm, spec), name, &m);
        if (!expert_schedules(perm, &all, spec, name ? target_named(name) : NULL, 1, 1, &s, &n, &e))
            fail_msg("%s: %s", spec, e.text);
        must_be_right(program_with(perm, spec, s.step, s.n), name, &m);
        assert_true(m.max_rel_err <= 4 * types[i % 2]->roundoff);
    }
}

/* Streamed stores, prefetches, tiles of operands: on every target. */
static void other_accesses_are_right(void **state)
{
    static const char *const way[][8] = {
        { "loop cache_write C at=M", "loop reorder C M K N", "loop vectorize C N", "loop stream C",
          "loop prefetch C B at=K ahead=2", NULL },
        { "loop split C M 2 4", "loop split C N 2 32", "loop reorder C M.0 N.0 K M.1 N.1",
          "loop cache_read C B at=N.0", "loop vectorize C N.1", "set autovectorize on", NULL },
    };
    struct measurement m;
    struct err e;
    (void)state;
    for (int i = 0; i < 2 * 2 * targets_count(); i++) {
        const struct target *t = target_get(i / 4);
        const char *spec = of_type(perm, "gmm m=8 k=48 n=64", types[i % 2]);
        const struct program *p = program_bare(perm, spec);
        for (const char *const *line = way[i / 2 % 2]; *line; line++)
            if (!program_apply_line(p, *line, &p, &e))
                fail_msg("%s: %s", *line, e.text);
        if (t->runs_here())
            must_be_right(p, t->isa, &m);
    }
}

static void random_schedules_are_right(void **state)
{
    const uint64_t seed = 20261124;
    struct rng r = rng_seed(seed);
    int n_steps = 0, n = from_env("NARROW_RANDOM", 8);
    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < n; i++) {
        struct arena *a = arena_new();
        const char *spec = of_type(a, wide[i % COUNT_OF(wide)], types[i / COUNT_OF(wide) % 2]);
        const struct program *p = program_bare(a, spec);
        struct measurement m;
        struct err e;
        for (int k = 0; k < 30; k++) {
            const char *line = k < 8 ? random_layout_step(a, &r, p) : random_loop_step(a, &r, p);
            n_steps += program_apply_line(p, line, &p, &e);
        }
        must_be_right(p, NULL, &m);
        arena_free(a);
    }
    assert_true(n_steps > 5 * n);
}

/* Chains of nodes whose results are stored, and functions of them. */
static void graphs_are_right(void **state)
{
    static const char *const graph[] = {
        "x = input n=2 c=8 h=6 w=6 type=%s; y = c2d(x) o=8 k=3 p=1 relu=1; out = add(y, x)",
        "x = input m=12 n=40 type=%s; s = softmax(x) axis=1; w = const k=40 n=24; y = matmul(s, w)",
        "x = input m=6 n=33 type=%s; y = gelu(x); z = exp(y); v = sqrt(z)",
        "ln m=6 n=64 type=%s", "avgpool n=1 c=8 h=8 w=8 k=2 type=%s",
        "maxpool n=1 c=8 h=8 w=8 k=2 type=%s", "transpose n=3 c=8 h=4 perm=132 type=%s",
    };
    (void)state;
    for (int i = 0; i < 2 * COUNT_OF(graph); i++) {
        struct str spec = {0};
        const struct graph *g;
        struct measurement m;
        struct err e;
        const char *at = strstr(graph[i / 2], "%s");
        str_add_n(&spec, graph[i / 2], (size_t)(at - graph[i / 2]));
        str_printf(&spec, "%s%s", types[i % 2]->name, at + 2);
        if (!graph_from_spec(perm, str_text(&spec), &g, &e))
            fail_msg("%s: %s", str_text(&spec), e.text);
        for (int t = 0; t < g->n_tensors; t++)
            assert_ptr_equal(g->tensor[t].type, types[i % 2]);
        must_be_right(program_bare(perm, str_text(&spec)), NULL, &m);
        str_free(&spec);
    }
}

static void half_the_bytes_are_half_the_misses(void **state)
{
    struct measurement m;
    (void)state;
    const struct program *p = program_bare(perm, "gmm m=16 n=64 k=32 type=bf16");
    assert_true(p->base->bytes == 2 * (16 * 32 + 32 * 64 + 16 * 64));
    must_be_right(p, NULL, &m);
    assert_int_equal(m.sim.n, 3);
    for (int i = 0; i < m.sim.n; i++) {
        const struct tensor_count *c = &m.sim.by_tensor[i];
        int elems = streq(c->tensor, "A") ? 16 * 32 : streq(c->tensor, "B") ? 32 * 64 : 16 * 64;
        assert_int_equal(c->cost.l1_misses, elems * 2 / 64);
    }
}

/* The bound of a stored sum is SPEC M's: what rounding the result and summing in float32 explain,
 * and not what sums in the narrow type would need. */
static void bounds_are_of_one_rounding(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        const struct program *p = program_bare(perm, of_type(perm, "gmm m=4 n=16 k=256", types[k]));
        const struct oracle *o;
        struct deviation worst = {0};
        struct err e;
        const double u = types[k]->roundoff;
        double a[4 * 256], b[256 * 16], exact[64], rounded[64], *data[] = { a, b, exact };
        double *plain[] = { a, b, rounded }, bound[64], zeros[256 * 16] = {0};
        double *error[] = { zeros, zeros, bound };
        uint16_t in[2][256 * 16], out[64];
        assert_true(oracle_acquire(p->base, 5, NULL, &o, &e));
        for (int t = 0; t < 2; t++) {
            int n = t ? 256 * 16 : 4 * 256;
            assert_true(oracle_fill(o, p, t, 5, n, in[t], &e));
            types[k]->read(in[t], n, data[t]);
        }
        assert_true(reference_error(p->base, data, error, NULL, &e));
        assert_true(reference_eval_single(p->base, plain, NULL, &e));
        for (int i = 0; i < 64; i++) {
            double sum = 0, products = 0, narrow = 0;
            for (int j = 0; j < 256; j++) {
                double x = a[i / 16 * 256 + j] * b[j * 16 + i % 16];
                sum += x;
                products += fabs(x);
                narrow += x;
                types[k]->round(&narrow, 1);
            }
            assert_true(fabs(sum - exact[i]) < 1e-12);
            assert_true(bound[i] >= u * fabs(sum) && fabs(rounded[i] - sum) <= bound[i]);
            assert_true(bound[i] <= u * fabs(sum) + 256 * 0x1p-24 * products * (1 + u) + 0x1p-24);
            types[k]->write(&narrow, 1, &out[i]);
        }
        assert_false(oracle_compare(o, p, 2, out, NULL, &worst, &e));
        assert_int_equal(e.code, ERR_WRONG);
        types[k]->write(exact, 64, out);
        assert_true(oracle_compare(o, p, 2, out, NULL, &worst, &e));
        oracle_release(o);
    }
}

/* --- GPU -------------------------------------------------------------------------------------- */

static void gpu_kernels_are_right(void **state)
{
    static const int of[] = { 0, 3, 4, 8 };   /* c2d, grp, dep, gmm */
    struct measurement m;
    (void)state;
    for (int i = 0; i < 2 * COUNT_OF(of); i++) {
        struct arena *a = arena_new();
        const struct program *p = program_bare(a, of_type(a, wide[of[i / 2]], types[i % 2]));
        struct str text = {0};
        struct gpu_build b;
        for (int n = 0; n < p->graph->n_nodes; n++)
            p = cuda_bind_all(a, p, n, 8);
        must_be_right(p, "cuda", &m);
        assert_string_equal(m.isa, "cuda");
        bool built = cuda_build(a, p, &text, &b);
        assert_non_null(strstr(str_text(&text), types[i % 2] == &type_f16 ? "cvt.rn.f16.f32"
                                                                          : "cvt.rn.bf16.f32"));
        for (int k = 0; built && k < b.n; k++)
            assert_true(b.kernel[k].registers > 0 && b.kernel[k].stack == 0);
        str_free(&text);
        arena_free(a);
    }
}

/* --- What is refused -------------------------------------------------------------------------- */

static void what_does_not_work_says_so(void **state)
{
    static const struct { const char *spec, *step, *text, *fix; } row[] = {
        { "gmm m=8 k=8 n=8 type=bf15", NULL, "\"bf15\" is not a value of type=", "type=bf16" },
        { "gmm m=8 k=8 n=8 type=double", NULL, "is not a value of type=", "f32 f16 bf16" },
        { "x = input n=4 c=4 type=f17; y = relu(x)", NULL, "no element type \"f17\"", "f16" },
        { "x = input n=4 c=4 type=f16; w = const n=4 c=4 type=bf16; y = add(x, w)", NULL,
          "contradicts type=f16", "one type" },
        { "x = input m=9 n=4 type=f16; i = input k=3; y = gather(x, i) axis=0", NULL,
          "would be rounded to float16", "leave out type=f16" },
        { "c2d n=1 i=8 h=8 w=8 o=8 k=3 p=1 type=bf16", "algorithm Conv winograd m=2",
          "round its transformed tiles to bfloat16", "leave out type=bf16" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        const struct graph *g;
        const struct program *p;
        struct err e = {0};
        if (graph_from_spec(perm, row[i].spec, &g, &e)) {
            assert_non_null(row[i].step);
            p = program_bare(perm, row[i].spec);
            assert_false(program_apply_line(p, row[i].step, &p, &e));
        }
        if (!strstr(e.text, row[i].text) || !strstr(e.fix, row[i].fix))
            fail_msg("%s: %s; fix: %s", row[i].spec, e.text, e.fix);
    }
}

static void networks_are_in_float32(void **state)
{
    const struct graph *g, *simple;
    struct err e = {0};
    (void)state;
    assert_true(graph_from_spec(perm, "x = input n=1 c=4 h=8 w=8 type=bf16; y = c2d(x) o=4 k=3; "
                                "z = c2d(y) o=4 k=3", &g, &e));
    assert_false(simplify_graph(perm, g, simplify_default(), &simple, NULL, &e));
    assert_non_null(strstr(e.text, "networks are computed in float32"));
    assert_non_null(strstr(e.fix, "leave out type=bf16"));
}

static void specs_have_the_type(void **state)
{
    const struct graph *g;
    struct err e;
    (void)state;
    assert_true(graph_from_spec(perm, "gmm type=BF16 m=2 n=3 k=4", &g, &e));
    assert_string_equal(g->spec, "gmm m=2 k=4 n=3 type=bf16");
    assert_true(graph_from_spec(perm, "gmm m=2 n=3 k=4 type=f32", &g, &e));
    assert_string_equal(g->spec, "gmm m=2 k=4 n=3");
    assert_ptr_equal(g->tensor[0].type, &type_f32);
}

int main(void)
{
    setenv("TILESCOPE_CFLAGS", "-O0", 0);  /* what is checked does not depend on gcc's work */
    setenv("TILESCOPE_HOME", ".", 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conversions_round_to_nearest_even),
        cmocka_unit_test(conversions_are_those_of_another_way),
        cmocka_unit_test(code_converts_as_the_types_do), cmocka_unit_test(sums_are_in_float32),
        cmocka_unit_test(operators_and_experts_are_right),
        cmocka_unit_test(other_accesses_are_right),
        cmocka_unit_test(random_schedules_are_right), cmocka_unit_test(graphs_are_right),
        cmocka_unit_test(half_the_bytes_are_half_the_misses),
        cmocka_unit_test(bounds_are_of_one_rounding), cmocka_unit_test(gpu_kernels_are_right),
        cmocka_unit_test(what_does_not_work_says_so), cmocka_unit_test(networks_are_in_float32),
        cmocka_unit_test(specs_have_the_type),
    };
    return cmocka_run_group_tests(tests, perm_setup, perm_teardown);
}
