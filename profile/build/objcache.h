/* The folder of compiled kernels: dir_cache()/objects with KEY.c and KEY.so.
 *
 * KEY.c is the text from which the key is computed: the source and, in a comment at its end,
 * everything else that the object depends on.  The text is compared in full on every lookup.
 * KEY.so is a shared object, an assembly or a module of a GPU, followed by a checksum, which
 * loaders ignore.  Thanks to the checksum a truncated or damaged entry is a miss. */
#ifndef TS_PROFILE_OBJCACHE_H
#define TS_PROFILE_OBJCACHE_H
#include "kernels/base/subprocess.h"

#define OBJCACHE_MAX_BYTES ((int64_t)512 << 20)

/* The files of one object. lock: the file descriptor of the lock; OBJCACHE_NO_LOCK: the slot is not
 * locked; OBJCACHE_OWN_NAMES: the file could not be locked, so temp_c and temp_so have names that
 * no other process uses. */
enum { OBJCACHE_NO_LOCK = -1, OBJCACHE_OWN_NAMES = -2 };
struct objcache_slot { char c_path[512], so_path[512], temp_c[512], temp_so[512]; int lock; };

/* Returns the size limit of the folder in bytes: $TILESCOPE_CACHE_MIB, else OBJCACHE_MAX_BYTES. */
int64_t objcache_max_bytes(void);
/* Computes KEY from the text of KEY.c, and stores the file names of the slot.  The folder is
 * trimmed at the first call of a process, and in objcache_store whenever this process has added an
 * eighth of the limit since the last trim.  objcache_store keeps the object that it has just
 * stored, even if this object is larger than the limit.  A single process therefore exceeds the
 * limit by at most an eighth and one object. */
bool objcache_slot(const struct str *text, struct objcache_slot *out, struct err *e);
/* Whether KEY.c has this text and KEY.so is undamaged. */
bool objcache_hit(const struct objcache_slot *slot, const struct str *text);
/* Reads the object file that the compiler wrote to so_path, without the checksum. */
bool objcache_read(const char *so_path, struct str *out, struct err *e);
/* Takes the lock; to be called after a miss.  The caller must then write temp_c (objcache_write),
 * compile it to temp_so, and call objcache_store, or after any failure objcache_drop.  Both release
 * the lock if they succeed.  No other process uses temp_c and temp_so while they are locked.
 * Another process that wants the object waits in objcache_lock and must then call
 * objcache_hit again.  If the lock cannot be taken within 150 s, temp_c and temp_so get names that
 * no other process uses, and the result is also true.  ERR_CANCEL: `c` was raised during the wait.
 *
 * The compiler must inherit the lock and write to it when the object is complete.  If tilescope is
 * killed, the compiler goes on, and the next tilescope takes its object (objcache_left) instead of
 * compiling again. */
bool objcache_lock(struct objcache_slot *slot, const struct cancel *c, struct err *e);
/* Whether the compiler of a killed tilescope left a complete object of this text in temp_so. */
bool objcache_left(const struct objcache_slot *slot, const struct str *text);
bool objcache_write(const struct objcache_slot *slot, const struct str *text, struct err *e);
bool objcache_store(struct objcache_slot *slot, struct err *e);
void objcache_drop(struct objcache_slot *slot);    /* OBJCACHE_NO_LOCK: does nothing */
/* Deletes files of the folder, oldest first, until at most max_bytes are left.  Temporary files do
 * not count, but those older than an hour are deleted. */
void objcache_trim(const char *folder, int64_t max_bytes);
#endif
