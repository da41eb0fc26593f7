/* Names of generated text: whatever tensors and dims are called, the kernel, its tracing twin and
 * the exported file compile without a warning, and a free name is found quickly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "kernels/base/subprocess.h"
#include "kernels/base/vec.h"
#include "kernels/gen/gen.h"
#include "kernels/gen/names.h"
#include "sessions/export/export.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static uint64_t seed;
static const char *work_dir;

/* Four tensors and three dims, in this order. */
#define N_TENSORS 4
#define N_NAMES 7

/* One line for each family of names: words of C and of compilers, macros of headers, helpers of the
 * kernel, of its twin, of the reference and of an exported file, and what these make of names. */
static const char *const families[][N_NAMES] = {
    { "FP_a", "FP_b", "FP_NAN", "FP_", "fp_a", "fp_", "n" },
    { "CLOCK_a", "CLOCK_REALTIME", "CLOCKS_PER_SEC", "CLOCKS_a", "clock", "clock_", "time" },
    { "shuffle", "shuffle0", "shuffle1", "shuffle1_2", "shuffle2", "shuffle_", "shuffle01" },
    { "SHUFFLE1", "Shuffle", "shuffle9", "shuffle99", "shuffle", "shuffle0", "shuffle10" },
    { "INT_MAX", "UINT8_WIDTH", "SIZE_MAX", "INT_x_MAX", "int8_t", "size_t", "long" },
    { "EOF", "NULL", "stdin", "stdout", "errno", "double", "float" },
    { "int", "if", "void", "const_", "__asm__", "_Bool", "__func__" },
    { "linux", "unix", "i386", "asm", "linux", "unix", "__linux__" },
    { "M_PI", "INFINITY", "NAN", "M_E", "isnan", "exp", "log" },
    { "sum", "sum_2", "Sums", "SUM_3", "sum", "sum_2", "sums" },
    { "ref_max", "ref_min", "ref_floor_div", "ref_floor_mod", "ref_min_index", "ref_max_index",
      "reference" },
    { "maxf", "minf", "max8", "min8", "floor_div", "floor_mod", "min_index" },
    { "v8", "u8", "i8", "v16", "load16", "store16", "splat16" },
    { "exp_v8", "erf_v16", "tanh_v4", "stream16", "stream_done", "again", "prefetch" },
    { "pick16", "exp_parts16", "pick4", "exp_parts2", "pick", "exp_parts", "picked" },
    { "kernel", "ts_entry", "buffers", "reference", "main", "fill", "allocate" },
    { "ts", "base", "front", "mask", "times", "exec", "rec" },
    { "ts_sim", "ts_trace", "ts_count", "load_at", "store_over", "addr", "site" },
    { "x_exact", "pack_x", "x", "place_x", "at", "logical", "stored" },
    { "y_exact", "pack_y", "unpack_y", "exact_y", "smaller", "larger", "floor_quotient" },
    { "worst", "wrong", "ms", "runs", "batch", "took", "start" },
    { "acc", "acc0", "acc_2", "acc_acc", "acc", "acc0", "tile" },
    { "a_of_thread", "a", "a_tile", "a_acc", "a_end", "a_begin", "a_again" },
    { "Inp", "inp_2", "INP0", "iNP_0", "inp0", "inp_0", "inp_2" },
    { "ROLLED", "rolls", "OMP", "omp_", "pragma", "define", "defined" },
};

static const char *const pieces[] = {
    "FP_", "CLOCK_", "CLOCKS_", "shuffle", "INT", "_MAX", "exp", "_v4", "v8", "load", "store",
    "ts_", "ref_", "max", "min", "sum", "_", "__", "_of_thread", "_acc", "_tile", "_again", "_rf",
    "_in", "kernel", "buffers", "long", "asm", "EOF", "M_PI", "at", "smaller", "pack_", "exact_",
    "x", "Y", "0", "1", "2", "8", "16", "_2", "_3", "acc", "inp", "_Bool", "linux", "begin", "_end",
};

static const char *draw_name(struct arena *a, struct rng *r)
{
    struct str s = { 0 };
    for (int64_t n = rng_range(r, 1, 3); n > 0; n--)
        str_add(&s, pieces[rng_range(r, 0, COUNT_OF(pieces) - 1)]);
    const char *name = arena_strdup(a, str_text(&s));
    str_free(&s);
    return name;
}

