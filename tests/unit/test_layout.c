/* Layout primitives: the worked numbers of SPEC A and D.2, names, errors, inverses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/ir/simplify.h"
#include "tests/unit/layout_inverse.h"
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

static void assert_near(double a, double b)
{
    if (a < b - 0.0005 || a > b + 0.0005)
        fail_msg("%.5f is not %.5f", a, b);
}

/* rho at one index: "2 1" */
static void assert_rho(const struct layout *l, const int64_t *idx, const char *expected)
{
    int64_t out[MAX_DIMS];
    struct str s = {0};
    rho_at(pool, l, idx, out);
    for (int j = 0; j < l->rank; j++)
        str_printf(&s, "%s%lld", j ? " " : "", (long long)out[j]);
    assert_string_equal(str_text(&s), expected);
    str_free(&s);
}

/* Packs 1, 2, 3, ... and compares everything stored. */
static void assert_packed(const struct layout *l, const char *expected)
{
    float *logical = xcalloc((size_t)tensor_elems(l->tensor), sizeof *logical);
    float *phys = xcalloc((size_t)l->elems, sizeof *phys);
    struct str s = {0};
    for (int64_t i = 0; i < tensor_elems(l->tensor); i++)
        logical[i] = (float)(i + 1);
    layout_pack(l, logical, phys);
    for (int64_t i = 0; i < l->elems; i++)
        str_printf(&s, "%s%g", i ? " " : "", (double)phys[i]);
    assert_string_equal(str_text(&s), expected);
    str_free(&s);
    free(logical);
    free(phys);
}

/* SPEC A.1 */
static void test_split(void **state)
{
    (void)state;
    const struct layout *l = layout_of(pool, "X K=10", "split K 3 4 allow_pad=1");
    int64_t idx[MAX_RANK];
    assert_shape(l, "3x4");
    assert_dims(l, "K.0 K.1");
    assert_int_equal(l->elems, 12);
    assert_int_equal(l->klass, LAYOUT_PADDED);
    assert_rho(l, (int64_t[]){ 9 }, "2 1");
    assert_true(phi_at(pool, l, (int64_t[]){ 2, 1 }, idx));
    assert_int_equal(idx[0], 9);
    assert_false(phi_at(pool, l, (int64_t[]){ 2, 2 }, idx));
    assert_false(phi_at(pool, l, (int64_t[]){ 2, 3 }, idx));
    assert_packed(l, "1 2 3 4 5 6 7 8 9 10 0 0");

    l = layout_of(pool, "X O=64", "split O 0 16");
    assert_shape(l, "4x16");
    assert_int_equal(l->prims[0].factor[0], 4);
    assert_int_equal(l->klass, LAYOUT_BIJECTIVE);
    assert_false(l->advanced);
    assert_null(l->guard);
    l = layout_of(pool, "X O=64", "split O 2 4 8");
    assert_rho(l, (int64_t[]){ 45 }, "1 1 5");
}

/* SPEC A.2 */
static void test_reorder(void **state)
{
    (void)state;
    const struct layout *l =
        layout_of(pool, "Conv N=1 O=8 H=2 W=2", "split O 2 4; reorder N O.0 H W O.1");
    assert_dims(l, "N O.0 H W O.1");
    assert_rho(l, (int64_t[]){ 0, 5, 1, 0 }, "0 1 1 0 1");
    assert_int_equal(rho_at(pool, l, (int64_t[]){ 0, 5, 1, 0 }, NULL), 25);
}

