/* Declarations that only the files of sessions/records/ share. */
#ifndef TS_SESSIONS_RECORDS_IMPL_H
#define TS_SESSIONS_RECORDS_IMPL_H
#include <sqlite3.h>

#include "sessions/file/field.h"
#include "sessions/records/records.h"

#define RECORD_FORMAT 1                  /* version of the exchange format (sessions/schema.md) */

/* Parts of queries: joined tables, the condition for correct and timed records, and columns.
 * RECORD_COLUMNS are those of records_fields, then the outcome.  RUN_COLUMNS are those of
 * records_run_fields, then the state and whether the run's process is alive. */
#define FROM_RECORDS " FROM record JOIN run ON run.id = record.run" \
                     " JOIN task ON task.id = record.task" \
                     " JOIN machine ON machine.id = record.machine"
#define FROM_RUNS " FROM run JOIN task ON task.id = run.task" \
                  " JOIN machine ON machine.id = run.machine"
#define GOOD_RECORD "record.outcome = 'ok' AND record.verified AND record.min_ms IS NOT NULL"
#define RECORD_COLUMNS \
    "run.name, record.trial, record.strategy, record.seed, task.spec, task.threads, task.isa," \
    " machine.fingerprint, record.steps, record.reason, record.median_ms, record.min_ms," \
    " record.spread, record.samples, record.gflops, record.verified, record.max_rel_err," \
    " record.compile_s, record.measure_s, record.features," \
    " record.simulated_ms, record.version, record.date," \
    " record.outcome"
#define RUN_COLUMNS \
    "run.name, task.spec, task.threads, task.isa, machine.fingerprint, run.strategy, run.seed," \
    " run.budget, run.options, run.started, run.ended, run.task," \
    " (SELECT count(*) FROM record WHERE record.run = run.id)," \
    " (SELECT min(record.min_ms) FROM record WHERE record.run = run.id AND " GOOD_RECORD ")," \
    " run.state, is_alive(run.owner)"

/* records_fields_read reads a row, whose texts still belong to the statement.  records_fields_copy
 * then copies the texts into arena a. */
extern const struct fields records_fields, records_run_fields, records_task_fields;
void records_fields_read(sqlite3_stmt *s, struct fields f, void *out);
void records_fields_copy(struct arena *a, struct fields f, void *base);
/* Binds the fields from parameter number `at` on.  Returns the number of the next parameter. */
int records_fields_bind(sqlite3_stmt *s, int at, struct fields f, const void *base);

/* The prepared statements that a struct records keeps. */
enum records_sql {
#define SQL(id, text) SQL_##id,
#include "sessions/records/records.def"
    SQL_COUNT
};

struct records {
    sqlite3 *db;
    char path[1024];
    struct str machine;
    /* exists: the file existed before it was opened; reading: opened only for reading; other: the
     * source of a merge; foreign: the database of another program */
    bool exists, reading, other, damaged, foreign;
    sqlite3_stmt *kept[SQL_COUNT];
    /* run_id: the run that records_seek_run found last; "": no such run.  The numbers are the row
     * ids of this run, of its task and of its machine. */
    char run_id[RUN_ID];
    int64_t run_row, run_task, run_machine;
};

/* Like records_open_reading, for the source of a merge: errors do not advise to move the file, and
 * a file of an older version is upgraded in memory only. */
bool records_open_other(const char *path, struct records **out, struct err *e);
/* Sets *e to SQLite's error of the last call, with a fix for common errors. doing: what was
 * tried, like "write the records".  Returns false. */
bool records_fail(struct records *r, struct err *e, const char *doing);
/* Returns a statement of records.def, ready to bind, or NULL with *e. */
sqlite3_stmt *records_sql(struct records *r, enum records_sql which, struct err *e);
/* Runs SQL without results. */
bool records_exec(struct records *r, const char *sql, struct err *e);
/* Begin and end a transaction.  records_end commits it if `ok` is set.  Else, or when that fails,
 * records_end rolls it back and returns false. */
bool records_begin(struct records *r, struct err *e);
bool records_end(struct records *r, bool ok, struct err *e);
/* Runs a prepared statement that returns no row. */
bool records_done(struct records *r, sqlite3_stmt *s, const char *doing, struct err *e);

/* Bind and read a text: NULL and "" become NULL in SQL, which is read as "".  records_number reads
 * a number; it returns `none` for NULL. */
void records_bind_text(sqlite3_stmt *s, int at, const char *text);
const char *records_text(sqlite3_stmt *s, int at);
double records_number(sqlite3_stmt *s, int at, double none);

void records_date_now(char out[24]);                             /* "2026-11-21T06:19:47Z" */

/* Add a record or a run within the caller's transaction, for import and merge.  Set *added to false
 * if it existed already. */
bool records_put(struct records *r, const struct record *rec, bool *added, struct err *e);
bool records_put_run(struct records *r, const struct record_run *run, bool *added, struct err *e);
/* Finds the state with this name (records_state_name). */
bool records_state_find(const char *name, enum run_state *out);
/* Looks up a run, and stores its row in *r.  Sets *found to false when there is no such run. */
bool records_seek_run(struct records *r, const char *id, bool *found, struct err *e);

/* The text "WHERE ..." for a filter, and its bound values. of_records: the query selects records;
 * if false, it selects runs, and has no table `record`. */
struct clause { struct str text; int n; struct { const char *text; int64_t number; } value[16]; };
void records_where(const struct records *r, const struct record_filter *f, bool of_records,
                   struct clause *out);
bool records_prepare(struct records *r, const char *sql, const struct clause *c,
                     sqlite3_stmt **out, struct err *e);
/* Adds file, line number, column and an excerpt of the line to *e.  Returns false. */
bool records_line_error(struct err *e, const char *file, int number, int col, const char *line);
/* records_line_read parses one exported line (records_json, records_run_json), with texts in arena
 * a.  It fills *run and sets *is_run, or fills *rec and clears *is_run. */
struct line_reader;
struct line_reader *records_line_reader_new(void);
void records_line_reader_free(struct line_reader *lr);
bool records_line_read(struct line_reader *lr, struct arena *a, const char *file, int number,
                       const char *line, size_t n, bool *is_run, struct record *rec,
                       struct record_run *run, struct err *e);
#endif
