/* The parts of a screen by themselves, with values that follow from their headers: number formats,
 * line breaks, the grid and its picture, canvases and keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app/ui/canvas.h"
#include "app/ui/grid_svg.h"
#include "app/ui/key.h"
#include "app/ui/plot.h"
#include "app/ui/reflow.h"
#include "app/ui/term.h"
#include "app/ui/text.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* --- Text ------------------------------------------------------------------------------------- */

/* The first and last code points of a block, and those beside it. */
static void test_char_widths(void **state)
{
    (void)state;
    static const struct { uint32_t cp; int width; } row[] = {
        { 0x2FF, 1 }, { 0x300, 0 }, { 0x36F, 0 }, { 0x370, 1 }, { 0xFE0F, 0 }, { 0xFE10, 1 },
        { 0x10FF, 1 }, { 0x1100, 2 }, { 0x115F, 2 }, { 0x1160, 1 }, { 0x20000, 2 }, { 0x3FFFD, 2 },
    };
    for (int i = 0; i < COUNT_OF(row); i++)
        assert_int_equal(text_char_width(row[i].cp), row[i].width);
    assert_int_equal(text_width_n("a\0b", 3), 1);        /* a NUL ends the text */
    assert_int_equal(text_width_n("漢字", 3), 2);
    char utf8[5] = "xxxx";
    assert_int_equal(text_utf8_put(utf8, 0xE9), 2);
    assert_string_equal(utf8, "é");
}

/* A blank within a number like 12 345 is no place for a break; text_break leaves the first half of
 * the row without one. */
static void test_breaks(void **state)
{
    (void)state;
    static const struct { const char *text; int width; size_t bytes; } row[] = {
        { "cost 12 345 678", 7, 5 }, { "cost 12 34 x", 7, 7 }, { "cost 12 3456", 7, 7 },
        { "a 12 345 678 b", 10, 10 }, { "aaaa bbbbbbbbb", 10, 10 }, { "aaaaa bbbbbbbb", 10, 6 },
        { "cost 12 345", 7, 5 }, { "cost ab 345", 7, 7 },
    };
    for (int i = 0; i < COUNT_OF(row); i++)
        assert_int_equal(text_break(row[i].text, row[i].width), row[i].bytes);
}

/* Three significant digits, at most four decimals; the limits are where rounding adds a digit. */
static void test_number_formats(void **state)
{
    (void)state;
    typedef void format(struct str *out, double v);
    static const struct { format *of; double v; const char *text; } row[] = {
        { text_digits, 0, "0.00" }, { text_digits, 0.0124, "0.0124" },
        { text_digits, 0.124, "0.124" }, { text_digits, 1.24, "1.24" },
        { text_digits, 12.4, "12.4" }, { text_digits, 124, "124" }, { text_digits, 1235, "1235" },
        { text_digits, 9.994, "9.99" }, { text_digits, 9.996, "10.0" },
        { text_digits, 99.94, "99.9" }, { text_digits, 99.96, "100" },
        { text_digits, 0.9994, "0.999" }, { text_digits, 0.9996, "1.00" },
        { text_digits, 0.09994, "0.0999" }, { text_digits, 0.09996, "0.100" },
        { text_digits, 0.00001, "0.0000" }, { text_digits, -12.4, "-12.4" },
        { text_bytes, 0, "0 B" }, { text_bytes, 999, "999 B" }, { text_bytes, 1000, "0.977 KiB" },
        { text_bytes, 37683, "36.8 KiB" }, { text_bytes, 1024e3, "0.977 MiB" },
        { text_bytes, 3208643, "3.06 MiB" }, { text_bytes, 5368709120.0, "5.00 GiB" },
        { text_bytes, 2199023255552.0, "2.00 TiB" }, { text_bytes, 5497558138880000.0, "5000 TiB" },
        { text_share, 0, "0%" }, { text_share, 0.834, "83%" }, { text_share, 1.004, "100%" },
        { text_share, 1.006, "101%" }, { text_share, 1.8, "180%" }, { text_share, 12.3, "12x" },
        { text_ms, 0.9994e-3, "999 ns" }, { text_ms, 0.9996e-3, "1.00 µs" },
        { text_change, 0.0049, "same" }, { text_change, -0.0049, "same" },
        { text_change, 0.0051, "+1 %" }, { text_change, -0.0051, "-1 %" },
        { text_time_change, 0.049, "same" }, { text_time_change, -0.049, "same" },
        { text_time_change, 0.051, "+5 %" }, { text_time_change, -0.051, "-5 %" },
        { text_change, -0.98, "-98 %" }, { text_change, -0.99, "-99.0 %" },
        { text_change, 99.99, "+9999 %" }, { text_change, 99.996, ">9999 %" },
        { plot_number, 1e12, "1T" }, { plot_number, 999e9, "999G" }, { plot_number, 1e4, "10k" },
        { plot_number, 999e3, "999k" }, { plot_number, 1e9, "1G" }, { plot_number, 999e6, "999M" },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct str s = {0};
        row[i].of(&s, row[i].v);
        if (!streq(str_text(&s), row[i].text))
            fail_msg("row %d, %g: %s", i, row[i].v, str_text(&s));
        str_free(&s);
    }
}

