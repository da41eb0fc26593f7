/* kernels/base: arenas, strings, errors, random numbers, files. (subprocess: test_subprocess.c.) */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "kernels/base/arena.h"
#include "kernels/base/err.h"
#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "kernels/base/str.h"
#include "kernels/base/subprocess.h"
#include "kernels/base/vec.h"
#include "tests/unit/fork_child.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* ---- memory ---- */

static void arena_gives_zeroed_aligned_memory(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    for (int round = 0; round < 3; round++) {
        for (size_t n = 0; n < 3000; n += 7) {
            unsigned char *p = arena_alloc(a, n);
            assert_int_equal((uintptr_t)p % 16, 0);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(p[i], 0);
            memset(p, 0xff, n);
        }
        assert_true(arena_used_bytes(a) > 600000);
        arena_reset(a);
        assert_int_equal(arena_used_bytes(a), 0);
    }
    memset(arena_alloc(a, (size_t)10 << 20), 1, (size_t)10 << 20);
    arena_free(a);
    arena_free(NULL);
}

static void arena_copies(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    int from[3] = { 1, 2, 3 };
    int *copy = ARENA_DUP(a, from, 3);
    from[1] = 7;
    assert_int_equal(copy[1], 2);
    assert_string_equal(arena_strdup(a, "abc"), "abc");
    assert_string_equal(arena_strndup(a, "abc", 2), "ab");
    assert_string_equal(arena_strndup(a, "abc", 9), "abc");
    assert_string_equal(arena_printf(a, "%d-%s", 5, "x"), "5-x");
    assert_int_equal(strlen(arena_printf(a, "%9000d", 1)), 9000);
    arena_free(a);
}

static void vec_grows(void **state)
{
    (void)state;
    VEC(int) v = {0};
    for (int i = 0; i < 100; i++)
        vec_push(&v, i * i);
    assert_int_equal(v.len, 100);
    assert_int_equal(v.data[99], 99 * 99);
    assert_int_equal(vec_pop(&v), 99 * 99);
    vec_clear(&v);
    assert_int_equal(v.len, 0);
    vec_free(&v);
    assert_null(v.data);
}

/* ---- strings ---- */

static void str_builds(void **state)
{
    (void)state;
    struct str s = {0};
    assert_string_equal(str_text(&s), "");
    str_add(&s, "ab");
    str_add_char(&s, 'c');
    str_add_n(&s, "defgh", 2);
    str_repeat(&s, '-', 3);
    str_repeat(&s, '-', -1);
    str_printf(&s, "%d%s", 42, "!");
    assert_string_equal(str_text(&s), "abcde---42!");
    assert_int_equal(s.len, 11);
    str_clear(&s);
    assert_string_equal(str_text(&s), "");
    str_printf(&s, "%500d", 1);
    str_printf(&s, "%5000d", 1);
    assert_int_equal(strlen(str_text(&s)), 5500);
    str_free(&s);
    assert_null(s.data);
}

static void numbers_are_for_people(void **state)
{
    static const struct { double v; const char *want; } quantity[] = {
        { 0, "0" }, { 7, "7" }, { 1000, "1 000" }, { -11203112, "-11 203 112" },
        { -123456, "-123 456" }, { 0.34125, "0.3412" }, { 1234.6, "1 235" }, { 1e18, "1e+18" },
    };
    static const struct { double v; const char *want; } ms[] = {
        { 0.31, "0.310 ms" }, { 0.0312, "31.20 us" }, { 1234.5, "1.234 s" }, { 1e-5, "10.0 ns" },
        { 123.45, "123.5 ms" },
    };
    struct str s = {0};
    (void)state;
    for (int i = 0; i < COUNT_OF(quantity); i++, str_clear(&s)) {
        str_quantity(&s, quantity[i].v);
        assert_string_equal(str_text(&s), quantity[i].want);
    }
    for (int i = 0; i < COUNT_OF(ms); i++, str_clear(&s)) {
        str_ms(&s, ms[i].v);
        assert_string_equal(str_text(&s), ms[i].want);
    }
    str_free(&s);
}

