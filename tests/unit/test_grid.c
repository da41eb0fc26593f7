/* What the screen is made of, without a program behind it: text and its widths, the grid,
 * documents, keys, the prompt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app/ui/doc.h"
#include "app/ui/grid.h"
#include "app/ui/key.h"
#include "app/ui/prompt.h"
#include "app/ui/text.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* text */

static void test_widths(void **state)
{
    (void)state;
    static const struct { const char *text; int width; } table[] = {
        {"", 0}, {"abc", 3}, {"µs", 2}, {"e\xcc\x81", 1}, {"漢字", 4}, {"▁▂█", 3}, {"\xff\xfe", 2},
        {"\xe2\x82", 2}, {"a\xc0\x80z", 4}, {"😀", 2},
    };
    for (int i = 0; i < COUNT_OF(table); i++)
        assert_int_equal(text_width(table[i].text), table[i].width);
}

static void test_utf8_round_trip(void **state)
{
    (void)state;
    for (uint32_t cp = 1; cp < 0x20000; cp++) {
        char utf8[5];
        const char *p = utf8;
        if (cp >= 0xD800 && cp < 0xE000)
            continue;
        int n = text_utf8_put(utf8, cp);
        assert_int_equal(utf8_next(&p), cp);
        assert_int_equal(p - utf8, n);
    }
}

static void test_fit(void **state)
{
    (void)state;
    static const struct { const char *text; int width; const char *want; } table[] = {
        {"abc", 5, "abc  "}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"abcd", 1, "…"},
        {"abcd", 0, ""}, {"漢字", 3, "漢…"}, {"漢字", 2, "… "}, {"", 2, "  "},
    };
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct str s = {0};
        text_fit(&s, table[i].text, table[i].width);
        assert_string_equal(str_text(&s), table[i].want);
        str_free(&s);
    }
}

static void test_break(void **state)
{
    (void)state;
    assert_int_equal(text_break("one two three", 8), 8);
    assert_int_equal(text_break("one two", 7), 7);
    assert_int_equal(text_break("abcdefgh", 4), 4);
    assert_int_equal(text_break("漢字", 1), 3);
    assert_int_equal(text_break("a b", 0), 1);
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct { double ms; const char *want; } times[] = {
        {0.0123, "12.3 µs"}, {0.9991, "999 µs"}, {0.9996, "1.00 ms"}, {1.5, "1.50 ms"},
        {0.000393, "393 ns"}, {2.7e-6, "2.70 ns"}, {12.34, "12.3 ms"},
        {999.4, "999 ms"}, {999.6, "1.00 s"}, {61000, "61.0 s"},
    };
    static const struct { int64_t n; const char *want; } counts[] = {
        {0, "0"}, {9999, "9999"}, {10000, "10.0k"}, {123456, "123k"}, {999600, "1.00M"},
        {2570000, "2.57M"}, {3100000000, "3.10G"}, {-20000, "-20.0k"},
    };
    static const struct { double change; const char *want; } changes[] = {
        {0, "same"}, {0.004, "same"}, {-0.42, "-42 %"}, {0.1, "+10 %"}, {1.2, "+120 %"},
        {2.5, "+250 %"}, {15.08, "+1508 %"}, {150, ">9999 %"},
    };
    struct str s = {0};
    for (int i = 0; i < COUNT_OF(times); i++, str_clear(&s)) {
        text_ms(&s, times[i].ms);
        assert_string_equal(str_text(&s), times[i].want);
    }
    for (int i = 0; i < COUNT_OF(counts); i++, str_clear(&s)) {
        text_count(&s, counts[i].n);
        assert_string_equal(str_text(&s), counts[i].want);
    }
    for (int i = 0; i < COUNT_OF(changes); i++, str_clear(&s)) {
        text_change(&s, changes[i].change);
        assert_string_equal(str_text(&s), changes[i].want);
    }
    str_clear(&s);
    text_about_time(&s, 0.04);
    text_about_time(&s, -0.04);
    text_about_time(&s, -0.42);
    text_about_time(&s, 0.06);
    assert_string_equal(str_text(&s), "time about the sametime about the sametime about -42 %"
                                      "time about +6 %");
    str_free(&s);
}

