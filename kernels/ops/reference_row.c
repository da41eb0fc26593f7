/* The fast reference for any node: whole rows at a time (reference_impl.h). */
#include "kernels/ops/reference_impl.h"

#include <stdlib.h>
#include <string.h>
#include "kernels/base/number.h"

#define PARALLEL_WORK 2e6  /* with fewer points, starting threads costs more than it saves */

/* --- Points ----------------------------------------------------------------------------------- */

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

int64_t rows_point(const struct rows *rows, int64_t i, int64_t *env)
{
    int64_t offset = i % rows->len * rows->stride;
    if (rows->row)
        env[rows->row->var] = i % rows->len;
    i /= rows->len;
    for (int d = 0; d < rows->n_outer; d++) {
        int64_t extent = rows->outer[d]->hi + 1, x = i % extent;
        env[rows->outer[d]->var] = x;
        offset += x * rows->outer_stride[d];
        i /= extent;
    }
    return offset;
}

int64_t *row_env(const struct row_plan *p)
{
    return xcalloc((size_t)exprs_n_vars(p->g->pool) + 1, sizeof(int64_t));
}

void each_task(const struct row_plan *p, int64_t n, void (*f)(const void *ctx, int64_t i,
               int64_t *env), const void *ctx)
{
#pragma omp parallel if (p->work > PARALLEL_WORK && n > 1)
    {
        int64_t *env = row_env(p);
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < n; i++)
            if (!cancelled(p->how.cancel))
                f(ctx, i, env);
        free(env);
    }
}

/* --- Index expressions ------------------------------------------------------------------------ */

/* The values of an index expression along a segment.  At element i it is at + step * i (a straight
 * index), or each[i] if `bent` is set. */
struct row_index { int64_t at, step; bool bent; int64_t each[ROW_SEGMENT]; };

static void index_set(struct row_index *x, int64_t at, int64_t step)
{
    x->at = at;
    x->step = step;
    x->bent = false;
}

static void index_bend(struct row_index *x, int64_t n)
{
    for (int64_t i = 0; i < n && !x->bent; i++)
        x->each[i] = x->at + x->step * i;
    x->bent = true;
}

/* Computes x[i] = x[i] OP y[i]; the switch is outside of the loop. */
static void index_arith(enum expr_kind kind, int64_t n, int64_t *restrict x,
                        const int64_t *restrict y)
{
#define ROW(k, value) \
    case k: \
        for (int64_t i = 0; i < n; i++) \
            x[i] = value; \
        return;
    switch (kind) {
    ROW(EXPR_ADD, x[i] + y[i])
    ROW(EXPR_MUL, x[i] * y[i])
    ROW(EXPR_DIV, floor_div(x[i], y[i]))
    ROW(EXPR_MOD, floor_mod(x[i], y[i]))
    ROW(EXPR_MIN, x[i] < y[i] ? x[i] : y[i])
    ROW(EXPR_MAX, x[i] > y[i] ? x[i] : y[i])
    ROW(EXPR_LT, x[i] < y[i])
    ROW(EXPR_EQ, x[i] == y[i])
    ROW(EXPR_AND, x[i] && y[i])
    case EXPR_CONST: case EXPR_VAR: case EXPR_KIND_COUNT: break;
    }
#undef ROW
    UNREACHABLE();
}

/* Replaces a straight index by its quotients by c (rounded down), or by the remainders. */
static void index_divide(enum expr_kind kind, int64_t n, struct row_index *x, int64_t c)
{
    int64_t q = floor_div(x->at, c), more_q = floor_div(x->step, c);
    int64_t rest = floor_mod(x->at, c), more_rest = floor_mod(x->step, c);
    for (int64_t i = 0; i < n; i++) {
        x->each[i] = kind == EXPR_DIV ? q : rest;
        bool carry = (rest += more_rest) >= c;
        q += more_q + carry;
        rest -= carry ? c : 0;
    }
    x->bent = true;
}

