/* ui/ has the parts of a screen: grids, documents, plots, the prompt, keys, the terminal.
 *
 * A grid is the screen as cells.  Views draw into it; term.c puts it on a terminal, tests and
 * `:dump` turn it into text.  Drawing outside the grid does nothing. */
#ifndef TS_APP_GRID_H
#define TS_APP_GRID_H
#include <stdbool.h>
#include <stdint.h>
#include "kernels/base/str.h"

/* The meaning of a piece of text; term.c chooses its look, with and without colour. */
enum style {
    STYLE_PLAIN, STYLE_DIM, STYLE_STRONG, STYLE_RULE,  /* RULE: lines; titles without focus */
    STYLE_TITLE, STYLE_TAB,  /* TITLE: title of the focused pane; TAB: the selected tab */
    STYLE_KEY,                                               /* a key to press, in bars and help */
    STYLE_GOOD, STYLE_BAD,
    STYLE_WORD, STYLE_NOTE,                              /* in code: keywords, highlights */
    STYLE_MATCH,                                             /* match of a search */
    STYLE_SERIES,                    /* to STYLE_SERIES_LAST: one style per series of a plot */
    STYLE_SERIES_LAST = STYLE_SERIES + 4,
    STYLE_COUNT,
    STYLE_REVERSE = 0x80                                     /* or-ed to any style: the cursor */
};

struct rect { int x, y, w, h; };
/* width: columns of ch; 0 in the cell of the right half of a wide character */
struct grid_cell { uint32_t ch; unsigned char style; unsigned char width; };

struct grid {
    int w, h;
    bool unicode;  /* false: characters beyond ASCII are replaced when they are drawn */
    struct grid_cell *cell;
    struct rect clip;
    int cursor_x, cursor_y;          /* the text cursor; x < 0 hides it */
};

void grid_open(struct grid *g, int w, int h, bool unicode);
void grid_close(struct grid *g);
void grid_resize(struct grid *g, int w, int h);
void grid_clear(struct grid *g);  /* blanks all cells; resets clip and cursor */
/* Restricts drawing to the part of r inside the present clip. Returns the old clip, for
 * grid_unclip. */
struct rect grid_clip(struct grid *g, struct rect r);
void grid_unclip(struct grid *g, struct rect old);

/* Returns the cell at (x, y); NULL outside of the grid. */
const struct grid_cell *grid_at(const struct grid *g, int x, int y);
void grid_char(struct grid *g, int x, int y, unsigned style, uint32_t ch);
/* Draws text; returns the x after it. */
int grid_text(struct grid *g, int x, int y, unsigned style, const char *text);
/* Draws at most w columns of text; a longer text ends with an ellipsis. Returns the x after it. */
int grid_fit(struct grid *g, int x, int y, int w, unsigned style, const char *text);
void grid_fill(struct grid *g, struct rect r, unsigned style, uint32_t ch);
/* In each cell of r, clears the style bits `clear`, then sets the bits `set`. */
void grid_restyle(struct grid *g, struct rect r, unsigned set, unsigned clear);

/* Returns the ASCII character that replaces ch on a terminal without UTF-8. */
char grid_ascii(uint32_t ch);
/* Appends one line per row, without trailing blanks. */
void grid_dump(const struct grid *g, struct str *out);
bool grid_rect_has(struct rect r, int x, int y);
#endif
