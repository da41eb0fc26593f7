/* Computes the numbers of a study: metrics of cells, ratios, verdicts and findings. */
#include <math.h>
#include <string.h>
#include "sessions/report/report.h"
#include "sessions/study/study_impl.h"

const char *const study_agreement_text[] = {
    "", "base", "agrees in sign and within x2", "agrees in sign", "disagrees", "not comparable"
};

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
    return x > 0 && base > 0 ? x / base : NAN;           /* also if x or base is NAN */
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

/* --- Findings --------------------------------------------------------------------------------- */

/* The meaning of the names in a finding's `each`: parameters of case c, and VARIANT.METRIC. */
struct spoken { const struct study *s; const struct study_report *r; int c; };

static bool unknown(const struct spoken *x, const struct param_set *params, const char *name,
                    struct err *e)
{
    const struct study *s = x->s;
    struct arena *pass = arena_new();
    const char **known = ARENA_ARRAY(pass, const char *, params->n + s->n_variants * s->n_metrics);
    int n = 0;
    for (int i = 0; i < params->n; i++)
        known[n++] = params->item[i].name;
    for (int v = 0; v < s->n_variants; v++)
        for (int m = 0; m < s->n_metrics; m++)
            known[n++] = arena_printf(pass, "%s.%s", s->variant[v].id, s->metric[m].id);
    err_set(e, ERR_NAME, "there is no parameter or metric \"%s\"", name);
    err_near(e, name, known, n, "did you mean %s?",
             "names are the parameters of the cases, and VARIANT.METRIC such as %s", known[n - 1]);
    arena_free(pass);
    return false;
}

/* Sets *out to the value of a name.  Without a report every metric is 1, which suffices to check
 * types. */
static bool spoken_value(void *ctx, const char *name, struct formula_value *out, struct err *e)
{
    const struct spoken *x = ctx;
    const struct study *s = x->s;
    const struct param_set *params = &s->cases[x->r ? x->r->cases[x->c] : x->c].params;
    const char *dot = strchr(name, '.');
    size_t n = dot ? (size_t)(dot - name) : 0;
    if (param_get(params, name))
        return param_names((void *)params, name, out, e);
    for (int v = 0; dot && v < s->n_variants; v++)
        for (int m = 0; m < s->n_metrics; m++) {
            const char *id = s->variant[v].id;
            if (strlen(id) != n || memcmp(id, name, n) != 0 || !streq(s->metric[m].id, dot + 1))
                continue;
            out->number = x->r ? study_cell(x->r, x->c, v)->value[m] : 1;
            return !isnan(out->number)
                || err_set(e, ERR_TYPE, "\"%s\" has no value: it was not measured", name);
        }
    return unknown(x, params, name, e);
}

bool study_each(const struct study *s, const struct study_report *r, int c,
                const struct study_finding *f, bool *holds, double *number, struct err *e)
{
    struct spoken x = { s, r, c };
    return f->over == OVER_ALL ? formula_truth(f->each, spoken_value, &x, holds, e)
                               : formula_number(f->each, spoken_value, &x, number, e);
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

/* Adds case c to the group of the cases with the same value of the parameter f->by. */
static void add_to_group(struct study_report *r, const struct study_finding *f,
                         struct study_result *out, int c, double x, bool holds)
{
    const char *value = param_get(&r->study->cases[r->cases[c]].params, f->by);
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
    struct err e = {0};
    bool holds = false;
    double x = 0;
    bool ok = study_each(r->study, r, c, f, &holds, &x, &e);
    if (ok && f->over == OVER_GEOMEAN && !(x > 0))
        ok = err_set(&e, ERR_RANGE, "geomean of %g is not defined", x);
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