static void test_counts_and_sides(void **state)
{
    (void)state;
    static const struct { int64_t n; const char *text; } row[] = {
        { -9999, "-9999" }, { -10000, "-10.0k" }, { 999400, "999k" }, { 999600000, "1.00G" },
    };
    struct str s = {0};
    for (int i = 0; i < COUNT_OF(row); i++, str_clear(&s)) {
        text_count(&s, row[i].n);
        assert_string_equal(str_text(&s), row[i].text);
    }
    text_right(&s, "ab", 4);
    text_right(&s, "|cd", 3);
    text_right(&s, "|efgh|", 2);
    assert_string_equal(str_text(&s), "  ab|cd|efgh|");
    str_free(&s);
}

/* A tail of 24 columns beside the first column of a list is wide enough; one of 23 is not. */
static void test_reflow_of_lists(void **state)
{
    (void)state;
    static const struct { int width; const char *text, *is; } row[] = {
        { 33, "  f32    float32, the type unless\n         another one is given\n",
              "  f32    float32, the type unless\n         another one is given\n" },
        { 32, "  f32    float32, the type unless\n         another one is given\n",
              "  f32    float32, the type\n      unless another one is\n      given\n" },
        { 40, "  budget    one two three four five six\n                seven eight\n",
              "  budget    one two three four five six\n                seven eight\n" },
        { 60, "  a    one\n                two\n", "  a    one two\n" },
        { 60, "  a    one\n               two\n", "  a    one\n               two\n" },
        { 60, "                one\n                two\n", "                one two\n" },
        { 60, "one", "one\n" },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct str out = {0};
        text_reflow(&out, row[i].text, row[i].width);
        assert_string_equal(str_text(&out), row[i].is);
        str_free(&out);
    }
}

/* --- The grid --------------------------------------------------------------------------------- */

static void assert_dump(const struct grid *g, const char *want)
{
    struct str s = {0};
    grid_dump(g, &s);
    assert_string_equal(str_text(&s), want);
    str_free(&s);
}

static void test_rectangles(void **state)
{
    (void)state;
    const struct rect r = {2, 3, 4, 5};
    assert_true(grid_rect_has(r, 2, 3) && grid_rect_has(r, 5, 7));
    assert_false(grid_rect_has(r, 1, 3) || grid_rect_has(r, 6, 3));
    assert_false(grid_rect_has(r, 2, 2) || grid_rect_has(r, 2, 8));
    struct grid g;
    grid_open(&g, -3, 2, true);
    assert_true(g.w == 0 && g.h == 2);
    assert_dump(&g, "\n\n");
    grid_resize(&g, 3, 2);
    assert_true(g.cursor_x == -1 && g.cursor_y == -1);
    assert_true(grid_at(&g, 2, 1) && !grid_at(&g, -1, 0) && !grid_at(&g, 0, -1)
                && !grid_at(&g, 3, 0) && !grid_at(&g, 0, 2));
    struct rect old = grid_clip(&g, (struct rect){1, 1, 9, 9});
    assert_true(old.x == 0 && old.y == 0 && old.w == 3 && old.h == 2);
    assert_true(g.clip.x == 1 && g.clip.y == 1 && g.clip.w == 2 && g.clip.h == 1);
    grid_clip(&g, (struct rect){0, 0, 0, 0});            /* nothing is left */
    assert_true(g.clip.w == 0 && g.clip.h == 0);
    grid_clear(&g);
    assert_true(g.clip.x == 0 && g.clip.w == 3 && g.clip.h == 2);
    grid_close(&g);
}

