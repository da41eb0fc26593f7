/* The file of the records: its schema, opening it in any state, messages for SQLite's errors. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "kernels/base/file.h"
#include "profile/machine/machine_model.h"
#include "sessions/file/process.h"
#include "sessions/records/records_impl.h"

#define APPLICATION 0x54537263          /* "TSrc" */
#define BUSY_MS 60000  /* longest wait for a lock: an import of 150 000 records takes 15 s */

/* The schema, as a list of steps.  The user_version of a file is the number of steps that it has.
 * Append new steps; never change a step that was released. */
static const char *const schema_step[] = {
    "CREATE TABLE task(id INTEGER PRIMARY KEY, spec TEXT NOT NULL, threads INTEGER NOT NULL,"
    " isa TEXT NOT NULL, UNIQUE(spec, threads, isa)) STRICT;"
    "CREATE TABLE machine(id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE) STRICT;"
    "CREATE TABLE run(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
    " task INTEGER NOT NULL REFERENCES task(id),"
    " machine INTEGER NOT NULL REFERENCES machine(id), strategy TEXT NOT NULL, options TEXT,"
    " seed INTEGER NOT NULL, budget INTEGER NOT NULL, started TEXT NOT NULL, ended TEXT,"
    " state TEXT NOT NULL, owner TEXT) STRICT;"
    "CREATE INDEX run_task ON run(task, machine);"
    "CREATE TABLE record(id INTEGER PRIMARY KEY,"
    " run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
    " task INTEGER NOT NULL REFERENCES task(id),"
    " machine INTEGER NOT NULL REFERENCES machine(id), trial INTEGER NOT NULL,"
    " content INTEGER NOT NULL, strategy TEXT NOT NULL, seed INTEGER NOT NULL,"
    " steps TEXT NOT NULL, steps_hash INTEGER NOT NULL, outcome TEXT NOT NULL, reason TEXT,"
    " median_ms REAL, min_ms REAL, spread REAL, samples INTEGER NOT NULL, gflops REAL,"
    " verified INTEGER NOT NULL, max_rel_err REAL, compile_s REAL, measure_s REAL,"
    " features INTEGER, version TEXT NOT NULL, date TEXT NOT NULL,"
    " UNIQUE(run, trial, content)) STRICT;"
    "CREATE INDEX record_steps ON record(task, machine, steps_hash);"
    "CREATE INDEX record_best ON record(task, machine, min_ms)"
    " WHERE outcome = 'ok' AND verified AND min_ms IS NOT NULL;",
    "ALTER TABLE record ADD COLUMN simulated_ms REAL;",
};
#define NEWEST COUNT_OF(schema_step)

static bool damaged(struct records *r, struct err *e, const char *how)
{
    r->damaged = true;
    err_set(e, ERR_IO, "the records in %s are damaged: %s", r->path, how);
    if (r->other)
        return err_fix(e, "nothing was changed. `sqlite3 FILE .recover` reads what is left of it");
    return err_fix(e, "nothing was changed. `sqlite3 FILE .recover` reads what is left; `tilescope"
                      " records aside` moves the file away, and the next run starts a new one");
}

static bool not_writable(const struct records *r, struct err *e, const char *doing)
{
    err_set(e, ERR_IO, "cannot %s: %s, or its folder, cannot be written to", doing, r->path);
    return err_fix(e, "TILESCOPE_RECORDS=FILE chooses another place for the records");
}

bool records_fail(struct records *r, struct err *e, const char *doing)
{
    const char *said = r->db ? sqlite3_errmsg(r->db) : "out of memory";
    switch (r->db ? sqlite3_errcode(r->db) & 0xff : SQLITE_NOMEM) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
    case SQLITE_MISMATCH:
        return damaged(r, e, said);
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return not_writable(r, e, doing);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        err_set(e, ERR_IO, "cannot %s: another process has kept %s locked for %d s", doing,
                r->path, BUSY_MS / 1000);
        return err_fix(e, "try again; `fuser %.300s` says which process it is", r->path);
    case SQLITE_FULL:
        err_set(e, ERR_IO, "cannot %s: no space is left for %s", doing, r->path);
        return err_fix(e, "free some space, or use TILESCOPE_RECORDS=FILE; no record is lost");
    default:
        err_set(e, ERR_IO, "cannot %s in %s: %s", doing, r->path, said);
        if (r->db && sqlite3_system_errno(r->db) != 0)
            err_set(e, ERR_IO, "cannot %s in %s: %s (%s)", doing, r->path, said,
                    strerror(sqlite3_system_errno(r->db)));
        return false;
    }
}

