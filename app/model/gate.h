/* Where the thread of a search waits while the screen holds it: for a pause, or because something
 * else is measured. */
#ifndef TS_APP_GATE_H
#define TS_APP_GATE_H
#include <pthread.h>
#include "kernels/base/subprocess.h"

struct gate { pthread_mutex_t lock; pthread_cond_t opens; bool hold, waits; };
void gate_init(struct gate *g);
void gate_end(struct gate *g);
/* On the search's thread.  gate_reach: whether it is to wait now, with gate_wait, which ends when
 * the gate opens or after a cancel. */
bool gate_reach(struct gate *g, const struct cancel *c);
void gate_wait(struct gate *g, const struct cancel *c);
/* For the screen's thread. gate_waits: the search is waiting at the gate. */
void gate_hold(struct gate *g, bool hold);
bool gate_waits(struct gate *g);
#endif
