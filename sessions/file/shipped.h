/* What comes with tilescope: the folders `examples` and `studies`. */
#ifndef TS_SESSIONS_SHIPPED_H
#define TS_SESSIONS_SHIPPED_H
#include <stdbool.h>
#include <stddef.h>

/* The first folder of this name there is: in $TILESCOPE_HOME, the source tree, the installation. */
bool shipped_dir(const char *name, char *out, size_t size);
#endif
