#include "sessions/report/chart_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "kernels/base/vec.h"

#define FONT 12.0
#define TITLE_FONT 15.0
#define ROW 17.0                         /* from one line of text to the next */
#define EDGE 14.0
#define GROUP 0.8                        /* of a category's width is bars */
#define PALETTE 7
#define MOST_TICKS 6

struct box { double x0, y0, x1, y1; };

struct chart_plot {
    const struct chart *c;
    struct str *out;
    double w, h;
    struct box area;
    struct scale x, y;
    int n_bars;                          /* series of them */
    VEC(struct box) taken;               /* by labels and points */
    VEC(struct box) named;               /* where names along lines begin: x0, y0 */
};

/* --- What is drawn ---------------------------------------------------------------------------- */

static int colour_of(const struct chart_plot *p, int series)
{
    int wanted = p->c->series[series].colour;
    return wanted >= 1 && wanted <= CHART_COLOURS ? wanted : 1 + series % PALETTE;
}

static double x_of(const struct chart_plot *p, const struct chart_series *s, int i)
{
    if (s->x && s->mark != CHART_BARS)
        return chart_scale_at(&p->x, s->x[i]);
    double slot = (p->area.x1 - p->area.x0) / (p->c->n_categories > 0 ? p->c->n_categories : 1);
    return p->area.x0 + slot * (i + 0.5);
}

static bool usable(const struct chart_axis *a, double v)
{
    return isfinite(v) && (!a->log || v > 0);
}

struct chart_range { double lo, hi; bool any; };

static void widen(struct chart_range *r, const struct chart_axis *a, double v)
{
    if (!usable(a, v))
        return;
    r->lo = !r->any || v < r->lo ? v : r->lo;
    r->hi = !r->any || v > r->hi ? v : r->hi;
    r->any = true;
}

/* The least logarithmic bar still shows: the axis begins below it. */
static void find_ranges(const struct chart *c, struct chart_range *x, struct chart_range *y)
{
    for (int k = 0; k < c->n_series; k++) {
        const struct chart_series *s = &c->series[k];
        for (int i = 0; i < s->n; i++) {
            if (s->x && s->mark != CHART_BARS)
                widen(x, &c->x, s->x[i]);
            widen(y, &c->y, s->y[i]);
            widen(y, &c->y, s->lo ? s->lo[i] : NAN);
            widen(y, &c->y, s->hi ? s->hi[i] : NAN);
            if (s->mark == CHART_BARS && usable(&c->y, s->y[i]))
                widen(y, &c->y, c->y.log ? s->y[i] / 2 : 0);
        }
    }
}

static bool check(const struct chart *c, struct err *e)
{
    const struct chart_axis *axis[] = { &c->x, &c->y };
    for (int i = 0; i < 2; i++) {
        const struct chart_axis *a = axis[i];
        bool fixed = a->lo != 0 || a->hi != 0;
        if (fixed && (!isfinite(a->lo) || !isfinite(a->hi) || a->lo >= a->hi
                      || (a->log && a->lo <= 0)))
            return err_set(e, ERR_RANGE, "the %s axis cannot go from %g to %g", i ? "y" : "x",
                           a->lo, a->hi);
    }
    for (int k = 0; k < c->n_series; k++) {
        const struct chart_series *s = &c->series[k];
        bool named = s->mark == CHART_BARS || !s->x;
        if (named && s->n > c->n_categories)
            return err_set(e, ERR_RANGE, "series %d has %d values for %d categories", k + 1, s->n,
                           c->n_categories);
    }
    return true;
}

/* --- Text ------------------------------------------------------------------------------------- */

static void put_text(struct chart_plot *p, double x, double y, const char *more, const char *text)
{
    str_printf(p->out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, more);
    chart_escape(p->out, text);
    str_add(p->out, "</text>\n");
}

/* How many bytes of text make a line of at most that width: whole words, if any fits. */
static size_t line_bytes(const char *text, double width)
{
    size_t last = 0, n = strlen(text);
    for (size_t i = 1; i <= n; i++) {
        char line[512];
        if (text[i] && text[i] != ' ')
            continue;
        size_t len = i < sizeof line - 1 ? i : sizeof line - 1;
        memcpy(line, text, len);
        line[len] = '\0';
        if (last > 0 && (len < i || chart_text_width(line, FONT) > width))
            return last;
        last = i;
    }
    return n;
}

