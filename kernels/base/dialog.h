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
 * and the newline.  Other lines of its stdout or stderr are messages; errors quote the last one.
 * Fails with ERR_TIMEOUT after limit_s, with ERR_CRASH when the program has ended or a line is
 * longer than 64 MiB, and with ERR_CANCEL when c is raised. */
bool dialog_hear(struct dialog *d, const char *first, double limit_s, const struct cancel *c,
                 struct str *line, struct err *e);
/* Closes the program's stdin, and kills the program if it does not end then. d may be NULL. */
void dialog_close(struct dialog *d);
#endif
