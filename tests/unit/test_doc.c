/* Documents and the prompt at their limits: wrapping, scrolling below a heading, what doc_draw cuts
 * and marks, refused words and lists of completions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app/ui/doc.h"
#include "app/ui/key.h"
#include "app/ui/prompt.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* --- Documents -------------------------------------------------------------------------------- */

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

static void assert_lines(const struct doc *d, const char *want)
{
    struct str s = {0};
    for (int i = 0; i < d->lines.len; i++)
        str_printf(&s, "%s|\n", d->lines.data[i].text);
    assert_string_equal(str_text(&s), want);
    str_free(&s);
}

static void test_writing(void **state)
{
    (void)state;
    struct doc d;
    doc_open(&d);
    doc_fit(&d, STYLE_PLAIN, "abc", 3);
    assert_int_equal(doc_col(&d), 3);
    doc_pad(&d, 5);
    doc_pad(&d, 4);
    doc_put(&d, STYLE_GOOD, "µ");
    assert_int_equal(doc_col(&d), 6);
    struct line *l = doc_end(&d);
    assert_false(l->cut || l->more || l->heading);
    assert_int_equal(l->id, -1);
    assert_int_equal(l->style[5], STYLE_GOOD);           /* both bytes of the character */
    assert_int_equal(l->style[6], STYLE_GOOD);
    doc_fit(&d, STYLE_PLAIN, "abcd", 3);
    doc_fit(&d, STYLE_PLAIN, "e", 3);
    assert_true(doc_end(&d)->cut);
    struct str five = {0}, none = {0};
    str_add(&five, "5");
    str_add(&none, "6");
    doc_right(&d, STYLE_PLAIN, &five, 3);
    doc_right(&d, STYLE_PLAIN, &none, 0);
    assert_false(doc_end(&d)->cut);
    assert_lines(&d, "abc  µ|\nab…e  |\n  5|\n");
    assert_int_equal(doc_find_id(&d, 0), -1);
    d.lines.data[1].id = d.lines.data[2].id = 4;
    assert_int_equal(doc_find_id(&d, 4), 1);
    d.head = 1;
    doc_put(&d, STYLE_PLAIN, "open");
    doc_clear(&d);
    assert_true(d.lines.len == 0 && d.head == 0 && doc_col(&d) == 0);
    doc_close(&d);
}

static void test_wrapping(void **state)
{
    (void)state;
    struct doc d;
    doc_open(&d);
    doc_wrap(&d, STYLE_PLAIN, "one two three", 7, 2);
    doc_put(&d, STYLE_KEY, "ab: ");
    doc_wrap(&d, STYLE_PLAIN, "one two three", 9, 4);
    doc_wrap(&d, STYLE_PLAIN, "", 9, 4);                 /* no line, unless one is open */
    doc_put(&d, STYLE_PLAIN, "x");
    doc_wrap(&d, STYLE_PLAIN, "", 9, 4);
    assert_lines(&d, "one two|\n  three|\nab: one |\n    two |\n    three|\nx|\n");
    doc_close(&d);
}

/* Paints digits, and counts the lines. */
static void paint_digits(const char *text, unsigned char *style, int *state)
{
    for (int i = 0; text[i]; i++)
        style[i] = text[i] >= '0' && text[i] <= '9' ? STYLE_GOOD : STYLE_WORD;
    *state += 1;
}

/* Rows that continue a line are four columns deeper, if at least twelve remain; else they are as
 * deep as the line. */
static void test_code(void **state)
{
    (void)state;
    struct doc d;
    int lines = 0;
    doc_open(&d);
    assert_int_equal(doc_code(&d, "\tx\r\nno", NULL, &lines, 0), 0);
    assert_int_equal(doc_code(&d, "ab\tx", NULL, &lines, 0), 1);
    assert_int_equal(doc_code(&d, "    aaaaaaaa bbbbbbbb", NULL, &lines, 20), 2);
    assert_int_equal(doc_code(&d, "    aaaaaaaa bbbbbbbb", NULL, &lines, 19), 4);
    assert_lines(&d, "        x|\nab      x|\n    aaaaaaaa |\n        bbbbbbbb|\n"
                 "    aaaaaaaa |\n    bbbbbbbb|\n");
    assert_false(d.lines.data[2].more);
    assert_true(d.lines.data[3].more);
    doc_clear(&d);
    doc_source(&d, "a 1\n\n22", paint_digits, 0);
    assert_lines(&d, "a 1|\n|\n22|\n");
    assert_int_equal(d.lines.data[0].style[0], STYLE_WORD);
    assert_int_equal(d.lines.data[0].style[2], STYLE_GOOD);
    assert_int_equal(d.lines.data[2].style[1], STYLE_GOOD);
    doc_clear(&d);
    doc_source(&d, "a\n", NULL, 0);
    assert_lines(&d, "a|\n");
    doc_code(&d, "    aaaaaaaa 2bbbbbbb", paint_digits, &lines, 20);
    assert_int_equal(lines, 1);
    assert_int_equal(d.lines.data[2].style[7], STYLE_PLAIN);       /* the indentation */
    assert_int_equal(d.lines.data[2].style[8], STYLE_GOOD);
    doc_close(&d);
}

