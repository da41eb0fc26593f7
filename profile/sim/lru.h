/* A fully associative cache with LRU replacement, in constant time per touch.  A miss of a
 * set-associative cache of the same size is a conflict miss if this cache hits; else it is a
 * capacity or a compulsory miss. */
#ifndef TS_PROFILE_LRU_H
#define TS_PROFILE_LRU_H
#include <stdbool.h>
#include <stdint.h>

struct lru;
/* room: the number of lines that the cache holds.  Touched lines are 0 to n_lines - 1, below
 * 2^31. */
struct lru *lru_open(int64_t room, int64_t n_lines);
void lru_close(struct lru *r);
bool lru_touch(struct lru *r, int64_t line);             /* whether the cache held the line */
#endif
