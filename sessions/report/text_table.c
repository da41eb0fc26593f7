#include "sessions/report/text_table.h"

#include <string.h>

void text_table_add(struct text_table *t, const char *text)
{
    vec_push(&t->cell, xstrdup(text ? text : ""));
}

void text_table_addf(struct text_table *t, const char *fmt, ...)
{
    struct str text = {0};
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&text, fmt, ap);
    va_end(ap);
    text_table_add(t, str_text(&text));
    str_free(&text);
}

void text_table_row(struct text_table *t, const char *fmt, ...)
{
    struct str row = {0};
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&row, fmt, ap);
    va_end(ap);
    char *cell = row.data;
    for (size_t left = strlen(t->align); left > 0; left--) {
        char *end = left > 1 ? strchrnul(cell, '\t') : strchr(cell, '\0');
        bool last = !*end;
        *end = '\0';
        text_table_add(t, cell);
        cell = last ? end : end + 1;
    }
    str_free(&row);
}

/* Returns the width of a UTF-8 text in characters. */
static int width_of(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

void text_table_print(struct str *out, struct text_table *t)
{
    int columns = (int)strlen(t->align), width[TEXT_TABLE_COLUMNS] = {0};
    for (int i = 0; i < t->cell.len; i++) {
        int w = width_of(t->cell.data[i]);
        if (w > width[i % columns])
            width[i % columns] = w;
    }
    for (int i = 0; i < t->cell.len; i++) {
        int c = i % columns, gap = width[c] - width_of(t->cell.data[i]);
        str_add(out, "  ");
        str_repeat(out, ' ', t->align[c] == 'r' ? gap : 0);
        str_add(out, t->cell.data[i]);
        str_repeat(out, ' ', t->align[c] == 'r' ? 0 : gap);
        free(t->cell.data[i]);
        if (c < columns - 1)
            continue;
        while (out->len > 0 && out->data[out->len - 1] == ' ')
            out->data[--out->len] = '\0';
        str_add_char(out, '\n');
    }
    vec_free(&t->cell);
}