static int wrapped(struct chart_plot *p, const char *text, double y, bool draw)
{
    int rows = 0;
    while (text && *text) {
        char line[512];
        size_t n = line_bytes(text, p->w - 2 * EDGE), len = n < sizeof line ? n : sizeof line - 1;
        memcpy(line, text, len);
        line[len] = '\0';
        if (draw)
            put_text(p, EDGE, y + ROW * rows, " class=\"dim\"", line);
        text += n + strspn(text + n, " ");
        rows++;
    }
    return rows;
}

/* --- The legend ------------------------------------------------------------------------------- */

static const char *dash_of(const struct chart_series *s)
{
    return s->dash == DASH_LONG ? " stroke-dasharray=\"7 4\""
         : s->dash == DASH_DOTS ? " stroke-dasharray=\"2 4\"" : "";
}

/* Circle, square, triangle, diamond, in turns with the colours. */
static void put_point(struct chart_plot *p, int colour, double x, double y, double r)
{
    switch (colour % 4) {
    case 1:
        str_printf(p->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"", x, y, r);
        break;
    case 2:
        str_printf(p->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"",
                   x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r);
        break;
    case 3:
        str_printf(p->out, "<path d=\"M%.1f %.1fl%.1f %.1fh%.1fz\"", x, y - 1.2 * r, 1.1 * r,
                   2 * r, -2.2 * r);
        break;
    default:
        str_printf(p->out, "<path d=\"M%.1f %.1fl%.1f %.1fl%.1f %.1fl%.1f %.1fz\"", x,
                   y - 1.3 * r, 1.3 * r, 1.3 * r, -1.3 * r, 1.3 * r, -1.3 * r, -1.3 * r);
    }
    str_printf(p->out, " class=\"c%d fill\"/>\n", colour);
}

static void put_swatch(struct chart_plot *p, int series, double x, double y)
{
    const struct chart_series *s = &p->c->series[series];
    int colour = colour_of(p, series);
    if (s->mark == CHART_BARS)
        str_printf(p->out,
                   "<rect x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"10\" class=\"c%d fill\"/>\n",
                   x + 4, y - 9, colour);
    if (s->mark == CHART_LINE)
        str_printf(p->out, "<path d=\"M%.1f %.1fh22\" class=\"c%d line\"%s/>\n", x, y - 4, colour,
                   dash_of(s));
    if (s->mark == CHART_POINTS)
        put_point(p, colour, x + 11, y - 4, 4);
}

/* Rows of the legend; draws them when `draw`. */
static int legend(struct chart_plot *p, double y, bool draw)
{
    double x = EDGE;
    int rows = 0;
    for (int k = 0; k < p->c->n_series; k++) {
        const struct chart_series *s = &p->c->series[k];
        if (!s->name || s->along)
            continue;
        double w = 28 + chart_text_width(s->name, FONT) + 18;
        if (rows == 0 || x + w > p->w - EDGE) {
            x = EDGE;
            rows++;
        }
        if (draw) {
            put_swatch(p, k, x, y + ROW * (rows - 1));
            put_text(p, x + 28, y + ROW * (rows - 1), "", s->name);
        }
        x += w;
    }
    return rows;
}

/* --- Axes ------------------------------------------------------------------------------------- */

static double widest_number(const struct scale *s)
{
    double most = 0;
    for (int i = 0; i < s->n; i++) {
        struct str t = {0};
        chart_number(&t, s->tick[i].value);
        double w = s->tick[i].minor ? 0 : chart_text_width(str_text(&t), FONT);
        most = w > most ? w : most;
        str_free(&t);
    }
    return most;
}

static double widest_category(const struct chart *c)
{
    double most = 0;
    for (int i = 0; i < c->n_categories; i++) {
        double w = chart_text_width(c->category[i], FONT);
        most = w > most ? w : most;
    }
    return most;
}

/* Names of categories that do not fit side by side hang down at an angle of 35 degrees. */
static bool slanted(const struct chart_plot *p)
{
    return widest_category(p->c) + 8 > (p->area.x1 - p->area.x0) / p->c->n_categories;
}

