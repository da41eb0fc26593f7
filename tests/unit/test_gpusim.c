/* The simulated memory of a GPU: hand-worked accesses, and whole kernels against the accesses that
 * their CUDA C makes, counted thread by thread without anything of the simulator. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/rng.h"
#include "profile/measure/job.h"
#include "profile/sim/gpusim.h"
#include "tests/unit/cuda_bind.h"
#include "tests/unit/gpu_count.h"
#include "tests/unit/programs.h"
#include "tests/unit/random_steps.h"
#include "tests/unit/tree_text.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define ALL 0xffffffffu

/* --- One access ------------------------------------------------------------------------------- */

static void lanes(unsigned long long *addr, int64_t from, int64_t stride)
{
    for (int t = 0; t < GPU_WARP; t++)
        addr[t] = (unsigned long long)(from + t * stride);
}

/* Worked by hand.  stride: bytes from thread to thread. */
static void sectors_of_a_warp(void **state)
{
    static const struct { int64_t from, stride; int bytes; uint32_t active; int n, ideal; }
    row[] = {
        { 0, 4, 4, ALL, 4, 4 },           /* floats side by side */
        { 0, 8, 4, ALL, 8, 4 },           /* every second float */
        { 0, 128, 4, ALL, 32, 4 },        /* a column */
        { 16, 4, 4, ALL, 5, 4 },          /* not from a sector on */
        { 64, 0, 4, ALL, 1, 1 },          /* all threads at one float */
        { 0, 2, 2, ALL, 2, 2 },           /* 16-bit elements */
        { 0, 4, 2, ALL, 4, 2 },
        { 2, 2, 2, ALL, 3, 2 },
        { 0, 8, 8, ALL, 8, 8 },           /* 8 and 16 bytes a thread */
        { 0, 16, 16, ALL, 16, 16 },
        { 0, 32, 16, ALL, 32, 16 },
        { 0, 4, 4, 0x1, 1, 1 },           /* only some threads */
        { 0, 4, 4, 0x000000ff, 1, 1 },
        { 0, 4, 4, 0x01010101, 4, 1 },
        { 124, -4, 4, ALL, 4, 4 },        /* backwards */
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        unsigned long long addr[GPU_WARP];
        struct gpu_sectors s;
        lanes(addr, row[i].from, row[i].stride);
        gpu_count_sectors(gpu_device_default(), row[i].active, addr, row[i].bytes, &s);
        if (s.n != row[i].n || s.ideal != row[i].ideal)
            fail_msg("row %d: %d sectors, ideal %d", i, s.n, s.ideal);
    }
}

static void banks_of_a_warp(void **state)
{
    static const struct { int64_t stride; int bytes; uint32_t active; int degree, turns, phases; }
    row[] = {
        { 4, 4, ALL, 1, 1, 1 },
        { 128, 4, ALL, 32, 32, 1 },       /* a column of a [32][32] tile */
        { 132, 4, ALL, 1, 1, 1 },         /* of [32][33] */
        { 8, 4, ALL, 2, 2, 1 },
        { 0, 4, ALL, 1, 1, 1 },           /* one word for all: a broadcast */
        { 2, 2, ALL, 1, 1, 1 },           /* two threads in a word */
        { 64, 2, ALL, 16, 16, 1 },        /* a column of [32][32] of 16 bits: banks 0 and 16 */
        { 128, 2, ALL, 32, 32, 1 },
        { 8, 8, ALL, 1, 2, 2 },           /* two phases of 16 threads */
        { 16, 8, ALL, 2, 4, 2 },
        { 16, 16, ALL, 1, 4, 4 },         /* four phases of 8 threads */
        { 32, 16, ALL, 2, 8, 4 },
        { 128, 4, 0x3, 2, 2, 1 },
        { 8, 8, 0xffff, 1, 1, 1 },        /* the second phase has no thread */
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        unsigned long long addr[GPU_WARP];
        lanes(addr, 256, row[i].stride);
        struct gpu_banks b = gpu_count_banks(gpu_device_default(), row[i].active, addr,
                                             row[i].bytes);
        if (b.degree != row[i].degree || b.turns != row[i].turns || b.phases != row[i].phases)
            fail_msg("row %d: degree %d, %d turns, %d phases", i, b.degree, b.turns, b.phases);
    }
}

