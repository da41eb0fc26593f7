/* Layout spaces in numbers: factors and blocks, what agents see of an operator and of a point, and
 * why a schedule is no point. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "explorer/space/layout_space.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static const struct layout_space *space_of(struct arena *a, const char *spec, int levels)
{
    const struct layout_opts o = { .levels = levels };
    const struct layout_space *s;
    struct err e;
    if (!layout_space_new(a, spec, NULL, 0, &o, &s, &e))
        fail_msg("%s: %s", spec, e.text);
    return s;
}

static int64_t *factor_at(const struct layout_space *s, int64_t *factor, const char *name)
{
    for (int k = 0; k < s->n; k++)
        if (streq(s->knob[k].name, name))
            return &factor[k];
    fail_msg("%s has no knob %s", s->spec, name);
    return NULL;
}

static void check_list(const int64_t *list, int n, const char *want)
{
    struct str s = {0};
    for (int i = 0; i < n; i++)
        str_printf(&s, "%s%lld", i ? " " : "", (long long)list[i]);
    assert_string_equal(str_text(&s), want);
    str_free(&s);
}

/* Blocks are divisors, and multiples of 8 (above 64: of 16) up to 128 whose padding is at most a
 * third of the elements. */
static void blocks_and_divisors(void **state)
{
    static const struct { int64_t n; const char *divisors, *blocks; } table[] = {
        { 1, "1", "1" }, { 36, "1 2 3 4 6 9 12 18 36", "1 2 3 4 6 8 9 12 16 18 24 36" },
        { 8, "1 2 4 8", "1 2 4 8" }, { 11, "1 11", "1 11" },       /* 8 would be 5 of 11 more */
        { 12, "1 2 3 4 6 12", "1 2 3 4 6 8 12" },                 /* 16 is a third more than 12 */
        { 200, "1 2 4 5 8 10 20 25 40 50 100 200",
          "1 2 4 5 8 10 16 20 24 25 32 40 48 50 56 64 80 100 112 128 200" },
        { 129, "1 3 43 129", "1 3 8 16 24 32 40 43 48 56 80 129" },
    };
    (void)state;
    struct arena *a = arena_new();
    for (int i = 0; i < COUNT_OF(table); i++) {
        int n;
        const int64_t *list = factor_divisors(a, table[i].n, &n);
        check_list(list, n, table[i].divisors);
        assert_int_equal(factor_count_divisors(table[i].n), n);
        list = factor_blocks(a, table[i].n, &n);
        check_list(list, n, table[i].blocks);
    }
    static const int64_t near[] = { 1, 3, 8 };
    assert_int_equal(factor_nearest(near, 3, 2), 3);      /* of equal ones the larger */
    assert_int_equal(factor_nearest(near, 3, 1.9), 1);
    assert_int_equal(factor_nearest(near, 3, 5.4), 3);
    assert_int_equal(factor_nearest(near, 3, 5.5), 8);
    assert_int_equal(factor_nearest(near, 3, 100), 8);
    arena_free(a);
}

/* log2 of N I O H W KH KW stride dilation groups, then two zeros. */
static void operators_are_twelve_numbers(void **state)
{
    static const struct { const char *spec; double size[10]; } table[] = {
        { "c2d n=2 i=4 h=11 w=7 o=8 k=3 s=2", { 2, 4, 8, 5, 3, 3, 3, 2, 1, 1 } },
        { "grp n=1 i=8 h=6 w=6 o=16 k=3 g=4", { 1, 2, 16, 4, 4, 3, 3, 1, 1, 4 } },
        { "dil n=1 i=4 h=12 w=13 o=16 k=3 d=3", { 1, 4, 16, 6, 7, 3, 3, 1, 3, 1 } },
        { "c1d n=1 i=4 w=16 o=8 k=5 s=3", { 1, 4, 8, 1, 4, 1, 5, 3, 1, 1 } },
        { "gmm m=8 k=4 n=2", { 1, 4, 2, 8, 1, 1, 1, 1, 1, 1 } },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct arena *a = arena_new();
        const struct layout_space *s = space_of(a, table[i].spec, 1);
        for (int k = 0; k < OP_FEATURES; k++)
            if (fabs((double)s->op[k] - (k < 10 ? log2(table[i].size[k]) : 0)) > 1e-6)
                fail_msg("%s: number %d is %g", table[i].spec, k, (double)s->op[k]);
        arena_free(a);
    }
}

static void check_state(const struct layout_space *s, const int64_t *factor, const double *want,
                        int n)
{
    float x[LAYOUT_STATE];
    layout_space_state(s, factor, x);
    for (int i = 0; i < LAYOUT_STATE; i++)
        if (fabs((double)x[i] - (i < n ? log2(want[i]) / 16 : 0)) > 1e-6)
            fail_msg("number %d is 2^%g", i, 16 * (double)x[i]);
}

