/* Assertions over a result: a recursive-descent evaluator that walks the text once.
 *
 *     or = and { "||" and }        and = not { "&&" not }       not = "!" not | compare
 *     compare = sum [ < <= > >= == != sum ]
 *     sum = term { + - term }      term = unary { * / unary }   unary = - unary | atom
 *     atom = number | "text" | true | false | path | ( or ) | function ( sum { , sum } )
 *     path = name { . name or number }
 *
 * Types are strict: a number is no truth value, and null (not measured) is no number.  The side of
 * && and || that does not matter is parsed but not looked up, so that
 *     !counters.perf.available || counters.perf.cycles < 1e9
 * holds on a machine without counters. */
#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/vec.h"
#include "profile/measure/meters.h"
#include "sessions/report/number_fn.h"
#include "sessions/report/report.h"

#define DEPTH_MAX 100
#define TEXT_MAX 600
#define FN_ARGS_MAX 64

enum value_type { VALUE_NUMBER, VALUE_TRUTH, VALUE_TEXT };
static const char *const type_name[] = { "a number", "true or false", "a text" };

/* A value and the text it came from. */
struct value {
    enum value_type type;
    double number;
    bool truth;
    char text[TEXT_MAX];
    int from, to;
};

struct evaluator {
    const json_t *root;
    const char *expr;
    int at;
    bool skipping;                        /* the value does not matter: nothing is looked up */
    int depth;
    struct str *values;                   /* "PATH is VALUE, ..." of what was looked up, or NULL */
    struct err *e;
};

static bool parse_or(struct evaluator *v, struct value *out);
static bool parse_sum(struct evaluator *v, struct value *out);

/* errors */

static bool fails(struct evaluator *v, int from, int to)
{
    err_where(v->e, NULL, 0, from + 1, v->expr);
    return err_at(v->e, from + 1, to > from ? to - from : 1);
}

static bool wrong_type(struct evaluator *v, const struct value *got, enum value_type wanted)
{
    err_set(v->e, ERR_TYPE, "%s expected, this is %s", type_name[wanted], type_name[got->type]);
    bool is_path = isalpha((unsigned char)v->expr[got->from]);
    if (wanted == VALUE_TRUTH && got->type == VALUE_NUMBER && is_path)
        err_fix(v->e, "compare it: %.*s < 1", got->to - got->from, v->expr + got->from);
    return fails(v, got->from, got->to);
}

static bool need(struct evaluator *v, const struct value *got, enum value_type wanted)
{
    return v->skipping || got->type == wanted || wrong_type(v, got, wanted);
}

/* words */

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

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* paths */

typedef VEC(char *) path_list;

/* Every path to a number, truth value, text or null below node. */
static void add_paths(path_list *list, const json_t *node, const char *path)
{
    const char *dot = path[0] ? "." : "", *key;
    struct str full = {0};
    json_t *child;
    if (json_is_object(node)) {
        json_object_foreach((json_t *)node, key, child) {
            str_clear(&full);
            str_printf(&full, "%s%s%s", path, dot, key);
            add_paths(list, child, str_text(&full));
        }
    } else if (!json_is_array(node)) {
        vec_push(list, xstrdup(path));
    }
    str_free(&full);
}

/* The nearest path, or one that ends with the same name ("median" -> latency_ms.median). */
static void suggest_path(struct evaluator *v, const char *path)
{
    path_list list = {0};
    add_paths(&list, v->root, "");
    const char *near = str_nearest(path, (const char *const *)list.data, list.len);
    const char *dot = strrchr(path, '.'), *last = dot ? dot + 1 : path;
    for (int i = 0; !near && i < list.len; i++) {
        const char *other = strrchr(list.data[i], '.');
        if (streq(other ? other + 1 : list.data[i], last))
            near = list.data[i];
    }
    if (near)
        err_fix(v->e, "did you mean %s?", near);
    else
        err_fix(v->e, "tilescope run --json shows every path; a text stands in double quotes");
    for (int i = 0; i < list.len; i++)
        free(list.data[i]);
    vec_free(&list);
}

static bool unknown_path(struct evaluator *v, const char *path, int from, int to)
{
    err_set(v->e, ERR_NAME, "the result has no \"%s\"", path);
    suggest_path(v, path);
    return fails(v, from, to);
}

