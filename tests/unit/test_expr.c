/* Expressions: building, bounds, substitution, linear forms, text and its errors, and tensor-valued
 * trees.  The algebra is in test_simplify.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/ir/linear.h"
#include "kernels/ir/val.h"
#include "tests/unit/expr_help.h"
#include "tests/unit/expr_parse.h"
#include "tests/unit/expr_verify.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static struct arena *arena;

static int setup(void **state)
{
    (void)state;
    arena = arena_new();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

/* ---- building ---- */

static void interning(void **state)
{
    (void)state;
    struct exprs *p = exprs_new(arena);
    const struct expr *x = expr_var(p, "x", 0, 7), *y = expr_var(p, "y", 0, 7);
    assert_ptr_equal(x, expr_var(p, "x", 0, 7));
    assert_ptr_not_equal(x, expr_var(p, "x", 0, 8));
    assert_int_equal(exprs_n_vars(p), 3);
    assert_int_equal(x->var, 0);
    assert_int_equal(y->var, 1);
    assert_ptr_equal(expr_add(p, x, y), expr_add(p, x, y));
    assert_ptr_not_equal(expr_add(p, x, y), expr_add(p, y, x));
    assert_ptr_equal(expr_sub(p, x, y), expr_add(p, x, expr_mul(p, y, expr_const(p, -1))));
    assert_ptr_equal(expr_ge(p, x, y), expr_lt(p, expr_addc(p, y, -1), x));
    assert_ptr_equal(expr_ge(p, x, expr_const(p, 3)), expr_lt(p, expr_const(p, 2), x));
    assert_ptr_equal(exprs_arena(p), arena);
}

static void many_are_found_again(void **state)
{
    (void)state;
    struct exprs *p = exprs_new(arena);
    const struct expr *x = expr_var(p, "x", 0, 7), *first[5000];
    for (int i = 0; i < COUNT_OF(first); i++)
        first[i] = expr_addc(p, x, i);
    for (int i = 0; i < COUNT_OF(first); i++) {
        assert_ptr_equal(first[i], expr_addc(p, x, i));
        expr_verify(p, first[i]);
    }
}

static void a_name_is_copied(void **state)
{
    (void)state;
    char name[] = "o.1";
    struct exprs *p = exprs_new(arena);
    const struct expr *v = expr_var(p, name, 0, 3);
    name[0] = 'x';
    assert_string_equal(v->name, "o.1");
}

struct bounds_row { const char *text, *ranges; int64_t lo, hi; };

static void bounds(void **state)
{
    (void)state;
    static const struct bounds_row rows[] = {
        { "x + y", "x:0..7 y:-2..3", -2, 10 },
        { "x - y", "x:0..7 y:-2..3", -3, 9 },
        { "-3*x", "x:-1..7", -21, 3 },
        { "x*y", "x:-2..3 y:-5..4", -15, 12 },
        { "x / 4", "x:-3..9", -1, 2 },
        { "x % 4", "x:-3..9", 0, 3 },
        { "x % 4", "x:5..7", 1, 3 },
        { "x % 4", "x:-3..-2", 1, 2 },
        { "min(x, y)", "x:0..7 y:2..3", 0, 3 },
        { "max(x, y)", "x:0..7 y:2..3", 2, 7 },
        { "x < y", "x:0..7 y:8..9", 1, 1 },
        { "x < y", "x:8..9 y:0..8", 0, 0 },
        { "x == y", "x:0..3 y:4..9", 0, 0 },
        { "x == 5", "x:5..5", 1, 1 },
        { "x < 3 && y < 3", "x:0..2 y:0..9", 0, 1 },
        { "x < 3 && y < 3", "x:3..9 y:0..9", 0, 0 },
    };
    for (int i = 0; i < COUNT_OF(rows); i++) {
        struct space s = space_parse(arena, rows[i].ranges);
        const struct expr *e = space_expr(&s, rows[i].text);
        if (e->lo != rows[i].lo || e->hi != rows[i].hi)
            fail_msg("%s has %lld..%lld", rows[i].text, (long long)e->lo, (long long)e->hi);
        assert_null(space_outside(&s, e));
    }
}

