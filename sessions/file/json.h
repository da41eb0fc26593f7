/* What the writers of JSON share.  Text may come from elsewhere (a compiler's message cut in the
 * middle, a file's name): what is no UTF-8 becomes '?', since JSON has no other text and jansson
 * returns NULL. */
#ifndef TS_SESSIONS_JSON_H
#define TS_SESSIONS_JSON_H
#include <jansson.h>
#include "kernels/base/str.h"
#include "sessions/file/field.h"

/* The value of x by its type.  Comparisons are ints in C: json_boolean(a < b). */
#define JSON(x) _Generic((x), bool: json_of_bool, int: json_of_int, int64_t: json_of_int, \
    uint64_t: json_of_uint, double: json_of_real, char *: json_text, const char *: json_text)(x)
/* The same, and null for what is not positive, or is NULL or "". */
#define JSON_OR_NULL(x) _Generic((x), int: json_int_or_null, int64_t: json_int_or_null, \
    double: json_real_or_null, char *: json_text_or_null, const char *: json_text_or_null)(x)
#define JSON_IF(known, x) ((known) ? JSON(x) : json_null())

json_t *json_of_bool(bool x);
json_t *json_of_int(int64_t x);
json_t *json_of_uint(uint64_t x);                        /* text above 2^63 - 1 */
json_t *json_of_real(double x);                          /* null unless it is finite */
json_t *json_of_count(double x);                         /* an integer where it is whole */
json_t *json_int_or_null(int64_t x);
json_t *json_real_or_null(double x);
json_t *json_text(const char *text);
json_t *json_text_or_null(const char *text);
json_t *json_texts(const char *const *text, int n);
json_t *json_ints(const int64_t *x, int n);
void json_text_put(struct str *out, const char *text);   /* in its quotes */

/* Sets members: json_put(o, "key", value, "key", value...).  Takes the values and returns o. */
#define json_put(o, ...) json_put_pairs(o, __VA_ARGS__, (const char *)NULL)
#define json_make(...) json_put(json_object(), __VA_ARGS__)
json_t *json_put_pairs(json_t *o, ...) __attribute__((sentinel));
json_t *json_of_field(const struct field *f, const void *at);    /* the member at `at` */
/* Sets the fields of the struct at base. */
json_t *json_put_fields(json_t *o, struct fields f, const void *base);
json_t *json_of_fields(struct fields f, const void *base);
/* A list of n structs, size bytes each. */
json_t *json_list(struct fields f, const void *item, size_t size, int n);

/* Indented, with a newline at the end; digits: significant ones of numbers.  Frees root. */
void json_print(struct str *out, json_t *root, int digits);
#endif
