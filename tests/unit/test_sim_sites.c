/* Programs with more accesses than a report has room for: the rest is summed up. */
#include <string.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_least_are_summed_up) };
    temp_dir("XDG_CACHE_HOME");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
