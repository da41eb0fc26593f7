/* What is done to generated texts, by hand: joining, marks, the pragma of parallel loops; and which
 * stores of lanes lie apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/gen/gen_impl.h"
#include "tests/unit/tree_text.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* Only what a text defines gets a number, and only whole words. */
static void joined_functions_have_numbers(void **state)
{
    static const char *const source[] = {
        "static inline v8 load8(const float *p)\n{\n    return *p;\n}\n"
        "static const int load9[2] = { 1, 2 };\n"
        "static __attribute__((noinline)) void part(int a)\n{\n    load8s(a);\n}\n"
        "void kernel(float *x)\n{\n    x[0] = load8(x) + exp(x[1]) + load80 + kernel_;\n}\n"
        "int other(void);\n",
        "void ts_entry(float *const *b)\n{\n    load8(b[0], load9);\n    ts_entry(b);\n}",
    };
    struct str out = { 0 };
    (void)state;
    gen_join(source, 2, 6, &out);
    assert_string_equal(str_text(&out),
        "static inline v8 load8_6(const float *p)\n{\n    return *p;\n}\n"
        "static const int load9[2] = { 1, 2 };\n"
        "static __attribute__((noinline)) void part_6(int a)\n{\n    load8s(a);\n}\n"
        "void kernel_6(float *x)\n{\n    x[0] = load8_6(x) + exp(x[1]) + load80 + kernel_;\n}\n"
        "int other(void);\n"
        "void ts_entry_7(float *const *b)\n{\n    load8(b[0], load9);\n    ts_entry_7(b);\n}");
    str_free(&out);
}

/* Marks go, and say which loop each line is in. */
static void marks_become_loops(void **state)
{
    struct arena *a = arena_new();
    struct str text = { 0 };
    struct code_lines lines;
    (void)state;
    str_printf(&text, "first\n%c3 7 16 N\nin n\n%c14 12 2 K.1\nin k\n%c\nin n again\n%c\nlast\n",
               GEN_MARK, GEN_MARK, GEN_MARK, GEN_MARK);
    str_printf(&text, "%c\nend\n", GEN_MARK);
    gen_take_marks(a, &text, &lines);
    assert_string_equal(str_text(&text), "first\nin n\nin k\nin n again\nlast\nend\n");
    static const int of[] = { -1, 0, 1, 0, -1, -1 };
    assert_int_equal(lines.n, COUNT_OF(of));
    for (int i = 0; i < COUNT_OF(of); i++)
        assert_int_equal(lines.of[i], of[i]);
    assert_int_equal(lines.n_loops, 2);
    assert_true(lines.loop[0].node == 3 && lines.loop[0].trips == 16 && lines.loop[0].parent == -1);
    assert_true(lines.loop[1].node == 14 && lines.loop[1].trips == 2 && lines.loop[1].parent == 0);
    assert_true(lines.loop[0].number == 7 && lines.loop[1].number == 12);
    assert_string_equal(lines.loop[0].axis, "N");
    assert_string_equal(lines.loop[1].axis, "K.1");
    assert_null(lines.source);
    str_free(&text);
    arena_free(a);
}

/* Parts are taken dynamically from 16 iterations with 16 million updates on; a part has half a
 * million updates, or is one iteration. */
