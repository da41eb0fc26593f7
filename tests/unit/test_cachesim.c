/* The simulator, through the twin's filter, against an obvious slow twin without one, and against
 * traces counted by hand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "kernels/base/rng.h"
#include "profile/sim/cachesim.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static uint64_t seed = 1;

/* --- The slow twin: every way has a line and the time of its last use ------------------------- */

#define SITES 5

struct slow_way { bool used, dirty, fetched; uint64_t line; long when; };
struct slow_level {
    struct cache_level c;
    int64_t sets;
    struct slow_way *way;
    bool *tree;                            /* per set, 64 nodes: the older half is the right one */
    uint64_t random;
    struct level_count count;
};
struct slow {
    struct cache_config c;
    struct slow_level level[CACHE_LEVELS];
    long now;
    int64_t misses[SITES][CACHE_LEVELS];
    struct { uint64_t addr; int64_t step; int seen; } stride[SITES];
};

static void slow_open(struct slow *s, const struct cache_config *c)
{
    *s = (struct slow){ .c = *c };
    for (int k = 0; k < c->n_levels; k++) {
        struct slow_level *v = &s->level[k];
        v->c = c->level[k];
        v->sets = v->c.geometry.size_bytes / (v->c.geometry.ways * v->c.geometry.line_bytes);
        v->way = xcalloc((size_t)(v->sets * v->c.geometry.ways), sizeof *v->way);
        v->tree = xcalloc((size_t)v->sets * 64, sizeof *v->tree);
        v->random = (c->seed + (uint64_t)k + 1) * 0x9e3779b97f4a7c15u | 1;
    }
}

static void slow_close(struct slow *s)
{
    for (int k = 0; k < s->c.n_levels; k++) {
        free(s->level[k].way);
        free(s->level[k].tree);
    }
}

static struct slow_way *slow_set(struct slow_level *v, uint64_t line)
{
    return v->way + (int64_t)(line % (uint64_t)v->sets) * v->c.geometry.ways;
}

static struct slow_way *slow_find(struct slow_level *v, uint64_t line)
{
    struct slow_way *set = slow_set(v, line);
    for (int w = 0; w < v->c.geometry.ways; w++)
        if (set[w].used && set[w].line == line)
            return &set[w];
    return NULL;
}

/* Walks from the root to way w; at each node the other half becomes the older one. */
static void slow_used(struct slow *s, struct slow_level *v, struct slow_way *way)
{
    way->when = ++s->now;
    int64_t at = way - v->way;
    bool *tree = v->tree + at / v->c.geometry.ways * 64;
    int w = (int)(at % v->c.geometry.ways), node = 1;
    for (int lo = 0, n = v->c.geometry.ways; n > 1; n /= 2) {
        bool right = w >= lo + n / 2;
        tree[node] = !right;
        node = 2 * node + right;
        lo += right ? n / 2 : 0;
    }
}

static struct slow_way *slow_victim(struct slow_level *v, uint64_t line)
{
    struct slow_way *set = slow_set(v, line), *oldest = set;
    int n = v->c.geometry.ways, node = 1, lo = 0;
    for (int w = 0; w < n; w++)
        if (!set[w].used)
            return &set[w];
    for (int w = 0; w < n; w++)
        if (set[w].when < oldest->when)
            oldest = &set[w];
    if (v->c.replace == REPLACE_LRU)
        return oldest;
    if (v->c.replace == REPLACE_RANDOM) {
        v->random ^= v->random << 13;
        v->random ^= v->random >> 7;
        v->random ^= v->random << 17;
        return &set[(v->random >> 33) % (uint64_t)n];
    }
    bool *tree = v->tree + (set - v->way) / n * 64;
    for (; n > 1; n /= 2) {
        bool right = tree[node];
        node = 2 * node + right;
        lo += right ? n / 2 : 0;
    }
    return &set[lo];
}

static void slow_write_below(struct slow *s, int k, uint64_t line);

static void slow_insert(struct slow *s, int k, uint64_t line, bool dirty, bool fetched)
{
    struct slow_level *v = &s->level[k];
    struct slow_way *w = slow_victim(v, line), old = *w;
    *w = (struct slow_way){ .used = true, .line = line, .dirty = dirty, .fetched = fetched };
    slow_used(s, v, w);
    if (!old.used)
        return;
    for (int j = 0; v->c.inclusive && j < k; j++) {
        struct slow_way *above = slow_find(&s->level[j], old.line);
        old.dirty |= above && above->dirty;
        if (above)
            above->used = false;
    }
    if (old.dirty) {
        v->count.writebacks++;
        slow_write_below(s, k + 1, old.line);
    }
}

