/* Reports of a network: short descriptions of its kernels, and its measurements as JSON. */
#ifndef TS_SESSIONS_NETWORK_REPORT_H
#define TS_SESSIONS_NETWORK_REPORT_H
#include "profile/machine/network_profile.h"
#include "profile/measure/measure_network.h"
#include "sessions/file/session.h"

/* Prints a kernel in a few words: "c2d+add+relu 64x56x56 o=64 k=3 p=1 bias=1". */
void network_report_brief(struct str *out, const struct network_task *t);
int64_t network_report_constant_bytes(const struct network *net);
/* Prints `tilescope run MODEL --json` (sessions/schema.md).  meters: the requested meters.  model:
 * the machine model for the bounds; NULL: the bounds are unknown. */
void network_report_json(struct str *out, const struct session *s, const struct network *net,
                         const struct network_measurement *m, unsigned meters,
                         const struct machine_model *model);
#endif
