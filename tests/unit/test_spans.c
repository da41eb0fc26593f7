/* Intervals of index expressions under ranges of their variables, against all values. */
#include <stdio.h>
#include <stdlib.h>

#include "explorer/model/features_impl.h"
#include "kernels/base/rng.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static uint64_t seed = 20261122;

struct range_of_values { int64_t lo, hi; };

/* The least and the largest value of e for x and y in their spans. */
static struct range_of_values all_values(const struct expr *e, const struct span *s)
{
    struct range_of_values r = { INT64_MAX, INT64_MIN };
    for (int64_t x = s[0].lo; x <= s[0].hi; x++)
        for (int64_t y = s[1].lo; y <= s[1].hi; y++) {
            int64_t v = expr_eval(e, (int64_t[]){ x, y });
            r.lo = v < r.lo ? v : r.lo;
            r.hi = v > r.hi ? v : r.hi;
        }
    return r;
}

static struct span draw_span(struct rng *r)
{
    int64_t a = rng_range(r, -9, 9), b = rng_range(r, -9, 9);
    return a < b ? (struct span){ a, b } : (struct span){ b, a };
}

static const struct expr *draw(struct exprs *p, struct rng *r, const struct expr *const *var,
                               int depth)
{
    static const enum expr_kind kinds[] = { EXPR_ADD, EXPR_MUL, EXPR_DIV, EXPR_MOD, EXPR_MIN,
                                            EXPR_MAX, EXPR_LT, EXPR_EQ };
    if (depth == 0)
        return rng_range(r, 0, 3) ? var[rng_range(r, 0, 1)] : expr_const(p, rng_range(r, -5, 5));
    enum expr_kind kind = kinds[rng_range(r, 0, COUNT_OF(kinds) - 1)];
    const struct expr *a = draw(p, r, var, depth - 1);
    bool divides = kind == EXPR_DIV || kind == EXPR_MOD;
    return expr_bin(p, kind, a, divides ? expr_const(p, rng_range(r, 1, 7))
                                        : draw(p, r, var, depth - 1));
}

/* No value lies outside; and of one operator on two variables, the ends are values. */
static void spans_hold_all_values(void **state)
{
    struct rng r = rng_seed(seed);
    int exact = 0;
    (void)state;
    for (int round = 0; round < 6000; round++) {
        struct arena *a = arena_new();
        struct exprs *p = exprs_new(a);
        const struct expr *var[] = { expr_var(p, "x", -9, 9), expr_var(p, "y", -9, 9) };
        struct span s[] = { draw_span(&r), draw_span(&r) };
        struct nest n = { .span = s };
        int depth = 1 + round % 3;
        const struct expr *e = draw(p, &r, var, depth);
        struct span got = span_of(&n, e);
        struct range_of_values want = all_values(e, s);
        if (got.lo > want.lo || got.hi < want.hi)
            fail_msg("round %d of seed %llu: %lld..%lld, and not %lld..%lld", round,
                     (unsigned long long)seed, (long long)want.lo, (long long)want.hi,
                     (long long)got.lo, (long long)got.hi);
        if (depth == 1 && e->a && e->a != e->b && e->kind != EXPR_MOD) {
            assert_true(got.lo == want.lo && got.hi == want.hi);
            exact++;
        }
        arena_free(a);
    }
    assert_true(exact > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(spans_hold_all_values) };
    if (getenv("TS_SEED"))
        seed = strtoull(getenv("TS_SEED"), NULL, 10);
    printf("# TS_SEED=%llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
