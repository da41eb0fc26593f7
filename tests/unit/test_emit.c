/* What stands around the statements of generated C: comments, notes of loops that are written out,
 * and whether the mathematical library is needed.  Nothing is compiled here (test_gen.c does). */
#include <stdio.h>
#include <string.h>

#include "kernels/gen/emit.h"
#include "kernels/program/program.h"
#include "tests/unit/targets.h"
#include "tests/unit/tree_text.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void comments_end_where_they_should(void **state)
{
    static const struct { const char *text, *want; } table[] = {
        { "plain", "/* plain */\n" },
        { "two\nlines\n", "/* two\n * lines */\n" },
        { "/* one already */", "/* one already */\n" },
        { "/**/", "/**/\n" },
        { "/* only begins", "/* /* only begins */\n" },
        { "only ends */", "/* only ends * / */\n" },
        { "/* two */ x = 1; /* of them */", "/* /* two * / x = 1; /* of them * / */\n" },
        { "/*/", "/* /* / */\n" },
        { "*/", "/* * / */\n" },
        { "", "/*  */\n" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct str out = {0};
        emit_comment(&out, table[i].text);
        assert_string_equal(str_text(&out), table[i].want);
        assert_ptr_equal(strstr(out.data + 2, "*/"), out.data + out.len - 3);
        str_free(&out);
    }
}

/* The C of a tree with vectors of so many floats; the texts live in a. */
static const char *c_of(struct arena *a, const char *tree, int lanes)
{
    struct gen_opts o = { .target = target_with(lanes, 32) };
    struct str out = {0};
    struct err e;
    if (!gen_c(tree_from_text(a, tree), &o, &out, &e))
        fail_msg("%s", e.text);
    const char *copy = arena_strdup(a, str_text(&out));
    str_free(&out);
    return copy;
}

/* A loop of one iteration is none; what is left of one that was cut says of which. */
static void one_iteration_is_no_loop(void **state)
{
    static const struct { const char *loops, *has, *has_not; } table[] = {
        { "for w 8 from 6 to 7\n  C[w] = A[w]\n", "/* W = 6 */", "for (" },
        { "for w 8 from 6 to 8\n  C[w] = A[w]\n", "for (long w = 6; w < 8; w++)", "/* W = 6" },
        { "for w 8 unroll from 6 to 7\n  C[w] = A[w]\n", "C[6] = A[6]", "/*" },
        { "for w 8 unroll from 5 to 7\n  C[w] = A[w]\n", "/* unrolled W(5..6) */", "for (" },
        { "for w 8 unroll from 0 to 2\n  C[w] = A[w]\n", "/* unrolled W(0..1) */", "for (" },
        { "for m 2 unroll\n  for w 8 unroll from m to 3\n    C[4 * m + w] = A[w]\n",
          "/* unrolled M(2) */", "for (" },
        { "for w 1\n  C[w] = A[w]\n", "C[0] = A[0]", "/*" },
        { "for m 2 unroll\n  for w 8 from 3 to 4\n    C[4 * m + w] = A[w]\n",
          "/* unrolled M(2) */", "/* W = 3" },
        { "for m 2\n  for w 8 from 3 to 4\n    C[4 * m + w] = A[w]\n", "/* W = 3 */",
          "for (long w" },
        { "for w 8 from 3 to 3\n  C[w] = A[w]\nC[0] = A[1]\n", "C[0] = A[1]", "w" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct arena *a = arena_new();
        const char *c = c_of(a, arena_printf(a, "in A[8]\nout C[8]\n%s", table[i].loops), 16);
        const char *body = strchr(c, '{');
        if (!strstr(body, table[i].has) || strstr(body, table[i].has_not))
            fail_msg("row %d: not \"%s\", or \"%s\", in\n%s", i, table[i].has, table[i].has_not, c);
        arena_free(a);
    }
}

/* Lanes are told of where there are vectors, and loops of one float each where there are none. */
static void notes_tell_of_lanes(void **state)
{
    static const char tree[] = "in A[4][16]\nout C[4][16]\nfor m 4 unroll\n  for n 16 vectorize\n"
                               "    C[m][n] = A[m][n]\n";
    struct arena *a = arena_new();
    (void)state;
    const char *vectors = c_of(a, tree, 16), *floats = c_of(a, tree, 1);
    assert_non_null(strstr(vectors, "/* unrolled M(4), lanes N(16) */"));
    assert_null(strstr(vectors, "for ("));
    assert_non_null(strstr(floats, "/* unrolled M(4) */"));
    assert_non_null(strstr(floats, "for (long n = 0; n < 16; n++)"));
    arena_free(a);
}

static int count_of(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        n++;
    return n;
}

/* The instrumented kernel says where each marked loop begins an iteration, and where it ends; the
 * first one, mark 0, as well. */
static void marks_have_their_ends(void **state)
{
    static const char loop[] = "for %c 5000\n  C[%c] = A[%c] * 2\n";
    (void)state;
    for (int n = 1; n <= 3; n++) {
        struct arena *a = arena_new();
        struct gen_opts o = { .target = target_named("avx512") };
        struct trace_table table;
        struct str tree = {0}, out = {0};
        struct err e;
        str_add(&tree, "in A[5000]\nout C[5000]\n");
        for (int i = 0; i < n; i++)
            str_printf(&tree, loop, 'm' + i, 'm' + i, 'm' + i);
        assert_true(gen_trace(tree_from_text(a, str_text(&tree)), &o, 64, &out, &table, &e));
        assert_int_equal(table.n_marks, n);
        assert_int_equal(count_of(str_text(&out), "ts->mark(ts, -1);"), n);
        for (int i = 0; i < n; i++) {
            char call[32];
            snprintf(call, sizeof call, "ts->mark(ts, %d)", i);
            assert_int_equal(count_of(str_text(&out), call), 1);
        }
        str_free(&tree);
        str_free(&out);
        arena_free(a);
    }
}

/* Linking against a library that is not needed takes a quarter of a build's time.  Functions of
 * vectors are in the text, except for those that are an instruction (sqrt). */
static void libm_is_linked_for_its_functions_only(void **state)
{
    static const struct { const char *value; bool scalar, vector; } table[] = {
        { "A[w] + 1", false, false }, { "max(A[w], 0)", false, false },
        { "select(w < 3, A[w], 0)", false, false }, { "exp(A[w])", true, false },
        { "tanh(A[w])", true, false }, { "sqrt(A[w])", true, true },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++)
        for (int lanes = 0; lanes < 2; lanes++) {
            struct arena *a = arena_new();
            const char *c = c_of(a, arena_printf(a, "in A[16]\nout C[16]\nfor w 16%s\n"
                                                    "  C[w] = %s\n", lanes ? " vectorize" : "",
                                                 table[i].value), 16);
            bool calls = lanes ? table[i].vector : table[i].scalar;
            if (gen_calls_libm(c) != calls)
                fail_msg("%s: %d\n%s", table[i].value, !calls, c);
            arena_free(a);
        }
}

/* The piece of a cut loop that has one iteration says its value, also where it begins with no loop
 * but a statement, because N.1 has one element there, or with a tile that needs no braces. */
static void pieces_say_their_value(void **state)
{
    static const struct { const char *spec, *want, *line[7]; } table[] = {
        { "gmm m=4 k=8 n=33", "/* N.0 = 2 */", { "loop split C N 0 16" } },
        { "x = input m=3 n=33; y = relu(x)", "/* N.0 = 2 */", { "loop split y N 0 16" } },
        { "c1d n=1 i=4 w=3 o=4 k=3 p=1", "/* W.0 = 0: W = 0 */",
          { "loop split Conv W 2", "loop cache_write Conv at=O",
            "loop reorder Conv N O I W.0 W.1 KW", "loop compute_at Inp Conv W.0",
            "loop unroll Conv W.1", "loop unroll Conv KW" } },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct arena *a = arena_new();
        const struct gen_opts o = { .target = target_named("avx2") };
        const struct program *p;
        const struct func *f;
        struct str c = {0};
        struct err e = {0};
        bool ok = program_new(a, table[i].spec, &p, &e);
        for (const char *const *line = table[i].line; ok && *line; line++)
            ok = program_apply_line(p, *line, &p, &e);
        if (!ok || !program_lower(p, &f, &e) || !gen_c(f, &o, &c, &e))
            fail_msg("%s: %s", table[i].spec, e.text);
        if (!strstr(str_text(&c), table[i].want))
            fail_msg("%s: no note in\n%s", table[i].spec, str_text(&c));
        str_free(&c);
        arena_free(a);
    }
}

/* Registers that are zero at first share a line, unless one of them begins a piece. */
static void zeroes_keep_their_notes(void **state)
{
    static const char text[] =
        "in A[2]\nout C[2]\ntile T[2]\n  T[0] = 0\n  T[1] = 0\n  for k 2 reduce\n"
        "    T[0] += A[k]\n    T[1] += A[k]\n  C[0] = T[0]\n  C[1] = T[1]\n";
    (void)state;
    for (int noted = 0; noted < 2; noted++) {
        struct arena *a = arena_new();
        const struct gen_opts o = { .target = target_named("plain") };
        const struct func *f = tree_from_text(a, text);
        struct str c = {0};
        struct err e = {0};
        struct tree *second = ARENA_DUP(a, f->root[0]->kid[1], 1);
        second->piece = noted ? "M = 1" : NULL;
        ((const struct tree **)f->root[0]->kid)[1] = second;
        if (!gen_c(f, &o, &c, &e))
            fail_msg("%s", e.text);
        if (!strstr(str_text(&c), noted ? "t0 = 0.0f;\n    /* M = 1 */\n    float t1 = 0.0f;\n"
                                        : "t0 = 0.0f, t1 = 0.0f;\n"))
            fail_msg("%s", str_text(&c));
        str_free(&c);
        arena_free(a);
    }
}

/* A macro repeats its arguments: three maxima in each other would be 27 times as long. */
static void nested_maxima_stay_functions(void **state)
{
    static const struct { const char *use; bool macro; } table[] = {
        { "x = max8(max8(a, b), max8(c, d));", true },
        { "x = min8(max8(a, b), c); y = max8(max8(a, (b)), c);", true },
        { "x = max8(max8(max8(a, b), c), d);", false },
        { "x = max8(a, max8(b, max8(c, d)));", false },
        { "x = max8(a, b + (min8(c, max8(d, e))));", false },
        { "x = max16(a, max16(b, max16(c, d)));", true },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct str text = {0}, out = {0};
        const char *next = NULL;
        str_printf(&text, "static inline v8 max8(v8 a, v8 b)\n{\n    i8 take_a = a > b;\n"
                   "    return (v8)(((i8)a & take_a) | ((i8)b & ~take_a));\n}\n%s\n",
                   table[i].use);
        bool macro = gen_macro(&out, str_text(&text), &next);
        if (macro != table[i].macro)
            fail_msg("%s: %d", table[i].use, macro);
        assert_true(!macro || str_starts(next, table[i].use));
        str_free(&text);
        str_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comments_end_where_they_should),
        cmocka_unit_test(one_iteration_is_no_loop),
        cmocka_unit_test(notes_tell_of_lanes),
        cmocka_unit_test(marks_have_their_ends),
        cmocka_unit_test(libm_is_linked_for_its_functions_only),
        cmocka_unit_test(pieces_say_their_value), cmocka_unit_test(zeroes_keep_their_notes),
        cmocka_unit_test(nested_maxima_stay_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
