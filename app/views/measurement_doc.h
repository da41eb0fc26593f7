/* A measurement as a document, for the profile view and for `tilescope run`: rows that begin with a
 * label ("latency:  1.047 ms best ..."), then tables of what the cache simulator counted. */
#ifndef TS_APP_MEASUREMENT_DOC_H
#define TS_APP_MEASUREMENT_DOC_H
#include "app/ui/doc.h"
#include "explorer/history/history.h"
#include "profile/machine/roofline.h"

#define SOME_SKIPPED 0.995  /* if a smaller share of the FLOPs is executed, some are skipped */
#define MEASUREMENT_LABEL 10              /* columns of the labels */

struct measurement_look {
    int width;                            /* columns for text */
    bool exact;                           /* print all digits of counts and times, and no bars */
    unsigned meters;                      /* METER_ bits of the meters to show */
    const struct program *program;        /* the program that was measured */
    const struct machine_model *model;    /* for the roofline; NULL: unknown */
    /* how to simulate: "; m simulates it", added behind "not asked for"; NULL: add nothing */
    const char *simulates;
    const struct sim_result *before;  /* simulation to compare the misses with; NULL: none */
};
void measurement_doc(struct doc *d, const struct measurement *m, const struct measurement_look *k);
/* Finds the nearest state before the current one that was simulated with the same L1 as `now`, the
 * simulation of the current state. Returns the simulation of that state, with which `now` is
 * compared; NULL: there is no such state. */
const struct sim_result *measurement_before(const struct history *h, const struct sim_result *now);
/* Adds a row "label  text"; later rows of the text are indented by MEASUREMENT_LABEL. The first
 * `lead` bytes of the text have style s. Frees the text. */
void measurement_doc_row(struct doc *d, const char *label, enum style s, size_t lead,
                         struct str *text, int width);
/* Appends why a latency is noisy: "the middle half spreads over 24 %". Returns whether it is
 * noisy. */
bool measurement_doc_noise(struct str *out, const struct latency *l);
/* If other work used many CPUs, appends "other work used 31 % of the CPUs meanwhile". Puts "; "
 * before it if `out` is not empty. */
void measurement_doc_others(struct str *out, const struct latency *l);
/* If a latency is noisy, or was measured beside other work, adds a row "noisy:" with the reasons
 * and with the load of the machine. load: this load, at the time of the measurement; 0: unknown. */
void measurement_doc_noisy(struct doc *d, const struct latency *l, double load, int width);
/* Adds the simulator's part of the document. */
void sim_doc(struct doc *d, const struct sim_result *s, const struct measurement_look *k);
/* Adds the simulator's tables for a GPU (gpu_sim_doc.c). */
void gpu_sim_doc(struct doc *d, const struct sim_result *s, const struct measurement_look *k);
#endif
