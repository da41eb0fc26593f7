/* Finds folders and files that are shipped with tilescope: `examples`, `experts`, `studies`,
 * pretrain.yaml. */
#ifndef TS_SESSIONS_SHIPPED_H
#define TS_SESSIONS_SHIPPED_H
#include <stdbool.h>
#include <stddef.h>

/* Sets `out` to the path of the shipped folder or file `name`.  Looks in $TILESCOPE_HOME, then in
 * the source tree, then in the installation.  Returns false when it is in none. */
bool shipped_dir(const char *name, char *out, size_t size);
/* Whether a file lies in a shipped folder `examples`, `experts` or `studies`, in any of these
 * places. */
bool shipped_file(const char *path);
#endif
