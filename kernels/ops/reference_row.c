/* The fast reference for any node: whole rows at a time (reference_impl.h). */
#include "kernels/ops/reference_impl.h"

#include <stdlib.h>

#define PARALLEL_WORK 2e6  /* with fewer operations, starting threads costs more than it saves */

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

/* Sets *coef to the factor of var. Returns false when var occurs inside a non-linear term. */
static bool sum_coef(const struct sum *s, const struct expr *var, int64_t *coef)
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

/* Sets the outer variables in env to point number i. Returns the offset of its output row. */
static int64_t row_seek(const struct row_plan *p, int64_t i, int64_t *env)
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
            if (!cancelled(p->how.cancel))
                f(ctx, i, env);
        free(env);
    }
}

/* Plans. */

/* Adds cond, a conjunction, to the tests of v. Linear a < b becomes a - b < 0. */
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

static bool loads(const struct row_val *v, const double *data)
{
    return v && ((v->kind == VAL_LOAD && v->data == data) || loads(v->a, data)
                 || loads(v->b, data));
}

/* Whether a and b load the same tensor. */
static bool share_tensor(const struct row_val *a, const struct row_val *b)
{
    if (a->kind == VAL_LOAD)
        return loads(b, a->data);
    return (a->a && share_tensor(a->a, b)) || (a->b && share_tensor(a->b, b));
}

static struct row_val *compile(struct arena *a, const struct row_plan *p, const struct val *v)
{
    struct row_val *r = ARENA_NEW(a, struct row_val);
    r->kind = v->kind;
    r->value = v->value;
    r->a = v->a ? compile(a, p, v->a) : NULL;
    r->b = v->b ? compile(a, p, v->b) : NULL;
    r->shared = r->b && share_tensor(r->a, r->b);
    r->var = v->cond;
    if (v->kind == VAL_SELECT)
        add_tests(a, r, v->cond);
    if (v->kind == VAL_LOAD) {
        const struct tensor *t = &p->g->tensor[v->source];
        int64_t stride = 1;
        r->data = p->how.data[v->source];
        r->error = p->how.error ? p->how.error[v->source] : NULL;
        for (int d = t->rank - 1; d >= 0; d--) {
            sum_add(a, &r->flat, v->idx[d], stride);
            stride *= t->shape[d];
        }
    }
    return r;
}

/* Computes the strides and tests of v for this row variable. */
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

/* Returns the rough cost of one element of a row at this stride, in nanoseconds. */
static double stride_cost(int64_t stride)
{
    static const double cost[8] = { 0.1, 0.3, 0.5, 1, 1, 1, 1, 1 };
    return stride < 0 || stride > 7 ? 3 : cost[stride];
}

/* Estimates the cost of a row. bent: the cost of a load that is not linear in the row variable. */
static double val_cost(const struct row_val *v, const struct expr *row, double bent)
{
    int64_t stride;
    double cost = (v->a ? val_cost(v->a, row, bent) : 0) + (v->b ? val_cost(v->b, row, bent) : 0);
    if (v->kind == VAL_LOAD)
        cost += sum_coef(&v->flat, row, &stride) ? stride_cost(stride) : bent;
    return cost;
}

/* Returns a row variable of extent 1 for an output without dims. env has room for one variable more
 * than the pool has. */
static const struct expr *no_variable(const struct row_plan *p)
{
    struct expr *e = ARENA_NEW(p->a, struct expr);
    *e = (struct expr){ .kind = EXPR_VAR, .name = "", .var = exprs_n_vars(p->g->pool) };
    return e;
}

