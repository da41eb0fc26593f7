/* A study describes a table of a paper as data, so that one command can measure it again (SPEC I).
 *
 *     study: 1
 *     id: alt.table2
 *     title: ...
 *     paper: {title: ..., item: Table 2, machine: Cortex-A76}
 *     prose: what the paper did, and what is assumed here
 *     operator: text with {parameters}          # for every case without an operator of its own
 *     steps: [...]                              # follow the steps of a variant without a session
 *     cases:                                    # what is computed; `for` makes one per combination
 *     - {id: "t{T}", title: "512 x {T}", for: {T: [4, 16]}}
 *     variants:                                 # how: step lines, or a session file
 *     - {id: "rows_{pitch}", for: {pitch: [1000, 1024]}, steps: [...], cache: 64K/4/64}
 *     - {id: nhwo, session: ../examples/r18-conv1-nhwo.yaml}
 *     - {id: best, steps: ["loop split Conv W {wt}"], search: {wt: [7, 14, 28]}}
 *     - {id: alt, tune: {budget: 1000, strategy: ppo, seeds: [1, 2, 3]}}       # the auto-tuner
 *     - {id: ol, tune: {variant: ol}}           # for networks: cases have `model: FILE.onnx`
 *     metrics:                                  # numbers of a cell: expressions over `run --json`
 *     - {id: misses, value: counters.sim.l1_misses, base: best, paper: {nhwo: 9.7, best: 3.9}}
 *     findings:                                 # expressions over the metrics of a case
 *     - {text: ..., each: nhwo.misses / best.misses, combine: geomean, paper: 2.5}
 *     measure: {meters: "clock,sim", time: 0.3, budget: 240}
 *     scale: {cases: 2, search: 3, time: 0.02}  # lower limits for --scale
 *
 * In a text, {x} is a parameter, and {ceil(pitch / T)} an expression over parameters.  Every case
 * is measured under every variant; each such pair is a cell.  sessions/schema.md has every key.
 *
 * The verdict rule (SPEC I) compares the measured log(value / base) with the paper's.  The paper's
 * numbers have members and columns of their own, so nobody can take them for measured ones. */
#ifndef TS_SESSIONS_STUDY_H
#define TS_SESSIONS_STUDY_H
#include "profile/measure/meters.h"
#include "explorer/expert/param.h"
#include "sessions/file/session.h"
#include "sessions/report/chart.h"
#include "sessions/tuning/network_tuning.h"
#include "sessions/tuning/tuning.h"

#define STUDY_MAX_SEEDS 32

/* Options with which the tuner completes the schedule of a variant. on: the variant is tuned.  A
 * case has only the options budget and seeds; a budget or n_seeds of 0 means that the case does not
 * set this option. */
struct study_tune {
    bool on;
    enum network_variant variant;        /* for networks: what the search may change */
    int budget;
    /* strategy NULL: the default one; weights NULL: untrained agents */
    const char *strategy, *weights;
    bool loop_only, cold;                /* see struct tuning_opts */
    int experts, levels;  /* experts: number of start schedules; levels: see struct tuning_opts */
    int n_seeds; uint64_t seed[STUDY_MAX_SEEDS];
};

/* spec: the operator; in a study of networks, the path of the ONNX file. */
struct study_case {
    const char *id, *title, *spec;
    struct param_set params;
    struct study_tune tune;
};

/* The texts in `cache` and, without a session, in `step` are templates. session: the file with the
 * steps and the operator, or NULL. search: parameters with the values to try; the fastest
 * combination is used. */
struct study_variant {
    const char *id, *title, *session, *spec, *cache;
    int n_steps; const char *const *step;
    struct param_set params;
    struct param_grid search;
    struct study_tune tune;
};

/* base: the variant whose value is the denominator of the ratios; -1: there are no ratios. paper:
 * the paper's values, [case * n_variants + variant]; NAN: the paper has none. */
struct study_metric {
    const char *id, *title, *unit, *value, *spread;
    int base;
    const double *paper;
    bool has_paper;
};

enum over_cases { OVER_GEOMEAN, OVER_MEAN, OVER_MIN, OVER_MAX, OVER_ALL, OVER_COUNT };
extern const char *const study_over_name[];                    /* "geomean" ... "all" */

/* each: an expression over the parameters of a case and VARIANT.METRIC; its value is a truth value
 * for OVER_ALL, else a number.  Only a ratio (unit "x") gets a verdict. by: a parameter of the
 * cases, or NULL; the result is computed also for each value of this parameter. */
struct study_finding {
    const char *text, *each, *unit, *by;
    enum over_cases over;
    double paper;                                        /* NAN = the paper gives no number */
};