static void long_loops_are_shared_dynamically(void **state)
{
    static const struct { const char *tree, *pragma; } rows[] = {
        { "in A[64]\nout C[64]\nfor m 64 parallel\n  C[m] = A[m]\n", "static)\n" },
        { "in A[16][1000000]\nout C[16][1000000]\nfor m 16 parallel\n  for n 1000000\n"
          "    C[m][n] = A[m][n]\n", "dynamic, 1)\n" },
        { "in A[16][999999]\nout C[16][999999]\nfor m 16 parallel\n  for n 999999\n"
          "    C[m][n] = A[m][n]\n", "static)\n" },
        { "in A[15][9000000]\nout C[15][9000000]\nfor m 15 parallel\n  for n 9000000\n"
          "    C[m][n] = A[m][n]\n", "static)\n" },
        { "in A[32000000]\nout C[32000000]\nfor m 32000000 parallel\n  C[m] = A[m]\n",
          "dynamic, 500000)\n" },
        { "in A[320000][100]\nout C[320000][100]\nfor m 320000 parallel\n  for n 100\n"
          "    C[m][n] = A[m][n]\n", "dynamic, 5000)\n" },
        { "in A[4][8]\nout C[4][8]\nfor m 4 parallel\n  for n 8 parallel\n    C[m][n] = A[m][n]\n",
          "static) collapse(2)\n" },
        { "in A[4][4000000]\nout C[4][4000000]\nfor m 4 parallel\n  for n 4 parallel\n"
          "    for k 1000000\n      C[m][k + 1000000 * n] = A[m][k + 1000000 * n]\n",
          "dynamic, 1) collapse(2)\n" },
        { "in A[4][8]\nout C[4][8]\nfor m 4 parallel\n  for n 8 parallel from m to 8\n"
          "    C[m][n] = A[m][n]\n", "static)\n" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(rows); i++) {
        struct arena *a = arena_new();
        const struct gen_opts o = { .target = target_named("plain"), .openmp = true };
        struct str out = { 0 };
        struct err e = { 0 };
        if (!gen_c(tree_from_text(a, rows[i].tree), &o, &out, &e))
            fail_msg("%s: %s", rows[i].tree, e.text);
        static const char head[] = "#pragma omp parallel for schedule(";
        const char *at = strstr(str_text(&out), head);
        if (!at || !str_starts(at + strlen(head), rows[i].pragma))
            fail_msg("%s: not %s in\n%s", rows[i].tree, rows[i].pragma, str_text(&out));
        str_free(&out);
        arena_free(a);
    }
}

static void lanes_that_lie_apart_are_found(void **state)
{
    static const struct {
        const char *tree; int64_t stride; const char *axis, *adjacent; bool load;
    } rows[] = {
        { "in A[8][16]\nout C[16][8]\nfor m 8\n  for n 16 vectorize\n    C[n][m] = A[m][n]\n", 8,
          "N", "M", false },
        { "in A[8][16]\nout C[16][8]\nfor n 16 vectorize\n  C[n][3] = A[3][n]\n", 8, "N", NULL,
          false },
        { "in A[8][16]\nout C[8][16]\nfor m 8\n  for n 16 vectorize\n    C[m][n] = A[m][n]\n", 0,
          NULL, NULL, false },
        { "in A[16]\nout C[16][8]\nfor n 16\n  for m 8\n    C[n][m] = A[n]\n", 0, NULL, NULL,
          false },
        { "in A[16]\nout C[2]\nfor n 16 vectorize\n  C[1] = A[n]\n", 0, NULL, NULL, false },
        { "in A[16]\nout C[16]\ntile T[16][2]\n  for n 16 vectorize\n    T[n][0] = A[n]\n"
          "  for n 16\n    C[n] = T[n][0]\n", 0, NULL, NULL, false },
        { "in A[16]\nout C[16]\nout D[16][2]\nfor n 16\n  C[n] = A[n]\nfor n 16 vectorize\n"
          "  D[n][1] = A[n]\n", 2, "N", NULL, false },
        { "in A[16][4]\nout C[4][16]\nfor m 4\n  for n 16 vectorize\n"
          "    C[m][n] = 2 * A[n][m]\n", 4, "N", "M", true },
        { "in A[16][4]\nout C[4][16]\nfor m 4\n  for n 16 vectorize\n"
          "    C[m][n] += A[n][m]\n", 4, "N", "M", true },
        { "in A[16][4]\nout C[4][16]\nfor m 4\n  for n 16 vectorize\n"
          "    C[m][n] = A[n][m]\n", 0, NULL, NULL, true },            /* a copy */
        { "in A[16][4]\nout C[16]\nfor m 4\n  for n 16 vectorize\n"
          "    C[n] += 2 * A[n][1]\n", 4, "N", NULL, true },
        { "in A[4]\nout C[16]\nfor m 4\n  for n 16 vectorize\n    C[n] += 2 * A[m]\n", 0, NULL,
          NULL, true },
        { "in A[16]\nout C[16]\nfor n 16 vectorize\n  C[n] = 2 * A[15 + -1 * n]\n", 0, NULL, NULL,
          true },
        { "in A[16][2]\nout C[16][8]\nfor n 16 vectorize\n  C[n][3] = 2 * A[n][1]\n", 8, "N",
          NULL, false },
        { "in A[16]\nout C[16]\ntile T[16][2]\n  for n 16\n    T[n][0] = A[n]\n"
          "  for n 16 vectorize\n    C[n] = 2 * T[n][0]\n", 0, NULL, NULL, true },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(rows); i++) {
        struct arena *a = arena_new();
        struct lanes_apart x = { 0 };
        bool found = func_lanes_apart(tree_from_text(a, rows[i].tree), rows[i].load, &x);
        if (found != (rows[i].axis != NULL))
            fail_msg("%s: %s", rows[i].tree, found ? x.axis : "nothing");
        if (found) {
            assert_string_equal(x.axis, rows[i].axis);
            assert_string_equal(x.buffer, rows[i].load ? "A"
                                                       : strstr(rows[i].tree, "D[") ? "D" : "C");
            assert_int_equal(x.stride, rows[i].stride);
            assert_true(!x.adjacent == !rows[i].adjacent);
            assert_true(!x.adjacent || streq(x.adjacent, rows[i].adjacent));
        }
        arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joined_functions_have_numbers),
        cmocka_unit_test(marks_become_loops),
        cmocka_unit_test(long_loops_are_shared_dynamically),
        cmocka_unit_test(lanes_that_lie_apart_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