static void put_grid_line(struct chart_plot *p, const struct tick *t, bool vertical)
{
    double at = chart_scale_at(vertical ? &p->x : &p->y, t->value);
    const char *class = t->minor ? "grid minor" : "grid";
    if (vertical)
        str_printf(p->out, "<path d=\"M%.1f %.1fV%.1f\" class=\"%s\"/>\n", at, p->area.y0,
                   p->area.y1, class);
    else
        str_printf(p->out, "<path d=\"M%.1f %.1fH%.1f\" class=\"%s\"/>\n", p->area.x0, at,
                   p->area.x1, class);
}

static void put_ticks(struct chart_plot *p, bool vertical)
{
    const struct scale *s = vertical ? &p->x : &p->y;
    for (int i = 0; i < s->n; i++) {
        struct str t = {0};
        put_grid_line(p, &s->tick[i], vertical);
        chart_number(&t, s->tick[i].value);
        double at = chart_scale_at(s, s->tick[i].value);
        if (!s->tick[i].minor && vertical)
            put_text(p, at, p->area.y1 + 16, " text-anchor=\"middle\"", str_text(&t));
        else if (!s->tick[i].minor)
            put_text(p, p->area.x0 - 6, at + 4, " text-anchor=\"end\"", str_text(&t));
        str_free(&t);
    }
}

static void put_categories(struct chart_plot *p)
{
    double slot = (p->area.x1 - p->area.x0) / p->c->n_categories;
    bool slant = slanted(p);
    for (int i = 0; i < p->c->n_categories; i++) {
        char more[96];
        double x = p->area.x0 + slot * (i + 0.5), y = p->area.y1 + 16;
        snprintf(more, sizeof more, " text-anchor=\"end\" transform=\"rotate(-35 %.1f %.1f)\"",
                 x + 4, y);
        put_text(p, slant ? x + 4 : x, y, slant ? more : " text-anchor=\"middle\"",
                 p->c->category[i]);
    }
}

static void put_axes(struct chart_plot *p)
{
    const struct box *a = &p->area;
    put_ticks(p, false);
    if (p->c->n_categories > 0)
        put_categories(p);
    else
        put_ticks(p, true);
    str_printf(p->out, "<path d=\"M%.1f %.1fV%.1fH%.1f\" class=\"axis\"/>\n", a->x0, a->y0, a->y1,
               a->x1);
}

static void put_axis_names(struct chart_plot *p, double below)
{
    const struct box *a = &p->area;
    char more[96];
    if (p->c->x.label)
        put_text(p, (a->x0 + a->x1) / 2, below, " text-anchor=\"middle\" class=\"name\"",
                 p->c->x.label);
    double x = EDGE + 6, y = (a->y0 + a->y1) / 2;
    snprintf(more, sizeof more,
             " text-anchor=\"middle\" class=\"name\" transform=\"rotate(-90 %.1f %.1f)\"", x, y);
    if (p->c->y.label)
        put_text(p, x, y, more, p->c->y.label);
}

/* --- Labels beside points -------------------------------------------------------------------- */

static bool overlaps(const struct box *a, const struct box *b)
{
    return a->x0 < b->x1 && b->x0 < a->x1 && a->y0 < b->y1 && b->y0 < a->y1;
}

static bool is_free(const struct chart_plot *p, const struct box *b)
{
    const struct box *a = &p->area;
    if (b->x0 < a->x0 || b->x1 > p->w - 2 || b->y0 < a->y0 - 4 || b->y1 > a->y1)
        return false;
    for (int i = 0; i < p->taken.len; i++)
        if (overlaps(b, &p->taken.data[i]))
            return false;
    return true;
}

/* Right of the point, above it, below it, left, then further away: the first place that is free. */
static void put_label(struct chart_plot *p, double x, double y, const char *text, bool strong)
{
    static const struct { double x, y; int anchor; } place[] = {
        { 8, 4, 0 }, { 0, -8, 1 }, { 0, 17, 1 }, { -8, 4, 2 }, { 8, -8, 0 }, { 8, 17, 0 },
        { -8, -8, 2 }, { -8, 17, 2 }, { 0, -21, 1 }, { 0, 30, 1 }, { 20, 4, 0 }, { -20, 4, 2 },
    };
    static const char *const anchor[] = { "start", "middle", "end" };
    double w = chart_text_width(text, FONT);
    struct box b = { 0, 0, 0, 0 };
    int chosen = 0;
    for (int i = 0; i < COUNT_OF(place); i++) {
        double left = x + place[i].x - w * place[i].anchor / 2, base = y + place[i].y;
        b = (struct box){ left - 1, base - 10, left + w + 1, base + 3 };
        if (is_free(p, &b)) {
            chosen = i;
            vec_push(&p->taken, b);
            break;
        }
    }
    char more[64];
    snprintf(more, sizeof more, " text-anchor=\"%s\"%s", anchor[place[chosen].anchor],
             strong ? " class=\"strong\"" : "");
    put_text(p, x + place[chosen].x, y + place[chosen].y, more, text);
}

