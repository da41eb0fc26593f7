/* The terminal user interface. */
#ifndef TS_APP_TUI_H
#define TS_APP_TUI_H
#include <stdbool.h>

struct session;
struct tui_opts {
    bool no_color, no_unicode, no_mouse;
    bool no_auto;                        /* do not measure after every step */
    int threads;                         /* of a measurement; 0 = 1 */
    unsigned baselines;                  /* of a measurement: 1 << enum vendor_library */
};

/* Runs until the user quits.  s is taken; NULL opens the start screen.  Returns the exit code: 0,
 * or 3 when the terminal cannot be used (a message is on stderr).
 *
 * When the environment variable TILESCOPE_IDLE_FD names a descriptor, one byte is written to it
 * whenever all input has been handled, the screen is drawn and nothing runs in the background:
 * tests wait for it instead of sleeping. */
int tui_run(struct session *s, const struct tui_opts *o);
#endif
