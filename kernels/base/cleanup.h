/* What a process must remove when it has to end at once: half-written files, and the programs
 * that it started.  The code that creates one notes it here, and forgets it when the file is
 * complete or the program has ended. */
#ifndef TS_BASE_CLEANUP_H
#define TS_BASE_CLEANUP_H
#include <sys/types.h>

/* Returns the slot to pass to cleanup_forget, or -1 when there is no room; then the file or
 * program is left behind, which does no other harm. */
int cleanup_note_file(const char *path);
int cleanup_note_group(pid_t leader);
void cleanup_forget(int slot);
/* Sends SIGTERM to the programs, deletes the files, then kills the programs.  Safe in a signal
 * handler; the caller then calls _exit. */
void cleanup_now(void);
#endif
