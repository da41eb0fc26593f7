#include "profile/measure/gpu_memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/gen/walk.h"
#include "profile/measure/job.h"
#include "profile/sim/gpusim.h"

#define DEFAULT_BUDGET 5e8
#define FEWEST_BLOCKS 8                   /* least number of blocks of a kernel in a sample */

const char *const gpu_bound_name[GPU_BOUND_COUNT] = { "FMA", "L1", "L2", "DRAM" };

struct gpu_run {
    const struct func *f;
    const struct gpu_device *device;
    const struct progress *progress;
    struct walk *walk;
    struct gpusim *sim;
    unsigned long long *base;
    int n_sites;
    const struct site *site;
    int *bytes;                           /* per site: bytes of one thread's access */
    double share;                         /* share of the blocks that are simulated; 1: all */
    /* made: number of simulated warp accesses; all: estimated number of warp accesses in all
     * blocks */
    double made, all;
    double square_error;                  /* square of the standard error of the L1 misses */
    /* sm_ns: nanoseconds of the L1s, summed over the kernels. busy: the mean number of working
     * multiprocessors, in the kernel where this number is highest. */
    double sm_ns, busy;
};


static int most_warps(const struct gpu_run *r)
{
    int most = 1;
    for (int k = 0; k < walk_n_kernels(r->walk); k++) {
        const int64_t *x = walk_launch(r->walk, k);
        int warps = (int)((x[3] * x[4] * x[5] + WALK_WARP - 1) / WALK_WARP);
        most = warps > most ? warps : most;
    }
    return most;
}

/* Places the buffers. A local buffer gets room for one block on every multiprocessor, in the size
 * of the largest block. */
static uint64_t place_buffers(struct gpu_run *r)
{
    uint64_t at = measure_place_buffers(r->f, r->base);
    uint64_t threads = (uint64_t)r->device->sms * (uint64_t)most_warps(r) * GPU_WARP;
    for (int i = 0; i < r->f->n_buffers; i++)
        if (r->f->buffer[i].memory == MEMORY_LOCAL) {
            uint64_t bytes = ((uint64_t)buffer_bytes(&r->f->buffer[i]) + 15) / 16 * 16;
            r->base[i] = at;
            at += (bytes * threads + 4095) / 4096 * 4096;
        }
    return at;
}

static bool open_sim(struct gpu_run *r, struct err *e)
{
    struct gpu_site *site = xcalloc((size_t)r->n_sites + 1, sizeof *site);
    uint64_t end = place_buffers(r);
    for (int i = 0; i < r->n_sites; i++) {
        int b = r->site[i].buffer;
        site[i] = (struct gpu_site){ r->f->buffer[b].memory, r->site[i].is_store, r->base[b],
                                     (uint64_t)buffer_bytes(&r->f->buffer[b]) };
    }
    bool ok = gpusim_open(r->device, r->n_sites, site, r->f->n_buffers ? r->base[0] : 0, end,
                          &r->sim, e);
    free(site);
    return ok;
}

/* Whether a block of this device can have the shared memory of f. */
static bool shared_fits(const struct gpu_run *r, struct err *e)
{
    int64_t most = gpu_block_shared(r->device), n = func_shared_bytes(r->f);
    return n == 0 || n <= most
        || err_set(e, ERR_STEP, "a block needs %lld bytes of shared memory, but a block of %s can"
                   " have at most %lld", (long long)n, r->device->name,
                   (long long)(most > 0 ? most : 0));
}

static void on_access(void *ctx, int warp, uint32_t active, const unsigned long long *addr,
                      unsigned site, unsigned bytes)
{
    struct gpu_run *r = ctx;
    r->made++;
    r->bytes[site] = (int)bytes;
    gpusim_access(r->sim, warp, active, addr, site, bytes);
}

/* Returns the mean number of multiprocessors that work, when the blocks are distributed as evenly
 * as possible: 132 of 132 with 264 blocks, but 88.3 with 265. */
static double busy_in(int64_t blocks, int64_t sms)
{
    return (double)blocks / (double)((blocks + sms - 1) / sms);
}

/* Simulates n of the `blocks` blocks of a kernel. */
static void run_blocks(struct gpu_run *r, int kernel, int64_t blocks, int64_t n)
{
    const struct gpu_traffic *all = gpusim_traffic(r->sim);
    double weight = (double)blocks / (double)n, sum = 0, squares = 0, made = r->made;
    double cycles = all->cycles, busy = busy_in(blocks, r->device->sms);
    for (int64_t i = 0; i < n && !walk_ended_early(r->walk); i++) {
        int64_t block = (int64_t)((double)i * weight);
        double before = all->l1_misses;
        gpusim_block(r->sim, block, weight);
        walk_block(r->walk, kernel, block, r->base, on_access, r);
        double misses = all->l1_misses - before;
        sum += misses;
        squares += misses * misses;
        if (r->progress && r->progress->report)
            r->progress->report(r->progress->ctx, "simulating", ((double)i + 1) / (double)n);
    }
    if (n < blocks && n > 1)
        r->square_error += (squares - sum * sum / (double)n) / (double)(n - 1) * (double)n
                         * (1 - 1 / weight);
    r->all += (r->made - made) * weight;
    r->sm_ns += (all->cycles - cycles) / busy / ((double)r->device->mhz * 1e-3);
    r->busy = busy > r->busy ? busy : r->busy;
}

