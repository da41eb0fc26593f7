/* Which process something belongs to: its id and when it started, so that a later process with the
 * same id is not taken for it. */
#ifndef TS_SESSIONS_PROCESS_H
#define TS_SESSIONS_PROCESS_H
#include <stdbool.h>

/* In clock ticks since boot; 0 = unknown. */
unsigned long long process_started(long pid);
/* started 0: only the id is compared. */
bool process_alive(long pid, unsigned long long started);
#endif
