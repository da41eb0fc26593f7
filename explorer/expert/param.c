#include "explorer/expert/param.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/str.h"
#include "kernels/base/vec.h"

/* --- Sets and grids -------------------------------------------------------------------------- */

const char *param_get(const struct param_set *s, const char *name)
{
    for (int i = s->n - 1; i >= 0; i--)
        if (streq(s->item[i].name, name))
            return s->item[i].value;
    return NULL;
}

struct param_set param_join(struct arena *a, const struct param_set *x, const struct param_set *y)
{
    struct param_value *item = ARENA_ARRAY(a, struct param_value, x->n + y->n + 1);
    for (int i = 0; i < x->n + y->n; i++)
        item[i] = i < x->n ? x->item[i] : y->item[i - x->n];
    return (struct param_set){ x->n + y->n, item };
}

const char *param_text(struct arena *a, const struct param_set *s)
{
    struct str out = {0};
    for (int i = 0; i < s->n; i++)
        str_printf(&out, "%s%s=%s", i ? ", " : "", s->item[i].name, s->item[i].value);
    const char *text = arena_strdup(a, str_text(&out));
    str_free(&out);
    return text;
}

bool param_is_number(const char *value, double *out)
{
    return str_to_double(value, out) && isfinite(*out);
}

int64_t param_grid_size(const struct param_grid *g)
{
    int64_t size = 1;
    for (int i = 0; i < g->n; i++)
        if (__builtin_mul_overflow(size, (int64_t)g->axis[i].n, &size))
            return INT64_MAX;
    return size;
}

struct param_set param_grid_at(struct arena *a, const struct param_grid *g, int64_t i)
{
    struct param_value *item = ARENA_ARRAY(a, struct param_value, g->n + 1);
    for (int k = g->n - 1; k >= 0; k--) {
        item[k] = (struct param_value){ g->axis[k].name, g->axis[k].value[i % g->axis[k].n] };
        i /= g->axis[k].n;
    }
    return (struct param_set){ g->n, item };
}

/* --- Expressions ----------------------------------------------------------------------------- */

static bool unknown(const char *name, const struct param_set *s, struct err *e)
{
    VEC(const char *) names = {0};
    struct str all = {0};
    for (int i = 0; i < s->n; i++) {
        vec_push(&names, s->item[i].name);
        str_printf(&all, "%s%s", i ? ", " : "", s->item[i].name);
    }
    const char *near = str_nearest(name, names.data, names.len);
    err_set(e, ERR_NAME, "there is no parameter \"%s\" here", name);
    if (near)
        err_fix(e, "did you mean %s?", near);
    else if (s->n > 0)
        err_fix(e, "there are: %s", str_text(&all));
    else
        err_fix(e, "a study sets parameters by `for:` and, in a variant, by `search:`; an expert "
                "by `choose:` and `let:`");
    str_free(&all);
    vec_free(&names);
    return false;
}

bool param_names(void *ctx, const char *name, struct formula_value *out, struct err *e)
{
    const struct param_set *s = ctx;
    const char *value = param_get(s, name);
    if (!value)
        return unknown(name, s, e);
    if (!param_is_number(value, &out->number)) {
        out->type = FORMULA_TEXT;
        out->text = value;
        out->n = strlen(value);
    }
    return true;
}

/* Appends the text that replaces the braces with the name or expression `inside`. */
static bool expand_one(struct str *out, const char *inside, const struct param_set *s,
                       struct err *e)
{
    const char *value = param_get(s, inside);
    double number;
    if (value) {
        str_add(out, value);
        return true;
    }
    if (!formula_number(inside, param_names, (void *)s, &number, e))
        return false;
    if (number == floor(number) && fabs(number) < 9e15)
        str_printf(out, "%lld", (long long)number);
    else
        str_printf(out, "%.6g", number);
    return true;
}

/* Changes the column of *e, which counts from the brace in column `col`, to a column in `text`. */
static void err_inside(struct err *e, int col, const char *text)
{
    int len = e->at.len;
    err_where(e, NULL, 0, col + e->at.col, text);
    err_at(e, e->at.col, len);
}

bool param_expand(struct arena *a, const char *text, const struct param_set *s, const char **out,
                  struct err *e)
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
            ok = err_set(e, ERR_SYNTAX, "the closing brace is missing");
            err_where(e, NULL, 0, col, text);
            break;
        }
        const char *inside = arena_strndup(a, c + 1, (size_t)(close - c) - 1);
        ok = expand_one(&full, inside, s, e);
        if (!ok)
            err_inside(e, col, text);
        c = close + 1;
    }
    if (ok)
        *out = arena_strdup(a, str_text(&full));
    str_free(&full);
    return ok;
}
