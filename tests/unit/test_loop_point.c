/* Points of loop spaces: what a random change changes, and what a child has of its parents. */
#include <string.h>

#include "explorer/space/loop_space.h"
#include "tests/unit/targets.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const struct loop_space *space(struct arena *a, const char *spec)
{
    struct loop_opts o = { .target = target_with(8, 16), .threads = 2 };
    const struct loop_space *s;
    struct err e;
    if (!loop_space_new(a, spec, NULL, 0, &o, &s, &e))
        fail_msg("%s: %s", spec, e.text);
    return s;
}

static bool same_knob(const struct loop_space *s, int k, const struct loop_point *x,
                      const struct loop_point *y)
{
    size_t n = s->knob[k].parts ? (size_t)s->knob[k].parts : 1;
    return memcmp(x->v[k], y->v[k], n * sizeof x->v[k][0]) == 0;
}

static const char *const specs[] = {
    "gmm m=48 k=40 n=64", "c2d n=1 i=16 h=14 w=14 o=32 k=3 p=1 bias=1 relu=1",
    "dep n=1 c=32 h=12 w=12 k=3 p=1",
};

/* One to three knobs, any of them, and always another sound point. */
static void a_neighbour_differs_in_a_few_knobs(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(specs); i++) {
        struct arena *a = arena_new();
        const struct loop_space *s = space(a, specs[i]);
        struct rng r = rng_seed(7);
        struct loop_point p, q;
        int of_knob[LOOP_KNOBS] = {0}, so_many[4] = {0}, still = 0;
        loop_point_random(s, &r, &p);
        for (int t = 0; t < 3000; t++) {
            int n = 0;
            q = p;
            loop_point_mutate(s, &r, &q);
            for (int k = 0; k < s->n; k++)
                if (!same_knob(s, k, &p, &q)) {
                    of_knob[k]++;
                    n++;
                }
            assert_in_range(n, 0, 3);
            assert_int_equal(n == 0, loop_point_equal(s, &p, &q));
            still += n == 0;
            so_many[n]++;
            if (!loop_point_sound(s, &q, NULL))
                fail_msg("%s: a neighbour is not sound", specs[i]);
            p = q;
        }
        assert_true(still < 30);
        assert_true(so_many[1] > 300 && so_many[2] > 100 && so_many[3] > 50);
        for (int k = 0; k < s->n; k++)
            if (s->knob[k].size > 1 && of_knob[k] == 0)
                fail_msg("%s: %s never changes", specs[i], s->knob[k].name);
        arena_free(a);
    }
}

/* Each knob of the one or the other, and of either about as often. */
static void a_child_has_knobs_of_both(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(specs); i++) {
        struct arena *a = arena_new();
        const struct loop_space *s = space(a, specs[i]);
        struct rng r = rng_seed(9);
        struct loop_point x, y, child;
        int first = 0, second = 0;
        for (int t = 0; t < 500; t++) {
            loop_point_random(s, &r, &x);
            loop_point_random(s, &r, &y);
            loop_point_cross(s, &r, &x, &y, &child);
            assert_true(loop_point_sound(s, &child, NULL));
            for (int k = 0; k < s->n; k++) {
                bool of_x = same_knob(s, k, &child, &x), of_y = same_knob(s, k, &child, &y);
                assert_true(of_x || of_y);
                first += of_x && !of_y;
                second += of_y && !of_x;
            }
        }
        assert_true(first > second / 3 && second > first / 3);
        arena_free(a);
    }
}

/* Results of half the last cache and more; of a quarter they may be, when that turns out faster. */
static void a_large_result_is_streamed_from_the_start(void **state)
{
    static const struct { int64_t last_cache; bool from_start; } table[] = {
        { 2 * 16384, true }, { 2 * 16384 + 2, false }, { 4 * 16384, false }, { 64, true },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct arena *a = arena_new();
        struct loop_opts o = { .target = target_with(8, 16), .last_cache = table[i].last_cache };
        const struct loop_space *s;
        struct loop_point p;
        struct err e;
        int stream = -1;
        assert_true(loop_space_new(a, "gmm m=64 k=16 n=64", NULL, 0, &o, &s, &e));
        for (int k = 0; k < s->n; k++)
            stream = s->knob[k].kind == KNOB_STREAM ? k : stream;
        assert_true(stream > 0);
        loop_point_start(s, &p);
        assert_int_equal(p.v[stream][0], table[i].from_start);
        assert_true(loop_point_sound(s, &p, NULL));
        arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_neighbour_differs_in_a_few_knobs),
        cmocka_unit_test(a_child_has_knobs_of_both),
        cmocka_unit_test(a_large_result_is_streamed_from_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
