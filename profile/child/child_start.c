/* Finds the runner, gives it memory and an environment, and starts it. */
#include "profile/child/child_impl.h"

#include "kernels/base/arena.h"
#include "kernels/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define COPY_BYTES_PER_S 0.3e9  /* for limits: copying is assumed to be at least this fast */
#define THREAD_BYTES ((int64_t)24 << 20)

extern char **environ;

/* Also looks for the runner one folder up, because tests are in a separate folder. */
bool child_find_runner(const char *want, char *path, size_t n, struct err *e)
{
    char self[400];
    const char *env = getenv("TILESCOPE_RUNNER");
    const char *named = want && *want ? want : env && *env ? env : NULL;
    if (named) {
        snprintf(path, n, "%s", named);
        return access(path, X_OK) == 0
            || err_set(e, ERR_ENV, "%.300s cannot be run: %s", named, strerror(errno));
    }
    if (!file_self(self, sizeof self)) {
        err_set(e, ERR_ENV, "cannot find tilescope-runner: /proc is not mounted");
        return err_fix(e, "mount /proc, or set TILESCOPE_RUNNER to its path");
    }
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(self, '/');
        if (!slash)
            break;
        *slash = '\0';
        snprintf(path, n, "%s/tilescope-runner", self);
        if (access(path, X_OK) == 0)
            return true;
    }
    err_set(e, ERR_ENV, "tilescope-runner, which runs the kernels, is missing");
    return err_fix(e, "install it beside tilescope, or set TILESCOPE_RUNNER to its path");
}

static bool is_openmp_variable(const char *s)
{
    return str_starts(s, "OMP_") || str_starts(s, "GOMP_") || str_starts(s, "KMP_")
        || str_starts(s, "OPENBLAS_") || str_starts(s, "GOTO_");
}

/* Environment variables for a team of threads.  pinned: whether each thread is bound to a core;
 * false with one thread, or with more threads than CPUs.  KMP_BLOCKTIME=0: a kernel that clang
 * compiled loads clang's OpenMP library, which adds a second team of threads on the same cores.
 * Idle threads of this team must not spin while the first team works. */
struct settings {
    char threads[32], blas[40], dynamic[20], bind[24], places[20], block[20], wait[28];
    bool pinned;
};

static struct settings settings_for(int threads)
{
    struct settings s = {
        .dynamic = "OMP_DYNAMIC=false", .bind = "OMP_PROC_BIND=close",
        .places = "OMP_PLACES=cores", .block = "KMP_BLOCKTIME=0",
        .wait = "OMP_WAIT_POLICY=passive",
    };
    cpu_set_t cpus;
    snprintf(s.threads, sizeof s.threads, "OMP_NUM_THREADS=%d", threads);
    snprintf(s.blas, sizeof s.blas, "OPENBLAS_NUM_THREADS=%d", threads);
    s.pinned = threads > 1 && sched_getaffinity(0, sizeof cpus, &cpus) == 0
            && threads <= CPU_COUNT(&cpus);
    return s;
}

/* Makes the environment of the child: that of this process, with other settings for OpenMP. idle:
 * whether threads without work sleep. The caller frees only the array: its strings belong to *s and
 * to environ. */
static char **make_environment(struct settings *s, bool idle)
{
    int n = 0, kept = 0;
    while (environ[n])
        n++;
    char **env = xcalloc((size_t)n + 8, sizeof *env);
    for (int i = 0; i < n; i++)
        if (!is_openmp_variable(environ[i]))
            env[kept++] = environ[i];
    env[kept++] = s->threads;
    env[kept++] = s->blas;
    env[kept++] = s->dynamic;
    if (s->pinned) {
        env[kept++] = s->bind;
        env[kept++] = s->places;
        env[kept++] = s->block;
    }
    if (idle)
        env[kept++] = s->wait;
    return env;
}

int child_move_up(int fd)
{
    int moved = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 16), why = errno;
    if (fd >= 0)
        close(fd);
    errno = why == EINVAL ? EMFILE : why;  /* EINVAL: the descriptor would be above the limit */
    return moved;
}

