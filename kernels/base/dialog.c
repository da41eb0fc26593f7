#include "kernels/base/dialog.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/base/arena.h"
#include "kernels/base/spawn.h"

/* An answer may list the times of all calls made in 30 s, which are many if the calls are short. */
#define MAX_LINE_BYTES ((size_t)64 << 20)
#define TICK_MS 20
#define PATIENCE_MS 1000                  /* the time that a program gets to end by itself */

struct dialog {
    struct spawned program;
    int fd;                               /* a socket rather than two pipes: a write to a program
                                           * that has ended must not raise SIGPIPE */
    struct str unread, message;           /* unread: the received bytes after the last line taken;
                                           * message: the last line that dialog_hear skipped */
    size_t searched;                      /* the first `searched` bytes of unread have no newline */
};

struct dialog *dialog_open(const char *const *argv, struct err *e)
{
    int fd[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0) {
        err_set(e, ERR_ENV, "cannot run %s: %s", argv[0], strerror(errno));
        return NULL;
    }
    struct dialog *d = xcalloc(1, sizeof *d);
    d->fd = fd[0];
    bool started = spawn_group(argv, fd[1], fd[1], -1, &d->program, e);
    close(fd[1]);
    if (started)
        return d;
    close(d->fd);
    free(d);
    return NULL;
}

void dialog_say(struct dialog *d, const char *line)
{
    struct str s = {0};
    str_printf(&s, "%s\n", line);
    for (size_t at = 0; at < s.len;) {
        ssize_t n = send(d->fd, s.data + at, s.len - at, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        at += (size_t)n;
    }
    str_free(&s);
}

/* Moves one complete line of d->unread to *line. Returns false when there is none. */
static bool take_line(struct dialog *d, struct str *line)
{
    size_t from = d->searched, left = d->unread.len - from;
    const char *end = left > 0 ? memchr(d->unread.data + from, '\n', left) : NULL;
    d->searched = end ? 0 : d->unread.len;
    if (!end)
        return false;
    size_t n = (size_t)(end - d->unread.data);
    str_clear(line);
    str_add_n(line, d->unread.data, n);
    memmove(d->unread.data, end + 1, d->unread.len - n);       /* includes the final NUL */
    d->unread.len -= n + 1;
    return true;
}

/* Waits at most one tick for output, and receives it. Returns false when the program has closed its
 * output. */
static bool receive(struct dialog *d)
{
    char chunk[16384];
    struct pollfd p = { .fd = d->fd, .events = POLLIN };
    if (poll(&p, 1, TICK_MS) <= 0)
        return true;
    ssize_t n = recv(d->fd, chunk, sizeof chunk, MSG_DONTWAIT);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    str_add_n(&d->unread, chunk, (size_t)n);
    return n > 0;
}

/* Sets the error of a program for which receive returned false. */
static bool ended(const struct dialog *d, struct err *e)
{
    const char *last = d->unread.len ? str_text(&d->unread) : str_text(&d->message);
    const char *colon = *last ? ": " : "";
    siginfo_t how;
    if (!spawn_wait(d->program.pid, PATIENCE_MS, &how) || how.si_pid == 0)
        return err_set(e, ERR_CRASH, "it closed its output%s%.300s", colon, last);
    int code = how.si_code == CLD_EXITED ? how.si_status : 128 + how.si_status;
    return err_set(e, ERR_CRASH, "it ended with exit code %d%s%.300s", code, colon, last);
}

/* Whether the line is "FIRST ..." or "FIRST"; if so, cuts the word off. */
static bool cut_first(struct str *line, const char *first)
{
    size_t n = strlen(first);
    const char *t = str_text(line);
    if (!str_starts(t, first) || (t[n] != '\0' && t[n] != ' '))
        return false;
    struct str rest = {0};
    str_add(&rest, t + n);
    str_free(line);
    *line = rest;
    return true;
}

static bool too_long(struct err *e)
{
    return err_set(e, ERR_CRASH, "it printed a line of more than 64 MiB");
}

bool dialog_hear(struct dialog *d, const char *first, double limit_s, const struct cancel *c,
                 struct str *line, struct err *e)
{
    double until = clock_s() + limit_s;
    bool open = true;
    for (;;) {
        while (take_line(d, line)) {
            if (line->len > MAX_LINE_BYTES)
                return too_long(e);
            if (cut_first(line, first))
                return true;
            if (line->len > 0) {
                str_clear(&d->message);
                str_add(&d->message, str_text(line));
            }
        }
        if (cancelled(c))
            return err_set(e, ERR_CANCEL, "cancelled");
        if (d->unread.len > MAX_LINE_BYTES)
            return too_long(e);
        if (!open)
            return ended(d, e);
        if (clock_s() > until)
            return err_set(e, ERR_TIMEOUT, "no answer within %.3g s", limit_s);
        open = receive(d);
    }
}

void dialog_close(struct dialog *d)
{
    if (!d)
        return;
    siginfo_t ignored;
    shutdown(d->fd, SHUT_WR);
    spawn_wait(d->program.pid, PATIENCE_MS, &ignored);
    spawn_end(d->program.pid);
    while (waitpid(d->program.pid, NULL, 0) < 0 && errno == EINTR)
        ;
    spawn_close(&d->program);
    close(d->fd);
    str_free(&d->unread);
    str_free(&d->message);
    free(d);
}
