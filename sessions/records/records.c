/* Writes runs and their records to the file. */
#include "sessions/records/records.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "explorer/tune/problem.h"
#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "kernels/base/version.h"
#include "kernels/gen/target.h"
#include "sessions/file/process.h"
#include "sessions/records/records_impl.h"

const char *const records_state_name[] = {
    [RUN_RUNNING] = "running", [RUN_FINISHED] = "finished", [RUN_STOPPED] = "stopped",
    [RUN_SETTLED] = "settled", [RUN_KILLED] = "killed",
};

bool records_state_find(const char *name, enum run_state *out)
{
    for (int i = RUN_RUNNING; i <= RUN_KILLED; i++)
        if (streq(records_state_name[i], name)) {
            *out = (enum run_state)i;
            return true;
        }
    return false;
}

#define WRITE "write the records"

/* --- Runs ------------------------------------------------------------------------------------- */

static bool insert_names(struct records *r, const struct record_run *run, struct err *e)
{
    sqlite3_stmt *s = records_sql(r, SQL_ADD_TASK, e);
    if (!s)
        return false;
    sqlite3_bind_text(s, 1, run->spec, -1, SQLITE_TRANSIENT);
    sqlite3_bind_int(s, 2, run->threads);
    sqlite3_bind_text(s, 3, run->isa, -1, SQLITE_TRANSIENT);
    if (!records_done(r, s, WRITE, e) || !(s = records_sql(r, SQL_ADD_MACHINE, e)))
        return false;
    sqlite3_bind_text(s, 1, run->machine, -1, SQLITE_TRANSIENT);
    return records_done(r, s, WRITE, e);
}

static bool insert_run(struct records *r, const struct record_run *run, const char *owner,
                       struct err *e)
{
    sqlite3_stmt *s = insert_names(r, run, e) ? records_sql(r, SQL_ADD_RUN, e) : NULL;
    if (!s)
        return false;
    int at = records_fields_bind(s, 1, fields_part(records_run_fields, "run", "ended"), run);
    sqlite3_bind_text(s, at, records_state_name[run->state], -1, SQLITE_STATIC);
    records_bind_text(s, at + 1, owner);
    return records_done(r, s, WRITE, e);
}

/* Describes this process as "PID STARTED BOOT", which the SQL function is_alive reads. */
static void owner_text(struct str *out)
{
    struct str boot = {0};
    struct err ignored;
    if (!file_read("/proc/sys/kernel/random/boot_id", 100, &boot, &ignored))
        str_add(&boot, "-");
    str_printf(out, "%ld %llu %.36s", (long)getpid(), process_started(), str_text(&boot));
    str_free(&boot);
}

static bool new_id(char id[RUN_ID], struct err *e)
{
    uint64_t bits;
    if (getrandom(&bits, sizeof bits, 0) != sizeof bits)
        return err_set(e, ERR_ENV, "no random numbers for the name of a run: %s",
                       strerror(errno));
    snprintf(id, RUN_ID, "%016llx", (unsigned long long)bits);
    return true;
}

bool records_run_start(struct records *r, const struct record_run *run, char id[RUN_ID],
                       struct err *e)
{
    char name[RUN_ID], date[24];
    struct str owner = {0};
    struct record_run fresh = *run;
    if (!new_id(name, e))
        return false;
    records_date_now(date);
    owner_text(&owner);
    fresh.id = name;
    fresh.started = date;
    fresh.ended = "";
    fresh.machine = str_text(&r->machine);
    fresh.state = RUN_RUNNING;
    bool ok = records_begin(r, e)
           && records_end(r, insert_run(r, &fresh, str_text(&owner), e), e);
    if (ok)
        memcpy(id, name, RUN_ID);
    str_free(&owner);
    return ok;
}

static bool no_run(const char *id, struct err *e)
{
    err_set(e, ERR_NAME, "there is no run %s in the records", id);
    return err_fix(e, "tilescope records runs");
}

/* Fails when the run does not exist, belongs to another machine, or a process works on it. */
static bool may_resume(struct records *r, const char *id, struct err *e)
{
    struct arena *a = arena_new();
    const struct record_run *run;
    int n;
    struct record_filter f = { .run = id, .any_machine = true };
    bool ok = records_runs(r, &f, a, &run, &n, e);
    if (ok && n == 0)
        ok = no_run(id, e);
    else if (ok && run->state == RUN_RUNNING)
        ok = err_set(e, ERR_STEP, "another process is working on run %s", id)
          || err_fix(e, "wait until it has ended, or start a new run without --resume");
    else if (ok && !streq(run->machine, str_text(&r->machine))) {
        ok = err_set(e, ERR_STEP, "run %s belongs to another machine: %.300s", id, run->machine);
        err_fix(e, "start a new run, since times of two machines cannot be compared");
    }
    arena_free(a);
    return ok;
}