/* Starts a process with posix_spawn, since this process may have threads and may be large.  fd[i]
 * becomes descriptor RUNNER_SOCKET_FD + i of the new process. */
static int spawn(const struct child *c, const char *path, char **argv, const int *fd, int n,
                 bool idle, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, all;
    struct settings settings = settings_for(c->opts.threads);
    char **env = make_environment(&settings, idle);
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, c->log, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, c->log, STDERR_FILENO);
    for (int i = 0; i < n; i++)
        posix_spawn_file_actions_adddup2(&files, fd[i], RUNNER_SOCKET_FD + i);
    posix_spawn_file_actions_addclosefrom_np(&files, RUNNER_SOCKET_FD + n);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK
                                        | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    int rc = posix_spawn(pid, path, &files, &attr, argv, env);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    free(env);
    if (rc != 0)
        *pid = 0;
    return rc;
}

int child_spawn(struct child *c, const char *path, int socket)
{
    char name[] = "tilescope-runner", word[] = "--device";
    char *argv[] = { name, c->on_device ? word : NULL, NULL };
    const int fd[] = { socket, c->memory, c->ceiling[0] };
    return spawn(c, path, argv, fd, COUNT_OF(fd), false, &c->pid);
}

int child_spawn_ceiling(struct child *c, const char *path, const char *so_path)
{
    char name[] = "tilescope-runner", word[] = "--ceiling", so[512], parent[16];
    char *argv[] = { name, word, so, parent, NULL };
    snprintf(so, sizeof so, "%s", so_path);
    snprintf(parent, sizeof parent, "%d", (int)getpid());
    return spawn(c, path, argv, &c->ceiling[1], 1, true, &c->ceiling_pid);
}

static int64_t page_up(int64_t n)
{
    int64_t page = sysconf(_SC_PAGESIZE);
    return (n + page - 1) / page * page;
}

static int reserve(int fd, int64_t bytes)
{
    int rc;
    do
        rc = posix_fallocate(fd, 0, bytes);
    while (rc == EINTR);
    return rc;
}

static void give_buffers(struct shared *sh, const struct runner_opts *o)
{
    sh->n_contenders = o->n_contenders > 0 ? o->n_contenders : 1;
    for (int i = 0; i < sh->n_contenders; i++) {
        int first = o->n_contenders > 0 ? o->first[i] : 0;
        int end = i + 1 < sh->n_contenders ? o->first[i + 1] : o->n_buffers;
        sh->contender[i].first = first;
        sh->contender[i].n = end - first;
    }
}

static int64_t take_room(int64_t *at, size_t bytes)
{
    int64_t room = *at;
    *at += ((int64_t)bytes + 15) / 16 * 16;
    return room;
}

/* Returns the bytes of shared memory for the simulator. Stores the numbers of entries and the
 * offsets in *sim, unless sim is NULL. */
static int64_t sim_layout(const struct runner_opts *o, struct shared_sim *sim)
{
    struct shared_sim s = { .n_buffers = o->n_trace_buffers };
    int64_t at = 0;
    if (!o->trace)
        return 0;
    s.n_sites = o->trace->n_sites;
    s.n_blocks = o->trace->n_blocks;
    s.n_marks = o->trace->n_marks;
    take_room(&at, sizeof s);
    s.site_at = take_room(&at, sizeof(struct shared_site) * (size_t)s.n_sites);
    s.block_at = take_room(&at, sizeof(struct shared_block) * (size_t)s.n_blocks);
    s.mark_at = take_room(&at, sizeof(struct shared_mark) * (size_t)s.n_marks);
    s.base_at = take_room(&at, sizeof(unsigned long long) * (size_t)s.n_buffers);
    if (o->sim_detail)
        s.detail_at = take_room(&at, sizeof(struct shared_detail));
    if (sim)
        *sim = s;
    return at;
}

