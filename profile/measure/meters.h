/* The meters behind one interface: what there is, what works here, what is asked for. */
#ifndef TS_PROFILE_METERS_H
#define TS_PROFILE_METERS_H
#include "profile/measure/job.h"

/* The meters, each with an honest probe: `tilescope meters`. */
struct meter_info { const char *name, *what; bool available; char reason[256]; };
int meters_probe(struct meter_info *out, int max);

unsigned meters_default(void);                 /* METER_ bits of those asked for by default */
/* "l1,papi-sw": the event sets of o->set, whose meters are then asked for.  They live in a.  As
 * event_set_find, and ERR_RANGE when two are of one meter. */
bool meters_events(struct arena *a, const char *text, struct measure_opts *o, struct err *e);
/* "clock,sim" or "none" -> bits.  ERR_NAME with the nearest one. */
bool meters_parse(const char *text, unsigned *bits, struct err *e);

/* Every meter that was asked for, but the clock and the simulator.  False only when the kernel
 * failed (a counter that cannot be had is a reason in m->counts) and on a cancel. */
bool meters_count(struct measure_job *j, struct err *e);
#endif
