/* Writes the report of a study as JSON (schema.md), and reads cells of an earlier report. */
#include <stdlib.h>
#include <string.h>
#include "kernels/base/version.h"
#include "profile/measure/meters.h"
#include "sessions/file/json.h"
#include "sessions/study/study_impl.h"

/* Returns parameters as an object.  A value that reads as a number becomes a number. */
static json_t *set_json(const struct param_set *s)
{
    json_t *o = json_object();
    double number;
    for (int i = 0; i < s->n; i++)
        json_put(o, s->item[i].name, param_is_number(s->item[i].value, &number)
                                         ? JSON(number) : JSON(s->item[i].value));
    return o;
}

/* --- Cells ------------------------------------------------------------------------------------ */

static const char *const verdict_key[] = { NULL, "base", "agrees within x2", "agrees in sign",
                                           "disagrees", "not comparable" };

static json_t *metrics_json(const struct study_report *r, int c, int v)
{
    const struct study_cell *cell = study_cell(r, c, v);
    json_t *all = json_object();
    for (int i = 0; i < r->study->n_metrics; i++)
        json_put(all, r->study->metric[i].id, json_make(
            "measured", json_of_count(cell->value[i]),
            "ratio", json_of_count(study_ratio(r, c, v, i)),
            "spread", json_of_count(cell->spread[i]), "reason", JSON_OR_NULL(cell->missing[i]),
            "paper", json_make("value", json_of_count(study_paper(r, c, v, i)),
                               "ratio", json_of_count(study_paper_ratio(r, c, v, i))),
            "verdict", JSON_OR_NULL(verdict_key[study_cell_verdict(r, c, v, i)])));
    return all;
}

static json_t *search_json(const struct study_cell *cell)
{
    if (cell->combinations == 0)
        return json_null();
    return json_make("combinations", JSON(cell->combinations), "tried", JSON(cell->tried),
                     "illegal", JSON(cell->illegal), "failed", JSON(cell->failed),
                     "first_illegal", JSON_OR_NULL(cell->first_illegal),
                     "ended", JSON_OR_NULL(cell->ended), "best", set_json(&cell->chosen));
}

static json_t *cell_json(const struct study_report *r, int c, int v)
{
    const struct study_cell *cell = study_cell(r, c, v);
    return json_make("case", JSON(r->study->cases[r->cases[c]].id),
                     "variant", JSON(r->study->variant[v].id),
                     "state", JSON(study_state_name[cell->state]),
                     "reason", JSON_OR_NULL(cell->reason), "key", JSON_OR_NULL(cell->key),
                     "cache", JSON_OR_NULL(cell->cache), "interleaved", JSON(cell->interleaved),
                     "search", search_json(cell), "metrics", metrics_json(r, c, v),
                     "run", cell->json ? json_loads(cell->json, 0, NULL) : json_null());
}

/* --- The study -------------------------------------------------------------------------------- */

static json_t *cases_json(const struct study_report *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->n_cases; i++) {
        const struct study_case *k = &r->study->cases[r->cases[i]];
        json_array_append_new(list, json_make("id", JSON(k->id), "title", JSON(k->title),
                                              "parameters", set_json(&k->params)));
    }
    return list;
}

static json_t *variants_json(const struct study *s)
{
    json_t *list = json_array();
    for (int i = 0; i < s->n_variants; i++)
        json_array_append_new(list, json_make("id", JSON(s->variant[i].id),
                                              "title", JSON(s->variant[i].title),
                                              "parameters", set_json(&s->variant[i].params)));
    return list;
}

static json_t *metric_list(const struct study *s)
{
    json_t *list = json_array();
    for (int i = 0; i < s->n_metrics; i++) {
        const struct study_metric *m = &s->metric[i];
        json_array_append_new(list, json_make(
            "id", JSON(m->id), "title", JSON(m->title), "unit", JSON_OR_NULL(m->unit),
            "value", JSON(m->value), "base", JSON_IF(m->base >= 0, s->variant[m->base].id)));
    }
    return list;
}

/* Returns a truth value for OVER_ALL, else a number; null when the result is unknown. */
static json_t *finding_value(const struct study_finding *f, bool known, bool holds, double number)
{
    return !known ? json_null() : f->over == OVER_ALL ? JSON(holds) : json_of_count(number);
}

