/* Parts of nests by hand: what copies become, what is counted in trees, what a broken tree is
 * refused for, and the loops that measure ceilings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/gen/gen.h"
#include "tests/unit/fork_child.h"
#include "tests/unit/programs.h"
#include "tests/unit/tree_text.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* The heads of the loops over c in a nest, one a line. */
static const char *heads_of_c(struct arena *a, const char *nest)
{
    const char *heads = "";
    for (const char *s = nest; (s = strstr(s, "for c")); s++)
        heads = arena_printf(a, "%s%.*s\n", heads, (int)strcspn(s, "\n"), s);
    return heads;
}

/* 64 lanes at a time where that comes out even or more than once; the rest is one vector loop, or
 * a loop of one iteration. */
static void copies_are_cut_into_vectors(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct str nest = { 0 };
    program_print_nest(&nest, program_bare(a, "concat n=1 c=150 c2=64 c3=65 c4=129"));
    assert_string_equal(heads_of_c(a, str_text(&nest)),
                        "for c.v in range(2):\n"
                        "for c in vectorize(64):\n"
                        "for c in vectorize(22):\n"      /* 150 = 2 * 64 + 22 */
                        "for c in vectorize(64):\n"
                        "for c in vectorize(65):\n"
                        "for c.v in range(2):\n"
                        "for c in vectorize(64):\n"
                        "for c in range(407, 408):\n");  /* 150 + 64 + 65 + 128 */
    assert_non_null(strstr(str_text(&nest), "= Inp2[n][c]"));
    assert_non_null(strstr(str_text(&nest), "Concat[n][c + 128] = Inp[n][c + 128]"));
    assert_non_null(strstr(str_text(&nest), "Concat[n][c + 150] = Inp2[n][c]"));
    assert_non_null(strstr(str_text(&nest), "Concat[n][c + 214] = Inp3[n][c]"));
    str_free(&nest);
    arena_free(a);
}

/* statements: with 16 lanes. */
static const struct { const char *text; double flops, sums, statements; } trees[] = {
    { "in A[8][4]\nout C[8]\nfor m 8\n  C[m] = 0\n  for k 4 reduce\n    C[m] += A[m][k] * 2\n",
      8 * 4 * 2, 8 * 4, 2 },
    { "in A[4][5]\nout C[4]\nfor n 4\n  for k 5 reduce\n    C[n] max= A[n][k]\n", 20, 20, 1 },
    /* iterations: 2 + 3 + 3 + 3, then 2 + 1 + 0 + 0 */
    { "in A[4]\nout C[4]\nfor n 4\n  for h 3 from max(0, 1 - n) to 3\n    C[n] = A[n] + 1\n", 11,
      0, 1 },
    { "in A[4]\nout C[4]\nfor n 4\n  for h 4 from n to 2\n    C[n] = A[n] + 1\n", 3, 0, 1 },
    { "in A[4]\nout C[4]\nfor n 4\n  if n < 3: C[n] = A[n] * A[n] + 1\n", 3 * 2, 0, 1 },
    /* the larger side of a select counts; its sum is none of a product alone */
    { "in A[4]\ninout C[4]\nfor n 4\n  C[n] += select(n < 2, A[n] * 2, 0)\n", 4 * 2, 0, 1 },
    { "in A[4][20]\nout C[4][20]\nfor m 4 unroll\n  for n 20 vectorize\n"
      "    C[m][n] = A[m][n] + 1\n", 80, 0, 4 * 2 },
    { "in A[32]\nout C[32]\nfor n 32 vectorize\n  C[n] = A[n] + 1\nfor n 16 vectorize\n"
      "  C[n] = A[n] * A[n] - 1\n", 32 + 16 * 2, 0, 2 + 1 },
    { "in A[8]\nout C[8]\nfor n 8\n  C[n] = A[n]\n", 0, 0, 1 },
};

/* A product of an element and a constant is none of two elements. */
static void products_are_counted(void **state)
{
    (void)state;
    static const struct { const char *text; double products, all; } row[] = {
        { "in A[4]\nout C[4]\nfor n 4\n  if n < 3: C[n] = A[n] * A[n] + 1\n", 3, 3 },
        { "in A[4]\ninout C[4]\nfor n 4\n  C[n] += select(n < 2, A[n] * 2, 0)\n", 0, 4 },
        { "in A[4]\ninout C[4]\nfor n 4\n  C[n] += select(n < 2, A[n] * A[n], A[n] * 2)\n", 4, 4 },
        { "in A[4]\ninout C[4]\nfor n 4\n  C[n] += A[n] * A[n] * A[n] + 2 * A[n]\n", 8, 12 },
        { "in A[4]\nout C[4]\nfor n 4\n  C[n] = A[n]\n", 0, 0 },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct arena *a = arena_new();
        const struct func *f = tree_from_text(a, row[i].text);
        if (func_products(f, false) != row[i].products || func_products(f, true) != row[i].all)
            fail_msg("%s: %g and %g products", row[i].text, func_products(f, false),
                     func_products(f, true));
        arena_free(a);
    }
}