/* SPEC A.3.1: the paper's own sequence, and the one that packs channels (ERR-4). */
static void test_nc4hw4(void **state)
{
    (void)state;
    static const struct { int64_t h, w, o; const char *literal, *packed; } rows[] = {
        { 0, 0, 1, "0 0 1 0", "0 0 0 1" }, { 0, 0, 4, "0 0 0 1", "0 1 0 0" },
        { 0, 1, 0, "0 0 0 2", "0 0 1 0" }, { 1, 0, 5, "0 1 1 1", "0 1 2 1" },
        { 1, 1, 7, "0 1 3 3", "0 1 3 3" },
    };
    const char *nhwo = "T N=1 H=2 W=2 O=8";
    const struct layout *literal = layout_of(pool, nhwo,
        "fuse H W O; split H_W_O 2 4 4; reorder N H_W_O.0 H_W_O.2 H_W_O.1");
    const struct layout *packed =
        layout_of(pool, nhwo, "split O 2 4; reorder N O.0 H W O.1; fuse H W");
    assert_dims(packed, "N O.0 H_W O.1");
    assert_shape(literal, "1x2x4x4");
    assert_shape(packed, "1x2x4x4");
    for (int i = 0; i < COUNT_OF(rows); i++) {
        const int64_t idx[] = { 0, rows[i].h, rows[i].w, rows[i].o };
        assert_rho(literal, idx, rows[i].literal);
        assert_rho(packed, idx, rows[i].packed);
    }
    assert_true(layout_memory_equal(pool, packed, layout_noted(pool, nhwo, "N O/4 H W 4o")));
    assert_false(layout_memory_equal(pool, packed, literal));
}

/* SPEC A.4 */
static void test_unfold(void **state)
{
    (void)state;
    const struct layout *five = layout_of(pool, "X D=5", "unfold D tile=3 stride=2");
    assert_dims(five, "D.0 D.1");
    assert_shape(five, "2x3");
    assert_packed(five, "1 2 3 3 4 5");
    assert_int_equal(five->klass, LAYOUT_DUPLICATING);
    assert_null(five->guard);
    const struct layout *six = layout_of(pool, "X D=6", "unfold D tile=3 stride=2");
    assert_shape(six, "3x3");
    assert_packed(six, "1 2 3 3 4 5 5 6 0");
    assert_non_null(six->guard);
    /* D <= B: one tile. */
    const struct layout *one = layout_of(pool, "X D=3", "unfold D tile=5 stride=1");
    assert_shape(one, "1x5");
    assert_packed(one, "1 2 3 0 0");
    assert_int_equal(one->klass, LAYOUT_PADDED);
    /* Trivial: n = 1, B = D; and S = B dividing D. */
    assert_false(layout_of(pool, "X D=5", "unfold D tile=5 stride=2")->advanced);
    assert_false(layout_of(pool, "X D=6", "unfold D tile=3 stride=3")->advanced);
    assert_true(six->advanced);
}

/* SPEC A.4, ERR-7: tiles that hold only rows never read. */
static void test_trimmed_unfold(void **state)
{
    (void)state;
    assert_shape(layout_of(pool, "X H=230", "unfold H tile=13 stride=8"), "29x13");
    const struct layout *l = layout_of(pool, "X H=230", "unfold H tile=13 stride=8 size=229");
    assert_shape(l, "28x13");
    assert_int_equal(l->stored[0], 229);
    assert_int_equal(l->logical[0]->hi, 228);
    assert_true(l->advanced);
    assert_shape(layout_of(pool, "X H=58", "unfold H tile=15 stride=14"), "5x15");
    assert_shape(layout_of(pool, "X H=58", "unfold H tile=15 stride=14 size=57"), "4x15");
    /* All that fits into the tiles is stored, used or not. */
    l = layout_of(pool, "X H=9", "unfold H tile=4 stride=2 size=5");
    assert_shape(l, "2x4");
    assert_int_equal(l->stored[0], 6);
    assert_packed(l, "1 2 3 4 3 4 5 6");
    /* The size of the whole dim trims nothing. */
    l = layout_of(pool, "X H=9", "unfold H tile=3 stride=2 size=9");
    assert_int_equal(l->prims[0].size, 0);
    /* Trimming what is only padding loses nothing, and has an inverse. */
    l = layout_of(pool, "X H=6", "pad H before=1 after=9; unfold H tile=4 stride=2 size=8");
    assert_int_equal(l->stored[0], 6);
    l = layout_of(pool, "X H=6", "pad H before=1; unfold H tile=3 stride=2 size=5");
    assert_int_equal(l->stored[0], 4);
}

