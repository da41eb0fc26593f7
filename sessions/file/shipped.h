/* Finds the folders that are shipped with tilescope: `examples`, `experts` and `studies`. */
#ifndef TS_SESSIONS_SHIPPED_H
#define TS_SESSIONS_SHIPPED_H
#include <stdbool.h>
#include <stddef.h>

/* Sets `out` to the path of the shipped folder `name`.  Looks in $TILESCOPE_HOME, then in the
 * source tree, then in the installation.  Returns false when it is in none. */
bool shipped_dir(const char *name, char *out, size_t size);
/* Whether a file lies in one of the three shipped folders, in any of these places. */
bool shipped_file(const char *path);
#endif
