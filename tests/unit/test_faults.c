/* System calls that fail: what becomes of files, children and messages when the n-th call of a
 * function fails, when all fail, and when a call is interrupted or moves only one byte.
 *
 * Each scenario runs first without a fault, then once per fault.  After each fault no descriptor
 * and no file is left behind, the scenario's own check holds (a file is the old one or the new
 * one), and the scenario without a fault works as before.  An interrupted or partial call changes
 * nothing.  What a fault says is recorded in golden/faults.txt.
 *
 * The calls of this program are counted, not those of its children or of shared libraries: the
 * linker directs them here (--wrap, Makefile). */
/* tests/run.sh: takes 30 s */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/base/arena.h"
#include "kernels/base/sanitized.h"
#include "tests/unit/fault_scenarios.h"
#include "tests/unit/golden.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* --- The calls -------------------------------------------------------------------------------- */

/* X(id, name, errno of a failure (0: it is only interrupted), whether a signal can interrupt it,
 * whether it can move fewer bytes than asked for) */
#define CALLS(X) \
    X(OPEN, "open", EMFILE, false, false) \
    X(FOPEN, "fopen", EMFILE, false, false) \
    X(READ, "read", EIO, false, true) \
    X(WRITE, "write", ENOSPC, true, true) \
    X(FSYNC, "fsync", EIO, false, false) \
    X(RENAME, "rename", EACCES, false, false) \
    X(UNLINK, "unlink", EACCES, false, false) \
    X(MKDTEMP, "mkdtemp", ENOSPC, false, false) \
    X(OPENDIR, "opendir", EMFILE, false, false) \
    X(REALPATH, "realpath", ENOMEM, false, false) \
    X(FTRUNCATE, "ftruncate", EIO, false, false) \
    X(FLOCK, "flock", ENOLCK, false, false) \
    X(MMAP, "mmap", ENOMEM, false, false) \
    X(MEMFD, "memfd_create", EMFILE, false, false) \
    X(SOCKETPAIR, "socketpair", EMFILE, false, false) \
    X(PIPE, "pipe2", EMFILE, false, false) \
    X(SPAWN, "posix_spawn", EAGAIN, false, false) \
    X(SPAWNP, "posix_spawnp", EAGAIN, false, false) \
    X(POLL, "poll", 0, true, false) \
    X(SEND, "send", ENOBUFS, true, false) \
    X(RECV, "recv", ECONNRESET, false, false) \
    X(WAITPID, "waitpid", 0, true, false)
enum call {
#define X(id, name, error, interrupts, partial) CALL_##id,
    CALLS(X)
#undef X
    CALLS_N
};
static const struct { const char *name; int error; bool interrupts, partial; } call[CALLS_N] = {
#define X(id, name, error, interrupts, partial) { name, error, interrupts, partial },
    CALLS(X)
#undef X
};

/* How a call goes wrong: it moves one byte, it fails, it is interrupted. */
enum way { WAY_NONE, WAY_PARTIAL, WAY_FAILS, WAY_INTERRUPTED };
/* The present fault of one function.  at: the number of the call, from 1; 0: all calls. */
static struct fault { enum call of; enum way way; int at; } fault;
static atomic_int seen[CALLS_N];
static atomic_bool armed;

/* Counts a call of c, and returns how it goes wrong; errno is set if it fails. */
static enum way wrong(enum call c)
{
    int n = armed ? atomic_fetch_add(&seen[c], 1) + 1 : 0;
    if (n == 0 || c != fault.of || (fault.at > 0 && n != fault.at))
        return WAY_NONE;
    errno = fault.way == WAY_INTERRUPTED ? EINTR : call[c].error;
    return fault.way;
}

/* A call of this name comes to __wrap_name, and __real_name is the function of the system.
 * bad: what it returns if it fails; fewer: the arguments with which it moves one byte. */
#define DECLARE(type, name, params) \
    type __real_##name params; \
    type __wrap_##name params;
