/* Rules for floor division and its remainder by a positive constant.
 *
 * Many of these rules write the operand as g*q + r so that r stays within one period of g:
 * k*g <= r < (k+1)*g everywhere.  Then
 *     (g*q + r) / g = q + k                  (g*q + r) % g = r - k*g
 *     (g*q + r) / (g*c) = (q + k) / c        (g*q + r) % (g*c) = g*((q + k) % c) + r - k*g */
#include "kernels/ir/simplify_impl.h"

#include <stdlib.h>

/* How much of a coefficient goes to r if g does not divide it.  KEEP: the whole coefficient.
 * FLOOR: its remainder in [0, g).  NEAR: its remainder nearest to 0. */
enum share { SHARE_KEEP, SHARE_FLOOR, SHARE_NEAR, SHARE_COUNT };

static int64_t remainder_of(int64_t coef, int64_t g, enum share how)
{
    int64_t rem = floor_mod(coef, g);
    if (rem == 0)
        return 0;
    if (how == SHARE_KEEP)
        return coef;
    return how == SHARE_NEAR && rem > g / 2 ? rem - g : rem;
}

/* Splits l into g*q + r; the constant of r is in [0, g). */
static void divide(const struct lin *l, int64_t g, enum share how, struct lin *q, struct lin *r)
{
    *q = lin_new(l->p);
    *r = lin_new(l->p);
    for (int i = 0; i < l->n; i++) {
        const struct term t = l->t[i];
        int64_t rem = remainder_of(t.coef, g, how);
        int64_t quo = how == SHARE_KEEP && rem ? 0 : floor_div(t.coef, g) + (rem < 0);
        lin_add_term(q, t.e, quo);
        lin_add_term(r, t.e, rem);
    }
    q->rest = floor_div(l->rest, g);
    r->rest = floor_mod(l->rest, g);
}

/* Whether x stays within one period of g. If so, *k is the number of that period. */
static bool one_period(struct range x, int64_t g, int64_t *k)
{
    *k = floor_div(x.lo, g);
    return is_tame(x) && *k == floor_div(x.hi, g);
}

/* Splits l into g*q + r with 0 <= r < g. Returns false when the bounds do not prove
 * 0 <= r < g. */
static bool split(const struct lin *l, int64_t g, enum share how, struct lin *q, struct lin *r)
{
    int64_t k;
    divide(l, g, how, q, r);
    if (!one_period(lin_range(r), g, &k))
        return false;
    q->rest += k;
    r->rest -= k * g;
    return true;
}

static bool split_any(const struct lin *l, int64_t g, struct lin *q, struct lin *r)
{
    for (enum share how = SHARE_KEEP; how < SHARE_COUNT; how++)
        if (split(l, g, how, q, r))
            return true;
    return false;
}

#define MAX_FACTORS 24

static int descending(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? 1 : a > b ? -1 : 0;
}

static int add_factor(int64_t *g, int n, int64_t f, int64_t c)
{
    for (int i = 0; i < n; i++)
        if (g[i] == f)
            return n;
    if (f > 1 && f < c && n < MAX_FACTORS)
        g[n++] = f;
    return n;
}

/* Collects up to MAX_FACTORS proper divisors of c, largest first: the gcd of c and each
 * coefficient, and the gcd of every two of these.  Returns how many there are. */
static int common_factors(const struct lin *l, int64_t c, int64_t *g)
{
    int n = 0;
    for (int i = 0; i < l->n; i++)
        n = add_factor(g, n, gcd(l->t[i].coef, c), c);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            n = add_factor(g, n, gcd(g[i], g[j]), c);
    qsort(g, (size_t)n, sizeof *g, descending);
    return n;
}

const struct expr *rule_div_one(struct redex *r)
{
    return r->c == 1 ? r->a : NULL;
}

const struct expr *rule_div_bounds(struct redex *r)
{
    int64_t k;
    return one_period(r->range, r->c, &k) ? expr_const(r->p, k) : NULL;
}

const struct expr *rule_div_split(struct redex *r)
{
    struct lin q, rem;
    return is_tame(r->range) && split_any(&r->l, r->c, &q, &rem) ? lin_expr(&q) : NULL;
}

const struct expr *rule_div_pull(struct redex *r)
{
    struct lin q, rem;
    if (!is_tame(r->range))
        return NULL;
    divide(&r->l, r->c, SHARE_KEEP, &q, &rem);
    if ((q.n == 0 && q.rest == 0) || !is_tame(lin_range(&rem)))
        return NULL;
    lin_add_term(&q, expr_div(r->p, lin_expr(&rem), r->b), 1);
    return lin_expr(&q);
}

