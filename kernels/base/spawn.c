#include "kernels/base/spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernels/base/arena.h"
#include "kernels/base/cleanup.h"
#include "kernels/base/file.h"

#define GRACE_MS 200
#define FOLDER "tilescope-run-"
#define ABANDONED_S 60                    /* a folder younger than this may not be locked yet */
#define KEPT 3  /* number that the descriptor `keep` of spawn_group gets in the new program */

extern char **environ;

/* Locks a folder of this user that was last changed before the time `before` (0: at any time).
 * Returns the descriptor that holds the lock, or -1. */
static int lock_folder(const char *path, time_t before)
{
    struct stat is;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &is) == 0 && is.st_uid == geteuid()
        && (before == 0 || is.st_mtime < before) && flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Removes the folders that killed processes of this user left. */
static void remove_abandoned(const char *base)
{
    DIR *d = opendir(base);
    for (struct dirent *f; d && (f = readdir(d));) {
        char path[512];
        if (!str_starts(f->d_name, FOLDER)
            || (size_t)snprintf(path, sizeof path, "%s/%s", base, f->d_name) >= sizeof path)
            continue;
        int fd = lock_folder(path, time(NULL) - ABANDONED_S);
        if (fd < 0)
            continue;
        dir_remove(path);
        close(fd);
    }
    if (d)
        closedir(d);
}

static void make_folder(struct spawned *s)
{
    static atomic_flag looked = ATOMIC_FLAG_INIT;
    const char *dir = getenv("TMPDIR"), *base = dir && *dir == '/' ? dir : "/tmp";
    size_t n = sizeof s->folder;
    if (!atomic_flag_test_and_set(&looked))
        remove_abandoned(base);
    if ((size_t)snprintf(s->folder, n, "%s/" FOLDER "XXXXXX", base) >= n || !mkdtemp(s->folder))
        s->folder[0] = '\0';
    s->lock = s->folder[0] ? lock_folder(s->folder, 0) : -1;
    if (s->folder[0] && s->lock < 0) {    /* without a lock, another process might remove it */
        rmdir(s->folder);
        s->folder[0] = '\0';
    }
    s->slot = cleanup_note_program(s->folder);
}

void spawn_close(struct spawned *s)
{
    cleanup_set_leader(s->slot, 0);
    if (s->folder[0])
        dir_remove(s->folder);
    if (s->lock >= 0)
        close(s->lock);
    cleanup_forget(s->slot);
}

/* Returns the environment of this process, in which `variable` ("TMPDIR=...") replaces TMPDIR.
 * variable = "": nothing is replaced.  The caller frees the array. */
static char **environment(char *variable)
{
    int n = 0, kept = 0;
    while (environ[n])
        n++;
    char **env = xcalloc((size_t)n + 2, sizeof *env);
    for (int i = 0; i < n; i++)
        if (!*variable || strncmp(environ[i], "TMPDIR=", 7) != 0)
            env[kept++] = environ[i];
    if (*variable)
        env[kept] = variable;
    return env;
}

/* Starts a program whose TMPDIR is `folder`.  keep must be -1, or 3 or more: the first three
 * descriptors are replaced before keep is duplicated.  Returns 0 or an errno. */
static int spawn(const char *const *argv, int input, int output, int keep, const char *folder,
                 pid_t *pid)
{
    char variable[300] = "";
    if (*folder)
        snprintf(variable, sizeof variable, "TMPDIR=%s", folder);
    char **env = environment(variable);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    if (input >= 0)
        posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
    else
        posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
    if (keep >= 0)
        posix_spawn_file_actions_adddup2(&files, keep, KEPT);
    posix_spawn_file_actions_addclosefrom_np(&files, KEPT + (keep >= 0));
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK
                                        | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    int rc = posix_spawnp(pid, argv[0], &files, &attr, (char *const *)argv, env);
    free(env);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    return rc;
}

bool spawn_group(const char *const *argv, int input, int output, int keep, struct spawned *s,
                 struct err *e)
{
    /* keep is below KEPT if this process was started with a closed standard descriptor */
    bool moves = keep >= 0 && keep < KEPT;
    int kept = moves ? fcntl(keep, F_DUPFD_CLOEXEC, KEPT) : keep;
    int why = moves && kept < 0 ? errno : 0;
    make_folder(s);
    int rc = why ? why : spawn(argv, input, output, kept, s->folder, &s->pid);
    if (moves && kept >= 0)
        close(kept);
    if (rc == 0) {
        cleanup_set_leader(s->slot, s->pid);
        return true;
    }
    spawn_close(s);
    return err_set(e, ERR_ENV, "cannot run %s: %s", argv[0],
                   rc == ENOENT ? "no such program" : strerror(rc));
}

bool spawn_wait(pid_t pid, int limit_ms, siginfo_t *how)
{
    const struct timespec nap = { .tv_nsec = 1000000 };
    for (int ms = 0;; ms++) {
        *how = (siginfo_t){0};
        int rc = waitid(P_PID, (id_t)pid, how, WEXITED | WNOHANG | WNOWAIT);
        if (rc == 0 ? how->si_pid == pid : errno != EINTR)
            return true;
        if (ms >= limit_ms)
            return false;
        nanosleep(&nap, NULL);
    }
}

void spawn_end(pid_t pid)
{
    siginfo_t ignored;
    kill(-pid, SIGTERM);
    spawn_wait(pid, GRACE_MS, &ignored);
    kill(-pid, SIGKILL);
}
