/* The sentences of the cache lens, about misses that are made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app/views/graph_doc.h"
#include "app/views/lens_doc.h"
#include "tests/unit/model_help.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static const struct lens_buffer buffer[] = {
    { .name = "A", .first = 0, .lines = 4 }, { .name = "B", .first = 4, .lines = 2000 },
};
static const struct lens_site site[] = {
    { .text = "A[m]", .buffer = 0, .loop = 0 },
    { .text = "B[k]", .buffer = 1, .loop = 1, .is_store = true },
};
static const struct lens_loop loops[] = { { .axis = "M", .parent = -1 }, { .axis = "K" } };

/* 16 sets of 4 ways; a million misses. */
static struct lens lens(void)
{
    return (struct lens){ .n_sets = 16, .ways = 4, .line_bytes = 64, .n_buffers = 2,
                          .buffer = buffer, .n_sites = 2, .site = site, .n_loops = 2,
                          .loop = loops, .all = { .misses = 1e6 } };
}

static void assert_text(struct str *text, const char *want)
{
    assert_string_equal(str_text(text), want);
    str_free(text);
}

static void test_lines(void **state)
{
    (void)state;
    static const struct { int32_t line; const char *text; } row[] = {
        { 0, "A line 0" }, { 3, "A line 3" }, { 4, "B line 0" }, { 1005, "B line 1 001" },
        { 2003, "B line 1 999" }, { 2004, "line 2 004 beyond the buffers" },
    };
    struct lens l = lens();
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct str text = {0};
        lens_line_print(&text, &l, row[i].line);
        assert_text(&text, row[i].text);
    }
}

static void test_pairs(void **state)
{
    (void)state;
    struct lens l = lens();
    struct str text = {0};
    struct lens_pair p = { .site = 0, .by = 1, .line = 3, .other = 6, .set = 5, .held = 2,
                           .loop = 1, .stride = 2048, .every = 1, .trips = 1280, .sets = 2 };
    lens_pair_print(&text, &l, &p);
    assert_text(&text, "A line 3 and B line 2 share set 5, where B has 2 of 4 ways");
    lens_stride_print(&text, &l, &p);
    assert_text(&text, "B[k] moves by 2 048 bytes with each K: 1 280 iterations use 2 of 16 sets, "
                "which hold 8 lines");
    p.held = 0;
    p.every = 4;
    lens_pair_print(&text, &l, &p);
    assert_text(&text, "A line 3 and B line 2 share set 5");
    lens_stride_print(&text, &l, &p);
    assert_text(&text, "B[k] moves by 2 048 bytes every 4 iterations of K: 1 280 such moves use 2 "
                "of 16 sets, which hold 8 lines");
    p.every = p.stride = p.sets = 1;
    lens_stride_print(&text, &l, &p);
    assert_text(&text, "B[k] moves by 1 byte with each K: 1 280 iterations use 1 of 16 sets, which "
                "holds 4 lines");
    p.loop = -1;
    lens_stride_print(&text, &l, &p);
    assert_text(&text, "");
}

/* A kind with less than a twentieth of the misses is not named. */
static void test_causes(void **state)
{
    (void)state;
    static const struct { struct lens_cause c; const char *text; } row[] = {
        { { .site = 1, .misses = 600000, .conflict = 300000, .compulsory = 31000 },
          "Store B[k] has 600k of the 1.00M misses in L1: 300k conflict, 269k capacity and 31.0k "
          "compulsory misses." },
        { { .site = 1, .misses = 600000, .conflict = 300000, .compulsory = 29000 },
          "Store B[k] has 600k of the 1.00M misses in L1: 300k conflict and 271k capacity "
          "misses." },
        { { .site = 0, .misses = 100, .compulsory = 100 },
          "Load A[m] has 100 of the 1.00M misses in L1, all of them compulsory misses." },
        { { .site = 0, .misses = 100, .compulsory = 97, .conflict = 3 },
          "Load A[m] has 100 of the 1.00M misses in L1, nearly all of them compulsory misses." },
        { { .site = 0, .misses = 1, .conflict = 1 },
          "Load A[m] has 1 of the 1.00M misses in L1, a conflict miss." },
    };
    struct lens l = lens();
    struct str text = {0};
    for (int i = 0; i < COUNT_OF(row); i++) {
        lens_cause_print(&text, &l, &row[i].c);
        assert_text(&text, row[i].text);
    }
    l.all.misses = 1;
    lens_cause_print(&text, &l, &row[4].c);
    assert_text(&text, "Load A[m] has the only miss in L1, a conflict miss.");
}

