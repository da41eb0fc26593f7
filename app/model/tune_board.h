/* Where the search and the screen meet: the search puts up a copy of what it shows, the screen
 * looks at it, and may hold the search there, which is how it is paused.  Two threads, one lock. */
#ifndef TS_APP_TUNE_BOARD_H
#define TS_APP_TUNE_BOARD_H
#include "explorer/tune/view.h"

struct tune_board;
/* With one owner; board_share is another one, and the last board_drop frees it. */
struct tune_board *board_new(void);
struct tune_board *board_share(struct tune_board *b);
void board_drop(struct tune_board *b);                   /* NULL is fine */

/* On the search's thread.  Copies v, whose first trials are those of the last time; then waits
 * while it is held, until cancelled.  told is called when there is something new to see, without
 * the lock; NULL is fine. */
void board_put(struct tune_board *b, const struct tune_view *v, const struct cancel *cancel,
               void (*told)(void *ctx, const struct tune_view *v), void *ctx);

/* On the screen's.  What was put up last, good until board_unlock; v NULL: nothing so far.  Not for
 * long: the search may be waiting. */
const struct tune_view *board_lock(struct tune_board *b);
void board_unlock(struct tune_board *b);
void board_hold(struct tune_board *b, bool hold);
bool board_waits(struct tune_board *b);                  /* the search is held now: nothing runs */
unsigned board_version(struct tune_board *b);            /* of what there is to see; from 0 */
#endif
