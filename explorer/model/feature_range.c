/* Intervals of index expressions, and trip counts of loops with their own bounds. */
#include "explorer/model/features_impl.h"
#include "kernels/base/number.h"

/* feature_mean_trips evaluates the bounds for at most this many combinations of outer variables */
#define MOST_POINTS 256

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static struct span product(struct span a, struct span b, struct span known)
{
    int64_t p[4];
    if (__builtin_mul_overflow(a.lo, b.lo, &p[0]) || __builtin_mul_overflow(a.lo, b.hi, &p[1]) ||
        __builtin_mul_overflow(a.hi, b.lo, &p[2]) || __builtin_mul_overflow(a.hi, b.hi, &p[3]))
        return known;
    return (struct span){ least(least(p[0], p[1]), least(p[2], p[3])),
                          most(most(p[0], p[1]), most(p[2], p[3])) };
}

static struct span sum(struct span a, struct span b, struct span known)
{
    struct span s;
    if (__builtin_add_overflow(a.lo, b.lo, &s.lo) || __builtin_add_overflow(a.hi, b.hi, &s.hi))
        return known;
    return s;
}

/* Returns the interval of a % c.  It is exact if all values of `a` have the same a / c. */
static struct span remainder_of(struct span a, int64_t c)
{
    int64_t q = floor_div(a.lo, c);
    if (floor_div(a.hi, c) != q)
        return (struct span){ 0, c - 1 };
    return (struct span){ a.lo - q * c, a.hi - q * c };
}

static struct span binary(const struct expr *e, struct span a, struct span b, struct span known)
{
    switch (e->kind) {
    case EXPR_ADD: return sum(a, b, known);
    case EXPR_MUL: return product(a, b, known);
    case EXPR_DIV: return b.lo < 1 ? known
                        : (struct span){ floor_div(a.lo, a.lo < 0 ? b.lo : b.hi),
                                         floor_div(a.hi, a.hi < 0 ? b.hi : b.lo) };
    case EXPR_MOD: return b.lo < 1 || b.lo != b.hi ? known : remainder_of(a, b.lo);
    case EXPR_MIN: return (struct span){ least(a.lo, b.lo), least(a.hi, b.hi) };
    case EXPR_MAX: return (struct span){ most(a.lo, b.lo), most(a.hi, b.hi) };
    case EXPR_LT: return (struct span){ a.hi < b.lo, a.lo < b.hi };
    case EXPR_EQ: return (struct span){ a.lo == a.hi && b.lo == b.hi && a.lo == b.lo,
                                        a.lo <= b.hi && b.lo <= a.hi };
    case EXPR_AND: return (struct span){ a.lo && b.lo, a.hi && b.hi };
    case EXPR_CONST: case EXPR_VAR: case EXPR_KIND_COUNT: break;
    }
    return known;
}

struct span span_of(const struct nest *n, const struct expr *e)
{
    struct span known = { e->lo, e->hi };
    if (e->kind == EXPR_CONST)
        return (struct span){ e->value, e->value };
    if (e->kind == EXPR_VAR)
        return n->span[e->var];
    struct span s = binary(e, span_of(n, e->a), span_of(n, e->b), known);
    s.lo = most(s.lo, known.lo);
    s.hi = least(s.hi, known.hi);
    return s.lo <= s.hi ? s : known;
}

void span_bind(struct nest *n, const struct tree *loop)
{
    struct span s = { 0, loop->extent - 1 };
    if (loop->begin)
        s.lo = span_of(n, loop->begin).lo;
    if (loop->end)
        s.hi = span_of(n, loop->end).hi - 1;
    if (s.hi < s.lo)                      /* a loop that never runs counts as one iteration */
        s.hi = s.lo;
    n->span[loop->var->var] = s;
}

static int64_t trips_at(const struct nest *n, const struct tree *loop)
{
    int64_t begin = loop->begin ? expr_eval(loop->begin, n->value) : 0;
    int64_t end = loop->end ? expr_eval(loop->end, n->value) : loop->extent;
    return end > begin ? end - begin : 0;
}

static bool bound_uses(const struct tree *loop, const struct expr *var)
{
    return (loop->begin && expr_uses(loop->begin, var)) || (loop->end && expr_uses(loop->end, var));
}

double feature_mean_trips(struct nest *n, const struct tree *loop, const int *outer, int n_outer)
{
    const struct expr *var[MAX_DIMS];
    int n_vars = 0;
    double points = 1, total = 0;
    struct span s = n->span[loop->var->var];
    if (n->literal || (!loop->begin && !loop->end))
        return (double)(s.hi - s.lo + 1);
    for (int i = 0; i < n_outer; i++) {
        const struct expr *v = n->level.data[outer[i]].loop->var;
        if (bound_uses(loop, v) && n_vars < MAX_DIMS) {
            var[n_vars++] = v;
            points *= (double)(n->span[v->var].hi - n->span[v->var].lo + 1);
        }
    }
    int looks = points < MOST_POINTS ? (int)points : MOST_POINTS;
    for (int k = 0; k < looks; k++) {     /* evenly spread combinations, numbered in mixed radix */
        int64_t at = (int64_t)((k + 0.5) * points / looks);
        for (int i = n_vars - 1; i >= 0; i--) {
            struct span of = n->span[var[i]->var];
            int64_t extent = of.hi - of.lo + 1;
            n->value[var[i]->var] = of.lo + at % extent;
            at /= extent;
        }
        total += (double)trips_at(n, loop);
    }
    return looks > 0 ? total / looks : 0;
}
