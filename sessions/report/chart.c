#include "sessions/report/chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernels/base/file.h"
#include "kernels/base/vec.h"

#define GROUP 0.8                        /* share of a category's width that bars fill */
#define PALETTE 7
#define FAR 1e100  /* larger values are not drawn; on log axes also those below 1 / FAR */
#define LETTER 7.0                       /* mean width of a letter in pixels */
#define ROW 16.0                         /* pixels from one line of text to the next */
#define FEW_DECADES 1000.0  /* an axis from lo to hi has few decades if hi / lo is at most this */
#define LIMIT_S 30
#define MOST_BYTES ((size_t)64 << 20)
#define NEXT ", \\\n    "                /* between the parts of gnuplot's command plot */

struct chart_scale { bool log; double lo, hi, pixels; };
struct chart_box { double x0, y0, x1, y1; };

struct chart_plot {
    const struct chart *c;
    struct str *out;
    int width, height;
    /* The two `pixels` are estimates, but the ratio of the area's height to its width is exact. */
    struct chart_scale x, y;
    int n_bars;                          /* number of series drawn as bars */
    VEC(struct chart_box) taken;         /* boxes of texts and points, in pixels from the origin */
    struct str layer[6];                 /* parts of the plot; later ones are drawn over earlier */
};

static const char *const colour_code[CHART_COLOURS] = {
    "#0072b2", "#d55e00", "#009e73", "#b5508f", "#b07d00", "#2f8fc6", "#6b5b00", "#777777",
};

static int colour_of(const struct chart_plot *p, const struct chart_series *s)
{
    bool given = s->colour >= 1 && s->colour <= CHART_COLOURS;
    return given ? s->colour - 1 : (int)(s - p->c->series) % PALETTE;
}

/* --- Scales ----------------------------------------------------------------------------------- */

static bool usable(const struct chart_scale *s, double v)
{
    return fabs(v) <= FAR && (!s->log || v >= 1 / FAR);
}

static double pixel(const struct chart_scale *s, double v)
{
    double part = s->log ? log(v / s->lo) / log(s->hi / s->lo) : (v - s->lo) / (s->hi - s->lo);
    return part * s->pixels;
}

static double text_width(const char *text)
{
    return LETTER * (double)strlen(text);
}

static void widen(struct chart_scale *s, const double *value, int n)
{
    for (int i = 0; value && i < n; i++)
        if (usable(s, value[i])) {
            s->lo = fmin(s->lo, value[i]);
            s->hi = fmax(s->hi, value[i]);
        }
}

/* Returns the nearest number that is 1, 2 or 5 times a power of ten and at most v (up = false) or
 * at least v (up = true). */
static double notch(double v, bool up)
{
    double power = pow(10, floor(log10(v))), digit = v / power;
    if (up)
        return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
    return power * (digit >= 5 ? 5 : digit >= 2 ? 2 : 1);
}

/* Sets the ends of a scale: those of the axis, or, if the axis has none, ends that include all
 * values. */
static bool settle(struct chart_scale *s, const struct chart_axis *a, char name, struct err *e)
{
    if (a->lo != 0 || a->hi != 0) {
        s->lo = a->lo;
        s->hi = a->hi;
        return (usable(s, s->lo) && usable(s, s->hi) && s->lo < s->hi)
            || err_set(e, ERR_RANGE, "the %c axis cannot go from %g to %g", name, s->lo, s->hi);
    }
    if (!(s->lo <= s->hi))
        return err_set(e, ERR_RANGE, "the chart has no value to draw");
    s->lo = s->log ? notch(s->lo / 1.2, false) : 1.06 * fmin(s->lo, 0);
    s->hi = s->log ? notch(s->hi * 1.2, true) : 1.06 * fmax(s->hi, 0);
    if (!(s->lo < s->hi))
        s->hi = 1;
    return true;
}

static bool has_x(const struct chart_series *s)
{
    return s->x && s->mark != CHART_BARS;
}