/* Makes spatial variable `row` the row variable, and all others outer variables. */
static void take_row(struct row_plan *p, int row)
{
    const struct tensor *out = &p->g->tensor[p->n->out];
    int64_t stride = 1;
    p->n_points = 1;
    if (p->n->n_spatial == 0) {
        p->row = no_variable(p);
        p->row_len = p->row_stride = 1;
        return;
    }
    p->n_outer = p->n->n_spatial - 1;
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

/* Returns the spatial variable with the cheapest rows: strides near 1, and rows long enough to
 * repay their start. */
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
                                    const struct row_how *how)
{
    struct row_plan *p = ARENA_NEW(a, struct row_plan);
    p->a = a;
    p->g = g;
    p->n = n;
    p->how = *how;
    p->type = g->tensor[n->out].type->sum;
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

/* Narrows [*lo, *hi) to the row elements i where diff(0) + step * i < 0. */
static void narrow(const struct row_segment *c, const struct row_test *t, int64_t *lo, int64_t *hi)
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

/* Whether the tests that are not linear are true at element i. */
static bool crooked_tests_hold(const struct row_segment *c, const struct row_val *v, int64_t i)
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

/* Returns the part of segment s that has n elements from row element i on. */
static struct row_segment part_of(const struct row_segment *s, int64_t i, int64_t n)
{
    struct row_segment part = *s;
    part.i0 = i;
    part.n = n;
    return part;
}

/* Evaluates v at the row elements [from, to), which are part of the segment. */
static void fill_part(const struct row_segment *s, const struct row_val *v, int64_t from,
                      int64_t to, double *out, double *error)
{
    struct row_segment part = part_of(s, from, to - from);
    if (to > from)
        row_values(&part, v, out + (from - s->i0), error ? error + (from - s->i0) : NULL);
}

/* Evaluates a select: its value is a in the interval where the linear tests are true, or in pieces
 * of it where other tests change along the row. */
static void select_row(const struct row_segment *s, const struct row_val *v, double *out,
                       double *error)
{
    int64_t lo = s->i0, hi = s->i0 + s->n, end = s->i0 + s->n;
    for (int t = 0; t < v->n_tests; t++)
        if (v->test[t].linear)
            narrow(s, &v->test[t], &lo, &hi);
    lo = lo < end ? lo : end;
    hi = hi < lo ? lo : hi < end ? hi : end;
    fill_part(s, v->b, s->i0, lo, out, error);
    bool runs = has_crooked_test(v);
    for (int64_t i = lo; i < hi;) {
        bool holds = crooked_tests_hold(s, v, i);
        int64_t next = runs ? i + 1 : hi;
        while (next < hi && crooked_tests_hold(s, v, next) == holds)
            next++;
        fill_part(s, holds ? v->a : v->b, i, next, out, error);
        i = next;
    }
    fill_part(s, v->b, hi, end, out, error);
}

/* Evaluates a pick, in pieces of the row with equal indices.  An index that may be off by half or
 * more makes the error endless. */
static void pick_row(const struct row_segment *s, const struct row_val *v, double *out,
                     double *error)
{
    double index[ROW_SEGMENT], doubt[ROW_SEGMENT] = { 0 };
    row_values(s, v->a, index, error ? doubt : NULL);
    for (int64_t i = 0, next; i < s->n; i = next) {
        int64_t at = val_picked(index[i], v->var->hi);
        for (next = i + 1; next < s->n && val_picked(index[next], v->var->hi) == at;)
            next++;
        if (v->var->var >= 0)
            s->env[v->var->var] = at;
        fill_part(s, v->b, s->i0 + i, s->i0 + next, out, error);
        for (int64_t k = i; error && k < next; k++)
            error[k] = doubt[k] >= 0.5 ? INFINITY : error[k];
    }
}

/* Loads the elements of v from `data`: its values or their errors. */
static void load_row(const struct row_segment *s, const struct row_val *v, const double *data,
                     double *out)
{
    int64_t *row = &s->env[s->p->row->var];
    *row = s->i0;
    const double *from = data + sum_at(&v->flat, s->env);
    for (int64_t i = 0; i < s->n && !v->bent; i++)
        out[i] = from[i * v->stride];
    for (int64_t i = 0; i < s->n && v->bent; i++) {
        *row = s->i0 + i;
        out[i] = data[sum_at(&v->flat, s->env)];
    }
}

/* Computes out[i] = out[i] OP right[i], or f(out[i]); the switch is outside of the loop. */
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
    ROW(VAL_LE) ROW(VAL_KEEP)
    MAP(VAL_EXP) MAP(VAL_LOG) MAP(VAL_TANH) MAP(VAL_ERF) MAP(VAL_SQRT)
    MAP(VAL_FLOOR) MAP(VAL_SIN) MAP(VAL_COS) MAP(VAL_ATAN)
    case VAL_CONST: case VAL_LOAD: case VAL_SELECT: case VAL_PICK: case VAL_KIND_COUNT: break;
    }
