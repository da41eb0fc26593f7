/* Reads files, writes them atomically (file_write.c), and finds the XDG folders. */
#ifndef TS_BASE_FILE_H
#define TS_BASE_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "kernels/base/arena.h"
#include "kernels/base/err.h"
#include "kernels/base/str.h"

/* Reads a whole file, pipe or device of at most max_bytes ("-" is standard input).  Fails with
 * ERR_IO, or with ERR_CANCEL when a signal interrupts the reading. */
bool file_read(const char *path, size_t max_bytes, struct str *out, struct err *e);
/* Like file_read, but reads only regular files, because a pipe or a device could block. */
bool file_read_regular(const char *path, size_t max_bytes, struct str *out, struct err *e);

/* Reads the beginning of a file, at most n - 1 bytes, and ends it with a NUL.  Returns the number
 * of bytes; 0 if the file cannot be read. */
size_t file_head(const char *path, char *out, size_t n);

/* The state of a file as a writer saw it: a hash of its content, or one of these constants. */
enum { FILE_ANYTHING = 0, FILE_ABSENT = 1 };
uint64_t file_content(const char *data, size_t n);
/* Returns the present state of the file, or FILE_ANYTHING when it cannot be read. */
uint64_t file_seen(const char *path);

/* Replaces a file atomically: writes a file beside the target, calls fsync and renames it, so that
 * a reader sees either the old file or the new one, even after a kill.  Keeps owner, group and mode
 * of the old file as far as allowed, and follows links.  A lock (FILE.tilescope-lock) lets only one
 * process write at a time.  Fails with ERR_IO; or with ERR_CHANGED, and writes nothing, if the file
 * exists and is not in the state `seen`.  A pipe or a device ("/dev/stdout") is written to
 * directly, whatever `seen` is. */
bool file_replace(const char *path, uint64_t seen, const char *data, size_t n, struct err *e);
/* Like file_replace, whatever the file contains now. */
bool file_write_atomic(const char *path, const char *data, size_t n, struct err *e);
/* Like file_write_atomic, but replaces a link, pipe or device itself, and does not call fsync,
 * which may take as long as many redraws.  The file survives the end of this process, but perhaps
 * not a power failure. */
bool file_write_quick(const char *path, const char *data, size_t n, struct err *e);
/* The two halves of file_write_atomic, for several files of which all or none are to be replaced.
 * file_begin writes the new file beside the target and keeps the target's lock; file_finish puts it
 * there if `keep`, else removes it, and frees p.  A kill in between leaves the old file. */
struct file_pending;
bool file_begin(const char *path, const char *data, size_t n, struct file_pending **out,
                struct err *e);
bool file_finish(struct file_pending *p, bool keep, struct err *e);
/* Writes n bytes to an open file, in as many calls as it takes; false, with errno, if one fails. */
bool file_put(int fd, const void *data, size_t n);
/* Removes the lock files of killed writers from a folder. */
void file_tidy(const char *dir);
/* Whether file_write_atomic may write the file.  Checks its kind and the permissions of its folder;
 * of a pipe or device, its own permissions.  Writes nothing; fails with ERR_IO. */
bool file_may_write(const char *path, struct err *e);
/* Whether path still names the open file: false after somebody renamed or removed it. */
bool file_is_named(int fd, const char *path);
/* Appends the folder of path with a / at its end: "a/b/" for "a/b/c", nothing for "c". */
void file_add_folder(struct str *out, const char *path);
/* Whether a and b name the same file. */
bool file_same(const char *a, const char *b);
/* Writes to the first free name beside path ("dir/a-2.yaml"), and sets *where to that name. */
bool file_write_beside(const char *path, const char *data, size_t n, struct str *where,
                       struct err *e);
bool file_exists(const char *path);
/* Appends a path that a user typed: ~/ at its beginning stands for $HOME, as in shells. */
void file_add_typed(struct str *out, const char *path);
/* Sets path to the path of this program: from /proc, or else from the name by which it was started.
 * Returns false when both are unknown. */
bool file_self(char *path, size_t n);
bool dir_make(const char *path, struct err *e);             /* like mkdir -p */
void dir_remove(const char *path);  /* like rm -rf; what cannot be removed stays */
/* Resolves `path` from the folder of the file `other`: "a/c" for other = "a/b", path = "c".
 * Returns an absolute path unchanged. */
const char *path_beside(struct arena *a, const char *other, const char *path);
/* Lists the files of a folder whose names end in suffix, except hidden files.  Returns their names
 * without the suffix, sorted.  *n is 0 when the folder cannot be read. */
const char **dir_list(struct arena *a, const char *dir, const char *suffix, int *n);

/* Set *out to $XDG_CACHE_HOME/tilescope, $XDG_STATE_HOME/tilescope or $XDG_DATA_HOME/tilescope,
 * without a trailing slash.  The usual defaults apply (/tmp/tilescope-UID when $HOME cannot be
 * used), and the folder is created.  Files in the cache can be made anew, files in data cannot. */
bool dir_cache(struct str *out, struct err *e);
bool dir_state(struct str *out, struct err *e);
bool dir_data(struct str *out, struct err *e);
/* Appends $XDG_CONFIG_HOME/tilescope (default: ~/.config/tilescope), and does not create it.
 * Returns false when no home folder is known. */
bool dir_config(struct str *out);
#endif