static void test_bars(void **state)
{
    (void)state;
    static const struct { double fraction; const char *want; } table[] = {
        {0, "····"}, {0.001, "▌···"}, {0.5, "██··"}, {0.65, "██▌·"}, {1, "████"}, {7, "████"},
        {-1, "····"},
    };
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct str s = {0};
        text_bar(&s, table[i].fraction, 4);
        assert_string_equal(str_text(&s), table[i].want);
        str_free(&s);
    }
}

/* the grid */

static void assert_dump(const struct grid *g, const char *want)
{
    struct str s = {0};
    grid_dump(g, &s);
    assert_string_equal(str_text(&s), want);
    str_free(&s);
}

static void test_clipping(void **state)
{
    (void)state;
    struct grid g;
    grid_open(&g, 6, 3, true);
    grid_text(&g, -2, 0, STYLE_PLAIN, "abcdefghij");
    grid_text(&g, 0, -1, STYLE_PLAIN, "no");
    grid_text(&g, 0, 3, STYLE_PLAIN, "no");
    struct rect old = grid_clip(&g, (struct rect){1, 1, 3, 9});
    grid_fill(&g, (struct rect){-5, -5, 99, 99}, STYLE_GOOD, 'x');
    grid_unclip(&g, old);
    assert_dump(&g, "cdefgh\n xxx\n xxx\n");
    assert_int_equal(grid_at(&g, 1, 1)->style, STYLE_GOOD);
    assert_null(grid_at(&g, 6, 0));
    grid_close(&g);
}

static void test_wide_characters(void **state)
{
    (void)state;
    struct grid g;
    grid_open(&g, 5, 1, true);
    grid_text(&g, 0, 0, STYLE_PLAIN, "漢字漢");
    assert_dump(&g, "漢字\n");
    grid_char(&g, 1, 0, STYLE_PLAIN, 'x');
    assert_dump(&g, " x字\n");
    grid_char(&g, 2, 0, STYLE_PLAIN, 'y');
    assert_dump(&g, " xy\n");
    grid_close(&g);
}

static void test_ascii(void **state)
{
    (void)state;
    struct grid g;
    grid_open(&g, 20, 1, false);
    grid_text(&g, 0, 0, STYLE_PLAIN, "─│┌ 3 µs ✓ █▌· 漢é…");
    assert_dump(&g, "-|+ 3 us Y #=. ??~\n");
    grid_close(&g);
}

static void test_control_characters(void **state)
{
    (void)state;
    struct grid g;
    grid_open(&g, 8, 1, true);
    grid_text(&g, 0, 0, STYLE_PLAIN, "a\033[2Jb\x7f");
    assert_dump(&g, "a?[2Jb?\n");
    grid_close(&g);
}

/* documents */

static struct doc numbers(int n)
{
    struct doc d;
    doc_open(&d);
    for (int i = 0; i < n; i++) {
        doc_printf(&d, STYLE_PLAIN, "line %d", i);
        doc_end(&d);
    }
    return d;
}