/* The columns that a text takes, and what remains of a wide character that is half overwritten. */
static void test_columns_of_text(void **state)
{
    (void)state;
    struct grid g;
    grid_open(&g, 4, 1, true);
    assert_int_equal(grid_text(&g, 1, 0, STYLE_PLAIN, "漢a"), 4);
    assert_int_equal(grid_text(&g, 0, 0, STYLE_PLAIN, "e\xcc\x81x"), 2);
    assert_dump(&g, "ex a\n");
    grid_clear(&g);
    grid_text(&g, 0, 0, STYLE_GOOD, "漢字");
    grid_char(&g, 1, 0, STYLE_BAD, 0x754C);              /* a wide one over two halves */
    assert_dump(&g, " 界\n");
    assert_int_equal(grid_at(&g, 0, 0)->style, STYLE_GOOD);
    assert_int_equal(grid_at(&g, 1, 0)->style, STYLE_BAD);
    assert_int_equal(grid_at(&g, 2, 0)->style, STYLE_BAD);
    assert_int_equal(grid_at(&g, 3, 0)->style, STYLE_GOOD);
    grid_text(&g, 0, 0, STYLE_PLAIN, "xyzw");
    grid_char(&g, 3, 0, STYLE_PLAIN, 0x754C);            /* half of it would be outside */
    assert_dump(&g, "xyz\n");
    assert_int_equal(grid_fit(&g, 0, 0, 3, STYLE_PLAIN, "abcd"), 3);
    assert_dump(&g, "ab…\n");
    assert_int_equal(grid_fit(&g, 2, 0, 2, STYLE_PLAIN, "c "), 3);
    assert_int_equal(grid_fit(&g, 2, 0, 0, STYLE_PLAIN, "no"), 2);
    assert_int_equal(grid_fit(&g, 3, 0, 1, STYLE_PLAIN, "d"), 4);
    assert_dump(&g, "abcd\n");
    grid_close(&g);
    grid_open(&g, 4, 1, false);
    assert_int_equal(grid_text(&g, 0, 0, STYLE_PLAIN, "漢a"), 2);
    assert_dump(&g, "?a\n");
    grid_close(&g);
}

static void test_cells(void **state)
{
    (void)state;
    static const struct { uint32_t put, is; } row[] = {
        { 0x1F, '?' }, { 0x20, ' ' }, { 0x7E, '~' }, { 0x7F, '?' }, { 0x80, '?' }, { 0x9F, '?' },
        { 0xA0, 0xA0 },
    };
    static const struct { uint32_t ch; char ascii; } poor[] = {
        { 0x7F, 0x7F }, { 0x2800, ' ' }, { 0x28FF, ':' }, { 0x2801, '\'' }, { 0x2880, '.' },
        { 0x2806, '-' }, { 0x2900, '?' }, { 0x27FF, '?' }, { 0x2502, '|' }, { 0x2503, '|' },
    };
    struct grid g;
    grid_open(&g, 3, 2, true);
    for (int i = 0; i < COUNT_OF(row); i++) {
        grid_char(&g, 0, 0, STYLE_PLAIN, row[i].put);
        assert_int_equal(grid_at(&g, 0, 0)->ch, row[i].is);
    }
    for (int i = 0; i < COUNT_OF(poor); i++)
        assert_int_equal(grid_ascii(poor[i].ch), poor[i].ascii);
    grid_clear(&g);
    grid_fill(&g, (struct rect){1, 0, 2, 2}, STYLE_KEY, 'x');
    assert_dump(&g, " xx\n xx\n");
    grid_restyle(&g, (struct rect){0, 1, 2, 5}, STYLE_REVERSE, 0);
    grid_restyle(&g, (struct rect){1, 0, 1, 2}, STYLE_MATCH, 0x7F);
    static const unsigned char style[] = {
        STYLE_PLAIN, STYLE_MATCH, STYLE_KEY, STYLE_REVERSE, STYLE_MATCH | STYLE_REVERSE, STYLE_KEY,
    };
    for (int i = 0; i < COUNT_OF(style); i++)
        assert_int_equal(grid_at(&g, i % 3, i / 3)->style, style[i]);
    grid_close(&g);
}

/* A cell has 8.4 x 18 pixels, the margin 8; the baseline is 13.5 below the top of a cell. Lines
 * meet in the middle of their cells. */
