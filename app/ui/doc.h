/* A document: the styled lines that a pane shows, with the object that each line stands for, and a
 * cursor over them.
 *
 * A view builds its document anew when the data or the width change. Drawing the document and
 * moving in it compute nothing. */
#ifndef TS_APP_DOC_H
#define TS_APP_DOC_H
#include "app/ui/grid.h"
#include "kernels/base/vec.h"

/* A selectable word of a line: `len` columns from column `col` on. If the word begins an access to
 * memory, `name` is the tensor, and `access` the text of the whole access; else `access` is NULL.
 * number: for a loop, its number (struct tree); 0: it has none. */
struct doc_item { const char *name; int col, len; const char *access; int number; };

struct line {
    const char *text;
    const unsigned char *style;                          /* enum style per byte of text */
    int id;                                     /* number of the line's object; -1: no object */
    const char *stage;                   /* the stage or tensor of this line, or NULL */
    const char *loop;                    /* the loop or the access of this line, or NULL */
    int number;  /* of the loop around a line of code, or of the first loop of a line of the nest
                  * (struct tree); 0: none */
    int n_items;
    const struct doc_item *item;
    int stays;  /* number of columns at the left that do not scroll sideways, in a wide pane */
    bool cut;                            /* whether doc_fit left out a part of a text */
    bool more;                           /* whether this row continues the line above */
    bool heading;  /* whether it is a heading; doc_draw avoids it in the last row of a pane */
};

struct doc {
    struct arena *arena;  /* owns what the lines point to; doc_clear resets it */
    VEC(struct line) lines;
    int head;                            /* number of lines that stay at the top, if they fit */
    bool is_list;  /* whether the cursor rests only on lines with id >= 0 */
    bool is_pager;  /* whether moving scrolls; the cursor then shows only search results */
    struct str text, style; bool cut;                    /* the line being written */
};

/* The reader's place in a document. cursor: the line of the cursor; top: how many lines are
 * scrolled away; left: how many columns are; item: the selected word of the cursor's line. */
struct scroll { int cursor, top, left, item; };

void doc_open(struct doc *d);
void doc_close(struct doc *d);
void doc_clear(struct doc *d);

/* Writing: doc_put appends to the open line, doc_end closes it and returns it (valid until the next
 * doc_end). */
void doc_put(struct doc *d, enum style s, const char *text);
void doc_printf(struct doc *d, enum style s, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Append in the formats of text_ms, text_bar and text_fit. */
void doc_ms(struct doc *d, enum style s, double ms);
void doc_bar(struct doc *d, enum style s, double fraction, int width);
void doc_fit(struct doc *d, enum style s, const char *text, int width);
/* Appends a text right-aligned in width columns (width 0: appends nothing). Frees the text. */
void doc_right(struct doc *d, enum style s, struct str *text, int width);
void doc_pad(struct doc *d, int col);                    /* appends blanks up to that column */
int doc_col(const struct doc *d);
struct line *doc_end(struct doc *d);
/* Appends a text and ends the line. */
struct line *doc_line(struct doc *d, enum style s, const char *text);
/* Adds prose to the open line and ends the line. Breaks the text at blanks to fit width; later rows
 * are indented by `hang`. */
void doc_wrap(struct doc *d, enum style s, const char *text, int width, int hang);

/* Colours one line: stores an enum style for each byte of text. *state is 0 at the first line, and
 * tells the next line what is still open, such as a comment. */
typedef void doc_colour(const char *text, unsigned char *style, int *state);
/* Adds one source line with tabs expanded.  width > 0: wraps the line; the rows that continue it
 * are indented deeper, if there is room.  Returns the index of the first row. */
int doc_code(struct doc *d, const char *text, doc_colour *colour, int *state, int width);
/* Adds a whole source text, line by line. */
void doc_source(struct doc *d, const char *text, doc_colour *colour, int width);

/* Move the cursor, and scroll so that the cursor is visible. h: height of the pane. doc_scroll_fix
 * moves the cursor only if the cursor may not rest on its line. In a pager, doc_scroll_by scrolls
 * by `delta` rows; doc_page_by does so everywhere, and the cursor keeps its place in the pane. */
void doc_scroll_fix(const struct doc *d, struct scroll *s, int h);
void doc_scroll_by(const struct doc *d, struct scroll *s, int delta, int h);
void doc_page_by(const struct doc *d, struct scroll *s, int delta, int h);
void doc_scroll_to(const struct doc *d, struct scroll *s, int line, int h);
/* Selects the word of the cursor's line at column `col`, the innermost one if words are nested;
 * else the first one in the n columns from there on.  Returns false when there is none. */
bool doc_select_at(const struct doc *d, struct scroll *s, int col, int n);
/* Scrolls to a line that contains `words`, and selects the first word that a match reaches. */
void doc_scroll_to_found(const struct doc *d, struct scroll *s, int line, const char *words, int h);
/* Selects the next word (delta 1) or the one before (delta -1), also on other lines. */
void doc_scroll_item(const struct doc *d, struct scroll *s, int delta, int h);
/* Returns the index of the line in row `row` of a pane of height h; it may be past the last
 * line. */
int doc_row(const struct doc *d, const struct scroll *s, int row, int h);
/* Returns the cursor's line; NULL if the cursor is on no line, as in an empty document. */
const struct line *doc_at(const struct doc *d, const struct scroll *s);

/* Searches the lines after `from` (dir 1) or before it (dir -1), wrapping around. Returns the first
 * line that contains `words`; -1: no line does. Ignores case. */
int doc_find(const struct doc *d, const char *words, int from, int dir);
/* Returns the first line with this id; -1: there is none. */
int doc_find_id(const struct doc *d, int id);
/* Returns the first line below line i that is not indented deeper than i, or than the line that i
 * continues. */
int doc_block_end(const struct doc *d, int i);

struct doc_look {
    bool focused;
    const char *search;                  /* text whose matches are marked; NULL or "": none */
    /* word: a name to mark; NULL: none. stage: `word` is marked only on lines of this stage; NULL:
     * on all lines */
    const char *word, *stage;
    /* a second name to mark, with or without digits behind it (ker, ker0); NULL: none */
    const char *local;
    /* lit: whether the line with this id gets a bar in the gutter. marked: whether the line is
     * marked like `word`. NULL: no line is. */
    bool (*lit)(const void *ctx, int id), (*marked)(const void *ctx, int id);
    const void *ctx;
};
/* Draws the visible lines; the first column is a gutter for the cursor's mark and `lit`. */
void doc_draw(const struct doc *d, const struct scroll *s, struct grid *g, struct rect r,
              struct doc_look look);
#endif
