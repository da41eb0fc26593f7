#include "profile/cachesim_level.h"

#include <stdlib.h>
#include <string.h>

void level_open(struct level *v, const struct cache_level *c, uint64_t seed)
{
    const struct cache_geometry *g = &c->geometry;
    *v = (struct level){ .ways = g->ways, .replace = c->replace, .inclusive = c->inclusive };
    v->sets = (uint64_t)(g->size_bytes / ((int64_t)g->ways * g->line_bytes));
    v->mask = (v->sets & (v->sets - 1)) == 0 ? v->sets - 1 : 0;
    v->stride = (g->ways + 3) / 4 * 4;
    v->way = xcalloc(v->sets * (uint64_t)v->stride, sizeof *v->way);
    v->when = xcalloc(v->sets * (uint64_t)v->stride, sizeof *v->when);
    v->random = seed * 0x9e3779b97f4a7c15u | 1;
    v->tree_depth = __builtin_ctz((unsigned)g->ways);
    if (v->replace == REPLACE_PLRU)
        v->tree = xcalloc(v->sets, sizeof *v->tree);
}

void level_close(struct level *v)
{
    free(v->way);
    free(v->when);
    free(v->tree);
}

void level_flush(struct level *v)
{
    memset(v->way, 0, v->sets * (uint64_t)v->stride * sizeof *v->way);
    memset(v->when, 0, v->sets * (uint64_t)v->stride * sizeof *v->when);
    if (v->tree)
        memset(v->tree, 0, v->sets * sizeof *v->tree);
}

static uint64_t *tree_of(struct level *v, const uint32_t *set)
{
    return v->tree + (set - v->way) / v->stride;
}

/* Every node on the way to w points to its other half. */
static void tree_use(struct level *v, const uint32_t *set, int w)
{
    uint64_t *tree = tree_of(v, set), bits = *tree;
    for (unsigned bit = (unsigned)v->tree_depth, node = 1; bit-- > 0;) {
        unsigned right = (unsigned)w >> bit & 1;
        bits = right ? bits & ~(1ull << node) : bits | 1ull << node;
        node = 2 * node + right;
    }
    *tree = bits;
}

static int tree_victim(struct level *v, const uint32_t *set)
{
    uint64_t bits = *tree_of(v, set);
    unsigned node = 1;
    for (int i = 0; i < v->tree_depth; i++)
        node = 2 * node + (unsigned)(bits >> node & 1);
    return (int)(node - (1u << v->tree_depth));
}

/* xorshift64 (Marsaglia 2003). */
static int random_victim(struct level *v)
{
    v->random ^= v->random << 13;
    v->random ^= v->random >> 7;
    v->random ^= v->random << 17;
    return (int)((v->random >> 33) % (uint64_t)v->ways);
}

#if defined __SSE2__
typedef uint32_t four __attribute__((vector_size(16), aligned(4), may_alias));
typedef float four_floats __attribute__((vector_size(16)));

static inline int find(const struct level *v, const uint32_t *set, uint64_t line)
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
static inline int find(const struct level *v, const uint32_t *set, uint64_t line)
{
    uint32_t key = way_key(line);
    for (int w = 0; w < v->ways; w++)
        if ((set[w] & ~FLAGS) == key)
            return w;
    return -1;
}
#endif

static inline uint64_t *times_of(struct level *v, const uint32_t *set)
{
    return v->when + (set - v->way);
}

uint32_t *level_use(struct level *v, uint64_t line)
{
    uint32_t *set = level_set(v, line);
    int w = find(v, set, line);
    if (w < 0)
        return NULL;
    if (v->replace == REPLACE_LRU)
        times_of(v, set)[w] = ++v->now;
    else if (v->replace == REPLACE_PLRU)
        tree_use(v, set, w);
    return &set[w];
}

static int oldest(const uint64_t *when, int ways)
{
    int at = 0;
    uint64_t least = when[0];
    for (int w = 1; w < ways; w++) {
        at = when[w] < least ? w : at;
        least = when[w] < least ? when[w] : least;
    }
    return at;
}

uint32_t *level_place(struct level *v, uint64_t line, uint32_t *victim)
{
    uint32_t *set = level_set(v, line);
    int w = 0;
    if (v->replace == REPLACE_LRU) {
        uint64_t *when = times_of(v, set);
        w = oldest(when, v->ways);
        when[w] = ++v->now;
    } else {
        while (w < v->ways && set[w])
            w++;
        if (w == v->ways)
            w = v->replace == REPLACE_PLRU ? tree_victim(v, set) : random_victim(v);
        if (v->replace == REPLACE_PLRU)
            tree_use(v, set, w);
    }
    *victim = set[w];
    set[w] = way_key(line);
    return &set[w];
}

uint32_t level_drop(struct level *v, uint64_t line)
{
    uint32_t *set = level_set(v, line);
    int w = find(v, set, line);
    if (w < 0)
        return 0;
    uint32_t held = set[w];
    set[w] = 0;
    times_of(v, set)[w] = 0;
    return held;
}

bool level_has(const struct level *v, uint64_t line)
{
    return find(v, level_set(v, line), line) >= 0;
}
