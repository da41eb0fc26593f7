/* Paths of models (file= in the text of a graph).  In memory, relative paths start at the current
 * directory.  In a session file, the path of a model in or below the file's folder is relative to
 * that folder, so that both can move together; paths of other models are absolute. */
#ifndef TS_SESSIONS_MODEL_PATH_H
#define TS_SESSIONS_MODEL_PATH_H
#include "kernels/base/str.h"

/* Appends spec with its paths changed from those in memory to those in the session file
 * `session`. */
void model_paths_to_file(struct str *out, const char *spec, const char *session);
/* Appends spec with its paths changed from those in the session file `session` to those in
 * memory. */
void model_paths_from_file(struct str *out, const char *spec, const char *session);
/* Whether two texts are the same except for their paths.  The text has a hash of the data beside
 * each path. */
bool model_specs_same(const char *a, const char *b);
#endif
