#include "kernels/base/subprocess.h"
#include "profile/child/child_impl.h"

#include "kernels/base/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_MS 20
#define START_LIMIT_S 20.0
#define DEFAULT_MEMORY_BYTES ((int64_t)1 << 30)
#define REAP_S 1.0  /* seconds to wait for the runner's end after it closed the connection */


/* Clears *pid of an ended process. The OpenMP library of LLVM makes a file in /dev/shm for each
 * process, which remains when the process is killed; this function removes it. */
static void forget(pid_t *pid)
{
    char name[64];
    snprintf(name, sizeof name, "/__KMP_REGISTERED_LIB_%d_%d", (int)*pid, (int)getuid());
    shm_unlink(name);
    *pid = 0;
}

static void kill_process(pid_t *pid)
{
    if (!*pid)
        return;
    kill(-*pid, SIGKILL);
    kill(*pid, SIGKILL);
    while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
        ;
    forget(pid);
}

/* Stores ": LINE" in `out`, where LINE is the first line that the runner wrote (for example a
 * complaint of the OpenMP library or a sanitizer).  Stores "" if that line is empty. */
static void last_words(const struct child *c, char *out, size_t n)
{
    char text[256];
    ssize_t len = pread(c->log, text, sizeof text - 1, 0);
    text[len > 0 ? len : 0] = '\0';
    size_t line = strcspn(text, "\r\n");
    *out = '\0';
    text[line] = '\0';
    child_clean_text(text, sizeof text);
    if (line > 0)
        snprintf(out, n, ": %s", text);
}

/* Describes a fault: "a write 4 bytes behind Conv". */
static void describe_place(const struct child *c, const struct fault *f, char *out, size_t n)
{
    const char *verb = f->access == ACCESS_WRITE ? "a write"
                     : f->access == ACCESS_READ ? "a read" : "an access";
    bool known = f->buffer >= 0 && f->buffer < c->opts.n_buffers;
    const char *name = known ? c->buffer[f->buffer].name : "?";
    long long d = f->distance;
    switch ((enum fault_where)f->where) {
    case FAULT_NULL:
        snprintf(out, n, "%s through a null pointer (address 0x%llx)", verb,
                 (unsigned long long)f->address);
        break;
    case FAULT_STACK:
        snprintf(out, n, "%s beyond the stack: the local buffers are too large for it", verb);
        break;
    case FAULT_INSIDE:
        snprintf(out, n, "%s to element %lld of %s, which the kernel may only read", verb,
                 known ? d / c->buffer[f->buffer].type->bytes : d, name);
        break;
    case FAULT_BEFORE:
        snprintf(out, n, "%s %lld bytes before %s", verb, d, name);
        break;
    case FAULT_BEHIND:
        if (d == 0)
            snprintf(out, n, "%s just behind %s", verb, name);
        else
            snprintf(out, n, "%s %lld bytes behind %s", verb, d, name);
        break;
    case FAULT_ELSEWHERE:
    default:
        snprintf(out, n, "%s through a wild pointer", verb);
    }
}

static const char *signal_text(int sig)
{
    switch (sig) {
    case SIGFPE: return "SIGFPE (integer division by zero)";
    case SIGILL: return "SIGILL (an instruction that this CPU does not have)";
    case SIGABRT: return "SIGABRT (it called abort)";
    case SIGTRAP: return "SIGTRAP";
    case SIGBUS: return "SIGBUS";
    case SIGSEGV: return "SIGSEGV";
    case SIGSYS: return "SIGSYS";
    default: return "a signal";
    }
}

/* Whether the signal is taken to come from another process: no fault and no limit of this program
 * raises it. */
static bool is_from_outside(int sig)
{
    return sig == SIGKILL || sig == SIGTERM || sig == SIGHUP || sig == SIGINT || sig == SIGQUIT;
}

/* Waits at most REAP_S seconds for the child to end.  If it does not end, kills it and returns
 * false: a child that closed its connection, or sent a malformed reply, may go on running. */
static bool reap(struct child *c, int *status)
{
    for (double end = clock_s() + REAP_S; clock_s() < end; poll(NULL, 0, 1)) {
        pid_t got = waitpid(c->pid, status, WNOHANG);
        if (got == c->pid) {
            forget(&c->pid);
            return true;
        }
        if (got < 0 && errno != EINTR)
            break;
    }
    kill_process(&c->pid);
    return false;
}

/* Whether the text is the message of an OpenMP library that ended the process because it could not
 * start a thread. */
static bool lacks_threads(const char *words)
{
    return strstr(words, "Thread creation failed") || strstr(words, "OMP: Error #34");
}

