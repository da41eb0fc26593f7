#include "sessions/file/session_place.h"

#include <stdlib.h>
#include <string.h>
#include "kernels/base/file.h"

/* Cuts text at its last `mark` if the part before the mark is an existing file or "-".  Before the
 * mark @, FILE#BRANCH is also accepted.  Returns the text after the mark, or NULL if it did not
 * cut. */
static char *cut(char *text, char mark)
{
    char *at = strrchr(text, mark);
    if (!at)
        return NULL;
    *at = '\0';
    char *branch = mark == '@' ? strrchr(text, '#') : NULL;
    if (branch)
        *branch = '\0';
    bool file = file_exists(text) || streq(text, "-");
    if (branch)
        *branch = '#';
    if (!file && branch)
        file = file_exists(text);
    if (file)
        return at + 1;
    *at = mark;
    return NULL;
}

bool session_place_read(const char *arg, struct session_place *out, struct err *e)
{
    *out = (struct session_place){ .name = xstrdup(arg), .branch = xstrdup(""), .step = -1 };
    if (file_exists(arg))
        return true;
    char *step = cut(out->name, '@');
    char *branch = file_exists(out->name) ? NULL : cut(out->name, '#');
    long long number = -1;
    if (branch) {
        free(out->branch);
        out->branch = xstrdup(branch);
    }
    if (step && !str_to_int64(step, 0, 1000000, &number)) {
        err_set(e, ERR_SYNTAX, "%.200s: behind @ stands the number of a step, not \"%.60s\"", arg,
                step);
        return err_fix(e, "%s@3", out->name);
    }
    if (branch && !branch[0]) {
        err_set(e, ERR_SYNTAX, "%.200s: behind # stands the name of a branch", arg);
        return err_fix(e, "%s#main", out->name);
    }
    out->step = (int)number;
    return true;
}

void session_place_free(struct session_place *p)
{
    free(p->name);
    free(p->branch);
    p->name = p->branch = NULL;
}

bool session_place_go(struct history *h, const struct session_place *p, struct err *e)
{
    return (!p->branch[0] || history_branch_switch(h, p->branch, e))
        && (p->step < 0 || history_goto(h, p->step, e));
}

bool session_place_open(const char *arg, const char *dims, struct session **out, struct err *e)
{
    struct session_place place;
    struct session *s = NULL;
    bool ok = session_place_read(arg, &place, e) && session_open(place.name, dims, &s, e)
           && session_place_go(s->history, &place, e);
    session_place_free(&place);
    if (ok)
        *out = s;
    else
        session_free(s);
    return ok;
}
