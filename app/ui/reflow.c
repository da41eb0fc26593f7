#include "app/ui/reflow.h"

#include <string.h>
#include "app/ui/text.h"

#define TAIL_INDENT 16  /* a line indented by at least this many columns continues a row */
/* If fewer columns than this remain for the text of a row, the later lines of the text are indented
 * by only 4 columns more than the row. */
#define LEAST_TAIL 24

/* One line. column: the column of the text in a row of a list; -1: the line is no row of a list. */
struct text_row { const char *text; size_t n; int indent, column; };

/* Reads the line at p, and moves p behind it. */
static struct text_row next_row(const char **p)
{
    struct text_row r = { *p, strcspn(*p, "\n"), (int)strspn(*p, " "), -1 };
    for (size_t i = (size_t)r.indent; r.column < 0 && i + 2 < r.n; i++)
        if (r.text[i] == ' ' && r.text[i + 1] == ' ') {
            i += strspn(r.text + i, " ");
            r.column = text_width_n(r.text, i);
        }
    *p += r.n + (r.text[r.n] == '\n');
    return r;
}

/* Whether line b continues the text of line a. */
static bool goes_on(const struct text_row *a, const struct text_row *b)
{
    if (a->n == 0 || b->n == 0 || b->column >= 0 || b->text[b->indent] == '#')
        return false;
    if (a->column >= 0)
        return b->indent == a->column || b->indent >= TAIL_INDENT;
    return b->indent == a->indent && (b->indent == 0 || b->indent >= TAIL_INDENT);
}

void text_reflow(struct str *out, const char *text, int width)
{
    struct str joined = {0};
    while (*text) {
        struct text_row first = next_row(&text);
        int hang = first.column >= 0 ? first.column : first.indent;
        str_clear(&joined);
        str_add_n(&joined, first.text, first.n);
        for (const char *ahead = text; *ahead; text = ahead) {
            struct text_row more = next_row(&ahead);
            if (!goes_on(&first, &more))
                break;
            if (first.column >= 0)
                hang = first.column = more.indent;
            str_add_char(&joined, ' ');
            str_add_n(&joined, more.text + more.indent, more.n - (size_t)more.indent);
        }
        bool example = first.column < 0 && first.indent > 0 && first.indent < TAIL_INDENT;
        bool narrow = first.column >= 0 && hang + LEAST_TAIL > width;
        if (example || narrow)
            hang = first.indent + 4;
        if (joined.len > 0)
            str_wrap(out, str_text(&joined), width, hang);
        else
            str_add_char(out, '\n');
    }
    str_free(&joined);
}
