/* Charts as standalone SVG: lines, points and grouped bars over linear, logarithmic or named
 * positions, with whiskers, labels, a legend, a title and a caption.
 *
 * The file needs nothing beside itself: its own background, system fonts, two sets of colours
 * (light, and dark where the viewer asks for it).  Colours are after Okabe and Ito, which
 * colour-blind readers tell apart; shapes and dashes repeat what colours say.  The same chart gives
 * the same bytes. */
#ifndef TS_SESSIONS_CHART_H
#define TS_SESSIONS_CHART_H
#include "kernels/base/err.h"
#include "kernels/base/str.h"

#define CHART_COLOURS 8                  /* 1..7 of the palette, 8 = grey, for what is background */

enum chart_mark { CHART_LINE, CHART_POINTS, CHART_BARS };
enum chart_dash { DASH_NONE, DASH_LONG, DASH_DOTS };

/* n values.  What x leaves NULL stands at the categories, value i at category i (bars always do).
 * A y of NAN is a value that nobody measured: a gap, and "n/a" where a bar would be; so is one at
 * or below 0 on a logarithmic axis, where a bar says its number instead. */
struct chart_series {
    const char *name;                    /* NULL = not in the legend */
    enum chart_mark mark;
    int n;
    const double *x, *y;
    const double *lo, *hi;               /* whiskers, one pair a value; NULL = none */
    const char *const *label;            /* beside points, over bars; NULL, or NULL entries */
    int colour;                          /* 1..CHART_COLOURS; 0 = the next one */
    enum chart_dash dash;                /* of lines */
    bool along;                          /* the name stands along the line, not in the legend */
    bool strong;                         /* drawn larger, on top of the others */
};

/* lo and hi both 0: from the values.  Bars on a linear axis begin at 0. */
struct chart_axis {
    const char *label;                   /* with its unit: "latency (ms)" */
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
    int width, height;                   /* 0 = 760 x 480 */
};

/* Texts are UTF-8; what XML cannot hold is left out.  ERR_RANGE when there is no value to draw, or
 * an axis that makes no sense (a logarithmic one from 0). */
bool chart_svg(const struct chart *c, struct str *out, struct err *e);

/* "0", "0.25", "12.5k", "3M", "2e-05": at most four digits, as on the axes. */
void chart_number(struct str *out, double v);
#endif
