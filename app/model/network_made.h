/* A network that was built, and perhaps measured, for the screen.
 *
 * A background job makes it from texts, in an arena of its own.  When the job has ended, the
 * network belongs to the model. */
#ifndef TS_APP_NETWORK_MADE_H
#define TS_APP_NETWORK_MADE_H
#include "kernels/base/subprocess.h"
#include "profile/measure/measure_network.h"

struct network_made {
    struct arena *arena;
    const struct network *net;
    const struct network_measurement *measured;  /* NULL: it was only built, not measured */
};

/* The network to make.  chosen: schedules of some of its kernels (sessions/file/kernels_text.h).
 * accuracy: of the experts (struct experts).  measure: whether to measure it, too; `values` (may be
 * NULL) then receives its data. */
struct network_order {
    const char *spec, *chosen;
    double accuracy;
    int threads;
    bool measure;
    struct network_values *values;
};

/* Builds a network, and measures it if ordered.  NULL with *e: an error or a cancel. */
struct network_made *network_make(const struct network_order *o, const struct progress *pr,
                                  const struct cancel *c, struct err *e);
void network_made_free(struct network_made *n);
#endif
