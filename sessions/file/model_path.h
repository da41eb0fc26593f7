/* Paths of models (file= in the text of a graph).  In memory, relative paths start at the current
 * directory.  A session file names a model in or below its own folder relative to that folder, so
 * that both can move together; it names other models by absolute paths. */
#ifndef TS_SESSIONS_MODEL_PATH_H
#define TS_SESSIONS_MODEL_PATH_H
#include "kernels/base/str.h"

/* Appends spec with its paths as the session file `session` must name them. */
void model_paths_to_file(struct str *out, const char *spec, const char *session);
/* Appends spec, which was read from the file `session`, with its paths as used in memory. */
void model_paths_from_file(struct str *out, const char *spec, const char *session);
#endif
