/* One level of the simulated cache: sets, ways, who has to leave.  Private to profile/cachesim*.c.
 *
 * A way holds ((line + 1) << 2) and two flags in 32 bits, so that four are compared at once; 0 is
 * an empty way.  LRU keeps the time of each way's last use, 0 for an empty one; tree-PLRU a bit
 * per inner node, in heap order from 1, that points to the half used less recently. */
#ifndef TS_PROFILE_CACHESIM_LEVEL_H
#define TS_PROFILE_CACHESIM_LEVEL_H
#include "profile/cachesim.h"

#define DIRTY 1u
#define PREFETCHED 2u                     /* brought in by a prefetcher and not used yet */
#define FLAGS 3u

struct level {
    uint32_t *way;                        /* stride of them per set; those behind ways stay 0 */
    uint64_t *when, *tree, now;
    uint64_t sets, mask;                  /* mask: sets - 1 when sets is a power of two, else 0 */
    uint64_t random;
    int ways, stride, tree_depth;
    enum cache_replace replace;
    bool inclusive;
    struct level_count count;
};

void level_open(struct level *v, const struct cache_level *c, uint64_t seed);
void level_close(struct level *v);
void level_flush(struct level *v);
/* The way that holds line, which is now the most recently used; NULL. */
uint32_t *level_use(struct level *v, uint64_t line);
/* A way for a line that is absent, now the most recently used.  *victim: what it held; 0: nothing.
 */
uint32_t *level_place(struct level *v, uint64_t line, uint32_t *victim);
/* The line leaves; what its way held, 0: it was not there. */
uint32_t level_drop(struct level *v, uint64_t line);
bool level_has(const struct level *v, uint64_t line);

#define MOST_LINES ((uint64_t)1 << 30)    /* line numbers stay below, less one */

static inline uint32_t way_key(uint64_t line)
{
    return (uint32_t)(line + 1) << 2;
}
static inline uint64_t way_line(uint32_t way)
{
    return (way >> 2) - 1;
}
/* Not a power of two: addresses are small, and a 32-bit division is much the cheaper one. */
static inline uint32_t *level_set(const struct level *v, uint64_t line)
{
    uint64_t set = v->mask || v->sets == 1 ? line & v->mask
                 : (line | v->sets) >> 32 == 0 ? (uint32_t)line % (uint32_t)v->sets
                 : line % v->sets;
    return v->way + set * (uint64_t)v->stride;
}
#endif
