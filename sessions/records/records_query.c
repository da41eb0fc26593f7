/* Queries.  Their SQL consists of fixed texts; values are bound. */
#include <stdio.h>
#include <stdlib.h>

#include "kernels/base/rng.h"
#include "kernels/base/vec.h"
#include "sessions/records/records_impl.h"

#define READ "read the records"
/* --- Rows ------------------------------------------------------------------------------------- */

/* Returns the outcome with this name, or OUTCOME_NONE if this version does not know it. */
static enum outcome outcome_of(const char *name)
{
    for (int i = OUTCOME_NONE; i < OUTCOME_COUNT; i++)
        if (streq(outcome_name[i], name))
            return (enum outcome)i;
    return OUTCOME_NONE;
}

static void record_of_row(sqlite3_stmt *s, struct record *out)
{
    records_fields_read(s, records_fields, out);
    out->outcome = outcome_of(records_text(s, records_fields.n));
}

static void state_of_row(sqlite3_stmt *s, struct record_run *out)
{
    enum run_state state;
    bool ended = records_state_find(records_text(s, records_run_fields.n), &state)
              && state != RUN_RUNNING && state != RUN_KILLED;
    out->state = ended ? state
               : sqlite3_column_int(s, records_run_fields.n + 1) ? RUN_RUNNING : RUN_KILLED;
}

/* --- Filters ---------------------------------------------------------------------------------- */

static void where(struct clause *c, const char *condition)
{
    str_printf(&c->text, "%s%s", c->text.len ? " AND " : " WHERE ", condition);
}

static void where_text(struct clause *c, const char *condition, const char *value)
{
    if (!value)
        return;
    where(c, condition);
    c->value[c->n++].text = value;
}

static void where_number(struct clause *c, const char *condition, int64_t value)
{
    if (!value)
        return;
    where(c, condition);
    c->value[c->n].text = NULL;
    c->value[c->n++].number = value;
}

void records_where(const struct records *r, const struct record_filter *f, bool of_records,
                   struct clause *out)
{
    *out = (struct clause){0};
    where_text(out, "task.spec = ?", f->spec);
    where_text(out, "task.isa = ?", f->isa);
    where_number(out, "task.threads = ?", f->threads);
    where_number(out, "task.id = ?", f->task);
    if (!f->any_machine)
        where_text(out, "machine.fingerprint = ?", f->machine ? f->machine : str_text(&r->machine));
    where_text(out, "run.name = ?", f->run);
    where_text(out, of_records ? "record.strategy = ?" : "run.strategy = ?", f->strategy);
    where_text(out, of_records ? "record.date < ?" : "run.started < ?", f->before);
    if (!of_records)
        return;
    where_text(out, "record.outcome = ?", f->outcome);
    if (f->good)
        where(out, GOOD_RECORD);
    if (f->failed)
        where(out, "NOT (" GOOD_RECORD ")");
}

bool records_prepare(struct records *r, const char *sql, const struct clause *c,
                     sqlite3_stmt **out, struct err *e)
{
    *out = NULL;
    if (sqlite3_prepare_v2(r->db, sql, -1, out, NULL) != SQLITE_OK)
        return records_fail(r, e, READ);
    for (int i = 0; i < c->n; i++) {
        if (c->value[i].text)
            sqlite3_bind_text(*out, i + 1, c->value[i].text, -1, SQLITE_TRANSIENT);
        else
            sqlite3_bind_int64(*out, i + 1, c->value[i].number);
    }
    return true;
}

/* Prepares the query "SELECT columns from WHERE ... tail LIMIT limit" (limit 0: no limit).  Frees
 * the text of c. */
static bool select_rows(struct records *r, const char *columns, const char *from,
                        struct clause *c, const char *tail, int64_t limit, sqlite3_stmt **out,
                        struct err *e)
{
    struct str sql = {0};
    str_printf(&sql, "SELECT %s%s%s%s", columns, from, str_text(&c->text), tail);
    if (limit > 0)
        str_printf(&sql, " LIMIT %lld", (long long)limit);
    bool ok = records_prepare(r, str_text(&sql), c, out, e);
    str_free(&sql);
    str_free(&c->text);
    return ok;
}

/* Frees s after a loop over its rows. rc: the result of the last sqlite3_step.  Returns false with
 * *e if rc is an error. */
static bool rows_over(struct records *r, sqlite3_stmt *s, int rc, struct err *e)
{
    bool ok = rc == SQLITE_DONE || rc == SQLITE_ROW || records_fail(r, e, READ);
    sqlite3_finalize(s);
    return ok;
}

/* --- Records ---------------------------------------------------------------------------------- */

bool records_each(struct records *r, const struct record_filter *f, record_take *take, void *ctx,
                  struct err *e)
{
    struct clause c;
    sqlite3_stmt *s;
    struct record rec;
    int rc;
    records_where(r, f, true, &c);
    const char *order = !f->fastest ? " ORDER BY record.run, record.trial, record.id"
                      /* for one task, this order uses the index record_best */
                      : f->good ? " ORDER BY record.min_ms, record.id"
                      : " ORDER BY record.min_ms IS NULL, record.min_ms, record.id";
    if (!select_rows(r, RECORD_COLUMNS, FROM_RECORDS, &c, order, f->limit, &s, e))
        return false;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        record_of_row(s, &rec);
        if (!take(ctx, &rec))
            break;
    }
    return rows_over(r, s, rc, e);
}