static void test_picture(void **state)
{
    (void)state;
    static const char want[] =
        "<text x=\"8.0\" y=\"21.5\" textLength=\"8.4\" class=\"t\">a</text>\n"
        "<text x=\"16.4\" y=\"21.5\" textLength=\"8.4\" fill=\"#008700\">&amp;</text>\n"
        "<path d=\"M24.8 17.0H33.2M33.2 17.0H41.6M37.4 8.0V26.0\" stroke=\"#808080\"/>\n"
        "<rect x=\"8.0\" y=\"26.0\" width=\"16.8\" height=\"18\" fill=\"#0087af\"/>\n"
        "<text x=\"8.0\" y=\"39.5\" textLength=\"8.4\" class=\"b\" font-weight=\"bold\">x</text>\n"
        "<rect x=\"33.2\" y=\"26.0\" width=\"8.4\" height=\"18\" class=\"t\"/>\n"
        "<text x=\"33.2\" y=\"39.5\" textLength=\"8.4\" class=\"b\">z</text>\n"
        "<path d=\"M20.6 53.0H24.8M20.6 44.0V53.0M24.8 53.0H29.0M29.0 53.0V62.0\" "
        "stroke=\"#808080\"/>\n"
        "<text x=\"16.4\" y=\"57.5\" textLength=\"25.2\" class=\"t\">  &lt;</text>\n"
        "</svg>\n";
    struct grid g;
    struct str svg = {0};
    grid_open(&g, 4, 3, true);
    grid_char(&g, 0, 0, STYLE_PLAIN, 'a');
    grid_char(&g, 1, 0, STYLE_GOOD, '&');
    grid_text(&g, 2, 0, STYLE_RULE, "─┼");
    grid_text(&g, 0, 1, STYLE_TAB, "x ");
    grid_char(&g, 3, 1, STYLE_PLAIN | STYLE_REVERSE, 'z');
    grid_text(&g, 1, 2, STYLE_PLAIN, "└┐<");
    grid_svg(&g, &svg);
    const char *cells = strstr(str_text(&svg), "<text");
    assert_non_null(cells);
    assert_string_equal(cells, want);
    assert_non_null(strstr(str_text(&svg), " width=\"50\" height=\"70\" viewBox=\"0 0 50 70\" "));
    grid_close(&g);
    str_clear(&svg);
    grid_open(&g, 3, 1, true);
    grid_text(&g, 0, 0, STYLE_PLAIN, "漢");
    grid_svg(&g, &svg);
    assert_non_null(strstr(str_text(&svg), " textLength=\"16.8\" class=\"t\">漢</text>"));
    grid_close(&g);
    str_free(&svg);
}

/* --- Canvases and keys ------------------------------------------------------------------------ */

/* A character covers the dots of its cell, before and after; its style stays. */
static void test_characters_over_dots(void **state)
{
    (void)state;
    struct canvas c;
    struct doc d;
    struct str out = {0};
    canvas_open(&c, 3, 1);
    canvas_dot(&c, 0, 0, STYLE_GOOD);
    canvas_dot(&c, 2, 3, STYLE_BAD);
    canvas_text(&c, 1, 0, STYLE_KEY, "x");
    canvas_dot(&c, 3, 0, STYLE_BAD);
    assert_int_equal(canvas_used(&c, 0, 0, 3), 2);
    assert_int_equal(canvas_used(&c, 2, 0, 2), 1);       /* what is outside is used */
    assert_true(canvas_written(&c, 0, 0, 2));
    assert_false(canvas_written(&c, 2, 0, 2));
    doc_open(&d);
    canvas_doc(&c, &d);
    assert_string_equal(d.lines.data[0].text, "⠁x ");
    assert_int_equal(d.lines.data[0].style[0], STYLE_GOOD);
    assert_int_equal(d.lines.data[0].style[3], STYLE_KEY);
    doc_close(&d);
    canvas_print(&c, &out, true);
    assert_string_equal(str_text(&out), "⠁x\n");
    canvas_close(&c);
    canvas_open(&c, 4, -1);
    assert_true(c.w == 4 && c.h == 0);
    canvas_close(&c);
    str_free(&out);
}

/* Of every five dots of the line, the first three. */
static void test_dashes(void **state)
{
    (void)state;
    struct canvas c;
    struct str out = {0};
    canvas_open(&c, 6, 1);
    canvas_line(&c, 0, 0, 11, 0, STYLE_PLAIN, 5);
    canvas_print(&c, &out, true);
    /* dots 0 1 2, 5 6 7, 10 11; the cells have dots 0 1, 2 3, 4 5, 6 7, 8 9, 10 11 */
    assert_string_equal(str_text(&out), "⠉⠁⠈⠉ ⠉\n");
    canvas_close(&c);
    str_free(&out);
}

