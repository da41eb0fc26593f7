#include "kernels/base/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernels/base/file.h"
#include "kernels/base/spawn.h"

#define MAX_OUTPUT_BYTES ((size_t)1 << 20)
#define TICK_MS 20

double clock_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool subprocess_find_in(const char *name, const char *folders, struct str *path)
{
    const char *p = folders;
    struct str try = {0};
    bool found = false;
    if (*name == '\0' || strchr(name, '/'))
        return false;
    while (!found) {
        size_t n = strcspn(p, ":");
        str_clear(&try);
        str_add_n(&try, n ? p : ".", n ? n : 1);
        str_printf(&try, "/%s", name);
        found = is_program(str_text(&try));
        if (p[n] == '\0')
            break;
        p += n + 1;
    }
    if (found && path) {
        str_clear(path);
        str_add(path, str_text(&try));
    }
    str_free(&try);
    return found;
}

bool subprocess_find(const char *name, struct str *path)
{
    const char *p = getenv("PATH");
    return subprocess_find_in(name, p ? p : "/usr/local/bin:/usr/bin:/bin", path);
}

/* Opens a pipe whose ends do not collide with the standard descriptors of the child, even if those
 * of this process are closed. */
static bool open_pipe(int fd[2])
{
    if (pipe2(fd, O_CLOEXEC) != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        if (fd[i] > STDERR_FILENO)
            continue;
        int moved = fcntl(fd[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        close(fd[i]);
        fd[i] = moved;
    }
    if (fd[0] >= 0 && fd[1] >= 0 && fcntl(fd[0], F_SETFL, O_NONBLOCK) == 0)
        return true;
    for (int i = 0; i < 2; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    return false;
}

/* Reads the available output without blocking, at most 2 MiB, so that a flood of output does not
 * delay the time limit.  Drops output beyond MAX_OUTPUT_BYTES, so that the program never blocks.
 * Returns false at the end of the output. */
static bool take_output(int fd, struct subprocess_result *res)
{
    char chunk[16384];
    for (int i = 0; i < 128; i++) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN;
        if (n == 0)
            return false;
        size_t room = MAX_OUTPUT_BYTES - res->out.len;
        res->cut = res->cut || (size_t)n > room;
        str_add_n(&res->out, chunk, (size_t)n < room ? (size_t)n : room);
    }
    return true;
}

/* Whether the process has ended.  If so, *status is its wait status, or -1 when that is unknown
 * (SIGCHLD ignored). */
static bool reap(pid_t pid, int flags, int *status)
{
    for (;;) {
        pid_t got = waitpid(pid, status, flags);
        if (got == pid)
            return true;
        if (got == 0)
            return false;
        if (errno != EINTR) {
            *status = -1;
            return true;
        }
    }
}

/* Waits for output, at most one tick.  When the program has closed its output (not `open`), naps
 * instead: the program usually ends microseconds later, and nothing signals its end.  The naps grow
 * to about 10 ms. */
static void wait_tick(int fd, bool open, double left_s, long *nap_us)
{
    double tick_ms = left_s * 1e3 < TICK_MS ? left_s * 1e3 + 1 : TICK_MS;
    if (open) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        poll(&p, 1, (int)tick_ms);
        return;
    }
    struct timespec t = { .tv_nsec = *nap_us * 1000 };
    nanosleep(&t, NULL);
    if (*nap_us < TICK_MS * 500)
        *nap_us *= 2;
}

/* Waits for a started program to end. Returns its wait status. */
static int follow(pid_t pid, int fd, double limit_s, const struct cancel *c,
                  struct subprocess_result *res)
{
    double end = clock_s() + limit_s;
    bool open = true;
    long nap_us = 50;
    int status = 0;
    while (!reap(pid, WNOHANG, &status)) {
        double left = limit_s > 0 ? end - clock_s() : 1;
        res->cancelled = cancelled(c);
        res->timed_out = !res->cancelled && left <= 0;
        if (res->cancelled || res->timed_out) {
            spawn_end(pid);
            reap(pid, 0, &status);
            break;
        }
        wait_tick(fd, open, left, &nap_us);
        open = open && take_output(fd, res);
    }
    if (open)
        take_output(fd, res);
    return status;
}

bool subprocess_run(const char *const *argv, double limit_s, const struct cancel *c,
                    struct subprocess_result *res, struct err *e)
{
    return subprocess_run_keeping(-1, argv, limit_s, c, res, e);
}

bool subprocess_run_keeping(int keep, const char *const *argv, double limit_s,
                            const struct cancel *c, struct subprocess_result *res, struct err *e)
{
    int fd[2];
    struct spawned program;
    *res = (struct subprocess_result){ .exit_code = -1 };
    if (cancelled(c)) {
        res->cancelled = true;
        return err_set(e, ERR_CANCEL, "cancelled before %s was started", argv[0]);
    }
    if (!open_pipe(fd))
        return err_set(e, ERR_ENV, "cannot run %s: %s", argv[0], strerror(errno));
    bool started = spawn_group(argv, -1, fd[1], keep, &program, e);
    close(fd[1]);
    int status = started ? follow(program.pid, fd[0], limit_s, c, res) : -1;
    close(fd[0]);
    if (!started)
        return false;
    spawn_close(&program);
    if (res->cancelled) {
        str_free(&res->out);
        return err_set(e, ERR_CANCEL, "%s was cancelled", argv[0]);
    }
    if (status != -1 && WIFEXITED(status))
        res->exit_code = WEXITSTATUS(status);
    if (status != -1 && WIFSIGNALED(status))
        res->signal = WTERMSIG(status);
    return true;
}

bool subprocess_run_on(const void *data, size_t bytes, const char *const *argv, double limit_s,
                       const struct cancel *c, struct subprocess_result *res, struct err *e)
{
    int fd = memfd_create("tilescope-input", MFD_CLOEXEC);
    bool ok = fd >= 0 && file_put(fd, data, bytes) && lseek(fd, 0, SEEK_SET) == 0;
    *res = (struct subprocess_result){ .exit_code = -1 };
    if (!ok)
        err_set(e, ERR_ENV, "no memory for the input of %s: %s", argv[0], strerror(errno));
    ok = ok && subprocess_run_keeping(fd, argv, limit_s, c, res, e);
    if (fd >= 0)
        close(fd);
    return ok;
}

void subprocess_drop_half_line(struct subprocess_result *r)
{
    while (r->cut && r->out.len > 0 && r->out.data[r->out.len - 1] != '\n')
        r->out.data[--r->out.len] = '\0';
}

bool subprocess_refuse(const char *name, const struct subprocess_result *r, double limit_s,
                       struct err *e)
{
    const char *log = str_text(&r->out);
    int n = (int)strcspn(log, "\n");
    if (r->timed_out)
        return err_set(e, ERR_ENV, "%s took longer than %g s", name, limit_s);
    if (r->signal)
        return err_set(e, ERR_ENV, "%s was ended by signal %d", name, r->signal);
    if (n == 0)
        return err_set(e, ERR_ENV, "%s failed with exit code %d", name, r->exit_code);
    return err_set(e, ERR_ENV, "%s failed: %.*s", name, n, log);
}
