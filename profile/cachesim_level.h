/* One level of the simulated cache: sets, ways, who has to leave.  Private to profile/cachesim*.c.
 *
 * A way holds ((line + 1) << 2) and two flags in 32 bits, so that four are compared at once; 0 is
 * an empty way.  LRU keeps a set in order of use, the latest first and empty ways last: a line
 * that is used moves to the front, and who has to leave is always in the last way, so that one
 * pass finds the line or, having passed every way, the victim.  The other policies leave lines in
 * their ways; tree-PLRU keeps a bit per inner node, in heap order from 1, that points to the half
 * used less recently.
 *
 * LRU is inline, being what each miss of nearly every simulation runs through at each level. */
#ifndef TS_PROFILE_CACHESIM_LEVEL_H
#define TS_PROFILE_CACHESIM_LEVEL_H
#include "profile/cachesim.h"

#include <string.h>

#define DIRTY 1u
#define PREFETCHED 2u                     /* brought in by a prefetcher and not used yet */
#define FLAGS 3u

struct level {
    uint32_t *way;                        /* stride of them per set; those behind ways stay 0 */
    uint64_t *tree;
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
/* The line leaves; what its way held, 0: it was not there. */
uint32_t level_drop(struct level *v, uint64_t line);
bool level_has(const struct level *v, uint64_t line);
/* level_use and level_place below, for the other policies. */
uint32_t *level_use_in_place(struct level *v, uint64_t line);
uint32_t *level_place_in_place(struct level *v, uint64_t line, uint32_t *victim);

#define MOST_LINES (((uint64_t)1 << 30) - 1)           /* line numbers stay below */

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

#if defined __SSE2__
typedef uint32_t four __attribute__((vector_size(16), aligned(4), may_alias));
typedef float four_floats __attribute__((vector_size(16)));

/* The way that holds line, or -1. */
static inline int level_find(const struct level *v, const uint32_t *set, uint64_t line)
{
    uint32_t key = way_key(line);
    for (int w = 0; w < v->stride; w += 4) {
        four same = (four)((*(const four *)(set + w) & ~FLAGS) == key);
        int mask = __builtin_ia32_movmskps((four_floats)same);
        if (mask)
            return w + __builtin_ctz((unsigned)mask);
    }
    return -1;
}
#else
static inline int level_find(const struct level *v, const uint32_t *set, uint64_t line)
{
    uint32_t key = way_key(line);
    for (int w = 0; w < v->ways; w++)
        if ((set[w] & ~FLAGS) == key)
            return w;
    return -1;
}
#endif

/* Ways 0 to w - 1 move one back, over what w held; from the end, four at a time. */
static inline void level_make_front(uint32_t *set, int w)
{
    for (; w >= 4; w -= 4)
        memmove(set + w - 3, set + w - 4, 4 * sizeof *set);
    for (; w > 0; w--)
        set[w] = set[w - 1];
}

/* The way that holds line, which is now the most recently used; NULL. */
static inline uint32_t *level_use(struct level *v, uint64_t line)
{
    if (v->replace != REPLACE_LRU)
        return level_use_in_place(v, line);
    uint32_t *set = level_set(v, line);
    int w = level_find(v, set, line);
    if (w < 0)
        return NULL;
    uint32_t held = set[w];
    level_make_front(set, w);
    set[0] = held;
    return set;
}

/* A way for a line that is absent, now the most recently used.  *victim: what it held; 0: nothing.
 */
static inline uint32_t *level_place(struct level *v, uint64_t line, uint32_t *victim)
{
    if (v->replace != REPLACE_LRU)
        return level_place_in_place(v, line, victim);
    uint32_t *set = level_set(v, line);
    *victim = set[v->ways - 1];
    level_make_front(set, v->ways - 1);
    set[0] = way_key(line);
    return set;
}
#endif