/* Reaps the runner after its connection ended, and sets *e to the reason. Returns false. */
static bool explain_death(struct child *c, struct err *e)
{
    struct fault f = c->shared->fault;
    char words[260], place[200];
    int status = -1;
    bool ended = reap(c, &status);
    last_words(c, words, sizeof words);
    if (f.signal == SIGSEGV || f.signal == SIGBUS) {
        describe_place(c, &f, place, sizeof place);
        return err_set(e, ERR_CRASH, "crashed: %s at %s", signal_text(f.signal), place);
    }
    if (f.signal)
        return err_set(e, ERR_CRASH, "crashed: %s%s", signal_text(f.signal), words);
    if (!ended)
        return err_set(e, ERR_CRASH,
                       "the process of the kernel runs but does not answer any more%s", words);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        return err_set(e, ERR_TIMEOUT, "the kernel used more CPU time than its limit");
    if (WIFSIGNALED(status) && is_from_outside(WTERMSIG(status))) {
        err_set(e, ERR_KILLED, "the kernel's process was killed (signal %d%s)%s",
                WTERMSIG(status), WTERMSIG(status) == SIGKILL ? ": out of memory?" : "", words);
        return err_fix(e, "`dmesg` may say why; free some memory if that was the reason");
    }
    if (WIFSIGNALED(status))
        return err_set(e, ERR_CRASH, "crashed: %s%s", signal_text(WTERMSIG(status)), words);
    if (c->opts.threads > 1 && lacks_threads(words)) {
        err_set(e, ERR_ENV, "cannot start a team of %d threads%s", c->opts.threads, words);
        return err_fix(e, "end other processes, raise `ulimit -u`, or use --threads 1");
    }
    return err_set(e, ERR_CRASH, "the kernel ended the process by itself (exit code %d)%s",
                   WIFEXITED(status) ? WEXITSTATUS(status) : -1, words);
}

/* --- Talking --------------------------------------------------------------------------------- */

static bool too_long(const struct child *c, struct err *e)
{
    return err_set(e, ERR_TIMEOUT, "the kernel did not end within %.3g s; `tilescope run --limit "
                   "SECONDS` allows more", c->opts.limit_s);
}

/* Waits for one reply. Kills the runner at the deadline and on a cancel. */
static bool await(struct child *c, double limit_s, struct reply *out, struct err *e)
{
    double end = clock_s() + limit_s;
    for (;;) {
        struct pollfd p = { .fd = c->socket, .events = POLLIN };
        int ready = poll(&p, 1, TICK_MS);
        if (cancelled(c->opts.cancel)) {
            kill_process(&c->pid);
            return err_set(e, ERR_CANCEL, "cancelled");
        }
        if (ready > 0) {
            ssize_t n = recv(c->socket, out, sizeof *out, MSG_DONTWAIT);
            if (n == (ssize_t)sizeof *out && out->version == PROTOCOL_VERSION)
                return true;
            if (n >= 0 || (errno != EINTR && errno != EAGAIN)) {
                explain_death(c, e);
                if (e->code == ERR_KILLED)
                    c->death = *e;
                return false;
            }
        }
        if (clock_s() > end) {
            kill_process(&c->pid);
            return too_long(c, e);
        }
        int permille = atomic_load(&c->shared->permille);
        permille = permille < 0 ? 0 : permille > 1000 ? 1000 : permille;
        if (c->opts.tick)
            c->opts.tick(c->opts.ctx, c->repeat + 1e-3 * permille);
    }
}

/* Sends a request.  If the runner has died, await() finds the connection closed and says why. */
static bool request(struct child *c, const struct request *q, struct err *e)
{
    ssize_t n;
    do
        n = send(c->socket, q, sizeof *q, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n >= 0 || errno == EPIPE || errno == ECONNRESET
        || err_set(e, ERR_ENV, "cannot reach the kernel's process: %s", strerror(errno));
}

bool child_ask(struct child *c, struct request *q, double limit_s, struct reply *out,
               struct err *e)
{
    char place[200];
    if (cancelled(c->opts.cancel))
        return err_set(e, ERR_CANCEL, "cancelled");
    if (!c->pid && c->death.code) {
        *e = c->death;
        return false;
    }
    if (!c->pid)
        return err_set(e, ERR_BUG, "the measuring child is gone");
    atomic_store(&c->shared->permille, 0);
    q->version = PROTOCOL_VERSION;
    if (!request(c, q, e) || !await(c, limit_s, out, e))
        return false;
    child_clean_text(out->text, sizeof out->text);
    child_clean_text(out->layout, sizeof out->layout);
    if (!(out->seconds >= 0))
        out->seconds = 0;
    if (out->ok)
        return true;
    if (out->code == ERR_WRONG && streq(out->text, WROTE_OUTSIDE)) {
        struct fault f = c->shared->fault;
        describe_place(c, &f, place, sizeof place);
        return err_set(e, ERR_WRONG, "wrote outside its buffers: %s", place);
    }
    bool known = out->code > ERR_NONE && out->code < ERR_COUNT;
    return err_set(e, known ? (enum err_code)out->code : ERR_BUG, "%s", out->text);
}

static bool make_pair(int *pair)
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    pair[0] = child_move_up(pair[0]);
    pair[1] = child_move_up(pair[1]);
    return pair[0] >= 0 && pair[1] >= 0;
}

