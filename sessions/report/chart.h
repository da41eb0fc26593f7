/* Charts: lines, points and grouped bars over linear, logarithmic or named positions, with
 * whiskers, labels, a legend, a title and a caption.
 *
 * A chart becomes a script for gnuplot, which draws it as SVG or PNG.  Colour-blind readers can
 * tell the colours apart (they are those of Okabe and Ito); shapes and dashes repeat what colours
 * say.  The same chart gives the same script. */
#ifndef TS_SESSIONS_CHART_H
#define TS_SESSIONS_CHART_H
#include "kernels/base/err.h"
#include "kernels/base/str.h"
#include "kernels/base/subprocess.h"

#define CHART_COLOURS 8  /* colours 1..7 of the palette; 8 = grey, for the background */

enum chart_mark { CHART_LINE, CHART_POINTS, CHART_BARS };
enum chart_dash { DASH_NONE, DASH_LONG, DASH_DOTS };

/* A series of n values.  If x is NULL, and always for bars, value i stands at category i.  A y of
 * NAN is a value that was not measured: it makes a gap in a line, or "n/a" instead of a bar.  On a
 * logarithmic axis, a y of 0 or less also makes a gap in a line; instead of a bar, its number is
 * written. */
struct chart_series {
    const char *name;                    /* NULL: not in the legend */
    enum chart_mark mark;
    int n;
    const double *x, *y;
    const double *lo, *hi;  /* ends of whiskers, or edges of a line's band; NULL: none are drawn */
    const char *const *label;  /* texts beside points or over bars; NULL, or a NULL entry: none */
    int colour;                          /* 1..CHART_COLOURS; 0: by the index of the series */
    enum chart_dash dash;                /* how a line is drawn */
    bool along;  /* whether the name stands along the line and not in the legend */
    bool strong;                         /* whether it is drawn larger, and over other series */
};

/* An axis from lo to hi.  If both are 0, it covers all values; a linear axis then also covers 0. */
struct chart_axis {
    const char *label;                   /* name with its unit: "latency (ms)" */
    bool log;
    double lo, hi;
};

struct chart {
    const char *title;                   /* may be NULL */
    const char *caption;                 /* below the chart, wrapped; may be NULL */
    struct chart_axis x, y;
    int n_categories;                    /* 0: the x axis has numbers */
    const char *const *category;
    int n_series;
    const struct chart_series *series;
    int width, height;                   /* in pixels; 0 = 760 x 480 */
};

enum chart_form { CHART_SCRIPT, CHART_SVG, CHART_PNG };

/* Sets *form to the format for the ending of a file name: .gp (the script), .svg or .png.  Returns
 * false for other endings. */
bool chart_form_of(const char *path, enum chart_form *form);
/* Whether charts of this form can be drawn here.  ERR_ENV: gnuplot is missing. */
bool chart_ready(enum chart_form form, struct err *e);
/* Appends the file.  Texts must be UTF-8; characters that XML forbids are left out or replaced.
 * ERR_RANGE: there is no value to draw, a series has more values than there are categories, or an
 * axis is impossible, such as a logarithmic axis from 0. */
bool chart_draw(const struct chart *c, enum chart_form form, const struct cancel *cancel,
                struct str *out, struct err *e);
#endif
