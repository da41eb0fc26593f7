/* Selects parts of a study: some cases, some variants, the texts of one cell. */
#include <fnmatch.h>
#include <string.h>
#include "kernels/base/formula.h"
#include "kernels/base/vec.h"
#include "sessions/study/study_impl.h"

struct study_name { const char *id, *title; };

static bool is_called(const struct study_name *x, const char *pattern)
{
    return fnmatch(pattern, x->id, FNM_CASEFOLD) == 0
        || fnmatch(pattern, x->title, FNM_CASEFOLD) == 0;
}

static bool unknown(const struct study *s, const char *what, const struct study_name *list, int n,
                    const char *word, struct err *e)
{
    VEC(const char *) ids = {0};
    for (int i = 0; i < n; i++)
        vec_push(&ids, list[i].id);
    struct str all = {0};
    for (int i = 0; i < n && i < 12; i++)
        str_printf(&all, "%s%s", i ? ", " : "", ids.data[i]);
    if (n > 12)
        str_printf(&all, ", ... (%d)", n);
    err_set(e, ERR_NAME, "study %s has no %s \"%.60s\"", s->id, what, word);
    err_near(e, word, ids.data, n, "did you mean \"%s\"?", "it has %s; * and ? match any letters",
             str_text(&all));
    str_free(&all);
    vec_free(&ids);
    return false;
}

/* Sets keep[i] for each item that a word of `names` ("A,B*") matches.  Fails when a word matches no
 * item. */
static bool pick(const struct study *s, const char *what, const struct study_name *list, int n,
                 const char *names, bool *keep, struct err *e)
{
    memset(keep, 0, (size_t)n * sizeof *keep);
    for (const char *at = names;;) {
        size_t len = strcspn(at, ",");
        char *word = arena_printf(s->arena, "%.*s", (int)len, at);
        bool any = false;
        for (int i = 0; i < n; i++)
            if (is_called(&list[i], word))
                any = keep[i] = true;
        if (!any)
            return unknown(s, what, list, n, word, e);
        if (!at[len])
            return true;
        at += len + 1;
    }
}

bool study_pick_cases(const struct study *s, const char *names, bool *keep, struct err *e)
{
    struct study_name *list = ARENA_ARRAY(s->arena, struct study_name, s->n_cases);
    for (int i = 0; i < s->n_cases; i++)
        list[i] = (struct study_name){ s->cases[i].id, s->cases[i].title };
    return pick(s, "case", list, s->n_cases, names, keep, e);
}

struct kept_variants { const struct study *s; const bool *keep; };

/* Fails for the name VARIANT.METRIC of a variant that is not kept. */
static bool name_is_kept(void *ctx, const char *name, struct formula_value *out, struct err *e)
{
    const struct kept_variants *x = ctx;
    size_t n = strcspn(name, ".");
    (void)out;
    (void)e;
    for (int v = 0; name[n] && v < x->s->n_variants; v++)
        if (!x->keep[v] && strlen(x->s->variant[v].id) == n
            && strncmp(x->s->variant[v].id, name, n) == 0)
            return false;
    return true;
}

static void keep_findings(struct study *s, const bool *keep)
{
    struct study_finding *list = ARENA_ARRAY(s->arena, struct study_finding, s->n_findings + 1);
    struct kept_variants x = { s, keep };
    struct err ignored = {0};
    int n = 0;
    for (int i = 0; i < s->n_findings; i++)
        if (formula_check(s->finding[i].each, name_is_kept, &x, &ignored))
            list[n++] = s->finding[i];
    s->finding = list;
    s->n_findings = n;
}

/* Removes the columns of dropped variants from the paper's numbers (cases by variants), and
 * renumbers the bases. */
static void keep_columns(struct study *s, const int *now_at, int n)
{
    struct study_metric *list = ARENA_ARRAY(s->arena, struct study_metric, s->n_metrics + 1);
    for (int i = 0; i < s->n_metrics; i++) {
        list[i] = s->metric[i];
        list[i].base = list[i].base < 0 ? -1 : now_at[list[i].base];
        if (!list[i].paper)
            continue;
        double *paper = ARENA_ARRAY(s->arena, double, s->n_cases * n);
        for (int c = 0; c < s->n_cases; c++)
            for (int v = 0; v < s->n_variants; v++)
                if (now_at[v] >= 0)
                    paper[c * n + now_at[v]] = list[i].paper[c * s->n_variants + v];
        list[i].paper = paper;
    }
    s->metric = list;
}

bool study_pick_variants(struct study *s, const char *names, struct err *e)
{
    struct study_name *list = ARENA_ARRAY(s->arena, struct study_name, s->n_variants);
    struct study_variant *kept = ARENA_ARRAY(s->arena, struct study_variant, s->n_variants);
    bool *keep = ARENA_ARRAY(s->arena, bool, s->n_variants);
    int *now_at = ARENA_ARRAY(s->arena, int, s->n_variants), n = 0;
    struct str others = {0};
    for (int v = 0; v < s->n_variants; v++)
        list[v] = (struct study_name){ s->variant[v].id, s->variant[v].title };
    if (!pick(s, "variant", list, s->n_variants, names, keep, e))
        return false;
    for (int v = 0; v < s->n_variants; v++) {
        now_at[v] = keep[v] ? n : -1;
        if (keep[v])
            kept[n++] = s->variant[v];
        else
            str_printf(&others, "%s%s", others.len ? ", " : "", s->variant[v].id);
    }
    keep_findings(s, keep);
    keep_columns(s, now_at, n);
    s->variant = kept;
    s->n_variants = n;
    s->left_out = others.len > 0 ? arena_strdup(s->arena, str_text(&others)) : NULL;
    str_free(&others);
    return true;
}

bool study_code(struct arena *a, const struct study *s, int c, int v, const struct param_set *more,
                struct study_code *out, int *bad, struct err *e)
{
    const struct study_case *k = &s->cases[c];
    const struct study_variant *var = &s->variant[v];
    struct param_set params = param_join(a, &k->params, &var->params);
    params = more ? param_join(a, &params, more) : params;
    *out = (struct study_code){ .spec = var->spec, .n = var->n_steps,
                                .step = ARENA_ARRAY(a, const char *, var->n_steps + 1) };
    const char *cache = var->cache ? var->cache : s->cache;
    *bad = -1;
    if (!var->spec && !param_expand(a, k->spec, &params, &out->spec, e))
        return false;
    *bad = -2;
    if (cache && !param_expand(a, cache, &params, &out->cache, e))
        return false;
    for (*bad = 0; *bad < var->n_steps; ++*bad)
        if (var->session)
            out->step[*bad] = var->step[*bad];
        else if (!param_expand(a, var->step[*bad], &params, &out->step[*bad], e))
            return false;
    return true;
}
