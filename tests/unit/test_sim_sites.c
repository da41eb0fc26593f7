/* Programs with more accesses than a report has room for: the rest is summed up. */
#include <stdio.h>
#include <string.h>

#include "profile/measure/gpu_memory.h"
#include "profile/measure/job.h"
#include "profile/measure/measure.h"
#include "tests/unit/temp_dir.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* y = relu(... relu(x)): 2 accesses each; the tensors are larger than L1. */
static struct measurement simulated(struct arena *a, int nodes)
{
    struct measure_opts o = { .meters = METER_SIM, .seed = 1 };
    struct measurement m;
    const struct program *p;
    struct str spec = {0};
    struct err e = {0};
    str_add(&spec, "x0 = input n=4096");
    for (int i = 1; i <= nodes; i++)
        str_printf(&spec, "; x%d = relu(x%d)", i, i - 1);
    assert_true(cache_config_parse("4K/4/64", &o.cache, &e));
    if (!program_new(a, str_text(&spec), &p, &e) || !measure_program(p, &o, NULL, NULL, &m, &e)
        || !m.sim.available)
        fail_msg("%d nodes: %s%s", nodes, e.text, m.sim.reason);
    str_free(&spec);
    return m;
}

static void the_least_are_summed_up(void **state)
{
    (void)state;
    for (int nodes = MEASURE_MAX_SITES / 2 - 1; nodes < MEASURE_MAX_SITES / 2 + 3; nodes++) {
        struct arena *a = arena_new();
        struct measurement m = simulated(a, nodes);
        const struct sim_result *r = &m.sim;
        int64_t accesses = 0, misses = 0, most = INT64_MAX;
        bool others = 2 * nodes > MEASURE_MAX_SITES;
        assert_int_equal(r->n_sites, others ? MEASURE_MAX_SITES : 2 * nodes);
        for (int i = 0; i < r->n_sites; i++) {
            bool last = others && i == MEASURE_MAX_SITES - 1;
            assert_int_equal(strcmp(r->site[i].text, "others") == 0, last);
            assert_true(last || r->site[i].cost.l1_misses <= most);
            most = r->site[i].cost.l1_misses;
            accesses += r->site[i].accesses;
            misses += r->site[i].cost.l1_misses;
        }
        assert_int_equal(accesses, r->loads + r->stores);
        assert_int_equal(misses, r->l1_misses);
        assert_int_equal(misses, 2 * nodes * 4096 / 16);
        arena_free(a);
    }
}

/* --- By hand ---------------------------------------------------------------------------------- */

enum { TENSORS = 20, SITES = 40 };

/* A function of one buffer per tensor, called t0, t1, ... */
static void make_func(struct func *f, struct graph *g, struct tensor *t, struct buffer *b,
                      char (*name)[8])
{
    for (int i = 0; i < TENSORS; i++) {
        snprintf(name[i], sizeof name[i], "t%d", i);
        t[i] = (struct tensor){ .name = name[i] };
        b[i] = (struct buffer){ .name = name[i], .tensor = i };
    }
    *g = (struct graph){ .n_tensors = TENSORS, .tensor = t };
    *f = (struct func){ .graph = g, .n_buffers = TENSORS, .buffer = b };
}

static void assert_tensor(const struct tensor_count *c, const char *name, int64_t loads,
                          int64_t stores, int64_t l1, int64_t sites)
{
    assert_string_equal(c->tensor, name);
    assert_true(c->loads == loads && c->stores == stores && c->cost.l1_misses == l1);
    assert_true(c->cost.l2_misses == 2 * sites && c->cost.l3_misses == 3 * sites);
    assert_true(c->cost.sectors == 4 * sites && c->cost.ideal_sectors == 5 * sites);
    assert_int_equal(c->cost.bank_conflicts, 6 * sites);
}

/* Site i is of tensor i % 20, a store if i is odd, with i + 1 accesses and 7 i % 40 misses: 0 to
 * 39, each once.  Tensors 15 to 19 are the others, with sites 15 to 19 and 35 to 39.  Those with
 * the fewest misses, 0 to 8, are the other sites: 0, 23, 6, 29, 12, 35, 18, 1 and 24. */
