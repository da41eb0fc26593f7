#include "app/ui/grid_svg.h"

#include <stdio.h>
#include "app/ui/text.h"
#include "kernels/base/vec.h"

#define CELL_W 8.4                       /* width and height of a cell, in pixels */
#define CELL_H 18
#define BASELINE 13.5                    /* pixels from the top of a cell to the baseline */
#define MARGIN 8

/* The look of each style, in the middle tones that term.c uses with 256 colours. colour NULL: the
 * colour of plain text. (ORDER STYLE) */
static const struct { const char *colour; bool bold, reverse; } looks[STYLE_COUNT] = {
    [STYLE_PLAIN] = {NULL, false, false},
    [STYLE_DIM] = {"#808080", false, false},
    [STYLE_STRONG] = {NULL, true, false},
    [STYLE_RULE] = {"#808080", false, false},
    [STYLE_TITLE] = {"#0087af", true, false},
    [STYLE_TAB] = {"#0087af", true, true},
    [STYLE_KEY] = {"#0087af", true, false},
    [STYLE_GOOD] = {"#008700", false, false},
    [STYLE_BAD] = {"#d70000", false, false},
    [STYLE_WORD] = {"#0087af", false, false},
    [STYLE_NOTE] = {"#af5faf", false, false},
    [STYLE_MATCH] = {"#af8700", false, true},
    [STYLE_SERIES] = {"#0087d7", false, false},
    [STYLE_SERIES + 1] = {"#d78700", false, false},
    [STYLE_SERIES + 2] = {"#00af87", false, false},
    [STYLE_SERIES + 3] = {"#d787af", false, false},
    [STYLE_SERIES + 4] = {"#d75f00", false, false},
};

/* Returns the strokes of a line-drawing character, as bits: left 1, right 2, up 4, down 8; 0: ch is
 * no such character. The strokes are drawn as SVG paths, because fonts leave gaps between rows. */
static unsigned strokes_of(uint32_t ch)
{
    static const struct { uint32_t ch; unsigned strokes; } box[] = {
        {0x2500, 3}, {0x2502, 12}, {0x250C, 10}, {0x2510, 9}, {0x2514, 6}, {0x2518, 5},
        {0x251C, 14}, {0x2524, 13}, {0x252C, 11}, {0x2534, 7}, {0x253C, 15},
    };
    for (int i = 0; i < COUNT_OF(box); i++)
        if (box[i].ch == ch)
            return box[i].strokes;
    return 0;
}

static void put_strokes(struct str *out, int x, int y, unsigned strokes)
{
    double left = MARGIN + x * CELL_W, middle = left + CELL_W / 2;
    double top = MARGIN + y * CELL_H, centre = top + CELL_H / 2.0;
    if (strokes & 3)
        str_printf(out, "M%.1f %.1fH%.1f", strokes & 1 ? left : middle, centre,
                   strokes & 2 ? left + CELL_W : middle);
    if (strokes & 12)
        str_printf(out, "M%.1f %.1fV%.1f", middle, strokes & 4 ? top : centre,
                   strokes & 8 ? top + CELL_H : centre);
}

static void put_text(struct str *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        if (*p == '&')
            str_add(out, "&amp;");
        else if (*p == '<')
            str_add(out, "&lt;");
        else
            str_add_char(out, *p);
    }
}

/* Whether a style paints its colour as the background. */
static bool reversed(unsigned style)
{
    return looks[style & ~(unsigned)STYLE_REVERSE].reverse != ((style & STYLE_REVERSE) != 0);
}

static void put_fill(struct str *out, const char *colour)
{
    if (colour)
        str_printf(out, " fill=\"%s\"", colour);
    else
        str_add(out, " class=\"t\"");
}

/* Reads the cells from x to `end` - 1 of row y. Appends line-drawing characters as strokes to
 * `lines`, and the other characters to `out`, which gets no trailing blanks. Returns the column
 * after the text in `out`; x if `out` is empty. */
static int run_text(const struct grid *g, int x, int end, int y, struct str *out, struct str *lines)
{
    int last = x;
    for (int i = x; i < end; i++) {
        const struct grid_cell *c = grid_at(g, i, y);
        char utf8[5];
        unsigned strokes = strokes_of(c->ch);
        if (c->width == 0)
            continue;
        if (strokes)
            put_strokes(lines, i, y, strokes);
        str_add_n(out, utf8, (size_t)text_utf8_put(utf8, strokes ? ' ' : c->ch));
        last = strokes || c->ch == ' ' ? last : i + c->width;
    }
    while (out->len > 0 && out->data[out->len - 1] == ' ')
        out->data[--out->len] = 0;
    return last;
}

static void put_run(struct str *out, const struct grid *g, int x, int end, int y)
{
    unsigned style = grid_at(g, x, y)->style;
    while (!reversed(style) && x < end - 1 && grid_at(g, x, y)->ch == ' ')
        x++;
    const char *colour = looks[style & ~(unsigned)STYLE_REVERSE].colour;
    struct str text = {0}, lines = {0};
    int last = run_text(g, x, end, y, &text, &lines);
    double px = MARGIN + x * CELL_W, py = MARGIN + y * CELL_H;
    if (reversed(style)) {
        str_printf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"", px, py,
                   (end - x) * CELL_W, CELL_H);
        put_fill(out, colour);
        str_add(out, "/>\n");
    }
    if (lines.len > 0)
        str_printf(out, "<path d=\"%s\" stroke=\"%s\"/>\n", str_text(&lines),
                   colour ? colour : "#808080");
    if (text.len > 0) {
        str_printf(out, "<text x=\"%.1f\" y=\"%.1f\" textLength=\"%.1f\"", px, py + BASELINE,
                   (last - x) * CELL_W);
        if (reversed(style))
            str_add(out, " class=\"b\"");
        else
            put_fill(out, colour);
        if (looks[style & ~(unsigned)STYLE_REVERSE].bold)
            str_add(out, " font-weight=\"bold\"");
        str_add(out, ">");
        put_text(out, str_text(&text));
        str_add(out, "</text>\n");
    }
    str_free(&text);
    str_free(&lines);
}

void grid_svg(const struct grid *g, struct str *out)
{
    double w = 2 * MARGIN + g->w * CELL_W, h = 2 * MARGIN + g->h * CELL_H;
    str_printf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
               "viewBox=\"0 0 %.0f %.0f\" font-size=\"14\" xml:space=\"preserve\" "
               "font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\">\n", w, h, w, h);
    str_add(out, "<style>.t { fill: #24292f } .b { fill: #ffffff }\n"
            "@media (prefers-color-scheme: dark) "
            "{ .t { fill: #d0d7de } .b { fill: #0d1117 } }</style>\n");
    str_add(out, "<rect class=\"b\" width=\"100%\" height=\"100%\" rx=\"6\"/>\n");
    for (int y = 0; y < g->h; y++)
        for (int x = 0, end; x < g->w; x = end) {
            unsigned style = grid_at(g, x, y)->style;
            for (end = x + 1; end < g->w && grid_at(g, end, y)->style == style;)
                end++;
            put_run(out, g, x, end, y);
        }
    str_add(out, "</svg>\n");
}