/* Computes x = x OP y along n elements. */
static void index_op(enum expr_kind kind, int64_t n, struct row_index *x, struct row_index *y)
{
    bool straight = !x->bent && !y->bent;
    if (straight && kind == EXPR_ADD) {
        index_set(x, x->at + y->at, x->step + y->step);
    } else if (straight && kind == EXPR_MUL && (x->step == 0 || y->step == 0)) {
        index_set(x, x->at * y->at, x->at * y->step + x->step * y->at);
    } else if (straight && x->step == 0 && y->step == 0) {
        index_arith(kind, 1, &x->at, &y->at);
    } else if (straight && (kind == EXPR_DIV || kind == EXPR_MOD)) {
        index_divide(kind, n, x, y->at);
    } else {
        index_bend(x, n);
        index_bend(y, n);
        index_arith(kind, n, x->each, y->each);
    }
}

/* Evaluates an index expression or condition along the segment. */
static void index_of(const struct row_segment *s, const struct expr *e, struct row_index *x)
{
    struct row_index y;
    if (e->kind == EXPR_CONST) {
        index_set(x, e->value, 0);
    } else if (e->kind == EXPR_VAR) {
        bool is_row = e == s->rows->row;
        index_set(x, is_row ? s->i0 : s->env[e->var], is_row);
    } else {
        index_of(s, e->a, x);
        if (e->kind == EXPR_AND && !x->bent && x->at == 0 && x->step == 0)
            return;
        index_of(s, e->b, &y);
        index_op(e->kind, s->n, x, &y);
    }
}

/* Sets *x to the row-major offsets of a load along the segment.  Returns the number of elements of
 * its tensor. */
static int64_t index_of_load(const struct row_segment *s, const struct val *load,
                             struct row_index *x)
{
    const struct tensor *t = &s->p->g->tensor[load->source];
    struct row_index term;
    int64_t stride = 1;
    index_set(x, 0, 0);
    for (int d = t->rank - 1; d >= 0; d--) {
        index_of(s, load->idx[d], &term);
        term.at *= stride;
        term.step *= stride;
        for (int64_t i = 0; i < s->n && term.bent; i++)
            term.each[i] *= stride;
        index_op(EXPR_ADD, s->n, x, &term);
        stride *= t->shape[d];
    }
    return stride;
}

void row_offsets(const struct row_segment *s, const struct val *load, int64_t *out)
{
    struct row_index x;
    index_of_load(s, load, &x);
    index_bend(&x, s->n);
    memcpy(out, x.each, (size_t)s->n * sizeof *out);
}

/* --- Plans ------------------------------------------------------------------------------------ */

/* Whether a condition may change many times along var.  The conditions of tiles do, those of
 * padding change at most twice. */
static bool alternates(const struct expr *cond, const struct expr *var)
{
    if (!cond->a)
        return false;
    bool bends = cond->kind == EXPR_DIV || cond->kind == EXPR_MOD || cond->kind == EXPR_EQ;
    return (bends && expr_uses(cond, var)) || alternates(cond->a, var) || alternates(cond->b, var);
}

/* Returns the number of loads for one element of a row along var.  If the condition of a select
 * alternates along var, both sides are loaded. */
static double row_loads(const struct val *v, const struct expr *var)
{
    if (!v)
        return 0;
    double a = row_loads(v->a, var), b = row_loads(v->b, var);
    if (v->kind == VAL_SELECT && !alternates(v->cond, var))
        return a > b ? a : b;
    return (v->kind == VAL_LOAD) + a + b;
}

/* Returns the given dim along which rows are cheapest: its stride in the output is small, rows need
 * few loads, and they are long enough to repay the work at their start.  Returns -1 if no dims are
 * given. */
static int cheapest_row(const struct row_plan *p, unsigned dims)
{
    const struct tensor *out = &p->g->tensor[p->n->out];
    double best_cost = 0;
    int best = -1;
    int64_t stride = 1;
    for (int d = p->n->n_spatial - 1; d >= 0; d--) {
        double loads = 1 + row_loads(p->n->body, p->n->spatial[d]), length = (double)out->shape[d];
        double cost = (stride < 8 ? (double)stride : 8) / 2 + loads * (1 + 30 / length);  /* ns */
        if (dims >> d & 1 && (best < 0 || cost < best_cost)) {
            best = d;
            best_cost = cost;
        }
        stride *= out->shape[d];
    }
    return best;
}

