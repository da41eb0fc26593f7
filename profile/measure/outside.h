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
 * one run may take (0 = 60). Returns NULL with ERR_ENV when the program cannot be started. Returns
 * NULL with the error of dialog_hear when the program does not become ready. */
struct outside *outside_open(const char *command, double limit_s, const struct cancel *c,
                             struct err *e);
/* Takes samples for about time_s seconds. *seconds has the time of each run since outside_open,
 * with the runs of this call at the end; *n is the number of all these runs. *seconds is valid
 * until the next call. ERR_TIMEOUT: no answer came within time_s plus the limit_s of outside_open.
 * ERR_ENV: the answer is not a list of positive numbers. */
bool outside_time(struct outside *o, double time_s, const struct cancel *c,
                  const double **seconds, int *n, struct err *e);
void outside_close(struct outside *o);            /* NULL is allowed */

/* Splits "NAME: COMMAND", an argument of the command line.  Without "NAME: ", the name is the first
 * word of the command, up to a colon.  Returns the command; the name is cut to fit into `size`
 * bytes. */
const char *outside_name(const char *text, char *name, size_t size);
#endif
