/* Exports records as JSON lines, imports such lines, and merges another records file. */
#include <stdlib.h>
#include <string.h>

#include "sessions/records/records_impl.h"

#define LINE_MAX_BYTES ((size_t)4 << 20)

static bool goes_on(const struct cancel *c, struct err *e)
{
    return !cancelled(c) || err_set(e, ERR_CANCEL, "cancelled");
}

/* --- Export ----------------------------------------------------------------------------------- */

struct exporter {
    struct records *r;
    struct str *out;
    struct str run;                      /* id of the run whose line was written last */
    const struct record_run *runs; int n_runs;
    int64_t n;
};

static const struct record_run *find_run(const struct exporter *x, const char *id)
{
    for (int i = 0; i < x->n_runs; i++)
        if (streq(x->runs[i].id, id))
            return &x->runs[i];
    return NULL;
}

static bool export_one(void *ctx, const struct record *rec)
{
    struct exporter *x = ctx;
    if (!streq(str_text(&x->run), rec->run)) {
        const struct record_run *run = find_run(x, rec->run);
        str_clear(&x->run);
        str_add(&x->run, rec->run);
        if (run)
            records_run_json(x->out, run);
        str_add(x->out, run ? "\n" : "");
    }
    records_json(x->out, rec);
    str_add_char(x->out, '\n');
    x->n++;
    return true;
}

bool records_export(struct records *r, const struct record_filter *f, struct str *out,
                    int64_t *n_records, struct err *e)
{
    struct arena *a = arena_new();
    struct exporter x = { .r = r, .out = out };
    struct record_filter runs = { .any_machine = true };
    /* both queries are in one transaction, so that they see the same runs */
    bool ok = records_exec(r, "BEGIN", e);
    if (ok) {
        ok = records_runs(r, &runs, a, &x.runs, &x.n_runs, e)
          && records_each(r, f, export_one, &x, e);
        sqlite3_exec(r->db, "COMMIT", NULL, NULL, NULL);
    }
    *n_records = x.n;
    str_free(&x.run);
    arena_free(a);
    return ok;
}

/* --- Import ----------------------------------------------------------------------------------- */

/* Checks that rec has the task and the machine of its run. */
static bool agrees(struct records *r, const struct record *rec, struct err *e)
{
    struct record_filter f = { .spec = rec->spec, .isa = rec->isa, .threads = rec->threads,
                               .machine = rec->machine, .run = rec->run };
    struct clause c;
    struct str sql = {0};
    sqlite3_stmt *s;
    records_where(r, &f, false, &c);
    str_printf(&sql, "SELECT 1" FROM_RUNS "%s", str_text(&c.text));
    bool ok = records_prepare(r, str_text(&sql), &c, &s, e);
    int rc = ok ? sqlite3_step(s) : SQLITE_DONE;
    if (ok && rc != SQLITE_ROW && rc != SQLITE_DONE)
        ok = records_fail(r, e, "read the records");
    else if (ok && rc == SQLITE_DONE)
        ok = err_set(e, ERR_RANGE, "spec, threads, isa or machine differ from those of run %s",
                     rec->run);
    sqlite3_finalize(s);
    str_free(&sql);
    str_free(&c.text);
    return ok;
}

struct importer {
    struct records *r;
    const struct cancel *cancel;
    struct records_added added;
    struct str agreed;  /* run, task and machine of the latest record, which agrees() accepted */
};

static bool put_line(struct importer *im, bool is_run, const struct record *rec,
                     const struct record_run *run, struct err *e)
{
    bool added;
    if (is_run) {
        if (!records_put_run(im->r, run, &added, e))
            return false;
        im->added.runs += added;
        return true;
    }
    struct str key = {0};
    str_printf(&key, "%s\n%s\n%d\n%s\n%s", rec->run, rec->spec, rec->threads, rec->isa,
               rec->machine);
    bool ok = records_put(im->r, rec, &added, e)
           && (streq(str_text(&key), str_text(&im->agreed)) || agrees(im->r, rec, e));
    str_free(&im->agreed);
    im->agreed = key;
    im->added.records += ok && added;
    im->added.known += ok && !added;
    return ok;
}