const struct expr *rule_div_factor(struct redex *r)
{
    int64_t g[MAX_FACTORS];
    struct lin q, rem;
    int n = is_tame(r->range) ? common_factors(&r->l, r->c, g) : 0;
    for (int i = 0; i < n; i++)
        if (split_any(&r->l, g[i], &q, &rem))
            return expr_divc(r->p, lin_expr(&q), r->c / g[i]);
    return NULL;
}

/* Rewrites floor((floor(x/a) + y) / b), with an integer y, to floor((x + a*y) / (a*b)). */
const struct expr *rule_div_div(struct redex *r)
{
    for (int i = 0; i < r->l.n; i++) {
        const struct term t = r->l.t[i];
        int64_t ab;
        if (t.e->kind != EXPR_DIV || t.coef != 1 || !is_tame(range_expr(t.e->a)))
            continue;
        int64_t a = t.e->b->value;
        if (__builtin_mul_overflow(a, r->c, &ab) || ab > MAX_DIVISOR)
            continue;
        struct lin x = lin_of(r->p, t.e->a);
        lin_add_lin(&x, &r->l, a);
        lin_add_term(&x, t.e, -a);
        if (is_tame(r->range) && is_tame(range_mul(r->range, (struct range){ a, a })))
            return expr_divc(r->p, lin_expr(&x), ab);
    }
    return NULL;
}

const struct expr *rule_div_mod(struct redex *r)
{
    const struct expr *x = r->a;
    if (x->kind != EXPR_MOD || x->b->value % r->c != 0)
        return NULL;
    return expr_modc(r->p, expr_div(r->p, x->a, r->b), x->b->value / r->c);
}

const struct expr *rule_mod_one(struct redex *r)
{
    return r->c == 1 ? expr_const(r->p, 0) : NULL;
}

const struct expr *rule_mod_bounds(struct redex *r)
{
    int64_t k;
    return one_period(r->range, r->c, &k) ? expr_addc(r->p, r->a, -k * r->c) : NULL;
}

const struct expr *rule_mod_split(struct redex *r)
{
    struct lin q, rem;
    return is_tame(r->range) && split_any(&r->l, r->c, &q, &rem) ? lin_expr(&rem) : NULL;
}

/* Rewrites (g*(x % a) + y) % c to (g*x + y) % c when c divides g*a. */
const struct expr *rule_mod_mod(struct redex *r)
{
    for (int i = 0; i < r->l.n; i++) {
        const struct term t = r->l.t[i];
        int64_t ga;
        if (t.e->kind != EXPR_MOD || __builtin_mul_overflow(t.coef, t.e->b->value, &ga))
            continue;
        struct lin x = lin_of(r->p, r->a);
        lin_add_term(&x, t.e, -t.coef);
        lin_add(&x, t.e->a, t.coef);
        if (ga % r->c == 0 && is_tame(r->range) && is_tame(lin_range(&x)))
            return expr_mod(r->p, lin_expr(&x), r->b);
    }
    return NULL;
}

/* Reduces the size of each coefficient to below c, and keeps its sign: with c = 4, -x does not
 * become 3*x.  Reduces the constant to [0, c). */
const struct expr *rule_mod_reduce(struct redex *r)
{
    struct lin x = lin_new(r->p);
    if (!is_tame(r->range))
        return NULL;
    for (int i = 0; i < r->l.n; i++)
        lin_add_term(&x, r->l.t[i].e, r->l.t[i].coef % r->c);
    x.rest = floor_mod(r->l.rest, r->c);
    return is_tame(lin_range(&x)) ? expr_mod(r->p, lin_expr(&x), r->b) : NULL;
}

/* Splits with SHARE_KEEP only.  The remainder is a part of the result: with FLOOR or NEAR, a
 * variable could be both in the remainder and in q. */
const struct expr *rule_mod_factor(struct redex *r)
{
    int64_t g[MAX_FACTORS];
    struct lin q, rem;
    int n = is_tame(r->range) ? common_factors(&r->l, r->c, g) : 0;
    for (int i = 0; i < n; i++) {
        if (!split(&r->l, g[i], SHARE_KEEP, &q, &rem))
            continue;
        lin_add_term(&rem, expr_modc(r->p, lin_expr(&q), r->c / g[i]), g[i]);
        return lin_expr(&rem);
    }
    return NULL;
}
