/* The cache simulator: up to three set-associative levels, write-back with write-allocate, and
 * prefetchers at L1 (cache_config.h; DESIGN section 3).  The instrumented kernel, or a caller of
 * cachesim_access, makes the accesses.
 *
 * The instrumented kernel filters accesses (gen.h, struct ts_sim): it has a slot for each group of
 * L1 sets, and does not report an access to the line that was last used in the slot, except for the
 * first store to a clean line.  The filter is exact.  The line last used in a slot is also the line
 * last used in its set. That line is in L1, and using it once more changes no LRU order, no bit of
 * a tree and no random state.  A slot is cleared when a set of it changes in another way: a line is
 * prefetched, or an inclusive level drops a line.
 *
 * Order of events in a demand miss: the line is fetched from the level below and placed; then the
 * line that it replaced is written to the level below, if it was dirty.  A write to a level uses
 * the line there; if the line is absent, it is placed without being fetched.  When an inclusive
 * level evicts a line, the copies in the levels above are dropped.  If any copy is dirty, the
 * inclusive level writes the line to the level below. */
#ifndef TS_PROFILE_CACHESIM_H
#define TS_PROFILE_CACHESIM_H
#include "kernels/gen/gen.h"
#include "profile/sim/sim_result.h"

struct cachesim;
/* A callback for every touch of a line in L1. missed: whether the line was absent from L1. */
typedef void touch_fn(void *ctx, uint64_t line, unsigned site, bool missed);
/* A callback for every line that enters L1. It is called before touch_fn is called for the access
 * that brought the line. evicted: the replaced line; -1: the way was empty. */
typedef void place_fn(void *ctx, uint64_t line, int64_t evicted);

/* Opens a simulator. ERR_RANGE with the reason when the cache cannot be simulated. */
bool cachesim_open(const struct cache_config *c, int n_sites, struct cachesim **out,
                   struct err *e);
void cachesim_close(struct cachesim *s);
/* Whether the simulator can represent all lines below the address `end`.  Line numbers are below
 * 2^30 - 1, so with lines of 64 bytes addresses end just below 64 GiB.  The text of ERR_RANGE names
 * `end` and the limit. */
bool cachesim_reaches(const struct cache_config *c, uint64_t end, struct err *e);
/* Declares that this site writes: the lines that it touches become dirty. */
void cachesim_store_site(struct cachesim *s, int site);
/* Turns the filter off and calls told(ctx, ...) for every touch of a line from now on. */
void cachesim_watch(struct cachesim *s, touch_fn *told, void *ctx);
/* Calls placed(ctx, ...) for every line that enters L1.  Call it after cachesim_watch. */
void cachesim_watch_places(struct cachesim *s, place_fn *placed);
/* Returns the struct to pass to the instrumented kernel. The caller fills in mark. */
struct ts_sim *cachesim_hooks(struct cachesim *s);
/* Makes one access as the instrumented kernel does, through the filter. bytes must be at least 1,
 * and cachesim_reaches must be true for the end of the access.  An unknown site is ignored. */
void cachesim_access(struct cachesim *s, uint64_t addr, unsigned site, unsigned bytes);
const struct site_count *cachesim_counts(const struct cachesim *s);      /* array of n_sites */
void cachesim_levels(const struct cachesim *s, struct level_count out[CACHE_LEVELS]);
void cachesim_flush(struct cachesim *s);  /* empties every level; counts do not change */
#endif