/* --- Statements ------------------------------------------------------------------------------- */

sqlite3_stmt *records_sql(struct records *r, enum records_sql which, struct err *e)
{
    static const char *const text[] = {
#define SQL(id, text) text,
#include "sessions/records/records.def"
    };
    sqlite3_stmt **s = &r->kept[which];
    if (!*s && sqlite3_prepare_v3(r->db, text[which], -1, SQLITE_PREPARE_PERSISTENT, s, NULL)
               != SQLITE_OK) {
        records_fail(r, e, "read the records");
        return NULL;
    }
    sqlite3_reset(*s);
    sqlite3_clear_bindings(*s);
    return *s;
}

bool records_exec(struct records *r, const char *sql, struct err *e)
{
    return sqlite3_exec(r->db, sql, NULL, NULL, NULL) == SQLITE_OK
        || records_fail(r, e, "write the records");
}

bool records_begin(struct records *r, struct err *e)
{
    return records_exec(r, "BEGIN IMMEDIATE", e);
}

bool records_end(struct records *r, bool ok, struct err *e)
{
    r->run_id[0] = '\0';
    if (ok && records_exec(r, "COMMIT", e))
        return true;
    sqlite3_exec(r->db, "ROLLBACK", NULL, NULL, NULL);
    return false;
}

bool records_done(struct records *r, sqlite3_stmt *s, const char *doing, struct err *e)
{
    bool ok = sqlite3_step(s) == SQLITE_DONE || records_fail(r, e, doing);
    sqlite3_reset(s);
    return ok;
}

void records_bind_text(sqlite3_stmt *s, int at, const char *text)
{
    if (text && *text)
        sqlite3_bind_text(s, at, text, -1, SQLITE_TRANSIENT);
    else
        sqlite3_bind_null(s, at);
}

const char *records_text(sqlite3_stmt *s, int at)
{
    const char *text = (const char *)sqlite3_column_text(s, at);
    return text ? text : "";
}

double records_number(sqlite3_stmt *s, int at, double none)
{
    return sqlite3_column_type(s, at) == SQLITE_NULL ? none : sqlite3_column_double(s, at);
}

void records_date_now(char out[24])
{
    time_t now = time(NULL);
    struct tm t;
    gmtime_r(&now, &t);
    strftime(out, 24, "%Y-%m-%dT%H:%M:%SZ", &t);
}

/* Runs a query that returns one integer. */
static bool query_int(struct records *r, const char *sql, int64_t *out, struct err *e)
{
    sqlite3_stmt *s = NULL;
    bool ok = sqlite3_prepare_v2(r->db, sql, -1, &s, NULL) == SQLITE_OK
           && sqlite3_step(s) == SQLITE_ROW;
    if (ok)
        *out = sqlite3_column_int64(s, 0);
    else
        records_fail(r, e, "read the records");
    sqlite3_finalize(s);
    return ok;
}

/* --- Opening ---------------------------------------------------------------------------------- */

/* The SQL function is_alive(owner): whether the process "PID STARTED BOOT" still runs.  For a
 * process of an earlier boot, the answer is no. */
static void sql_is_alive(sqlite3_context *ctx, int n, sqlite3_value **arg)
{
    const char *owner = n == 1 ? (const char *)sqlite3_value_text(arg[0]) : NULL;
    long pid = 0;
    unsigned long long started = 0;
    char boot[40] = "";
    struct str now = {0};
    struct err ignored;
    bool alive = owner && sscanf(owner, "%ld %llu %39s", &pid, &started, boot) >= 2
              && process_alive(pid, started)
              && (!file_read("/proc/sys/kernel/random/boot_id", 100, &now, &ignored)
                  || strncmp(str_text(&now), boot, 36) == 0);
    str_free(&now);
    sqlite3_result_int(ctx, alive);
}

