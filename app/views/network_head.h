/* The rows around the table of a network's kernels. The head: the time, the bound and the verdict
 * of the network. The facts: its numbers of kernels and calls, its memory, and the counts of
 * meters. */
#ifndef TS_APP_NETWORK_HEAD_H
#define TS_APP_NETWORK_HEAD_H
#include "app/ui/doc.h"
#include "profile/machine/network_profile.h"
#include "profile/measure/measure_network.h"

/* Data and settings of the document of a network, besides the network. */
struct network_look {
    int width;
    const struct network *timed;          /* the measured network; its steps may be older */
    const struct network_measurement *m;  /* the measurement of `timed`; NULL: none */
    const char *chosen;  /* steps that were chosen for kernels (kernels_text.h), or NULL */
    /* for each task: milliseconds of a call when the kernel was measured alone; < 0: unknown. NULL:
     * unknown for all tasks */
    const double *alone_ms;
    bool outdated;  /* whether `net` lacks the newest steps, because its build was cancelled */
    const char *advice;                   /* how to measure the network: "; m measures" */
    const struct machine_model *model;    /* for the bounds; NULL: unknown */
    unsigned meters;                      /* METER_ bits of the requested meters */
    bool exact;                           /* whether to add details that only a report needs */
    bool list_first;                      /* whether the list of kernels is above the facts */
};

/* Sums over the rows of the table. s: seconds of the timed kernels. bound_s: seconds of the bounds.
 * untimed: number of kernels that `s` leaves out. chosen: number of kernels with chosen steps.
 * idle: number of kernels with chosen steps that are not in the network any more. */
struct kernel_sums { double s, bound_s; int untimed, chosen, idle; };

void network_head_doc(struct doc *d, const struct network *net, const struct network_look *k,
                      const struct kernel_sums *sum);
void network_facts_doc(struct doc *d, const struct network *net, const struct network_look *k,
                       const struct kernel_sums *sum);
#endif
