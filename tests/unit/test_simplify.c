/* The simplifier by example: each row is an expression, the ranges of its variables, its
 * simple form and the bounds of that.  The two are also compared at every point, and the table
 * as a whole must fire every rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/subprocess.h"
#include "tests/unit/expr_help.h"
#include "tests/unit/expr_verify.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

struct row { const char *text, *ranges, *simple; int64_t lo, hi; };

static const struct row linear_rows[] = {
    { "2 + 3*4", "i:0..1", "14", 14, 14 },
    { "7 / 2 - -7 / 2", "i:0..1", "7", 7, 7 },
    { "-7 % 4", "i:0..1", "1", 1, 1 },
    { "i + 0", "i:0..9", "i", 0, 9 },
    { "0 + i", "i:0..9", "i", 0, 9 },
    { "i*0 + 5", "i:0..9", "5", 5, 5 },
    { "i*1", "i:0..9", "i", 0, 9 },
    { "i*0", "i:0..9", "0", 0, 0 },
    { "i + i*2 - 3*i", "i:0..9", "0", 0, 0 },
    { "3 + i + 2*j + i", "i:0..9 j:0..9", "2*i + 2*j + 3", 3, 39 },
    { "kh + 3 + h.1 + 8*h.0", "h.0:0..3 h.1:0..7 kh:0..2", "8*h.0 + h.1 + kh + 3", 3, 36 },
    { "i - j + 4*(j + i)", "i:0..3 j:0..3", "5*i + 3*j", 0, 24 },
    { "20 - 4*i", "i:0..3", "20 - 4*i", 8, 20 },
    { "-(i - 20)", "i:0..3", "20 - i", 17, 20 },
    { "j*i", "i:0..3 j:0..3", "i*j", 0, 9 },
    { "(2*i)*(3*j + 6)", "i:0..3 j:0..3", "6*(i*(j + 2))", 0, 90 },
    { "i*j - j*i", "i:0..3 j:0..3", "0", 0, 0 },
    { "i*(j / 8)", "i:0..3 j:8..15", "i", 0, 3 },
};

/* A variable with one value keeps its name: indices stay recognisable. */
static const struct row point_rows[] = {
    { "n", "n:0..0", "n", 0, 0 },
    { "n / 4", "n:0..0", "0", 0, 0 },
    { "n % 4", "n:0..0", "n", 0, 0 },
    { "16*n + h", "n:0..0 h:0..9", "16*n + h", 0, 9 },
    { "n*4611686018427387904*8 + h", "n:0..0 h:0..9", "h", 0, 9 },
};

static const struct row div_rows[] = {
    { "(i*8 + j) / 8", "i:0..15 j:0..7", "i", 0, 15 },
    { "i / 1", "i:-9..9", "i", -9, 9 },
    { "i / 8", "i:0..7", "0", 0, 0 },
    { "i / 8", "i:-8..-1", "-1", -1, -1 },
    { "i / 8", "i:0..8", "i / 8", 0, 1 },
    { "(8*i + j) / 8", "i:0..3 j:8..15", "i + 1", 1, 4 },
    { "(8*i + j) / 8", "i:-3..3 j:-8..-1", "i - 1", -4, 2 },
    { "(8*i + j) / 8", "i:0..3 j:0..8", "i + j / 8", 0, 4 },
    { "(16*i + 4*j + k) / 16", "i:0..3 j:0..3 k:0..3", "i", 0, 3 },
    { "(9*i + j) / 8", "i:0..3 j:0..4", "i", 0, 3 },
    { "(7*i + 8*j) / 8", "i:0..1 j:0..3", "j", 0, 3 },
    { "(i + 13) / 8", "i:0..20", "(i + 5) / 8 + 1", 1, 4 },
    { "(i - 3) / 4", "i:0..9", "(i + 1) / 4 - 1", -1, 1 },
    { "(6*i) / 9", "i:0..9", "2*i / 3", 0, 6 },
    { "(6*i + 4) / 9", "i:-9..9", "(2*i + 1) / 3", -6, 6 },
    { "(8*i + j) / 32", "i:0..15 j:0..7", "i / 4", 0, 3 },
    { "(8*i + j) / 32", "i:0..15 j:8..15", "(i + 1) / 4", 0, 4 },
    { "(i / 4) / 8", "i:0..99", "i / 32", 0, 3 },
    { "(i / 4 + j) / 8", "i:0..99 j:0..9", "(4*j + i) / 32", 0, 4 },
    { "(i / 4 - 3) / 8", "i:-9..99", "(i + 20) / 32 - 1", -1, 2 },
    { "(i % 32) / 8", "i:0..99", "i / 8 % 4", 0, 3 },
    { "(i % 32) / 8", "i:-99..99", "i / 8 % 4", 0, 3 },
    { "(4*(i % 8) + j) / 8", "i:0..99 j:0..3", "i / 2 % 4", 0, 3 },
};