static void test_scrolling(void **state)
{
    (void)state;
    struct doc d = numbers(100);
    struct scroll s = {0};
    doc_scroll_by(&d, &s, 9, 10);
    assert_int_equal(s.top, 0);
    doc_scroll_by(&d, &s, 1, 10);
    assert_int_equal(s.top, 1);
    doc_scroll_by(&d, &s, 1000, 10);
    assert_int_equal(s.cursor, 99);
    assert_int_equal(s.top, 90);
    doc_scroll_to(&d, &s, -5, 10);
    assert_int_equal(s.cursor, 0);
    doc_scroll_by(&d, &s, 2, 10);
    doc_page_by(&d, &s, 9, 10);           /* a page, not only to the last row of this one */
    assert_int_equal(s.cursor, 11);
    assert_int_equal(s.top, 9);
    doc_page_by(&d, &s, 1000, 10);
    assert_int_equal(s.cursor, 99);
    assert_int_equal(s.top, 90);
    doc_page_by(&d, &s, -9, 10);
    assert_int_equal(s.cursor, 90);
    assert_int_equal(s.top, 81);
    doc_page_by(&d, &s, -1000, 10);
    assert_int_equal(s.cursor, 0);
    assert_int_equal(s.top, 0);
    d.is_pager = true;
    doc_scroll_by(&d, &s, 3, 10);
    assert_int_equal(s.top, 3);
    doc_scroll_to(&d, &s, 50, 10);
    assert_int_equal(s.cursor, 50);
    assert_int_equal(s.top, 47);
    doc_close(&d);
}

static void test_lists_skip_headings(void **state)
{
    (void)state;
    struct doc d = numbers(6);
    struct scroll s = {0};
    d.is_list = true;
    d.lines.data[2].id = 0;
    d.lines.data[4].id = 1;
    doc_scroll_fix(&d, &s, 10);
    assert_int_equal(s.cursor, 2);
    doc_scroll_by(&d, &s, 1, 10);
    assert_int_equal(s.cursor, 4);
    doc_scroll_by(&d, &s, 1, 10);
    assert_int_equal(s.cursor, 4);
    doc_scroll_by(&d, &s, -9, 3);
    assert_int_equal(s.cursor, 2);
    assert_int_equal(s.top, 0);
    d.lines.data[1].id = d.lines.data[2].id = 0;         /* an object of two rows */
    d.lines.data[2].more = true;
    doc_scroll_to(&d, &s, 4, 10);
    doc_scroll_by(&d, &s, -1, 10);        /* past a heading, to the first of the two */
    assert_int_equal(s.cursor, 1);
    doc_scroll_by(&d, &s, 1, 10);
    assert_int_equal(s.cursor, 4);
    doc_scroll_to(&d, &s, 2, 10);
    assert_int_equal(s.cursor, 1);
    doc_close(&d);
}

static void test_code_wraps(void **state)
{
    (void)state;
    struct doc d;
    struct grid g;
    int st = 0;
    doc_open(&d);
    doc_code(&d, "    a = bb + cc\tdd;", NULL, &st, 14);
    doc_code(&d, "", NULL, &st, 14);
    assert_int_equal(d.lines.len, 3);
    assert_string_equal(d.lines.data[1].text, "       cc dd;");
    struct scroll at = { .cursor = 2 };                  /* up and down go to first rows */
    doc_scroll_by(&d, &at, -1, 4);
    assert_int_equal(at.cursor, 0);
    doc_scroll_by(&d, &at, 1, 4);
    assert_int_equal(at.cursor, 2);
    grid_open(&g, 16, 4, true);
    struct scroll s = {0};
    doc_draw(&d, &s, &g, (struct rect){0, 0, 16, 4}, (struct doc_look){.focused = true});
    assert_dump(&g, "▸    a = bb +\n        cc dd;\n\n\n");
    grid_close(&g);
    doc_clear(&d);                        /* neither an empty row nor half a name */
    doc_code(&d, "            Conv_acc[o.1.0][o.1.1][w.1] += 1", NULL, &st, 32);
    assert_string_equal(d.lines.data[0].text, "            Conv_acc[o.1.0][");
    assert_string_equal(d.lines.data[1].text, "                o.1.1][w.1] += 1");
    doc_close(&d);
}

