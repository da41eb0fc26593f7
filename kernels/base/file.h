/* Files and places: whole-file reads, atomic writes, the XDG folders. */
#ifndef TS_BASE_FILE_H
#define TS_BASE_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include "kernels/base/err.h"
#include "kernels/base/str.h"

/* Reads a whole file, pipe or device of at most max_bytes ("-" is standard input). ERR_IO says why
 * not. */
bool file_read(const char *path, size_t max_bytes, struct str *out, struct err *e);
/* Writes beside the target, fsyncs, renames over it: a reader, or a kill, sees the old file or
 * the new.  A pipe or a device ("/dev/stdout") is written to as it is. */
bool file_write_atomic(const char *path, const char *data, size_t n, struct err *e);
/* Would it, as things are now?  Writes nothing; the same errors. */
bool file_may_write(const char *path, struct err *e);
bool file_exists(const char *path);
bool dir_make(const char *path, struct err *e);             /* like mkdir -p */

/* $XDG_CACHE_HOME/tilescope, $XDG_STATE_HOME/tilescope, $XDG_DATA_HOME/tilescope (with the usual
 * defaults, /tmp/tilescope-UID when there is no home), made on demand.  What is in the cache can
 * be made again, what is in data cannot.  out gets the path with no trailing slash. */
bool dir_cache(struct str *out, struct err *e);
bool dir_state(struct str *out, struct err *e);
bool dir_data(struct str *out, struct err *e);
#endif
