/* Prints runs and records as JSON lines for the exchange format; and runs, records and tasks as
 * lists for --json. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

/* Adds v with the fewest digits (15 to 17) that read back as v, or "null" if v is not finite. */
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

static void add_fields(struct str *out, struct fields f, const void *base)
{
#define AS(type) (*(const type *)at)
    for (const struct field *x = f.at; x < f.at + f.n; x++) {
        const void *at = (const char *)base + x->offset;
        if (x->type == FIELD_TEXT) {
            text_key(out, x->key, AS(char *));
        } else if (x->type == FIELD_DOUBLE) {
            number_key(out, x->key, x->zero == ZERO_UNKNOWN && !(AS(double) > 0) ? (double)NAN
                                                                                 : AS(double));
        } else {
            json_t *v = json_of_field(x, at);
            char *text = json_dumps(v, JSON_ENCODE_ANY);
            str_printf(out, ", \"%s\": %s", x->key, text);
            free(text);
            json_decref(v);
        }
    }
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
    add_fields(out, fields_part(records_fields, "run", "seed"), rec);
    if (rec->spec)
        add_fields(out, fields_part(records_fields, "spec", "machine"), rec);
    add_steps(out, rec->steps);
    text_key(out, "outcome", outcome_name[rec->outcome]);
    text_key(out, "reason", rec->reason);
    add_times(out, rec);
    add_fields(out, fields_part(records_fields, "gflops", "measure_s"), rec);
    if (rec->features)
        str_printf(out, ", \"features\": \"%016llx\"", (unsigned long long)rec->features);
    else
        str_add(out, ", \"features\": null");
    if (rec->simulated_ms > 0)            /* left out if 0, as in lines of older versions */
        number_key(out, "simulated_ms", rec->simulated_ms);
    add_fields(out, fields_part(records_fields, "version", NULL), rec);
    str_add(out, "}");
}

static void add_run(struct str *out, const struct record_run *run)
{
    json_t *options = run->options && *run->options
                    ? json_loads(run->options, JSON_REJECT_DUPLICATES, NULL) : NULL;
    char *text = json_is_object(options) ? json_dumps(options, 0) : NULL;
    str_printf(out, "{\"format\": %d, \"kind\": \"run\"", RECORD_FORMAT);
    add_fields(out, fields_part(records_run_fields, "run", "budget"), run);
    str_printf(out, ", \"options\": %s", text ? text : "null");
    add_fields(out, fields_part(records_run_fields, "started", "ended"), run);
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

/* Appends the beginning of an object with a list; the caller appends the items and "]}\n". */
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
        add_fields(out, fields_part(records_task_fields, "spec", "machine"), t);
        str_printf(out, ", \"here\": %s",
                   streq(t->machine, records_machine(r)) ? "true" : "false");
        add_fields(out, fields_part(records_task_fields, "records", NULL), t);
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
        add_fields(out, fields_part(records_run_fields, "task", NULL), &run[i]);
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
