/* A folder under /tmp for what a test writes. */
#ifndef TS_TESTS_TEMP_DIR_H
#define TS_TESTS_TEMP_DIR_H
#include <stdbool.h>

/* dir ends in XXXXXX, which is filled in; variable, e.g. "XDG_CACHE_HOME", then names the folder
 * (NULL: none does). */
bool temp_dir_make(char *dir, const char *variable);
/* With all that is in it. */
bool temp_dir_remove(const char *dir);
#endif
