/* Strings, errors and formulas at their edges.  (What they do usually: test_base.c.) */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "kernels/base/err.h"
#include "kernels/base/formula.h"
#include "kernels/base/rng.h"
#include "kernels/base/sanitized.h"
#include "kernels/base/str.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* --- Words ------------------------------------------------------------------------------------ */

static void words_have_ends(void **state)
{
    static const struct { const char *text, *name, *tail; int at, n; } find[] = {
        { "M.0 + M", "M", "", 6, 1 }, { "M.0 + M", "M", ".0123456789", 0, 3 },
        { "KM M1 M", "M", "", 6, 1 }, { "KM M1", "M", "", -1, 0 }, { "MM", "M", "", -1, 0 },
        { "ab_M(M)", "M", "", 5, 1 }, { "", "M", "", -1, 0 },
    };
    static const struct { const char *text, *words; bool begins; } begin[] = {
        { "loop split", "loop", true }, { "loop", "loop", true }, { "looper", "loop", false },
        { "lo", "loop", false }, { "loop", "", false }, { "loop split C", "loop split", true },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(find); i++) {
        size_t n = 0;
        const char *p = str_find_name(find[i].text, find[i].name, find[i].tail, &n);
        if (p ? p - find[i].text != find[i].at || (int)n != find[i].n : find[i].at >= 0)
            fail_msg("%s in %s", find[i].name, find[i].text);
    }
    for (int i = 0; i < COUNT_OF(begin); i++)
        if (str_begins(begin[i].text, begin[i].words) != begin[i].begins)
            fail_msg("%s, %s", begin[i].text, begin[i].words);
    for (const char *c = "aZ09_."; *c; c++)
        assert_true(str_name_char(*c));
    for (const char *c = "- ,(\xe4"; *c; c++)
        assert_false(str_name_char(*c));
    assert_false(str_name_char('\0'));
}

static void lists_of_lines_are_compared(void **state)
{
    static const char *const a[] = { "one", "two", "three" }, *const b[] = { "one", "two", "3" };
    static const char *const c[] = { "1", "two" };
    (void)state;
    assert_true(str_same_lines(a, 3, a, 3) && str_same_lines(a, 2, b, 2));
    assert_true(str_same_lines(a, 0, b, 0));
    assert_false(str_same_lines(a, 3, b, 3) || str_same_lines(a, 2, c, 2));
    assert_false(str_same_lines(a, 2, a, 3) || str_same_lines(a, 3, a, 2));
}

/* A third of the letters may be wrong; of two that are equally near, it is the first. */
static void near_words_have_a_limit(void **state)
{
    static const char *const word[] = { "unroll", "split", "vectorize", "axis", "axes" };
    static const struct { const char *word; int nearest; } row[] = {
        { "anrall", 0 }, { "anrexl", -1 }, { "unroxy", 0 }, { "splix", 1 }, { "xplix", -1 },
        { "vektorise", 2 }, { "wektorise", 2 }, { "wektohise", -1 }, { "ve", -1 }, { "vec", 2 },
        { "VEC", 2 }, { "axos", 3 }, { "axes", 4 }, { "xais", 3 },
    };
    char text[258] = "";
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        const char *got = str_nearest(row[i].word, word, COUNT_OF(word));
        const char *want = row[i].nearest < 0 ? NULL : word[row[i].nearest];
        if (got != want)
            fail_msg("%s: %s", row[i].word, got ? got : "none");
    }
    const char *const same[] = { text };
    memset(text, 'x', 256);                              /* no word is longer */
    assert_ptr_equal(str_nearest(text, same, 1), text);
    text[256] = 'x';
    assert_null(str_nearest(text, same, 1));
    assert_int_equal(str_distance("xbadcx", "xabcdx"), 2);    /* two swaps */
    assert_int_equal(str_distance("abcdef", "bcdefa"), 2);
    assert_int_equal(str_distance("ac", "cba"), 3);      /* a swap is of neighbours */
}