static json_t *groups_json(const struct study_finding *f, const struct study_result *x)
{
    json_t *list = json_array();
    for (int i = 0; i < x->n_groups; i++) {
        const struct study_group *g = &x->group[i];
        json_array_append_new(list, json_make(
            "value", JSON(g->value), "measured", finding_value(f, g->known, g->holds, g->number),
            "cases", JSON(g->n_cases)));
    }
    return list;
}

static json_t *findings_json(const struct study_report *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->study->n_findings; i++) {
        const struct study_finding *f = &r->study->finding[i];
        const struct study_result *x = &r->result[i];
        json_t *o = json_make("text", JSON(f->text), "each", JSON(f->each),
                              "combine", JSON(study_over_name[f->over]),
                              "unit", JSON_OR_NULL(f->unit),
                              "measured", finding_value(f, x->known, x->holds, x->value),
                              "cases", JSON(x->n_cases), "missing", JSON(x->n_missing),
                              "reason", JSON_OR_NULL(x->missing), "paper", json_of_count(f->paper),
                              "verdict", JSON_OR_NULL(verdict_key[x->verdict]));
        if (f->by)
            json_put(o, "by", JSON(f->by), "groups", groups_json(f, x));
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
        bool asked = meters_parse(r->meter[i].name, &bit, &e) && (r->meters & bit);
        json_array_append_new(list, json_make("name", JSON(r->meter[i].name), "asked", JSON(asked),
                                              "available", JSON(r->meter[i].available),
                                              "reason", JSON_OR_NULL(r->meter[i].reason)));
    }
    return list;
}

static json_t *paper_json(const struct study *s)
{
    return json_make("title", JSON_OR_NULL(s->paper), "item", JSON_OR_NULL(s->item),
                     "machine", JSON_OR_NULL(s->machine));
}

void study_json(struct str *out, const struct study_report *r)
{
    const struct study *s = r->study;
    json_t *cells = json_array();
    for (int c = 0; c < r->n_cases; c++)
        for (int v = 0; v < s->n_variants; v++)
            json_array_append_new(cells, cell_json(r, c, v));
    json_print(out, json_make(
        "format", JSON(1), "tilescope", JSON(TILESCOPE_VERSION), "study", JSON(s->id),
        "title", JSON_OR_NULL(s->title), "paper", paper_json(s), "prose", JSON_OR_NULL(s->prose),
        "partial", JSON(r->partial), "scale", JSON(r->scale), "all_cases", JSON(s->n_cases),
        "left_out", JSON_OR_NULL(s->left_out), "date", JSON(r->date), "machine", JSON(r->host),
        "compiler", JSON_OR_NULL(r->compiler), "isa", JSON_OR_NULL(r->isa),
        "threads", JSON(r->threads), "seed", JSON(r->seed), "total_s", JSON(r->seconds),
        "meters", meters_json(r), "cases", cases_json(r), "variants", variants_json(s),
        "metrics", metric_list(s), "cells", cells, "findings", findings_json(r)), 8);
}

void study_list_json(struct str *out, struct study *const *s, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_make(
            "id", JSON(s[i]->id), "title", JSON_OR_NULL(s[i]->title), "paper", paper_json(s[i]),
            "file", JSON(s[i]->path), "cases", JSON(s[i]->n_cases),
            "variants", JSON(s[i]->n_variants), "metrics", JSON(s[i]->n_metrics)));
    json_print(out, json_make("studies", list), 8);
}

/* --- Reuse ------------------------------------------------------------------------------------ */

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

/* Returns value as compact text, or NULL when value is NULL. */
static const char *compact(struct arena *a, const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT);
    const char *copy = text ? arena_strdup(a, text) : NULL;
    free(text);
    return copy;
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
        cell->json = compact(a, run);
        cell->state = CELL_REUSED;
        cell->tuned = compact(a, json_object_get(run, "tune"));
        cell->interleaved = json_is_true(json_object_get(item, "interleaved"));
        take_steps(a, run, cell);
        take_search(a, json_object_get(item, "search"), cell);
        found = true;
    }
    return found;
}
