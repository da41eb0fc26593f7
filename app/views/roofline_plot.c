#include "app/views/roofline_plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/ui/plot.h"
#include "app/ui/text.h"

struct roofs_plot {
    struct plot_area plot;
    const struct machine_model *model;
    int threads;
};

/* --- Roofs ------------------------------------------------------------------------------------ */

static double slope_of(const struct roofs_plot *p, int level)
{
    return machine_model_rates(&p->model->level[level].load, p->threads, p->model->cores);
}

static double peak_of(const struct roofs_plot *p, int isa)
{
    return machine_model_rates(&p->model->isa[isa].gflops, p->threads, p->model->cores);
}

/* Draws a roof. Cuts the line at the axes, because the numbers of the axes are below and left of
 * them. */
static void put_roof(struct roofs_plot *p, double x0, double y0, double x1, double y1, enum style s,
                     int dash)
{
    const struct plot_area *q = &p->plot;
    double to_lo = y0 > 0 ? q->y.lo / y0 : 1;
    if (y0 < q->y.lo && y1 > y0) {        /* a slope: all its points have the same y / x */
        x0 *= to_lo;
        y0 = q->y.lo;
    }
    if (x0 < x1 && y1 <= q->y.hi && y1 >= q->y.lo)
        canvas_line(q->c, plot_x(q, fmax(x0, q->x.lo)), plot_y(q, y0), plot_x(q, x1),
                    plot_y(q, y1), s, dash);
}

/* Writes the name of a slope beside the slope, in the row where the name hides the fewest dots. */
static void name_slope(struct roofs_plot *p, double rate, double peak, const char *name)
{
    int w = text_width(name), best = -1, best_col = 0, least = w + 1;
    for (int row = p->plot.rows - 1; row > plot_row(plot_y(&p->plot, peak)); row--) {
        double part = 1 - (4.0 * row + 2) / (4 * p->plot.rows - 1);
        double y = p->plot.y.lo * pow(p->plot.y.hi / p->plot.y.lo, part);
        if (y / rate < p->plot.x.lo)
            continue;
        int col = plot_col(plot_x(&p->plot, y / rate)) + 2;
        if (col + w > PLOT_LEFT + p->plot.cols || canvas_written(p->plot.c, col - 1, row, w + 2))
            continue;
        int used = canvas_used(p->plot.c, col, row, w);
        if (used < least) {
            least = used;
            best = row;
            best_col = col;
        }
    }
    if (best >= 0)
        canvas_text(p->plot.c, best_col, best, STYLE_NOTE, name);
}

static void put_slopes(struct roofs_plot *p, double peak)
{
    for (int i = 0; i < MODEL_LEVELS; i++) {
        double rate = slope_of(p, i);
        if (rate > 0)
            put_roof(p, p->plot.x.lo, rate * p->plot.x.lo, peak / rate, peak, STYLE_NOTE,
                     i == MODEL_DRAM ? 4 : 0);
    }
}

static void name_slopes(struct roofs_plot *p, double peak)
{
    for (int i = 0; i < MODEL_LEVELS; i++) {
        char name[32];
        double rate = slope_of(p, i);
        snprintf(name, sizeof name, "%s %.3g", model_level_name[i], rate);
        if (rate > 0)
            name_slope(p, rate, peak, name);
    }
}

/* Whether the line of a peak is in this row. */
static bool has_peak(const struct roofs_plot *p, int row)
{
    for (int i = 0; i < p->model->n_isa; i++) {
        double peak = peak_of(p, i);
        if (peak > p->plot.y.lo && peak <= p->plot.y.hi && plot_row(plot_y(&p->plot, peak)) == row)
            return true;
    }
    return false;
}

/* Writes the name of a peak at the right end of its line: above it, or below it, or on it where
 * those rows have the line of another peak, or further left within half of the plot, whichever is
 * free first. If no place is free, writes nothing. */
static void name_peak(struct roofs_plot *p, int row, enum style s, const char *name)
{
    int w = text_width(name), col = PLOT_LEFT + p->plot.cols - w, least = col - p->plot.cols / 2;
    bool beside = (row > 0 && !has_peak(p, row - 1)) || !has_peak(p, row + 1);
    for (; col >= PLOT_LEFT && col >= least; col--)
        for (int at = row - 1; at <= row + 1; at++) {
            bool fits = at == row ? !beside : at >= 0 && at < p->plot.rows && !has_peak(p, at);
            if (fits && !canvas_written(p->plot.c, col - 1, at, w + 2)) {
                canvas_text(p->plot.c, col, at, s, name);
                return;
            }
        }
}

/* Draws the peaks of the instruction sets. Peaks at nearly the same height share a line and a name:
 * "avx512, avx2 118". */
