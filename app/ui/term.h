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
/* ERR_ENV when there is no terminal, or one that cannot move its cursor.  Until term_close, a crash
 * or fail() restores the terminal before the process ends. */
bool term_open(const struct term_opts *o, struct terminal **out, struct err *e);
/* Restores the terminal for a process that ends at once.  Safe in a signal handler; only the first
 * call does anything. */
void term_rescue(void);
/* yes: Ctrl-C is a signal, and discards the keys typed before it; no: it is a key.  Safe in a
 * signal handler. */
void term_interrupts(bool yes);
void term_close(struct terminal *t);
bool term_unicode(const struct terminal *t);         /* it shows more than ASCII */
bool term_colours(const struct terminal *t);
void term_size(const struct terminal *t, int *w, int *h);
void term_draw(struct terminal *t, const struct grid *g);
void term_repaint(struct terminal *t);               /* the next term_draw writes every cell */
/* Never waits; false when there is no event. */
bool term_read(struct terminal *t, struct term_event *ev);
/* Stops this process as the shell's C-z does; the terminal may have another size afterwards. */
void term_suspend(struct terminal *t);
/* Copies text into the clipboard by OSC 52.  False when it is too long, or when the terminal is too
 * simple to get such a sequence. */
bool term_copy(struct terminal *t, const char *text, size_t n);
#endif
