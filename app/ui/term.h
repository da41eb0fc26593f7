/* The terminal: draws grids on it and turns its input into events.  Only term.c includes curses. */
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
    /* The pasted text, valid until the next paste. Pass the same event to every call of term_read,
     * because term_read reuses this memory. The caller frees it at the end. */
    struct str text;
};

struct terminal;
/* THEME_AUTO: middle tones, which are legible on black and on white. */
enum theme { THEME_AUTO, THEME_DARK, THEME_LIGHT, THEME_MONO, THEME_COUNT };
extern const char *const theme_name[THEME_COUNT];
/* Finds a theme by its name. Returns whether there is such a theme. */
bool theme_find(const char *name, enum theme *out);
/* Returns the colour of a style on a terminal with this many colours; -1: the terminal's own
 * colour.  The theme must not be THEME_MONO. */
short term_colour(enum style style, enum theme theme, int colours);
struct term_opts { bool no_color, no_unicode, no_mouse; enum theme theme; };
/* Opens the terminal. ERR_ENV: there is no terminal, or $TERM is unknown, or the terminal cannot
 * move its cursor. Until term_close, a crash or fail() restores the terminal before the process
 * ends. */
bool term_open(const struct term_opts *o, struct terminal **out, struct err *e);
/* Restores the terminal for a process that ends at once.  Safe in a signal handler; a second call
 * has no effect. */
void term_rescue(void);
/* If `yes` is set, Ctrl-C raises SIGINT, and the terminal then discards the keys typed before it.
 * If not, Ctrl-C is a key like all others. Safe in a signal handler. */
void term_interrupts(bool yes);
void term_close(struct terminal *t);
bool term_unicode(const struct terminal *t);  /* whether to draw characters beyond ASCII */
bool term_colours(const struct terminal *t);
void term_size(const struct terminal *t, int *w, int *h);
void term_draw(struct terminal *t, const struct grid *g);
void term_theme(struct terminal *t, enum theme theme);        /* from the next term_draw on */
void term_repaint(struct terminal *t);               /* the next term_draw writes every cell */
/* Reads the next event. Does not wait: returns false if no event has arrived. */
bool term_read(struct terminal *t, struct term_event *ev);
/* Suspends this process like C-z in a shell; the terminal may have another size afterwards. */
void term_suspend(struct terminal *t);
/* Copies text into the clipboard by OSC 52.  Returns false if the text is too long, or the terminal
 * does not understand such sequences. */
bool term_copy(struct terminal *t, const char *text, size_t n);
#endif
