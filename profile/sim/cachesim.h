/* The cache simulator: up to three set-associative levels, write-back with write-allocate, and
 * prefetchers at L1 (cache_config.h; DESIGN section 3).  Fed by the kernel's tracing twin.
 *
 * Exactness of the twin's filter (gen.h, struct ts_sim): the twin keeps back an access to the line
 * that was last used in its slot.  A slot is a union of sets, so that line is the one last used in
 * its set as well; it is in L1, and using it once more changes no order of LRU, no bit of a tree
 * and no random state.  What changes a set behind the twin's back (a prefetched line, a line that
 * an inclusive level drops) clears its slot.
 *
 * Order of events in a demand miss: the line is fetched from the level below, takes its place, and
 * only then the line that it replaced is written below, if it was dirty.  A line written below is
 * used there, and made where it is absent without being fetched.  A dirty line that an inclusive
 * level throws out of the levels above is written with the level's own copy. */
#ifndef TS_PROFILE_CACHESIM_H
#define TS_PROFILE_CACHESIM_H
#include "kernels/gen/gen.h"
#include "profile/sim/sim_result.h"

struct cachesim;
/* Told of every touch of a line by an access that was not kept back; at L1. */
typedef void touch_fn(void *ctx, uint64_t line, unsigned site, bool missed);

/* ERR_RANGE with the reason when there can be no such cache. */
bool cachesim_open(const struct cache_config *c, int n_sites, struct cachesim **out,
                   struct err *e);
void cachesim_close(struct cachesim *s);
/* Can it tell the lines below this address apart?  They are numbered below 2^30 - 1: addresses end
 * just short of 64 GiB for lines of 64 bytes.  ERR_RANGE with both. */
bool cachesim_reaches(const struct cache_config *c, uint64_t end, struct err *e);
/* This site writes: the lines it touches become dirty. */
void cachesim_store_site(struct cachesim *s, int site);
/* From now on no access is kept back, and each is told. */
void cachesim_watch(struct cachesim *s, touch_fn *told, void *ctx);
/* What the twin is given; mark is the caller's to fill in. */
struct ts_sim *cachesim_hooks(struct cachesim *s);
/* One access as the twin makes it, through the filter.  At least one byte, within the reach; an
 * unknown site is ignored. */
void cachesim_access(struct cachesim *s, uint64_t addr, unsigned site, unsigned bytes);
const struct site_count *cachesim_counts(const struct cachesim *s);      /* n_sites of them */
void cachesim_levels(const struct cachesim *s, struct level_count out[CACHE_LEVELS]);
void cachesim_flush(struct cachesim *s);  /* empty every level; counts stay as they are */
#endif