/* The same counts from tables of all the memory. */
static void random_accesses_are_counted(void **state)
{
    struct rng r = rng_seed(20261124);
    (void)state;
    for (int i = 0; i < 20000; i++) {
        static const int sizes[] = { 1, 2, 4, 8, 16 };
        int bytes = sizes[rng_range(&r, 0, 4)], room = 1 << rng_range(&r, 5, 12);
        uint32_t active = (uint32_t)rng_range(&r, 0, UINT32_MAX);
        unsigned long long addr[GPU_WARP];
        bool sector[4096 / 32 + 1] = { false }, byte[4096 + 16] = { false };
        int n = 0, used = 0, turns = 0, each = bytes <= 4 ? 32 : 128 / bytes;
        for (int t = 0; t < GPU_WARP; t++)
            addr[t] = (unsigned long long)(rng_range(&r, 0, room - bytes) / bytes * bytes);
        for (int from = 0; from < GPU_WARP; from += each) {
            bool word[1024 + 4] = { false };
            int bank[32] = { 0 }, most = 0;
            for (int t = from; t < from + each; t++)
                for (int k = 0; k < bytes && active >> t & 1; k++) {
                    sector[(addr[t] + (unsigned)k) / 32] = byte[addr[t] + (unsigned)k] = true;
                    word[(addr[t] + (unsigned)k) / 4] = true;
                }
            for (int w = 0; w < 1024; w++)
                bank[w % 32] += word[w];
            for (int k = 0; k < 32; k++)
                most = bank[k] > most ? bank[k] : most;
            turns += most;
        }
        for (int k = 0; k < 4096; k++) {
            n += k % 32 == 0 && sector[k / 32];
            used += byte[k];
        }
        struct gpu_sectors s;
        gpu_count_sectors(gpu_device_default(), active, addr, bytes, &s);
        struct gpu_banks b = gpu_count_banks(gpu_device_default(), active, addr, bytes);
        if (s.n != n || s.ideal != (used + 31) / 32 || b.turns != turns)
            fail_msg("access %d of seed 20261124: %d sectors, not %d; ideal %d; %d turns, not %d",
                     i, s.n, n, s.ideal, b.turns, turns);
    }
}

/* --- The simulator ---------------------------------------------------------------------------- */

static void shared_tiles_have_conflicts(void **state)
{
    const struct gpu_site site[] = { { MEMORY_SHARED, true, 0, 0 },
                                     { MEMORY_SHARED, false, 0, 0 } };
    unsigned long long addr[GPU_WARP];
    struct gpusim *s;
    struct err e;
    (void)state;
    assert_true(gpusim_open(gpu_device_default(), 2, site, 0, 8192, &s, &e));
    gpusim_kernel(s, 1, 4096);
    gpusim_block(s, 0, 3);
    lanes(addr, 0, 4);
    gpusim_access(s, 0, ALL, addr, 0, 4);
    lanes(addr, 0, 128);
    gpusim_access(s, 0, ALL, addr, 1, 4);
    const struct gpu_count *c = gpusim_counts(s);
    assert_true(c[0].requests == 3 && c[0].conflicts == 0 && c[0].degree == 1 && c[0].sectors == 0);
    assert_true(c[1].requests == 3 && c[1].conflicts == 3 * 31 && c[1].degree == 32);
    assert_true(gpusim_traffic(s)->l1_asked == 0 && gpusim_traffic(s)->cycles == 3 * 33);
    gpusim_close(s);
}

