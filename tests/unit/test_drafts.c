/* Schedules without a search: what an expert knows of an operator, the order of its combinations,
 * the lines of epilogues, and the plain schedules of nodes that it does not know. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "explorer/expert/draft.h"
#include "explorer/expert/instant.h"
#include "sessions/file/expert_file.h"
#include "tests/unit/golden.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define FAMILIES "for: [c1d, c2d, c3d, grp, dil, gmm, gpool, avgpool]\n"
#define STEPS "steps:\n- 'loop parallel {main} N'\n"

/* Makes at most `max` schedules by the expert in `text`, for avx2 and three threads. */
static int schedules(struct arena *a, const char *text, const char *spec, int max,
                     struct expert_schedule *s)
{
    const struct expert *x;
    struct err e = {0};
    int n = 0;
    if (!expert_file_parse(a, "t.yaml", text, strlen(text), &x, &e))
        fail_msg("%s\n%s", text, e.text);
    struct experts one = { 1, &x, 0.25 };
    if (!expert_schedules(a, &one, spec, target_named("avx2"), 3, max, s, &n, &e))
        fail_msg("%s: %s\n%s", spec, e.text, text);
    return n;
}

/* --- Facts ------------------------------------------------------------------------------------ */

#define STRIDED "c2d n=2 i=6 h=9 w=7 o=8 k=3 s=2 p=1"
#define EPILOGUE "c2d n=1 i=4 h=6 w=6 o=8 k=3 p=1 bias=1 relu=1"
#define DILATED "dil n=1 i=4 h=12 w=12 o=16 k=3 d=3"
#define VOLUME "c3d n=1 i=2 depth=5 h=6 w=7 o=4 k=3 s=2"

/* Names in the formulas of an expert. */
static const struct { const char *spec, *when; } facts[] = {
    { STRIDED, "N == 2 && O == 8 && H == 5 && W == 4 && I == 6 && KH == 3 && KW == 3" },
    { STRIDED, "D == 1 && KD == 1 && C == 1 && M == 1 && K == 1 && B == 1 && G == 1" },
    { STRIDED, "in_N == 2 && in_I == 6 && in_H == 11 && in_W == 9 && in_rank == 4" },
    { STRIDED, "sd == 1 && sh == 2 && sw == 2 && dd == 1 && dh == 1 && dw == 1" },
    { STRIDED, "padded == 1 && images == 0 && operand_bytes == 4752 && elem_bytes == 4" },
    { STRIDED, "threads == 3 && accuracy == 0.25 && lanes == 8 && registers == 16" },
    { STRIDED, "main == \"Conv\" && operand == \"Inp\" && result == \"Conv\" && last == \"Conv\"" },
    { STRIDED, "dim_0 == \"N\" && dim_1 == \"I\" && dim_2 == \"H\" && dim_3 == \"W\"" },
    { EPILOGUE, "main == \"Conv\" && last == \"ReLU\" && result == \"ReLU\"" },
    { "grp n=1 i=8 h=5 w=5 o=12 k=3 g=2", "G == 2 && I == 4 && in_I == 8 && O == 12" },
    { "grp n=1 i=8 h=5 w=5 o=12 k=3 g=2", "padded == 0 && in_H == 5 && H == 3" },
    { DILATED, "dd == 1 && dh == 3 && dw == 3 && sh == 1 && sw == 1 && H == 6" },
    { "c1d n=1 i=4 w=16 o=16 k=5 s=3", "sd == 1 && sh == 1 && sw == 3 && KW == 5 && W == 4" },
    { "c1d n=1 i=4 w=16 o=16 k=5 s=3", "H == 1 && KH == 1 && in_rank == 3 && in_W == 16" },
    { VOLUME, "sd == 2 && sh == 2 && sw == 2 && D == 2 && H == 2 && W == 3 && KD == 3" },
    { VOLUME, "in_D == 5 && in_H == 6 && in_W == 7 && in_rank == 5" },
    { "gmm m=6 k=10 n=24", "M == 6 && K == 10 && N == 24 && in_M == 6 && in_K == 10" },
    { "gmm m=6 k=10 n=24", "in_rank == 2 && images == 0 && G == 1 && operand_bytes == 240" },
    { "gmm m=6 k=10 n=24", "main == \"C\" && operand == \"A\" && O == 1 && sh == 1" },
    { "gpool n=1 c=10 h=3 w=4", "images == 1 && in_rank == 4" },
    { "avgpool n=1 c=3 h=8 w=8 k=2", "images == 0 && in_rank == 4" },
};