/* Outer, middle and inner parts of out h w o, inp h w i, ker i o.  A tile of two rows reads four.
 * What is not chosen yet is whole. */
static void points_of_two_levels_are_numbers(void **state)
{
    static const struct { const char *name; int64_t factor; } chosen[] = {
        { "h_t", 2 }, { "h_m", 4 }, { "w_t", 4 }, { "w_m", 2 }, { "o_t", 8 }, { "o_m", 2 },
        { "i_t", 2 }, { "i_m", 2 }, { "i_t'", 4 }, { "i_m'", 2 }, { "o_t'", 16 }, { "o_m'", 1 },
    };
    static const double whole[] = { 1, 1, 16, 1, 1, 16, 1, 1, 32, 1, 1, 18, 1, 1, 18, 1, 1, 8,
                                    1, 1, 8, 1, 1, 32 };
    static const double first[] = { 4, 1, 4, 1, 1, 16, 1, 1, 32, 4, 1, 6, 1, 1, 18, 1, 1, 8,
                                    1, 1, 8, 1, 1, 32 };
    static const double all[] = { 2, 4, 2, 2, 2, 4, 2, 2, 8, 2, 4, 4, 2, 2, 6, 2, 2, 2,
                                  1, 2, 4, 2, 1, 16 };
    (void)state;
    struct arena *a = arena_new();
    const struct layout_space *s = space_of(a, "c2d i=8 h=18 w=18 o=32 k=3", 2);
    int64_t factor[LAYOUT_KNOBS] = {0};
    check_state(s, factor, whole, COUNT_OF(whole));
    *factor_at(s, factor, "h_t") = 4;
    check_state(s, factor, first, COUNT_OF(first));
    for (int i = 0; i < COUNT_OF(chosen); i++)
        *factor_at(s, factor, chosen[i].name) = chosen[i].factor;
    check_state(s, factor, all, COUNT_OF(all));
    arena_free(a);
}

/* A middle part divides what the inner part leaves, and an action is a fraction of that. */
static void middle_parts_divide_the_rest(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    const struct layout_space *s = space_of(a, "c2d i=8 h=18 w=18 o=32 k=3", 2);
    int64_t factor[LAYOUT_KNOBS];
    const char *const *line;
    struct err e;
    int n;
    layout_space_first(s, factor);
    int64_t *inner = factor_at(s, factor, "h_t"), *middle = factor_at(s, factor, "h_m");
    int at = (int)(middle - factor);
    *inner = 4;                           /* of 16 rows */
    assert_int_equal(layout_factor(s, at, factor, 0.5), 2);
    assert_int_equal(layout_factor(s, at, factor, 0.99), 4);
    assert_int_equal(layout_factor(s, (int)(inner - factor), factor, 0.5), 8);
    *middle = 8;
    assert_false(layout_space_lines(s, a, factor, &line, &n, NULL, &e));
    assert_string_equal(e.text, "h_m=8 of Conv is not a factor of 16 in its template");
    assert_string_equal(e.fix, "it may be 1 2 4");
    arena_free(a);
}

/* The first tensor that is stored in another way is named. */
static void other_layouts_are_no_points(void **state)
{
    static const struct { const char *line, *text; bool point; } table[] = {
        { "layout set Conv \"H W O N\"",
          "Conv is stored H W O N, which no factors of its template give", false },
        { "layout set Ker \"KH KW O I\"",
          "Ker is stored KH KW O I, which no factors of its template give", false },
        { "layout set Conv \"N Q\"", "", false }, { "layout set Conv \"N H W O\"", "", true },
    };
    (void)state;
    struct arena *a = arena_new();
    const struct layout_space *s = space_of(a, "c2d n=2 i=2 h=8 w=6 o=4 k=3", 1);
    for (int i = 0; i < COUNT_OF(table); i++) {
        int64_t factor[LAYOUT_KNOBS];
        struct point_why why = { "none", "none" };
        if (layout_space_find(s, &table[i].line, 1, factor, &why) != table[i].point)
            fail_msg("%s: %s", table[i].line, why.text);
        assert_string_equal(why.step, table[i].point ? "" : "layout");
        assert_string_equal(why.text, table[i].text);
    }
    const struct layout_space *none;
    struct err e;
    assert_false(layout_space_new(a, "softmax m=4 n=4", NULL, 0, NULL, &none, &e));
    assert_string_equal(e.text, "softmax has no layout template: softmax is neither a convolution "
                                "nor a matrix product");
    assert_string_equal(e.fix, "the operators with a template are c1d c2d c3d grp dep dil t2d t3d "
                               "gmm bmm");
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_and_divisors), cmocka_unit_test(operators_are_twelve_numbers),
        cmocka_unit_test(points_of_two_levels_are_numbers),
        cmocka_unit_test(middle_parts_divide_the_rest),
        cmocka_unit_test(other_layouts_are_no_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