/* Saturated bounds are infinite: they stay so, whatever is added or divided. */
static void bounds_saturate(void **state)
{
    (void)state;
    struct exprs *p = exprs_new(arena);
    const struct expr *x = expr_var(p, "x", -2, INT64_MAX / 2);
    const struct expr *big = expr_mulc(p, x, 4), *less = expr_addc(p, big, -1000);
    assert_true(big->lo == -8 && big->hi == INT64_MAX);
    assert_true(less->lo == -1008 && less->hi == INT64_MAX);
    assert_true(expr_divc(p, less, 2)->hi == INT64_MAX);
    assert_true(expr_mulc(p, big, -1)->lo == INT64_MIN);
    assert_true(expr_mul(p, big, big)->hi == INT64_MAX);
    assert_true(expr_modc(p, big, 8)->lo == 0 && expr_modc(p, big, 8)->hi == 7);
    assert_true(expr_mulc(p, big, 0)->lo == 0 && expr_mulc(p, big, 0)->hi == 0);
    const struct expr *e = expr_divc(p, expr_addc(p, expr_mulc(p, big, 8), 3), 8);
    expr_verify(p, expr_simplify(p, e));
}

static void eval_floors(void **state)
{
    (void)state;
    struct space s = space_parse(arena, "x:-100..100");
    const struct expr *div = space_expr(&s, "x / 4"), *mod = space_expr(&s, "x % 4");
    for (int64_t x = -100; x <= 100; x++) {
        int64_t q = expr_eval(div, &x), r = expr_eval(mod, &x);
        assert_true(4 * q + r == x && r >= 0 && r < 4);
    }
}

/* ---- reading ---- */

static void substitution_is_simultaneous(void **state)
{
    (void)state;
    struct space s = space_parse(arena, "x:0..7 y:0..7 z:0..7");
    const struct expr *e = space_expr(&s, "x + 2*y + z / 4");
    const struct expr *swap[] = { s.var[1], s.var[0] };
    assert_string_equal(expr_text(&s, expr_subst(s.p, e, s.var, swap, 2)), "y + 2*x + z / 4");
    assert_ptr_equal(expr_subst(s.p, e, s.var, swap, 0), e);
    const struct expr *with[] = { expr_const(s.p, 3) };
    assert_string_equal(expr_text(&s, expr_subst(s.p, e, &s.var[2], with, 1)), "x + 2*y + 3 / 4");
}

/* Forty doublings have 2^40 leaves as a tree, forty-one nodes in the pool. */
static void shared_parts_are_cheap(void **state)
{
    (void)state;
    struct space s = space_parse(arena, "x:0..7 y:0..7");
    const struct expr *e = s.var[0];
    for (int i = 0; i < 40; i++)
        e = expr_min(s.p, e, expr_max(s.p, e, e));
    const struct expr *f = expr_subst(s.p, e, &s.var[0], &s.var[1], 1);
    assert_ptr_equal(expr_simplify(s.p, f), s.var[1]);
}

/* What the simplifier weighs: every / and %, as often as it occurs, up to the largest number. */
static void divisions_are_counted(void **state)
{
    (void)state;
    struct space s = space_parse(arena, "x:0..99 y:0..99");
    static const struct { const char *text; uint32_t n; } table[] = {
        { "3*x + min(x, y)", 0 }, { "x / 4", 1 }, { "x / 4 % 3", 2 }, { "x / 4 + (y % 3) / 2", 3 },
        { "x / 4 + 2*(x / 4)", 2 }, { "max(x % 7, y % 5) < x", 2 },
    };
    for (int i = 0; i < COUNT_OF(table); i++) {
        const struct expr *e = space_expr(&s, table[i].text);
        assert_int_equal(node_of(e)->n_divmod, table[i].n);
        assert_int_equal(e->has_divmod, table[i].n > 0);
    }
    const struct expr *e = space_expr(&s, "x / 4");
    for (int i = 0; i < 40; i++) {
        assert_int_equal(node_of(e)->n_divmod, i < 32 ? 1u << i : UINT32_MAX);
        e = expr_min(s.p, e, e);
    }
}

