/* Plots a search on a canvas: a dot for each trial at its latency, with a colour for the layout of
 * the output, and the best time so far as a line. All data is in a struct tune_view. */
#ifndef TS_APP_TUNE_PLOT_H
#define TS_APP_TUNE_PLOT_H
#include "app/ui/canvas.h"
#include "explorer/tune/view.h"

#define TUNE_PLOT_MIN_W 24
#define TUNE_PLOT_MIN_H 6
#define FAMILIES_TOLD_APART 5             /* the best families each have a look of their own; all
                                           * families after these look alike */

/* A family: all arms with the same layout of the output. text: that layout. best_ms: the time of
 * its best trial, or INFINITY. */
struct tune_family { const char *text; int trials, failed; double best_ms; };
/* The families that were tried, the best first. of_arm: for each arm the index of its family; -1:
 * the arm was not tried. */
struct tune_families { int n; const struct tune_family *family; const int *of_arm; };
struct tune_families tune_plot_families(struct arena *a, const struct tune_view *v);
/* Returns the letter of a family: 'a' for the best one, 'b' for the next; '.' for all families
 * after the first FAMILIES_TOLD_APART, and for -1. */
char tune_plot_letter(int family);
enum style tune_plot_style(int family);

struct tune_plot_look {
    bool letters;  /* whether letters replace dots, because there are no colours */
    bool whole;  /* whether the search has ended; the x axis then ends at the last trial */
    int selected;                         /* a trial to mark, or -1 */
};
/* Draws the plot; nothing on a canvas smaller than TUNE_PLOT_MIN_W x TUNE_PLOT_MIN_H cells. Failed
 * trials are at the upper edge. A level dashed line is at the start's latency; an upright dashed
 * line is at the first trial of the loop-only stage. */
void tune_plot(struct canvas *c, const struct tune_view *v, const struct tune_families *f,
               const struct tune_plot_look *look);
#endif