static bool find_scales(struct chart_plot *p, struct err *e)
{
    const struct chart *c = p->c;
    double below = c->caption ? ROW * (1.5 + text_width(c->caption) / p->width) : 0;
    p->x = (struct chart_scale){ c->x.log, INFINITY, -INFINITY, fmax(60, p->width - 90) };
    p->y = (struct chart_scale){ c->y.log, INFINITY, -INFINITY, fmax(60, p->height - 135 - below) };
    for (const struct chart_series *s = c->series; s < c->series + c->n_series; s++) {
        if (!has_x(s) && s->n > c->n_categories)
            return err_set(e, ERR_RANGE, "a series has %d values for %d categories", s->n,
                           c->n_categories);
        widen(&p->x, has_x(s) ? s->x : NULL, s->n);
        widen(&p->y, s->y, s->n);
        widen(&p->y, s->lo, s->n);
        widen(&p->y, s->hi, s->n);
        p->n_bars += s->mark == CHART_BARS;
    }
    struct chart_axis slots = { .lo = -0.5, .hi = c->n_categories - 0.5 };
    p->x.log = c->x.log && c->n_categories == 0;
    return settle(&p->x, c->n_categories > 0 ? &slots : &c->x, 'x', e)
        && settle(&p->y, &c->y, 'y', e);
}

/* Returns the x of value i.  bar: how many series of bars come before this one. */
static double x_of(const struct chart_plot *p, const struct chart_series *s, int i, int bar)
{
    if (has_x(s))
        return s->x[i];
    return s->mark == CHART_BARS ? i + GROUP * ((bar + 0.5) / p->n_bars - 0.5) : i;
}

/* --- Texts ------------------------------------------------------------------------------------ */

/* Prints a text as a string of gnuplot.  gnuplot replaces `commands` and @names before it parses
 * strings, so that ` and @, like quotes, must be written as character codes.  tick: whether the
 * text is the label of a tick, which is also a format: % is then doubled. */
static void put_quoted(struct str *out, const char *text, bool tick)
{
    struct str shown = {0};
    str_add_shown(&shown, text, strlen(text), "\n");
    str_add_char(out, '"');
    for (const char *q = str_text(&shown); *q; q++) {
        if (str_starts(q, "\xEF\xBF\xBE") || str_starts(q, "\xEF\xBF\xBF"))
            q += 2;                      /* skip U+FFFE and U+FFFF, which XML cannot hold */
        else if (strchr("\"'`@\\\n", *q))
            str_printf(out, "\\%03o", (unsigned)*q);
        else
            str_repeat(out, *q, tick && *q == '%' ? 2 : 1);
    }
    str_add_char(out, '"');
    str_free(&shown);
}

static void put_setting(struct chart_plot *p, const char *what, const char *text, const char *more)
{
    if (!text || !*text)
        return;
    str_printf(p->out, "set %s ", what);
    put_quoted(p->out, text, false);
    str_printf(p->out, "%s\n", more);
}

/* --- Axes ------------------------------------------------------------------------------------- */

/* Prints the scale of an axis.  On a logarithmic axis with few decades, gnuplot would write only
 * one or two numbers, so the script says where numbers stand. */
static void put_scale(struct chart_plot *p, char name, const struct chart_scale *s)
{
    static const int digit[] = { 1, 2, 5 };
    const char *comma = "";
    str_printf(p->out, "set %crange [%.9g:%.9g]\n", name, s->lo, s->hi);
    if (s->log)
        str_printf(p->out, "set logscale %c\n", name);
    if (!s->log || s->hi / s->lo > FEW_DECADES)
        return;
    str_printf(p->out, "set %ctics (", name);
    for (int k = (int)floor(log10(s->lo)); k <= (int)ceil(log10(s->hi)); k++)
        for (int d = 0; d < COUNT_OF(digit); d++) {
            double v = digit[d] * pow(10, k);
            if (v < 0.999 * s->lo || v > 1.001 * s->hi)
                continue;
            str_printf(p->out, "%s%.9g", comma, v);
            comma = ", ";
        }
    str_add(p->out, ")\n");
}

