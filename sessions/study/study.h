/* A study: a table of a paper as data, so that one command measures it again (SPEC I).
 *
 *     study: 1
 *     id: alt.table2
 *     title: ...
 *     paper: {title: ..., item: Table 2, machine: Cortex-A76}
 *     prose: what the paper did, and what is assumed here
 *     operator: text with {parameters}          # of every case that has none of its own
 *     steps: [...]                              # after those of each variant
 *     cases:                                    # what is computed; `for` makes one per combination
 *     - {id: "t{T}", title: "512 x {T}", for: {T: [4, 16]}}
 *     variants:                                 # how: step lines, or a session file
 *     - {id: "rows_{pitch}", for: {pitch: [1000, 1024]}, steps: [...], cache: 64K/4/64}
 *     - {id: nhwo, session: ../examples/r18-conv1-nhwo.yaml}
 *     - {id: best, steps: ["loop split Conv W {wt}"], search: {wt: [7, 14, 28]}}
 *     - {id: alt, tune: {budget: 1000, strategy: ppo, seeds: [1, 2, 3]}}       # the auto-tuner
 *     metrics:                                  # numbers of a cell: expressions over `run --json`
 *     - {id: misses, value: counters.sim.l1_misses, base: best, paper: {nhwo: 9.7, best: 3.9}}
 *     findings:                                 # expressions over the metrics of a case
 *     - {text: ..., each: nhwo.misses / best.misses, combine: geomean, paper: 2.5}
 *     measure: {meters: clock,sim, time: 0.3, budget: 240}
 *     scale: {cases: 2, search: 3, time: 0.02}  # what --scale leaves at least
 *
 * {x} in a text is a parameter, {ceil(pitch / T)} an expression over them.  Every case is measured
 * under every variant: a cell.  sessions/schema.md has every key.
 *
 * The verdict rule (SPEC I) compares log(value / base) with the paper's.  A paper's number never
 * stands in a place where a measured one could: they are different members and different columns.
 */
#ifndef TS_SESSIONS_STUDY_H
#define TS_SESSIONS_STUDY_H
#include "profile/measure/meters.h"
#include "explorer/expert/param.h"
#include "sessions/file/session.h"
#include "sessions/report/chart.h"
#include "sessions/tuning/tuning.h"

#define STUDY_MAX_SEEDS 32

/* How the tuner finishes a variant.  on: it does; of a case only budget and seeds count, where
 * they are given (0: not).  weights: a file, or NULL. */
struct study_tune {
    bool on;
    int budget;
    const char *strategy, *weights;      /* NULL: the usual one; new agents */
    bool loop_only, cold;                /* cold: struct search_opts */
    int experts, levels;                 /* experts: seeds of the search, 0 none */
    int n_seeds; uint64_t seed[STUDY_MAX_SEEDS];
};

struct study_case {
    const char *id, *title, *spec;
    struct param_set params;
    struct study_tune tune;
};

/* steps and cache are templates.  session: where the steps (and the operator) came from, or NULL.
 * search: the parameters of which the best combination is looked for. */
struct study_variant {
    const char *id, *title, *session, *spec, *cache;
    int n_steps; const char *const *step;
    struct param_set params;
    struct param_grid search;
    struct study_tune tune;
};

/* base: the variant that the others are divided by, -1 = none.  paper: what the paper measured,
 * [case * n_variants + variant], NAN = it does not say. */
struct study_metric {
    const char *id, *title, *unit, *value, *spread;
    int base;
    const double *paper;
    bool has_paper;
};

enum over_cases { OVER_GEOMEAN, OVER_MEAN, OVER_MIN, OVER_MAX, OVER_ALL, OVER_COUNT };
extern const char *const study_over_name[];                    /* "geomean" ... "all" */

/* each: over the parameters of a case and VARIANT.METRIC; with `all` a truth value.  Only a ratio,
 * unit x, has a verdict; other numbers stand beside the paper's.  by: a parameter of the cases; the
 * result is also given for each of its values, or NULL. */
