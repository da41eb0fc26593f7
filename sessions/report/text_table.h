/* Aligned columns for reports. */
#ifndef TS_SESSIONS_TEXT_TABLE_H
#define TS_SESSIONS_TEXT_TABLE_H
#include "kernels/base/str.h"
#include "kernels/base/vec.h"

#define TEXT_TABLE_COLUMNS 40

/* align: one letter per column, 'l' or 'r'.  Zero-initialise the rest. */
struct text_table { const char *align; VEC(char *) cell; };

/* The next cell, row by row; NULL is an empty one. */
void text_table_add(struct text_table *t, const char *text);
void text_table_addf(struct text_table *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* A whole row, its cells separated by tabs; what a row lacks is empty. */
void text_table_row(struct text_table *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Two blanks before each row and between columns, none at the end of a line; frees the cells. */
void text_table_print(struct str *out, struct text_table *t);
#endif
