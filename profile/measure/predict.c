#include "profile/measure/predict.h"

#include "kernels/gen/walk.h"
#include "profile/measure/job.h"
#include "profile/sim/lru.h"
#include "profile/sim/simsample.h"

#include <stdlib.h>

#define DEFAULT_BUDGET 1e6
#define PREDICT_SEED 1
/* Conflicts are not counted if the buffers have more lines than this: the LRU order takes 8 bytes
 * for each line. */
#define MOST_LINES_SEEN (UINT64_C(1) << 26)

struct prediction_run {
    struct cachesim *cache;
    struct simsample *sample;
    struct lru *lru;                      /* NULL: conflict misses are not counted */
    uint64_t first_line;
    int64_t conflicts;
};

struct cache_config predict_cache(const struct cache_config *c)
{
    const struct machine *here = machine_this();
    struct cache_config on = cache_config_on(c, &here->l1d, &here->l2, &here->l3);
    on.n_levels = on.n_levels > 1 ? 1 : on.n_levels;
    return on;
}

static void on_access(void *ctx, unsigned long long addr, unsigned site, unsigned bytes)
{
    cachesim_access(((struct prediction_run *)ctx)->cache, addr, site, bytes);
}

static int on_mark(void *ctx, int mark)
{
    return simsample_skip(((struct prediction_run *)ctx)->sample, mark);
}

static void on_touch(void *ctx, uint64_t line, unsigned site, bool missed)
{
    struct prediction_run *r = ctx;
    (void)site;
    bool held = lru_touch(r->lru, (int64_t)(line - r->first_line));
    r->conflicts += missed && held;
}

static void simulate(struct prediction_run *r, struct walk *w, const unsigned long long *base,
                     struct prediction *out)
{
    struct walk_calls calls = { r, on_access, on_mark, NULL };
    struct level_count level[CACHE_LEVELS] = {0};
    int n_sites;
    const struct site *site = walk_sites(w, &n_sites);
    struct site_count *count = xcalloc((size_t)n_sites + 1, sizeof *count);
    for (int i = 0; i < n_sites; i++)
        if (site[i].is_store)
            cachesim_store_site(r->cache, i);
    if (r->lru)
        cachesim_watch(r->cache, on_touch, r);
    simsample_watch(r->sample, r->cache);
    simsample_conflicts(r->sample, r->lru ? &r->conflicts : NULL);
    walk_run(w, base, &calls);
    simsample_close(r->sample, count, level, &out->fraction, &out->error);
    out->l1_misses = level[0].misses;
    out->conflicts = r->lru ? simsample_estimated(r->sample) : -1;
    free(count);
}

/* Plans the sample from the counts of the walk.  False when the walk ended early. */
static bool plan(struct prediction_run *r, struct walk *w, const struct predict_opts *o,
                 const struct cache_config *cache, struct prediction *out)
{
    double iterations[GEN_MAX_MARKS], accesses[GEN_MAX_MARKS];
    struct sample_loop loop[GEN_MAX_MARKS];
    const struct cache_geometry *g = &cache->level[0].geometry;
    int n_sites, n = walk_n_marks(w);
    walk_sites(w, &n_sites);
    if (!walk_count(w, iterations, accesses, &out->accesses))
        return false;
    for (int i = 0; i < n; i++)
        loop[i] = (struct sample_loop){ iterations[i], iterations[i] > 0
                                                     ? accesses[i] / iterations[i] : 0 };
    double budget = o->budget > 0 ? o->budget : DEFAULT_BUDGET;
    double warm = budget < DEFAULT_BUDGET ? budget / DEFAULT_BUDGET : 1;
    r->sample = simsample_open(n_sites, n, loop, out->accesses, budget,
                               (int64_t)(warm * (double)(g->size_bytes / g->line_bytes)) + 1,
                               PREDICT_SEED);
    return true;
}

bool predict_misses(const struct program *p, const struct predict_opts *o, const struct cancel *c,
                    struct prediction *out, struct err *e)
{
    double start = clock_s();
    const struct func *f;
    struct gen_work work = {0};
    const struct gen_opts gen = { .target = target_or_host(o->target), .work = &work };
    struct cache_config cache = predict_cache(&o->cache);
    struct prediction_run r = {0};
    struct walk *w = NULL;
    if (!program_lower(p, &f, e) || !walk_open(f, &gen, &w, e))
        return false;
    unsigned long long *base = xcalloc((size_t)f->n_buffers + 1, sizeof *base);
    uint64_t end = measure_place_buffers(f, base);
    int n_sites, shift;
    walk_sites(w, &n_sites);
    bool ok = cachesim_open(&cache, n_sites, &r.cache, e) && cachesim_reaches(&cache, end, e);
    if (ok) {
        shift = __builtin_ctz((unsigned)cache.level[0].geometry.line_bytes);
        r.first_line = base[0] >> shift;
        if (o->conflicts && (end >> shift) - r.first_line < MOST_LINES_SEEN)
            r.lru = lru_open(cache.level[0].geometry.size_bytes >> shift,
                             (int64_t)((end >> shift) - r.first_line) + 1);
        walk_limit(w, o->limit_s > 0 ? start + o->limit_s : 0, c);
        ok = plan(&r, w, o, &cache, out);
        if (ok)
            simulate(&r, w, base, out);
        ok = ok && !walk_ended_early(w);
        out->miss_bytes = ok ? (double)out->l1_misses * cache.level[0].geometry.line_bytes : 0;
        bool as_is = !gen.target->gpu && !f->autovectorize;  /* the compiler keeps the loops */
        out->cycles = ok && as_is ? work.out_of_order : (struct gen_cycles){0};
        if (!ok)
            err_set(e, cancelled(c) ? ERR_CANCEL : ERR_TIMEOUT, "not predicted within %.2g s",
                    o->limit_s);
    }
    simsample_free(r.sample);
    lru_close(r.lru);
    cachesim_close(r.cache);
    walk_close(w);
    free(base);
    return ok;
}
