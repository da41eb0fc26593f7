/* A dialog with another program that keeps running: it reads lines, and answers in lines. */
#ifndef TS_BASE_DIALOG_H
#define TS_BASE_DIALOG_H
#include "kernels/base/subprocess.h"

struct dialog;
/* Starts argv (NULL-terminated, looked up in PATH) in a process group and a TMPDIR of its own.
 * Returns NULL with ERR_ENV when that fails. The caller calls dialog_close. */
struct dialog *dialog_open(const char *const *argv, struct err *e);
/* Sends a line to the program's stdin, and a newline after it.  If the program has ended, only the
 * next dialog_hear reports this. */
void dialog_say(struct dialog *d, const char *line);
/* Sets *line to the next line of the program that starts with the word `first`, without that word
 * and the newline.  Other lines of the program's stdout or stderr are messages.  Fails with
 * ERR_TIMEOUT after limit_s, with ERR_CANCEL when c is raised, and with ERR_CRASH when the program
 * has closed its output (the error quotes the last message) or a line is longer than 64 MiB.  A
 * failure may change *line. */
bool dialog_hear(struct dialog *d, const char *first, double limit_s, const struct cancel *c,
                 struct str *line, struct err *e);
/* Closes the program's stdin, waits up to 1 s for the program to end, and then ends its process
 * group.  d may be NULL. */
void dialog_close(struct dialog *d);
#endif
