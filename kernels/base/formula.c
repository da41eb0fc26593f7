/* Evaluates formulas by recursive descent, in one walk of the text. */
#include "kernels/base/formula.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/arena.h"
#include "kernels/base/str.h"

#define DEPTH_MAX 100
#define ARGS_MAX 64

static const char *const type_name[] = { "a number", "true or false", "a text" };

struct evaluator {
    const char *expr;
    formula_names *names;
    void *ctx;
    int at;
    bool checking;                        /* whether only the syntax is checked */
    bool skipping;                        /* whether the value is not needed: names are then looked
                                           * up only if `checking` is set */
    int depth;
    struct err *e;
};

static bool parse_or(struct evaluator *v, struct formula_value *out);
static bool parse_sum(struct evaluator *v, struct formula_value *out);

/* --- Errors ---------------------------------------------------------------------------------- */

static bool fails(struct evaluator *v, int from, int to)
{
    err_where(v->e, NULL, 0, from + 1, v->expr);
    return err_at(v->e, from + 1, to > from ? to - from : 1);
}

static bool wrong_type(struct evaluator *v, const struct formula_value *got,
                       enum formula_type wanted)
{
    err_set(v->e, ERR_TYPE, "%s is expected here, but this is %s", type_name[wanted],
            type_name[got->type]);
    bool is_name = isalpha((unsigned char)v->expr[got->from]);
    if (wanted == FORMULA_TRUTH && got->type == FORMULA_NUMBER && is_name)
        err_fix(v->e, "compare it: %.*s < 1", got->to - got->from, v->expr + got->from);
    return fails(v, got->from, got->to);
}

static bool need(struct evaluator *v, const struct formula_value *got, enum formula_type wanted)
{
    return v->skipping || got->type == wanted || wrong_type(v, got, wanted);
}

/* --- Words ----------------------------------------------------------------------------------- */

static void skip_blanks(struct evaluator *v)
{
    while (isspace((unsigned char)v->expr[v->at]))
        v->at++;
}

static bool take(struct evaluator *v, const char *op)
{
    skip_blanks(v);
    if (!str_starts(v->expr + v->at, op))
        return false;
    v->at += (int)strlen(op);
    return true;
}

bool formula_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

bool formula_is_word(const char *text)
{
    bool ok = isalpha((unsigned char)text[0]);
    for (const char *c = text; *c; c++)
        ok = ok && formula_name_char(*c);
    return ok;
}

static bool parse_name(struct evaluator *v, struct formula_value *out)
{
    int from = v->at;
    const char *c = v->expr + from;
    while (formula_name_char(*c) || (*c == '.' && formula_name_char(c[1])))
        c++;
    v->at = (int)(c - v->expr);
    if (!v->names || (v->skipping && !v->checking))
        return true;
    char *name = xstrdup(v->expr + from);
    name[v->at - from] = '\0';
    bool ok = v->names(v->ctx, name, out, v->e) || fails(v, from, v->at);
    free(name);
    return ok;
}

static bool parse_number(struct evaluator *v, struct formula_value *out)
{
    char *end;
    const char *text = v->expr + v->at;
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    double number = strtod(text, &end);
    int from = v->at;
    v->at += (int)(end - text);
    if (hex || formula_name_char(*end) || !isfinite(number)) {
        err_set(v->e, ERR_SYNTAX, "the number is malformed");
        return fails(v, from, v->at + 1);
    }
    out->number = number;
    return true;
}

static bool parse_text(struct evaluator *v, struct formula_value *out)
{
    int from = v->at;
    const char *start = v->expr + from + 1, *close = strchr(start, '"');
    if (!close) {
        err_set(v->e, ERR_SYNTAX, "the closing quote is missing");
        return fails(v, from, (int)strlen(v->expr));
    }
    v->at += (int)(close - start) + 2;
    out->type = FORMULA_TEXT;
    out->text = start;
    out->n = (size_t)(close - start);
    return true;
}