static void uses(void **state)
{
    (void)state;
    struct space s = space_parse(arena, "x:0..7 y:0..7 z:0..7");
    const struct expr *e = space_expr(&s, "min(x, 3*(y / 4)) + 1");
    assert_true(expr_uses(e, s.var[0]));
    assert_true(expr_uses(e, s.var[1]));
    assert_false(expr_uses(e, s.var[2]));
}

static void linear_forms(void **state)
{
    (void)state;
    struct space s = space_parse(arena, "x:0..7 y:0..7 z:0..7");
    const struct expr *e = space_expr(&s, "4*(x + 2*y) - 3*(y / 2 - 5) - 8*y + 1");
    struct expr_linear l = expr_linear(s.p, e);
    assert_int_equal(l.n, 2);
    assert_ptr_equal(l.term[0], s.var[0]);
    assert_int_equal(l.coef[0], 4);
    assert_ptr_equal(l.term[1], space_expr(&s, "y / 2"));
    assert_int_equal(l.coef[1], -3);
    assert_int_equal(l.rest, 16);
    assert_string_equal(expr_text(&s, expr_from_linear(s.p, &l)), "4*x - 3*(y / 2) + 16");
    struct expr_linear zero = expr_linear(s.p, space_expr(&s, "x - x"));
    assert_ptr_equal(expr_from_linear(s.p, &zero), expr_const(s.p, 0));
}

/* More terms than there is room for at first, of which every other one goes again. */
static void long_linear_forms(void **state)
{
    (void)state;
    enum { N = 40 };
    struct exprs *p = exprs_new(arena);
    const struct expr *var[N], *sum = expr_const(p, 7), *odd = sum;
    int64_t vals[N], coef, want = 7;
    for (int i = 0; i < N; i++) {
        var[i] = expr_var(p, arena_printf(arena, "v%d", i), 0, 99);
        vals[i] = i * i % 97;
        want += (3 * i + 1) * vals[i];
    }
    for (int i = N - 1; i >= 0; i--)
        sum = expr_add(p, sum, expr_mulc(p, var[i * 7 % N], 3 * (i * 7 % N) + 1));
    struct expr_linear l = expr_linear(p, sum);
    assert_int_equal(l.n, N);
    assert_int_equal(l.rest, 7);
    for (int i = 0; i < N; i++) {
        assert_ptr_equal(l.term[i], var[i]);
        assert_int_equal(l.coef[i], 3 * i + 1);
    }
    const struct expr *again = expr_from_linear(p, &l);
    assert_int_equal(expr_eval(again, vals), want);
    assert_ptr_equal(expr_simplify(p, sum), again);
    for (int i = 0; i < N; i += 2)
        sum = expr_sub(p, sum, expr_mulc(p, var[i], 3 * i + 1));
    for (int i = 1; i < N; i += 2)
        odd = expr_add(p, odd, expr_mulc(p, var[i], 3 * i + 1));
    assert_ptr_equal(expr_simplify(p, sum), expr_simplify(p, odd));
    for (int i = 0; i < N; i++) {
        assert_true(expr_coef(p, sum, var[i], &coef));
        assert_int_equal(coef, i % 2 ? 3 * i + 1 : 0);
    }
}

/* Two that grow in turns have memory of their own, also where one needs more than a block. */
static void forms_grow_apart(void **state)
{
    (void)state;
    enum { N = 3000 };
    struct exprs *p = exprs_new(arena);
    struct scratch_mark mark = scratch_mark(p);
    struct lin up = lin_new(p), down = lin_new(p);
    for (int i = 0; i < N; i++) {
        const struct expr *v = expr_var(p, arena_printf(arena, "v%d", i), 0, 9);
        lin_add_term(&up, v, i + 1);
        lin_add_term(&down, v, -2 * (i + 1));
    }
    assert_true(up.n == N && down.n == N && up.cap >= N && down.cap >= N);
    for (int i = 0; i < N; i++)
        assert_true(up.t[i].coef == i + 1 && down.t[i].coef == -2 * (i + 1));
    lin_add_lin(&down, &up, 2);
    assert_int_equal(down.n, 0);
    scratch_release(p, mark);
}

