/* A list of what a process must remove when it ends at once: half-written files, programs that it
 * started, and the folders of their temporary files.  Code notes each when it makes it, and forgets
 * it when the file is complete or the program has ended. */
#ifndef TS_BASE_CLEANUP_H
#define TS_BASE_CLEANUP_H
#include <sys/types.h>

#define CLEANUP_SLOTS 256                 /* most files and programs at a time */

/* Returns the slot to pass to cleanup_forget, or -1 when the list is full. Then the file or program
 * would not be removed. */
int cleanup_note_file(const char *path);
/* The same for a program that is about to start, with the folder of its temporary files ("": none),
 * which is removed only when the program left it empty.  cleanup_set_leader adds its process group,
 * and takes it out (0) when the program has been reaped. */
int cleanup_note_program(const char *folder);
void cleanup_set_leader(int slot, pid_t leader);
void cleanup_forget(int slot);
/* Sends SIGTERM to the programs, deletes the files, kills the programs, then removes the
 * folders.  Safe in a signal handler; the caller then calls _exit. */
void cleanup_now(void);
#endif