bool records_run_resume(struct records *r, const char *id, struct err *e)
{
    struct str owner = {0};
    bool ok = records_begin(r, e);
    if (!ok)
        return false;
    owner_text(&owner);
    sqlite3_stmt *s = may_resume(r, id, e) ? records_sql(r, SQL_OWN_RUN, e) : NULL;
    if (s) {
        sqlite3_bind_text(s, 1, id, -1, SQLITE_TRANSIENT);
        sqlite3_bind_text(s, 2, str_text(&owner), -1, SQLITE_TRANSIENT);
    }
    ok = records_end(r, s && records_done(r, s, WRITE, e), e);
    str_free(&owner);
    return ok;
}

bool records_run_end(struct records *r, const char *id, enum run_state state, struct err *e)
{
    char date[24];
    sqlite3_stmt *s = records_sql(r, SQL_END_RUN, e);
    if (!s)
        return false;
    records_date_now(date);
    sqlite3_bind_text(s, 1, id, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(s, 2, records_state_name[state], -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(s, 3, date, -1, SQLITE_TRANSIENT);
    return records_done(r, s, WRITE, e) && (sqlite3_changes(r->db) == 1 || no_run(id, e));
}

bool records_seek_run(struct records *r, const char *id, bool *found, struct err *e)
{
    *found = r->run_id[0] && streq(r->run_id, id);
    if (*found)
        return true;
    sqlite3_stmt *s = records_sql(r, SQL_SEEK_RUN, e);
    if (!s)
        return false;
    sqlite3_bind_text(s, 1, id, -1, SQLITE_TRANSIENT);
    int rc = sqlite3_step(s);
    *found = rc == SQLITE_ROW;
    if (*found) {
        r->run_row = sqlite3_column_int64(s, 0);
        r->run_task = sqlite3_column_int64(s, 1);
        r->run_machine = sqlite3_column_int64(s, 2);
        snprintf(r->run_id, sizeof r->run_id, "%s", id);
    }
    bool ok = rc == SQLITE_ROW || rc == SQLITE_DONE || records_fail(r, e, "read the records");
    sqlite3_reset(s);
    return ok;
}

/* Returns a number that orders states.  Of two copies of one run, the copy whose state has the
 * larger number counts as the later one. */
static int finality(enum run_state s)
{
    return s == RUN_FINISHED ? 3 : s == RUN_SETTLED ? 2 : s == RUN_STOPPED ? 1 : 0;
}

static bool same_run(const struct record_run *a, const struct record_run *b)
{
    return streq(a->spec, b->spec) && streq(a->isa, b->isa) && a->threads == b->threads
        && streq(a->machine, b->machine) && streq(a->started, b->started) && a->seed == b->seed;
}

/* Handles an imported run whose id is already stored here.  Fails when the stored run is not the
 * same run.  Takes over the state of `run` if `run` is the later copy and no process here works on
 * the stored one. */
static bool put_known_run(struct records *r, const struct record_run *run, struct err *e)
{
    struct arena *a = arena_new();
    const struct record_run *here;
    int n;
    struct record_filter f = { .run = run->id, .any_machine = true };
    bool ok = records_runs(r, &f, a, &here, &n, e);
    if (ok && (n != 1 || !same_run(run, here)))
        ok = err_set(e, ERR_NAME,
                     "run %s already exists here with another task, machine, seed or start",
                     run->id);
    sqlite3_stmt *s = NULL;
    if (ok && finality(run->state) > finality(here->state) && here->state != RUN_RUNNING) {
        ok = (s = records_sql(r, SQL_END_RUN, e)) != NULL;
        if (s) {
            sqlite3_bind_text(s, 1, run->id, -1, SQLITE_TRANSIENT);
            sqlite3_bind_text(s, 2, records_state_name[run->state], -1, SQLITE_TRANSIENT);
            records_bind_text(s, 3, run->ended);
            ok = records_done(r, s, WRITE, e);
        }
    }
    arena_free(a);
    return ok;
}

bool records_put_run(struct records *r, const struct record_run *run, bool *added, struct err *e)
{
    bool found;
    struct record_run stored = *run;
    if (stored.state == RUN_KILLED)
        stored.state = RUN_RUNNING;
    if (!records_seek_run(r, run->id, &found, e))
        return false;
    *added = !found;
    return found ? put_known_run(r, &stored, e) : insert_run(r, &stored, NULL, e);
}

/* --- Records ---------------------------------------------------------------------------------- */

char *records_steps(struct arena *a, const char *const *line, int n)
{
    struct str all = {0};
    for (int i = 0; i < n; i++)
        str_printf(&all, "%s%s", i ? "\n" : "", line[i]);
    char *text = arena_strdup(a, str_text(&all));
    str_free(&all);
    return text;
}

const char *const *records_lines(struct arena *a, const char *steps, int *n)
{
    *n = 0;
    for (const char *c = steps; *c; c++)
        *n += c == steps || *c == '\n';
    const char **line = ARENA_ARRAY(a, const char *, *n + 1);
    for (int i = 0; i < *n; i++) {
        size_t len = strcspn(steps, "\n");
        line[i] = arena_strndup(a, steps, len);
        steps += len + (steps[len] == '\n');
    }
    return line;
}

void records_of_measurement(struct record *out, const struct measurement *m)
{
    bool timed = m->latency.runs > 0;
    *out = (struct record){
        .outcome = m->outcome, .reason = m->reason, .verified = m->verified,
        .max_rel_err = measurement_compared(m) ? m->max_rel_err : (double)NAN,
        .median_ms = timed ? m->latency.median_ms : 0, .min_ms = timed ? m->latency.min_ms : 0,
        .spread = timed ? m->latency.spread : 0, .runs = m->latency.runs, .gflops = m->gflops,
        .seed = m->seed, .compile_s = (double)NAN, .measure_s = (double)NAN,
        .steps = "", .strategy = "", .run = "",
    };
}

void records_of_candidate(struct arena *a, struct record *out, const struct tune_candidate *c)
{
    if (c->m)
        records_of_measurement(out, c->m);
    else
        *out = (struct record){ 0 };
    out->trial = c->trial + 1;
    out->steps = records_steps(a, c->line, c->n_lines);
    out->outcome = c->outcome;
    out->reason = c->reason;
    out->features = c->features;
    out->compile_s = c->compile_s;
    out->measure_s = c->measure_s;
}

/* Returns a hash of the exported line without the task and the machine.  Two records of a run with
 * equal hashes count as copies of one record. */
static uint64_t content_of(const struct record *rec)
{
    struct str line = {0};
    struct record own = *rec;
    own.spec = NULL;
    records_json(&line, &own);
    uint64_t hash = hash_text(str_text(&line));
    str_free(&line);
    return hash;
}

/* Inserts rec into the run that records_seek_run found last.  Sets *added to false if the run has
 * this record already. */
static bool insert_record(struct records *r, const struct record *rec, bool *added, struct err *e)
{
    sqlite3_stmt *s = records_sql(r, SQL_ADD_RECORD, e);
    if (!s)
        return false;
    struct record own = *rec;
    if (rec->runs <= 0) {
        own.median_ms = own.min_ms = own.spread = (double)NAN;
        own.runs = 0;
    }
    sqlite3_bind_int64(s, 1, r->run_row);
    sqlite3_bind_int64(s, 2, r->run_task);
    sqlite3_bind_int64(s, 3, r->run_machine);
    sqlite3_bind_int64(s, 4, (int64_t)content_of(rec));
    sqlite3_bind_int64(s, 5, (int64_t)hash_text(rec->steps));
    sqlite3_bind_text(s, 6, outcome_name[rec->outcome], -1, SQLITE_STATIC);
    int at = records_fields_bind(s, 7, fields_part(records_fields, "trial", "seed"), &own);
    records_fields_bind(s, at, fields_part(records_fields, "steps", NULL), &own);
    bool ok = records_done(r, s, WRITE, e);
    *added = ok && sqlite3_changes(r->db) == 1;
    sqlite3_clear_bindings(s);
    return ok;
}

bool records_put(struct records *r, const struct record *rec, bool *added, struct err *e)
{
    bool found;
    if (!records_seek_run(r, rec->run, &found, e))
        return false;
    if (!found)
        return err_set(e, ERR_NAME,
                       "run %s is unknown: the line of a run must come before those of its records",
                       rec->run);
    return insert_record(r, rec, added, e);
}

void records_version(char out[RECORDS_VERSION])
{
    snprintf(out, RECORDS_VERSION, TILESCOPE_VERSION " code %08x", (unsigned)target_code());
}

bool records_add(struct records *r, const struct record *rec, struct err *e)
{
    bool found, added;
    char date[24], version[RECORDS_VERSION];
    struct record full = *rec;
    if (!records_seek_run(r, rec->run, &found, e))
        return false;
    if (!found)
        return no_run(rec->run, e);
    records_date_now(date);
    full.date = date;
    records_version(version);
    full.version = version;
    if (insert_record(r, &full, &added, e))
        return true;
    r->run_id[0] = '\0';
    return false;
}