/* Prints the names of categories. Names that do not fit side by side are slanted. */
static void put_categories(struct chart_plot *p)
{
    double widest = 0;
    str_add(p->out, "set xtics (");
    for (int i = 0; i < p->c->n_categories; i++) {
        put_quoted(p->out, p->c->category[i], true);
        str_printf(p->out, " %d%s", i, i + 1 < p->c->n_categories ? ", " : ")");
        widest = fmax(widest, text_width(p->c->category[i]));
    }
    bool slanted = widest + LETTER > p->x.pixels / p->c->n_categories;
    str_printf(p->out, " scale 0%s\n", slanted ? " rotate by 35 right" : "");
}

/* Prints the axes.  The caption is printed as further lines of the x axis' name, because gnuplot
 * then reserves room for it. */
static void put_axes(struct chart_plot *p)
{
    const struct chart *c = p->c;
    struct str below = {0};
    put_scale(p, 'x', &p->x);
    put_scale(p, 'y', &p->y);
    if (c->n_categories > 0)
        put_categories(p);
    put_setting(p, "ylabel", c->y.label, "");
    str_add(&below, c->x.label ? c->x.label : "");
    str_add(&below, c->x.label && c->caption ? "\n\n" : "");
    str_wrap(&below, c->caption ? c->caption : "", (int)(p->width / LETTER), 0);
    put_setting(p, "xlabel", str_text(&below), "");
    str_free(&below);
}

/* --- Labels ----------------------------------------------------------------------------------- */

/* Reserves a box for a label.  Returns false, and reserves nothing, if the box overlaps another one
 * or crosses the left, the lower or the upper edge of the area within the axes. */
static bool take(struct chart_plot *p, struct chart_box b)
{
    if (b.x0 < 0 || b.y0 < 0 || b.y1 > p->y.pixels)
        return false;
    for (int i = 0; i < p->taken.len; i++) {
        const struct chart_box *t = &p->taken.data[i];
        if (t->x0 < b.x1 && b.x0 < t->x1 && t->y0 < b.y1 && b.y0 < t->y1)
            return false;
    }
    vec_push(&p->taken, b);
    return true;
}

static void put_label(struct chart_plot *p, const char *text, double x, double y, const char *more)
{
    str_add(p->out, "set label ");
    put_quoted(p->out, text, false);
    str_printf(p->out, " at graph %.4f,%.4f %s\n", x / p->x.pixels, y / p->y.pixels, more);
}

/* Writes the name of a line along its first piece: at the low end of a rising piece, at the right
 * end of a level one.  The name stands above the line; if there is no room, below it. */
static void put_along(struct chart_plot *p, const struct chart_series *s)
{
    char more[128];
    double x0 = pixel(&p->x, s->x[0]), x1 = pixel(&p->x, s->x[1]);
    double y0 = pixel(&p->y, s->y[0]), y1 = pixel(&p->y, s->y[1]);
    double length = hypot(x1 - x0, y1 - y0), w = text_width(s->name);
    bool level = fabs(y1 - y0) < 1;
    double part = level ? 1 - 6 / length : fmax(0, -y0 / (y1 - y0)) + 14 / length;
    double x = x0 + part * (x1 - x0), y = y0 + part * (y1 - y0), left = level ? x - w : x;
    if (!isfinite(x + y))
        return;
    bool above = take(p, (struct chart_box){ left, y, left + (level ? w : 40), y + ROW });
    snprintf(more, sizeof more, "%s rotate by %.1f offset 0,%g font ',11' textcolor rgb '%s'",
             level ? "right" : "left", atan2(y1 - y0, x1 - x0) * 180 / M_PI, above ? 0.7 : -0.7,
             colour_code[colour_of(p, s)]);
    put_label(p, s->name, x, y, more);
}