static void test_finding(void **state)
{
    (void)state;
    struct doc d = numbers(30);
    doc_line(&d, STYLE_PLAIN, "Mixed Case");
    assert_int_equal(doc_find(&d, "line 2", 2, 1), 20);
    assert_int_equal(doc_find(&d, "line 2", 29, 1), 2);
    assert_int_equal(doc_find(&d, "line 2", 2, -1), 29);
    assert_int_equal(doc_find(&d, "mixed", 0, 1), 30);
    assert_int_equal(doc_find(&d, "mixed Case", 0, 1), 30);      /* as names of steps */
    assert_int_equal(doc_find(&d, "", 0, 1), -1);
    assert_non_null(doc_at(&d, &(struct scroll){ .cursor = d.lines.len - 1 }));
    assert_null(doc_at(&d, &(struct scroll){ .cursor = d.lines.len }));
    doc_close(&d);
}

/* keys */

static void test_key_names(void **state)
{
    (void)state;
    static const struct { const char *name; int key; } table[] = {
        {"a", 'a'}, {":", ':'}, {"C-r", 18}, {"Enter", K_ENTER}, {"S-Up", K_SHIFT_UP}, {"F1", K_F1},
        {"F12", K_F12}, {"Esc", K_ESC}, {"Space", ' '}, {"é", 0xE9},
    };
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct str s = {0};
        assert_int_equal(key_parse(table[i].name), table[i].key);
        key_text(&s, table[i].key);
        assert_string_equal(str_text(&s), table[i].name);
        str_free(&s);
    }
    assert_int_equal(key_parse("F13"), K_NONE);
    assert_int_equal(key_parse("Entre"), K_NONE);
}

/* Every name in keys.def is a key, and no context says two things about one. */
static void test_bindings_are_sound(void **state)
{
    (void)state;
    for (int i = 0; i < key_binding_count(); i++) {
        const struct key_binding *b = key_binding_get(i);
        char keys[64], *rest = keys;
        snprintf(keys, sizeof keys, "%s", b->keys);
        assert_true(b->help[0] != 0);
        for (char *word = strsep(&rest, " "); word; word = strsep(&rest, " ")) {
            int key = key_parse(word);
            if (key == K_NONE)
                fail_msg("\"%s\" is no key", word);
            for (int k = 0; k < i; k++)
                if (key_binding_get(k)->context == b->context
                    && key_binding_has(key_binding_get(k), key))
                    fail_msg("%s is bound twice in one context", word);
        }
    }
}

/* the prompt */

static void complete_fruit(void *ctx, struct arena *a, const char *line, struct completions *out)
{
    static struct completion fruit[] = {{"apple", "red"}, {"apricot", "orange"}, {"plum", "blue"}};
    const char *blank = strrchr(line, ' '), *word = blank ? blank + 1 : line;
    (void)ctx;
    out->item = ARENA_ARRAY(a, struct completion, 3);
    out->replace_from = (int)(word - line);
    for (int i = 0; i < 3; i++)
        if (str_starts(fruit[i].word, word))
            out->item[out->n++] = fruit[i];
}

/* Types blank-separated key names; other words letter by letter. */
static enum prompt_event type(struct prompt *p, const char *keys)
{
    char copy[256], *rest = copy;
    enum prompt_event ev = PROMPT_NOTHING;
    snprintf(copy, sizeof copy, "%s", keys);
    for (char *word = strsep(&rest, " "); word; word = strsep(&rest, " ")) {
        int key = key_parse(word);
        for (const char *c = word; key == K_NONE && *c;)
            ev = prompt_key(p, (int)utf8_next(&c));
        if (key != K_NONE)
            ev = prompt_key(p, key);
    }
    return ev;
}

static void test_prompt_editing(void **state)
{
    (void)state;
    static const struct { const char *keys, *want; } table[] = {
        {"hello", "hello"},
        {"hello Backspace Backspace", "hel"},
        {"hello C-a X", "Xhello"},
        {"hello Left Left X", "helXlo"},
        {"hello C-a C-k", ""},
        {"hello Left C-k", "hell"},
        {"hello Left C-u", ""},
        {"one Space two C-w", "one "},
        {"one Space two C-w C-w", ""},
        {"set Space \"N Space H Left C-w X", "set \"XH"},
        {"set Space \"N Space H C-w C-w X", "set \"X"},
        {"set Space \"NH C-w C-w X", "set X"},
        {"hello Home Del C-e !", "ello!"},
        {"aéb Left Backspace", "ab"},
        {"aéb C-a Right Right X", "aéXb"},
    };
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct prompt p;
        prompt_init(&p, NULL, NULL);
        prompt_open(&p, ':', "");
        type(&p, table[i].keys);
        assert_string_equal(str_text(&p.line), table[i].want);
        prompt_free(&p);
    }
}

