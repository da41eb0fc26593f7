/* Parts of exported C files: values, helpers of indices, layouts, and the line that compiles. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kernels/base/file.h"
#include "kernels/program/program.h"
#include "sessions/export/export.h"
#include "sessions/export/export_command.h"
#include "sessions/export/export_data.h"
#include "tests/unit/perm.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static const char *dir;

/* Rows of six, and no rows for up to six. */
static void values_in_rows(void **state)
{
    static const f32 v[] = { 1, -2.5f, 0.1f, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 };
    static const struct { int n; const char *want; } row[] = {
        { 1, "static const double values_k[1] = {1};\n" },
        { 6, "static const double values_k[6] = {1, -2.5, 0.100000001, 4, 5, 6};\n" },
        { 7, "static const double values_k[7] = {\n    1, -2.5, 0.100000001, 4, 5, 6,\n"
             "    7\n};\n" },
        { 13, "static const double values_k[13] = {\n    1, -2.5, 0.100000001, 4, 5, 6,\n"
              "    7, 8, 9, 10, 11, 12,\n    13\n};\n" },
    };
    const f32 odd[] = { NAN, INFINITY, -INFINITY };
    struct str out = {0};
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        export_values(&out, "k", v, row[i].n);
        assert_string_equal(str_text(&out), row[i].want);
        str_clear(&out);
    }
    export_values(&out, "k", odd, 3);
    assert_string_equal(str_text(&out),
                        "static const double values_k[3] = {NAN, INFINITY, -INFINITY};\n");
    str_free(&out);
}

