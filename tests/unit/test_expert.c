/* Experts: the shipped files on every operator they are for, and files that make no sense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sessions/file/expert_file.h"
#include "tests/unit/random_ops.h"
#include "tests/unit/run_program.h"
#undef fail
#include <cmocka.h>

#define MOST 6

/* Small ones of every family, with strides, padding, dilation, groups, odd sizes, epilogues. */
static const char *const specs[] = {
    "c2d n=2 i=5 h=9 w=9 o=32 k=3 p=1", "c2d n=1 i=3 h=15 w=15 o=16 k=7 s=2 p=3 bias=1 relu=1",
    "c2d n=3 i=16 h=7 w=7 o=64 k=3 s=2 p=1", "c2d n=1 i=8 h=6 w=10 o=48 k=1",
    "dil n=1 i=4 h=12 w=12 o=16 k=3 p=2", "dil n=1 i=4 h=9 w=9 o=32 k=3 s=2 p=3 d=3",
    "grp n=1 i=32 h=6 w=6 o=32 k=3 p=1 g=8", "grp n=1 i=32 h=5 w=5 o=64 k=3 p=1 g=2 relu=1",
    "grp n=2 i=12 h=6 w=6 o=60 k=3 s=2 p=1 g=3", "dep n=1 c=32 h=9 w=9 k=3 p=1 bias=1",
    "grp n=16 i=32 h=5 w=7 o=16 k=3 s=2 p=1 g=4 bias=1 relu=1", "c2d n=32 i=3 h=6 w=5 o=3 k=3 d=2",
    "dep n=1 c=48 h=10 w=10 k=5 s=2 p=2", "dep n=1 c=16 h=6 w=6 k=1",
    "c2d n=1 i=16 h=6 w=7 o=32 k=3 p=1 bias=1", "c3d n=1 i=16 depth=3 h=5 w=6 o=16 k=3 p=1",
    "c1d n=2 i=16 w=9 o=16 k=3 p=1 relu=1",
    "c1d n=2 i=6 w=19 o=32 k=3 s=2 p=1", "c1d n=1 i=4 w=16 o=16 k=5 p=2 relu=1",
    "c3d n=1 i=3 depth=4 h=6 w=6 o=16 k=3 p=1", "c3d n=1 i=4 depth=5 h=6 w=6 o=32 k=3 s=2 p=1",
    "t2d n=1 i=4 h=5 w=5 o=16 k=4 s=2 p=1", "t2d n=2 i=3 h=5 w=5 o=32 k=3 s=2 p=1 bias=1",
    "t2d n=1 i=4 h=4 w=4 o=16 k=2 s=2", "t3d n=1 i=3 depth=3 h=4 w=4 o=16 k=3 s=2 p=1",
    "t3d n=1 i=4 depth=2 h=3 w=3 o=16 k=4 s=2 p=1", "gmm m=13 k=9 n=64 bias=1 relu=1",
    "gmm m=1 k=16 n=32", "gmm m=28 k=8 n=16",
    /* Channels that no number of lanes divides, and fewer than lanes. */
    "c2d n=1 i=3 h=6 w=7 o=1 k=3 p=1", "c2d n=2 i=2 h=7 w=20 o=3 k=3 s=2 p=1 bias=1 relu=1",
    "c2d n=1 i=2 h=5 w=5 o=17 k=3 s=3 p=1", "c2d n=1 i=2 h=4 w=6 o=100 k=3 p=1 bias=1",
    "c2d n=1 i=2 h=2 w=2 o=1000 k=1", "dil n=1 i=2 h=8 w=9 o=5 k=3 s=2 p=2 d=2",
    "grp n=1 i=6 h=5 w=6 o=9 k=3 p=1 g=3", "grp n=1 i=4 h=4 w=5 o=202 k=1 g=2",
    "dep n=1 c=1 h=5 w=6 k=3 p=1", "dep n=1 c=17 h=6 w=6 k=3 s=2 p=1",
    "dep n=1 c=100 h=4 w=5 k=3 p=1",
    "c1d n=1 i=3 w=40 o=3 k=5 s=3 p=2", "c1d n=1 i=2 w=9 o=40 k=3 p=1 bias=1",
    "c3d n=1 i=2 depth=3 h=4 w=5 o=3 k=3 p=1", "c3d n=1 i=2 depth=3 h=3 w=5 o=17 k=3 s=2 p=1",
    "t2d n=1 i=3 h=4 w=20 o=3 k=3 s=2 p=1 bias=1", "t2d n=1 i=2 h=3 w=4 o=1 k=5 s=3 p=1",
    "t2d n=1 i=2 h=4 w=4 o=3 k=3 p=1", "t2d n=1 i=2 h=3 w=4 o=100 k=4 s=2 p=1",
    "t3d n=1 i=2 depth=2 h=3 w=4 o=3 k=4 s=2 p=1", "t3d n=1 i=2 depth=2 h=3 w=3 o=17 k=3 s=2 p=1",
    "gmm m=40 k=7 n=1", "gmm m=17 k=8 n=3 bias=1", "gmm m=3 k=5 n=10", "gmm m=3 k=4 n=1000",
    /* Statements: an operator with its epilogue, whose other operand lies like the result. */
    "Inp_in = input n=1 i=4 h=7 w=7; Ker = const o=32 i=4 kh=3 kw=3; Bias = const o=32; "
    "Res = input n=1 o=32 h=7 w=7; BiasAdd = c2d(Inp_in, Ker, Bias) o=32 k=3 p=1 bias=1; "
    "Add = add(BiasAdd, Res); ReLU = relu(Add)",
    "Inp = input n=1 i=4 h=4 w=5; Res = input d0=1 d1=16 d2=4 d3=5; Conv = c2d(Inp) o=16 k=1; "
    "Add = add(Res, Conv); Half = affine(Add) mul=0.5 add=1",
    "Inp = input n=1 i=4 h=4 w=5; Conv = c2d(Inp) o=16 k=1; X = input n=1 o=16 h=4 w=5; "
    "G = gpool(X); S = reshape(G) shape=1,16,1,1; Y = exp(X); Z = mul(Conv, S); Add = add(Z, Y)",
    "Inp_in = input n=1 c=32 h=7 w=7; Ker = const c=32 kh=3 kw=3; Res = input d0=1 d1=32 d2=4 "
    "d3=4; Conv = dep(Inp_in, Ker) k=3 p=1 s=2; Add = add(Conv, Res)",
    "Inp_in = input n=1 i=8 h=6 w=6; Ker = const o=32 i=4 kh=3 kw=3; Res = input n=1 o=32 h=6 w=6; "
    "Conv = grp(Inp_in, Ker) o=32 g=2 k=3 p=1; Add = add(Conv, Res)",
    "Inp_in = input n=1 i=3 depth=3 h=4 w=4; Ker = const o=16 i=3 kd=3 kh=3 kw=3; "
    "Res = input n=1 o=16 d=3 h=4 w=4; Conv = c3d(Inp_in, Ker) o=16 k=3 p=1; Add = add(Conv, Res)",
    "A = input m=6 k=5; B = const k=5 n=32; Bias = const n=32; Res = input m=6 n=32; "
    "BiasAdd = gmm(A, B, Bias) n=32 bias=1; Add = add(BiasAdd, Res)",
    "A = input b=2 m=6 k=5; B = input b=2 k=5 n=16; Res = input b=2 m=6 n=16; C = bmm(A, B) n=16; "
    "Out = affine(C) mul=0.125; Add = add(Out, Res)",
    "maxpool n=1 c=20 h=9 w=9 k=3 p=1", "avgpool n=1 c=3 h=8 w=8 k=2", "gpool n=1 c=10 h=3 w=3",
    "avgpool n=1 c=18 h=6 w=6 k=3 s=1 p=1 count_pad=0", "gpool n=2 c=20 h=2 w=3 x=2 f=max",
    "X = input n=1 o=20 h=3 w=3; Mean = reduce_mean(X) axes=2,3 keep=1; Out = relu(Mean)",
    /* What no expert knows: a plain schedule. */
    "softmax m=5 n=40", "ln m=3 n=24", "reduce m=4 n=300 f=max", "bmm b=2 m=7 k=5 n=33",
    "add n=1 c=5 h=3 w=7", "mul n=2 c=5 h=3 w=7 y=channel", "bn n=1 c=5 h=3 w=7 relu=1",
    "act n=1 c=5 h=3 w=7 f=gelu", "X = input d0=2 d1=9 d2=3 d3=10; Out = transpose(X) perm=0,2,3,1",
    "X = input d0=1 d1=2 d2=5 d3=20; Softmax = softmax(X) axis=3",
    "X = input d0=1 d1=5 d2=20; Softmax = softmax(X) axis=1",
    "X = input d0=2 d1=5; Y = input d0=3 d1=5; Z = concat(X, Y) axis=0; Out = relu(Z)",
};

