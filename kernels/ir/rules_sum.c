/* Rules for + and *.  A sum is one linear form.  The important rules join the digits x / c and
 * x % c of a number x to x again.  Such sums of digits come from reading a tensor through a layout
 * and its inverse. */
#include "kernels/ir/simplify_impl.h"

const struct expr *rule_fold(struct redex *r)
{
    const struct expr *e = r->e;
    if (e->a->kind != EXPR_CONST || e->b->kind != EXPR_CONST)
        return NULL;
    return expr_const(r->p, expr_eval(e, NULL));
}

const struct expr *rule_add_zero(struct redex *r)
{
    if (expr_is_const(r->b, 0))
        return r->a;
    return expr_is_const(r->a, 0) ? r->b : NULL;
}

const struct expr *rule_mul_zero(struct redex *r)
{
    return expr_is_const(r->a, 0) || expr_is_const(r->b, 0) ? expr_const(r->p, 0) : NULL;
}

const struct expr *rule_mul_one(struct redex *r)
{
    if (expr_is_const(r->b, 1))
        return r->a;
    return expr_is_const(r->a, 1) ? r->b : NULL;
}

static bool is_product(const struct expr *e)
{
    return e->kind == EXPR_MUL && e->a->kind != EXPR_CONST && e->b->kind != EXPR_CONST;
}

/* Divides *e by the greatest common factor of its coefficients and its constant. Returns that
 * factor. */
static int64_t take_content(struct exprs *p, const struct expr **e)
{
    struct lin l = lin_of(p, *e);
    int64_t g = lin_gcd(&l);
    if (g > 1)
        g = gcd(l.rest, g);
    if (g <= 1)
        return 1;
    for (int i = 0; i < l.n; i++)
        l.t[i].coef /= g;
    l.rest /= g;
    *e = lin_expr(&l);
    return g;
}

const struct expr *rule_mul_content(struct redex *r)
{
    const struct expr *a = r->a, *b = r->b;
    if (!is_product(r->e) || !is_tame(range_expr(a)) || !is_tame(range_expr(b)))
        return NULL;
    int64_t g = take_content(r->p, &a), h = take_content(r->p, &b);
    if (g == 1 && h == 1)
        return NULL;
    return expr_mulc(r->p, expr_mul(r->p, a, b), wrap_mul(g, h));
}

const struct expr *rule_mul_order(struct redex *r)
{
    return is_product(r->e) && expr_order(r->b, r->a) < 0 ? expr_mul(r->p, r->b, r->a) : NULL;
}

/* Sets *out to x * y.  Returns false when the product exceeds MAX_DIVISOR in size, so that divisors
 * made by rules cannot overflow. */
static bool small_product(int64_t x, int64_t y, int64_t *out)
{
    return !__builtin_mul_overflow(x, y, out)
        && *out >= -MAX_DIVISOR && *out <= MAX_DIVISOR;
}

static const struct expr *quotient(struct exprs *p, const struct expr *x, int64_t c)
{
    return c == 1 ? x : expr_simplify(p, expr_divc(p, x, c));
}

/* Replaces terms i and j of l by m * e. */
static const struct expr *replace(struct lin *l, int i, int j, const struct expr *e, int64_t m)
{
    struct lin sum = lin_new(l->p);
    for (int k = 0; k < l->n; k++)
        if (k != i && k != j)
            lin_add_term(&sum, l->t[k].e, l->t[k].coef);
    sum.rest = l->rest;
    lin_add(&sum, e, m);
    return lin_expr(&sum);
}

/* Whether terms i and j of l are m*b*x and m*(y % b), where x is of kind `high`, and the bounds of
 * the operands are tame. */
static bool is_digit_pair(const struct lin *l, int i, int j, enum expr_kind high)
{
    int64_t k;
    const struct expr *x = l->t[i].e, *y = l->t[j].e;
    if (i == j || x->kind != high || y->kind != EXPR_MOD)
        return false;
    if (!is_tame(range_expr(x->a)) || !is_tame(range_expr(y->a)))
        return false;
    return small_product(l->t[j].coef, y->b->value, &k) && k == l->t[i].coef;
}

/* Joins the terms of x / (a*b) and y % b to a term of z = x / a, if they are the quotient and the
 * remainder of z by b.  y need only equal z modulo b, because rules for % may have reduced y. */
static const struct expr *join(struct redex *r, int i, int j)
{
    const struct expr *high = r->l.t[i].e, *low = r->l.t[j].e;
    int64_t b = low->b->value;
    if (high->b->value % b != 0)
        return NULL;
    const struct expr *x = quotient(r->p, high->a, high->b->value / b);
    struct lin apart = lin_of(r->p, x);
    lin_add(&apart, low->a, -1);
    if (!lin_divisible(&apart, b))
        return NULL;
    return replace(&r->l, i, j, x, r->l.t[j].coef);
}

