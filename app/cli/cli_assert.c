/* --assert, of every command that measures. */
#include "app/cli/cli.h"

#include <stdio.h>

#include "kernels/base/formula.h"
#include "sessions/report/report.h"

bool cli_asserts_check(const struct args *a, struct err *e)
{
    for (int i = 0; i < a->given.len; i++)
        if (a->given.data[i].opt == OPT_ASSERT
            && !formula_check(a->given.data[i].value, NULL, NULL, e))
            return false;
    return true;
}

int cli_asserts(const struct cli *c, const struct str *json, bool good)
{
    int code = EXIT_FINE;
    const struct args *a = c->args;
    for (int i = 0; i < a->given.len; i++) {
        if (a->given.data[i].opt != OPT_ASSERT)
            continue;
        bool holds = false;
        struct err e = {0};
        struct str values = {0};
        const char *expr = a->given.data[i].value;
        bool ok = report_assert(str_text(json), expr, &holds, &values, &e);
        if (ok && !holds) {
            struct str said = {0};
            str_printf(&said, "assertion failed: %s", expr);
            str_printf(&said, values.len ? " (%s)\n" : "%s\n", str_text(&values));
            cli_note(&said);
            code = EXIT_CHECK;
        }
        str_free(&values);
        if (!ok && good)
            return cli_fail(c, &e);
    }
    return code;
}