static void numbers_change_their_unit(void **state)
{
    static const struct { double v; const char *want; } quantity[] = {
        { 999, "999" }, { 999.5, "999.5" }, { 1000.25, "1 000" }, { -0.5, "-0.5" },
        { 999999999999999, "999 999 999 999 999" }, { 1e15, "1e+15" }, { -1e15, "-1e+15" },
        { -1000, "-1 000" }, { -999, "-999" },
    };
    static const struct { double v; const char *want; } ms[] = {
        { 1000, "1.000 s" }, { 999.5, "999.5 ms" }, { 0.125, "0.125 ms" }, { 100, "100.0 ms" },
        { 10, "10.00 ms" }, { 9.5, "9.500 ms" }, { 0.0625, "62.50 us" }, { 0.5e-3, "500.0 ns" },
        { 2e-3, "2.000 us" }, { 0, "0.0 ns" }, { 125000, "125.0 s" }, { 12500, "12.50 s" },
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
    assert_true(str_is_whole("5") && str_is_whole("-5"));
    assert_true(str_is_whole("99999999999999999999999"));
    assert_false(str_is_whole("") || str_is_whole("-") || str_is_whole("5.")
                 || str_is_whole("--5") || str_is_whole("+5") || str_is_whole("5-"));
}

static void characters_are_taken_one_by_one(void **state)
{
    static const uint32_t want[] = { 'a', 0xe4, 0x20ac, 0x1f600, 0xfffd, 'z', 0xfffd, 0, 0 };
    static const struct { const char *s; size_t n, len; bool shown; } row[] = {
        { "a", 1, 1, true }, { " ", 1, 1, true }, { "\x1f", 1, 1, false }, { "\x7f", 1, 1, false },
        { "\xc2\x80", 2, 2, false }, { "\xc2\x9f", 2, 2, false }, { "\xc2\xa0", 2, 2, true },
        { "\xc3\x80", 2, 2, true }, { "\xff", 1, 1, false }, { "\xc3\xa4", 1, 1, false },
        { "\xe2\x82\xac", 3, 3, true }, { "\xe2\x82\xac", 2, 1, false },
    };
    const char *s = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xffz\xe2";
    struct str out = {0};
    (void)state;
    for (int i = 0; i < COUNT_OF(want); i++)
        assert_int_equal(utf8_next(&s), want[i]);
    for (int i = 0; i < COUNT_OF(row); i++) {
        bool shown = !row[i].shown;
        if (utf8_char(row[i].s, row[i].n, &shown) != row[i].len || shown != row[i].shown)
            fail_msg("row %d", i);
    }
    str_add_shown(&out, "a\tb\nc\0\xc3\xa4\xff", 9, "\t");
    assert_string_equal(str_text(&out), "a\tb?c?\xc3\xa4?");
    str_free(&out);
}

/* --- Errors ----------------------------------------------------------------------------------- */

/* What a system lacks has its fix wherever it is met; too many processes only where one starts. */
static void each_lack_has_a_fix(void **state)
{
    static const struct { const char *said, *fix; bool io; } row[] = {
        { "Too many open files in system", "fs.file-max", true },
        { "Too many open files", "ulimit -n", true },
        { "Resource temporarily unavailable", "ulimit -u", false },
        { "Cannot fork", "ulimit -u", false }, { "Cannot allocate memory", "ulimit -v", true },
        { "No space left on device", "free some space", true },
        { "Disk quota exceeded", "free some space", true }, { "File too large", "ulimit -f", true },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct err e;
        char text[100];
        snprintf(text, sizeof text, "cannot do x: %s", row[i].said);
        assert_ptr_equal(err_lack(text), text + strlen("cannot do x: "));
        assert_false(err_set(&e, ERR_ENV, "%s", text));
        assert_non_null(strstr(e.fix, row[i].fix));
        assert_false(err_set(&e, ERR_IO, "%s", text));
        assert_int_equal(strstr(e.fix, row[i].fix) != NULL, row[i].io);
        assert_int_equal(e.fix[0] != '\0', row[i].io);
        err_set(&e, ERR_COMPILE, "%s", text);
        assert_string_equal(e.fix, "");
    }
    assert_null(err_lack("No such file or directory"));
}

static void names_nearby_are_a_fix(void **state)
{
    static const char *const list[] = { "split", "fuse" };
    struct err e;
    (void)state;
    err_set(&e, ERR_NAME, "no step");
    assert_false(err_near(&e, "spilt", list, 2, "use %s", "one of %d", 2));
    assert_string_equal(e.fix, "use split");
    assert_false(err_near(&e, "parallel", list, 2, "use %s", "one of %d", 2));
    assert_string_equal(e.fix, "one of 2");
    assert_false(err_near(&e, "parallel", list, 2, "use %s", NULL));
    assert_string_equal(e.fix, "one of 2");
    assert_false(err_near(&e, "split", list, 0, "use %s", NULL));
    assert_string_equal(e.fix, "one of 2");
    assert_string_equal(err_name(ERR_COUNT), "E_?");
    assert_string_equal(err_meaning(ERR_COUNT), "unknown error");
}

static void places_are_kept_and_dropped(void **state)
{
    struct err e;
    struct str out = {0};
    char line[300];
    (void)state;
    err_set(&e, ERR_SYNTAX, "wrong");
    assert_false(err_where(&e, "f.yaml", 7, 3, "ab\r\ncd"));
    assert_string_equal(e.source, "ab");
    assert_string_equal(e.at.file, "f.yaml");
    assert_true(e.at.line == 7 && e.at.col == 3);
    err_at(&e, 5, 2);
    assert_true(e.at.line == 7 && e.at.col == 5 && e.at.len == 2);
    err_where(&e, NULL, 0, 4, NULL);
    assert_string_equal(e.at.file, "");
    assert_string_equal(e.source, "");
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\0';
    err_where(&e, "f.yaml", 0, 4, line);
    assert_int_equal(strlen(e.source), sizeof e.source - 1);
    err_prefix(&e, "%s %d: ", "call", 2);
    assert_true(e.at.line == 0 && e.at.col == 0 && e.at.len == 0 && !e.at.file[0]);
    err_where(&e, "a\tb.yaml", 0, 4, "");                /* a column without a line says nothing */
    err_print(&out, &e);
    assert_string_equal(str_text(&out), "a\tb.yaml: error: call 2: wrong [E_SYNTAX]\n");
    str_free(&out);
}

/* --- Formulas --------------------------------------------------------------------------------- */

/* Only a is known, and is 1. */
static bool only_a(void *ctx, const char *name, struct formula_value *v, struct err *e)
{
    (void)ctx;
    v->number = 1;
    return streq(name, "a") || err_set(e, ERR_NAME, "no %s", name);
}

static void formulas_have_values(void **state)
{
    static const struct { const char *text; double value; } number[] = {
        { "floor(2.7)", 2 }, { "floor(-2.2)", -3 }, { "ceil(2.1)", 3 }, { "abs(-3)", 3 },
        { "log(1)", 0 }, { "min(3, 1, 2)", 1 }, { "max(2,3,1)", 3 }, { "mean(1, 2, 6)", 3 },
        { "geomean(2, 8)", 4 }, { "min(5)", 5 }, { "2 * (3 + 4) - 6 / 4", 12.5 }, { "- (2)", -2 },
        { "1 - -1", 2 }, { "1e3", 1000 }, { "5.", 5 }, { " a * 2 ", 2 }, { "a-1", 0 },
        { "8 / 2 * 4", 16 }, { "-a", -1 },
    };
    static const struct { const char *text; bool value; } truth[] = {
        { "1 < 2", true }, { "2 < 2", false }, { "2 <= 2", true }, { "3 <= 2", false },
        { "2 >= 2", true }, { "1 >= 2", false }, { "3 > 2", true }, { "2 > 2", false },
        { "2 == 2", true }, { "2 == 3", false }, { "2 != 2", false }, { "2 != 3", true },
        { "\"ab\" == \"ab\"", true }, { "\"ab\" == \"abc\"", false }, { "\"ab\" == \"ac\"", false },
        { "\"ab\" != \"ac\"", true }, { "true == false", false }, { "true != false", true },
        { "false == false", true }, { "!true", false }, { "!!true", true }, { "! 1 > 2", true },
        { "true && false", false }, { "true && true", true }, { "true || false", true },
        { "false || false", false }, { "false && b", false }, { "true || b", true },
        { "true || 1 / 0 > 1", true }, { "false && b || true", true }, { "true || b && b", true },
        { "(true || false) && false", false }, { "true || false && false", true },
        { "true && true && false", false }, { "false || false || true", true },
        { "false && (b || 1)", false }, { "a == 1 && a != 2", true }, { "!(a < 1)", true },
    };
    struct err e;
    (void)state;
    for (int i = 0; i < COUNT_OF(number); i++) {
        double v = NAN;
        if (!formula_number(number[i].text, only_a, NULL, &v, &e)
            || !(fabs(v - number[i].value) < 1e-12))
            fail_msg("%s: %g", number[i].text, v);
    }
    for (int i = 0; i < COUNT_OF(truth); i++) {
        bool v = !truth[i].value;
        if (!formula_truth(truth[i].text, only_a, NULL, &v, &e) || v != truth[i].value)
            fail_msg("%s: %d", truth[i].text, v);
    }
}

static const struct wrong {
    const char *text; enum err_code code; int col, len; const char *says, *fix;
} wrong[] = {
    { "1 < 2 < 3", ERR_SYNTAX, 7, 1, "an operator is expected here", "" },
    { "a = 1", ERR_SYNTAX, 3, 1, "an operator is expected here", "write == for equality" },
    { "1 2", ERR_SYNTAX, 3, 1, "an operator is expected here", "" },
    { "a", ERR_TYPE, 1, 1, "true or false is expected here, but this is a number",
      "compare it: a < 1" },
    { "a + 1", ERR_TYPE, 1, 5, "true or false is expected here, but this is a number",
      "compare it: a + 1 < 1" },
    { "true && a", ERR_TYPE, 9, 1, "true or false is expected here, but this is a number",
      "compare it: a < 1" },
    { "2 && true", ERR_TYPE, 1, 1, "true or false is expected here, but this is a number", "" },
    { "!a", ERR_TYPE, 2, 1, "true or false is expected here, but this is a number",
      "compare it: a < 1" },
    { "\"a\"", ERR_TYPE, 1, 3, "true or false is expected here, but this is a text", "" },
    { "1 + true < 1", ERR_TYPE, 5, 4, "a number is expected here, but this is true or false", "" },
    { "\"x\" + 1 < 1", ERR_TYPE, 1, 3, "a number is expected here, but this is a text", "" },
    { "-true", ERR_TYPE, 2, 4, "a number is expected here, but this is true or false", "" },
    { "1 == true", ERR_TYPE, 6, 4, "a number is expected here, but this is true or false", "" },
    { "true == 1", ERR_TYPE, 9, 1, "true or false is expected here, but this is a number", "" },
    { "true < 1", ERR_TYPE, 1, 4, "a number is expected here, but this is true or false", "" },
    { "1 > true", ERR_TYPE, 5, 4, "a number is expected here, but this is true or false", "" },
    { "min(1, true) < 1", ERR_TYPE, 8, 4, "a number is expected here, but this is true or false",
      "" },
    { "1 / 0 < 1", ERR_RANGE, 5, 1, "division by zero", "" },
    { "1 / (2 - 2) < 1", ERR_RANGE, 5, 7, "division by zero", "" },
    { "1e308 * 10 < 1", ERR_RANGE, 1, 10, "the number is too large", "" },
    { "log(0) < 1", ERR_RANGE, 5, 1, "log needs a number above 0, and this is 0", "" },
    { "geomean(1, -2) < 1", ERR_RANGE, 12, 2, "geomean needs a number above 0, and this is -2",
      "" },
    { "floor(1, 2) < 1", ERR_SYNTAX, 8, 1, "floor takes one number", "" },
    { "min() < 1", ERR_SYNTAX, 5, 1, "a value is expected here", "" },
    { "(1 < 2", ERR_SYNTAX, 1, 1, "the closing parenthesis is missing", "" },
    { "1 < min(2", ERR_SYNTAX, 8, 1, "the closing parenthesis is missing", "" },
    { "1 < \"ab", ERR_SYNTAX, 5, 3, "the closing quote is missing", "" },
    { "1 < 2x", ERR_SYNTAX, 5, 2, "the number is malformed", "" },
    { "1 < xyz.b", ERR_NAME, 5, 5, "no xyz.b", "" },
    { "trueish", ERR_NAME, 1, 7, "no trueish", "" },
    { "true.x", ERR_NAME, 1, 6, "no true.x", "" },
    { "min < 1", ERR_NAME, 1, 3, "no min", "" },
    { "mint(1) < 1", ERR_NAME, 1, 4, "no mint", "" },
    { "true && b", ERR_NAME, 9, 1, "no b", "" },
    { "false || b", ERR_NAME, 10, 1, "no b", "" },
    { "", ERR_SYNTAX, 1, 1, "the expression ends where a value is expected", "" },
    { "1 <", ERR_SYNTAX, 4, 1, "the expression ends where a value is expected", "" },
    { "1 < )", ERR_SYNTAX, 5, 1, "a value is expected here", "" },
    { "true || 1 +", ERR_SYNTAX, 12, 1, "the expression ends where a value is expected", "" },
};

static void wrong_formulas_are_pointed_at(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(wrong); i++) {
        const struct wrong *w = &wrong[i];
        struct err e = {0};
        bool v;
        if (formula_truth(w->text, only_a, NULL, &v, &e))
            fail_msg("%s is accepted", w->text);
        if (e.code != w->code || e.at.col != w->col || e.at.len != w->len
            || !streq(e.text, w->says) || !streq(e.fix, w->fix) || !streq(e.source, w->text))
            fail_msg("%s: %d:%d %s; %s", w->text, e.at.col, e.at.len, e.text, e.fix);
    }
    double number = 7;
    struct err e;
    assert_false(formula_number("1 < 2", only_a, NULL, &number, &e));
    assert_string_equal(e.text, "a number is expected here, but this is true or false");
    assert_true(e.at.col == 1 && e.at.len == 5 && number == 7);
}