/* Only the helpers that are called; division and remainder round down. */
static void helpers_of_indices(void **state)
{
    static const struct { unsigned bits; const char *want; } row[] = {
        { 0, "" },
        { 1u << EXPR_DIV, "static long floor_quotient(long a, long b) "
                          "{ return (a >= 0 ? a : a - b + 1) / b; }\n" },
        { 1u << EXPR_MOD, "static long floor_remainder(long a, long b) "
                          "{ return (a % b + b) % b; }\n" },
        { 1u << EXPR_MIN, "static long smaller(long a, long b) { return a < b ? a : b; }\n" },
        { 1u << EXPR_MAX, "static long larger(long a, long b) { return a > b ? a : b; }\n" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct str out = {0};
        export_index_helpers(&out, row[i].bits);
        assert_string_equal(str_text(&out), row[i].want);
        str_free(&out);
    }
}

/* A transposed tensor: stored by columns, whose places are computed from the logical ones. */
static void layouts_as_functions(void **state)
{
    static const char *const step[] = { "layout set C \"N M\"" };
    const struct program *p;
    struct str out = {0};
    unsigned helpers = 0;
    struct err e;
    int bad;
    (void)state;
    assert_true(program_replay(perm, "gmm m=4 k=2 n=3", step, 1, &p, &bad, &e));
    const struct layout *l = p->layout[graph_tensor(p->graph, "C")];
    export_unpack(&out, p->pool, l, &helpers);
    const char *text = str_text(&out);
    assert_true(str_starts(text, "static void unpack_C(const float *stored, double *logical)\n{\n"
                                 "    long at = 0;\n    for (long "));
    assert_non_null(strstr(text, " < 4; "));
    assert_non_null(strstr(text, "\n        for (long "));
    assert_non_null(strstr(text, " < 3; "));
    assert_non_null(strstr(text, "\n            logical[at++] = stored["));
    assert_true(str_ends(text, "];\n}\n\n") && strstr(text, " < 4; ") < strstr(text, " < 3; "));
    str_clear(&out);
    export_pack(&out, p->pool, l, &helpers);
    text = str_text(&out);
    assert_true(str_starts(text, "static void pack_C(const double *logical, float *stored)\n{\n"
                                 "    long at = 0;\n    for (long "));
    assert_true(strstr(text, " < 3; ") < strstr(text, " < 4; "));        /* in the stored order */
    assert_non_null(strstr(text, "\n            stored[at++] = (float)logical["));
    assert_int_equal(helpers, 0);
    str_free(&out);
}

/* --- The command ------------------------------------------------------------------------------ */

static void words_of_the_shell(void **state)
{
    static const struct { const char *text, *want; } row[] = {
        { "plain/a-b_c+d=e.c", "plain/a-b_c+d=e.c" }, { "a b", "'a b'" }, { "a$b", "'a$b'" },
        { "it's", "'it'\\''s'" }, { "caf\xc3\xa9", "'caf\xc3\xa9'" }, { "~/x", "'~/x'" },
        { "-x.c", "./-x.c" }, { "-a b", "./'-a b'" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct str out = {0};
        export_put_word(&out, row[i].text);
        assert_string_equal(str_text(&out), row[i].want);
        str_free(&out);
    }
}

/* What stands behind the compiler and its flags, for a file in the folder of the test.  A file that
 * is no program is not written over: taken.c gets taken.out.  A program is. */
static void files_and_programs(void **state)
{
    static const struct { const char *file; int threads; bool beside; const char *want; } row[] = {
        { "new.c", 0, false, " %s/new.c -o %s/new -lm && %s/new" },
        { "new.c", 0, true, " new.c -o ./new -lm && ./new" },
        { "new.c", 3, false,
          " -fopenmp %s/new.c -o %s/new -lm && OMP_NUM_THREADS=3 %s/new" },
        { "taken.c", 0, true, " taken.c -o ./taken.out -lm && ./taken.out" },
        { "folder.c", 0, true, " folder.c -o ./folder.out -lm && ./folder.out" },
        { "elf.c", 0, true, " elf.c -o ./elf -lm && ./elf" },
        { "text", 0, true, " -x c text -x none -o ./text.out -lm && ./text.out" },
        { "a b.c", 0, true, " 'a b.c' -o './a b' -lm && './a b'" },
        { "-x.c", 0, true, " ./-x.c -o ./-x -lm && ./-x" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        const char *file = arena_printf(perm, "%s/%s", dir, row[i].file);
        struct export_command how = { .file = file, .target = target_named("plain"),
                                      .threads = row[i].threads, .beside = row[i].beside };
        struct str out = {0}, want = {0};
        struct err e;
        if (!export_put_command(&out, &how, &e))
            fail_msg("%s", e.text);
        for (const char *c = row[i].want; *c; c++)
            if (str_starts(c, "%s")) {
                str_add(&want, dir);
                c++;
            } else {
                str_add_char(&want, *c);
            }
        if (!str_ends(str_text(&out), str_text(&want)))
            fail_msg("%s does not end with %s", str_text(&out), str_text(&want));
        assert_int_equal(strstr(str_text(&out), " -fopenmp ") != NULL, row[i].threads > 0);
        str_free(&out);
        str_free(&want);
    }
}

/* Kernels that no C file can check or run. */
static void kernels_are_refused(void **state)
{
    static const struct { const char *spec, *file, *target, *text, *fix; } row[] = {
        { "gmm m=8 k=8 n=8 type=f16", "x.c", NULL, "the exported file would check itself in "
          "float32, and this operator is in float16",
          "show --what c prints the kernel itself" },
        { "gmm m=8 k=8 n=8 type=bf16", NULL, NULL, "the exported file would check itself in "
          "float32, and this operator is in bfloat16", "show --what c prints the kernel itself" },
        { "gmm m=8 k=8 n=8", "a/x.cu", NULL, "a/x.cu: this schedule is for a CPU, and a .cu file "
          "has CUDA C", "use a name that ends in .c, or take a GPU schedule from expert --target "
          "cuda" },
        { "gmm m=8 k=8 n=8", "x.c", "cuda", "this schedule is for a GPU, and a C file runs on a "
          "CPU", "a name that ends in .cu gets its CUDA C, like show --what cuda -o FILE.cu" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct export_opts o = { .file = row[i].file };
        struct session *s;
        struct str out = {0};
        struct err e = {0};
        o.target = row[i].target ? target_named(row[i].target) : NULL;
        assert_true(session_new(row[i].spec, &s, &e));
        assert_false(export_c(s, &o, &out, &e));
        assert_string_equal(e.text, row[i].text);
        assert_string_equal(e.fix, row[i].fix);
        assert_int_equal(out.len, 0);
        session_free(s);
        str_free(&out);
    }
}

static int set_up(void **state)
{
    struct err e;
    perm_setup(state);
    dir = temp_dir(NULL);
    bool ok = file_write_atomic(arena_printf(perm, "%s/taken", dir), "text", 4, &e)
           && file_write_atomic(arena_printf(perm, "%s/elf", dir), "\177ELF...", 7, &e)
           && mkdir(arena_printf(perm, "%s/folder", dir), 0700) == 0;
    return ok ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_in_rows), cmocka_unit_test(helpers_of_indices),
        cmocka_unit_test(layouts_as_functions), cmocka_unit_test(words_of_the_shell),
        cmocka_unit_test(files_and_programs), cmocka_unit_test(kernels_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, perm_teardown);
}
