/* The kernel's buffers inside the runner, each between inaccessible pages, so that a stray access
 * is a fault with a name instead of a wrong number elsewhere. */
#ifndef TS_PROFILE_FENCE_H
#define TS_PROFILE_FENCE_H
#include "kernels/base/rng.h"
#include "profile/child/protocol.h"

struct fence;
/* sh is the mapped file; the copies in it are the buffers' contents.  ERR_ENV when there is no
 * address space. */
bool fence_open(struct shared *sh, struct fence **out, struct err *e);
/* The same room for the buffers that sh lists now, whose pages need not be found anew; they must be
 * placed.  False: they are not as large as those before. */
bool fence_reopen(struct fence *f, struct shared *sh);
void fence_close(struct fence *f);
float *const *fence_data(const struct fence *f);

/* Fills every buffer from its copy, but for one that is in its place and could only be read.
 * at_end: as near to the fence behind it as 64-byte alignment allows, for checking; else at the
 * start of a page, as the simulator assumes.  Buffers that the function does not write become
 * read-only, and the room up to the fences is filled with a pattern that reads as NaN. */
bool fence_place(struct fence *f, bool at_end, struct err *e);
/* The same for the n buffers from `first` on; the others stay as they are. */
bool fence_place_some(struct fence *f, int first, int n, bool at_end, struct err *e);
/* The pattern is whole (of buffers that are filled): else where the nearest damage lies. */
bool fence_whole(const struct fence *f, struct fault *damage);
/* Gives their pages of memory back, and moves them to other addresses if there is an rng: they must
 * be filled again. */
bool fence_drop(struct fence *f, int first, int n, struct rng *move, struct err *e);
/* Drives them out of every cache.  False: this processor cannot do that by address. */
bool fence_flush(const struct fence *f, int first, int n);
/* Bytes of the buffers' pages, and how many of them are in huge pages (0 when that is unknown or
 * was not asked for). */
void fence_pages(const struct fence *f, int64_t *bytes, int64_t *huge);
/* Of these buffers, the written ones -> their copies. */
void fence_collect(struct fence *f, int first, int n);
/* Are the results among these buffers the same as their copies, to the bit? */
bool fence_same(const struct fence *f, int first, int n);
/* Writes poison over these buffers' written elements: over all, or with an rng over a few that are
 * drawn, so that the rest looks right. */
void fence_spoil(struct fence *f, int first, int n, struct rng *few);
/* Where an address lies; safe in a signal handler. */
void fence_locate(const struct fence *f, uint64_t address, struct fault *out);
#endif
