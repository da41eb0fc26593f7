#include "app/ui/plot.h"

#include <math.h>

#include "app/ui/text.h"

void plot_open(struct plot_area *p, struct canvas *c, struct plot_axis x, struct plot_axis y)
{
    *p = (struct plot_area){ .c = c, .x = x, .y = y, .cols = c->w - PLOT_LEFT,
                        .rows = c->h - PLOT_BELOW };
}

static double part_of(const struct plot_axis *a, double v)
{
    return a->log ? log(v / a->lo) / log(a->hi / a->lo) : (v - a->lo) / (a->hi - a->lo);
}

double plot_x(const struct plot_area *p, double v)
{
    return 2 * PLOT_LEFT + part_of(&p->x, v) * (2 * p->cols - 1);
}

double plot_y(const struct plot_area *p, double v)
{
    return (1 - part_of(&p->y, v)) * (4 * p->rows - 1);
}

int plot_col(double dot)
{
    return (int)lround(dot) / 2;
}

int plot_row(double dot)
{
    return (int)lround(dot) / 4;
}

/* --- Numbers ---------------------------------------------------------------------------------- */

void plot_number(struct str *out, double v)
{
    static const struct { double from, unit; const char *suffix; } row[] = {
        { 1e12, 1e12, "T" }, { 1e9, 1e9, "G" }, { 1e6, 1e6, "M" }, { 1e4, 1e3, "k" },
    };
    for (int i = 0; i < COUNT_OF(row); i++)
        if (fabs(v) >= row[i].from * (1 - 1e-9)) {
            str_printf(out, "%.4g%s", v / row[i].unit, row[i].suffix);
            return;
        }
    str_printf(out, "%.4g", fabs(v) < 1e-12 ? 0 : v);
}

static void put_number(struct plot_area *p, bool vertical, double v)
{
    struct str t = {0};
    plot_number(&t, v);
    int w = (int)t.len, row, col;
    if (vertical) {
        row = plot_row(plot_y(p, v));
        col = PLOT_LEFT - 1 - w;
        for (int r = row - 1; r <= row + 1; r++)
            if (row < 0 || row >= p->rows || col < 0 || canvas_written(p->c, 0, r, PLOT_LEFT - 1))
                w = 0;
    } else {
        row = p->rows + 1;
        col = plot_col(plot_x(p, v)) - w / 2;
        if (col < PLOT_LEFT - 1 || col + w > PLOT_LEFT + p->cols
            || canvas_written(p->c, col - 2, row, w + 4))
            w = 0;
    }
    if (w > 0)
        canvas_text(p->c, col, row, STYLE_DIM, str_text(&t));
    str_free(&t);
}

/* Writes the powers of ten, then 2 and 5 times the powers, each where there is room. */
static void put_log_numbers(struct plot_area *p, bool vertical, double lo, double hi)
{
    static const int digit[] = { 1, 2, 5 };
    for (int d = 0; d < 3; d++)
        for (int k = (int)floor(log10(lo)); k <= (int)ceil(log10(hi)); k++) {
            double v = digit[d] * pow(10, k);
            if (v >= lo && v <= hi)
                put_number(p, vertical, v);
        }
}

/* Writes the multiples of a step. The step is 1, 2 or 5 times a power of ten, the smallest one that
 * divides the axis into at most `most` parts. */
static void put_linear_numbers(struct plot_area *p, bool vertical, double lo, double hi, int most)
{
    double unit = pow(10, floor(log10((hi - lo) / most)));
    double step = unit;
    for (int d = 0; (hi - lo) / step > most && d < 3; d++)
        step = unit * (d == 0 ? 2 : d == 1 ? 5 : 10);
    for (double k = ceil(lo / step); k * step <= hi; k++)
        put_number(p, vertical, k * step);
}

static void put_numbers(struct plot_area *p, bool vertical)
{
    const struct plot_axis *a = vertical ? &p->y : &p->x;
    int most = vertical ? p->rows / 2 : p->cols / 8;
    if (a->log)
        put_log_numbers(p, vertical, a->lo, a->hi);
    else
        put_linear_numbers(p, vertical, a->lo, a->hi, most > 1 ? most : 1);
}

void plot_axes(struct plot_area *p)
{
    for (int y = 0; y < p->rows; y++)
        canvas_text(p->c, PLOT_LEFT - 1, y, STYLE_RULE, "│");
    canvas_text(p->c, PLOT_LEFT - 1, p->rows, STYLE_RULE, "└");
    for (int x = 0; x < p->cols; x++)
        canvas_text(p->c, PLOT_LEFT + x, p->rows, STYLE_RULE, "─");
    put_numbers(p, true);
    canvas_text(p->c, PLOT_LEFT + p->cols - text_width(p->x.name), p->rows + 1, STYLE_DIM,
                p->x.name);
    put_numbers(p, false);
    if (p->y.name)
        canvas_text(p->c, PLOT_LEFT + 1, 0, STYLE_DIM, p->y.name);
}
