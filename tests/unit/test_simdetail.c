/* Reuse distances against a list, causes of misses and heat against a naive count, samples against
 * the whole. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "kernels/base/rng.h"
#include "profile/measure/measure.h"
#include "profile/sim/lru.h"
#include "profile/sim/reuse.h"
#include "profile/sim/simdetail.h"
#include "profile/sim/simsample.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static uint64_t seed = 1;

/* --- Reuse distances -------------------------------------------------------------------------- */

/* The lines, the one touched last in front. */
struct stack { int64_t line[512]; int n; };

static int64_t stack_touch(struct stack *s, int64_t line)
{
    int at = 0;
    while (at < s->n && s->line[at] != line)
        at++;
    bool known = at < s->n;
    s->n += !known;
    memmove(s->line + 1, s->line, sizeof *s->line * (size_t)at);
    s->line[0] = line;
    return known ? at : -1;
}

static void distances_equal_a_stack(void **state)
{
    struct rng r = rng_seed(seed);
    (void)state;
    for (int round = 0; round < 40; round++) {
        int64_t lines = rng_range(&r, 1, 500);
        struct stack s = { .n = 0 };
        struct reuse *fast = reuse_open(lines);
        for (int i = 0; i < 8000; i++) {
            int64_t most = rng_range(&r, 0, 3) ? lines / 8 : lines - 1;
            int64_t line = rng_range(&r, 0, most), want = stack_touch(&s, line);
            assert_int_equal(reuse_touch(fast, line), want);
        }
        reuse_close(fast);
    }
}

/* A cache with room for some lines holds those that were touched last. */
static void a_full_cache_drops_the_oldest(void **state)
{
    struct rng r = rng_seed(seed + 1);
    (void)state;
    for (int round = 0; round < 40; round++) {
        int64_t lines = rng_range(&r, 1, 100), room = rng_range(&r, 1, 1 + lines);
        struct stack s = { .n = 0 };
        struct lru *cache = lru_open(room, lines);
        for (int i = 0; i < 2000; i++) {
            int64_t line = rng_range(&r, 0, lines - 1), distance = stack_touch(&s, line);
            assert_int_equal(lru_touch(cache, line), distance >= 0 && distance < room);
        }
        lru_close(cache);
    }
    lru_close(NULL);
}

/* --- Detail ----------------------------------------------------------------------------------- */

/* A small direct-mapped cache, two tensors of 64 lines each: everything counted by hand as well. */
static void detail_equals_a_naive_count(void **state)
{
    static struct sim_detail d;
    struct rng r = rng_seed(seed + 2);
    struct cache_config c = { .n_levels = 1, .level[0].geometry = { 16 * 64, 1, 64 } };
    static const int tensor[] = { 0, 1 };
    const unsigned long long heat[] = { 4096, 8192 };
    struct sim_classes want[2] = {0};
    int64_t cell[2][64][2] = {0}, set[16][2] = {0}, held[16], first[2] = {0};
    struct stack stack = { .n = 0 };
    struct cachesim *s;
    struct err e;
    (void)state;
    memset(held, -1, sizeof held);
    assert_true(cachesim_open(&c, 2, &s, &e));
    d = (struct sim_detail){ .n_tensors = 2, .n_loops = 1 };
    d.tensor[0].bytes = d.tensor[1].bytes = 4096;
    struct detail_opts o = { .l1 = &c.level[0], .tensor = tensor, .heat = heat, .first = 4096,
                             .end = 12288, .iterations = 1000 };
    struct simdetail *w = simdetail_open(s, &o, &d);
    for (int i = 0; i < 20000; i++) {
        int t = (int)rng_range(&r, 0, 1);
        int64_t at = rng_range(&r, 0, rng_range(&r, 0, 3) ? 300 : 1023) * 4;
        int64_t line = (int64_t)heat[t] / 64 + at / 64, distance = stack_touch(&stack, line);
        bool missed = held[line % 16] != line;
        held[line % 16] = line;
        if (i % 20 == 0)
            simdetail_mark(w, 0);
        cachesim_access(s, heat[t] + (uint64_t)at, (unsigned)t, 4);
        first[t] += distance < 0;
        want[t].compulsory += missed && distance < 0;
        want[t].capacity += missed && distance >= 16;
        want[t].conflict += missed && distance >= 0 && distance < 16;
        cell[t][at / 64][0]++;
        cell[t][at / 64][1] += missed;
        set[line % 16][0]++;
        set[line % 16][1] += missed;
    }
    simdetail_close(w);
    for (int t = 0; t < 2; t++) {
        assert_memory_equal(&d.tensor[t].classes, &want[t], sizeof want[t]);
        assert_int_equal(d.tensor[t].reuse.first, first[t]);
        assert_int_equal(d.tensor[t].n_cells, 64);
        for (int i = 0; i < 64; i++) {
            assert_int_equal(d.tensor[t].cell[i].accesses, cell[t][i][0]);
            assert_int_equal(d.tensor[t].cell[i].misses, cell[t][i][1]);
        }
    }
    for (int i = 0; i < 16; i++) {
        assert_int_equal(d.set[i].accesses, set[i][0]);
        assert_int_equal(d.set[i].misses, set[i][1]);
    }
    int64_t iterations = 0, accesses = 0;
    assert_in_range(d.n_moments, 100, SIM_CELLS);
    for (int i = 0; i < d.n_moments; i++) {
        assert_int_equal(d.moment[i].first, iterations);
        iterations += d.moment[i].n;
        accesses += d.moment[i].accesses;
    }
    assert_int_equal(iterations, 1000);
    assert_int_equal(accesses, 20000);
    cachesim_close(s);
}

