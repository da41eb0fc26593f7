/* A gate, at which the thread of a search waits while the screen keeps it closed: because the user
 * has paused the search, or because something else is measured. */
#ifndef TS_APP_GATE_H
#define TS_APP_GATE_H
#include <pthread.h>
#include "kernels/base/subprocess.h"

/* hold: whether it is closed; waits: whether the search waits at it.  `lock` guards both. */
struct gate { pthread_mutex_t lock; pthread_cond_t opens; bool hold, waits; };
void gate_init(struct gate *g);
void gate_end(struct gate *g);
/* For the search's thread.  gate_reach: whether the gate is closed and the search is not cancelled,
 * so that the thread must call gate_wait.  From then on, gate_waits is true.  gate_wait: waits
 * until the gate opens or the search is cancelled. */
bool gate_reach(struct gate *g, const struct cancel *c);
void gate_wait(struct gate *g, const struct cancel *c);
/* For the screen's thread.  gate_hold: closes the gate (hold true) or opens it.  gate_waits:
 * whether the search waits at it. */
void gate_hold(struct gate *g, bool hold);
bool gate_waits(struct gate *g);
#endif