static bool import_line(struct importer *im, struct line_reader *lr, struct arena *a,
                        const char *name, int number, const char *line, size_t n, struct err *e)
{
    struct record rec;
    struct record_run run;
    bool is_run;
    if (!records_line_read(lr, a, name, number, line, n, &is_run, &rec, &run, e))
        return false;
    if (put_line(im, is_run, &rec, &run, e))
        return true;
    if (e->code != ERR_IO && e->code != ERR_ENV)
        records_line_error(e, name, number, 1, line);
    return false;
}

static bool too_long(const char *name, int number, struct err *e)
{
    err_set(e, ERR_RANGE, "a line is longer than %zu MiB", LINE_MAX_BYTES >> 20);
    return err_where(e, name, number, 1, NULL);
}

/* Imports every line except blank ones. */
static bool import_lines(struct importer *im, const char *name, const char *text, size_t n,
                         struct err *e)
{
    struct arena *a = arena_new();
    struct line_reader *lr = records_line_reader_new();
    bool ok = true;
    int number = 1;
    for (size_t at = 0; ok && at < n; number++) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = end ? (size_t)(end - text) - at : n - at;
        arena_reset(a);
        if (!goes_on(im->cancel, e)) {
            ok = false;
        } else if (len > LINE_MAX_BYTES) {
            ok = too_long(name, number, e);
        } else {
            const char *line = arena_bytes(a, text + at, len);
            bool empty = strspn(line, " \t\r") == len;
            ok = empty || import_line(im, lr, a, name, number, line, len, e);
        }
        at += len + 1;
    }
    records_line_reader_free(lr);
    arena_free(a);
    return ok;
}

bool records_import(struct records *r, const char *name, const char *text, size_t n,
                    const struct cancel *c, struct records_added *out, struct err *e)
{
    struct importer im = { .r = r, .cancel = c };
    if (!records_begin(r, e))
        return false;
    bool ok = records_end(r, import_lines(&im, name, text, n, e), e);
    if (ok)
        *out = im.added;
    str_free(&im.agreed);
    return ok;
}

/* --- Merge ------------------------------------------------------------------------------------ */

/* The state of a merge.  The runs of the other file are added first, then its records. */
struct merger {
    struct records *to;
    const struct cancel *cancel;
    struct records_added added;
    struct err *e;
    bool ok;
};

static bool merge_record(void *ctx, const struct record *rec)
{
    struct merger *m = ctx;
    bool added = false;
    m->ok = goes_on(m->cancel, m->e) && records_put(m->to, rec, &added, m->e);
    m->added.records += m->ok && added;
    m->added.known += m->ok && !added;
    return m->ok;
}

static bool merge_all(struct merger *m, struct records *from)
{
    struct arena *a = arena_new();
    struct record_filter all = { .any_machine = true };
    const struct record_run *run;
    struct err reading;
    int n = 0;
    /* reads runs and records in one transaction, so that they fit together */
    m->ok = records_exec(from, "BEGIN", m->e) && records_runs(from, &all, a, &run, &n, m->e);
    for (int i = n - 1; m->ok && i >= 0; i--) {
        bool added = false;
        m->ok = goes_on(m->cancel, m->e) && records_put_run(m->to, &run[i], &added, m->e);
        m->added.runs += m->ok && added;
    }
    if (m->ok && !records_each(from, &all, merge_record, m, &reading) && m->ok) {
        *m->e = reading;
        m->ok = false;
    }
    sqlite3_exec(from->db, "COMMIT", NULL, NULL, NULL);
    arena_free(a);
    return m->ok;
}

bool records_merge(struct records *r, const char *path, const struct cancel *c,
                   struct records_added *out, struct err *e)
{
    struct records *from;
    struct merger m = { .to = r, .cancel = c, .e = e };
    if (!records_open_other(path, &from, e))
        return false;
    bool ok = records_exists(from);
    if (!ok) {
        err_set(e, ERR_IO, "there is no file %s", path);
        records_close(from);
        return false;
    }
    ok = records_begin(r, e) && records_end(r, merge_all(&m, from), e);
    if (ok)
        *out = m.added;
    records_close(from);
    return ok;
}
