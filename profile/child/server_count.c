/* COMMAND_COUNT: counters around the kernel, on every thread that it uses, or on its device. */
#include "profile/child/server_impl.h"

#include "kernels/base/subprocess.h"
#include "profile/counters/cupti_count.h"
#include "profile/counters/papi_meter.h"
#include "profile/counters/perfevent.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define COUNT_LEAST_S 0.02  /* least seconds for each group of events in a pass */
#define COUNT_MOST_CALLS (1 << 20)

struct meant { const struct counter_source *source; void *ctx; int threads; };

/* Appends to the description of how events were counted. */
__attribute__((format(printf, 2, 3)))
static void say(struct counts *c, const char *fmt, ...)
{
    size_t n = strlen(c->source);
    va_list ap;
    va_start(ap, fmt);
    if (c->available)
        vsnprintf(c->source + n, sizeof c->source - n, fmt, ap);
    va_end(ap);
}

/* Calls the kernel for at least `seconds`, but at most about 2 * COUNT_MOST_CALLS times.  Returns
 * the number of calls.  The clock is read only after 1, 3, 7... calls, so that reading it hardly
 * adds to the counts. */
static int call_for(struct server *r, double seconds)
{
    int calls = 0;
    double start = clock_s();
    do
        for (int batch = calls + 1; batch > 0; batch--, calls++)
            r->entry[SLOT_KERNEL](server_buffers(r, 0));
    while (calls < COUNT_MOST_CALLS && clock_s() - start < seconds);
    return calls;
}

/* Counts the events in groups of at most group_max. Returns false when a group never ran: it has
 * more events than can be counted at once. */
static bool count_in_groups(struct server *r, const struct request *q, const struct meant *m,
                            int group_max, struct counts *out)
{
    struct counting *c = counting_open(m->source, m->ctx, m->threads, q->event, q->n_events,
                                       group_max, out);
    int calls = 0;
    double seconds = 0;
    if (!c)
        return true;
    int passes = counting_passes(c);
    double least_s = COUNT_LEAST_S * counting_groups(c) / passes;
    for (int pass = 0; pass < passes; pass++) {
        counting_start(c, pass);
        double start = clock_s();
        int n = call_for(r, least_s);
        seconds += clock_s() - start;
        counting_stop(c, pass, n);
        calls += n;
    }
    bool starved = counting_starved(c);
    counting_result(c, out);
    say(out, ", %d call%s", calls, calls == 1 ? "" : "s");
    if (passes > 1)
        say(out, " in %d passes", passes);
    r->reply.seconds = seconds / calls;
    counting_close(c);
    return !starved;
}

static void count_in_turns(struct server *r, const struct request *q, const struct meant *m,
                           struct counts *out)
{
    if (!count_in_groups(r, q, m, GROUP_MAX, out))
        count_in_groups(r, q, m, 1, out);
}

/* Counts perf events.  The team of threads exists by now, so its threads can be listed; threads
 * that they start later inherit the counters. */
static void count_perf(struct server *r, const struct request *q, struct counts *out)
{
    struct perf_threads threads;
    bool hardware = q->meter == METER_ID_PERF;
    if (hardware) {
        perf_probe(true, out);  /* tests by counting: a counter can be opened and yet never count */
        if (!out->available)
            return;
    }
    perf_threads_find(&threads);
    struct meant m = { &perf_source, &threads, threads.n };
    count_in_turns(r, q, &m, out);
    say(out, ", %s", hardware || threads.no_kernel ? "user space" : "with the system's part");
    perf_threads_free(&threads);
}

static void count_papi(struct server *r, const struct request *q, struct counts *out)
{
    struct papi *p = papi_open(r->handle[SLOT_KERNEL], r->shared->threads, out);
    if (!p)
        return;
    struct meant m = { &papi_source, p, papi_threads(p) };
    count_in_turns(r, q, &m, out);
    say(out, ", user space");
    papi_close(p);
}

/* --- On a device ------------------------------------------------------------------------------ */

static bool run_once(void *arg, struct err *e)
{
    double seconds;
    return server_device_run(arg, 0, 1, &seconds, e);
}

/* Counts by CUPTI. The device needs no warm-up, because kernels were checked and timed before. */
static bool count_on_device(struct server *r, const struct request *q, struct counts *out,
                            struct err *e)
{
    const struct cupti_work work = { .context = cuda_device_context(r->device), .run = run_once,
                                     .arg = r };
    if (!r->loaded[0])
        return err_set(e, ERR_BUG, "no kernel is loaded");
    if (q->meter != METER_ID_CUPTI) {
        counts_refuse(out, "this meter counts on the CPU, and this kernel ran on a GPU");
        return true;
    }
    return server_place(r, 0, false, e)
        && cupti_count(&work, q->event, q->n_events, out, &r->reply.seconds, e)
        && server_device_check(r, e);
}

bool server_count(struct server *r, const struct request *q, struct err *e)
{
    struct counts *out = &r->shared->counts;
    *out = (struct counts){ .n = 0 };
    if (r->device)
        return count_on_device(r, q, out, e);
    if (!r->entry[SLOT_KERNEL])
        return err_set(e, ERR_BUG, "no kernel is loaded");
    if (q->meter == METER_ID_CUPTI) {
        counts_refuse(out, "CUPTI counts on a GPU, and this kernel ran on the CPU");
        return true;
    }
    if (!server_place(r, 0, false, e))
        return false;
    r->entry[SLOT_KERNEL](server_buffers(r, 0));     /* starts the team and warms the caches */
    if (q->meter == METER_ID_PAPI)
        count_papi(r, q, out);
    else
        count_perf(r, q, out);
    return server_check_guards(r, e);
}
