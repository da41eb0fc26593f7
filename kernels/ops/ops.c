/* The table of operator families, and operator specs: "c2d n=1 i=64 h=56 w=56 o=64 k=3 p=1 relu=1".
 *
 * A spec is an operator name and NAME=VALUE words in any order and any case.  Its canonical form
 * has the parameters in table order without those at their default, so equal operators have equal
 * specs. */
#include <stdio.h>
#include <string.h>
#include "kernels/ops/window.h"

#define MAX_PARAMS 64

static const struct op_family *const families[] = {
    &c2d_family, &gmm_family, &c1d_family, &c3d_family, &grp_family, &dep_family, &dil_family,
    &t2d_family, &t3d_family, &bmm_family, &act_family, &add_family, &mul_family, &bn_family,
    &maxpool_family, &avgpool_family, &gpool_family, &softmax_family, &ln_family, &reduce_family,
    &transpose_family, &reshape_family, &concat_family, &slice_family,
};

int ops_count(void)
{
    return COUNT_OF(families);
}

const struct op_family *ops_get(int i)
{
    return families[i];
}

const struct op_family *ops_find(const char *name)
{
    for (int i = 0; i < ops_count(); i++)
        if (strcaseeq(families[i]->name, name))
            return families[i];
    return NULL;
}

/* --- Parsing ---------------------------------------------------------------------------------- */

struct spec_word { const char *text; int col, len; };            /* text is a copy; col from 1 */

struct parse {
    struct arena *a;
    const char *spec;
    const struct op_family *family;
    struct spec_word op;
    int64_t values[MAX_PARAMS];
    struct spec_word given[MAX_PARAMS];  /* given[i]: the word of parameter i; len 0: not given */
};

/* Sets the position of *e to this word of the spec. Returns false. */
static bool point_at(const struct parse *p, const struct spec_word *w, struct err *e)
{
    err_where(e, "", 0, w->col, p->spec);
    return err_at(e, w->col, w->len);
}

/* Reads the next blank-separated word from *pos on.  Returns false at the end. */
static bool next_word(const struct parse *p, size_t *pos, struct spec_word *w)
{
    static const char blanks[] = " \t\r\n";
    size_t start = *pos + strspn(p->spec + *pos, blanks), len = strcspn(p->spec + start, blanks);
    *pos = start + len;
    *w = (struct spec_word){ arena_strndup(p->a, p->spec + start, len), (int)start + 1, (int)len };
    return len > 0;
}

/* Returns the names joined by `between`. */
static const char *joined(const struct parse *p, const char *const *names, int n,
                          const char *between)
{
    const char *all = names[0];
    for (int i = 1; i < n; i++)
        all = arena_printf(p->a, "%s%s%s", all, between, names[i]);
    return all;
}

static bool unknown_op(const struct parse *p, struct err *e)
{
    const char *names[COUNT_OF(families)];
    for (int i = 0; i < ops_count(); i++)
        names[i] = families[i]->name;
    const char *near = str_nearest(p->op.text, names, ops_count());
    const char *all = joined(p, names, ops_count(), ", ");
    if (!p->op.len)
        err_set(e, ERR_SYNTAX, "no operator given");
    else
        err_set(e, ERR_NAME, "unknown operator \"%.60s\"", p->op.text);
    if (near)
        err_fix(e, "did you mean %s? (operators: %s)", near, all);
    else
        err_fix(e, "the operators are %s: try `%s`", all, families[0]->example);
    return point_at(p, &p->op, e);
}

static int find_param(const struct op_family *f, const char *name)
{
    for (int i = 0; i < f->n_params; i++)
        if (strcaseeq(f->params[i].name, name))
            return i;
    return -1;
}