/* Where a move to `line` in a pane of h rows, scrolled by `from`, scrolls to. */
static int top_of(const struct doc *d, int from, int at, int line, int h)
{
    struct scroll s = { .cursor = at, .top = from };
    doc_scroll_to(d, &s, line, h);
    return s.top;
}

static void test_scrolling_below_a_head(void **state)
{
    (void)state;
    struct doc d = numbers(20);
    struct scroll s = { .top = 5 };
    d.head = 2;
    assert_int_equal(doc_row(&d, &s, 1, 4), 1);
    assert_int_equal(doc_row(&d, &s, 2, 4), 7);
    assert_int_equal(doc_row(&d, &s, 1, 3), 6);          /* too low for a head */
    assert_int_equal(top_of(&d, 5, 8, 7, 6), 5);
    assert_int_equal(top_of(&d, 5, 8, 6, 6), 4);
    assert_int_equal(top_of(&d, 5, 8, 10, 6), 5);
    assert_int_equal(top_of(&d, 5, 8, 11, 6), 6);
    assert_int_equal(top_of(&d, 5, 8, 19, 6), 14);
    assert_int_equal(top_of(&d, 5, 8, 99, 6), 14);
    assert_int_equal(top_of(&d, 5, 8, 0, 6), 0);
    d.head = 0;
    d.lines.data[4].more = d.lines.data[5].more = true;
    assert_int_equal(top_of(&d, 0, 0, 3, 4), 2);         /* all three rows of the line */
    assert_int_equal(top_of(&d, 0, 0, 3, 2), 3);         /* as many as there is room for */
    d.is_pager = true;
    assert_int_equal(top_of(&d, 10, 12, 19, 10), 10);
    assert_int_equal(top_of(&d, 5, 12, 15, 10), 10);     /* line 15 - 10/3 = 12; the last is 10 */
    assert_int_equal(top_of(&d, 8, 12, 8, 10), 8);
    assert_int_equal(top_of(&d, 8, 12, 7, 10), 4);
    doc_close(&d);
}

/* On its first and last entries, a list shows what is above and below them, if it fits. */
static void test_ends_of_lists(void **state)
{
    (void)state;
    struct doc d = numbers(12);
    d.is_list = true;
    d.lines.data[3].id = d.lines.data[8].id = 0;
    assert_int_equal(top_of(&d, 0, 3, 8, 5), 7);
    assert_int_equal(top_of(&d, 0, 3, 8, 4), 8);
    assert_int_equal(top_of(&d, 0, 3, 8, 3), 6);
    assert_int_equal(top_of(&d, 6, 8, 3, 4), 0);
    assert_int_equal(top_of(&d, 6, 8, 3, 3), 3);
    d.head = 1;
    assert_int_equal(top_of(&d, 0, 3, 8, 4), 5);         /* four lines and a head need five rows */
    assert_int_equal(top_of(&d, 0, 3, 8, 5), 7);
    doc_close(&d);
}

