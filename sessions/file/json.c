#include "sessions/file/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/arena.h"

json_t *json_of_bool(bool x)
{
    return json_boolean(x);
}

json_t *json_of_int(int64_t x)
{
    return json_integer(x);
}

json_t *json_of_uint(uint64_t x)
{
    return x <= INT64_MAX ? json_integer((json_int_t)x)
                          : json_sprintf("%llu", (unsigned long long)x);
}

json_t *json_of_real(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

json_t *json_of_count(double x)
{
    return x == floor(x) && fabs(x) < 9e15 ? json_integer((json_int_t)x) : json_of_real(x);
}

json_t *json_int_or_null(int64_t x)
{
    return x > 0 ? json_integer(x) : json_null();
}

json_t *json_real_or_null(double x)
{
    return json_of_real(x > 0 ? x : NAN);
}

json_t *json_text(const char *text)
{
    char *clean = xstrdup(text);
    size_t n = strlen(clean);
    for (size_t from = 0, bad; !utf8_valid(clean + from, n - from, &bad); from += bad)
        clean[from + bad] = '?';
    json_t *v = json_stringn(clean, n);
    free(clean);
    return v;
}

json_t *json_text_or_null(const char *text)
{
    return text && text[0] ? json_text(text) : json_null();
}

json_t *json_texts(const char *const *text, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_text(text[i]));
    return list;
}

json_t *json_ints(const int64_t *x, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_integer(x[i]));
    return list;
}

void json_text_put(struct str *out, const char *text)
{
    json_t *v = json_text(text);
    char *quoted = json_dumps(v, JSON_ENCODE_ANY);
    str_add(out, quoted ? quoted : "\"\"");
    free(quoted);
    json_decref(v);
}

static void put(json_t *o, const char *key, json_t *value)
{
    if (json_object_set_new(o, key, value) != 0)
        fail("the JSON key \"%s\" cannot be set", key);
}

json_t *json_put_pairs(json_t *o, ...)
{
    va_list ap;
    const char *key;
    va_start(ap, o);
    while ((key = va_arg(ap, const char *)) != NULL)
        put(o, key, va_arg(ap, json_t *));
    va_end(ap);
    return o;
}

json_t *json_of_field(const struct field *f, const void *at)
{
#define AS(type) (*(const type *)at)
    bool null = f->zero == ZERO_UNKNOWN;
    switch (f->type) {
    case FIELD_BOOL:   return JSON(AS(bool));
    case FIELD_INT:    return null ? JSON_OR_NULL(AS(int)) : JSON(AS(int));
    case FIELD_INT64:  return null ? JSON_OR_NULL(AS(int64_t)) : JSON(AS(int64_t));
    case FIELD_UINT64: return JSON(AS(uint64_t));
    case FIELD_DOUBLE: return null ? JSON_OR_NULL(AS(double)) : JSON(AS(double));
    case FIELD_CHARS:  return null ? json_text_or_null(at) : json_text(at);
    case FIELD_TEXT:   return null ? JSON_OR_NULL(AS(char *)) : JSON(AS(char *));
    }
    UNREACHABLE();
}

json_t *json_put_fields(json_t *o, struct fields f, const void *base)
{
    for (int i = 0; i < f.n; i++)
        put(o, f.at[i].key, json_of_field(&f.at[i], (const char *)base + f.at[i].offset));
    return o;
}

json_t *json_of_fields(struct fields f, const void *base)
{
    return json_put_fields(json_object(), f, base);
}

json_t *json_list(struct fields f, const void *item, size_t size, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_of_fields(f, (const char *)item + size * (size_t)i));
    return list;
}

void json_print(struct str *out, json_t *root, int digits)
{
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(digits));
    if (!text)
        fail("a result cannot be written as JSON");
    str_printf(out, "%s\n", text);
    free(text);
    json_decref(root);
}