static void put_peaks(struct roofs_plot *p)
{
    double steepest = 0, top = 0;
    for (int i = 0; i < MODEL_LEVELS; i++)
        steepest = fmax(steepest, slope_of(p, i));
    for (int i = 0; i < p->model->n_isa; i++)
        top = fmax(top, peak_of(p, i));
    for (int i = 0; i < p->model->n_isa; i++) {
        double peak = peak_of(p, i);
        struct str name = {0};
        if (peak <= p->plot.y.lo || peak > p->plot.y.hi)
            continue;
        double y = plot_y(&p->plot, peak), from = steepest > 0 ? peak / steepest : p->plot.x.lo;
        enum style s = peak > 0.97 * top ? STYLE_GOOD : STYLE_RULE;
        str_add(&name, p->model->isa[i].isa);
        while (i + 1 < p->model->n_isa && fabs(plot_y(&p->plot, peak_of(p, i + 1)) - y) < 2)
            str_printf(&name, ", %s", p->model->isa[++i].isa);
        str_printf(&name, " %.3g", peak);
        put_roof(p, from, peak, p->plot.x.hi, peak, s, s == STYLE_GOOD ? 0 : 4);
        name_peak(p, plot_row(y), s, str_text(&name));
        str_free(&name);
    }
}

/* --- Steps ------------------------------------------------------------------------------------ */

/* Draws the steps. Where two steps have the same place, only the later one is drawn. */
static void put_steps(struct roofs_plot *p, const struct roof_step *step, int n)
{
    for (int i = n - 1; i >= 0; i--) {
        char text[16];
        int w = snprintf(text, sizeof text, "%d", step[i].position);
        const struct roofline *r = &step[i].r;
        double y = fmax(r->gflops, p->plot.y.lo);
        int col = plot_col(plot_x(&p->plot, r->intensity)) - (w - 1) / 2;
        int row = plot_row(plot_y(&p->plot, y));
        bool taken = false;
        for (int k = 0; k < w; k++) {
            const struct canvas_cell *cell = &p->plot.c->cell[row * p->plot.c->w + col + k];
            taken |= cell->ch >= '0' && cell->ch <= '9' && (cell->style & 0x7F) == STYLE_KEY;
        }
        if (!taken)
            canvas_text(p->plot.c, col, row, STYLE_KEY | (step[i].here ? STYLE_REVERSE : 0), text);
    }
}

void roofline_plot(struct canvas *c, const struct machine_model *model,
                   const struct roof_step *step, int n)
{
    struct roofs_plot p = { .model = model, .threads = step[n - 1].threads };
    if (c->w < ROOF_PLOT_MIN_W || c->h < ROOF_PLOT_MIN_H)
        return;
    struct roof_span span = roofline_steps_span(model, p.threads, step, n);
    plot_open(&p.plot, c, (struct plot_axis){ span.x_lo, span.x_hi, true, "FLOP/byte" },
              (struct plot_axis){ span.y_lo, span.y_hi, true, "GFLOP/s" });
    double peak = machine_model_peak(model, p.threads);
    plot_axes(&p.plot);
    put_steps(&p, step, n);               /* first, so that the names keep away from the steps */
    put_slopes(&p, peak);
    put_peaks(&p);
    name_slopes(&p, peak);
}

const char roofline_plot_legend[] =
    "Slopes: GB/s out of a level of memory; level lines: GFLOP/s of an instruction set. "
    "Numbers: steps.";

/* --- The table -------------------------------------------------------------------------------- */

const char *roofline_plot_star(const struct roof_step *step, int n)
{
    for (int i = 0; i < n; i++)
        if (!step[i].r.simulated)
            return "*: not simulated; bytes of inputs and outputs, each once";
    return "";
}

void roofline_plot_heading(struct str *out)
{
    str_add(out, "   # FLOP/byte GFLOP/s   bound    by share  step");
}

void roofline_plot_row(struct str *out, const struct roof_step *s, int width)
{
    const struct roofline *r = &s->r;
    char intensity[32];
    snprintf(intensity, sizeof intensity, "%s%.3g", s->r.simulated ? "" : "*", r->intensity);
    str_printf(out, "%s%3d %9s %7.4g", s->here ? ">" : " ", s->position, intensity, r->gflops);
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

void roofline_plot_remark(struct str *out, const struct roof_step *here)
{
    const struct roofline *r = &here->r;
    str_printf(out, "%.4g GFLOP/s at %.3g FLOP/byte (%s)", r->gflops, r->intensity,
               r->simulated ? "bytes into and out of the simulated L1"
                            : "bytes of inputs and outputs");
    if (r->bound <= 0)
        return;
    str_printf(out, ": %.0f %% of the %.4g that ", 100 * r->fraction, r->bound);
    if (r->by == ROOF_FMA)
        str_add(out, "the FMA ceiling of the machine model allows");
    else
        str_printf(out, "%s's bandwidth allows", roofline_by_name(r->by));
    if (r->fraction > 1.03)
        str_printf(out, "; %s", here->algorithm ? ROOFLINE_BESIDE
                   : "more than the model: tilescope machine --measure");
}