static void test_items(void **state)
{
    (void)state;
    static const struct doc_item word[3];
    static const struct { int delta, cursor, item, top; } move[] = {
        { 1, 2, 0, 0 }, { 1, 2, 1, 0 }, { 1, 5, 0, 5 }, { 1, 8, 0, 5 }, { 1, 8, 1, 5 },
        { 1, 8, 2, 5 }, { 1, 8, 2, 5 }, { -1, 8, 1, 5 }, { -1, 8, 0, 5 }, { -1, 5, 0, 5 },
        { -1, 2, 1, 2 }, { -1, 2, 0, 2 }, { -1, 2, 0, 2 },
    };
    struct doc d = numbers(10);
    struct scroll s = {0};
    static const int n_items[10] = { [2] = 2, [5] = 1, [8] = 3 };
    for (int i = 0; i < 10; i++) {
        d.lines.data[i].n_items = n_items[i];
        d.lines.data[i].item = word;
    }
    d.lines.data[5].heading = true;                      /* this comes to the top */
    for (int i = 0; i < COUNT_OF(move); i++) {
        doc_scroll_item(&d, &s, move[i].delta, 4);
        if (s.cursor != move[i].cursor || s.item != move[i].item || s.top != move[i].top)
            fail_msg("move %d: line %d, item %d, top %d", i, s.cursor, s.item, s.top);
    }
    s = (struct scroll){ .cursor = 2, .item = 9 };
    doc_scroll_fix(&d, &s, 4);
    assert_int_equal(s.item, 1);
    s.item = 1;
    doc_scroll_to(&d, &s, 8, 4);                         /* another line begins at its first */
    assert_int_equal(s.item, 0);
    doc_close(&d);
}

/* --- Drawing ---------------------------------------------------------------------------------- */

static void draw(struct grid *g, const struct doc *d, const struct scroll *s, int w, int h,
                 struct doc_look look)
{
    grid_open(g, w, h, true);
    doc_draw(d, s, g, (struct rect){0, 0, w, h}, look);
}

static void assert_drawn(const struct doc *d, const struct scroll *s, int w, int h,
                         const char *want)
{
    struct grid g;
    struct str text = {0};
    draw(&g, d, s, w, h, (struct doc_look){0});
    grid_dump(&g, &text);
    assert_string_equal(str_text(&text), want);
    str_free(&text);
    grid_close(&g);
}

static void test_cut_rows(void **state)
{
    (void)state;
    struct doc d;
    struct scroll s = { .cursor = 1 };
    doc_open(&d);
    doc_line(&d, STYLE_PLAIN, "abcdefghij")->stays = 3;
    doc_line(&d, STYLE_PLAIN, "k");
    assert_drawn(&d, &s, 11, 1, " abcdefghij\n");
    assert_drawn(&d, &s, 10, 1, " abcdefgh…\n");
    s.left = 2;
    assert_drawn(&d, &s, 12, 1, " abc…ghij\n");          /* d e are away, f is the ellipsis */
    assert_drawn(&d, &s, 8, 1, " abc…gh…\n");
    assert_drawn(&d, &s, 6, 1, " …def…\n");              /* half of the pane would stay */
    doc_close(&d);
}

/* A heading is not the last row of a pane, unless it is the last line or has the cursor. */
static void test_orphans(void **state)
{
    (void)state;
    struct doc d = numbers(4);
    struct scroll s = {0};
    d.lines.data[2].heading = true;
    assert_drawn(&d, &s, 8, 3, "▸line 0\n line 1\n\n");
    assert_drawn(&d, &s, 8, 4, "▸line 0\n line 1\n line 2\n line 3\n");
    s.cursor = 2;
    assert_drawn(&d, &s, 8, 3, " line 0\n line 1\n▸line 2\n");
    s = (struct scroll){ .cursor = 3, .top = 2 };
    assert_drawn(&d, &s, 8, 1, " line 2\n");
    d.lines.len = 3;
    s = (struct scroll){0};
    assert_drawn(&d, &s, 8, 3, "▸line 0\n line 1\n line 2\n");
    doc_close(&d);
}

static bool is_two(const void *ctx, int id)
{
    (void)ctx;
    return id == 2;
}

/* One letter for each cell of a row: its style, or R when it is the cursor's. */
static const char *styles_of(const struct grid *g, int y)
{
    static char text[40];
    for (int x = 0; x < g->w; x++) {
        unsigned s = grid_at(g, x, y)->style;
        text[x] = s & STYLE_REVERSE ? 'R' : s == STYLE_PLAIN ? '.' : s == STYLE_MATCH ? 'm'
                : s == STYLE_KEY ? 'k' : s == STYLE_TITLE ? 'T' : s == STYLE_RULE ? 'r' : '?';
    }
    text[g->w] = 0;
    return text;
}