/* A small GPU of one multiprocessor: L1 has 2 lines in one set, L2 4 lines. */
static void caches_have_sectors(void **state)
{
    static const struct { int64_t at; int site; double l1, l2; } row[] = {
        { 0, 0, 1, 1 },                   /* line 0, sector 0 */
        { 0, 0, 0, 0 },
        { 32, 0, 1, 1 },                  /* another sector of the line */
        { 128, 0, 1, 1 },                 /* line 1 */
        { 256, 0, 1, 1 },                 /* line 2 drives out line 0, with both of its sectors */
        { 0, 0, 1, 0 }, { 32, 0, 1, 0 },  /* which L2 has; line 1 goes */
        { 384, 1, 0, 0 },                 /* a store to line 3 goes to L2 */
        { 384, 0, 1, 0 },                 /* and is not in L1 */
        { 512, 0, 1, 1 }, { 640, 0, 1, 1 }, { 768, 0, 1, 1 }, { 896, 0, 1, 1 },
    };
    const struct gpu_site site[] = { { MEMORY_GLOBAL, false, 0, 0 },
                                     { MEMORY_GLOBAL, true, 0, 0 } };
    struct gpu_device d;
    struct gpusim *s;
    struct err e;
    (void)state;
    if (!gpu_device_parse("h100,sms=1,l1=1,l1_ways=8,l2=1,l2_ways=4", &d, &e))
        fail_msg("%s", e.text);
    d.l1_ways = 2;
    d.l1 = d.l2 = 0;                      /* one set of so many ways is the least */
    assert_true(gpusim_open(&d, 2, site, 0, 4096, &s, &e));
    gpusim_kernel(s, 1, 0);
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct gpu_traffic before = *gpusim_traffic(s);
        unsigned long long addr[GPU_WARP];
        lanes(addr, row[i].at, 1);
        gpusim_access(s, 0, ALL, addr, (unsigned)row[i].site, 1);
        const struct gpu_traffic *now = gpusim_traffic(s);
        double l1 = now->l1_misses - before.l1_misses, l2 = now->l2_misses - before.l2_misses;
        if (l1 != row[i].l1 || l2 != row[i].l2)
            fail_msg("access %d: %g misses of L1 and %g of L2", i, l1, l2);
    }
    assert_true(gpusim_traffic(s)->written == 1 && gpusim_traffic(s)->back == 1);
    gpusim_close(s);
}

/* A local array of 3 floats: the threads of a warp have their words side by side, and what L1
 * drives out is written to L2. */
static void local_arrays_are_spread(void **state)
{
    const struct gpu_site site[] = { { MEMORY_LOCAL, true, 4096, 12 },
                                     { MEMORY_LOCAL, false, 4096, 12 } };
    struct gpu_device d = *gpu_device_default();
    unsigned long long addr[GPU_WARP];
    struct gpusim *s;
    struct err e;
    (void)state;
    d.sms = 1;
    d.l1 = 0;
    d.l1_ways = 2;
    assert_true(gpusim_open(&d, 2, site, 0, 1 << 20, &s, &e));
    gpusim_kernel(s, 2, 0);
    for (int k = 0; k < 3; k++) {
        lanes(addr, 4096 + 4 * k, 0);
        gpusim_access(s, 1, ALL, addr, 0, 4);
    }
    assert_true(gpusim_counts(s)[0].sectors == 12 && gpusim_counts(s)[0].ideal == 12);
    assert_true(gpusim_traffic(s)->written == 4);         /* the first of the three lines */
    gpusim_access(s, 1, ALL, addr, 1, 4);
    assert_true(gpusim_counts(s)[1].l1_misses == 0);
    gpusim_close(s);
}

/* Eight threads store 16 bytes each: four words, which lie in four lines, a sector of each. A load
 * of the last word finds it in L1. */
static void wide_local_accesses_have_the_same_words(void **state)
{
    const struct gpu_site site[] = { { MEMORY_LOCAL, true, 4096, 16 },
                                     { MEMORY_LOCAL, false, 4096, 16 } };
    struct gpu_device d = *gpu_device_default();
    unsigned long long addr[GPU_WARP];
    struct gpusim *s;
    struct err e;
    (void)state;
    d.sms = 1;
    assert_true(gpusim_open(&d, 2, site, 0, 1 << 20, &s, &e));
    gpusim_kernel(s, 2, 0);
    lanes(addr, 4096, 0);
    gpusim_access(s, 1, 0xff, addr, 0, 16);
    const struct gpu_count *c = gpusim_counts(s);
    assert_true(c[0].requests == 1 && c[0].sectors == 4 && c[0].ideal == 4);
    lanes(addr, 4096 + 12, 0);
    gpusim_access(s, 1, 0xff, addr, 1, 4);
    assert_true(c[1].requests == 1 && c[1].sectors == 1 && c[1].l1_misses == 0);
    gpusim_access(s, 1, ALL, addr, 1, 4);                 /* the other threads stored nothing */
    assert_true(c[1].l1_misses == 3);
    gpusim_close(s);
}

