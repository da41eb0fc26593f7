/* Declarations that only the files of sessions/records/ share. */
#ifndef TS_SESSIONS_RECORDS_IMPL_H
#define TS_SESSIONS_RECORDS_IMPL_H
#include <sqlite3.h>

#include "sessions/file/field.h"
#include "sessions/records/records.h"

#define RECORD_FORMAT 1                  /* version of the exchange format (sessions/schema.md) */

/* Parts of queries: joined tables, the condition for correct and timed records, and columns.  The
 * columns are first those of records_fields or records_run_fields.  Then RECORD_COLUMNS has the
 * outcome; RUN_COLUMNS has the state and whether the run's process is alive. */
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

/* records_fields_read reads a row but leaves its texts in the statement; records_fields_copy then
 * copies the texts into a. */
extern const struct fields records_fields, records_run_fields, records_task_fields;
void records_fields_read(sqlite3_stmt *s, struct fields f, void *out);
void records_fields_copy(struct arena *a, struct fields f, void *base);
/* Binds the fields from parameter number `at` on; returns the number after the last one. */
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
    /* exists: the file existed before; reading: opened only for reading; other: the source of a
     * merge; foreign: the database of another program */
    bool exists, reading, other, damaged, foreign;
    sqlite3_stmt *kept[SQL_COUNT];
    char run_id[RUN_ID];                 /* cache: the run that was looked up last, and its row */
    int64_t run_row, run_task, run_machine;
};

/* Like records_open_reading, for the source of a merge: its errors do not advise to move that
 * file. */
bool records_open_other(const char *path, struct records **out, struct err *e);
/* Sets *e to SQLite's error of the last call and its fix.  doing: what failed, "write the records".
 * Returns false. */
bool records_fail(struct records *r, struct err *e, const char *doing);
/* Returns a statement of records.def, ready to bind; NULL with *e on errors. */
sqlite3_stmt *records_sql(struct records *r, enum records_sql which, struct err *e);
/* Runs SQL without results. */
bool records_exec(struct records *r, const char *sql, struct err *e);
/* Begin and end a transaction. records_end commits if ok; else it rolls back and returns false. */
bool records_begin(struct records *r, struct err *e);
bool records_end(struct records *r, bool ok, struct err *e);
/* Runs a prepared statement that returns no row. */
bool records_done(struct records *r, sqlite3_stmt *s, const char *doing, struct err *e);

/* Bind and read a text that is NULL in SQL when it is NULL or "" in C.  records_number reads a
 * number; it returns `none` for NULL. */
void records_bind_text(sqlite3_stmt *s, int at, const char *text);
const char *records_text(sqlite3_stmt *s, int at);
double records_number(sqlite3_stmt *s, int at, double none);

void records_date_now(char out[24]);                             /* "2026-11-21T06:19:47Z" */

/* Insert within the caller's transaction, for import and merge.  *added: whether it was new. */
bool records_put(struct records *r, const struct record *rec, bool *added, struct err *e);
bool records_put_run(struct records *r, const struct record_run *run, bool *added, struct err *e);
/* Looks up a run and fills the cache run_id; *found: whether it exists. */
bool records_seek_run(struct records *r, const char *id, bool *found, struct err *e);

/* The text "WHERE ..." for a filter over record, run, task and machine, and its bound values.
 * of_records: the query has the table record; otherwise it selects runs. */
struct clause { struct str text; int n; struct { const char *text; int64_t number; } value[16]; };
void records_where(const struct records *r, const struct record_filter *f, bool of_records,
                   struct clause *out);
bool records_prepare(struct records *r, const char *sql, const struct clause *c,
                     sqlite3_stmt **out, struct err *e);
/* Adds file, line number, column and an excerpt of the line to *e.  Returns false. */
bool records_line_error(struct err *e, const char *file, int number, int col, const char *line);
/* Parses one exported line (records_json, records_run_json).  Texts live in a.  *is_run says
 * whether *run or *rec was filled. */
struct line_reader;
struct line_reader *records_line_reader_new(void);
void records_line_reader_free(struct line_reader *lr);
bool records_line_read(struct line_reader *lr, struct arena *a, const char *file, int number,
                       const char *line, size_t n, bool *is_run, struct record *rec,
                       struct record_run *run, struct err *e);
#endif
