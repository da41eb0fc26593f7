#include "app/ui/grid.h"

#include <stdlib.h>
#include <string.h>
#include "app/ui/text.h"
#include "kernels/base/arena.h"

void grid_open(struct grid *g, int w, int h, bool unicode)
{
    memset(g, 0, sizeof *g);
    g->unicode = unicode;
    grid_resize(g, w, h);
}

void grid_close(struct grid *g)
{
    free(g->cell);
}

void grid_resize(struct grid *g, int w, int h)
{
    g->w = w > 0 ? w : 0;
    g->h = h > 0 ? h : 0;
    free(g->cell);
    g->cell = xcalloc((size_t)g->w * (size_t)g->h + 1, sizeof *g->cell);
    grid_clear(g);
}

void grid_clear(struct grid *g)
{
    g->clip = (struct rect){0, 0, g->w, g->h};
    g->cursor_x = g->cursor_y = -1;
    for (int i = 0; i < g->w * g->h; i++)
        g->cell[i] = (struct grid_cell){' ', STYLE_PLAIN, 1};
}

static int max_int(int a, int b)
{
    return a > b ? a : b;
}

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

struct rect grid_clip(struct grid *g, struct rect r)
{
    struct rect old = g->clip;
    int x1 = min_int(r.x + r.w, old.x + old.w), y1 = min_int(r.y + r.h, old.y + old.h);
    g->clip.x = max_int(r.x, old.x);
    g->clip.y = max_int(r.y, old.y);
    g->clip.w = max_int(x1 - g->clip.x, 0);
    g->clip.h = max_int(y1 - g->clip.y, 0);
    return old;
}

void grid_unclip(struct grid *g, struct rect old)
{
    g->clip = old;
}

bool grid_rect_has(struct rect r, int x, int y)
{
    return x >= r.x && x < r.x + r.w && y >= r.y && y < r.y + r.h;
}

const struct grid_cell *grid_at(const struct grid *g, int x, int y)
{
    bool inside = x >= 0 && y >= 0 && x < g->w && y < g->h;
    return inside ? &g->cell[y * g->w + x] : NULL;
}

/* If the cell at (x, y) is one half of a wide character, blanks the other half. Call this before
 * the cell is overwritten. */
static void break_wide(struct grid *g, int x, int y)
{
    struct grid_cell *c = &g->cell[y * g->w + x];
    if (c->width == 0 && x > 0)
        c[-1] = (struct grid_cell){' ', c[-1].style, 1};
    if (c->width == 2 && x + 1 < g->w)
        c[1] = (struct grid_cell){' ', c[1].style, 1};
}

void grid_char(struct grid *g, int x, int y, unsigned style, uint32_t ch)
{
    if (ch < 0x20 || (ch >= 0x7F && ch < 0xA0))
        ch = '?';
    if (!g->unicode && ch >= 0x80)
        ch = (unsigned char)grid_ascii(ch);
    int width = text_char_width(ch);
    if (width == 0 || !grid_rect_has(g->clip, x, y))
        return;
    if (width == 2 && !grid_rect_has(g->clip, x + 1, y)) {
        ch = ' ';
        width = 1;
    }
    break_wide(g, x, y);
    struct grid_cell *c = &g->cell[y * g->w + x];
    if (width == 2) {
        break_wide(g, x + 1, y);
        c[1] = (struct grid_cell){' ', (unsigned char)style, 0};
    }
    *c = (struct grid_cell){ch, (unsigned char)style, (unsigned char)width};
}

/* Returns the number of columns of ch in this grid. Without Unicode a wide character has only one,
 * because its ASCII replacement is narrow. */
static int drawn_width(const struct grid *g, uint32_t ch)
{
    int w = text_char_width(ch);
    return w == 2 && !g->unicode ? 1 : w;
}

int grid_text(struct grid *g, int x, int y, unsigned style, const char *text)
{
    for (const char *p = text; *p;) {
        uint32_t ch = utf8_next(&p);
        grid_char(g, x, y, style, ch);
        x += drawn_width(g, ch);
    }
    return x;
}