static void trees_are_counted(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(trees); i++) {
        struct arena *a = arena_new();
        const struct func *f = tree_from_text(a, trees[i].text);
        double all = trees[i].flops;
        if (func_flops(f) != all || func_sums(f, 0) != trees[i].sums ||
            func_statements(f, 16) != trees[i].statements)
            fail_msg("%s: %g operations, %g sums, %g statements", trees[i].text, func_flops(f),
                     func_sums(f, 0), func_statements(f, 16));
        assert_true(func_sums(f, 1) == 0 && func_tensor_flops(f) == 0);
        assert_true(func_needed(f, all + 5) == (all > 0 ? all : 5));
        assert_true(func_needed(f, 1) == 1);
        assert_false(func_is_narrow(f));
        arena_free(a);
    }
}

/* message NULL: the tree is sound. */
static const struct { const char *text, *message; } broken[] = {
    { "out C[8]\nfor m 9\n  C[m] = 0\n", "index 0 of C ranges over [0, 8], outside [0, 8)" },
    { "out C[8]\nfor m 8\n  C[m] = 0\n", NULL },
    { "out C[8]\nfor m 9\n  if m < 8: C[m] = 0\n", NULL },
    { "out C[8]\nfor m 9 from 0 to 8\n  C[m] = 0\n", NULL },
    { "in A[8]\nout C[8]\nfor m 8\n  C[m] = A[m - 1]\n",
      "index 0 of A ranges over [-1, 6], outside [0, 8)" },
    { "in A[8]\nout C[8]\nfor m 8\n  C[m] = select(m < 4, A[m + 4], 0)\n", NULL },
    { "in A[8]\nout C[8]\nfor m 8\n  C[m] = A[m + 4] + select(m < 4, A[m + 4], 0)\n",
      "index 0 of A ranges over [4, 11], outside [0, 8)" },
    { "in A[8][2]\nout C[8]\nfor m 8\n  C[m] = A[m]\n", "buffer A has rank 2, accessed with 1" },
    { "out C[8]\nfor m 8\n  for m 8\n    C[m] = 0\n",
      "loop variable m is bound twice on one path" },
    { "out C[8]\nfor m 8\n  C[m] = 0\nfor m 8\n  C[m] = 0\n", NULL },
    { "out C[8][4]\nfor m 8 vectorize\n  for k 4\n    C[m][k] = 0\n",
      "loop k inside vectorized loop m" },
    { "out C[8][4]\nfor m 8 vectorize\n  for k 4 unroll\n    C[m][k] = 0\n", NULL },
    { "out C[8]\ntile T[8]\n  for m 8\n    T[m] = 0\nfor m 8\n  C[m] = T[m]\n",
      "buffer T is used outside its scope" },
    { "out C[8]\ntile T[8]\n  for m 8\n    T[m] = 0\n  for m 8\n    C[m] = T[m]\n", NULL },
    { "out C[8]\ntile T[8]\n  for m 8 prefetch T 1\n    C[m] = T[m]\n",
      "loop m prefetches what is not in memory" },
    { "in A[8]\nout C[8]\nfor m 8 prefetch A 1\n  C[m] = A[m]\n", NULL },
};

/* Reads a tree in a child, which ends with a message when the tree is broken.  The caller frees
 * *said.  Returns whether it ended well. */