static bool unknown_param(const struct parse *p, const char *name, const struct spec_word *w,
                          struct err *e)
{
    const struct op_family *f = p->family;
    const char *names[MAX_PARAMS];
    for (int i = 0; i < f->n_params; i++)
        names[i] = f->params[i].name;
    const char *all = joined(p, names, f->n_params, " ");
    const char *near = str_nearest(name, names, f->n_params);
    err_set(e, ERR_NAME, "%s has no parameter \"%.60s\"", f->name, name);
    if (near)
        err_fix(e, "did you mean %s=? (parameters: %s)", near, all);
    else
        err_fix(e, "the parameters of %s are %s", f->name, all);
    return point_at(p, &(struct spec_word){ w->text, w->col, (int)strlen(name) }, e);
}

/* Reads a whole number in the range of the parameter, or one of its words.  Returns false when the
 * value is neither. */
static bool read_value(const struct op_param *param, const char *value, long long *v)
{
    if (!param->words)
        return str_to_int64(value, param->min, param->max, v);
    for (*v = 0; *v <= param->max; ++*v)
        if (strcaseeq(param->words[*v], value))
            return true;
    return false;
}

static bool bad_word(const struct parse *p, const struct op_param *param, const char *value,
                     struct err *e)
{
    int n = (int)param->max + 1;
    const char *near = str_nearest(value, param->words, n);
    const char *all = joined(p, param->words, n, " ");
    err_set(e, ERR_NAME, "\"%.40s\" is not a value of %s=", value, param->name);
    if (near)
        return err_fix(e, "did you mean %s=%s? (all: %s)", param->name, near, all);
    return err_fix(e, "%s (%s) is one of %s", param->name, param->help, all);
}

static bool bad_number(const struct op_param *param, const char *value, struct err *e)
{
    if (str_is_whole(value))
        err_set(e, ERR_RANGE, "%s=%.40s is out of range", param->name, value);
    else
        err_set(e, ERR_TYPE, "%s= takes a whole number, not \"%.40s\"", param->name, value);
    return err_fix(e, "%s (%s) takes %lld to %lld", param->name, param->help,
                   (long long)param->min, (long long)param->max);
}

static bool set_param(struct parse *p, int i, const char *value, const struct spec_word *w,
                      struct err *e)
{
    const struct op_param *param = &p->family->params[i];
    int skip = (int)(value - w->text);
    struct spec_word at = { value, w->col + skip, w->len - skip };
    long long v;
    if (p->given[i].len) {
        err_set(e, ERR_SYNTAX, "%s= is given twice", param->name);
        err_fix(e, "leave out one of %.60s and %.60s", p->given[i].text, w->text);
        return point_at(p, w, e);
    }
    if (!*value) {
        err_set(e, ERR_SYNTAX, "%s= has no value", param->name);
        err_fix(e, "write %s=%s, with no blank around the =", param->name,
                param->words ? param->words[0] : "NUMBER");
        return point_at(p, w, e);
    }
    if (!read_value(param, value, &v)) {
        if (param->words)
            bad_word(p, param, value, e);
        else
            bad_number(param, value, e);
        return point_at(p, &at, e);
    }
    p->values[i] = v;
    p->given[i] = *w;
    return true;
}

static bool parse_param(struct parse *p, const struct spec_word *w, struct err *e)
{
    const char *eq = strchr(w->text, '=');
    if (!eq || eq == w->text) {
        err_set(e, ERR_SYNTAX, "\"%.60s\" is not of the form NAME=VALUE", w->text);
        err_fix(e, "try `%s`", p->family->example);
        return point_at(p, w, e);
    }
    const char *name = arena_strndup(p->a, w->text, (size_t)(eq - w->text));
    int i = find_param(p->family, name);
    return i < 0 ? unknown_param(p, name, w, e) : set_param(p, i, eq + 1, w, e);
}

