/* Reads the options and the operand of `tilescope records` into a filter. */
#include "app/cli/cli_records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool none_such(struct err *e, const char *what, const char *name, const char *list)
{
    err_set(e, ERR_NAME, "the records have no %s %s", what, name);
    return err_fix(e, "tilescope records %s", list);
}

/* Finds a run by its name, or by the beginning of its name, for --run. */
static bool find_run(struct ask *k, const char *name, struct err *e)
{
    struct record_filter all = { .any_machine = true };
    const struct record_run *run;
    int n, found = 0;
    if (!records_runs(k->r, &all, k->a, &run, &n, e))
        return false;
    for (int i = 0; i < n && *name; i++)
        if (str_starts(run[i].id, name)) {
            k->f.run = run[i].id;
            found++;
        }
    if (found > 1)
        return err_set(e, ERR_NAME, "%d runs have names that begin with %s", found, name);
    k->f.any_machine = k->f.any_machine || !args_has(k->args, OPT_MACHINE);
    return found == 1 || none_such(e, "run", name, "runs");
}

/* Finds a machine by a part of its fingerprint, for --machine; "all" means every machine. */
static bool find_machine(struct ask *k, const char *name, struct err *e)
{
    struct record_filter all = { .any_machine = true };
    const struct record_task *task;
    const char *found = NULL;
    int n;
    k->f.any_machine = streq(name, "all");
    if (k->f.any_machine)
        return true;
    if (!records_tasks(k->r, &all, k->a, &task, &n, e))
        return false;
    for (int i = 0; i < n && *name; i++) {
        if (!strstr(task[i].machine, name) || (found && streq(found, task[i].machine)))
            continue;
        if (found) {
            err_set(e, ERR_NAME, "%s is part of the names of several machines", name);
            return err_fix(e, "give more of the name: %.100s, or %.100s", found, task[i].machine);
        }
        found = task[i].machine;
    }
    k->f.machine = found;
    return found || none_such(e, "machine", name, "list");
}

/* Whether a date such as "2026-11-21T06:19:47Z", perhaps without its end, has a day and a time that
 * exist. */
static bool exists(const char *date)
{
    struct tm t = { .tm_mday = 1 };
    sscanf(date, "%4d-%2d-%2dT%2d:%2d:%2d", &t.tm_year, &t.tm_mon, &t.tm_mday, &t.tm_hour,
           &t.tm_min, &t.tm_sec);
    t.tm_year -= 1900;
    t.tm_mon--;
    struct tm same = t;
    timegm(&same);
    return same.tm_mon == t.tm_mon && same.tm_mday == t.tm_mday && same.tm_hour == t.tm_hour
        && same.tm_min == t.tm_min && same.tm_sec == t.tm_sec;
}

/* Reads the date of --before: "2026-11-21", perhaps with a time, or "30d" for 30 days ago. */
static bool read_date(struct ask *k, const char *text, struct err *e)
{
    static const char form[] = "0000-00-00T00:00:00Z";
    size_t n = strlen(text);
    long long days;
    if (n > 1 && text[n - 1] == 'd'
        && str_to_int64(arena_strndup(k->a, text, n - 1), 0, 100000, &days)) {
        time_t then = time(NULL) - (time_t)days * 86400;
        struct tm t;
        char date[24];
        gmtime_r(&then, &t);
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &t);
        k->f.before = arena_strdup(k->a, date);
        return true;
    }
    bool fits = n == 10 || n == 16 || n == 19 || n == 20;
    for (size_t i = 0; fits && i < n; i++)
        fits = form[i] == '0' ? text[i] >= '0' && text[i] <= '9' : text[i] == form[i];
    k->f.before = text;
    return (fits && exists(text))
        || err_set(e, ERR_RANGE, "--before %s: expected a date as 2026-11-21, or 30d for 30 days"
                   " ago", text);
}

static bool read_outcome(struct ask *k, const char *text, struct err *e)
{
    k->f.outcome = text;
    for (int i = OUTCOME_OK; i < OUTCOME_COUNT; i++)
        if (streq(outcome_name[i], text))
            return true;
    err_set(e, ERR_NAME, "--outcome %s: there is no such outcome", text);
    const char *near = str_nearest(text, outcome_name + OUTCOME_OK, OUTCOME_COUNT - OUTCOME_OK);
    return err_fix(e, near ? "--outcome \"%s\"" : "any of ok, crash, timeout, \"compile error\","
                             " \"wrong result\", \"too large\", ill-conditioned", near);
}