/* A composition of a few statements on small tensors. */
static const char *random_statements(struct arena *a, struct rng *r)
{
    static const char *const form[] = {
        "relu(t%d)", "gelu(t%d)", "affine(t%d) mul=0.5 add=1", "exp(t%d)", "softmax(t%d) axis=2",
        "softmax(t%d) axis=1", "layernorm(t%d) axis=2", "add(t%d, t%d)", "mul(t%d, c)",
        "add(t%d, row)", "matmul(t%d, w)", "matmul(t%d, t%d)", "sub(t%d, t%d)",
        "transpose(t%d) perm=1,0,2", "transpose(t%d) perm=0,2,1", "max(t%d, t%d)",
    };
    struct str out = {0};
    int n = (int)rng_range(r, 2, 6), side = (int)rng_range(r, 1, 21);
    str_printf(&out, "t0 = input a=%d b=%d c=%d; c = const a=%d b=%d c=%d; row = const c=%d; "
               "w = const k=%d n=%d", side, side, side, side, side, side, side, side, side);
    for (int i = 1; i <= n; i++) {
        const char *f = form[rng_range(r, 0, COUNT_OF(form) - 1)];
        int x = (int)rng_range(r, 0, i - 1), y = (int)rng_range(r, 0, i - 1);
        const char *at = strstr(f, "%d"), *second = strstr(at + 2, "%d");
        str_printf(&out, "; t%d = %.*s%d", i, (int)(at - f), f, x);
        if (second)
            str_printf(&out, "%.*s%d%s", (int)(second - at) - 2, at + 2, y, second + 2);
        else
            str_add(&out, at + 2);
    }
    const char *text = arena_strdup(a, str_text(&out));
    str_free(&out);
    return text;
}

