/* Prints helpers as macros, for C that is compiled elsewhere with any flags. */
#include <stdio.h>
#include <string.h>

#include "kernels/gen/gen.h"

/* Whether `text` has calls of a helper that are nested three deep or more, each as the first
 * operand of the one around it.  The macro repeats its arguments, so the length of their expansion
 * is exponential in the depth. */
static bool nests(const char *text, const char *name, int lanes)
{
    char calls[48], call[16];
    snprintf(call, sizeof call, "%s%d(", name, lanes);
    snprintf(calls, sizeof calls, "%s%s%s", call, call, call);
    return strstr(text, calls) != NULL;
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
             && !nests(end, name, lanes)) {
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
