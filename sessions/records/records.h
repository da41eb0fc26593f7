/* The records: one SQLite file.  The tuner adds each trial to it as soon as the trial is measured.
 *
 * A task is an operator (canonical), a number of threads and an instruction set.  A run is one
 * tuning of a task on one machine; a record is one trial of a run.  Records of other machines are
 * listed, exported and merged, but never used as results of this machine.
 *
 * records_add commits each record to a write-ahead log.  So kill -9 loses no record whose
 * records_add has returned, and several processes may have the file open for writing.  The file is
 * not synced for every record: a power cut may lose the last few, but does not damage the file.
 *
 * Unless stated otherwise, errors are ERR_IO: for example, the file is damaged, newer, read-only,
 * full or busy.  No function moves, repairs or deletes a file unasked.  Only one thread at a time
 * may use a struct records.  Texts are bound parameters, so any text is safe. */
#ifndef TS_SESSIONS_RECORDS_H
#define TS_SESSIONS_RECORDS_H
#include "profile/measure/measure.h"

struct records;

enum { RUN_ID = 17 };                    /* 16 hexadecimal digits and the NUL */
enum { RECORDS_VERSION = 40 };

/* Opens for writing, and creates a missing file. path NULL: the path of records_path, which fails
 * with ERR_ENV if there is no folder for the file. */
bool records_open(const char *path, struct records **out, struct err *e);
/* Opens for reading; works in a read-only folder if the file was closed properly.  A missing file
 * counts as an empty one (records_exists tells them apart). */
bool records_open_reading(const char *path, struct records **out, struct err *e);
void records_close(struct records *r);                   /* r may be NULL */
/* Sets *out to $TILESCOPE_RECORDS, else to dir_data()/records.db. */
bool records_path(struct str *out, struct err *e);
const char *records_file(const struct records *r);
bool records_exists(const struct records *r);
/* Returns the fingerprint of "this machine": from records_set_machine, else from
 * machine_model_fingerprint. */
const char *records_machine(const struct records *r);
void records_set_machine(struct records *r, const char *fingerprint);

/* --- Runs ------------------------------------------------------------------------------------- */

/* RUN_KILLED is never stored.  Queries return it for a run that is stored as RUN_RUNNING, but whose
 * process does not run here. */
enum run_state { RUN_RUNNING, RUN_FINISHED, RUN_STOPPED, RUN_SETTLED, RUN_KILLED };
extern const char *const records_state_name[];               /* "running" "finished" "stopped"... */

struct record_run {
    const char *id;
    int64_t task;  /* number in records_tasks; set by queries */
    const char *spec, *isa; int threads;                 /* the task; spec canonical */
    const char *strategy;
    const char *options;                                 /* a JSON object as text; "" = none */
    uint64_t seed;
    int64_t budget;                                      /* trials; 0 = no limit */
    const char *machine, *started, *ended;               /* set by queries; ended "" = not yet */
    enum run_state state;
    int64_t n_records;
    double best_ms;  /* the lowest min_ms of its correct records; 0 = there is none */
};

/* Starts a run of this process on this machine.  Uses spec, isa, threads, strategy, options, seed
 * and budget of *run; stores the new run's id in id.  Can also fail with ERR_ENV. */
bool records_run_start(struct records *r, const struct record_run *run, char id[RUN_ID],
                       struct err *e);
/* Continues a run in this process.  Fails with ERR_NAME when there is no such run, and with
 * ERR_STEP when a process works on the run or the run belongs to another machine. */
bool records_run_resume(struct records *r, const char *id, struct err *e);
/* Ends a run. state: RUN_FINISHED if it spent its budget, RUN_STOPPED if somebody stopped it,
 * RUN_SETTLED if it ended by itself because it gained little (search_opts.settle_s).  Fails with
 * ERR_NAME when there is no such run. */
bool records_run_end(struct records *r, const char *id, enum run_state state, struct err *e);

