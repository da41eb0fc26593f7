/* Numbers of a study: metrics of cells, ratios, verdicts, findings. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "sessions/report/report.h"
#include "sessions/study/study_impl.h"

const char *const agreement_text[] = { "", "base", "agrees in sign and within x2", "agrees in sign",
                                     "disagrees", "not comparable" };

void study_cell_values(struct study_report *r, struct study_cell *cell)
{
    for (int i = 0; i < r->study->n_metrics; i++) {
        const struct study_metric *m = &r->study->metric[i];
        struct err e = {0};
        cell->value[i] = cell->spread[i] = NAN;
        cell->missing[i] = NULL;
        if (!cell->json || cell->state > CELL_REUSED)
            cell->missing[i] = cell->reason ? cell->reason : "not measured";
        else if (!report_number(cell->json, m->value, &cell->value[i], &e))
            cell->missing[i] = arena_strdup(r->arena, e.text);
        else if (m->spread && !report_number(cell->json, m->spread, &cell->spread[i], &e))
            cell->spread[i] = NAN;
    }
}

static double ratio(double x, double base)
{
    return x > 0 && base > 0 ? x / base : NAN;           /* false for NAN */
}

double study_ratio(const struct study_report *r, int c, int v, int metric)
{
    int base = r->study->metric[metric].base;
    return base < 0 ? NAN : ratio(study_cell(r, c, v)->value[metric],
                                  study_cell(r, c, base)->value[metric]);
}

double study_paper(const struct study_report *r, int c, int v, int metric)
{
    return r->study->metric[metric].paper[r->cases[c] * r->study->n_variants + v];
}

double study_paper_ratio(const struct study_report *r, int c, int v, int metric)
{
    int base = r->study->metric[metric].base;
    return base < 0 ? NAN : ratio(study_paper(r, c, v, metric), study_paper(r, c, base, metric));
}

enum agreement study_verdict(double measured, double paper)
{
    if (!(measured > 0) || !(paper > 0))
        return AGREE_UNKNOWN;
    double x = log(measured), y = log(paper);
    if (paper == 1)
        return fabs(x) <= log(1.05) ? AGREE_TWICE : AGREE_NOT;
    if (x * y <= 0)
        return AGREE_NOT;
    return x / y >= 0.5 && x / y <= 2 ? AGREE_TWICE : AGREE_SIGN;
}

enum agreement study_cell_verdict(const struct study_report *r, int c, int v, int metric)
{
    const struct study_metric *m = &r->study->metric[metric];
    if (m->base < 0 || isnan(study_paper_ratio(r, c, v, metric)))
        return AGREE_NONE;
    if (v == m->base)
        return isnan(study_cell(r, c, v)->value[metric]) ? AGREE_UNKNOWN : AGREE_BASE;
    return study_verdict(study_ratio(r, c, v, metric), study_paper_ratio(r, c, v, metric));
}

/* findings */

/* What `each` speaks about: the parameters of the case, and VARIANT.METRIC. */
static char *case_json(const struct study_report *r, int c)
{
    const struct study *s = r->study;
    struct str params = {0};
    study_set_json(&params, &s->cases[r->cases[c]].params);
    json_t *o = json_loads(str_text(&params), 0, NULL);
    for (int v = 0; v < s->n_variants; v++) {
        json_t *of = json_object();
        for (int m = 0; m < s->n_metrics; m++) {
            double x = study_cell(r, c, v)->value[m];
            json_object_set_new(of, s->metric[m].id, isnan(x) ? json_null() : json_real(x));
        }
        json_object_set_new(o, s->variant[v].id, of);
    }
    char *text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(o);
    str_free(&params);
    return text;
}

static double combine(enum over_cases over, double so_far, double x, int n)
{
    switch (over) {
    case OVER_GEOMEAN: return n == 1 ? x : exp((log(so_far) * (n - 1) + log(x)) / n);
    case OVER_MEAN: return n == 1 ? x : so_far + (x - so_far) / n;
    case OVER_MIN: return n == 1 ? x : fmin(so_far, x);
    case OVER_MAX: return n == 1 ? x : fmax(so_far, x);
    case OVER_ALL: case OVER_COUNT: break;
    }
    return NAN;
}

/* The same over the cases that have the same value of f->by. */
static void add_to_group(struct study_report *r, const struct study_finding *f,
                         struct study_result *out, int c, double x, bool holds)
{
    const char *value = study_param_get(&r->study->cases[r->cases[c]].params, f->by);
    struct study_group *g = NULL;
    for (int i = 0; i < out->n_groups && !g; i++)
        if (streq(out->group[i].value, value))
            g = &out->group[i];
    if (!g) {
        g = &out->group[out->n_groups++];
        *g = (struct study_group){ .value = value, .known = true, .holds = true };
    }
    g->n_cases++;
    g->number = combine(f->over, g->number, x, g->n_cases);
    g->holds = g->holds && holds;
}

static void add_case(struct study_report *r, const struct study_finding *f,
                     struct study_result *out, int c)
{
    char *json = case_json(r, c);
    struct err e = {0};
    bool holds = false;
    double x = 0;
    bool ok = f->over == OVER_ALL ? report_assert(json, f->each, &holds, NULL, &e)
                                  : report_number(json, f->each, &x, &e);
    free(json);
    if (ok && f->over == OVER_GEOMEAN && !(x > 0))
        ok = err_set(&e, ERR_RANGE, "geomean of %g", x);
    const char *id = r->study->cases[r->cases[c]].id;
    if (!ok && out->n_missing++ == 0)
        out->missing = arena_printf(r->arena, "%s: %s", id, e.text);
    if (!ok)
        return;
    out->n_cases++;
    out->value = combine(f->over, out->value, x, out->n_cases);
    if (f->by)
        add_to_group(r, f, out, c, x, holds);
    if (f->over == OVER_ALL && !holds && !out->failing)
        out->failing = id;
}

void study_findings(struct study_report *r)
{
    for (int i = 0; i < r->study->n_findings; i++) {
        const struct study_finding *f = &r->study->finding[i];
        struct study_result *out = &r->result[i];
        out->group = ARENA_ARRAY(r->arena, struct study_group, r->n_cases + 1);
        for (int c = 0; c < r->n_cases; c++)
            add_case(r, f, out, c);
        out->known = out->n_cases > 0;
        out->holds = out->known && !out->failing;
        if (!isnan(f->paper) && streq(f->unit, "x"))
            out->verdict = out->known ? study_verdict(out->value, f->paper)
                                      : AGREE_UNKNOWN;
    }
}