/* SPEC A.4: expansions of ALT Fig. 2 and Table 3. */
static void test_expansion(void **state)
{
    (void)state;
    const struct layout *fig2 = layout_of(pool, "Inp N=1 I=1 H=10 W=10",
                                          "unfold W tile=6 stride=4; unfold H tile=6 stride=4");
    assert_near(fig2->expansion, 1.44);
    const struct layout *table3 = layout_of(pool, "Inp N=1 I=3 H=230 W=230",
        "unfold W tile=37 stride=32 size=229; unfold H tile=13 stride=8 size=229");
    assert_near(table3->expansion, 1.782);
    assert_int_equal(table3->elems, 282828);
    assert_int_equal(tensor_elems(table3->tensor), 158700);
    assert_int_equal(table3->elems / 3, 94276);
}

/* SPEC A.6 */
static void test_pad(void **state)
{
    (void)state;
    const struct layout *l = layout_of(pool, "X D=3", "pad D after=1");
    assert_packed(l, "1 2 3 0");
    assert_dims(l, "D");
    assert_int_equal(l->klass, LAYOUT_PADDED);
    assert_true(l->advanced);
    assert_packed(layout_of(pool, "X D=3", "pad D before=2 after=1"), "0 0 1 2 3 0");
    assert_packed(layout_of(pool, "X H=2 W=2", "pad W after=1"), "1 2 0 3 4 0");
    assert_shape(layout_of(pool, "T H=32 W=32", "pad W after=1"), "32x33");
    /* Trivial. */
    l = layout_of(pool, "X D=3", "pad D before=0 after=0");
    assert_int_equal(l->klass, LAYOUT_BIJECTIVE);
    assert_false(l->advanced);
    l = layout_of(pool, "X D=3", "pad D before=1 after=2; unpad D before=1 after=1");
    assert_packed(l, "1 2 3 0");
    l = layout_of(pool, "X D=3", "pad D before=1 after=2; unpad D before=1 after=2");
    assert_int_equal(l->klass, LAYOUT_BIJECTIVE);
    assert_null(l->guard);
    /* A whole outer slice of padding, after a split. */
    l = layout_of(pool, "X D=4", "pad D after=4; split D 2 4; unpad D.0 after=1");
    assert_shape(l, "1x4");
    assert_int_equal(l->klass, LAYOUT_BIJECTIVE);
}

/* SPEC D.2: ALT Table 3's layouts, by primitives and by notation. */
static void test_table3(void **state)
{
    (void)state;
    const char *conv = "Conv N=1 O=64 H=112 W=112", *inp = "Inp N=1 I=3 H=230 W=230",
               *ker = "Ker O=64 I=3 KH=7 KW=7";
    const struct layout *l = layout_of(pool, conv, "split W 7 16; split H 28 4; split O 4 16; "
                                       "reorder N H.0 W.0 O.0 H.1 W.1 O.1");
    assert_shape(l, "1x28x7x4x4x16x16");
    assert_int_equal(l->elems, 802816);
    assert_true(layout_memory_equal(pool, l, layout_noted(pool, conv, "N H/4 W/16 O/16 4 16 16")));
    l = layout_of(
        pool, inp,
        "unfold W tile=37 stride=32 size=229; unfold H tile=13 stride=8 size=229; split I 3 1; "
        "reorder N H.0 W.0 I.0 H.1 W.1 I.1");
    assert_shape(l, "1x28x7x3x13x37x1");
    assert_int_equal(l->elems, 282828);
    assert_true(
        layout_memory_equal(pool, l, layout_noted(pool, inp, "N H/8:28 W/32:7 I/1 13h 37w 1i")));
    l = layout_of(pool, ker, "split I 3 1; split O 4 16; reorder O.0 I.0 KH KW I.1 O.1");
    assert_shape(l, "4x3x7x7x1x16");
    assert_int_equal(l->elems, 9408);
    assert_true(layout_memory_equal(pool, l, layout_noted(pool, ker, "O/16 I/1 KH KW 1i 16o")));
}

