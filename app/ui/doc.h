/* A document: the styled lines that a pane shows, with the object that each line stands for, and a
 * cursor over them.
 *
 * Every view builds a document and draws it. A document is built anew when the program or the width
 * changes; drawing it and moving in it compute nothing. */
#ifndef TS_APP_DOC_H
#define TS_APP_DOC_H
#include "app/ui/grid.h"
#include "kernels/base/vec.h"

/* A selectable word: columns of a line. If the word begins an access to memory, name is the tensor
 * and access the text of the whole access; else access is NULL. */
struct doc_item { const char *name; int col, len; const char *access; };

struct line {
    const char *text;
    const unsigned char *style;                          /* enum style per byte of text */
    int id;                                     /* number of the line's object; -1: no object */
    const char *stage;                       /* the stage or tensor to which it belongs, or NULL */
    const char *loop;                    /* the loop of that stage to which it belongs, or NULL */
    int n_items;
    const struct doc_item *item;
    int stays;                               /* number of columns that are not scrolled sideways */
    bool cut;                            /* whether doc_fit left out a part of a text */
    bool more;                           /* it continues the line above */
    bool heading;  /* it is a heading of the lines below, and never the last row of a pane */
};

struct doc {
    struct arena *arena;  /* owns the members below; reset by doc_clear */
    VEC(struct line) lines;
    int head;                            /* number of lines that stay at the top, if they fit */
    bool is_list;  /* whether the cursor rests only on lines with id >= 0 */
    bool is_pager;  /* whether moving scrolls; the cursor then shows only search results */
    struct str text, style; bool cut;                    /* the line being written */
};

/* The reader's place in a document: the line of the cursor, the first line and the first column in
 * sight, and the selected word of the cursor's line. */
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
/* Appends a text right-aligned in width columns (0: appends nothing), and frees it. */
void doc_right(struct doc *d, enum style s, struct str *text, int width);
void doc_pad(struct doc *d, int col);                    /* appends blanks up to that column */
int doc_col(const struct doc *d);
struct line *doc_end(struct doc *d);
/* Appends a text and ends the line. */
struct line *doc_line(struct doc *d, enum style s, const char *text);
/* Adds prose to the open line, broken at blanks to fit width, with later rows indented by `hang`.
 * Ends the line. */
void doc_wrap(struct doc *d, enum style s, const char *text, int width, int hang);

/* Colours one line: fills style[strlen(text)]. *state is carried from line to line (open comments);
 * 0 at the start. */
typedef void doc_colour(const char *text, unsigned char *style, int *state);
/* Adds one source line with tabs expanded; width > 0 wraps it, with continuation rows indented
 * deeper.  Returns the index of its first row. */
int doc_code(struct doc *d, const char *text, doc_colour *colour, int *state, int width);
/* Adds a whole source text, line by line. */
void doc_source(struct doc *d, const char *text, doc_colour *colour, int width);

/* Move the cursor and keep it on a visible line; h is the height of the pane. */
void doc_scroll_fix(const struct doc *d, struct scroll *s, int h);
void doc_scroll_by(const struct doc *d, struct scroll *s, int delta, int h);
void doc_scroll_to(const struct doc *d, struct scroll *s, int line, int h);
/* Goes to the next selectable word, also on other lines. */
void doc_scroll_item(const struct doc *d, struct scroll *s, int delta, int h);
/* Returns the index of the line in that row of a pane of height h. */
int doc_row(const struct doc *d, const struct scroll *s, int row, int h);
/* Returns the cursor's line; NULL in an empty document. */
const struct line *doc_at(const struct doc *d, const struct scroll *s);

/* Returns the next line after `from`, wrapping around, that contains the words; -1: none. Case is
 * ignored, as in steps: a loop W.1 is w.1 in the nest.  dir is 1 or -1. */
int doc_find(const struct doc *d, const char *words, int from, int dir);
/* Returns the first line with that id; -1 if none. */
int doc_find_id(const struct doc *d, int id);

struct doc_look {
    bool focused;
    const char *search;                  /* text whose matches are marked; NULL or "": none */
    /* word: a name to mark; NULL: none. stage: it is marked only on lines of this stage; NULL: on
     * all */
    const char *word, *stage;
    /* a second name to mark, also with digits behind it, as ker and ker0; NULL: none */
    const char *local;
    /* Whether the line with this id gets a bar in the gutter (lit), or is marked like a name
     * (marked). NULL: no line is. */
    bool (*lit)(const void *ctx, int id), (*marked)(const void *ctx, int id);
    const void *ctx;
};
/* Draws the visible lines; the first column is a gutter with the cursor's mark. */
void doc_draw(const struct doc *d, const struct scroll *s, struct grid *g, struct rect r,
              struct doc_look look);
#endif
