/* The roofline as text: a plot on a canvas, and the table beside it.  Used by the view and by
 * `show --what roofline`. */
#ifndef TS_APP_ROOFLINE_PLOT_H
#define TS_APP_ROOFLINE_PLOT_H
#include "app/ui/canvas.h"
#include "sessions/report/roofline_steps.h"

#define ROOF_PLOT_MIN_W 24
#define ROOF_PLOT_MIN_H 7

/* Both axes logarithmic; roofs of step[n - 1]'s threads; steps as their numbers, the current one in
 * reverse.  n > 0. */
void roofline_plot(struct canvas *c, const struct machine_model *model,
                   const struct roof_step *step, int n);
/* Heading and a row per step: number, FLOP/byte, GFLOP/s, bound, share of it; what does not fit
 * width is the step's text. */
void roofline_plot_heading(struct str *out);
void roofline_plot_row(struct str *out, const struct roof_step *s, int width);
/* Appends a sentence about what limits the current point. */
void roofline_plot_remark(struct str *out, const struct roof_step *here);
extern const char roofline_plot_legend[];
#endif
