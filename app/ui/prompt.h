/* The prompt: a one-line editor with history and completion.  Its owner interprets the lines and
 * supplies the completions. */
#ifndef TS_APP_PROMPT_H
#define TS_APP_PROMPT_H
#include "app/ui/grid.h"
#include "explorer/history/command.h"
#include "kernels/base/vec.h"

/* Lists in *out the words that can stand at the end of `line`, as completions of its last word.
 * Allocates them in a. */
typedef void prompt_complete(void *ctx, struct arena *a, const char *line, struct completions *out);

#define PROMPT_SAVE 'w'                  /* shown as "save as: "; takes a file name */

struct prompt {
    bool open;
    char mark;                           /* ':' or '/', shown before the line, or PROMPT_SAVE */
    struct str line;
    size_t at;                           /* the cursor, a byte offset on a character */
    bool selected;  /* set by the owner: whether the next letter or paste replaces the line */
    bool refused;  /* whether the line was just refused: ':' then begins an empty line */
    size_t wrong;  /* byte offset where the refused word begins; the word ends at the cursor */
    /* What C-u leaves of the line: "edit 3 ", `layout set C "`, `edit 3 layout set C "`, or "".  A
     * second C-u leaves only the first kept_less bytes of it. */
    struct str kept;
    size_t kept_less;
    VEC(char *) history;                 /* oldest first; searches begin with '/' */
    struct str fresh;  /* lines since the owner last stored the history, each with a line end */
    int history_at;  /* index of the shown line in the history; history.len: the typed line */
    struct str typed;  /* the typed line, while a line of the history is shown */
    struct arena *arena;                 /* owns the completions */
    struct completions words;            /* shown while n > 0 */
    int picked;                          /* index of the word that Tab has inserted; -1: none */
    struct str tail;                     /* the text after the cursor when the completion began */
    prompt_complete *complete;
    void *ctx;
};

enum prompt_event { PROMPT_NOTHING, PROMPT_EDITED, PROMPT_ENTERED, PROMPT_LEFT };

void prompt_init(struct prompt *p, prompt_complete *complete, void *ctx);
void prompt_free(struct prompt *p);
/* Opens the prompt with a line; the cursor is behind it. */
void prompt_open(struct prompt *p, char mark, const char *text);
void prompt_keep(struct prompt *p, const char *text, size_t less);   /* sets kept and kept_less */
/* Marks the line as refused.  col: the position of the word at fault, in bytes from 1; the cursor
 * goes behind this word.  col 0: the word is unknown, and the cursor stays. */
void prompt_refuse(struct prompt *p, int col);
void prompt_close(struct prompt *p);
/* Adds a line to the history as the newest one, unless the line is empty.  Removes an older equal
 * line, or else the oldest line if the history is full.  The line of a search begins with '/'. */
void prompt_remember(struct prompt *p, const char *line);
const char *prompt_last_search(const struct prompt *p);  /* without its '/'; "": no search yet */
void prompt_insert(struct prompt *p, const char *text);      /* control characters become blanks */
/* Handles a key.  After PROMPT_ENTERED or PROMPT_LEFT the owner has to call prompt_close. */
enum prompt_event prompt_key(struct prompt *p, int key);

/* Draws the line in one row, scrolled to show the cursor; sets the grid's text cursor. */
void prompt_draw(const struct prompt *p, struct grid *g, struct rect r);
/* Returns the rows that the completions need, at most max; 0 without completions. */
int prompt_list_rows(const struct prompt *p, int max);
void prompt_draw_list(const struct prompt *p, struct grid *g, struct rect r);
#endif
