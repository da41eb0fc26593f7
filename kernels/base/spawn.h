/* Starts and ends other programs, for subprocess.c and dialog.c. */
#ifndef TS_BASE_SPAWN_H
#define TS_BASE_SPAWN_H
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>
#include "kernels/base/err.h"

/* A started program.  folder: its TMPDIR, removed by spawn_close, so that a killed compiler or
 * valgrind leaves no files; "": the program inherits $TMPDIR.  lock: a descriptor that keeps the
 * folder locked until spawn_close or the end of this process; -1: none.  slot: the program's slot
 * in the list of cleanup.h. */
struct spawned { pid_t pid; int slot, lock; char folder[256]; };

/* Starts argv in its own process group with default signals.  Three descriptors of this process are
 * passed on: input as the program's stdin (-1: /dev/null), output as its stdout and stderr, keep as
 * its descriptor 3 (-1: none).  Fails with ERR_ENV, whose text names the program.  Uses
 * posix_spawn, because fork is unsafe with threads and slow in a large process.  After a success,
 * the caller reaps the program, then calls spawn_close. */
bool spawn_group(const char *const *argv, int input, int output, int keep, struct spawned *s,
                 struct err *e);
/* Waits at most limit_ms for the program to end, without reaping it, so that its process id is not
 * reused.  Returns whether it has ended.  If so, *how says how it ended; how->si_pid is 0 if this
 * is unknown, because SIGCHLD is ignored. */
bool spawn_wait(pid_t pid, int limit_ms, siginfo_t *how);
/* Ends the process group: sends SIGTERM, on which a compiler deletes its temporary files, and
 * SIGKILL after a short wait.  The caller must not have reaped the program: until then, its process
 * id is not reused. */
void spawn_end(pid_t pid);
void spawn_close(struct spawned *s);
#endif