static bool parse_word(struct evaluator *v, struct formula_value *out)
{
    static const char *const words[] = { "false", "true" };
    for (int i = 0; i < COUNT_OF(words); i++) {
        int n = (int)strlen(words[i]);
        char next = str_starts(v->expr + v->at, words[i]) ? v->expr[v->at + n] : '_';
        if (!formula_name_char(next) && next != '.') {
            v->at += n;
            out->type = FORMULA_TRUTH;
            out->truth = i == 1;
            return true;
        }
    }
    return parse_name(v, out);
}

/* --- Parentheses and functions --------------------------------------------------------------- */

static bool open_parenthesis(struct evaluator *v)
{
    if (v->depth++ < DEPTH_MAX) {
        v->at++;
        return true;
    }
    err_set(v->e, ERR_SYNTAX, "more than %d parentheses inside each other", DEPTH_MAX);
    return fails(v, v->at, v->at + 1);
}

static bool close_parenthesis(struct evaluator *v, int open)
{
    v->depth--;
    if (take(v, ")"))
        return true;
    err_set(v->e, ERR_SYNTAX, "the closing parenthesis is missing");
    return fails(v, open, open + 1);
}

/* Functions of numbers.  FN_FLOOR and the later ones take one number, the earlier ones several. */
enum number_fn { FN_MIN, FN_MAX, FN_MEAN, FN_GEOMEAN, FN_FLOOR, FN_CEIL, FN_LOG, FN_ABS, FN_COUNT };
static const char *const fn_name[FN_COUNT] = { "min", "max", "mean", "geomean", "floor", "ceil",
                                               "log", "abs" };

static double number_fn(enum number_fn f, const double *x, int n)
{
    double result = f == FN_GEOMEAN || f == FN_MEAN ? 0 : x[0];
    for (int i = 0; i < n; i++)
        result = f == FN_MIN ? fmin(result, x[i]) : f == FN_MAX ? fmax(result, x[i])
               : f == FN_MEAN ? result + x[i] / n : f == FN_GEOMEAN ? result + log(x[i]) / n
               : result;
    switch (f) {
    case FN_GEOMEAN: return exp(result);
    case FN_FLOOR: return floor(result);
    case FN_CEIL: return ceil(result);
    case FN_LOG: return log(result);
    case FN_ABS: return fabs(result);
    case FN_MIN: case FN_MAX: case FN_MEAN: case FN_COUNT: break;
    }
    return result;
}

/* Returns the function whose name and parenthesis start at this position, or FN_COUNT. */
static enum number_fn function_here(const struct evaluator *v)
{
    size_t n = 0;
    while (formula_name_char(v->expr[v->at + (int)n]))
        n++;
    for (int i = 0; i < FN_COUNT; i++)
        if (strlen(fn_name[i]) == n && v->expr[v->at + (int)n] == '('
            && strncmp(v->expr + v->at, fn_name[i], n) == 0)
            return (enum number_fn)i;
    return FN_COUNT;
}

static bool parse_argument(struct evaluator *v, enum number_fn f, double *x)
{
    struct formula_value arg;
    if (!parse_sum(v, &arg) || !need(v, &arg, FORMULA_NUMBER))
        return false;
    *x = arg.number;
    if (v->skipping || (f != FN_GEOMEAN && f != FN_LOG) || *x > 0)
        return true;
    err_set(v->e, ERR_RANGE, "%s needs a number above 0, and this is %g", fn_name[f], *x);
    return fails(v, arg.from, arg.to);
}

static bool parse_function(struct evaluator *v, enum number_fn f, struct formula_value *out)
{
    double x[ARGS_MAX];
    bool single = f >= FN_FLOOR;
    v->at += (int)strlen(fn_name[f]);
    int n = 0, open = v->at;
    if (!open_parenthesis(v))
        return false;
    for (; n == 0 || take(v, ","); n++) {
        if (n == (single ? 1 : ARGS_MAX)) {
            err_set(v->e, ERR_SYNTAX, "%s takes %s", fn_name[f],
                    single ? "one number" : "at most 64 numbers");
            return fails(v, v->at - 1, v->at);
        }
        if (!parse_argument(v, f, &x[n]))
            return false;
    }
    out->number = v->skipping ? 0 : number_fn(f, x, n);
    return close_parenthesis(v, open);
}