static const json_t *step_into(const json_t *node, const char *name)
{
    long long i;
    if (json_is_array(node))
        return str_to_int64(name, 0, INT32_MAX, &i) ? json_array_get(node, (size_t)i) : NULL;
    const json_t *member = json_object_get(node, name);
    if (member || !strchr(name, '_'))
        return member;
    char *dashed = xstrdup(name);         /* perf_sw is "perf-sw": a path has no room for a minus */
    for (char *c = dashed; *c; c++)
        *c = *c == '_' ? '-' : *c;
    member = json_object_get(node, dashed);
    free(dashed);
    return member;
}

static bool value_of(struct evaluator *v, const json_t *node, const char *path, struct value *out)
{
    if (json_is_number(node)) {
        out->type = VALUE_NUMBER;
        out->number = json_number_value(node);
    } else if (json_is_boolean(node)) {
        out->type = VALUE_TRUTH;
        out->truth = json_is_true(node);
    } else if (json_is_string(node)) {
        out->type = VALUE_TEXT;
        snprintf(out->text, sizeof out->text, "%s", json_string_value(node));
    } else if (json_is_null(node)) {
        err_set(v->e, ERR_TYPE, "\"%s\" has no value: it was not measured", path);
        return fails(v, out->from, out->to);
    } else {
        const char *member = json_object_iter_key(json_object_iter((json_t *)node));
        err_set(v->e, ERR_TYPE, "\"%s\" is a group, not a value", path);
        if (member || json_array_size(node) > 0)
            err_fix(v->e, "name one of its members: %s.%s", path, member ? member : "0");
        return fails(v, out->from, out->to);
    }
    return true;
}

/* The group that a path leads into is there, but was not counted: "perf is not available: ...". */
static bool not_available(struct evaluator *v, const json_t *group, const char *name, int from,
                          int to)
{
    const char *reason = json_string_value(json_object_get(group, "reason"));
    if (!json_is_false(json_object_get(group, "available")) || !reason)
        return false;
    err_set(v->e, ERR_TYPE, "%s is not available: %s", name, reason);
    fails(v, from, to);
    return true;
}

/* The path leads into null, a group that was not measured; n bytes of it lead there. */
static void not_measured(struct evaluator *v, const char *path, int n, int from, int to)
{
    err_set(v->e, ERR_TYPE, "\"%s\" has no value: %.*s was not measured", path, n, path);
    fails(v, from, to);
}

/* The node at the end of a path, NULL with *e when there is none. */
static const json_t *look_up(struct evaluator *v, const char *path, int from, int to)
{
    char *names = xstrdup(path), *rest = NULL, *group = names;
    const json_t *node = v->root, *inside = node;
    char *name = strtok_r(names, ".", &rest);
    for (; name && node; name = strtok_r(NULL, ".", &rest)) {
        inside = node;
        node = step_into(node, name);
        group = node ? name : group;
    }
    if (!node && json_is_null(inside))
        not_measured(v, path, (int)(group - names) + (int)strlen(group), from, to);
    else if (!node && !not_available(v, inside, group, from, to))
        unknown_path(v, path, from, to);
    free(names);
    return node;
}

static void note_value(struct evaluator *v, const char *path, const struct value *got)
{
    struct str text = {0};
    if (!v->values)
        return;
    str_printf(&text, "%s is ", path);
    if (got->type == VALUE_NUMBER)
        str_printf(&text, "%.6g", got->number);
    else
        str_printf(&text, got->type == VALUE_TEXT ? "\"%s\"" : "%s",
                   got->type == VALUE_TEXT ? got->text : got->truth ? "true" : "false");
    if (!strstr(str_text(v->values), str_text(&text)))
        str_printf(v->values, "%s%s", v->values->len ? ", " : "", str_text(&text));
    str_free(&text);
}

static bool parse_path(struct evaluator *v, struct value *out)
{
    int from = v->at;
    const char *c = v->expr + from;
    while (is_name_char(*c) || (*c == '.' && is_name_char(c[1])))
        c++;
    v->at = (int)(c - v->expr);
    out->from = from;
    out->to = v->at;
    if (v->skipping)
        return true;
    char *path = xstrdup(v->expr + from);
    path[v->at - from] = '\0';
    const json_t *node = look_up(v, path, from, v->at);
    bool ok = node && value_of(v, node, path, out);
    if (ok)
        note_value(v, path, out);
    free(path);
    return ok;
}

