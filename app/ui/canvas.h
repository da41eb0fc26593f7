/* A canvas of character cells with 2 x 4 dots each (braille, U+2800), for plots.  A character that
 * is written into a cell hides the dots there.  Drawing outside the canvas does nothing.  Without
 * Unicode, the dots of a cell become one of the characters . ' - : (grid_ascii). */
#ifndef TS_APP_CANVAS_H
#define TS_APP_CANVAS_H
#include "app/ui/doc.h"

struct canvas_cell { unsigned char dots, style; uint32_t ch; };  /* ch 0: the cell shows the dots */
struct canvas { int w, h; struct canvas_cell *cell; };   /* w x h cells, with 2 w x 4 h dots */

void canvas_open(struct canvas *c, int w, int h);
void canvas_close(struct canvas *c);
/* Draw dots. x and y are in dots, from the left and from the top. canvas_line ignores a line of
 * more than 1e5 dots. dash > 0: of every `dash` dots of the line, draws only the first half. */
void canvas_dot(struct canvas *c, int x, int y, enum style s);
void canvas_line(struct canvas *c, double x0, double y0, double x1, double y1, enum style s,
                 int dash);
/* Writes a text into cells. */
void canvas_text(struct canvas *c, int col, int row, unsigned s, const char *text);
/* Returns how many of the w cells from (col, row) have dots or a character, or are outside of the
 * canvas. */
int canvas_used(const struct canvas *c, int col, int row, int w);
/* Whether one of the w cells from (col, row) has a character. */
bool canvas_written(const struct canvas *c, int col, int row, int w);
/* Append each row as a line of d, or of out; canvas_print leaves out trailing blanks. */
void canvas_doc(const struct canvas *c, struct doc *d);
void canvas_print(const struct canvas *c, struct str *out, bool unicode);
#endif