/* Offsets of the parts of the file, and its size. */
struct file_plan { int64_t buffer_at, sim_at, data_at, bytes; };

static struct file_plan plan_file(const struct runner_opts *o)
{
    struct file_plan p = { .buffer_at = page_up((int64_t)sizeof(struct shared)) };
    p.sim_at = page_up(p.buffer_at + (int64_t)sizeof(struct shared_buffer) * o->n_buffers);
    p.bytes = p.data_at = page_up(p.sim_at + sim_layout(o, NULL));
    for (int i = 0; i < o->n_buffers; i++)
        p.bytes += page_up(o->buffer[i].bytes);
    return p;
}

/* Maps the file. Its pages are reserved now, because a lack of memory at a later access would be a
 * SIGBUS. */
static bool map_file(struct child *c, int64_t bytes, struct err *e)
{
    if (c->shared)
        munmap(c->shared, c->shared_bytes);
    c->shared = NULL;
    int rc = reserve(c->memory, bytes);
    /* if a kernel could shorten the file, an access behind the new end would be a SIGBUS here */
    if (rc == 0 && fcntl(c->memory, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
        rc = errno;
    void *p = rc ? MAP_FAILED
                 : mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c->memory, 0);
    if (p == MAP_FAILED)
        return err_set(e, ERR_ENV, "no memory to share %lld MiB of buffers: %s",
                       (long long)(bytes >> 20), strerror(rc ? rc : errno));
    c->shared = p;
    c->shared_bytes = (size_t)bytes;
    return true;
}

static void describe(struct child *c, const struct file_plan *p)
{
    const struct runner_opts *o = &c->opts;
    struct shared *sh = c->shared;
    int64_t at = p->data_at;
    c->copy_s = (double)p->bytes / COPY_BYTES_PER_S;
    sh->huge_pages = o->huge_pages;
    sh->n_buffers = o->n_buffers;
    give_buffers(sh, o);
    sh->file_bytes = (int64_t)c->shared_bytes;
    sh->buffer_at = p->buffer_at;
    sh->sim_at = c->sim_at = p->sim_at;
    c->sim = (struct shared_sim){ .n_sites = 0 };
    sim_layout(o, &c->sim);
    if (o->trace)
        *(struct shared_sim *)(void *)((char *)sh + p->sim_at) = c->sim;
    sh->memory_bytes = c->on_device ? 0 : o->memory_bytes + THREAD_BYTES * o->threads;
    sh->cpu_s = (int64_t)((8 * o->limit_s + c->copy_s + 60) * o->threads);
    for (int i = 0; i < o->n_buffers; i++) {
        c->buffer_at[i] = at;
        shared_buffers(sh)[i] = (struct shared_buffer){
            .at = at, .bytes = o->buffer[i].bytes, .written = o->buffer[i].written != 0,
            .result = o->buffer[i].written == BUFFER_RESULT,
        };
        at += page_up(o->buffer[i].bytes);
    }
}

bool child_make_shared(struct child *c, struct err *e)
{
    struct file_plan p = plan_file(&c->opts);
    c->memory = child_move_up(memfd_create("tilescope", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (c->memory < 0)
        return err_set(e, ERR_ENV, "cannot share buffers with the runner: %s", strerror(errno));
    if (!map_file(c, p.bytes, e))
        return false;
    c->shared->magic = PROTOCOL_MAGIC;
    c->shared->version = PROTOCOL_VERSION;
    c->shared->parent = getpid();
    c->shared->threads = c->opts.threads;
    if (sched_getaffinity(0, sizeof c->shared->cpus, &c->shared->cpus) != 0)
        CPU_ZERO(&c->shared->cpus);
    describe(c, &p);
    return true;
}

bool child_share_again(struct child *c, struct err *e)
{
    struct file_plan p = plan_file(&c->opts);
    if (p.bytes > (int64_t)c->shared_bytes && !map_file(c, p.bytes, e))
        return false;
    c->shared->fault = (struct fault){ 0 };
    describe(c, &p);
    return true;
}