static void sites_are_summed_by_tensor(void **state)
{
    static struct tensor t[TENSORS];
    static struct buffer b[TENSORS];
    static char name[TENSORS][8], text[SITES][8];
    static struct sim_site all[SITES];
    static struct sim_result r;
    struct site site[SITES];
    struct graph g;
    struct func f;
    (void)state;
    make_func(&f, &g, t, b, name);
    for (int i = 0; i < SITES; i++) {
        snprintf(text[i], sizeof text[i], "s%d", i);
        site[i] = (struct site){ .buffer = i % TENSORS, .is_store = i % 2, .text = text[i],
                                 .into = (i + 1) % TENSORS, .operand = i };
        all[i] = (struct sim_site){ .accesses = i + 1,
                                    .cost = { i * 7 % SITES, 2, 3, 4, 5, 6 } };
    }
    measure_take_sites(&r, &f, site, all, SITES);
    assert_true(r.loads == 400 && r.stores == 420);       /* 1 + 3 + ... + 39; 2 + 4 + ... + 40 */
    assert_true(r.sectors == 160 && r.ideal_sectors == 200 && r.bank_conflicts == 240);
    assert_int_equal(r.n, MEASURE_MAX_TENSORS);
    assert_tensor(&r.by_tensor[0], "t0", 1 + 21, 0, 0 + 20, 2);
    assert_tensor(&r.by_tensor[1], "t1", 0, 2 + 22, 7 + 27, 2);
    assert_tensor(&r.by_tensor[15], "others", 17 + 19 + 37 + 39, 16 + 18 + 20 + 36 + 38 + 40,
                  25 + 32 + 39 + 6 + 13 + 5 + 12 + 19 + 26 + 33, 10);
    assert_int_equal(r.n_sites, MEASURE_MAX_SITES);
    for (int i = 0; i < MEASURE_MAX_SITES - 1; i++)
        assert_int_equal(r.site[i].cost.l1_misses, 39 - i);
    const struct sim_site *first = &r.site[0], *last = &r.site[MEASURE_MAX_SITES - 1];
    assert_string_equal(first->text, "s17");              /* 7 * 17 = 2 * 40 + 39 */
    assert_string_equal(first->into, "t18");
    assert_true(first->tensor == 15 && first->is_store && first->operand == 17);
    assert_string_equal(last->text, "others");
    assert_string_equal(last->into, "");
    assert_int_equal(last->tensor, MEASURE_MAX_TENSORS);
    assert_int_equal(last->accesses, 1 + 24 + 7 + 30 + 13 + 36 + 19 + 2 + 25);
    assert_true(last->cost.l1_misses == 36 && last->cost.l2_misses == 9 * 2
                && last->cost.bank_conflicts == 9 * 6);
}

/* Of equal misses those with more accesses come first, then by their text; what does nothing is
 * left out. */
static void equal_sites_have_an_order(void **state)
{
    static struct tensor t[TENSORS];
    static struct buffer b[TENSORS];
    static char name[TENSORS][8];
    static const struct { const char *text; int64_t accesses, misses; } row[] = {
        { "b", 5, 3 }, { "none", 0, 0 }, { "c", 9, 3 }, { "a", 5, 3 }, { "d", 0, 1 },
        { "e", 1, 0 }, { "f", 1, 4 },
    };
    static const char *const want[] = { "f", "c", "a", "b", "d", "e" };
    static struct sim_result r;
    static struct sim_site all[COUNT_OF(row)];
    struct site site[COUNT_OF(row)];
    struct graph g;
    struct func f;
    (void)state;
    make_func(&f, &g, t, b, name);
    for (int i = 0; i < COUNT_OF(row); i++) {
        site[i] = (struct site){ .text = row[i].text };
        all[i] = (struct sim_site){ .accesses = row[i].accesses,
                                    .cost = { .l1_misses = row[i].misses } };
    }
    measure_take_sites(&r, &f, site, all, COUNT_OF(row));
    assert_true(r.n == 1 && r.n_sites == COUNT_OF(want) && r.stores == 0 && r.loads == 21);
    for (int i = 0; i < COUNT_OF(want); i++)
        assert_string_equal(r.site[i].text, want[i]);
}

/* Lines of a CPU or sectors of a GPU that are fetched, prefetched or written back, and what is
 * streamed past all caches. */
