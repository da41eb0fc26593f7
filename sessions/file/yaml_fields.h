/* Strictly typed access to the values of a YAML tree; a refusal names the key and its place. */
#ifndef TS_SESSIONS_YAML_FIELDS_H
#define TS_SESSIONS_YAML_FIELDS_H
#include "sessions/file/field.h"
#include "sessions/file/yaml_io.h"

/* map is a mapping of known keys (NULL-terminated), each once. */
bool yaml_keys(const struct ydoc *d, const struct ynode *map, const char *what,
               const char *const *keys, struct err *e);
/* For mappings with keys of any name: pair i's key has not been there before. */
bool yaml_key_once(const struct ydoc *d, const struct ynode *map, int i, const char *what,
                   struct err *e);
/* The value of a key; NULL: there is none, or map is no mapping. */
const struct ynode *yaml_get(const struct ynode *map, const char *key);
/* ERR_SYNTAX at the map when the key is missing. */
bool yaml_need(const struct ydoc *d, const struct ynode *map, const char *key,
               const struct ynode **out, struct err *e);

bool yaml_is(const struct ydoc *d, const struct ynode *v, enum ynode_kind kind, const char *key,
             struct err *e);
/* One line of at least 1 and at most max_bytes bytes; lines: several are fine. */
bool yaml_text(const struct ydoc *d, const struct ynode *v, const char *key, size_t max_bytes,
               bool lines, const char **out, struct err *e);
bool yaml_int(const struct ydoc *d, const struct ynode *v, const char *key, int64_t lo, int64_t hi,
              int64_t *out, struct err *e);
bool yaml_bool(const struct ydoc *d, const struct ynode *v, const char *key, bool *out,
               struct err *e);
bool yaml_double(const struct ydoc *d, const struct ynode *v, const char *key, double *out,
                 struct err *e);

/* map has no keys but those of f and of more (NULL-terminated, or NULL); those of f -> the struct
 * at base.  Numbers must not be negative. */
bool yaml_fields_read(const struct ydoc *d, const struct ynode *map, const char *what,
                      struct fields f, const char *const *more, void *base, struct err *e);
/* Into an open mapping; numbers that are not finite are left out. */
void yaml_fields_write(struct ywriter *w, struct fields f, const void *base);
#endif
