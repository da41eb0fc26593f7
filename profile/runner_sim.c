/* COMMAND_SIMULATE: the tracing twin drives the cache simulator. */
#include "profile/runner_impl.h"

#include "kernels/base/subprocess.h"

#define TRACE_RECORDS 4096

struct tracing { struct cachesim *sim; struct ts_rec *buf; };

static struct ts_rec *take_records(void *ctx, struct ts_rec *end)
{
    struct tracing *t = ctx;
    cachesim_run(t->sim, t->buf, end - t->buf);
    return t->buf;
}

bool runner_simulate(struct runner *r, const struct request *q, struct err *e)
{
    static struct ts_rec buf[TRACE_RECORDS];
    struct shared *sh = r->shared;
    struct tracing t = { .buf = buf };
    const unsigned long long *base = (const void *)((char *)sh + sh->trace_at);
    struct shared_site *site = (void *)((char *)sh + sh->sites_at);
    if (!r->trace)
        return err_set(e, ERR_BUG, "no tracing twin is loaded");
    if (!cachesim_open(&q->l1, sh->n_sites, &t.sim, e))
        return false;
    for (int i = 0; i < sh->n_sites; i++)
        if (site[i].is_store)
            cachesim_store_site(t.sim, i);
    double start = clock_s();
    r->trace(base, buf, TRACE_RECORDS, take_records, &t);
    r->reply.seconds = clock_s() - start;
    for (int i = 0; i < sh->n_sites; i++)
        site[i].count = cachesim_counts(t.sim)[i];
    sh->writebacks = cachesim_writebacks(t.sim);
    cachesim_close(t.sim);
    return true;
}
