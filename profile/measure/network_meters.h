/* Counts the kernels of a network, each by itself, with the cache simulator and the counters. */
#ifndef TS_PROFILE_NETWORK_METERS_H
#define TS_PROFILE_NETWORK_METERS_H
#include "kernels/module/network.h"
#include "profile/measure/measurement.h"

/* Measures each task once as a program of its own, on random data, with the meters of *o except the
 * clock.  *out, in the arena, has a measurement per task; a failed one has the reason.  False only
 * on a cancel. */
bool network_meters(struct arena *a, const struct network *net, const struct measure_opts *o,
                    const struct progress *pr, const struct cancel *c,
                    const struct measurement **out, struct err *e);
#endif
