/* Strictly typed access to the values of a YAML tree.  Errors name the key and its place in the
 * file. */
#ifndef TS_SESSIONS_YAML_FIELDS_H
#define TS_SESSIONS_YAML_FIELDS_H
#include "sessions/file/field.h"
#include "sessions/file/yaml_io.h"

/* Checks that map is a mapping with only the given keys (NULL-terminated), each at most once. */
bool yaml_keys(const struct ydoc *d, const struct ynode *map, const char *what,
               const char *const *keys, struct err *e);
/* For mappings with keys of any name: checks that the key of pair i did not occur before. */
bool yaml_key_once(const struct ydoc *d, const struct ynode *map, int i, const char *what,
                   struct err *e);
/* Returns the value of a key; NULL when the key is missing or map is no mapping. */
const struct ynode *yaml_get(const struct ynode *map, const char *key);
/* Like yaml_get, but a missing key is ERR_SYNTAX at the map. */
bool yaml_need(const struct ydoc *d, const struct ynode *map, const char *key,
               const struct ynode **out, struct err *e);

bool yaml_is(const struct ydoc *d, const struct ynode *v, enum ynode_kind kind, const char *key,
             struct err *e);
/* Reads a text of at most max_bytes bytes. `lines`: the text may have several lines. */
bool yaml_text(const struct ydoc *d, const struct ynode *v, const char *key, size_t max_bytes,
               bool lines, const char **out, struct err *e);
bool yaml_int(const struct ydoc *d, const struct ynode *v, const char *key, int64_t lo, int64_t hi,
              int64_t *out, struct err *e);
bool yaml_bool(const struct ydoc *d, const struct ynode *v, const char *key, bool *out,
               struct err *e);
bool yaml_double(const struct ydoc *d, const struct ynode *v, const char *key, double *out,
                 struct err *e);

/* Reads the keys of f from map into the struct at `base`; members without a key keep their values.
 * more: keys that map can have besides those of f (NULL-terminated, or NULL).  Any other key is an
 * error, and so is a negative number, except of fields with `sign`. */
bool yaml_fields_read(const struct ydoc *d, const struct ynode *map, const char *what,
                      struct fields f, const char *const *more, void *base, struct err *e);
/* Writes the fields into an open mapping.  Leaves out numbers that are not finite, and members that
 * are 0 or "" if enum field_zero says so. */
void yaml_fields_write(struct ywriter *w, struct fields f, const void *base);
#endif
