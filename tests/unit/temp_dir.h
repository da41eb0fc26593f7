/* Folders for what tests write. */
#ifndef TS_TESTS_TEMP_DIR_H
#define TS_TESTS_TEMP_DIR_H

/* Makes a folder in $TMPDIR (else /tmp).  It is removed with all that is in it when this process
 * exits.  The variable, e.g. "XDG_CACHE_HOME", then names the folder (NULL: none does). */
const char *temp_dir(const char *variable);
#endif
