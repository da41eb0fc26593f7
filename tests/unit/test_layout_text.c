/* Layouts as text: the short notation both ways, and the picture. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
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

/* "split O 4 16; reorder N O.0 H W O.1" */
static void print_prims(struct str *out, const struct layout *l)
{
    if (!l->prev)
        return;
    print_prims(out, l->prev);
    str_add(out, l->n_prims > 1 ? "; " : "");
    prim_print(out, l->prev, &l->prims[l->n_prims - 1]);
}

/* A notation, the primitives it stands for, and how it is printed (NULL: as it was given). */
static void test_notation(void **state)
{
    (void)state;
    const char *t = "T N=1 O=64 H=56 W=48";
    static const struct { const char *text, *prims, *printed; } rows[] = {
        { "N O H W", "", NULL },
        { "NOHW", "", "N O H W" },
        { "nhwo", "reorder N H W O", "N H W O" },
        { " N  HW\tO ", "reorder N H W O", "N H W O" },
        { "N O/16 H W 16o", "split O 4 16; reorder N O.0 H W O.1", NULL },
        { "N O/16 HW 16", "split O 4 16; reorder N O.0 H W O.1", "N O/16 H W 16o" },
        { "n o/16 h w 16O", "split O 4 16; reorder N O.0 H W O.1", "N O/16 H W 16o" },
        { "N O/64 64o H W", "split O 1 64", NULL },
        { "N H/4 W/16 O/16 4 16 16",
          "split W 3 16; split H 14 4; split O 4 16; reorder N H.0 W.0 O.0 H.1 W.1 O.1",
          "N H/4 W/16 O/16 4h 16w 16o" },
        { "N O/64 H W 4o 16o", "split O 1 4 16; reorder N O.0 H W O.1 O.2", NULL },
        { "N O/32 H W 2 16", "split O 2 2 16; reorder N O.0 H W O.1 O.2", "N O/32 H W 2o 16o" },
        { "N H/8 W/16 O/64 4 8 4 2 2 16",
          "split W 3 8 2; split H 7 4 2; split O 1 4 16; reorder N H.0 W.0 O.0 H.1 W.1 O.1 H.2 W.2 "
          "O.2", "N H/8 W/16 O/64 4h 8w 4o 2h 2w 16o" },
        { "16 N O/16 H W", "split O 4 16; reorder O.1 N O.0 H W", "16o N O/16 H W" },
        { "N 16o O/16 H W", "split O 4 16; reorder N O.1 O.0 H W", NULL },
        { "N O/32 16 H W 2o", "split O 2 16 2; reorder N O.0 O.1 H W O.2", "N O/32 16o H W 2o" },
        { "H/8 O W 10h N", "unfold H tile=10 stride=8; reorder H.0 O W H.1 N", NULL },
        { "N O H/8 10 W", "unfold H tile=10 stride=8", "N O H/8 10h W" },
        { "N O H/8:3 10h W", "unfold H tile=10 stride=8 size=26", NULL },
        { "N O H/8:7 10h W", "unfold H tile=10 stride=8", "N O H/8 10h W" },
        { "N O H/8:7 8h W", "split H 7 8", "N O H/8 8h W" },
        { "N O H/8:3 8h W", "unfold H tile=8 stride=8 size=24", NULL },
        { "N O H/10:6 10h W", "unfold H tile=10 stride=10", NULL },
        { "N O H/10:5 10h W", "unfold H tile=10 stride=10 size=50", NULL },
        { "N O H/16 2h 20h W", "unfold H tile=20 stride=8; split H.0 3 2", NULL },
        { "N O H/16:2 2h 20h W", "unfold H tile=20 stride=8 size=44; split H.0 2 2", NULL },
        { "N O/4 (H W) 4o", "split O 16 4; reorder N O.0 H W O.1; fuse H W", NULL },
        { "N O/4 (HW) 4o", "split O 16 4; reorder N O.0 H W O.1; fuse H W", "N O/4 (H W) 4o" },
        { "(N O/4) (H W) (4o)", "split O 16 4; reorder N O.0 H W O.1; fuse H W; fuse N O.0",
          "(N O/4) (H W) 4o" },
        { "N (O/4 4o) H W", "split O 16 4; fuse O.0 O.1", "N O H W" },
    };
    for (int i = 0; i < COUNT_OF(rows); i++) {
        const struct layout *l = layout_noted(pool, t, rows[i].text);
        struct str s = {0};
        print_prims(&s, l);
        assert_string_equal(str_text(&s), rows[i].prims);
        str_clear(&s);
        assert_true(layout_notation(l, &s));
        assert_string_equal(str_text(&s), rows[i].printed ? rows[i].printed : rows[i].text);
        assert_true(layout_memory_equal(pool, l, layout_noted(pool, t, str_text(&s))));
        str_free(&s);
    }
}

