/* What the cache simulator models, and its text form: "32K/8/64,1M/16/64/plru,prefetch=lines:4".
 *
 *   CACHE   = (PRESET | LEVEL{,LEVEL}){,OPTION}     L1 first, at most CACHE_LEVELS levels
 *   LEVEL   = SIZE/WAYS/LINE[/lru|plru|random][/inclusive]      K, M and G are powers of 1024
 *   OPTION  = replace=lru|plru|random                of every level
 *           | prefetch=none|next|lines:N|stride[:DEGREE[:CONFIRM]]
 *           | levels=N                               only the first N of a preset
 *           | seed=N                                 of random replacement
 * Presets (presets.def): `host`, this machine, and the machines of the papers. */
#ifndef TS_PROFILE_CACHE_CONFIG_H
#define TS_PROFILE_CACHE_CONFIG_H
#include <stdbool.h>
#include <stdint.h>
#include "kernels/base/err.h"
#include "kernels/base/str.h"

struct cache_geometry { int64_t size_bytes; int ways; int line_bytes; };

#define CACHE_LEVELS 3
#define CACHE_PAGE_BYTES 4096              /* no prefetcher leaves the page of what set it off */
#define CACHE_MAX_DEGREE 64

/* LRU; tree pseudo-LRU (ways a power of two: a binary tree of bits per set, each pointing away
 * from what was used last); random: an empty way, else one drawn by a seeded generator. */
enum cache_replace { REPLACE_LRU, REPLACE_PLRU, REPLACE_RANDOM, REPLACE_COUNT };
extern const char *const cache_replace_name[REPLACE_COUNT];

/* All at L1, of lines that L1 does not have, never beyond the page:
 *   next    a miss on a line also fetches the next line
 *   lines   a miss fetches `degree` consecutive lines, the missed one and those behind it
 *   stride  per access site; trained by what misses L1 or is the first to use a prefetched line.
 *           The step in bytes from one such access to the next, seen `confirm` times in a row
 *           (1: at its first repetition), fetches the `degree` lines that follow at that step. */
enum cache_prefetch {
    PREFETCH_NONE, PREFETCH_NEXT, PREFETCH_LINES, PREFETCH_STRIDE, PREFETCH_COUNT
};
extern const char *const cache_prefetch_name[PREFETCH_COUNT];

struct cache_level {
    struct cache_geometry geometry;
    enum cache_replace replace;
    bool inclusive;                        /* what leaves this level leaves those above, too */
};
/* All zero: this host, as far as it is known, LRU, no prefetching. */
struct cache_config {
    int n_levels;                          /* 0: this host's */
    int most_levels;                       /* with 0: only so many of them; 0: all */
    struct cache_level level[CACHE_LEVELS];
    enum cache_prefetch prefetch;
    int degree, confirm;                   /* LINES: degree; STRIDE: both */
    uint64_t seed;
};

/* What can be simulated: a line a power of two from 4 to 4096 bytes, size = sets * ways * line, at
 * most 2^26 lines.  ERR_RANGE with the reason. */
bool cache_geometry_check(const struct cache_geometry *g, struct err *e);
/* "32K/8/64" (size/ways/line) <-> geometry.  ERR_SYNTAX. */
bool cache_geometry_parse(const char *text, struct cache_geometry *out, struct err *e);
void cache_geometry_print(struct str *out, const struct cache_geometry *g);

/* Every level, and that they fit together: equal lines, tree-PLRU with ways a power of two, an
 * inclusive level no smaller than the one above it. */
bool cache_config_check(const struct cache_config *c, struct err *e);
/* ERR_SYNTAX, ERR_NAME or ERR_RANGE with the column in text, and what would be right. */
bool cache_config_parse(const char *text, struct cache_config *out, struct err *e);
/* Canonical; parsing it gives *c again. */
void cache_config_print(struct str *out, const struct cache_config *c);
/* c with the levels of the host in place of none: those given that are known (size not 0). */
struct cache_config cache_config_on(const struct cache_config *c, const struct cache_geometry *l1,
                                    const struct cache_geometry *l2,
                                    const struct cache_geometry *l3);

struct cache_preset { const char *name, *text, *what; };
extern const struct cache_preset cache_preset[];
extern const int cache_preset_count;
#endif