static void run_kernels(struct gpu_run *r)
{
    for (int k = 0; k < walk_n_kernels(r->walk) && !walk_ended_early(r->walk); k++) {
        const int64_t *x = walk_launch(r->walk, k);
        int64_t blocks = x[0] * x[1] * x[2], n = (int64_t)ceil(r->share * (double)blocks);
        n = n < FEWEST_BLOCKS ? FEWEST_BLOCKS : n;
        gpusim_kernel(r->sim, (int)((x[3] * x[4] * x[5] + WALK_WARP - 1) / WALK_WARP),
                      func_shared_bytes(r->f));
        run_blocks(r, k, blocks, n < blocks ? n : blocks);
    }
}

/* Decides which share of the blocks is simulated. False when counting accesses ended early. */
static bool plan(struct gpu_run *r, double budget)
{
    double iterations[GEN_MAX_MARKS], accesses[GEN_MAX_MARKS], all;
    if (!walk_count(r->walk, iterations, accesses, &all))
        return false;
    r->share = all > budget ? budget / all : 1;
    return true;
}

/* --- Results ---------------------------------------------------------------------------------- */

static void take_levels(struct gpu_run *r, struct sim_result *out)
{
    const struct gpu_traffic *t = gpusim_traffic(r->sim);
    const struct gpu_device *d = r->device;
    bool sampled = r->made < r->all;
    out->cache = (struct cache_config){ .n_levels = sampled ? 1 : 2 };
    out->cache.level[0].geometry = (struct cache_geometry){ d->l1 * 1024, (int)d->l1_ways,
                                                            (int)d->line };
    out->level[0] = (struct sim_level){ .accesses = llround(t->l1_asked),
                                        .misses = llround(t->l1_misses),
                                        .writebacks = llround(t->written) };
    out->l1_misses = out->level[0].misses;
    out->writebacks = out->level[0].writebacks;
    if (sampled)
        return;
    out->cache.level[1].geometry = (struct cache_geometry){ d->l2 * 1024, (int)d->l2_ways,
                                                            (int)d->line };
    out->level[1] = (struct sim_level){ .accesses = llround(t->l2_asked),
                                        .misses = llround(t->l2_misses),
                                        .writebacks = llround(t->back) };
}

static void take_sites(struct gpu_run *r, struct sim_result *out)
{
    static const char *const memory[] = { "global", "local", "shared" };
    struct sim_site *all = xcalloc((size_t)r->n_sites + 1, sizeof *all);
    const struct gpu_count *count = gpusim_counts(r->sim);
    for (int i = 0; i < r->n_sites; i++) {
        const struct gpu_count *c = &count[i];
        all[i] = (struct sim_site){
            .accesses = llround(c->requests),
            .cost = {
                .l1_misses = llround(c->l1_misses),
                .l2_misses = out->cache.n_levels > 1 ? llround(c->l2_misses) : 0,
                .sectors = llround(c->sectors), .ideal_sectors = llround(c->ideal),
                .bank_conflicts = llround(c->conflicts),
            },
            .degree = c->degree, .bytes = r->bytes[i], .run = c->run, .stride = c->stride,
        };
        snprintf(all[i].memory, sizeof all[i].memory, "%s",
                 memory[r->f->buffer[r->site[i].buffer].memory]);
    }
    measure_take_sites(out, r->f, r->site, all, r->n_sites);
    free(all);
}

static void take_results(struct gpu_run *r, struct sim_result *out)
{
    *out = (struct sim_result){ .available = true, .sector_bytes = (int)r->device->sector,
                                .shared_bytes = func_shared_bytes(r->f) };
    snprintf(out->gpu, sizeof out->gpu, "%s", r->device->name);
    take_levels(r, out);
    take_sites(r, out);
    double misses = gpusim_traffic(r->sim)->l1_misses;
    out->fraction = r->all > 0 ? r->made / r->all : 1;
    out->error = misses > 0 ? sqrt(r->square_error) / misses : 0;
}

/* Returns the bytes that move between L2 and DRAM. A sample of the blocks cannot show reuse in L2,
 * so with a sample each parameter counts once. */
static double dram_bytes(const struct gpu_run *r)
{
    const struct gpu_traffic *t = gpusim_traffic(r->sim);
    double once = 0;
    for (int i = 0; i < r->f->n_params; i++)
        once += (double)buffer_bytes(&r->f->buffer[i]);
    return r->made < r->all ? once : (t->l2_misses + t->back) * (double)r->device->sector;
}

