/* Blame: the steps that made a loop what it is. */
#ifndef TS_EXPLORER_BLAME_H
#define TS_EXPLORER_BLAME_H
#include "explorer/history/history.h"

/* Appends the steps that vectorized, unrolled or parallelized the loops inside a loop of the
 * current state, if there are any: "; inside it, step 8 (...) set W.1 to unroll; step 3 (loop
 * split Conv W 4 14) made W.1".  Then the steps that gave its stage tiles, prefetches or the work
 * of other stages, or took such work away, except those that blame_loop lists: "; in the same
 * stage, step 4 (loop cache_write C at=K), step 5 (loop inline R)". */
void blame_inside(struct str *out, const struct history *h, const char *stage, const char *loop);
/* Appends the steps that made a loop of the current state, oldest first: "O.1 of Conv: step 3 (loop
 * split Conv O 16) made O.1; step 9 (...) set O.1 to vectorize".  If the loop was made of other
 * loops, also lists the steps that made those loops.  Steps are numbered from 1 along the
 * branch. */
void blame_loop(struct str *out, const struct history *h, const char *stage, const char *loop);
/* Appends one line for every loop of the current state, as blame_loop does; stage by stage, the
 * outermost loop first. */
void blame_print(struct str *out, const struct history *h);
#endif
