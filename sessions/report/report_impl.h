/* Declarations that only the files of this folder share. */
#ifndef TS_SESSIONS_REPORT_IMPL_H
#define TS_SESSIONS_REPORT_IMPL_H
#include <jansson.h>
#include "profile/measure/measure.h"

/* Returns `latency_ms`; null when nothing was timed. */
json_t *report_latency_json(const struct latency *l);
/* Returns `counters`: the numbers of the simulator and of the other requested meters. */
json_t *report_counters_json(const struct measurement *m, unsigned meters);
/* Returns `counters.sim.detail`; null when it was not asked for. */
json_t *report_detail_json(const struct sim_result *s);
/* Returns the algorithms that steps chose, as text; null: every operator is computed as defined. */
json_t *report_algorithms(const struct program *p);
#endif
