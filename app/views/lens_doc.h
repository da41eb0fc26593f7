/* The cache lens as a document, for the view `lens` and `show --what lens`. */
#ifndef TS_APP_LENS_DOC_H
#define TS_APP_LENS_DOC_H
#include "app/ui/doc.h"
#include "explorer/history/forecast.h"
#include "profile/machine/roofline.h"

/* What the document shows of a lens. rows: height of the pictures. at: index of the touch that the
 * playback shows. loop: the loop whose iterations the keys '.' and ',' play; -1: none. cure: the
 * candidates for a cure. predicted: whether the candidates have predictions and are ranked. now:
 * the prediction for the present program; NULL: no cures are shown. stopped: whether the user has
 * cancelled the predictions. keys: whether to name the keys of the view. counted: the L1 misses of
 * the whole run in the measurement of the state; -1: unknown.  timed: the measurement of the state,
 * by which predicted times are bounded (forecast_bounded); NULL: there is none.  model: predicts
 * the times after the cures, on `target`; NULL: they are not shown.
 *
 * In the document, the lines of cure k have id k. Other lines have an id from LENS_OTHER_LINES on,
 * or none (-1). */
struct lens_look {
    int width, rows, at, loop;
    const struct forecast *cure, *now;
    int n_cures;
    bool predicted, stopped, keys;
    int64_t counted;
    const struct measurement *timed;
    const struct machine_model *model;
    const struct target *target;
};
#define LENS_OTHER_LINES FORECAST_CURES
#define LENS_PLAYBACK 1000000             /* id of the heading of the playback */

void lens_doc(struct doc *d, const struct lens *l, const struct lens_look *k);
/* lens_text.c: the sentences of the document. */

/* Appends "B line 12", or "line 12 beyond the buffers". */
void lens_line_print(struct str *out, const struct lens *l, int32_t line);
/* Appends two lines that evict each other: "B line 12 and B line 140 share set 5, where B has 8 of
 * 8 ways". */
void lens_pair_print(struct str *out, const struct lens *l, const struct lens_pair *p);
/* Appends why the lines of a pair conflict: "B[k][n] moves by 2048 bytes with each K: 128
 * iterations use 2 of 64 sets, which hold 16 lines". Appends nothing if no loop is the cause. */
void lens_stride_print(struct str *out, const struct lens *l, const struct lens_pair *p);
/* Appends how many misses an access has, and of which kinds: "Load B[k][n] has 134M of the 135M
 * misses in L1, nearly all of them capacity misses." */
void lens_cause_print(struct str *out, const struct lens *l, const struct lens_cause *c);
/* Appends, in whole sentences, why the access misses. */
void lens_reason_print(struct str *out, const struct lens *l, const struct lens_cause *c);
/* Appends why no candidate is a cure. Appends nothing if a candidate is one. */
void lens_no_cure_print(struct str *out, const struct lens *l, const struct lens_look *k);
#endif
