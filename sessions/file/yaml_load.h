/* What the readers of studies, experts and pretraining share: optional keys, names that
 * expressions can say, grids.  A function that returns false has set *l->e, with its place. */
#ifndef TS_SESSIONS_YAML_LOAD_H
#define TS_SESSIONS_YAML_LOAD_H
#include "explorer/expert/param.h"
#include "sessions/file/yaml_fields.h"

struct yaml_load { struct arena *a; struct ydoc doc; struct err *e; };

/* Gives *l->e, already set, the place of a node; false. */
bool yaml_load_at(struct yaml_load *l, const struct ynode *node);
/* A list of at least one. */
bool yaml_load_list(struct yaml_load *l, const struct ynode *map, const char *key,
                    const struct ynode **out);
/* Optional keys: *out stays as it is. */
bool yaml_load_text(struct yaml_load *l, const struct ynode *map, const char *key, size_t max,
                    bool lines, const char **out);
bool yaml_load_int(struct yaml_load *l, const struct ynode *map, const char *key, int lo, int hi,
                   int *out);
/* A mapping of names to values; none: an empty grid. */
bool yaml_load_grid(struct yaml_load *l, const struct ynode *map, const char *key,
                    struct param_grid *out);
/* A name that expressions can say. */
bool yaml_load_id(struct yaml_load *l, const char *id, const struct ynode *node);
/* A path that is relative to the folder of the file. */
const char *yaml_load_path(struct yaml_load *l, const char *path);
#endif