/* A column selects the innermost word there, else the first word that the columns reach. */
static void test_selects_at_columns(void **state)
{
    (void)state;
    static const struct doc_item item[] = { { .name = "a", .col = 4, .len = 7 },
                                            { .name = "b", .col = 6, .len = 4 },
                                            { .name = "c", .col = 14, .len = 1 } };
    static const struct { int col, n, item; } rows[] = {
        { 4, 1, 0 }, { 5, 4, 0 }, { 6, 1, 1 }, { 9, 2, 1 }, { 10, 1, 0 }, { 0, 5, 0 },
        { 2, 9, 0 }, { 12, 3, 2 }, { 14, 1, 2 }, { 0, 4, -1 }, { 11, 3, -1 }, { 15, 3, -1 },
    };
    struct doc d;
    doc_open(&d);
    struct line *l = doc_line(&d, STYLE_PLAIN, "for a[b[i]] = c");
    l->n_items = COUNT_OF(item);
    l->item = item;
    for (int i = 0; i < COUNT_OF(rows); i++) {
        struct scroll s = { .item = -1 };
        if (doc_select_at(&d, &s, rows[i].col, rows[i].n) != (rows[i].item >= 0)
            || s.item != rows[i].item)
            fail_msg("columns %d to %d select %d", rows[i].col, rows[i].col + rows[i].n, s.item);
    }
    doc_close(&d);
}

static void test_marks(void **state)
{
    (void)state;
    struct doc d;
    struct grid g;
    struct scroll s = { .item = 1 };
    static const struct doc_item item[] = { { .name = "m", .col = 4, .len = 1 },
                                            { .name = "n", .col = 7, .len = 1 } };
    doc_open(&d);
    struct line *l = doc_line(&d, STYLE_PLAIN, "for m, n");
    l->n_items = 2;
    l->item = item;
    l->stage = "C";
    doc_line(&d, STYLE_PLAIN, "  m = n")->id = 2;
    doc_line(&d, STYLE_PLAIN, "mm m0 NN")->stage = "D";
    draw(&g, &d, &s, 10, 3, (struct doc_look){ .focused = true, .search = "N", .lit = is_two });
    assert_string_equal(styles_of(&g, 0), "T.......R.");
    assert_string_equal(styles_of(&g, 1), "k......m..");
    assert_string_equal(styles_of(&g, 2), ".......mm.");
    assert_int_equal(grid_at(&g, 0, 1)->ch, 0x2503);
    assert_int_equal(grid_at(&g, 8, 0)->style, STYLE_MATCH | STYLE_REVERSE);
    grid_close(&g);
    draw(&g, &d, &s, 10, 3, (struct doc_look){ .word = "m", .stage = "C", .local = "m" });
    assert_string_equal(styles_of(&g, 0), "r....k....");
    assert_string_equal(styles_of(&g, 1), "...k......");
    assert_string_equal(styles_of(&g, 2), "....kk....");
    grid_close(&g);
    s.cursor = 1;
    draw(&g, &d, &s, 10, 3, (struct doc_look){ .word = "m", .stage = "C", .marked = is_two });
    assert_string_equal(styles_of(&g, 0), ".....k....");
    assert_string_equal(styles_of(&g, 1), "r..kkkkk..");
    assert_string_equal(styles_of(&g, 2), "..........");
    grid_close(&g);
    draw(&g, &d, &s, 10, 3, (struct doc_look){ .focused = true });
    assert_string_equal(styles_of(&g, 1), "TRRRRRRRRR");
    grid_close(&g);
    d.is_pager = true;                    /* which shows its cursor during a search only */
    draw(&g, &d, &s, 10, 3, (struct doc_look){ .focused = true });
    assert_string_equal(styles_of(&g, 1), "..........");
    grid_close(&g);
    draw(&g, &d, &s, 10, 3, (struct doc_look){ .focused = true, .search = "m" });
    assert_string_equal(styles_of(&g, 1), "T..m......");
    grid_close(&g);
    doc_close(&d);
}

/* --- The prompt ------------------------------------------------------------------------------- */

static void keys(struct prompt *p, const char *names)
{
    char copy[256], *rest = copy;
    snprintf(copy, sizeof copy, "%s", names);
    for (char *word = strsep(&rest, " "); word; word = strsep(&rest, " ")) {
        int key = key_parse(word);
        for (const char *c = word; key == K_NONE && *c; c++)
            prompt_key(p, *c);
        if (key != K_NONE)
            prompt_key(p, key);
    }
}