/* The name of a line, along its longest piece: at the low end of a rising one, at the end of a
 * level one. */
static void put_along(struct chart_plot *p, int series, const double best[4])
{
    double dx = best[2] - best[0], dy = best[3] - best[1], length = hypot(dx, dy);
    bool level = fabs(dy) < 1;
    double part = level ? 1 - 4 / length : 10 / length;
    double x = best[0] + part * dx, y = best[1] + part * dy, angle = atan2(dy, dx) * 180 / M_PI;
    char more[128];
    bool below = false;                   /* the name of another line is just above this one */
    for (int i = 0; i < p->named.len; i++)
        below |= fabs(p->named.data[i].x0 - x) < 40 && fabs(p->named.data[i].y0 - y) < 13;
    vec_push(&p->named, ((struct box){ x, y, x, y }));
    snprintf(more, sizeof more, " text-anchor=\"%s\" class=\"c%d along\""
             " transform=\"rotate(%.1f %.1f %.1f) translate(0 %d)\"", level ? "end" : "start",
             colour_of(p, series), angle, x, y, below ? 12 : -4);
    put_text(p, x, y, more, p->c->series[series].name);
    double w = chart_text_width(p->c->series[series].name, FONT);
    if (level)
        vec_push(&p->taken, ((struct box){ x - w, y - 16, x, y - 2 }));
}

/* --- Series ----------------------------------------------------------------------------------- */

static void put_line(struct chart_plot *p, int series)
{
    const struct chart_series *s = &p->c->series[series];
    double best[4] = {0}, most = 0, end[2] = { NAN, NAN };
    str_add(p->out, "<path d=\"");
    for (int i = 0; i + 1 < s->n; i++) {
        double q[4] = { x_of(p, s, i), chart_scale_at(&p->y, s->y[i]), x_of(p, s, i + 1),
                        chart_scale_at(&p->y, s->y[i + 1]) };
        if (!chart_scale_clip(&p->x, &p->y, q))
            continue;
        if (!(fabs(q[0] - end[0]) < 0.05 && fabs(q[1] - end[1]) < 0.05))
            str_printf(p->out, "M%.1f %.1f", q[0], q[1]);
        str_printf(p->out, "L%.1f %.1f", q[2], q[3]);
        end[0] = q[2];
        end[1] = q[3];
        double length = hypot(q[2] - q[0], q[3] - q[1]);
        if (length > most) {
            most = length;
            memcpy(best, q, sizeof best);
        }
    }
    str_printf(p->out, "\" class=\"c%d line%s\"%s/>\n", colour_of(p, series),
               s->strong ? " thick" : "", dash_of(s));
    if (s->along && s->name && most > 0)
        put_along(p, series, best);
}

static void put_whisker(struct chart_plot *p, double x, double lo, double hi)
{
    double a = chart_scale_at(&p->y, lo), b = chart_scale_at(&p->y, hi);
    if (isfinite(a) && isfinite(b))
        str_printf(p->out, "<path d=\"M%.1f %.1fh6M%.1f %.1fV%.1fM%.1f %.1fh6\""
                   " class=\"whisker\"/>\n", x - 3, a, x, a, b, x - 3, b);
}

static bool inside(const struct box *a, double x, double y)
{
    return x >= a->x0 - 0.5 && x <= a->x1 + 0.5 && y >= a->y0 - 0.5 && y <= a->y1 + 0.5;
}

