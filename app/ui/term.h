/* The terminal: puts grids on it and turns what arrives into events.  The only file that includes
 * curses is term.c. */
#ifndef TS_APP_TERM_H
#define TS_APP_TERM_H
#include "app/ui/grid.h"
#include "app/ui/key.h"
#include "kernels/base/err.h"

enum term_event_kind { TERM_NOTHING, TERM_KEY, TERM_MOUSE, TERM_RESIZE, TERM_PASTE };
struct term_event {
    enum term_event_kind kind;
    int key;
    struct mouse_event mouse;
    struct str text;                     /* PASTE; the caller keeps one and term_read reuses it */
};

struct terminal;
struct term_opts { bool no_color, no_unicode, no_mouse; };
/* ERR_ENV when there is no terminal, or one that cannot move its cursor. */
/* From here to term_close a crash, or fail(), gives the terminal back before the process ends. */
bool term_open(const struct term_opts *o, struct terminal **out, struct err *e);
/* The terminal as it was before, for a process that ends at once.  Safe in a signal handler; only
 * the first call does anything. */
void term_rescue(void);
/* Ctrl-C is a signal (and takes back what was typed before it) instead of a key.  Safe in a signal
 * handler. */
void term_interrupts(bool yes);
void term_close(struct terminal *t);
bool term_unicode(const struct terminal *t);         /* it shows more than ASCII */
bool term_colours(const struct terminal *t);
void term_size(const struct terminal *t, int *w, int *h);
void term_draw(struct terminal *t, const struct grid *g);
void term_repaint(struct terminal *t);               /* trust nothing that is on the screen */
/* never waits; false when nothing is there */
bool term_read(struct terminal *t, struct term_event *ev);
/* Stops this process as the shell's C-z does; term_size may be another one behind it. */
void term_suspend(struct terminal *t);
/* Into the clipboard by OSC 52. False on a terminal too simple to be sent such a thing, or when it
 * is too long. */
bool term_copy(struct terminal *t, const char *text, size_t n);
#endif