/* Places a label at the first free position: right of the point, above, below, left, then further
 * away.  If no position is free, places it right of the point. */
static void put_beside(struct chart_plot *p, const char *text, double x, double y)
{
    /* distance from the point, x in letters and y in rows */
    static const struct { int x, y; } place[] = {
        { 1, 0 }, { 0, 1 }, { 0, -1 }, { -1, 0 }, { 1, 1 }, { 1, -1 }, { -1, 1 }, { -1, -1 },
        { 0, 2 }, { 0, -2 }, { 3, 0 }, { -3, 0 },
    };
    char more[64];
    double w = text_width(text);
    int i = 0;
    for (; i < COUNT_OF(place); i++) {
        double left = x + place[i].x * LETTER - (place[i].x < 0 ? w : place[i].x > 0 ? 0 : w / 2);
        double low = y + (place[i].y - 0.4) * ROW;
        if (take(p, (struct chart_box){ left, low, left + w, low + 0.8 * ROW }))
            break;
    }
    i %= COUNT_OF(place);
    snprintf(more, sizeof more, "%s offset %d,%d", place[i].x < 0 ? "right" : place[i].x > 0
             ? "left" : "center", place[i].x, place[i].y);
    put_label(p, text, x, y, more);
}

/* Reserves the boxes of the points of a series (labels = false), or prints the labels of the points
 * (labels = true).  The caller must reserve the boxes of all series before it prints labels. */
static void put_points(struct chart_plot *p, const struct chart_series *s, bool labels)
{
    for (int i = 0; i < s->n; i++) {
        double x = pixel(&p->x, x_of(p, s, i, 0)), y = pixel(&p->y, s->y[i]);
        if (!(x >= 0 && x <= p->x.pixels && y >= 0 && y <= p->y.pixels))
            continue;
        if (!labels)
            vec_push(&p->taken, ((struct chart_box){ x - 4, y - 4, x + 4, y + 4 }));
        else if (s->label && s->label[i])
            put_beside(p, s->label[i], x, y);
    }
}

/* Writes over each bar its label.  In the place of a bar that cannot be drawn, writes the bar's
 * number, or "n/a" for an unknown number. */
static void put_bar_labels(struct chart_plot *p, const struct chart_series *s, int bar)
{
    for (int i = 0; i < s->n; i++) {
        char number[32] = "n/a";
        const char *text = s->label ? s->label[i] : NULL;
        double v = s->y[i], top = s->hi && usable(&p->y, s->hi[i]) ? fmax(v, s->hi[i]) : v;
        if (isfinite(v))
            snprintf(number, sizeof number, "%.4g", v);
        double y = usable(&p->y, v) ? pixel(&p->y, p->y.log ? top : fmax(top, 0)) : 0;
        if (!usable(&p->y, v) || (text && *text))
            put_label(p, usable(&p->y, v) ? text : number, pixel(&p->x, x_of(p, s, i, bar)),
                      fmax(0, fmin(y, p->y.pixels)), "center offset 0,0.6 font ',10'");
    }
}

static void put_labels(struct chart_plot *p)
{
    const struct chart_series *s = p->c->series, *end = s + p->c->n_series;
    for (int bar = 0; s < end; s++) {
        if (s->mark == CHART_BARS)
            put_bar_labels(p, s, bar++);
        else if (s->mark == CHART_LINE && s->along && s->name && s->x && s->n > 1)
            put_along(p, s);
    }
    for (int labels = 0; labels < 2; labels++)
        for (s = p->c->series; s < end; s++)
            if (s->mark == CHART_POINTS)
                put_points(p, s, labels);
}

/* --- Series ----------------------------------------------------------------------------------- */

