/* Exported networks: what is written, and that it compiles, is right, refuses other weights and
 * runs in several threads; the network that ships as an example. */
/* tests/run.sh: takes 15 s */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/file.h"
#include "profile/measure/measure_network.h"
#include "sessions/export/network_export.h"
#include "sessions/file/arrays.h"
#include "sessions/file/session_network.h"
#include "tests/unit/golden.h"
#include "tests/unit/perm.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* Two inputs, one of whose names is a word of C; a residual sum, a dense layer; two outputs, one
 * with the name of a macro. */
#define SMALL \
    "x = input n=1 i=3 h=10 w=10; int = input n=1 c=16 h=10 w=10; " \
    "k0 = const o=16 i=3 kh=3 kw=3; b0 = const o=16; k1 = const o=16 i=16 kh=3 kw=3; " \
    "b1 = const o=16; c0 = c2d(x, k0, b0) o=16 k=3 p=1 bias=1; r0 = relu(c0); " \
    "c1 = c2d(r0, k1, b1) o=16 k=3 p=1 bias=1; a1 = add(c1, r0); a2 = add(a1, int); " \
    "r1 = relu(a2); EOF = sigmoid(r1); m = reduce_mean(r1) axes=2,3 keep=0; " \
    "w = const k=16 n=10; y = matmul(m, w); p = softmax(y) axis=1"

static const char *folder;

static const struct network *network_of(const struct graph *g, int threads)
{
    const struct network *net;
    struct err e;
    if (!network_of_graph(perm, g, "", 0, target_host(), threads, &net, &e))
        fail_msg("%s", e.text);
    return net;
}

/* Measures the network of a text; *values gets its data. */
static const struct network *measured(const char *spec, int threads, uint64_t seed,
                                      struct network_values *values)
{
    const struct graph *g;
    struct network_measurement m;
    struct err e;
    struct measure_opts mo = { .threads = threads, .seed = seed };
    const struct network_opts o = { .measure = &mo, .values = values };
    if (!graph_from_spec(perm, spec, &g, &e))
        fail_msg("%s", e.text);
    const struct network *net = network_of(g, threads);
    if (!measure_network(perm, net, &o, NULL, NULL, &m, &e))
        fail_msg("%s", e.text);
    if (m.outcome != OUTCOME_OK)
        fail_msg("%s", m.reason);
    return net;
}

/* Measures the network of a text and exports it into folder/into. */
static const struct network *exported(const char *spec, int threads, uint64_t seed,
                                      size_t file_bytes, const char *into)
{
    struct network_values values = {0};
    struct err e;
    const char *to = arena_printf(perm, "%s/%s", folder, into);
    const struct network_export_opts x = { "small", NULL, target_host(), threads, file_bytes };
    const struct network *net = measured(spec, threads, seed, &values);
    if (!dir_make(to, &e) || !network_export(net, &values, &x, to, &e))
        fail_msg("%s", e.text);
    network_values_free(&values);
    return net;
}