struct rows rows_of(const struct row_plan *p, unsigned dims)
{
    const struct tensor *out = &p->g->tensor[p->n->out];
    struct rows r = { .len = 1, .stride = 1, .n_points = 1 };
    int row = cheapest_row(p, dims);
    int64_t stride = 1;
    for (int d = p->n->n_spatial - 1; d >= 0; stride *= out->shape[d--])
        if (d == row) {
            r.row = p->n->spatial[d];
            r.len = out->shape[d];
            r.stride = stride;
        } else if (dims >> d & 1) {
            r.outer[r.n_outer] = p->n->spatial[d];
            r.outer_stride[r.n_outer++] = stride;
            r.n_points *= out->shape[d];
        }
    return r;
}

struct row_plan row_plan_of(const struct graph *g, const struct node *n, const struct row_how *how)
{
    struct row_plan p = { g, n, *how, g->tensor[n->out].type->sum, 1, 0 };
    for (int i = 0; i < n->n_reduce; i++)
        p.terms *= n->reduce[i]->hi + 1;
    p.work = (double)tensor_elems(&g->tensor[n->out]) * (double)p.terms;
    return p;
}

/* --- Values ----------------------------------------------------------------------------------- */

static void fill_row(double *x, int64_t n, double value)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = value;
}

static void gather(const double *from, const struct row_index *at, int64_t n, double *out)
{
    for (int64_t i = 0; i < n && at->bent; i++)
        out[i] = from[at->each[i]];
    if (at->bent)
        return;
    from += at->at;
    if (at->step == 0)
        fill_row(out, n, *from);
    else if (at->step == 1)
        memcpy(out, from, (size_t)n * sizeof *out);
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = from[i * at->step];
}

/* Loads a row.  A select may evaluate both operands for a whole row; where the operand that is not
 * taken reads outside of the tensor, the first or last element is loaded instead. */
static void load_row(const struct row_segment *s, const struct val *v, double *out, double *error)
{
    const struct row_how *how = &s->p->how;
    const double *errors = error && how->error ? how->error[v->source] : NULL;
    struct row_index at;
    int64_t last = index_of_load(s, v, &at) - 1;
    int64_t end = at.at + at.step * (s->n - 1);
    if (at.bent || at.at < 0 || at.at > last || end < 0 || end > last)
        index_bend(&at, s->n);
    for (int64_t i = 0; i < s->n && at.bent; i++)
        at.each[i] = at.each[i] < 0 ? 0 : at.each[i] > last ? last : at.each[i];
    gather(how->data[v->source], &at, s->n, out);
    if (errors)
        gather(errors, &at, s->n, error);
    else if (error)
        fill_row(error, s->n, 0);
}

/* Evaluates a select: only one operand if the condition is the same along the row, else both. */
static void select_row(const struct row_segment *s, const struct val *v, double *out,
                       double *error)
{
    double other[ROW_SEGMENT], other_error[ROW_SEGMENT];
    struct row_index cond;
    int64_t n_true = 0;
    index_of(s, v->cond, &cond);
    if (!cond.bent && cond.step == 0) {
        row_values(s, cond.at != 0 ? v->a : v->b, out, error);
        return;
    }
    index_bend(&cond, s->n);
    for (int64_t i = 0; i < s->n; i++)
        n_true += cond.each[i] != 0;
    row_values(s, n_true > 0 ? v->a : v->b, out, error);
    if (n_true == 0 || n_true == s->n)
        return;
    row_values(s, v->b, other, error ? other_error : NULL);
    for (int64_t i = 0; i < s->n; i++)
        out[i] = cond.each[i] ? out[i] : other[i];
    for (int64_t i = 0; i < s->n && error; i++)
        error[i] = cond.each[i] ? error[i] : other_error[i];
}

/* Evaluates a pick: a piece of the row with equal indices at a time.  If the error of an index is
 * large enough to make it another index, the error of the element is infinite. */
static void pick_row(const struct row_segment *s, const struct val *v, double *out, double *error)
{
    double index[ROW_SEGMENT], doubt[ROW_SEGMENT];
    row_values(s, v->a, index, error ? doubt : NULL);
    for (int64_t i = 0, next; i < s->n; i = next) {
        int64_t at = val_picked(index[i], v->cond->hi);
        for (next = i + 1; next < s->n && val_picked(index[next], v->cond->hi) == at;)
            next++;
        if (v->cond->var >= 0)
            s->env[v->cond->var] = at;
        struct row_segment part = { s->p, s->rows, s->env, s->i0 + i, next - i };
        row_values(&part, v->b, out + i, error ? error + i : NULL);
        for (int64_t k = i; error && k < next; k++)
            if (val_picked(index[k] - doubt[k], v->cond->hi) != at
                || val_picked(index[k] + doubt[k], v->cond->hi) != at)
                error[k] = INFINITY;
    }
}