/* An L1 of 8 KiB, one set of 64 lines, stays as small beside shared memory: line 64 drives out line
 * 0. */
static void a_small_l1_stays_small(void **state)
{
    const struct gpu_site site[] = { { MEMORY_GLOBAL, false, 0, 0 } };
    static const int64_t shared[] = { 0, 4096 };
    struct gpu_device d;
    struct err e;
    (void)state;
    if (!gpu_device_parse("h100,sms=1,l1=8,shared=8", &d, &e))
        fail_msg("%s", e.text);
    for (int i = 0; i < COUNT_OF(shared); i++) {
        struct gpusim *s;
        unsigned long long addr[GPU_WARP];
        assert_true(gpusim_open(&d, 1, site, 0, 1 << 16, &s, &e));
        gpusim_kernel(s, 1, shared[i]);
        for (int line = 0; line <= 65; line++) {
            lanes(addr, line % 65 * 128, 0);
            gpusim_access(s, 0, ALL, addr, 0, 4);
        }
        assert_true(gpusim_counts(s)[0].l1_misses == 66);
        gpusim_close(s);
    }
}

static void devices_have_names(void **state)
{
    struct gpu_device d;
    struct err e;
    (void)state;
    assert_string_equal(gpu_device_default()->name, "h100");
    assert_true(gpu_device_find("NVIDIA H200", &d) && d.dram == 4800);
    assert_true(gpu_device_find("NVIDIA H100 80GB HBM3", &d) && d.sms == 132);
    assert_true(gpu_device_find("NVIDIA H100 PCIe", &d) && d.sms == 114);
    assert_false(gpu_device_find("GeForce 256", &d));
    assert_true(gpu_device_parse("H100,sms=100,l2=1024", &d, &e) && d.sms == 100 && d.l2 == 1024
                && d.dram == 3350);
    static const struct { const char *text, *says; } wrong[] = {
        { "h10", "no GPU named 'h10'" }, { "h100,cores=3", "no field 'cores=3'" },
        { "h100,sms=0", "from 1 to 1024" }, { "h100,sms=", "from 1 to 1024" },
        { "h100,sector=24", "not 1, 2 or 4 sectors" }, { "h100,l1=4", "is too small: it needs" },
        { "h100,sms=100x", "from 1 to 1024" },
    };
    for (int i = 0; i < COUNT_OF(wrong); i++)
        if (gpu_device_parse(wrong[i].text, &d, &e) || !strstr(e.text, wrong[i].says))
            fail_msg("%s: %s", wrong[i].text, e.text);
}

/* --- Kernels ---------------------------------------------------------------------------------- */

/* Reads a tree; each of its buffers is a tensor. */
static const struct func *tree_of(struct arena *a, const char *text)
{
    struct func *f = ARENA_DUP(a, tree_from_text(a, text), 1);
    struct buffer *b = ARENA_DUP(a, f->buffer, f->n_buffers);
    struct graph *g = ARENA_NEW(a, struct graph);
    struct tensor *t = ARENA_ARRAY(a, struct tensor, f->n_buffers);
    for (int i = 0; i < f->n_buffers; i++) {
        b[i].tensor = i;
        t[i].name = b[i].name;
    }
    *g = (struct graph){ .n_tensors = f->n_buffers, .tensor = t };
    f->buffer = b;
    f->graph = g;
    return f;
}

