#include "sessions/export/export_code.h"

#include <string.h>

#include "kernels/gen/gen.h"

static const char language_text[] =
    "#if !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L\n"
    "#error \"this is C99: compile with -std=c99 or later\"\n"
    "#endif\n"
    "\n"
    "/* Vectors wider than the machine's are lowered by the compiler; they never cross a call. */\n"
    "#pragma GCC diagnostic ignored \"-Wpsabi\"\n"
    "\n";

void export_language(struct str *out)
{
    str_add(out, language_text);
}

void export_optimize(struct str *out, const struct target *target)
{
    int n = 0;
    str_add(out, "#if defined __GNUC__ && !defined __clang__\n#pragma GCC optimize (");
    for (const char *const *f = target_flags(target, false); *f; f++)
        if (str_starts(*f, "-f"))
            str_printf(out, "%s\"%s\"", n++ ? ", " : "", *f + 2);
    str_add(out, ")\n#endif\n\n");
}

void export_kernel(struct str *out, const char *code)
{
    for (const char *line = code; *line && !str_starts(line, "void ts_entry(");) {
        if (gen_macro(out, line, &line))
            continue;
        size_t n = strnlen(line, strcspn(line, "\n") + 1);
        bool pragma = str_starts(line + strspn(line, " "), "#pragma omp");
        str_add(out, pragma ? "#ifdef _OPENMP\n" : "");
        str_add_n(out, line, n);
        str_add(out, pragma ? "#endif\n" : "");
        line += n;
    }
}
