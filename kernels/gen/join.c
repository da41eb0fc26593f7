/* Joins several generated texts into one translation unit, so that the compiler starts only once.
 */
#include "kernels/gen/gen.h"

#include "kernels/base/vec.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Returns the place after the parenthesis that closes the one at p; NULL: the line ends before
 * that. */
static const char *skip_group(const char *p, const char *end)
{
    int depth = 0;
    for (; p < end; p++) {
        depth += (*p == '(') - (*p == ')');
        if (depth == 0)
            return p + 1;
    }
    return NULL;
}

/* Returns the name that the line [p, end) defines: the first word before a parenthesis, other than
 * __attribute__.  NULL: it defines none. */
static const char *defined_name(const char *p, const char *end, size_t *n)
{
    static const char attribute[] = "__attribute__";
    for (const char *open; p && (open = memchr(p, '(', (size_t)(end - p))) != NULL;) {
        const char *from = open;
        while (from > p && is_word(from[-1]))
            from--;
        *n = (size_t)(open - from);
        if (*n > 0 && !(*n == strlen(attribute) && memcmp(from, attribute, *n) == 0))
            return from;
        p = skip_group(open, end);
    }
    return NULL;
}

struct join_word { const char *at; size_t n; };
typedef VEC(struct join_word) words;

static int compare_words(const void *a, const void *b)
{
    const struct join_word *x = a, *y = b;
    int order = memcmp(x->at, y->at, x->n < y->n ? x->n : y->n);
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

/* Returns the names of the functions that a source defines, sorted. In text of gen_c, a line that
 * starts with "static " or "void " and has a name before a parenthesis begins a function. */
static words functions_of(const char *source)
{
    words out = {0};
    for (const char *line = source, *end; *line; line = *end ? end + 1 : end) {
        struct join_word w;
        end = line + strcspn(line, "\n");
        w.at = str_starts(line, "static ") || str_starts(line, "void ")
             ? defined_name(line, end, &w.n) : NULL;
        if (w.at)
            vec_push(&out, w);
    }
    if (out.len > 0)
        qsort(out.data, (size_t)out.len, sizeof *out.data, compare_words);
    return out;
}

/* Prints a source with _NUMBER appended to the name of every function that the source defines. */
static void print_numbered(const char *source, int number, struct str *out)
{
    words own = functions_of(source);
    for (const char *p = source; *p;) {
        const char *from = p;
        while (is_word(*p))
            p++;
        const struct join_word w = { from, (size_t)(p - from) };
        if (w.n == 0)
            p++;
        str_add_n(out, from, (size_t)(p - from));
        if (w.n > 0 && own.len > 0
            && bsearch(&w, own.data, (size_t)own.len, sizeof w, compare_words))
            str_printf(out, "_%d", number);
    }
    vec_free(&own);
}

void gen_join(const char *const *source, int n, int first, struct str *out)
{
    for (int i = 0; i < n; i++)
        print_numbered(source[i], first + i, out);
}
