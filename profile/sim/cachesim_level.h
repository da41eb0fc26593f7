/* One level of the simulated cache: sets, ways and replacement.  Private to profile/sim.
 *
 * A way is 32 bits: (line + 1) << 2 and two flags; 0 is an empty way.  Eight ways are compared at
 * once.  With LRU a set is kept in order of use: the most recently used line is in front, and empty
 * ways are at the end.  A used line moves to the front, and the victim is in the last way.  With
 * the other policies lines stay in their ways.  Tree-PLRU keeps a bit for each inner node, which
 * points to the half used less recently; the children of node i are 2i and 2i + 1, and the root is
 * node 1.
 *
 * LRU with eight ways and a power of two of sets, as in many L1 caches, is inlined: without loops
 * and calls a miss costs half as much. */
#ifndef TS_PROFILE_CACHESIM_LEVEL_H
#define TS_PROFILE_CACHESIM_LEVEL_H
#include "profile/sim/sim_result.h"

#if defined __SSE2__
#include <emmintrin.h>
#endif

#define DIRTY 1u
#define PREFETCHED 2u                     /* fetched by a prefetcher and not used yet */
#define FLAGS 3u
#define LEVEL_STEP 8                      /* ways that are compared at once */

struct level {
    uint32_t *way;                        /* `stride` ways per set; those beyond `ways` stay 0 */
    uint64_t *tree;                       /* per set: the bits of tree-PLRU; NULL: other policy */
    uint64_t sets, mask;                  /* mask: sets - 1, valid when sets is a power of two */
    uint64_t random;
    int ways, stride, tree_depth;
    enum cache_replace replace;
    bool is_inline;                       /* LRU, eight ways, a power of two of sets */
    bool inclusive;
    struct level_count count;
};

void cachesim_level_open(struct level *v, const struct cache_level *c, uint64_t seed);
void cachesim_level_close(struct level *v);
void cachesim_level_flush(struct level *v);
/* Removes the line. Returns the previous value of its way, or 0 when the line was absent. */
uint32_t cachesim_level_drop(struct level *v, uint64_t line);
bool cachesim_level_has(const struct level *v, uint64_t line);
/* level_use and level_place (below) call these for levels that are not inlined. */
uint32_t cachesim_level_use_other(struct level *v, uint64_t line, uint32_t flags);
uint32_t cachesim_level_place_other(struct level *v, uint64_t line, uint32_t flags);

#define MOST_LINES (((uint64_t)1 << 30) - 1)           /* line numbers are below this */

static inline uint32_t way_key(uint64_t line)
{
    return (uint32_t)(line + 1) << 2;
}
static inline uint64_t way_line(uint32_t way)
{
    return (way >> 2) - 1;
}

#if defined __SSE2__
static inline __m128i level_four(const uint32_t *way)
{
    return _mm_loadu_si128((const __m128i *)way);
}

/* Returns the index of the way that holds `line`, or -1. set: the `stride` ways of its set. */
static inline int level_find(const uint32_t *set, int stride, uint64_t line)
{
    __m128i key = _mm_set1_epi32((int)way_key(line)), flags = _mm_set1_epi32(FLAGS);
    for (int w = 0; w < stride; w += LEVEL_STEP) {
        __m128i low = _mm_andnot_si128(flags, level_four(set + w));
        __m128i high = _mm_andnot_si128(flags, level_four(set + w + 4));
        __m128i same = _mm_packs_epi32(_mm_cmpeq_epi32(low, key), _mm_cmpeq_epi32(high, key));
        unsigned bytes = (unsigned)_mm_movemask_epi8(same);       /* two bits for each way */
        if (bytes)
            return w + __builtin_ctz(bytes) / 2;
    }
    return -1;
}

/* Shifts four ways back by one: the first gets the last way of `before`, each other way the value
 * of the way in front of it. */
static inline __m128i level_moved(__m128i before, __m128i four)
{
    return _mm_or_si128(_mm_slli_si128(four, 4), _mm_srli_si128(before, 12));
}

/* Returns `new` in the first n of four ways and `old` in the others. */
static inline __m128i level_first(int n, __m128i new, __m128i old)
{
    __m128i stay = _mm_cmpgt_epi32(_mm_setr_epi32(1, 2, 3, 4), _mm_set1_epi32(n));
    return _mm_or_si128(_mm_andnot_si128(stay, new), _mm_and_si128(stay, old));
}

/* Moves ways 0 to w - 1 back by one, to ways 1 to w (way w is overwritten), and puts `held` into
 * way 0. */
static inline void level_make_front(uint32_t *set, int w, uint32_t held)
{
    __m128i before = _mm_slli_si128(_mm_cvtsi32_si128((int)held), 12);
    for (int n = w + 1; n > 0; n -= LEVEL_STEP, set += LEVEL_STEP) {
        __m128i low = level_four(set), high = level_four(set + 4);
        __m128i new_low = level_moved(before, low), new_high = level_moved(low, high);
        if (n < LEVEL_STEP) {
            new_low = level_first(n, new_low, low);
            new_high = level_first(n - 4, new_high, high);
        }
        _mm_storeu_si128((__m128i *)set, new_low);
        _mm_storeu_si128((__m128i *)(set + 4), new_high);
        before = high;
    }
}
#else
static inline int level_find(const uint32_t *set, int stride, uint64_t line)
{
    uint32_t key = way_key(line);
    for (int w = 0; w < stride; w++)
        if ((set[w] & ~FLAGS) == key)
            return w;
    return -1;
}

static inline void level_make_front(uint32_t *set, int w, uint32_t held)
{
    for (; w > 0; w--)
        set[w] = set[w - 1];
    set[0] = held;
}
#endif

/* level_use and level_place for LRU, in one set. If stride or ways is a constant, compilers emit no
 * loop. */
static inline uint32_t level_use_in(uint32_t *set, int stride, uint64_t line, uint32_t flags)
{
    int w = level_find(set, stride, line);
    if (w < 0)
        return 0;
    uint32_t held = set[w];
    level_make_front(set, w, (held & ~PREFETCHED) | flags);
    return held;
}

static inline uint32_t level_place_in(uint32_t *set, int ways, uint64_t line, uint32_t flags)
{
    uint32_t victim = set[ways - 1];
    level_make_front(set, ways - 1, way_key(line) | flags);
    return victim;
}

static inline uint32_t level_use_inline(struct level *v, uint64_t line, uint32_t flags)
{
    return level_use_in(v->way + (line & v->mask) * LEVEL_STEP, LEVEL_STEP, line, flags);
}

static inline uint32_t level_place_inline(struct level *v, uint64_t line, uint32_t flags)
{
    return level_place_in(v->way + (line & v->mask) * LEVEL_STEP, LEVEL_STEP, line, flags);
}

/* Uses a line, if the level has it: the line becomes the most recently used one, gets `flags`, and
 * loses PREFETCHED. Returns the value that its way had before; 0: the line is absent. */
static inline uint32_t level_use(struct level *v, uint64_t line, uint32_t flags)
{
    return v->is_inline ? level_use_inline(v, line, flags) : cachesim_level_use_other(v, line,
                                                                                      flags);
}

/* Places an absent line in a way and makes it the most recently used.  Returns the previous value
 * of the way; 0: it was empty. */
static inline uint32_t level_place(struct level *v, uint64_t line, uint32_t flags)
{
    return v->is_inline ? level_place_inline(v, line, flags) : cachesim_level_place_other(v, line,
                                                                                          flags);
}
#endif