#undef MAP
#undef ROW
    UNREACHABLE();
}

static void fill_row(double *x, int64_t n, double value)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = value;
}

/* Computes out = a OP b, or f(a), and the errors unless error is NULL. */
static void operate_row(const struct row_segment *s, const struct row_val *v, double *out,
                        double *error)
{
    double right[ROW_SEGMENT] = { 0 }, left_error[ROW_SEGMENT], right_error[ROW_SEGMENT] = { 0 };
    row_values(s, v->a, out, error ? left_error : NULL);
    if (v->b)
        row_values(s, v->b, right, error ? right_error : NULL);
    if (error) {
        struct row_pair pair = { out, left_error, right, right_error };
        error_row(s->p->type, v, s->n, &pair, error);
    }
    arith_row(v->kind, s->n, out, right);
}

void row_values(const struct row_segment *s, const struct row_val *v, double *out, double *error)
{
    if (v->kind == VAL_LOAD) {
        load_row(s, v, v->data, out);
        if (error && v->error)
            load_row(s, v, v->error, error);
        else if (error)
            fill_row(error, s->n, 0);
        return;
    }
    if (v->kind == VAL_SELECT) {
        select_row(s, v, out, error);
        return;
    }
    if (v->kind == VAL_PICK) {
        pick_row(s, v, out, error);
        return;
    }
    if (v->kind == VAL_CONST) {
        fill_row(out, s->n, v->value);
        double rounded = v->value;
        s->p->type->round(&rounded, 1);
        if (error)
            fill_row(error, s->n, fabs(v->value - rounded));
    } else {
        operate_row(s, v, out, error);
    }
    if (s->p->how.single)
        s->p->type->round(out, s->n);
}

/* The argument of a task, which evaluates one segment. */
struct segments { const struct row_plan *p; void (*f)(const struct row_segment *s); };

static void segment_task(const void *ctx, int64_t task, int64_t *env)
{
    const struct segments *all = ctx;
    const struct row_plan *p = all->p;
    struct row_segment s = { .p = p, .env = env, .i0 = task / p->n_points * ROW_SEGMENT };
    s.n = p->row_len - s.i0 < ROW_SEGMENT ? p->row_len - s.i0 : ROW_SEGMENT;
    s.out = row_seek(p, task % p->n_points, env) + s.i0 * p->row_stride;
    all->f(&s);
}

void row_each_segment(const struct row_plan *p, void (*f)(const struct row_segment *s))
{
    struct segments all = { p, f };
    int64_t segments = (p->row_len + ROW_SEGMENT - 1) / ROW_SEGMENT;
    each_task(p, segments * p->n_points, p->work, segment_task, &all);
}

bool row_next(const struct row_segment *s)
{
    const struct node *n = s->p->n;
    return !cancelled(s->p->how.cancel) && reference_next_point(n->reduce, n->n_reduce, s->env);
}

static void eval_segment(const struct row_segment *s)
{
    const struct node *n = s->p->n;
    double *out = s->p->how.data[n->out] + s->out;
    double acc[ROW_SEGMENT], value[ROW_SEGMENT];
    fill_row(acc, s->n, n->init);
    first_point(n->reduce, n->n_reduce, s->env);
    do {
        row_values(s, s->p->body, value, NULL);
        for (int64_t i = 0; i < s->n; i++)
            acc[i] = combined(n->combine, acc[i], value[i]);
        if (s->p->how.single)
            s->p->type->round(acc, s->n);
    } while (row_next(s));
    for (int64_t i = 0; i < s->n; i++)
        out[i * s->p->row_stride] = acc[i];
}

void row_eval(const struct row_plan *p)
{
    row_each_segment(p, eval_segment);
}