static const struct row mod_rows[] = {
    { "i % 1", "i:-9..9", "0", 0, 0 },
    { "i % 8", "i:0..7", "i", 0, 7 },
    { "i % 8", "i:16..20", "i - 16", 0, 4 },
    { "i % 8", "i:-8..-1", "i + 8", 0, 7 },
    { "i % 8", "i:-1..7", "i % 8", 0, 7 },
    { "(8*i + j) % 8", "i:0..15 j:0..7", "j", 0, 7 },
    { "(8*i + j) % 8", "i:-5..5 j:-3..-1", "j + 8", 5, 7 },
    { "(9*i + j) % 8", "i:0..3 j:0..4", "i + j", 0, 7 },
    { "(7*i) % 8", "i:-2..0", "-i", 0, 2 },
    { "(17*i + 8*j + 13) % 8", "i:0..15 j:0..9", "(i + 5) % 8", 0, 7 },
    { "(i - 3) % 4", "i:0..15", "(i + 1) % 4", 0, 3 },
    { "(h + p - kh) % 2", "h:0..9 p:1..1 kh:0..3", "(h + p - kh) % 2", 0, 1 },
    { "(i % 32) % 8", "i:-9..99", "i % 8", 0, 7 },
    { "(2*(i % 12) + j) % 8", "i:0..99 j:0..9", "(2*i + j) % 8", 0, 7 },
    { "(2*(i % 10) + j) % 8", "i:0..99 j:0..9", "(2*(i % 10) + j) % 8", 0, 7 },
    { "(6*i) % 9", "i:0..9", "3*(2*i % 3)", 0, 6 },
    { "(8*i + j) % 32", "i:0..15 j:0..7", "8*(i % 4) + j", 0, 31 },
    { "(8*i + j) % 32", "i:0..15 j:8..15", "8*((i + 1) % 4) + j - 8", 0, 31 },
    { "(8*i + 9*j) % 16", "i:0..3 j:0..3", "(9*j + 8*i) % 16", 0, 15 },
    { "(8*i + 3) % 32", "i:0..15", "8*(i % 4) + 3", 3, 27 },
    { "(16*i + 4*j + k) % 64", "i:0..15 j:0..3 k:0..3", "16*(i % 4) + 4*j + k", 0, 63 },
};

static const struct row digit_rows[] = {
    { "4*(i / 4) + i % 4", "i:-9..99", "i", -9, 99 },
    { "12*(i / 4) + 3*(i % 4) + j", "i:0..99 j:0..2", "3*i + j", 0, 299 },
    { "((i / 8) % 4)*8 + i % 8", "i:0..99", "i % 32", 0, 31 },
    { "(i / 32)*4 + (i / 8) % 4", "i:0..99", "i / 8", 0, 12 },
    { "32*(i / 32) + 8*(i / 8 % 4) + i % 8", "i:-40..99", "i", -40, 99 },
    { "8*((8*h + w) / 8 % 4) + (8*h + w) % 8", "h:0..9 w:0..15", "(8*h + w) % 32", 0, 31 },
    { "4*((i + 13) / 4) + (i + 13) % 4", "i:-9..9", "i + 13", 4, 22 },
    { "i - 4*(i / 4)", "i:-9..9", "i % 4", 0, 3 },
    { "i / 4 - 8*(i / 32)", "i:0..99", "i / 4 % 8", 0, 7 },
    { "3*i - 6*(i / 2) + 1", "i:-9..9", "3*(i % 2) + 1", 1, 4 },
    { "i - i % 4", "i:-9..9", "4*(i / 4)", -12, 8 },
    { "5*i - 5*(i % 4)", "i:0..9", "20*(i / 4)", 0, 40 },
    { "37*(i / 4) + i % 4", "i:0..99", "37*(i / 4) + i % 4", 0, 891 },
    { "i % 4 + i % 4", "i:0..9", "2*(i % 4)", 0, 6 },
    { "4*(i / 4) + (i + 1) % 4", "i:0..9", "4*(i / 4) + (i + 1) % 4", 0, 11 },
};