/* --- Operators ------------------------------------------------------------------------------- */

static bool parse_atom(struct evaluator *v, struct formula_value *out)
{
    skip_blanks(v);
    int from = v->at;
    char c = v->expr[from];
    enum number_fn f = function_here(v);
    bool ok;
    *out = (struct formula_value){0};
    if (c == '(')
        ok = open_parenthesis(v) && parse_or(v, out) && close_parenthesis(v, from);
    else if (c == '"')
        ok = parse_text(v, out);
    else if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)v->expr[from + 1])))
        ok = parse_number(v, out);
    else if (f != FN_COUNT)
        ok = parse_function(v, f, out);
    else if (isalpha((unsigned char)c) || c == '_')
        ok = parse_word(v, out);
    else {
        err_set(v->e, ERR_SYNTAX, c ? "a value is expected here"
                                    : "the expression ends where a value is expected");
        return fails(v, from, from + 1);
    }
    out->from = from;
    out->to = v->at;
    return ok;
}

/* Parses minus signs and the value after them.  A loop reads the signs, because a recursion could
 * be as deep as there are signs. */
static bool parse_unary(struct evaluator *v, struct formula_value *out)
{
    bool any = false, negative = false;
    skip_blanks(v);
    int from = v->at;
    for (; take(v, "-"); negative = !negative)
        any = true;
    if (!parse_atom(v, out))
        return false;
    if (any && !need(v, out, FORMULA_NUMBER))
        return false;
    out->number = negative ? -out->number : out->number;
    out->from = from;
    return true;
}

static bool combine(struct evaluator *v, char op, struct formula_value *left,
                    const struct formula_value *right)
{
    if (!need(v, left, FORMULA_NUMBER) || !need(v, right, FORMULA_NUMBER))
        return false;
    left->to = right->to;
    if (v->skipping)
        return true;
    if (op == '/' && right->number == 0) {
        err_set(v->e, ERR_RANGE, "division by zero");
        return fails(v, right->from, right->to);
    }
    double x = left->number, y = right->number;
    left->number = op == '+' ? x + y : op == '-' ? x - y : op == '*' ? x * y : x / y;
    if (!isfinite(left->number)) {
        err_set(v->e, ERR_RANGE, "the number is too large");
        return fails(v, left->from, left->to);
    }
    return true;
}

static bool parse_term(struct evaluator *v, struct formula_value *out)
{
    struct formula_value right;
    if (!parse_unary(v, out))
        return false;
    for (;;) {
        char op = take(v, "*") ? '*' : take(v, "/") ? '/' : '\0';
        if (!op)
            return true;
        if (!parse_unary(v, &right) || !combine(v, op, out, &right))
            return false;
    }
}

static bool parse_sum(struct evaluator *v, struct formula_value *out)
{
    struct formula_value right;
    if (!parse_term(v, out))
        return false;
    for (;;) {
        char op = take(v, "+") ? '+' : take(v, "-") ? '-' : '\0';
        if (!op)
            return true;
        if (!parse_term(v, &right) || !combine(v, op, out, &right))
            return false;
    }
}

enum relation { REL_LE, REL_GE, REL_EQ, REL_NE, REL_LT, REL_GT, REL_NONE };
static const char *const relation_text[] = { "<=", ">=", "==", "!=", "<", ">" };

/* Whether x and y are in relation r. Texts and truth values can only be equal or not. */
static bool holds_between(enum relation r, const struct formula_value *x,
                          const struct formula_value *y)
{
    int order = x->type == FORMULA_TEXT ? x->n != y->n || memcmp(x->text, y->text, x->n) != 0
              : x->type == FORMULA_TRUTH ? x->truth != y->truth
              : (x->number > y->number) - (x->number < y->number);
    switch (r) {
    case REL_LE: return order <= 0;
    case REL_GE: return order >= 0;
    case REL_EQ: return order == 0;
    case REL_NE: return order != 0;
    case REL_LT: return order < 0;
    case REL_GT: return order > 0;
    case REL_NONE: break;
    }
    UNREACHABLE();
}

