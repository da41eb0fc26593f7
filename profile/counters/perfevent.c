/* Opens perf events.  On virtual machines perf_event_open may fail (ENOENT), and some hypervisors
 * let it succeed with counters that stand still: counting_result refuses these. */
#include "profile/counters/perfevent.h"

#include "kernels/base/arena.h"
#include "kernels/base/str.h"
#include "profile/host/machine.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

/* Opens a counter in the thread `tid`. The counter includes threads that this thread starts later
 * (inherit). */
static int open_plain(const struct perf_name *ev, int tid, int leader, bool with_kernel)
{
    struct perf_event_attr a = {
        .size = sizeof a, .type = ev->type, .config = ev->config, .disabled = leader < 0,
        .inherit = 1, .exclude_kernel = !with_kernel, .exclude_hv = 1,
        .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED
                     | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    long fd = syscall(SYS_perf_event_open, &a, tid, -1, leader < 0 ? -1 : leader,
                      PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : (int)fd;
}

static int control(int leader, unsigned long what)
{
    return ioctl(leader, what, PERF_IOC_FLAG_GROUP) < 0 ? -errno : 0;
}

static int perf_start(void *ctx, int leader)
{
    (void)ctx;
    return control(leader, PERF_EVENT_IOC_ENABLE);
}

static int perf_stop(void *ctx, int leader)
{
    (void)ctx;
    return control(leader, PERF_EVENT_IOC_DISABLE);
}

static int perf_read(void *ctx, int leader, int n, struct reading *out)
{
    struct { uint64_t n, enabled_ns, running_ns, value[GROUP_MAX]; } r;
    ssize_t got = read(leader, &r, sizeof r);
    (void)ctx;
    if (got < 0)
        return -errno;
    if (got < (ssize_t)((size_t)(3 + n) * sizeof(uint64_t)) || r.n != (uint64_t)n)
        return -EIO;
    *out = (struct reading){ .enabled_ns = r.enabled_ns, .running_ns = r.running_ns };
    memcpy(out->value, r.value, sizeof r.value[0] * (size_t)n);
    return 0;
}

static void perf_close(void *ctx, int handle)
{
    (void)ctx;
    close(handle);
}

#else  /* not Linux */

static int open_plain(const struct perf_name *ev, int tid, int leader, bool with_kernel)
{
    (void)ev, (void)tid, (void)leader, (void)with_kernel;
    return -ENOSYS;
}
static int perf_start(void *ctx, int leader) { (void)ctx, (void)leader; return -ENOSYS; }
static int perf_stop(void *ctx, int leader) { (void)ctx, (void)leader; return -ENOSYS; }
static int perf_read(void *ctx, int leader, int n, struct reading *out)
{
    (void)ctx, (void)leader, (void)n, (void)out;
    return -ENOSYS;
}
static void perf_close(void *ctx, int handle) { (void)ctx, (void)handle; }
#endif

/* Whether an event happens only in the kernel of Linux (context switches, migrations). Without the
 * right to count in the kernel, its count would be 0. */
static bool kernel_only(const struct event *ev)
{
    return streq(ev->text, "context_switches") || streq(ev->text, "migrations");
}

static int perf_open(void *ctx, int thread, const struct event *ev, int leader)
{
    struct perf_threads *t = ctx;
    struct perf_name name;
    if (!perf_find(ev->text, &name))
        return -EINVAL;
    bool software = name.type == PERF_SOFTWARE;
    int fd = open_plain(&name, t->tid[thread], leader, software && !t->no_kernel);
    if (fd == -EACCES && software && !t->no_kernel && !kernel_only(ev)) {
        fd = open_plain(&name, t->tid[thread], leader, false);
        t->no_kernel = fd >= 0;
    } else if (fd >= 0 && t->no_kernel && kernel_only(ev)) {
        close(fd);
        fd = -EACCES;
    }
    return fd == -ESRCH ? COUNTER_GONE : fd;
}

/* --- Reasons --------------------------------------------------------------------------------- */

static int paranoid_level(void)
{
    int level = 2;
    FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    if (f && fscanf(f, "%d", &level) != 1)
        level = 2;
    if (f)
        fclose(f);
    return level;
}

static void perf_explain(void *ctx, const struct event *ev, int code, char *s, size_t n)
{
    struct perf_name name = { .type = PERF_RAW };
    int why = -code;
    bool software = perf_find(ev->text, &name) && name.type == PERF_SOFTWARE;
    bool absent = why == ENOENT || why == ENODEV || why == EOPNOTSUPP;
    (void)ctx;
    if (why == EACCES)
        snprintf(s, n, "kernel.perf_event_paranoid is %d: run as root or"
                       " `sysctl kernel.perf_event_paranoid=%d`",
                 paranoid_level(), software ? 1 : 2);
    else if (why == EPERM)
        snprintf(s, n, "perf_event_open is forbidden here (container or seccomp policy):"
                       " allow CAP_PERFMON");
    else if (why == EMFILE || why == ENFILE)
        snprintf(s, n, "too many open files: one for each thread and event; `ulimit -n` allows %ld",
                 sysconf(_SC_OPEN_MAX));
    else if (why == ENOSYS)
        snprintf(s, n, "this kernel was built without perf events, or is not Linux");
    else if (!software && absent && !machine_has_pmu())
        snprintf(s, n, "no hardware events: this VM exposes no PMU (no cpu event source);"
                       " pass the PMU through or use the simulator");
    else if (absent)
        snprintf(s, n, "the CPU's PMU does not offer this event (%s)", strerror(why));
    else if (why == EBUSY)
        snprintf(s, n, "another tool holds the PMU for itself (%s)", strerror(why));
    else
        snprintf(s, n, "perf_event_open: %s", strerror(why));
}

static bool perf_always(void *ctx, const struct event *ev)
{
    struct perf_name name;
    (void)ctx;
    return perf_find(ev->text, &name) && name.always;
}

const struct counter_source perf_source = {
    .open = perf_open, .start = perf_start, .stop = perf_stop, .read = perf_read,
    .close = perf_close, .explain = perf_explain, .always = perf_always,
};

/* --- Threads and the probe ------------------------------------------------------------------- */

void perf_threads_find(struct perf_threads *out)
{
    DIR *d = opendir("/proc/self/task");
    int room = 0;
    *out = (struct perf_threads){ .n = 0 };
    for (struct dirent *entry; d && (entry = readdir(d));) {
        long long tid;
        if (!str_to_int64(entry->d_name, 1, INT32_MAX, &tid))
            continue;
        if (out->n == room)
            out->tid = xrealloc(out->tid, sizeof *out->tid * (size_t)(room = 2 * room + 8));
        out->tid[out->n++] = (int)tid;
    }
    if (d)
        closedir(d);
    if (out->n == 0) {                               /* no /proc: count the calling thread (0) */
        out->tid = xcalloc(1, sizeof *out->tid);
        out->n = 1;
    }
}

void perf_threads_free(struct perf_threads *t)
{
    free(t->tid);
    t->tid = NULL;
    t->n = 0;
}

/* Does a little work for the counters to count: touches memory for a few microseconds. */
static void little_work(void)
{
    enum { BYTES = 1 << 20 };
    volatile char *p = xmalloc(BYTES);
    for (int i = 0; i < BYTES; i += 64)
        p[i] = (char)i;
    free((void *)p);
}

void perf_probe(bool hardware, struct counts *out)
{
    static const struct event hard[] = { { "cycles", "cycles" },
                                         { "instructions", "instructions" } };
    static const struct event soft[] = { { "task_clock_ns", "task_clock_ns" },
                                         { "page_faults", "page_faults" } };
    int self = 0;
    struct perf_threads here = { .n = 1, .tid = &self };
    struct counting *c = counting_open(&perf_source, &here, 1, hardware ? hard : soft, 2, 2, out);
    if (!c)
        return;
    counting_start(c, 0);
    little_work();
    counting_stop(c, 0, 1);
    counting_result(c, out);
    counting_close(c);
}
