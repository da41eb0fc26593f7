/* Reuse distances: how many different lines were touched since the same line was touched last
 * (Mattson's stack distance).  O(log n) a touch.
 *
 * Time is a number per touch, except that touching a line twice in a row is one touch.  A bit per
 * moment says whether some line was touched last then; the distance is the number of bits set
 * behind the line's own.  Bits are counted by words, words by a Fenwick tree.  When time runs out,
 * the moments are renumbered without the gaps. */
#ifndef TS_PROFILE_REUSE_H
#define TS_PROFILE_REUSE_H
#include <stdint.h>

struct reuse;
struct reuse *reuse_open(int64_t n_lines);             /* lines 0 to n_lines - 1; at most 2^31 */
void reuse_close(struct reuse *r);
/* -1: never touched before. */
int64_t reuse_touch(struct reuse *r, int64_t line);
#endif
