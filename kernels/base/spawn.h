/* Starts and ends other programs, for subprocess.c and dialog.c. */
#ifndef TS_BASE_SPAWN_H
#define TS_BASE_SPAWN_H
#include <sys/types.h>

/* The folder for the temporary files of one program: a compiler or valgrind that is killed leaves
 * them there, and they go with the folder.  Without a folder (path "") the program uses $TMPDIR as
 * it is. */
struct scratch { char path[256], variable[300]; int slot; };
void scratch_open(struct scratch *s);
void scratch_close(struct scratch *s);

/* Starts argv in its own process group with default signals.  input: its stdin, -1 for /dev/null;
 * output: its stdout and stderr; keep: its descriptor SPAWN_KEPT, -1 for none.  Returns 0 or
 * an errno.  Uses posix_spawn rather than fork, which is safe with threads and fast however large
 * this process is. */
#define SPAWN_KEPT 3
int spawn_group(const char *const *argv, int input, int output, int keep, struct scratch *scratch,
                pid_t *pid);
/* Ends the process group.  A compiler that gets SIGTERM deletes its temporary files; one that does
 * not react is killed.  The group is killed before the program is reaped: until then its number is
 * not reused. */
void spawn_end(pid_t pid);
#endif