static void experts_know_the_operator(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(facts); i++) {
        struct arena *a = arena_new();
        struct expert_schedule s[1];
        const char *text = arena_printf(a, "expert: 1\ntitle: t\n" FAMILIES "when: '%s'\n" STEPS,
                                        facts[i].when);
        assert_int_equal(schedules(a, text, facts[i].spec, 1, s), 1);
        if (!streq(s[0].expert->id, "t"))
            fail_msg("%s: not %s", facts[i].spec, facts[i].when);
        arena_free(a);
    }
}

/* --- Combinations ----------------------------------------------------------------------------- */

/* The largest score first; of equal ones, the first in the file. */
static void combinations_are_in_order(void **state)
{
    static const char text[] =
        "expert: 1\ntitle: t\nfor: [gmm]\nchoose:\n  a: [1, 2, 3]\n  b: [5, 7]\n"
        "let:\n- {d: b - a}\n- {twice: 2 * d}\nonly: a + b != 7\nprefer: twice / 4\n"
        "steps:\n- loop split C N {a * 4}\n";
    static const struct { const char *chosen, *step; double score; } want[] = {
        { "a=1, b=7", "loop split C N 4", 3 }, { "a=2, b=7", "loop split C N 8", 2.5 },
        { "a=1, b=5", "loop split C N 4", 2 }, { "a=3, b=7", "loop split C N 12", 2 },
        { "a=3, b=5", "loop split C N 12", 1 },
    };
    (void)state;
    struct arena *a = arena_new();
    struct expert_schedule s[6];
    assert_int_equal(schedules(a, text, "gmm m=4 k=4 n=48", 6, s), COUNT_OF(want));
    for (int i = 0; i < COUNT_OF(want); i++) {
        assert_string_equal(expert_chosen_text(a, &s[i]), want[i].chosen);
        assert_string_equal(s[i].step[0], want[i].step);
        assert_true(s[i].score == want[i].score);
    }
    assert_int_equal(schedules(a, text, "gmm m=4 k=4 n=48", 2, s), 2);
    arena_free(a);
}

/* An expert of a GPU is not for a CPU, nor the other way round. */
static void experts_are_for_a_target(void **state)
{
    static const char *const texts[] = {
        "expert: 1\ntitle: t\nfor: [gmm]\ntarget: cuda\n" STEPS,
        "expert: 1\ntitle: t\nfor: [gmm]\n" STEPS,
    };
    (void)state;
    for (int cpu = 0; cpu < 2; cpu++) {
        struct arena *a = arena_new();
        struct expert_schedule s[1];
        const struct expert *x;
        struct err e;
        assert_int_equal(schedules(a, texts[cpu], "gmm m=4 k=4 n=16", 1, s), 1);
        assert_string_equal(s[0].expert->id, cpu ? "t" : "plain");
        assert_true(expert_file_parse(a, "t.yaml", texts[cpu], strlen(texts[cpu]), &x, &e));
        struct experts one = { 1, &x, 0 };
        assert_int_equal(experts_for(&one, "gmm", target_named("avx2")), cpu);
        assert_int_equal(experts_for(&one, "gmm", target_named("cuda")), !cpu);
        assert_false(experts_for(&one, "c2d", target_named(cpu ? "avx2" : "cuda")));
        arena_free(a);
    }
}

/* --- Epilogues -------------------------------------------------------------------------------- */

static void epilogues_get_their_lines(void **state)
{
    static const char text[] =
        "expert: 1\ntitle: t\nfor: [c2d]\nsteps:\n"
        "- {for: epilogue, step: 'loop parallel {epilogue} N'}\n"
        "- {for: fused, step: 'loop parallel {fused} O'}\n"
        "- {if: KH == 1, step: 'loop parallel {main} H'}\n"
        "- {if: KH == 3, step: 'loop unroll {main} KH'}\n";
    static const char *const want[] = { "loop parallel BiasAdd N", "loop parallel ReLU N",
                                        "loop parallel Conv O", "loop parallel BiasAdd O",
                                        "loop unroll Conv KH" };
    (void)state;
    struct arena *a = arena_new();
    struct expert_schedule s[1];
    assert_int_equal(schedules(a, text, EPILOGUE, 1, s), 1);
    assert_true(s[0].n >= COUNT_OF(want));
    for (int i = 0; i < COUNT_OF(want); i++)
        assert_string_equal(s[0].step[i], want[i]);
    arena_free(a);
}

