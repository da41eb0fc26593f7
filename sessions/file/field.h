/* A table of fields lists the members of a struct, each with its key.  YAML (yaml_fields.h) and
 * JSON (json.h) use the same tables. */
#ifndef TS_SESSIONS_FIELD_H
#define TS_SESSIONS_FIELD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CHARS is an array inside the struct.  TEXT is a pointer, which yaml_fields_read cannot read. */
enum field_type {
    FIELD_BOOL, FIELD_INT, FIELD_INT64, FIELD_UINT64, FIELD_DOUBLE, FIELD_CHARS, FIELD_TEXT,
};
/* What a member that is 0 or "" means.  ZERO_KEPT: an ordinary value.  ZERO_LEFT_OUT: an ordinary
 * value, which YAML leaves out.  ZERO_UNKNOWN: the value is unknown; YAML leaves it out, and JSON
 * writes null.  An empty FIELD_CHARS is left out of YAML in any case. */
enum field_zero { ZERO_KEPT, ZERO_LEFT_OUT, ZERO_UNKNOWN };
/* sign: whether a FIELD_INT64 can be negative; no other number can. */
struct field {
    const char *key;
    enum field_type type;
    enum field_zero zero;
    size_t offset, size;
    bool sign;
};
struct fields { int n; const struct field *at; };

/* Whether the member at address `at` is 0 or "". */
bool field_is_zero(const struct field *f, const void *at);
/* Copies the members that f lists from one struct to another. */
void fields_copy(struct fields f, void *to, const void *from);
/* Returns the rows of f from key `from` to key `to`, both included.  If `to` is NULL, the last row
 * of f is the end. */
struct fields fields_part(struct fields f, const char *from, const char *to);

#define FIELD_ROW(key, s, member, zero, sign) { key, \
    _Generic(((struct s *)0)->member, bool: FIELD_BOOL, int: FIELD_INT, int64_t: FIELD_INT64, \
             uint64_t: FIELD_UINT64, double: FIELD_DOUBLE, char *: FIELD_CHARS, \
             const char *: FIELD_TEXT), \
    zero, offsetof(struct s, member), sizeof(((struct s *)0)->member), sign }
#define FIELD_AS(key, s, member, zero) FIELD_ROW(key, s, member, zero, false)
#define FIELD(s, member, zero) FIELD_AS(#member, s, member, zero)
/* Initializes a struct fields at file scope from its rows. */
#define FIELDS(...) { \
    .n = (int)(sizeof((const struct field[]){ __VA_ARGS__ }) / sizeof(struct field)), \
    .at = (const struct field[]){ __VA_ARGS__ } }
#endif
