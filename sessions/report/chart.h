/* Charts: lines, points and grouped bars over linear, logarithmic or named positions, with
 * whiskers, labels, a legend, a title and a caption.
 *
 * A chart becomes a script for gnuplot, which draws it as SVG or PNG.  Colours are after Okabe and
 * Ito, which colour-blind readers tell apart; shapes and dashes repeat what colours say.  The same
 * chart gives the same script. */
#ifndef TS_SESSIONS_CHART_H
#define TS_SESSIONS_CHART_H
#include "kernels/base/err.h"
#include "kernels/base/str.h"
#include "kernels/base/subprocess.h"

#define CHART_COLOURS 8  /* colours 1..7 of the palette; 8 = grey, for the background */

enum chart_mark { CHART_LINE, CHART_POINTS, CHART_BARS };
enum chart_dash { DASH_NONE, DASH_LONG, DASH_DOTS };

/* n values. Without x, value i is at category i (bars always are). A y of NAN is a value that was
 * not measured: it makes a gap in a line, or "n/a" instead of a bar. On a logarithmic axis a y at
 * or below 0 is also a gap in a line, and a bar is replaced by its number. */
struct chart_series {
    const char *name;                    /* NULL: not in the legend */
    enum chart_mark mark;
    int n;
    const double *x, *y;
    const double *lo, *hi;               /* ends of whiskers, or of a line's band; NULL: none */
    const char *const *label;  /* texts beside points, over bars; NULL, or NULL entries: none */
    int colour;                          /* 1..CHART_COLOURS; 0 = the next one */
    enum chart_dash dash;                /* how a line is drawn */
    bool along;  /* whether the name stands along the line and not in the legend */
    bool strong;                         /* whether it is drawn larger, on top of the others */
};

/* If lo and hi are both 0, the axis covers all values, and a linear axis also 0. */
struct chart_axis {
    const char *label;                   /* name with its unit: "latency (ms)" */
    bool log;
    double lo, hi;
};

struct chart {
    const char *title;                   /* may be NULL */
    const char *caption;                 /* below the chart, wrapped; may be NULL */
    struct chart_axis x, y;
    int n_categories;                    /* 0 = x is a number */
    const char *const *category;
    int n_series;
    const struct chart_series *series;
    int width, height;                   /* in pixels; 0 = 760 x 480 */
};

enum chart_form { CHART_SCRIPT, CHART_SVG, CHART_PNG };

/* Returns the format for the ending of a file name: .gp (the script), .svg or .png. */
bool chart_form_of(const char *path, enum chart_form *form);
/* Whether charts of this form can be drawn here.  ERR_ENV when gnuplot is missing. */
bool chart_ready(enum chart_form form, struct err *e);
/* Appends the file. Texts are UTF-8; characters that XML forbids are replaced. ERR_RANGE: no value
 * to draw, or an impossible axis (a logarithmic one from 0). */
bool chart_draw(const struct chart *c, enum chart_form form, const struct cancel *cancel,
                struct str *out, struct err *e);
#endif
