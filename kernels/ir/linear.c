#include "kernels/ir/linear.h"

#include <stdlib.h>
#include <string.h>

struct lin lin_new(struct exprs *p)
{
    return (struct lin){ .p = p };
}

struct lin lin_of(struct exprs *p, const struct expr *e)
{
    struct lin l = lin_new(p);
    lin_add(&l, e, 1);
    return l;
}

static void insert(struct lin *l, int at, struct term t)
{
    if (l->n == l->cap) {
        int cap = l->cap ? 2 * l->cap : 8;
        struct term *more = scratch_alloc(l->p, (size_t)cap * sizeof *more);
        if (l->n)
            memcpy(more, l->t, (size_t)l->n * sizeof *more);
        l->t = more;
        l->cap = cap;
    }
    memmove(l->t + at + 1, l->t + at, (size_t)(l->n - at) * sizeof *l->t);
    l->t[at] = t;
    l->n++;
}

static void drop(struct lin *l, int at)
{
    l->n--;
    memmove(l->t + at, l->t + at + 1, (size_t)(l->n - at) * sizeof *l->t);
}

/* Returns the first position whose id is at least that of term. */
static int position(const struct lin *l, const struct expr *term)
{
    int lo = 0, hi = l->n;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (l->t[mid].e->id < term->id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

void lin_add_term(struct lin *l, const struct expr *term, int64_t coef)
{
    if (coef == 0)
        return;
    int at = position(l, term);
    if (at == l->n || l->t[at].e != term) {
        insert(l, at, (struct term){ term, coef });
        return;
    }
    l->t[at].coef = wrap_add(l->t[at].coef, coef);
    if (l->t[at].coef == 0)
        drop(l, at);
}

void lin_add(struct lin *l, const struct expr *e, int64_t scale)
{
    if (e->kind == EXPR_CONST) {
        l->rest = wrap_add(l->rest, wrap_mul(e->value, scale));
    } else if (e->kind == EXPR_ADD) {
        lin_add(l, e->a, scale);
        lin_add(l, e->b, scale);
    } else if (e->kind == EXPR_MUL && e->b->kind == EXPR_CONST) {
        lin_add(l, e->a, wrap_mul(scale, e->b->value));
    } else if (e->kind == EXPR_MUL && e->a->kind == EXPR_CONST) {
        lin_add(l, e->b, wrap_mul(scale, e->a->value));
    } else {
        lin_add_term(l, e, scale);
    }
}

void lin_add_lin(struct lin *l, const struct lin *m, int64_t scale)
{
    for (int i = 0; i < m->n; i++)
        lin_add_term(l, m->t[i].e, wrap_mul(m->t[i].coef, scale));
    l->rest = wrap_add(l->rest, wrap_mul(m->rest, scale));
}

int64_t lin_coef(const struct lin *l, const struct expr *term)
{
    int at = position(l, term);
    return at < l->n && l->t[at].e == term ? l->t[at].coef : 0;
}

struct range lin_range(const struct lin *l)
{
    struct range sum = { l->rest, l->rest };
    for (int i = 0; i < l->n; i++) {
        struct range coef = { l->t[i].coef, l->t[i].coef };
        sum = range_add(sum, range_mul(range_expr(l->t[i].e), coef));
    }
    return sum;
}

int64_t lin_gcd(const struct lin *l)
{
    int64_t g = 0;
    for (int i = 0; i < l->n; i++)
        g = gcd(l->t[i].coef == INT64_MIN ? 1 : l->t[i].coef, g);
    return g;
}

bool lin_divisible(const struct lin *l, int64_t c)
{
    for (int i = 0; i < l->n; i++)
        if (l->t[i].coef % c != 0)
            return false;
    return l->rest % c == 0;
}

static uint64_t magnitude(int64_t x)
{
    return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}

static bool is_part(const struct expr *e)
{
    return e->kind == EXPR_VAR && strchr(e->name, '.');
}

static int sign(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int order_vars(const struct expr *a, const struct expr *b)
{
    int order = sign((int64_t)strlen(a->name), (int64_t)strlen(b->name));
    if (!order)
        order = strcmp(a->name, b->name);
    if (!order)
        order = sign(a->lo, b->lo);
    return order ? order : sign(a->hi, b->hi);
}

/* Returns x for "x < 5" and for "5 < x", and the first operand of any other operation. */
static const struct expr *compared(const struct expr *e)
{
    return e->kind == EXPR_LT && e->a->kind == EXPR_CONST ? e->b : e->a;
}

int expr_order(const struct expr *a, const struct expr *b)
{
    int order = sign(a->kind, b->kind);
    if (a == b || order)
        return order;
    if (a->kind == EXPR_CONST)
        return sign(a->value, b->value);
    if (a->kind == EXPR_VAR)
        return order_vars(a, b);
    order = expr_order(compared(a), compared(b));
    if (!order)
        order = expr_order(a->a, b->a);
    return order ? order : expr_order(a->b, b->b);
}

/* Orders terms by |coefficient|, larger ones first.  Among equal ones, the parts of a split ("h.1")
 * come before whole variables, as the papers write "ih + rh".  The rest is by expr_order, so that
 * the order does not depend on earlier uses of the pool. */
static int by_stride(const void *x, const void *y)
{
    const struct term *a = x, *b = y;
    uint64_t ma = magnitude(a->coef), mb = magnitude(b->coef);
    if (ma != mb)
        return ma > mb ? -1 : 1;
    if (is_part(a->e) != is_part(b->e))
        return is_part(a->e) ? -1 : 1;
    return expr_order(a->e, b->e);
}

void lin_sort(struct lin *l)
{
    if (l->n > 1)
        qsort(l->t, (size_t)l->n, sizeof *l->t, by_stride);
}

const struct expr *lin_expr(const struct lin *l)
{
    struct exprs *p = l->p;
    struct scratch_mark mark = scratch_mark(p);
    const struct expr *sum = NULL;
    int64_t rest = l->rest;
    struct term *t = scratch_alloc(p, (size_t)l->n * sizeof *t);
    if (l->n)
        memcpy(t, l->t, (size_t)l->n * sizeof *t);
    lin_sort(&(struct lin){ .n = l->n, .t = t });
    if (l->n && t[0].coef < 0 && rest > 0) {              /* prints "20 - 4*h", not "-4*h + 20" */
        sum = expr_const(p, rest);
        rest = 0;
    }
    for (int i = 0; i < l->n; i++) {
        const struct expr *e = t[i].coef == 1 ? t[i].e : expr_mulc(p, t[i].e, t[i].coef);
        sum = sum ? expr_add(p, sum, e) : e;
    }
    if (!sum)
        sum = expr_const(p, rest);
    else if (rest)
        sum = expr_addc(p, sum, rest);
    scratch_release(p, mark);
    return sum;
}

struct expr_linear expr_linear(struct exprs *p, const struct expr *e)
{
    struct scratch_mark mark = scratch_mark(p);
    struct lin l = lin_of(p, e);
    struct expr_linear out = { .n = l.n, .rest = l.rest };
    out.term = ARENA_ARRAY(p->arena, const struct expr *, l.n);
    out.coef = ARENA_ARRAY(p->arena, int64_t, l.n);
    for (int i = 0; i < l.n; i++) {
        out.term[i] = l.t[i].e;
        out.coef[i] = l.t[i].coef;
    }
    scratch_release(p, mark);
    return out;
}

const struct expr *expr_from_linear(struct exprs *p, const struct expr_linear *from)
{
    struct scratch_mark mark = scratch_mark(p);
    struct lin l = lin_new(p);
    for (int i = 0; i < from->n; i++)
        lin_add(&l, from->term[i], from->coef[i]);
    l.rest = wrap_add(l.rest, from->rest);
    const struct expr *e = lin_expr(&l);
    scratch_release(p, mark);
    return e;
}

bool expr_coef(struct exprs *p, const struct expr *e, const struct expr *var, int64_t *coef)
{
    struct scratch_mark mark = scratch_mark(p);
    struct lin l = lin_of(p, e);
    bool linear = true;
    for (int i = 0; i < l.n && linear; i++)
        linear = l.t[i].e == var || !expr_uses(l.t[i].e, var);
    if (linear)
        *coef = lin_coef(&l, var);
    scratch_release(p, mark);
    return linear;
}
