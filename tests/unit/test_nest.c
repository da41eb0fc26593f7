/* Loop nests: golden prints, refused steps, and scheduled programs against the float64 reference.
 * */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "kernels/base/vec.h"
#include "tests/unit/golden.h"
#include "tests/unit/random_ops.h"
#include "tests/unit/random_steps.h"
#include "tests/unit/run_program.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>


static uint64_t seed;

/* A .in file: a comment line, the operator, then steps. */
static const struct program *load_case(struct arena *a, const char *path)
{
    struct str text = { 0 };
    struct err e;
    const struct program *p = NULL;
    int line_no = 0;
    if (!file_read(path, 1 << 20, &text, &e))
        fail_msg("%s", e.text);
    char *rest = NULL;
    for (char *line = strtok_r(text.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        line_no++;
        if (line[0] == '#')
            continue;
        bool ok = p ? program_apply_line(p, line, &p, &e) : program_new(a, line, &p, &e);
        if (!ok)
            fail_msg("%s:%d: %s: %s (fix: %s)", path, line_no, line, e.text, e.fix);
    }
    str_free(&text);
    return p;
}

static void golden_nests(void **state)
{
    (void)state;
    glob_t g;
    assert_int_equal(glob("tests/golden/nest/*.in", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        struct arena *a = arena_new();
        struct str out = { 0 }, path = { 0 };
        const struct program *p = load_case(a, g.gl_pathv[i]);
        program_print_nest(&out, p);
        str_add_char(&out, '\n');
        program_print_access(&out, p);
        str_printf(&path, "%.*s.out", (int)strlen(g.gl_pathv[i]) - 3, g.gl_pathv[i]);
        golden_check(str_text(&path), str_text(&out));
        double d = program_interpret_of_bound(p, seed);
        if (!(d <= 1))
            fail_msg("%s: wrong values, error %g of the bound", g.gl_pathv[i], d);
        str_free(&out);
        str_free(&path);
        arena_free(a);
    }
    globfree(&g);
}

static void papers_figures_have_no_div_or_mod(void **state)
{
    (void)state;
    static const char *const cases[] = { "tests/golden/nest/fig3.in", "tests/golden/nest/fig7.in" };
    for (int i = 0; i < COUNT_OF(cases); i++) {
        struct arena *a = arena_new();
        struct str out = { 0 };
        program_print_nest(&out, load_case(a, cases[i]));
        assert_null(strpbrk(str_text(&out), "/%"));
        str_free(&out);
        arena_free(a);
    }
}

struct refusal { const char *spec, *steps, *bad, *says, *fix; };
#define CONV "c2d n=1 i=4 h=10 w=10 o=8 k=3 bias=1 relu=1"
#define GEMM "gmm m=8 k=8 n=8"
#define ONES "1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
#define TWOS_13 " 2 2 2 2 2 2 2 2 2 2 2 2 2"
#define LOOPS_13(d) \
    " " d ".0 " d ".1 " d ".2 " d ".3 " d ".4 " d ".5 " d ".6 " d ".7 " d ".8 " d ".9 " d ".10 " \
    d ".11 " d ".12"
static const struct refusal refusals[] = {
    { CONV, "", "loop split Conv O 3 2", "3 x 2 = 6 iterations, and loop O has 8",
      "divisors of 8 are 1 2 4 8" },
    { CONV, "", "loop split Conv O 4 3",
      "4 x 3 = 12 iterations, and loop O has 8: an outermost factor of 3 is enough",
      "divisors of 8" },
    { CONV, "", "loop split Conv O 16", "not between 1 and 8", "" },
    { "gmm m=4 k=2 n=10", "", "loop split C N 2 8 3",
      "2 x 8 x 3 = 48 iterations, and loop N has 10",
      "divisors of 10 are 1 2 5 10" },
    { "gmm m=2 k=1024 n=16", "",
      "loop split C K 1 1024 1024 1024 1024 1024 1024 1024 1024 1024",
      "has 1024 iterations; with these factors and the earlier splits it would have more than "
      "65536 times as many",
      "not needed to cover 1024" },
    { "gmm m=65536 k=2 n=65536", "", "loop split C N 1 65536 65536 65536 65536",
      "more than 65536 times", "" },
    { "gmm m=2 k=2 n=1024",
      "loop split C N 1 1024 1024;loop split C N.0 1;loop split C N.1 1 1024 64",
      "loop split C N.2 1 2 2 512", "and the earlier splits", "cover 1024" },
    { "gmm m=1048576 k=2 n=1048576",
      "loop split C M 1 1048576 128;loop split C N 1 1048576 64",
      "loop fuse C M.0 M.1 M.2 N.0 N.1 N.2", "more than 2^48 iterations together", "" },
    { "gmm m=8 k=16 n=16", "loop split C N 16 " ONES ONES, "loop cache_write C at=M",
      "has 29 dimensions, one for each loop; at most 24", "cache_write at a deeper loop" },
    { "gmm m=8192 k=4 n=8192 type=f16", "loop split C M" TWOS_13 ";loop split C N" TWOS_13,
      "loop reorder C K" LOOPS_13("M") LOOPS_13("N"),
      "need a tile around loop K, because memory of its narrow type would round every addition, "
      "and this tile would have 67108864 elements, more than 262144", "outside of K" },
    { "gmm m=8 k=4 n=16 type=bf16", "loop split C N 16 " ONES ONES "1", "loop reorder C K M",
      "would have 31 dimensions, one for each loop; at most 24", "outside of K, or fuse" },
    { "gmm m=1024 k=4 n=512 type=f16", "loop cache_write C at=N", "loop reorder C K M N",
      "524288 elements", "outside of K" },
    { CONV, "", "loop split Conv X 2", "no loop X", "its loops are" },
    { CONV, "", "loop split Convv O 2", "no node computes a tensor Convv",
    "the tensors that have loops are Conv" },
    { CONV, "", "loop split Ker O 2", "a constant", "the tensors that have loops are" },
    { CONV, "", "loop vectorize Conv I", "loops KH, KW run inside it", "or unroll KH, KW" },
    { CONV, "", "loop vectorize Conv O", "loops H, W, I, KH, KW run inside it", "innermost" },
    { CONV, "loop reorder Conv I KH KW W", "loop vectorize Conv H", "W run inside it", "" },
    { "gmm m=64 k=64 n=128", "", "loop vectorize C M", "loops N, K run inside it",
      "(loop reorder C N K M)" },
    { CONV, "loop unroll Conv O;loop unroll Conv H;loop unroll Conv W;loop unroll Conv I",
      "loop unroll Conv KH", "make more than 4096 statements: O(8) H(8) W(8) I(4) KH(3)", "fewer" },
    { CONV, "", "loop parallel Conv KH", "race", "" },
    { CONV, "loop reorder Conv KH H", "loop parallel Conv H", "inside the reduction loop KH",
      "loop reorder Conv H KH" },
    { CONV, "loop parallel Conv N", "loop parallel Conv H", "not adjacent", "fuse or reorder" },
    { CONV, "loop vectorize ReLU W", "loop split ReLU W 2", "marked vectorize",
      "loop serial ReLU W" },
    { CONV, "", "loop fuse Conv N Q", "no loop Q", "its loops are" },
    { CONV, "", "loop reorder Conv N Q", "no loop Q", "its loops are" },
    { CONV, "", "loop fuse Conv N H", "not adjacent", "loop reorder Conv N H O W I KH KW" },
    { CONV, "", "loop fuse Conv W O", "not adjacent", "loop reorder Conv N H W O I KH KW" },
    { CONV, "", "loop serial Conv N", "already a plain loop", "" },
    { CONV, "", "loop split Conv W 99999999999999999999", "too large", "" },
    { CONV, "", "loop split Conv W 2.5", "a whole number, not 2.5", "" },
    { CONV, "", "loop split Conv W +2", "a whole number, not +2", "" },
    { CONV, "", "loop prefetch Conv Inp at=H ahead=99999999999999999999",
      "is not between -2^63 and 2^63", "loop prefetch T T2" },
    { CONV, "", "layout split Conv W 99999999999999999999", "too large", "" },
    { CONV, "", "layout split Conv W 2 allow_pad=2", "allow_pad is 0 or 1", "" },
    { CONV, "", "set threads 2", "no setting threads", "--threads 2" },
    { CONV, "", "loop fuse Conv W I", "one is a reduction", "" },
    { CONV, "", "loop reorder Conv O O", "named twice", "" },
    { CONV, "", "loop cache_write ReLU", "has no reduction", "" },
    { CONV, "", "loop stream Conv", "stored in memory and read again", "loop cache_write Conv" },
    { CONV, "loop inline BiasAdd", "loop stream BiasAdd", "not stored in memory", "" },
    { GEMM, "loop split C K 2;loop reorder C M K.0 N K.1;loop cache_write C at=K.0",
      "loop stream C", "stored in memory across loop K.0", "in a tile outside of loop K.0" },
    { GEMM, "loop cache_write C at=M;loop stream C", "loop reorder C K M N",
      "stored in memory across loop K", "" },
    { "x = input n=4 c=8; x1 = add(x, x); x2 = add(x1, x1); x3 = add(x2, x2); x4 = add(x3, x3);"
      " x5 = add(x4, x4); x6 = add(x5, x5); x7 = add(x6, x6); x8 = add(x7, x7); x9 = add(x8, x8);"
      " x10 = add(x9, x9); x11 = add(x10, x10); x12 = add(x11, x11); x13 = add(x12, x12)",
      "loop inline x1;loop inline x2;loop inline x3;loop inline x4;loop inline x5;loop inline x6;"
      "loop inline x7;loop inline x8;loop inline x9;loop inline x10;loop inline x11",
      "loop inline x12", "more than 4096 elements", "in memory" },
    { "gmm m=65536 k=65536 n=1", "loop split C M 1 65536 65536;loop split C K 1 65536 65536",
      "loop cache_read C A at=M.0", "copying A inside loop M.0 of C needs a tile of",
      "copy it at a deeper loop" },
    { CONV, "", "loop prefetch Conv Bias at=H", "does not read Bias", "it reads Inp, Ker" },
    { CONV, "", "loop prefetch Conv Inp at=Z", "no loop Z", "its loops are" },
    { CONV, "", "loop prefetch Conv Inp", "at= is missing", "" },
    { CONV, "", "loop unroll Conv", "the name of a loop is missing", "loop unroll T D" },
    { CONV, "", "loop split Conv W", "a factor is missing", "" },
    { CONV, "", "loop inline", "T", "" },
    { CONV, "", "layout fuse Conv", "the name of a dimension is missing", "" },
    { CONV, "", "loop prefetch Conv Inp at=H ahead=0", "not between 1 and 65536", "" },
    { CONV, "", "loop prefetch Conv Inp at=O", "at the same places in every iteration of loop O",
      "prefetch it at KW" },
    { CONV, "", "loop prefetch Conv Inp at=N",
    "1 iteration of loop N of Conv ahead: the loop has only 1",
      "" },
    { CONV, "loop unroll Conv KW", "loop prefetch Conv Ker at=KW", "marked unroll",
      "prefetch it at KH" },
    { CONV, "loop prefetch Conv Ker at=KW", "loop unroll Conv KW", "marked unroll", "" },
    { CONV, "loop prefetch Conv Inp at=H", "loop prefetch Conv Inp at=H",
      "already prefetched at loop H of Conv", "" },
    { CONV, "loop prefetch Conv Inp at=H", "loop fuse Conv H W",
      "an operand is prefetched by iterations of H", "" },
    { CONV, "loop inline BiasAdd", "loop prefetch ReLU BiasAdd at=H", "it is inlined", "" },
    { CONV, "loop inline BiasAdd", "loop prefetch Conv BiasAdd at=H", "does not read BiasAdd",
      "it reads Inp, Ker" },
    { CONV, "loop cache_read Conv Inp at=N", "loop prefetch Conv Inp at=H",
      "reads Inp from the tile of a cache_read", "prefetch it at N" },
    { CONV, "loop prefetch Conv Ker at=I", "loop cache_read Conv Ker at=O",
      "reads Ker from the tile of a cache_read", "prefetch it at O" },
    { CONV, "loop prefetch BiasAdd Conv at=H", "loop compute_at BiasAdd Conv W",
      "a schedule of its own", "undo" },
    { "c2d n=1 i=4 h=8 w=8 o=8 k=3 p=1", "loop prefetch Conv Inp at=W",
      "loop compute_at Inp Conv H",
      "computed inside these loops", "compute_root Inp" },
    { CONV, "", "loop cache_write Conv at=Z", "no loop Z", "its loops are" },
    { CONV, "", "loop compute_at ReLU Conv W", "ReLU reads BiasAdd, which is not",
      "loop compute_at BiasAdd Conv W" },
    { CONV, "", "loop compute_at BiasAdd Conv KH", "only complete after", "" },
    { CONV, "set propagate off;layout set Conv NHWO", "loop compute_at BiasAdd Conv W",
      "layouts differ",
      "give both one layout: `layout set Conv \"N O H W\"` or `layout set BiasAdd \"N H W O\"`" },
    { CONV, "loop compute_at BiasAdd Conv W", "loop split BiasAdd W 2", "follows its loops",
      "compute_root BiasAdd" },
    { CONV, "loop compute_at BiasAdd Conv W", "loop reorder Conv I W", "could not stay there",
      "compute_root BiasAdd" },
    { CONV, "loop compute_at BiasAdd Conv W;loop compute_at ReLU Conv W",
      "loop compute_root BiasAdd",
      "could not stay there", "compute_root ReLU" },
    { CONV, "loop split Conv O 2 4", "layout set Conv \"N O/2 H W 2o\"", "would no longer apply",
      "layouts before loops" },
    { CONV, "", "layout set Conv \"N O/3 H W 3o\"", "", "" },
    { CONV, "", "layout split Conv Q 2", "no dimension Q", "its dimensions are" },
    { CONV, "", "layout reorder Conv N O H", "names 3", "" },
    { CONV, "", "layout reorder Conv N O H H", "named twice", "" },
    { CONV, "", "layout split Foo O 2", "no tensor Foo", "the tensors are" },
    { "c2d n=1 i=4 h=8 w=8 o=8 k=3 p=1", "", "layout set Inp_in NHWI", "belongs to the caller",
      "set the layout of Inp" },
    { CONV, "", "loop rfactor Conv N 2", "no reduction N", "its reductions are I(4) KH(3) KW(3)" },
    { CONV, "", "loop rfactor Conv I 3", "does not divide", "a divisor of 4" },
    { CONV, "loop split Conv I 2", "loop rfactor Conv I 2", "would no longer apply",
      "layouts before loops" },
    { CONV, "", "loop inline Conv", "a reduction", "" },
    { CONV, "", "loop inline ReLU", "an output", "" },
    { CONV, "loop inline BiasAdd", "loop split BiasAdd W 2", "is inlined", "compute_root BiasAdd" },
    { CONV, "", "loop cache_read Conv Bias", "does not read", "it reads Inp, Ker" },
    { CONV, "loop cache_read BiasAdd Conv at=W", "loop compute_at BiasAdd Conv W",
      "a schedule of its own", "undo" },
    { CONV, "", "layout store_at Conv Ker I", "not a constant", "they are packed before" },
    { CONV, "", "layout store_at Bias Ker I", "of a slice of Ker along I, which is 8 x 3 x 3",
      "does not have" },
    { CONV, "", "layout store_at Bias Kerr I", "no tensor Kerr", "" },
    { CONV, "", "layout decouple_at Bias", "not stored inside", "" },
    { "gmm m=4 k=4 n=3 bias=1", "layout store_at Bias B K", "layout split Bias N 3",
      "has no layout of its own",
      "decouple_at Bias" },
    { "gmm m=4 k=4 n=3 bias=1", "layout store_at Bias B K", "layout store_at Bias B K",
      "already stored inside B", "decouple_at Bias" },
    { "gmm m=4 k=4 n=3 bias=1", "layout store_at Bias B K;layout split B K 5 1",
      "layout decouple_at Bias", "would not apply", "layout reset B" },
    { "gmm m=4 k=4 n=3 bias=1", "layout store_at Bias B K", "loop cache_read C B at=M",
      "stored in one buffer", "" },
    { "gmm m=4 k=4 n=3 bias=1", "layout store_at Bias B K", "layout unpad B K after=1", "", "" },
    { "gmm m=4 k=4 n=3 bias=1", "layout store_at Bias B K",
      "layout unfold B K tile=2 stride=2 size=4", "Bias would not be stored any more",
      "decouple_at Bias" },
    { "gmm m=1 k=2 n=4", "", "loop split C M 2", "factor 2 is not between 1 and 1",
      "a loop of one iteration needs no split" },
    { GEMM, "", "loop split C M 0", "factor 0 is not between 1 and 8", "" },
    { "gmm m=1048576 k=1 n=1048576", "loop fuse C M N",
      "loop split C M_N 1099511627776 16777217", "iterations, and loop M_N has", "" },
    { GEMM, "loop rfactor C K 4", "loop rfactor C K.0 2", "already has partial results: C_rf",
      "to a reduction of C_rf" },
    { GEMM, "loop reorder C M K N;loop vectorize C N", "loop cache_write C at=N",
      "inside the vectorized loop N", "put the tile at M" },
    { GEMM, "loop reorder C M K N;loop cache_read C B at=N", "loop vectorize C N",
      "the tile of B at loop N of C", "put the tile at K" },
    { GEMM, "loop reorder C M K N;loop vectorize C N", "loop cache_read C A at=N",
      "the tile of A at loop N of C", "put the tile at K" },
    { "c2d n=1 i=4 h=8 w=8 o=8 k=3 p=1", "loop reorder Conv I KH KW W;loop vectorize Conv W",
      "loop compute_at Inp Conv W", "lanes of the vectorized loop W", "outside of W" },
    { "x = input n=1 i=4 h=6 w=6; c = c2d(x) o=4 k=1; t = transpose(c) perm=0,1,3,2; z = add(c, t)",
      "loop inline t", "loop compute_at z c W", "elements of c that later iterations produce",
      "all of c first" },
    { CONV, "", "set propagate maybe", "one of off, on", "" },
    { CONV, "", "set propagat on", "no setting", "did you mean propagate" },
    { "x = input m=4 k=4; a = gmm(x) n=4; b = gmm(x) n=4; y = add(a, b)", "",
      "loop compute_at y a N", "it reads b, which is computed after a", "y needs all of b" },
    { "gmm m=64 k=8192 n=8192", "loop reorder C K M N", "loop cache_write C at=K",
      "elements, more than", "deeper loop" },
    { "c2d n=1 i=64 h=100 w=100 o=8 k=3 p=1", "", "loop compute_at Inp Conv N",
      "computing Inp inside loop N of Conv needs a tile of", "compute it at a deeper loop" },
};

static const struct program *apply_all(struct arena *a, const char *spec, const char *steps)
{
    const struct program *p;
    struct err e;
    if (!program_new(a, spec, &p, &e))
        fail_msg("%s: %s", spec, e.text);
    char *copy = arena_strdup(a, steps), *rest = NULL;
    for (char *s = strtok_r(copy, ";", &rest); s; s = strtok_r(NULL, ";", &rest))
        if (!program_apply_line(p, s, &p, &e))
            fail_msg("%s: %s", s, e.text);
    return p;
}

/* Refused behind the steps of p, with these words. */
static void assert_replay_refuses(struct arena *a, const struct program *p, const char *line,
                                  const struct err *want)
{
    const char **lines = ARENA_ARRAY(a, const char *, p->n_steps + 1);
    const struct program *out;
    struct err e = { 0 };
    int bad;
    for (int i = 0; i < p->n_steps; i++)
        lines[i] = p->steps[i];
    lines[p->n_steps] = line;
    assert_false(program_replay(a, p->base->spec, lines, p->n_steps + 1, &out, &bad, &e));
    assert_int_equal(bad, p->n_steps);
    assert_string_equal(e.text, want->text);
    assert_string_equal(e.fix, want->fix);
    assert_int_equal(e.at.col, want->at.col);
}

static void illegal_steps_say_why(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(refusals); i++) {
        struct arena *a = arena_new();
        const struct refusal *r = &refusals[i];
        const struct program *p = apply_all(a, r->spec, r->steps), *after = NULL;
        struct str before = { 0 }, now = { 0 };
        struct err e = { 0 };
        program_print_nest(&before, p);
        if (program_apply_line(p, r->bad, &after, &e))
            fail_msg("row %d: `%s` was accepted", i, r->bad);
        assert_replay_refuses(a, p, r->bad, &e);
        if (after || !strstr(e.text, r->says) || !strstr(e.fix,
            r->fix) || !e.at.col || !e.source[0])
            fail_msg("row %d: `%s`: text \"%s\" fix \"%s\" col %d", i, r->bad, e.text, e.fix,
                     e.at.col);
        program_print_nest(&now, p);
        assert_string_equal(str_text(&before), str_text(&now));
        str_free(&before);
        str_free(&now);
        arena_free(a);
    }
}

/* SPEC A.7: W[k][j] = 10k + j stored N K with b[j] = 100 + j behind each column. */
static void stored_at_the_end_of_each_column(void **state)
{
    (void)state;
    static const float want[15] = { 0, 10, 20, 30, 100, 1, 11, 21, 31, 101, 2, 12, 22, 32, 102 };
    struct arena *a = arena_new();
    const struct program *p = apply_all(a, "gmm m=2 k=4 n=3 bias=1",
                                        "layout reorder B N K;layout store_at Bias B K");
    int w = graph_tensor(p->graph, "B"), b = graph_tensor(p->graph, "Bias");
    float weight[12], bias[3] = { 100, 101, 102 }, memory[15];
    for (int i = 0; i < 12; i++)
        weight[i] = (float)(10 * (i / 3) + i % 3);
    assert_int_equal(p->held_in[b], w);
    assert_int_equal(p->layout[w]->elems, 15);
    layout_pack(p->layout[w], weight, memory);
    layout_place(p->pool, p->layout[b], bias, memory);
    for (int i = 0; i < 15; i++)
        assert_true(memory[i] == want[i]);
    const struct func *f;
    struct err e;
    assert_true(program_lower(p, &f, &e));
    assert_int_equal(f->n_params, 4);
    for (int i = 0; i < f->n_buffers; i++)
        if (streq(f->buffer[i].name, "B"))
            assert_string_equal(f->buffer[i].holds, "K=4 holds Bias");
        else
            assert_null(f->buffer[i].holds);
    p = apply_all(a, "gmm m=2 k=4 n=3 bias=1",
                  "layout reorder B N K;layout store_at Bias B K;layout decouple_at Bias");
    assert_int_equal(p->held_in[b], -1);
    assert_int_equal(p->layout[w]->elems, 12);
    static const char *const anew[] = { "layout reset B", "layout set B \"N K\"" };
    for (int i = 0; i < COUNT_OF(anew); i++) {            /* who lays it out anew has it alone */
        p = apply_all(a, "gmm m=2 k=4 n=3 bias=1",
                      arena_printf(a, "layout store_at Bias B K;%s;layout split Bias N 3 1",
                                   anew[i]));
        assert_int_equal(p->held_in[b], -1);
        assert_int_equal(p->layout[w]->elems, 12);
    }
    arena_free(a);
}

/* Legal, if odd: names of loops that come back, names longer than any line, very many tiles. */
#define PARTS_14 " M.1 M.2 M.3 M.4 M.5 M.6 M.7 M.8 M.9 M.10 M.11 M.12 M.13 M.14"
#define LONG "M.1_M.2_M.3_M.4_M.5_M.6_M.7_M.8_M.9_M.10_M.11_M.12_M.13_M.14"
#define LONGER LONG ".0_" LONG ".1_" LONG ".2_" LONG ".3_" LONG ".4"
#define NINE_INPUTS \
    "x = input n=4 c=4; r0 = relu(x); r1 = abs(x); r2 = neg(x); r3 = exp(x); r4 = tanh(x); " \
    "r5 = silu(x); r6 = gelu(x); r7 = relu6(x); r8 = sigmoid(x); " \
    "y = concat(r0, r1, r2, r3, r4, r5, r6, r7, r8) axis=0"
#define FORTY "abcdefghijabcdefghijabcdefghijabcdefghi"
#define AT_Y(r, axis) "loop compute_at " r " y " axis ";"
#define NINE_AT(axis) \
    AT_Y("r0", axis) AT_Y("r1", axis) AT_Y("r2", axis) AT_Y("r3", axis) AT_Y("r4", axis) \
    AT_Y("r5", axis) AT_Y("r6", axis) AT_Y("r7", axis) AT_Y("r8", axis)
static const struct { const char *spec, *steps; } accepted[] = {
    { "gmm m=16 k=8 n=8", "loop split C M 2 2 4;loop split C M.2 2;loop fuse C M.0 M.1;"
                          "loop split C M.0_M.1 1 2 2;loop fuse C M.2.0 M.2.1" },
    { GEMM, "loop split C M " ONES "8;loop fuse C" PARTS_14 ";loop split C " LONG " 1 1 1 1 4 2;"
            "loop fuse C " LONG ".0 " LONG ".1 " LONG ".2 " LONG ".3 " LONG ".4;"
            "loop split C " LONGER " 2 2" },
    { "gmm m=1 k=9 n=4 bias=1", "layout unfold A K tile=6 stride=4;loop rfactor C K 3;"
                                "loop split C_rf K.1 3;loop split C_rf K.0 2 2;"
                                "loop cache_read C_rf A at=K.0.0;loop split C_rf K.1.1 2" },
    { "x = input n=1 i=4 h=6 w=6; c = c2d(x) o=4 k=1; y = add(c, x)",
      "loop cache_read c x at=W;loop compute_at y c H" },
    { "x = input m=4 k=4; r = transpose(x) perm=1,0; y = add(x, r)",
      "loop inline r;loop cache_read y x at=M" },
    { "x = input m=4 k=4; r = transpose(x) perm=1,0; y = add(x, r)",
      "loop cache_read y x at=M;loop compute_at r y K" },
    { "c2d n=3 i=3 o=3 h=5 w=5 k=3",
      "loop split Conv N 2;loop split Conv O 2;loop split Conv H 2;loop split Conv W 2;"
      "loop split Conv I 2;loop split Conv KH 2;loop split Conv KW 2;"
      "loop cache_read Conv Inp at=KW.1;loop cache_read Conv Ker at=KW.1;"
      "loop cache_write Conv at=KW.1" },
    { "gmm m=5 k=7 n=6", "loop split C K 1 7 7 7;loop split C N 1 4 3 2;loop fuse C N.0 N.1 N.2;"
                         "loop cache_write C at=M" },
    { NINE_INPUTS, NINE_AT("N") },
    { "gmm m=8 k=8 n=8 type=f16", "loop stream C" },      /* its sums have a tile in any case */
    { "gmm m=8 k=8 n=8 type=bf16", "loop cache_write C at=K;loop stream C" },
    { "a = input h=4 rh=3; y = reduce_sum(a) axes=0 keep=0", "" },
    { "a = input h=4 rh=3 rh_=2; y = reduce_sum(a) axes=0,1 keep=0", "" },
    { "a = input a_2=4 a=3 z=1; b = input a=5; y = add(a, b)", "" },
    { "a = input " FORTY "x=4 " FORTY "y=3; b = transpose(a); y = add(a, a)", "" },
};

static void odd_schedules_equal_the_reference(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(accepted); i++) {
        struct arena *a = arena_new();
        const struct program *p = apply_all(a, accepted[i].spec, accepted[i].steps);
        double d = program_interpret_of_bound(p, seed);
        if (!(d <= 1))
            fail_msg("row %d: error %g of the bound", i, d);
        arena_free(a);
    }
}

