/* COMMAND_PERF: counters around the kernel. */
#include "profile/runner_impl.h"

#include "kernels/base/subprocess.h"

#include <dlfcn.h>
#include <string.h>

#define PERF_LEAST_S 0.02
#define PERF_MOST_RUNS 1000

/* Counters follow this thread only, so for them the kernel runs on it alone. */
static void alone(struct runner *r)
{
    void *symbol = dlsym(r->handle[SLOT_KERNEL], "omp_set_num_threads");
    void (*set_threads)(int);
    memcpy(&set_threads, &symbol, sizeof symbol);
    if (symbol)
        set_threads(1);
}

/* Counts per call, over enough calls that starting and stopping does not show. */
bool runner_count(struct runner *r, const struct request *q, struct err *e)
{
    struct counts *out = &r->shared->counts;
    kernel_fn *run = r->entry[SLOT_KERNEL];
    if (!run)
        return err_set(e, ERR_BUG, "no kernel is loaded");
    struct perf *p = perf_open(!q->software, out);
    if (!p)
        return true;
    if (!fence_place(r->fence, false, e)) {
        perf_close(p);
        return false;
    }
    alone(r);
    run(fence_data(r->fence));
    int runs = 0;
    double start = clock_s();
    perf_start(p);
    do {
        run(fence_data(r->fence));
        runs++;
    } while (runs < PERF_MOST_RUNS && clock_s() - start < PERF_LEAST_S);
    perf_stop(p);
    perf_read(p, out);
    for (int i = 0; i < out->n; i++)
        out->count[i].value /= runs;
    perf_close(p);
    return true;
}
