/* One self-contained C file of a session's current state: kernel, reference, check and timing in
 * main(). */
#ifndef TS_SESSIONS_EXPORT_H
#define TS_SESSIONS_EXPORT_H
#include "sessions/session.h"

/* Compiles alone (`cc -O2 -march=native kernel.c -lm`), fills the same data as tilescope, re-lays
 * constants out, checks against the float64 reference, prints "max rel err ... ok" and min/median
 * latency and GFLOP/s; exit code 1 when wrong. */
bool export_c(const struct session *s, struct str *out, struct err *e);
#endif
