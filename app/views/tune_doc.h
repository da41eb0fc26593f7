/* The tuner on the screen, as a document from a struct tune_view alone: where it is, what it found,
 * every trial. */
#ifndef TS_APP_TUNE_DOC_H
#define TS_APP_TUNE_DOC_H
#include "app/model/tune_snapshot.h"
#include "app/ui/doc.h"

struct tune_look {
    enum tune_phase phase;
    const char *end;                     /* ENDED: how, in some words */
    const char *note;                    /* what there is to say besides; NULL, "": nothing */
    int width, height;                   /* of the pane */
    bool letters;                        /* no colours: families are letters in the plot */
    int selected;                        /* the trial that the cursor is on, or -1 */
};
/* Lines of trials have their number as id; the fastest first, failed ones last. */
void tune_doc_doc(struct doc *d, const struct tune_view *v, const struct tune_look *look);
/* About one trial, for the message row. */
void tune_doc_hint(struct str *out, const struct tune_view *v, int trial);
/* "joint 184/1000, best 1.23 ms" for the title row. */
void tune_doc_status(struct str *out, const struct tune_view *v, enum tune_phase phase);
#endif