/* SPEC D.2: which template points are plain NHWO, NOHW, channel-blocked. */
static void test_template_points(void **state)
{
    (void)state;
    const char *conv = "Conv N=1 O=4 H=6 W=4";
    static const int64_t hs[] = { 1, 2, 3, 6 }, ws[] = { 1, 2, 4 }, os[] = { 1, 2, 4 };
    int n_nhwo = 0, n_nohw = 0, n_blocked = 0, n_hwon = 0;
    const struct layout *nhwo = layout_noted(pool, conv, "NHWO"),
                        *nohw = layout_noted(pool, conv, "NOHW");
    const struct layout *blocked = layout_noted(pool, conv, "N O/2 H W 2o"),
                        *hwon = layout_noted(pool, conv, "H W O N");
    for (int i = 0; i < 36; i++) {
        char text[64];
        snprintf(text, sizeof text, "N H/%d W/%d O/%d %dh %dw %do", (int)hs[i / 9],
                 (int)ws[i / 3 % 3], (int)os[i % 3], (int)hs[i / 9], (int)ws[i / 3 % 3],
                 (int)os[i % 3]);
        const struct layout *l = layout_noted(pool, conv, text);
        n_nhwo += layout_memory_equal(pool, l, nhwo);
        n_nohw += layout_memory_equal(pool, l, nohw);
        n_blocked += layout_memory_equal(pool, l, blocked);
        n_hwon += layout_memory_equal(pool, l, hwon);
    }
    assert_int_equal(n_nhwo, 8);
    assert_int_equal(n_nohw, 1);
    assert_int_equal(n_blocked, 1);
    assert_int_equal(n_hwon, 8);          /* N = 1: equal to NHWO */
    const struct layout *two = layout_noted(pool, "Conv N=2 O=4 H=6 W=4", "HWON");
    assert_false(
        layout_memory_equal(pool, two, layout_noted(pool, "Conv N=2 O=4 H=6 W=4", "NHWO")));
}

/* SPEC D.4: one level is two levels with the outer factor 1. */
static void test_two_level(void **state)
{
    (void)state;
    const char *conv = "Conv N=1 O=64 H=16 W=16", *inp = "Inp N=1 I=3 H=34 W=18";
    assert_true(layout_memory_equal(pool,
                                    layout_noted(pool, conv, "N H/4 W/4 O/16 1h 1w 1o 4h 4w 16o"),
                                    layout_noted(pool, conv, "N H/4 W/4 O/16 4 4 16")));
    const struct layout *l = layout_noted(pool, inp, "N H/16 W/8 I 4h 6h 10w");
    assert_dims(l, "N H.0.0 W.0 I H.0.1 H.1 W.1");
    assert_shape(l, "1x2x2x3x4x6x10");
    assert_true(layout_memory_equal(pool, layout_noted(pool, inp, "N H/4 I 1h 6h W"),
                                    layout_noted(pool, inp, "N H/4 I 6h W")));
}

