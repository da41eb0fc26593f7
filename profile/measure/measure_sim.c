/* Runs the instrumented kernel through the cache simulator, and kernels for a GPU through the
 * simulator of GPUs. */
#include "profile/measure/gpu_memory.h"
#include "profile/measure/job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ADDRESS 0x10000000ull
#define PAGE_BYTES 4096ull

bool measure_sim_refused(struct measure_job *j, const struct err *e)
{
    snprintf(j->m->sim.reason, sizeof j->m->sim.reason, "%.255s", e->text);
    return e->code != ERR_CANCEL;
}

int64_t sim_bytes_below(const struct sim_result *r, int k)
{
    const struct sim_level *v = &r->level[k];
    int unit = r->sector_bytes ? r->sector_bytes : r->cache.level[0].geometry.line_bytes;
    return (v->misses + v->prefetches + v->writebacks) * unit + r->streamed_bytes;
}

/* --- Counts ----------------------------------------------------------------------------------- */

static int index_of_tensor(struct sim_result *r, const char *tensor)
{
    for (int i = 0; i < r->n; i++)
        if (streq(r->by_tensor[i].tensor, tensor))
            return i;
    bool full = r->n == MEASURE_MAX_TENSORS;
    int at = full ? r->n - 1 : r->n++;
    snprintf(r->by_tensor[at].tensor, sizeof r->by_tensor[at].tensor, "%.47s",
             full ? "others" : tensor);
    return at;
}

/* Returns the index in r->by_tensor of the tensor that a buffer counts for. A tile counts for the
 * tensor that it holds. */
static int tensor_of(struct sim_result *r, const struct func *f, int buffer)
{
    return index_of_tensor(r, f->graph->tensor[f->buffer[buffer].tensor].name);
}

static int by_misses(const void *a, const void *b)
{
    const struct sim_site *x = a, *y = b;
    if (x->cost.l1_misses != y->cost.l1_misses)
        return x->cost.l1_misses < y->cost.l1_misses ? 1 : -1;
    if (x->accesses != y->accesses)
        return x->accesses < y->accesses ? 1 : -1;
    return strcmp(x->text, y->text);
}

static void add_cost(struct access_cost *to, const struct access_cost *x)
{
    to->l1_misses += x->l1_misses;
    to->l2_misses += x->l2_misses;
    to->l3_misses += x->l3_misses;
    to->sectors += x->sectors;
    to->ideal_sectors += x->ideal_sectors;
    to->bank_conflicts += x->bank_conflicts;
}

/* Stores the sites that have accesses, most misses first. The last entry has the sum of the sites
 * that do not fit. */
static void sort_sites(struct sim_result *r, struct sim_site *all, int n)
{
    qsort(all, (size_t)n, sizeof *all, by_misses);
    for (int i = 0; i < n; i++) {
        if (all[i].accesses == 0 && all[i].cost.l1_misses == 0)
            continue;
        if (r->n_sites < MEASURE_MAX_SITES) {
            r->site[r->n_sites++] = all[i];
            continue;
        }
        struct sim_site *last = &r->site[MEASURE_MAX_SITES - 1];
        snprintf(last->text, sizeof last->text, "others");
        last->into[0] = 0;
        last->tensor = r->n;
        last->accesses += all[i].accesses;
        add_cost(&last->cost, &all[i].cost);
    }
}

void measure_take_sites(struct sim_result *r, const struct func *f, const struct site *site,
                        struct sim_site *all, int n)
{
    for (int i = 0; i < n; i++) {
        struct sim_site *s = &all[i];
        s->tensor = tensor_of(r, f, site[i].buffer);
        s->is_store = site[i].is_store;
        s->operand = site[i].operand;
        snprintf(s->text, sizeof s->text, "%.111s", site[i].text);
        snprintf(s->into, sizeof s->into, "%.47s", f->graph->tensor[site[i].into].name);
        struct tensor_count *to = &r->by_tensor[s->tensor];
        *(s->is_store ? &to->stores : &to->loads) += s->accesses;
        *(s->is_store ? &r->stores : &r->loads) += s->accesses;
        add_cost(&to->cost, &s->cost);
        r->sectors += s->cost.sectors;
        r->ideal_sectors += s->cost.ideal_sectors;
        r->bank_conflicts += s->cost.bank_conflicts;
    }
    sort_sites(r, all, n);
}

/* Stores the counts of the cache levels. streamed: number of non-temporal stores, which reach no
 * level. */
static void take_levels(struct sim_result *r, const struct simulation *s, int64_t streamed)
{
    for (int i = s->n_levels; i < r->cache.n_levels; i++)
        r->cache.level[i] = (struct cache_level){0};
    r->cache.n_levels = s->n_levels;
    for (int i = 0; i < r->cache.n_levels; i++) {
        const struct level_count *c = &s->level[i];
        r->level[i] = (struct sim_level){
            .accesses = i ? c->accesses : r->loads + r->stores - streamed, .misses = c->misses,
            .writebacks = c->writebacks, .prefetches = c->prefetches, .useful = c->useful,
        };
    }
    r->l1_misses = r->level[0].misses;
    r->writebacks = r->level[0].writebacks;
    r->straddled = s->level[0].straddled;
}

