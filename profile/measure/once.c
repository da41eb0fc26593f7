#include "profile/measure/once.h"

#include "profile/child/child.h"
#include "kernels/base/file.h"
#include "profile/measure/oracle.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_OUTPUT_BYTES ((size_t)64 << 20)

static bool map_data(struct once *o, struct err *e)
{
    o->data_fd = memfd_create("tilescope-once", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    o->out_fd = memfd_create("tilescope-once-out", MFD_CLOEXEC);
    int rc = o->data_fd < 0 || o->out_fd < 0 ? errno
                                             : posix_fallocate(o->data_fd, 0, (off_t)o->bytes);
    /* as in child_start.c: a kernel must not be able to shorten the file while this process reads
     * it */
    if (rc == 0 && fcntl(o->data_fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
        rc = errno;
    void *p = rc ? MAP_FAILED : mmap(NULL, (size_t)o->bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                                     o->data_fd, 0);
    if (p == MAP_FAILED)
        return err_set(e, ERR_ENV, "cannot share %llu MiB of buffers with valgrind: %s",
                       ((o->bytes - 1) >> 20) + 1, strerror(rc ? rc : errno));
    o->map = p;
    return true;
}

bool once_open(struct once *o, struct measure_job *j, unsigned long long last_address,
               struct err *e)
{
    const struct func *f = j->func;
    *o = (struct once){ .job = j, .data_fd = -1, .out_fd = -1 };
    o->base = xcalloc((size_t)f->n_buffers, sizeof *o->base);
    o->data = xcalloc((size_t)f->n_params, sizeof *o->data);
    measure_place_buffers(f, o->base);
    unsigned long long end = o->base[f->n_params - 1]
                           + (unsigned long long)buffer_bytes(&f->buffer[f->n_params - 1]);
    o->bytes = end - o->base[0];
    if (last_address && end > last_address)
        return err_set(e, ERR_RANGE, "only %llu MiB of buffers fit under valgrind, but this kernel "
                       "needs %llu MiB", (last_address - o->base[0]) >> 20, o->bytes >> 20);
    if (!map_data(o, e))
        return false;
    for (int i = 0; i < f->n_params; i++) {
        const struct buffer *b = &f->buffer[i];
        o->data[i] = o->map + (o->base[i] - o->base[0]);
        if (!oracle_fill(NULL, j->program, b->tensor, j->opts.seed, b->elems, o->data[i], e))
            return false;
    }
    return true;
}

void once_close(struct once *o)
{
    if (o->map)
        munmap(o->map, (size_t)o->bytes);
    if (o->data_fd >= 0)
        close(o->data_fd);
    if (o->out_fd >= 0)
        close(o->out_fd);
    free(o->base);
    free(o->data);
}

void once_out_path(const struct once *o, char *out, size_t n)
{
    snprintf(out, n, "/proc/%d/fd/%d", getpid(), o->out_fd);
}

/* Returns the seconds that the runner reported in its output; 0: it reported none. */
static double seconds_of(const char *text)
{
    const char *at = strstr(text, "seconds ");
    return at ? strtod(at + 8, NULL) : 0;
}

/* Sets *e to a timeout or to the first line of the output, without valgrind's "==123== ".  If there
 * is no output, *e has the signal and the exit code. */
static bool explain(const struct once *o, const char *who, const struct subprocess_result *res,
                    struct err *e)
{
    const char *p = str_text(&res->out);
    if (res->timed_out)
        return err_set(e, ERR_TIMEOUT, "%s did not end within %.3g s; `tilescope run --limit "
                       "SECONDS` allows more", who, o->job->opts.limit_s);
    while (*p == '=' || *p == '-' || isspace((unsigned char)*p) || isdigit((unsigned char)*p))
        p++;
    if (!*p)
        return err_set(e, ERR_ENV, "%s ended with signal %d, exit code %d", who, res->signal,
                       res->exit_code);
    return err_set(e, ERR_ENV, "%s failed: %.*s", who, (int)strcspn(p, "\n"), p);
}

bool once_run(struct once *o, const char *const *tool, const struct once_call *call,
              struct err *e)
{
    const struct measure_job *j = o->job;
    char runner[600], out[64];
    struct subprocess_result res;
    int n = 0;
    if (!child_find_runner(j->opts.runner_path, runner, sizeof runner, e))
        return false;
    once_out_path(o, out, sizeof out);
    if (access(out, F_OK) != 0)
        return err_set(e, ERR_ENV, "/proc is not mounted, but the counting process gets its "
                       "buffers through it: mount /proc");
    struct arena *a = arena_new();
    const char **argv = ARENA_ARRAY(a, const char *, ONCE_TOOL_ARGS + 12 + j->func->n_params);
    for (; tool && tool[n] && n < ONCE_TOOL_ARGS; n++)
        argv[n] = tool[n];
    argv[n++] = runner;
    argv[n++] = "--once";
    argv[n++] = call->so_path;
    argv[n++] = arena_printf(a, "/proc/%d/fd/%d", getpid(), o->data_fd);
    argv[n++] = arena_printf(a, "%llu", o->bytes);
    argv[n++] = arena_printf(a, "%lld", call->cache_bytes);
    argv[n++] = call->padding ? call->padding : "-";
    argv[n++] = call->padding ? out : "-";
    argv[n++] = arena_printf(a, "%d", getpid());
    for (int i = 0; i < j->func->n_params; i++)
        argv[n++] = arena_printf(a, "0x%llx", o->base[i]);
    argv[n] = NULL;
    bool ok = subprocess_run(argv, j->opts.limit_s, j->cancel, &res, e);
    if (ok) {
        o->seconds = seconds_of(str_text(&res.out));
        ok = !subprocess_failed(&res)
          || explain(o, tool ? tool[0] : "the counting kernel", &res, e);
        str_free(&res.out);
    }
    arena_free(a);
    return ok;
}

bool once_output(const struct once *o, struct str *out, struct err *e)
{
    char path[64];
    once_out_path(o, path, sizeof path);
    return file_read(path, MAX_OUTPUT_BYTES, out, e);
}