static void check(struct arena *a, const char *spec, const struct expert_schedule *s)
{
    const struct program *p;
    struct err e;
    int bad;
    if (!program_replay(a, spec, s->step, s->n, &p, &bad, &e))
        fail_msg("%s, expert %s, step %d: %s", spec, s->expert->id, bad, e.text);
    double error = program_interpret_of_bound(p, 7);
    if (!(error <= 1))
        fail_msg("%s, expert %s, %s: error %g", spec, s->expert->id, expert_chosen_text(a, s),
                 error);
}

static void shipped_ones_are_right(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct experts all;
    struct err e;
    int total = 0;
    if (!expert_file_all(a, &all, &e))
        fail_msg("%s", e.text);
    assert_true(all.n >= 8);
    for (int i = 0; i < COUNT_OF(specs); i++)
        for (int threads = 1; threads <= 2; threads++) {
            all.accuracy = threads == 2 ? EXPERT_ACCURACY : 0;
            struct expert_schedule s[MOST];
            int n;
            if (!expert_schedules(a, &all, specs[i], NULL, threads, MOST, s, &n, &e))
                fail_msg("%s: %s (%s)", specs[i], e.text, e.fix);
            for (int k = 0; k < n; k++)
                check(a, specs[i], &s[k]);
            for (int k = 1; k < n; k++)
                assert_true(s[k - 1].score >= s[k].score);
            total += n;
        }
    print_message("%d schedules\n", total);
    arena_free(a);
}

static bool has_step(const struct expert_schedule *s, const char *line)
{
    for (int i = 0; i < s->n; i++)
        if (str_starts(s->step[i], line))
            return true;
    return false;
}

