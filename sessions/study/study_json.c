/* A study's report as JSON (schema.md); and cells of an earlier one taken back. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/version.h"
#include "profile/measure/meters.h"
#include "sessions/file/json_text.h"
#include "sessions/study/study_impl.h"

static json_t *real_or_null(double x)
{
    if (!isfinite(x))
        return json_null();
    return x == floor(x) && fabs(x) < 9e15 ? json_integer((json_int_t)x) : json_real(x);
}

static void put(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0)
        fail("the JSON key \"%s\" cannot be set", key);
}

/* Numbers where they look like one. */
static json_t *set_json(const struct param_set *s)
{
    json_t *o = json_object();
    double number;
    for (int i = 0; i < s->n; i++)
        put(o, s->item[i].name, param_is_number(s->item[i].value, &number)
                                    ? json_real(number) : json_string(s->item[i].value));
    return o;
}

/* cells */

static const char *const verdict_key[] = { NULL, "base", "agrees within x2", "agrees in sign",
                                           "disagrees", "not comparable" };

static json_t *verdict_json(enum agreement v)
{
    return v == AGREE_NONE ? json_null() : json_string(verdict_key[v]);
}

static json_t *metrics_json(const struct study_report *r, int c, int v)
{
    json_t *all = json_object();
    for (int i = 0; i < r->study->n_metrics; i++) {
        const struct study_cell *cell = study_cell(r, c, v);
        json_t *o = json_object(), *paper = json_object();
        put(o, "measured", real_or_null(cell->value[i]));
        put(o, "ratio", real_or_null(study_ratio(r, c, v, i)));
        put(o, "spread", real_or_null(cell->spread[i]));
        put(o, "reason", json_text_or_null(cell->missing[i]));
        put(paper, "value", real_or_null(study_paper(r, c, v, i)));
        put(paper, "ratio", real_or_null(study_paper_ratio(r, c, v, i)));
        put(o, "paper", paper);
        put(o, "verdict", verdict_json(study_cell_verdict(r, c, v, i)));
        put(all, r->study->metric[i].id, o);
    }
    return all;
}

static json_t *search_json(const struct study_cell *cell)
{
    if (cell->combinations == 0)
        return json_null();
    json_t *o = json_object();
    put(o, "combinations", json_integer(cell->combinations));
    put(o, "tried", json_integer(cell->tried));
    put(o, "illegal", json_integer(cell->illegal));
    put(o, "failed", json_integer(cell->failed));
    put(o, "first_illegal", json_text_or_null(cell->first_illegal));
    put(o, "ended", json_text_or_null(cell->ended));
    put(o, "best", set_json(&cell->chosen));
    return o;
}

static json_t *cell_json(const struct study_report *r, int c, int v)
{
    const struct study_cell *cell = study_cell(r, c, v);
    json_t *o = json_object();
    put(o, "case", json_string(r->study->cases[r->cases[c]].id));
    put(o, "variant", json_string(r->study->variant[v].id));
    put(o, "state", json_string(study_state_name[cell->state]));
    put(o, "reason", json_text_or_null(cell->reason));
    put(o, "key", json_text_or_null(cell->key));
    put(o, "cache", json_text_or_null(cell->cache));
    put(o, "interleaved", json_boolean(cell->interleaved));
    put(o, "search", search_json(cell));
    put(o, "metrics", metrics_json(r, c, v));
    put(o, "run", cell->json ? json_loads(cell->json, 0, NULL) : json_null());
    return o;
}

/* the study */

