/* Reuse distances: how many different lines were touched since the last touch of the same line
 * (the stack distance of Mattson).  O(log n) per touch.
 *
 * Time counts touches, except that touching a line twice in a row is one touch.  One bit per
 * point in time says whether it is the last touch of some line; the distance of a line is the
 * number of set bits after its own.  Bits are counted by words, words by a Fenwick tree.  When
 * the time range is used up, the points are renumbered without gaps. */
#ifndef TS_PROFILE_REUSE_H
#define TS_PROFILE_REUSE_H
#include <stdint.h>

struct reuse;
struct reuse *reuse_open(int64_t n_lines);             /* lines 0 to n_lines - 1; at most 2^31 */
void reuse_close(struct reuse *r);
/* Touches a line and returns its reuse distance; -1: it was never touched before. */
int64_t reuse_touch(struct reuse *r, int64_t line);
#endif
