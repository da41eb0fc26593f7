/* A program of the user that runs a network by other means, such as onnxruntime. */
#ifndef TS_PROFILE_OUTSIDE_H
#define TS_PROFILE_OUTSIDE_H
#include <stddef.h>
#include "kernels/base/subprocess.h"

/* The program prints the line "ready" when it can run its network.  After each line "time SECONDS"
 * on its stdin it runs the network again and again for SECONDS, at least once, and then prints one
 * line: "times" and the milliseconds of each run.  It ends when its stdin does.  Any other line
 * that it prints is a message, and the last one is part of the error when the program fails. */
struct outside;
/* Starts `sh -c COMMAND` and waits until the program is ready, at most 5 minutes. limit_s: how long
 * one run may take (0 = 60). Returns NULL with ERR_ENV when it cannot be started, else with the
 * error of dialog_hear. */
struct outside *outside_open(const char *command, double limit_s, const struct cancel *c,
                             struct err *e);
/* Takes samples for about time_s seconds. ERR_TIMEOUT: there was no answer limit_s after that.
 * *seconds has the time of each run so far, with the runs of this call at the end; *n is their
 * number. Both are valid until the next call. ERR_TYPE: the answer is not a list of positive
 * numbers. */
bool outside_time(struct outside *o, double time_s, const struct cancel *c,
                  const double **seconds, int *n, struct err *e);
void outside_close(struct outside *o);            /* NULL: nothing */

/* Splits "NAME: COMMAND" of the command line.  Without a name, the name is the first word of the
 * command.  Returns the command; name is cut to its size. */
const char *outside_name(const char *text, char *name, size_t size);
#endif