/* Checks that no required parameter is missing. The error: "c2d needs i=, h= and o=". */
static bool check_required(const struct parse *p, struct err *e)
{
    const struct op_family *f = p->family;
    int missing = 0, left;
    for (int i = 0; i < f->n_params; i++)
        missing += p->values[i] == OP_REQUIRED;
    if (!missing)
        return true;
    struct str list = {0};
    left = missing;
    for (int i = 0; i < f->n_params; i++)
        if (p->values[i] == OP_REQUIRED) {
            left--;
            str_printf(&list, "%s=%s", f->params[i].name, left > 1 ? ", " : left ? " and " : "");
        }
    err_set(e, ERR_SYNTAX, "%s needs %s", f->name, str_text(&list));
    err_fix(e, "try `%s`", f->example);
    str_free(&list);
    return point_at(p, &p->op, e);
}

/* Sets the position of an error from a builder to the parameter with which its text starts
 * ("NAME="), or else to the operator. */
static bool point_at_blamed(const struct parse *p, struct err *e)
{
    char name[32];
    size_t n = strcspn(e->text, "=");
    if (n < sizeof name) {
        snprintf(name, sizeof name, "%.*s", (int)n, e->text);
        int i = find_param(p->family, name);
        if (i >= 0 && p->given[i].len)
            return point_at(p, &p->given[i], e);
    }
    return point_at(p, &p->op, e);
}

static bool check_sizes(const struct parse *p, const struct graph *g, struct err *e)
{
    for (int t = 0; t < g->n_tensors; t++)
        if (!tensor_check_elems(&g->tensor[t], g->tensor[t].name, '=', e))
            return point_at(p, &p->op, e);
    return true;
}

void op_param_print(struct str *out, const struct op_param *p, int64_t v)
{
    if (p->words)
        str_add(out, p->words[v]);
    else
        str_printf(out, "%lld", (long long)v);
}

static const char *canonical_spec(const struct parse *p)
{
    struct str s = {0};
    str_add(&s, p->family->name);
    for (int i = 0; i < p->family->n_params; i++) {
        const struct op_param *param = &p->family->params[i];
        int64_t v = p->values[i];
        if (v == param->def || v == OP_UNSET)
            continue;
        str_printf(&s, " %s=", param->name);
        op_param_print(&s, param, v);
    }
    const char *text = arena_strdup(p->a, str_text(&s));
    str_free(&s);
    return text;
}

/* Rewrites values to canonical form (kh=3 kw=3 to k=3), so that equal operators have equal specs.
 * Fails with ERR_SYNTAX if values contradict each other.  The rules find parameters by name. */
static bool canonical(const struct op_family *f, int64_t *v, struct err *e)
{
    int n = param_row(f, "n");
    if (n >= 0 && v[n] == OP_UNSET)
        v[n] = 1;
    return params_without_gaps(f, v, e) && window_canonical(f, v, e) && finish_canonical(f, v, e)
        && (!f->canonical || f->canonical(f, v, e));
}

static bool parse_spec(struct parse *p, struct err *e)
{
    size_t pos = 0;
    struct spec_word w;
    next_word(p, &pos, &p->op);
    p->family = ops_find(p->op.text);
    if (!p->family)
        return unknown_op(p, e);
    for (int i = 0; i < p->family->n_params; i++)
        p->values[i] = p->family->params[i].def;
    while (next_word(p, &pos, &w))
        if (!parse_param(p, &w, e))
            return false;
    return canonical(p->family, p->values, e) ? check_required(p, e) : point_at_blamed(p, e);
}

bool graph_from_spec(struct arena *a, const char *spec, const struct graph **out, struct err *e)
{
    if (graph_is_composition(spec))
        return graph_compose(a, spec, out, e);
    struct parse p = { .a = a, .spec = spec };
    if (!parse_spec(&p, e))
        return false;
    struct graph *g = graph_new(a, p.family->name);
    if (!p.family->build(g, p.family, p.values, e))
        return point_at_blamed(&p, e);
    if (!check_sizes(&p, g, e))
        return false;
    graph_set_type(g, type_get(p.values[find_param(p.family, "type")]));
    g->spec = canonical_spec(&p);
    *out = g;
    return true;
}
