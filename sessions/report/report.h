/* Prints results as JSON, which sessions/schema.md documents, and evaluates assertions over it. */
#ifndef TS_SESSIONS_REPORT_H
#define TS_SESSIONS_REPORT_H
#include "profile/machine/machine_model.h"
#include "profile/measure/meters.h"
#include "sessions/file/session.h"

/* Prints `tilescope run --json`: operator, steps, verified, max_rel_err, latency_ms, gflops,
 * peak_fraction, baselines, counters... m: NULL: not measured.  machine: fingerprint of the machine
 * that measured m; NULL: unknown.  model: the model of that machine, for the roofline; NULL: no
 * model is known. */
void report_run_json(struct str *out, const struct session *s, const struct measurement *m,
                     unsigned meters, const char *machine,
                     const struct machine_model *model);
/* A contender of `tilescope bench`.  `name`: its name on the command line.  `command`: the command
 * of an external program, which has no session; NULL: the contender has a session.  `gpu`: the GPU
 * that was simulated for `simulated_ms`, because no device could time the kernel; NULL: nothing was
 * simulated. */
struct bench_entry {
    const char *name, *command;
    const struct session *session;
    struct compared *result;
    const char *gpu; double simulated_ms;
};
/* Prints `tilescope bench --json`: the contenders under the letters A, B, C... in the order of the
 * command line. */
void report_bench_json(struct str *out, const struct bench_entry *entry, int n,
                       const struct comparison *how, const char *machine);
/* Prints `tilescope bench NAME --ablate --json`. */
struct ablation;
void report_ablation_json(struct str *out, const char *name, const struct ablation *a);
/* Prints `tilescope show --what asm --json`. */
struct port_pressure;
void report_asm_json(struct str *out, const struct program *p, const char *assembly,
                     const struct code_lines *lines, const struct port_pressure *ports);
/* Prints `tilescope machine --json`.  model: NULL: the machine was not measured. */
void report_machine_json(struct str *out, const struct machine *m,
                         const struct machine_model *model);
struct event_sets;
struct nvidia_info;
/* Prints `tilescope meters --json`.  nvidia: an array of NVIDIA_COUNT elements. */
void report_meters_json(struct str *out, const struct meter_info *m, int n,
                        const struct nvidia_info *nvidia, const struct event_sets *sets);
void report_ops_json(struct str *out);

/* Checks that o asks for all meters, baselines and options (--cold, --huge-pages) that EXPR needs;
 * if not, ERR_NAME names the missing option.  An EXPR that only tests `available` or `reason` of a
 * default meter needs no request for that meter. */
bool report_assert_asked(const char *expr, const struct measure_opts *o, struct err *e);
/* Checks the paths of an EXPR before measuring.  json: a result with empty measurements.  ERR_NAME:
 * a path exists in no possible result. */
bool report_assert_named(const char *json, const char *expr, struct err *e);
/* Returns an empty measurement, for the JSON of report_assert_named.  isa: the ISA of the later
 * measurement. */
struct measurement report_empty(const char *isa);
/* Evaluates EXPR (formula.h) over a JSON text and sets *holds.  Names are paths, like
 * latency_ms.median and counters.sim.by_tensor.Inp.l1_misses.  ERR_NAME: a path does not exist;
 * ERR_TYPE: a value was not measured.  values (may be NULL): gets the values of the paths, as
 * "gflops is 97.5, verified is true". */
bool report_assert(const char *json, const char *expr, bool *holds, struct str *values,
                   struct err *e);
/* Like report_assert, for an EXPR whose value is a number; sets *number. */
bool report_number(const char *json, const char *expr, double *number, struct err *e);
#endif