/* Dims with longer names, and the papers' examples on their own tensors. */
static void test_paper_notation(void **state)
{
    (void)state;
    assert_shape(layout_noted(pool, "Ker O=64 I=3 KH=7 KW=7", "O/16 I KH KW 16o"), "4x3x7x7x16");
    assert_shape(layout_noted(pool, "Ker O=64 I=3 KH=7 KW=6", "KW/3 O I KH 3kw"), "2x64x3x7x3");
    assert_shape(layout_noted(pool, "Inp N=1 I=3 H=230 W=230", "N H/8 W/32 I 13h 37w"),
                 "1x29x8x3x13x37");
    assert_shape(layout_noted(pool, "Inp N=1 I=3 H=230 W=230", "N H/8:28 W/32:7 I 13h 37w"),
                 "1x28x7x3x13x37");
    assert_shape(layout_noted(pool, "A M=128 K=64", "M/16 K/4 4k 16m"), "8x16x4x16");
    /* without blanks, as lists of kernels print them */
    assert_shape(layout_noted(pool, "Ker O=64 I=3 KH=7 KW=7", "O/32KHKWI2o16o"), "2x7x7x3x2x16");
    assert_shape(layout_noted(pool, "Ker O=64 I=3 KH=7 KW=7", "OIKHKW"), "64x3x7x7");
    assert_shape(layout_noted(pool, "T N=1 O=64 H=56 W=48", "NO/16H/8:7W16o8h"), "1x4x7x48x16x8");
}

static void test_no_notation(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "pad O after=1", "split O 5 13 allow_pad=1", "unfold H tile=4 stride=2; split H.1 2 2",
        "split O 4 16; unfold O.1 tile=8 stride=4", "fuse H W; split H_W 28 96",
        "split O 4 4 4; reorder N O.0 O.2 O.1 H W", "pad H after=2; unfold H tile=10 stride=8",
        "unfold H tile=10 stride=8 size=26; fold H.0 H.1",
    };
    struct str s = {0};
    for (int i = 0; i < COUNT_OF(rows); i++)
        if (layout_notation(layout_of(pool, "T N=1 O=64 H=56 W=48", rows[i]), &s))
            fail_msg("%s has a notation: %s", rows[i], str_text(&s));
    str_free(&s);
}

