/* Prints helpers as macros, for C that is compiled elsewhere with any flags. */
#include <stdio.h>
#include <string.h>

#include "kernels/gen/gen.h"

/* Whether `text` has calls of the helpers max and min that are nested three deep or more.  The
 * macros repeat their arguments, so the length of the expansion is exponential in the depth. */
static bool nests(const char *text, int lanes)
{
    char rest[16];
    int open = 0, n = 0, at[2];  /* at: how many parentheses are open around each of n calls */
    snprintf(rest, sizeof rest, "%d(", lanes);
    for (const char *c = text; *c; c++) {
        bool call = (str_starts(c, "max") || str_starts(c, "min")) && str_starts(c + 3, rest);
        if (call && n == COUNT_OF(at))
            return true;
        if (call) {
            at[n++] = open;
            c += strlen("max") + strlen(rest) - 1;
        }
        open += (*c == '(') - (*c == ')');
        n -= *c == ')' && n > 0 && at[n - 1] == open;
    }
    return false;
}

bool gen_macro(struct str *out, const char *line, const char **next)
{
    int v, lanes;
    char name[8];
    const char *end = strchr(line, '\n');
    if (!end)
        return false;
    if (sscanf(line, "static inline v%d load%d(const", &v, &lanes) == 2)
        str_printf(out, "#define load%d(p) ((v%d)*(const u%d *)(p))\n", lanes, v, lanes);
    else if (sscanf(line, "static inline void store%d(%*s *p, v%d", &lanes, &v) == 2)
        str_printf(out, "#define store%d(p, x) (*(u%d *)(p) = (x))\n", lanes, lanes);
    else if (sscanf(line, "static inline v%d %3[minax]%d(v", &v, name, &lanes) == 3
             && (streq(name, "max") || streq(name, "min")) && strstr(line, "\n}\n")
             && !nests(end, lanes)) {
        char op = name[1] == 'a' ? '>' : '<';
        str_printf(out, "#define %s%d(a, b) \\\n    ((v%d)(((i%d)(a) & ((a) %c (b))) | "
                        "((i%d)(b) & ~((a) %c (b)))))\n", name, lanes, lanes, lanes, op, lanes, op);
        end = strstr(line, "\n}\n") + 2;
    } else {
        return false;
    }
    *next = end + 1;
    return true;
}