/* Computes out[i] = out[i] OP right[i], or f(out[i]).  The switch is outside of the loop. */
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

/* Computes out = a OP b, or f(a), and the errors unless error is NULL. */
static void operate_row(const struct row_segment *s, const struct val *v, double *out,
                        double *error)
{
    double right[ROW_SEGMENT], left_error[ROW_SEGMENT], right_error[ROW_SEGMENT];
    row_values(s, v->a, out, error ? left_error : NULL);
    if (v->b)
        row_values(s, v->b, right, error ? right_error : NULL);
    if (error && !v->b) {
        fill_row(right, s->n, 0);
        fill_row(right_error, s->n, 0);
    }
    if (error) {
        struct row_pair pair = { out, left_error, right, right_error,
                                 v->b && vals_share_tensor(v->a, v->b) };
        error_row(s->p->type, v->kind, s->n, &pair, error);
    }
    arith_row(v->kind, s->n, out, right);
}

void row_values(const struct row_segment *s, const struct val *v, double *out, double *error)
{
    if (v->kind == VAL_LOAD) {
        load_row(s, v, out, error);
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
        double rounded = v->value;
        fill_row(out, s->n, v->value);
        s->p->type->round(&rounded, 1);
        if (error)
            fill_row(error, s->n, fabs(v->value - rounded));
    } else {
        operate_row(s, v, out, error);
    }
    if (s->p->how.single)
        s->p->type->round(out, s->n);
}

/* --- Nodes ------------------------------------------------------------------------------------ */

struct row_task { const struct row_plan *p; struct rows rows; };

static void combine_row(const struct row_plan *p, int64_t n, double *sum, const double *value)
{
    if (p->n->combine == COMBINE_NONE)
        memcpy(sum, value, (size_t)n * sizeof *sum);
    else
        arith_row(p->n->combine == COMBINE_SUM ? VAL_ADD : VAL_MAX, n, sum, value);
    if (p->how.single)
        p->type->round(sum, n);
}

/* Evaluates one segment. at: the offset of its first element in the output. */
static void eval_segment(const struct row_segment *s, int64_t at)
{
    const struct row_plan *p = s->p;
    const struct node *n = p->n;
    double value[ROW_SEGMENT], error[ROW_SEGMENT];
    struct row_sums f;
    fill_row(f.value, s->n, n->init);
    fill_row(f.error, s->n, 0);
    fill_row(f.squares, s->n, 0);
    first_point(n->reduce, n->n_reduce, s->env);
    do {
        row_values(s, n->body, value, p->how.error ? error : NULL);
        if (p->how.error)
            error_combine(&f, n->combine, s->n, value, error);
        combine_row(p, s->n, f.value, value);
    } while (!cancelled(p->how.cancel) && reference_next_point(n->reduce, n->n_reduce, s->env));
    if (p->how.error)
        error_finish(&f, p, s->n);
    row_stored(p, s->n, f.value, p->how.error ? f.error : NULL);
    for (int64_t i = 0; i < s->n; i++) {
        p->how.data[n->out][at + i * s->rows->stride] = f.value[i];
        if (p->how.error)
            p->how.error[n->out][at + i * s->rows->stride] = f.error[i];
    }
}

static void eval_task(const void *ctx, int64_t task, int64_t *env)
{
    const struct row_task *t = ctx;
    const struct rows *r = &t->rows;
    struct row_segment s = { t->p, r, env, task / r->n_points * ROW_SEGMENT, ROW_SEGMENT };
    s.n = r->len - s.i0 < s.n ? r->len - s.i0 : s.n;
    eval_segment(&s, rows_point(r, task % r->n_points * r->len + s.i0, env));
}

void row_eval(const struct row_plan *p)
{
    struct row_task t = { p, rows_of(p, ~0u) };
    each_task(p, (t.rows.len + ROW_SEGMENT - 1) / ROW_SEGMENT * t.rows.n_points, eval_task, &t);
}
