/* Functions that the readers of studies, experts and pretraining share: optional keys, names for
 * expressions, grids.  When they return false, *l->e has the error and its place. */
#ifndef TS_SESSIONS_YAML_LOAD_H
#define TS_SESSIONS_YAML_LOAD_H
#include "explorer/expert/param.h"
#include "sessions/file/yaml_fields.h"

struct yaml_load { struct arena *a; struct ydoc doc; struct err *e; };

/* Adds the place of a node to the error *l->e.  Returns false. */
bool yaml_load_at(struct yaml_load *l, const struct ynode *node);
/* Sets *out to the list of a key.  Fails when the key is missing or the list is empty. */
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
/* Checks that id can be used as a name in expressions. node: the place for an error. */
bool yaml_load_id(struct yaml_load *l, const char *id, const struct ynode *node);
/* Returns a path that the YAML file names.  A relative path starts at the folder of that file. */
const char *yaml_load_path(struct yaml_load *l, const char *path);
#endif
