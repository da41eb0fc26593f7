/* The estimate of what code executes (struct gen_work): by hand on small kernels, and in random
 * schedules against what must hold for all of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explorer/space/loop_space.h"
#include "kernels/base/rng.h"
#include "kernels/gen/gen.h"
#include "kernels/program/program.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static uint64_t seed;

static struct gen_work work_of(struct arena *a, const char *spec, const char *const *line, int n,
                               struct str *text)
{
    struct gen_work w = {0};
    const struct gen_opts o = { .target = target_named("avx2"), .work = &w };
    const struct program *p;
    const struct func *f;
    struct err e;
    int bad;
    if (!program_replay(a, spec, line, n, &p, &bad, &e) || !program_lower(p, &f, &e) ||
        !gen_c(f, &o, text, &e))
        fail_msg("%s: %s", spec, e.text);
    return w;
}

#define WORK(w, spec, ...) \
    static const char *const w##_line[] = { __VA_ARGS__ }; \
    struct str w##_text = {0}; \
    struct gen_work w = work_of(a, spec, w##_line, COUNT_OF(w##_line), &w##_text); \
    str_free(&w##_text)

static void close_to(double x, double y)
{
    if (fabs(x - y) > 1e-9 * fabs(y))
        fail_msg("%g, not %g", x, y);
}

/* A product of 6 x 16 by 8 lanes: 12 accumulators, two vectors of B and a scalar of A. */
static void a_register_tile_by_hand(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    WORK(w, "gmm m=24 k=32 n=64", "loop split C M 4 6", "loop split C N 4 16",
         "loop reorder C M.0 N.0 K M.1 N.1", "loop cache_write C at=N.0", "loop unroll C M.1",
         "loop vectorize C N.1");
    double tiles = 4 * 4, taps = 32;
    close_to(w.vector, tiles * taps * 12);
    assert_true(w.scalar == 0);
    close_to(w.loads, tiles * taps * 2);
    close_to(w.broadcasts, tiles * taps * 6);
    close_to(w.stores, tiles * 12);
    assert_true(w.scalar_stores == 0 && w.moves == 0 && w.spills == 0);
    close_to(w.iterations, 4 + tiles + tiles * taps);
    close_to(w.chain, 1);
    assert_true(w.pressure >= 14 && w.pressure <= 16);
    assert_true(w.cycles >= w.vector / 2);
    arena_free(a);
}

/* A schedule without vectors takes more cycles, and so does one with too large a tile. */
static void what_is_slow_costs_more(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    WORK(good, "gmm m=24 k=32 n=64", "loop split C M 4 6", "loop split C N 4 16",
         "loop reorder C M.0 N.0 K M.1 N.1", "loop cache_write C at=N.0", "loop unroll C M.1",
         "loop vectorize C N.1");
    WORK(spills, "gmm m=24 k=32 n=64", "loop split C M 2 12", "loop split C N 4 16",
         "loop reorder C M.0 N.0 K M.1 N.1", "loop cache_write C at=N.0", "loop unroll C M.1",
         "loop vectorize C N.1");
    WORK(scalar, "gmm m=24 k=32 n=64", "loop reorder C M K N");
    WORK(chained, "gmm m=24 k=32 n=64", "loop split C N 8 8", "loop reorder C M N.0 K N.1",
         "loop cache_write C at=N.0", "loop vectorize C N.1");
    close_to(spills.vector, good.vector);
    assert_true(spills.spills > 0 && spills.pressure > 16 && spills.cycles > good.cycles);
    assert_true(scalar.vector == 0);
    close_to(scalar.scalar, 8 * good.vector);
    assert_true(scalar.cycles > 4 * good.cycles);
    close_to(chained.vector, good.vector);  /* each waits for the one before */
    assert_true(chained.cycles > 4 * good.vector);
    arena_free(a);
}

/* Returns cycles for each sum of a gmm with this k and these steps; NULL: none. */
static double cycles_a_sum(int k, const char *step, const char *then)
{
    struct arena *a = arena_new();
    struct str text = {0};
    const char *spec = arena_printf(a, "gmm m=24 k=%d n=64", k), *const line[] = { step, then };
    double cycles = work_of(a, spec, line, !!step + !!then, &text).out_of_order.whole;
    str_free(&text);
    arena_free(a);
    return cycles / (24 * 64 * k);
}

/* A sum waits four cycles for the one before, and less if sums of other elements are near enough to
 * fill a part of this time: with 8 sums to an element it takes as long as its two loads. */
static void short_chains_overlap(void **state)
{
    (void)state;
    double far = cycles_a_sum(512, NULL, NULL), near = cycles_a_sum(8, NULL, NULL);
    if (far < 3.5 || far > 3.6 || near < 1 || near > 1.5)
        fail_msg("%g and %g cycles", far, near);
    double unrolled = cycles_a_sum(128, "loop unroll C K", NULL);
    double few = cycles_a_sum(8, "loop unroll C K", NULL);
    if (unrolled < 2.3 || unrolled > 2.5 || few > 1.5)
        fail_msg("unrolled: %g and %g cycles", unrolled, few);
    double other = cycles_a_sum(512, "loop reorder C M K N", NULL);
    if (other < 1 || other > 2)           /* no sum waits */
        fail_msg("%g cycles", other);
}

