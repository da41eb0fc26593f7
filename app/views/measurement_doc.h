/* A measurement as a document, for the profile view and for `tilescope run`: rows that begin with a
 * label ("latency:  1.076 ms median ..."), then tables of what the cache simulator counted. */
#ifndef TS_APP_MEASUREMENT_DOC_H
#define TS_APP_MEASUREMENT_DOC_H
#include "app/ui/doc.h"
#include "explorer/history/history.h"
#include "profile/machine/roofline.h"

#define MEASUREMENT_LABEL 10              /* columns of the labels */

struct measurement_look {
    int width;                            /* columns for text */
    bool exact;                           /* all digits of counts and times, and no bars instead */
    unsigned meters;                      /* METER_ bits: which of them to show */
    const struct program *program;        /* what was measured */
    const struct machine_model *model;    /* for the roofline; NULL: unknown */
    const struct sim_result *before;      /* its misses are compared with these; NULL: no change */
};
void measurement_doc(struct doc *d, const struct measurement *m, const struct measurement_look *k);
/* Returns the simulated misses that those of the current state are compared with: of the nearest
 * state before it that was simulated with the same caches; NULL: none. */
const struct sim_result *measurement_before(const struct history *h, const struct sim_result *now);
/* A row "label  text", wrapped behind the labels; the first `lead` bytes of the text in style s.
 * Frees the text. */
void measurement_doc_row(struct doc *d, const char *label, enum style s, size_t lead,
                         struct str *text, int width);
/* Adds a row "noisy:" that doubts a latency, with the load of the machine when it was measured. */
void measurement_doc_noisy(struct doc *d, const struct latency *l, double load, int width);
/* The simulator's part of the document. */
void sim_doc(struct doc *d, const struct sim_result *s, const struct measurement_look *k);
/* The simulator's tables for a GPU (gpu_sim_doc.c). */
void gpu_sim_doc(struct doc *d, const struct sim_result *s, const struct measurement_look *k);
#endif