/* Prints the whiskers of bars or points, or the band of a line, if the series has them. */
static void put_spread(struct chart_plot *p, struct str *layer, const struct chart_series *s)
{
    if (!s->lo || !s->hi)
        return;
    str_printf(layer, NEXT "$values%d using 1:3:", (int)(s - p->c->series));
    if (s->mark == CHART_LINE)
        str_printf(layer, "4 with filledcurves fs transparent solid 0.15 lc rgb '%s' notitle",
                   colour_code[colour_of(p, s)]);
    else
        str_add(layer, "(0):($4-$3) with vectors heads size screen 0.004,90 lc rgb '#444444'"
                " notitle");
}

static void put_style(struct chart_plot *p, struct str *layer, const struct chart_series *s)
{
    static const int shape[] = { 7, 5, 9, 13 };   /* circle, square, triangle, diamond */
    int colour = colour_of(p, s);
    if (s->mark == CHART_BARS)
        str_add(layer, "with boxes");
    else if (s->mark == CHART_LINE)
        str_printf(layer, "with lines lw %d dt %d", s->strong ? 3 : 2, (int)s->dash + 1);
    else
        str_printf(layer, "with points pt %d ps %g", shape[colour % 4], s->strong ? 1.0 : 0.7);
    str_printf(layer, " lc rgb '%s' ", colour_code[colour]);
    if (!s->name || s->along) {
        str_add(layer, "notitle");
        return;
    }
    str_add(layer, "title ");
    put_quoted(layer, s->name, false);
}

/* Writes a data block with the columns x, y and, if any, the ends of the whisker.  A value that
 * cannot be drawn becomes a blank line, which makes a gap.  Returns how many values can be
 * drawn. */
static int put_values(struct chart_plot *p, const struct chart_series *s, int bar)
{
    int n = 0;
    str_printf(p->out, "$values%d << end\n", (int)(s - p->c->series));
    for (int i = 0; i < s->n; i++) {
        double x = x_of(p, s, i, bar), y = s->y[i];
        bool known = usable(&p->x, x) && usable(&p->y, y);
        n += known;
        if (known)
            str_printf(p->out, "%.9g %.9g", x, y);
        if (known && s->lo && s->hi)
            str_printf(p->out, " %.9g %.9g", usable(&p->y, s->lo[i]) ? s->lo[i] : y,
                       usable(&p->y, s->hi[i]) ? s->hi[i] : y);
        str_add(p->out, "\n");
    }
    str_add(p->out, "end\n");
    return n;
}

/* Prints bars, then lines, then points; of each kind, the strong ones last.  A series without
 * values still has its entry in the legend. */
static void put_series(struct chart_plot *p)
{
    static const int level[] = { [CHART_BARS] = 0, [CHART_LINE] = 2, [CHART_POINTS] = 4 };
    struct str all = {0};
    for (int k = 0, bar = 0; k < p->c->n_series; bar += p->c->series[k++].mark == CHART_BARS) {
        const struct chart_series *s = &p->c->series[k];
        struct str *layer = &p->layer[level[s->mark] + s->strong];
        int n = put_values(p, s, bar);
        if (n > 0 && s->mark != CHART_BARS)
            put_spread(p, layer, s);
        if (n > 0)
            str_printf(layer, NEXT "$values%d ", k);
        else
            str_add(layer, NEXT "NaN ");
        put_style(p, layer, s);
        if (n > 0 && s->mark == CHART_BARS)
            put_spread(p, layer, s);
    }
    for (int i = 0; i < COUNT_OF(p->layer); i++) {
        str_add(&all, str_text(&p->layer[i]));
        str_free(&p->layer[i]);
    }
    str_printf(p->out, "plot %s\n", all.len > 0 ? str_text(&all) + strlen(NEXT) : "NaN notitle");
    str_free(&all);
}

/* --- The script ------------------------------------------------------------------------------- */

/* Prints the head of the script.  A name along a line has the angle of the line, which depends on
 * the shape of the area within the axes.  If the x axis is numeric, the script therefore fixes that
 * shape. */
