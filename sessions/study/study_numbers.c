/* Reads a study from YAML: metrics, findings and how to measure. */
#include <math.h>
#include <string.h>
#include "profile/measure/meters.h"
#include "kernels/base/formula.h"
#include "sessions/report/report.h"
#include "sessions/study/study_loader.h"
#include "sessions/study/study_tune.h"

const char *const study_over_name[] = { "geomean", "mean", "min", "max", "all" };

static bool need_one(struct study_loader *l, const struct ynode *map, const char *key,
                     const char **out)
{
    const struct ynode *v;
    return yaml_need(&l->y.doc, map, key, &v, l->y.e)
        && yaml_load_text(&l->y, map, key, 1000, false, out);
}

/* --- Names of cases and variants -------------------------------------------------------------- */

static bool find(struct study_loader *l, const struct ynode *node, const char *what, bool variant,
                 int *out)
{
    VEC(const char *) ids = {0};
    int n = variant ? l->s->n_variants : l->s->n_cases;
    for (int i = 0; i < n; i++) {
        vec_push(&ids, variant ? l->s->variant[i].id : l->s->cases[i].id);
        if (node->kind == YNODE_SCALAR && streq(ids.data[i], node->text)) {
            *out = i;
            vec_free(&ids);
            return true;
        }
    }
    const char *text = node->kind == YNODE_SCALAR ? node->text : "?";
    err_set(l->y.e, ERR_NAME, "%s: there is no %s \"%.60s\"", what, variant ? "variant" : "case",
            text);
    err_near(l->y.e, text, ids.data, ids.len, "did you mean \"%s\"?", "the first one is \"%s\"",
             ids.data[0]);
    vec_free(&ids);
    return yaml_load_at(&l->y, node);
}

/* --- Metrics ---------------------------------------------------------------------------------- */

/* Reads `paper: {VARIANT: NUMBER, VARIANT: {CASE: NUMBER}}`. */
static bool read_paper(struct study_loader *l, const struct ynode *map, struct study_metric *m)
{
    const struct ynode *p = yaml_get(map, "paper");
    int cells = l->s->n_cases * l->s->n_variants, v, c;
    double *paper = ARENA_ARRAY(l->y.a, double, cells), number;
    for (int i = 0; i < cells; i++)
        paper[i] = NAN;
    m->paper = paper;
    m->has_paper = p != NULL;
    if (!p)
        return true;
    if (!yaml_is(&l->y.doc, p, YNODE_MAP, "paper", l->y.e))
        return false;
    for (int i = 0; i < p->n; i++) {
        const struct ynode *of = p->item[2 * i + 1];
        if (!yaml_key_once(&l->y.doc, p, i, "paper", l->y.e)
            || !find(l, p->item[2 * i], "paper", true, &v))
            return false;
        if (of->kind != YNODE_MAP && !yaml_double(&l->y.doc, of, "paper", &number, l->y.e))
            return false;
        for (c = 0; of->kind != YNODE_MAP && c < l->s->n_cases; c++)
            paper[c * l->s->n_variants + v] = number;
        for (int k = 0; of->kind == YNODE_MAP && k < of->n; k++) {
            if (!yaml_key_once(&l->y.doc, of, k, "paper", l->y.e)
                || !find(l, of->item[2 * k], "paper", false, &c)
                || !yaml_double(&l->y.doc, of->item[2 * k + 1], "paper", &number, l->y.e))
                return false;
            paper[c * l->s->n_variants + v] = number;
        }
    }
    return true;
}

/* An invented measurement with times.  Its JSON has the members of a real one, except for counts
 * and baselines. */
static const struct measurement timed = {
    .outcome = OUTCOME_OK, .verified = true, .max_rel_err = 1, .tolerance = 1,
    .latency = { .median_ms = 1, .min_ms = 1, .max_ms = 1, .spread = 1, .runs = 1 },
    .gflops = 1, .peak_gflops = 1, .peak_fraction = 1,
    .threads = 1, .build_s = 1, .total_s = 1,
};

/* Checks that the paths in an expression exist in `run --json`.  Accepts any path to a count or a
 * baseline: only a measurement shows which of these exist. */
static bool check_paths(struct study_loader *l, const char *expr, const struct ynode *node)
{
    struct arena *pass = arena_new();
    struct str json = {0};
    struct study_code code;
    struct session *s = NULL;
    struct err e = {0};
    double ignored;
    int bad;
    struct param_set first = param_grid_at(pass, &l->s->variant[0].search, 0);
    bool network = l->s->networks && study_network_example(&json, l->s->meters, &e);
    bool built = !l->s->networks && study_code(pass, l->s, 0, 0, &first, &code, &bad, &e)
              && session_new(code.spec, &s, &e);
    if (built)
        report_run_json(&json, s, &timed, l->s->meters, NULL, NULL);
    built |= network;
    if (built && study_is_tuned(l->s))
        study_tune_example(&json);
    bool wrong = built && !report_number(str_text(&json), expr, &ignored, &e)
              && e.code == ERR_NAME && !strstr(expr, "baselines.");
    if (wrong)
        *l->y.e = e;
    session_free(s);
    str_free(&json);
    arena_free(pass);
    return wrong ? yaml_at_text(&l->y.doc, node, l->y.e) : true;
}