/* Combines the digits b*(x % a) + y % b into one, (b*x + y % b) % (a*b), if b*x + y % b simplifies
 * to fewer / and %. */
static const struct expr *join_digits(struct redex *r, int i, int j)
{
    const struct expr *high = r->l.t[i].e, *low = r->l.t[j].e;
    int64_t a = high->b->value, b = low->b->value, ab;
    if (!small_product(a, b, &ab))
        return NULL;
    struct lin x = lin_new(r->p);
    lin_add(&x, high->a, b);
    lin_add_term(&x, low, 1);
    if (!is_tame(lin_range(&x)))
        return NULL;
    const struct expr *number = expr_simplify(r->p, lin_expr(&x));
    if (node_of(number)->n_divmod >= node_of(high->a)->n_divmod + node_of(low)->n_divmod)
        return NULL;
    return replace(&r->l, i, j, expr_modc(r->p, number, ab), r->l.t[j].coef);
}

static const struct expr *each_pair(struct redex *r, enum expr_kind high,
                                    const struct expr *(*f)(struct redex *, int, int))
{
    for (int i = 0; i < r->l.n; i++) {
        if (r->l.t[i].e->kind != high)
            continue;
        for (int j = 0; j < r->l.n; j++) {
            const struct expr *after = is_digit_pair(&r->l, i, j, high) ? f(r, i, j) : NULL;
            if (after)
                return after;
        }
    }
    return NULL;
}

const struct expr *rule_sum_join(struct redex *r)
{
    return each_pair(r, EXPR_DIV, join);
}

const struct expr *rule_sum_digits(struct redex *r)
{
    return each_pair(r, EXPR_MOD, join_digits);
}

/* Whether l contains every term of m * x, in any order.  The constants of l and x need not match:
 * the caller adjusts the constant. */
static bool contains(const struct lin *l, const struct lin *x, int64_t m)
{
    int n = 0;
    for (int i = 0; i < l->n; i++) {
        int64_t coef = wrap_mul(m, lin_coef(x, l->t[i].e));
        n += coef != 0 && coef == l->t[i].coef;
    }
    return n == x->n;
}

/* Returns l without term i, minus m*x, plus k*e. */
static const struct expr *exchange(struct lin *l, int i, const struct lin *x, int64_t m,
                                   const struct expr *e, int64_t k)
{
    struct lin sum = lin_new(l->p);
    lin_add_lin(&sum, l, 1);
    lin_add_term(&sum, l->t[i].e, wrap_sub(0, l->t[i].coef));
    lin_add_lin(&sum, x, wrap_sub(0, m));
    lin_add(&sum, e, k);
    return lin_expr(&sum);
}

/* Rewrites m*y - m*b*(y / b) to m*(y % b), where term i is -m*b * (x / (a*b)) and y = x / a. */
static const struct expr *to_mod(struct redex *r, int i, int64_t a)
{
    const struct term t = r->l.t[i];
    int64_t b = t.e->b->value / a;
    if (b == 1 || t.coef % b != 0)
        return NULL;
    const struct expr *y = quotient(r->p, t.e->a, a);
    struct lin ly = lin_of(r->p, y);
    int64_t m = wrap_sub(0, t.coef / b);
    if (!contains(&r->l, &ly, m))
        return NULL;
    return exchange(&r->l, i, &ly, m, expr_modc(r->p, y, b), m);
}

/* Tries to_mod on each quotient q of the sum.  a is first 1, then the divisor of each other
 * quotient, if it divides the divisor of q. */
const struct expr *rule_sum_to_mod(struct redex *r)
{
    for (int i = 0; i < r->l.n; i++) {
        const struct expr *q = r->l.t[i].e, *after;
        if (q->kind != EXPR_DIV || !is_tame(range_expr(q->a)))
            continue;
        after = to_mod(r, i, 1);
        for (int j = 0; j < r->l.n && !after; j++) {
            const struct expr *other = r->l.t[j].e;
            if (other->kind == EXPR_DIV && other != q && q->b->value % other->b->value == 0)
                after = to_mod(r, i, other->b->value);
        }
        if (after)
            return after;
    }
    return NULL;
}

const struct expr *rule_sum_to_div(struct redex *r)
{
    for (int i = 0; i < r->l.n; i++) {
        const struct term t = r->l.t[i];
        int64_t k;
        if (t.e->kind != EXPR_MOD || !is_tame(range_expr(t.e->a)))
            continue;
        struct lin x = lin_of(r->p, t.e->a);
        int64_t m = wrap_sub(0, t.coef);
        if (!small_product(t.e->b->value, m, &k) || !contains(&r->l, &x, m))
            continue;
        return exchange(&r->l, i, &x, m, expr_div(r->p, t.e->a, t.e->b), k);
    }
    return NULL;
}

const struct expr *rule_sum_collect(struct redex *r)
{
    return is_product(r->e) ? NULL : lin_expr(&r->l);
}