/* The cursor goes behind the word at fault; a quoted one ends with its quote. */
static void test_refused_words(void **state)
{
    (void)state;
    static const struct { const char *line; int col; size_t wrong, at; } row[] = {
        { "loop split C X 8", 14, 13, 14 }, { "loop split C X", 14, 13, 14 },
        { "set C \"M N\" x", 7, 6, 11 }, { "set C \"M N", 7, 6, 10 }, { "set C\"M", 5, 4, 5 },
        { "undo", 0, 4, 4 }, { "undo", 4, 3, 4 }, { "undo", 5, 4, 4 }, { "undo", 1, 0, 4 },
    };
    struct prompt p;
    struct grid g;
    prompt_init(&p, NULL, NULL);
    for (int i = 0; i < COUNT_OF(row); i++) {
        prompt_open(&p, ':', row[i].line);
        assert_false(p.refused);
        prompt_refuse(&p, row[i].col);
        assert_true(p.refused);
        assert_int_equal(p.at, row[i].at);
        assert_int_equal(p.wrong, row[i].wrong);
    }
    prompt_open(&p, ':', "drop 9 x");
    prompt_refuse(&p, 6);
    grid_open(&g, 20, 1, true);
    prompt_draw(&p, &g, (struct rect){0, 0, 20, 1});
    for (int x = 1; x < 10; x++)
        assert_int_equal(grid_at(&g, x, 0)->style, x == 6 ? STYLE_BAD : STYLE_PLAIN);
    assert_int_equal(g.cursor_x, 7);
    assert_int_equal(prompt_key(&p, K_LEFT), PROMPT_NOTHING);
    grid_clear(&g);                       /* any key ends the mark */
    prompt_draw(&p, &g, (struct rect){0, 0, 20, 1});
    assert_int_equal(grid_at(&g, 6, 0)->style, STYLE_PLAIN);
    prompt_refuse(&p, 1);
    assert_int_equal(prompt_key(&p, ':'), PROMPT_EDITED);          /* begins an empty line */
    assert_string_equal(str_text(&p.line), "");
    prompt_key(&p, ':');
    assert_string_equal(str_text(&p.line), ":");
    grid_close(&g);
    prompt_free(&p);
}

static void test_saving_and_quotes(void **state)
{
    (void)state;
    struct prompt p;
    struct grid g;
    prompt_init(&p, NULL, NULL);
    prompt_remember(&p, "undo");
    prompt_remember(&p, "");
    prompt_open(&p, PROMPT_SAVE, "a.yaml");
    assert_int_equal(prompt_key(&p, K_UP), PROMPT_NOTHING);
    assert_int_equal(prompt_key(&p, K_CTRL('n')), PROMPT_NOTHING);
    assert_string_equal(str_text(&p.line), "a.yaml");
    grid_open(&g, 20, 2, true);
    p.selected = true;
    prompt_draw(&p, &g, (struct rect){2, 1, 18, 1});
    struct str text = {0};
    grid_dump(&g, &text);
    assert_string_equal(str_text(&text), "\n  save as: a.yaml\n");
    assert_true(g.cursor_x == 17 && g.cursor_y == 1);
    assert_int_equal(grid_at(&g, 2, 1)->style, STYLE_KEY);
    assert_int_equal(grid_at(&g, 11, 1)->style, STYLE_REVERSE);
    str_free(&text);
    grid_close(&g);
    prompt_open(&p, ':', "set C \"\"");
    prompt_key(&p, K_LEFT);
    prompt_key(&p, '"');                  /* an empty word is begun, not ended */
    assert_int_equal(p.at, 7);
    keys(&p, "M \"");
    assert_string_equal(str_text(&p.line), "set C \"M\"");
    assert_int_equal(p.at, 9);            /* behind the quote that was there */
    prompt_key(&p, '"');                  /* outside of a word: a quote more */
    assert_string_equal(str_text(&p.line), "set C \"M\"\"");
    prompt_free(&p);
}

static void test_searches_in_history(void **state)
{
    (void)state;
    struct prompt p;
    prompt_init(&p, NULL, NULL);
    assert_string_equal(prompt_last_search(&p), "");
    prompt_remember(&p, "/load");
    prompt_remember(&p, "undo");
    prompt_remember(&p, "/store");
    prompt_remember(&p, "redo");
    assert_string_equal(prompt_last_search(&p), "store");
    assert_string_equal(str_text(&p.fresh), "/load\nundo\n/store\nredo\n");
    prompt_open(&p, '/', "");
    prompt_key(&p, K_UP);
    assert_string_equal(str_text(&p.line), "store");
    prompt_key(&p, K_CTRL('p'));
    assert_string_equal(str_text(&p.line), "load");
    prompt_key(&p, K_UP);                 /* there is no older one */
    assert_string_equal(str_text(&p.line), "load");
    prompt_key(&p, K_CTRL('n'));
    assert_string_equal(str_text(&p.line), "store");
    prompt_open(&p, ':', "");
    keys(&p, "Up Up");
    assert_string_equal(str_text(&p.line), "undo");
    prompt_free(&p);
}

