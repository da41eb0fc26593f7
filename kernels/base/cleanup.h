/* A list of what a process must remove when it ends at once: half-written files, programs that it
 * started, and the folders of their temporary files.  Code that makes a file or starts a program
 * notes it here, and forgets it when the file is complete or the program has ended. */
#ifndef TS_BASE_CLEANUP_H
#define TS_BASE_CLEANUP_H
#include <sys/types.h>

#define CLEANUP_SLOTS 256                 /* most files and programs at a time */

/* Notes a file.  Returns its slot for cleanup_forget, or -1 when the list is full or the path too
 * long; cleanup_now then does not remove the file. */
int cleanup_note_file(const char *path);
/* Notes a program that is about to start, and the folder of its temporary files ("": none).
 * Returns a slot, or -1 as above.  cleanup_now removes the folder only if it is empty.  The caller
 * then sets the leader of the program's process group by cleanup_set_leader, and sets it to 0 when
 * the program has been reaped. */
int cleanup_note_program(const char *folder);
void cleanup_set_leader(int slot, pid_t leader);
void cleanup_forget(int slot);
/* Sends SIGTERM to the programs, deletes the files, kills the programs, then removes the
 * folders.  Safe in a signal handler; the caller then calls _exit. */
void cleanup_now(void);
#endif
