/* Joins several generated texts into one translation unit, so that the compiler starts only once.
 */
#include "kernels/gen/gen.h"

#include "kernels/base/arena.h"

#include <ctype.h>
#include <string.h>

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Returns the place after the parenthesis that closes the one at p; NULL when none does on this
 * line. */
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

/* Returns the name defined in the line [p, end): the first word before a parenthesis that is not
 * an attribute. */
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

/* Renames functions. gen_c begins a function, and nothing else, at the start of a line with its
 * type. */
static void print_renaming(const char *source, int number, bool begin, struct str *out)
{
    for (const char *line = source, *end; *line; line = *end ? end + 1 : end) {
        size_t n;
        end = line + strcspn(line, "\n");
        const char *name = str_starts(line, "static ") || str_starts(line, "void ")
                         ? defined_name(line, end, &n) : NULL;
        if (!name)
            continue;
        if (begin)
            str_printf(out, "#define %.*s %.*s_%d\n", (int)n, name, (int)n, name, number);
        else
            str_printf(out, "#undef %.*s\n", (int)n, name);
    }
}

void gen_join(const char *const *source, int n, struct str *out)
{
    for (int i = 0; i < n; i++) {
        print_renaming(source[i], i, true, out);
        str_add(out, source[i]);
        print_renaming(source[i], i, false, out);
    }
}
