/* The roofline of a session: points for its current state and the steps before it, under the roofs
 * of a machine; and a chart of them. */
#ifndef TS_SESSIONS_ROOFLINE_STEPS_H
#define TS_SESSIONS_ROOFLINE_STEPS_H
#include "explorer/history/history.h"
#include "profile/machine/roofline.h"
#include "sessions/report/chart.h"

#define ROOFLINE_BESIDE "Winograd's additions can run beside multiply-adds"

/* A timed step.  `position`: its row in the ledger; 0: the operator without steps.  `step`: its
 * text, owned by the history.  `here`: whether its state is the current one.  `algorithm`: it
 * computes by Winograd, and may pass the FMA ceiling; ROOFLINE_BESIDE says why. */
struct roof_step {
    int position, threads;
    const char *step;
    bool here, algorithm;
    struct roofline r;
};

/* Stores at most `max` of the timed steps of the current branch, in order, up to its current state.
 * model may be NULL.  Returns the number of timed steps, which may be more than max. */
int roofline_steps(const struct history *h, const struct machine_model *model,
                   struct roof_step *out, int max);

/* Ranges of the axes: intensity in FLOPs per byte (x) and speed in GFLOP/s (y). */
struct roof_span { double x_lo, x_hi, y_lo, y_hi; };
/* Returns the axis ranges of the points and of the roofs for this number of threads.  Speeds far
 * below the highest one can lie outside. */
struct roof_span roofline_steps_span(const struct machine_model *model, int threads,
                                     const struct roof_step *step, int n);

/* Draws the chart.  ERR_RANGE: no step was timed. */
bool roofline_steps_chart(const struct history *h, const struct machine_model *model,
                          enum chart_form form, const struct cancel *cancel, struct str *out,
                          struct err *e);
#endif
