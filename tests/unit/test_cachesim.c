/* The simulator against an obvious slow twin, and against traces counted by hand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "kernels/base/rng.h"
#include "profile/cachesim.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static uint64_t seed = 1;

/* --- The slow twin: every way has a line and the time of its last use ------------------------- */

struct slow_way { bool used, dirty; uint64_t line; long when; };
struct slow {
    struct cache_geometry g;
    int64_t sets;
    struct slow_way *way;
    long now;
    int64_t writebacks;
};

static struct slow_way *slow_find(struct slow *s, uint64_t line)
{
    struct slow_way *set = s->way + (int64_t)(line % (uint64_t)s->sets) * s->g.ways, *oldest = set;
    for (int w = 0; w < s->g.ways; w++)
        if (set[w].used && set[w].line == line)
            return &set[w];
    for (int w = 0; w < s->g.ways; w++) {
        if (!set[w].used)
            return &set[w];
        if (set[w].when < oldest->when)
            oldest = &set[w];
    }
    return oldest;
}

static int64_t slow_access(struct slow *s, uint64_t addr, unsigned bytes, bool store)
{
    int64_t misses = 0;
    uint64_t size = (uint64_t)s->g.line_bytes;
    for (uint64_t line = addr / size; line <= (addr + bytes - 1) / size; line++) {
        struct slow_way *w = slow_find(s, line);
        if (!w->used || w->line != line) {
            misses++;
            s->writebacks += w->used && w->dirty;
            *w = (struct slow_way){ .used = true, .line = line };
        }
        w->dirty |= store;
        w->when = ++s->now;
    }
    return misses;
}

#define SITES 5

static void compare_random(struct rng *r, const struct cache_geometry *g, int records)
{
    struct slow slow = { .g = *g, .sets = g->size_bytes / (g->ways * g->line_bytes) };
    struct cachesim *fast;
    struct site_count want[SITES] = {0};
    struct ts_rec *rec = xcalloc((size_t)records, sizeof *rec);
    struct err e;
    slow.way = xcalloc((size_t)(slow.sets * g->ways), sizeof *slow.way);
    assert_true(cachesim_open(g, SITES, &fast, &e));
    cachesim_store_site(fast, 1);
    cachesim_store_site(fast, 4);
    int64_t span = g->size_bytes * rng_range(r, 1, 4), at = 0, origin = rng_range(r, 0, 1 << 30);
    for (int i = 0; i < records; i++) {
        bool jump = rng_range(r, 0, 3) == 0;
        at = jump ? rng_range(r, 0, span) : at + rng_range(r, -8, 2 * g->line_bytes);
        at = at < 0 ? 0 : at;
        unsigned site = (unsigned)rng_range(r, 0, SITES - 1);
        unsigned bytes = 4u << rng_range(r, 0, 4);
        rec[i] = (struct ts_rec){ (uint64_t)(origin + at), site, bytes };
        want[site].accesses++;
        want[site].misses += slow_access(&slow, rec[i].addr, bytes, site == 1 || site == 4);
    }
    int cut = (int)rng_range(r, 0, records);
    cachesim_run(fast, rec, cut);
    cachesim_run(fast, rec + cut, records - cut);
    for (int i = 0; i < SITES; i++) {
        assert_int_equal(cachesim_counts(fast)[i].accesses, want[i].accesses);
        assert_int_equal(cachesim_counts(fast)[i].misses, want[i].misses);
    }
    assert_int_equal(cachesim_writebacks(fast), slow.writebacks);
    cachesim_close(fast);
    free(slow.way);
    free(rec);
}

static void equals_the_slow_twin(void **state)
{
    (void)state;
    struct rng r = rng_seed(seed);
    for (int i = 0; i < 300; i++) {
        struct cache_geometry g = { .ways = (int)rng_range(&r, 1, 16),
                                    .line_bytes = 4 << rng_range(&r, 0, 5) };
        g.size_bytes = (int64_t)g.ways * g.line_bytes * rng_range(&r, 1, 40);
        compare_random(&r, &g, 3000);
    }
}

static void equals_the_slow_twin_in_odd_shapes(void **state)
{
    static const struct cache_geometry odd[] = {
        { 64, 1, 64 }, { 4096, 64, 64 }, { 48 << 10, 12, 64 }, { 3 << 20, 12, 64 }, { 4, 1, 4 },
        { 36864, 9, 4096 },
    };
    struct rng r = rng_seed(seed + 1);
    (void)state;
    for (int i = 0; i < COUNT_OF(odd); i++)
        compare_random(&r, &odd[i], 20000);
}

