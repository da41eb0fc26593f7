#include "sessions/file/yaml_fields.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/vec.h"

/* --- Mappings --------------------------------------------------------------------------------- */

static bool unknown_key(const struct ydoc *d, const struct ynode *key, const char *what,
                        const char *const *known, int n, struct err *e)
{
    struct str list = {0};
    for (int i = 0; i < n; i++)
        str_printf(&list, "%s%s", i ? ", " : "", known[i]);
    err_set(e, ERR_NAME, "unknown key \"%.80s\" in %s", key->text, what);
    err_near(e, key->text, known, n, "did you mean \"%s\"?", "the keys are: %s", str_text(&list));
    str_free(&list);
    return yaml_at(d, key, e);
}

bool yaml_key_once(const struct ydoc *d, const struct ynode *map, int i, const char *what,
                   struct err *e)
{
    const struct ynode *key = map->item[2 * i];
    for (int j = 0; j < i; j++)
        if (streq(map->item[2 * j]->text, key->text)) {
            err_set(e, ERR_SYNTAX, "the key \"%.80s\" is given twice in %s", key->text, what);
            err_fix(e, "the first one is in line %d", map->item[2 * j]->line + 1);
            return yaml_at(d, key, e);
        }
    return true;
}

static bool check_keys(const struct ydoc *d, const struct ynode *map, const char *what,
                       const char *const *known, int n, struct err *e)
{
    for (int i = 0; i < map->n; i++) {
        const struct ynode *key = map->item[2 * i];
        bool found = false;
        for (int k = 0; k < n; k++)
            found |= streq(key->text, known[k]);
        if (!found)
            return unknown_key(d, key, what, known, n, e);
        if (!yaml_key_once(d, map, i, what, e))
            return false;
    }
    return true;
}

const struct ynode *yaml_get(const struct ynode *map, const char *key)
{
    if (map->kind != YNODE_MAP)
        return NULL;
    for (int i = 0; i < map->n; i++)
        if (streq(map->item[2 * i]->text, key))
            return map->item[2 * i + 1];
    return NULL;
}

bool yaml_need(const struct ydoc *d, const struct ynode *map, const char *key,
               const struct ynode **out, struct err *e)
{
    const struct ynode *found = yaml_get(map, key);
    if (!found)
        return yaml_refuse(d, map, e, ERR_SYNTAX, "the key \"%s\" is missing", key);
    *out = found;
    return true;
}

/* --- Values ----------------------------------------------------------------------------------- */

static const char *kind_name(const struct ynode *v)
{
    if (v->kind != YNODE_SCALAR)
        return v->kind == YNODE_MAP ? "a mapping" : "a list";
    bool null = v->text[0] == '\0' || streq(v->text, "~") || streq(v->text, "null");
    return v->plain && null ? "nothing" : "a single value";
}

static bool wrong_type(const struct ydoc *d, const struct ynode *v, const char *key,
                       const char *wanted, struct err *e)
{
    if (v->kind != YNODE_SCALAR || streq(kind_name(v), "nothing"))
        return yaml_refuse(d, v, e, ERR_TYPE, "%s: %s expected, not %s", key, wanted,
                           kind_name(v));
    return yaml_refuse(d, v, e, ERR_TYPE, "%s: %s expected, not \"%.80s\"", key, wanted, v->text);
}

bool yaml_is(const struct ydoc *d, const struct ynode *v, enum ynode_kind kind, const char *key,
             struct err *e)
{
    if (v->kind == kind)
        return true;
    const char *wanted = kind == YNODE_MAP ? "a mapping" : kind == YNODE_SEQ ? "a list" : "a value";
    wrong_type(d, v, key, wanted, e);
    if (kind == YNODE_SEQ && streq(kind_name(v), "nothing"))
        err_fix(e, "[] is an empty list");
    return false;
}

static bool has_control(const char *text, bool lines)
{
    for (const char *c = text; *c; c++)
        if (iscntrl((unsigned char)*c) && !(lines && (*c == '\n' || *c == '\t')))
            return true;
    return false;
}

bool yaml_text(const struct ydoc *d, const struct ynode *v, const char *key, size_t max_bytes,
               bool lines, const char **out, struct err *e)
{
    if (v->kind != YNODE_SCALAR || streq(kind_name(v), "nothing"))
        return wrong_type(d, v, key, "a text", e);
    if (!lines && v->line != v->end_line)
        return yaml_refuse(d, v, e, ERR_TYPE, "%s: a text of one line expected", key);
    if (has_control(v->text, lines))
        return yaml_refuse(d, v, e, ERR_TYPE,
                           "%s: the text contains a control character or line break", key);
    if (strlen(v->text) > max_bytes)
        return yaml_refuse(d, v, e, ERR_RANGE,
                           "%s: the text has %zu bytes; at most %zu are allowed", key,
                           strlen(v->text), max_bytes);
    *out = v->text;
    return true;
}

/* Whether v is decimal ("12", "-3"), without + and without leading zeros (octal in YAML 1.1). */
static bool integer_form(const struct ynode *v)
{
    const char *digits = v->text + (v->text[0] == '-');
    size_t n = strspn(digits, "0123456789");
    return v->plain && n > 0 && digits[n] == '\0' && (digits[0] != '0' || n == 1);
}

bool yaml_int(const struct ydoc *d, const struct ynode *v, const char *key, int64_t lo, int64_t hi,
              int64_t *out, struct err *e)
{
    long long value;
    if (v->kind != YNODE_SCALAR || !integer_form(v))
        return wrong_type(d, v, key, "an integer", e);
    if (!str_to_int64(v->text, lo, hi, &value)) {
        err_set(e, ERR_RANGE, "%s: %.40s is out of range", key, v->text);
        if (lo == hi)
            err_fix(e, "only %lld is possible", (long long)lo);
        else if (hi < INT64_MAX)
            err_fix(e, "%lld to %lld", (long long)lo, (long long)hi);
        else
            err_fix(e, "%lld or more", (long long)lo);
        return yaml_at(d, v, e);
    }
    *out = value;
    return true;
}