static void test_memory_equal(void **state)
{
    (void)state;
    const char *t = "T N=2 H=6 W=5 O=8";
    static const struct { const char *a, *b; bool equal; } rows[] = {
        { "fuse H W", "", true },
        { "split O 2 4", "", true },
        { "split O 2 4", "split O 4 2", true },
        { "split O 2 4; reorder N H O.0 W O.1", "split O 4 2; reorder N H O.0 W O.1", false },
        { "split O 2 2 2; fuse O.1 O.2; reorder N O.0 H W O.1_O.2",
          "split O 2 4; reorder N O.0 H W O.1", true },
        { "pad O after=1", "", false },
        { "pad O after=1; unpad O after=1", "", true },
        { "pad H after=1", "pad H before=1", false },
        { "split H 2 4 allow_pad=1", "pad H after=2", true },
        { "unfold H tile=2 stride=2", "split H 3 2", true },
        { "unfold H tile=4 stride=2", "", false },
        { "unfold H tile=4 stride=2; fold H.0 H.1", "", true },
        { "unfold H tile=4 stride=2; fuse N H.0", "unfold H tile=4 stride=2", true },
        { "reorder H W N O; fuse H W; split H_W 15 2; fuse N O; split N_O 4 4",
          "fuse H W; reorder H_W N O", true },
        { "fuse N H; split N_H 4 3", "", true },
        { "fuse N H W; split N_H_W 4 15; reorder N_H_W.1 N_H_W.0 O", "fuse N H W; split N_H_W 15 4",
          false },
    };
    for (int i = 0; i < COUNT_OF(rows); i++) {
        const struct layout *a = layout_of(pool, t, rows[i].a), *b = layout_of(pool, t, rows[i].b);
        if (layout_memory_equal(pool, a, b) != rows[i].equal
            || layout_memory_equal(pool, b, a) != rows[i].equal)
            fail_msg("'%s' and '%s' should %sbe equal", rows[i].a, rows[i].b,
                     rows[i].equal ? "" : "not ");
    }
    assert_false(
        layout_memory_equal(pool, layout_of(pool, "A K=4", ""), layout_of(pool, "A K=2 L=2", "")));
    assert_false(layout_memory_equal(pool, layout_of(pool, "A K=2 L=6", ""),
                                     layout_of(pool, "A K=3 L=4", "")));
    /* Too large to compare point by point: the algebra must do. */
    const char *large = "T N=64 O=256 H=56 W=56";
    assert_true(layout_memory_equal(
        pool, layout_of(pool, large, "split O 4 4 16; reorder N O.0 O.1 H W O.2"),
        layout_of(pool, large, "split O 16 16; reorder N O.0 H W O.1; fuse H W")));
    assert_false(layout_memory_equal(pool, layout_of(pool, large, "reorder N O W H"),
                                     layout_of(pool, large, "")));
}

/* Names that come back (lineage.c). */
static void test_names(void **state)
{
    (void)state;
    static const struct { const char *text, *dims; } rows[] = {
        { "split O 2 4", "N O.0 O.1 H W" },
        { "split O 2 4; split O.1 2 2", "N O.0 O.1.0 O.1.1 H W" },
        { "split O 2 4; split O.1 2 2; fuse O.1.0 O.1.1", "N O.0 O.1 H W" },
        { "split O 2 4; fuse O.0 O.1", "N O H W" },
        { "split O 2 4; reorder N O.1 O.0 H W; fuse O.1 O.0", "N O.1_O.0 H W" },
        { "split O 2 2 2; fuse O.0 O.1", "N O.0_O.1 O.2 H W" },
        { "split O 2 2 2; fuse O.0 O.1 O.2", "N O H W" },
        { "split O 3 3 allow_pad=1; fuse O.0 O.1", "N O H W" },
        { "split O 3 3 allow_pad=1; fuse O.0 O.1; unpad O after=1; split O 2 4; fuse O.0 O.1",
          "N O H W" },
        { "fuse H W", "N O H_W" },
        { "fuse H W; split H_W 6 5", "N O H W" },
        { "fuse H W; split H_W 5 6", "N O H_W.0 H_W.1" },
        { "unfold H tile=4 stride=2", "N O H.0 H.1 W" },
        { "unfold H tile=4 stride=2; fold H.0 H.1", "N O H W" },
        { "unfold H tile=4 stride=2; reorder H.1 N O H.0 W; reorder N O H.0 H.1 W; fold H.0 H.1",
          "N O H W" },
        { "unfold H tile=4 stride=2; split H.0 1 2; fuse H.0.0 H.0.1; fold H.0 H.1", "N O H W" },
        { "pad H after=2; unfold H tile=4 stride=2; pad H.0 after=1", "N O H.0 H.1 W" },
    };
    for (int i = 0; i < COUNT_OF(rows); i++)
        assert_dims(layout_of(pool, "T N=1 O=8 H=6 W=5", rows[i].text), rows[i].dims);
    const struct layout *l = layout_of(pool, "T H_W=2 H=3 W=4", "fuse H W");
    assert_dims(l, "H_W H_W_2");
    assert_int_equal(layout_dim(l, "h_w_2"), 1);
    assert_int_equal(layout_dim(l, "W"), -1);
    l = layout_of(pool, "T N=2 O=16", "split O 4 4");
    assert_string_equal(l->phys[2]->name, "o.1");
    assert_string_equal(l->logical[1]->name, "o");
}

