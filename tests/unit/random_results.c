#include "tests/unit/random_results.h"

#include <stdio.h>

/* Counts of any size, often 0. */
static int64_t some(struct rng *r)
{
    int64_t most = (int64_t)1 << rng_range(r, 0, 40);
    return rng_range(r, 0, 3) == 0 ? 0 : rng_range(r, 0, most);
}

static bool one_in(struct rng *r, int n)
{
    return rng_range(r, 0, n - 1) == 0;
}

void random_samples(struct rng *r, double ms, double *sample, int n)
{
    double noise = rng_unit(r) * 0.3;
    for (int i = 0; i < n; i++) {
        sample[i] = ms * (1 + noise * rng_unit(r));
        if (one_in(r, 12))
            sample[i] *= 2;
    }
}

static void random_latency(struct rng *r, struct latency *out)
{
    double sample[40];
    int n = (int)rng_range(r, 1, 40);
    random_samples(r, 0.001 * (double)(1 + some(r) % 1000000), sample, n);
    struct summary s = stats_summary(sample, n);
    *out = (struct latency){
        .median_ms = s.median, .min_ms = s.min, .max_ms = s.max, .p10_ms = s.p10, .p25_ms = s.p25,
        .p75_ms = s.p75, .p90_ms = s.p90, .spread = s.spread, .runs = n,
        .noisy = s.spread > STATS_NOISY,
    };
    out->disturbed = one_in(r, 3) ? NAN : rng_unit(r) * 0.4;
    out->others = one_in(r, 3) ? NAN : rng_unit(r) * 0.5;
}

static void random_cost(struct rng *r, bool gpu, struct access_cost *c)
{
    c->l1_misses = some(r);
    c->l2_misses = some(r);
    c->l3_misses = some(r);
    if (!gpu)
        return;
    c->sectors = some(r);
    c->ideal_sectors = some(r);
    c->bank_conflicts = some(r);
}

static void random_tensors(struct rng *r, const struct program *p, struct sim_result *s)
{
    bool gpu = s->gpu[0];
    for (int t = 0; t < p->graph->n_tensors && s->n < MEASURE_MAX_TENSORS; t++) {
        struct tensor_count *c = &s->by_tensor[s->n++];
        snprintf(c->tensor, sizeof c->tensor, "%s", p->graph->tensor[t].name);
        c->loads = some(r);
        c->stores = some(r);
        random_cost(r, gpu, &c->cost);
    }
}

static void random_site(struct rng *r, const struct sim_result *s, int i, struct sim_site *x)
{
    static const char *const memory[] = { "global", "local", "shared" };
    x->tensor = (int)rng_range(r, 0, s->n - 1);
    x->is_store = one_in(r, 3);
    x->accesses = some(r);
    x->operand = (int)rng_range(r, 0, 3);
    snprintf(x->text, sizeof x->text, "%s[%c][k + %d]", s->by_tensor[x->tensor].tensor,
             (char)('i' + i % 8), (int)rng_range(r, 0, 3));
    snprintf(x->into, sizeof x->into, "%s", one_in(r, 3) ? "" : s->by_tensor[0].tensor);
    random_cost(r, s->gpu[0], &x->cost);
    if (!s->gpu[0])
        return;
    snprintf(x->memory, sizeof x->memory, "%s", memory[rng_range(r, 0, 2)]);
    x->degree = (int)rng_range(r, 1, 32);
    x->bytes = 4 << rng_range(r, 0, 2);
    x->run = (int)rng_range(r, 0, 32);
    x->stride = rng_range(r, -64, 4096);
}

static void random_levels(struct rng *r, struct sim_result *s)
{
    static const char *const cache[] = {
        "32K/8/64", "32K/8/64,1M/16/64", "4K/4/64,64K/8/64,1M/16/64/inclusive",
        "8K/2/64/random,prefetch=next", "16K/4/128/plru,prefetch=stride:4:2", "1K/1/32,seed=7",
    };
    struct err e;
    cache_config_parse(cache[rng_range(r, 0, 5)], &s->cache, &e);
    for (int k = 0; k < s->cache.n_levels; k++) {
        s->level[k].accesses = some(r);
        s->level[k].misses = some(r);
        s->level[k].writebacks = some(r);
        s->level[k].prefetches = some(r);
        s->level[k].useful = some(r);
    }
    s->l1_misses = s->level[0].misses;
    s->writebacks = s->level[0].writebacks;
}