static void bytes_move_between_levels(void **state)
{
    static struct sim_result r = { .streamed_bytes = 10 };
    (void)state;
    r.cache.level[0].geometry.line_bytes = 64;
    r.level[1] = (struct sim_level){ .accesses = 99, .misses = 3, .writebacks = 1,
                                     .prefetches = 2, .useful = 99 };
    assert_int_equal(sim_bytes_below(&r, 1), 6 * 64 + 10);
    assert_int_equal(sim_bytes_below(&r, 0), 10);
    r.sector_bytes = 32;
    assert_int_equal(sim_bytes_below(&r, 1), 6 * 32 + 10);
}

/* --- GPUs ------------------------------------------------------------------------------------- */

static void accesses_of_warps_are_told(void **state)
{
    static const struct { struct sim_site site; const char *want; } row[] = {
        { { .text = "x", .accesses = 2, .cost = { .sectors = 8, .ideal_sectors = 8 }, .bytes = 4,
            .run = 32, .stride = 8 }, "" },
        { { .text = "x", .accesses = 0, .cost = { .sectors = 8 }, .bytes = 4 }, "" },
        { { .text = "x", .accesses = 2, .cost = { .sectors = 16, .ideal_sectors = 8 }, .bytes = 4,
            .run = 32, .stride = 8 },
          "x loads 8 sectors for 4 ideal: consecutive threads stride by 2" },
        { { .text = "x", .is_store = true, .accesses = 2, .cost = { .sectors = 9,
            .ideal_sectors = 8 }, .bytes = 4, .run = 32, .stride = 6 },
          "x stores 4.5 sectors for 4 ideal: consecutive threads stride by 6 bytes" },
        { { .text = "x", .accesses = 1, .cost = { .sectors = 9, .ideal_sectors = 8 }, .bytes = 4 },
          "x loads 9 sectors for 8 ideal: the addresses of its threads have no common stride" },
        { { .text = "x", .accesses = 1, .cost = { .bank_conflicts = 3 }, .degree = 4, .bytes = 4,
            .run = 8, .stride = 0 }, "x loads with 4-way bank conflicts: rows of 8 threads, in "
          "which all threads are at one element" },
        { { .text = "x", .accesses = 1, .cost = { .bank_conflicts = 3 }, .degree = 4, .bytes = 4,
            .run = 8, .stride = 4 }, "x loads with 4-way bank conflicts: rows of 8 threads" },
        { { .text = "x", .accesses = 1, .cost = { .sectors = 5, .ideal_sectors = 4 }, .bytes = 4,
            .run = 32, .stride = 4 }, "x loads 5 sectors for 4 ideal: its threads do not start at "
          "a sector, or few of them are active" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct str out = {0};
        gpu_memory_say(&row[i].site, &out);
        assert_string_equal(str_text(&out), row[i].want);
        str_free(&out);
    }
}

/* The slowest part decides; the cost counts for right kernels that no GPU has timed. */
static void costs_are_of_the_slowest_part(void **state)
{
    static struct measurement m = { .verified = true, .sim = { .available = true, .gpu = "h100",
                                    .fma_ns = 2e6, .l1_ns = 4e6, .l2_ns = 3e6, .dram_ns = 4e6 } };
    struct gpu_cost c = gpu_memory_cost(&m.sim);
    (void)state;
    assert_true(c.bound == GPU_BOUND_L1 && c.ns == 4e6 && c.each[GPU_BOUND_L2] == 3e6);
    assert_true(gpu_memory_untimed_ms(&m) == 1e-6 * 4e6);
    m.latency.runs = 1;
    assert_true(gpu_memory_untimed_ms(&m) == 0);
    m.latency.runs = 0;
    m.verified = false;
    assert_true(gpu_memory_untimed_ms(&m) == 0);
    m.verified = true;
    m.sim.gpu[0] = '\0';
    assert_true(gpu_memory_untimed_ms(&m) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_are_summed_up), cmocka_unit_test(sites_are_summed_by_tensor),
        cmocka_unit_test(equal_sites_have_an_order), cmocka_unit_test(bytes_move_between_levels),
        cmocka_unit_test(accesses_of_warps_are_told),
        cmocka_unit_test(costs_are_of_the_slowest_part),
    };
    temp_dir("XDG_CACHE_HOME");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