/* Every error code, its words and its advice. */
static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const char *before, *prim;
        enum err_code code;
        const char *text, *fix;
    } rows[] = {
        { "split O 7 8", "split H 0 16", ERR_NONDIV,
        "primitive 2 (split H): 2 x 16 is not 30, the extent of the dimension",
          "30 = 2*3*5: 16 does not divide it; 15 or 30 do; "
          "or `split H 2 16 allow_pad=1`, which stores 32 for 30" },
        { "", "split O 2 16", ERR_FACTOR,
        "primitive 1 (split O): 2 x 16 is less than the 56 elements of the dimension",
          "56 = 2^3*7: 16 does not divide it; 14 or 28 do; "
          "or `split O 4 16 allow_pad=1`, which stores 64 for 56" },
        { "", "split O 8 8", ERR_NONDIV,
        "primitive 1 (split O): 8 x 8 is not 56, the extent of the dimension",
          "use a first factor of 7 (0 infers it)" },
        { "", "split O 5 16 allow_pad=1", ERR_EMPTY,
          "primitive 1 (split O): 5 x 16: the last tile of 16 would be only padding, since the "
          "dimension has 56 elements",
          "use a first factor of 4 (0 infers it)" },
        { "", "split O 56", ERR_FACTOR,
          "primitive 1 (split O): a split into 1 factors; it takes 2 to 24",
          "0 as the first factor is inferred: 0 F makes O/F x F" },
        { "", "split O 7 -8", ERR_FACTOR,
        "primitive 1 (split O): factor 2 is -8, which is not allowed",
          "use factors of 1 or more; only the first may be 0 (it is inferred)" },
        { "", "split O 1 99999999999999", ERR_OVERFLOW,
          "primitive 1 (split O): the product of the factors is more than 2^40", "" },
        { "", "reorder N O H", ERR_PERM,
        "primitive 1 (reorder): the order names 3 dimensions, but the layout has 4",
          "name each of these once: N(2) O(56) H(30) W(30)" },
        { "", "reorder N O H H", ERR_PERM,
          "primitive 1 (reorder): place 4 of the order names dimension 3 a second time",
          "name each of these once: N(2) O(56) H(30) W(30)" },
        { "", "fuse W", ERR_DIM,
          "primitive 1 (fuse W): cannot fuse 1 dimensions from W on; fuse takes 2 or more "
          "adjacent ones",
          "the dimensions in order are N(2) O(56) H(30) W(30)" },
        { "", "unfold H tile=2 stride=3", ERR_UNFOLD,
          "primitive 1 (unfold H): stride=3 is larger than tile=2: the elements between the tiles "
          "would be lost",
          "use stride=2 or less" },
        { "", "unfold H tile=0 stride=0", ERR_UNFOLD,
        "primitive 1 (unfold H): tile=0 and stride=0 are not both positive",
          "use a tile and a stride of 1 or more" },
        { "", "unfold H tile=4 stride=2 size=31", ERR_UNFOLD,
          "primitive 1 (unfold H): size=31 is not possible: H has 30 elements",
          "use 1 to 30, or leave size= out to keep the whole dimension" },
        { "split H 10 3", "unfold H.0 tile=4 stride=2 size=5", ERR_UNFOLD,
          "primitive 2 (unfold H.0): size=5 would drop elements of T that are not the last ones of "
          "a dimension",
          "unfold the dimension before you split or fuse it, or leave size= out" },
        { "", "fold W", ERR_DIM,
          "primitive 1 (fold W): W is the last dimension; fold takes the two dimensions that "
          "unfold made",
          "the dimensions in order are N(2) O(56) H(30) W(30)" },
        { "", "fold H W", ERR_NOINV,
          "primitive 1 (fold H): H and W are not the two dimensions that an unfold made",
          "fold works while both are adjacent and unchanged; fuse joins other "
          "dimensions" },
        { "unfold H tile=4 stride=2", "fold H.0 H.1 size=29 stride=2", ERR_NOINV,
          "primitive 2 (fold H.0): size=29 or stride=2 differs from that of the unfold",
          "use size=30 stride=2, or leave both out" },
        { "", "pad H after=-1", ERR_PAD,
        "primitive 1 (pad H): before=0 after=-1: a padding cannot be negative",
          "use 0 or more; unpad removes padding" },
        { "pad H before=1 after=3", "unpad H before=2", ERR_NOINV,
          "primitive 2 (unpad H): before=2 after=0 would remove data, not only padding",
          "the padding of H is before=1 after=3" },
        { "", "unpad H after=30", ERR_NOINV,
          "primitive 1 (unpad H): before=0 after=30 would remove data, not only padding",
          "the padding of H is before=0 after=0" },
        { "", "pad H after=1099511627776", ERR_OVERFLOW,
          "primitive 1 (pad H): the tensor would have more than 2^40 elements in memory", "" },
        { "", "unfold H tile=999999999999 stride=1", ERR_OVERFLOW,
          "primitive 1 (unfold H): the tensor would have more than 2^40 elements in memory", "" },
        { "split O 7 8; split O.1 1 1 1 1 1 1 1 1 1 1 8; split H 1 1 1 1 1 1 1 1 30",
          "split W 3 5 2", ERR_RANK,
          "primitive 4 (split W): 25 dimensions are too many; a tensor has at most 24",
          "split into fewer parts, or fuse dimensions first" },
        { "split O 7 8; split O.1 1 1 1 1 1 1 1 1 1 1 8; split H 1 1 1 1 1 1 1 1 1 30",
          "unfold W tile=3 stride=2", ERR_RANK,
          "primitive 4 (unfold W): 25 dimensions are too many; a tensor has at most 24",
          "fuse dimensions first" },
    };
    for (int i = 0; i < COUNT_OF(rows); i++) {
        const struct layout *l = layout_of(pool, "T N=2 O=56 H=30 W=30", rows[i].before),
                            *after = l;
        const struct prim pr = prim_from(l, rows[i].prim);
        struct err e = { .code = ERR_NONE };
        if (layout_apply(pool, l, &pr, &after, &e))
            fail_msg("%s; %s is accepted", rows[i].before, rows[i].prim);
        assert_ptr_equal(after, l);
        assert_string_equal(e.text, rows[i].text);
        assert_string_equal(e.fix, rows[i].fix);
        assert_string_equal(err_name(e.code), err_name(rows[i].code));
    }
}