static void put_points(struct chart_plot *p, int series)
{
    const struct chart_series *s = &p->c->series[series];
    double r = s->strong ? 6 : 4;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < s->n; i++) {
            double x = x_of(p, s, i), y = chart_scale_at(&p->y, s->y[i]);
            if (!inside(&p->area, x, y))
                continue;
            if (pass == 1 && s->label && s->label[i])
                put_label(p, x, y, s->label[i], s->strong);
            if (pass == 1)
                continue;
            if (s->lo && s->hi)
                put_whisker(p, x, s->lo[i], s->hi[i]);
            put_point(p, colour_of(p, series), x, y, r);
            vec_push(&p->taken, ((struct box){ x - r, y - r, x + r, y + r }));
        }
}

/* What stands where a value would: its label, or why there is no bar. */
static void put_bar_text(struct chart_plot *p, const struct chart_series *s, int i, double x,
                         double y)
{
    struct str t = {0};
    double v = s->y[i];
    if (usable(&p->c->y, v))
        str_add(&t, s->label && s->label[i] ? s->label[i] : "");
    else if (isfinite(v))
        chart_number(&t, v);
    else
        str_add(&t, "n/a");
    if (t.len > 0)
        put_text(p, x, y, " text-anchor=\"middle\" class=\"small\"", str_text(&t));
    str_free(&t);
}

static void put_bars(struct chart_plot *p, int series, int place)
{
    const struct chart_series *s = &p->c->series[series];
    double slot = (p->area.x1 - p->area.x0) / p->c->n_categories, w = GROUP * slot / p->n_bars;
    double zero = chart_scale_at(&p->y, p->c->y.log || p->y.lo > 0 ? p->y.lo : fmin(0, p->y.hi));
    for (int i = 0; i < s->n; i++) {
        double left = p->area.x0 + slot * (i + (1 - GROUP) / 2) + w * place, mid = left + w / 2;
        double y = usable(&p->c->y, s->y[i]) ? chart_scale_at(&p->y, s->y[i]) : zero;
        y = fmax(p->area.y0, fmin(p->area.y1, y));
        if (usable(&p->c->y, s->y[i]))
            str_printf(p->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\""
                       " class=\"c%d fill\"/>\n", left, fmin(y, zero), w * 0.94, fabs(zero - y),
                       colour_of(p, series));
        double top = fmin(y, zero);
        if (s->lo && s->hi && isfinite(s->lo[i]) && isfinite(s->hi[i])) {
            put_whisker(p, mid, s->lo[i], s->hi[i]);
            top = fmin(top, chart_scale_at(&p->y, s->hi[i]));
        }
        put_bar_text(p, s, i, mid, top - 4);
    }
}

/* Bars, lines, points; of each the strong ones last. */
static void put_series(struct chart_plot *p)
{
    static const enum chart_mark order[] = { CHART_BARS, CHART_LINE, CHART_POINTS };
    for (int o = 0; o < COUNT_OF(order); o++)
        for (int strong = 0; strong < 2; strong++)
            for (int k = 0, bar = 0; k < p->c->n_series; k++) {
                const struct chart_series *s = &p->c->series[k];
                int place = bar;
                bar += s->mark == CHART_BARS;
                if (s->mark != order[o] || s->strong != (strong == 1))
                    continue;
                if (s->mark == CHART_BARS)
                    put_bars(p, k, place);
                else if (s->mark == CHART_LINE)
                    put_line(p, k);
                else
                    put_points(p, k);
            }
}

/* --- The file --------------------------------------------------------------------------------- */

static void put_head(struct chart_plot *p)
{
    str_printf(p->out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\""
               " height=\"%.0f\" role=\"img\" font-family=\"system-ui, Helvetica, Arial,"
               " sans-serif\" font-size=\"%.0f\">\n", p->w, p->h, p->w, p->h, FONT);
    if (p->c->title) {
        str_add(p->out, "<title>");
        chart_escape(p->out, p->c->title);
        str_add(p->out, "</title>\n");
    }
    str_add(p->out,
            "<style>\n"
            ".paper{fill:#fff} text{fill:#222} .dim,.small{fill:#555} .small{font-size:10px}\n"
            ".title{font-size:15px;font-weight:600} .name{font-weight:500}"
            " .strong{font-weight:700}\n"
            ".grid{stroke:#ddd;fill:none} .minor{stroke:#f0f0f0}"
            " .axis,.whisker{stroke:#444;fill:none}\n"
            ".line{stroke:currentColor;fill:none;stroke-width:1.8;stroke-linejoin:round}"
            " .thick{stroke-width:3}\n"
            ".fill,.along{fill:currentColor} .along{font-size:11px}\n"
            ".c1{color:#0072b2} .c2{color:#d55e00} .c3{color:#009e73} .c4{color:#b5508f}"
            " .c5{color:#b07d00}\n"
            ".c6{color:#2f8fc6} .c7{color:#6b5b00} .c8{color:#777}\n"
            "@media (prefers-color-scheme: dark){\n"
            ".paper{fill:#16181c} text{fill:#e8e8e8} .dim,.small{fill:#b4b4b4}"
            " .grid{stroke:#3a3d42}\n"
            ".minor{stroke:#26292e} .axis,.whisker{stroke:#c0c0c0}"
            " .fill,.along{fill:currentColor}\n"
            ".c1{color:#4ba6e0} .c2{color:#f08a45} .c3{color:#2fc79b} .c4{color:#de93c0}"
            " .c5{color:#e6b422}\n"
            ".c6{color:#8cccf2} .c7{color:#f0e442} .c8{color:#9a9a9a} }\n"
            "</style>\n");
    str_printf(p->out, "<rect width=\"%.0f\" height=\"%.0f\" class=\"paper\"/>\n", p->w, p->h);
}