static void slow_write_below(struct slow *s, int k, uint64_t line)
{
    if (k == s->c.n_levels)
        return;
    struct slow_way *w = slow_find(&s->level[k], line);
    if (!w) {
        slow_insert(s, k, line, true, false);
        return;
    }
    w->dirty = true;
    slow_used(s, &s->level[k], w);
}

static void slow_fetch(struct slow *s, int k, uint64_t line, int site)
{
    if (k == s->c.n_levels)
        return;
    struct slow_level *v = &s->level[k];
    struct slow_way *w = slow_find(v, line);
    v->count.accesses += site >= 0;
    if (w) {
        slow_used(s, v, w);
        return;
    }
    if (site >= 0) {
        v->count.misses++;
        s->misses[site][k]++;
    } else {
        v->count.prefetches++;
    }
    slow_fetch(s, k + 1, line, site);
    slow_insert(s, k, line, false, false);
}

static void slow_prefetch(struct slow *s, uint64_t from, uint64_t to)
{
    uint64_t line = to / (uint64_t)s->c.level[0].geometry.line_bytes;
    if (from / 4096 != to / 4096 || slow_find(&s->level[0], line))
        return;
    s->level[0].count.prefetches++;
    slow_fetch(s, 1, line, -1);
    slow_insert(s, 0, line, false, true);
}

static void slow_train(struct slow *s, uint64_t addr, int site)
{
    int64_t step = (int64_t)(addr - s->stride[site].addr);
    bool again = step == s->stride[site].step && step != 0;
    s->stride[site].seen = again ? s->stride[site].seen + 1 : 0;
    s->stride[site].step = step;
    s->stride[site].addr = addr;
    for (int i = 1; s->stride[site].seen >= s->c.confirm && i <= s->c.degree; i++) {
        if (addr / 4096 != (addr + (uint64_t)(step * i)) / 4096)
            break;
        slow_prefetch(s, addr, addr + (uint64_t)(step * i));
    }
}

static void slow_line(struct slow *s, uint64_t addr, int site, bool store)
{
    uint64_t size = (uint64_t)s->c.level[0].geometry.line_bytes, line = addr / size;
    struct slow_way *w = slow_find(&s->level[0], line);
    bool missed = !w, first = w && w->fetched;
    if (w) {
        w->fetched = false;
        w->dirty |= store;
        slow_used(s, &s->level[0], w);
        s->level[0].count.useful += first;
    } else {
        s->level[0].count.misses++;
        s->misses[site][0]++;
        slow_fetch(s, 1, line, site);
        slow_insert(s, 0, line, store, false);
    }
    if (s->c.prefetch == PREFETCH_STRIDE && (missed || first))
        slow_train(s, addr, site);
    int n = s->c.prefetch == PREFETCH_NEXT ? 2 : s->c.prefetch == PREFETCH_LINES ? s->c.degree : 0;
    for (int i = 1; missed && i < n; i++)
        slow_prefetch(s, addr, (line + (uint64_t)i) * size);
}

static void slow_access(struct slow *s, uint64_t addr, int site, unsigned bytes, bool store)
{
    uint64_t size = (uint64_t)s->c.level[0].geometry.line_bytes;
    int64_t before = s->level[0].count.misses;
    for (uint64_t end = addr + bytes; addr < end; addr = (addr / size + 1) * size)
        slow_line(s, addr, site, store);
    before = s->level[0].count.misses - before;
    s->level[0].count.straddled += before > 1 ? before - 1 : 0;
}

static void compare(const struct slow *slow, const struct cachesim *fast)
{
    struct level_count got[CACHE_LEVELS];
    struct str text = {0};
    cache_config_print(&text, &slow->c);
    cachesim_levels(fast, got);
    for (int i = 0; i < SITES; i++)
        for (int k = 0; k < slow->c.n_levels; k++)
            if (cachesim_counts(fast)[i].misses[k] != slow->misses[i][k])
                fail_msg("%s: L%d misses of site %d: %lld, not %lld", str_text(&text), k + 1, i,
                         (long long)cachesim_counts(fast)[i].misses[k],
                         (long long)slow->misses[i][k]);
    for (int k = 0; k < slow->c.n_levels; k++)
        if (memcmp(&got[k], &slow->level[k].count, sizeof got[k]))
            fail_msg("%s: the counts of L%d differ", str_text(&text), k + 1);
    str_free(&text);
}