static void random_gpu(struct rng *r, struct sim_result *s)
{
    snprintf(s->gpu, sizeof s->gpu, "h100");
    s->sector_bytes = 32;
    s->sectors = some(r);
    s->ideal_sectors = some(r);
    s->bank_conflicts = some(r);
    s->shared_bytes = some(r) % 100000;
    s->fma_ns = (double)some(r);
    s->l1_ns = (double)some(r);
    s->l2_ns = (double)some(r);
    s->dram_ns = (double)some(r);
}

static void random_sim(struct rng *r, const struct program *p, struct sim_result *s)
{
    if (one_in(r, 6)) {
        snprintf(s->reason, sizeof s->reason, "%s", one_in(r, 2) ? SIM_NOT_ASKED : "no room");
        return;
    }
    s->available = true;
    random_levels(r, s);
    if (one_in(r, 4))
        random_gpu(r, s);
    s->loads = some(r);
    s->stores = some(r);
    s->straddled = one_in(r, 2) ? 0 : some(r);
    s->streamed_bytes = one_in(r, 2) ? 0 : some(r);
    s->fraction = one_in(r, 2) ? 1 : rng_unit(r);
    s->error = s->fraction < 1 ? rng_unit(r) * 0.1 : 0;
    s->seconds = rng_unit(r) * 3;
    s->of_source = one_in(r, 4);
    s->skips_prefetches = one_in(r, 4);
    if (s->fraction < 1 && one_in(r, 4))
        snprintf(s->how, sizeof s->how, "two of nine nests, since one is too long");
    random_tensors(r, p, s);
    s->n_sites = (int)rng_range(r, 0, 12);
    for (int i = 0; i < s->n_sites; i++)
        random_site(r, s, i, &s->site[i]);
}

static void random_classes(struct rng *r, struct sim_classes *c, struct sim_reuse *u)
{
    c->compulsory = some(r);
    c->capacity = some(r);
    c->conflict = some(r);
    u->first = some(r);
    for (int64_t n = rng_range(r, 0, 20), b = 0; b < n; b++)
        u->bucket[b] = some(r);
}

static void random_heat(struct rng *r, struct sim_heat *h, int n)
{
    for (int i = 0; i < n; i++) {
        h[i].accesses = some(r);
        h[i].misses = rng_range(r, 0, h[i].accesses);
    }
}

static void random_detail(struct rng *r, const struct sim_result *s, struct sim_detail *d)
{
    *d = (struct sim_detail){ .n_tensors = s->n, .n_sets = 64 };
    if (one_in(r, 5)) {
        snprintf(d->reason, sizeof d->reason, "the cache is not LRU");
        return;
    }
    random_classes(r, &d->classes, &d->reuse);
    for (int t = 0; t < s->n; t++) {
        struct sim_tensor_detail *x = &d->tensor[t];
        random_classes(r, &x->classes, &x->reuse);
        x->bytes = some(r);
        x->cell_lines = rng_range(r, 1, 1000);
        x->n_cells = (int)rng_range(r, 0, 40);
        random_heat(r, x->cell, x->n_cells);
    }
    d->n_set_cells = one_in(r, 3) ? 0 : 64;
    random_heat(r, d->set, d->n_set_cells);
    d->n_loops = 2;
    for (int i = 0; i < d->n_loops; i++) {
        snprintf(d->loop[i].axes, sizeof d->loop[i].axes, "%s", i ? "M N" : "K");
        d->loop[i].iterations = 1 + some(r);
    }
    d->n_moments = (int)rng_range(r, 0, 60);
    for (int i = 0; i < d->n_moments; i++) {
        struct sim_moment *x = &d->moment[i];
        x->loop = i * 2 / d->n_moments;
        x->first = i;
        x->n = rng_range(r, 1, 9);
        x->accesses = some(r);
        x->misses = rng_range(r, 0, x->accesses);
    }
}

static void random_counts(struct rng *r, struct counts *c)
{
    static const char *const name[] = { "l1_loads", "l1_load_misses", "llc_loads", "cycles",
                                        "instructions", "ipc", "dram_bytes" };
    if (one_in(r, 3)) {
        counts_refuse(c, "%s", one_in(r, 2) ? "not asked for" : "no counters: sudo something");
        return;
    }
    c->available = true;
    snprintf(c->source, sizeof c->source, "event set l1, %d threads", (int)rng_range(r, 1, 4));
    for (int i = 0; i < COUNT_OF(name); i++) {
        if (one_in(r, 3))
            continue;
        counts_add(c, name[i], (double)some(r));
        struct count *x = &c->count[c->n - 1];
        x->scaled = one_in(r, 4);
        x->running = x->scaled ? rng_unit(r) : 0;
        x->derived = one_in(r, 4);
        if (x->derived)
            snprintf(x->unit, sizeof x->unit, "%s", one_in(r, 2) ? "%" : "GB/s");
    }
    if (one_in(r, 4))
        snprintf(c->missing, sizeof c->missing, "llc_loads: the CPU has no such event");
}

