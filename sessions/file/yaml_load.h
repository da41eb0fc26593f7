/* Shared by the readers of studies, experts and pretraining: optional keys, names for expressions,
 * grids.  A function that returns false has set *l->e and its place. */
#ifndef TS_SESSIONS_YAML_LOAD_H
#define TS_SESSIONS_YAML_LOAD_H
#include "explorer/expert/param.h"
#include "sessions/file/yaml_fields.h"

struct yaml_load { struct arena *a; struct ydoc doc; struct err *e; };

/* Adds the place of a node to the error *l->e.  Returns false. */
bool yaml_load_at(struct yaml_load *l, const struct ynode *node);
/* Finds the required list of a key; an empty list is an error. */
bool yaml_load_list(struct yaml_load *l, const struct ynode *map, const char *key,
                    const struct ynode **out);
/* Read an optional key; when it is missing, *out keeps its value. */
bool yaml_load_text(struct yaml_load *l, const struct ynode *map, const char *key, size_t max,
                    bool lines, const char **out);
bool yaml_load_int(struct yaml_load *l, const struct ynode *map, const char *key, int lo, int hi,
                   int *out);
/* Reads a mapping of names to values; a missing key gives an empty grid. */
bool yaml_load_grid(struct yaml_load *l, const struct ynode *map, const char *key,
                    struct param_grid *out);
/* Checks that id can be used as a name in expressions. node: where errors point. */
bool yaml_load_id(struct yaml_load *l, const char *id, const struct ynode *node);
/* Resolves a path in the YAML file. Relative paths start at the folder of that file. */
const char *yaml_load_path(struct yaml_load *l, const char *path);
#endif
