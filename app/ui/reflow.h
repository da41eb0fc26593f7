/* Fits the prose of a help text, which is written for 80 columns, to the width of a pane. */
#ifndef TS_APP_REFLOW_H
#define TS_APP_REFLOW_H
#include "kernels/base/str.h"

/* Appends the text with its paragraphs wrapped to width columns.
 *
 * Lines that begin in the first column are a paragraph, up to an empty or an indented line. A line
 * with two blanks behind a word is a row of a list; the text behind the blanks continues on the
 * next lines that are indented as far as this text. All other indented lines are examples; they
 * keep their lines. */
void text_reflow(struct str *out, const char *text, int width);
#endif
