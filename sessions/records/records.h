/* The records: every measurement of the tuner, kept in one SQLite file the moment it exists.
 *
 * A task is an operator (canonical), a number of threads and an instruction set.  A run is one
 * tuning of a task on one machine; a record is one trial of a run.  What another machine measured
 * is listed, exported and merged, but never answered as this machine's.
 *
 * Each record is a transaction of its own in a write-ahead log: kill -9 at any moment loses none
 * that records_add returned from, and several processes may write at once.  The file is not
 * synced for every record, so a power cut may take the last few; it never damages the file.
 *
 * Errors are ERR_IO (the file: damaged, newer, read-only, full, busy; *e says what to do) unless
 * said otherwise.  Nothing is ever moved, repaired or thrown away unasked.  One thread at a time
 * per struct records.  Texts go in as bound parameters, whatever they hold. */
#ifndef TS_SESSIONS_RECORDS_H
#define TS_SESSIONS_RECORDS_H
#include "profile/measure/measure.h"

struct records;

enum { RUN_ID = 17 };                    /* 16 hexadecimal digits and the NUL */

/* Opens for writing and makes the file when there is none.  path NULL: records_path.
 * ERR_ENV: this machine has no place for it. */
bool records_open(const char *path, struct records **out, struct err *e);
/* Opens to look only: a file in a folder that cannot be written to is fine, and no file is the
 * same as an empty one (records_exists). */
bool records_open_reading(const char *path, struct records **out, struct err *e);
void records_close(struct records *r);                   /* NULL is fine */
/* $TILESCOPE_RECORDS, else dir_data()/records.db. */
bool records_path(struct str *out, struct err *e);
const char *records_file(const struct records *r);
bool records_exists(const struct records *r);
/* What counts as this machine: machine_model_fingerprint, unless somebody says otherwise. */
const char *records_machine(const struct records *r);
void records_set_machine(struct records *r, const char *fingerprint);

/* --- Runs ------------------------------------------------------------------------------------- */

/* KILLED is never stored: it is RUNNING whose process is gone. */
enum run_state { RUN_RUNNING, RUN_FINISHED, RUN_STOPPED, RUN_KILLED };
extern const char *const records_state_name[];               /* "running" "finished" "stopped"... */

struct record_run {
    const char *id;
    int64_t task;                                        /* as in record_tasks; filled in */
    const char *spec, *isa; int threads;                 /* the task; spec canonical */
    const char *strategy;
    const char *options;                                 /* a JSON object as text; "" = none */
    uint64_t seed;
    int64_t budget;                                      /* trials; 0 = no limit */
    const char *machine, *started, *ended;               /* filled in; ended "" = not yet */
    enum run_state state;
    int64_t n_records;
    double best_ms;                                      /* lowest minimum; 0 = none */
};

/* A new run of this machine in this process.  Reads spec, isa, threads, strategy, options, seed
 * and budget of *run; id gets its name. */
bool records_run_start(struct records *r, const struct record_run *run, char id[RUN_ID],
                       struct err *e);
/* A run that was stopped or killed (or finished) goes on in this process.  ERR_NAME: no such run;
 * ERR_STEP: another process is at it, or it is another machine's. */
bool records_run_resume(struct records *r, const char *id, struct err *e);
/* FINISHED: it spent its budget.  STOPPED: somebody stopped it. */
bool records_run_end(struct records *r, const char *id, enum run_state state, struct err *e);

/* --- Records ---------------------------------------------------------------------------------- */

struct record {
    const char *run;
    int trial;                           /* from 1, in the order of the run */
    const char *strategy;                /* what proposed it: "ppo", "expert", "random" ... */
    uint64_t seed;                       /* of the data it was measured with */
    const char *steps;                   /* canonical, joined by '\n' (records_steps); "" = none */
    enum outcome outcome;
    const char *reason;                  /* "" when there is nothing to say */
    double median_ms, min_ms, spread;
    int runs;                            /* samples; 0: not timed */
    double gflops;                       /* 0 = unknown */
    bool verified;
    double max_rel_err;                  /* NAN = unknown */
    double compile_s, measure_s;         /* NAN = unknown */
    uint64_t features;                   /* hash of the features; 0 = none */
    /* Filled in by records_add and by queries. */
    const char *spec, *isa; int threads;
    const char *machine, *version, *date;
};

/* Lines as records keep them. */
char *records_steps(struct arena *a, const char *const *line, int n);
/* Back again; n is how many. */
const char *const *records_lines(struct arena *a, const char *steps, int *n);
/* What m says about outcome, times and correctness; the rest of *out is zero (texts are m's). */
void records_of_measurement(struct record *out, const struct measurement *m);
/* A trial of a search, measured or not: run, strategy and seed are the caller's.  Steps in a. */
struct tune_candidate;
void records_of_candidate(struct arena *a, struct record *out, const struct tune_candidate *c);

