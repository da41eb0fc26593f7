/* The cache lens: windows, sets over time, pairs in conflict, and the cures that are proposed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/views/lens_doc.h"
#include "kernels/gen/target.h"
#include "sessions/report/lens_report.h"
#include "tests/unit/golden.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const struct program *replayed(struct arena *a, const char *spec, const char *const *steps,
                                      int n)
{
    const struct program *p;
    struct err e;
    int bad;
    if (!program_replay(a, spec, steps, n, &p, &bad, &e))
        fail_msg("%s", e.text);
    return p;
}

/* The counts depend on the vectors of the target: this one is the same on every machine. */
static const struct target *fixed_target(void)
{
    return target_named("avx512");
}

static struct lens *lens_of(const struct program *p, const char *cache, int64_t from, int touches)
{
    struct lens_opts o = { .target = fixed_target(), .from = from, .touches = touches };
    struct lens *l = NULL;
    struct err e;
    if (!cache_config_parse(cache, &o.cache, &e) || !lens_open(p, &o, NULL, &l, &e))
        fail_msg("%s", e.text);
    return l;
}

/* B is read along k: with each k one row of 2048 bytes, 32 lines, further. */
static void partners(void **state)
{
    struct arena *a = arena_new();
    struct lens *l = lens_of(replayed(a, "gmm m=64 k=128 n=512", NULL, 0), "32K/8/64", -1, 0);
    (void)state;
    assert_int_equal(l->n_sets, 64);
    assert_true(l->n_touches == LENS_TOUCHES && l->from > 0 && l->from < l->iterations);
    assert_true(l->conflicts > l->misses * 9 / 10 && l->n_pairs > 0);
    const struct lens_pair *p = &l->pair[0];
    assert_string_equal(l->site[p->site].text, "B[k][n]");
    assert_string_equal(l->site[p->by].text, "B[k][n]");
    assert_int_equal(lens_set_of(l, p->line), lens_set_of(l, p->other));
    assert_int_equal(lens_set_of(l, p->line), p->set);
    assert_int_equal(p->held, 8);
    assert_string_equal(l->loop[p->loop].axis, "K");
    assert_int_equal(p->stride, 2048);
    assert_int_equal(p->trips, 128);
    assert_int_equal(p->sets, 2);
    lens_free(l);
    arena_free(a);
}

/* A line hits if it is resident by the touches alone; resident lines never exceed the cache. */
static void touches_are_consistent(void **state)
{
    static const char *const cache[] = { "4K/4/64", "4K/4/64,prefetch=next", "3K/4/64" };
    (void)state;
    for (int k = 0; k < 3; k++) {
        struct arena *a = arena_new();
        struct lens *l = lens_of(replayed(a, "c2d n=1 i=8 h=12 w=12 o=16 k=3 p=1", NULL, 0),
                                 cache[k], 0, 20000);
        bool *held = xcalloc((size_t)l->n_lines, 1), *then = xcalloc((size_t)l->n_lines, 1);
        int n = 0;
        for (int i = 0; i < l->n_touches; i++) {
            const struct lens_touch *t = &l->touch[i];
            assert_true(t->site == LENS_PREFETCH || held[t->line] == !t->missed);
            n += !held[t->line];
            held[t->line] = true;
            if (t->evicted >= 0) {
                assert_true(held[t->evicted]);
                assert_int_equal(lens_set_of(l, t->evicted), lens_set_of(l, t->line));
                held[t->evicted] = false;
                n--;
            }
            assert_true(n <= l->n_sets * l->ways);
        }
        lens_held(l, l->n_touches - 1, then);
        assert_memory_equal(held, then, (size_t)l->n_lines);
        free(held);
        free(then);
        double cell[4 * 10], sum = 0;
        lens_grid(l, false, 4, 10, cell);
        for (int i = 0; i < 40; i++)
            sum += cell[i];
        assert_true(sum == (double)l->misses);
        lens_free(l);
        arena_free(a);
    }
}

static void iterations(void **state)
{
    struct arena *a = arena_new();
    struct lens *l = lens_of(replayed(a, "gmm m=4 k=8 n=4", NULL, 0), "4K/4/64", 0, 0);
    int k = l->n_loops - 1, from = 0, n = 0;
    (void)state;
    assert_string_equal(l->loop[k].axis, "K");
    for (; lens_next(l, k, from, 1) > 0; n++) {
        int to = lens_next(l, k, from, 1);
        assert_int_equal(lens_next(l, k, to, -1), from);
        assert_int_equal(lens_value(l, k, to), (lens_value(l, k, from) + 1) % 8);
        from = to;
    }
    assert_int_equal(n, 4 * 4 * 8 - 1);
    lens_free(l);
    arena_free(a);
}

static double run_misses(const struct lens *l)
{
    double sum = 0;
    for (int i = 0; i < l->n_sets * l->n_columns; i++)
        sum += l->cell[i];
    return sum;
}

