/* The cache simulator: one level, set-associative, LRU, write-back with write-allocate (SPEC,
 * DESIGN section 3). Fed by the kernel's own address trace; attributes every access to its site.
 * Any number of sets (not only powers of 2). */
#ifndef TS_PROFILE_CACHESIM_H
#define TS_PROFILE_CACHESIM_H
#include <stdbool.h>
#include <stdint.h>
#include "kernels/base/err.h"
#include "kernels/gen/gen.h"

struct cache_geometry { int64_t size_bytes; int ways; int line_bytes; };

/* accesses = records (a vector load is one); misses = lines that were not there, an access across
 * two lines can miss twice. */
struct site_count { int64_t accesses, misses; };

struct cachesim;
/* ERR_RANGE with the reason when the geometry makes no sense (size not a multiple of ways *
 * line...). */
bool cachesim_open(const struct cache_geometry *g, int n_sites, struct cachesim **out,
                   struct err *e);
void cachesim_close(struct cachesim *s);
/* This site writes: the lines it touches become dirty. */
void cachesim_store_site(struct cachesim *s, int site);
/* Every record has at least one byte; one with an unknown site is ignored. */
void cachesim_run(struct cachesim *s, const struct ts_rec *rec, long n);
const struct site_count *cachesim_counts(const struct cachesim *s);   /* n_sites of them */
int64_t cachesim_writebacks(const struct cachesim *s);
void cachesim_flush(struct cachesim *s);  /* empty the cache; every count stays as it is */
/* What cachesim_open accepts: line a power of two from 4 to 4096 bytes, size = sets * ways *
 * line, at most 2^26 lines. */
bool cache_geometry_check(const struct cache_geometry *g, struct err *e);
/* "32K/8/64" (size/ways/line; K, M, G are powers of 1024) <-> geometry. */
bool cache_geometry_parse(const char *text, struct cache_geometry *out, struct err *e);
void cache_geometry_print(struct str *out, const struct cache_geometry *g);
#endif