/* Trees with bound loops, by hand. */
static const struct {
    const char *tree, *site;
    int64_t requests, sectors, ideal;
    const char *says;
} hand[] = {
    /* SPEC N: every second float */
    { "in x[64]\nout y[32]\nfor t 32 thread.x\n  y[t] = x[2*t]\n", "x[2*t]", 1, 8, 4,
      "x[2*t] loads 8 sectors for 4 ideal: consecutive threads stride by 2" },
    { "in x[64]\nout y[32]\nfor t 32 thread.x\n  y[t] = x[2*t]\n", "y[t]", 1, 4, 4, "" },
    /* a column, by 2 blocks of 2 warps */
    { "in x[128][32]\nout y[128]\nfor b 2 block.x\n  for t 64 thread.x\n"
      "    y[64*b + t] = x[64*b + t][3]\n",
      "x[64*b + t][3]", 4, 128, 16,
      "x[64*b + t][3] loads 32 sectors for 4 ideal: consecutive threads stride by 32" },
    /* rows of 8 threads */
    { "in x[64][64]\nout y[8][8]\nfor r 8 thread.y\n  for c 8 thread.x\n    y[r][c] = x[r][c]\n",
      "x[r][c]", 2, 8, 8, "" },
    { "in x[64][64]\nout y[8][8]\nfor r 8 thread.y\n  for c 8 thread.x\n    y[r][c] = x[r][2*c]\n",
      "x[r][2*c]", 2, 16, 8,
      "x[r][2*c] loads 8 sectors for 4 ideal: rows of 8 threads, in which consecutive threads"
      " stride by 2" },
    { "in x[65]\nout y[32]\nfor t 32 thread.x\n  y[t] = x[t + 1]\n", "x[t + 1]", 1, 5, 4,
      "x[t + 1] loads 5 sectors for 4 ideal: its threads do not start at a sector, or few of them"
      " are active" },
    /* threads that a condition leaves out */
    { "in x[64]\nout y[64]\nfor t 64 thread.x\n  if t < 40: y[t] = x[t]\n", "x[t]", 2, 5, 5, "" },
    /* loops that begin or end elsewhere in each thread meet in their iterations: thread t reads
     * x[t..7] and x[0..t] */
    { "in x[8]\nout y[8]\nfor t 8 thread.x\n  for k 8 from t to 8\n    y[t] = x[k]\n", "x[k]", 8, 8,
      8, "" },
    { "in x[8][32]\nout y[8]\nfor t 8 thread.x\n  for k 8 from 0 to t + 1\n    y[t] = x[k][t]\n",
      "x[k][t]", 8, 8, 8, "" },
    { "in x[8][32]\nout y[8]\nfor t 8 thread.x\n  for k 8 from t to 8\n    y[t] = x[k][0]\n",
      "x[k][0]", 8, 36, 8, NULL },
};

static void hand_worked_kernels(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(hand); i++) {
        struct arena *a = arena_new();
        struct str says = {0};
        struct sim_result r;
        const struct sim_site *s = NULL;
        gpu_simulate(tree_of(a, hand[i].tree), "h100", 1e9, &r);
        for (int k = 0; k < r.n_sites; k++)
            if (streq(r.site[k].text, hand[i].site))
                s = &r.site[k];
        if (!s)
            fail_msg("row %d: no site %s; %s", i, hand[i].site, r.site[0].text);
        gpu_memory_say(s, &says);
        if (s->accesses != hand[i].requests || s->cost.sectors != hand[i].sectors
            || s->cost.ideal_sectors != hand[i].ideal
            || (hand[i].says && !streq(str_text(&says), hand[i].says)))
            fail_msg("row %d: %lld requests, %lld sectors, ideal %lld: %s", i,
                     (long long)s->accesses, (long long)s->cost.sectors,
                     (long long)s->cost.ideal_sectors, str_text(&says));
        str_free(&says);
        arena_free(a);
    }
}

/* A sample of many equal blocks gives the same counts, but none of L2. */
static void samples_estimate(void **state)
{
    static const char text[] =
        "in x[512][64]\nout y[512]\nfor b 512 block.x\n  for t 32 thread.x\n    for k 64\n"
        "      y[b] = x[b][k]\n";
    struct arena *a = arena_new();
    const struct func *f = tree_of(a, text);
    struct sim_result all, part;
    (void)state;
    gpu_simulate(f, "h100", 1e9, &all);
    gpu_simulate(f, "h100", 1e5, &part);
    assert_true(all.fraction == 1 && all.error == 0 && all.cache.n_levels == 2);
    assert_true(all.level[1].misses == 512 * 8 && all.l1_misses == 512 * 8);
    assert_true(part.fraction < 0.2 && part.cache.n_levels == 1 && part.error < 1e-6);
    assert_true(part.sectors == all.sectors && part.loads == all.loads);
    assert_true(part.l1_misses == all.l1_misses);
    arena_free(a);
}

