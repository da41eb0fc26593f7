/* Assertions over a result: formulas whose names are paths into its JSON. A null is a value that
 * was not measured; using it is an error. */
#include "sessions/report/report.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/formula.h"
#include "kernels/base/vec.h"
#include "profile/measure/meters.h"

/* --- Paths ----------------------------------------------------------------------------------- */

typedef VEC(char *) path_list;

/* Collects every path to a number, truth value, text or null below node.  Does not enter lists.  A
 * path writes the key "perf-sw" as perf_sw. */
static void add_paths(path_list *list, const json_t *node, const char *path)
{
    const char *dot = path[0] ? "." : "", *key;
    struct str full = {0};
    json_t *child;
    if (json_is_object(node)) {
        json_object_foreach((json_t *)node, key, child) {
            str_clear(&full);
            str_printf(&full, "%s%s%s", path, dot, key);
            for (char *c = full.data; *c; c++)
                *c = *c == '-' ? '_' : *c;
            add_paths(list, child, str_text(&full));
        }
    } else if (!json_is_array(node)) {
        vec_push(list, xstrdup(path));
    }
    str_free(&full);
}

/* Refuses a path.  Suggests a path that is spelled alike; if there is none, one with the same last
 * name ("median" -> latency_ms.median). */
static bool unknown_path(const json_t *root, const char *path, struct err *e)
{
    path_list list = {0};
    add_paths(&list, root, "");
    const char *near = str_nearest(path, (const char *const *)list.data, list.len);
    const char *dot = strrchr(path, '.'), *last = dot ? dot + 1 : path;
    for (int i = 0; !near && i < list.len; i++) {
        const char *other = strrchr(list.data[i], '.');
        if (streq(other ? other + 1 : list.data[i], last))
            near = list.data[i];
    }
    err_set(e, ERR_NAME, "the result has no \"%s\"", path);
    if (near)
        err_fix(e, "did you mean %s?", near);
    else
        err_fix(e, "tilescope run --json shows every path; a text stands in double quotes");
    for (int i = 0; i < list.len; i++)
        free(list.data[i]);
    vec_free(&list);
    return false;
}

static const json_t *step_into(const json_t *node, const char *name)
{
    long long i;
    if (json_is_array(node))
        return str_to_int64(name, 0, INT32_MAX, &i) ? json_array_get(node, (size_t)i) : NULL;
    const json_t *member = json_object_get(node, name);
    if (member || !strchr(name, '_'))
        return member;
    char *dashed = xstrdup(name);         /* a path writes the key "perf-sw" as perf_sw */
    for (char *c = dashed; *c; c++)
        *c = *c == '_' ? '-' : *c;
    member = json_object_get(node, dashed);
    free(dashed);
    return member;
}

/* If a group has no numbers, sets *e to "perf is not available: ..." and returns true. */
static bool not_available(const json_t *group, const char *name, struct err *e)
{
    const char *reason = json_string_value(json_object_get(group, "reason"));
    if (!json_is_false(json_object_get(group, "available")) || !reason)
        return false;
    err_set(e, ERR_TYPE, "%s is not available: %s", name, reason);
    return true;
}

/* Returns the node at the end of a path; NULL, with *e, if the path does not exist. */
static const json_t *look_up(const json_t *root, const char *path, struct err *e)
{
    char *names = xstrdup(path), *rest = NULL, *group = names;
    const json_t *node = root, *inside = node;
    char *name = strtok_r(names, ".", &rest);
    for (; name && node; name = strtok_r(NULL, ".", &rest)) {
        inside = node;
        node = step_into(node, name);
        group = node ? name : group;
    }
    if (!node && json_is_null(inside))
        err_set(e, ERR_TYPE, "\"%s\" has no value: %.*s was not measured", path,
                (int)(group - names) + (int)strlen(group), path);
    else if (!node && !not_available(inside, group, e))
        unknown_path(root, path, e);
    free(names);
    return node;
}

/* Whether a path exists in a result with empty measurements, or whether measuring might add it. */
static bool can_be(const json_t *root, const char *path, struct err *e)
{
    char *names = xstrdup(path), *rest = NULL;
    const json_t *node = root;
    bool open = false;                   /* whether the members of the group are not known yet */
    for (char *name = strtok_r(names, ".", &rest); name && node && !open;
         name = strtok_r(NULL, ".", &rest)) {
        open = json_is_null(node) || json_is_array(node)
            || (json_is_object(node) && json_object_size(node) == 0)
            || json_is_false(json_object_get(node, "available"));
        node = open ? node : step_into(node, name);
    }
    free(names);
    return node || unknown_path(root, path, e);
}

/* --- Values ---------------------------------------------------------------------------------- */

static bool value_of(const json_t *node, const char *path, struct formula_value *out,
                     struct err *e)
{
    if (json_is_number(node)) {
        out->type = FORMULA_NUMBER;
        out->number = json_number_value(node);
    } else if (json_is_boolean(node)) {
        out->type = FORMULA_TRUTH;
        out->truth = json_is_true(node);
    } else if (json_is_string(node)) {
        out->type = FORMULA_TEXT;
        out->text = json_string_value(node);
        out->n = json_string_length(node);
    } else if (json_is_null(node)) {
        return err_set(e, ERR_TYPE, "\"%s\" has no value: it was not measured", path);
    } else {
        const char *member = json_object_iter_key(json_object_iter((json_t *)node));
        err_set(e, ERR_TYPE, "\"%s\" is a group, not a value", path);
        if (member || json_array_size(node) > 0)
            err_fix(e, "name one of its members: %s.%s", path, member ? member : "0");
        return false;
    }
    return true;
}