/* expressions */

static bool parse_number(struct evaluator *v, struct value *out)
{
    char *end;
    const char *text = v->expr + v->at;
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    double number = strtod(text, &end);
    int from = v->at;
    v->at += (int)(end - text);
    if (hex || is_name_char(*end) || !isfinite(number)) {
        err_set(v->e, ERR_SYNTAX, "malformed number");
        return fails(v, from, v->at + 1);
    }
    *out = (struct value){ .type = VALUE_NUMBER, .number = number, .from = from, .to = v->at };
    return true;
}

static bool parse_text(struct evaluator *v, struct value *out)
{
    int from = v->at;
    const char *start = v->expr + from + 1, *close = strchr(start, '"');
    if (!close) {
        err_set(v->e, ERR_SYNTAX, "this quote is never closed");
        return fails(v, from, (int)strlen(v->expr));
    }
    v->at += (int)(close - start) + 2;
    out->type = VALUE_TEXT;
    snprintf(out->text, sizeof out->text, "%.*s", (int)(close - start), start);
    return true;
}

static bool parse_parenthesis(struct evaluator *v, struct value *out)
{
    int open = v->at++;
    if (v->depth++ == DEPTH_MAX) {
        err_set(v->e, ERR_SYNTAX, "more than %d parentheses inside each other", DEPTH_MAX);
        return fails(v, open, open + 1);
    }
    if (!parse_or(v, out))
        return false;
    if (!take(v, ")")) {
        err_set(v->e, ERR_SYNTAX, "this parenthesis is never closed");
        return fails(v, open, open + 1);
    }
    v->depth--;
    return true;
}

static bool parse_word(struct evaluator *v, struct value *out)
{
    static const char *const words[] = { "false", "true" };
    for (int i = 0; i < COUNT_OF(words); i++) {
        int n = (int)strlen(words[i]);
        char next = str_starts(v->expr + v->at, words[i]) ? v->expr[v->at + n] : '_';
        if (!is_name_char(next) && next != '.') {
            v->at += n;
            out->type = VALUE_TRUTH;
            out->truth = i == 1;
            return true;
        }
    }
    return parse_path(v, out);
}

/* functions of numbers */

/* The function whose name and parenthesis stand here, else FN_COUNT. */
static enum number_fn function_here(const struct evaluator *v)
{
    int n = 0;
    while (is_name_char(v->expr[v->at + n]))
        n++;
    for (int i = 0; i < FN_COUNT; i++)
        if (strlen(number_fn_name[i]) == (size_t)n && v->expr[v->at + n] == '('
            && strncmp(v->expr + v->at, number_fn_name[i], (size_t)n) == 0)
            return (enum number_fn)i;
    return FN_COUNT;
}

static bool parse_function(struct evaluator *v, enum number_fn f, struct value *out)
{
    double x[FN_ARGS_MAX];
    int n = 0, from = v->at, open = from + (int)strlen(number_fn_name[f]);
    bool single = f >= FN_FLOOR;
    v->at = open;
    if (v->depth++ == DEPTH_MAX) {
        err_set(v->e, ERR_SYNTAX, "more than %d parentheses inside each other", DEPTH_MAX);
        return fails(v, open, open + 1);
    }
    for (take(v, "("); n == 0 || take(v, ","); n++) {
        struct value arg;
        if (n == (single ? 1 : FN_ARGS_MAX)) {
            err_set(v->e, ERR_SYNTAX, "%s takes %s", number_fn_name[f],
                    single ? "one number" : "at most 64 numbers");
            return fails(v, v->at - 1, v->at);
        }
        if (!parse_sum(v, &arg) || !need(v, &arg, VALUE_NUMBER))
            return false;
        x[n] = arg.number;
        if (!v->skipping && (f == FN_GEOMEAN || f == FN_LOG) && !(x[n] > 0)) {
            err_set(v->e, ERR_RANGE, "%s of %g", number_fn_name[f], x[n]);
            return fails(v, arg.from, arg.to);
        }
    }
    if (!take(v, ")")) {
        err_set(v->e, ERR_SYNTAX, "this parenthesis is never closed");
        return fails(v, open, open + 1);
    }
    v->depth--;
    out->type = VALUE_NUMBER;
    out->number = v->skipping ? 0 : number_fn(f, x, n);
    return true;
}