static void compare_random(struct rng *r, const struct cache_config *c, int accesses)
{
    struct slow slow;
    struct cachesim *fast;
    struct err e;
    slow_open(&slow, c);
    if (!cachesim_open(c, SITES, &fast, &e))
        fail_msg("%s", e.text);
    cachesim_store_site(fast, 1);
    cachesim_store_site(fast, 4);
    int64_t line = c->level[0].geometry.line_bytes, origin = rng_range(r, 0, 1 << 28) * 4, at = 0;
    int64_t size = c->level[c->n_levels - 1].geometry.size_bytes, step = 4 * rng_range(r, 1, 40);
    int64_t span = (size > 1 << 20 ? 1 << 20 : size) * rng_range(r, 1, 4);
    for (int i = 0; i < accesses; i++) {
        int how = (int)rng_range(r, 0, 7);
        at = how == 0 ? rng_range(r, 0, span) : how < 3 ? at + step
                                              : at + rng_range(r, -8, 2 * line);
        at = at < 0 ? 0 : at / 4 * 4;
        int site = (int)rng_range(r, 0, SITES - 1);
        unsigned bytes = 4u << rng_range(r, 0, 4);
        cachesim_access(fast, (uint64_t)(origin + at), (unsigned)site, bytes);
        slow_access(&slow, (uint64_t)(origin + at), site, bytes, site == 1 || site == 4);
    }
    compare(&slow, fast);
    cachesim_close(fast);
    slow_close(&slow);
}

/* One to three levels of any shape. */
static struct cache_config random_config(struct rng *r)
{
    struct cache_config c = { .n_levels = (int)rng_range(r, 1, 3), .seed = rng_u64(r) >> 40 };
    int line = 4 << rng_range(r, 0, 5);
    int64_t above = 0;
    for (int k = 0; k < c.n_levels; k++) {
        struct cache_level *v = &c.level[k];
        v->replace = (enum cache_replace)rng_range(r, 0, REPLACE_COUNT - 1);
        v->geometry.line_bytes = line;
        v->geometry.ways = v->replace == REPLACE_PLRU ? 1 << rng_range(r, 0, 4)
                                                      : (int)rng_range(r, 1, 16);
        int64_t set = (int64_t)v->geometry.ways * line;
        v->geometry.size_bytes = (above / set + rng_range(r, 1, 40)) * set;
        v->inclusive = k > 0 && rng_range(r, 0, 1);
        above = v->geometry.size_bytes;
    }
    c.prefetch = (enum cache_prefetch)rng_range(r, 0, PREFETCH_COUNT - 1);
    c.degree = c.prefetch == PREFETCH_LINES ? (int)rng_range(r, 2, 8)
             : c.prefetch == PREFETCH_STRIDE ? (int)rng_range(r, 1, 4) : 0;
    c.confirm = c.prefetch == PREFETCH_STRIDE ? (int)rng_range(r, 1, 3) : 0;
    return c;
}

static void equals_the_slow_twin(void **state)
{
    (void)state;
    struct rng r = rng_seed(seed);
    for (int i = 0; i < 600; i++) {
        struct cache_config c = random_config(&r);
        compare_random(&r, &c, 3000);
    }
}

static void equals_the_slow_twin_in_odd_shapes(void **state)
{
    static const char *const odd[] = {
        "32K/8/64", "4K/8/64", "512/8/64", "2K/8/64,16K/8/64/inclusive,prefetch=next",
        "64/1/64", "4096/64/64", "48K/12/64", "3M/12/64", "4/1/4", "36864/9/4096",
        "4096/64/64/plru", "32K/8/64,512K/8/64/inclusive,32M/16/64", "64/1/64,64/1/64/inclusive",
        "64/1/64,128/2/64/random,192/3/64/inclusive,prefetch=stride:3:1", "cortex-a76",
        "xeon-4110",
        "2K/2/64,2K/2/64/inclusive,prefetch=lines:8",
        "1K/4/64/plru,3K/3/64/inclusive,prefetch=next",
    };
    struct rng r = rng_seed(seed + 1);
    (void)state;
    for (int i = 0; i < COUNT_OF(odd); i++) {
        struct cache_config c;
        struct err e;
        if (!cache_config_parse(odd[i], &c, &e))
            fail_msg("%s: %s", odd[i], e.text);
        compare_random(&r, &c, 20000);
    }
}

