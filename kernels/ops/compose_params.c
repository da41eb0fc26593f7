/* Parameters of calls in statements: which parameters an operator takes, and their values. */
#include "kernels/ops/compose_params.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WHOLE ((int64_t)1 << 40)

/* The kind of each parameter, which is the same in every operator.  A list has commas between its
 * numbers. */
enum kind { FLOAT, WHOLE, LIST, FUNCTION };
static const struct { const char *name; enum kind kind; } kinds[] = {
    { "act", FUNCTION }, { "add", FLOAT },  { "after", LIST }, { "alpha", FLOAT },
    { "axes", LIST },
    { "axis", WHOLE },  { "before", LIST }, { "beta", FLOAT }, { "eps", FLOAT },
    { "from", WHOLE },  { "keep", WHOLE }, { "max", FLOAT },   { "min", FLOAT },
    { "mul", FLOAT },   { "perm", LIST },  { "shape", LIST },  { "step", WHOLE },
    { "to", WHOLE },    { "transa", WHOLE }, { "transb", WHOLE }, { "value", FLOAT },
};

/* A word NAME=VALUE of c->params. len: length of the word; name: length of NAME; value: copy of
 * VALUE. */
struct param { const char *word; size_t len, name; const char *value; };

bool words_have(const char *words, const char *word, size_t n)
{
    for (const char *s = words; *s; s += strspn(s, " ")) {
        size_t len = strcspn(s, " ");
        if (len == n && strncmp(s, word, n) == 0)
            return true;
        s += len;
    }
    return false;
}

const char *params_unknown(const char *names, const char *params)
{
    for (const char *s = params + strspn(params, " \t"); *s; s += strspn(s, " \t")) {
        if (!words_have(names, s, strcspn(s, "= \t")))
            return s;
        s += strcspn(s, " \t");
    }
    return NULL;
}

/* Reads the next word from *s on. Returns false when there is none. */
static bool next_param(const struct call *c, const char **s, struct param *p)
{
    *s += strspn(*s, " \t");
    p->word = *s;
    p->len = strcspn(*s, " \t");
    p->name = strcspn(*s, "= \t");
    p->value = "";
    if (p->name < p->len)
        p->value = arena_strndup(exprs_arena(c->g->pool), *s + p->name + 1, p->len - p->name - 1);
    *s += p->len;
    return p->len > 0;
}

static const char *value_of(const struct call *c, const char *name)
{
    struct param p;
    for (const char *s = c->params; next_param(c, &s, &p);)
        if (p.name == strlen(name) && strncmp(p.word, name, p.name) == 0)
            return p.value;
    return NULL;
}

/* Sets the position of the error to this word. Returns false. */
static bool blame(const struct call *c, const struct param *p)
{
    return err_at(c->e, (int)(p->word - c->params) + 1, (int)p->len);
}

/* Sets the fix "axis=1 is dimension C" for an error about axis=c. */
static void fix_axis(const struct call *c, const char *value)
{
    const struct tensor *t = &c->g->tensor[c->in[0]];
    struct str list = { 0 };
    for (int d = 0; d < t->rank; d++) {
        if (strcaseeq(t->dim[d], value))
            err_fix(c->e, "axis=%d is dimension %s", d, t->dim[d]);
        str_printf(&list, "%s%d for %s", d ? ", " : "", d, t->dim[d]);
    }
    if (!c->e->fix[0])
        err_fix(c->e, "%s", str_text(&list));
    str_free(&list);
}

/* Checks one number: the value of a WHOLE, or an element of a LIST. */
static bool check_whole(const struct call *c, const struct param *p, const char *text, bool list)
{
    long long v;
    if (str_to_int64(text, -MAX_WHOLE, MAX_WHOLE, &v))
        return true;
    if (str_is_whole(text)) {
        err_set(c->e, ERR_RANGE, "%.*s=%s is not between -2^40 and 2^40", (int)p->name, p->word,
                text);
        return blame(c, p);
    }
    err_set(c->e, ERR_TYPE, "%.*s=%s is not a whole number", (int)p->name, p->word, text);
    if (list)
        err_fix(c->e, "%.*s= takes whole numbers separated by commas", (int)p->name, p->word);
    else if (strncmp(p->word, "axis=", 5) == 0)
        fix_axis(c, text);
    return blame(c, p);
}

