/* The loop of the terminal: keys and results of jobs in, the screen out. */
#ifndef TS_APP_TUI_H
#define TS_APP_TUI_H

struct session;
struct term_opts;
struct model_opts;

/* Runs until the user quits. Takes ownership of s; NULL opens the start screen. Returns the exit
 * code: 0; or 3, with a message on stderr, if the terminal cannot be used.
 *
 * For tests, which would otherwise have to sleep: the environment variable TILESCOPE_IDLE_FD may
 * name a descriptor. One byte is written to it whenever all input has been handled, the screen is
 * drawn and nothing runs in the background. TILESCOPE_DRAWN_FD gets one whenever the screen shows
 * all input so far, also while something runs. */
int tui_run(struct session *s, const struct term_opts *t, const struct model_opts *m);
#endif
