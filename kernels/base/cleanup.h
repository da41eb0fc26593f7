/* A list of what a process must remove when it ends at once: half-written files, programs that it
 * started, and the folders of their temporary files.  Code notes each when it makes it, and forgets
 * it when the file is complete or the program has ended. */
#ifndef TS_BASE_CLEANUP_H
#define TS_BASE_CLEANUP_H
#include <sys/types.h>

/* Returns the slot to pass to cleanup_forget, or -1 when the list is full. Then the file, folder or
 * program would not be removed. */
int cleanup_note_file(const char *path);
int cleanup_note_folder(const char *path);     /* removed only when the programs left it empty */
int cleanup_note_group(pid_t leader);
void cleanup_forget(int slot);
/* Sends SIGTERM to the programs, deletes the files, kills the programs, then removes the
 * folders.  Safe in a signal handler; the caller then calls _exit. */
void cleanup_now(void);
#endif
