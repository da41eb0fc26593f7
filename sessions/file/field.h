/* Tables of the members of a struct: the key of each, in YAML (yaml_fields.h) and in JSON
 * (json.h). */
#ifndef TS_SESSIONS_FIELD_H
#define TS_SESSIONS_FIELD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CHARS: an array in the struct; TEXT: a pointer, which YAML does not read. */
enum field_type {
    FIELD_BOOL, FIELD_INT, FIELD_INT64, FIELD_UINT64, FIELD_DOUBLE, FIELD_CHARS, FIELD_TEXT,
};
/* What a 0 or "" means.  KEPT: a value.  LEFT_OUT: a value that YAML does not write.  UNKNOWN:
 * nothing is known; YAML does not write it, and it is null in JSON.  YAML never writes "". */
enum field_zero { ZERO_KEPT, ZERO_LEFT_OUT, ZERO_UNKNOWN };
struct field {
    const char *key;
    enum field_type type;
    enum field_zero zero;
    size_t offset, size;
};
struct fields { int n; const struct field *at; };

/* Whether the member at `at` is 0 or "". */
bool field_is_zero(const struct field *f, const void *at);
/* Copies the members from one struct to another. */
void fields_copy(struct fields f, void *to, const void *from);
/* The rows from one key to another; NULL: to the last. */
struct fields fields_part(struct fields f, const char *from, const char *to);

#define FIELD_AS(key, s, member, zero) { key, \
    _Generic(((struct s *)0)->member, bool: FIELD_BOOL, int: FIELD_INT, int64_t: FIELD_INT64, \
             uint64_t: FIELD_UINT64, double: FIELD_DOUBLE, char *: FIELD_CHARS, \
             const char *: FIELD_TEXT), \
    zero, offsetof(struct s, member), sizeof(((struct s *)0)->member) }
#define FIELD(s, member, zero) FIELD_AS(#member, s, member, zero)
/* struct fields outside of functions, from rows. */
#define FIELDS(...) { \
    .n = (int)(sizeof((const struct field[]){ __VA_ARGS__ }) / sizeof(struct field)), \
    .at = (const struct field[]){ __VA_ARGS__ } }
#endif
