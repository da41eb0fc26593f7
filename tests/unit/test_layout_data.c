/* Moving data in and out of layouts: SPEC A.10's golden convolution, trimmed tensors, speed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "kernels/base/subprocess.h"
#include "tests/unit/layout_util.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static struct exprs *pool;                /* fresh for each test */

static int setup(void **state)
{
    struct arena *a = arena_new();
    *state = a;
    pool = exprs_new(a);
    return 0;
}

static int teardown(void **state)
{
    arena_free(*state);
    return 0;
}

/* --- SPEC A.10: the golden convolution, computed here on integers ---------------------------- */

static int golden_x(int i, int h, int w) { return (36 * i + 6 * h + w) % 7 - 3; }
static int golden_w(int o, int i, int r, int s) { return (18 * o + 9 * i + 3 * r + s) % 5 - 2; }

static int golden_y(int o, int h, int w)
{
    int sum = 0;
    for (int t = 0; t < 18; t++)
        sum += golden_x(t / 9, h + t / 3 % 3, w + t % 3) * golden_w(o, t / 9, t / 3 % 3, t % 3);
    return sum;
}

static void fill_golden(float *y, float *x)
{
    for (int n = 0; n < 64; n++)
        y[n] = (float)golden_y(n / 16, n / 4 % 4, n % 4);
    for (int n = 0; n < 72; n++)
        x[n] = (float)golden_x(n / 36, n / 6 % 6, n % 6);
}

static void assert_floats(const float *data, const int *expected, int n)
{
    for (int i = 0; i < n; i++)
        if ((int)data[i] != expected[i])
            fail_msg("element %d is %g, expected %d", i, (double)data[i], expected[i]);
}

static void test_golden_output(void **state)
{
    (void)state;
    static const struct { const char *notation; int first[16]; } rows[] = {
        { "NHWO", { -5, -1, 8, -3, -1, 14, -6, -11, 3, 1, -6, 2, 0, 2, -6, 1 } },
        { "N O/2 H W 2", { -5, -1, -1, 14, 3, 1, 0, 2, -2, -2, -5, -1, -1, 14, 3, 1 } },
        { "N H/2 W/2 O/2 2 2 2", { -5, -1, -1, 14, -2, -2, -5, -1, 8, -3, -6, -11, 8, -2, 8, -3 } },
    };
    static const int first[] = { -5, -1, 3, 0, -2, -5, -1, 3, 1, -2, -5, -1, 4, 1, -2, -5 };
    static const int last[] = { -3, -11, 2, 1, -2, -3, -11, 2, -1, -2, -3, -11, 14, -1, -2, -3 };
    float x[72], y[64], phys[64], back[64];
    int sum = 0, magnitude = 0;
    fill_golden(y, x);
    for (int i = 0; i < 64; i++) {
        sum += (int)y[i];
        magnitude += abs((int)y[i]);
    }
    assert_int_equal(sum, -2);
    assert_int_equal(magnitude, 300);
    assert_floats(y, first, 16);
    assert_floats(y + 48, last, 16);
    for (int i = 0; i < COUNT_OF(rows); i++) {
        const struct layout *l = layout_noted(pool, "Conv N=1 O=4 H=4 W=4", rows[i].notation);
        layout_pack(l, y, phys);
        assert_floats(phys, rows[i].first, 16);
        layout_unpack(l, phys, back);
        assert_memory_equal(back, y, sizeof y);
    }
}

static void test_golden_input(void **state)
{
    (void)state;
    static const int first[] = { -3, -2, -1, 0, 3, -3, -2, -1, 2, 3, -3, -2, 1, 2, 3, -3 };
    static const int from_32[] = { -1, 0, 1, 2, -2, -1, 0, 1, -3, -2, -1, 0, 3, -3, -2, -1 };
    float x[72], y[64], phys[128], back[72];
    int sum = 0, sum_x = 0;
    fill_golden(y, x);
    const struct layout *l = layout_of(pool, "Inp N=1 I=2 H=6 W=6",
                                       "unfold H tile=4 stride=2; unfold W tile=4 stride=2; "
                                       "reorder N H.0 W.0 I H.1 W.1");
    assert_shape(l, "1x2x2x2x4x4");
    assert_int_equal(l->elems, 128);
    assert_true(l->expansion == 128.0 / 72.0);
    layout_pack(l, x, phys);
    for (int i = 0; i < 128; i++)
        sum += (int)phys[i];
    for (int i = 0; i < 72; i++)
        sum_x += (int)x[i];
    assert_int_equal(sum, -26);
    assert_int_equal(sum_x, -5);
    assert_floats(phys, first, 16);
    assert_floats(phys + 32, from_32, 16);
    layout_unpack(l, phys, back);
    assert_memory_equal(back, x, sizeof x);
}