/* A check looks at all of the text, and at no value. */
static void checks_are_of_the_form(void **state)
{
    struct err e;
    (void)state;
    assert_true(formula_check("b && 1 / 0 || \"x\" < a", NULL, NULL, &e));
    assert_false(formula_check("true || b", only_a, NULL, &e));
    assert_string_equal(e.text, "no b");
    assert_false(formula_check("true || 1 +", NULL, NULL, &e));
    assert_true(formula_check("true || a", only_a, NULL, &e));
    assert_true(formula_is_word("a") && formula_is_word("Ab_1"));
    assert_false(formula_is_word("") || formula_is_word("1a") || formula_is_word("_a")
                 || formula_is_word("a.b") || formula_is_word("a b"));
}

static void formulas_have_limits(void **state)
{
    struct str text = {0};
    struct err e;
    double v = 0;
    (void)state;
    str_repeat(&text, '(', 100);
    str_add_char(&text, '3');
    str_repeat(&text, ')', 100);
    assert_true(formula_number(str_text(&text), NULL, NULL, &v, &e) && v == 3);
    str_clear(&text);
    for (int i = 0; i < 120; i++)                        /* the limit is of depth; 119 * 120 / 2 */
        str_printf(&text, "%s(%d)", i ? " + floor" : "", i);
    assert_true(formula_number(str_text(&text), NULL, NULL, &v, &e) && v == 7140);
    str_clear(&text);
    str_repeat(&text, '(', 101);
    assert_false(formula_number(str_text(&text), NULL, NULL, &v, &e));
    assert_string_equal(e.text, "more than 100 parentheses inside each other");
    assert_true(e.at.col == 101 && e.at.len == 1);
    str_clear(&text);
    str_add(&text, "max(1");
    for (int i = 2; i <= 64; i++)
        str_printf(&text, ",%d", i);
    str_add_char(&text, ')');
    assert_true(formula_number(str_text(&text), NULL, NULL, &v, &e) && v == 64);
    text.data[text.len - 1] = ',';
    str_add(&text, "65)");
    assert_false(formula_number(str_text(&text), NULL, NULL, &v, &e));
    assert_string_equal(e.text, "max takes at most 64 numbers");
    assert_int_equal(e.at.col, (int)text.len - 3);
    str_free(&text);
}

