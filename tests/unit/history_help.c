#include "tests/unit/history_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

void history_run(struct history *h, const char *lines)
{
    static const struct measurement m = { .outcome = OUTCOME_OK,
                                          .latency = { .min_ms = 1, .runs = 5 } };
    char *text = xstrdup(lines), *rest = NULL;
    for (char *line = strtok_r(text, ";", &rest); line; line = strtok_r(NULL, ";", &rest)) {
        enum command_effect effect;
        struct err e;
        if (strchr(line, '!'))
            history_set_measured(h, history_current(h)->id, &m);
        else if (!command_run(h, line, &effect, &e))
            fail_msg("%s: %s", line, e.text);
    }
    free(text);
}

struct history *history_after(const char *spec, const char *lines)
{
    struct history *h = NULL;
    struct err e;
    if (!history_new(spec, &h, &e))
        fail_msg("%s: %s", spec, e.text);
    history_run(h, lines);
    return h;
}
