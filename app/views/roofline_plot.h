/* The roofline as text: a plot on a canvas, and the table beside it.  Used by the view and by
 * `show --what roofline`. */
#ifndef TS_APP_ROOFLINE_PLOT_H
#define TS_APP_ROOFLINE_PLOT_H
#include "app/ui/canvas.h"
#include "sessions/report/roofline_steps.h"

#define ROOF_PLOT_MIN_W 24
#define ROOF_PLOT_MIN_H 7

/* Draws the roofline with logarithmic axes: the roofs for the number of threads of step[n - 1], and
 * each step as its number, the current step in reverse.  n must be above 0.  Draws nothing on a
 * canvas smaller than ROOF_PLOT_MIN_W x ROOF_PLOT_MIN_H cells. */
void roofline_plot(struct canvas *c, const struct machine_model *model,
                   const struct roof_step *step, int n);
/* Append the heading of the table, and the row of a step: number, FLOP/byte, GFLOP/s, the bound,
 * what sets the bound, and the share of the bound that the step reaches ("-" without a bound). The
 * rest of `width` is for the step's text. A star marks FLOP/byte that were not simulated. */
void roofline_plot_heading(struct str *out);
void roofline_plot_row(struct str *out, const struct roof_step *s, int width);
/* Appends the speed of a step, and if its bound is known, what limits the speed. */
void roofline_plot_remark(struct str *out, const struct roof_step *here);
extern const char roofline_plot_legend[];
/* Returns what the star in rows of these steps means; "": no row has a star. */
const char *roofline_plot_star(const struct roof_step *step, int n);
#endif