/* Keys with Alt edit words, and unknown ones do nothing: the line stays. */
static void test_prompt_alt(void **state)
{
    (void)state;
    struct prompt p;
    prompt_init(&p, NULL, NULL);
    prompt_open(&p, ':', "one two three");
    assert_int_equal(prompt_key(&p, K_ALT | 'b'), PROMPT_NOTHING);
    assert_int_equal(p.at, 8);
    prompt_key(&p, K_ALT | K_BACKSPACE);
    assert_string_equal(str_text(&p.line), "one three");
    prompt_key(&p, K_ALT | 'f');
    assert_int_equal(p.at, 9);
    prompt_key(&p, K_HOME);
    prompt_key(&p, K_ALT | 'd');
    assert_string_equal(str_text(&p.line), " three");
    assert_int_equal(prompt_key(&p, K_ALT | 'q'), PROMPT_NOTHING);
    assert_true(p.open);
    assert_string_equal(str_text(&p.line), " three");
    prompt_free(&p);
}

/* The name that a save suggests: a letter replaces it, and any other key keeps it. */
static void test_prompt_selection(void **state)
{
    (void)state;
    struct prompt p;
    prompt_init(&p, NULL, NULL);
    static const struct { const char *keys, *pasted, *then, *want; } table[] = {
        { "conv", "", "", "conv" },
        { "Home my-", "", "", "my-c2d.yaml" },
        { "", "/tmp/x", "y", "/tmp/xy" },
        { "Tab", "", "x", "c2d.yamlx" },
        { "C-u", "", "x", "x" },
    };
    for (int i = 0; i < COUNT_OF(table); i++) {
        prompt_open(&p, PROMPT_SAVE, "c2d.yaml");
        p.selected = true;
        type(&p, table[i].keys);
        if (table[i].pasted[0])
            prompt_insert(&p, table[i].pasted);
        type(&p, table[i].then);
        assert_string_equal(str_text(&p.line), table[i].want);
    }
    prompt_open(&p, PROMPT_SAVE, "kept.yaml");           /* a name that the user typed before */
    type(&p, "x");
    assert_string_equal(str_text(&p.line), "kept.yamlx");
    prompt_free(&p);
}

static void test_prompt_history(void **state)
{
    (void)state;
    struct prompt p;
    prompt_init(&p, NULL, NULL);
    prompt_remember(&p, "undo");
    prompt_remember(&p, "loop one");
    prompt_remember(&p, "goto 3");
    prompt_remember(&p, "undo");
    assert_int_equal(p.history.len, 3);
    prompt_open(&p, ':', "");
    type(&p, "Up");
    assert_string_equal(str_text(&p.line), "undo");
    type(&p, "Up Up Up Up");
    assert_string_equal(str_text(&p.line), "loop one");
    type(&p, "Down Down Down");
    assert_string_equal(str_text(&p.line), "");
    type(&p, "go Up");
    assert_string_equal(str_text(&p.line), "goto 3");
    type(&p, "Down");
    assert_string_equal(str_text(&p.line), "go");
    for (int i = 0; i < 200; i++) {       /* a full history */
        char line[16];
        snprintf(line, sizeof line, "goto %d", 100 + i);
        prompt_remember(&p, line);
    }
    int most = p.history.len;
    prompt_remember(&p, "goto 150");      /* an older line moves, and no other is lost */
    assert_int_equal(p.history.len, most);
    assert_string_equal(p.history.data[0], "goto 100");
    assert_string_equal(p.history.data[most - 1], "goto 150");
    assert_string_equal(p.history.data[50], "goto 151");
    prompt_remember(&p, "redo");          /* the oldest goes */
    assert_int_equal(p.history.len, most);
    assert_string_equal(p.history.data[0], "goto 101");
    prompt_free(&p);
}