/* Commits the record before it returns.  The run must be one of this file (ERR_NAME).  The same
 * record twice is one. */
bool records_add(struct records *r, const struct record *rec, struct err *e);

/* --- Queries ---------------------------------------------------------------------------------- */

/* NULL, 0 and false: any. */
struct record_filter {
    const char *spec, *isa; int threads;
    int64_t task;                        /* its number in records_tasks */
    const char *machine;                 /* a whole fingerprint; NULL = this one */
    bool any_machine;
    const char *run, *strategy;
    const char *outcome;                 /* one of outcome_name */
    bool good, failed;                   /* good: right and timed; failed: all others */
    const char *before;                  /* a date, UTC: older than that */
    bool fastest;                        /* fastest first, else in the order of runs and trials */
    int64_t limit;
};

/* take returns false to stop.  The texts are good until it returns; it must not use r. */
typedef bool record_take(void *ctx, const struct record *rec);
bool records_each(struct records *r, const struct record_filter *f, record_take *take, void *ctx,
                  struct err *e);
/* The same as a list in a. */
bool records_list(struct records *r, const struct record_filter *f, struct arena *a,
                  const struct record **out, int *n, struct err *e);

/* The latest measurement of these steps of this task on this machine, by any run; *out NULL when
 * there is none.  What was cancelled, or failed for want of something here, is none. */
bool records_find(struct records *r, const char *spec, int threads, const char *isa,
                  const char *steps, struct arena *a, const struct record **out, struct err *e);
/* The k fastest right schedules of f (its good, fastest and limit are set), no steps twice. */
bool records_best(struct records *r, const struct record_filter *f, int k, struct arena *a,
                  const struct record **out, int *n, struct err *e);

/* Runs, newest first; of f spec, isa, threads, task, machine, any_machine, run, strategy, before
 * and limit count. */
bool records_runs(struct records *r, const struct record_filter *f, struct arena *a,
                  const struct record_run **out, int *n, struct err *e);

/* A task on a machine, in the order in which they came in. */
struct record_task {
    int64_t task;
    const char *spec, *isa; int threads;
    const char *machine;
    int64_t n_records, n_good, n_runs;
    double best_ms, best_gflops;         /* 0 = none */
    const char *last;                    /* date of the latest record; "" = none */
};
bool records_tasks(struct records *r, const struct record_filter *f, struct arena *a,
                   const struct record_task **out, int *n, struct err *e);

/* --- Exchange --------------------------------------------------------------------------------- */

/* JSON lines (sessions/schema.md): a line for each run, then its records. */
bool records_export(struct records *r, const struct record_filter *f, struct str *out,
                    int64_t *n_records, struct err *e);
/* One of its lines, without the newline.  A record whose spec is NULL has no task in it. */
void records_json(struct str *out, const struct record *rec);
void records_run_json(struct str *out, const struct record_run *run);
/* What `records --json` prints: the beginning of an object, whose file and machine are r's; and
 * whole ones. */
void records_head_json(struct str *out, const struct records *r);
void records_tasks_json(struct str *out, const struct records *r, const struct record_task *task,
                        int n);
void records_runs_json(struct str *out, const struct records *r, const struct record_run *run,
                       int n);
void records_list_json(struct str *out, const struct records *r, const struct record *rec, int n);

struct records_added { int64_t runs, records, known; };  /* known: were there already */
/* All lines or none: the first one that is wrong is an error with line and column, and nothing
 * has changed; the same after a cancel.  name: for errors.  ERR_SYNTAX, ERR_TYPE, ERR_RANGE,
 * ERR_NAME, ERR_CANCEL. */
bool records_import(struct records *r, const char *name, const char *text, size_t n,
                    const struct cancel *c, struct records_added *out, struct err *e);
/* Everything of another records file, which stays as it is, or with ERR_CANCEL nothing. */
bool records_merge(struct records *r, const char *path, const struct cancel *c,
                   struct records_added *out, struct err *e);

/* --- Housekeeping ----------------------------------------------------------------------------- */

struct records_pruned { int64_t records, runs; };
/* Deletes what f selects, but not the keep fastest of each task and machine, and nothing of a run
 * that is under way; then runs that this left without records.  dry: only counts. */
bool records_prune(struct records *r, const struct record_filter *f, int64_t keep, bool dry,
                   struct records_pruned *out, struct err *e);
/* Reads all of the file; ERR_IO says what is damaged. */
bool records_check(struct records *r, struct err *e);
/* Whether the file is damaged; *e says how, or what it is instead: sound, another program's, of a
 * newer tilescope, locked, not there. */
bool records_damaged(const char *path, struct err *e);
/* Renames a file (and its log) that cannot be used, to FILE.aside-N; moved gets the new name. */
bool records_set_aside(const char *path, struct str *moved, struct err *e);
#endif