struct study_finding {
    const char *text, *each, *unit, *by;
    enum over_cases over;
    double paper;                                        /* NAN = the paper gives no number */
};

/* What --scale S leaves: S times as many, but at least so many. */
struct study_scale { int cases, search, budget, seeds; double time_s; };

struct study {
    struct arena *arena;
    const char *path, *id, *title, *paper, *item, *machine, *prose;
    int n_cases; const struct study_case *cases;
    int n_variants; const struct study_variant *variant;
    int n_metrics; const struct study_metric *metric;
    int n_findings; const struct study_finding *finding;
    struct study_tune tune;                              /* what a tuned variant begins with */
    unsigned meters, baselines;          /* baselines: 1 << enum vendor_library */
    const char *cache;                                   /* template; NULL = this machine's */
    const char *isa;                                     /* NULL = this CPU's best */
    double time_s, search_time_s, limit_s;               /* 0 = as usual */
    double budget_s;                                     /* for all searches together; 0 = none */
    int threads; uint64_t seed;
    struct study_scale scale;
    const char *left_out;                                /* variants: "loops, evolution", or NULL */
};

/* Strict, as for sessions: unknown keys, wrong types, parameters that do not exist, operators and
 * steps that are not legal are errors with file, line, column and a caret.  Of a search, one
 * combination must be legal in the first case. */
bool study_parse(const char *name, const char *text, size_t n, struct study **out, struct err *e);
/* A file, or the name of a shipped study.  ERR_NAME with the nearest name. */
bool study_open(const char *name, struct study **out, struct err *e);
void study_free(struct study *s);
/* Only those of its variants that are named, by id or title, in "A,B*"; findings that speak of
 * others go with them, and ratios to one of those.  ERR_NAME with what there is. */
bool study_pick_variants(struct study *s, const char *names, struct err *e);
/* The shipped ones by name, as far as they could be read. */
bool study_list(struct study **out, int max, int *n, struct err *e);

/* running */

/* READY: while a study runs. */
enum cell_state { CELL_MEASURED, CELL_REUSED, CELL_FAILED, CELL_LEFT, CELL_READY };
extern const char *const study_state_name[];              /* "measured" "reused" ... */

struct study_cell {
    enum cell_state state;
    const char *reason;                                  /* FAILED, LEFT: why */
    const char *key, *spec, *cache;                      /* key: names what was measured and how */
    int n_steps; const char *const *step;                /* with the parameters filled in */
    struct param_set chosen;                             /* by the search */
    int combinations, tried, illegal, failed;
    const char *first_illegal;                           /* "wt=12: ...", or NULL */
    const char *ended;                                   /* of a search: "all", "scale", "budget" */
    const char *tuned;                                   /* by the tuner: JSON object, or NULL */
    bool interleaved;                                    /* timed in turns with its neighbours */
    const char *json;                                    /* its `run --json`, or NULL */
    double *value, *spread;                              /* per metric, NAN = none */
    const char **missing;                                /* per metric: why there is none */
};

enum agreement { AGREE_NONE, AGREE_BASE, AGREE_TWICE, AGREE_SIGN, AGREE_NOT, AGREE_UNKNOWN };
extern const char *const study_agreement_text[];
/* Of ratios to a base: SPEC I's rule.  A paper's ratio of 1 has no sign: within 5 % agrees. */
enum agreement study_verdict(double measured_ratio, double paper_ratio);

struct study_group { const char *value; bool known, holds; double number; int n_cases; };
struct study_result {
    bool known, holds;                                   /* holds: of OVER_ALL */
    double value;
    int n_cases, n_missing;
    const char *missing;                                 /* why, of the first one */
    const char *failing;                                 /* the first case that does not hold */
    enum agreement verdict;
    int n_groups; struct study_group *group;             /* of finding.by */
};

