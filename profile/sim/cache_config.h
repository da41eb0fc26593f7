/* What the cache simulator models, and its text form: "32K/8/64,1M/16/64/plru,prefetch=lines:4".
 *
 *   CACHE   = (PRESET | LEVEL{,LEVEL}){,OPTION}     L1 first, at most CACHE_LEVELS levels
 *   LEVEL   = SIZE/WAYS/LINE[/lru|plru|random][/inclusive]      K, M and G are powers of 1024
 *   OPTION  = replace=lru|plru|random                of every level
 *           | prefetch=none|next|lines:N|stride[:DEGREE[:CONFIRM]]
 *           | levels=N                               only the first N levels
 *           | seed=N                                 of random replacement
 * Presets (presets.def): `host`, this machine, and some processors. */
#ifndef TS_PROFILE_CACHE_CONFIG_H
#define TS_PROFILE_CACHE_CONFIG_H
#include <stdbool.h>
#include <stdint.h>
#include "kernels/base/err.h"
#include "kernels/base/str.h"

struct cache_geometry { int64_t size_bytes; int ways; int line_bytes; };

#define CACHE_LEVELS 3
/* bytes of a page: a prefetcher stays inside the page of the access that triggered it */
#define CACHE_PAGE_BYTES 4096
#define CACHE_MAX_DEGREE 64

/* Replacement policies.  All fill empty ways first.  LRU: the least recently used line.  PLRU: tree
 * pseudo-LRU, a binary tree of bits per set in which each bit points away from the half used last;
 * the number of ways must be a power of two, at most 64.  RANDOM: a way drawn by a seeded
 * generator. */
enum cache_replace { REPLACE_LRU, REPLACE_PLRU, REPLACE_RANDOM, REPLACE_COUNT };
extern const char *const cache_replace_name[REPLACE_COUNT];

/* Prefetchers.  All work at L1, fetch only lines that L1 does not have, and stay inside the page:
 *
 *     next    a miss on a line also fetches the next line
 *     lines   a miss fetches `degree` consecutive lines, the missed one first
 *     stride  each access site has its own.  It looks at the accesses that miss L1 or are the
 *             first to use a prefetched line. When the step in bytes between such accesses has
 *             repeated `confirm` times, the lines at the next `degree` steps are fetched. */
enum cache_prefetch {
    PREFETCH_NONE, PREFETCH_NEXT, PREFETCH_LINES, PREFETCH_STRIDE, PREFETCH_COUNT
};
extern const char *const cache_prefetch_name[PREFETCH_COUNT];

struct cache_level {
    struct cache_geometry geometry;
    enum cache_replace replace;
    bool inclusive;  /* evicting a line from this level also evicts it from the levels above */
};
/* A simulated cache. All zero: the known caches of this machine, LRU, no prefetcher. */
struct cache_config {
    int n_levels;                          /* number of levels; 0: as many as this machine has */
    int most_levels;                       /* with n_levels 0: most levels to use; 0: all */
    struct cache_level level[CACHE_LEVELS];
    enum cache_prefetch prefetch;
    int degree, confirm;  /* degree: for LINES and STRIDE; confirm: for STRIDE */
    uint64_t seed;
};

/* Checks that a cache can be simulated: the line is a power of two from 4 to 4096 bytes, size =
 * sets * ways * line, and there are at most 2^26 lines.  ERR_RANGE with the reason. */
bool cache_geometry_check(const struct cache_geometry *g, struct err *e);
/* Convert between a geometry and its text, "32K/8/64" (size/ways/line). ERR_SYNTAX, or ERR_RANGE of
 * cache_geometry_check. */
bool cache_geometry_parse(const char *text, struct cache_geometry *out, struct err *e);
void cache_geometry_print(struct str *out, const struct cache_geometry *g);

/* Checks that a cache can be simulated.  There are 1 to CACHE_LEVELS levels.  Every level must pass
 * cache_geometry_check, have lines as long as those of L1, and with tree-PLRU a power of two of
 * ways, at most 64.  An inclusive level must not be smaller than the level above it.  ERR_RANGE
 * with the reason. */
bool cache_config_check(const struct cache_config *c, struct err *e);
/* Parses the text form. ERR_SYNTAX, ERR_NAME or ERR_RANGE; if a single word is wrong, with its
 * column. */
bool cache_config_parse(const char *text, struct cache_config *out, struct err *e);
/* Prints the canonical text; parsing it gives *c again. */
void cache_config_print(struct str *out, const struct cache_config *c);
bool cache_config_same(const struct cache_config *a, const struct cache_config *b);
/* Whether a and b surely have the same L1 misses. This is so if the levels that both have, the
 * prefetchers and the seeds are the same, and no additional level of a or b is inclusive. Needed
 * because a sampled simulation has only L1. */
bool cache_config_same_l1(const struct cache_config *a, const struct cache_config *b);
/* Returns *c.  If *c has no levels, the result has the levels of the host (l1, l2, l3), at most
 * most_levels.  It ends before the first level whose size is unknown (0) or whose lines are not as
 * long as those of L1. */
struct cache_config cache_config_on(const struct cache_config *c, const struct cache_geometry *l1,
                                    const struct cache_geometry *l2,
                                    const struct cache_geometry *l3);

struct cache_preset { const char *name, *text, *what; };
extern const struct cache_preset cache_preset[];
extern const int cache_preset_count;
#endif