struct record_gather {
    struct arena *a;
    VEC(struct record) list;
    int most;  /* 0: take all records; else at most so many, no two with the same spec and steps */
    int *place, room;  /* hash table of `room` entries: 0 (empty), or 1 + an index in `list` */
};

static int *place_of(const struct record_gather *g, const struct record *rec)
{
    uint64_t hash = hash_text(rec->steps) ^ hash_text(rec->spec);
    int at = (int)(hash & (uint64_t)(g->room - 1));
    for (; g->place[at]; at = (at + 1) & (g->room - 1)) {
        const struct record *x = &g->list.data[g->place[at] - 1];
        if (streq(x->steps, rec->steps) && streq(x->spec, rec->spec))
            break;
    }
    return &g->place[at];
}

static void make_room(struct record_gather *g)
{
    if (2 * g->list.len < g->room)
        return;
    free(g->place);
    g->room = g->room ? 2 * g->room : 64;
    g->place = xcalloc((size_t)g->room, sizeof *g->place);
    for (int i = 0; i < g->list.len; i++)
        *place_of(g, &g->list.data[i]) = i + 1;
}

static bool take_into(void *ctx, const struct record *rec)
{
    struct record_gather *g = ctx;
    if (g->most) {
        make_room(g);
        int *place = place_of(g, rec);
        if (*place)
            return true;
        *place = g->list.len + 1;
    }
    vec_push(&g->list, *rec);
    records_fields_copy(g->a, records_fields, &g->list.data[g->list.len - 1]);
    return !g->most || g->list.len < g->most;
}

static bool gather(struct records *r, const struct record_filter *f, struct record_gather *g,
                   const struct record **out, int *n, struct err *e)
{
    bool ok = records_each(r, f, take_into, g, e);
    if (ok) {
        *n = g->list.len;
        *out = *n ? ARENA_DUP(g->a, g->list.data, *n) : NULL;
    }
    vec_free(&g->list);
    free(g->place);
    return ok;
}

bool records_list(struct records *r, const struct record_filter *f, struct arena *a,
                  const struct record **out, int *n, struct err *e)
{
    return gather(r, f, &(struct record_gather){ .a = a }, out, n, e);
}

bool records_best(struct records *r, const struct record_filter *f, int k, struct arena *a,
                  const struct record **out, int *n, struct err *e)
{
    struct record_filter best = *f;
    best.good = best.fastest = true;
    best.failed = false;
    best.limit = 0;
    return gather(r, &best, &(struct record_gather){ .a = a, .most = k }, out, n, e);
}

bool records_find(struct records *r, const char *spec, int threads, const char *isa,
                  const char *steps, struct arena *a, const struct record **out, struct err *e)
{
    struct record *rec = NULL;
    char version[RECORDS_VERSION];
    sqlite3_stmt *s = records_sql(r, SQL_FIND, e);
    records_version(version);
    if (!s)
        return false;
    sqlite3_bind_text(s, 1, spec, -1, SQLITE_STATIC);
    sqlite3_bind_int(s, 2, threads);
    sqlite3_bind_text(s, 3, isa, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 4, str_text(&r->machine), -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 5, (int64_t)hash_text(steps));
    sqlite3_bind_text(s, 6, steps, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 7, version, -1, SQLITE_STATIC);
    int rc = sqlite3_step(s);
    if (rc == SQLITE_ROW) {
        record_of_row(s, rec = ARENA_NEW(a, struct record));
        records_fields_copy(a, records_fields, rec);
    }
    bool ok = rc == SQLITE_ROW || rc == SQLITE_DONE || records_fail(r, e, READ);
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    if (ok)
        *out = rec;
    return ok;
}

/* --- Runs and tasks --------------------------------------------------------------------------- */

/* Returns the rows as *n structs of `size` bytes in arena a, or NULL if there are none.  On an
 * error *n is -1. */
static void *list_rows(struct records *r, sqlite3_stmt *s, struct fields f, size_t size,
                       struct arena *a, int *n, struct err *e)
{
    struct str list = {0};
    void *rows = NULL;
    int rc;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        union { struct record_run run; struct record_task task; } row = {0};
        records_fields_read(s, f, &row);
        records_fields_copy(a, f, &row);
        if (f.at == records_run_fields.at)
            state_of_row(s, &row.run);
        str_add_n(&list, (const char *)&row, size);
    }
    *n = rows_over(r, s, rc, e) ? (int)(list.len / size) : -1;
    if (*n > 0)
        rows = arena_copy(a, list.data, list.len);
    str_free(&list);
    return rows;
}