/* Lines that the program refuses for these names change nothing. */
static struct session *open_graph(const char *const *x, struct err *e)
{
    static const char *const steps[] = {
        "cache_write %s", "vectorize %s %s", "unroll %s %s", "layout %s split %s 2",
    };
    struct session *s = NULL;
    struct str text = { 0 };
    const char *const *dim = x + N_TENSORS;
    str_printf(&text, "%s = input %s=4 %s=20; %s = const %s=20 %s=16; %s = matmul(%s, %s); "
                      "%s = relu(%s)\n", x[0], dim[0], dim[1], x[1], dim[1], dim[2], x[2], x[0],
               x[1], x[3], x[2]);
    if (session_new(str_text(&text), &s, e))
        for (int i = 0; i < COUNT_OF(steps); i++) {
            struct err refused;
            str_clear(&text);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            str_printf(&text, steps[i], x[i == 3 ? 0 : 2], dim[i == 1 ? 2 : 0]);
#pragma GCC diagnostic pop
            history_apply(s->history, str_text(&text), &refused);
        }
    str_free(&text);
    return s;
}

static void write_text(const char *stem, int i, const struct str *text)
{
    char path[128];
    struct err e;
    snprintf(path, sizeof path, "%s/%s%d.c", work_dir, stem, i);
    if (!file_write_atomic(path, text->data, text->len, &e))
        fail_msg("%s", e.text);
}

/* The three texts of a program, as files. */
static void write_texts(struct session *s, int i)
{
    const struct func *f;
    struct trace_table table;
    struct gen_opts o = { .target = target_named("avx2"), .openmp = true };
    struct str kernel = { 0 }, twin = { 0 }, exported = { 0 };
    struct err e;
    if (!program_lower(history_current(s->history)->program, &f, &e)
        || !gen_c(f, &o, &kernel, &e) || !gen_trace(f, &o, 64, &twin, &table, &e)
        || !export_c(s, &(struct export_opts){ .file = "x.c" }, &exported, &e))
        fail_msg("%s: %s", history_spec(s->history), e.text);
    write_text("kernel", i, &kernel);
    write_text("twin", i, &twin);
    write_text("exported", i, &exported);
    str_free(&kernel);
    str_free(&twin);
    str_free(&exported);
}

/* All files with this stem, by one call. strict: warnings are errors. */
static void compile(const char *stem, bool strict)
{
    struct subprocess_result res = { 0 };
    char command[300];
    struct err e;
    snprintf(command, sizeof command, "gcc -fsyntax-only -fopenmp -mavx2 -O1 %s -Wno-psabi "
             "%s/%s*.c", strict ? "-Wall -Wextra -Werror" : "-w", work_dir, stem);
    const char *const argv[] = { "sh", "-c", command, NULL };
    if (!subprocess_run(argv, 120, NULL, &res, &e))
        fail_msg("%s", e.text);
    if (res.exit_code != 0 || res.out.len > 0)
        fail_msg("%s: %s", command, str_text(&res.out));
    str_free(&res.out);
}

static void every_text_compiles(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct rng r = rng_seed(seed);
    const char *x[N_NAMES];
    int n = 0, drawn = 0;
    for (int i = 0; i < COUNT_OF(families); i++) {
        struct err e = { 0 };
        struct session *s = open_graph(families[i], &e);
        if (!s)
            fail_msg("%s: %s", families[i][0], e.text);
        write_texts(s, n++);
        session_free(s);
    }
    for (; drawn < 40; drawn += n > COUNT_OF(families) + drawn) {
        struct err e = { 0 };
        for (int k = 0; k < N_NAMES; k++)
            x[k] = draw_name(a, &r);
        struct session *s = open_graph(x, &e);   /* two names may be one, or no name */
        if (s)
            write_texts(s, n++);
        session_free(s);
    }
    compile("kernel", true);
    compile("twin", true);
    compile("exported", true);
    arena_free(a);
}

