/* Rules for min, max, comparisons and conjunctions.  The rules for min, max and comparisons use the
 * difference d = a - b of the operands as one linear form: a < b is d < 0.  The bounds of the form
 * d can be tighter than the difference of the bounds of a and b. */
#include "kernels/ir/simplify_impl.h"

#include <stdlib.h>

static bool tame_operands(const struct redex *r)
{
    return is_tame(r->range) && is_tame(range_expr(r->a)) && is_tame(range_expr(r->b));
}

const struct expr *rule_minmax_bounds(struct redex *r)
{
    const struct expr *first = r->e->kind == EXPR_MIN ? r->a : r->b;
    const struct expr *second = r->e->kind == EXPR_MIN ? r->b : r->a;
    if (!tame_operands(r))
        return NULL;
    return r->range.hi <= 0 ? first : r->range.lo >= 0 ? second : NULL;
}

const struct expr *rule_minmax_order(struct redex *r)
{
    bool a_const = r->a->kind == EXPR_CONST, b_const = r->b->kind == EXPR_CONST;
    if (b_const || (!a_const && expr_order(r->a, r->b) <= 0))
        return NULL;
    return expr_bin(r->p, r->e->kind, r->b, r->a);
}

const struct expr *rule_lt_bounds(struct redex *r)
{
    if (!tame_operands(r))
        return NULL;
    if (r->range.hi < 0)
        return expr_const(r->p, 1);
    return r->range.lo >= 0 ? expr_const(r->p, 0) : NULL;
}

/* Rewrites x / c + y < 0 to x + c*y < 0.  Rewrites y - x / c < 0, which is y + 1 <= x / c, to
 * c*y + c <= x. */
const struct expr *rule_lt_div(struct redex *r)
{
    for (int i = 0; i < r->l.n && tame_operands(r); i++) {
        const struct term t = r->l.t[i];
        if (t.e->kind != EXPR_DIV || (t.coef != 1 && t.coef != -1))
            continue;
        int64_t c = t.e->b->value;
        struct range y = range_add(r->range, range_mul(range_expr(t.e), (struct range){ -1, 1 }));
        if (c > MAX_DIVISOR || !is_tame(range_expr(t.e->a))
            || !is_tame(range_mul(y, (struct range){ 2 * c, 2 * c })))
            continue;
        struct lin x = lin_new(r->p);
        lin_add_lin(&x, &r->l, c);
        lin_add_term(&x, t.e, -t.coef * c);
        lin_add(&x, t.e->a, t.coef);
        x.rest += t.coef < 0 ? c - 1 : 0;
        return expr_lt(r->p, lin_expr(&x), expr_const(r->p, 0));
    }
    return NULL;
}

/* Rewrites g*q + rem < 0 to q <= floor((-1 - rem) / g).  Returns NULL unless this bound is the same
 * for every value of rem, and q has terms. */
static const struct expr *drop_digit(struct redex *r, int64_t g)
{
    struct lin q = lin_new(r->p), rem = lin_new(r->p);
    rem.rest = r->l.rest;
    for (int i = 0; i < r->l.n; i++) {
        const struct term t = r->l.t[i];
        if (t.coef % g == 0)
            lin_add_term(&q, t.e, t.coef / g);
        else
            lin_add_term(&rem, t.e, t.coef);
    }
    struct range x = lin_range(&rem);
    if (q.n == 0 || !is_tame(x) || floor_div(-1 - x.lo, g) != floor_div(-1 - x.hi, g))
        return NULL;
    return expr_lt(r->p, lin_expr(&q), expr_const(r->p, floor_div(-1 - x.lo, g) + 1));
}

const struct expr *rule_lt_digit(struct redex *r)
{
    int64_t best = 0;
    const struct expr *after = NULL;
    for (int i = -1; i < r->l.n && tame_operands(r); i++) {
        int64_t g = i < 0 ? lin_gcd(&r->l) : r->l.t[i].coef;
        g = g < 0 ? -g : g;
        const struct expr *x = g > 1 && g > best ? drop_digit(r, g) : NULL;
        if (x) {
            after = x;
            best = g;
        }
    }
    return after;
}

/* Splits l into plus - minus + rest, with positive coefficients in plus and minus. */
static void take_sides(const struct lin *l, struct lin *plus, struct lin *minus)
{
    *plus = lin_new(l->p);
    *minus = lin_new(l->p);
    for (int i = 0; i < l->n; i++) {
        if (l->t[i].coef > 0)
            lin_add_term(plus, l->t[i].e, l->t[i].coef);
        else
            lin_add_term(minus, l->t[i].e, -l->t[i].coef);
    }
}

/* Rewrites plus - minus + rest < 0 to plus < minus - rest, or to rest < minus if plus is empty. */
const struct expr *rule_lt_sides(struct redex *r)
{
    struct lin plus, minus;
    if (!tame_operands(r))
        return NULL;
    take_sides(&r->l, &plus, &minus);
    if (plus.n == 0) {
        plus.rest = r->l.rest;
        return expr_lt(r->p, lin_expr(&plus), lin_expr(&minus));
    }
    minus.rest = -r->l.rest;
    return expr_lt(r->p, lin_expr(&plus), lin_expr(&minus));
}

const struct expr *rule_eq_bounds(struct redex *r)
{
    if (!tame_operands(r))
        return NULL;
    if (r->range.lo > 0 || r->range.hi < 0)
        return expr_const(r->p, 0);
    return r->range.lo == 0 && r->range.hi == 0 ? expr_const(r->p, 1) : NULL;
}

