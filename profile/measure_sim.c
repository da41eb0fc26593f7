/* The tracing twin through the cache simulator. */
#include "profile/measure_impl.h"

#include <stdio.h>

#define FIRST_ADDRESS 0x10000000ull
#define PAGE_BYTES 4096ull

bool measure_sim_refused(struct job *j, const struct err *e)
{
    snprintf(j->m->sim.reason, sizeof j->m->sim.reason, "%.255s", e->text);
    return e->code != ERR_CANCEL;
}

static struct tensor_count *count_of(struct sim_result *r, const char *tensor)
{
    for (int i = 0; i < r->n; i++)
        if (streq(r->by_tensor[i].tensor, tensor))
            return &r->by_tensor[i];
    bool full = r->n == MEASURE_MAX_TENSORS;
    struct tensor_count *c = &r->by_tensor[full ? r->n - 1 : r->n++];
    snprintf(c->tensor, sizeof c->tensor, "%.47s", full ? "others" : tensor);
    return c;
}

/* Tiles count for the tensor that they hold. */
static void take_counts(struct job *j, const struct simulation *s)
{
    struct sim_result *r = &j->m->sim;
    const struct func *f = j->func;
    for (int i = 0; i < j->n_sites; i++) {
        const struct site *site = &j->site[i];
        const struct site_count *c = &s->count[i];
        int t = f->buffer[site->buffer].tensor;
        struct tensor_count *to = count_of(r, f->graph->tensor[t].name);
        *(site->is_store ? &to->stores : &to->loads) += c->accesses;
        *(site->is_store ? &r->stores : &r->loads) += c->accesses;
        to->l1_misses += c->misses;
        r->l1_misses += c->misses;
    }
    r->writebacks = s->writebacks;
    r->seconds = s->seconds;
    r->available = true;
}

void measure_place_buffers(const struct func *f, unsigned long long *base)
{
    unsigned long long at = FIRST_ADDRESS;
    for (int i = 0; i < f->n_buffers; i++) {
        base[i] = at;
        unsigned long long bytes = 4 * (unsigned long long)f->buffer[i].elems;
        at += (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    }
}

/* A count that cannot be had is a reason in m->sim; the measurement stands. False only on a
 * cancel. */
bool measure_sim(struct job *j, struct err *e)
{
    struct arena *pass = arena_new();
    unsigned long long *base = ARENA_ARRAY(pass, unsigned long long, j->func->n_buffers + 1);
    bool *is_store = ARENA_ARRAY(pass, bool, j->n_sites + 1);
    struct simulation s = { .count = ARENA_ARRAY(pass, struct site_count, j->n_sites + 1) };
    measure_begin(j, "simulating");
    measure_place_buffers(j->func, base);
    for (int i = 0; i < j->n_sites; i++)
        is_store[i] = j->site[i].is_store;
    bool ok = child_load(j->child, SLOT_TRACE, j->twin.so_path, e)
           && child_simulate(j->child, &j->opts.l1, base, is_store, &s, e);
    if (ok)
        take_counts(j, &s);
    else if (e->code == ERR_TIMEOUT)
        snprintf(j->m->sim.reason, sizeof j->m->sim.reason,
                 "stopped after %.3g s: too many accesses to simulate (run --limit SECONDS allows"
                 " more)", j->opts.limit_s);
    else
        ok = measure_sim_refused(j, e);
    arena_free(pass);
    return ok || e->code != ERR_CANCEL;
}
