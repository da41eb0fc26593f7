/* Declarations that only the files of this folder share. */
#ifndef TS_SESSIONS_REPORT_IMPL_H
#define TS_SESSIONS_REPORT_IMPL_H
#include <jansson.h>
#include "profile/measure/measure.h"

/* Returns the value of `latency_ms`; JSON's null if nothing was timed. */
json_t *report_latency_json(const struct latency *l);
/* Returns the value of `counters`: the numbers of sim, perf, perf-sw and the other requested
 * meters.  A meter without numbers has the reason. */
json_t *report_counters_json(const struct measurement *m, unsigned meters);
/* Returns the value of `counters.sim.detail`; JSON's null if it was not requested. */
json_t *report_detail_json(const struct sim_result *s);
/* Returns the algorithms that steps chose, as a JSON text; JSON's null: they chose none. */
json_t *report_algorithms(const struct program *p);
#endif
