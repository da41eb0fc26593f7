/* Paths of models (file= in the text of a graph).  In memory they work from the current directory.
 * In a session file the path of a model in or below its folder is relative to that folder, so that
 * both can move together; any other one is absolute. */
#ifndef TS_SESSIONS_MODEL_PATH_H
#define TS_SESSIONS_MODEL_PATH_H
#include "kernels/base/str.h"

/* Copies an operator's text with the paths that belong into the session file `session`. */
void model_paths_to_file(struct str *out, const char *spec, const char *session);
/* And back. */
void model_paths_from_file(struct str *out, const char *spec, const char *session);
#endif
