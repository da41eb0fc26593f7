/* Plots a search on a canvas: a dot per trial at its latency, coloured by the layout of the output,
 * and the best time so far as a line. Uses only a struct tune_view. */
#ifndef TS_APP_TUNE_PLOT_H
#define TS_APP_TUNE_PLOT_H
#include "app/ui/canvas.h"
#include "explorer/tune/view.h"

#define TUNE_PLOT_MIN_W 24
#define TUNE_PLOT_MIN_H 6
#define FAMILIES_TOLD_APART 5             /* number of best families with a look of their own; all
                                           * others look alike */

/* The arms with the same layout of the output, taken together. */
struct tune_family { const char *text; int trials, failed; double best_ms; };
/* The families that were tried, best first. of_arm: the family of each arm; -1: not tried. */
struct tune_families { int n; const struct tune_family *family; const int *of_arm; };
struct tune_families tune_plot_families(struct arena *a, const struct tune_view *v);
/* Returns the letter of a family: 'a' for the best one, 'b' for the next; '.' for all families
 * after the first FAMILIES_TOLD_APART, and for -1. */
char tune_plot_letter(int family);
enum style tune_plot_style(int family);

struct tune_plot_look {
    bool letters;  /* whether letters replace dots, because there are no colours */
    bool whole;  /* whether the search has ended: x then ends at its last trial */
    int selected;                         /* a trial to mark, or -1 */
};
/* Draws the plot. Failed trials are at the upper edge. A level dashed line is the start's latency;
 * an upright one is where the loop-only stage begins. */
void tune_plot(struct canvas *c, const struct tune_view *v, const struct tune_families *f,
               const struct tune_plot_look *look);
#endif