static bool connect_to(struct records *r, const char *path, int flags, struct err *e)
{
    if (r->db)
        sqlite3_close(r->db);
    r->db = NULL;
    if (sqlite3_open_v2(path, &r->db, flags | SQLITE_OPEN_EXRESCODE, NULL) != SQLITE_OK)
        return records_fail(r, e, "open the records");
    sqlite3_busy_timeout(r->db, BUSY_MS);
    sqlite3_db_config(r->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(r->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(r->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_create_function(r->db, "is_alive", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL,
                            sql_is_alive, NULL, NULL);
    return records_exec(r, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
                           "PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL", e);
}

/* Appends "file:PATH?immutable=1": with it, SQLite reads a file in a folder where it cannot create
 * its lock file. */
static void immutable_uri(struct str *out, const char *path)
{
    str_add(out, "file:");
    for (const unsigned char *c = (const unsigned char *)path; *c; c++)
        str_printf(out, strchr("%?#", *c) || *c < 33 || *c > 126 ? "%%%02x" : "%c", *c);
    str_add(out, "?immutable=1");
}

/* Whether there is a write-ahead log with content, which can have records that the file lacks. */
static bool has_log(const char *path)
{
    struct str log = {0};
    struct stat st;
    str_printf(&log, "%s-wal", path);
    bool found = stat(str_text(&log), &st) == 0 && st.st_size > 0;
    str_free(&log);
    return found;
}

static bool connect_reading(struct records *r, struct err *e)
{
    int64_t ignored;
    struct err first;
    if (connect_to(r, r->path, SQLITE_OPEN_READWRITE, &first)
        && query_int(r, "PRAGMA user_version", &ignored, &first))
        return true;
    int code = r->db ? sqlite3_errcode(r->db) & 0xff : SQLITE_NOMEM;
    if ((code != SQLITE_CANTOPEN && code != SQLITE_READONLY) || access(r->path, R_OK) != 0) {
        *e = first;
        return false;
    }
    if (has_log(r->path)) {
        err_set(e, ERR_IO, "%s was not closed properly, and its folder cannot be written to",
                r->path);
        return err_fix(e, "copy it together with %.200s-wal to a folder that you can write to",
                       r->path);
    }
    struct str uri = {0};
    immutable_uri(&uri, r->path);
    bool ok = connect_to(r, str_text(&uri), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, e);
    str_free(&uri);
    return ok;
}

/* Switches to a write-ahead log.  Retries while the file is busy: this pragma ignores the busy
 * timeout. */
static bool use_log(struct records *r, struct err *e)
{
    for (int ms = 0;; ms += 5) {
        int rc = sqlite3_exec(r->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
        if (rc == SQLITE_OK)
            return true;
        if ((rc & 0xff) != SQLITE_BUSY || ms >= BUSY_MS)
            return records_fail(r, e, "write the records");
        nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
    }
}

/* Applies the steps of the schema that the file lacks, in one transaction. */
static bool upgrade(struct records *r, struct err *e)
{
    int64_t version = 0;
    char text[96];
    bool ok = records_begin(r, e);
    if (!ok)
        return false;
    ok = query_int(r, "PRAGMA user_version", &version, e);
    for (int64_t i = version; ok && i < NEWEST; i++)
        ok = records_exec(r, schema_step[i], e);
    snprintf(text, sizeof text, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             APPLICATION, NEWEST);
    return records_end(r, ok && records_exec(r, text, e), e);
}

/* Copies a file that must not be changed into memory, and upgrades the copy. */
static bool upgrade_copy(struct records *r, struct err *e)
{
    sqlite3 *file = r->db;
    r->db = NULL;
    bool ok = connect_to(r, ":memory:", SQLITE_OPEN_READWRITE, e);
    sqlite3_backup *b = ok ? sqlite3_backup_init(r->db, "main", file, "main") : NULL;
    if (ok)
        ok = (b && sqlite3_backup_step(b, -1) == SQLITE_DONE)
          || records_fail(r, e, "read the records");
    sqlite3_backup_finish(b);
    sqlite3_close(file);
    return ok && upgrade(r, e);
}

static bool newer(const struct records *r, int64_t version, struct err *e)
{
    err_set(e, ERR_IO,
            "the records in %s were written by a newer tilescope (format %lld; this one reads %d)",
            r->path, (long long)version, NEWEST);
    return err_fix(e, "update tilescope, or use another file: TILESCOPE_RECORDS=FILE");
}

/* Reads the application, the version and the number of tables.  One transaction reads all three,
 * because another process may be creating the file at the same time. */
static bool read_head(struct records *r, int64_t *application, int64_t *version, int64_t *tables,
                      struct err *e)
{
    if (!records_exec(r, "BEGIN", e))
        return false;
    bool ok = query_int(r, "PRAGMA application_id", application, e)
           && query_int(r, "PRAGMA user_version", version, e)
           && query_int(r, "SELECT count(*) FROM sqlite_schema", tables, e);
    sqlite3_exec(r->db, "ROLLBACK", NULL, NULL, NULL);
    return ok;
}

/* Refuses a file with views, triggers or virtual tables: these run code when the file is read or
 * written.  tilescope creates none. */
static bool plain_schema(struct records *r, struct err *e)
{
    sqlite3_stmt *s = NULL;
    bool ok = sqlite3_prepare_v2(r->db, "SELECT name FROM sqlite_schema WHERE type NOT IN ('table',"
                                        " 'index') OR sql NOT GLOB 'CREATE TABLE *' AND sql NOT"
                                        " GLOB 'CREATE INDEX *' AND sql NOT GLOB 'CREATE UNIQUE"
                                        " INDEX *' LIMIT 1", -1, &s, NULL) == SQLITE_OK;
    int rc = ok ? sqlite3_step(s) : SQLITE_ERROR;
    if (rc == SQLITE_ROW) {
        ok = err_set(e, ERR_IO, "%s has views or triggers (%.100s), which no records have: nothing"
                     " is read from it", r->path, records_text(s, 0));
        err_fix(e, "whoever made the file can export its records with `tilescope records export`;"
                   " `tilescope records import` reads the result");
    } else if (rc != SQLITE_DONE) {
        ok = records_fail(r, e, "read the records");
    }
    sqlite3_finalize(s);
    return ok;
}

/* Checks that the file is of this program, and of no newer version.  Upgrades an empty or older
 * file to the current schema; if the file is only read, a copy in memory may be upgraded
 * instead. */
static bool check_schema(struct records *r, struct err *e)
{
    int64_t application, version, tables;
    if (!read_head(r, &application, &version, &tables, e))
        return false;
    if (application == 0 && version == 0 && tables == 0)
        return r->reading ? connect_to(r, ":memory:", SQLITE_OPEN_READWRITE, e) && upgrade(r, e)
                          : use_log(r, e) && upgrade(r, e);
    r->foreign = application != APPLICATION;
    if (r->foreign) {
        err_set(e, ERR_IO, "%s is a database of another program", r->path);
        return r->other ? false : err_fix(e,
                                          "set TILESCOPE_RECORDS=FILE to the file of the records");
    }
    if (version > NEWEST)
        return newer(r, version, e);
    if (version < 0)
        return damaged(r, e, "their format number is negative");
    if (!plain_schema(r, e))
        return false;
    if (!r->reading && sqlite3_db_readonly(r->db, "main") == 1)
        return not_writable(r, e, "write the records");
    if (version == NEWEST)
        return r->reading || use_log(r, e);
    bool stays = r->reading && (r->other || sqlite3_db_readonly(r->db, "main") == 1);
    return stays ? upgrade_copy(r, e) : use_log(r, e) && upgrade(r, e);
}

bool records_path(struct str *out, struct err *e)
{
    const char *given = getenv("TILESCOPE_RECORDS");
    str_clear(out);
    if (given && *given) {
        str_add(out, given);
        return true;
    }
    if (!dir_data(out, e))
        return false;
    str_add(out, "/records.db");
    return true;
}

static bool set_path(struct records *r, const char *path, struct err *e)
{
    struct str chosen = {0};
    bool ok = path || records_path(&chosen, e);
    const char *text = path ? path : str_text(&chosen);
    if (ok && strlen(text) >= sizeof r->path - 8)
        ok = err_set(e, ERR_IO, "the name of the records' file is too long");
    if (ok)
        snprintf(r->path, sizeof r->path, "%s", text);
    str_free(&chosen);
    return ok;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool folder(const struct records *r, struct err *e)
{
    err_set(e, ERR_IO, "%s is a folder, not a file of records", r->path);
    return err_fix(e, "%s%.200s/records.db", r->other ? "" : "TILESCOPE_RECORDS=", r->path);
}

static bool connect_any(struct records *r, struct err *e)
{
    r->exists = file_exists(r->path);
    if (is_folder(r->path))
        return folder(r, e);
    if (!r->reading)
        return connect_to(r, r->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, e);
    return r->exists ? connect_reading(r, e) : connect_to(r, ":memory:", SQLITE_OPEN_READWRITE, e);
}

static struct records *records_new(bool reading, bool other)
{
    struct records *r = xcalloc(1, sizeof *r);
    struct machine m;
    r->reading = reading;
    r->other = other;
    machine_read(&m);
    machine_model_fingerprint(&r->machine, &m);
    return r;
}

static bool open_file(struct records *r, const char *path, struct err *e)
{
    return set_path(r, path, e) && connect_any(r, e) && check_schema(r, e);
}

static bool open_any(const char *path, bool reading, bool other, struct records **out,
                     struct err *e)
{
    struct records *r = records_new(reading, other);
    if (open_file(r, path, e)) {
        *out = r;
        return true;
    }
    records_close(r);
    return false;
}

bool records_open(const char *path, struct records **out, struct err *e)
{
    return open_any(path, false, false, out, e);
}

bool records_open_reading(const char *path, struct records **out, struct err *e)
{
    return open_any(path, true, false, out, e);
}

bool records_open_other(const char *path, struct records **out, struct err *e)
{
    return open_any(path, true, true, out, e);
}

void records_close(struct records *r)
{
    if (!r)
        return;
    for (int i = 0; i < SQL_COUNT; i++)
        sqlite3_finalize(r->kept[i]);
    sqlite3_close(r->db);
    str_free(&r->machine);
    free(r);
}

const char *records_file(const struct records *r)
{
    return r->path;
}

bool records_exists(const struct records *r)
{
    return r->exists;
}

const char *records_machine(const struct records *r)
{
    return str_text(&r->machine);
}

void records_set_machine(struct records *r, const char *fingerprint)
{
    str_clear(&r->machine);
    str_add(&r->machine, fingerprint);
}

/* --- Housekeeping ----------------------------------------------------------------------------- */

/* Copies SQLite's report, which has several lines, to `out` as one line.  Returns `out`. */
static const char *in_one_line(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text);
    for (char *c = out; *c; c++)
        if (*c == '\n')
            *c = ' ';
    return out;
}

bool records_check(struct records *r, struct err *e)
{
    sqlite3_stmt *s = NULL;
    char said[400];
    bool ok = sqlite3_prepare_v2(r->db, "PRAGMA integrity_check(1)", -1, &s, NULL) == SQLITE_OK
           && sqlite3_step(s) == SQLITE_ROW;
    if (!ok)
        records_fail(r, e, "read the records");
    else if (!streq(records_text(s, 0), "ok"))
        ok = damaged(r, e, in_one_line(said, sizeof said, records_text(s, 0)));
    sqlite3_finalize(s);
    return ok;
}

static bool no_records(const struct records *r, struct err *e)
{
    return err_set(e, ERR_IO, "there are no records: %s does not exist", r->path);
}

bool records_damaged(const char *path, struct err *e)
{
    static const char all_the_same[] = "tilescope records aside --yes moves it all the same";
    struct records *r = records_new(true, false);
    bool opened = open_file(r, path, e);
    if (opened && (r->exists || no_records(r, e)) && records_check(r, e)) {
        err_set(e, ERR_STEP, "%s is intact, so there is no need to move it away", r->path);
        err_fix(e, "%s", all_the_same);
    } else if (!opened && !r->damaged && !r->foreign && !is_folder(r->path)) {
        char first[sizeof e->fix];
        snprintf(first, sizeof first, "%s", e->fix);
        err_fix(e, "%.300s%s%s", first, first[0] ? "; " : "", all_the_same);
    }
    bool found = r->damaged;
    records_close(r);
    return found;
}

/* The endings of the log, its index and the database, in the order in which they are renamed. */
static const char *const part[] = { "-wal", "-shm", "" };
struct part_names { char from[1200], to[1200]; };

static struct part_names part_names(const char *path, int n, int i)
{
    struct part_names p;
    snprintf(p.from, sizeof p.from, "%s%s", path, part[i]);
    snprintf(p.to, sizeof p.to, "%s.aside-%d%s", path, n, part[i]);
    return p;
}

/* Whether FILE.aside-n or a log of this name exists. */
static bool is_taken(const char *path, int n)
{
    return file_exists(part_names(path, n, 0).to) || file_exists(part_names(path, n, 1).to)
        || file_exists(part_names(path, n, 2).to);
}

bool records_set_aside(const char *path, struct str *moved, struct err *e)
{
    struct records r = {0};
    int n = 1;
    if (!set_path(&r, path, e))
        return false;
    if (!file_exists(r.path))
        return no_records(&r, e);
    if (is_folder(r.path))
        return folder(&r, e);
    while (is_taken(r.path, n))
        n++;
    for (int i = 0; i < COUNT_OF(part); i++) {
        struct part_names p = part_names(r.path, n, i);
        if (rename(p.from, p.to) == 0 || (errno == ENOENT && part[i][0]))
            continue;
        err_set(e, ERR_IO, "cannot rename %s: %s", p.from, strerror(errno));
        while (i-- > 0) {                 /* the log stays with its database */
            p = part_names(r.path, n, i);
            rename(p.to, p.from);
        }
        return false;
    }
    str_clear(moved);
    str_printf(moved, "%s.aside-%d", r.path, n);
    return true;
}