static bool parse_atom(struct evaluator *v, struct value *out)
{
    skip_blanks(v);
    int from = v->at;
    char c = v->expr[from];
    bool ok;
    *out = (struct value){0};
    if (c == '(')
        ok = parse_parenthesis(v, out);
    else if (c == '"')
        ok = parse_text(v, out);
    else if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)v->expr[from + 1])))
        ok = parse_number(v, out);
    else if (function_here(v) != FN_COUNT)
        ok = parse_function(v, function_here(v), out);
    else if (isalpha((unsigned char)c) || c == '_')
        ok = parse_word(v, out);
    else {
        err_set(v->e, ERR_SYNTAX, c ? "a value expected here" : "the expression ends where a value"
                                                              " is expected");
        return fails(v, from, from + 1);
    }
    out->from = from;
    out->to = v->at;
    return ok;
}

/* A loop: a thousand signs need no recursion. */
static bool parse_unary(struct evaluator *v, struct value *out)
{
    bool any = false, negative = false;
    skip_blanks(v);
    int from = v->at;
    for (; take(v, "-"); negative = !negative)
        any = true;
    if (!parse_atom(v, out))
        return false;
    if (any && !need(v, out, VALUE_NUMBER))
        return false;
    out->number = negative ? -out->number : out->number;
    out->from = from;
    return true;
}

