/* Helpers for writing JSON with jansson.  Text may come from outside (a truncated compiler message,
 * a file name), so bytes that are not UTF-8 become '?'.  With such bytes, jansson returns NULL. */
#ifndef TS_SESSIONS_JSON_H
#define TS_SESSIONS_JSON_H
#include <jansson.h>
#include "kernels/base/str.h"
#include "sessions/file/field.h"

/* The JSON value of x, chosen by its C type.  A comparison has type int in C: use json_boolean(a <
 * b). */
#define JSON(x) _Generic((x), bool: json_of_bool, int: json_of_int, int64_t: json_of_int, \
    uint64_t: json_of_uint, double: json_of_real, char *: json_text, const char *: json_text)(x)
/* Like JSON(x), but null for a number that is not positive, and for a text that is NULL or "". */
#define JSON_OR_NULL(x) _Generic((x), int: json_int_or_null, int64_t: json_int_or_null, \
    double: json_real_or_null, char *: json_text_or_null, const char *: json_text_or_null)(x)
#define JSON_IF(known, x) ((known) ? JSON(x) : json_null())

json_t *json_of_bool(bool x);
json_t *json_of_int(int64_t x);
json_t *json_of_uint(uint64_t x);  /* writes a number above 2^63 - 1 as text */
json_t *json_of_real(double x);                          /* null if x is not finite */
json_t *json_of_count(double x);  /* an integer if x is whole and below 9e15 */
json_t *json_int_or_null(int64_t x);
json_t *json_real_or_null(double x);
json_t *json_text(const char *text);
json_t *json_text_or_null(const char *text);
json_t *json_texts(const char *const *text, int n);
json_t *json_ints(const int64_t *x, int n);
void json_text_put(struct str *out, const char *text);   /* appends text in quotes */

/* Sets members: json_put(o, "key", value, "key", value...).  Object o takes ownership of the
 * values.  Returns o. */
#define json_put(o, ...) json_put_pairs(o, __VA_ARGS__, (const char *)NULL)
#define json_make(...) json_put(json_object(), __VA_ARGS__)
json_t *json_put_pairs(json_t *o, ...) __attribute__((sentinel));
json_t *json_of_field(const struct field *f, const void *at);    /* at: address of the member */
/* Sets one member of o for each field of the struct at base.  Returns o. */
json_t *json_put_fields(json_t *o, struct fields f, const void *base);
json_t *json_of_fields(struct fields f, const void *base);
/* Returns a list of n objects, one for each struct of an array; each has `size` bytes. */
json_t *json_list(struct fields f, const void *item, size_t size, int n);

/* Prints root, indented, with `digits` significant digits and a final newline.  Frees root. */
void json_print(struct str *out, json_t *root, int digits);
#endif