/* --- Records ---------------------------------------------------------------------------------- */

struct record {
    const char *run;
    int trial;                           /* from 1, in the order of the run */
    const char *strategy;                /* the source of the schedule: "ppo", "expert", ... */
    uint64_t seed;                       /* seed of the random data in the measurement */
    const char *steps;                   /* canonical, joined by '\n' (records_steps); "" = none */
    enum outcome outcome;
    const char *reason;                  /* why the outcome is not ok; "" = no reason */
    double median_ms, min_ms, spread;
    int runs;                            /* number of samples; 0 = not timed */
    double gflops;                       /* 0 = unknown */
    bool verified;
    double max_rel_err;                  /* NAN = unknown */
    double compile_s, measure_s;         /* NAN = unknown */
    uint64_t features;                   /* hash of the cost model's features; 0 = none */
    /* The time that the GPU memory simulator computed; 0 = not simulated.  A record with a
     * simulated time has no samples, and a filter with `good` does not select it.  The run's
     * options name the GPU. */
    double simulated_ms;
    /* Queries set the members below; records_add ignores them. */
    const char *spec, *isa; int threads;
    const char *machine, *version, *date;
};

/* Joins step lines to the text of record.steps. */
char *records_steps(struct arena *a, const char *const *line, int n);
/* Splits record.steps into *n lines. */
const char *const *records_lines(struct arena *a, const char *steps, int *n);
/* Sets *out to the outcome, times, rate, correctness and data seed of m; other fields are empty.
 * The reason is not copied: m owns the text. */
void records_of_measurement(struct record *out, const struct measurement *m);
/* Fills *out from a trial, measured or not.  The steps are allocated in a.  The caller sets run,
 * strategy and seed. */
struct tune_candidate;
void records_of_candidate(struct arena *a, struct record *out, const struct tune_candidate *c);

/* Prints the version that is stored in new records: "0.1.0 code 5f31c2aa". The number identifies
 * the generated code and the compiler flags (target_code). */
void records_version(char out[RECORDS_VERSION]);
/* Adds a record with this machine's version and the present date, and commits it.  Fails with
 * ERR_NAME when the run is not in this file. */
bool records_add(struct records *r, const struct record *rec, struct err *e);

/* --- Queries ---------------------------------------------------------------------------------- */

/* The records that a query selects.  A member that is NULL, 0 or false does not restrict the query;
 * `machine` is an exception. */
struct record_filter {
    const char *spec, *isa; int threads;
    int64_t task;                        /* number of a task in records_tasks */
    const char *machine;                 /* a whole fingerprint; NULL = this machine */
    bool any_machine;                    /* `machine` is ignored */
    const char *run, *strategy;
    const char *outcome;                 /* one of outcome_name */
    bool good, failed;                   /* good: correct and timed records; failed: all others */
    const char *before;                  /* a date in UTC; only older records are selected */
    bool fastest;                        /* true: sorted by time; false: by run and trial */
    int64_t limit;                       /* largest number of results */
};

/* A callback for one record, whose texts are valid during the call.  It returns false to stop the
 * query.  It must not use the struct records of the query. */
typedef bool record_take(void *ctx, const struct record *rec);
bool records_each(struct records *r, const struct record_filter *f, record_take *take, void *ctx,
                  struct err *e);
/* Like records_each, but returns a list in a. */
bool records_list(struct records *r, const struct record_filter *f, struct arena *a,
                  const struct record **out, int *n, struct err *e);

/* Finds the latest record of a task with these steps, made on this machine by this version in any
 * run.  Sets *out to NULL when there is none.  Ignores measurements that were cancelled or failed
 * for lack of a tool or memory. */
bool records_find(struct records *r, const char *spec, int threads, const char *isa,
                  const char *steps, struct arena *a, const struct record **out, struct err *e);
/* Lists the k fastest correct records that f selects.  Of records with the same spec and steps, it
 * lists only the fastest.  Ignores the members good, failed, fastest and limit of f. */
