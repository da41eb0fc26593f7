/* Prints records as tables and JSON, and writes one as a session. */
#include "app/cli/cli_records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sessions/report/text_table.h"

enum { WIDTH = 80, SHORT_ID = 8 };

/* --- Texts ------------------------------------------------------------------------------------ */

static void add_cut(struct str *out, const char *text, int width)
{
    size_t n = strcspn(text, "\n");
    if (n <= (size_t)width && !text[n])
        str_add(out, text);
    else
        str_printf(out, "%.*s...", n < (size_t)width ? (int)n : width - 3, text);
}

static const char *ms_text(struct ask *k, double ms)
{
    struct str s = {0};
    if (ms > 0)
        str_ms(&s, ms);
    else
        str_add(&s, "-");
    const char *text = arena_strdup(k->a, str_text(&s));
    str_free(&s);
    return text;
}

static const char *short_id(struct ask *k, const char *id)
{
    return arena_strndup(k->a, id, strnlen(id, SHORT_ID));
}

/* Formats a date as "2026-11-21 06:19". */
static const char *minute(struct ask *k, const char *date)
{
    char *text = arena_strndup(k->a, date, strnlen(date, 16));
    if (strlen(text) > 10)
        text[10] = ' ';
    return text;
}

static bool is_here(const struct ask *k, const char *machine)
{
    return streq(machine, records_machine(k->r));
}

void cli_records_plural(struct str *out, int64_t n, const char *what)
{
    str_count(out, n);
    str_printf(out, " %s%s", what, n == 1 ? "" : "s");
}

/* --- list, show, best, runs ------------------------------------------------------------------- */

static void add_task(struct ask *k, const struct record_task *t)
{
    char number[24];
    int n = snprintf(number, sizeof number, "%3lld  ", (long long)t->task);
    str_add(&k->out, number);
    add_cut(&k->out, t->spec, WIDTH - n);
    str_printf(&k->out, "\n%*s%d thread%s, %s: ", n, "", t->threads, t->threads == 1 ? "" : "s",
               t->isa);
    cli_records_plural(&k->out, t->n_records, "record");
    str_add(&k->out, ", ");
    str_count(&k->out, t->n_good);
    str_add(&k->out, " right");
    if (t->best_ms > 0)
        str_printf(&k->out, ", best %s", ms_text(k, t->best_ms));
    if (t->best_gflops > 0)
        str_printf(&k->out, " (%.1f GFLOP/s)", t->best_gflops);
    str_add(&k->out, "\n");
    if (is_here(k, t->machine))
        return;
    str_printf(&k->out, "%*sanother machine: ", n, "");
    add_cut(&k->out, t->machine, WIDTH - n - 17);
    str_add(&k->out, "\n");
}

static void no_file(struct ask *k)
{
    str_printf(&k->out, "%s (%s)\n", records_exists(k->r) ? "no such records" : "no records yet",
               records_file(k->r));
}

bool cli_records_list(struct ask *k, struct err *e)
{
    const struct record_task *task;
    int n;
    if (!cli_records_filter(k, true, e) || !records_tasks(k->r, &k->f, k->a, &task, &n, e))
        return false;
    if (k->json) {
        records_tasks_json(&k->out, k->r, task, n);
        return true;
    }
    for (int i = 0; i < n; i++)
        add_task(k, &task[i]);
    if (n == 0)
        no_file(k);
    return true;
}

/* Prints a table of the records: run, trial, strategy, times and outcome of each. */
static void add_records(struct ask *k, const struct record *rec, int n)
{
    struct text_table t = { .align = "lrlrrrrl" };
    text_table_row(&t, "run\ttrial\tstrategy\tbest\tmedian\tspread\tGFLOP/s\toutcome");
    for (int i = 0; i < n; i++) {
        const struct record *x = &rec[i];
        bool timed = x->runs > 0;
        struct str why = {0};
        add_cut(&why, outcome_name[x->outcome], 15);
        text_table_row(&t, "%s\t%d\t%.10s\t%s\t%s\t%s\t%s\t%s", short_id(k, x->run), x->trial,
                       x->strategy, ms_text(k, timed ? x->min_ms : 0),
                       ms_text(k, timed ? x->median_ms : 0),
                       timed ? arena_printf(k->a, "%.0f %%", 100 * x->spread) : "-",
                       x->gflops > 0 ? arena_printf(k->a, "%.1f", x->gflops) : "-",
                       str_text(&why));
        str_free(&why);
    }
    text_table_print(&k->out, &t);
}

static void add_steps(struct ask *k, const struct record *rec)
{
    int n;
    const char *const *line = records_lines(k->a, rec->steps, &n);
    for (int i = 0; i < n; i++)
        str_printf(&k->out, "  %s\n", line[i]);
    if (n == 0)
        str_add(&k->out, "  (none: the bare operator)\n");
}

/* The number of records with each outcome, for the line "850 ok, 100 crash". */
struct outcome_tally { int64_t n[OUTCOME_COUNT]; };
static bool count_outcome(void *ctx, const struct record *rec)
{
    ((struct outcome_tally *)ctx)->n[rec->outcome]++;
    return true;
}

static bool add_outcomes(struct ask *k, struct err *e)
{
    struct outcome_tally t = {0};
    const char *comma = "";
    if (!records_each(k->r, &k->f, count_outcome, &t, e))
        return false;
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        if (t.n[i] == 0)
            continue;
        str_printf(&k->out, "%s%lld %s", comma, (long long)t.n[i], outcome_name[i]);
        comma = ", ";
    }
    str_add(&k->out, "\n\n");
    return true;
}

