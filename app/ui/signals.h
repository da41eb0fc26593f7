/* Signals that ask the program to end: it does, within a second, whatever it is doing. */
#ifndef TS_APP_SIGNALS_H
#define TS_APP_SIGNALS_H
#include <stdbool.h>

/* What INT, TERM and HUP do from now on.  The first one calls caught, in a signal handler, and the
 * program has most of a second to end by itself.  A second INT or TERM, or that time, calls last
 * (to say so, or to give the terminal back), takes along what is half done (kernels/base/cleanup.h)
 * and ends the process: at the time limit with exit status late, or 128 + the signal when that is
 * 0.  keep_hup: a HUP that is ignored (nohup) stays so.  key (NULL: none) is asked about an INT
 * that the terminal made of Ctrl-C: true makes it a key and nothing else, false ends the
 * process. */
struct signals {
    bool (*key)(void);
    void (*caught)(int sig);
    void (*last)(void);
    int late;
    bool keep_hup;
};
void signals_catch(const struct signals *s);
/* They are not delivered to this thread, nor to those that it starts. */
void signals_block(bool yes);
#endif