bool cli_records_options(struct ask *k, struct err *e)
{
    const struct args *a = k->args;
    const char *run = args_value(a, OPT_RUN), *machine = args_value(a, OPT_MACHINE);
    const char *before = args_value(a, OPT_BEFORE), *outcome = args_value(a, OPT_OUTCOME);
    k->json = args_has(a, OPT_JSON);
    k->f.isa = args_value(a, OPT_ISA);
    k->f.failed = args_has(a, OPT_FAILED);
    return args_int(a, OPT_THREADS, 1, 1024, &k->f.threads, e)
        && args_int(a, OPT_COUNT_ROWS, 0, INT32_MAX, &k->rows, e)
        && (!run || find_run(k, run, e)) && (!machine || find_machine(k, machine, e))
        && (!before || read_date(k, before, e)) && (!outcome || read_outcome(k, outcome, e));
}

/* Joins the words after the verb, because an operator without quotes is several words. Returns NULL
 * if there are none. */
const char *cli_records_operand(struct ask *k)
{
    struct str all = {0};
    for (int i = 1; i < k->args->word.len; i++)
        str_printf(&all, "%s%s", i > 1 ? " " : "", k->args->word.data[i]);
    const char *text = all.len ? arena_strdup(k->a, str_text(&all)) : NULL;
    str_free(&all);
    return text;
}

/* Sets the filter from a task number of `records list`, an operator or a session file. */
static bool read_task(struct ask *k, const char *text, struct err *e)
{
    struct session *s;
    long long number;
    if (str_to_int64(text, 1, INT64_MAX, &number)) {
        k->f.task = number;
        return true;
    }
    if (!session_open(text, NULL, &s, e))
        return false;
    k->f.spec = arena_strdup(k->a, history_spec(s->history));
    session_free(s);
    return true;
}

bool cli_records_filter(struct ask *k, bool any, struct err *e)
{
    const char *text = cli_records_operand(k);
    if (any && !args_has(k->args, OPT_MACHINE))
        k->f.any_machine = true;
    return !text || read_task(k, text, e);
}

/* Reports that the operator has several tasks, and lists them. */
static bool which_task(struct err *e, const struct record_task *task, int n)
{
    struct str list = {0};
    err_set(e, ERR_NAME, "the records have %d tasks of this operator, so the choice is not clear",
            n);
    for (int i = 0; i < n && i < 6; i++)
        str_printf(&list, "%s%lld (%d thread%s, %s)", i ? ", " : "", (long long)task[i].task,
                   task[i].threads, task[i].threads == 1 ? "" : "s", task[i].isa);
    err_fix(e, "choose by --threads or --isa, or give a task number: %.300s", str_text(&list));
    str_free(&list);
    return false;
}

/* Reports that the task has no records, and whether other machines have measured it. */
static bool no_records(struct ask *k, const char *text, struct err *e)
{
    struct record_filter f = k->f;
    const struct record_task *task;
    int n = 0;
    f.any_machine = true;
    if (!records_tasks(k->r, &f, k->a, &task, &n, e))
        return false;
    err_set(e, ERR_NAME, "the records have no measurement of %s%.300s%s", k->f.task ? "task " : "",
            text,
            n > 0 ? " that this machine measured" : "");
    if (n > 0)
        err_fix(e, "use --machine all: other machines have some");
    else
        err_fix(e, "`tilescope records list` shows all tasks; `tilescope tune` adds records");
    return false;
}

/* Finds the one task that the operand TASK names. */
bool cli_records_task(struct ask *k, struct record_task *out, struct err *e)
{
    const char *text = cli_records_operand(k);
    const struct record_task *task;
    int n;
    if (!text) {
        err_set(e, ERR_SYNTAX,
                "no task is given: use a number of `records list`, an operator or a session");
        return err_fix(e, "tilescope records %s 1", k->args->word.data[0]);
    }
    if (!read_task(k, text, e) || !records_tasks(k->r, &k->f, k->a, &task, &n, e))
        return false;
    if (n == 0)
        return no_records(k, text, e);
    for (int i = 1; i < n; i++)
        if (task[i].task != task[0].task)
            return which_task(e, task, n);
    k->f.task = task->task;
    k->f.spec = NULL;
    *out = *task;
    return true;
}