static bool combine(struct evaluator *v, char op, struct value *left, const struct value *right)
{
    if (!need(v, left, VALUE_NUMBER) || !need(v, right, VALUE_NUMBER))
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

static bool parse_term(struct evaluator *v, struct value *out)
{
    struct value right;
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

static bool parse_sum(struct evaluator *v, struct value *out)
{
    struct value right;
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

static bool holds_between(enum relation r, const struct value *x, const struct value *y)
{
    int order = x->type == VALUE_TEXT ? strcmp(x->text, y->text)
              : x->type == VALUE_TRUTH ? x->truth - y->truth
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

static bool parse_compare(struct evaluator *v, struct value *out)
{
    struct value right;
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
    if (!equality && (!need(v, out, VALUE_NUMBER) || !need(v, &right, VALUE_NUMBER)))
        return false;
    bool truth = !v->skipping && holds_between(r, out, &right);
    *out = (struct value){ .type = VALUE_TRUTH, .truth = truth, .from = out->from, .to = right.to };
    return true;
}

static bool parse_not(struct evaluator *v, struct value *out)
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
    if (!need(v, out, VALUE_TRUTH))
        return false;
    out->truth = out->truth != negative;
    out->from = from;
    return true;
}

/* A chain of && or ||: decided as soon as one side equals `decides`. */
static bool parse_chain(struct evaluator *v, const char *op, bool decides,
                        bool (*side)(struct evaluator *, struct value *), struct value *out)
{
    struct value right;
    if (!side(v, out))
        return false;
    while (take(v, op)) {
        bool outer = v->skipping;
        if (!need(v, out, VALUE_TRUTH))
            return false;
        v->skipping = outer || out->truth == decides;
        if (!side(v, &right) || !need(v, &right, VALUE_TRUTH))
            return false;
        if (!v->skipping)
            out->truth = right.truth;
        v->skipping = outer;
        out->to = right.to;
    }
    return true;
}

static bool parse_and(struct evaluator *v, struct value *out)
{
    return parse_chain(v, "&&", false, parse_not, out);
}

static bool parse_or(struct evaluator *v, struct value *out)
{
    return parse_chain(v, "||", true, parse_and, out);
}

static bool evaluate(struct evaluator *v, enum value_type wanted, struct value *result)
{
    if (!parse_or(v, result))
        return false;
    skip_blanks(v);
    if (v->expr[v->at]) {
        err_set(v->e, ERR_SYNTAX, "an operator expected here");
        if (v->expr[v->at] == '=')
            err_fix(v->e, "equality is ==");
        return fails(v, v->at, v->at + 1);
    }
    return need(v, result, wanted);
}

static bool evaluate_json(const char *json, const char *expr, enum value_type wanted,
                          struct value *result, struct str *values, struct err *e)
{
    json_error_t je;
    json_t *root = json_loads(json, JSON_REJECT_DUPLICATES, &je);
    if (!root) {
        err_set(e, ERR_SYNTAX, "malformed JSON: %s", je.text);
        return err_where(e, "<json>", je.line, je.column, "");
    }
    struct evaluator v = { .root = root, .expr = expr, .values = values, .e = e };
    bool ok = evaluate(&v, wanted, result);
    json_decref(root);
    return ok;
}

bool report_assert_check(const char *expr, struct err *e)
{
    struct evaluator v = { .expr = expr, .skipping = true, .e = e };
    struct value ignored;
    return evaluate(&v, VALUE_TRUTH, &ignored);
}

/* Where a path of expr begins with these names; NULL if none does.  expr is past the syntax
 * check. */
static const char *find_path(const char *expr, const char *names)
{
    size_t n = strlen(names);
    bool quoted = false;
    for (const char *p = expr; *p; p++) {
        bool begins = p == expr || !(is_name_char(p[-1]) || p[-1] == '.');
        quoted ^= *p == '"';
        if (!quoted && begins && strncmp(p, names, n) == 0 && !is_name_char(p[n]))
            return p;
    }
    return NULL;
}

/* Does expr have the path `group` and something behind it? */
static bool names_group(const char *expr, const char *group, const char *member)
{
    size_t n = strlen(group);
    for (const char *p = find_path(expr, group); p; p = find_path(p + n, group))
        if (p[n] == '.' && str_starts(p + n + 1, member))
            return true;
    return false;
}

/* JSON says of the default meters whether they are available and why not; others are not there. */
static bool lacks(const char *expr, const char *group, enum meter_id meter)
{
    bool told = meters_default() & 1u << meter;
    return names_group(expr, group, "")
        && !(told && (names_group(expr, group, "available")
                      || names_group(expr, group, "reason")));
}

/* What the clock says, and what it says when it is asked for more. */
static bool clock_asked(const char *expr, const struct measure_opts *o, struct err *e)
{
    bool clock = o->meters & METER_CLOCK;
    const struct { const char *path; bool asked; const char *fix; } need[] = {
        { "latency_ms", clock, "add clock to --meters" },
        { "gflops", clock, "add clock to --meters" },
        { "executed_gflops", clock, "add clock to --meters" },
        { "peak_gflops", clock, "add clock to --meters" },
        { "peak_fraction", clock, "add clock to --meters" },
        { "cold_latency_ms", o->cold, "--cold" },
        { "cold_method", o->cold, "--cold" },
        { "huge_pages", o->huge_pages, "--huge-pages" },
    };
    for (int i = 0; i < COUNT_OF(need); i++) {
        if (need[i].asked || !find_path(expr, need[i].path))
            continue;
        err_set(e, ERR_NAME, "--assert '%.200s': %s is not measured: not asked for", expr,
                need[i].path);
        return err_fix(e, "%s", need[i].fix);
    }
    return true;
}

bool report_assert_asked(const char *expr, const struct measure_opts *o, struct err *e)
{
    char group[64];
    if (!clock_asked(expr, o, e))
        return false;
    for (int i = 0; i < VENDOR_COUNT; i++) {
        snprintf(group, sizeof group, "baselines.%s", vendor_name[i]);
        if (o->baselines & 1u << i || !names_group(expr, group, ""))
            continue;
        err_set(e, ERR_NAME, "--assert '%.200s': %s is not available: not asked for", expr,
                vendor_name[i]);
        return err_fix(e, "--baselines %s", vendor_name[i]);
    }
    for (int i = METER_ID_SIM; i < METER_COUNT; i++) {
        snprintf(group, sizeof group, "counters.%s", meter_name[i]);
        for (char *c = group; *c; c++)
            *c = *c == '-' ? '_' : *c;    /* as paths are written */
        if (o->meters & 1u << i || !lacks(expr, group, (enum meter_id)i))
            continue;
        err_set(e, ERR_NAME, "--assert '%.200s': %s is not available: not asked for", expr,
                meter_name[i]);
        return err_fix(e, "add %s to --meters", meter_name[i]);
    }
    return true;
}

bool report_assert(const char *json, const char *expr, bool *holds, struct str *values,
                   struct err *e)
{
    struct value result;
    if (!evaluate_json(json, expr, VALUE_TRUTH, &result, values, e))
        return false;
    *holds = result.truth;
    return true;
}

bool report_number(const char *json, const char *expr, double *number, struct err *e)
{
    struct value result;
    if (!evaluate_json(json, expr, VALUE_NUMBER, &result, NULL, e))
        return false;
    *number = result.number;
    return true;
}