int grid_fit(struct grid *g, int x, int y, int w, unsigned style, const char *text)
{
    struct str s = {0};
    if (w <= 0)
        return x;
    text_fit(&s, text, w);
    while (s.len > 0 && s.data[s.len - 1] == ' ')
        s.data[--s.len] = 0;
    x = grid_text(g, x, y, style, str_text(&s));
    str_free(&s);
    return x;
}

void grid_fill(struct grid *g, struct rect r, unsigned style, uint32_t ch)
{
    for (int y = r.y; y < r.y + r.h; y++)
        for (int x = r.x; x < r.x + r.w; x++)
            grid_char(g, x, y, style, ch);
}

void grid_restyle(struct grid *g, struct rect r, unsigned set, unsigned clear)
{
    for (int y = r.y; y < r.y + r.h; y++)
        for (int x = r.x; x < r.x + r.w; x++) {
            if (!grid_rect_has(g->clip, x, y))
                continue;
            struct grid_cell *c = &g->cell[y * g->w + x];
            c->style = (unsigned char)((c->style & ~clear) | set);
        }
}

/* Returns the ASCII form of a braille cell, whose rows are the dots 1 4, 2 5, 3 6 and 7 8. */
static char dots_ascii(uint32_t dots)
{
    bool high = dots & 0x1B, low = dots & 0xE4, edge = dots & 0xC9;
    return !dots ? ' ' : high && low ? (edge ? ':' : '-') : high ? '\'' : '.';
}

char grid_ascii(uint32_t ch)
{
    static const struct { uint32_t ch; char ascii; } table[] = {
        {0x2502, '|'}, {0x2500, '-'}, {0x253C, '+'}, {0x252C, '+'}, {0x2534, '+'}, {0x2506, ':'},
        {0x250C, '+'}, {0x2510, '+'}, {0x2514, '+'}, {0x2518, '+'}, {0x251C, '+'}, {0x2524, '+'},
        {0x2026, '~'}, {0x00B5, 'u'}, {0x03BC, 'u'}, {0x00D7, 'x'}, {0x00B7, '.'}, {0x2022, '*'},
        {0x2588, '#'}, {0x258C, '='}, {0x2591, ':'}, {0x25B8, '>'}, {0x25CF, '*'}, {0x25CB, 'o'},
        {0x2191, '^'}, {0x2193, 'v'}, {0x2192, '>'}, {0x2190, '<'}, {0x2212, '-'}, {0x2013, '-'},
        {0x2014, '-'}, {0x2018, '\''}, {0x2019, '\''}, {0x201C, '"'}, {0x201D, '"'}, {0x00A0, ' '},
        {0x2713, 'Y'}, {0x2717, 'N'}, {0x00B1, '~'}, {0x2264, '<'}, {0x2265, '>'}, {0x00B2, '2'},
        {0x2592, '+'}, {0x2593, '%'}, {0x2503, '|'},
    };
    if (ch < 0x80)
        return (char)ch;
    if (ch >= 0x2800 && ch < 0x2900)
        return dots_ascii(ch & 0xFF);
    for (int i = 0; i < COUNT_OF(table); i++)
        if (table[i].ch == ch)
            return table[i].ascii;
    return '?';
}

void grid_dump(const struct grid *g, struct str *out)
{
    for (int y = 0; y < g->h; y++) {
        int end = g->w;
        const struct grid_cell *row = g->cell + y * g->w;
        while (end > 0 && row[end - 1].ch == ' ' && row[end - 1].width == 1)
            end--;
        for (int x = 0; x < end; x++) {
            const struct grid_cell *c = &row[x];
            char utf8[5];
            if (c->width > 0)
                str_add_n(out, utf8, (size_t)text_utf8_put(utf8, c->ch));
        }
        str_add_char(out, '\n');
    }
}
