#include "app/roofline_plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/text.h"
#include "sessions/chart.h"

#define LEFT 6                            /* columns of the numbers and the axis */
#define BELOW 2                           /* rows of the axis and its numbers */

struct plot {
    struct canvas *c;
    struct roof_span span;
    const struct machine_model *model;
    int threads, cols, rows;              /* of the area, from column LEFT and row 0 */
};

/* --- Positions -------------------------------------------------------------------------------- */

static double dot_x(const struct plot *p, double x)
{
    double part = log(x / p->span.x_lo) / log(p->span.x_hi / p->span.x_lo);
    return 2 * LEFT + part * (2 * p->cols - 1);
}

static double dot_y(const struct plot *p, double y)
{
    double part = log(y / p->span.y_lo) / log(p->span.y_hi / p->span.y_lo);
    return (1 - part) * (4 * p->rows - 1);
}

static int col_of(double dot)
{
    return (int)lround(dot) / 2;
}

static int row_of(double dot)
{
    return (int)lround(dot) / 4;
}

/* --- Axes ------------------------------------------------------------------------------------- */

static void put_number(struct plot *p, bool vertical, double v)
{
    struct str t = {0};
    chart_number(&t, v);
    int w = (int)t.len, row, col;
    if (vertical) {
        row = row_of(dot_y(p, v));
        col = LEFT - 1 - w;
        for (int r = row - 1; r <= row + 1; r++)
            if (row < 0 || row >= p->rows || canvas_written(p->c, 0, r, LEFT - 1))
                w = 0;
    } else {
        row = p->rows + 1;
        col = col_of(dot_x(p, v)) - w / 2;
        if (col < LEFT - 1 || col + w > LEFT + p->cols
            || canvas_written(p->c, col - 2, row, w + 4))
            w = 0;
    }
    if (w > 0)
        canvas_text(p->c, col, row, STYLE_DIM, str_text(&t));
    str_free(&t);
}

/* Powers of ten first, then 2 and 5 times them where there is room. */
static void put_numbers(struct plot *p, bool vertical)
{
    static const int digit[] = { 1, 2, 5 };
    double lo = vertical ? p->span.y_lo : p->span.x_lo, hi = vertical ? p->span.y_hi : p->span.x_hi;
    for (int d = 0; d < 3; d++)
        for (int k = (int)floor(log10(lo)); k <= (int)ceil(log10(hi)); k++) {
            double v = digit[d] * pow(10, k);
            if (v >= lo && v <= hi)
                put_number(p, vertical, v);
        }
}

static void put_axes(struct plot *p)
{
    for (int y = 0; y < p->rows; y++)
        canvas_text(p->c, LEFT - 1, y, STYLE_RULE, "│");
    canvas_text(p->c, LEFT - 1, p->rows, STYLE_RULE, "└");
    for (int x = 0; x < p->cols; x++)
        canvas_text(p->c, LEFT + x, p->rows, STYLE_RULE, "─");
    put_numbers(p, true);
    canvas_text(p->c, LEFT + p->cols - 9, p->rows + 1, STYLE_DIM, "FLOP/byte");
    put_numbers(p, false);
    canvas_text(p->c, LEFT + 1, 0, STYLE_DIM, "GFLOP/s");
}

/* --- Roofs ------------------------------------------------------------------------------------ */

static double slope_of(const struct plot *p, int level)
{
    return rates_of(&p->model->level[level].load, p->threads, p->model->cores);
}

static double peak_of(const struct plot *p, int isa)
{
    return rates_of(&p->model->isa[isa].gflops, p->threads, p->model->cores);
}

/* Only what lies in the area: the numbers of the axes are below and left of it. */
static void put_roof(struct plot *p, double x0, double y0, double x1, double y1, enum style s,
                     int dash)
{
    double to_lo = y0 > 0 ? p->span.y_lo / y0 : 1;
    if (y0 < p->span.y_lo && y1 > y0) {   /* a slope: y / x stays the same */
        x0 *= to_lo;
        y0 = p->span.y_lo;
    }
    if (x0 < x1 && y1 <= p->span.y_hi && y1 >= p->span.y_lo)
        canvas_line(p->c, dot_x(p, fmax(x0, p->span.x_lo)), dot_y(p, y0), dot_x(p, x1),
                    dot_y(p, y1), s, dash);
}

/* Beside its slope, in the row where that hides least. */
static void name_slope(struct plot *p, double rate, double peak, const char *name)
{
    int w = text_width(name), best = -1, best_col = 0, least = w + 1;
    for (int row = p->rows - 1; row > row_of(dot_y(p, peak)); row--) {
        double part = 1 - (4.0 * row + 2) / (4 * p->rows - 1);
        double y = p->span.y_lo * pow(p->span.y_hi / p->span.y_lo, part);
        if (y / rate < p->span.x_lo)
            continue;
        int col = col_of(dot_x(p, y / rate)) + 2;
        if (col + w > LEFT + p->cols || canvas_written(p->c, col - 1, row, w + 2))
            continue;
        int used = canvas_used(p->c, col, row, w);
        if (used < least) {
            least = used;
            best = row;
            best_col = col;
        }
    }
    if (best >= 0)
        canvas_text(p->c, best_col, best, STYLE_NOTE, name);
}

static void put_slopes(struct plot *p, double peak)
{
    for (int i = 0; i < MODEL_LEVELS; i++) {
        double rate = slope_of(p, i);
        if (rate > 0)
            put_roof(p, p->span.x_lo, rate * p->span.x_lo, peak / rate, peak, STYLE_NOTE,
                     i == MODEL_DRAM ? 4 : 0);
    }
}