static void complete_words(void *ctx, struct arena *a, const char *line, struct completions *out)
{
    static struct completion words[] = { { "apple", "red" }, { "apricot", "orange" },
                                         { "plum", NULL }, { "kernel=", "" }, { "dir/", "" } };
    const char *blank = strrchr(line, ' '), *word = blank ? blank + 1 : line;
    (void)ctx;
    out->item = ARENA_ARRAY(a, struct completion, 5);
    out->replace_from = (int)(word - line);
    for (int i = 0; i < (*word ? 5 : 3); i++)
        if (str_starts(words[i].word, word))
            out->item[out->n++] = words[i];
}

/* A completed word is followed by a blank, unless a value or a file name goes on, or a blank is
 * there already. */
static void test_blanks_after_words(void **state)
{
    (void)state;
    static const struct { const char *line; int left; const char *is; size_t at; } row[] = {
        { "a pl", 0, "a plum ", 7 }, { "a ke", 0, "a kernel=", 9 }, { "a di", 0, "a dir/", 6 },
        { "pl x", 2, "plum x", 4 }, { "plx", 1, "plum x", 5 }, { "ap x", 2, "ap x", 2 },
        { "a x", 2, "ap x", 2 }, { "zz", 0, "zz", 2 },
    };
    struct prompt p;
    prompt_init(&p, complete_words, NULL);
    for (int i = 0; i < COUNT_OF(row); i++) {
        prompt_open(&p, ':', row[i].line);
        for (int k = 0; k < row[i].left; k++)
            prompt_key(&p, K_LEFT);
        assert_int_equal(prompt_key(&p, K_TAB), PROMPT_EDITED);
        assert_string_equal(str_text(&p.line), row[i].is);
        assert_int_equal(p.at, row[i].at);
    }
    prompt_open(&p, ':', "a");
    keys(&p, "Tab S-Tab");                /* backwards from the end */
    assert_string_equal(str_text(&p.line), "apricot");
    keys(&p, "S-Tab S-Tab");
    assert_string_equal(str_text(&p.line), "apricot");
    prompt_free(&p);
}

static void assert_list(const struct prompt *p, int w, const char *want)
{
    struct grid g;
    struct str text = {0};
    grid_open(&g, w, 2, true);
    prompt_draw_list(p, &g, (struct rect){0, 0, w, 2});
    grid_dump(&g, &text);
    assert_string_equal(str_text(&text), want);
    for (int y = 0; y < 2; y++)
        assert_true(!(grid_at(&g, 0, y)->style & STYLE_REVERSE) == (p->picked < 0 || y == 0));
    str_free(&text);
    grid_close(&g);
}

static void test_list_of_completions(void **state)
{
    (void)state;
    struct prompt p;
    prompt_init(&p, complete_words, NULL);
    prompt_open(&p, ':', "");
    assert_int_equal(prompt_list_rows(&p, 2), 0);
    keys(&p, "Tab");
    assert_int_equal(prompt_list_rows(&p, 2), 2);
    assert_int_equal(prompt_list_rows(&p, 4), 3);
    assert_list(&p, 20, " apple    red\n apricot  orange  …\n");
    assert_list(&p, 10, " apple  …\n apri…  …\n");
    keys(&p, "Tab Tab");                  /* the second one, at the bottom */
    assert_list(&p, 20, " apple    red\n apricot  orange  …\n");
    keys(&p, "Tab");                      /* the last one is there now, and nothing below it */
    assert_list(&p, 20, " apricot  orange\n plum\n");
    prompt_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writing),
        cmocka_unit_test(test_wrapping),
        cmocka_unit_test(test_code),
        cmocka_unit_test(test_scrolling_below_a_head),
        cmocka_unit_test(test_ends_of_lists),
        cmocka_unit_test(test_items),
        cmocka_unit_test(test_cut_rows),
        cmocka_unit_test(test_orphans),
        cmocka_unit_test(test_selects_at_columns),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_refused_words),
        cmocka_unit_test(test_saving_and_quotes),
        cmocka_unit_test(test_searches_in_history),
        cmocka_unit_test(test_blanks_after_words),
        cmocka_unit_test(test_list_of_completions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
