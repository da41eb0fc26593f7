/* The tuning of a network in the background.  The thread that tunes writes a text on its progress,
 * which the screen shows. */
#ifndef TS_APP_NETWORK_LIVE_H
#define TS_APP_NETWORK_LIVE_H
#include "kernels/base/subprocess.h"
#include "profile/measure/measure_network.h"
#include "sessions/file/session.h"

/* The state of a search, which the model and the job share.  It is reference-counted: new has
 * one reference, keep adds one, the last drop frees it. */
struct network_live;
struct network_live *network_live_new(void);
struct network_live *network_live_keep(struct network_live *l);
void network_live_drop(struct network_live *l);          /* NULL is allowed */
unsigned network_live_version(struct network_live *l);   /* number of texts so far */
void network_live_text(struct network_live *l, struct str *out);         /* appends the last text */
/* While `hold` is true, the search waits before its next batch. */
void network_live_hold(struct network_live *l, bool hold);
bool network_live_waits(struct network_live *l);         /* whether the search is waiting */

/* unchecked_s: as in struct network_tuning.  first: the measurement of the network before the
 * search.  call_s[n_calls]: the times of the network's calls in `first`, in seconds; the caller
 * frees this array, and first.call_s points to it. */
struct network_live_result {
    double unchecked_s, *call_s;
    int n_calls;
    struct network_measurement first;
};
/* Tunes the kernels of s for o->seconds.  On success, stores their schedules in s->kernels and
 * appends a sentence on the result to *said.  A cancelled search succeeds with the schedules that
 * are clearly faster. */
struct network_live_order { double seconds; int threads; };
bool network_live_tune(struct network_live *l, struct session *s,
                       const struct network_live_order *o, const struct progress *pr,
                       struct cancel *c, struct str *said, struct network_live_result *out,
                       struct err *e);
#endif
