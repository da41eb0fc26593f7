#include "profile/sim/cachesim_level.h"
#include "kernels/base/arena.h"

#include <stdlib.h>
#include <string.h>

void cachesim_level_open(struct level *v, const struct cache_level *c, uint64_t seed)
{
    const struct cache_geometry *g = &c->geometry;
    *v = (struct level){ .ways = g->ways, .replace = c->replace, .inclusive = c->inclusive };
    v->sets = (uint64_t)(g->size_bytes / ((int64_t)g->ways * g->line_bytes));
    v->mask = v->sets - 1;
    v->is_inline = v->replace == REPLACE_LRU && (v->sets & v->mask) == 0
                 && v->ways == LEVEL_STEP;
    v->stride = (g->ways + LEVEL_STEP - 1) / LEVEL_STEP * LEVEL_STEP;
    v->way = xcalloc(v->sets * (uint64_t)v->stride, sizeof *v->way);
    v->random = seed * 0x9e3779b97f4a7c15u | 1;
    v->tree_depth = __builtin_ctz((unsigned)g->ways);
    if (v->replace == REPLACE_PLRU)
        v->tree = xcalloc(v->sets, sizeof *v->tree);
}

void cachesim_level_close(struct level *v)
{
    free(v->way);
    free(v->tree);
}

void cachesim_level_flush(struct level *v)
{
    memset(v->way, 0, v->sets * (uint64_t)v->stride * sizeof *v->way);
    if (v->tree)
        memset(v->tree, 0, v->sets * sizeof *v->tree);
}

/* Returns the set of a line. If the number of sets is not a power of two, this needs a division. It
 * is done in 32 bits if the numbers fit, because that is much cheaper. */
static uint32_t *set_of(const struct level *v, uint64_t line)
{
    uint64_t set = (v->sets & v->mask) == 0 ? line & v->mask
                 : (line | v->sets) >> 32 == 0 ? (uint32_t)line % (uint32_t)v->sets
                 : line % v->sets;
    return v->way + set * (uint64_t)v->stride;
}

static uint64_t *tree_of(struct level *v, const uint32_t *set)
{
    return v->tree + (set - v->way) / v->stride;
}

/* Makes every node on the path to way w point to the half without w. */
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

/* Returns a random way, by xorshift64 (Marsaglia 2003). */
static int random_victim(struct level *v)
{
    v->random ^= v->random << 13;
    v->random ^= v->random >> 7;
    v->random ^= v->random << 17;
    return (int)((v->random >> 33) % (uint64_t)v->ways);
}

uint32_t cachesim_level_use_other(struct level *v, uint64_t line, uint32_t flags)
{
    uint32_t *set = set_of(v, line);
    if (v->replace == REPLACE_LRU)
        return level_use_in(set, v->stride, line, flags);
    int w = level_find(set, v->stride, line);
    if (w < 0)
        return 0;
    if (v->replace == REPLACE_PLRU)
        tree_use(v, set, w);
    uint32_t held = set[w];
    set[w] = (held & ~PREFETCHED) | flags;
    return held;
}

uint32_t cachesim_level_place_other(struct level *v, uint64_t line, uint32_t flags)
{
    uint32_t *set = set_of(v, line);
    int w = 0;
    if (v->replace == REPLACE_LRU)
        return level_place_in(set, v->ways, line, flags);
    while (w < v->ways && set[w])
        w++;
    if (w == v->ways)
        w = v->replace == REPLACE_PLRU ? tree_victim(v, set) : random_victim(v);
    if (v->replace == REPLACE_PLRU)
        tree_use(v, set, w);
    uint32_t victim = set[w];
    set[w] = way_key(line) | flags;
    return victim;
}

uint32_t cachesim_level_drop(struct level *v, uint64_t line)
{
    uint32_t *set = set_of(v, line);
    int w = level_find(set, v->stride, line);
    if (w < 0)
        return 0;
    uint32_t held = set[w];
    for (; v->replace == REPLACE_LRU && w + 1 < v->ways; w++)
        set[w] = set[w + 1];
    set[w] = 0;
    return held;
}

bool cachesim_level_has(const struct level *v, uint64_t line)
{
    return level_find(set_of(v, line), v->stride, line) >= 0;
}
