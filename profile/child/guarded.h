/* The buffers of the kernel inside the runner.  Each lies between guard pages.  An access to a
 * guard page is a fault, which can be reported, instead of a wrong number elsewhere.  A store
 * between the buffer and a guard page changes a pattern (guarded_whole). */
#ifndef TS_PROFILE_GUARDED_H
#define TS_PROFILE_GUARDED_H
#include "kernels/base/rng.h"
#include "profile/child/protocol.h"

struct guarded;
/* Allocates the guarded buffers. sh is the mapped file, which holds a copy of each buffer's
 * content.  ERR_ENV when there is no address space. */
bool guarded_open(struct shared *sh, struct guarded **out, struct err *e);
/* Reuses the memory for the buffers that sh lists now, without new pages. The caller must then
 * place them. False when their number, or the pages that one of them needs, have changed. */
bool guarded_reopen(struct guarded *g, struct shared *sh);
void guarded_close(struct guarded *g);
/* Returns the addresses of all buffers, which guarded_place sets. */
void *const *guarded_data(const struct guarded *g);

/* The functions below work on n buffers; `first` is the number of the first one. */

/* Fills the buffers from their copies in the file, except read-only buffers that are already in
 * place. at_end: whether to put each buffer as near to the following guard page as 64-byte
 * alignment allows, for checking; else it begins at the start of a page, as the simulator assumes.
 * Buffers that the kernel does not write become read-only.  The space up to the guard pages is
 * filled with a pattern that reads as NaN. */
bool guarded_place(struct guarded *g, int first, int n, bool at_end, struct err *e);
/* Whether all of the buffers are where guarded_place puts them without at_end. */
bool guarded_in_place(const struct guarded *g, int first, int n);
/* Whether the pattern around all filled buffers is intact.  If it is not, *damage is a place beside
 * the first damaged buffer: the nearest overwritten place behind it, else the nearest before it. */
bool guarded_whole(const struct guarded *g, struct fault *damage);
/* Returns the pages of the buffers to the system. If `move` is not NULL, also moves the buffers to
 * random other addresses. The caller must then place the buffers again. */
bool guarded_drop(struct guarded *g, int first, int n, struct rng *move, struct err *e);
/* Flushes the buffers from every cache. Returns false if this processor cannot flush by address. */
bool guarded_flush(const struct guarded *g, int first, int n);
/* *bytes: size of the buffers' pages; *huge: how many of these bytes are in huge pages (0: unknown,
 * or huge pages were not asked for). */
void guarded_pages(const struct guarded *g, int64_t *bytes, int64_t *huge);
/* Copies the buffers that the kernel writes to their copies in the file. */
void guarded_collect(struct guarded *g, int first, int n);
/* Whether the buffers that are results equal their copies bit by bit. */
bool guarded_same(const struct guarded *g, int first, int n);
/* Overwrites the buffers that the kernel writes with poison: all words if `few` is NULL, else a few
 * random words that are not poison in the copy. With `few`, all other words keep their values. */
void guarded_poison(struct guarded *g, int first, int n, struct rng *few);
/* Describes where an address lies relative to the buffers. Safe in a signal handler. */
void guarded_locate(const struct guarded *g, uint64_t address, struct fault *out);
#endif