static void test_prompt_completion(void **state)
{
    (void)state;
    struct prompt p;
    prompt_init(&p, complete_fruit, NULL);
    prompt_open(&p, ':', "");
    type(&p, "eat Space a Tab");
    assert_string_equal(str_text(&p.line), "eat ap");
    assert_int_equal(p.words.n, 2);
    type(&p, "Tab");
    assert_string_equal(str_text(&p.line), "eat apple");
    type(&p, "Tab");
    assert_string_equal(str_text(&p.line), "eat apricot");
    type(&p, "Tab S-Tab");
    assert_string_equal(str_text(&p.line), "eat apricot");
    assert_int_equal(type(&p, "Esc"), PROMPT_NOTHING);
    assert_int_equal(p.words.n, 0);
    type(&p, "Space p Tab");
    assert_string_equal(str_text(&p.line), "eat apricot plum ");
    type(&p, "x Tab");
    assert_string_equal(str_text(&p.line), "eat apricot plum x");
    prompt_free(&p);
}

static void test_prompt_events(void **state)
{
    (void)state;
    struct prompt p;
    prompt_init(&p, NULL, NULL);
    prompt_open(&p, ':', "ab");
    assert_int_equal(type(&p, "c"), PROMPT_EDITED);
    assert_int_equal(type(&p, "Left"), PROMPT_NOTHING);
    assert_int_equal(type(&p, "Enter"), PROMPT_ENTERED);
    assert_int_equal(type(&p, "Esc"), PROMPT_LEFT);
    assert_int_equal(type(&p, "C-c"), PROMPT_LEFT);
    prompt_open(&p, ':', "");
    assert_int_equal(type(&p, "Backspace"), PROMPT_EDITED);
    assert_true(p.open);
    prompt_insert(&p, "two\nlines\t\033");
    assert_string_equal(str_text(&p.line), "two lines  ");
    prompt_free(&p);
}

static void test_prompt_scrolls_sideways(void **state)
{
    (void)state;
    struct prompt p;
    struct grid g;
    prompt_init(&p, NULL, NULL);
    prompt_open(&p, ':', "0123456789");
    grid_open(&g, 6, 1, true);
    prompt_draw(&p, &g, (struct rect){0, 0, 6, 1});
    assert_dump(&g, ":6789\n");
    assert_int_equal(g.cursor_x, 5);
    type(&p, "Home");
    prompt_draw(&p, &g, (struct rect){0, 0, 6, 1});
    assert_dump(&g, ":01234\n");
    assert_int_equal(g.cursor_x, 1);
    grid_close(&g);
    prompt_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_utf8_round_trip),
        cmocka_unit_test(test_fit),
        cmocka_unit_test(test_break),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_bars),
        cmocka_unit_test(test_clipping),
        cmocka_unit_test(test_wide_characters),
        cmocka_unit_test(test_ascii),
        cmocka_unit_test(test_control_characters),
        cmocka_unit_test(test_scrolling),
        cmocka_unit_test(test_lists_skip_headings),
        cmocka_unit_test(test_code_wraps),
        cmocka_unit_test(test_finding),
        cmocka_unit_test(test_key_names),
        cmocka_unit_test(test_bindings_are_sound),
        cmocka_unit_test(test_prompt_editing),
        cmocka_unit_test(test_prompt_alt),
        cmocka_unit_test(test_prompt_selection),
        cmocka_unit_test(test_prompt_history),
        cmocka_unit_test(test_prompt_completion),
        cmocka_unit_test(test_prompt_events),
        cmocka_unit_test(test_prompt_scrolls_sideways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
