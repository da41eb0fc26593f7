/* Reuse distances: how many different lines were touched since the last touch of the same line
 * (the stack distance of Mattson).  O(log n) per touch.
 *
 * A point in time is the number of a touch; touching a line twice in a row counts as one touch.
 * Each point in time has a bit, which is set until its line is touched again.  The distance of a
 * line is then the number of set bits after the bit of its last touch.  A Fenwick tree counts the
 * set bits of whole words.  When all points in time are used up, those with a set bit are
 * renumbered from 0. */
#ifndef TS_PROFILE_REUSE_H
#define TS_PROFILE_REUSE_H
#include <stdint.h>

struct reuse;
struct reuse *reuse_open(int64_t n_lines);        /* lines 0 to n_lines - 1; n_lines <= 2^30 */
void reuse_close(struct reuse *r);
/* Touches a line and returns its reuse distance; -1: it was never touched before. */
int64_t reuse_touch(struct reuse *r, int64_t line);
#endif
