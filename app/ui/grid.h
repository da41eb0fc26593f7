/* ui/ is what a screen is made of: grids, documents, plots, the prompt, keys, the terminal.
 *
 * A grid is the screen as cells.  Views draw into it; term.c puts it on a terminal, tests and
 * `:dump` turn it into text.  Everything clips: drawing outside the grid does nothing. */
#ifndef TS_APP_GRID_H
#define TS_APP_GRID_H
#include <stdbool.h>
#include <stdint.h>
#include "kernels/base/str.h"

/* What a piece of text means; term.c decides how each looks in colour and without. */
enum style {
    STYLE_PLAIN, STYLE_DIM, STYLE_STRONG, STYLE_RULE,        /* RULE: lines and inactive titles */
    STYLE_TITLE, STYLE_TAB,                   /* TITLE: the focused pane's; TAB: the selected tab */
    STYLE_KEY,                                               /* a key to press, in bars and help */
    STYLE_GOOD, STYLE_BAD,
    STYLE_WORD, STYLE_NOTE,                              /* of code: keywords, what stands out */
    STYLE_MATCH,                                             /* found by a search */
    STYLE_SERIES,                    /* and the next ones: what belongs together in a plot */
    STYLE_SERIES_LAST = STYLE_SERIES + 4,
    STYLE_COUNT,
    STYLE_REVERSE = 0x80                                     /* or-ed to any: the cursor */
};

struct rect { int x, y, w, h; };
/* width 0: right half of a wide one */
struct grid_cell { uint32_t ch; unsigned char style; unsigned char width; };

struct grid {
    int w, h;
    bool unicode;                    /* false: everything beyond ASCII is replaced as it is drawn */
    struct grid_cell *cell;
    struct rect clip;
    int cursor_x, cursor_y;          /* the text cursor; x < 0 hides it */
};

void grid_open(struct grid *g, int w, int h, bool unicode);
void grid_close(struct grid *g);
void grid_resize(struct grid *g, int w, int h);
void grid_clear(struct grid *g);                         /* blanks everything, no clip, no cursor */
/* narrows to r; returns the old one for grid_unclip */
struct rect grid_clip(struct grid *g, struct rect r);
void grid_unclip(struct grid *g, struct rect old);

const struct grid_cell *grid_at(const struct grid *g, int x, int y);         /* NULL outside */
void grid_char(struct grid *g, int x, int y, unsigned style, uint32_t ch);
/* the x behind it */
int grid_text(struct grid *g, int x, int y, unsigned style, const char *text);
/* At most w columns; an ellipsis where it is cut. */
int grid_fit(struct grid *g, int x, int y, int w, unsigned style, const char *text);
void grid_fill(struct grid *g, struct rect r, unsigned style, uint32_t ch);
/* or / and-not of style bits */
void grid_restyle(struct grid *g, struct rect r, unsigned set, unsigned clear);

/* What a terminal without UTF-8 shows instead of ch. */
char grid_ascii(uint32_t ch);
/* One line per row, trailing blanks removed. */
void grid_dump(const struct grid *g, struct str *out);
bool grid_rect_has(struct rect r, int x, int y);
#endif