/* From the outside inwards: title, legend; caption, name of the x axis, its numbers; those of the
 * y axis.  below gets the baseline of the x axis's name, caption that of the caption. */
static void lay_out(struct chart_plot *p, double *legend_at, double *below, double *caption)
{
    const struct chart *c = p->c;
    double top = EDGE + (c->title ? TITLE_FONT + 8 : 0), bottom = p->h - EDGE;
    *legend_at = top + 11;
    top += ROW * legend(p, 0, false) + (p->n_bars > 0 ? 20 : 10);
    int rows = wrapped(p, c->caption, 0, false);
    *caption = bottom - ROW * (rows - 1);
    bottom -= ROW * rows + (rows > 0 ? 8 : 0);
    *below = bottom;
    bottom -= c->x.label ? ROW + 4 : 0;
    p->area.x0 = EDGE + widest_number(&p->y) + (c->y.label ? ROW + 4 : 0) + 10;
    p->area.x1 = p->w - EDGE - 10;
    double hang = 20;
    if (c->n_categories > 0 && slanted(p))
        hang += 0.58 * fmin(widest_category(c), 260);
    p->area.y0 = top;
    p->area.y1 = fmax(bottom - hang, top + 60);
    p->x.from = p->area.x0;
    p->x.to = p->area.x1;
    p->y.from = p->area.y1;
    p->y.to = p->area.y0;
}

static void draw(struct chart_plot *p)
{
    double legend_at, below, caption;
    lay_out(p, &legend_at, &below, &caption);
    put_head(p);
    if (p->c->title)
        put_text(p, EDGE, EDGE + TITLE_FONT - 2, " class=\"title\"", p->c->title);
    legend(p, legend_at, true);
    put_axes(p);
    put_axis_names(p, below);
    put_series(p);
    wrapped(p, p->c->caption, caption, true);
    str_add(p->out, "</svg>\n");
}

bool chart_svg(const struct chart *c, struct str *out, struct err *e)
{
    struct chart_range x = {0}, y = {0};
    struct chart_plot p = { .c = c, .out = out, .w = c->width > 0 ? c->width : 760,
                            .h = c->height > 0 ? c->height : 480 };
    if (!check(c, e))
        return false;
    find_ranges(c, &x, &y);
    bool fix_x = c->x.lo != 0 || c->x.hi != 0, fix_y = c->y.lo != 0 || c->y.hi != 0;
    if ((!y.any && !fix_y) || (c->n_categories == 0 && !x.any && !fix_x))
        return err_set(e, ERR_RANGE, "the chart has no value to draw");
    for (int k = 0; k < c->n_series; k++)
        p.n_bars += c->series[k].mark == CHART_BARS;
    if (c->n_categories == 0)
        chart_scale_init(&p.x, c->x.log, fix_x ? c->x.lo : x.lo, fix_x ? c->x.hi : x.hi, fix_x,
                         MOST_TICKS + 2);
    chart_scale_init(&p.y, c->y.log, fix_y ? c->y.lo : y.lo, fix_y ? c->y.hi : y.hi, fix_y,
                     MOST_TICKS);
    draw(&p);
    vec_free(&p.taken);
    vec_free(&p.named);
    return true;
}
