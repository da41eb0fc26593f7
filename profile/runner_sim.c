/* COMMAND_SIMULATE: the tracing twin drives the cache simulator. */
#include "profile/runner_impl.h"

#include "kernels/base/subprocess.h"

#include <stdlib.h>

/* The simulation at work: the twin's marks have no context of their own. */
static struct {
    struct shared *shared;
    double done, all;                     /* accesses, by the iterations of marked loops */
    double each[64];                      /* of one iteration, per mark */
    int n_marks;
} sim;

/* How often every block runs; the accesses of all, and of an iteration of each mark. */
static double count_runs(struct runner *r, struct shared_sim *s)
{
    struct shared_block *block = sim_blocks(s);
    struct shared_mark *mark = sim_marks(s);
    double all = 0, within[64] = {0};
    long long *runs = xcalloc((size_t)s->n_blocks + 1, sizeof *runs);
    r->count(runs);
    for (int i = 0; i < s->n_blocks; i++) {
        double n = (double)runs[i] * block[i].accesses;
        block[i].runs = runs[i];
        all += n;
        if (block[i].mark >= 0 && block[i].mark < COUNT_OF(within))
            within[block[i].mark] += n;
    }
    sim.n_marks = s->n_marks < COUNT_OF(within) ? s->n_marks : COUNT_OF(within);
    for (int i = 0; i < sim.n_marks; i++) {
        long long n = runs[mark[i].block];
        sim.each[i] = n > 0 ? within[i] / (double)n : 0;
    }
    free(runs);
    return all;
}

static int on_mark(struct ts_sim *ts, int mark)
{
    (void)ts;
    if (mark >= 0 && mark < sim.n_marks) {
        sim.done += sim.each[mark];
        atomic_store_explicit(&sim.shared->permille, (int)(999 * sim.done / sim.all),
                              memory_order_relaxed);
    }
    return 0;
}

bool runner_simulate(struct runner *r, const struct request *q, struct err *e)
{
    struct shared_sim *s = shared_sim(r->shared);
    struct cachesim *cache;
    (void)q;
    if (!r->trace || !r->count)
        return err_set(e, ERR_BUG, "no tracing twin is loaded");
    if (!cachesim_open(&s->cache, s->n_sites, &cache, e))
        return false;
    for (int i = 0; i < s->n_sites; i++)
        if (sim_sites(s)[i].is_store)
            cachesim_store_site(cache, i);
    double start = clock_s();
    sim.shared = r->shared;
    sim.done = 0;
    sim.all = count_runs(r, s);
    cachesim_hooks(cache)->mark = on_mark;
    r->trace(sim_bases(s), cachesim_hooks(cache));
    for (int i = 0; i < s->n_sites; i++)
        sim_sites(s)[i].count = cachesim_counts(cache)[i];
    cachesim_levels(cache, s->level);
    s->fraction = 1;
    r->reply.seconds = clock_s() - start;
    cachesim_close(cache);
    return true;
}
