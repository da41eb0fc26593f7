#include "tests/unit/gpu_count.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/kernel_run.h"
#include "tests/unit/touch.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define MOST_ACCESSES 400000
#define MOST_TENSORS 24

void gpu_simulate(const struct func *f, const char *device, double budget, struct sim_result *r)
{
    struct gpu_device d;
    struct err e;
    assert_true(gpu_device_parse(device, &d, &e));
    struct gpu_memory_opts o = { .device = &d, .budget = budget };
    if (!gpu_memory(f, target_named("cuda"), &o, NULL, r, &e))
        fail_msg("%s", e.text);
}

/* The counts that a tensor in global memory and its tiles in shared memory should have.  both: a
 * launch loads and stores some sectors of it, so that the order decides whether L2 misses them. */
struct expected { int64_t loads, stores, sectors, ideal, l1, l2;
                  int64_t tile_loads, tile_stores, conflicts; bool both; };

static int by_warp(const void *x, const void *y)
{
    const struct touch *a = x, *b = y;
    const uint64_t ka[] = { a->launch, a->block, a->thread / 32, (uintptr_t)a->site, a->turn };
    const uint64_t kb[] = { b->launch, b->block, b->thread / 32, (uintptr_t)b->site, b->turn };
    for (int i = 0; i < COUNT_OF(ka); i++)
        if (ka[i] != kb[i])
            return ka[i] < kb[i] ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static bool same_access(const struct touch *a, const struct touch *b)
{
    return a->launch == b->launch && a->block == b->block && a->thread / 32 == b->thread / 32
        && a->site == b->site && a->turn == b->turn;
}

static int tensor_at(const struct func *f, void *const *data, const struct touch *t)
{
    if (t->is_store & TOUCH_SHARED)
        return f->buffer[f->n_params + (int)((uintptr_t)t->at / TOUCH_TILE)].tensor;
    for (int i = 0; i < f->n_params; i++)
        if ((const char *)t->at >= (const char *)data[i]
            && (const char *)t->at < (const char *)data[i] + buffer_bytes(&f->buffer[i]))
            return f->buffer[i].tensor;
    fail_msg("an access beyond the buffers");
    return -1;
}

/* Counts an access of shared memory.  In each phase, of as many threads as take 128 bytes, a bank
 * gives one word after the other; all but the first are conflicts. */
static void count_banks(struct expected *x, const struct touch *t, long from, long to)
{
    unsigned each = t[from].bytes <= 4 ? 32 : 128 / t[from].bytes;
    *(t[from].is_store & 1 ? &x->tile_stores : &x->tile_loads) += 1;
    for (unsigned first = 0; first < 32; first += each) {
        uintptr_t word[128 + 1];
        int n = 0, bank[32] = { 0 }, most = 0;
        for (long i = from; i < to; i++) {
            bool together = t[i].thread % 32 / each == first / each;
            uintptr_t begin = (uintptr_t)t[i].at, last = (begin + t[i].bytes - 1) / 4;
            for (uintptr_t w = begin / 4; together && w <= last; w++) {
                int at = 0;
                word[n] = w;
                while (word[at] != word[n])
                    at++;
                if (at == n)
                    most = ++bank[word[n++] % 32] > most ? bank[word[at] % 32] : most;
            }
        }
        x->conflicts += most > 0 ? most - 1 : 0;
    }
}

/* Counts the accesses of all warps, which are sorted: those from `from` to `to` are one. */
static void count_warp(struct expected *x, const struct touch *t, long from, long to)
{
    if (t[from].is_store & TOUCH_SHARED) {
        count_banks(x, t, from, to);
        return;
    }
    int64_t sectors = 0, bytes = 0;
    for (long i = from; i < to; i++) {
        uintptr_t at = (uintptr_t)t[i].at, before = i > from ? (uintptr_t)t[i - 1].at : 0;
        sectors += i == from || at / 32 != before / 32;
        bytes += i == from || at != before ? t[i].bytes : 0;
    }
    *(t[from].is_store ? &x->stores : &x->loads) += 1;
    x->sectors += sectors;
    x->ideal += (bytes + 31) / 32;
}

static int by_sector(const void *x, const void *y)
{
    const struct touch *a = x, *b = y;
    const uint64_t ka[] = { (uintptr_t)a->at / 32, a->launch, a->block % 132 };
    const uint64_t kb[] = { (uintptr_t)b->at / 32, b->launch, b->block % 132 };
    for (int i = 0; i < COUNT_OF(ka); i++)
        if (ka[i] != kb[i])
            return ka[i] < kb[i] ? -1 : 1;
    return (int)a->is_store - (int)b->is_store;
}

/* The sectors that each multiprocessor loads in each launch, and the GPU at all, unless it stored
 * them before.  So many does it miss when all fits into its caches. */
static void count_misses(struct expected *x, const struct func *f, void *const *data,
                         struct touch *t, long n)
{
    qsort(t, (size_t)n, sizeof *t, by_sector);
    for (long i = 0; i < n;) {
        long end = i;
        unsigned loaded = ~0u, stored = ~0u;
        struct expected *to = &x[tensor_at(f, data, &t[i])];
        for (; end < n && (uintptr_t)t[end].at / 32 == (uintptr_t)t[i].at / 32; end++) {
            bool again = end > i && t[end - 1].launch == t[end].launch && !t[end - 1].is_store
                      && t[end - 1].block % 132 == t[end].block % 132;
            unsigned *first = t[end].is_store ? &stored : &loaded;
            *first = t[end].launch < *first ? t[end].launch : *first;
            to->l1 += !t[end].is_store && !again;
        }
        to->l2 += loaded != ~0u && loaded < stored;
        to->both |= loaded != ~0u && loaded == stored;
        i = end;
    }
}

static void check_unit(const struct gpu_unit *u, touch_fn *run)
{
    static struct touch touch[MOST_ACCESSES];
    struct expected x[MOST_TENSORS] = {{ 0 }};
    struct sim_result r;
    const struct func *f = u->f;
    void *data[MOST_TENSORS];
    for (int i = 0; i < f->n_params; i++) {
        size_t bytes = ((size_t)buffer_bytes(&f->buffer[i]) + 4095) / 4096 * 4096;
        data[i] = aligned_alloc(4096, bytes);
        memset(data[i], 0, bytes);
    }
    gpu_simulate(f, "h100", 1e9, &r);
    long n = run(data, touch);
    assert_true(n <= MOST_ACCESSES && r.fraction == 1 && r.cache.n_levels == 2);
    qsort(touch, (size_t)n, sizeof *touch, by_warp);
    for (long i = 0, end; i < n; i = end) {
        for (end = i; end < n && same_access(&touch[i], &touch[end]);)
            end++;
        count_warp(&x[tensor_at(f, data, &touch[i])], touch, i, end);
    }
    long global = 0;
    for (long i = 0; i < n; i++)
        if (!(touch[i].is_store & TOUCH_SHARED))
            touch[global++] = touch[i];
    count_misses(x, f, data, touch, global);
    for (int k = 0; k < f->graph->n_tensors; k++) {
        struct expected got = {0};
        for (int i = 0; i < r.n_sites; i++) {
            const struct sim_site *s = &r.site[i];
            bool tile = streq(s->memory, "shared");
            if (!streq(r.by_tensor[s->tensor].tensor, f->graph->tensor[k].name)
                || (!tile && !streq(s->memory, "global")))
                continue;
            if (tile) {
                *(s->is_store ? &got.tile_stores : &got.tile_loads) += s->accesses;
                got.conflicts += s->cost.bank_conflicts;
                continue;
            }
            *(s->is_store ? &got.stores : &got.loads) += s->accesses;
            got.sectors += s->cost.sectors;
            got.ideal += s->cost.ideal_sectors;
            got.l1 += s->cost.l1_misses;
            got.l2 += s->cost.l2_misses;
        }
        if (x[k].both) {
            got.l2 = x[k].l2;
            got.both = true;
        }
        if (memcmp(&got, &x[k], sizeof got)) {
            for (int i = 0; i < u->p->n_steps; i++)
                print_message("%s\n", u->p->steps[i]);
            fail_msg("%s: %s: tile loads %lld %lld, stores %lld %lld, conflicts %lld %lld;"
                     " loads %lld %lld, stores %lld %lld, sectors %lld %lld, ideal %lld"
                     " %lld, L1 %lld %lld, L2 %lld %lld", u->what, f->graph->tensor[k].name,
                     (long long)got.tile_loads, (long long)x[k].tile_loads,
                     (long long)got.tile_stores, (long long)x[k].tile_stores,
                     (long long)got.conflicts, (long long)x[k].conflicts,
                     (long long)got.loads, (long long)x[k].loads, (long long)got.stores,
                     (long long)x[k].stores, (long long)got.sectors, (long long)x[k].sectors,
                     (long long)got.ideal, (long long)x[k].ideal, (long long)got.l1,
                     (long long)x[k].l1, (long long)got.l2, (long long)x[k].l2);
        }
    }
    for (int i = 0; i < f->n_params; i++)
        free(data[i]);
}

void gpu_unit(struct gpu_unit *u, const struct program *p)
{
    struct err e;
    u->p = p;
    snprintf(u->what, sizeof u->what, "%.150s", p->base->spec);
    if (!program_lower(p, &u->f, &e))
        fail_msg("%s: %s", u->what, e.text);
}

void gpu_check_units(const struct gpu_unit *u, int n)
{
    const struct gen_opts o = { .target = target_named("cuda") };
    struct str cpp = {0};
    touch_fn **run = xcalloc((size_t)n, sizeof *run);
    if (!kernel_compiler("g++"))
        skip();
    str_add(&cpp, touch_prologue);
    str_add(&cpp, touch_half_prologue);
    for (int i = 0; i < n; i++) {
        struct str text = {0};
        struct err e;
        if (!gen_cuda(u[i].f, &o, &text, NULL, &e))
            fail_msg("%s: %s", u[i].what, e.text);
        touch_cuda(&cpp, u[i].f, str_text(&text), i);
        str_free(&text);
    }
    touch_compile("g++", str_text(&cpp), n, run);
    for (int i = 0; i < n; i++)
        check_unit(&u[i], run[i]);
    str_free(&cpp);
    free(run);
}
