#include "profile/measure/outside.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "kernels/base/dialog.h"
#include "kernels/base/vec.h"

#define READY_LIMIT_S 300.0              /* a runtime may compile a large network */
#define RUN_LIMIT_S 60.0

struct outside {
    struct dialog *dialog;
    struct str line;
    double limit_s;                       /* time limit of one run */
    VEC(double) seconds;                  /* time of each run so far */
};

struct outside *outside_open(const char *command, double limit_s, const struct cancel *c,
                             struct err *e)
{
    const char *const argv[] = { "sh", "-c", command, NULL };
    struct dialog *d = dialog_open(argv, e);
    if (!d)
        return NULL;
    struct outside *o = xcalloc(1, sizeof *o);
    o->dialog = d;
    o->limit_s = limit_s > 0 ? limit_s : RUN_LIMIT_S;
    if (dialog_hear(d, "ready", READY_LIMIT_S, c, &o->line, e))
        return o;
    outside_close(o);
    if (e->code == ERR_TIMEOUT)
        err_set(e, ERR_TIMEOUT, "the program did not print \"ready\" within %.0f s", READY_LIMIT_S);
    return NULL;
}

/* Reads the times of an answer. */
static bool take_times(struct outside *o, struct err *e)
{
    const char *p = str_text(&o->line);
    int had = o->seconds.len;
    for (;;) {
        char *end;
        while (*p == ' ')
            p++;
        if (*p == '\0' && o->seconds.len > had)
            return true;
        double ms = strtod(p, &end);
        if (end == p || (*end != ' ' && *end != '\0') || !isfinite(ms) || ms <= 0)
            return err_set(e, ERR_ENV, "the program must answer \"times\" and the milliseconds of"
                           " each run, but it answered \"times%.60s\"", str_text(&o->line));
        vec_push(&o->seconds, 1e-3 * ms);
        p = end;
    }
}

bool outside_time(struct outside *o, double time_s, const struct cancel *c,
                  const double **seconds, int *n, struct err *e)
{
    char ask[40];
    snprintf(ask, sizeof ask, "time %.6g", time_s);
    dialog_say(o->dialog, ask);
    if (!dialog_hear(o->dialog, "times", time_s + o->limit_s, c, &o->line, e)
        || !take_times(o, e))
        return false;
    *seconds = o->seconds.data;
    *n = o->seconds.len;
    return true;
}

void outside_close(struct outside *o)
{
    if (!o)
        return;
    dialog_close(o->dialog);
    str_free(&o->line);
    vec_free(&o->seconds);
    free(o);
}

const char *outside_name(const char *text, char *name, size_t size)
{
    size_t n = strcspn(text, ": \t");
    bool named = n > 0 && text[n] == ':' && isspace((unsigned char)text[n + 1]);
    snprintf(name, size, "%.*s", (int)n, text);
    return named ? text + n + 1 : text;
}