static bool read_uint64(const struct ydoc *d, const struct ynode *v, const char *key, uint64_t *out,
                        struct err *e)
{
    if (v->kind != YNODE_SCALAR || !integer_form(v) || v->text[0] == '-')
        return wrong_type(d, v, key, "an integer of 0 or more", e);
    errno = 0;
    unsigned long long value = strtoull(v->text, NULL, 10);
    if (errno)
        return yaml_refuse(d, v, e, ERR_RANGE, "%s: %.40s is out of range", key, v->text);
    *out = value;
    return true;
}

bool yaml_bool(const struct ydoc *d, const struct ynode *v, const char *key, bool *out,
               struct err *e)
{
    bool scalar = v->kind == YNODE_SCALAR && v->plain;
    if (!scalar || !(streq(v->text, "true") || streq(v->text, "false")))
        return wrong_type(d, v, key, "true or false", e);
    *out = v->text[0] == 't';
    return true;
}

bool yaml_double(const struct ydoc *d, const struct ynode *v, const char *key, double *out,
                 struct err *e)
{
    double value;
    if (v->kind != YNODE_SCALAR || !v->plain || !str_to_double(v->text, &value))
        return wrong_type(d, v, key, "a number", e);
    if (!isfinite(value))
        return yaml_refuse(d, v, e, ERR_RANGE, "%s: %.40s is out of range", key, v->text);
    *out = value;
    return true;
}

/* --- Tables of fields ------------------------------------------------------------------------- */

static bool read_text(const struct ydoc *d, const struct ynode *v, const struct field *f, char *to,
                      struct err *e)
{
    const char *text;
    if (!yaml_text(d, v, f->key, f->size - 1, true, &text, e))
        return false;
    snprintf(to, f->size, "%s", text);
    return true;
}

static bool read_amount(const struct ydoc *d, const struct ynode *v, const char *key, double *to,
                        struct err *e)
{
    double value;
    if (!yaml_double(d, v, key, &value, e))
        return false;
    if (value < 0)
        return yaml_refuse(d, v, e, ERR_RANGE, "%s: %.40s is negative", key, v->text);
    *to = value;
    return true;
}

static bool read_field(const struct ydoc *d, const struct ynode *v, const struct field *f, void *to,
                       struct err *e)
{
    int64_t value;
    switch (f->type) {
    case FIELD_BOOL:   return yaml_bool(d, v, f->key, to, e);
    case FIELD_INT64:  return yaml_int(d, v, f->key, f->sign ? INT64_MIN : 0, INT64_MAX, to, e);
    case FIELD_UINT64: return read_uint64(d, v, f->key, to, e);
    case FIELD_DOUBLE: return read_amount(d, v, f->key, to, e);
    case FIELD_CHARS:  return read_text(d, v, f, to, e);
    case FIELD_TEXT:   break;
    case FIELD_INT:
        if (!yaml_int(d, v, f->key, 0, INT32_MAX, &value, e))
            return false;
        *(int *)to = (int)value;
        return true;
    }
    UNREACHABLE();
}

bool yaml_fields_read(const struct ydoc *d, const struct ynode *map, const char *what,
                      struct fields f, const char *const *more, void *base, struct err *e)
{
    if (!yaml_is(d, map, YNODE_MAP, what, e))
        return false;
    VEC(const char *) known = {0};
    for (int i = 0; more && more[i]; i++)
        vec_push(&known, more[i]);
    for (int i = 0; i < f.n; i++)
        vec_push(&known, f.at[i].key);
    bool ok = check_keys(d, map, what, known.data, known.len, e);
    vec_free(&known);
    for (int i = 0; ok && i < f.n; i++) {
        const struct ynode *v = yaml_get(map, f.at[i].key);
        ok = !v || read_field(d, v, &f.at[i], (char *)base + f.at[i].offset, e);
    }
    return ok;
}

bool yaml_keys(const struct ydoc *d, const struct ynode *map, const char *what,
               const char *const *keys, struct err *e)
{
    return yaml_fields_read(d, map, what, (struct fields){0}, keys, NULL, e);
}

static void write_field(struct ywriter *w, const struct field *f, const void *at)
{
    yaml_put_text(w, f->key);
    switch (f->type) {
    case FIELD_BOOL:   yaml_put_bool(w, *(const bool *)at); return;
    case FIELD_INT:    yaml_put_int(w, *(const int *)at); return;
    case FIELD_INT64:  yaml_put_int(w, *(const int64_t *)at); return;
    case FIELD_UINT64: yaml_put_uint(w, *(const uint64_t *)at); return;
    case FIELD_DOUBLE: yaml_put_double(w, *(const double *)at); return;
    case FIELD_CHARS:  yaml_put_text(w, at); return;
    case FIELD_TEXT:   yaml_put_text(w, *(const char *const *)at); return;
    }
    UNREACHABLE();
}

void yaml_fields_write(struct ywriter *w, struct fields f, const void *base)
{
    for (const struct field *x = f.at; x < f.at + f.n; x++) {
        const void *at = (const char *)base + x->offset;
        bool finite = x->type != FIELD_DOUBLE || isfinite(*(const double *)at);
        bool empty = x->type == FIELD_CHARS || x->zero != ZERO_KEPT;
        if (finite && !(empty && field_is_zero(x, at)))
            write_field(w, x, at);
    }
}