static void test_more_key_names(void **state)
{
    (void)state;
    static const char *const none[] = { "", "F0", "C-", "C-ab", "C-{", "C-`", "ab", " " };
    static const struct { int key; const char *name; } row[] = {
        { 1, "C-a" }, { 26, "C-z" }, { 28, "an unknown key" }, { 0, "an unknown key" },
        { K_ALT | 'x', "an unknown key" }, { K_F1, "F1" }, { K_WORD_LEFT, "an unknown key" },
        { '!', "!" }, { 0x10FFFF, "\xf4\x8f\xbf\xbf" },
    };
    for (int i = 0; i < COUNT_OF(none); i++)
        assert_int_equal(key_parse(none[i]), K_NONE);
    assert_int_equal(key_parse("C-a"), 1);
    assert_int_equal(key_parse("C-z"), 26);
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct str s = {0};
        key_text(&s, row[i].key);
        assert_string_equal(str_text(&s), row[i].name);
        str_free(&s);
    }
    assert_int_equal(key_context_find("nest"), KEYS_NEST);
    assert_int_equal(key_context_find("everywhere"), KEYS_ANY);
    assert_int_equal(key_context_find("nests"), -1);
    struct str first = {0};
    key_binding_key(&first, &(struct key_binding){ .keys = "S-Up K" });
    assert_string_equal(str_text(&first), "S-Up");
    str_free(&first);
}

/* A page keeps one row of the page before it; half a page is half of that. */
static void test_pages(void **state)
{
    (void)state;
    static const struct { int rows, page, half; } row[] = {
        { 10, 9, 4 }, { 4, 3, 1 }, { 3, 2, 1 }, { 2, 1, 1 }, { 0, 1, 1 },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        int n = row[i].rows;
        assert_int_equal(key_action_lines(ACTION_PAGE_DOWN, n), row[i].page);
        assert_int_equal(key_action_lines(ACTION_PAGE_UP, n), -row[i].page);
        assert_int_equal(key_action_lines(ACTION_HALF_DOWN, n), row[i].half);
        assert_int_equal(key_action_lines(ACTION_HALF_UP, n), -row[i].half);
        assert_int_equal(key_action_lines(ACTION_DOWN, n), 1);
        assert_int_equal(key_action_lines(ACTION_UP, n), -1);
        assert_int_equal(key_action_lines(ACTION_TOP, n), 0);
    }
}

/* Contexts are searched in the order of the chain, and the user's keys of all of them first. */
static void test_order_of_bindings(void **state)
{
    (void)state;
    static const struct key_binding own[] = {
        { KEYS_ANY, "S", ACTION_RUN, "undo", "", "" },
        { KEYS_VIEW, "S F9", ACTION_RUN, "redo", "", "" },
    };
    enum key_context chain[] = { KEYS_NEST, KEYS_VIEW, KEYS_ANY };
    int shipped = key_binding_count();
    assert_string_equal(key_binding_find(chain, 3, 'S')->line, "loop split %T %D ");
    key_bindings_add(own, 2);
    assert_int_equal(key_binding_count(), shipped + 2);
    assert_ptr_equal(key_binding_get(1), &own[1]);
    assert_string_equal(key_binding_get(2)->keys, "Enter");
    assert_ptr_equal(key_binding_find(chain, 3, 'S'), &own[1]);
    assert_ptr_equal(key_binding_find(chain, 3, K_F1 + 8), &own[1]);
    assert_null(key_binding_find(chain, 1, K_F1 + 8));
    key_bindings_add(NULL, 0);
    assert_int_equal(key_binding_count(), shipped);
}

/* --- Colours ---------------------------------------------------------------------------------- */

/* The series of a plot are told apart by their colours, and with 8 colours nothing is yellow, cyan
 * or white on white. */
static void test_colours_of_series(void **state)
{
    (void)state;
    for (int theme = 0; theme < THEME_MONO; theme++)
        for (int colours = 8; colours <= 256; colours += 248)
            for (int i = STYLE_SERIES; i <= STYLE_SERIES_LAST; i++)
                for (int k = STYLE_SERIES; k < i; k++)
                    if (term_colour((enum style)i, (enum theme)theme, colours)
                        == term_colour((enum style)k, (enum theme)theme, colours))
                        fail_msg("theme %s, %d colours: series %d and %d are alike",
                                 theme_name[theme], colours, k - STYLE_SERIES, i - STYLE_SERIES);
    for (int i = 0; i < STYLE_COUNT; i++) {
        short c = term_colour((enum style)i, THEME_LIGHT, 8);
        assert_true(c != 3 && c != 6 && c != 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_colours_of_series),
        cmocka_unit_test(test_char_widths),
        cmocka_unit_test(test_breaks),
        cmocka_unit_test(test_number_formats),
        cmocka_unit_test(test_counts_and_sides),
        cmocka_unit_test(test_reflow_of_lists),
        cmocka_unit_test(test_rectangles),
        cmocka_unit_test(test_columns_of_text),
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_picture),
        cmocka_unit_test(test_characters_over_dots),
        cmocka_unit_test(test_dashes),
        cmocka_unit_test(test_more_key_names),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_order_of_bindings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
