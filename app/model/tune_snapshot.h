/* The latest snapshot of a search, shared by the thread of the search and the thread of the screen.
 * The search regularly stores a copy of its state; the screen reads the last copy.  To pause the
 * search, the screen makes it wait when it stores the next copy (tune_snapshot_hold). */
#ifndef TS_APP_TUNE_SNAPSHOT_H
#define TS_APP_TUNE_SNAPSHOT_H
#include "explorer/tune/view.h"
#include "sessions/tuning/tuning.h"

/* The phase of a search, as the screen shows it.
 * PREPARING: there is no copy yet.  LENDING: the search waits, or soon will, for another
 * measurement.  PAUSING, STOPPING: the user has asked for a pause or the end, but the search still
 * works.  FINISHING: the best candidates and the start are timed in turns, then the winner by
 * itself. */
enum tune_phase {
    TUNE_PREPARING, TUNE_RUNNING, TUNE_LENDING, TUNE_PAUSING, TUNE_PAUSED, TUNE_FINISHING,
    TUNE_STOPPING, TUNE_ENDED
};

/* The winner of a search that has ended.  known: whether there is one.  is_start: whether
 * the winner is the start, or has the same steps.  speedup: of the winner over the start; if the
 * start has won, of the best trial over the start; NAN: unknown.  in_turns: whether these two were
 * timed in turns.  low, high: the 95 % interval of the winner's speedup; 0: unknown.  trial: index
 * of the winner's trial; -1: unknown.  timed[n_timed]: the trials that were timed in turns after
 * the search (tuning_timed). */
struct tune_winner {
    bool known, is_start, in_turns; double ms, speedup, low, high; int trial;
    int n_timed; struct tuning_timed timed[TUNING_MOST_TIMED];
};

/* Returns how a trial was timed in turns; NULL: it was not. */
const struct tuning_timed *tune_winner_timed(const struct tune_winner *w, int trial);

struct tune_snapshot;
/* A snapshot is reference-counted: new has one reference, share adds one, the last drop frees
 * it. */
struct tune_snapshot *tune_snapshot_new(void);
/* Returns a flag that is owned by s.  If it is raised, the search ends, but still compares its best
 * candidates (struct tune_opts). */
struct cancel *tune_snapshot_stop(struct tune_snapshot *s);
struct tune_snapshot *tune_snapshot_share(struct tune_snapshot *s);
void tune_snapshot_drop(struct tune_snapshot *s);        /* s may be NULL */

/* For the thread of the search.  Stores a copy of v.  The trials of the last call must be the first
 * trials of v, unchanged.  Then waits while the search is held and not cancelled, but not at
 * STAGE_DONE.  Calls `told`, unless it is NULL, when the screen should redraw; the lock is not held
 * then. */
void tune_snapshot_put(struct tune_snapshot *s, const struct tune_view *v,
                       const struct cancel *cancel,
                       void (*told)(void *ctx, const struct tune_view *v), void *ctx);

/* For the thread of the screen.  tune_snapshot_lock takes the lock and returns the last copy, which
 * is valid until tune_snapshot_unlock; NULL: there is none yet, but the lock is taken.  The lock
 * must be released soon, because the search can be waiting for it. */
const struct tune_view *tune_snapshot_lock(struct tune_snapshot *s);
void tune_snapshot_unlock(struct tune_snapshot *s);
/* Holds the search (true) or lets it go on. */
void tune_snapshot_hold(struct tune_snapshot *s, bool hold);
/* Whether the search is waiting because it is held. */
bool tune_snapshot_waits(struct tune_snapshot *s);
unsigned tune_snapshot_version(struct tune_snapshot *s); /* number of changes so far */
#endif