/* A simulation that takes too long says what ends sooner, on the screen and on the command line. */
static void too_long_a_simulation(void **state)
{
    static const char text[] =
        "in x[512][640]\nout y[512]\nfor b 512 block.x\n  for t 32 thread.x\n    for k 640\n"
        "      y[b] = x[b][k]\n";
    static struct measurement m;
    struct arena *a = arena_new();
    struct measure_job j = { .opts = { .limit_s = 1e-9, .sim_budget = 1e9 }, .m = &m,
                             .target = target_named("cuda"), .func = tree_of(a, text) };
    struct err e;
    (void)state;
    assert_true(measure_sim(&j, &e));
    assert_false(m.sim.available);
    assert_non_null(strstr(m.sim.reason, "too many accesses to simulate (`:sim_budget 1e7` on the "
                           "screen, or run --sim-budget 1e7"));
    arena_free(a);
}

/* 132 blocks on 132 multiprocessors: 64 loads of one element and 64 stores of 4 sectors take 128
 * clocks at 1980 MHz, and L2 takes the stores and 8 sectors of x a block. */
static void cost_is_the_roofline(void **state)
{
    static const char text[] =
        "in x[132][64]\nout y[132][32]\nfor b 132 block.x\n  for t 32 thread.x\n    for k 64\n"
        "      y[b][t] = x[b][k]\n";
    struct arena *a = arena_new();
    const struct func *f = tree_of(a, text);
    struct sim_result r;
    (void)state;
    gpu_simulate(f, "h100", 1e9, &r);
    struct gpu_cost c = gpu_memory_cost(&r);
    double clocks = (double)(r.loads + r.stores) / 132;
    assert_true(fabs(c.each[GPU_BOUND_L1] - clocks / 1.98) < 1e-9);
    double sectors = 132 * (64 * 4 + 8);
    assert_true(c.bound == GPU_BOUND_L2 && c.ns == c.each[GPU_BOUND_L2]);
    assert_true(fabs(c.ns - sectors * 32 / (5120 * 1.98)) < 1e-9);
    assert_true(fabs(c.each[GPU_BOUND_DRAM] - 132 * 256 / 3350.0) < 1e-9);
    assert_true(c.each[GPU_BOUND_FMA] == 0);
    gpu_simulate(f, "h100,sms=66", 1e9, &r);
    struct gpu_cost half = gpu_memory_cost(&r);
    assert_true(fabs(half.each[GPU_BOUND_L1] / c.each[GPU_BOUND_L1] - 2) < 1e-9);
    assert_true(half.bound == GPU_BOUND_L1);
    arena_free(a);
}

/* Threads side by side along the rows of B and C cost less than along their columns. */
static void schedules_are_rated(void **state)
{
    static const char *const line[2][3] = {
        { "loop reorder C M N K", "loop bind C M block.x", "loop bind C N thread.x" },
        { "loop reorder C N M K", "loop bind C N block.x", "loop bind C M thread.x" },
    };
    struct arena *a = arena_new();
    const struct gpu_memory_opts o = {0};
    struct gpu_cost cost[2];
    struct err e;
    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct program *p = program_bare(a, "gmm m=128 k=64 n=128");
        for (int k = 0; k < 3; k++)
            if (!program_apply_line(p, line[i][k], &p, &e))
                assert_non_null(strstr(e.text, "already"));
        if (!gpu_memory_rate(p, &o, NULL, &cost[i], &e))
            fail_msg("%s", e.text);
    }
    assert_true(cost[0].ns > 0 && cost[0].ns < cost[1].ns / 2);
    assert_true(cost[0].each[GPU_BOUND_FMA] == cost[1].each[GPU_BOUND_FMA]);
    struct cancel stop = { .raised = 1 };
    assert_false(gpu_memory_rate(program_bare(a, "gmm m=128 k=64 n=128"), &o, &stop, cost, &e));
    assert_int_equal(e.code, ERR_CANCEL);
    arena_free(a);
}

/* Thirty-six kernels: the nine operators in blocks of 32, 48 and 96 threads, which mix rows, and
 * with an input that is inlined. */