/* A short run counts every miss, a long one about as many as a simulation from end to end. */
static void whole_run(void **state)
{
    static const struct { const char *spec; int64_t misses; } run[] = {
        { "gmm m=4 k=8 n=4", 0 }, { "c2d n=1 i=2 h=6 w=6 o=4 k=3 p=1", 0 },
        { "gmm m=64 k=128 n=512", 4000000 }, { "gmm m=128 k=512 n=128", 8000000 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(run); i++) {
        struct arena *a = arena_new();
        const struct program *p = replayed(a, run[i].spec, NULL, 0);
        struct lens *l = lens_of(p, "32K/8/64", 0, 0);
        assert_int_equal(l->n_columns, 64);
        if (run[i].misses == 0) {
            assert_true(l->n_touches < LENS_TOUCHES && l->misses > 0);
            if (run_misses(l) != (double)l->misses || l->simulated != 1)
                fail_msg("%g of %lld misses, %g", run_misses(l), (long long)l->misses,
                         l->simulated);
        } else {
            struct predict_opts o = { .cache = l->cache };
            struct prediction all;
            struct err e;
            assert_true(predict_misses(p, &o, NULL, &all, &e));
            assert_true(l->simulated < 0.3 && l->simulated > 0);
            double of = run_misses(l) / (double)all.l1_misses;
            if (!(of > 0.93 && of < 1.07))
                fail_msg("%s: %g of %lld misses", run[i].spec, of, (long long)all.l1_misses);
            double cell[64], least = INFINITY;
            lens_grid(l, true, 1, 64, cell);
            for (int x = 4; x < 64; x++)
                least = fmin(least, cell[x]);
            assert_true(least > 0.5 * run_misses(l) / 64);       /* it misses all the time */
        }
        lens_free(l);
        arena_free(a);
    }
}

static void cures(void **state)
{
    struct arena *a = arena_new();
    static const char *const steps[] = { "loop split C M 4" };
    const struct program *p = replayed(a, "gmm m=64 k=128 n=512", steps, 1);
    struct predict_opts o = { .conflicts = true };
    struct forecast row[FORECAST_CURES], none;
    struct err e;
    bool padded = false;
    (void)state;
    assert_true(cache_config_parse("32K/8/64", &o.cache, &e));
    struct lens *l = lens_of(p, "32K/8/64", -1, 0);
    int n = forecast_cures(p, l, a, row);
    assert_true(n > 3 && forecast_steps(p, &o, NULL, row, n, &none, &e));
    forecast_rank(row, n);
    assert_true(none.ok && none.misses.conflicts > 3000000 && row[0].ok);
    assert_true(row[0].misses.l1_misses < none.misses.l1_misses / 10);
    for (int i = 0; i < n; i++)
        if (streq(row[i].line, "layout pad B N after=16"))
            padded = row[i].ok && row[i].misses.conflicts < 50000;      /* before the split */
    assert_true(padded);
    lens_free(l);
    arena_free(a);
}

/* As text, in ASCII as on the poorest terminal, and as JSON. */
static void golden(void **state)
{
    struct arena *a = arena_new();
    const struct program *p = replayed(a, "gmm m=16 k=64 n=64", NULL, 0);
    struct predict_opts o = { .target = fixed_target(), .conflicts = true };
    struct forecast cure[FORECAST_CURES], now;
    struct err e;
    struct doc d;
    struct grid g;
    struct str text = {0}, json = {0};
    (void)state;
    assert_true(cache_config_parse("4K/4/64", &o.cache, &e));
    struct lens *l = lens_of(p, "4K/4/64", -1, 6000);
    int n = forecast_cures(p, l, a, cure);
    assert_true(forecast_steps(p, &o, NULL, cure, n, &now, &e));
    forecast_rank(cure, n);
    struct lens_look look = { .width = 78, .rows = 16, .loop = 2, .cure = cure, .now = &now,
                              .n_cures = n, .keys = true, .at = lens_first_conflict(l, 0) };
    doc_open(&d);
    lens_doc(&d, l, &look);
    grid_open(&g, 80, d.lines.len, false);
    doc_draw(&d, &(struct scroll){ .cursor = -1 }, &g, (struct rect){ 0, 0, 80, d.lines.len },
             (struct doc_look){ .focused = false });
    grid_dump(&g, &text);
    golden_check("tests/golden/lens.txt", str_text(&text));
    lens_report_json(&json, l, &now, cure, n);
    golden_check("tests/golden/lens.json", str_text(&json));
    grid_close(&g);
    doc_close(&d);
    str_free(&text);
    str_free(&json);
    lens_free(l);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partners), cmocka_unit_test(touches_are_consistent),
        cmocka_unit_test(iterations), cmocka_unit_test(whole_run), cmocka_unit_test(cures),
        cmocka_unit_test(golden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
