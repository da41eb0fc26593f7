/* A gate: the thread of a search waits at it while the screen holds it, for a pause or because
 * something else is measured. */
#ifndef TS_APP_GATE_H
#define TS_APP_GATE_H
#include <pthread.h>
#include "kernels/base/subprocess.h"

struct gate { pthread_mutex_t lock; pthread_cond_t opens; bool hold, waits; };
void gate_init(struct gate *g);
void gate_end(struct gate *g);
/* For the search's thread. gate_reach: whether the thread must wait now. gate_wait: waits until the
 * gate opens or the search is cancelled. */
bool gate_reach(struct gate *g, const struct cancel *c);
void gate_wait(struct gate *g, const struct cancel *c);
/* For the screen's thread. gate_hold: closes or opens the gate. gate_waits: whether the search is
 * waiting at it. */
void gate_hold(struct gate *g, bool hold);
bool gate_waits(struct gate *g);
#endif