static void kernels_are_counted(void **state)
{
    static const int threads[] = { 32, 48, 96, 33 };
    struct arena *a = arena_new();
    struct gpu_unit u[36];
    struct err e;
    int n = 0;
    (void)state;
    for (int i = 0; i < NINE; i++)
        for (int k = 0; k < 4; k++) {
            const struct program *p = program_bare(a, nine[i]);
            if (k == 3)
                (void)program_apply_line(p, "loop inline Inp", &p, &e);
            for (int s = 0; s < p->graph->n_nodes; s++)
                if (!(k == 3 && s == 0 && p->n_steps > 0))
                    p = cuda_bind_all(a, p, s, threads[k]);
            gpu_unit(&u[n++], p);
        }
    gpu_check_units(u, n);
    arena_free(a);
}

/* Products of many sizes with shared tiles: padded, swizzled, copied 16 bytes at a time, and read
 * along columns. */
static void shared_tiles_are_counted(void **state)
{
    static const char *const form[] = {
        "", "pad=1", "pad=4", "loop swizzle C A", "loop swizzle C A by=4",
    };
    struct arena *a = arena_new();
    struct gpu_unit u[30];
    (void)state;
    for (int i = 0; i < COUNT_OF(u); i++) {
        const char *spec = arena_printf(a, "gmm m=%d k=32 n=%d", 16 + 4 * (i % 7),
                                        24 + 8 * (i % 3));
        const struct program *p = program_bare(a, spec);
        const char *how = form[i % COUNT_OF(form)];
        bool swizzled = str_starts(how, "loop");
        const char *const line[] = {
            "loop split C M 0 8", "loop split C N 0 8",
            arena_printf(a, "loop split C K 0 %d", 8 << i / 5 % 3),
            "loop reorder C M.0 N.0 M.1 N.1 K.0 K.1", "loop bind C M.0 block.y",
            "loop bind C N.0 block.x",
            i % 2 ? "loop bind C M.1 thread.x" : "loop bind C M.1 thread.y",
            i % 2 ? "loop bind C N.1 thread.y" : "loop bind C N.1 thread.x",
            "loop cache_write C at=N.1",
            arena_printf(a, "loop cache_read C A at=K.0 scope=shared %s", swizzled ? "" : how),
            "loop cache_read C B at=K.0 scope=shared", swizzled ? how : "loop unroll C K.1",
        };
        struct err e;
        for (int k = 0; k < COUNT_OF(line); k++)
            if (!program_apply_line(p, line[k], &p, &e))
                fail_msg("kernel %d: %s: %s", i, line[k], e.text);
        gpu_unit(&u[i], p);
    }
    gpu_check_units(u, COUNT_OF(u));
    arena_free(a);
}

/* 32 threads read a column of a [32][32] tile: 32 words of one bank.  With a longer row or swizzled
 * they lie in 32 banks, and of a tile swizzled by four, which leaves 16 bytes together, 8 times
 * four words. */
