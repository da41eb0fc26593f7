/* COMMAND_TIME: contenders and ceiling, sampled in turns. */
#include "profile/runner_impl.h"

#include "kernels/base/subprocess.h"

#include <sched.h>

/* One thread stays where the scheduler has just put it: on the CPU it found least busy. */
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

static bool add_contenders(struct runner *r, const struct request *q, struct work *work,
                           struct err *e)
{
    for (int i = 0; i < PROTOCOL_MAX_CONTENDERS; i++) {
        if (!(q->contenders >> i & 1))
            continue;
        if (!r->entry[i] && !r->vendor[i])
            return err_set(e, ERR_BUG, "nothing is loaded to be timed");
        work[i] = (struct work){ .run = r->entry[i], .buffers = runner_buffers(r, i),
                                 .vendor = r->vendor[i] };
        if (r->vendor[i])
            work[i].run_vendor = r->plugin[i]->run;
        if (!q->append && !runner_place(r, i, false, e))
            return false;
    }
    return true;
}

bool runner_time(struct runner *r, const struct request *q, struct err *e)
{
    static float scratch[4096];
    static float *scratch_data[1] = { scratch };
    struct work work[SERIES_COUNT] = { 0 };
    int threads = r->shared->threads;
    kernel_fn *ceiling = r->entry[SLOT_CEILING];
    if (q->ceiling && !ceiling)
        return err_set(e, ERR_BUG, "no ceiling is loaded to be timed");
    if (q->ceiling) {
        work[SERIES_CEILING] = (struct work){ .run = ceiling, .buffers = scratch_data,
                                              .team = threads };
        if (threads > 1)
            work[SERIES_ONE_CORE] = (struct work){ .run = ceiling, .buffers = scratch_data };
    }
    if (!q->append)
        pin(r->shared);
    if (!add_contenders(r, q, work, e))
        return false;
    double start = clock_s();
    sampling_run(work, q, r->shared);
    r->reply.seconds = clock_s() - start;
    return runner_check_fence(r, e);
}