/* --- Memory and random numbers ---------------------------------------------------------------- */

static void arenas_count_their_bytes(void **state)
{
    struct arena *a = arena_new();
    (void)state;
    assert_memory_equal(arena_bytes(a, "a\0b", 3), "a\0b", 4);
    assert_string_equal(arena_strndup(a, "ab", 0), "");
    assert_string_equal(arena_bytes(a, NULL, 0), "");
    arena_reset(a);
#if !SANITIZED                            /* else there are gaps */
    arena_alloc(a, 1);
    assert_int_equal(arena_used_bytes(a), 16);
    arena_alloc(a, 17);
    assert_int_equal(arena_used_bytes(a), 48);
    arena_alloc(a, 60000);
    arena_alloc(a, 10000);                               /* in a second block */
    assert_int_equal(arena_used_bytes(a), 70048);
    arena_alloc(a, 16);
    assert_int_equal(arena_used_bytes(a), 70064);
#endif
    arena_free(a);
}

/* From the numbers that the generator is known to give: 11520, 0, 1509978240. */
static void random_numbers_are_scaled(void **state)
{
    struct rng r = { { 1, 2, 3, 4 } };
    (void)state;
    assert_true(rng_unit(&r) == 5 * 0x1p-53);            /* 11520 / 2^11 */
    r = (struct rng){ { 1, 2, 3, 4 } };
    assert_int_equal(rng_range(&r, 10, 16), 15);         /* 11520 mod 7 is 5 */
    assert_int_equal(rng_range(&r, -3, 3), -3);
    r = (struct rng){ { 1, 2, 3, 4 } };
    assert_true(rng_float(&r) == -1);                    /* 11520 / 2^40 is below 1 */
    assert_int_equal(hash_bytes("foobar", 6, 0), hash_text("foobar"));
    assert_int_not_equal(hash_bytes("foobar", 6, 1), hash_bytes("foobar", 6, 2));
    assert_int_equal(hash_bytes("foo", 3, 0), hash_text("foo"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_have_ends), cmocka_unit_test(lists_of_lines_are_compared),
        cmocka_unit_test(near_words_have_a_limit), cmocka_unit_test(numbers_change_their_unit),
        cmocka_unit_test(characters_are_taken_one_by_one), cmocka_unit_test(each_lack_has_a_fix),
        cmocka_unit_test(names_nearby_are_a_fix), cmocka_unit_test(places_are_kept_and_dropped),
        cmocka_unit_test(formulas_have_values), cmocka_unit_test(wrong_formulas_are_pointed_at),
        cmocka_unit_test(checks_are_of_the_form), cmocka_unit_test(formulas_have_limits),
        cmocka_unit_test(arenas_count_their_bytes), cmocka_unit_test(random_numbers_are_scaled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