static const struct row condition_rows[] = {
    { "min(i, 7)", "i:0..7", "i", 0, 7 },
    { "min(i, 7)", "i:0..8", "min(i, 7)", 0, 7 },
    { "min(7, i)", "i:0..8", "min(i, 7)", 0, 7 },
    { "max(j, i)", "i:0..3 j:0..3", "max(i, j)", 0, 3 },
    { "max(i, j)", "i:0..3 j:4..9", "j", 4, 9 },
    { "min(i + j, i + 3)", "i:0..9 j:3..5", "i + 3", 3, 12 },
    /* what is known of a difference hangs on no order of terms */
    { "min(i, i % 5 + i % 4)", "i:4..20", "i % 4 + i % 5", 0, 7 },
    { "max(i + 1, i)", "i:0..9", "i + 1", 1, 10 },
    { "i < 10", "i:0..9", "1", 1, 1 },
    { "i < 0", "i:0..9", "0", 0, 0 },
    { "4*o.0 + o.1 < 10", "o.0:0..2 o.1:0..3", "4*o.0 + o.1 < 10", 0, 1 },
    { "i + 3 < j", "i:0..9 j:0..9", "i < j - 3", 0, 1 },
    { "5 < i", "i:0..9", "i >= 6", 0, 1 },
    { "i - 2 >= 0", "i:0..9", "i >= 2", 0, 1 },
    { "-2*i < -5", "i:0..9", "i >= 3", 0, 1 },
    { "i + 1 < i + j", "i:0..9 j:2..3", "1", 1, 1 },
    { "i / 4 < 3", "i:-9..99", "i < 12", 0, 1 },
    { "2 < i / 4", "i:0..99", "i >= 12", 0, 1 },
    { "i / 4 < j / 4", "i:0..99 j:0..99", "i < 4*(j / 4)", 0, 1 },
    { "4*i + 6*j < 9", "i:0..9 j:0..9", "3*j + 2*i < 5", 0, 1 },
    { "8*i + j < 24", "i:0..9 j:0..7", "i < 3", 0, 1 },
    { "8*i + j < 25", "i:0..9 j:0..7", "8*i + j < 25", 0, 1 },
    { "8*(i / 8) + i % 8 < 100", "i:0..99", "1", 1, 1 },
    { "i == j", "i:0..3 j:4..9", "0", 0, 0 },
    { "i + j == j + i", "i:0..3 j:4..9", "1", 1, 1 },
    { "3 == i", "i:0..9", "i == 3", 0, 1 },
    { "2*i + 4 == 6*j", "i:0..9 j:0..9", "3*j == i + 2", 0, 1 },
    { "2*i == 6*j + 3", "i:0..9 j:0..9", "0", 0, 0 },
    { "(h + 1 - kh) % 2 == 0", "h:0..9 kh:0..2", "(h - kh + 1) % 2 == 0", 0, 1 },
    { "i < 3 && 1", "i:0..9", "i < 3", 0, 1 },
    { "i < 3 && j < 99", "i:0..9 j:0..9", "i < 3", 0, 1 },
    { "i < 3 && i < 0", "i:0..9", "0", 0, 0 },
    { "i < 5 && j < 2 && i < 5", "i:0..9 j:0..9", "i < 5 && j < 2", 0, 1 },
    { "i < 5 && j < 2 && i < 3", "i:0..9 j:0..9", "i < 3 && j < 2", 0, 1 },
    { "i >= 3 && j < 2 && i < 3", "i:0..9 j:0..9", "0", 0, 0 },
    { "i + 1 < j && j < i + 3", "i:0..9 j:0..9", "i < j - 1 && j < i + 3", 0, 1 },
    { "i + 1 < j && j < i + 2", "i:0..9 j:0..9", "0", 0, 0 },
    { "i && 7", "i:0..9", "i && 1", 0, 1 },
    { "i && i", "i:0..9", "i && 1", 0, 1 },
};