static void test_error_bad_dim(void **state)
{
    (void)state;
    const struct layout *l = layout_of(pool, "T N=2 O=56", ""), *after;
    const struct prim bad[] = {
        { .kind = PRIM_SPLIT, .dim = 2, .n = 2 },
        { .kind = PRIM_PAD, .dim = -1 },
        { .kind = PRIM_FUSE, .dim = 1, .n = 2 },
    };
    struct err e;
    for (int i = 0; i < COUNT_OF(bad); i++) {
        assert_false(layout_apply(pool, l, &bad[i], &after, &e));
        assert_int_equal(e.code, ERR_DIM);
    }
    const struct prim outside = { .kind = PRIM_REORDER, .n = 2, .perm = { 0, 7 } };
    assert_false(layout_apply(pool, l, &outside, &after, &e));
    assert_int_equal(e.code, ERR_PERM);
}

/* Endless or exploding sequences end in an error, not in a crash. */
static void test_limits(void **state)
{
    (void)state;
    const struct layout *l = layout_of(pool, "T A=35 B=6", "");
    struct err e = { .code = ERR_NONE };
    const struct prim nothing = { .kind = PRIM_PAD };
    for (int i = 0; i < LAYOUT_MAX_PRIMS; i++)
        assert_true(layout_apply(pool, l, &nothing, &l, &e));
    assert_false(layout_apply(pool, l, &nothing, &l, &e));
    assert_int_equal(e.code, ERR_RANGE);

    l = layout_of(pool, "T A=35 B=6", "fuse A B");
    static const int64_t factors[] = { 14, 10, 21, 6, 35 };
    for (int i = 0; i < 40; i++) {
        const struct prim split = { .kind = PRIM_SPLIT, .n = 2, .factor = { 0, factors[i % 5] } };
        const struct prim swap = { .kind = PRIM_REORDER, .n = 2, .perm = { 1, 0 } };
        const struct prim fuse = { .kind = PRIM_FUSE, .n = 2 };
        if (!layout_apply(pool, l, &split, &l, &e) || !layout_apply(pool, l, &swap, &l, &e)
            || !layout_apply(pool, l, &fuse, &l, &e)) {
            assert_int_equal(e.code, ERR_RANGE);
            return;
        }
        assert_true(strlen(l->dim[0]) < 64);
    }
    fail_msg("expressions grow without limit");
}

