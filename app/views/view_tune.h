/* The tuner on the screen, as a document from a struct tune_view alone: where it is, what it found,
 * every trial. */
#ifndef TS_APP_VIEW_TUNE_H
#define TS_APP_VIEW_TUNE_H
#include "app/ui/doc.h"
#include "explorer/tune/view.h"

/* PREPARING: nothing was shown yet.  LENDING: it lets something else be measured.  PAUSING,
 * STOPPING: asked for, but a batch is still being measured.  FINISHING: the best few head to
 * head. */
enum tune_phase {
    TUNE_PREPARING, TUNE_RUNNING, TUNE_LENDING, TUNE_PAUSING, TUNE_PAUSED, TUNE_FINISHING,
    TUNE_STOPPING, TUNE_ENDED
};

struct tune_look {
    enum tune_phase phase;
    const char *end;                     /* ENDED: how, in some words */
    const char *note;                    /* what there is to say besides; NULL, "": nothing */
    int width, height;                   /* of the pane */
    bool letters;                        /* no colours: families are letters in the plot */
    int selected;                        /* the trial that the cursor is on, or -1 */
};
/* Lines of trials have their number as id; the fastest first, failed ones last. */
void tune_view_doc(struct doc *d, const struct tune_view *v, const struct tune_look *look);
/* The line of a trial; -1: it is not there. */
int tune_view_line(const struct doc *d, int trial);
/* About one trial, for the message row. */
void tune_view_hint(struct str *out, const struct tune_view *v, int trial);
/* "joint 184/1000, best 1.23 ms" for the title row. */
void tune_view_status(struct str *out, const struct tune_view *v, enum tune_phase phase);
#endif