/* What streams through the caches: inputs are asked for ahead, results stored past them. */
static void large_operands(void **state)
{
    (void)state;
    static const struct { const char *text; int64_t in, out; bool ahead, stream; } table[] = {
        { "c3d n=%lld i=256 depth=4 h=14 w=14 o=16 k=1", 802816, 50176, true, false },
        { "c3d n=%lld i=256 depth=4 h=14 w=14 o=16 k=1", 0, 0, false, false },
        { "c3d n=%lld i=16 depth=4 h=14 w=14 o=64 k=3 p=1", 65536, 200704, false, true },
        { "grp n=%lld i=32 h=64 w=64 o=64 k=1 s=2 g=2", 524288, 262144, true, true },
        { "grp n=%lld i=32 h=64 w=64 o=64 k=1 s=2 g=2", 0, 0, false, false },
        { "dep n=%lld c=64 h=56 w=56 k=3 p=1", 861184, 802816, true, true },
        { "dep n=%lld c=64 h=56 w=56 k=3 p=1", 0, 0, false, false },
    };
    struct machine m;
    machine_read(&m);
    int64_t cache = machine_last_cache(&m);
    for (int i = 0; cache > 0 && i < COUNT_OF(table); i++) {
        struct arena *a = arena_new();
        struct experts all;
        struct expert_schedule s[1];
        struct err e;
        int n = 0;
        int64_t per = table[i].in + table[i].out, samples = per ? 3 * cache / per / 2 + 1 : 1;
        if (per && !table[i].stream)
            samples = cache / table[i].in + 1;
        const char *spec = arena_printf(a, table[i].text, (long long)samples);
        assert_true(expert_file_all(a, &all, &e));
        if (!expert_schedules(a, &all, spec, NULL, 1, 1, s, &n, &e) || n < 1)
            fail_msg("%s: %s", spec, e.text);
        if (has_step(&s[0], "loop prefetch Conv Inp") != table[i].ahead ||
            has_step(&s[0], "loop stream Conv") != table[i].stream)
            fail_msg("%s, expert %s: prefetch and stream are wrong", spec, s[0].expert->id);
        arena_free(a);
    }
}

/* Where only single vectors divide the width, a padded panel keeps several chains of multiply-adds:
 * one vector a panel took 1.2 to 2.8 times as long. Padding much is worse than a narrow panel. */
static void odd_numbers_of_vectors_are_padded(void **state)
{
    (void)state;
    static const struct { const char *spec, *step; } table[] = {
        { "gmm m=1 k=16 n=1000", "loop split C N 16 64" },
        { "gmm m=12 k=16 n=104", "loop split C N 7 16" },
        { "gmm m=12 k=16 n=200", "loop split C N 13 16" },
        { "gmm m=128 k=16 n=768", "loop split C N 32 24" },
        { "gmm m=1000 k=16 n=1", "loop split C M 11 96" },
        { "c1d n=1 i=16 w=64 o=40 k=1", "loop split Conv O 2 24" },
        { "c2d n=1 i=16 h=28 w=28 o=200 k=1", "loop split Conv O 9 24" },
        { "c2d n=1 i=16 h=28 w=28 o=64 k=1", "loop split Conv O 2 32" },
        { "c3d n=1 i=8 depth=2 h=14 w=14 o=104 k=1", "loop split Conv O 7 16" },
        { "t2d n=1 i=8 h=14 w=14 o=200 k=4 s=2 p=1", "loop split Conv O 13 16" },
    };
    struct err e;
    const struct target *avx2 = target_find("avx2", &e);
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct arena *a = arena_new();
        struct experts all;
        struct expert_schedule s[1];
        int n = 0;
        assert_true(expert_file_all(a, &all, &e));
        if (!expert_schedules(a, &all, table[i].spec, avx2, 1, 1, s, &n, &e) || n < 1)
            fail_msg("%s: %s", table[i].spec, e.text);
        if (!has_step(&s[0], table[i].step))
            fail_msg("%s: %s, not %s", table[i].spec, expert_chosen_text(a, &s[0]), table[i].step);
        arena_free(a);
    }
}

/* Operators without an expert, and those whose expert has other sizes in mind, get a plain schedule
 * whose loops have lanes. */
static void others_have_a_plain_one(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct experts all;
    struct expert_schedule s[2];
    struct err e;
    int n;
    assert_true(expert_file_all(a, &all, &e));
    assert_true(expert_schedules(a, &all, "add n=1 c=4 h=8 w=8", NULL, 1, 2, s, &n, &e));
    assert_int_equal(n, 1);
    assert_string_equal(s[0].expert->id, "plain");
    assert_true(has_step(&s[0], "loop vectorize Add"));
    assert_false(expert_schedules(a, &all, "c2d n=1", NULL, 1, 1, s, &n, &e));
    arena_free(a);
}

