/* Recursive descent over
 *
 *     all     = equal { "&&" equal }
 *     equal   = less [ "==" less ]
 *     less    = sum [ ("<" | "<=" | ">" | ">=") sum ]
 *     sum     = product { ("+" | "-") product }
 *     product = unary { ("*" | "/" | "%") unary }
 *     unary   = "-" unary | atom
 *     atom    = number | name | ("min" | "max") "(" all "," all ")" | "(" all ")"
 *
 * Constants end up where the simplifier puts them: 8*h is h times 8, a - 4*b is a plus b times
 * -4. */
#include "tests/unit/expr_parse.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MAX_DEPTH 200
#define MAX_TOKENS 4000

struct parser {
    struct exprs *p;
    const char *text, *at;                /* at: start of the next token, after blanks */
    int len;                              /* length of that token, 0 at the end */
    int depth, n_tokens;
    const struct expr *const *vars;
    int n_vars;
    struct err *e;
};

static const struct expr *all(struct parser *s);

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static int token_len(const char *s)
{
    static const char *const pairs[] = { "&&", "==", "<=", ">=", "!=", "||" };
    int n = 0;
    for (int i = 0; i < COUNT_OF(pairs); i++)
        if (str_starts(s, pairs[i]))
            return 2;
    while (is_name_char(s[n]))
        n++;
    return n ? n : *s != '\0';
}

static void skip(struct parser *s)
{
    s->at += s->len;
    while (*s->at == ' ' || *s->at == '\t')
        s->at++;
    s->len = token_len(s->at);
    s->n_tokens++;
}

static bool is(const struct parser *s, const char *token)
{
    return (int)strlen(token) == s->len && strncmp(s->at, token, (size_t)s->len) == 0;
}

static bool accept(struct parser *s, const char *token)
{
    if (!is(s, token))
        return false;
    skip(s);
    return true;
}

/* Sets the position of the error and returns NULL. Every failure returns through here once. */
static const struct expr *locate(struct parser *s, const char *at, int len)
{
    err_where(s->e, "", 0, 0, s->text);
    err_at(s->e, (int)(at - s->text) + 1, len);
    return NULL;
}

static const struct expr *expected(struct parser *s, const char *what)
{
    if (s->len == 0)
        err_set(s->e, ERR_SYNTAX, "expected %s, but the expression ends here", what);
    else
        err_set(s->e, ERR_SYNTAX, "expected %s, found \"%.*s\"", what, s->len, s->at);
    if (is(s, "!=") || is(s, "||"))
        err_fix(s->e, "the operators are + - * / %% < <= > >= == &&, and min(a, b), max(a, b)");
    return locate(s, s->at, s->len);
}

/* Parses digits whose sign was already read, so that the least int64 can be written. */
static const struct expr *number(struct parser *s, bool negative)
{
    char digits[32];
    long long v;
    snprintf(digits, sizeof digits, "%s%.*s", negative ? "-" : "", s->len, s->at);
    for (int i = 0; i < s->len; i++) {
        if (isdigit((unsigned char)s->at[i]))
            continue;
        err_set(s->e, ERR_SYNTAX, "\"%.*s\" is neither a number nor a name", s->len, s->at);
        return locate(s, s->at, s->len);
    }
    if (s->len > 24 || !str_to_int64(digits, INT64_MIN, INT64_MAX, &v)) {
        err_set(s->e, ERR_RANGE, "the number %.*s is too large", s->len, s->at);
        return locate(s, s->at, s->len);
    }
    skip(s);
    return expr_const(s->p, v);
}

static const struct expr *unknown_name(struct parser *s, const char *name)
{
    const char *known[256];
    int n = s->n_vars < COUNT_OF(known) ? s->n_vars : COUNT_OF(known);
    for (int i = 0; i < n; i++)
        known[i] = s->vars[i]->name;
    const char *near = str_nearest(name, known, n);
    err_set(s->e, ERR_NAME, "there is no variable \"%s\" here", name);
    if (near)
        err_fix(s->e, "did you mean %s?", near);
    return locate(s, s->at, s->len);
}

static const struct expr *name(struct parser *s)
{
    char word[128];
    snprintf(word, sizeof word, "%.*s", s->len, s->at);
    for (int i = 0; i < s->n_vars && s->len < (int)sizeof word; i++) {
        if (!streq(word, s->vars[i]->name))
            continue;
        skip(s);
        return s->vars[i];
    }
    return unknown_name(s, word);
}

static bool is_call(const struct parser *s)
{
    const char *after = s->at + s->len;
    if (!is(s, "min") && !is(s, "max"))
        return false;
    return after[strspn(after, " \t")] == '(';
}

static const struct expr *call(struct parser *s)
{
    enum expr_kind kind = is(s, "min") ? EXPR_MIN : EXPR_MAX;
    skip(s);
    skip(s);
    const struct expr *a = all(s), *b;
    if (!a)
        return NULL;
    if (!accept(s, ","))
        return expected(s, "\",\"");
    b = all(s);
    if (!b)
        return NULL;
    return accept(s, ")") ? expr_bin(s->p, kind, a, b) : expected(s, "\")\"");
}

