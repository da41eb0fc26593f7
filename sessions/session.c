#include "sessions/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/file.h"
#include "sessions/onnx.h"

bool session_new(const char *spec, struct session **out, struct err *e)
{
    struct history *history;
    if (!history_new(spec, &history, e))
        return false;
    struct session *s = xcalloc(1, sizeof *s);
    s->history = history;
    *out = s;
    return true;
}

void session_free(struct session *s)
{
    if (!s)
        return;
    history_free(s->history);
    str_free(&s->note);
    free(s);
}

static bool is_file_name(const char *arg)
{
    return streq(arg, "-") || str_ends(arg, ".yaml") || str_ends(arg, ".yml") || file_exists(arg);
}

/* Neither a file nor an operator: suggests the nearest operator when arg looks like one. */
static bool neither(const char *arg, const char *first, struct err *e)
{
    const char *names[64];
    int n = 0;
    for (int i = 0; i < ops_count() && n < COUNT_OF(names); i++)
        names[n++] = ops_get(i)->name;
    const char *near = str_nearest(first, names, n);
    err_set(e, ERR_IO, "\"%.200s\" is neither a session file nor an operator", arg);
    if (near)
        err_fix(e, "did you mean the operator \"%s\"?", near);
    else
        err_fix(e, "a session file (.yaml), or an operator like \"%s\"; tilescope ops lists them",
                ops_get(0)->example);
    return false;
}

bool session_open(const char *arg, struct session **out, struct err *e)
{
    char first[64];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(arg, " \t"), arg);
    if (ops_find(first) || graph_is_composition(arg))
        return session_new(arg, out, e);
    if (str_ends(arg, ".onnx"))
        return onnx_session(arg, out, e);
    if (is_file_name(arg))
        return session_load(arg, out, e);
    return neither(arg, first, e);
}