/* What unpack cannot find is 0. */
static void test_trimmed_data(void **state)
{
    (void)state;
    const struct layout *l = layout_of(pool, "X H=9 W=2", "unfold H tile=4 stride=2 size=5");
    float logical[18], phys[16], back[18];
    for (int i = 0; i < 18; i++)
        logical[i] = (float)(i + 1);
    layout_pack(l, logical, phys);
    layout_unpack(l, phys, back);
    for (int i = 0; i < 18; i++)
        assert_true(back[i] == (i < 12 ? logical[i] : 0.0f));
    struct err e;
    const struct expr *h = expr_var(pool, "h", 0, 6), *w = expr_var(pool, "w", 0, 1);
    const struct expr *inside[] = { expr_var(pool, "h", 0, 5), w }, *outside[] = { h, w };
    assert_true(layout_covers(l, inside, &e));
    assert_false(layout_covers(l, outside, &e));
    assert_int_equal(e.code, ERR_UNFOLD);
    assert_string_equal(
        e.text, "X is read at H = 6, but primitive 1 (unfold H) with size=5 stores only 6 of 9");
    assert_string_equal(e.fix, "unfold with size=7 or more");
}

/* Every order of four dims, one of which is 1; the others are no multiples of what is moved at
 * once. */
static void test_every_order(void **state)
{
    enum { RANK = 4, ELEMS = 3 * 37 * 19 };
    static const int shape[RANK] = { 3, 37, 1, 19 }, by[RANK] = { 37 * 19, 19, 19, 1 };
    static float logical[ELEMS], phys[ELEMS], back[ELEMS];
    char text[] = "reorder A B C D";
    (void)state;
    for (int i = 0; i < ELEMS; i++)
        logical[i] = (float)i;
    for (int code = 0; code < 256; code++) {
        int perm[RANK], at[RANK], used = 0;
        for (int d = 0; d < RANK; d++) {
            perm[d] = code >> 2 * d & 3;
            used |= 1 << perm[d];
            text[8 + 2 * d] = (char)('A' + perm[d]);
        }
        if (used != 15)
            continue;
        const struct layout *l = layout_of(pool, "X A=3 B=37 C=1 D=19", text);
        layout_pack(l, logical, phys);
        for (int i = 0; i < ELEMS; i++) {
            int from = 0, rest = i;
            for (int d = RANK - 1; d >= 0; d--) {
                at[d] = rest % shape[perm[d]];
                rest /= shape[perm[d]];
                from += at[d] * by[perm[d]];
            }
            if ((int)phys[i] != from)
                fail_msg("%s: element %d is %d, expected %d", text, i, (int)phys[i], from);
        }
        layout_unpack(l, phys, back);
        assert_memory_equal(back, logical, sizeof logical);
    }
}

/* Moving a million floats takes milliseconds. */
static void test_pack_speed(void **state)
{
    (void)state;
    static const struct { const char *tensor, *text; } rows[] = {
        { "T N=1 O=64 H=128 W=128", "split O 4 16; reorder N O.0 H W O.1" },
        { "T N=1 O=64 H=128 W=128", "reorder N H W O" },
        { "T N=1 O=64 H=128 W=128",
          "split W 8 16; split H 32 4; split O 4 16; reorder N H.0 W.0 O.0 H.1 W.1 O.1" },
        { "T N=1 I=64 H=130 W=130",
          "unfold W tile=18 stride=16; unfold H tile=6 stride=4; split I 4 16; "
          "reorder N H.0 W.0 I.0 H.1 W.1 I.1" },
        { "T A=1024 B=1024", "fuse A B; split A_B 3 349526 allow_pad=1; reorder A_B.1 A_B.0" },
    };
    for (int i = 0; i < COUNT_OF(rows); i++) {
        const struct layout *l = layout_of(pool, rows[i].tensor, rows[i].text);
        float *logical = xcalloc((size_t)tensor_elems(l->tensor), sizeof *logical);
        float *phys = xcalloc((size_t)l->elems, sizeof *phys);
        const double start = clock_s();
        layout_pack(l, logical, phys);
        const double packed = clock_s();
        layout_unpack(l, phys, logical);
        const double done = clock_s();
        print_message("pack %.1f unpack %.1f ns/element: %s\n",
                      (packed - start) * 1e9 / (double)l->elems,
                      (done - packed) * 1e9 / (double)l->elems, rows[i].text);
        assert_true(done - start < 1.0);
        free(logical);
        free(phys);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_golden_output), TEST(test_golden_input), TEST(test_trimmed_data),
        TEST(test_every_order), TEST(test_pack_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
