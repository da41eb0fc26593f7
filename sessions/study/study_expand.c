/* Parameters, grids, and texts with {expressions} in them. */
#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/vec.h"
#include "sessions/report/report.h"
#include "sessions/study/study_impl.h"

/* The last of a name, as in the JSON of the set. */
const char *study_param_get(const struct study_set *s, const char *name)
{
    for (int i = s->n - 1; i >= 0; i--)
        if (streq(s->item[i].name, name))
            return s->item[i].value;
    return NULL;
}

struct study_set study_join(struct arena *a, const struct study_set *x, const struct study_set *y)
{
    struct study_param *item = ARENA_ARRAY(a, struct study_param, x->n + y->n + 1);
    for (int i = 0; i < x->n + y->n; i++)
        item[i] = i < x->n ? x->item[i] : y->item[i - x->n];
    return (struct study_set){ x->n + y->n, item };
}

int64_t study_grid_size(const struct study_grid *g)
{
    int64_t size = 1;
    for (int i = 0; i < g->n; i++)
        if (__builtin_mul_overflow(size, (int64_t)g->axis[i].n, &size))
            return INT64_MAX;
    return size;
}

struct study_set study_grid_at(struct arena *a, const struct study_grid *g, int64_t i)
{
    struct study_param *item = ARENA_ARRAY(a, struct study_param, g->n + 1);
    for (int k = g->n - 1; k >= 0; k--) {
        item[k] = (struct study_param){ g->axis[k].name, g->axis[k].value[i % g->axis[k].n] };
        i /= g->axis[k].n;
    }
    return (struct study_set){ g->n, item };
}

const char *study_set_text(struct arena *a, const struct study_set *s)
{
    struct str out = {0};
    for (int i = 0; i < s->n; i++)
        str_printf(&out, "%s%s=%s", i ? ", " : "", s->item[i].name, s->item[i].value);
    const char *text = arena_strdup(a, str_text(&out));
    str_free(&out);
    return text;
}

static bool is_number(const char *text, double *value)
{
    bool digit = isdigit((unsigned char)text[text[0] == '-']);
    return digit && str_to_double(text, value) && isfinite(*value);
}

void study_set_json(struct str *out, const struct study_set *s)
{
    json_t *o = json_object();
    double value;
    for (int i = 0; i < s->n; i++)
        json_object_set_new(o, s->item[i].name, is_number(s->item[i].value, &value)
                            ? json_real(value) : json_string(s->item[i].value));
    char *text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(17));
    str_add(out, text);
    free(text);
    json_decref(o);
}

static bool is_name(const char *text)
{
    bool ok = isalpha((unsigned char)text[0]);
    for (const char *c = text; *c; c++)
        ok = ok && (isalnum((unsigned char)*c) || *c == '_');
    return ok;
}

static bool unknown_parameter(const char *name, const struct study_set *params, struct err *e)
{
    VEC(const char *) names = {0};
    for (int i = 0; i < params->n; i++)
        vec_push(&names, params->item[i].name);
    const char *near = str_nearest(name, names.data, names.len);
    err_set(e, ERR_NAME, "there is no parameter \"%s\" here", name);
    if (near)
        err_fix(e, "did you mean {%s}?", near);
    else
        err_fix(e, "parameters are given by `for:`, and of a variant by `search:`");
    vec_free(&names);
    return false;
}

/* What stands for {inside}. */
static bool expand_one(struct str *out, const char *inside, const struct study_set *params,
                       struct err *e)
{
    const char *value = study_param_get(params, inside);
    struct str json = {0};
    double number = 0;
    if (value || is_name(inside)) {
        str_add(out, value ? value : "");
        return value ? true : unknown_parameter(inside, params, e);
    }
    study_set_json(&json, params);
    bool ok = report_number(str_text(&json), inside, &number, e);
    if (ok && number == floor(number) && fabs(number) < 9e15)
        str_printf(out, "%lld", (long long)number);
    else if (ok)
        str_printf(out, "%.6g", number);
    str_free(&json);
    return ok;
}

bool study_expand(struct arena *a, const char *text, const struct study_set *params,
                  const char **out, struct err *e)
{
    struct str full = {0};
    bool ok = true;
    for (const char *c = text; ok && *c;) {
        size_t plain = strcspn(c, "{");
        str_add_n(&full, c, plain);
        c += plain;
        if (!*c)
            break;
        const char *close = strchr(c, '}');
        int col = (int)(c - text) + 1;
        if (!close) {
            ok = err_set(e, ERR_SYNTAX, "this brace is never closed");
            err_at(e, col, 1);
            break;
        }
        char *inside = xstrdup(c + 1);
        inside[close - c - 1] = '\0';
        ok = expand_one(&full, inside, params, e);
        if (!ok)
            err_at(e, col + 1, (int)(close - c) - 1);
        free(inside);
        c = close + 1;
    }
    if (ok)
        *out = arena_strdup(a, str_text(&full));
    str_free(&full);
    return ok;
}

bool study_cache(const char *text, struct measure_opts *o, struct err *e)
{
    return cache_config_parse(text, &o->cache, e);
}

bool study_code(struct arena *a, const struct study *s, int c, int v, const struct study_set *more,
                struct study_code *out, int *bad, struct err *e)
{
    const struct study_case *k = &s->cases[c];
    const struct study_variant *var = &s->variant[v];
    struct study_set params = study_join(a, &k->params, &var->params);
    params = more ? study_join(a, &params, more) : params;
    *out = (struct study_code){ .spec = var->spec, .n = var->n_steps,
                                .step = ARENA_ARRAY(a, const char *, var->n_steps + 1) };
    const char *cache = var->cache ? var->cache : s->cache;
    *bad = -1;
    if (!var->spec && !study_expand(a, k->spec, &params, &out->spec, e))
        return false;
    *bad = -2;
    if (cache && !study_expand(a, cache, &params, &out->cache, e))
        return false;
    for (*bad = 0; *bad < var->n_steps; ++*bad)
        if (var->session)
            out->step[*bad] = var->step[*bad];
        else if (!study_expand(a, var->step[*bad], &params, &out->step[*bad], e))
            return false;
    return true;
}

bool study_program(struct arena *a, const struct study_code *code, const struct program **out,
                   int *bad, struct err *e)
{
    return program_replay(a, code->spec, code->step, code->n, out, bad, e);
}
