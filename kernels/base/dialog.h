/* Another program that stays, and answers in lines. */
#ifndef TS_BASE_DIALOG_H
#define TS_BASE_DIALOG_H
#include "kernels/base/subprocess.h"

struct dialog;
/* Starts argv (NULL-terminated, looked up in PATH) in a process group and a TMPDIR of its own.
 * Returns NULL with ERR_ENV when that fails. The caller calls dialog_close. */
struct dialog *dialog_open(const char *const *argv, struct err *e);
/* Sends a line, without the newline, to the program's stdin.  A program that has ended is noticed
 * by the next dialog_hear. */
void dialog_say(struct dialog *d, const char *line);
/* Sets *line to the next line of the program that starts with the word `first`, without that word
 * and the newline.  Other lines, of stdout or stderr, are its messages: the last one stands in the
 * errors.  ERR_TIMEOUT after limit_s; ERR_CRASH when the program has ended or a line is longer than
 * 64 MiB; ERR_CANCEL. */
bool dialog_hear(struct dialog *d, const char *first, double limit_s, const struct cancel *c,
                 struct str *line, struct err *e);
/* Ends the program: closes its stdin, and kills it if it does not end then. NULL: nothing. */
void dialog_close(struct dialog *d);
#endif