static json_t *cases_json(const struct study_report *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->n_cases; i++) {
        const struct study_case *k = &r->study->cases[r->cases[i]];
        json_t *o = json_object();
        put(o, "id", json_string(k->id));
        put(o, "title", json_string(k->title));
        put(o, "parameters", set_json(&k->params));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *variants_json(const struct study *s)
{
    json_t *list = json_array();
    for (int i = 0; i < s->n_variants; i++) {
        json_t *o = json_object();
        put(o, "id", json_string(s->variant[i].id));
        put(o, "title", json_string(s->variant[i].title));
        put(o, "parameters", set_json(&s->variant[i].params));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *metric_list(const struct study *s)
{
    json_t *list = json_array();
    for (int i = 0; i < s->n_metrics; i++) {
        const struct study_metric *m = &s->metric[i];
        json_t *o = json_object();
        put(o, "id", json_string(m->id));
        put(o, "title", json_string(m->title));
        put(o, "unit", json_text_or_null(m->unit));
        put(o, "value", json_string(m->value));
        put(o, "base", m->base < 0 ? json_null() : json_string(s->variant[m->base].id));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *groups_json(const struct study_finding *f, const struct study_result *x)
{
    json_t *list = json_array();
    for (int i = 0; i < x->n_groups; i++) {
        const struct study_group *g = &x->group[i];
        json_t *measured = !g->known ? json_null()
                         : f->over == OVER_ALL ? json_boolean(g->holds) : real_or_null(g->number);
        json_array_append_new(list, json_pack("{s:s, s:o, s:i}", "value", g->value, "measured",
                                              measured, "cases", g->n_cases));
    }
    return list;
}

static json_t *findings_json(const struct study_report *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->study->n_findings; i++) {
        const struct study_finding *f = &r->study->finding[i];
        const struct study_result *x = &r->result[i];
        json_t *o = json_object(), *measured = json_null();
        if (x->known)
            measured = f->over == OVER_ALL ? json_boolean(x->holds) : real_or_null(x->value);
        put(o, "text", json_string(f->text));
        put(o, "each", json_string(f->each));
        put(o, "combine", json_string(study_over_name[f->over]));
        put(o, "unit", json_text_or_null(f->unit));
        put(o, "measured", measured);
        put(o, "cases", json_integer(x->n_cases));
        put(o, "missing", json_integer(x->n_missing));
        put(o, "reason", json_text_or_null(x->missing));
        put(o, "paper", real_or_null(f->paper));
        put(o, "verdict", verdict_json(x->verdict));
        if (f->by) {
            put(o, "by", json_string(f->by));
            put(o, "groups", groups_json(f, x));
        }
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *meters_json(const struct study_report *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->n_meters; i++) {
        unsigned bit = 0;
        struct err e;
        json_t *o = json_object();
        bool asked = meters_parse(r->meter[i].name, &bit, &e) && (r->meters & bit);
        put(o, "name", json_string(r->meter[i].name));
        put(o, "asked", json_boolean(asked));
        put(o, "available", json_boolean(r->meter[i].available));
        put(o, "reason", json_text_or_null(r->meter[i].reason));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *paper_json(const struct study *s)
{
    json_t *o = json_object();
    put(o, "title", json_text_or_null(s->paper));
    put(o, "item", json_text_or_null(s->item));
    put(o, "machine", json_text_or_null(s->machine));
    return o;
}

void study_json(struct str *out, const struct study_report *r)
{
    const struct study *s = r->study;
    json_t *o = json_object(), *cells = json_array();
    put(o, "format", json_integer(1));
    put(o, "tilescope", json_string(TILESCOPE_VERSION));
    put(o, "study", json_string(s->id));
    put(o, "title", json_text_or_null(s->title));
    put(o, "paper", paper_json(s));
    put(o, "prose", json_text_or_null(s->prose));
    put(o, "partial", json_boolean(r->partial));
    put(o, "scale", json_real(r->scale));
    put(o, "all_cases", json_integer(s->n_cases));
    put(o, "left_out", json_text_or_null(s->left_out));
    put(o, "date", json_string(r->date));
    put(o, "machine", json_text(r->host));
    put(o, "compiler", json_text_or_null(r->compiler));
    put(o, "isa", json_text_or_null(r->isa));
    put(o, "threads", json_integer(r->threads));
    put(o, "seed", r->seed <= INT64_MAX ? json_integer((json_int_t)r->seed)
                                        : json_sprintf("%llu", (unsigned long long)r->seed));
    put(o, "total_s", json_real(r->seconds));
    put(o, "meters", meters_json(r));
    put(o, "cases", cases_json(r));
    put(o, "variants", variants_json(s));
    put(o, "metrics", metric_list(s));
    for (int c = 0; c < r->n_cases; c++)
        for (int v = 0; v < s->n_variants; v++)
            json_array_append_new(cells, cell_json(r, c, v));
    put(o, "cells", cells);
    put(o, "findings", findings_json(r));
    json_text_print(out, o, 8);
}

void study_list_json(struct str *out, struct study *const *s, int n)
{
    json_t *o = json_object(), *list = json_array();
    for (int i = 0; i < n; i++) {
        json_t *x = json_object();
        put(x, "id", json_string(s[i]->id));
        put(x, "title", json_text_or_null(s[i]->title));
        put(x, "paper", paper_json(s[i]));
        put(x, "file", json_text(s[i]->path));
        put(x, "cases", json_integer(s[i]->n_cases));
        put(x, "variants", json_integer(s[i]->n_variants));
        put(x, "metrics", json_integer(s[i]->n_metrics));
        json_array_append_new(list, x);
    }
    put(o, "studies", list);
    json_text_print(out, o, 8);
}

/* reuse */

static void take_search(struct arena *a, const json_t *search, struct study_cell *cell)
{
    const char *key, *first = json_string_value(json_object_get(search, "first_illegal"));
    json_t *best = json_object_get(search, "best"), *value;
    struct param_value *item = ARENA_ARRAY(a, struct param_value, json_object_size(best) + 1);
    int n = 0;
    cell->combinations = (int)json_integer_value(json_object_get(search, "combinations"));
    cell->tried = (int)json_integer_value(json_object_get(search, "tried"));
    cell->illegal = (int)json_integer_value(json_object_get(search, "illegal"));
    cell->failed = (int)json_integer_value(json_object_get(search, "failed"));
    const char *ended = json_string_value(json_object_get(search, "ended"));
    cell->first_illegal = first ? arena_strdup(a, first) : NULL;
    cell->ended = ended ? arena_strdup(a, ended) : NULL;
    json_object_foreach(best, key, value) {
        const char *text = json_is_string(value)
                               ? arena_strdup(a, json_string_value(value))
                               : arena_printf(a, "%.15g", json_number_value(value));
        item[n++] = (struct param_value){ arena_strdup(a, key), text };
    }
    cell->chosen = (struct param_set){ n, item };
}

static void take_steps(struct arena *a, const json_t *run, struct study_cell *cell)
{
    const json_t *steps = json_object_get(run, "steps");
    const char **step = ARENA_ARRAY(a, const char *, json_array_size(steps) + 1);
    cell->n_steps = 0;
    for (size_t i = 0; i < json_array_size(steps); i++) {
        const char *text = json_string_value(json_array_get(steps, i));
        step[cell->n_steps++] = arena_strdup(a, text ? text : "");
    }
    cell->step = step;
}

bool study_report_check(const struct study *s, const char *name, const char *json, struct err *e)
{
    json_error_t at;
    json_t *root = json_loads(json, JSON_REJECT_DUPLICATES, &at);
    const char *of = json_string_value(json_object_get(root, "study"));
    bool ok = of && json_is_array(json_object_get(root, "cells"));
    if (!root)
        err_set(e, ERR_SYNTAX, "%.200s:%d:%d: no JSON: %.200s", name, at.line, at.column, at.text);
    else if (!ok)
        err_set(e, ERR_SYNTAX, "%.200s is not a report of a study", name);
    else if (!streq(of, s->id))
        ok = err_set(e, ERR_NAME, "%.200s is a report of %.80s, not of %s", name, of, s->id);
    if (!ok)
        err_fix(e, "--resume takes what `tilescope study %s -o FILE.json` wrote", s->id);
    json_decref(root);
    return ok;
}

bool study_reuse(const json_t *report, struct arena *a, struct study_cell *cell)
{
    const json_t *item;
    size_t i;
    bool found = false;
    json_array_foreach(json_object_get(report, "cells"), i, item) {
        const char *key = json_string_value(json_object_get(item, "key"));
        const json_t *run = json_object_get(item, "run");
        if (found || !key || !streq(key, cell->key) || !json_is_object(run)
            || json_string_value(json_object_get(item, "reason")))
            continue;
        char *text = json_dumps(run, JSON_COMPACT);
        cell->json = arena_strdup(a, text);
        cell->state = CELL_REUSED;
        const json_t *tuned = json_object_get(run, "tune");
        if (tuned) {
            char *own = json_dumps(tuned, JSON_COMPACT);
            cell->tuned = arena_strdup(a, own);
            free(own);
        }
        cell->interleaved = json_is_true(json_object_get(item, "interleaved"));
        take_steps(a, run, cell);
        take_search(a, json_object_get(item, "search"), cell);
        free(text);
        found = true;
    }
    return found;
}