/* What a program prints does not depend on what else its pool was used for. */
static void refused_steps_leave_no_trace(void **state)
{
    (void)state;
    static const char *const refused[] = { "", "layout unfold C M tile=1 stride=1 size=2" };
    struct str nest[COUNT_OF(refused)] = { { 0 } };
    for (int i = 0; i < COUNT_OF(refused); i++) {
        struct arena *a = arena_new();
        struct err e;
        const struct program *p = apply_all(a, "gmm m=17 k=17 n=10", "");
        assert_true(!refused[i][0] || !program_apply_line(p, refused[i], &p, &e));
        assert_true(program_apply_line(p, "loop split C M 1", &p, &e));
        program_print_nest(&nest[i], p);
        arena_free(a);
    }
    assert_string_equal(str_text(&nest[0]), str_text(&nest[1]));
    str_free(&nest[0]);
    str_free(&nest[1]);
}

/* The same by walking every iteration. */
static double walk_flops(const struct tree *t, int64_t *vals)
{
    double sum = 0;
    if (t->kind == TREE_STORE)
        return t->guard && !expr_eval(t->guard, vals) ? 0
                                                      : val_flops(t->value) + (t->how != STORE_SET);
    int64_t begin = 0, end = 1;
    if (t->kind == TREE_LOOP) {
        begin = t->begin ? expr_eval(t->begin, vals) : 0;
        end = t->end ? expr_eval(t->end, vals) : t->extent;
    }
    for (int64_t x = begin; x < end; x++) {
        if (t->kind == TREE_LOOP)
            vals[t->var->var] = x;
        for (int i = 0; i < t->n_kids; i++)
            sum += walk_flops(t->kid[i], vals);
    }
    return sum;
}

