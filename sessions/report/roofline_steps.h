/* The roofline of a session: its current state and the steps before it, as points under the roofs
 * of a machine, and the picture of that. */
#ifndef TS_SESSIONS_ROOFLINE_STEPS_H
#define TS_SESSIONS_ROOFLINE_STEPS_H
#include "explorer/history/history.h"
#include "profile/machine/roofline.h"
#include "sessions/report/chart.h"

/* position: in the ledger, 0 = the bare operator; step: its text, the history's. */
struct roof_step { int position; const char *step; bool here; int threads; struct roofline r; };

/* The steps of the current branch up to where it stands that were timed, in order; up to max of
 * them.  model may be NULL.  Returns how many there are. */
int roofline_steps(const struct history *h, const struct machine_model *model,
                   struct roof_step *out, int max);

/* What a picture of those points spans, roofs and all; powers of ten are not rounded to. */
struct roof_span { double x_lo, x_hi, y_lo, y_hi; };
/* threads: whose roofs. */
struct roof_span roofline_steps_span(const struct machine_model *model, int threads,
                                     const struct roof_step *step, int n);

/* As a chart.  ERR_RANGE when no step was timed. */
bool roofline_steps_chart(const struct history *h, const struct machine_model *model,
                          enum chart_form form, const struct cancel *cancel, struct str *out,
                          struct err *e);
#endif
