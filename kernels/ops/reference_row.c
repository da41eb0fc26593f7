/* The fast reference for any node: whole rows at a time (reference_impl.h). */
#include "kernels/ops/reference_impl.h"

#include <stdlib.h>

#define SEGMENT 256                       /* row elements per pass: the scratch rows stay in L1 */
#define PARALLEL_WORK 2e6                 /* operations below which starting threads costs more */

/* Sums of products: what most index expressions are. */

void sum_add(struct arena *a, struct sum *s, const struct expr *e, int64_t scale)
{
    if (e->kind == EXPR_CONST) {
        s->rest += scale * e->value;
    } else if (e->kind == EXPR_ADD) {
        sum_add(a, s, e->a, scale);
        sum_add(a, s, e->b, scale);
    } else if (e->kind == EXPR_MUL && e->a->kind == EXPR_CONST) {
        sum_add(a, s, e->b, scale * e->a->value);
    } else if (e->kind == EXPR_MUL && e->b->kind == EXPR_CONST) {
        sum_add(a, s, e->a, scale * e->b->value);
    } else {
        struct sum_term *more = ARENA_ARRAY(a, struct sum_term, s->n + 1);
        for (int i = 0; i < s->n; i++)
            more[i] = s->term[i];
        more[s->n++] = (struct sum_term){ e, scale };
        s->term = more;
    }
}

int64_t sum_at(const struct sum *s, const int64_t *env)
{
    int64_t v = s->rest;
    for (int i = 0; i < s->n; i++) {
        const struct expr *e = s->term[i].e;
        v += s->term[i].coef * (e->kind == EXPR_VAR ? env[e->var] : expr_eval(e, env));
    }
    return v;
}

bool sum_coef(const struct sum *s, const struct expr *var, int64_t *coef)
{
    *coef = 0;
    for (int i = 0; i < s->n; i++) {
        if (s->term[i].e == var)
            *coef += s->term[i].coef;
        else if (expr_uses(s->term[i].e, var))
            return false;
    }
    return true;
}

/* Points. */

void first_point(const struct expr *const *vars, int n, int64_t *env)
{
    for (int i = 0; i < n; i++)
        env[vars[i]->var] = 0;
}

bool reference_next_point(const struct expr *const *vars, int n, int64_t *env)
{
    for (int i = n - 1; i >= 0; i--) {
        if (env[vars[i]->var] < vars[i]->hi) {
            env[vars[i]->var]++;
            return true;
        }
        env[vars[i]->var] = 0;
    }
    return false;
}

int64_t row_seek(const struct row_plan *p, int64_t i, int64_t *env)
{
    int64_t offset = 0;
    for (int d = p->n_outer - 1; d >= 0; d--) {
        int64_t extent = p->outer[d]->hi + 1, x = i % extent;
        env[p->outer[d]->var] = x;
        offset += x * p->outer_stride[d];
        i /= extent;
    }
    return offset;
}

void each_task(const struct row_plan *p, int64_t n, double work,
               void (*f)(const void *ctx, int64_t i, int64_t *env), const void *ctx)
{
    size_t n_env = (size_t)exprs_n_vars(p->g->pool) + 1;
#pragma omp parallel if (work > PARALLEL_WORK && n > 1)
    {
        int64_t *env = xcalloc(n_env, sizeof *env);
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < n; i++)
            if (!cancelled(p->cancel))
                f(ctx, i, env);
        free(env);
    }
}

/* Plans. */

/* cond, a conjunction, as tests; a < b with both sides linear becomes a - b < 0. */
static void add_tests(struct arena *a, struct row_val *v, const struct expr *cond)
{
    if (cond->kind == EXPR_AND) {
        add_tests(a, v, cond->a);
        add_tests(a, v, cond->b);
        return;
    }
    struct row_test t = { .cond = cond, .linear = cond->kind == EXPR_LT };
    if (t.linear) {
        sum_add(a, &t.diff, cond->a, 1);
        sum_add(a, &t.diff, cond->b, -1);
    }
    struct row_test *more = ARENA_ARRAY(a, struct row_test, v->n_tests + 1);
    for (int i = 0; i < v->n_tests; i++)
        more[i] = v->test[i];
    more[v->n_tests++] = t;
    v->test = more;
}

static struct row_val *compile(struct arena *a, const struct row_plan *p, const struct val *v)
{
    struct row_val *r = ARENA_NEW(a, struct row_val);
    r->kind = v->kind;
    r->value = v->value;
    r->a = v->a ? compile(a, p, v->a) : NULL;
    r->b = v->b ? compile(a, p, v->b) : NULL;
    if (v->kind == VAL_SELECT)
        add_tests(a, r, v->cond);
    if (v->kind == VAL_LOAD) {
        const struct tensor *t = &p->g->tensor[v->source];
        int64_t stride = 1;
        r->data = p->data[v->source];
        for (int d = t->rank - 1; d >= 0; d--) {
            sum_add(a, &r->flat, v->idx[d], stride);
            stride *= t->shape[d];
        }
    }
    return r;
}