/* Lower limits for --scale S, which multiplies the numbers of a study by S: cases, combinations of
 * a search, trials of the tuner, seeds, and seconds of samples. */
struct study_scale { int cases, search, budget, seeds; double time_s; };

struct study {
    struct arena *arena;
    const char *path, *id, *title, *paper, *item, *machine, *prose;
    bool networks;  /* true: all cases are networks; false: none is */
    int n_cases; const struct study_case *cases;
    int n_variants; const struct study_variant *variant;
    int n_metrics; const struct study_metric *metric;
    int n_findings; const struct study_finding *finding;
    struct study_tune tune;                              /* defaults for every tuned variant */
    unsigned meters, baselines;          /* baselines: 1 << enum vendor_library */
    const char *cache;  /* a template; NULL = this machine's caches */
    const char *isa;                                     /* NULL = this CPU's best */
    double time_s, search_time_s, limit_s;               /* 0 = the default */
    double budget_s;  /* limit of all searches by parameters together; 0 = no limit */
    int threads; uint64_t seed;
    struct study_scale scale;
    const char *left_out;  /* names of the variants that were not picked, "a, b"; or NULL */
};

/* Parses a study strictly: unknown keys or parameters, wrong types, illegal operators or steps are
 * errors, with file, line, column and a caret.  In case 0, one of the first 1000 combinations of a
 * search must be legal.  Models of networks are not opened. */
bool study_parse(const char *name, const char *text, size_t n, struct study **out, struct err *e);
/* Opens a file, or a shipped study by its name.  Fails with ERR_NAME when no study has this
 * name. */
bool study_open(const char *name, struct study **out, struct err *e);
void study_free(struct study *s);
/* Keeps only the variants whose id or title `names` ("A,B*") selects.  Drops findings and ratios
 * that need another variant.  Fails with ERR_NAME when a name has no variant. */
bool study_pick_variants(struct study *s, const char *names, struct err *e);
/* Lists the shipped studies, sorted by file name.  Fails if one of them has an error. */
bool study_list(struct study **out, int max, int *n, struct err *e);

/* --- Running ---------------------------------------------------------------------------------- */

/* CELL_READY: the cell has a program, but no measurement yet.  Only a running study has such
 * cells. */
enum cell_state { CELL_MEASURED, CELL_REUSED, CELL_FAILED, CELL_LEFT, CELL_READY };
extern const char *const study_state_name[];              /* "measured" "reused" ... */

struct study_cell {
    enum cell_state state;
    const char *reason;                                  /* why it is FAILED or LEFT */
    const char *key, *spec, *cache;                      /* key: hash of all inputs and options */
    int n_steps; const char *const *step;                /* steps with parameters substituted */
    const char *kernels;  /* kernels of a network, as tuned (kernels_text.h) */
    struct param_set chosen;                             /* search: the best combination */
    int combinations, tried, illegal, failed;            /* search: numbers of combinations */
    const char *first_illegal;  /* search: the first illegal combination, "wt=12: ...", or NULL */
    const char *ended;  /* search: what ended it, "all", "scale" or "budget" */
    const char *tuned;  /* JSON object of the tuner's search, or NULL */
    bool interleaved;  /* whether it was timed in turns with other variants */
    const char *json;                                    /* output of `run --json`, or NULL */
    double *value, *spread;                              /* per metric; NAN = no value */
    const char **missing;                                /* per metric: why it has no value */
};

enum agreement { AGREE_NONE, AGREE_BASE, AGREE_TWICE, AGREE_SIGN, AGREE_NOT, AGREE_UNKNOWN };
extern const char *const study_agreement_text[];
/* Compares two ratios by the rule of SPEC I.  If the paper's ratio is 1, a measured ratio that
 * differs by at most 5 % agrees. */
enum agreement study_verdict(double measured_ratio, double paper_ratio);

/* The result of a finding over the cases in which its parameter `by` has one value. */
struct study_group { const char *value; bool known, holds; double number; int n_cases; };
struct study_result {
    bool known, holds;                                   /* holds: only for OVER_ALL */
    double value;
    int n_cases, n_missing;
    const char *missing;  /* why the first case without a value has none */
    const char *failing;  /* OVER_ALL: the first case for which the finding does not hold */
    enum agreement verdict;
    int n_groups; struct study_group *group;             /* one per value of finding.by */
};

struct study_report {
    struct arena *arena;
    const struct study *study;
    int n_cases; const int *cases;                       /* indices of the chosen cases */
    struct study_cell *cell;                             /* [chosen case * n_variants + variant] */
    struct study_result *result;                         /* per finding */
    double scale, time_s; uint64_t seed; int threads; unsigned meters;
    const char *date, *host, *compiler, *isa;            /* isa: NULL = this CPU's best */
    double seconds;
    bool partial;                                        /* some cells are CELL_LEFT */
    int n_meters; struct meter_info meter[METER_COUNT];
};