static bool start(struct child *c, struct err *e)
{
    char path[600];
    int pair[2] = { -1, -1 };
    struct reply hello;
    if (!child_find_runner(c->opts.path, path, sizeof path, e) || !child_make_shared(c, e))
        return false;
    c->log = child_move_up(memfd_create("tilescope-log", MFD_CLOEXEC));
    bool open = c->log >= 0 && fcntl(c->log, F_SETFL, O_APPEND) == 0 && make_pair(c->ceiling)
             && make_pair(pair);
    int cause = errno;
    c->socket = pair[0];
    int rc = open ? child_spawn(c, path, pair[1]) : 0;
    if (pair[1] >= 0)
        close(pair[1]);
    if (!open)
        return err_set(e, ERR_ENV, "cannot connect to a child process: %s", strerror(cause));
    if (rc != 0)
        return err_set(e, ERR_ENV, "cannot start %.300s: %s", path, strerror(rc));
    if (!await(c, START_LIMIT_S, &hello, e)) {
        if (e->code == ERR_CANCEL || e->code == ERR_KILLED)
            return false;
        char why[260];
        last_words(c, why, sizeof why);
        return err_set(e, ERR_ENV, "%.300s does not work%s", path, why);
    }
    child_clean_text(hello.text, sizeof hello.text);
    return hello.ok || err_set(e, ERR_ENV, "%s", hello.text);
}

static bool fits_protocol(const struct runner_opts *o, struct err *e)
{
    return o->n_contenders <= PROTOCOL_MAX_CONTENDERS
        || err_set(e, ERR_RANGE, "%d kernels cannot be timed together: at most %d",
                   o->n_contenders, PROTOCOL_MAX_CONTENDERS);
}

static void take_opts(struct child *c, const struct runner_opts *o)
{
    const size_t n = (size_t)o->n_buffers;
    c->opts = *o;
    c->buffer = xrealloc(c->buffer, n * sizeof *c->buffer + 1);
    c->buffer_at = xrealloc(c->buffer_at, n * sizeof *c->buffer_at + 1);
    if (n > 0)
        memcpy(c->buffer, o->buffer, n * sizeof *c->buffer);
    c->opts.buffer = c->buffer;
    c->opts.threads = o->threads > 1 ? o->threads : 1;
    if (o->memory_bytes <= 0)
        c->opts.memory_bytes = DEFAULT_MEMORY_BYTES;
}

static void child_close(struct runner *r);

static bool child_open(const struct runner_opts *o, bool on_device, struct runner **out,
                       struct err *e)
{
    if (!fits_protocol(o, e))
        return false;
    struct child *c = xcalloc(1, sizeof *c);
    c->base.kind = on_device ? &device_runner : &child_runner;
    c->on_device = on_device;
    take_opts(c, o);
    c->socket = c->memory = c->log = c->ceiling[0] = c->ceiling[1] = -1;
    if (!start(c, e)) {
        child_close(&c->base);
        return false;
    }
    *out = &c->base;
    return true;
}

static bool open_here(const struct runner_opts *o, struct runner **out, struct err *e)
{
    return child_open(o, false, out, e);
}

static bool open_on_device(const struct runner_opts *o, struct runner **out, struct err *e)
{
    return child_open(o, true, out, e);
}

static bool child_renew(struct runner *r, const struct runner_opts *o, struct err *e)
{
    struct child *c = child_of(r);
    struct reply reply;
    struct request q = { .command = COMMAND_RENEW };
    if (!fits_protocol(o, e))
        return false;
    take_opts(c, o);
    return child_share_again(c, e) && child_ask(c, &q, START_LIMIT_S + c->copy_s, &reply, e);
}