bool records_runs(struct records *r, const struct record_filter *f, struct arena *a,
                  const struct record_run **out, int *n, struct err *e)
{
    struct clause c;
    sqlite3_stmt *s;
    int found;
    records_where(r, f, false, &c);
    if (!select_rows(r, RUN_COLUMNS, FROM_RUNS, &c, " ORDER BY run.started DESC, run.id DESC",
                     f->limit, &s, e))
        return false;
    const struct record_run *list = list_rows(r, s, records_run_fields, sizeof *list, a, &found, e);
    if (found >= 0) {
        *out = list;
        *n = found;
    }
    return found >= 0;
}

bool records_tasks(struct records *r, const struct record_filter *f, struct arena *a,
                   const struct record_task **out, int *n, struct err *e)
{
    static const char columns[] =
        "task.id, task.spec, task.threads, task.isa, machine.fingerprint, count(*),"
        " count(CASE WHEN " GOOD_RECORD " THEN 1 END), count(DISTINCT record.run),"
        " min(CASE WHEN " GOOD_RECORD " THEN record.min_ms END),"
        " max(CASE WHEN " GOOD_RECORD " THEN record.gflops END), max(record.date)";
    struct clause c;
    sqlite3_stmt *s;
    int found;
    records_where(r, f, true, &c);
    if (!select_rows(r, columns, FROM_RECORDS, &c,
                     " GROUP BY task.id, machine.id ORDER BY task.id, machine.id", f->limit, &s,
                     e))
        return false;
    const struct record_task *list = list_rows(r, s, records_task_fields, sizeof *list, a, &found,
                                               e);
    if (found >= 0) {
        *out = list;
        *n = found;
    }
    return found >= 0;
}

/* --- Pruning ---------------------------------------------------------------------------------- */

/* Fills the temporary table `victim` with the ids of the records that records_prune deletes. */
static bool choose_victims(struct records *r, const struct record_filter *f, int64_t keep,
                           struct err *e)
{
    struct clause c;
    sqlite3_stmt *s;
    struct str sql = {0};
    records_where(r, f, true, &c);
    where(&c, "NOT (run.state = 'running' AND is_alive(run.owner))");
    str_printf(&sql, "INSERT INTO temp.victim SELECT record.id, record.run" FROM_RECORDS
                     "%s", str_text(&c.text));
    if (keep > 0)
        str_printf(&sql, " AND record.id NOT IN (SELECT id FROM (SELECT id, row_number() OVER"
                         " (PARTITION BY task, machine ORDER BY min_ms, id) AS place FROM record"
                         " WHERE " GOOD_RECORD ") WHERE place <= %lld)", (long long)keep);
    bool ok = records_exec(r, "CREATE TEMP TABLE IF NOT EXISTS victim(id INTEGER PRIMARY KEY,"
                              " run INTEGER); DELETE FROM temp.victim", e)
           && records_prepare(r, str_text(&sql), &c, &s, e);
    if (ok) {
        ok = records_done(r, s, READ, e);
        sqlite3_finalize(s);
    }
    str_free(&sql);
    str_free(&c.text);
    return ok;
}

static bool count_of(struct records *r, const char *sql, int64_t *out, struct err *e)
{
    struct clause none = {0};
    sqlite3_stmt *s;
    if (!records_prepare(r, sql, &none, &s, e))
        return false;
    int rc = sqlite3_step(s);
    *out = rc == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
    return rows_over(r, s, rc, e);
}

/* Deletes the chosen records; then their runs, if these have no records left; then the tasks and
 * machines without runs. */
static bool delete_victims(struct records *r, struct err *e)
{
    return records_exec(r,
        "DELETE FROM record WHERE id IN (SELECT id FROM temp.victim);"
        "DELETE FROM run WHERE id IN (SELECT run FROM temp.victim)"
        " AND NOT EXISTS (SELECT 1 FROM record WHERE record.run = run.id);"
        "DELETE FROM task WHERE NOT EXISTS (SELECT 1 FROM run WHERE run.task = task.id);"
        "DELETE FROM machine WHERE NOT EXISTS (SELECT 1 FROM run WHERE run.machine = machine.id)",
        e);
}

bool records_prune(struct records *r, const struct record_filter *f, int64_t keep, bool dry,
                   struct records_pruned *out, struct err *e)
{
    struct records_pruned gone = {0};
    if (!records_begin(r, e))
        return false;
    bool ok = choose_victims(r, f, keep, e)
           && count_of(r, "SELECT count(*) FROM temp.victim", &gone.records, e)
           && count_of(r, "SELECT count(*) FROM (SELECT DISTINCT run FROM temp.victim) AS v WHERE"
                          " NOT EXISTS (SELECT 1 FROM record WHERE record.run = v.run AND"
                          " record.id NOT IN (SELECT id FROM temp.victim))", &gone.runs, e)
           && (dry || delete_victims(r, e));
    if (!records_end(r, ok, e))
        return false;
    if (!dry)
        /* an error is ignored: it only leaves the file larger than necessary */
        sqlite3_exec(r->db, "VACUUM", NULL, NULL, NULL);
    *out = gone;
    return true;
}