#define WRAP(id, type, name, params, args, bad) \
    DECLARE(type, name, params) \
    type __wrap_##name params \
    { \
        return wrong(CALL_##id) >= WAY_FAILS ? (bad) : __real_##name args; \
    }
#define WRAP_MOVES(id, type, name, params, args, fewer) \
    DECLARE(type, name, params) \
    type __wrap_##name params \
    { \
        enum way w = wrong(CALL_##id); \
        if (w >= WAY_FAILS) \
            return -1; \
        return w == WAY_PARTIAL && n > 1 ? __real_##name fewer : __real_##name args; \
    }

DECLARE(int, open, (const char *path, int flags, ...))
int __wrap_open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    unsigned mode = flags & O_CREAT ? va_arg(list, unsigned) : 0;
    va_end(list);
    return wrong(CALL_OPEN) >= WAY_FAILS ? -1 : __real_open(path, flags, mode);
}
WRAP(FOPEN, FILE *, fopen, (const char *path, const char *how), (path, how), NULL)
WRAP_MOVES(READ, ssize_t, read, (int fd, void *to, size_t n), (fd, to, n), (fd, to, 1))
WRAP_MOVES(WRITE, ssize_t, write, (int fd, const void *from, size_t n), (fd, from, n),
           (fd, from, 1))
WRAP(FSYNC, int, fsync, (int fd), (fd), -1)
WRAP(RENAME, int, rename, (const char *from, const char *to), (from, to), -1)
WRAP(UNLINK, int, unlink, (const char *path), (path), -1)
WRAP(MKDTEMP, char *, mkdtemp, (char *form), (form), NULL)
WRAP(OPENDIR, DIR *, opendir, (const char *path), (path), NULL)
WRAP(REALPATH, char *, realpath, (const char *path, char *to), (path, to), NULL)
WRAP(FTRUNCATE, int, ftruncate, (int fd, off_t n), (fd, n), -1)
WRAP(FLOCK, int, flock, (int fd, int how), (fd, how), -1)
WRAP(MMAP, void *, mmap, (void *at, size_t n, int prot, int flags, int fd, off_t off),
     (at, n, prot, flags, fd, off), MAP_FAILED)
WRAP(MEMFD, int, memfd_create, (const char *name, unsigned flags), (name, flags), -1)
WRAP(SOCKETPAIR, int, socketpair, (int family, int type, int protocol, int *fd),
     (family, type, protocol, fd), -1)
WRAP(PIPE, int, pipe2, (int *fd, int flags), (fd, flags), -1)
WRAP(SPAWN, int, posix_spawn,
     (pid_t *pid, const char *path, const posix_spawn_file_actions_t *files,
      const posix_spawnattr_t *attr, char *const *argv, char *const *env),
     (pid, path, files, attr, argv, env), call[CALL_SPAWN].error)
WRAP(SPAWNP, int, posix_spawnp,
     (pid_t *pid, const char *path, const posix_spawn_file_actions_t *files,
      const posix_spawnattr_t *attr, char *const *argv, char *const *env),
     (pid, path, files, attr, argv, env), call[CALL_SPAWNP].error)
WRAP(POLL, int, poll, (struct pollfd *fd, nfds_t n, int ms), (fd, n, ms), -1)
WRAP(SEND, ssize_t, send, (int fd, const void *from, size_t n, int flags), (fd, from, n, flags), -1)
WRAP(RECV, ssize_t, recv, (int fd, void *to, size_t n, int flags), (fd, to, n, flags), -1)
WRAP(WAITPID, pid_t, waitpid, (pid_t pid, int *status, int flags), (pid, status, flags), -1)

static const char *folder;                /* in which all of this happens */

/* --- What is asked about each ----------------------------------------------------------------- */

static int descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;
    while (d && readdir(d))
        n++;
    closedir(d);
    return n;
}

/* The names of the files below `dir`, but for those of objects that were compiled. */
static void list_files(const char *dir, struct str *out)
{
    struct arena *a = arena_new();
    struct dirent **entry;
    int n = scandir(dir, &entry, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *name = entry[i]->d_name, *child = arena_printf(a, "%s/%s", dir, name);
        bool itself = streq(name, ".") || streq(name, "..");
        if (entry[i]->d_type == DT_DIR && !itself && !streq(name, "objects"))
            list_files(child, out);
        else if (!itself)
            str_printf(out, " %s", child + strlen(folder) + 1);
        free(entry[i]);
    }
    if (n >= 0)
        free(entry);
    arena_free(a);
}

/* Appends text on one line.  Names that differ from run to run become words. */
static void add_stable(struct str *out, const char *text)
{
    const char *runner = getenv("TILESCOPE_RUNNER");
    char pid[40];
    snprintf(pid, sizeof pid, "tmp-%ld-", (long)getpid());
    for (const char *p = text; *p;) {
        size_t n = strspn(p, "0123456789abcdef");
        const char *word = n >= 12 ? "HASH" : NULL;
        if (str_starts(p, folder)) {
            word = "FOLDER";
            n = strlen(folder);
        } else if (runner && str_starts(p, runner)) {
            word = "RUNNER";
            n = strlen(runner);
        } else if (str_starts(p, pid)) {
            word = "tmp-PID-N";
            n = strlen(pid) + strspn(p + strlen(pid), "0123456789");
        }
        if (word)
            str_add(out, word);
        else
            str_add_char(out, *p == '\n' ? '~' : *p);
        p += word ? n : 1;
    }
}

/* Runs s with the present fault, and appends its result as one line. */
static void run_scenario(const struct scenario *s, struct str *out)
{
    struct str text = { 0 };
    struct err e = { 0 };
    if (s->before)
        s->before();
    for (int i = 0; i < CALLS_N; i++)
        seen[i] = 0;
    armed = true;
    bool ok = s->run(&text, &e);
    armed = false;
    if (!ok && (!e.text[0] || e.code == 0))
        fail_msg("%s fails without a word", s->name);
    if (!ok) {
        str_clear(&text);
        str_printf(&text, "%s: %s%s%s", err_name(e.code), e.text, e.fix[0] ? " | " : "", e.fix);
    }
    bool half = s->renames_many && fault.of == CALL_RENAME && fault.at > 1;
    if (s->sound && !half)
        s->sound(ok);
    add_stable(out, str_text(&text));
    str_free(&text);
}