static void name_slopes(struct plot *p, double peak)
{
    for (int i = 0; i < MODEL_LEVELS; i++) {
        char name[32];
        double rate = slope_of(p, i);
        snprintf(name, sizeof name, "%s %.3g", model_level_name[i], rate);
        if (rate > 0)
            name_slope(p, rate, peak, name);
    }
}

/* At the right end above its line, else below it, else nowhere. */
static void name_peak(struct plot *p, int row, enum style s, const char *name)
{
    int w = text_width(name), col = LEFT + p->cols - w;
    for (int at = row - 1; at <= row + 1; at += 2)
        if (at >= 0 && at < p->rows && col >= LEFT && !canvas_written(p->c, col - 1, at, w + 1)) {
            canvas_text(p->c, col, at, s, name);
            return;
        }
}

/* The same height in this plot has one line, with all names: "avx512, avx2 118". */
static void put_peaks(struct plot *p)
{
    double steepest = 0, top = 0;
    for (int i = 0; i < MODEL_LEVELS; i++)
        steepest = fmax(steepest, slope_of(p, i));
    for (int i = 0; i < p->model->n_isa; i++)
        top = fmax(top, peak_of(p, i));
    for (int i = 0; i < p->model->n_isa; i++) {
        double peak = peak_of(p, i);
        struct str name = {0};
        if (peak <= p->span.y_lo || peak > p->span.y_hi)
            continue;
        double y = dot_y(p, peak), from = steepest > 0 ? peak / steepest : p->span.x_lo;
        enum style s = peak > 0.97 * top ? STYLE_GOOD : STYLE_RULE;
        str_add(&name, p->model->isa[i].isa);
        while (i + 1 < p->model->n_isa && fabs(dot_y(p, peak_of(p, i + 1)) - y) < 2)
            str_printf(&name, ", %s", p->model->isa[++i].isa);
        str_printf(&name, " %.3g", peak);
        put_roof(p, from, peak, p->span.x_hi, peak, s, s == STYLE_GOOD ? 0 : 4);
        name_peak(p, row_of(y), s, str_text(&name));
        str_free(&name);
    }
}

/* --- Steps ------------------------------------------------------------------------------------ */

/* Later steps hide earlier ones; the last is the current one. */
static void put_steps(struct plot *p, const struct roof_step *step, int n)
{
    for (int i = n - 1; i >= 0; i--) {
        char text[16];
        int w = snprintf(text, sizeof text, "%d", step[i].position);
        const struct roofline *r = &step[i].r;
        double y = fmax(r->gflops, p->span.y_lo);
        int col = col_of(dot_x(p, r->intensity)) - (w - 1) / 2, row = row_of(dot_y(p, y));
        bool taken = false;
        for (int k = 0; k < w; k++) {
            const struct canvas_cell *cell = &p->c->cell[row * p->c->w + col + k];
            taken |= cell->ch >= '0' && cell->ch <= '9' && (cell->style & 0x7F) == STYLE_KEY;
        }
        if (!taken)
            canvas_text(p->c, col, row, STYLE_KEY | (step[i].here ? STYLE_REVERSE : 0), text);
    }
}

void roofline_plot(struct canvas *c, const struct machine_model *model,
                   const struct roof_step *step, int n)
{
    struct plot p = { .c = c, .model = model, .threads = step[n - 1].threads,
                      .cols = c->w - LEFT, .rows = c->h - BELOW };
    if (c->w < ROOF_PLOT_MIN_W || c->h < ROOF_PLOT_MIN_H)
        return;
    p.span = roofline_span(model, p.threads, step, n);
    double peak = machine_model_peak(model, p.threads);
    put_axes(&p);
    put_slopes(&p, peak);
    put_peaks(&p);
    name_slopes(&p, peak);
    put_steps(&p, step, n);
}

const char roofline_legend[] = "Slopes: GB/s out of a level of memory; level lines: GFLOP/s of an "
                               "instruction set. Numbers: steps.";

/* --- The table -------------------------------------------------------------------------------- */

void roofline_heading(struct str *out)
{
    str_add(out, "   # FLOP/byte GFLOP/s   bound    by share  step");
}

void roofline_row(struct str *out, const struct roof_step *s, int width)
{
    const struct roofline *r = &s->r;
    str_printf(out, "%s%3d %9.3g %7.4g", s->here ? ">" : " ", s->position, r->intensity, r->gflops);
    if (r->bound > 0)
        str_printf(out, " %7.4g %5s %3.0f %%  ", r->bound, roofline_by_name(r->by),
                   100 * r->fraction);
    else
        str_printf(out, " %7s %5s %5s  ", "-", "-", "-");
    int left = width - text_width(str_text(out));
    struct str step = {0};
    if (left > 3)
        text_fit(&step, s->position == 0 ? "as given" : s->step, left);
    while (step.len > 0 && step.data[step.len - 1] == ' ')
        step.data[--step.len] = '\0';
    str_add(out, str_text(&step));
    str_free(&step);
}

void roofline_remark(struct str *out, const struct roof_step *here)
{
    const struct roofline *r = &here->r;
    str_printf(out, "%.4g GFLOP/s at %.3g FLOP/byte (%s)", r->gflops, r->intensity,
               r->simulated ? "bytes into and out of the simulated L1"
                            : "inputs and outputs once");
    if (r->bound <= 0)
        return;
    str_printf(out, ": %.0f %% of the %.4g that ", 100 * r->fraction, r->bound);
    if (r->by == ROOF_FMA)
        str_add(out, "the FMA units allow");
    else
        str_printf(out, "%s's bandwidth allows", roofline_by_name(r->by));
    if (r->fraction > 1.03)
        str_add(out, "; more than the model: tilescope machine --measure");
}