/* --- Kernels ---------------------------------------------------------------------------------- */

static struct arena *arena;

static struct measurement measured(const char *op, struct measure_opts *o)
{
    struct measurement m;
    const struct program *p;
    struct err e = {0};
    int bad;
    o->meters = METER_SIM;
    if (!program_replay(arena, op, NULL, 0, &p, &bad, &e)
        || !measure_program(p, o, NULL, NULL, &m, &e) || !m.sim.available)
        fail_msg("%s: %s%s", op, e.text, m.sim.reason);
    return m;
}

static void samples_are_within_their_error(void **state)
{
    static const char *const op[] = {
        "gmm m=192 n=192 k=96", "c2d n=1 i=16 h=28 w=28 o=32 k=3 p=1",
        "dep n=1 c=128 h=56 w=56 k=3 p=1", "c1d n=1 i=32 w=1024 o=32 k=5 p=2",
        "t2d n=1 i=16 h=24 w=24 o=16 k=4 s=2 p=1",
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(op); i++) {
        struct measure_opts o = { .sim_budget = 1e12, .seed = seed };
        assert_true(cache_config_parse("4K/4/64,64K/8/64", &o.cache, &(struct err){0}));
        struct measurement whole = measured(op[i], &o);
        assert_true(whole.sim.fraction == 1 && whole.sim.error == 0);
        assert_int_equal(whole.sim.cache.n_levels, 2);
        double all = (double)(whole.sim.loads + whole.sim.stores);
        o.sim_budget = all / 4;
        struct measurement part = measured(op[i], &o);
        assert_int_equal(part.sim.loads, whole.sim.loads);
        assert_int_equal(part.sim.stores, whole.sim.stores);
        if (part.sim.fraction == 1)
            fail_msg("%s: nothing was left out", op[i]);
        assert_int_equal(part.sim.cache.n_levels, 1);
        double off = fabs((double)part.sim.l1_misses / (double)whole.sim.l1_misses - 1);
        if (off > 3 * part.sim.error + 1e-4 || part.sim.error > 0.2)
            fail_msg("%s: off by %.3g %%, said %.3g %%, from %.3g %%", op[i], 100 * off,
                     100 * part.sim.error, 100 * part.sim.fraction);
    }
}

/* Iterations of a loop that are simulated under a budget. */
static double simulated(double iterations, double accesses, double budget, const char **how)
{
    static char kept[SIMSAMPLE_HOW];
    struct sample_loop loop = { iterations, accesses };
    struct cache_config cache = { .n_levels = 1, .level[0].geometry = { 4096, 4, 64 } };
    struct cachesim *sim;
    double all = iterations * accesses, done = 0;
    assert_true(cachesim_open(&cache, 1, &sim, &(struct err){0}));
    struct simsample *p = simsample_open(1, 1, &loop, all, budget, 64, seed);
    simsample_watch(p, sim);
    for (double i = 0; i < iterations; i++)
        done += !simsample_skip(p, 0);
    snprintf(kept, sizeof kept, "%s", simsample_how(p));
    *how = kept;
    simsample_free(p);
    cachesim_close(sim);
    return done * accesses;
}