static void columns_without_conflicts(void **state)
{
    static const struct { const char *pad, *swizzle; int64_t each; } row[] = {
        { "", NULL, 31 }, { "pad=1", NULL, 0 }, { "", "loop swizzle C A", 0 },
        { "", "loop swizzle C A by=4", 3 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct arena *a = arena_new();
        const struct program *p = program_bare(a, "gmm m=32 k=32 n=4");
        const char *const line[] = {
            "loop bind C M thread.x", "loop cache_write C at=N",
            arena_printf(a, "loop cache_read C A at=N scope=shared %s", row[i].pad),
            row[i].swizzle,
        };
        int64_t loads = 0, conflicts = 0;
        const struct func *f;
        struct sim_result r;
        struct err e;
        for (int k = 0; k < COUNT_OF(line) && line[k]; k++)
            if (!program_apply_line(p, line[k], &p, &e))
                fail_msg("%s: %s", line[k], e.text);
        assert_true(program_lower(p, &f, &e));
        gpu_simulate(f, "h100", 1e9, &r);
        for (int k = 0; k < r.n_sites; k++)
            if (streq(r.site[k].memory, "shared") && !r.site[k].is_store) {
                loads += r.site[k].accesses;
                conflicts += r.site[k].cost.bank_conflicts;
            }
        if (loads != 4 * 32 || conflicts != loads * row[i].each)
            fail_msg("row %d: %lld loads, %lld conflicts", i, (long long)loads,
                     (long long)conflicts);
        arena_free(a);
    }
}

/* A tensor block of one warp.  ldmatrix reads four times 8 rows of 16 bytes.  Rows 32 bytes apart
 * meet two by two in the same banks: 4 conflicts a load; rows 48 bytes apart, or swizzled with 8
 * elements together, do not.  Operands from global memory are read by registers, each of them 8
 * rows of 16 bytes: 8 sectors where 4 could hold them. */
static void fragments_are_counted(void **state)
{
    static const struct { const char *a; int64_t loads, sectors, ideal, conflicts; } row[] = {
        { "loop cache_read C A at=lane scope=shared", 1, 0, 0, 4 },
        { "loop cache_read C A at=lane scope=shared pad=8", 1, 0, 0, 0 },
        { "loop cache_read C A at=lane scope=shared; loop swizzle C A by=8", 1, 0, 0, 0 },
        { "", 4, 32, 16, 0 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct arena *a = arena_new();
        const struct program *p = program_bare(a, "gmm m=16 k=16 n=16 type=f16");
        const struct func *f;
        struct sim_result r;
        struct err e;
        char text[200], *rest = NULL;
        snprintf(text, sizeof text, "loop tensorize C M N K; %s", row[i].a);
        for (char *l = strtok_r(text, ";", &rest); l; l = strtok_r(NULL, ";", &rest))
            if (l[1] && !program_apply_line(p, l, &p, &e))
                fail_msg("%s: %s", l, e.text);
        assert_true(program_lower(p, &f, &e));
        gpu_simulate(f, "h100", 1e9, &r);
        int found = 0;
        for (int k = 0; k < r.n_sites; k++) {
            const struct sim_site *s = &r.site[k];
            bool shared = streq(s->memory, "shared");
            if (s->text[0] != 'A' || s->is_store || shared != (row[i].sectors == 0))
                continue;
            found++;
            if (s->accesses != row[i].loads || s->cost.bank_conflicts != row[i].conflicts
                || (!shared && (s->cost.sectors != row[i].sectors
                                || s->cost.ideal_sectors != row[i].ideal)))
                fail_msg("row %d: %s: %lld loads, %lld sectors of %lld, %lld conflicts", i,
                         s->text, (long long)s->accesses, (long long)s->cost.sectors,
                         (long long)s->cost.ideal_sectors, (long long)s->cost.bank_conflicts);
        }
        assert_int_equal(found, 1);
        assert_true(func_tensor_flops(f) == 2 * 16 * 16 * 16);
        double clocks = 2 * 16 * 16 * 16 / (2 * 2048.0) + (func_flops(f) - 8192) / 256;
        assert_true(fabs(r.fma_ns - clocks / 1.98) < 1e-9);
        arena_free(a);
    }
}

static void random_schedules_are_counted(void **state)
{
    struct rng r = rng_seed(20261125);
    struct arena *a = arena_new();
    struct gpu_unit u[40];
    int n = 0;
    (void)state;
    print_message("seed 20261125\n");
    for (int i = 0; n < COUNT_OF(u) && i < 80; i++) {
        const struct program *p = cuda_random(a, &r, nine[i % NINE]);
        if (program_is_bound(p))
            gpu_unit(&u[n++], p);
    }
    assert_true(n > 30);
    gpu_check_units(u, n);
    arena_free(a);
}

int main(void)
{
    setenv("TILESCOPE_CFLAGS", "-O0", 0);  /* what is checked does not depend on gcc's work */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sectors_of_a_warp), cmocka_unit_test(banks_of_a_warp),
        cmocka_unit_test(random_accesses_are_counted),
        cmocka_unit_test(shared_tiles_have_conflicts), cmocka_unit_test(caches_have_sectors),
        cmocka_unit_test(local_arrays_are_spread),
        cmocka_unit_test(wide_local_accesses_have_the_same_words),
        cmocka_unit_test(a_small_l1_stays_small), cmocka_unit_test(devices_have_names),
        cmocka_unit_test(hand_worked_kernels), cmocka_unit_test(samples_estimate),
        cmocka_unit_test(too_long_a_simulation),
        cmocka_unit_test(cost_is_the_roofline), cmocka_unit_test(schedules_are_rated),
        cmocka_unit_test(kernels_are_counted), cmocka_unit_test(shared_tiles_are_counted),
        cmocka_unit_test(columns_without_conflicts), cmocka_unit_test(fragments_are_counted),
        cmocka_unit_test(random_schedules_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