static void test_reasons(void **state)
{
    (void)state;
    static const struct { struct lens_cause c; const char *text; } row[] = {
        { { .site = 0, .misses = 4, .compulsory = 4 },
          "A has 4 lines, and the first touch of each one misses." },
        { { .misses = 100, .moves = -1, .again = 1, .again_after = 1, .lines = 64, .touched = 69 },
          "The next iteration of K needs its 64 lines again, but by then 69 lines were touched, "
          "and L1 holds 64." },
        { { .misses = 100, .moves = -1, .again = 0, .again_after = 512, .lines = 1,
            .touched = 69 },
          "After 512 iterations, M needs its 1 line again, but by then 69 lines were touched, and "
          "L1 holds 64." },
        { { .misses = 100, .moves = -1, .again = -1, .before = true },
          "An earlier nest has touched its 4 lines, but L1 holds 64." },
        { { .misses = 100, .moves = -1, .again = -1 },
          "Its lines are evicted before they are touched again." },
        { { .misses = 9, .conflict = 9 }, "More lines share a set than it has ways." },
    };
    struct lens l = lens();
    struct str text = {0};
    for (int i = 0; i < COUNT_OF(row); i++) {
        lens_reason_print(&text, &l, &row[i].c);
        assert_text(&text, row[i].text);
    }
    l.n_pairs = 3;                        /* of another access, of no loop, and the reason */
    l.pair[0] = (struct lens_pair){ .site = 1, .loop = 0 };
    l.pair[1] = (struct lens_pair){ .site = 0, .loop = -1 };
    l.pair[2] = (struct lens_pair){ .site = 0, .by = 0, .loop = 1, .stride = 64, .every = 1,
                                    .trips = 9, .sets = 3 };
    lens_reason_print(&text, &l, &row[5].c);
    assert_text(&text, "A[m] moves by 64 bytes with each K: 9 iterations use 3 of 16 sets, which "
                "hold 12 lines.");
}

/* Without touches, the document is its head. */
static void test_head(void **state)
{
    (void)state;
    struct lens l = lens();
    struct lens_look look = { .width = 300, .keys = true, .loop = -1, .counted = -1 };
    struct doc d;
    l.cache = (struct cache_config){ .n_levels = 1,
                                     .level = { { { 32768, 8, 64 }, REPLACE_LRU, false } } };
    doc_open(&d);
    lens_doc(&d, &l, &look);
    assert_int_equal(d.lines.len, 1);
    assert_int_equal(d.lines.data[0].id, LENS_OTHER_LINES);
    assert_string_equal(d.lines.data[0].text, "32K/8/64: 16 sets of 4 ways. The playback has 0 "
                        "touches of lines; 0 of these miss, 0 by conflicts.");
    doc_clear(&d);
    l.n_sets = l.ways = 1;
    l.iterations = 1600;
    l.from = 8;
    l.along = "M";
    l.n_marks = 1;
    l.misses = 1;
    lens_doc(&d, &l, &look);
    assert_string_equal(d.lines.data[0].text, "32K/8/64: 1 set of 1 way. The playback has 0 "
                        "touches of lines from iteration 8 of 1 600 (M); 1 of these misses, 0 by "
                        "conflicts.");
    doc_clear(&d);
    l.n_marks = 2;                        /* the number counts the iterations of both nests */
    lens_doc(&d, &l, &look);
    assert_non_null(strstr(d.lines.data[0].text, "from iteration 8 of 1 600 of all nests; 1 of"));
    doc_close(&d);
}

/* --- The graph -------------------------------------------------------------------------------- */

static void test_hints_of_tensors(void **state)
{
    (void)state;
    static const struct { const char *tensor, *hint; } row[] = {
        { "A", "A is read by C. Enter shows its layout." },
        { "B", "B is read by C. Enter shows its layout." },
        { "C", "C is read by the caller. Enter goes to the loops that compute it." },
    };
    struct model *m = model_on("gmm m=64 k=32 n=48");
    const struct program *p = model_program(m);
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct str hint = {0};
        graph_doc_hint(&hint, p, graph_tensor(p->graph, row[i].tensor));
        assert_text(&hint, row[i].hint);
    }
    model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_causes),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_head),
        cmocka_unit_test(test_hints_of_tensors),
    };
    private_folders();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
