/* Fits the prose of a help text, which is written for 80 columns, to the width of a pane. */
#ifndef TS_APP_REFLOW_H
#define TS_APP_REFLOW_H
#include "kernels/base/str.h"

/* Appends the text with its paragraphs wrapped to width columns.
 *
 * Lines that begin in the first column are a paragraph. It ends before an empty or indented line, a
 * row of a list, or a line that begins with '#'. A line with two blanks behind a word is a row of a
 * list. The text behind the blanks continues on the next lines if these are indented as far as the
 * text, or by 16 columns or more. Other lines that are indented by less than 16 columns are
 * examples, which are not joined. */
void text_reflow(struct str *out, const char *text, int width);
#endif