static bool parse_compare(struct evaluator *v, struct formula_value *out)
{
    struct formula_value right;
    enum relation r = REL_LE;
    if (!parse_sum(v, out))
        return false;
    while (r < REL_NONE && !take(v, relation_text[r]))
        r++;
    if (r == REL_NONE)
        return true;
    if (!parse_sum(v, &right))
        return false;
    bool equality = r == REL_EQ || r == REL_NE;
    if (!v->skipping && equality && out->type != right.type)
        return wrong_type(v, &right, out->type);
    if (!equality && (!need(v, out, FORMULA_NUMBER) || !need(v, &right, FORMULA_NUMBER)))
        return false;
    bool truth = !v->skipping && holds_between(r, out, &right);
    *out = (struct formula_value){ .type = FORMULA_TRUTH, .truth = truth, .from = out->from,
                                   .to = right.to };
    return true;
}

static bool parse_not(struct evaluator *v, struct formula_value *out)
{
    bool any = false, negative = false;
    skip_blanks(v);
    int from = v->at;
    while (v->expr[v->at] == '!' && v->expr[v->at + 1] != '=') {
        v->at++;
        skip_blanks(v);
        any = true;
        negative = !negative;
    }
    if (!parse_compare(v, out))
        return false;
    if (!any)
        return true;
    if (!need(v, out, FORMULA_TRUTH))
        return false;
    out->truth = out->truth != negative;
    out->from = from;
    return true;
}

/* Parses a chain of && or ||. The first side that equals `decides` decides the value. */
static bool parse_chain(struct evaluator *v, const char *op, bool decides,
                        bool (*side)(struct evaluator *, struct formula_value *),
                        struct formula_value *out)
{
    struct formula_value right;
    if (!side(v, out))
        return false;
    while (take(v, op)) {
        bool outer = v->skipping;
        if (!need(v, out, FORMULA_TRUTH))
            return false;
        v->skipping = outer || out->truth == decides;
        if (!side(v, &right) || !need(v, &right, FORMULA_TRUTH))
            return false;
        if (!v->skipping)
            out->truth = right.truth;
        v->skipping = outer;
        out->to = right.to;
    }
    return true;
}

static bool parse_and(struct evaluator *v, struct formula_value *out)
{
    return parse_chain(v, "&&", false, parse_not, out);
}

static bool parse_or(struct evaluator *v, struct formula_value *out)
{
    return parse_chain(v, "||", true, parse_and, out);
}

/* --- The whole ------------------------------------------------------------------------------- */

static bool evaluate(struct evaluator *v, enum formula_type wanted, struct formula_value *result)
{
    if (!parse_or(v, result))
        return false;
    skip_blanks(v);
    if (v->expr[v->at]) {
        err_set(v->e, ERR_SYNTAX, "an operator is expected here");
        if (v->expr[v->at] == '=')
            err_fix(v->e, "write == for equality");
        return fails(v, v->at, v->at + 1);
    }
    return need(v, result, wanted);
}

bool formula_number(const char *expr, formula_names *names, void *ctx, double *out, struct err *e)
{
    struct evaluator v = { .expr = expr, .names = names, .ctx = ctx, .e = e };
    struct formula_value result;
    if (!evaluate(&v, FORMULA_NUMBER, &result))
        return false;
    *out = result.number;
    return true;
}

bool formula_truth(const char *expr, formula_names *names, void *ctx, bool *out, struct err *e)
{
    struct evaluator v = { .expr = expr, .names = names, .ctx = ctx, .e = e };
    struct formula_value result;
    if (!evaluate(&v, FORMULA_TRUTH, &result))
        return false;
    *out = result.truth;
    return true;
}

bool formula_check(const char *expr, formula_names *names, void *ctx, struct err *e)
{
    struct evaluator v = { .expr = expr, .names = names, .ctx = ctx, .checking = true,
                           .skipping = true, .e = e };
    struct formula_value ignored;
    return evaluate(&v, FORMULA_TRUTH, &ignored);
}
