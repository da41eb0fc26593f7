/* One self-contained C file of a session's current state: kernel, reference, check and timing in
 * main(). */
#ifndef TS_SESSIONS_EXPORT_H
#define TS_SESSIONS_EXPORT_H
#include "kernels/gen/target.h"
#include "sessions/file/session.h"

/* Where it goes ("-" or NULL: kernel.c), what compiles it (NULL: the compiler that measures), what
 * it is for (NULL: this CPU's best). */
struct export_opts { const char *file, *compiler; const struct target *target; };

/* Compiles alone (export_command), fills the same data as tilescope, re-lays constants out, checks
 * against the float64 reference, prints "max rel err ... ok" and min/median latency and GFLOP/s;
 * exit code 1 when wrong. */
bool export_c(const struct session *s, const struct export_opts *o, struct str *out, struct err *e);
/* The line that compiles and runs it at the speed that tilescope reports: its compiler, its flags,
 * its threads.  The comment at the top of the file has the same line. */
bool export_command(const struct session *s, const struct export_opts *o, struct str *out,
                    struct err *e);
#endif
