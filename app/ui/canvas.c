#include "app/ui/canvas.h"

#include <math.h>
#include <stdlib.h>

#include "app/ui/text.h"

#define BRAILLE 0x2800u

void canvas_open(struct canvas *c, int w, int h)
{
    c->w = w > 0 ? w : 0;
    c->h = h > 0 ? h : 0;
    c->cell = xcalloc((size_t)(c->w * c->h) + 1, sizeof *c->cell);
}

void canvas_close(struct canvas *c)
{
    free(c->cell);
    *c = (struct canvas){0};
}

static struct canvas_cell *cell_at(const struct canvas *c, int col, int row)
{
    bool has = col >= 0 && col < c->w && row >= 0 && row < c->h;
    return has ? &c->cell[row * c->w + col] : NULL;
}

/* Dot n of a braille character is bit n - 1. Dots 1 to 3 are the left column from the top, dots 4
 * to 6 the right one; dots 7 and 8 are the lowest row. */
void canvas_dot(struct canvas *c, int x, int y, enum style s)
{
    static const unsigned char bit[4][2] = { { 1, 8 }, { 2, 16 }, { 4, 32 }, { 64, 128 } };
    struct canvas_cell *cell = x >= 0 && y >= 0 ? cell_at(c, x / 2, y / 4) : NULL;
    if (!cell)
        return;
    cell->dots |= bit[y % 4][x % 2];
    if (!cell->ch)
        cell->style = (unsigned char)s;
}

void canvas_line(struct canvas *c, double x0, double y0, double x1, double y1, enum style s,
                 int dash)
{
    double dx = x1 - x0, dy = y1 - y0, n = ceil(fmax(fabs(dx), fabs(dy)));
    if (!(n < 1e5))
        return;
    for (int i = 0; i <= (int)n; i++) {
        double t = n > 0 ? i / n : 0;
        if (dash <= 0 || i % dash < (dash + 1) / 2)
            canvas_dot(c, (int)lround(x0 + t * dx), (int)lround(y0 + t * dy), s);
    }
}

void canvas_text(struct canvas *c, int col, int row, unsigned s, const char *text)
{
    for (const char *p = text; *p; col++) {
        uint32_t ch = utf8_next(&p);
        struct canvas_cell *cell = cell_at(c, col, row);
        if (cell) {
            cell->ch = ch;
            cell->style = (unsigned char)s;
        }
    }
}

int canvas_used(const struct canvas *c, int col, int row, int w)
{
    int used = 0;
    for (int i = 0; i < w; i++) {
        const struct canvas_cell *cell = cell_at(c, col + i, row);
        used += !cell || cell->dots || cell->ch;
    }
    return used;
}

bool canvas_written(const struct canvas *c, int col, int row, int w)
{
    for (int i = 0; i < w; i++) {
        const struct canvas_cell *cell = cell_at(c, col + i, row);
        if (cell && cell->ch)
            return true;
    }
    return false;
}

static uint32_t shown(const struct canvas_cell *cell)
{
    return cell->ch ? cell->ch : cell->dots ? BRAILLE + cell->dots : ' ';
}

void canvas_doc(const struct canvas *c, struct doc *d)
{
    for (int row = 0; row < c->h; row++) {
        for (int col = 0; col < c->w; col++) {
            const struct canvas_cell *cell = cell_at(c, col, row);
            char utf8[5];
            text_utf8_put(utf8, shown(cell));
            doc_put(d, (enum style)cell->style, utf8);
        }
        doc_end(d);
    }
}

void canvas_print(const struct canvas *c, struct str *out, bool unicode)
{
    for (int row = 0; row < c->h; row++) {
        int end = c->w;
        while (end > 0 && shown(cell_at(c, end - 1, row)) == ' ')
            end--;
        for (int col = 0; col < end; col++) {
            uint32_t ch = shown(cell_at(c, col, row));
            char utf8[5];
            if (unicode)
                str_add_n(out, utf8, (size_t)text_utf8_put(utf8, ch));
            else
                str_add_char(out, grid_ascii(ch));
        }
        str_add_char(out, '\n');
    }
}