static void put_head(struct chart_plot *p, enum chart_form form, const char *output)
{
    bool numbers = p->c->n_categories == 0;
    str_printf(p->out, "set encoding utf8\nset terminal %s size %d,%d noenhanced"
               " background '#ffffff' font 'Helvetica,12'\n",
               form == CHART_PNG ? "pngcairo fontscale 0.75" : "svg", p->width, p->height);
    if (output)
        str_printf(p->out, "set output '%s'\n", output);
    put_setting(p, "multiplot layout 1,1 title", p->c->title, " font ',15'");
    str_add(p->out, "set key above left horizontal Left reverse samplen 2\n"
                    "set border 3 linecolor rgb '#444444'\nset tics nomirror\nset format '%g'\n"
                    "set style fill solid noborder\nset clip two\n");
    str_printf(p->out, "set grid %sytics mytics lt 1 lc rgb '#dddddd', lt 1 lc rgb '#eeeeee'\n",
               numbers ? "xtics mxtics " : "");
    if (p->n_bars > 0)
        str_printf(p->out, "set boxwidth %.9g\n", 0.94 * GROUP / p->n_bars);
    if (numbers)
        str_printf(p->out, "set size ratio %.4f\n", p->y.pixels / p->x.pixels);
}

static bool put_script(const struct chart *c, enum chart_form form, const char *output,
                       struct str *out, struct err *e)
{
    struct chart_plot p = { .c = c, .out = out, .width = c->width > 0 ? c->width : 760,
                            .height = c->height > 0 ? c->height : 480 };
    if (!find_scales(&p, e))
        return false;
    put_head(&p, form, output);
    put_axes(&p);
    put_labels(&p);
    put_series(&p);
    vec_free(&p.taken);
    return true;
}

/* --- gnuplot ---------------------------------------------------------------------------------- */

bool chart_form_of(const char *path, enum chart_form *form)
{
    static const char *const ending[] = { ".gp", ".svg", ".png" };
    for (int i = 0; i < COUNT_OF(ending); i++)
        if (str_ends(path, ending[i])) {
            *form = (enum chart_form)i;
            return true;
        }
    return false;
}

bool chart_ready(enum chart_form form, struct err *e)
{
    if (form == CHART_SCRIPT || subprocess_find("gnuplot", NULL))
        return true;
    err_set(e, ERR_ENV, "gnuplot is not installed, so no chart can be drawn");
    return err_fix(e, "apt-get install gnuplot-nox");
}

/* Runs gnuplot.  Its option -d makes it ignore the user's own settings. */
static bool run_gnuplot(const struct str *script, const struct cancel *cancel, struct err *e)
{
    const char *const argv[] = { "gnuplot", "-d", "/dev/fd/3", NULL };
    struct subprocess_result res;
    if (!subprocess_run_on(str_text(script), script->len, argv, LIMIT_S, cancel, &res, e))
        return false;
    bool ok = !subprocess_failed(&res);
    if (res.timed_out || res.signal)
        subprocess_refuse("gnuplot", &res, LIMIT_S, e);
    else if (!ok)
        err_set(e, ERR_ENV, "gnuplot cannot draw a chart: exit code %d: %.150s", res.exit_code,
                str_text(&res.out));
    str_free(&res.out);
    return ok;
}

bool chart_draw(const struct chart *c, enum chart_form form, const struct cancel *cancel,
                struct str *out, struct err *e)
{
    if (form == CHART_SCRIPT)
        return put_script(c, form, NULL, out, e);
    char to[64];
    struct str script = {0};
    int drawn = memfd_create("tilescope-chart", MFD_CLOEXEC);
    snprintf(to, sizeof to, "/proc/%d/fd/%d", (int)getpid(), drawn);
    bool ok = chart_ready(form, e) && put_script(c, form, to, &script, e)
           && run_gnuplot(&script, cancel, e) && file_read(to, MOST_BYTES, out, e);
    close(drawn);
    str_free(&script);
    return ok;
}
