#include "profile/counters/formula.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 32

struct parser {
    const char *text, *at;
    formula_lookup *lookup;
    void *ctx;
    int depth;
    bool absent;
    struct err *e;
};

static bool sum(struct parser *p, double *v);

static void skip_blanks(struct parser *p)
{
    p->at += strspn(p->at, " \t");
}

static bool wrong(struct parser *p, const char *what, int len)
{
    err_set(p->e, ERR_SYNTAX, "%s", what);
    return err_at(p->e, 1 + (int)(p->at - p->text), len);
}

static size_t name_length(const char *s)
{
    size_t n = 0;
    while (isalnum((unsigned char)s[n]) || s[n] == '_')
        n++;
    return n;
}

/* name = (letter | "_") { letter | digit | "_" } */
static bool name(struct parser *p, double *v)
{
    size_t n = name_length(p->at);
    *v = 0;
    switch (p->lookup(p->ctx, p->at, n, v)) {
    case FORMULA_VALUE: break;
    case FORMULA_ABSENT: p->absent = true; break;
    case FORMULA_WRONG:
        err_set(p->e, ERR_NAME, "no event of this set, and no other value, is called %.*s",
                n < 60 ? (int)n : 60, p->at);
        return err_at(p->e, 1 + (int)(p->at - p->text), (int)n);
    }
    p->at += n;
    return true;
}

/* number = digits [ "." digits ] [ "e" [sign] digits ] */
static bool number(struct parser *p, double *v)
{
    char *end;
    *v = strtod(p->at, &end);
    bool hex = p->at[0] == '0' && tolower((unsigned char)p->at[1]) == 'x';
    if (name_length(end) > 0 || !isfinite(*v) || hex)
        return wrong(p, "not a number", (int)name_length(p->at));
    p->at = end;
    return true;
}

/* factor = number | name | "-" factor | "(" sum ")" */
static bool factor(struct parser *p, double *v)
{
    skip_blanks(p);
    char c = *p->at;
    if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)p->at[1])))
        return number(p, v);
    if (isalpha((unsigned char)c) || c == '_')
        return name(p, v);
    if (c != '-' && c != '(')
        return wrong(p, c ? "a number, a name or ( was expected" : "the formula ends early", 1);
    if (++p->depth > MAX_DEPTH)
        return wrong(p, "too many nested parentheses and signs", 1);
    p->at++;
    bool ok = c == '-' ? factor(p, v) : sum(p, v);
    p->depth--;
    if (!ok)
        return false;
    if (c == '-') {
        *v = -*v;
        return true;
    }
    skip_blanks(p);
    if (*p->at != ')')
        return wrong(p, "a ) is missing", 1);
    p->at++;
    return true;
}

/* product = factor { ("*" | "/") factor } */
static bool product(struct parser *p, double *v)
{
    if (!factor(p, v))
        return false;
    for (;;) {
        double w;
        skip_blanks(p);
        char op = *p->at;
        if (op != '*' && op != '/')
            return true;
        p->at++;
        if (!factor(p, &w))
            return false;
        p->absent |= op == '/' && w == 0;
        *v = op == '*' ? *v * w : w == 0 ? 0 : *v / w;
    }
}

/* sum = product { ("+" | "-") product } */
static bool sum(struct parser *p, double *v)
{
    if (!product(p, v))
        return false;
    for (;;) {
        double w;
        skip_blanks(p);
        char op = *p->at;
        if (op != '+' && op != '-')
            return true;
        p->at++;
        if (!product(p, &w))
            return false;
        *v += op == '+' ? w : -w;
    }
}

enum formula_value formula_eval(const char *text, formula_lookup *lookup, void *ctx,
                                double *value, struct err *e)
{
    struct parser p = { .text = text, .at = text, .lookup = lookup, .ctx = ctx, .e = e };
    double v;
    if (!sum(&p, &v))
        return FORMULA_WRONG;
    if (*p.at) {
        wrong(&p, "an operator was expected", 1);
        return FORMULA_WRONG;
    }
    if (p.absent || !isfinite(v))
        return FORMULA_ABSENT;
    *value = v;
    return FORMULA_VALUE;
}