static void test_notation_errors(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum err_code code;
        int col, len;
        const char *why, *fix;
    } rows[] = {
        { "N O H", ERR_SYNTAX, 6, 1, "dimension W is missing in the notation",
                "the dimensions of T are N(1) O(64) H(56) W(48)" },
        { "", ERR_SYNTAX, 1, 1, "dimension N is missing in the notation",
        "the dimensions of T are N(1) O(64) H(56) W(48)" },
        { "N C H W", ERR_NAME, 3, 1, "T has no dimension C",
        "the dimensions of T are N(1) O(64) H(56) W(48)" },
        { "NCHW", ERR_NAME, 1, 4, "T has no dimension C",
        "the dimensions of T are N(1) O(64) H(56) W(48)" },
        { "N C/16 H W 16c", ERR_NAME, 3, 1, "T has no dimension C",
          "the dimensions of T are N(1) O(64) H(56) W(48)" },
        { "N O/16 H W 16c", ERR_NAME, 14, 1, "T has no dimension c",
          "the dimensions of T are N(1) O(64) H(56) W(48)" },
        { "N O H W H", ERR_SYNTAX, 9, 1, "dimension H is named twice",
          "to name a tile, write its size first: 16h" },
        { "N O/ H W 16o", ERR_SYNTAX, 3, 2, "O/ is not understood",
          "O/16 divides O by tiles of 16; O/16:4 says that there are 4 tiles" },
        { "N O/1616o H W", ERR_SYNTAX, 3, 7, "O/1616o is not understood",
          "O/16 divides O by tiles of 16; O/16:4 says that there are 4 tiles" },
        { "N O/16xHW16o", ERR_SYNTAX, 3, 10, "O/16xHW16o is not understood",
          "blanks separate the parts: \"N O/16 H W 16o\"" },
        { "N O/16x H W 16o", ERR_SYNTAX, 3, 5, "O/16x is not understood",
          "O/16 divides O by tiles of 16; O/16:4 says that there are 4 tiles" },
        { "N O/16: H W 16o", ERR_SYNTAX, 3, 5, "O/16: is not understood",
          "O/16 divides O by tiles of 16; O/16:4 says that there are 4 tiles" },
        { "N O/16 H W 0o", ERR_RANGE, 12, 2, "the size in 0o is not between 1 and 2^40",
          "16o is a tile of 16 elements of dimension O" },
        { "N O/16 H W 99999999999999999999", ERR_RANGE, 12, 20,
          "the size in 99999999999999999999 is not between 1 and 2^40",
          "16o is a tile of 16 elements of dimension O" },
        { "N O/16 H W", ERR_SYNTAX, 3, 4,
        "O/16 needs an inner part: the notation does not say where the 16 elements of a block of O "
        "are",
          "add 16o at the place of those 16 elements" },
        { "N O H W 16o", ERR_SYNTAX, 9, 3,
        "there is a tile of 16 of dimension O, which is not divided",
          "write O/16 in the place of its outer part" },
        { "N O/16 H W 16 4", ERR_SYNTAX, 15, 1, "no divided dimension needs a tile of 4",
          "divide a dimension first: O/16 goes with 16 or 16o" },
        { "N O/16 H W 8o", ERR_FACTOR, 3, 4,
        "the inner parts of O have 8 elements together, but O is divided into blocks of 16",
          "write O/8, or change the tiles" },
        { "N O/16 H W 3o 8o", ERR_FACTOR, 3, 4,
        "the inner parts of O have 24 elements together, but O is divided into blocks of 16",
          "write O/24, or change the tiles" },
        { "N O/24 H W 24o", ERR_NONDIV, 3, 4,
        "primitive 1 (split O): 3 x 24 is not 64, the extent of the dimension",
          "64 = 2^6: 24 does not divide it; 16 or 32 do; "
          "or `split O 3 24 allow_pad=1`, which stores 72 for 64; here that is O/24:3" },
        { "N O H/8:9 10h W", ERR_UNFOLD, 5, 5,
        "9 tiles of H are too many: 7 hold all of H",
          "write H/8 without a number of tiles" },
        { "N O H/16777216:1099511627776 8388608h 5h W", ERR_UNFOLD, 5, 24,
        "1099511627776 times 8388608 tiles of H are too many: 27 hold all of H",
          "write H/16777216 without a number of tiles" },
        { "N O (H W", ERR_SYNTAX, 5, 1, "this ( has no matching )",
        "(H W) makes one dim of H and W" },
        { "N O H) W", ERR_SYNTAX, 6, 1, ") without (", "(H W) makes one dim of H and W" },
        { "N ((O H) W)", ERR_SYNTAX, 4, 1, "parentheses cannot be nested",
        "(H W) makes one dim of H and W" },
        { "N () O H W", ERR_SYNTAX, 4, 1, "there is no dimension between ( and )",
          "(H W) makes one dim of H and W" },
        { "N O,H W", ERR_NAME, 3, 3, "T has no dimension O,H",
          "the dimensions of T are N(1) O(64) H(56) W(48)" },
        { "N O/64 H W 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 64", ERR_RANK, 52, 2,
          "the notation makes more than 24 dimensions", "divide fewer dimensions" },
    };
    const struct tensor *t = tensor_from(exprs_arena(pool), "T N=1 O=64 H=56 W=48");
    for (int i = 0; i < COUNT_OF(rows); i++) {
        struct prim prims[MAX_NOTATION_PRIMS];
        struct err e = { .code = ERR_NONE };
        int n = -1;
        if (layout_from_notation(pool, t, rows[i].text, prims, &n, &e))
            fail_msg("'%s' is accepted", rows[i].text);
        assert_int_equal(n, -1);
        assert_string_equal(e.text, rows[i].why);
        assert_string_equal(e.fix, rows[i].fix);
        assert_string_equal(err_name(e.code), err_name(rows[i].code));
        assert_int_equal(e.at.col, rows[i].col);
        assert_int_equal(e.at.len, rows[i].len);
        assert_string_equal(e.source, rows[i].text);
    }
}

