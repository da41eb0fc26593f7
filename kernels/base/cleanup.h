/* A process that must end at once takes its half-written files and the programs that it started
 * with it.  The code that makes one notes it here until it is complete, or gone. */
#ifndef TS_BASE_CLEANUP_H
#define TS_BASE_CLEANUP_H
#include <sys/types.h>

/* The slot to forget it by; -1 when there is no room (then it stays behind, nothing worse). */
int cleanup_note_file(const char *path);
int cleanup_note_group(pid_t leader);
void cleanup_forget(int slot);
/* Asks the programs to end, deletes the files, kills the programs.  Safe in a signal handler; the
 * caller then calls _exit. */
void cleanup_now(void);
#endif
