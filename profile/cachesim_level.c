#include "profile/cachesim_level.h"

#include <stdlib.h>
#include <string.h>

void level_open(struct level *v, const struct cache_level *c, uint64_t seed)
{
    const struct cache_geometry *g = &c->geometry;
    *v = (struct level){ .ways = g->ways, .replace = c->replace, .inclusive = c->inclusive };
    v->sets = (uint64_t)(g->size_bytes / ((int64_t)g->ways * g->line_bytes));
    v->mask = (v->sets & (v->sets - 1)) == 0 ? v->sets - 1 : 0;
    v->way = xcalloc(v->sets * (uint64_t)v->ways, sizeof *v->way);
    v->random = seed * 0x9e3779b97f4a7c15u | 1;
    v->tree_depth = __builtin_ctz((unsigned)g->ways);
    if (v->replace == REPLACE_PLRU)
        v->tree = xcalloc(v->sets, sizeof *v->tree);
}

void level_close(struct level *v)
{
    free(v->way);
    free(v->tree);
}

void level_flush(struct level *v)
{
    memset(v->way, 0, v->sets * (uint64_t)v->ways * sizeof *v->way);
    if (v->tree)
        memset(v->tree, 0, v->sets * sizeof *v->tree);
}

static uint64_t *tree_of(struct level *v, const uint64_t *set)
{
    return v->tree + (set - v->way) / v->ways;
}

/* Every node on the way to w points to its other half. */
static void tree_use(struct level *v, const uint64_t *set, int w)
{
    uint64_t *tree = tree_of(v, set), bits = *tree;
    for (unsigned bit = (unsigned)v->tree_depth, node = 1; bit-- > 0;) {
        unsigned right = (unsigned)w >> bit & 1;
        bits = right ? bits & ~(1ull << node) : bits | 1ull << node;
        node = 2 * node + right;
    }
    *tree = bits;
}

static int tree_victim(struct level *v, const uint64_t *set)
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

static int find(const struct level *v, const uint64_t *set, uint64_t line)
{
    uint64_t key = way_key(line);
    for (int w = 0; w < v->ways; w++)
        if ((set[w] ^ key) <= FLAGS)
            return w;
    return -1;
}

/* In front, and the w ways before it one back. */
static uint64_t *to_front(uint64_t *set, int w, uint64_t value)
{
    for (; w > 0; w--)
        set[w] = set[w - 1];
    set[0] = value;
    return set;
}

uint64_t *level_use(struct level *v, uint64_t line)
{
    uint64_t *set = level_set(v, line);
    int w = find(v, set, line);
    if (w < 0)
        return NULL;
    if (v->replace == REPLACE_LRU)
        return to_front(set, w, set[w]);
    if (v->replace == REPLACE_PLRU)
        tree_use(v, set, w);
    return &set[w];
}

uint64_t *level_place(struct level *v, uint64_t line, uint64_t *victim)
{
    uint64_t *set = level_set(v, line);
    int w = v->ways - 1;
    if (v->replace == REPLACE_LRU) {
        *victim = set[w];
        return to_front(set, w, way_key(line));
    }
    for (w = 0; w < v->ways && set[w]; w++)
        ;
    if (w == v->ways)
        w = v->replace == REPLACE_PLRU ? tree_victim(v, set) : random_victim(v);
    if (v->replace == REPLACE_PLRU)
        tree_use(v, set, w);
    *victim = set[w];
    set[w] = way_key(line);
    return &set[w];
}

uint64_t level_drop(struct level *v, uint64_t line)
{
    uint64_t *set = level_set(v, line);
    int w = find(v, set, line);
    if (w < 0)
        return 0;
    uint64_t held = set[w];
    for (; v->replace == REPLACE_LRU && w + 1 < v->ways; w++)
        set[w] = set[w + 1];
    set[w] = 0;
    return held;
}

bool level_has(const struct level *v, uint64_t line)
{
    return find(v, level_set(v, line), line) >= 0;
}