static const struct expr *atom(struct parser *s)
{
    if (isdigit((unsigned char)*s->at))
        return number(s, false);
    if (is_call(s))
        return call(s);
    if (s->len && (isalpha((unsigned char)*s->at) || *s->at == '_'))
        return name(s);
    if (!accept(s, "("))
        return expected(s, "a number, a name or \"(\"");
    const struct expr *e = all(s);
    if (!e)
        return NULL;
    return accept(s, ")") ? e : expected(s, "\")\"");
}

static const struct expr *unary(struct parser *s)
{
    if (s->depth >= MAX_DEPTH || s->n_tokens > MAX_TOKENS) {
        err_set(s->e, ERR_SYNTAX, "the expression is too long or nested too deeply");
        return locate(s, s->at, s->len);
    }
    if (!accept(s, "-"))
        return atom(s);
    if (isdigit((unsigned char)*s->at))
        return number(s, true);
    s->depth++;
    const struct expr *e = unary(s);
    s->depth--;
    return e ? expr_mulc(s->p, e, -1) : NULL;
}

static bool is_constant(const struct expr *e)
{
    return e->a ? is_constant(e->a) && is_constant(e->b) : e->kind == EXPR_CONST;
}

/* Parses a divisor, which may be a constant expression; its value is used. */
static const struct expr *divide(struct parser *s, enum expr_kind kind, const struct expr *a,
                                 const struct expr *b, const char *at)
{
    int len = (int)(s->at - at);
    while (len > 1 && (at[len - 1] == ' ' || at[len - 1] == '\t'))
        len--;
    if (is_constant(b) && b->lo == b->hi && b->lo > 0)
        return expr_bin(s->p, kind, a, expr_const(s->p, b->lo));
    err_set(s->e, ERR_RANGE, "the divisor is not a positive constant");
    return locate(s, at, len);
}

static const struct expr *product(struct parser *s)
{
    const struct expr *a = unary(s);
    while (a && (is(s, "*") || is(s, "/") || is(s, "%"))) {
        char op = *s->at;
        skip(s);
        const char *at = s->at;
        const struct expr *b = unary(s);
        if (!b)
            return NULL;
        if (op != '*')
            a = divide(s, op == '/' ? EXPR_DIV : EXPR_MOD, a, b, at);
        else if (a->kind == EXPR_CONST && b->kind != EXPR_CONST)
            a = expr_mul(s->p, b, a);
        else
            a = expr_mul(s->p, a, b);
    }
    return a;
}

static const struct expr *subtract(struct exprs *p, const struct expr *a, const struct expr *b)
{
    if (b->kind == EXPR_CONST && b->value > 0)
        return expr_addc(p, a, -b->value);
    if (b->kind == EXPR_MUL && b->b->kind == EXPR_CONST && b->b->value > 0)
        return expr_add(p, a, expr_mulc(p, b->a, -b->b->value));
    return expr_sub(p, a, b);
}

static const struct expr *sum(struct parser *s)
{
    const struct expr *a = product(s);
    while (a && (is(s, "+") || is(s, "-"))) {
        bool minus = *s->at == '-';
        skip(s);
        const struct expr *b = product(s);
        if (!b)
            return NULL;
        a = minus ? subtract(s->p, a, b) : expr_add(s->p, a, b);
    }
    return a;
}

/* a <= b is a < b + 1, folded when b is a constant. */
static const struct expr *at_most(struct exprs *p, const struct expr *a, const struct expr *b)
{
    bool folds = b->kind == EXPR_CONST && b->value < INT64_MAX;
    return expr_lt(p, a, folds ? expr_const(p, b->value + 1) : expr_addc(p, b, 1));
}

static const struct expr *less(struct parser *s)
{
    static const char *const ops[] = { "<", "<=", ">", ">=" };
    const struct expr *a = sum(s);
    for (int i = 0; a && i < COUNT_OF(ops); i++) {
        if (!accept(s, ops[i]))
            continue;
        const struct expr *b = sum(s);
        if (!b)
            return NULL;
        return i == 0 ? expr_lt(s->p, a, b) : i == 1 ? at_most(s->p, a, b)
             : i == 2 ? expr_lt(s->p, b, a) : expr_ge(s->p, a, b);
    }
    return a;
}

static const struct expr *equal(struct parser *s)
{
    const struct expr *a = less(s);
    if (!a || !accept(s, "=="))
        return a;
    const struct expr *b = less(s);
    return b ? expr_eq(s->p, a, b) : NULL;
}

static const struct expr *all(struct parser *s)
{
    s->depth++;
    const struct expr *a = equal(s);
    while (a && accept(s, "&&")) {
        const struct expr *b = equal(s);
        a = b ? expr_and(s->p, a, b) : NULL;
    }
    s->depth--;
    return a;
}

bool expr_parse(struct exprs *p, const char *text, const struct expr *const *vars, int n_vars,
                const struct expr **out, struct err *e)
{
    struct parser s = { .p = p, .text = text, .at = text, .vars = vars, .n_vars = n_vars, .e = e };
    skip(&s);
    const struct expr *result = all(&s);
    if (result && s.len)
        result = expected(&s, "an operator or the end");
    if (!result)
        return false;
    *out = result;
    return true;
}