/* Settles strides and tests for the row variable. */
static void set_row(struct row_val *v, const struct expr *row)
{
    if (v->a)
        set_row(v->a, row);
    if (v->b)
        set_row(v->b, row);
    v->bent = !sum_coef(&v->flat, row, &v->stride);
    for (int i = 0; i < v->n_tests; i++) {
        struct row_test *t = &v->test[i];
        t->linear = t->linear && sum_coef(&t->diff, row, &t->step);
        t->moves = expr_uses(t->cond, row);
    }
}

/* Nanoseconds, roughly, to touch one element of a row at this stride. */
static double stride_cost(int64_t stride)
{
    static const double cost[8] = { 0.1, 0.3, 0.5, 1, 1, 1, 1, 1 };
    return stride < 0 || stride > 7 ? 3 : cost[stride];
}

/* bent: the cost of a load that is not linear in the row variable. */
static double val_cost(const struct row_val *v, const struct expr *row, double bent)
{
    int64_t stride;
    double cost = (v->a ? val_cost(v->a, row, bent) : 0) + (v->b ? val_cost(v->b, row, bent) : 0);
    if (v->kind == VAL_LOAD)
        cost += sum_coef(&v->flat, row, &stride) ? stride_cost(stride) : bent;
    return cost;
}

/* Makes spatial variable d the row and the others outer. */
static void take_row(struct row_plan *p, int row)
{
    const struct tensor *out = &p->g->tensor[p->n->out];
    int64_t stride = 1;
    p->n_outer = p->n->n_spatial - 1;
    p->n_points = 1;
    for (int d = p->n->n_spatial - 1, k = p->n_outer - 1; d >= 0; d--) {
        if (d == row) {
            p->row = p->n->spatial[d];
            p->row_len = out->shape[d];
            p->row_stride = stride;
        } else {
            p->outer[k] = p->n->spatial[d];
            p->outer_stride[k--] = stride;
            p->n_points *= out->shape[d];
        }
        stride *= out->shape[d];
    }
}

/* The spatial variable with the cheapest rows: strides near 1, and long enough to repay a start. */
static int cheapest_row(const struct row_plan *p, const struct row_val *body)
{
    const struct tensor *out = &p->g->tensor[p->n->out];
    double best_cost = 0, bent = mac_product(p->n) ? 3 : 20;      /* rows of one phase are linear */
    int best = 0;
    int64_t stride = 1;
    for (int d = p->n->n_spatial - 1; d >= 0; d--) {
        double cost = stride_cost(stride) + val_cost(body, p->n->spatial[d], bent) +
                      10.0 / (double)out->shape[d];
        if (d == p->n->n_spatial - 1 || cost < best_cost) {
            best = d;
            best_cost = cost;
        }
        stride *= out->shape[d];
    }
    return best;
}

const struct row_plan *row_plan_new(struct arena *a, const struct graph *g, const struct node *n,
                                    double *const *data, const struct cancel *c)
{
    struct row_plan *p = ARENA_NEW(a, struct row_plan);
    p->a = a;
    p->g = g;
    p->n = n;
    p->data = data;
    p->cancel = c;
    struct row_val *body = compile(a, p, n->body);
    take_row(p, cheapest_row(p, body));
    set_row(body, p->row);
    p->body = body;
    p->work = (double)p->n_points * (double)p->row_len;
    for (int i = 0; i < n->n_reduce; i++)
        p->work *= (double)(n->reduce[i]->hi + 1);
    return p;
}

/* Evaluation. */

struct row_ctx { const struct row_plan *p; int64_t *env; };

static void val_row(const struct row_ctx *c, const struct row_val *v, int64_t i0, int64_t n,
                    double *out);

static int64_t floor_div(int64_t x, int64_t y)
{
    return x / y - (x % y != 0 && (x < 0) != (y < 0));
}

/* Narrows [*lo, *hi) to where diff(0) + step * i < 0. */
static void narrow(const struct row_ctx *c, const struct row_test *t, int64_t *lo, int64_t *hi)
{
    c->env[c->p->row->var] = 0;
    int64_t at0 = sum_at(&t->diff, c->env);
    if (t->step == 0) {
        if (at0 >= 0)
            *hi = *lo;
    } else if (t->step > 0) {             /* i < -at0 / step */
        int64_t end = floor_div(-at0 - 1, t->step) + 1;
        *hi = end < *hi ? end : *hi;
    } else {                              /* i > at0 / -step */
        int64_t begin = floor_div(at0, -t->step) + 1;
        *lo = begin > *lo ? begin : *lo;
    }
    if (*hi < *lo)
        *hi = *lo;
}

/* Do the tests that are not intervals hold at element i? */
static bool crooked_tests_hold(const struct row_ctx *c, const struct row_val *v, int64_t i)
{
    c->env[c->p->row->var] = i;
    for (int t = 0; t < v->n_tests; t++)
        if (!v->test[t].linear && !expr_eval(v->test[t].cond, c->env))
            return false;
    return true;
}