static void coefficients(void **state)
{
    (void)state;
    int64_t coef = 77;
    struct space s = space_parse(arena, "x:0..7 y:0..7 z:0..7");
    const struct expr *e = space_expr(&s, "4*(x + 2) - x + 3*(y / 2) + y");
    assert_true(expr_coef(s.p, e, s.var[0], &coef));
    assert_int_equal(coef, 3);
    assert_false(expr_coef(s.p, e, s.var[1], &coef));
    assert_int_equal(coef, 3);
    assert_true(expr_coef(s.p, e, s.var[2], &coef));
    assert_int_equal(coef, 0);
}

/* ---- text ---- */

/* Texts that print as they were read. */
static void printed_as_read(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "x", "-x", "7", "-7", "x + y", "x - y", "x - 1", "-x - 1", "8*x + y + z + 3", "-8*x - 3*y",
        "x - 4*y", "x - (y + z)", "(2*x + y) / 4", "x / 4", "x / 4 / 2", "x % 8 / 2", "4*(x / 4)",
        "x - x / 4", "x - x % 4", "-(x / 4)", "-x / 4", "-3*x / 4", "x*y", "8*(x*y)", "x*y*z",
        "x*(y*z)", "(x / 2)*y", "(x + 1)*y", "-(x*y)", "x - x*y", "min(x, y)", "max(x + 1, 3)",
        "2*min(x, 3) + 1", "x < y", "x < 3", "x >= 3", "x + y >= -1", "x == y", "x == 3",
        "x < 3 && y >= 2", "x < 3 && y >= 2 && z == 1", "x < 3 && (y >= 2 && z == 1)",
        "(x < y) == (y < z)", "(x < y) + 1", "x + -9223372036854775808", "9223372036854775807",
        "min(x < 3, y == 2 && z < 1)", "x % 4 + x % 3",
    };
    for (int i = 0; i < COUNT_OF(texts); i++) {
        struct space s = space_parse(arena, "x:0..7 y:0..7 z:0..7");
        const struct expr *e = space_expr(&s, texts[i]);
        assert_string_equal(expr_text(&s, e), texts[i]);
        expr_verify(s.p, e);
    }
}

/* Other ways to write the same. */
static void read_generously(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        { " x+y ", "x + y" }, { "x*8", "8*x" }, { "x/4%2", "x / 4 % 2" }, { "((x))", "x" },
        { "x <= 3", "x < 4" }, { "x > 3", "x >= 4" }, { "x >= y", "y - 1 < x" },
        { "x <= y", "x < y + 1" }, { "x > y", "y < x" }, { "x / (2*4)", "x / 8" },
        { "x % -(-4)", "x % 4" }, { "--x", "-(-x)" }, { "min (x,y)", "min(x, y)" },
        { "x - -3", "x - -3*1" }, { "x\t+ 1", "x + 1" }, { "3 < x", "x >= 4" },
    };
    for (int i = 0; i < COUNT_OF(rows); i++) {
        struct space s = space_parse(arena, "x:-9..9 y:-9..9");
        const struct expr *e = space_expr(&s, rows[i][0]), *f = space_expr(&s, rows[i][1]);
        if (space_differ(&s, e, f))
            fail_msg("%s is not %s", rows[i][0], rows[i][1]);
    }
}

struct error_row { const char *text; enum err_code code; int col, len; const char *says; };

