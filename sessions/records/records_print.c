/* Records and runs as JSON, a line each: the exchange format, and --json. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sessions/file/json.h"
#include "sessions/records/records_impl.h"

static void text_key(struct str *out, const char *key, const char *text)
{
    str_printf(out, ", \"%s\": ", key);
    if (text && *text)
        json_text_put(out, text);
    else
        str_add(out, "null");
}

/* The shortest digits that are the same number again. */
static void add_number(struct str *out, double v)
{
    char text[40] = "null";
    for (int digits = 15; isfinite(v) && digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    str_add(out, text);
}

static void number_key(struct str *out, const char *key, double v)
{
    str_printf(out, ", \"%s\": ", key);
    add_number(out, v);
}

/* Above 2^63 - 1 not every reader has integers. */
static void seed_key(struct str *out, uint64_t seed)
{
    str_printf(out, seed > INT64_MAX ? ", \"seed\": \"%llu\"" : ", \"seed\": %llu",
               (unsigned long long)seed);
}

static void add_task(struct str *out, const char *spec, int threads, const char *isa,
                     const char *machine)
{
    text_key(out, "spec", spec);
    str_printf(out, ", \"threads\": %d", threads);
    text_key(out, "isa", isa);
    text_key(out, "machine", machine);
}

static void add_steps(struct str *out, const char *steps)
{
    struct arena *a = arena_new();
    int n;
    const char *const *line = records_lines(a, steps, &n);
    str_add(out, ", \"steps\": [");
    for (int i = 0; i < n; i++) {
        str_add(out, i ? ", " : "");
        json_text_put(out, line[i]);
    }
    str_add(out, "]");
    arena_free(a);
}

static void add_times(struct str *out, const struct record *rec)
{
    if (rec->runs <= 0) {
        str_add(out, ", \"latency_ms\": null");
        return;
    }
    str_add(out, ", \"latency_ms\": {\"median\": ");
    add_number(out, rec->median_ms);
    number_key(out, "min", rec->min_ms);
    number_key(out, "spread", rec->spread);
    str_printf(out, ", \"runs\": %d}", rec->runs);
}

void records_json(struct str *out, const struct record *rec)
{
    str_printf(out, "{\"format\": %d, \"kind\": \"record\"", RECORD_FORMAT);
    text_key(out, "run", rec->run);
    str_printf(out, ", \"trial\": %d", rec->trial);
    text_key(out, "strategy", rec->strategy);
    seed_key(out, rec->seed);
    if (rec->spec)
        add_task(out, rec->spec, rec->threads, rec->isa, rec->machine);
    add_steps(out, rec->steps);
    text_key(out, "outcome", outcome_name[rec->outcome]);
    text_key(out, "reason", rec->reason);
    add_times(out, rec);
    number_key(out, "gflops", rec->gflops > 0 ? rec->gflops : (double)NAN);
    str_printf(out, ", \"verified\": %s", rec->verified ? "true" : "false");
    number_key(out, "max_rel_err", rec->max_rel_err);
    number_key(out, "compile_s", rec->compile_s);
    number_key(out, "measure_s", rec->measure_s);
    if (rec->features)
        str_printf(out, ", \"features\": \"%016llx\"", (unsigned long long)rec->features);
    else
        str_add(out, ", \"features\": null");
    text_key(out, "version", rec->version);
    text_key(out, "date", rec->date);
    str_add(out, "}");
}

static void add_run(struct str *out, const struct record_run *run)
{
    json_t *options = run->options && *run->options
                    ? json_loads(run->options, JSON_REJECT_DUPLICATES, NULL) : NULL;
    char *text = json_is_object(options) ? json_dumps(options, 0) : NULL;
    str_printf(out, "{\"format\": %d, \"kind\": \"run\"", RECORD_FORMAT);
    text_key(out, "run", run->id);
    add_task(out, run->spec, run->threads, run->isa, run->machine);
    text_key(out, "strategy", run->strategy);
    seed_key(out, run->seed);
    str_printf(out, ", \"budget\": %lld, \"options\": %s", (long long)run->budget,
               text ? text : "null");
    text_key(out, "started", run->started);
    text_key(out, "ended", run->ended);
    text_key(out, "state", records_state_name[run->state]);
    free(text);
    json_decref(options);
}

void records_run_json(struct str *out, const struct record_run *run)
{
    add_run(out, run);
    str_add(out, "}");
}

/* --- Lists ------------------------------------------------------------------------------------ */

void records_head_json(struct str *out, const struct records *r)
{
    str_printf(out, "{\"format\": %d", RECORD_FORMAT);
    text_key(out, "file", records_file(r));
    text_key(out, "machine", records_machine(r));
}

/* ,\n "KEY": [ITEM,\n ITEM]}\n */
static void open_list(struct str *out, const struct records *r, const char *key)
{
    records_head_json(out, r);
    str_printf(out, ",\n \"%s\": [", key);
}

void records_tasks_json(struct str *out, const struct records *r, const struct record_task *task,
                        int n)
{
    open_list(out, r, "tasks");
    for (int i = 0; i < n; i++) {
        const struct record_task *t = &task[i];
        str_printf(out, "%s\n  {\"task\": %lld", i ? "," : "", (long long)t->task);
        add_task(out, t->spec, t->threads, t->isa, t->machine);
        str_printf(out, ", \"here\": %s, \"records\": %lld, \"right\": %lld, \"runs\": %lld",
                   streq(t->machine, records_machine(r)) ? "true" : "false",
                   (long long)t->n_records, (long long)t->n_good, (long long)t->n_runs);
        number_key(out, "best_ms", t->best_ms > 0 ? t->best_ms : (double)NAN);
        number_key(out, "best_gflops", t->best_gflops > 0 ? t->best_gflops : (double)NAN);
        text_key(out, "last", t->last);
        str_add(out, "}");
    }
    str_add(out, "]}\n");
}

void records_runs_json(struct str *out, const struct records *r, const struct record_run *run,
                       int n)
{
    open_list(out, r, "runs");
    for (int i = 0; i < n; i++) {
        str_add(out, i ? ",\n  " : "\n  ");
        add_run(out, &run[i]);
        str_printf(out, ", \"task\": %lld, \"records\": %lld", (long long)run[i].task,
                   (long long)run[i].n_records);
        number_key(out, "best_ms", run[i].best_ms > 0 ? run[i].best_ms : (double)NAN);
        str_add(out, "}");
    }
    str_add(out, "]}\n");
}

void records_list_json(struct str *out, const struct records *r, const struct record *rec, int n)
{
    open_list(out, r, "records");
    for (int i = 0; i < n; i++) {
        str_add(out, i ? ",\n  " : "\n  ");
        records_json(out, &rec[i]);
    }
    str_add(out, "]}\n");
}
