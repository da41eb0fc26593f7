/* The meters behind one interface: the list of meters, which of them work here, and which are
 * requested. */
#ifndef TS_PROFILE_METERS_H
#define TS_PROFILE_METERS_H
#include "profile/measure/measurement.h"

struct measure_job;                       /* job.h */

/* What a meter counts and whether it works here, for `tilescope meters`. */
struct meter_info { const char *name, *what; bool available; char reason[256]; };
int meters_probe(struct meter_info *out, int max);

unsigned meters_default(void);                 /* METER_ bits of the default meters */
/* Parses a list of event sets, "l1,papi-sw", into o->set, and turns on their meters.  The sets are
 * allocated in a.  Fails as event_set_find does, and with ERR_RANGE when two sets belong to one
 * meter; *o then has the sets before the error. */
bool meters_events(struct arena *a, const char *text, struct measure_opts *o, struct err *e);
/* Parses "clock,sim" or "none" to METER_ bits. ERR_NAME suggests the nearest name, or all names. */
bool meters_parse(const char *text, unsigned *bits, struct err *e);

/* Counts with every requested meter except the clock and the simulator.  False only on a cancel or
 * when the kernel failed; if a counter is not available, m->counts has the reason. */
bool meters_count(struct measure_job *j, struct err *e);
#endif