static void take_counts(struct measure_job *j, const struct simulation *s)
{
    struct sim_result *r = &j->m->sim;
    const struct trace_table *t = &j->trace;
    struct sim_site *all = xcalloc((size_t)t->n_sites + 1, sizeof *all);
    int64_t streamed = 0;
    for (int i = 0; i < t->n_uses; i++) {
        int64_t accesses = t->use[i].n * s->runs[t->use[i].block];
        all[t->use[i].site].accesses += accesses;
        streamed += t->use[i].streamed ? accesses : 0;
        r->streamed_bytes += t->use[i].streamed * accesses;
    }
    for (int i = 0; i < t->n_sites; i++) {
        const int64_t *misses = s->count[i].misses;
        all[i].cost = (struct access_cost){ misses[0], misses[1], misses[2], .sectors = 0 };
    }
    measure_take_sites(r, j->func, t->site, all, t->n_sites);
    take_levels(r, s, streamed);
    free(all);
    r->of_source = j->func->autovectorize;
    r->skips_prefetches = func_prefetches(j->func);
    r->fraction = s->fraction;
    r->error = s->error;
    r->seconds = s->seconds;
    snprintf(r->how, sizeof r->how, "%s", s->how);
    r->detail = j->opts.detail;
    r->available = true;
}

/* --- The simulation --------------------------------------------------------------------------- */

unsigned long long measure_place_buffers(const struct func *f, unsigned long long *base)
{
    unsigned long long at = FIRST_ADDRESS;
    for (int i = 0; i < f->n_buffers; i++) {
        base[i] = at;
        unsigned long long bytes = (unsigned long long)buffer_bytes(&f->buffer[i]);
        at += (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    }
    return at;
}

/* Sets up the detail: a heat map of the largest buffer of each tensor, and the loops. */
static void want_detail(struct measure_job *j, struct simulated *what, struct arena *a)
{
    const struct func *f = j->func;
    struct sim_detail *d = j->opts.detail;
    unsigned long long *heat = ARENA_ARRAY(a, unsigned long long, MEASURE_MAX_TENSORS);
    int *tensor = ARENA_ARRAY(a, int, j->trace.n_sites + 1);
    *d = (struct sim_detail){ .n_loops = j->trace.n_marks };
    for (int i = 0; i < j->trace.n_sites; i++) {
        int b = j->trace.site[i].buffer, t = tensor[i] = tensor_of(&j->m->sim, f, b);
        int64_t bytes = buffer_bytes(&f->buffer[b]);
        if (bytes <= d->tensor[t].bytes)
            continue;
        d->tensor[t].bytes = bytes;
        heat[t] = what->base[b];
    }
    d->n_tensors = j->m->sim.n;
    d->n_loops = d->n_loops < SIM_MAX_LOOPS ? d->n_loops : SIM_MAX_LOOPS;
    for (int i = 0; i < d->n_loops; i++)
        snprintf(d->loop[i].axes, sizeof d->loop[i].axes, "%.63s", j->trace.mark[i].loops);
    what->detail = d;
    what->heat = heat;
    what->tensor = tensor;
    what->first = FIRST_ADDRESS;
    int last = f->n_buffers - 1;
    what->end = what->base[last] + (unsigned long long)buffer_bytes(&f->buffer[last])
              + PAGE_BYTES;
}

static bool too_many(struct measure_job *j)
{
    snprintf(j->m->sim.reason, sizeof j->m->sim.reason,
             "stopped after %.3g s: too many accesses to simulate (`:sim_budget 1e7` on the screen,"
             " or run --sim-budget 1e7, simulates a sample; tilescope run --limit SECONDS allows"
             " more time)", j->opts.limit_s);
    return true;
}

static bool simulate_gpu(struct measure_job *j, struct err *e)
{
    struct gpu_memory_opts o = { j->opts.gpu, j->opts.sim_budget, j->opts.limit_s, j->progress };
    struct sim_result *r = &j->m->sim;
    measure_begin(j, "simulating");
    if (!gpu_memory(j->func, j->target, &o, j->cancel, r, e))
        return e->code == ERR_TIMEOUT ? too_many(j) : measure_sim_refused(j, e);
    return true;
}

bool measure_sim(struct measure_job *j, struct err *e)
{
    if (j->target->gpu)
        return simulate_gpu(j, e);
    struct arena *pass = arena_new();
    unsigned long long *base = ARENA_ARRAY(pass, unsigned long long, j->func->n_buffers + 1);
    struct simulated what = { .cache = &j->opts.cache, .base = base, .seed = j->opts.seed,
                              .budget = j->opts.sim_budget };
    struct simulation s = { .count = ARENA_ARRAY(pass, struct site_count, j->trace.n_sites + 1),
                            .runs = ARENA_ARRAY(pass, int64_t, j->trace.n_blocks + 1) };
    measure_begin(j, "simulating");
    unsigned long long end = measure_place_buffers(j->func, base);
    if (j->opts.detail)
        want_detail(j, &what, pass);
    bool ok = cachesim_reaches(&j->opts.cache, end, e)
           && runner_load(j->runner, SLOT_TRACE, j->instrumented.so_path, "", e)
           && runner_simulate(j->runner, &what, &s, e);
    if (ok)
        take_counts(j, &s);
    else
        ok = e->code == ERR_TIMEOUT ? too_many(j) : measure_sim_refused(j, e);
    arena_free(pass);
    return ok;
}
