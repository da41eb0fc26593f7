/* A number is shown only when a counter was open, was scheduled on the CPU and counted: on
 * virtual machines perf_event_open may fail (ENOENT), and some hypervisors let it succeed with
 * counters that stand still. */
#include "profile/perfevent.h"

#include "kernels/base/arena.h"
#include "kernels/base/str.h"
#include "profile/machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#define PERF_MAX_EVENTS 8

struct event { const char *name; uint32_t type; uint64_t config; };

#define CACHE_EVENT(cache, op, result) \
    ((uint64_t)PERF_COUNT_HW_CACHE_##cache | (uint64_t)PERF_COUNT_HW_CACHE_OP_##op << 8 \
     | (uint64_t)PERF_COUNT_HW_CACHE_RESULT_##result << 16)

static const struct event hardware_events[] = {
    { "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
    { "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
    { "L1d loads", PERF_TYPE_HW_CACHE, CACHE_EVENT(L1D, READ, ACCESS) },
    { "L1d load misses", PERF_TYPE_HW_CACHE, CACHE_EVENT(L1D, READ, MISS) },
};
static const struct event software_events[] = {
    { "task-clock ns", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
    { "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
    { "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
};

struct perf {
    bool hardware;
    int n;
    const struct event *event[PERF_MAX_EVENTS];
    int fd[PERF_MAX_EVENTS];                        /* fd[0] leads the group */
};

/* read() of a group with PERF_FORMAT_GROUP and both times. */
struct group_read { uint64_t n, enabled_ns, running_ns, value[PERF_MAX_EVENTS]; };

static int open_plain(const struct event *ev, int leader, bool with_kernel)
{
    struct perf_event_attr a = {
        .size = sizeof a, .type = ev->type, .config = ev->config, .disabled = leader < 0,
        .exclude_kernel = !with_kernel, .exclude_hv = 1,
        .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED
                     | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    return (int)syscall(SYS_perf_event_open, &a, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

/* Software events happen in the kernel too, which takes more rights than a user may have; without
 * them a context switch is never seen and would read 0. */
static int open_event(const struct event *ev, int leader)
{
    bool software = ev->type == PERF_TYPE_SOFTWARE;
    int fd = open_plain(ev, leader, software);
    if (fd < 0 && errno == EACCES && software && ev->config != PERF_COUNT_SW_CONTEXT_SWITCHES)
        fd = open_plain(ev, leader, false);
    return fd;
}

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

static void explain(struct counts *out, bool hardware, int why)
{
    char *s = out->reason;
    size_t n = sizeof out->reason;
    bool absent = why == ENOENT || why == ENODEV || why == EOPNOTSUPP;
    *out = (struct counts){0};
    if (why == EACCES)
        snprintf(s, n, "kernel.perf_event_paranoid is %d: run as root or"
                       " `sysctl kernel.perf_event_paranoid=%d`",
                 paranoid_level(), hardware ? 2 : 1);
    else if (why == EPERM)
        snprintf(s, n, "perf_event_open is forbidden here (container or seccomp policy):"
                       " allow CAP_PERFMON");
    else if (why == ENOSYS)
        snprintf(s, n, "this kernel was built without perf events");
    else if (hardware && absent && !machine_has_pmu())
        snprintf(s, n, "no hardware events: this VM exposes no PMU (no cpu event source);"
                       " pass the PMU through or use the simulator");
    else if (hardware && absent)
        snprintf(s, n, "the CPU's PMU does not offer these events (%s)", strerror(why));
    else
        snprintf(s, n, "perf_event_open failed: %s", strerror(why));
}

struct perf *perf_open(bool hardware, struct counts *why_not)
{
    const struct event *list = hardware ? hardware_events : software_events;
    int count = hardware ? COUNT_OF(hardware_events) : COUNT_OF(software_events);
    struct perf *p = xcalloc(1, sizeof *p);
    int why = 0;
    p->hardware = hardware;
    for (int i = 0; i < count; i++) {
        int fd = open_event(&list[i], p->n ? p->fd[0] : -1);
        if (fd < 0) {
            why = why ? why : errno;
            continue;
        }
        p->event[p->n] = &list[i];
        p->fd[p->n++] = fd;
    }
    if (p->n > 0)
        return p;
    explain(why_not, hardware, why);
    free(p);
    return NULL;
}

void perf_start(struct perf *p)
{
    ioctl(p->fd[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
}

void perf_stop(struct perf *p)
{
    ioctl(p->fd[0], PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
}

void perf_read(struct perf *p, struct counts *out)
{
    struct group_read r;
    *out = (struct counts){0};
    ssize_t got = read(p->fd[0], &r, sizeof r);
    if (got < (ssize_t)(3 * sizeof(uint64_t)) || r.n != (uint64_t)p->n) {
        snprintf(out->reason, sizeof out->reason, "the counters cannot be read: %s",
                 got < 0 ? strerror(errno) : "short read");
        return;
    }
    if (r.running_ns == 0 || (p->hardware && r.value[0] == 0)) {
        snprintf(out->reason, sizeof out->reason, "the counters opened but %s",
                 r.running_ns == 0 ? "were never scheduled: something else holds the PMU"
                                   : "stand still: this VM's PMU does not count");
        return;
    }
    bool scaled = r.running_ns < r.enabled_ns;
    double scale = scaled ? (double)r.enabled_ns / (double)r.running_ns : 1;
    out->available = true;
    out->n = p->n;
    for (int i = 0; i < p->n; i++) {
        struct count *c = &out->count[i];
        snprintf(c->name, sizeof c->name, "%s", p->event[i]->name);
        c->value = (double)r.value[i] * scale;
        c->scaled = scaled;
    }
}

void perf_close(struct perf *p)
{
    if (!p)
        return;
    for (int i = p->n - 1; i >= 0; i--)
        close(p->fd[i]);
    free(p);
}

#else  /* not Linux */

struct perf { int unused; };
struct perf *perf_open(bool hardware, struct counts *why_not)
{
    (void)hardware;
    *why_not = (struct counts){ .reason = "perf events exist on Linux only" };
    return NULL;
}
void perf_start(struct perf *p) { (void)p; }
void perf_stop(struct perf *p) { (void)p; }
void perf_read(struct perf *p, struct counts *out) { (void)p; *out = (struct counts){0}; }
void perf_close(struct perf *p) { (void)p; }
#endif

/* Something for the counters to count: touches memory and takes a few microseconds. */
static void little_work(void)
{
    enum { BYTES = 1 << 20 };
    volatile char *p = xmalloc(BYTES);
    for (int i = 0; i < BYTES; i += 64)
        p[i] = (char)i;
    free((void *)p);
}

static void probe(bool hardware, struct counts *out)
{
    struct perf *p = perf_open(hardware, out);
    if (!p)
        return;
    perf_start(p);
    little_work();
    perf_stop(p);
    perf_read(p, out);
    perf_close(p);
}

void perf_probe(struct counts *hardware, struct counts *software)
{
    probe(true, hardware);
    probe(false, software);
}
