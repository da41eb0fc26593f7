/* The latest snapshot of a search, between the thread of the search and the thread of the screen.
 * The search puts in copies; the screen reads the last one.  The screen can also hold the search at
 * its next snapshot: this is how the tuner pauses. */
#ifndef TS_APP_TUNE_SNAPSHOT_H
#define TS_APP_TUNE_SNAPSHOT_H
#include "explorer/tune/view.h"

/* What the search does, as the screen tells it.
 * PREPARING: there is no snapshot yet.  LENDING: it waits while something else is measured.
 * PAUSING, STOPPING: asked for, but a batch is still being measured.
 * FINISHING: the best candidates are timed against each other. */
enum tune_phase {
    TUNE_PREPARING, TUNE_RUNNING, TUNE_LENDING, TUNE_PAUSING, TUNE_PAUSED, TUNE_FINISHING,
    TUNE_STOPPING, TUNE_ENDED
};

struct tune_snapshot;
/* Counts its owners: new has one, share adds one, and the last drop frees it. */
struct tune_snapshot *tune_snapshot_new(void);
struct tune_snapshot *tune_snapshot_share(struct tune_snapshot *s);
void tune_snapshot_drop(struct tune_snapshot *s);        /* NULL is fine */

/* On the search's thread.  Copies v, whose first trials are those of the last time; then waits
 * while the search is held, until cancelled.  Calls told (NULL is fine) without the lock when there
 * is something new to see. */
void tune_snapshot_put(struct tune_snapshot *s, const struct tune_view *v,
                       const struct cancel *cancel,
                       void (*told)(void *ctx, const struct tune_view *v), void *ctx);

/* On the screen's thread.  The last copy, valid until tune_snapshot_unlock; NULL: none so far.
 * Unlock soon: the search may be waiting. */
const struct tune_view *tune_snapshot_lock(struct tune_snapshot *s);
void tune_snapshot_unlock(struct tune_snapshot *s);
void tune_snapshot_hold(struct tune_snapshot *s, bool hold);
bool tune_snapshot_waits(struct tune_snapshot *s);       /* the search is held now: nothing runs */
unsigned tune_snapshot_version(struct tune_snapshot *s); /* counts snapshots, from 0 */
#endif
