/* The latest snapshot of a search, shared by the search's thread and the screen's thread.  The
 * search stores copies; the screen reads the last one.  To pause the tuner, the screen holds the
 * search at its next snapshot. */
#ifndef TS_APP_TUNE_SNAPSHOT_H
#define TS_APP_TUNE_SNAPSHOT_H
#include "explorer/tune/view.h"
#include "sessions/tuning/tuning.h"

/* The phase of a search, as the screen shows it.
 * PREPARING: no snapshot exists yet.  LENDING: it waits while something else is measured.
 * PAUSING, STOPPING: requested, but a batch is still being measured.
 * FINISHING: the best candidates and the start are timed in turns, then the winner by itself. */
enum tune_phase {
    TUNE_PREPARING, TUNE_RUNNING, TUNE_LENDING, TUNE_PAUSING, TUNE_PAUSED, TUNE_FINISHING,
    TUNE_STOPPING, TUNE_ENDED
};

/* The winner of a search that has ended.  is_start: the winner is the start, since no candidate is
 * shown to be faster.  speedup: that of the winner over the start; if the start has won, that of
 * the search's best trial; NAN: unknown.  in_turns: whether both were timed in turns.  low, high:
 * its 95 % interval; 0: unknown.  trial: the index of the winner's trial, or -1: unknown.
 * timed: the trials that were timed in turns after the search (tuning_timed). */
struct tune_winner {
    bool known, is_start, in_turns; double ms, speedup, low, high; int trial;
    int n_timed; struct tuning_timed timed[TUNING_MOST_TIMED];
};

/* Returns the time in turns of a trial; NULL: it has none. */
const struct tuning_timed *tune_winner_timed(const struct tune_winner *w, int trial);

struct tune_snapshot;
/* A snapshot is reference-counted: new has one owner, share adds one, the last drop frees it. */
struct tune_snapshot *tune_snapshot_new(void);
/* Returns the flag that ends the search when it is raised; the best candidates are still compared
 * then (struct tune_opts). */
struct cancel *tune_snapshot_stop(struct tune_snapshot *s);
struct tune_snapshot *tune_snapshot_share(struct tune_snapshot *s);
void tune_snapshot_drop(struct tune_snapshot *s);        /* s may be NULL */

/* Called on the search's thread.  Copies v, which extends the trials of the last call; then waits
 * while the search is held and not cancelled.  Calls told (may be NULL) without the lock when the
 * screen should redraw. */
void tune_snapshot_put(struct tune_snapshot *s, const struct tune_view *v,
                       const struct cancel *cancel,
                       void (*told)(void *ctx, const struct tune_view *v), void *ctx);

/* Called on the screen's thread.  Locks and returns the last copy, valid until the unlock; NULL:
 * none so far.  Unlock soon, because the search may wait for the lock. */
const struct tune_view *tune_snapshot_lock(struct tune_snapshot *s);
void tune_snapshot_unlock(struct tune_snapshot *s);
void tune_snapshot_hold(struct tune_snapshot *s, bool hold);
/* Whether the search is held and does nothing. */
bool tune_snapshot_waits(struct tune_snapshot *s);
unsigned tune_snapshot_version(struct tune_snapshot *s); /* number of snapshots so far */
#endif
