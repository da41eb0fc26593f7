/* COMMAND_SIMULATE: the instrumented kernel drives the cache simulator. */
#include "profile/child/server_impl.h"

#include "kernels/base/subprocess.h"
#include "profile/sim/simdetail.h"
#include "profile/sim/simsample.h"

#include <stdio.h>
#include <stdlib.h>

#define DETAIL_SHARE 20.0  /* an access with detail counts as this many in the budget */
#define DETAIL_LINES ((uint64_t)1 << 26)

/* The current simulation, global because callbacks for marks have no context. */
static struct {
    struct shared *shared;
    struct simsample *sample;
    struct simdetail *detail;             /* observes the simulation; NULL: no detail is wanted */
} sim;

/* all: accesses of the whole kernel; iterations: iterations of all its marked loops together. */
struct trace_work {
    double all, iterations;
    int n_loops;
    struct sample_loop loop[SIMSAMPLE_MAX_MARKS];
};

/* Counts how often every block runs. */
static struct trace_work count_runs(struct server *r, struct shared_sim *s)
{
    struct shared_block *block = sim_blocks(s);
    struct trace_work w = { .n_loops = s->n_marks < SIMSAMPLE_MAX_MARKS ? s->n_marks
                                                                  : SIMSAMPLE_MAX_MARKS };
    long long *runs = xcalloc((size_t)s->n_blocks + 1, sizeof *runs);
    r->count(runs);
    for (int i = 0; i < s->n_blocks; i++) {
        double n = (double)runs[i] * block[i].accesses;
        block[i].runs = runs[i];
        w.all += n;
        if (block[i].mark >= 0 && block[i].mark < w.n_loops)
            w.loop[block[i].mark].accesses += n;
    }
    for (int i = 0; i < w.n_loops; i++) {
        w.loop[i].iterations = (double)runs[sim_marks(s)[i].block];
        w.iterations += w.loop[i].iterations;
        if (w.loop[i].iterations > 0)
            w.loop[i].accesses /= w.loop[i].iterations;
    }
    free(runs);
    return w;
}

static int on_mark(struct ts_sim *ts, int mark)
{
    (void)ts;
    bool skip = simsample_skip(sim.sample, mark);
    if (sim.detail)
        simdetail_mark(sim.detail, mark);
    atomic_store_explicit(&sim.shared->permille, (int)(999 * simsample_done(sim.sample)),
                          memory_order_relaxed);
    return skip;
}

/* Opens the detail. Returns NULL, with a reason in the detail, if it would take too long or the
 * kernel has more loops or memory than the detail has room for. */
static struct simdetail *open_detail(struct shared_sim *s, struct cachesim *cache,
                                     const struct trace_work *w, const int *tensor)
{
    struct shared_detail *d = sim_detail_of(s);
    double enough = 1.06 * DETAIL_SHARE * w->all;
    uint64_t lines = (d->end - d->first) / (uint64_t)s->cache.level[0].geometry.line_bytes;
    bool many = w->all > s->budget / DETAIL_SHARE;
    if (many || w->n_loops > SIM_MAX_LOOPS || lines > DETAIL_LINES) {
        d->detail = (struct sim_detail){ .n_tensors = d->detail.n_tensors };
        if (many)
            snprintf(d->detail.reason, sizeof d->detail.reason,
                     "the kernel makes %.3g accesses, too many to record one by one; use "
                     "`:sim_budget %.1e` or `run --sim-budget %.1e`", w->all, enough, enough);
        else
            snprintf(d->detail.reason, sizeof d->detail.reason,
                     "the detail has room for %d marked loops and %llu lines of memory; the kernel "
                     "has %d and %llu", SIM_MAX_LOOPS, (unsigned long long)DETAIL_LINES,
                     w->n_loops, (unsigned long long)lines);
        return NULL;
    }
    for (int i = 0; i < w->n_loops; i++)
        d->detail.loop[i].iterations = (int64_t)w->loop[i].iterations;
    struct detail_opts o = { .l1 = &s->cache.level[0], .tensor = tensor, .heat = d->heat,
                             .first = d->first, .end = d->end, .iterations = w->iterations };
    return simdetail_open(cache, &o, &d->detail);
}

/* Opens the cache that s->cache describes; only its first level if a sample is simulated. */
static bool open_cache(struct shared_sim *s, struct cachesim **out, struct err *e)
{
    struct cache_config c = s->cache;
    c.n_levels = simsample_cuts(sim.sample) ? 1 : c.n_levels;
    if (!cache_config_check(&s->cache, e) || !cachesim_open(&c, s->n_sites, out, e))
        return false;
    s->n_levels = c.n_levels;
    for (int i = 0; i < s->n_sites; i++)
        if (sim_sites(s)[i].is_store)
            cachesim_store_site(*out, i);
    return true;
}

static void run(struct server *r, struct shared_sim *s, struct cachesim *cache,
                const struct trace_work *w)
{
    struct site_count *count = xcalloc((size_t)s->n_sites + 1, sizeof *count);
    int *tensor = xcalloc((size_t)s->n_sites + 1, sizeof *tensor);
    for (int i = 0; i < s->n_sites; i++)
        tensor[i] = sim_sites(s)[i].tensor;
    sim.shared = r->shared;
    sim.detail = s->detail_at ? open_detail(s, cache, w, tensor) : NULL;
    simsample_watch(sim.sample, cache);
    cachesim_hooks(cache)->mark = on_mark;
    r->trace(sim_bases(s), cachesim_hooks(cache));
    simsample_close(sim.sample, count, s->level, &s->fraction, &s->error);
    simdetail_close(sim.detail);
    for (int i = 0; i < s->n_sites; i++)
        sim_sites(s)[i].count = count[i];
    free(count);
    free(tensor);
}

bool server_simulate(struct server *r, const struct request *q, struct err *e)
{
    struct shared_sim *s = shared_sim(r->shared);
    struct cachesim *cache = NULL;
    (void)q;
    if (!r->trace || !r->count)
        return err_set(e, ERR_BUG, "no instrumented kernel is loaded");
    double start = clock_s();
    struct trace_work w = count_runs(r, s);
    const struct cache_geometry *l1 = &s->cache.level[0].geometry;
    int64_t lines = l1->line_bytes > 0 ? l1->size_bytes / l1->line_bytes : 0;
    sim.sample = simsample_open(s->n_sites, w.n_loops, w.loop, w.all, s->budget, lines, s->seed);
    snprintf(s->how, sizeof s->how, "%s", simsample_how(sim.sample));
    bool ok = open_cache(s, &cache, e);
    if (ok)
        run(r, s, cache, &w);
    r->reply.seconds = clock_s() - start;
    simsample_free(sim.sample);
    cachesim_close(cache);
    return ok;
}