/* What layouts make (SPEC A, B): through a layout and back, and windows. */
static const struct row layout_rows[] = {
    /* ALT Fig. 6: N H/4 W O 4 read through the logical index 4*ht + hi. */
    { "(4*ht + hi) / 4", "ht:0..13 hi:0..3", "ht", 0, 13 },
    { "(4*ht + hi) % 4", "ht:0..13 hi:0..3", "hi", 0, 3 },
    /* SPEC A.3.1, e = h*W*O + w*O + o with H = W = 2, O = 8. */
    { "(16*h + 8*w + o) / 16", "h:0..1 w:0..1 o:0..7", "h", 0, 1 },
    { "(16*h + 8*w + o) / 4 % 4", "h:0..1 w:0..1 o:0..7", "2*w + o / 4", 0, 3 },
    { "(16*h + 8*w + o) % 4", "h:0..1 w:0..1 o:0..7", "o % 4", 0, 3 },
    /* Fused dims split again elsewhere: O*H*W = 8*6*4. */
    { "(24*o + 4*h + w) / 24", "o:0..7 h:0..5 w:0..3", "o", 0, 7 },
    { "(24*o + 4*h + w) / 4 % 6", "o:0..7 h:0..5 w:0..3", "h", 0, 5 },
    { "(24*o + 4*h + w) / 12 % 2", "o:0..7 h:0..5 w:0..3", "h / 3", 0, 1 },
    { "(24*o + 4*h + w) % 12", "o:0..7 h:0..5 w:0..3", "4*(h % 3) + w", 0, 11 },
    /* Unfold, canonical map: t = min(d / S, n - 1), b = d - S*t with d = 4*t0 + j. */
    { "min((4*t + j) / 4, 6)", "t:0..6 j:0..3", "t", 0, 6 },
    { "4*t + j - 4*min((4*t + j) / 4, 6)", "t:0..6 j:0..3", "j", 0, 3 },
    { "min(d / 4, 6)", "d:0..29", "min(d / 4, 6)", 0, 6 },
    /* Formula (1): V*i + r - S*t with i = 4*ht + hi, V = 2, S = 8. */
    { "2*(4*ht + hi) + r - 8*((4*ht + hi) / 4)", "ht:0..27 hi:0..3 r:0..6", "2*hi + r", 0, 12 },
    /* A reduction split by a factor of both tiles (i_t = 8, i_t' = 4). */
    { "(8*i.0 + i.1) / 4", "i.0:0..3 i.1:0..7", "2*i.0 + i.1 / 4", 0, 7 },
    { "(8*i.0 + i.1) % 4", "i.0:0..3 i.1:0..7", "i.1 % 4", 0, 3 },
    { "(8*i.0 + 4*i.1 + i.2) / 4", "i.0:0..3 i.1:0..1 i.2:0..3", "2*i.0 + i.1", 0, 7 },
    /* Three levels, O/64 4o 16o, read at 64*a + 16*b + c. */
    { "(64*a + 16*b + c) / 64", "a:0..1 b:0..3 c:0..15", "a", 0, 1 },
    { "(64*a + 16*b + c) / 16 % 4", "a:0..1 b:0..3 c:0..15", "b", 0, 3 },
    { "(64*a + 16*b + c) % 16", "a:0..1 b:0..3 c:0..15", "c", 0, 15 },
    /* The guard of a padded split of 10 by 4, and of a pad by 1 on either side. */
    { "4*a + b < 10", "a:0..2 b:0..3", "4*a + b < 10", 0, 1 },
    { "q - 1 >= 0 && q - 1 < 8", "q:0..9", "q >= 1 && q < 9", 0, 1 },
    { "q - 1 >= 0 && q - 1 < 8", "q:1..8", "1", 1, 1 },
};