/* Between two sums of an element in memory, a store and a load of it add about eight cycles, which
 * the sums of the elements inside the reduction share. */
static void sums_in_memory_wait(void **state)
{
    (void)state;
    double two = cycles_a_sum(512, "loop split C N 2", "loop reorder C M N.0 K N.1");
    double eight = cycles_a_sum(512, "loop split C N 8", "loop reorder C M N.0 K N.1");
    double many = cycles_a_sum(512, "loop split C N 32", "loop reorder C M N.0 K N.1");
    if (two < 5 || two > 7 || fabs(4 * eight / two - 1) > 0.05 || many > 1.2)
        fail_msg("%g, %g and %g cycles", two, eight, many);
    double few = cycles_a_sum(8, "loop split C N 2", "loop reorder C M N.0 K N.1");
    if (few > 0.8 * two)                  /* chains of 8 sums overlap */
        fail_msg("%g and %g cycles", few, two);
}

/* The padding of an inlined 3x3 convolution cuts the ranges of KH and KW at the borders only: of
 * 56 x 3 pairs of H and KH, 2 read padding.  Every product but those that read it is counted. */
static void loops_cut_at_borders(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    WORK(w, "c2d i=8 h=56 w=56 o=8 k=3 p=1", "layout set Conv \"N H W O\"",
         "layout set Ker \"I KH KW O\"", "loop reorder Conv N H W KH KW I O",
         "loop cache_write Conv at=W", "loop vectorize Conv O", "loop inline Inp");
    double rows = 56 * 3 - 2;
    close_to(w.vector, rows * rows * 8);
    arena_free(a);
}

static const char *const random_spec[] = {
    "c2d n=1 i=8 h=8 w=8 o=16 k=3 p=1", "dep n=1 c=16 h=8 w=8 k=3 p=1", "gmm m=24 k=16 n=32",
    "grp n=1 i=8 h=6 w=6 o=8 k=3 g=2",
};

/* Where the padding of an image of 6 x 6 is skipped, a fifth of the products is. */
#define LEAST_SHARE 0.75

/* Nothing is negative, no schedule does much less than all sums of the operator, and asking for
 * the estimate does not change the text. */
static void check_point(struct arena *a, const char *spec, const struct func *f,
                        const char *const *line, int n, const struct str *text)
{
    struct str with = {0};
    struct gen_work w = work_of(a, spec, line, n, &with);
    const double *number = (const double *)&w;
    double least = func_sums(f, f->graph->main_node);
    for (int i = 0; i < (int)(sizeof w / sizeof *number); i++)
        if (!isfinite(number[i]) || number[i] < 0)
            fail_msg("seed %llu: number %d is %g", (unsigned long long)seed, i, number[i]);
    if (8 * w.vector + w.scalar < LEAST_SHARE * least || w.cycles < LEAST_SHARE * least / 16)
        fail_msg("seed %llu: %s: %g vectors, %g scalars and %g cycles for %g sums",
                 (unsigned long long)seed, spec, w.vector, w.scalar, w.cycles, least);
    assert_string_equal(str_text(&with), str_text(text));
    str_free(&with);
}

/* Draws a schedule and checks it.  False: it is no program. */
static bool draw_and_check(struct arena *a, struct rng *r, const char *spec,
                           const struct loop_space *space)
{
    const struct gen_opts o = { .target = target_named("avx2") };
    struct str text = {0};
    struct loop_point point;
    const struct program *p;
    const struct func *f;
    const char *const *line;
    struct err e;
    int n, bad;
    loop_point_random(space, r, &point);
    bool ok = loop_point_lines(space, a, &point, &line, &n, &e) &&
              program_replay(a, spec, line, n, &p, &bad, &e) && program_lower(p, &f, &e) &&
              gen_c(f, &o, &text, &e);
    if (ok)
        check_point(a, spec, f, line, n, &text);
    str_free(&text);
    return ok;
}

static void bounds_of_random_schedules(void **state)
{
    (void)state;
    struct rng r = rng_seed(seed);
    for (int s = 0; s < COUNT_OF(random_spec); s++) {
        struct arena *a = arena_new();
        const struct loop_space *space;
        struct err e;
        int done = 0;
        assert_true(loop_space_new(a, random_spec[s], NULL, 0, NULL, &space, &e));
        for (int tries = 0; tries < 200 && done < 25; tries++)
            done += draw_and_check(a, &r, random_spec[s], space);
        assert_int_equal(done, 25);
        arena_free(a);
    }
}

int main(void)
{
    const char *given = getenv("TS_SEED");
    seed = given ? strtoull(given, NULL, 10) : 20261124;
    printf("seed %llu\n", (unsigned long long)seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_register_tile_by_hand),
        cmocka_unit_test(what_is_slow_costs_more), cmocka_unit_test(short_chains_overlap),
        cmocka_unit_test(sums_in_memory_wait), cmocka_unit_test(loops_cut_at_borders),
        cmocka_unit_test(bounds_of_random_schedules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
