/* A search as a document, from a struct tune_view alone: its progress, its best result, every
 * trial. */
#ifndef TS_APP_TUNE_DOC_H
#define TS_APP_TUNE_DOC_H
#include "app/model/tune_snapshot.h"
#include "app/ui/doc.h"

struct tune_look {
    enum tune_phase phase;
    const char *end;                     /* phase ENDED: how the search ended */
    struct tune_winner winner;           /* known false: during the search, or nothing has won */
    double start_before_ms;  /* the start's measurement in the session; 0: unknown */
    const char *note;                    /* text for a line of its own; NULL or "": no line */
    int width, height;                   /* size of the pane */
    bool letters;  /* whether there are no colours, so that families are letters in the plot */
    int selected;                        /* the trial that the cursor is on, or -1 */
};
/* Writes the document.  The line of a trial has its number as id.  The winner comes first, then the
 * others that were timed in turns, then the fastest of the search; failed ones come last. */
void tune_doc_write(struct doc *d, const struct tune_view *v, const struct tune_look *look);
/* Appends one line about a trial, for the message row. */
void tune_doc_hint(struct str *out, const struct tune_view *v, const struct tune_winner *won,
                   int trial);
/* Appends "joint 184/1000, best 1.23 ms", for the title row. */
void tune_doc_status(struct str *out, const struct tune_view *v, enum tune_phase phase);
#endif
