/* Files and places: whole-file reads, atomic writes (file_write.c), the XDG folders. */
#ifndef TS_BASE_FILE_H
#define TS_BASE_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "kernels/base/arena.h"
#include "kernels/base/err.h"
#include "kernels/base/str.h"

/* Reads a whole file, pipe or device of at most max_bytes ("-" is standard input). ERR_IO says why
 * not. */
bool file_read(const char *path, size_t max_bytes, struct str *out, struct err *e);
/* The same for a name that nobody typed: of a file and nothing else, so that it never waits. */
bool file_read_regular(const char *path, size_t max_bytes, struct str *out, struct err *e);

/* The state in which a writer saw a file: a hash of its content, or one of these. */
enum { FILE_ANYTHING = 0, FILE_ABSENT = 1 };
uint64_t file_content(const char *data, size_t n);
/* The state of the file now; FILE_ANYTHING when it cannot be read. */
uint64_t file_seen(const char *path);

/* Writes beside the target, fsyncs, renames over it: a reader, or a kill, sees the old file or
 * the new.  Owner, group and mode of the old file stay, links are followed.  A pipe or a device
 * ("/dev/stdout") is written to as it is.  One process at a time (FILE.tilescope-lock), and only
 * when the file is still as it was seen, or gone: else ERR_CHANGED, and it stays as it is. */
bool file_replace(const char *path, uint64_t seen, const char *data, size_t n, struct err *e);
/* file_replace of any content. */
bool file_write_atomic(const char *path, const char *data, size_t n, struct err *e);
/* Removes what killed writers left in a folder. */
void file_tidy(const char *dir);
/* Would it, as things are now?  Writes nothing; the same errors. */
bool file_may_write(const char *path, struct err *e);
/* Is path still the name of the open file?  Not when somebody renamed or removed it. */
bool file_is_named(int fd, const char *path);
/* Appends the folder of path with a / at its end: "a/b/" for "a/b/c", nothing for "c". */
void file_add_folder(struct str *out, const char *path);
/* Two names of one file. */
bool file_same(const char *a, const char *b);
/* Writes under the first free name beside path ("dir/a-2.yaml"), which goes into *where. */
bool file_write_beside(const char *path, const char *data, size_t n, struct str *where,
                       struct err *e);
bool file_exists(const char *path);
/* Where this program lies; without /proc, as it was started.  False: nobody knows. */
bool file_self(char *path, size_t n);
bool dir_make(const char *path, struct err *e);             /* like mkdir -p */
/* The files of a folder that end in suffix, but for hidden ones: their names without it, in order.
 * None when the folder cannot be read. */
const char **dir_list(struct arena *a, const char *dir, const char *suffix, int *n);

/* $XDG_CACHE_HOME/tilescope, $XDG_STATE_HOME/tilescope, $XDG_DATA_HOME/tilescope (with the usual
 * defaults, /tmp/tilescope-UID when there is no home), made on demand.  What is in the cache can
 * be made again, what is in data cannot.  out gets the path with no trailing slash. */
bool dir_cache(struct str *out, struct err *e);
bool dir_state(struct str *out, struct err *e);
bool dir_data(struct str *out, struct err *e);
#endif