static void errors_point_at_the_word(void **state)
{
    (void)state;
    static const struct error_row rows[] = {
        { "", ERR_SYNTAX, 1, 0, "ends here" },
        { "x +", ERR_SYNTAX, 4, 0, "ends here" },
        { "x + *y", ERR_SYNTAX, 5, 1, "found \"*\"" },
        { "(x + y", ERR_SYNTAX, 7, 0, "\")\"" },
        { "x y", ERR_SYNTAX, 3, 1, "found \"y\"" },
        { "x + foo*2", ERR_NAME, 5, 3, "\"foo\"" },
        { "x / 0", ERR_RANGE, 5, 1, "positive constant" },
        { "x % y", ERR_RANGE, 5, 1, "positive constant" },
        { "x / (1 - 3) + 1", ERR_RANGE, 5, 7, "positive constant" },
        { "x / (y - y + 1)", ERR_RANGE, 5, 11, "positive constant" },
        { "x + 99999999999999999999", ERR_RANGE, 5, 20, "too large" },
        { "x + 99999999999999999999999999999999999999", ERR_RANGE, 5, 38, "too large" },
        { "3x", ERR_SYNTAX, 1, 2, "neither a number nor a name" },
        { "x != y", ERR_SYNTAX, 3, 2, "found \"!=\"" },
        { "x || y", ERR_SYNTAX, 3, 2, "found \"||\"" },
        { "min(x)", ERR_SYNTAX, 6, 1, "\",\"" },
        { "min(x, y", ERR_SYNTAX, 9, 0, "\")\"" },
        { "min + 1", ERR_NAME, 1, 3, "\"min\"" },
        { "x < y < z", ERR_SYNTAX, 7, 1, "found \"<\"" },
        { "x # y", ERR_SYNTAX, 3, 1, "found \"#\"" },
    };
    for (int i = 0; i < COUNT_OF(rows); i++) {
        struct space s = space_parse(arena, "x:0..7 y:0..7 z:0..7");
        const struct expr *out = s.var[0];
        struct err e = {0};
        assert_false(expr_parse(s.p, rows[i].text, s.var, s.n, &out, &e));
        if (e.code != rows[i].code || e.at.col != rows[i].col || e.at.len != rows[i].len
            || !strstr(e.text, rows[i].says))
            fail_msg("%s: %s at %d+%d: %s", rows[i].text, err_name(e.code), e.at.col, e.at.len,
                     e.text);
        assert_string_equal(e.source, rows[i].text);
        assert_ptr_equal(out, s.var[0]);
    }
}

static void errors_suggest(void **state)
{
    (void)state;
    struct space s = space_parse(arena, "oh:0..7 ow:0..7");
    const struct expr *out;
    struct err e = {0};
    assert_false(expr_parse(s.p, "oh + 0 + oy", s.var, s.n, &out, &e));
    assert_string_equal(e.fix, "did you mean oh?");
    assert_false(expr_parse(s.p, "oh || ow", s.var, s.n, &out, &e));
    assert_non_null(strstr(e.fix, "&&"));
}

static void hostile_text_is_refused(void **state)
{
    (void)state;
    struct space s = space_parse(arena, "x:0..7");
    static const char *const parts[] = { "(", "-", "x+", "x*", "min(x,", "x&&", "x/2+", "1<(" };
    for (int i = 0; i < COUNT_OF(parts); i++) {
        struct str text = {0};
        const struct expr *out;
        struct err e = {0};
        for (int k = 0; k < 20000; k++)
            str_add(&text, parts[i]);
        assert_false(expr_parse(s.p, str_text(&text), s.var, s.n, &out, &e));
        str_free(&text);
    }
}

/* ---- tensor-valued trees ---- */

static void index_loads(void *ctx, const struct val *load)
{
    *(int *)ctx = *(int *)ctx * 10 + load->source;
}

static const struct expr *plus_one(void *ctx, const struct expr *e)
{
    return expr_addc(ctx, e, 1);
}

static const struct val *no_bias(void *ctx, const struct val *load)
{
    return load->source == 2 ? val_const(exprs_arena(ctx), 0.5) : load;
}

static const char *val_text(const struct val *v)
{
    static const char *const names[] = { "Inp", "Ker", "Bias" };
    struct str out = {0};
    val_print(&out, v, names);
    const char *text = arena_strdup(arena, str_text(&out));
    str_free(&out);
    return text;
}