/* Measures a program: measure_program, or a test's own function. */
typedef bool study_measure_fn(void *ctx, const struct program *p, const struct measure_opts *o,
                              const struct cancel *c, struct measurement *m, struct err *e);

/* A trial of a tuner's search that improved the best. trial: its number, from 1; ms: its time. */
struct study_point { int trial; double ms; };
struct study_search {
    const char *run;                                     /* its name in the records */
    bool answered, stopped;  /* answered: by a finished run of the records; stopped: cancelled */
    int trials, failed;
    double start_ms, seconds;                            /* start_ms INFINITY: unknown */
    int n_curve; const struct study_point *curve;        /* the trials that improved the best */
    int n_lines; const char *const *line;  /* the winner's steps; n_lines -1: no winner */
    const char *kernels;  /* for a network: schedules found (kernels_text.h) */
};
/* Runs one search: tuning_run, or a test's own function.  Texts and lists are in arena a. */
typedef bool study_tune_fn(void *ctx, struct arena *a, const char *spec, const char *const *step,
                           int n, const struct tuning_opts *o, const struct search_sink *view,
                           struct cancel *c, struct study_search *out, struct err *e);
/* Called with the report so far after each case, until a cancel. */
typedef void study_keep_fn(void *ctx, const struct study_report *r);
struct study_opts {
    double scale;                                        /* 0..1; 0 or 1 = the whole study */
    const char *cases;                                   /* "A,B*": only these cases; NULL = all */
    const char *models;             /* the folder of models; NULL: paths as in the study */
    unsigned meters;                                     /* meters; 0 = the meters of the study */
    int threads; uint64_t seed; double time_s;           /* 0 = as in the study */
    /* compiler: NULL = the default one; isa: NULL = as in the study */
    const char *compiler, *isa;
    const char *date;                                    /* NULL = now */
    const char *host;                                    /* NULL = this machine's fingerprint */
    const char *reuse_json;                              /* an earlier report, or NULL */
    study_measure_fn *measure; void *ctx;                /* NULL = measure_program */
    study_tune_fn *tune;                                 /* NULL = tuning_run */
    study_keep_fn *keep; void *keep_ctx;                 /* may be NULL */
    bool fresh;  /* runs in the records neither answer nor are resumed */
    const char *weights;  /* unless NULL, replaces tune.weights where the study sets them */
    int budget;                                          /* replaces every tune.budget, unless 0 */
    const char *records;                                 /* path of the file; NULL = records_path */
};
/* Measures all cells.  Fails only when o->cases has an unknown name, or when a cell has an error,
 * such as a missing tool, before any cell was measured.  After a cancel it returns true, with a
 * partial report. */
bool study_run(const struct study *s, const struct study_opts *o, const struct progress *pr,
               struct cancel *c, struct study_report **out, struct err *e);
void study_report_free(struct study_report *r);
/* Checks that json, the text of the file `name`, is a report of s.  Such a text can be given as
 * reuse_json.  Fails with ERR_SYNTAX or ERR_NAME. */
bool study_report_check(const struct study *s, const char *name, const char *json, struct err *e);
const struct study_cell *study_cell(const struct study_report *r, int chosen_case, int variant);
/* study_ratio returns the measured ratio of a cell: its value / the value of the base.  study_paper
 * returns the paper's value, study_paper_ratio the paper's ratio.  NAN: the number is unknown. */
double study_ratio(const struct study_report *r, int chosen_case, int variant, int metric);
double study_paper(const struct study_report *r, int chosen_case, int variant, int metric);
double study_paper_ratio(const struct study_report *r, int chosen_case, int variant, int metric);
enum agreement study_cell_verdict(const struct study_report *r, int chosen_case, int variant,
                                  int metric);

/* --- Reports ---------------------------------------------------------------------------------- */

void study_text(struct str *out, const struct study_report *r);
void study_json(struct str *out, const struct study_report *r);
/* Draws one metric as a bar chart.  Fails with ERR_RANGE when the metric has no values. */
bool study_chart(struct str *out, const struct study_report *r, int metric, enum chart_form form,
                 struct err *e);
/* Draws the best time so far over the trials of one case, a line per tuned variant.  Fails with
 * ERR_RANGE when no variant was tuned. */
bool study_curve_chart(struct str *out, const struct study_report *r, int chosen_case,
                       enum chart_form form, struct err *e);
/* Appends a table of studies, whose titles are wrapped at `width` columns. */
void study_list_text(struct str *out, struct study *const *s, int n, int width);
void study_list_json(struct str *out, struct study *const *s, int n);
#endif
