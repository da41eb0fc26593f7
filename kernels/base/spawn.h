/* Starts and ends other programs, for subprocess.c and dialog.c. */
#ifndef TS_BASE_SPAWN_H
#define TS_BASE_SPAWN_H
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>
#include "kernels/base/err.h"

/* A started program.  folder: its TMPDIR, which goes with it, so that nothing of a compiler or of
 * valgrind stays when it is killed; "": it has $TMPDIR as it is.  lock: a descriptor that locks the
 * folder as long as this process lives, or -1.  slot: of cleanup.h. */
struct spawned { pid_t pid; int slot, lock; char folder[256]; };

/* Starts argv in its own process group with default signals.  input: its stdin, -1 for /dev/null;
 * output: its stdout and stderr; keep: its descriptor 3, -1 for none.  ERR_ENV names the program.
 * Uses posix_spawn rather than fork, which is safe with threads and fast however large this process
 * is.  The caller reaps the program, then calls spawn_close. */
bool spawn_group(const char *const *argv, int input, int output, int keep, struct spawned *s,
                 struct err *e);
/* Waits until the program has ended, at most limit_ms, without reaping it: its number is still its
 * own.  Returns whether it has; *how says how, with si_pid 0 when that is unknown (SIGCHLD
 * ignored). */
bool spawn_wait(pid_t pid, int limit_ms, siginfo_t *how);
/* Ends the process group.  A compiler that gets SIGTERM deletes its temporary files; one that does
 * not react is killed.  The group is killed before the program is reaped: until then its number is
 * not reused. */
void spawn_end(pid_t pid);
void spawn_close(struct spawned *s);
#endif
