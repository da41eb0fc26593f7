/* COMMAND_TIME: samples contenders and ceiling in turns. */
#include "profile/child/server_impl.h"

#include "kernels/base/rng.h"
#include "kernels/base/subprocess.h"

#include <sched.h>
#include <stdlib.h>

#define LINE_BYTES 64

/* Pins a single thread to the CPU where the scheduler has put it. */
static void pin(const struct shared *sh)
{
    cpu_set_t set;
    int cpu = sched_getcpu();
    if (sh->threads > 1 || cpu < 0 || cpu >= CPU_SETSIZE)
        return;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

struct timing {
    struct server *r;
    const struct request *q;
    const struct work *work;
    bool lost;                            /* whether the process of the ceiling has ended */
    bool failed;  /* whether the device failed, or buffers could not be renewed; *e says why */
    bool by_walking;                      /* chill empties the caches by reading other data */
    struct rng rng;
    struct err *e;
};

static bool is_timed(const struct request *q, int contender)
{
    return q->contenders >> contender & 1;
}

/* Renews the buffers. Their guards are checked first, because refilling the memory would hide
 * damage. Linux reuses the most recently freed pages first. So all buffers free their pages before
 * any buffer gets new ones, and a random contender is filled first; pages then move between
 * buffers. The addresses also change at random, because at some distances two buffers conflict in
 * the cache. Buffers of a vendor library keep their addresses. */
static bool renew(void *ctx)
{
    struct timing *t = ctx;
    struct server *r = t->r;
    int n = r->shared->n_contenders, from = (int)rng_range(&t->rng, 0, n - 1);
    bool ok = server_check_guards(r, t->e);
    for (int i = 0; i < n && ok && r->device; i++)
        if (is_timed(t->q, i))
            ok = server_device_drop(r, i, t->e);
    for (int i = 0; i < n && ok; i++)
        if (is_timed(t->q, i))
            ok = guarded_drop(r->guarded, r->shared->contender[i].first, r->shared->contender[i].n,
                            r->vendor[i] ? NULL : &t->rng, t->e);
    for (int k = 0, i = from; k < n && ok; k++, i = (i + 1) % n)
        if (is_timed(t->q, i))
            ok = server_place(r, i, false, t->e);
    t->failed = t->failed || !ok;
    return ok;
}

/* Empties the caches: every thread reads more memory than the last cache holds.  This replaces the
 * content of the last cache and of the thread's own caches. */
static void walk(const struct timing *t)
{
    static char *room;
    long bytes = (long)t->q->walk_bytes;
    if (!room && (room = malloc((size_t)bytes)))
        for (long i = 0; i < bytes; i += LINE_BYTES)
            room[i] = (char)i;
    if (!room)
        return;
#pragma omp parallel num_threads(t->r->shared->threads)
    for (long i = 0; i < bytes; i += LINE_BYTES)
        (void)*(const volatile char *)(room + i);
}

/* Makes a device call for a hook, unless an earlier call failed. Returns whether all calls so far
 * have succeeded; t->e keeps the first error. */
static bool on_device(struct timing *t, bool (*call)(struct server *r, int i, struct err *e), int i)
{
    t->failed = t->failed || !call(t->r, i, t->e);
    return !t->failed;
}

static void chill(void *ctx, int contender)
{
    struct timing *t = ctx;
    const struct shared *sh = t->r->shared;
    if (t->r->device)
        t->failed = t->failed || !cuda_device_flush(t->r->device, t->q->walk_bytes, t->e);
    else if (t->by_walking)
        walk(t);
    else
        guarded_flush(t->r->guarded, sh->contender[contender].first, sh->contender[contender].n);
}

static void poison(void *ctx, int contender, bool all)
{
    struct timing *t = ctx;
    const struct shared *sh = t->r->shared;
    if (t->r->device && !on_device(t, server_device_fetch, contender))
        return;
    guarded_poison(t->r->guarded, sh->contender[contender].first, sh->contender[contender].n,
                all ? NULL : &t->rng);
    if (t->r->device)
        on_device(t, server_device_spoil, contender);
}

/* Compares the results. A result that differs is copied to the file for the parent to judge. */
static bool same(void *ctx, int contender)
{
    struct timing *t = ctx;
    struct shared *sh = t->r->shared;
    int first = sh->contender[contender].first, n = sh->contender[contender].n;
    if (t->r->device && !on_device(t, server_device_fetch, contender))
        return false;
    if (guarded_same(t->r->guarded, first, n))
        return true;
    guarded_collect(t->r->guarded, first, n);
    sh->differs = contender;
    sh->differs_after = t->work[contender].calls;
    return false;
}

static bool ask_ceiling(void *ctx, int team, long batch, double *seconds)
{
    struct timing *t = ctx;
    t->lost = t->lost || !server_ask_ceiling(t->r, team, batch, seconds);
    return !t->lost;
}

/* A contender on a device, as something to sample. */
struct device_work { struct timing *t; int contender; };

static bool run_device(void *ctx, long n, double *seconds)
{
    const struct device_work *w = ctx;
    struct timing *t = w->t;
    t->failed = t->failed || !server_device_run(t->r, w->contender, n, seconds, t->e);
    return !t->failed;
}

static void add_device(struct timing *t, struct device_work *device, struct work *work)
{
    for (int i = 0; t->r->device && i < PROTOCOL_MAX_CONTENDERS; i++) {
        device[i] = (struct device_work){ .t = t, .contender = i };
        if (is_timed(t->q, i)) {
            work[i].run_device = run_device;
            work[i].device = &device[i];
        }
    }
}

/* Lists the contenders, and places their buffers. If samples are appended, buffers stay where they
 * were for the earlier samples, unless COMMAND_RUN has moved them since. */
static bool add_contenders(struct server *r, const struct request *q, struct work *work,
                           struct err *e)
{
    for (int i = 0; i < PROTOCOL_MAX_CONTENDERS; i++) {
        if (!is_timed(q, i))
            continue;
        bool placed = q->append && guarded_in_place(r->guarded, r->shared->contender[i].first,
                                                    r->shared->contender[i].n);
        if (!r->entry[i] && !r->vendor[i] && !r->loaded[i])
            return err_set(e, ERR_BUG, "nothing is loaded to be timed");
        work[i] = (struct work){ .run = r->entry[i], .buffers = server_buffers(r, i),
                                 .vendor = r->vendor[i], .steady = q->steady >> i & 1,
                                 .first_s = r->first_s[i], .calls = r->calls[i] };
        if (r->vendor[i])
            work[i].run_vendor = r->plugin[i]->run;
        if (!placed && !server_place(r, i, false, e))
            return false;
    }
    return true;
}

static void add_ceiling(const struct server *r, struct work *work)
{
    int threads = r->shared->threads;
    if (threads > 1)
        work[SERIES_ONE_CORE].team = 1;
    work[SERIES_CEILING].team = threads;
}

static void count_calls(struct server *r, const struct work *work)
{
    for (int i = 0; i < PROTOCOL_MAX_CONTENDERS; i++)
        if (work[i].calls > 0)
            r->calls[i] = work[i].calls;
}

/* Whether the caches must be emptied by reading other data: on a device, on a CPU that cannot flush
 * by address, and for a library, which keeps copies of the operands at unknown addresses. */
static bool must_walk(const struct server *r, const struct request *q)
{
    bool walk_it = r->device || !guarded_flush(r->guarded, 0, 0);
    for (int i = 0; i < PROTOCOL_MAX_CONTENDERS; i++)
        walk_it = walk_it || (is_timed(q, i) && r->vendor[i]);
    return walk_it;
}

bool server_time(struct server *r, const struct request *q, struct err *e)
{
    struct work work[SERIES_COUNT] = { 0 };
    struct device_work device[PROTOCOL_MAX_CONTENDERS];
    struct timing t = { .r = r, .q = q, .work = work, .e = e, .rng = rng_seed(1) };
    struct sampling_hooks hooks = { .renew = renew, .chill = chill, .poison = poison, .same = same,
                                    .ceiling = ask_ceiling, .ctx = &t };
    r->shared->differs = -1;
    if (q->ceiling && !q->has_ceiling)
        return err_set(e, ERR_BUG, "no ceiling is loaded to be timed");
    if (q->ceiling)
        add_ceiling(r, work);
    if (!q->append)
        pin(r->shared);
    if (!add_contenders(r, q, work, e))
        return false;
    add_device(&t, device, work);
    t.by_walking = q->cold && must_walk(r, q);
    r->shared->flushed = !t.by_walking;
    double start = clock_s();
    sampling_run(work, q, &hooks, r->shared);
    r->reply.seconds = clock_s() - start;
    count_calls(r, work);
    if (t.failed)
        return false;
    if (t.lost)
        return err_set(e, ERR_KILLED, "the process that samples the FMA ceiling was killed");
    guarded_pages(r->guarded, &r->shared->room_bytes, &r->shared->huge_bytes);
    return server_check_guards(r, e);
}