static int64_t child_bytes(const struct runner *r)
{
    return (int64_t)((const struct child *)r)->shared_bytes;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void child_close(struct runner *r)
{
    struct child *c = child_of(r);
    kill_process(&c->pid);
    kill_process(&c->ceiling_pid);
    if (c->shared)
        munmap(c->shared, c->shared_bytes);
    int *fd[] = { &c->socket, &c->memory, &c->log, &c->ceiling[0], &c->ceiling[1] };
    for (int i = 0; i < COUNT_OF(fd); i++)
        close_fd(fd[i]);
    for (int i = 0; i < SERIES_COUNT; i++)
        free(c->sample[i]);
    free(c->buffer);
    free(c->buffer_at);
    free(c);
}

static void *child_data(struct runner *r, int buffer)
{
    struct child *c = child_of(r);
    return (char *)c->shared + c->buffer_at[buffer];
}

static bool child_load(struct runner *r, enum slot slot, const char *so_path, const char *entry,
                       struct err *e)
{
    struct reply reply;
    struct request q = { .command = COMMAND_LOAD, .slot = slot };
    snprintf(q.path, sizeof q.path, "%s", so_path);
    snprintf(q.entry, sizeof q.entry, "%s", entry);
    return child_ask(child_of(r), &q, START_LIMIT_S, &reply, e);
}

/* Reads the first answer of the ceiling's process at c->ceiling[0], the runner's end of the
 * pair. */
static bool await_ceiling(struct child *c, struct err *e)
{
    struct pollfd p = { .fd = c->ceiling[0], .events = POLLIN };
    struct reply hello;
    double end = clock_s() + START_LIMIT_S;
    int ready = 0;
    while (ready <= 0 && clock_s() < end) {
        if (cancelled(c->opts.cancel))
            return err_set(e, ERR_CANCEL, "cancelled");
        ready = poll(&p, 1, TICK_MS);
    }
    if (ready <= 0 || recv(p.fd, &hello, sizeof hello, MSG_DONTWAIT) != (ssize_t)sizeof hello)
        return err_set(e, ERR_ENV, "the process that samples the FMA ceiling does not start");
    child_clean_text(hello.text, sizeof hello.text);
    return hello.ok || err_set(e, ERR_COMPILE, "%s", hello.text);
}

static bool child_load_ceiling(struct runner *r, const char *so_path, struct err *e)
{
    struct child *c = child_of(r);
    char path[600];
    if (c->ceiling_pid)
        return err_set(e, ERR_BUG, "the ceiling is already loaded");
    if (!child_find_runner(c->opts.path, path, sizeof path, e))
        return false;
    int rc = child_spawn_ceiling(c, path, so_path);
    close_fd(&c->ceiling[1]);
    bool ok = rc == 0 ? await_ceiling(c, e)
                      : err_set(e, ERR_ENV, "cannot start %.300s: %s", path, strerror(rc));
    close_fd(&c->ceiling[0]);
    if (!ok)
        kill_process(&c->ceiling_pid);
    return ok;
}

static bool child_load_vendor(struct runner *r, int contender, const char *plugin,
                              enum vendor_library library, const struct vendor_problem *problem,
                              struct vendor_choice *out, struct err *e)
{
    struct child *c = child_of(r);
    struct reply reply;
    struct request q = { .command = COMMAND_LOAD_VENDOR, .library = (int32_t)library,
                         .slot = (uint32_t)(SLOT_KERNEL + contender), .problem = *problem };
    snprintf(q.path, sizeof q.path, "%s", plugin);
    if (!child_ask(c, &q, START_LIMIT_S + c->opts.limit_s + c->copy_s, &reply, e))
        return false;
    snprintf(out->implementation, sizeof out->implementation, "%.159s", reply.text);
    snprintf(out->layout, sizeof out->layout, "%s", reply.layout);
    return true;
}

static bool child_run(struct runner *r, int contender, double *seconds, struct err *e)
{
    struct child *c = child_of(r);
    struct reply reply;
    struct request q = { .command = COMMAND_RUN, .slot = (uint32_t)(SLOT_KERNEL + contender) };
    if (!child_ask(c, &q, c->opts.limit_s + c->copy_s, &reply, e))
        return false;
    /* child_ask allows more time, for copying the buffers */
    if (reply.seconds > c->opts.limit_s)
        return too_long(c, e);
    *seconds = reply.seconds;
    return true;
}

const struct runner_kind child_runner = {
    .name = "child", .open = open_here, .close = child_close, .renew = child_renew,
    .bytes = child_bytes, .data = child_data, .load = child_load,
    .load_ceiling = child_load_ceiling, .load_vendor = child_load_vendor, .run = child_run,
    .time = child_time, .count = child_count, .simulate = child_simulate,
};

const struct runner_kind device_runner = {
    .name = "device", .open = open_on_device, .close = child_close, .bytes = child_bytes,
    .data = child_data, .load = child_load, .run = child_run, .time = child_time,
    .load_vendor = child_load_vendor, .count = child_count,
};
