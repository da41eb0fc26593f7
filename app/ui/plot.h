/* Shared by plots on a canvas: a frame with two axes, linear or logarithmic, and the mapping of
 * values to dots. */
#ifndef TS_APP_PLOT_H
#define TS_APP_PLOT_H
#include "app/ui/canvas.h"

#define PLOT_LEFT 6                       /* columns of the y axis and its numbers */
#define PLOT_BELOW 2                      /* rows of the x axis and its numbers */

/* The caller ensures lo < hi, and 0 < lo if `log` is set.  Only the y axis may have name NULL. */
struct plot_axis { double lo, hi; bool log; const char *name; };
struct plot_area {
    struct canvas *c;
    struct plot_axis x, y;
    int cols, rows;                       /* size of the area, from column PLOT_LEFT and row 0 */
};

/* Opens a plot on the whole canvas. The canvas must be larger than the axes and their numbers. */
void plot_open(struct plot_area *p, struct canvas *c, struct plot_axis x, struct plot_axis y);
/* Appends a number as on the axes, with at most four digits: "0", "0.25", "12.5k", "2e-05". */
void plot_number(struct str *out, double v);
/* Draws the axes with the numbers that fit, the name of y at the top and the name of x at the
 * right. */
void plot_axes(struct plot_area *p);
/* Convert values to dots of the canvas, and dots to cells. */
double plot_x(const struct plot_area *p, double v);
double plot_y(const struct plot_area *p, double v);
int plot_col(double dot);
int plot_row(double dot);
#endif