static bool get_expr(struct study_loader *l, const struct ynode *map, const char *key,
                     const char **out)
{
    const struct ynode *node = yaml_get(map, key);
    *out = NULL;
    if (!yaml_load_text(&l->y, map, key, 1000, false, out))
        return false;
    if (*out && !formula_check(*out, NULL, NULL, l->y.e))
        return yaml_at_text(&l->y.doc, node, l->y.e);
    return !*out || check_paths(l, *out, node);
}

static bool read_metric(struct study_loader *l, const struct ynode *map, struct study_metric *m)
{
    static const char *const keys[] = { "id", "title", "unit", "value", "spread", "base", "paper",
                                        NULL };
    const struct ynode *value, *base = yaml_get(map, "base");
    *m = (struct study_metric){ .unit = "", .base = -1 };
    if (!yaml_keys(&l->y.doc, map, "a metric", keys, l->y.e)
        || !need_one(l, map, "id", &m->id) || !yaml_load_id(&l->y, m->id, yaml_get(map, "id"))
        || !yaml_need(&l->y.doc, map, "value", &value, l->y.e))
        return false;
    m->title = m->id;
    return yaml_load_text(&l->y, map, "title", 200, false, &m->title)
        && yaml_load_text(&l->y, map, "unit", 20, false, &m->unit)
        && get_expr(l, map, "value", &m->value) && get_expr(l, map, "spread", &m->spread)
        && (!base || find(l, base, "base", true, &m->base)) && read_paper(l, map, m);
}

static bool read_metrics(struct study_loader *l, const struct ynode *root)
{
    const struct ynode *list;
    if (!yaml_load_list(&l->y, root, "metrics", &list))
        return false;
    struct study_metric *m = ARENA_ARRAY(l->y.a, struct study_metric, list->n);
    for (int i = 0; i < list->n; i++) {
        if (!read_metric(l, list->item[i], &m[i]))
            return false;
        for (int k = 0; k < i; k++)
            if (streq(m[k].id, m[i].id))
                return yaml_refuse(&l->y.doc, yaml_get(list->item[i], "id"), l->y.e, ERR_NAME,
                                   "there are two metrics \"%s\"", m[i].id);
    }
    l->s->metric = m;
    l->s->n_metrics = list->n;
    return true;
}

/* --- Findings --------------------------------------------------------------------------------- */

/* Checks the names and types in f->each by evaluating it for the first case. */
static bool check_each(struct study_loader *l, const struct study_finding *f,
                       const struct ynode *node)
{
    bool holds;
    double number;
    return study_each(l->s, NULL, 0, f, &holds, &number, l->y.e) || l->y.e->code == ERR_RANGE
        || yaml_at_text(&l->y.doc, node, l->y.e);
}

static bool read_combine(struct study_loader *l, const struct ynode *map, enum over_cases *out)
{
    const struct ynode *node = yaml_get(map, "combine");
    const char *text = "all";
    if (!yaml_load_text(&l->y, map, "combine", 20, false, &text))
        return false;
    for (int i = 0; i < OVER_COUNT; i++)
        if (streq(text, study_over_name[i])) {
            *out = (enum over_cases)i;
            return true;
        }
    err_set(l->y.e, ERR_NAME, "combine: there is no \"%s\"", text);
    err_fix(l->y.e, "geomean, mean, min, max or all");
    return yaml_load_at(&l->y, node);
}

/* Reads `by`.  Fails unless it is a parameter of every case. */
static bool read_by(struct study_loader *l, const struct ynode *map, struct study_finding *f)
{
    if (!yaml_load_text(&l->y, map, "by", 60, false, &f->by))
        return false;
    for (int c = 0; f->by && c < l->s->n_cases; c++)
        if (!param_get(&l->s->cases[c].params, f->by))
            return yaml_refuse(&l->y.doc, yaml_get(map, "by"), l->y.e, ERR_NAME,
                               "by: case %s has no parameter \"%s\"", l->s->cases[c].id, f->by);
    return true;
}

static bool read_finding(struct study_loader *l, const struct ynode *map, struct study_finding *f)
{
    static const char *const keys[] = { "text", "each", "combine", "unit", "paper", "by",
                                        NULL };
    const struct ynode *paper = yaml_get(map, "paper");
    *f = (struct study_finding){ .unit = "", .paper = NAN };
    if (!yaml_keys(&l->y.doc, map, "a finding", keys, l->y.e)
        || !need_one(l, map, "text", &f->text) || !need_one(l, map, "each", &f->each)
        || !read_combine(l, map, &f->over)
        || !yaml_load_text(&l->y, map, "unit", 20, false, &f->unit)
        || !read_by(l, map, f)
        || (paper && !yaml_double(&l->y.doc, paper, "paper", &f->paper, l->y.e)))
        return false;
    if (paper && (f->over == OVER_ALL || f->paper <= 0))
        return yaml_refuse(&l->y.doc, paper, l->y.e, ERR_TYPE, "paper: %s",
                           f->paper <= 0 ? "a ratio is above 0"
                                         : "\"all\" makes a truth value, not a number");
    return check_each(l, f, yaml_get(map, "each"));
}

