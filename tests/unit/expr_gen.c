#include "tests/unit/expr_gen.h"

static const int64_t divisors[] = { 1, 2, 2, 3, 4, 4, 5, 6, 8, 8, 12, 16, 24 };
static const int64_t factors[] = { -8, -4, -3, -2, -1, 0, 1, 2, 3, 4, 4, 6, 8, 8, 12, 16, 17 };
#define PICK(r, array) (array)[rng_range((r), 0, COUNT_OF(array) - 1)]

struct space random_space(struct rng *r, struct arena *a)
{
    static const char *const names[] = { "i", "j", "k" };
    struct space s = { .p = exprs_new(a), .n = (int)rng_range(r, 1, 3) };
    for (int i = 0; i < s.n; i++) {
        int64_t extent = rng_range(r, 0, s.n == 3 ? 4 : s.n == 2 ? 9 : 40);
        int64_t lo = rng_range(r, 0, 1) ? 0 : rng_range(r, -7, 5);
        s.var[i] = expr_var(s.p, names[i], lo, lo + extent);
    }
    return s;
}

static const struct expr *random_leaf(struct rng *r, const struct space *s)
{
    if (rng_range(r, 0, 3) == 0)
        return expr_const(s->p, rng_range(r, -9, 20));
    return s->var[rng_range(r, 0, s->n - 1)];
}

const struct expr *random_expr(struct rng *r, const struct space *s, int depth)
{
    static const enum expr_kind kinds[] = {
        EXPR_ADD, EXPR_ADD, EXPR_ADD, EXPR_ADD, EXPR_MUL, EXPR_MUL, EXPR_MUL,
        EXPR_DIV, EXPR_DIV, EXPR_DIV, EXPR_MOD, EXPR_MOD, EXPR_MOD,
        EXPR_MIN, EXPR_MAX, EXPR_LT, EXPR_EQ, EXPR_AND,
    };
    if (depth == 0 || rng_range(r, 0, 9) == 0)
        return random_leaf(r, s);
    enum expr_kind kind = PICK(r, kinds);
    const struct expr *a = random_expr(r, s, depth - 1);
    if (kind == EXPR_DIV || kind == EXPR_MOD)
        return expr_bin(s->p, kind, a, expr_const(s->p, PICK(r, divisors)));
    if (kind == EXPR_MUL && rng_range(r, 0, 5) > 0)
        return expr_mulc(s->p, a, PICK(r, factors));
    return expr_bin(s->p, kind, a, random_expr(r, s, depth - 1));
}

const struct expr *random_digits(struct rng *r, const struct space *s, int depth)
{
    struct exprs *p = s->p;
    const struct expr *x = random_expr(r, s, depth), *sum = expr_const(p, 0);
    int64_t unit = 1, weight = PICK(r, factors);
    for (int i = 0; i < 3; i++) {
        int64_t base = PICK(r, divisors);
        const struct expr *digit = expr_divc(p, x, unit);
        if (i < 2)
            digit = expr_modc(p, digit, base);
        else if (rng_range(r, 0, 3) == 0)
            digit = expr_min(p, digit, expr_const(p, rng_range(r, 0, 9)));
        int64_t slip = rng_range(r, 0, 9) == 0 ? rng_range(r, -1, 1) : 0;
        sum = expr_add(p, sum, expr_mulc(p, digit, weight * (unit + slip)));
        unit *= base;
    }
    int64_t c = PICK(r, divisors);
    int64_t how = rng_range(r, 0, 3);
    return how == 0 ? expr_divc(p, sum, c) : how == 1 ? expr_modc(p, sum, c)
         : how == 2 ? expr_sub(p, sum, expr_mulc(p, x, weight)) : sum;
}