/* The context of path_value.  values: gets "PATH is VALUE, ..." for the paths that are looked up;
 * may be NULL. */
struct asserted { const json_t *root; struct str *values; };

/* Whether the list "A is 1, B is 2" has this whole entry.  A part is not enough: "gflops is 5" is
 * also a part of the entry "executed_gflops is 54". */
static bool is_noted(const char *list, const char *entry)
{
    size_t n = strlen(entry);
    for (const char *at = strstr(list, entry); at; at = strstr(at + 1, entry))
        if ((at == list || at[-1] == ' ') && (!at[n] || str_starts(at + n, ", ")))
            return true;
    return false;
}

static void note_value(struct str *values, const char *path, const struct formula_value *got)
{
    struct str text = {0};
    if (got->type == FORMULA_NUMBER)
        str_printf(&text, "%s is %.6g", path, got->number);
    else if (got->type == FORMULA_TEXT)
        str_printf(&text, "%s is \"%s\"", path, got->text);
    else
        str_printf(&text, "%s is %s", path, got->truth ? "true" : "false");
    if (!is_noted(str_text(values), str_text(&text)))
        str_printf(values, "%s%s", values->len ? ", " : "", str_text(&text));
    str_free(&text);
}

static bool path_value(void *ctx, const char *path, struct formula_value *out, struct err *e)
{
    struct asserted *a = ctx;
    const json_t *node = look_up(a->root, path, e);
    if (!node || !value_of(node, path, out, e))
        return false;
    if (a->values)
        note_value(a->values, path, out);
    return true;
}

/* --- Assertions ------------------------------------------------------------------------------ */

static json_t *load(const char *json, struct err *e)
{
    json_error_t at;
    json_t *root = json_loads(json, JSON_REJECT_DUPLICATES, &at);
    if (!root) {
        err_set(e, ERR_SYNTAX, "malformed JSON: %s", at.text);
        err_where(e, "<json>", at.line, at.column, "");
    }
    return root;
}

bool report_assert(const char *json, const char *expr, bool *holds, struct str *values,
                   struct err *e)
{
    struct asserted a = { load(json, e), values };
    bool ok = a.root && formula_truth(expr, path_value, &a, holds, e);
    json_decref((json_t *)a.root);
    return ok;
}

static bool path_exists(void *ctx, const char *path, struct formula_value *out, struct err *e)
{
    (void)out;
    return can_be(ctx, path, e);
}

struct measurement report_empty(const char *isa)
{
    struct measurement m = { .outcome = OUTCOME_OK, .verified = true,
                             .latency = { .runs = 1 }, .cold_latency = { .runs = 1 } };
    snprintf(m.isa, sizeof m.isa, "%s", isa);
    return m;
}

bool report_assert_named(const char *json, const char *expr, struct err *e)
{
    json_t *root = load(json, e);
    bool ok = root && formula_check(expr, path_exists, root, e);
    json_decref(root);
    return ok;
}

bool report_number(const char *json, const char *expr, double *number, struct err *e)
{
    struct asserted a = { load(json, e), NULL };
    bool ok = a.root && formula_number(expr, path_value, &a, number, e);
    json_decref((json_t *)a.root);
    return ok;
}

/* Returns the first path in expr that begins with `names`, as "a.b"; NULL: there is none.  expr
 * must have valid syntax. */
static const char *find_path(const char *expr, const char *names)
{
    size_t n = strlen(names);
    bool quoted = false;
    for (const char *p = expr; *p; p++) {
        bool begins = p == expr || !(formula_name_char(p[-1]) || p[-1] == '.');
        quoted ^= *p == '"';
        if (!quoted && begins && strncmp(p, names, n) == 0 && !formula_name_char(p[n]))
            return p;
    }
    return NULL;
}

/* Whether expr has a path that begins with GROUP.MEMBER; MEMBER "" stands for every member. */
static bool names_group(const char *expr, const char *group, const char *member)
{
    size_t n = strlen(group);
    for (const char *p = find_path(expr, group); p; p = find_path(p + n, group))
        if (p[n] == '.' && str_starts(p + n + 1, member))
            return true;
    return false;
}

/* Whether expr uses the group of a meter that was not requested, without testing the group's
 * `available` or `reason`.  If a meter was not requested, its group has these two keys only if the
 * meter is a default one. */
static bool lacks(const char *expr, const char *group, enum meter_id meter)
{
    bool told = meters_default() & 1u << meter;
    return names_group(expr, group, "")
        && !(told && (names_group(expr, group, "available")
                      || names_group(expr, group, "reason")));
}

/* Checks that o asks for the clock, --cold and --huge-pages if paths of expr need them. */
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
        err_set(e, ERR_NAME, "--assert '%.200s': %s was not requested, so it is not measured",
                expr, need[i].path);
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
        err_set(e, ERR_NAME, "--assert '%.200s': %s was not requested, so it is not available",
                expr, vendor_name[i]);
        return err_fix(e, "--baselines %s", vendor_name[i]);
    }
    for (int i = METER_ID_SIM; i < METER_COUNT; i++) {
        snprintf(group, sizeof group, "counters.%s", meter_name[i]);
        for (char *c = group; *c; c++)
            *c = *c == '-' ? '_' : *c;    /* paths write '-' as '_' */
        if (o->meters & 1u << i || !lacks(expr, group, (enum meter_id)i))
            continue;
        err_set(e, ERR_NAME, "--assert '%.200s': %s was not requested, so it is not available",
                expr, meter_name[i]);
        return err_fix(e, "add %s to --meters", meter_name[i]);
    }
    return true;
}