const struct expr *rule_eq_gcd(struct redex *r)
{
    int64_t g = lin_gcd(&r->l);
    if (g <= 1 || !tame_operands(r))
        return NULL;
    if (r->l.rest % g != 0)
        return expr_const(r->p, 0);
    struct lin x = lin_new(r->p);
    for (int i = 0; i < r->l.n; i++)
        lin_add_term(&x, r->l.t[i].e, r->l.t[i].coef / g);
    x.rest = r->l.rest / g;
    return expr_eq(r->p, lin_expr(&x), expr_const(r->p, 0));
}

/* Puts the term with the largest |coefficient| (of several, the first in canonical order) and all
 * terms of the same sign on the left side, the terms of the other sign on the right side. */
const struct expr *rule_eq_sides(struct redex *r)
{
    struct lin plus, minus;
    int64_t lead = 0;
    if (!tame_operands(r))
        return NULL;
    for (int i = 0; i < r->l.n; i++)
        if (llabs(r->l.t[i].coef) > llabs(lead))
            lead = r->l.t[i].coef;
    take_sides(&r->l, &plus, &minus);
    struct lin *left = lead > 0 ? &plus : &minus, *right = lead > 0 ? &minus : &plus;
    right->rest = lead > 0 ? -r->l.rest : r->l.rest;
    return expr_eq(r->p, lin_expr(left), lin_expr(right));
}

static bool is_truth(const struct expr *e)
{
    return e->lo >= 0 && e->hi <= 1;
}

static bool is_true(const struct expr *e)
{
    return e->lo > 0 || e->hi < 0;
}

const struct expr *rule_and_const(struct redex *r)
{
    if (expr_is_const(r->a, 0) || expr_is_const(r->b, 0))
        return expr_const(r->p, 0);
    if (is_true(r->a) && is_true(r->b))
        return expr_const(r->p, 1);
    if (is_true(r->a) && is_truth(r->b))
        return r->b;
    return is_true(r->b) && is_truth(r->a) ? r->a : NULL;
}

/* Adds the conditions of conjunction e to `list`, a linear form that serves as a set: each
 * condition once, and none that is always true. */
static void add_conditions(struct lin *list, const struct expr *e)
{
    if (e->kind == EXPR_AND) {
        add_conditions(list, e->a);
        add_conditions(list, e->b);
    } else if (!is_true(e) && lin_coef(list, e) == 0) {
        lin_add_term(list, e, 1);
    }
}

static int by_order(const void *x, const void *y)
{
    const struct term *a = x, *b = y;
    return expr_order(a->e, b->e);
}

/* Builds the conjunction of the list. `x && 1` turns a number into a truth value. */
static const struct expr *conjunction(struct lin *list)
{
    if (list->n > 1)
        qsort(list->t, (size_t)list->n, sizeof *list->t, by_order);
    const struct expr *all = list->n ? list->t[0].e : expr_const(list->p, 1);
    if (list->n == 1 && !is_truth(all))
        return expr_and(list->p, all, expr_const(list->p, 1));
    for (int i = 1; i < list->n; i++)
        all = expr_and(list->p, all, list->t[i].e);
    return all;
}

const struct expr *rule_and_list(struct redex *r)
{
    struct lin list = lin_new(r->p);
    add_conditions(&list, r->e);
    return conjunction(&list);
}

static bool tame_comparison(const struct expr *e)
{
    return e->kind == EXPR_LT && is_tame(range_expr(e->a)) && is_tame(range_expr(e->b));
}

/* Returns (x - y) + sign * (u - v) for the conditions x < y and u < v. */
static struct lin difference(struct exprs *p, const struct expr *xy, const struct expr *uv,
                             int sign)
{
    struct lin l = lin_of(p, xy->a);
    lin_add(&l, xy->b, -1);
    lin_add(&l, uv->a, sign);
    lin_add(&l, uv->b, -sign);
    return l;
}

/* Whether u < v (`stronger`) implies x < y (`weaker`).  It does when (x - y) - (u - v) is a
 * constant that is at most 0. */
static bool implies(struct exprs *p, const struct expr *stronger, const struct expr *weaker)
{
    if (!tame_comparison(stronger) || !tame_comparison(weaker))
        return false;
    struct lin l = difference(p, weaker, stronger, -1);
    return l.n == 0 && l.rest <= 0;
}

/* Whether x < y and u < v exclude each other.  Where both hold, x - y and u - v are at most -1, so
 * their sum is at most -2. */
static bool exclude(struct exprs *p, const struct expr *xy, const struct expr *uv)
{
    if (!tame_comparison(xy) || !tame_comparison(uv))
        return false;
    struct lin l = difference(p, xy, uv, 1);
    return l.n == 0 && l.rest >= -1;
}

const struct expr *rule_and_never(struct redex *r)
{
    struct lin list = lin_new(r->p);
    add_conditions(&list, r->e);
    for (int i = 0; i < list.n; i++)
        for (int j = 0; j < i; j++)
            if (exclude(r->p, list.t[i].e, list.t[j].e))
                return expr_const(r->p, 0);
    return NULL;
}

const struct expr *rule_and_implied(struct redex *r)
{
    struct lin list = lin_new(r->p);
    add_conditions(&list, r->e);
    for (int i = 0; i < list.n; i++)
        for (int j = 0; j < list.n; j++) {
            if (i == j || !implies(r->p, list.t[i].e, list.t[j].e))
                continue;
            lin_add_term(&list, list.t[j].e, -1);
            return conjunction(&list);
        }
    return NULL;
}
