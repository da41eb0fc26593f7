/* The folder of compiled kernels: dir_cache()/objects with KEY.c and KEY.so.
 *
 * KEY.c is the text the key was made from: the source and, in a comment at its end, everything
 * else the object depends on.  It is compared in full on every lookup.  KEY.so ends with a
 * checksum behind the ELF image (loaders ignore it), so an entry that was cut short or damaged is
 * a miss, never a crash. */
#ifndef TS_PROFILE_OBJCACHE_H
#define TS_PROFILE_OBJCACHE_H
#include "kernels/base/subprocess.h"

#define OBJCACHE_MAX_BYTES ((int64_t)512 << 20)

/* lock: a descriptor; OBJCACHE_NO_LOCK: not taken, OBJCACHE_OWN_NAMES: nobody else has these. */
enum { OBJCACHE_NO_LOCK = -1, OBJCACHE_OWN_NAMES = -2 };
struct objcache_slot { char c_path[512], so_path[512], temp_c[512], temp_so[512]; int lock; };

/* What the folder may hold: $TILESCOPE_CACHE_MIB, else OBJCACHE_MAX_BYTES. */
int64_t objcache_max_bytes(void);
/* Names for this text.  The folder is trimmed when a process first asks, and in objcache_store
 * whenever this process has added an eighth of what it may hold since: alone it never makes it
 * larger than nine eighths of that. */
bool objcache_slot(const struct str *text, struct objcache_slot *out, struct err *e);
bool objcache_hit(const struct objcache_slot *slot, const struct str *text);
/* What the compiler wrote to so_path, without the checksum. */
bool objcache_read(const char *so_path, struct str *out, struct err *e);
/* A miss: take the lock, write temp_c, compile it to temp_so, then store (or drop) both, which
 * gives the lock back.  Nobody else has temp_c and temp_so meanwhile: who wants the same object
 * waits in objcache_lock, and then finds a hit.  The compiler holds the lock as well, and writes to
 * it when the object is whole: it outlives a tilescope that is killed, and the next one takes over
 * what it left (objcache_left) instead of beginning again beside it.  ERR_CANCEL; where files
 * cannot be locked, the names are the caller's own. */
bool objcache_lock(struct objcache_slot *slot, const struct cancel *c, struct err *e);
bool objcache_left(const struct objcache_slot *slot, const struct str *text);
bool objcache_write(const struct objcache_slot *slot, const struct str *text, struct err *e);
bool objcache_store(struct objcache_slot *slot, struct err *e);
void objcache_drop(struct objcache_slot *slot);          /* nothing without the lock */
/* Deletes entries of that folder, oldest first, until at most max_bytes are left. */
void objcache_trim(const char *folder, int64_t max_bytes);
#endif
