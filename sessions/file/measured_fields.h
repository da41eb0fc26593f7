/* The fields of a measurement, in the order of a session file (measured_yaml.h). sessions/schema.md
 * explains them.  JSON reports (report.h) use parts of these tables (fields_part), with the same
 * keys. */
#ifndef TS_SESSIONS_MEASURED_FIELDS_H
#define TS_SESSIONS_MEASURED_FIELDS_H
#include "sessions/file/field.h"

extern const struct fields measured_fields, measured_device_fields, measured_latency_fields,
    measured_baseline_fields, measured_sim_fields, measured_level_fields, measured_tensor_fields,
    measured_site_fields, measured_geometry_fields, measured_counts_fields, measured_count_fields;
#endif
