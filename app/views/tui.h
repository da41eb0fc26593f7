/* The main loop of the screen: handles keys and results of jobs, and draws on the terminal. */
#ifndef TS_APP_TUI_H
#define TS_APP_TUI_H

struct session;
struct term_opts;
struct model_opts;

/* Runs until the user quits, the terminal is gone, or a signal asks to end. Takes ownership of s;
 * NULL opens the start screen. Returns the exit code: 0; or 3, with a message on stderr, if the
 * terminal or the queue of jobs cannot be opened.
 *
 * For tests, which would otherwise have to sleep: the environment variables TILESCOPE_IDLE_FD and
 * TILESCOPE_DRAWN_FD may contain the number of a descriptor. The first descriptor gets a byte when
 * all input was handled, the screen is drawn and no job runs, except for a paused search. The
 * second one gets a byte whenever the screen shows all input so far, even if something runs. */
int tui_run(struct session *s, const struct term_opts *t, const struct model_opts *m);
#endif
