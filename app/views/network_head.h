/* The rows around the table of a network's kernels: its time, bound and verdict are the head; its
 * numbers of kernels and calls, its memory and its meters are the facts. */
#ifndef TS_APP_NETWORK_HEAD_H
#define TS_APP_NETWORK_HEAD_H
#include "app/ui/doc.h"
#include "profile/machine/network_profile.h"
#include "profile/measure/measure_network.h"

/* Data and settings of the document of a network, besides the network. */
struct network_look {
    int width;
    const struct network *timed;          /* the measured network, whose steps may differ */
    const struct network_measurement *m;  /* its measurement; NULL: none */
    const char *chosen;  /* steps that were chosen for kernels (kernels_text.h), or NULL */
    /* per task: milliseconds of a call when the kernel was measured alone; < 0: unknown. NULL:
     * unknown for all */
    const double *alone_ms;
    bool outdated;  /* whether the network lacks the newest steps (its build was cancelled) */
    const char *advice;                   /* hint how to measure it, such as "; m measures" */
    const struct machine_model *model;    /* for the bounds; NULL: unknown */
    unsigned meters;                      /* METER_ bits of the requested meters */
    bool exact;                           /* whether to add details that only a report needs */
    bool list_first;                      /* whether the facts are below the list of kernels */
};

/* The sums over the rows. s, bound_s: seconds. untimed: kernels that s leaves out. chosen: kernels
 * with chosen steps. idle: kernels that have chosen steps but are not in the network. */
struct kernel_sums { double s, bound_s; int untimed, chosen, idle; };

void network_head_doc(struct doc *d, const struct network *net, const struct network_look *k,
                      const struct kernel_sums *sum);
void network_facts_doc(struct doc *d, const struct network *net, const struct network_look *k,
                       const struct kernel_sums *sum);
#endif