static void values(void **state)
{
    (void)state;
    struct space s = space_parse(arena, "n:0..7 h:0..7 kh:0..2");
    const struct expr *inp[] = { s.var[0], space_expr(&s, "2*h + kh") }, *ker[] = { s.var[2] };
    const struct val *load = val_load(arena, 0, 2, inp), *w = val_load(arena, 1, 1, ker);
    const struct val *bias = val_load(arena, 2, 0, NULL), *zero = val_const(arena, 0);
    const struct val *mul = val_bin(arena, VAL_MUL, load, w);
    const struct val *sum = val_bin(arena, VAL_ADD, mul, bias);
    const struct val *relu = val_bin(arena, VAL_MAX, sum, zero);
    const struct val *v = val_select(arena, space_expr(&s, "h >= 1"), relu, zero);
    assert_string_equal(val_text(v),
                        "select(h >= 1, max(Inp[n][2*h + kh] * Ker[kh] + Bias, 0), 0)");
    assert_int_equal(val_flops(v), 3);
    int order = 0;
    val_each_load(v, index_loads, &order);
    assert_int_equal(order, 12);
    struct val_map map = { .ctx = s.p, .load = no_bias, .index = plus_one };
    assert_string_equal(val_text(val_rebuild(arena, v, &map)),
                        "select((h >= 1) + 1, "
                        "max(Inp[n + 1][2*h + kh + 1] * Ker[kh + 1] + 0.5, 0), 0)");
    map = (struct val_map){0};
    assert_string_equal(val_text(val_rebuild(arena, v, &map)), val_text(v));
}

static void value_parentheses(void **state)
{
    (void)state;
    const struct val *a = val_const(arena, 1), *b = val_const(arena, 2), *c = val_const(arena, 3);
    const struct val *diff = val_bin(arena, VAL_SUB, b, c), *sum = val_bin(arena, VAL_ADD, b, c);
    assert_string_equal(val_text(val_bin(arena, VAL_SUB, a, diff)), "1 - (2 - 3)");
    assert_string_equal(val_text(val_bin(arena, VAL_SUB, diff, a)), "2 - 3 - 1");
    assert_string_equal(val_text(val_bin(arena, VAL_MUL, sum, a)), "(2 + 3) * 1");
    assert_string_equal(val_text(val_bin(arena, VAL_ADD, a, sum)), "1 + 2 + 3");
    assert_string_equal(val_text(val_bin(arena, VAL_DIV, a, val_bin(arena, VAL_MUL, b, c))),
                        "1 / (2 * 3)");
}

static void value_functions(void **state)
{
    (void)state;
    const struct val *a = val_const(arena, 1), *b = val_load(arena, 0, 0, NULL);
    const struct val *e = val_un(arena, VAL_EXP, val_bin(arena, VAL_SUB, a, b));
    const struct val *v = val_bin(arena, VAL_DIV, a, val_un(arena, VAL_SQRT, e));
    assert_string_equal(val_text(v), "1 / sqrt(exp(1 - Inp))");
    assert_int_equal(val_flops(v), 4);
    struct val_map map = {0};
    assert_string_equal(val_text(val_rebuild(arena, v, &map)), val_text(v));
    assert_string_equal(val_text(val_with(arena, e, b, NULL)), "exp(Inp)");
    assert_string_equal(val_text(val_with(arena, v, b, e)), "Inp / exp(1 - Inp)");
    assert_true(val_is_function(VAL_ERF) && !val_is_function(VAL_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interning), cmocka_unit_test(many_are_found_again),
        cmocka_unit_test(a_name_is_copied), cmocka_unit_test(bounds),
        cmocka_unit_test(bounds_saturate), cmocka_unit_test(eval_floors),
        cmocka_unit_test(substitution_is_simultaneous), cmocka_unit_test(shared_parts_are_cheap),
        cmocka_unit_test(divisions_are_counted), cmocka_unit_test(uses),
        cmocka_unit_test(linear_forms),
        cmocka_unit_test(long_linear_forms), cmocka_unit_test(forms_grow_apart),
        cmocka_unit_test(coefficients),
        cmocka_unit_test(printed_as_read), cmocka_unit_test(read_generously),
        cmocka_unit_test(errors_point_at_the_word), cmocka_unit_test(errors_suggest),
        cmocka_unit_test(hostile_text_is_refused), cmocka_unit_test(values),
        cmocka_unit_test(value_parentheses), cmocka_unit_test(value_functions),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
