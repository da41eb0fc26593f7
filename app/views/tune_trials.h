/* The trials of a search as rows of a document (tune_doc.h). */
#ifndef TS_APP_TUNE_TRIALS_H
#define TS_APP_TUNE_TRIALS_H
#include "app/model/tune_snapshot.h"
#include "app/ui/doc.h"
#include "app/views/tune_plot.h"

#define TUNE_HEADING_FROM 54  /* a pane of so many columns has the complete heading of the trials */

/* Whether there are two kinds of times: single samples of the search, whose rows are then marked,
 * and times of the final or of another measurement. */
bool tune_trials_are_samples(const struct tune_view *v, const struct tune_winner *won);
/* Whether a trial has lost the timing in turns although its median there is not above the winner's.
 * (Its lead is too small to show that it is faster.) */
bool tune_trials_not_faster(const struct tune_winner *won, int trial);
/* Adds a heading and a line per trial. */
void tune_trials_write(struct doc *d, struct arena *a, const struct tune_view *v,
                       const struct tune_families *f, const struct tune_winner *won, int width);
#endif