/* The host twin of a GPU's kernels includes headers before them. */
static void host_twins_meet_no_macro(void **state)
{
    static const char *const name[][3] = {
        { "NULL", "EOF", "stdin" }, { "BUFSIZ", "P_tmpdir", "stdout" },
        { "MB_CUR_MAX", "RAND_MAX", "stderr" }, { "NGREG", "WNOHANG", "SEEK_SET" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(name); i++) {
        struct arena *a = arena_new();
        struct str text = { 0 };
        struct err e = { 0 };
        const struct gen_opts o = { .target = target_named("cuda") };
        const struct program *p;
        const struct func *f;
        const char *const *x = name[i];
        const char *spec = arena_printf(a, "%s = input m=8 %s=8; B = const %s=8 n=8; "
                                        "%s = matmul(%s, B)", x[0], x[2], x[2], x[1], x[0]);
        const char *const line[] = {
            arena_printf(a, "loop bind %s M block.x", x[1]),
            arena_printf(a, "loop bind %s N thread.x", x[1]),
            arena_printf(a, "loop cache_read %s %s at=N scope=shared", x[1], x[0]),
        };
        bool ok = program_new(a, spec, &p, &e);
        for (int k = 0; k < COUNT_OF(line) && ok; k++)
            ok = program_apply_line(p, line[k], &p, &e);
        if (!ok || !program_lower(p, &f, &e) || !gen_c(f, &o, &text, &e))
            fail_msg("%s: %s", spec, e.text);
        assert_non_null(strstr(str_text(&text), "#include <stdio.h>"));
        write_text("gpu", i, &text);
        str_free(&text);
        arena_free(a);
    }
    compile("gpu", false);
}

static bool among(const char *text, const char *const *list, int n)
{
    for (int i = 0; i < n; i++)
        if (streq(text, list[i]))
            return true;
    return false;
}

/* What is claimed differs from all that is visible, also after scopes were left, and a scope that
 * was left leaves nothing behind. */
static void claims_differ(void **state)
{
    (void)state;
    struct rng r = rng_seed(seed + 1);
    for (int round = 0; round < 200; round++) {
        struct arena *a = arena_new();
        struct names *n = names_new(a);
        VEC(const char *) seen = { 0 };
        int start = names_mark(n);
        for (int i = 0; i < 60; i++) {
            int drop = (int)rng_range(&r, 0, 9) == 0 ? (int)rng_range(&r, 0, seen.len) : 0;
            names_reset(n, start + seen.len - drop);
            seen.len -= drop;
            const char *want = draw_name(a, &r);
            const char *got = rng_range(&r, 0, 1) ? names_claim(n, want)
                                                  : names_claim_numbered(n, want);
            assert_false(among(got, seen.data, seen.len));
            assert_false(streq(got, "long") || streq(got, "v8") || streq(got, "asm"));
            assert_false(str_starts(got, "__"));
            vec_push(&seen, got);
        }
        names_reset(n, start);
        assert_string_equal(names_claim(n, "a"), "a");
        assert_string_equal(names_claim(n, "a"), "a_2");
        assert_string_equal(names_claim_numbered(n, "b"), "b0");
        assert_string_equal(names_claim(n, "shuffle3"), "shuffle3_2");
        assert_string_equal(names_claim_numbered(n, "shuffle"), "shuffle_0");
        assert_string_equal(names_claim(n, "shuffled"), "shuffled");
        vec_free(&seen);
        names_free(n);
        arena_free(a);
    }
}

/* Helpers of narrow types are called in kernels of these types. */
static void helpers_of_narrow_types_are_reserved(void **state)
{
    (void)state;
    static const char *const helper[] = {
        "f16", "bf16", "from_f16", "to_bf16", "f16_load8", "bf16_store16", "f16_stream16",
        "bf16_pack8", "f16_again", "bf16_prefetch",
    };
    struct arena *a = arena_new();
    struct names *n = names_new(a);
    for (int i = 0; i < COUNT_OF(helper); i++)
        assert_string_not_equal(names_claim(n, helper[i]), helper[i]);
    names_free(n);
    arena_free(a);
}

/* 40,000 claims of one name would be 800 million tries if each began at the first number. */
static void many_claims_are_quick(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct names *n = names_new(a);
    clock_t start = clock();
    const char *last = "";
    for (int i = 0; i < 40000; i++) {
        int mark = names_mark(n);
        last = names_claim(n, "a");
        names_reset(n, mark);
        names_claim(n, last);
    }
    assert_string_equal(last, "a_40000");
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 5);
    names_free(n);
    arena_free(a);
}

int main(void)
{
    const char *text = getenv("TS_SEED");
    seed = text ? strtoull(text, NULL, 10) : (uint64_t)time(NULL);
    printf("# TS_SEED=%llu\n", (unsigned long long)seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_text_compiles),
        cmocka_unit_test(host_twins_meet_no_macro),
        cmocka_unit_test(claims_differ),
        cmocka_unit_test(helpers_of_narrow_types_are_reserved),
        cmocka_unit_test(many_claims_are_quick),
    };
    work_dir = temp_dir(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