static void random_baseline(struct rng *r, struct baseline *b)
{
    b->available = one_in(r, 3);
    if (!b->available) {
        snprintf(b->reason, sizeof b->reason, "%s", one_in(r, 2) ? "" : "libdnnl is missing");
        return;
    }
    b->verified = !one_in(r, 5);
    b->max_rel_err = rng_unit(r) * 1e-5;
    snprintf(b->implementation, sizeof b->implementation, "a library 2.6 brgconv");
    snprintf(b->layout, sizeof b->layout, "%s", one_in(r, 2) ? "" : "nhwc");
    if (!b->verified)
        return;
    random_latency(r, &b->latency);
    b->ratio = 0.2 + 2 * rng_unit(r);
}

static void random_outcome(struct rng *r, struct measurement *m)
{
    static const enum outcome other[] = { OUTCOME_COMPILE, OUTCOME_CRASH, OUTCOME_TIMEOUT,
                                          OUTCOME_WRONG, OUTCOME_LIMIT, OUTCOME_ILL };
    m->outcome = one_in(r, 6) ? other[rng_range(r, 0, COUNT_OF(other) - 1)] : OUTCOME_OK;
    m->verified = m->outcome == OUTCOME_OK;
    if (!m->verified)
        snprintf(m->reason, sizeof m->reason, "%s: a reason of it", outcome_name[m->outcome]);
    m->max_rel_err = measurement_compared(m) ? rng_unit(r) * 1e-5 : NAN;
    m->error_of_bound = rng_unit(r);
    m->tolerance = 1e-4;
}

static void random_speeds(struct rng *r, struct measurement *m)
{
    if (!m->verified || one_in(r, 6))
        return;
    random_latency(r, &m->latency);
    m->gflops = (double)(1 + some(r) % 500);
    m->executed_gflops = m->gflops * (0.8 + 0.2 * rng_unit(r));
    if (one_in(r, 5)) {
        snprintf(m->peak_reason, sizeof m->peak_reason, "no room for its buffers");
    } else {
        m->peak_gflops = 500;
        m->peak_fraction = m->executed_gflops / 500;
    }
    m->load = one_in(r, 3) ? 0 : 4 * rng_unit(r);
    m->measurements = (int)rng_range(r, 0, 4);
    if (one_in(r, 4)) {
        random_latency(r, &m->cold_latency);
        snprintf(m->cold_method, sizeof m->cold_method, "64 MiB read between calls");
    }
    if (one_in(r, 4)) {
        m->huge_asked = true;
        m->huge_of_bytes = 1 + some(r);
        m->huge_bytes = rng_range(r, 0, m->huge_of_bytes);
    }
    for (int i = 0; i < VENDOR_COUNT; i++)
        random_baseline(r, &m->baseline[i]);
}

void random_measurement(struct rng *r, const struct program *p, struct sim_detail *detail,
                        struct measurement *out)
{
    static const char *const isa[] = { "avx2", "avx512", "plain" };
    struct measurement m = {0};
    random_outcome(r, &m);
    random_speeds(r, &m);
    m.threads = one_in(r, 4) ? 2 : 1;
    if (one_in(r, 5))
        snprintf(m.threads_note, sizeof m.threads_note, "more threads than cores");
    m.seed = (uint64_t)rng_range(r, 0, 9);
    m.build_s = rng_unit(r);
    m.total_s = 1 + rng_unit(r);
    snprintf(m.measured_at, sizeof m.measured_at, "2026-11-%02dT10:00:00Z",
             (int)rng_range(r, 1, 28));
    snprintf(m.compiler, sizeof m.compiler, "gcc %d", one_in(r, 5) ? 11 : 12);
    snprintf(m.code, sizeof m.code, "%s", one_in(r, 4) ? "" : "0123456789abcdef");
    snprintf(m.isa, sizeof m.isa, "%s", isa[one_in(r, 4) ? rng_range(r, 1, 2) : 0]);
    if (m.verified)
        random_sim(r, p, &m.sim);
    if (detail && m.sim.available && !m.sim.gpu[0]) {
        random_detail(r, &m.sim, detail);
        m.sim.detail = detail;
    }
    for (int i = 0; i < METER_COUNT; i++)
        random_counts(r, &m.counts[i]);
    *out = m;
}
