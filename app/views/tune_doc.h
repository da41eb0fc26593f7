/* A search as a document: its progress, its best result and every trial. All of it comes from a
 * struct tune_view and a struct tune_look. */
#ifndef TS_APP_TUNE_DOC_H
#define TS_APP_TUNE_DOC_H
#include "app/model/tune_snapshot.h"
#include "app/ui/doc.h"

struct tune_look {
    enum tune_phase phase;
    const char *end;                     /* how the search has ended, in phase TUNE_ENDED */
    struct tune_winner winner;           /* not known during the search, or if nothing has won */
    double start_before_ms;  /* time of the start as measured in the session; 0: unknown */
    const char *note;                    /* text for a line of its own; NULL or "": no line */
    int width, height;                   /* size of the pane */
    bool letters;  /* whether the plot uses letters, because there are no colours */
    int selected;                        /* the trial that the cursor is on, or -1 */
};
/* Writes the document.  The id of a trial's line is the index of the trial.  The trials that were
 * timed in turns come first, with the winner at the top; then the others, the fastest first and the
 * failed ones last. */
void tune_doc_write(struct doc *d, const struct tune_view *v, const struct tune_look *look);
/* Appends one line about a trial, for the message row. */
void tune_doc_hint(struct str *out, const struct tune_view *v, const struct tune_winner *won,
                   int trial);
/* Appends "joint 184/1000, best 1.23 ms", for the title row. */
void tune_doc_status(struct str *out, const struct tune_view *v, enum tune_phase phase);
#endif
