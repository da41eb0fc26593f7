/* Results as JSON (sessions/schema.md documents it; scripts rely on it), and assertions over that
 * JSON. */
#ifndef TS_SESSIONS_REPORT_H
#define TS_SESSIONS_REPORT_H
#include "profile/machine/machine_model.h"
#include "profile/measure/meters.h"
#include "sessions/file/session.h"

/* machine: the fingerprint of where m was measured; NULL = nowhere.  model: of that machine, for
 * the roofline; NULL = there is none.
 * `tilescope run --json`: operator, steps, verified, max_rel_err, latency_ms, gflops,
 * peak_fraction, baselines, counters... */
void report_run_json(struct str *out, const struct session *s, const struct measurement *m,
                     unsigned meters, const char *machine,
                     const struct machine_model *model);
/* `tilescope bench --json`: the sessions under the letters A, B, C... in the order of the command
 * line; name: what it called them. */
struct bench_entry { const char *name; const struct session *session; struct compared *result; };
void report_bench_json(struct str *out, const struct bench_entry *entry, int n,
                       const struct comparison *how, const char *machine);
/* model: what it was measured to reach; NULL = it was not. */
void report_machine_json(struct str *out, const struct machine *m,
                         const struct machine_model *model);
struct event_sets;
void report_meters_json(struct str *out, const struct meter_info *m, int n,
                        const struct event_sets *sets);
void report_ops_json(struct str *out);

/* The syntax of EXPR alone: before anything is measured. */
bool report_assert_check(const char *expr, struct err *e);
/* True when o asks for every meter and baseline that EXPR names, and for cold caches and huge pages
 * where it does.  Else ERR_NAME with what to ask for.  An EXPR that tests `available` of a default
 * meter may name that. */
bool report_assert_asked(const char *expr, const struct measure_opts *o, struct err *e);
/* EXPR over a JSON text: paths (latency_ms.median, counters.sim.by_tensor.Inp.l1_misses),
 * numbers, true/false, + - * /, < <= > >= == !=, && || !, parentheses, min max mean geomean (of
 * several numbers) floor ceil log abs (of one).  *holds is its truth; a
 * path that does not exist is an error with column.  values (may be NULL) gets what the paths
 * were: "gflops is 97.5, verified is true". */
bool report_assert(const char *json, const char *expr, bool *holds, struct str *values,
                   struct err *e);
/* The same language for a number. */
bool report_number(const char *json, const char *expr, double *number, struct err *e);
#endif