static void check_flops(const struct program *p)
{
    const struct func *f;
    struct err e;
    double sum = 0;
    if (!program_lower(p, &f, &e))
        return;
    int64_t *vals = xcalloc((size_t)exprs_n_vars(f->pool) + 1, sizeof *vals);
    for (int i = 0; i < f->n_roots; i++)
        sum += walk_flops(f->root[i], vals);
    free(vals);
    if (sum != func_flops(f))
        fail_msg("%s: %g operations, counted %g", p->base->spec, sum, func_flops(f));
}

/* What no compiler may leave out: sums and maxima of the main node, but for selected values. */
static void sums_are_counted(void **state)
{
    static const struct { const char *spec, *step; double sums; } table[] = {
        { "gmm m=8 n=6 k=5", NULL, 240 },
        { "gmm m=8 n=6 k=5", "loop split C K 2 3", 240 },
        { "c2d n=1 i=2 h=4 w=4 o=2 k=3 p=1 bias=1 relu=1", NULL, 576 },
        { "c2d n=1 i=2 h=4 w=4 o=2 k=3 p=1", "loop inline Inp", 400 },
        { "maxpool n=1 c=2 h=4 w=4 k=2 s=2", NULL, 32 },
        { "act n=1 c=2 h=4 w=4 f=relu", NULL, 0 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct arena *a = arena_new();
        const struct program *p = NULL;
        const struct func *f = NULL;
        struct err e;
        int bad;
        if (!program_replay(a, table[i].spec, &table[i].step, table[i].step != NULL, &p, &bad, &e)
            || !program_lower(p, &f, &e))
            fail_msg("%s: %s", table[i].spec, e.text);
        double sums = func_sums(f, f->graph->main_node);
        if (sums != table[i].sums)
            fail_msg("%s: %g sums, not %g", table[i].spec, sums, table[i].sums);
        arena_free(a);
    }
}

/* Random programs of every family: random layout steps, then random loop steps; illegal draws are
 * refused and must leave the program as it was. */

static void report_program(const struct program *p, double d)
{
    struct str nest = { 0 };
    program_print_nest(&nest, p);
    print_message("%s\n", p->base->spec);
    for (int i = 0; i < p->n_steps; i++)
        print_message("%s\n", p->steps[i]);
    print_message("%s", str_text(&nest));
    str_free(&nest);
    fail_msg("error %g of the bound (seed %llu)", d, (unsigned long long)seed);
}

static void random_schedules_equal_the_reference(void **state)
{
    (void)state;
    struct rng r = rng_seed(seed);
    const char *rounds = getenv("TS_ROUNDS");
    int n = rounds ? atoi(rounds) : 1500, applied = 0, refused = 0;
    for (int round = 0; round < n; round++) {
        struct arena *a = arena_new();
        const struct program *p;
        struct err e;
        if (!program_new(a, random_operator(a, &r, random_family(&r)), &p, &e)) {
            arena_free(a);
            continue;
        }
        int layouts = (int)rng_range(&r, 0, 6), loops = (int)rng_range(&r, 0, 12);
        for (int i = 0; i < layouts + loops; i++) {
            const char *line = i < layouts ? random_layout_step(a, &r, p) : random_loop_step(a, &r,
                    p);
            if (getenv("TS_VERBOSE"))
                print_message("%s: %s\n", p->base->spec, line);
            const struct func *f;
            if (!program_apply_line(p, line, &p, &e))
                refused++;
            else if (program_lower(p, &f, &e))
                applied++;
            else
                report_program(p, INFINITY);
        }
        double d = program_interpret_of_bound(p, seed + (uint64_t)round);
        if (!(d <= 1))
            report_program(p, d);
        check_flops(p);
        arena_free(a);
    }
    print_message("random schedules: %d rounds, %d steps applied, %d refused\n", n, applied,
                  refused);
    assert_true(applied > n);
}

int main(void)
{
    const char *given = getenv("TS_SEED");
    seed = given ? strtoull(given, NULL, 10) : 20261120;
    printf("# seed %llu\n", (unsigned long long)seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_nests),
        cmocka_unit_test(papers_figures_have_no_div_or_mod),
        cmocka_unit_test(illegal_steps_say_why),
        cmocka_unit_test(stored_at_the_end_of_each_column),
        cmocka_unit_test(odd_schedules_equal_the_reference),
        cmocka_unit_test(refused_steps_leave_no_trace),
        cmocka_unit_test(sums_are_counted),
        cmocka_unit_test(random_schedules_equal_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