/* --- Plain schedules -------------------------------------------------------------------------- */

/* The lines with ';' between them. */
static const char *drafted(struct arena *a, const char *spec, const struct draft_machine *m)
{
    struct draft d = { a, NULL, {0} };
    struct str text = {0};
    struct err e;
    if (!program_new(a, spec, &d.p, &e))
        fail_msg("%s: %s", spec, e.text);
    draft_rest(&d, m);
    for (int i = 0; i < d.line.len; i++)
        str_printf(&text, "%s%s", i ? "; " : "", d.line.data[i]);
    const char *all = arena_strdup(a, str_text(&text));
    vec_free(&d.line);
    str_free(&text);
    return all;
}

/* A product: lanes are columns of B, in blocks of four vectors; with two rows, eight accumulators
 * and the four vectors of B fit into 16 registers.  Threads share the rows if there is work. */
static void products_have_tiles(void **state)
{
    static const struct { const char *spec; int threads; const char *want; } table[] = {
        { "gmm m=6 k=10 n=64", 1,
          "layout set B \"N/32 K 32\"; loop split C M 3 2; loop split C N 2 32; "
          "loop reorder C M.0 N.0 K M.1 N.1; loop cache_write C at=N.0; loop unroll C M.1; "
          "loop vectorize C N.1" },
        { "gmm m=6 k=10 n=64", 2,
          "layout set B \"N/32 K 32\"; loop split C M 3 2; loop split C N 2 32; "
          "loop reorder C M.0 N.0 K M.1 N.1; loop cache_write C at=N.0; loop unroll C M.1; "
          "loop vectorize C N.1" },
        { "gmm m=64 k=64 n=64", 2,
          "layout set B \"N/32 K 32\"; loop split C M 32 2; loop split C N 2 32; "
          "loop reorder C M.0 N.0 K M.1 N.1; loop cache_write C at=N.0; loop unroll C M.1; "
          "loop vectorize C N.1; loop parallel C M.0" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct arena *a = arena_new();
        const struct draft_machine m = { 8, 16, table[i].threads, false };
        assert_string_equal(drafted(a, table[i].spec, &m), table[i].want);
        arena_free(a);
    }
}

/* On a GPU, a thread computes an element, and blocks have at most 128 threads. */
static void elements_are_threads(void **state)
{
    static const struct { const char *spec, *want; } table[] = {
        { "add n=2 c=4 h=8 w=8", "loop fuse Add N C H W; loop split Add N_C_H_W 0 128; "
          "loop bind Add N_C_H_W.0 block.x; loop bind Add N_C_H_W.1 thread.x" },
        { "gmm m=6 k=10 n=24", "loop fuse C M N; loop split C M_N 0 128; "
          "loop bind C M_N.0 block.x; loop bind C M_N.1 thread.x" },
        { "gmm m=6 k=10 n=5", "loop fuse C M N; loop split C M_N 0 30; "
          "loop bind C M_N.0 block.x; loop bind C M_N.1 thread.x" },
    };
    const struct draft_machine m = { 1, 255, 1, true };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct arena *a = arena_new();
        assert_string_equal(drafted(a, table[i].spec, &m), table[i].want);
        arena_free(a);
    }
}

/* A step that is not legal leaves the draft as it was. */
static void drafts_stay_when_refused(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct draft d = { a, NULL, {0} };
    struct err e = {0};
    assert_true(program_new(a, "gmm m=6 k=10 n=24", &d.p, &e));
    assert_true(draft_line(&d, "loop parallel C M", &e));
    const struct program *before = d.p;
    assert_false(draft_line(&d, "loop parallel C Q", &e));
    assert_string_equal(e.text, "C has no loop Q");
    assert_false(draft_bind(&d, 0, &e));  /* a parallel loop is neither fused nor bound */
    assert_ptr_equal(d.p, before);
    assert_int_equal(d.line.len, 1);
    vec_free(&d.line);
    arena_free(a);
}