/* I5: s then inverse(s) is the identity, names included. */
static void test_inverse(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",
        "split O 2 4",
        "split O 3 3 allow_pad=1",
        "reorder W N H O",
        "fuse N O H",
        "pad H before=1 after=2",
        "unfold H tile=4 stride=2",
        "unfold H tile=4 stride=3",
        "unfold H tile=9 stride=3",
        "unfold W tile=1 stride=1",
        "pad H after=9; unfold H tile=4 stride=2 size=7",
        "split W 1 5; split H 3 2; split O 2 4; reorder N H.0 W.0 O.0 H.1 W.1 O.1",
        "unfold W tile=3 stride=2; unfold H tile=4 stride=2; reorder N H.0 W.0 O H.1 W.1",
        "unfold H tile=4 stride=2; reorder N H.0 O H.1 W; fuse N H.0; pad O after=8",
        "unfold H tile=4 stride=2; fold H.0 H.1",
        "pad H after=4; unpad H after=3; split H 0 5 allow_pad=1",
        "unfold H tile=4 stride=2; unfold H.1 tile=3 stride=1; split H.0 2 1; fuse H.0.1 H.1.0",
    };
    for (int i = 0; i < COUNT_OF(rows); i++) {
        const struct layout *l = layout_of(pool, "T N=2 O=8 H=6 W=5", rows[i]);
        const struct layout *identity = layout_identity(pool, l->tensor), *back = l;
        struct prim inverse[2 * LAYOUT_MAX_PRIMS];
        struct err e = { .code = ERR_NONE };
        int n;
        assert_true(layout_inverse(l, inverse, &n, &e));
        for (int j = 0; j < n; j++)
            if (!layout_apply(pool, back, &inverse[j], &back, &e))
                fail_msg("%s: %s (%s)", rows[i], e.text, e.fix);
        assert_dims(back, "N O H W");
        assert_shape(back, "2x8x6x5");
        assert_null(back->guard);
        for (int k = 0; k < 4; k++) {
            assert_ptr_equal(back->rho[k], identity->rho[k]);
            assert_ptr_equal(back->phi[k], identity->phi[k]);
        }
    }
    const struct layout *l =
        layout_of(pool, "X H=30 W=4", "split W 2 2; unfold H tile=4 stride=2 size=8");
    struct prim inverse[4];
    struct err e;
    int n;
    assert_false(layout_inverse(l, inverse, &n, &e));
    assert_int_equal(e.code, ERR_NOINV);
    assert_string_equal(e.text,
                        "primitive 2 (unfold H) with size=8 dropped elements: it has no inverse");
}

/* A layout is a value: what was derived from it leaves it alone. */
static void test_immutable(void **state)
{
    (void)state;
    const struct layout *l = layout_of(pool, "T N=2 O=8", "split O 2 4"), copy = *l, *next;
    struct err e;
    assert_true(apply_text(pool, l, "reorder O.0 N O.1; pad N after=2", &next, &e));
    assert_memory_equal(l, &copy, sizeof copy);
    assert_ptr_equal(next->prev->prev, l);
    assert_int_equal(next->n_prims, 3);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_split), TEST(test_reorder), TEST(test_nc4hw4), TEST(test_unfold),
        TEST(test_trimmed_unfold), TEST(test_expansion), TEST(test_pad), TEST(test_table3),
        TEST(test_template_points), TEST(test_two_level), TEST(test_memory_equal),
        TEST(test_names), TEST(test_errors), TEST(test_error_bad_dim), TEST(test_limits),
        TEST(test_inverse), TEST(test_immutable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