static bool is_sound(const char *text, struct str *said)
{
    char part[512];
    int fd[2], status = 0;
    assert_int_equal(pipe(fd), 0);
    fflush(NULL);
    pid_t child = fork_child();
    if (child == 0) {
        dup2(fd[1], STDERR_FILENO);
        struct arena *a = arena_new();
        tree_from_text(a, text);
        arena_free(a);
        _exit(0);
    }
    close(fd[1]);
    for (ssize_t n; (n = read(fd[0], part, sizeof part)) > 0;)
        str_add_n(said, part, (size_t)n);
    close(fd[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void broken_trees_are_found(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(broken); i++) {
        struct str said = { 0 };
        bool sound = is_sound(broken[i].text, &said);
        if (sound != !broken[i].message ||
            (!sound && !strstr(str_text(&said), broken[i].message)))
            fail_msg("%s: %s", broken[i].text, sound ? "sound" : str_text(&said));
        str_free(&said);
    }
}

static int times(const char *text, const char *part)
{
    int n = 0;
    for (const char *s = text; (s = strstr(s, part)); s += strlen(part))
        n++;
    return n;
}

/* The number behind the first `mark`. */
static double number(const char *text, const char *mark)
{
    const char *at = strstr(text, mark);
    if (!at)
        fail_msg("no %s in\n%s", mark, text);
    return strtod(at + strlen(mark), NULL);
}

#define CALL ((double)(16 << 20))         /* bytes that a call moves at least */

/* The text moves what the function returns: whole iterations, as often as needed. */
static void check_moving(struct arena *a, const char *text, bool copies, double each, double bytes,
                         double moved)
{
    double size = number(text, "VECTORS = ") * each, step = number(text, "p += ");
    double passes = number(text, "r < "), array = copies ? size / 2 : size;
    double asked = copies ? bytes / 2 : bytes, turn = step * each;
    assert_true(moved == size * passes);
    assert_true(array >= turn && array / turn == (double)(int64_t)(array / turn));
    assert_true(array == turn || array <= asked);
    assert_true(array > asked - turn);
    assert_true(size * passes >= CALL && size * (passes - 1) < CALL);
    assert_true(number(text, copies ? "Copies " : "Sums ") == array);
    for (int k = 0; k <= (int)step; k++) {
        const char *use = copies ? arena_printf(a, " q[%d] = p[%d];", k, k)
                                 : arena_printf(a, " += p[%d];", k);
        assert_int_equal(times(text, use), k < (int)step);
    }
    for (int k = 0; !copies && k < times(text, " = {0};"); k++) {
        assert_true(times(text, arena_printf(a, " s%d += ", k)) > 0);
        const char *sink = strstr(text, "ts_sink = ");
        assert_true(k == 0 || strstr(sink, arena_printf(a, " + s%d", k)) != NULL);
    }
}

static void loops_move_what_they_say(void **state)
{
    (void)state;
    static const char *const isa[] = { "plain", "avx2" };
    static const double each[] = { 4, 32 };
    static const int64_t bytes[] = { 1, 2048, 40000, 16 << 20, (16 << 20) - 1, 50 << 20 };
    for (int i = 0; i < COUNT_OF(isa) * COUNT_OF(bytes); i++) {
        struct arena *a = arena_new();
        struct str load = { 0 }, copy = { 0 };
        const struct target *t = target_named(isa[i % 2]);
        int64_t n = bytes[i / 2];
        double loaded = gen_load(t, &type_f32, n, &load), copied = gen_copy(t, &type_f32, n, &copy);
        check_moving(a, str_text(&load), false, each[i % 2], (double)n, loaded);
        check_moving(a, str_text(&copy), true, each[i % 2], (double)n, copied);
        str_free(&load);
        str_free(&copy);
        arena_free(a);
    }
}

static void the_peak_counts_its_multiply_adds(void **state)
{
    (void)state;
    static const struct { const char *isa; int lanes; } rows[] = { { "plain", 1 }, { "avx2", 8 } };
    for (int i = 0; i < COUNT_OF(rows); i++) {
        struct arena *a = arena_new();
        struct str out = { 0 };
        double flops = gen_peak(target_named(rows[i].isa), &type_f32, &out);
        const char *text = str_text(&out);
        int chains = times(text, " * a + b;");
        assert_true(chains > 1);
        assert_true(flops == 2.0 * rows[i].lanes * chains * number(text, "i < "));
        assert_true(number(text, "/* ") == chains);
        for (int k = 0; k < chains; k++) {
            assert_int_equal(times(text, arena_printf(a, " c%d = c%d * a + b;", k, k)), 1);
            assert_int_equal(times(text, arena_printf(a, " vec c%d = a * ", k)), 1);
        }
        assert_int_equal(times(strstr(text, "ts_sink = c0"), " + c"), chains - 1);
        str_free(&out);
        arena_free(a);
    }
}

static void unknown_targets_are_named(void **state)
{
    (void)state;
    struct err e = { 0 };
    assert_null(target_find("itanium-of-old", &e));
    assert_string_equal(e.text, "no instruction set named 'itanium-of-old'");
    assert_string_equal(e.fix, "avx512, avx2, sse, neon, plain or cuda");
    assert_null(target_find("avx51", &e));
    assert_string_equal(e.fix, "avx512");
    assert_ptr_equal(target_find("cuda", &e), target_named("cuda"));
    assert_true(target_named("cuda")->gpu);
    assert_ptr_equal(target_named(NULL), target_host());
    assert_ptr_equal(target_or_host(NULL), target_host());
    assert_ptr_equal(target_or_host(target_named("sse")), target_named("sse"));
    assert_true(target_binds("-fno-vectorize") && target_binds("-fno-builtin-memset"));
    assert_false(target_binds("-O2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_cut_into_vectors),
        cmocka_unit_test(trees_are_counted), cmocka_unit_test(products_are_counted),
        cmocka_unit_test(broken_trees_are_found),
        cmocka_unit_test(loops_move_what_they_say),
        cmocka_unit_test(the_peak_counts_its_multiply_adds),
        cmocka_unit_test(unknown_targets_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
