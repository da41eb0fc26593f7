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

/* True when o asks for every meter and baseline that EXPR names, and for cold caches and huge pages
 * where it does.  Else ERR_NAME with what to ask for.  An EXPR that tests `available` of a default
 * meter may name that. */
bool report_assert_asked(const char *expr, const struct measure_opts *o, struct err *e);
/* EXPR (formula.h) over a JSON text: its names are paths, like latency_ms.median and
 * counters.sim.by_tensor.Inp.l1_misses.  ERR_NAME for a path that does not exist, ERR_TYPE for what
 * was not measured.  values (may be NULL) gets what the paths were: "gflops is 97.5, verified is
 * true". */
bool report_assert(const char *json, const char *expr, bool *holds, struct str *values,
                   struct err *e);
/* The same for a number. */
bool report_number(const char *json, const char *expr, double *number, struct err *e);
#endif
