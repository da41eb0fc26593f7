/* Deterministic random numbers (xoshiro256**, seeded by splitmix64; Blackman and Vigna 2018). */
#ifndef TS_BASE_RNG_H
#define TS_BASE_RNG_H
#include <stdint.h>

struct rng { uint64_t s[4]; };

struct rng rng_seed(uint64_t seed);
uint64_t rng_u64(struct rng *r);
int64_t rng_range(struct rng *r, int64_t lo, int64_t hi);   /* uniform in [lo, hi], both included */
double rng_unit(struct rng *r);                             /* uniform in [0, 1) */
float rng_float(struct rng *r);                             /* uniform in [-1, 1) */
/* FNV-1a hashes, for content keys and hash tables. */
uint64_t hash_bytes(const void *data, uint64_t n, uint64_t seed);
uint64_t hash_text(const char *s);
#endif
