/* Finds the folders that are shipped with tilescope: `examples`, `experts` and `studies`. */
#ifndef TS_SESSIONS_SHIPPED_H
#define TS_SESSIONS_SHIPPED_H
#include <stdbool.h>
#include <stddef.h>

/* Finds the first folder of this name in $TILESCOPE_HOME, the source tree or the installation. */
bool shipped_dir(const char *name, char *out, size_t size);
/* Whether a file lies in one of these folders, in any of these places. */
bool shipped_file(const char *path);
#endif
