/* The cache lens as a document, for the view `lens` and `show --what lens`. */
#ifndef TS_APP_LENS_DOC_H
#define TS_APP_LENS_DOC_H
#include "app/ui/doc.h"
#include "explorer/history/forecast.h"

/* cures: ranked; n_cures 0: none are known yet.  now: the program as it is.  at: the touch of the
 * playback. loop: the chosen loop; -1: none. rows: of the pictures. keys: names the keys of the
 * view.  In the document, line k of the cures has id k, all others ids from LENS_OTHER_LINES on. */
struct lens_look {
    int width, rows, at, loop;
    const struct forecast *cure, *now;
    int n_cures;
    bool keys;
};
#define LENS_OTHER_LINES FORECAST_CURES

void lens_doc(struct doc *d, const struct lens *l, const struct lens_look *k);
/* Appends a description of a pair: "B line 12 and B line 140 share set 5, 8 of 8 ways". */
void lens_pair_print(struct str *out, const struct lens *l, const struct lens_pair *p);
/* Appends the reason: "B[k][n] moves by 2048 bytes with each K: 128 iterations use 2 of 64 sets";
 * nothing when no loop causes it. */
void lens_stride_print(struct str *out, const struct lens *l, const struct lens_pair *p);
/* Returns the number of steps that clearly reduce the misses. They are the first of the cures. */
int lens_cures_that_help(const struct lens_look *k);
#endif