#define TABLE(rows) { #rows, rows, COUNT_OF(rows) }
static const struct { const char *name; const struct row *rows; int n; } tables[] = {
    TABLE(linear_rows), TABLE(point_rows), TABLE(div_rows), TABLE(mod_rows), TABLE(digit_rows),
    TABLE(condition_rows), TABLE(layout_rows),
};

static long fired[128];

static bool check_row(const struct row *r)
{
    struct arena *a = arena_new();
    struct space s = space_parse(a, r->ranges);
    const struct expr *e = space_expr(&s, r->text), *x = expr_simplify(s.p, e);
    const char *text = expr_text(&s, x), *where = space_differ(&s, e, x);
    bool ok = !where && !space_outside(&s, x) && streq(text, r->simple)
           && x->lo == r->lo && x->hi == r->hi;
    if (where)
        print_error("%s ==> %s: %s\n", r->text, text, where);
    else if (!ok)
        print_error("    { \"%s\", \"%s\", \"%s\", %lld, %lld },\n", r->text, r->ranges, text,
                    (long long)x->lo, (long long)x->hi);
    for (int i = 0; i < simplify_n_rules(); i++)
        fired[i] += simplify_fired(s.p, i);
    arena_free(a);
    return ok;
}

static void examples(void **state)
{
    (void)state;
    int n_bad = 0;
    for (int t = 0; t < COUNT_OF(tables); t++)
        for (int i = 0; i < tables[t].n; i++)
            n_bad += !check_row(&tables[t].rows[i]);
    assert_int_equal(n_bad, 0);
}

static void every_rule_fires(void **state)
{
    (void)state;
    assert_true(simplify_n_rules() < COUNT_OF(fired));
    for (int i = 0; i < simplify_n_rules(); i++)
        if (fired[i] == 0)
            print_error("rule %s: no example fires it\n", simplify_rule(i)->name);
    for (int i = 0; i < simplify_n_rules(); i++)
        assert_true(fired[i] > 0);
}

static void every_rule_is_documented(void **state)
{
    (void)state;
    for (int i = 0; i < simplify_n_rules(); i++) {
        const struct simplify_rule *r = simplify_rule(i);
        assert_non_null(strstr(r->identity, "==>"));
        assert_non_null(r->condition);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(r->name, simplify_rule(j)->name);
    }
}

static void record(void *ctx, const char *rule, const struct expr *before, const struct expr *after)
{
    struct str *log = ctx;
    str_printf(log, "%s: ", rule);
    expr_print(log, before);
    str_add(log, " ==> ");
    expr_print(log, after);
    str_add_char(log, '\n');
}

static void trace_names_the_rules(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct space s = space_parse(a, "i:0..99 j:0..3");
    struct str log = {0};
    simplify_trace(s.p, record, &log);
    expr_simplify(s.p, space_expr(&s, "(4*i + j) / 4 % 8 / 2"));
    assert_string_equal(str_text(&log),
                        "div_split: (4*i + j) / 4 ==> i\n"
                        "div_mod: i % 8 / 2 ==> i / 2 % 4\n");
    str_clear(&log);
    expr_simplify(s.p, space_expr(&s, "(4*i + j) / 4 % 8 / 2"));
    assert_string_equal(str_text(&log), "");
    str_free(&log);
    arena_free(a);
}

/* Values near the ends of int64 must not be simplified into nonsense, nor overflow on the way. */
static void huge_numbers(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "i*4611686018427387904*4 / 8", "(i*4611686018427387904 + i) % 8",
        "(i + 9223372036854775807) / 9223372036854775807", "i / 4611686018427387905 < 2",
        "min(i*9223372036854775807, j*9223372036854775807)", "i*4611686018427387904 < j*2",
        "4611686018427387904*(i / 4) + 1152921504606846976*(i % 4)",
        "i - 4611686018427387904*(i / 4611686018427387904)", "(i / 1099511627776) / 1099511627776",
        "i*4611686018427387904 == 4611686018427387904*j", "-9223372036854775807 - 1 + i < j",
    };
    for (int i = 0; i < COUNT_OF(texts); i++) {
        struct arena *a = arena_new();
        struct space s = space_parse(a, "i:-3..9 j:-9..3");
        const struct expr *e = space_expr(&s, texts[i]), *x = expr_simplify(s.p, e);
        const char *where = space_differ(&s, e, x);
        if (where)
            fail_msg("%s ==> %s: %s", texts[i], expr_text(&s, x), where);
        arena_free(a);
    }
}