/* Any program gets a legal plain schedule, and a right one: operators, and graphs of statements. */
static void plain_ones_are_right(void **state)
{
    struct experts none = {0};
    struct rng r = rng_seed(1);
    int done = 0;
    (void)state;
    for (int i = 0; i < 400; i++) {
        struct arena *a = arena_new();
        const char *spec = i % 4 ? random_operator(a, &r, random_family(&r))
                                 : random_statements(a, &r);
        const struct graph *g;
        struct expert_schedule s[1];
        struct err e;
        int n, threads = 1 + i % 2;
        if (graph_from_spec(a, spec, &g, &e) && g->flops < 200000) {
            if (!expert_schedules(a, &none, spec, NULL, threads, 1, s, &n, &e) || n != 1)
                fail_msg("%s: %s", spec, e.text);
            check(a, spec, &s[0]);
            done++;
        }
        arena_free(a);
    }
    assert_true(done > 100);
}

/* Half of the last cache, or a quarter if the operand takes the rest.  An L1 of an assumed size, as
 * in some containers, is no reason. */
static void large_results_are_streamed(void **state)
{
    static const struct { int64_t l2, l3, result, operand; bool stream; } table[] = {
        { 1 << 20, 8 << 20, 4 << 20, 0, true }, { 1 << 20, 8 << 20, 3 << 20, 1 << 20, false },
        { 1 << 20, 8 << 20, 3 << 20, 5 << 20, true }, { 1 << 20, 8 << 20, 1 << 20, 9 << 20, false },
        { 1 << 20, 0, 1 << 19, 0, true }, { 0, 0, 16 << 10, 0, false },
        { 0, 0, 1 << 30, 1 << 30, false },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct machine m = { .l1d = { 32 << 10, 8, 64 }, .l1d_assumed = true };
        m.l2.size_bytes = table[i].l2;
        m.l3.size_bytes = table[i].l3;
        if (expert_streams(&m, table[i].result, table[i].operand) != table[i].stream)
            fail_msg("row %d: %d", i, !table[i].stream);
    }
}

#define HEAD "expert: 1\ntitle: t\nfor: [gmm]\n"
static const struct { const char *what, *text, *says; } wrong[] = {
    { "empty", "", "empty" },
    { "unknown key", HEAD "stesp: []\n", "stesp" },
    { "no steps", HEAD, "steps" },
    { "unknown operator", "expert: 1\nfor: [gmmm]\nsteps: [x]\n", "gmmm" },
    { "unknown loop", HEAD "steps:\n- {for: ever, step: x}\n", "ever" },
    { "two names in one let", HEAD "let: [{a: 1, b: 2}]\nsteps: [x]\n", "let" },
    { "a step that is a list", HEAD "steps:\n- {step: [x]}\n", "step" },
    { "a step without its line", HEAD "steps:\n- {if: padded}\n", "step" },
    { "version", "expert: 2\nfor: [gmm]\nsteps: [x]\n", "expert" },
};

static void nonsense_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(wrong); i++) {
        struct arena *a = arena_new();
        const struct expert *x;
        struct err e = {0};
        if (expert_file_parse(a, "t.yaml", wrong[i].text, strlen(wrong[i].text), &x, &e))
            fail_msg("%s is accepted", wrong[i].what);
        if (!strstr(e.text, wrong[i].says))
            fail_msg("%s: %s", wrong[i].what, e.text);
        arena_free(a);
    }
}

/* All of the file is read, and no more than it. */
static void nul_bytes_are_refused(void **state)
{
    static const char text[] = HEAD "note: a\0\xff\n";
    struct arena *a = arena_new();
    const struct expert *x;
    struct err e = {0};
    (void)state;
    assert_false(expert_file_parse(a, "t.yaml", text, sizeof text - 1, &x, &e));
    assert_non_null(strstr(e.text, "not UTF-8 text (byte 0xff)"));
    assert_false(expert_file_parse(a, "t.yaml", text, sizeof text - 3, &x, &e));
    assert_non_null(strstr(e.text, "control characters are not allowed"));
    arena_free(a);
}

/* What goes wrong with an operator names the expert. */
static const struct { const char *rest, *says; } at_use[] = {
    { "only: nosuch > 1\nsteps: [loop vectorize C N]\n", "expert t, only" },
    { "prefer: N >\nsteps: [loop vectorize C N]\n", "expert t, prefer" },
    { "let: [{a: M / 0}]\nsteps: [loop vectorize C N]\n", "expert t, a" },
    { "steps: [\"loop split C N {nosuch}\"]\n", "no expert has a schedule" },
    { "steps: [loop vectorise C N]\n", "no expert has a schedule" },
};