/* Plain schedules of operators that no expert knows, and of graphs of statements. */
static void plain_schedules(void **state)
{
    static const char *const specs[] = {
        "add n=2 c=4 h=8 w=8", "add n=1 c=5 h=3 w=7", "mul n=2 c=5 h=3 w=7 y=channel",
        "act n=1 c=5 h=3 w=7 f=gelu", "bn n=1 c=5 h=3 w=7 relu=1", "softmax m=5 n=40",
        "softmax m=64 n=1000", "ln m=3 n=24", "reduce m=4 n=300 f=max", "reduce m=4 n=5 f=max",
        "bmm b=2 m=7 k=5 n=33", "gmm m=64 k=64 n=1", "gmm m=13 k=9 n=20 bias=1 relu=1",
        "maxpool n=1 c=20 h=9 w=9 k=3 p=1", "gpool n=1 c=10 h=3 w=3",
        "c2d n=1 i=16 h=14 w=14 o=32 k=3 p=1 bias=1 relu=1", "c2d n=1 i=3 h=15 w=15 o=16 k=7 s=2",
        "dep n=1 c=48 h=10 w=10 k=5 s=2 p=2", "grp n=1 i=8 h=6 w=6 o=16 k=3 g=2",
        "t2d n=1 i=4 h=5 w=5 o=16 k=4 s=2 p=1",
        "X = input a=40 b=24; T = transpose(X) perm=1,0; Y = relu(T)",
        "X = input d0=2 d1=9 d2=3 d3=10; Out = transpose(X) perm=0,2,3,1",
        "X = input d0=1 d1=5 d2=20; Softmax = softmax(X) axis=1",
        "X = input d0=2 d1=5; Y = input d0=3 d1=5; Z = concat(X, Y) axis=0; Out = relu(Z)",
        "X = input a=64 b=64; W = const k=64 n=64; E = exp(X); A = affine(X) mul=2 add=1; "
        "Y = matmul(E, W); Z = add(Y, A)",
    };
    static const struct draft_machine machines[] = { { 8, 16, 1, false }, { 16, 32, 4, false },
                                                     { 1, 255, 1, true } };
    struct str out = {0};
    (void)state;
    for (int i = 0; i < COUNT_OF(specs) * COUNT_OF(machines); i++) {
        const struct draft_machine *m = &machines[i % COUNT_OF(machines)];
        const char *spec = specs[i / COUNT_OF(machines)];
        struct arena *a = arena_new();
        if (i % COUNT_OF(machines) == 0)
            str_printf(&out, "%s\n", spec);
        str_printf(&out, "  %d lanes: %s\n", m->lanes, drafted(a, spec, m));
        arena_free(a);
    }
    golden_check("tests/golden/drafts.txt", str_text(&out));
    str_free(&out);
}

/* Without a search: the schedule of an expert, or else the given steps and a plain one of the
 * rest. */
static void instant_schedules(void **state)
{
    static const char *const given[] = { "loop parallel C M" };
    static const char text[] = "expert: 1\ntitle: t\nfor: [gmm]\nwhen: N == 16\n" STEPS;
    static const struct { const char *spec; int n_given; const char *want; } table[] = {
        { "gmm m=6 k=10 n=16", 1, "loop parallel C N" },
        { "gmm m=6 k=10 n=64", 1, "loop parallel C M" },
        { "gmm m=6 k=10 n=64", 0,
          "layout set B \"N/32 K 32\"; loop split C M 3 2; loop split C N 2 32; "
          "loop reorder C M.0 N.0 K M.1 N.1; loop cache_write C at=N.0; loop unroll C M.1; "
          "loop vectorize C N.1" },
    };
    (void)state;
    struct arena *a = arena_new();
    const struct expert *x;
    struct err e = {0};
    assert_true(expert_file_parse(a, "t.yaml", text, strlen(text), &x, &e));
    const struct experts one = { 1, &x, 0 };
    struct instant with = { .experts = &one, .target = target_named("avx2"), .threads = 1 };
    for (int i = 0; i < COUNT_OF(table); i++) {
        const char *const *line;
        struct str got = {0};
        int n;
        if (!instant_choose(&with, a, table[i].spec, table[i].n_given, given, &n, &line, &e))
            fail_msg("%s: %s", table[i].spec, e.text);
        for (int k = 0; k < n; k++)
            str_printf(&got, "%s%s", k ? "; " : "", line[k]);
        assert_string_equal(str_text(&got), table[i].want);
        str_free(&got);
    }
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(experts_know_the_operator), cmocka_unit_test(combinations_are_in_order),
        cmocka_unit_test(experts_are_for_a_target), cmocka_unit_test(epilogues_get_their_lines),
        cmocka_unit_test(products_have_tiles),
        cmocka_unit_test(elements_are_threads), cmocka_unit_test(drafts_stay_when_refused),
        cmocka_unit_test(plain_schedules), cmocka_unit_test(instant_schedules),
    };
    setenv("TILESCOPE_HOME", ".", 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
