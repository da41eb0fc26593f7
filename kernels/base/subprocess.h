/* Runs other programs, with a time limit, captured output and cancellation. */
#ifndef TS_BASE_SUBPROCESS_H
#define TS_BASE_SUBPROCESS_H
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>
#include "kernels/base/err.h"
#include "kernels/base/str.h"

/* A flag that another thread or a signal handler raises to cancel a task.  Long-running functions
 * take a flag; NULL: the task cannot be cancelled.  whole: the flag of a larger task that
 * contains this one; raising it cancels both.  NULL: there is no larger task. */
struct cancel { atomic_int raised; const struct cancel *whole; };
static inline bool cancelled(const struct cancel *c)
{
    while (c && atomic_load(&c->raised) == 0)
        c = c->whole;
    return c != NULL;
}

struct subprocess_result {
    int exit_code;        /* -1 when it did not exit, or its status is unknown */
    int signal;           /* the signal that ended it; 0: no signal did, or it is unknown */
    bool timed_out, cancelled;
    bool cut;             /* whether there was more output than out can hold */
    struct str out;       /* stdout and stderr, at most 1 MiB; the caller frees it with str_free */
};

/* Runs argv (NULL-terminated, looked up in PATH) with stdin from /dev/null, and captures its
 * output.  Returns false only when the program could not be started (ERR_ENV, names the program)
 * or was cancelled (ERR_CANCEL).  At the time limit (<= 0: none) the whole process group is ended
 * (spawn_end).  If possible, the program gets a folder of its own as TMPDIR, which is removed when
 * the program ends.  *res is filled in every case. */
bool subprocess_run(const char *const *argv, double limit_s, const struct cancel *c,
                    struct subprocess_result *res, struct err *e);

/* Like subprocess_run.  The program inherits fd as its descriptor 3; fd -1: none. */
bool subprocess_run_keeping(int fd, const char *const *argv, double limit_s,
                            const struct cancel *c, struct subprocess_result *res, struct err *e);

/* Like subprocess_run.  The program's descriptor 3 is a file with these bytes, which the program
 * can open as /dev/fd/3. */
bool subprocess_run_on(const void *data, size_t bytes, const char *const *argv, double limit_s,
                       const struct cancel *c, struct subprocess_result *res, struct err *e);

/* Whether a program failed: it was ended, or its exit code is not 0. */
static inline bool subprocess_failed(const struct subprocess_result *r)
{
    return r->timed_out || r->exit_code != 0;
}
/* Removes the incomplete last line of an output that was cut. */
void subprocess_drop_half_line(struct subprocess_result *r);
/* Sets ERR_ENV for a program that failed, and returns false.  The text has the time limit, or the
 * signal, or the first line of the output; if there is no output, the exit code. */
bool subprocess_refuse(const char *name, const struct subprocess_result *r, double limit_s,
                       struct err *e);

/* Whether NAME (a plain name) is in PATH and executable. If so, sets
 * *path to the path found, unless path is NULL. */
bool subprocess_find(const char *name, struct str *path);
/* Like subprocess_find, but searches `folders`, a list like that of PATH ("/usr/bin:/bin"). */
bool subprocess_find_in(const char *name, const char *folders, struct str *path);
double clock_s(void);                                      /* monotonic time in seconds */
#endif