static void take_bounds(const struct gpu_run *r, struct sim_result *out)
{
    const struct gpu_device *d = r->device;
    double ghz = (double)d->mhz * 1e-3, l2 = gpusim_traffic(r->sim)->l2_asked;
    double products = func_tensor_flops(r->f), others = func_flops(r->f) - products;
    double rate = (double)d->tensor_fmas / (func_is_narrow(r->f) ? 1 : 2);  /* tf32: half of f16 */
    double clocks = others / (2 * (double)d->fmas) + products / (2 * rate);
    out->fma_ns = r->busy > 0 ? clocks / (r->busy * ghz) : 0;
    out->l1_ns = r->sm_ns;
    out->l2_ns = l2 * (double)d->sector / ((double)d->l2_rate * ghz);
    out->dram_ns = dram_bytes(r) / (double)d->dram;
}

bool gpu_memory(const struct func *f, const struct target *target, const struct gpu_memory_opts *o,
                const struct cancel *c, struct sim_result *out, struct err *e)
{
    double start = clock_s();
    const struct gen_opts gen = { .target = target };
    struct gpu_run r = { .f = f, .device = o->device ? o->device : gpu_device_default(),
                         .progress = o->progress };
    if (!shared_fits(&r, e) || !walk_open(f, &gen, &r.walk, e))
        return false;
    r.site = walk_sites(r.walk, &r.n_sites);
    r.base = xcalloc((size_t)f->n_buffers + 1, sizeof *r.base);
    r.bytes = xcalloc((size_t)r.n_sites + 1, sizeof *r.bytes);
    walk_limit(r.walk, o->limit_s > 0 ? start + o->limit_s : 0, c);
    bool ok = open_sim(&r, e);
    if (ok && plan(&r, o->budget > 0 ? o->budget : DEFAULT_BUDGET))
        run_kernels(&r);
    if (ok && walk_ended_early(r.walk))
        ok = err_set(e, cancelled(c) ? ERR_CANCEL : ERR_TIMEOUT, "not simulated within %.3g s",
                     o->limit_s);
    if (ok) {
        take_results(&r, out);
        take_bounds(&r, out);
        out->seconds = clock_s() - start;
    }
    gpusim_close(r.sim);
    walk_close(r.walk);
    free(r.base);
    free(r.bytes);
    return ok;
}

struct gpu_cost gpu_memory_cost(const struct sim_result *r)
{
    struct gpu_cost c = { .each = { r->fma_ns, r->l1_ns, r->l2_ns, r->dram_ns } };
    for (int i = 0; i < GPU_BOUND_COUNT; i++)
        if (c.each[i] > c.each[c.bound])
            c.bound = (enum gpu_bound)i;
    c.ns = c.each[c.bound];
    return c;
}

double gpu_memory_untimed_ms(const struct measurement *m)
{
    bool simulated = m->verified && m->latency.runs == 0 && m->sim.available && m->sim.gpu[0];
    return simulated ? 1e-6 * gpu_memory_cost(&m->sim).ns : 0;
}

bool gpu_memory_rate(const struct program *p, const struct gpu_memory_opts *o,
                     const struct cancel *c, struct gpu_cost *out, struct err *e)
{
    const struct func *f;
    struct sim_result r;
    if (!program_lower(p, &f, e) || !gpu_memory(f, target_named("cuda"), o, c, &r, e))
        return false;
    *out = gpu_memory_cost(&r);
    return true;
}

/* --- Words ------------------------------------------------------------------------------------ */

/* Appends a phrase such as "consecutive threads stride by 2" or "rows of 16 threads, in which all
 * threads are at one element". */
static void say_stride(const struct sim_site *s, struct str *out)
{
    if (s->run == 0 || s->bytes == 0) {
        str_add(out, "the addresses of its threads have no common stride");
        return;
    }
    if (s->run < WALK_WARP)
        str_printf(out, "rows of %d threads%s", s->run, s->stride == s->bytes ? "" : ", in which ");
    if (s->stride == 0)
        str_add(out, "all threads are at one element");
    else if (s->stride % s->bytes != 0)
        str_printf(out, "consecutive threads stride by %lld bytes", (long long)s->stride);
    else if (s->stride != s->bytes)
        str_printf(out, "consecutive threads stride by %lld", (long long)(s->stride / s->bytes));
    else if (s->run == WALK_WARP)
        str_add(out, "its threads do not start at a sector, or few of them are active");
}

void gpu_memory_say(const struct sim_site *s, struct str *out)
{
    double n = (double)s->accesses;
    const struct access_cost *c = &s->cost;
    bool conflicts = c->bank_conflicts > 0;
    if (s->accesses == 0 || (!conflicts && c->sectors <= c->ideal_sectors))
        return;
    str_printf(out, "%s %s ", s->text, s->is_store ? "stores" : "loads");
    if (conflicts)
        str_printf(out, "with %d-way bank conflicts: ", s->degree);
    else
        str_printf(out, "%.3g sectors for %.3g ideal: ", (double)c->sectors / n,
                   (double)c->ideal_sectors / n);
    say_stride(s, out);
}