/* Any bytes give an error or a layout. */
static void test_notation_noise(void **state)
{
    (void)state;
    static const char alphabet[] = "NOHWnohw0123456789//::  (())x.";
    const struct tensor *t = tensor_from(exprs_arena(pool), "T N=1 O=64 H=56 W=48");
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        char text[40];
        struct prim prims[MAX_NOTATION_PRIMS];
        struct err e = { .code = ERR_NONE };
        int n = 0;
        for (int j = 0; j < 39; j++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            text[j] = alphabet[x % (sizeof alphabet - 1)];
            text[j + 1] = '\0';
            if (x >> 60 == 0)
                break;
        }
        if (!layout_from_notation(pool, t, text, prims, &n, &e))
            assert_true(e.code != ERR_NONE && e.text[0] && e.at.col > 0);
    }
}

static void assert_picture(const char *tensor, const char *prims, int width, int lines,
                           const char *expected)
{
    struct str s = {0};
    layout_draw(&s, pool, layout_of(pool, tensor, prims), width, lines);
    assert_string_equal(str_text(&s), expected);
    str_free(&s);
}

static void test_picture(void **state)
{
    (void)state;
    assert_picture("Conv N=1 O=64 H=56 W=56", "split O 4 16; reorder N O.0 H W O.1", 100, 2,
        "Conv = N O/16 H W 16o\n"
        "1 x 4 x 56 x 56 x 16 = 200704 floats, 784.0 KiB; bijective, expansion 1.00\n"
        "  dim          N    O.0    H   W  O.1\n"
        "  extent       1      4   56  56   16\n"
        "  stride  200704  50176  896  16    1\n"
        "  neighbours: w+1 at +16, h+1 at +896, o+1 at +1 (floats from element 0)\n"
        "letter: the index that grew since the element before\n"
        "  line 0  .ooooooooooooooo  n0 o0..15 h0 w0\n"
        "  line 1  wooooooooooooooo  n0 o0..15 h0 w1\n"
        "  ... 12542 more lines\n");
    assert_picture("X H=11 W=3", "unfold H tile=4 stride=3 size=7; pad W after=1", 100, 9,
        "X = unfold H tile=4 stride=3 size=7; pad W after=1\n"
        "2 x 4 x 4 = 32 floats, 128 B; duplicating, expansion 0.97\n"
        "trimmed: only H 0..6 of 0..10\n"
        "  dim     H.0  H.1  W\n"
        "  extent    2    4  4\n"
        "  stride   16    4  1\n"
        "  neighbours: w+1 at +1, h+1 at +4 (floats from element 0)\n"
        "letter: the index that grew since the element before; <: none grew; capital, *: "
        "a copy; -: padding\n"
        "  line 0  .ww-hww-hww-HWW-  h0 w0..2 | pad(1) | h1 w0..2 | pad(1) | h2 w0..2 | pad(1) | "
        "h3 w0..2* ..\n"
        "  line 1  <ww-hww-hww-hww-  h3 w0..2 | pad(1) | h4 w0..2 | pad(1) | h5 w0..2 | pad(1) | "
        "h6 w0..2 |..\n");
    assert_picture("A M=6 K=4", "reorder K M", 48, 1,
        "A = K M\n"
        "4 x 6 = 24 floats, 96 B; bijective, expansion\n    1.00\n"
        "  dim     K  M\n"
        "  extent  4  6\n"
        "  stride  6  1\n"
        "  neighbours: k+1 at +6, m+1 at +1 (floats from\n    element 0)\n"
        "letter: the index that grew since the element\n    before\n"
        "  line 0  .mmmmmkmmmmmkmmm  m0..5 k0 | m0..5 k..\n"
        "  ... 1 more line\n");
    assert_picture("T H=2 W=2 O=8",
                   "fuse H W O; split H_W_O 2 4 4; reorder H_W_O.0 H_W_O.2 H_W_O.1",
                   100, 1,
        "T = fuse H W O; split H_W_O 2 4 4; reorder H_W_O.0 H_W_O.2 H_W_O.1\n"
        "2 x 4 x 4 = 32 floats, 128 B; bijective, expansion 1.00\n"
        "  dim     H_W_O.0  H_W_O.2  H_W_O.1\n"
        "  extent        2        4        4\n"
        "  stride       16        4        1\n"
        "  neighbours: o+1 at +4, w+1 at +2, h+1 at +16 (floats from element 0)\n"
        "letter: the index that grew since the element before; <: none grew\n"
        "  line 0  .owo<owo<owo<owo  h0 w0 o0..4 by 4 | w1 o0..4 by 4 | w0 o1..5 by 4 | "
        "w1 o1..5 by 4 | w0 ..\n"
        "  ... 1 more line\n");
}