/* Of 420 combinations the last ones are legal; the first 400 are tried. */
static void patience_ends(void **state)
{
    static const char form[] =
        "expert: 1\ntitle: t\nnote: n\nfor: [gmm]\nchoose:\n"
        "  a: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]\n"
        "  b: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]\n"
        "let:\n- {i: 20 * a + b}\nprefer: \"0 - i\"\nsteps:\n"
        "- {if: i < %d, step: loop parallel C Z}\n- loop parallel C M\n";
    struct arena *a = arena_new();
    (void)state;
    for (int bad = 399; bad <= 400; bad++) {
        const char *text = arena_printf(a, form, bad);
        struct expert_schedule out[2];
        const struct expert *x;
        struct err e = {0};
        int n;
        if (!expert_file_parse(a, "t.yaml", text, strlen(text), &x, &e))
            fail_msg("%s", e.text);
        struct experts one = { 1, &x, 0 };
        assert_int_equal(expert_schedules(a, &one, "gmm m=8 k=8 n=8", NULL, 1, 2, out, &n, &e),
                         bad == 399);
        assert_int_equal(n, bad == 399);
        if (n == 1)
            assert_string_equal(expert_chosen_text(a, &out[0]), "a=19, b=19");
    }
    arena_free(a);
}

/* The operand is padded if a pad makes it from Inp_in, and not because there is an Inp_in. */
static void padding_is_found_in_the_graph(void **state)
{
    static const char text[] =
        "expert: 1\ntitle: t\nfor: [c2d]\nsteps:\n- loop unroll Conv KH\n"
        "- {if: padded == 1, step: loop unroll Conv KW}\n";
    static const struct { const char *spec; bool padded; } table[] = {
        { "c2d n=1 i=4 h=6 w=6 o=8 k=3 p=1", true }, { "c2d n=1 i=4 h=6 w=6 o=8 k=3", false },
        { "Inp_in = input n=1 i=4 h=6 w=6; Inp = relu(Inp_in); Conv = c2d(Inp) o=8 k=3", false },
        { "Inp_in = input n=1 i=4 h=6 w=6; Conv = c2d(Inp_in) o=8 k=3 p=1", true },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct arena *a = arena_new();
        const struct expert *x;
        struct expert_schedule s[1];
        struct err e = {0};
        int n;
        if (!expert_file_parse(a, "t.yaml", text, strlen(text), &x, &e))
            fail_msg("%s", e.text);
        struct experts one = { 1, &x, 0 };
        if (!expert_schedules(a, &one, table[i].spec, NULL, 1, 1, s, &n, &e) || n != 1)
            fail_msg("%s: %s", table[i].spec, e.text);
        assert_true(has_step(&s[0], "loop unroll Conv KH"));
        if (has_step(&s[0], "loop unroll Conv KW") != table[i].padded)
            fail_msg("%s: padded=%d", table[i].spec, !table[i].padded);
        arena_free(a);
    }
}

static void faults_name_the_expert(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(at_use); i++) {
        struct arena *a = arena_new();
        const struct expert *x;
        struct expert_schedule s[1];
        struct err e = {0};
        int n;
        const char *text = arena_printf(a, "%s%s", HEAD, at_use[i].rest);
        if (!expert_file_parse(a, "t.yaml", text, strlen(text), &x, &e))
            fail_msg("%s: %s", at_use[i].rest, e.text);
        struct experts all = { 1, &x, 0 };
        assert_false(expert_schedules(a, &all, "gmm m=4 k=4 n=16", NULL, 1, 1, s, &n, &e));
        if (!strstr(e.text, at_use[i].says))
            fail_msg("%s: %s", at_use[i].rest, e.text);
        arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_ones_are_right), cmocka_unit_test(large_operands),
        cmocka_unit_test(odd_numbers_of_vectors_are_padded),
        cmocka_unit_test(others_have_a_plain_one), cmocka_unit_test(plain_ones_are_right),
        cmocka_unit_test(nonsense_is_refused), cmocka_unit_test(nul_bytes_are_refused),
        cmocka_unit_test(patience_ends), cmocka_unit_test(large_results_are_streamed),
        cmocka_unit_test(padding_is_found_in_the_graph),
        cmocka_unit_test(faults_name_the_expert),
    };
    setenv("TILESCOPE_HOME", ".", 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