struct study_report {
    struct arena *arena;
    const struct study *study;
    int n_cases; const int *cases;                       /* the chosen ones */
    struct study_cell *cell;                             /* [chosen case * n_variants + variant] */
    struct study_result *result;                         /* per finding */
    double scale, time_s; uint64_t seed; int threads; unsigned meters;
    const char *date, *host, *compiler, *isa;            /* isa: NULL = the best */
    double seconds;
    bool partial;                                        /* cancelled, or out of budget */
    int n_meters; struct meter_info meter[METER_COUNT];
};

/* How a program is measured: measure_program, unless a test has its own. */
typedef bool study_measure_fn(void *ctx, const struct program *p, const struct measure_opts *o,
                              const struct cancel *c, struct measurement *m, struct err *e);

/* One search by the tuner.  ms: of the fastest that was right; trial from 1. */
struct study_point { int trial; double ms; };
struct study_search {
    const char *run;                                     /* in the records */
    bool answered, stopped;                              /* known from before; cancelled */
    int trials, failed;
    double start_ms, seconds;                            /* start_ms INFINITY: not known */
    int n_curve; const struct study_point *curve;        /* where it got better */
    int n_lines; const char *const *line;                /* of the winner; none is right: -1 */
};
/* Texts and lists in arena a. */
typedef bool study_tune_fn(void *ctx, struct arena *a, const char *spec, const char *const *step,
                           int n, const struct tuning_opts *o, const struct search_sink *view,
                           struct cancel *c, struct study_search *out, struct err *e);
/* The report as it is after a case: partial, or the whole. */
typedef void study_keep_fn(void *ctx, const struct study_report *r);
struct study_opts {
    double scale;                                        /* 0..1; 1 = all of it */
    const char *cases;                                   /* "A,B*": of these; NULL = of all */
    unsigned meters;                                     /* 0 = the study's */
    int threads; uint64_t seed; double time_s;           /* 0 = the study's */
    const char *compiler, *isa;                          /* NULL = default, the study's */
    const char *date;                                    /* NULL = now */
    const char *host;                                    /* NULL = this machine's fingerprint */
    const char *reuse_json;                              /* an earlier report, or NULL */
    study_measure_fn *measure; void *ctx;                /* NULL = measure_program */
    study_tune_fn *tune;                                 /* NULL = tuning_run */
    study_keep_fn *keep; void *keep_ctx;                 /* after every case; may be NULL */
    bool fresh;                                          /* search what the records know, too */
    const char *weights;                                 /* in place of every tune.weights */
    int budget;                                          /* of every tune.budget; 0: none */
    const char *records;                                 /* file; NULL = records_path */
};
/* False only when the environment lacks something that every cell needs.  A cancel leaves a
 * partial report. */
bool study_run(const struct study *s, const struct study_opts *o, const struct progress *pr,
               struct cancel *c, struct study_report **out, struct err *e);
void study_report_free(struct study_report *r);
/* ERR_SYNTAX, ERR_NAME unless the text, of the file `name`, is a report of s: what reuse_json
 * takes. */
bool study_report_check(const struct study *s, const char *name, const char *json, struct err *e);
const struct study_cell *study_cell(const struct study_report *r, int chosen_case, int variant);
/* value / base of a cell, NAN when one of them is missing; the same of the paper. */
double study_ratio(const struct study_report *r, int chosen_case, int variant, int metric);
double study_paper(const struct study_report *r, int chosen_case, int variant, int metric);
double study_paper_ratio(const struct study_report *r, int chosen_case, int variant, int metric);
enum agreement study_cell_verdict(const struct study_report *r, int chosen_case, int variant,
                                  int metric);

/* reports */
void study_text(struct str *out, const struct study_report *r);
void study_json(struct str *out, const struct study_report *r);
/* One metric as a chart.  ERR_RANGE when it has no values. */
bool study_chart(struct str *out, const struct study_report *r, int metric, enum chart_form form,
                 struct err *e);
/* The best so far over the trials, a line per tuned variant of a case.  ERR_RANGE: none is. */
bool study_curve_chart(struct str *out, const struct study_report *r, int chosen_case,
                       enum chart_form form, struct err *e);
void study_list_text(struct str *out, struct study *const *s, int n);
void study_list_json(struct str *out, struct study *const *s, int n);
#endif