/* --- By hand ---------------------------------------------------------------------------------- */

/* One record per letter: A..H are the lines 0..7 of one set; lower case reads, upper case writes.
 */
struct hand { const char *trace; int ways, misses, writebacks; };

static void counts_by_hand(void **state)
{
    static const struct hand table[] = {
        { "aaaa", 2, 1, 0 },
        { "ababab", 2, 2, 0 },
        { "abcabc", 2, 6, 0 },                /* the pattern LRU is worst at */
        { "abacab", 2, 4, 0 },                /* c replaces b, b replaces c */
        { "Abcd", 2, 4, 1 },                  /* the dirty a leaves once */
        { "AbcaBd", 2, 6, 1 },                /* d replaces the clean a, the dirty B stays */
        { "aAbc", 2, 3, 1 },                  /* a read line becomes dirty */
        { "abcdabcd", 4, 4, 0 },
        { "abcdeabcde", 4, 10, 0 },
        { "ABAB", 1, 4, 3 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        const struct hand *h = &table[i];
        struct cache_geometry g = { 64L * h->ways * 3, h->ways, 64 };
        struct cachesim *s;
        struct err e;
        assert_true(cachesim_open(&g, 2, &s, &e));
        cachesim_store_site(s, 1);
        for (const char *p = h->trace; *p; p++) {
            bool store = *p < 'a';
            struct ts_rec r = { (unsigned long long)(*p - (store ? 'A' : 'a')) * 3 * 64, store, 4 };
            cachesim_run(s, &r, 1);
        }
        const struct site_count *c = cachesim_counts(s);
        assert_int_equal(c[0].accesses + c[1].accesses, strlen(h->trace));
        if (c[0].misses + c[1].misses != h->misses || cachesim_writebacks(s) != h->writebacks)
            fail_msg("%s: %d misses, %d written back", h->trace, (int)(c[0].misses + c[1].misses),
                     (int)cachesim_writebacks(s));
        cachesim_close(s);
    }
}

static void straddling_access_misses_twice(void **state)
{
    (void)state;
    struct cache_geometry g = { 4096, 4, 64 };
    struct cachesim *s;
    struct err e;
    struct ts_rec r[] = { { 60, 0, 8 }, { 0, 0, 4 }, { 64, 0, 4 }, { 100, 0, 64 },
                          { 256, 0, 256 } };
    assert_true(cachesim_open(&g, 1, &s, &e));
    cachesim_run(s, r, 1);
    assert_int_equal(cachesim_counts(s)->misses, 2);
    cachesim_run(s, r + 1, 2);
    assert_int_equal(cachesim_counts(s)->misses, 2);
    cachesim_run(s, r + 3, 1);
    assert_int_equal(cachesim_counts(s)->misses, 3);
    cachesim_run(s, r + 4, 1);
    assert_int_equal(cachesim_counts(s)->misses, 7);
    assert_int_equal(cachesim_counts(s)->accesses, 5);
    cachesim_close(s);
}

static void flush_empties_and_keeps_counts(void **state)
{
    (void)state;
    struct cache_geometry g = { 4096, 4, 64 };
    struct cachesim *s;
    struct err e;
    struct ts_rec r = { 4096, 0, 4 };
    assert_true(cachesim_open(&g, 1, &s, &e));
    cachesim_store_site(s, 0);
    cachesim_run(s, &r, 1);
    cachesim_flush(s);
    assert_int_equal(cachesim_counts(s)->misses, 1);
    cachesim_run(s, &r, 1);
    assert_int_equal(cachesim_counts(s)->misses, 2);
    assert_int_equal(cachesim_writebacks(s), 0);
    cachesim_close(s);
}

/* Table 2 of ALT: rows of 32 floats. Contiguous rows miss once per 64 bytes; a far pitch once per
 * row and half. */
static void tile_walk(void **state)
{
    (void)state;
    struct cache_geometry g = { 64 << 10, 4, 64 };
    struct cachesim *s;
    struct err e;
    assert_true(cachesim_open(&g, 1, &s, &e));
    for (int row = 0; row < 512; row++)
        for (int col = 0; col < 32; col += 4) {
            struct ts_rec r = { (unsigned long long)(row * 1024 + col) * 4, 0, 16 };
            cachesim_run(s, &r, 1);
        }
    assert_int_equal(cachesim_counts(s)->accesses, 512 * 8);
    assert_int_equal(cachesim_counts(s)->misses, 512 * 2);
    cachesim_close(s);
}

static void unknown_sites_are_ignored(void **state)
{
    (void)state;
    struct cache_geometry g = { 4096, 4, 64 };
    struct cachesim *s;
    struct err e;
    struct ts_rec r[] = { { 0, 7, 4 }, { 0, 1, 4 } };
    assert_true(cachesim_open(&g, 2, &s, &e));
    cachesim_run(s, r, 2);
    assert_int_equal(cachesim_counts(s)[0].accesses, 0);
    assert_int_equal(cachesim_counts(s)[1].misses, 1);
    cachesim_close(s);
}

/* --- Geometry --------------------------------------------------------------------------------- */

struct geometry_row { const char *text; int64_t size; int ways, line; const char *print; };

static void geometry_parses(void **state)
{
    static const struct geometry_row good[] = {
        { "32K/8/64", 32768, 8, 64, "32K/8/64" }, { "48k/12/64", 49152, 12, 64, "48K/12/64" },
        { "1M/16/128", 1 << 20, 16, 128, "1M/16/128" },
        { "2G/16/64", 2147483648, 16, 64, "2G/16/64" },
        { "65536/4/64", 65536, 4, 64, "64K/4/64" }, { "1536/3/32", 1536, 3, 32, "1536/3/32" },
        { "1024K/8/64", 1 << 20, 8, 64, "1M/8/64" },
    };
    static const struct { const char *text; enum err_code code; } bad[] = {
        { "", ERR_SYNTAX }, { "32K", ERR_SYNTAX }, { "32K/8", ERR_SYNTAX },
        { "32K/8/64/1", ERR_SYNTAX },
        { "32K/8/64 ", ERR_SYNTAX }, { "K/8/64", ERR_SYNTAX }, { "-1/8/64", ERR_SYNTAX },
        { "32K/8K/64", ERR_SYNTAX }, { "32Q/8/64", ERR_SYNTAX }, { "32K//64", ERR_SYNTAX },
        { "99999999999999999999/8/64", ERR_SYNTAX }, { "9999999999G/8/64", ERR_SYNTAX },
        { "32K/99999999999/64", ERR_SYNTAX }, { "32K/0/64", ERR_RANGE }, { "0/8/64", ERR_RANGE },
        { "32K/8/48", ERR_RANGE }, { "32K/8/2", ERR_RANGE }, { "32K/8/8192", ERR_RANGE },
        { "33000/8/64", ERR_RANGE }, { "32K/2147483647/64", ERR_RANGE }, { "64G/16/64", ERR_RANGE },
    };
    struct err e;
    (void)state;
    for (int i = 0; i < COUNT_OF(good); i++) {
        struct cache_geometry g;
        struct str s = {0};
        assert_true(cache_geometry_parse(good[i].text, &g, &e));
        assert_int_equal(g.size_bytes, good[i].size);
        assert_int_equal(g.ways, good[i].ways);
        assert_int_equal(g.line_bytes, good[i].line);
        cache_geometry_print(&s, &g);
        assert_string_equal(str_text(&s), good[i].print);
        str_free(&s);
    }
    for (int i = 0; i < COUNT_OF(bad); i++) {
        struct cache_geometry g = { 1, 2, 3 };
        if (cache_geometry_parse(bad[i].text, &g, &e) || e.code != bad[i].code)
            fail_msg("\"%s\" was not refused as %s", bad[i].text, err_name(bad[i].code));
        assert_true(e.text[0]);
        assert_int_equal(g.size_bytes, 1);
    }
}

static void senseless_geometry_is_refused(void **state)
{
    (void)state;
    struct cache_geometry g = { 1000, 8, 64 };
    struct cachesim *s = NULL;
    struct err e;
    assert_false(cachesim_open(&g, 1, &s, &e));
    assert_int_equal(e.code, ERR_RANGE);
    assert_non_null(strstr(e.fix, "512"));
    assert_null(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_slow_twin),
        cmocka_unit_test(equals_the_slow_twin_in_odd_shapes),
        cmocka_unit_test(counts_by_hand),
        cmocka_unit_test(straddling_access_misses_twice),
        cmocka_unit_test(flush_empties_and_keeps_counts),
        cmocka_unit_test(tile_walk),
        cmocka_unit_test(unknown_sites_are_ignored),
        cmocka_unit_test(geometry_parses),
        cmocka_unit_test(senseless_geometry_is_refused),
    };
    const char *s = getenv("TS_SEED");
    seed = s ? strtoull(s, NULL, 10) : seed;
    printf("# seed %llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
