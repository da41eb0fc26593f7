/* The pairs of accesses of a cache lens: what a set holds when one of them misses, against the
 * touches of the window. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "profile/measure/lens.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

enum { MOST = 9 };                        /* conflict misses of a window */

static struct lens *lens_of(struct arena *a, const char *spec, const char *cache, int touches)
{
    struct lens_opts o = { .target = target_named("plain"), .from = -1, .touches = touches };
    const struct program *p;
    struct lens *l = NULL;
    struct err e;
    if (!program_new(a, spec, &p, &e) || !cache_config_parse(cache, &o.cache, &e)
        || !lens_open(p, &o, NULL, &l, &e))
        fail_msg("%s", e.text);
    return l;
}

/* Returns how many lines of the buffer of pair->other the set of touch `at` holds after this
 * touch. */
static int held_after(const struct lens *l, const struct lens_pair *pair, int at)
{
    bool *held = xcalloc((size_t)l->n_lines, sizeof *held);
    int n = 0, buffer = lens_buffer_of(l, pair->other), set = lens_set_of(l, l->touch[at].line);
    lens_held(l, at, held);
    for (int32_t i = 0; i < l->n_lines; i++)
        n += held[i] && lens_set_of(l, i) == set && lens_buffer_of(l, i) == buffer;
    free(held);
    return n;
}

/* A pair's set is looked at when the pair has missed 1, 2, 4, 8... times. */
static void sets_are_looked_at(void **state)
{
    static const struct { const char *spec, *cache; } row[] = {
        { "gmm m=4 k=32 n=64", "1K/1/64" }, { "gmm m=4 k=16 n=256", "4K/4/64" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        bool seen[MOST] = { false }, more = true;
        for (int touches = 1; more; touches++) {
            struct arena *a = arena_new();
            struct lens *l = lens_of(a, row[i].spec, row[i].cache, touches);
            const struct lens_pair *pair = &l->pair[0];
            if (l->n_pairs == 1 && pair->count == l->conflicts && pair->count < MOST) {
                int at = lens_first_conflict(l, 0), looked = at, n = 1;
                for (; n < pair->count; n++) {
                    at = lens_first_conflict(l, at + 1);
                    looked = ((n + 1) & n) == 0 ? at : looked;
                }
                assert_int_equal(pair->line, l->touch[at].line);
                assert_int_equal(pair->held, held_after(l, pair, looked));
                seen[n] = true;
            }
            more = l->conflicts < MOST && l->n_touches == touches;
            lens_free(l);
            arena_free(a);
        }
        for (int n = 1; n < MOST; n++)
            assert_true(seen[n]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(sets_are_looked_at) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
