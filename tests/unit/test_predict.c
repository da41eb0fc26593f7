/* Misses predicted without compiling are those of the instrumented kernel. */
/* tests/run.sh: takes 10 s */
#include <stdlib.h>
#include <string.h>

#include "profile/measure/measure.h"
#include "profile/measure/predict.h"
#include "profile/sim/lru.h"
#include "tests/unit/random_ops.h"
#include "tests/unit/random_steps.h"
#include "tests/unit/temp_dir.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const char *const cache_of[] = { "4K/4/64", "2K/2/64,prefetch=next", "1K/4/32/plru" };

static struct sim_result compiled(const struct program *p, const struct cache_config *cache,
                                  struct sim_detail *detail)
{
    struct measure_opts o = { .meters = METER_SIM, .seed = 1, .cache = *cache, .detail = detail };
    struct measurement m;
    struct err e = {0};
    if (!measure_program(p, &o, NULL, NULL, &m, &e))
        fail_msg("%s", e.text);
    if (!m.sim.available)
        fail_msg("%s %s", m.reason, m.sim.reason);
    return m.sim;
}

static struct prediction predicted(const struct program *p, const struct predict_opts *o)
{
    struct prediction r;
    struct err e = {0};
    if (!predict_misses(p, o, NULL, &r, &e))
        fail_msg("%s", e.text);
    return r;
}

static const struct program *random_program(struct arena *a, struct rng *r)
{
    const struct program *p;
    struct err e;
    while (!program_new(a, random_operator(a, r, random_family(r)), &p, &e))
        ;
    for (int i = 0; i < 10; i++)
        program_apply_line(p, i < 3 ? random_layout_step(a, r, p) : random_loop_step(a, r, p), &p,
                           &e);
    return p;
}

static void random_programs(void **state)
{
    struct rng r = rng_seed(7);
    (void)state;
    for (int i = 0; i < 40; i++) {
        struct arena *a = arena_new();
        const struct program *p = random_program(a, &r);
        struct predict_opts o = { .budget = 1e9, .conflicts = true };
        struct err e;
        static struct sim_detail detail;
        assert_true(cache_config_parse(cache_of[i % 3], &o.cache, &e));
        struct sim_result sim = compiled(p, &o.cache, &detail);
        struct prediction now = predicted(p, &o);
        assert_int_equal(now.l1_misses, sim.l1_misses);
        assert_int_equal(now.accesses, sim.loads + sim.stores);
        if (!detail.reason[0])
            assert_int_equal(now.conflicts, detail.classes.conflict);
        assert_true(now.fraction == 1);
        o.conflicts = false;
        assert_int_equal(predicted(p, &o).l1_misses, sim.l1_misses);
        arena_free(a);
    }
}

static const struct program *replayed(struct arena *a, const char *spec, const char *step)
{
    const struct program *p;
    struct err e;
    int bad;
    if (!program_replay(a, spec, &step, step[0] != '\0', &p, &bad, &e))
        fail_msg("%s", e.text);
    return p;
}

/* Rows of a power of two of bytes collide; padding them by a line cures it. */
static void conflicts_and_their_cure(void **state)
{
    struct arena *a = arena_new();
    struct predict_opts o = { .conflicts = true };
    struct err e;
    (void)state;
    assert_true(cache_config_parse("32K/8/64", &o.cache, &e));
    struct prediction bare = predicted(replayed(a, "gmm m=128 k=128 n=512", ""), &o);
    assert_true(bare.fraction < 1);
    assert_in_range(bare.conflicts, 7500000, 8400000);    /* nearly each of 8.4M loads of B */
    assert_true(bare.l1_misses >= bare.conflicts);
    struct prediction padded =
        predicted(replayed(a, "gmm m=128 k=128 n=512", "layout pad B N after=16"), &o);
    assert_in_range(padded.conflicts, 0, 100000);
    assert_in_range(padded.l1_misses, 0, bare.l1_misses / 10);
    arena_free(a);
}

static void gives_up(void **state)
{
    struct arena *a = arena_new();
    struct predict_opts o = { .budget = 1e12, .limit_s = 0.02 };
    struct cancel stop = { .raised = 1 };
    struct prediction r;
    struct err e;
    (void)state;
    double start = clock_s();
    const struct program *p = replayed(a, "gmm m=2048 k=2048 n=2048", "");
    assert_false(predict_misses(p, &o, NULL, &r, &e));
    assert_int_equal(e.code, ERR_TIMEOUT);
    assert_false(predict_misses(p, &o, &stop, &r, &e));
    assert_int_equal(e.code, ERR_CANCEL);
    assert_true(clock_s() - start < 5);
    arena_free(a);
}

static void least_recently_used(void **state)
{
    struct lru *r = lru_open(2, 4);
    (void)state;
    assert_false(lru_touch(r, 0));
    assert_true(lru_touch(r, 0));
    assert_false(lru_touch(r, 3));
    assert_true(lru_touch(r, 0));
    assert_false(lru_touch(r, 1));                        /* instead of 3 */
    assert_true(lru_touch(r, 0));
    assert_false(lru_touch(r, 3));                        /* instead of 1 */
    assert_true(lru_touch(r, 0));
    assert_false(lru_touch(r, 1));
    lru_close(r);
}

int main(void)
{
    setenv("TILESCOPE_CFLAGS", "-O0", 0);  /* what is checked does not depend on gcc's work */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs), cmocka_unit_test(conflicts_and_their_cure),
        cmocka_unit_test(gives_up), cmocka_unit_test(least_recently_used),
    };
    temp_dir("XDG_CACHE_HOME");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