/* --- By hand ---------------------------------------------------------------------------------- */

static struct cachesim *opened(const char *config, int n_sites)
{
    struct cache_config c;
    struct cachesim *s = NULL;
    struct err e;
    if (!cache_config_parse(config, &c, &e) || !cachesim_open(&c, n_sites, &s, &e))
        fail_msg("%s: %s", config, e.text);
    return s;
}

static struct level_count level(const struct cachesim *s, int k)
{
    struct level_count count[CACHE_LEVELS];
    cachesim_levels(s, count);
    return count[k];
}

/* One access per letter: A..H are the lines 0..7 of one set; lower case reads, upper case writes.
 */
struct hand { const char *trace; const char *config; int misses, writebacks; };

static void counts_by_hand(void **state)
{
    static const struct hand table[] = {
        { "aaaa", "384/2/64", 1, 0 },
        { "ababab", "384/2/64", 2, 0 },
        { "abcabc", "384/2/64", 6, 0 },               /* the pattern LRU is worst at */
        { "abacab", "384/2/64", 4, 0 },               /* c replaces b, b replaces c */
        { "Abcd", "384/2/64", 4, 1 },                 /* the dirty a leaves once */
        { "AbcaBd", "384/2/64", 6, 1 },               /* d replaces a, B stays */
        { "aAbc", "384/2/64", 3, 1 },                 /* a read line becomes dirty */
        { "abcdabcd", "768/4/64", 4, 0 },
        { "abcdeabcde", "768/4/64", 10, 0 },
        { "ABAB", "192/1/64", 4, 3 },
        /* The tree points at c once a and then d were used, whatever b is: LRU would drop b. */
        { "abcdade", "768/4/64/plru", 5, 0 },
        { "abcdadeb", "768/4/64/plru", 6, 0 },
        { "abcdadec", "768/4/64/plru", 5, 0 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        const struct hand *h = &table[i];
        struct cachesim *s = opened(h->config, 2);
        cachesim_store_site(s, 1);
        for (const char *p = h->trace; *p; p++) {
            bool store = *p < 'a';
            cachesim_access(s, (uint64_t)(*p - (store ? 'A' : 'a')) * 3 * 64, store, 4);
        }
        if (level(s, 0).misses != h->misses || level(s, 0).writebacks != h->writebacks)
            fail_msg("%s: %d misses, %d written back", h->trace, (int)level(s, 0).misses,
                     (int)level(s, 0).writebacks);
        cachesim_close(s);
    }
}

static void straddling_access_misses_twice(void **state)
{
    (void)state;
    static const struct { unsigned addr, bytes; int misses; } table[] = {
        { 60, 8, 2 }, { 0, 4, 2 }, { 64, 4, 2 }, { 100, 64, 3 }, { 256, 256, 7 },
    };
    struct cachesim *s = opened("4K/4/64", 1);
    for (int i = 0; i < COUNT_OF(table); i++) {
        cachesim_access(s, table[i].addr, 0, table[i].bytes);
        assert_int_equal(level(s, 0).misses, table[i].misses);
    }
    cachesim_close(s);
}

static void flush_empties_and_keeps_counts(void **state)
{
    (void)state;
    struct cachesim *s = opened("4K/4/64,8K/4/64", 1);
    cachesim_store_site(s, 0);
    cachesim_access(s, 4096, 0, 4);
    cachesim_flush(s);
    assert_int_equal(level(s, 0).misses, 1);
    cachesim_access(s, 4096, 0, 4);
    assert_int_equal(level(s, 0).misses, 2);
    assert_int_equal(level(s, 1).misses, 2);
    assert_int_equal(level(s, 0).writebacks, 0);
    cachesim_close(s);
}

/* Table 2 of ALT on the A76: a miss brings four lines, so that a block of 512 x T floats misses
 * once per 256 bytes. */
static void four_lines_a_miss(void **state)
{
    static const struct { int tile, misses; } table[] = {
        { 4, 32 }, { 16, 128 }, { 64, 512 }, { 256, 2048 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct cachesim *s = opened("cortex-a76", 1);
        for (int f = 0; f < 512 * table[i].tile; f += 4)
            cachesim_access(s, 0x10000000u + 4u * (unsigned)f, 0, 16);
        assert_int_equal(level(s, 0).misses, table[i].misses);
        assert_int_equal(level(s, 0).prefetches, 3 * table[i].misses);
        assert_int_equal(level(s, 0).useful, 3 * table[i].misses);
        cachesim_close(s);
    }
}

/* Rows of 32 floats, 4 KiB apart: each row is a page of its own, so nothing crosses into it. */
static void tile_walk(void **state)
{
    (void)state;
    struct cachesim *s = opened("64K/4/64,prefetch=lines:4", 1);
    for (int row = 0; row < 512; row++)
        for (int col = 0; col < 32; col += 4)
            cachesim_access(s, (uint64_t)(row * 1024 + col) * 4, 0, 16);
    assert_int_equal(level(s, 0).misses, 512);
    cachesim_close(s);
}

/* Every 256 bytes, within one page. */
static void strides_are_learned(void **state)
{
    (void)state;
    struct cachesim *s = opened("64K/4/64,prefetch=stride:3:1", 1);
    for (int i = 0; i < 16; i++)
        cachesim_access(s, (uint64_t)i * 256, 0, 4);
    /* 0 and 256 teach, 512 confirms and fetches three lines; each first use fetches one more. */
    assert_int_equal(level(s, 0).misses, 3);
    assert_int_equal(level(s, 0).prefetches, 13);
    assert_int_equal(level(s, 0).useful, 13);
    cachesim_close(s);
}

static void unknown_sites_are_ignored(void **state)
{
    (void)state;
    struct cachesim *s = opened("4K/4/64", 2);
    cachesim_access(s, 0, 7, 4);
    cachesim_access(s, 0, 1, 4);
    assert_int_equal(cachesim_counts(s)[0].misses[0], 0);
    assert_int_equal(cachesim_counts(s)[1].misses[0], 1);
    cachesim_close(s);
}

static void senseless_cache_is_refused(void **state)
{
    (void)state;
    struct cache_config c = { .n_levels = 1, .level[0].geometry = { 1000, 8, 64 } };
    struct cachesim *s = NULL;
    struct err e;
    assert_false(cachesim_open(&c, 1, &s, &e));
    assert_int_equal(e.code, ERR_RANGE);
    assert_non_null(strstr(e.fix, "512"));
    assert_null(s);
}

/* The last line that has a number is told from the others; the next one is refused. */
static void reach_ends_where_numbers_do(void **state)
{
    static const struct { const char *config; uint64_t end; bool ok; } table[] = {
        { "32K/8/64", ((uint64_t)1 << 36) - 64, true },
        { "32K/8/64", ((uint64_t)1 << 36) - 63, false },
        { "4K/4/4", ((uint64_t)1 << 32) - 4, true },
        { "4K/4/4", (uint64_t)1 << 32, false },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct cache_config c;
        struct err e;
        assert_true(cache_config_parse(table[i].config, &c, &e));
        assert_int_equal(cachesim_reaches(&c, table[i].end, &e), table[i].ok);
        if (!table[i].ok) {
            assert_int_equal(e.code, ERR_RANGE);
            assert_non_null(strstr(e.text, "MiB"));
            continue;
        }
        struct cachesim *s = opened(table[i].config, 1);
        for (int twice = 0; twice < 2; twice++) {
            cachesim_access(s, 0, 0, 4);
            cachesim_access(s, table[i].end - 4, 0, 4);
        }
        assert_int_equal(level(s, 0).misses, 2);
        cachesim_close(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_slow_twin),
        cmocka_unit_test(equals_the_slow_twin_in_odd_shapes),
        cmocka_unit_test(counts_by_hand),
        cmocka_unit_test(straddling_access_misses_twice),
        cmocka_unit_test(flush_empties_and_keeps_counts),
        cmocka_unit_test(four_lines_a_miss),
        cmocka_unit_test(tile_walk),
        cmocka_unit_test(strides_are_learned),
        cmocka_unit_test(unknown_sites_are_ignored),
        cmocka_unit_test(senseless_cache_is_refused),
        cmocka_unit_test(reach_ends_where_numbers_do),
    };
    const char *s = getenv("TS_SEED");
    seed = s ? strtoull(s, NULL, 10) : seed;
    printf("# seed %llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