/* Runs a command of the shell in the folder; it must exit with this code and say this. */
static void sh(int code, const char *says, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void sh(int code, const char *says, const char *fmt, ...)
{
    struct subprocess_result r;
    struct err e;
    va_list ap;
    va_start(ap, fmt);
    const char *command = arena_printf(perm, "exec 2>&1; root=$PWD; cd %s; %s", folder,
                                       arena_vprintf(perm, fmt, ap));
    va_end(ap);
    const char *const argv[] = { "sh", "-c", command, NULL };
    if (!subprocess_run(argv, 120, NULL, &r, &e))
        fail_msg("%s", e.text);
    if (r.exit_code != code || !strstr(str_text(&r.out), says))
        fail_msg("%s\nexit code %d instead of %d, or not \"%s\" in\n%s", command, r.exit_code,
                 code, says, str_text(&r.out));
    str_free(&r.out);
}

static const char *text_of(const char *file)
{
    struct str text = {0};
    struct err e;
    if (!file_read(arena_printf(perm, "%s/%s", folder, file), 1 << 26, &text, &e))
        fail_msg("%s", e.text);
    const char *out = arena_strdup(perm, str_text(&text));
    str_free(&text);
    return out;
}

static int setup(void **state)
{
    (void)state;
    if (perm_setup(state) != 0 || setenv("TILESCOPE_HOME", ".", 1) != 0)
        return -1;
    folder = temp_dir("XDG_CACHE_HOME");
    exported(SMALL, 1, 1, 0, "small");
    return 0;
}

static void the_header_says_how_to_call_it(void **state)
{
    (void)state;
    golden_check("tests/golden/small.h.txt", text_of("small/small.h"));
}

static void it_compiles_and_checks_itself(void **state)
{
    (void)state;
    static const char *const compiler[] = { "gcc", "clang" };
    for (int i = 0; i < COUNT_OF(compiler); i++) {
        if (!subprocess_find(compiler[i], NULL))
            continue;
        sh(0, "small: right", "make -C small clean; "
           "make -C small CC=%s CFLAGS='-Werror -Wshadow -Wmissing-prototypes' all && "
           "small/small-check small 0.01", compiler[i]);
        sh(0, "", "%s -O2 -Wall -Wextra -Werror -c small/small_kernels.c -o plain.o", compiler[i]);
    }
}

static void it_refuses_other_weights(void **state)
{
    (void)state;
    exported(SMALL, 1, 2, 0, "other");
    sh(0, "", "make -C small all && cp -r small wrong");
    sh(2, "these are not the weights of this network",
       "cp other/small.weights wrong; wrong/small-check wrong 0");
    sh(2, "these are not the weights of this network", "head -c -64 small/small.weights > "
       "wrong/small.weights; wrong/small-check wrong 0");
    sh(2, "these are not the weights of this network", "cp small/small.weights wrong; "
       "printf '\\277' | dd of=wrong/small.weights bs=1 seek=1003 conv=notrunc; "
       "wrong/small-check wrong 0");
    sh(2, "No such file", "rm wrong/small.weights; wrong/small-check wrong 0");
    sh(0, "small: right", "cp small/small.weights wrong; wrong/small-check wrong 0");
    sh(1, "small: WRONG", "cp other/small.check wrong; wrong/small-check wrong 0");
    sh(2, "the file is too short", "head -c 100 small/small.check > wrong/small.check; "
       "wrong/small-check wrong 0");
}

/* The text of kernels in many files instead of one. */
static void long_kernels_are_several_files(void **state)
{
    (void)state;
    const struct network *net = exported(SMALL, 1, 1, 1, "many");
    assert_true(net->n_tasks > 2);
    for (int k = 1; k < net->n_tasks; k++)
        assert_non_null(strstr(text_of("many/Makefile"),
                               arena_printf(perm, " small_kernels_%d.o", k)));
    sh(0, "small: right", "make -C many CFLAGS=-Werror all && many/small-check many 0");
    if (subprocess_find("cmake", NULL))
        sh(0, "tests passed", "cmake -S many -B many/build && cmake --build many/build && "
           "cd many/build && ctest");
}

/* A file of somebody else with the name of a part of the library is not replaced, and nothing else
 * is written.  Parts of a library are. */
static void files_of_others_stay(void **state)
{
    (void)state;
    static const char *const part[] = {
        "small.h", "small.c", "small_kernels.h", "small_kernels.c", "small_kernels_1.c",
        "small.weights", "small.check", "main.c", "Makefile", "CMakeLists.txt",
    };
    struct network_values values = {0};
    struct err e;
    const struct network_export_opts x = { "small", NULL, target_host(), 1, 1 };
    const struct network *net = measured(SMALL, 1, 1, &values);
    for (int i = 0; i < COUNT_OF(part); i++) {
        const char *to = arena_printf(perm, "%s/others%d", folder, i);
        const char *file = arena_printf(perm, "%s/%s", to, part[i]);
        assert_true(dir_make(to, &e) && file_write_atomic(file, "mine", 4, &e));
        if (network_export(net, &values, &x, to, &e)
            || !strstr(e.text, arena_printf(perm, "%s is not part of an exported", file)))
            fail_msg("%s was replaced", part[i]);
        sh(0, "mine", "cat others%d/%s; [ $(ls others%d | wc -l) = 1 ]", i, part[i], i);
        assert_int_equal(remove(file), 0);
        for (int again = 0; i == 0 && again < 2; again++)
            assert_true(network_export(net, &values, &x, to, &e));
    }
    network_values_free(&values);
}

static void parallel_loops_are_openmp(void **state)
{
    (void)state;
    exported(SMALL, 2, 1, 0, "parallel");
    assert_non_null(strstr(text_of("parallel/small_kernels.c"), "#pragma omp parallel"));
    assert_non_null(strstr(text_of("parallel/CMakeLists.txt"), "OpenMP::OpenMP_C"));
    sh(0, "OMP_NUM_THREADS=2", "make -C parallel CFLAGS=-Werror all check");
    sh(0, "", "gcc -O2 -Wall -Wextra -Werror -c parallel/small_kernels.c -o plain.o");
}

/* The maximum of a row is 15 nested calls: as macros that repeat their arguments, no memory would
 * suffice to compile them. */
static void long_rows_compile(void **state)
{
    (void)state;
    exported("x = input n=16 m=128; y = softmax(x) axis=1", 1, 1, 0, "soft");
    sh(0, "small: right", "ulimit -v 4000000; make -C soft CFLAGS=-Werror all && "
       "soft/small-check soft 0.01");
}

static void instances_run_in_several_threads(void **state)
{
    (void)state;
    static const char *const flags[] = {
        "-fsanitize=address,undefined -fno-sanitize-recover=undefined", "-fsanitize=thread",
    };
    if (!subprocess_find("gcc", NULL))
        skip();
    for (int i = 0; i < COUNT_OF(flags); i++)
        sh(0, "all threads agree", "gcc -std=c11 -Wall -Wextra -Werror -O1 -g -march=native %s "
           "-Ismall $root/tests/export/threads.c small/small.c small/small_kernels.c -o threads "
           "-lm -pthread && ./threads small/small.weights", flags[i]);
}

static void names_are_names_in_c(void **state)
{
    (void)state;
    static const struct { const char *path, *name; } cases[] = {
        { "nets/ssd-12.onnx", "ssd_12" }, { "int.onnx", "int_2" }, { "a.b.onnx", "a_b" },
        { "main.onnx", "main_2" }, { "math.onnx", "math_2" }, { "test.onnx", "test_2" },
        { "resnet8", "resnet8" },
    };
    for (int i = 0; i < COUNT_OF(cases); i++)
        assert_string_equal(network_export_name(perm, cases[i].path), cases[i].name);
}

/* --- The network that ships ------------------------------------------------------------------- */

static void the_example_is_what_onnxruntime_computes(void **state)
{
    (void)state;
    struct session *s;
    struct arrays all;
    struct network_measurement m;
    struct err e;
    if (!session_from_onnx("sessions/examples/resnet8.onnx", NULL, NULL, &s, &e)
        || !arrays_read(perm, "sessions/examples/resnet8.npz", "", &all, &e))
        fail_msg("%s", e.text);
    assert_int_equal(all.n, 2);
    const struct network_given image = { "image", all.array[0].data };
    const struct network_given scores = { "scores", all.array[1].data };
    assert_string_equal(all.array[0].name, "image");
    assert_int_equal(all.array[0].elems, 3 * 32 * 32);
    assert_string_equal(all.array[1].name, "scores");
    assert_int_equal(all.array[1].elems, 10);
    struct measure_opts mo = { .threads = 1, .seed = 1 };
    const struct network_opts o = { .measure = &mo, .n_inputs = 1, .input = &image,
                                    .n_expected = 1, .expected = &scores };
    const struct network *net = network_of(history_current(s->history)->program->base, 1);
    if (!measure_network(perm, net, &o, NULL, NULL, &m, &e))
        fail_msg("%s", e.text);
    if (m.outcome != OUTCOME_OK)
        fail_msg("%s", m.reason);
    assert_true(m.compared && m.author_of_bound < 0.5);
    session_free(s);
}

/* The script beside it makes the same model anew. */
static void the_example_can_be_made_again(void **state)
{
    (void)state;
    if (!subprocess_find("python3", NULL))
        skip();
    sh(0, "", "python3 $root/sessions/examples/resnet8.py . && "
       "cmp resnet8.onnx $root/sessions/examples/resnet8.onnx");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_header_says_how_to_call_it),
        cmocka_unit_test(it_compiles_and_checks_itself),
        cmocka_unit_test(it_refuses_other_weights),
        cmocka_unit_test(long_kernels_are_several_files),
        cmocka_unit_test(files_of_others_stay),
        cmocka_unit_test(parallel_loops_are_openmp),
        cmocka_unit_test(long_rows_compile),
        cmocka_unit_test(instances_run_in_several_threads),
        cmocka_unit_test(names_are_names_in_c),
        cmocka_unit_test(the_example_is_what_onnxruntime_computes),
        cmocka_unit_test(the_example_can_be_made_again),
    };
    return cmocka_run_group_tests(tests, setup, perm_teardown);
}
