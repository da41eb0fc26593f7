/* Identifies a process by its id and its start time, because the id may be reused after the
 * process has ended. */
#ifndef TS_SESSIONS_PROCESS_H
#define TS_SESSIONS_PROCESS_H
#include <stdbool.h>

/* Returns the start time of this process in clock ticks since boot; 0 = unknown.  Once a thread
 * has read it, it stays known there, also when no more files can be opened. */
unsigned long long process_started(void);
/* Whether the process with this id and start time still runs.  If `started` is 0, any process with
 * this id counts. */
bool process_alive(long pid, unsigned long long started);
#endif