static void long_lines_are_wrapped(void **state)
{
    static const struct { const char *text, *want; } t[] = {
        { "", "" }, { "short", "short\n" }, { "a\n\nb\n", "a\n\nb\n" },
        { "one four six", "one four\n  six\n" },
        { "one two three four", "one two\n  three\n  four\n" },
        { "alongwordthatdoesnotfit x", "alongwordthatdoesnotfit\n  x\n" },
        { "or one|two|three four", "or\n  one|\n  two|\n  three\n  four\n" },
        { "  four five six\nx", "  four\n  five\n  six\nx\n" },
        { "one two three  \nx", "one two\n  three\nx\n" },
        { "\303\266\303\266\303\266\303\266 \303\266\303\266\303\266",
          "\303\266\303\266\303\266\303\266 \303\266\303\266\303\266\n" },
        { "\033[1;31mfour\033[0m six", "\033[1;31mfour\033[0m six\n" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(t); i++) {
        struct str s = {0};
        str_wrap(&s, t[i].text, 8, 2);
        assert_string_equal(str_text(&s), t[i].want);
        str_free(&s);
    }
}

static void str_compares(void **state)
{
    (void)state;
    assert_true(streq("a", "a") && !streq("a", "A") && strcaseeq("aB", "Ab"));
    assert_true(str_starts("layout", "lay") && str_starts("x", "") && !str_starts("la", "lay"));
    assert_true(str_ends("a.yaml", ".yaml") && !str_ends("aml", ".yaml") && str_ends("x", ""));
}

static void distances(void **state)
{
    (void)state;
    static const struct { const char *a, *b; int d; } rows[] = {
        { "", "", 0 }, { "", "abc", 3 }, { "abc", "", 3 }, { "split", "split", 0 },
        { "spilt", "split", 1 }, { "splt", "split", 1 }, { "splitt", "split", 1 },
        { "sprit", "split", 1 }, { "reorder", "order", 2 }, { "ca", "abc", 3 }, { "ab", "ba", 1 },
        { "A", "a", 1 },
    };
    for (int i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(str_distance(rows[i].a, rows[i].b), rows[i].d);
        assert_int_equal(str_distance(rows[i].b, rows[i].a), rows[i].d);
    }
}

static void nearest_is_near_enough(void **state)
{
    (void)state;
    static const char *const words[] = {
        "split", "reorder", "fuse", "vectorize", "unroll", "n", "oh",
    };
    static const struct { const char *word, *found; } rows[] = {
        { "spilt", "split" }, { "reoder", "reorder" }, { "FUSE", "fuse" }, { "vec", "vectorize" },
        { "parallel", NULL }, { "x", NULL }, { "", NULL }, { "N", "n" }, { "ow", "oh" },
        { "unrol", "unroll" }, { "zz", NULL },
    };
    for (int i = 0; i < COUNT_OF(rows); i++) {
        const char *found = str_nearest(rows[i].word, words, COUNT_OF(words));
        if (rows[i].found)
            assert_string_equal(found, rows[i].found);
        else
            assert_null(found);
    }
}

static void integers(void **state)
{
    (void)state;
    static const struct { const char *text; long long lo, hi; bool ok; long long value; } rows[] = {
        { "0", -9, 9, true, 0 }, { "7", -9, 9, true, 7 }, { "-9", -9, 9, true, -9 },
        { "007", -9, 9, true, 7 }, { "10", -9, 9, false, 0 }, { "-10", -9, 9, false, 0 },
        { "", -9, 9, false, 0 }, { "-", -9, 9, false, 0 }, { " 7", -9, 9, false, 0 },
        { "7 ", -9, 9, false, 0 }, { "+7", -9, 9, false, 0 }, { "7x", -9, 9, false, 0 },
        { "0x7", -9, 9, false, 0 }, { "--7", -9, 9, false, 0 }, { "7.0", -9, 9, false, 0 },
        { "9223372036854775807", INT64_MIN, INT64_MAX, true, INT64_MAX },
        { "-9223372036854775808", INT64_MIN, INT64_MAX, true, INT64_MIN },
        { "9223372036854775808", INT64_MIN, INT64_MAX, false, 0 },
        { "99999999999999999999999", INT64_MIN, INT64_MAX, false, 0 },
    };
    for (int i = 0; i < COUNT_OF(rows); i++) {
        long long v = 1234;
        bool ok = str_to_int64(rows[i].text, rows[i].lo, rows[i].hi, &v);
        assert_int_equal(ok, rows[i].ok);
        assert_true(v == (ok ? rows[i].value : 1234));
    }
}

static void utf8(void **state)
{
    (void)state;
    static const struct { const char *text; int bad; } rows[] = {
        { "", -1 }, { "plain", -1 }, { "\xc3\xa4", -1 }, { "a\xe2\x82\xac z", -1 },
        { "\xf0\x9f\x98\x80", -1 }, { "\xf4\x8f\xbf\xbf", -1 }, { "\xed\x9f\xbf", -1 },
        { "\xc3", 0 }, { "ab\xff", 2 }, { "\x80", 0 }, { "\xc0\x80", 0 }, { "\xc1\xbf", 0 },
        { "\xe0\x9f\xbf", 0 }, { "\xed\xa0\x80", 0 }, { "\xf0\x8f\xbf\xbf", 0 },
        { "\xf4\x90\x80\x80", 0 }, { "\xf5\x80\x80\x80", 0 }, { "a\xe2\x82", 1 },
        { "\xe2(\xa1", 0 },
    };
    for (int i = 0; i < COUNT_OF(rows); i++) {
        size_t bad = 99;
        assert_int_equal(utf8_valid(rows[i].text, strlen(rows[i].text), &bad), rows[i].bad < 0);
        assert_int_equal(bad, rows[i].bad < 0 ? 99 : rows[i].bad);
    }
    assert_true(utf8_valid("a\0b", 3, NULL));
    assert_false(utf8_valid("\xe2\x82\xac", 2, NULL));
    for (size_t max = 0; max < 6; max++)                      /* whole characters only */
        assert_int_equal(utf8_fit("a\xe2\x82\xac", max), max > 3 ? 4 : max > 0);
}

/* ---- errors ---- */

static void errors_are_values(void **state)
{
    (void)state;
    struct err e = {0};
    assert_false(err_set(&e, ERR_DIM, "dim %d", 3));
    assert_false(err_fix(&e, "use %d", 2));
    assert_false(err_at(&e, 4, 2));
    assert_int_equal(e.code, ERR_DIM);
    assert_string_equal(e.text, "dim 3");
    assert_string_equal(e.fix, "use 2");
    assert_false(err_where(&e, "a.yaml", 3, 5, "line\nnext"));
    assert_string_equal(e.source, "line");
    assert_false(err_prefix(&e, "call %d: ", 7));
    assert_int_equal(e.code, ERR_DIM);
    assert_string_equal(e.text, "call 7: dim 3");
    assert_string_equal(e.fix, "use 2");
    assert_string_equal(e.source, "");
    char longest[sizeof e.text];          /* what does not fit is cut */
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = 0;
    err_prefix(&e, "%s", longest);
    assert_string_equal(e.text, longest);
    err_set(&e, ERR_IO, "again");
    assert_string_equal(e.fix, "");
    assert_string_equal(e.source, "");
    assert_int_equal(e.at.col, 0);
    for (int c = 0; c < ERR_COUNT; c++) {
        assert_true(strlen(err_name((enum err_code)c)) > 1);
        assert_true(strlen(err_meaning((enum err_code)c)) > 3);
    }
    assert_string_equal(err_name(ERR_DIM), "E_DIM");
}

/* EAGAIN means a lack of processes only where one is started. */
static void a_lack_has_its_fix(void **state)
{
    static const struct { enum err_code code; const char *text, *fix; } row[] = {
        { ERR_ENV, "cannot run cc: Resource temporarily unavailable", "raise `ulimit -u`" },
        { ERR_IO, "cannot read -: Resource temporarily unavailable", "" },
        { ERR_IO, "cannot open a: Too many open files", "raise `ulimit -n`" },
        { ERR_NAME, "no tensor Too many open files", "" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct err e = {0};
        err_set(&e, row[i].code, "%s", row[i].text);
        if (row[i].fix[0] ? !strstr(e.fix, row[i].fix) : e.fix[0] != '\0')
            fail_msg("%s: %s", row[i].text, e.fix);
    }
}

struct print_row { const char *file; int line, col, len; const char *source, *fix, *printed; };

static void err_prints_a_caret(void **state)
{
    (void)state;
    static const struct print_row rows[] = {
        { "", 0, 0, 0, "", "", "error: wrong [E_NAME]\n" },
        { "", 0, 0, 0, "", "do x", "error: wrong [E_NAME]\n  fix: do x\n" },
        { "a.yaml", 0, 0, 0, "", "", "a.yaml: error: wrong [E_NAME]\n" },
        { "a.yaml", 3, 0, 0, "", "", "a.yaml:3: error: wrong [E_NAME]\n" },
        { "a.yaml", 3, 5, 0, "op: cd", "",
          "a.yaml:3:5: error: wrong [E_NAME]\n  op: cd\n      ^\n" },
        { "a.yaml", 3, 5, 2, "op: cd", "c2d",
          "a.yaml:3:5: error: wrong [E_NAME]\n  op: cd\n      ^~\n  fix: c2d\n" },
        { "", 0, 1, 99, "abc", "", "error: wrong [E_NAME]\n  abc\n  ^~~\n" },
        { "", 0, 4, 0, "abc", "", "error: wrong [E_NAME]\n  abc\n     ^\n" },
        { "", 0, 5, 0, "abc", "", "error: wrong [E_NAME]\n  abc\n" },
        { "", 0, 3, 2, "\tab cd", "", "error: wrong [E_NAME]\n  \tab cd\n  \t ^~\n" },
        /* Two bytes, one column: before the word and in it. */
        { "", 0, 4, 4, "\xc3\xa4 b\xc3\xa4" "c", "",
          "error: wrong [E_NAME]\n  \xc3\xa4 b\xc3\xa4" "c\n    ^~~\n" },
        /* Nothing that moves a terminal's cursor gets through. */
        { "", 0, 4, 0, "a\x1b[bc", "", "error: wrong [E_NAME]\n  a?[bc\n     ^\n" },
        { "", 0, 3, 0, "a\xff" "b", "", "error: wrong [E_NAME]\n  a?b\n    ^\n" },
    };
    for (int i = 0; i < COUNT_OF(rows); i++) {
        struct err e = {0};
        struct str out = {0};
        err_set(&e, ERR_NAME, "wrong");
        if (rows[i].fix[0])
            err_fix(&e, "%s", rows[i].fix);
        err_where(&e, rows[i].file, rows[i].line, rows[i].col, rows[i].source);
        err_at(&e, rows[i].col, rows[i].len);
        err_print(&out, &e);
        assert_string_equal(str_text(&out), rows[i].printed);
        str_free(&out);
    }
}

static void err_survives_long_texts(void **state)
{
    (void)state;
    char *text = xmalloc(100001);
    struct str out = {0};
    for (int i = 0; i < 100000; i += 2)
        memcpy(text + i, "\xc3\xa4", 2);
    text[100000] = '\0';
    struct err e = {0};
    err_set(&e, ERR_SYNTAX, "x%s", text);
    err_fix(&e, "%s", text);
    err_where(&e, text, 1, 99999, text);
    err_print(&out, &e);
    assert_true(utf8_valid(str_text(&out), out.len, NULL));
    str_free(&out);
    free(text);
}

/* A request that cannot be met ends the program: nobody looks for NULL. */
static void memory_that_is_not_there_is_fatal(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        const volatile size_t most = PTRDIFF_MAX;
        int status = 0;
        pid_t child = fork_child();
        if (child == 0) {
            freopen("/dev/null", "w", stderr);
            signal(SIGABRT, SIG_DFL);                     /* cmocka's own would go on */
            void *volatile p = i == 0 ? xmalloc(most) : i == 1 ? xcalloc(1, most)
                                                               : xrealloc(NULL, most);
            _exit(p != NULL);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}

/* ---- random numbers ---- */

static void rng_is_deterministic_and_in_range(void **state)
{
    (void)state;
    struct rng a = rng_seed(7), b = rng_seed(7), c = rng_seed(8);
    int seen[7] = {0};
    assert_true(rng_u64(&a) == rng_u64(&b) && rng_u64(&a) != rng_u64(&c));
    for (int i = 0; i < 7000; i++) {
        int64_t v = rng_range(&a, -3, 3);
        assert_true(v >= -3 && v <= 3);
        seen[v + 3]++;
        double u = rng_unit(&a);
        float f = rng_float(&a);
        assert_true(u >= 0 && u < 1 && f >= -1 && f < 1);
    }
    for (int i = 0; i < 7; i++)
        assert_true(seen[i] > 800 && seen[i] < 1200);
    assert_int_equal(rng_range(&a, 5, 5), 5);
    (void)rng_range(&a, INT64_MIN, INT64_MAX);
}

/* The published test vectors of FNV-1a and of splitmix64 feeding xoshiro256**. */
static void rng_matches_its_papers(void **state)
{
    (void)state;
    assert_true(hash_text("") == 0xcbf29ce484222325u);
    assert_true(hash_text("a") == 0xaf63dc4c8601ec8cu);
    assert_true(hash_text("foobar") == 0x85944171f73967e8u);
    assert_true(hash_bytes("foobar", 6, 1) != hash_text("foobar"));
    struct rng r = rng_seed(0);
    assert_true(r.s[0] == 0xe220a8397b1dcdafu && r.s[1] == 0x6e789e6aa1b965f4u);
    struct rng known = { { 1, 2, 3, 4 } };
    assert_true(rng_u64(&known) == 11520u && rng_u64(&known) == 0u);
    assert_true(rng_u64(&known) == 1509978240u);
}

static void decimal_numbers_only(void **state)
{
    static const char *const good[] = { "0", "-1.5", ".5", "5.", "1e3", "2E-3", "1e+2" };
    static const char *const bad[] = { "", "-", ".", "nan", "inf", "0x10", "1e", " 1", "1 ", "+1",
                                       "1e999x", "--1", "1.2.3", "e5" };
    double v = 7;
    (void)state;
    for (int i = 0; i < COUNT_OF(good); i++)
        assert_true(str_to_double(good[i], &v) && v == strtod(good[i], NULL));
    v = 7;
    for (int i = 0; i < COUNT_OF(bad); i++)
        assert_true(!str_to_double(bad[i], &v) && v == 7);
    assert_true(str_to_double("1e999", &v) && isinf(v));
}

/* ---- files ---- */

static const char *dir;

static const char *in_dir(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static int make_dir(void **state)
{
    (void)state;
    dir = temp_dir(NULL);
    return 0;
}

static void files_round_trip(void **state)
{
    (void)state;
    struct err e = {0};
    struct str out = {0};
    const char *path = in_dir("a");
    assert_false(file_exists(path));
    assert_true(file_write_atomic(path, "one\0two", 7, &e));
    assert_true(file_exists(path));
    assert_true(file_read(path, 7, &out, &e));
    assert_int_equal(out.len, 7);
    assert_memory_equal(out.data, "one\0two", 8);
    assert_false(file_read(path, 6, &out, &e));
    assert_int_equal(e.code, ERR_IO);
    assert_non_null(strstr(e.text, "larger than 6 bytes"));
    assert_int_equal(out.len, 7);
    assert_true(file_write_atomic(path, "", 0, &e));
    assert_true(file_read(path, 0, &out, &e));
    assert_int_equal(out.len, 0);
    assert_true(file_write_quick(path, "quick", 5, &e));
    assert_true(file_read(path, 5, &out, &e));
    assert_string_equal(str_text(&out), "quick");
    assert_false(file_write_quick(in_dir("none/a"), "x", 1, &e));
    assert_int_equal(e.code, ERR_IO);
    str_free(&out);
}

static void reads_say_why_not(void **state)
{
    (void)state;
    struct err e = {0};
    struct str out = {0};
    assert_false(file_read(in_dir("none"), 9, &out, &e));
    assert_non_null(strstr(e.text, "No such file"));
    assert_false(file_read(dir, 9, &out, &e));
    assert_non_null(strstr(e.text, "is a directory"));
    assert_false(file_read("/dev/zero", 9, &out, &e));
    assert_non_null(strstr(e.text, "larger than 9 bytes"));
    assert_null(out.data);
}

/* Pipes and devices are read to their end, and written to as they are. */
static void streams_are_files(void **state)
{
    (void)state;
    struct err e = {0};
    struct str out = {0};
    char fifo[512];
    snprintf(fifo, sizeof fifo, "%s", in_dir("fifo"));
    assert_int_equal(mkfifo(fifo, 0600), 0);
    pid_t child = fork_child();
    if (child == 0)
        _exit(file_write_atomic(fifo, "through", 7, &e) ? 0 : 1);
    assert_true(file_read(fifo, 9, &out, &e));
    assert_string_equal(str_text(&out), "through");
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(unlink(fifo), 0);
    assert_true(file_write_atomic("/dev/null", "gone", 4, &e));
    str_free(&out);
}

static int n_entries(void)
{
    char command[600];
    int n = -1;
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", dir);
    FILE *f = popen(command, "r");
    if (f && fscanf(f, "%d", &n) != 1)
        n = -1;
    if (f)
        pclose(f);
    return n;
}

static void writes_keep_the_mode(void **state)
{
    (void)state;
    struct err e = {0};
    struct stat st;
    mode_t old = umask(027);
    assert_true(file_write_atomic(in_dir("new"), "x", 1, &e));
    umask(old);
    assert_int_equal(stat(in_dir("new"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(chmod(in_dir("new"), 0604), 0);
    assert_true(file_write_atomic(in_dir("new"), "y", 1, &e));
    assert_int_equal(stat(in_dir("new"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0604);
}

static void writes_follow_links_to_files_only(void **state)
{
    (void)state;
    struct err e = {0};
    struct stat st;
    struct str out = {0};
    char target[512];
    snprintf(target, sizeof target, "%s", in_dir("target"));
    assert_true(file_write_atomic(target, "old", 3, &e));
    assert_int_equal(symlink(target, in_dir("link")), 0);
    assert_true(file_write_atomic(in_dir("link"), "new", 3, &e));
    assert_int_equal(lstat(in_dir("link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_true(file_read(target, 9, &out, &e));
    assert_string_equal(str_text(&out), "new");
    str_free(&out);
    assert_int_equal(symlink("nowhere", in_dir("dangling")), 0);
    assert_int_equal(symlink(dir, in_dir("to_dir")), 0);
    int before = n_entries();
    assert_false(file_write_atomic(in_dir("dangling"), "x", 1, &e));
    assert_false(file_write_atomic(in_dir("to_dir"), "x", 1, &e));
    assert_false(file_write_atomic(dir, "x", 1, &e));
    assert_false(file_write_atomic(in_dir("none/x"), "x", 1, &e));
    assert_non_null(strstr(e.text, "No such file"));
    assert_int_equal(n_entries(), before);
}

/* Only over what was seen, or over nothing. */
static void replaces_what_was_seen(void **state)
{
    (void)state;
    struct err e = {0};
    struct str out = {0};
    char path[512];
    snprintf(path, sizeof path, "%s", in_dir("seen"));
    assert_int_equal(file_seen(path), FILE_ABSENT);
    assert_true(file_replace(path, FILE_ABSENT, "one", 3, &e));
    assert_false(file_replace(path, FILE_ABSENT, "two", 3, &e));
    assert_int_equal(e.code, ERR_CHANGED);
    assert_int_equal(file_seen(path), file_content("one", 3));
    assert_true(file_replace(path, file_content("one", 3), "", 0, &e));
    assert_false(file_replace(path, file_content("one", 3), "two", 3, &e));
    assert_non_null(strstr(e.text, "changed since it was read"));
    assert_true(file_replace(path, file_seen(path), "two", 3, &e));
    assert_true(file_read(path, 9, &out, &e));
    assert_string_equal(str_text(&out), "two");
    assert_int_equal(unlink(path), 0);
    assert_true(file_replace(path, file_content("two", 3), "new", 3, &e));
    static const char *const beside[][2] = {
        { "a", "a-2" }, { "a", "a-3" }, { "c.d.yaml", "c.d-2.yaml" }, { ".yaml", ".yaml-2" },
    };
    assert_true(dir_make(in_dir("be.side"), &e));
    for (int i = 0; i < COUNT_OF(beside); i++) {
        struct str to = {0}, want = {0};
        str_printf(&to, "%s/%s", in_dir("be.side"), beside[i][0]);
        str_printf(&want, "%s/%s", in_dir("be.side"), beside[i][1]);
        assert_true(file_write_beside(str_text(&to), "x", 1, &out, &e));
        assert_string_equal(str_text(&out), str_text(&want));
        str_free(&to);
        str_free(&want);
    }
    assert_false(file_write_beside(in_dir("none/a"), "x", 1, &out, &e));
    str_free(&out);
}

/* A process that holds the lock of a file for ms, as a writer does. */
static pid_t hold_lock(const char *lock, int ms)
{
    int ready[2];
    char c;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        int fd = open(lock, O_WRONLY | O_CREAT | O_EXCL, 0600);
        if (fd < 0 || flock(fd, LOCK_EX) != 0 || write(ready[1], "x", 1) != 1)
            _exit(1);
        usleep((useconds_t)ms * 1000);
        unlink(lock);
        _exit(0);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    return child;
}

static void writers_wait_for_each_other(void **state)
{
    (void)state;
    struct err e = {0};
    char path[512], lock[600];
    int status;
    snprintf(path, sizeof path, "%s", in_dir("locked"));
    snprintf(lock, sizeof lock, "%s.tilescope-lock", path);
    pid_t child = hold_lock(lock, 200);
    double start = clock_s();
    assert_true(file_write_atomic(path, "x", 1, &e));
    assert_true(clock_s() - start > 0.1);                /* it waited for the child to let go */
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    child = hold_lock(lock, 60000);
    int before = n_entries();
    assert_false(file_write_atomic(path, "y", 1, &e));
    assert_non_null(strstr(e.text, "another process is writing it"));
    assert_non_null(strstr(e.fix, lock));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(n_entries(), before);
    assert_true(file_write_atomic(path, "z", 1, &e));        /* left over from the kill */
    assert_int_equal(n_entries(), before - 1);
    assert_true(file_write_atomic(in_dir("a.lock"), "mine", 4, &e));
    assert_true(file_write_atomic(in_dir("a"), "x", 1, &e));
    assert_int_equal(file_seen(in_dir("a.lock")), file_content("mine", 4));
    char longest[NAME_MAX + 1] = "";
    memset(longest, 'n', NAME_MAX);
    assert_true(file_write_atomic(in_dir(longest), "x", 1, &e));
}

/* For another owner there is no set-id bit; as root, owner and group stay. */
static void writes_keep_the_owner(void **state)
{
    (void)state;
    struct err e = {0};
    struct stat st;
    char path[512];
    if (getuid() != 0)
        skip();
    snprintf(path, sizeof path, "%s", in_dir("owned"));
    assert_true(file_write_atomic(path, "x", 1, &e));
    assert_int_equal(chown(path, 1234, 2345), 0);
    assert_int_equal(chmod(path, 0640), 0);
    assert_true(file_write_atomic(path, "y", 1, &e));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_uid, 1234);
    assert_int_equal(st.st_gid, 2345);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(chmod(path, 04664), 0);
    assert_int_equal(chmod(dir, 0777), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(setgid(4321) != 0 || setuid(4321) != 0 || !file_write_atomic(path, "z", 1, &e));
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_uid, 4321);
    assert_int_equal(st.st_mode & 07777, 0644);
}

/* A name that nobody typed is of a file; a pipe at whose other end is nobody is not waited for. */
static void reads_of_files_only(void **state)
{
    (void)state;
    struct err e = {0};
    struct str out = {0};
    assert_int_equal(mkfifo(in_dir("nobody"), 0600), 0);
    alarm(10);
    assert_false(file_read_regular(in_dir("nobody"), 9, &out, &e));
    alarm(0);
    assert_non_null(strstr(e.text, "is a pipe or a device"));
    assert_false(file_read_regular("/dev/zero", 9, &out, &e));
    assert_false(file_read_regular("-", 9, &out, &e));
    assert_non_null(strstr(e.text, "No such file"));
    assert_true(file_write_atomic(in_dir("some"), "some", 4, &e));
    assert_true(file_read_regular(in_dir("some"), 9, &out, &e));
    assert_string_equal(str_text(&out), "some");
    str_free(&out);
    assert_int_equal(unlink(in_dir("nobody")), 0);
}

static void dirs(void **state)
{
    (void)state;
    struct err e = {0};
    struct str out = {0};
    assert_true(dir_make(in_dir("p/q//r/"), &e));
    assert_true(dir_make(in_dir("p/q/r"), &e));
    assert_true(dir_make("/", &e));
    assert_true(file_write_atomic(in_dir("p/file"), "", 0, &e));
    assert_false(dir_make(in_dir("p/file/r"), &e));
    assert_false(dir_make(in_dir("p/file"), &e));
    assert_non_null(strstr(e.text, "a file of that name exists"));
    setenv("XDG_CACHE_HOME", in_dir("cache"), 1);
    assert_true(dir_cache(&out, &e));
    assert_string_equal(str_text(&out), in_dir("cache/tilescope"));
    assert_true(file_exists(str_text(&out)));
    setenv("XDG_STATE_HOME", "relative", 1);
    setenv("HOME", in_dir("home"), 1);
    assert_true(dir_state(&out, &e));
    assert_string_equal(str_text(&out), in_dir("home/.local/state/tilescope"));
    str_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_gives_zeroed_aligned_memory), cmocka_unit_test(arena_copies),
        cmocka_unit_test(vec_grows), cmocka_unit_test(str_builds),
        cmocka_unit_test(numbers_are_for_people), cmocka_unit_test(long_lines_are_wrapped),
        cmocka_unit_test(str_compares),
        cmocka_unit_test(distances), cmocka_unit_test(nearest_is_near_enough),
        cmocka_unit_test(integers), cmocka_unit_test(utf8), cmocka_unit_test(errors_are_values),
        cmocka_unit_test(a_lack_has_its_fix),
        cmocka_unit_test(err_prints_a_caret), cmocka_unit_test(err_survives_long_texts),
        cmocka_unit_test(memory_that_is_not_there_is_fatal),
        cmocka_unit_test(rng_is_deterministic_and_in_range),
        cmocka_unit_test(rng_matches_its_papers), cmocka_unit_test(decimal_numbers_only),
        cmocka_unit_test(files_round_trip),
        cmocka_unit_test(reads_say_why_not), cmocka_unit_test(streams_are_files),
        cmocka_unit_test(writes_keep_the_mode),
        cmocka_unit_test(replaces_what_was_seen),
        cmocka_unit_test(writers_wait_for_each_other),
        cmocka_unit_test(writes_keep_the_owner), cmocka_unit_test(reads_of_files_only),
        cmocka_unit_test(writes_follow_links_to_files_only), cmocka_unit_test(dirs),
    };
    return cmocka_run_group_tests(tests, make_dir, NULL);
}