static bool check_list(const struct call *c, const struct param *p)
{
    char *text = arena_strdup(exprs_arena(c->g->pool), p->value);
    int n = 1;
    for (char *end; (end = strchr(text, ',')); text = end + 1, n++) {
        *end = '\0';
        if (!check_whole(c, p, text, true))
            return false;
    }
    if (n <= MAX_RANK)
        return check_whole(c, p, text, true);
    err_set(c->e, ERR_RANGE, "%.*s= has %d numbers, more than %d", (int)p->name, p->word, n,
            MAX_RANK);
    return blame(c, p);
}

static bool check_float(const struct call *c, const struct param *p)
{
    double v;
    const char *text = p->value + (p->value[0] == '+');
    bool endless = streq(p->value, "inf") || streq(p->value, "-inf");
    if (endless || (str_to_double(text, &v) && isfinite(v)))
        return true;
    err_set(c->e, ERR_TYPE, "%.*s is not a number", (int)p->len, p->word);
    return blame(c, p);
}

/* Returns the index of the function in act_words; -1 if families do not offer it. */
static int function_index(const char *word)
{
    for (int i = 0; i < ACT_COUNT; i++)
        if (streq(act_words[i], word))
            return i;
    return -1;
}

static bool check_function(const struct call *c, const struct param *p)
{
    if (function_index(p->value) >= 0)
        return true;
    err_set(c->e, ERR_NAME, "there is no function %s", p->value);
    err_near(c->e, p->value, act_words, ACT_COUNT, "did you mean %s?", NULL);
    return blame(c, p);
}

static bool check_value(const struct call *c, const struct param *p)
{
    int i = 0;
    while (strncmp(kinds[i].name, p->word, p->name) != 0 || kinds[i].name[p->name])
        if (++i == COUNT_OF(kinds))
            fail("parameter %.*s has no kind", (int)p->name, p->word);
    if (!p->value[0]) {
        err_set(c->e, ERR_SYNTAX, "%s= has no value", kinds[i].name);
        err_fix(c->e, "%s=%s", kinds[i].name, kinds[i].kind == FLOAT ? "0.5" :
                                              kinds[i].kind == LIST  ? "0,1" :
                                              kinds[i].kind == WHOLE ? "1" : "relu");
        return blame(c, p);
    }
    return kinds[i].kind == FLOAT ? check_float(c, p) :
           kinds[i].kind == LIST  ? check_list(c, p) :
           kinds[i].kind == WHOLE ? check_whole(c, p, p->value, false) : check_function(c, p);
}

bool params_check(const struct call *c, const char *names)
{
    struct param p, before;
    for (const char *s = c->params; next_param(c, &s, &p);) {
        if (!words_have(names, p.word, p.name)) {
            err_set(c->e, ERR_NAME, "%s has no parameter \"%.*s\"", c->op, (int)p.name, p.word);
            err_fix(c->e, names[0] ? "its parameters: %s" : "it has none%s", names);
            return blame(c, &p);
        }
        for (const char *t = c->params; next_param(c, &t, &before) && before.word < p.word;)
            if (before.name == p.name && strncmp(before.word, p.word, p.name) == 0) {
                err_set(c->e, ERR_SYNTAX, "%.*s= is given twice", (int)p.name, p.word);
                return blame(c, &p);
            }
        if (!check_value(c, &p))
            return false;
    }
    return true;
}

double param_float(const struct call *c, const char *name, double otherwise)
{
    const char *s = value_of(c, name);
    return s ? strtod(s, NULL) : otherwise;
}

int64_t param_int(const struct call *c, const char *name, int64_t otherwise)
{
    const char *s = value_of(c, name);
    return s ? strtoll(s, NULL, 10) : otherwise;
}

int param_list(const struct call *c, const char *name, int64_t *out)
{
    char *s = (char *)(uintptr_t)value_of(c, name);
    int n = 0;
    while (s && *s) {
        out[n++] = strtoll(s, &s, 10);
        s += *s == ',';
    }
    return n;
}

int param_word(const struct call *c, const char *name, int otherwise)
{
    const char *s = value_of(c, name);
    return s ? function_index(s) : otherwise;
}
