#include "kernels/base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernels/base/arena.h"
#include "kernels/base/cleanup.h"

#define GRACE_MS 200

extern char **environ;

void scratch_open(struct scratch *s)
{
    const char *base = getenv("TMPDIR");
    size_t n = sizeof s->path;
    *s = (struct scratch){ .slot = -1 };
    if ((size_t)snprintf(s->path, n, "%s/tilescope-run-XXXXXX",
                         base && *base == '/' ? base : "/tmp") >= n || !mkdtemp(s->path)) {
        *s->path = '\0';
        return;
    }
    s->slot = cleanup_note_folder(s->path);
    snprintf(s->variable, sizeof s->variable, "TMPDIR=%s", s->path);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    (void)remove(path);                   /* what cannot be removed does not save the rest */
    return 0;
}

void scratch_close(struct scratch *s)
{
    if (*s->path)
        nftw(s->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    cleanup_forget(s->slot);
}

/* Returns this process's environment with the variable of the folder. The caller frees
 * the array. */
static char **environment(struct scratch *s)
{
    int n = 0, kept = 0;
    while (environ[n])
        n++;
    char **env = xcalloc((size_t)n + 2, sizeof *env);
    for (int i = 0; i < n; i++)
        if (!*s->variable || strncmp(environ[i], "TMPDIR=", 7) != 0)
            env[kept++] = environ[i];
    if (*s->variable)
        env[kept] = s->variable;
    return env;
}

int spawn_group(const char *const *argv, int input, int output, int keep, struct scratch *scratch,
                pid_t *pid)
{
    char **env = environment(scratch);
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
        posix_spawn_file_actions_adddup2(&files, keep, SPAWN_KEPT);
    posix_spawn_file_actions_addclosefrom_np(&files, SPAWN_KEPT + (keep >= 0));
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

static bool has_ended(pid_t pid)
{
    siginfo_t info = {0};
    int rc = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
    return rc == 0 ? info.si_pid == pid : errno != EINTR;
}

void spawn_end(pid_t pid)
{
    const struct timespec nap = { .tv_nsec = 1000000 };
    kill(-pid, SIGTERM);
    for (int i = 0; i < GRACE_MS && !has_ended(pid); i++)
        nanosleep(&nap, NULL);
    kill(-pid, SIGKILL);
}
