/* What the parts of the charts share: a scale maps values to pixels and knows its ticks.  Private
 * to chart*.c. */
#ifndef TS_SESSIONS_CHART_IMPL_H
#define TS_SESSIONS_CHART_IMPL_H
#include "sessions/report/chart.h"

#define CHART_TICKS 24

struct tick { double value; bool minor; };   /* minor: a line without a number */

/* lo..hi maps to the pixels from..to (from > to when the axis goes up). */
struct scale {
    bool log;
    double lo, hi, from, to;
    int n;
    struct tick tick[CHART_TICKS];
};

/* Extends lo..hi to round numbers unless fixed, and chooses the ticks; at most `most` numbers. */
void chart_scale_init(struct scale *s, bool log, double lo, double hi, bool fixed, int most);
double chart_scale_at(const struct scale *s, double value);    /* pixel; NAN when it has none */
/* The part of the segment that lies between the scales' ends; false when none does. */
bool chart_scale_clip(const struct scale *x, const struct scale *y, double p[4]);

/* Width in pixels of a text in the font size, by a table of widths of a common sans serif. */
double chart_text_width(const char *text, double size);
/* Text for XML: escaped, without what XML cannot hold. */
void chart_escape(struct str *out, const char *text);
#endif