static bool has_crooked_test(const struct row_val *v)
{
    for (int t = 0; t < v->n_tests; t++)
        if (!v->test[t].linear && v->test[t].moves)
            return true;
    return false;
}

/* The interval where the linear tests hold takes a, but run by run where other tests change along
 * the row. */
static void select_row(const struct row_ctx *c, const struct row_val *v, int64_t i0, int64_t n,
                       double *out)
{
    int64_t lo = i0, hi = i0 + n, end = i0 + n;
    for (int t = 0; t < v->n_tests; t++)
        if (v->test[t].linear)
            narrow(c, &v->test[t], &lo, &hi);
    lo = lo < end ? lo : end;
    hi = hi < lo ? lo : hi < end ? hi : end;
    if (lo > i0)
        val_row(c, v->b, i0, lo - i0, out);
    bool runs = has_crooked_test(v);
    for (int64_t i = lo; i < hi;) {
        bool holds = crooked_tests_hold(c, v, i);
        int64_t next = runs ? i + 1 : hi;
        while (next < hi && crooked_tests_hold(c, v, next) == holds)
            next++;
        val_row(c, holds ? v->a : v->b, i, next - i, out + (i - i0));
        i = next;
    }
    if (end > hi)
        val_row(c, v->b, hi, end - hi, out + (hi - i0));
}

static void load_row(const struct row_ctx *c, const struct row_val *v, int64_t i0, int64_t n,
                     double *out)
{
    int64_t *row = &c->env[c->p->row->var];
    *row = i0;
    const double *from = v->data + sum_at(&v->flat, c->env);
    for (int64_t i = 0; i < n && !v->bent; i++)
        out[i] = from[i * v->stride];
    for (int64_t i = 0; i < n && v->bent; i++) {
        *row = i0 + i;
        out[i] = v->data[sum_at(&v->flat, c->env)];
    }
}

/* out[i] = out[i] OP right[i], or f(out[i]); the switch outside the loop */
static void arith_row(enum val_kind kind, int64_t n, double *restrict out, const double *right)
{
#define ROW(k) \
    case k: \
        for (int64_t i = 0; i < n; i++) \
            out[i] = arith(k, out[i], right[i]); \
        return;
#define MAP(k) \
    case k: \
        for (int64_t i = 0; i < n; i++) \
            out[i] = arith(k, out[i], 0); \
        return;
    switch (kind) {
    ROW(VAL_ADD) ROW(VAL_SUB) ROW(VAL_MUL) ROW(VAL_DIV) ROW(VAL_MAX) ROW(VAL_MIN)
    MAP(VAL_EXP) MAP(VAL_LOG) MAP(VAL_TANH) MAP(VAL_ERF) MAP(VAL_SQRT)
    case VAL_CONST: case VAL_LOAD: case VAL_SELECT: case VAL_KIND_COUNT: break;
    }
#undef MAP
#undef ROW
    UNREACHABLE();
}

/* out[0..n) = v at row elements i0 .. i0 + n - 1 */
static void val_row(const struct row_ctx *c, const struct row_val *v, int64_t i0, int64_t n,
                    double *out)
{
    if (v->kind == VAL_LOAD) {
        load_row(c, v, i0, n, out);
    } else if (v->kind == VAL_SELECT) {
        select_row(c, v, i0, n, out);
    } else if (v->kind == VAL_CONST) {
        for (int64_t i = 0; i < n; i++)
            out[i] = v->value;
    } else {
        double right[SEGMENT];
        val_row(c, v->a, i0, n, out);
        if (v->b)
            val_row(c, v->b, i0, n, right);
        arith_row(v->kind, n, out, right);
    }
}

/* Task: one segment of one output row. */
static void segment_task(const void *ctx, int64_t task, int64_t *env)
{
    const struct row_plan *p = ctx;
    const struct node *n = p->n;
    struct row_ctx c = { p, env };
    int64_t i0 = task / p->n_points * SEGMENT, left = p->row_len - i0;
    int64_t len = left < SEGMENT ? left : SEGMENT;
    double *out = p->data[n->out] + row_seek(p, task % p->n_points, env) + i0 * p->row_stride;
    double acc[SEGMENT], value[SEGMENT];
    for (int64_t i = 0; i < len; i++)
        acc[i] = n->init;
    first_point(n->reduce, n->n_reduce, env);
    do {
        val_row(&c, p->body, i0, len, value);
        for (int64_t i = 0; i < len; i++)
            acc[i] = combined(n->combine, acc[i], value[i]);
    } while (!cancelled(p->cancel) && reference_next_point(n->reduce, n->n_reduce, env));
    for (int64_t i = 0; i < len; i++)
        out[i * p->row_stride] = acc[i];
}

void row_eval(const struct row_plan *p)
{
    int64_t segments = (p->row_len + SEGMENT - 1) / SEGMENT;
    each_task(p, segments * p->n_points, p->work, segment_task, p);
}