static bool read_findings(struct study_loader *l, const struct ynode *root)
{
    const struct ynode *list = yaml_get(root, "findings");
    if (!list)
        return true;
    if (!yaml_is(&l->y.doc, list, YNODE_SEQ, "findings", l->y.e))
        return false;
    struct study_finding *f = ARENA_ARRAY(l->y.a, struct study_finding, list->n + 1);
    for (int i = 0; i < list->n; i++)
        if (!read_finding(l, list->item[i], &f[i]))
            return false;
    l->s->finding = f;
    l->s->n_findings = list->n;
    return true;
}

/* --- How to measure --------------------------------------------------------------------------- */

/* A number with its limits; the command line has similar limits.  A value of 0 means the default,
 * and is not checked. */
struct amount { const char *key; double value, lo, hi; };

static bool in_range(struct study_loader *l, const struct ynode *map, const struct amount *a, int n)
{
    for (int i = 0; i < n; i++) {
        const struct ynode *node = yaml_get(map, a[i].key);
        if (!node || a[i].value == 0 || (a[i].value >= a[i].lo && a[i].value <= a[i].hi))
            continue;
        err_set(l->y.e, ERR_RANGE, "%s: %.40s is out of range", a[i].key, node->text);
        err_fix(l->y.e, "%g to %g", a[i].lo, a[i].hi);
        return yaml_load_at(&l->y, node);
    }
    return true;
}

static bool amounts_fit(struct study_loader *l, const struct ynode *map)
{
    const struct study *s = l->s;
    const struct amount a[] = {
        { "time", s->time_s, 0.001, 600 }, { "search_time", s->search_time_s, 0.001, 600 },
        { "limit", s->limit_s, 0.01, 86400 }, { "budget", s->budget_s, 1e-9, 1e7 },
        { "threads", s->threads, 1, 1024 },
    };
    return in_range(l, map, a, COUNT_OF(a));
}

#define MEASURE(key, member) FIELD_AS(key, study, member, ZERO_KEPT)
static const struct fields measure_fields = FIELDS(
    MEASURE("time", time_s), MEASURE("search_time", search_time_s), MEASURE("limit", limit_s),
    MEASURE("budget", budget_s), MEASURE("threads", threads), MEASURE("seed", seed));

#define SCALE(key, member) FIELD_AS(key, study_scale, member, ZERO_KEPT)
static const struct fields scale_fields = FIELDS(
    SCALE("cases", cases), SCALE("search", search), SCALE("budget", budget),
    SCALE("seeds", seeds), SCALE("time", time_s));

static bool read_measure(struct study_loader *l, const struct ynode *root)
{
    static const char *const more[] = { "meters", "cache", "isa", "baselines", NULL };
    const struct ynode *map = yaml_get(root, "measure"), *meters;
    struct study *s = l->s;
    const char *text = NULL;
    if (!map)
        return true;
    meters = yaml_get(map, "meters");
    if (!yaml_fields_read(&l->y.doc, map, "measure", measure_fields, more, s, l->y.e)
        || !amounts_fit(l, map)
        || !yaml_load_text(&l->y, map, "cache", 200, false, &s->cache)
        || !yaml_load_text(&l->y, map, "isa", 20, false, &s->isa)
        || !yaml_load_text(&l->y, map, "meters", 200, false, &text))
        return false;
    const char *vendors = NULL;
    if (!yaml_load_text(&l->y, map, "baselines", 200, false, &vendors))
        return false;
    if (vendors && !vendor_parse(vendors, &s->baselines, l->y.e))
        return yaml_at_text(&l->y.doc, yaml_get(map, "baselines"), l->y.e);
    if (s->isa && !target_find(s->isa, l->y.e))
        return yaml_at_text(&l->y.doc, yaml_get(map, "isa"), l->y.e);
    return !text || meters_parse(text, &s->meters, l->y.e)
        || yaml_at_text(&l->y.doc, meters, l->y.e);
}

static bool read_scale(struct study_loader *l, const struct ynode *root)
{
    const struct ynode *map = yaml_get(root, "scale");
    if (!map)
        return true;
    if (!yaml_fields_read(&l->y.doc, map, "scale", scale_fields, NULL, &l->s->scale, l->y.e))
        return false;
    return in_range(l, map, &(struct amount){ "time", l->s->scale.time_s, 0.001, 600 }, 1);
}

bool study_read_numbers(struct study_loader *l, const struct ynode *root)
{
    return read_measure(l, root) && read_scale(l, root) && read_metrics(l, root)
        && read_findings(l, root);
}