/* Runs s with a fault, and appends its result. */
static void run_with(const struct scenario *s, struct fault f, const char *right, struct str *got)
{
    struct str before = { 0 }, left = { 0 };
    const char *name = call[f.of].name;
    int fds = descriptors();
    list_files(folder, &before);
    fault = f;
    run_scenario(s, got);
    fault = (struct fault){ .of = CALLS_N };
    if (descriptors() != fds)
        fail_msg("%s: %s %d leaves a descriptor open", s->name, name, f.at);
    list_files(folder, &left);
    if (!streq(str_text(&before), str_text(&left)) && f.of != CALL_UNLINK)
        fail_msg("%s: %s %d leaves%s", s->name, name, f.at, str_text(&left));
    if (f.way != WAY_FAILS && !streq(str_text(got), right))
        fail_msg("%s: %s %d %s: %s", s->name, name, f.at,
                 f.way == WAY_PARTIAL ? "partial" : "interrupted", str_text(got));
    str_free(&before);
    str_free(&left);
}

/* All calls of c fail, then one after the other.  A result that was printed before is not printed
 * again.  If the scenario varies, neither is the number of the call, nor that a single failure
 * changes nothing. */
static void ask_failures(const struct scenario *s, enum call c, const char *right, int calls,
                         struct str *golden)
{
    struct str printed = { 0 };
    for (int at = 0; at <= calls; at++) {
        struct str got = { 0 }, line = { 0 };
        run_with(s, (struct fault){ c, WAY_FAILS, at }, right, &got);
        bool same = streq(str_text(&got), right);
        str_printf(&line, ": %s\n", same ? "-" : str_text(&got));
        if (!strstr(str_text(&printed), str_text(&line)) && !(same && at > 0 && s->varies)) {
            str_printf(&printed, "  %s", call[c].name);
            if (at == 0)
                str_add(&printed, ", all");
            else if (!s->varies)
                str_printf(&printed, " %d", at);
            str_add(&printed, str_text(&line));
        }
        str_free(&got);
        str_free(&line);
    }
    str_add(golden, str_text(&printed));
    str_free(&printed);
}

/* All faults of one function in one scenario; then the scenario works as before. */
static void ask(const struct scenario *s, enum call c, const char *right, int calls,
                struct str *golden)
{
    struct str got = { 0 };
    for (int at = 1; at <= calls && call[c].partial; at++) {
        run_with(s, (struct fault){ c, WAY_PARTIAL, at }, right, &got);
        str_clear(&got);
    }
    for (int at = 1; at <= calls && call[c].interrupts; at++) {
        run_with(s, (struct fault){ c, WAY_INTERRUPTED, at }, right, &got);
        str_clear(&got);
    }
    if (call[c].error)
        ask_failures(s, c, right, calls, golden);
    run_scenario(s, &got);
    if (!streq(str_text(&got), right))
        fail_msg("%s after failures of %s: %s", s->name, call[c].name, str_text(&got));
    str_free(&got);
}

static void tell_faults(const struct scenario *s, int n, const char *path)
{
    struct str golden = { 0 };
    for (const struct scenario *end = s + n; s < end; s++) {
        struct str right = { 0 };
        int calls[CALLS_N];
        fault = (struct fault){ .of = CALLS_N };
        for (int k = 0; k < 2; k++) {     /* the first one fills caches */
            str_clear(&right);
            run_scenario(s, &right);
        }
        for (int c = 0; c < CALLS_N; c++)
            calls[c] = seen[c] < s->most ? seen[c] : s->most;
        str_printf(&golden, "%s: %s\n", s->name, str_text(&right));
        for (int c = 0; c < CALLS_N; c++)
            if (calls[c] > 0)
                ask(s, (enum call)c, str_text(&right), calls[c], &golden);
        str_free(&right);
    }
    golden_check(path, str_text(&golden));
    str_free(&golden);
}

static void faults_are_told(void **state)
{
    (void)state;
    int n;
    const struct scenario *all = fault_scenarios(&n);
    tell_faults(all, n - 1, "tests/golden/faults.txt");
}

/* The last scenario.  Valgrind cannot run what is built with sanitizers. */
static void faults_of_valgrind_are_told(void **state)
{
    (void)state;
    int n;
    const struct scenario *all = fault_scenarios(&n);
    if (SANITIZED)
        skip();
    tell_faults(&all[n - 1], 1, "tests/golden/faults_valgrind.txt");
}

int main(void)
{
    folder = temp_dir("XDG_STATE_HOME");
    setenv("XDG_CACHE_HOME", folder, 1);
    setenv("XDG_DATA_HOME", folder, 1);
    setenv("XDG_CONFIG_HOME", folder, 1);
    setenv("TILESCOPE_HOME", ".", 1);
    fault_scenarios_begin(folder);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_told), cmocka_unit_test(faults_of_valgrind_are_told),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    fault_scenarios_end();
    return rc;
}