/* The corners of the largest ranges there are, and coefficients that a variable which is
 * always 0 can have. */
static void huge_ranges(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "(i + 5) / 8", "(i - 5) % 8", "(8*i + j) / 8", "(i / 4) / 4611686018427387904", "i < j",
        "i - 8*(i / 8)", "8*(i / 8) + i % 8", "min(i, j)", "max(i + 1, j)", "i == j + 1",
        "(i + j) / 9223372036854775807", "i*j", "(2*i)*(2*j)", "i / 8 < j / 8", "2*i + 4*j < 6",
        "(n*4611686018427387904*2 + j) / 8", "(n*4611686018427387904*2 + 8*j) % 64",
        "n*4611686018427387904*2 + j < i", "n*4611686018427387904*2 == 4*j", "n*2 - j / 2 < i",
        "n*4611686018427387904*2 - (n % 4)*4611686018427387904*2",
        "n*4611686018427387904*2 + (n / 2)*4611686018427387904*2", "(n*4611686018427387904*2)*j",
        "i < 9223372036854775807 && i < 9223372036854775806",
    };
    static const char *const ranges[] = {
        "i:-9223372036854775808..9223372036854775807 j:-9223372036854775808..-1 n:0..0",
        "i:-4611686018427387904..4611686018427387904 j:-4611686018427387903..9 n:0..0",
        "i:-9223372036854775807..0 j:0..9223372036854775807 n:0..0",
        "i:0..9 j:-9..9 n:0..0",
    };
    for (int i = 0; i < COUNT_OF(texts) * COUNT_OF(ranges); i++) {
        struct arena *a = arena_new();
        struct space s = space_parse(a, ranges[i % COUNT_OF(ranges)]);
        const struct expr *e = space_expr(&s, texts[i / COUNT_OF(ranges)]);
        const struct expr *x = expr_simplify(s.p, e);
        expr_verify(s.p, x);
        for (int corner = 0; corner < 8; corner++) {
            int64_t vals[SPACE_VARS];
            for (int v = 0; v < s.n; v++)
                vals[s.var[v]->var] = corner >> v & 1 ? s.var[v]->hi : s.var[v]->lo;
            if (expr_eval(e, vals) != expr_eval(x, vals))
                fail_msg("%s ==> %s", expr_text(&s, e), expr_text(&s, x));
        }
        arena_free(a);
    }
}

/* Layout-like accesses of a fresh pool each: the tuner's daily bread. */
static void takes_microseconds(void **state)
{
    (void)state;
    enum { N = 2000 };
    int n_exprs = 0;
    double start = clock_s();
    for (int k = 0; k < N; k++) {
        struct arena *a = arena_new();
        struct space s = space_parse(a, "h.0:0..13 h.1:0..3 o.0:0..7 o.1:0..15 kh:0..2 kw:0..2");
        static const char *const texts[] = {
            "(16*o.0 + o.1) / 4 % 8", "4*((4*h.0 + h.1) / 4) + (4*h.0 + h.1) % 4 + kh",
            "(56*(4*h.0 + h.1 + kh) + 16*o.0 + o.1) / 8", "2*(4*h.0 + h.1) + kh - 8*h.0",
            "(24*(16*o.0 + o.1) + 4*h.0 + h.1) / 24 % 16",
        };
        for (int i = 0; i < COUNT_OF(texts); i++, n_exprs++)
            expr_simplify(s.p, space_expr(&s, texts[i]));
        arena_free(a);
    }
    double each_us = 1e6 * (clock_s() - start) / n_exprs;
    printf("# %.1f us to parse and simplify\n", each_us);
    assert_true(each_us < 5000);              /* valgrind, a busy machine */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples), cmocka_unit_test(every_rule_fires),
        cmocka_unit_test(every_rule_is_documented), cmocka_unit_test(trace_names_the_rules),
        cmocka_unit_test(huge_numbers), cmocka_unit_test(huge_ranges),
        cmocka_unit_test(takes_microseconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