/* A smaller budget never costs more (but for whole iterations and periods), and what is beyond it
 * is told. */
static void less_budget_is_less_work(void **state)
{
    static const struct { double iterations, accesses; const char *why; } loop[] = {
        { 20000, 50, "a sample cannot be smaller" }, { 1000, 9000, "a sample cannot be smaller" },
        { 70, 100, "shorter than 8 samples" }, { 63, 1e6, "fewer than 64 iterations" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(loop); i++) {
        double all = loop[i].iterations * loop[i].accesses, more = all;
        const char *how;
        assert_true(simulated(loop[i].iterations, loop[i].accesses, all, &how) == all);
        assert_string_equal(how, "");
        for (double budget = all / 1.3; budget > 1; budget /= 1.3) {
            double cost = simulated(loop[i].iterations, loop[i].accesses, budget, &how);
            if (cost > 1.3 * more)
                fail_msg("%g x %g: %g for %g, less for more", loop[i].iterations,
                         loop[i].accesses, cost, budget);
            if (cost > 1.5 * budget && !how[0])
                fail_msg("%g x %g: %g for %g, and not a word", loop[i].iterations,
                         loop[i].accesses, cost, budget);
            more = cost;
        }
        assert_non_null(strstr(how, loop[i].why));
    }
}

/* What detail tells adds up to what is told without it. */
static void detail_of_a_kernel_adds_up(void **state)
{
    static struct sim_detail d;
    struct measure_opts o = {0};
    (void)state;
    assert_true(cache_config_parse("8K/4/64", &o.cache, &(struct err){0}));
    struct measurement plain = measured("c2d n=1 i=8 h=12 w=12 o=16 k=3 p=1", &o);
    assert_null(plain.sim.detail);
    o.detail = &d;
    struct measurement m = measured("c2d n=1 i=8 h=12 w=12 o=16 k=3 p=1", &o);
    assert_ptr_equal(m.sim.detail, &d);
    assert_int_equal(m.sim.l1_misses, plain.sim.l1_misses);
    assert_int_equal(m.sim.loads, plain.sim.loads);
    int64_t misses = 0, sets = 0, time = 0;
    for (int i = 0; i < d.n_tensors; i++) {
        const struct sim_classes *c = &d.tensor[i].classes;
        int64_t of_tensor = c->compulsory + c->capacity + c->conflict;
        assert_int_equal(of_tensor, m.sim.by_tensor[i].cost.l1_misses);
        misses += of_tensor;
    }
    for (int i = 0; i < d.n_set_cells; i++)
        sets += d.set[i].misses;
    for (int i = 0; i < d.n_moments; i++)
        time += d.moment[i].misses;
    assert_int_equal(misses, m.sim.l1_misses);
    assert_int_equal(sets, m.sim.l1_misses);
    assert_int_equal(time, m.sim.l1_misses);
    o.sim_budget = 1000;
    m = measured("c2d n=1 i=8 h=12 w=12 o=16 k=3 p=1", &o);
    /* The budget that it names is enough, and not twice as much as needed. */
    const char *of = strstr(d.reason, ":sim_budget ");
    assert_non_null(of);
    o.sim_budget = strtod(of + strlen(":sim_budget "), NULL);
    m = measured("c2d n=1 i=8 h=12 w=12 o=16 k=3 p=1", &o);
    assert_string_equal(d.reason, "");
    assert_int_equal(m.sim.l1_misses, plain.sim.l1_misses);
    o.sim_budget /= 2;
    m = measured("c2d n=1 i=8 h=12 w=12 o=16 k=3 p=1", &o);
    assert_string_not_equal(d.reason, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_equal_a_stack),
        cmocka_unit_test(a_full_cache_drops_the_oldest),
        cmocka_unit_test(detail_equals_a_naive_count),
        cmocka_unit_test(samples_are_within_their_error),
        cmocka_unit_test(less_budget_is_less_work),
        cmocka_unit_test(detail_of_a_kernel_adds_up),
    };
    const char *s = getenv("TS_SEED");
    seed = s ? strtoull(s, NULL, 10) : seed;
    printf("# seed %llu\n", (unsigned long long)seed);
    arena = arena_new();
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    arena_free(arena);
    return rc;
}
