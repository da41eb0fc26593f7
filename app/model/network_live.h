/* The tuning of a network in the background: the text that its thread writes and the screen
 * shows. */
#ifndef TS_APP_NETWORK_LIVE_H
#define TS_APP_NETWORK_LIVE_H
#include "kernels/base/subprocess.h"
#include "profile/measure/measure_network.h"
#include "sessions/file/session.h"

/* Shared by the model and the job; each drops its reference. */
struct network_live;
struct network_live *network_live_new(void);
struct network_live *network_live_keep(struct network_live *l);
void network_live_drop(struct network_live *l);          /* l may be NULL */
unsigned network_live_version(struct network_live *l);   /* number of texts so far */
void network_live_text(struct network_live *l, struct str *out);
/* The search waits between two batches while something else is measured. */
void network_live_hold(struct network_live *l, bool hold);
bool network_live_waits(struct network_live *l);         /* whether it waits */

/* unchecked_s: as in struct network_tuning.  first: the measurement of the network before the
 * search.  call_s: the times of its n_calls calls, which the owner of the result frees. */
struct network_live_result {
    double unchecked_s, *call_s;
    int n_calls;
    struct network_measurement first;
};
/* Tunes the kernels of s for `seconds`.  On success their schedules are in s->kernels, and *said is
 * a sentence on the result.  A cancelled search keeps the schedules that are clearly faster. */
struct network_live_order { double seconds; int threads; };
bool network_live_tune(struct network_live *l, struct session *s,
                       const struct network_live_order *o, const struct progress *pr,
                       struct cancel *c, struct str *said, struct network_live_result *out,
                       struct err *e);
#endif
