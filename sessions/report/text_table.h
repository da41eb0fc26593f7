/* Prints tables with aligned columns. */
#ifndef TS_SESSIONS_TEXT_TABLE_H
#define TS_SESSIONS_TEXT_TABLE_H
#include "kernels/base/str.h"
#include "kernels/base/vec.h"

#define TEXT_TABLE_COLUMNS 40

/* align: one letter per column, 'l' or 'r'; at most TEXT_TABLE_COLUMNS.  The other members must
 * start as zero. */
struct text_table { const char *align; VEC(char *) cell; };

/* Adds the next cell, row by row; NULL adds an empty one. */
void text_table_add(struct text_table *t, const char *text);
void text_table_addf(struct text_table *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds a row from a text whose cells are separated by tabs.  Missing cells are empty. */
void text_table_row(struct text_table *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints with two blanks before each row and between columns; frees the cells. */
void text_table_print(struct str *out, struct text_table *t);
#endif
