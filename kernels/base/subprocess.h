/* Runs other programs, with a time limit, captured output and cancellation. */
#ifndef TS_BASE_SUBPROCESS_H
#define TS_BASE_SUBPROCESS_H
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>
#include "kernels/base/err.h"
#include "kernels/base/str.h"

/* A flag that another thread or a signal handler raises; every long-running function takes one
 * (NULL = never). */
struct cancel { atomic_int raised; };
static inline bool cancelled(const struct cancel *c) { return c && atomic_load(&c->raised) != 0; }

struct subprocess_result {
    int exit_code;        /* -1 when it did not exit by itself */
    int signal;           /* the signal that ended it, or 0 */
    bool timed_out, cancelled;
    struct str out;       /* stdout and stderr together, at most 1 MiB; str_free it */
};

/* Runs argv (NULL-terminated, looked up in PATH) with stdin from /dev/null, and captures its
 * output.  Returns false only when the program could not be started (ERR_ENV, names the program)
 * or was cancelled (ERR_CANCEL).  At the time limit (<= 0: none) the whole process group is
 * killed.  *res is always filled. */
bool subprocess_run(const char *const *argv, double limit_s, const struct cancel *c,
                    struct subprocess_result *res, struct err *e);

/* subprocess_run for a program that inherits fd as its descriptor SUBPROCESS_KEPT; -1 passes
 * none. */
#define SUBPROCESS_KEPT 3
bool subprocess_run_keeping(int fd, const char *const *argv, double limit_s,
                            const struct cancel *c, struct subprocess_result *res, struct err *e);

/* True when NAME (a plain name) is found in PATH and is executable. */
bool subprocess_find(const char *name, struct str *path);
double clock_s(void);                                      /* monotonic seconds */
#endif