/* Prints the reasons why records of `rec` failed: up to five different ones, the latest first. */
static void add_reasons(struct ask *k, const struct record *rec, int n)
{
    const char *said[5];
    int n_said = 0;
    for (int i = n - 1; i >= 0 && n_said < COUNT_OF(said); i--) {
        bool again = !rec[i].reason[0];
        for (int j = 0; j < n_said && !again; j++)
            again = streq(said[j], rec[i].reason);
        if (again)
            continue;
        said[n_said++] = rec[i].reason;
        str_printf(&k->out, "%strial %d: ", n_said == 1 ? "\n" : "", rec[i].trial);
        add_cut(&k->out, rec[i].reason, WIDTH - 20);
        str_add(&k->out, "\n");
    }
}

/* Prints the latest records of a task. */
bool cli_records_show(struct ask *k, struct err *e)
{
    struct record_task task;
    const struct record *rec;
    int n;
    if (!cli_records_task(k, &task, e) || !records_list(k->r, &k->f, k->a, &rec, &n, e))
        return false;
    int shown = k->rows > 0 && k->rows < n ? k->rows : n;
    if (k->json) {
        records_list_json(&k->out, k->r, rec + (n - shown), shown);
        return true;
    }
    add_task(k, &task);
    str_add(&k->out, "     ");
    if (!add_outcomes(k, e))
        return false;
    add_records(k, rec + (n - shown), shown);
    if (shown < n)
        str_printf(&k->out, "\nthe last %d of %d; -n 0 shows all\n", shown, n);
    add_reasons(k, rec + (n - shown), shown);
    return true;
}

/* Writes the steps of a record as a session; its note names the record. */
static bool write_session(struct ask *k, const struct record *rec, const char *path,
                          struct err *e)
{
    struct session *s;
    int n;
    const char *const *line = records_lines(k->a, rec->steps, &n);
    if (!session_new(rec->spec, &s, e))
        return false;
    bool ok = true;
    for (int i = 0; i < n && ok; i++)
        ok = history_apply(s->history, line[i], e);
    str_printf(&s->note, "from the records: run %s, trial %d, %s, %s (%.1f GFLOP/s)\n"
                         "%d thread%s, %s, on %s\n", rec->run, rec->trial, rec->date,
               ms_text(k, rec->min_ms), rec->gflops, rec->threads, rec->threads == 1 ? "" : "s",
               rec->isa, rec->machine);
    ok = ok && session_save(s, path, e);
    session_free(s);
    return ok;
}

bool cli_records_best(struct ask *k, struct err *e)
{
    struct record_task task;
    const struct record *rec;
    const char *to = args_value(k->args, OPT_OUTPUT);
    int n, most = args_has(k->args, OPT_COUNT_ROWS) ? k->rows : 5;
    if (!cli_records_task(k, &task, e)
        || !records_best(k->r, &k->f, most ? most : INT32_MAX, k->a, &rec, &n, e))
        return false;
    if (n == 0)
        return err_set(e, ERR_NAME, "this task has no record of a right and timed kernel");
    if (to && !write_session(k, rec, to, e))
        return false;
    if (k->json) {
        records_list_json(&k->out, k->r, rec, n);
        return true;
    }
    add_task(k, &task);
    str_add(&k->out, "\n");
    add_records(k, rec, n);
    if (to) {
        str_printf(&k->out, "\nwrote %s\n", to);
    } else {
        str_add(&k->out, "\nthe steps of the first:\n");
        add_steps(k, rec);
    }
    return true;
}

static void add_runs(struct ask *k, const struct record_run *run, int n)
{
    struct text_table t = { .align = "llrrrllr" };
    bool other = false;
    text_table_row(&t, "run\tstate\ttrials\tbudget\tbest\tstrategy\tstarted\ttask");
    for (int i = 0; i < n; i++) {
        bool here = is_here(k, run[i].machine);
        other = other || !here;
        text_table_row(&t, "%s\t%s\t%lld\t%s\t%s\t%.10s\t%s\t%lld%s", short_id(k, run[i].id),
                       records_state_name[run[i].state], (long long)run[i].n_records,
                       run[i].budget > 0 ? arena_printf(k->a, "%lld", (long long)run[i].budget)
                                         : "-",
                       ms_text(k, run[i].best_ms), run[i].strategy, minute(k, run[i].started),
                       (long long)run[i].task, here ? "" : "*");
    }
    text_table_print(&k->out, &t);
    if (other)
        str_add(&k->out, "\n* on another machine\n");
}

bool cli_records_runs(struct ask *k, struct err *e)
{
    const struct record_run *run;
    int n;
    if (!cli_records_filter(k, true, e) || !records_runs(k->r, &k->f, k->a, &run, &n, e))
        return false;
    bool all = k->rows == 0 || (k->json && !args_has(k->args, OPT_COUNT_ROWS));
    int shown = !all && k->rows < n ? k->rows : n;
    if (k->json) {
        records_runs_json(&k->out, k->r, run, shown);
        return true;
    }
    if (n > 0)
        add_runs(k, run, shown);
    else
        no_file(k);
    if (shown < n)
        str_printf(&k->out, "\nthe last %d of %d; -n 0 shows all\n", shown, n);
    return true;
}
