/* Handles signals that ask the program to end, so that it ends within a second. */
#ifndef TS_APP_SIGNALS_H
#define TS_APP_SIGNALS_H
#include <stdbool.h>

/* Handles INT, TERM and HUP.  The first signal calls `caught` in the signal handler; the program
 * then has 0.8 s to end by itself.  A second INT or TERM, or the end of that time, calls `last` (to
 * print a message or restore the terminal) and cleans up (kernels/base/cleanup.h).  Then the
 * process ends with the exit status 128 + the signal. After the time limit the status is `late`,
 * unless that is 0.
 *
 * keep_hup: an ignored HUP (nohup) stays ignored.  key: called for an INT that comes from Ctrl-C in
 * the terminal. It returns whether to treat Ctrl-C as a key; if not, the process ends at once. key
 * NULL: Ctrl-C is handled like every other INT. */
struct signals {
    bool (*key)(void);
    void (*caught)(int sig);
    void (*last)(void);
    int late;
    bool keep_hup;
};
void signals_catch(const struct signals *s);
/* Blocks or unblocks INT, TERM and HUP for this thread and the threads that it starts later. */
void signals_block(bool yes);
#endif