bool records_best(struct records *r, const struct record_filter *f, int k, struct arena *a,
                  const struct record **out, int *n, struct err *e);

/* Lists runs, newest first.  Uses only the members spec, isa, threads, task, machine, any_machine,
 * run, strategy, before and limit of f. */
bool records_runs(struct records *r, const struct record_filter *f, struct arena *a,
                  const struct record_run **out, int *n, struct err *e);

/* A task on one machine, with a summary of the records that the filter selects.  records_tasks
 * lists the tasks by number. */
struct record_task {
    int64_t task;
    const char *spec, *isa; int threads;
    const char *machine;
    int64_t n_records, n_good, n_runs;
    double best_ms, best_gflops;         /* of the correct records; 0 = no such record */
    const char *last;                    /* date of the latest record */
};
bool records_tasks(struct records *r, const struct record_filter *f, struct arena *a,
                   const struct record_task **out, int *n, struct err *e);

/* --- Exchange --------------------------------------------------------------------------------- */

/* Appends JSON lines (sessions/schema.md): one for each run with records that f selects, followed
 * by the lines of these records. */
bool records_export(struct records *r, const struct record_filter *f, struct str *out,
                    int64_t *n_records, struct err *e);
/* Append one line of the exchange format, without the newline.  If rec->spec is NULL, the line
 * lacks the task and the machine. */
void records_json(struct str *out, const struct record *rec);
void records_run_json(struct str *out, const struct record_run *run);
/* Append the output of `records --json`.  records_head_json only begins an object, with the file
 * and the machine of r; the other functions append a whole object. */
void records_head_json(struct str *out, const struct records *r);
void records_tasks_json(struct str *out, const struct records *r, const struct record_task *task,
                        int n);
void records_runs_json(struct str *out, const struct records *r, const struct record_run *run,
                       int n);
void records_list_json(struct str *out, const struct records *r, const struct record *rec, int n);

/* Numbers of runs and records that were added, and of records that existed already (known). */
struct records_added { int64_t runs, records, known; };
/* Imports all lines of a text.  After a cancel (ERR_CANCEL) or a bad line (ERR_SYNTAX, ERR_TYPE,
 * ERR_RANGE or ERR_NAME, with line and column) it imports none. name: the file's name in errors. */
bool records_import(struct records *r, const char *name, const char *text, size_t n,
                    const struct cancel *c, struct records_added *out, struct err *e);
/* Adds all runs and records of another records file, which stays as it is.  On an error it adds
 * nothing.  ERR_CANCEL: cancelled.  ERR_NAME: the files have different runs with the same name. */
bool records_merge(struct records *r, const char *path, const struct cancel *c,
                   struct records_added *out, struct err *e);

/* --- Housekeeping ----------------------------------------------------------------------------- */

struct records_pruned { int64_t records, runs; };
/* Deletes the records that f selects.  Then deletes their runs, if these have no records left.
 * Keeps the `keep` fastest correct records of each task and machine, and all records of runs in
 * progress.  If `dry` is set, only counts what it would delete. */
bool records_prune(struct records *r, const struct record_filter *f, int64_t keep, bool dry,
                   struct records_pruned *out, struct err *e);
/* Checks the whole file.  Fails with ERR_IO, which says what is damaged. */
bool records_check(struct records *r, struct err *e);
/* Whether the file is damaged.  Sets *e in any case.  If the file is damaged: to the damage.  If it
 * is intact: to ERR_STEP.  If it cannot be used (for example, it belongs to another program or a
 * newer tilescope, is locked, or is missing): to the reason. */
bool records_damaged(const char *path, struct err *e);
/* Renames a file and its log to FILE.aside-N and FILE.aside-N-wal; *moved is the new name of the
 * file.  On an error it renames both back. */
bool records_set_aside(const char *path, struct str *moved, struct err *e);
#endif