static void test_picture_of_narrow_types(void **state)
{
    (void)state;
    struct tensor t = *layout_of(pool, "A M=6 K=4", "")->tensor;
    struct str s = {0};
    t.type = &type_f16;
    layout_draw(&s, pool, layout_identity(pool, &t), 80, 1);
    assert_non_null(strstr(str_text(&s), "6 x 4 = 24 f16 elements, 48 B; bijective"));
    assert_non_null(strstr(str_text(&s), "m+1 at +4 (f16 elements from element 0)\n"));
    str_free(&s);
}

/* No width and no shape breaks it. */
static void test_picture_limits(void **state)
{
    (void)state;
    const struct layout *l = layout_of(pool, "T KH=3 KW=3 K=2 I=1", "unfold KH tile=2 stride=1");
    struct str s = {0};
    for (int width = 0; width < 120; width += 7) {
        str_clear(&s);
        layout_draw(&s, pool, l, width, 50);
        for (const char *at = str_text(&s); *at; at += strcspn(at, "\n") + 1)
            assert_true((int)strcspn(at, "\n") <= (width > 2 ? width : 2));
    }
    str_clear(&s);
    layout_draw(&s, pool, l, 80, 0);
    assert_null(strstr(str_text(&s), "line"));
    str_free(&s);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_notation), TEST(test_paper_notation), TEST(test_no_notation),
        TEST(test_notation_errors), TEST(test_notation_noise), TEST(test_picture),
        TEST(test_picture_of_narrow_types),
        TEST(test_picture_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
