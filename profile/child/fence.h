/* The buffers of the kernel inside the runner.  Each lies between guard pages, so that an access
 * outside of it is a fault that can be reported, instead of a wrong number elsewhere. */
#ifndef TS_PROFILE_FENCE_H
#define TS_PROFILE_FENCE_H
#include "kernels/base/rng.h"
#include "profile/child/protocol.h"

struct fence;
/* Allocates the guarded buffers. sh is the mapped file, whose copies are the contents of the
 * buffers.  ERR_ENV when there is no address space. */
bool fence_open(struct shared *sh, struct fence **out, struct err *e);
/* Reuses the memory for the buffers that sh lists now, without new pages.  They must then be
 * placed.  False when their sizes differ from those before. */
bool fence_reopen(struct fence *f, struct shared *sh);
void fence_close(struct fence *f);
void *const *fence_data(const struct fence *f);

/* Fills every buffer from its copy, except one that is already in place and can only have been
 * read. at_end: the buffer lies as near to the following guard page as 64-byte alignment allows
 * (for checking); else at the start of a page, as the simulator assumes.  Buffers that the
 * function does not write become read-only.  The space up to the guard pages is filled with a
 * pattern that reads as NaN. */
bool fence_place(struct fence *f, bool at_end, struct err *e);
/* fence_place for the n buffers from `first` on; the others do not change. */
bool fence_place_some(struct fence *f, int first, int n, bool at_end, struct err *e);
/* Whether the pattern around the filled buffers is intact.  If not, *damage is the nearest place
 * that was overwritten. */
bool fence_whole(const struct fence *f, struct fault *damage);
/* Returns the pages of these buffers to the system, and with an rng moves them to other
 * addresses.  They must be filled again. */
bool fence_drop(struct fence *f, int first, int n, struct rng *move, struct err *e);
/* Flushes these buffers from every cache. False: this processor cannot flush by address. */
bool fence_flush(const struct fence *f, int first, int n);
/* Stores the bytes of the buffers' pages, and how many of them are in huge pages (0 when unknown
 * or not asked for). */
void fence_pages(const struct fence *f, int64_t *bytes, int64_t *huge);
/* Copies those of these buffers that the kernel writes to their copies in the file. */
void fence_collect(struct fence *f, int first, int n);
/* Whether the results among these buffers equal their copies bit by bit. */
bool fence_same(const struct fence *f, int first, int n);
/* Overwrites written words of these buffers with poison: all of them, or with an rng a few
 * random ones, so that the rest looks right. */
void fence_spoil(struct fence *f, int first, int n, struct rng *few);
/* Describes where an address lies relative to the buffers. Safe in a signal handler. */
void fence_locate(const struct fence *f, uint64_t address, struct fault *out);
#endif
