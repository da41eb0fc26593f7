/* COMMAND_TIME: kernel and ceiling, sampled in turns. */
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

bool runner_time(struct runner *r, const struct request *q, struct err *e)
{
    static float scratch[4096];
    static float *scratch_data[PROTOCOL_MAX_BUFFERS];
    for (int i = 0; i < PROTOCOL_MAX_BUFFERS; i++)
        scratch_data[i] = scratch;
    int threads = r->shared->threads;
    kernel_fn *ceiling = q->ceiling ? r->entry[SLOT_CEILING] : NULL;
    struct work work[SERIES_COUNT] = {
        [SERIES_KERNEL] = { .run = q->kernel ? r->entry[SLOT_KERNEL] : NULL,
                            .buffers = fence_data(r->fence) },
        [SERIES_CEILING] = { .run = ceiling, .buffers = scratch_data, .team = threads },
        [SERIES_ONE_CORE] = { .run = threads > 1 ? ceiling : NULL, .buffers = scratch_data },
    };
    if ((q->kernel && !work[SERIES_KERNEL].run) || (q->ceiling && !ceiling))
        return err_set(e, ERR_BUG, "nothing is loaded to be timed");
    if (!q->append) {
        pin(r->shared);
        if (!fence_place(r->fence, false, e))
            return false;
    }
    double start = clock_s();
    sampling_run(work, q, r->shared);
    r->reply.seconds = clock_s() - start;
    return runner_check_fence(r, e);
}
