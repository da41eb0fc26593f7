/* The reference for sums of products: Y[y] = init + sum over r of S[s(y, r)] * X[x(y, r)], perhaps
 * only over the r where a test holds.
 *
 * Blocked as matrix products are: a task is a segment of the row variable times a run of up to
 * POINTS outer points; the reduction runs over it in chunks of CHUNK points whose offsets are
 * tabled once per task, eight of them per pass over the row so that eight multiply-adds share one
 * load and store of Y.
 *
 * For that an offset must be a part over y plus a part over r.  Where a term such as (h + kh) / 2
 * or a test such as (h + kh) % 2 == 0 mixes the two, it is periodic: with h = phase + 2*j its value
 * is that at the phase plus an increment times j (transposed convolutions).  So the points are
 * sorted into classes of equal phases, and each class is a sum of products of its own. */
#include "kernels/ops/reference_impl.h"

#define POINTS 64
#define CHUNK 64
#define SEGMENT 1024
#define MAX_PERIOD 64
#define MAX_CLASSES 4096

/* The offset of a load, split into terms over y, over r, and over both. stride: distance between
 * elements of a row of its class. */
struct operand { const double *data; struct sum outer, reduce, mixed; int64_t stride; };

/* A spatial variable. inc: what `period` steps of it add to the terms over both y and r of S and of
 * X. */
struct mac_axis { const struct expr *var; int64_t extent, out_stride, period, inc[2]; };

struct mac {
    const struct row_plan *p;
    struct operand op[2];  /* S, X; S is constant along the row if either is */
    const struct expr *cond;              /* NULL: no test */
    int n_outer;
    struct mac_axis axis[MAX_RANK];       /* the outer axes; the row is last: axis[n_outer] */
    int64_t n_classes, n_runs;            /* n_runs: runs per class and segment */
    int64_t points;                       /* outer points per run */
};

/* e(var + step) - e(var) = inc for every var; step 0: e has no such step. */
struct period { int64_t step, inc; };

/* Returns the common step of two, or 0 when there is none. */
static int64_t common_step(int64_t a, int64_t b)
{
    int64_t step = a && b ? a / gcd(a, b) * b : 0;
    return step <= MAX_PERIOD ? step : 0;
}

static struct period period_of(const struct expr *e, const struct expr *var)
{
    if (!expr_uses(e, var))
        return (struct period){ 1, 0 };
    if (e->kind == EXPR_VAR)
        return (struct period){ 1, 1 };
    struct period a = period_of(e->a, var), b = period_of(e->b, var);
    int64_t step = common_step(a.step, b.step), times;
    if (step == 0)
        return (struct period){ 0, 0 };
    a.inc *= step / a.step;
    b.inc *= step / b.step;
    bool by_const = e->b->kind == EXPR_CONST;
    switch (e->kind) {
    case EXPR_ADD:
        return (struct period){ step, a.inc + b.inc };
    case EXPR_MUL:
        if (!by_const && e->a->kind != EXPR_CONST)
            break;
        return (struct period){ step, by_const ? a.inc * e->b->value : b.inc * e->a->value };
    case EXPR_DIV: case EXPR_MOD:
        times = e->b->value / gcd(a.inc, e->b->value);
        step = common_step(step * times, 1);
        return (struct period){ step, e->kind == EXPR_MOD ? 0 : times * a.inc / e->b->value };
    case EXPR_EQ: case EXPR_LT: case EXPR_AND: case EXPR_MIN: case EXPR_MAX:
        return (struct period){ a.inc == 0 && b.inc == 0 ? step : 0, 0 };
    case EXPR_CONST: case EXPR_VAR: case EXPR_KIND_COUNT: break;
    }
    return (struct period){ 0, 0 };
}

static bool uses_any(const struct expr *e, const struct expr *const *vars, int n)
{
    for (int i = 0; i < n; i++)
        if (expr_uses(e, vars[i]))
            return true;
    return false;
}

/* Makes S the load that is constant along the row, if there is one. */
static void order_operands(struct mac *m)
{
    struct operand s = m->op[1];
    if (s.stride != 0)
        return;
    m->op[1] = m->op[0];
    m->op[0] = s;
    for (int i = 0; i <= m->n_outer; i++) {
        int64_t inc = m->axis[i].inc[0];
        m->axis[i].inc[0] = m->axis[i].inc[1];
        m->axis[i].inc[1] = inc;
    }
}

static void split_operand(const struct row_plan *p, const struct row_val *load, struct operand *o)
{
    const struct node *n = p->n;
    *o = (struct operand){ .data = load->data, .outer.rest = load->flat.rest };
    for (int i = 0; i < load->flat.n; i++) {
        const struct sum_term *t = &load->flat.term[i];
        bool outer = uses_any(t->e, n->spatial, n->n_spatial);
        bool reduce = uses_any(t->e, n->reduce, n->n_reduce);
        struct sum *to = outer && reduce ? &o->mixed : reduce ? &o->reduce : &o->outer;
        sum_add(p->a, to, t->e, t->coef);
    }
}

/* Extends the period of the axis to a period of all terms of s. */
static void join_periods(struct mac_axis *a, const struct sum *s)
{
    for (int i = 0; i < s->n; i++)
        a->period = common_step(a->period, period_of(s->term[i].e, a->var).step);
}

/* Returns what one period of the axis adds to s. */
static int64_t increment(const struct mac_axis *a, const struct sum *s)
{
    int64_t inc = 0;
    for (int i = 0; i < s->n; i++) {
        struct period t = period_of(s->term[i].e, a->var);
        inc += s->term[i].coef * t.inc * (a->period / t.step);
    }
    return inc;
}

/* Adds an axis.  Returns false when it has no period.  For the row, the terms over y alone must be
 * periodic too. */
static bool add_axis(struct mac *m, struct mac_axis *a, bool is_row)
{
    a->period = m->cond ? period_of(m->cond, a->var).step : 1;
    for (int k = 0; k < 2; k++) {
        join_periods(a, &m->op[k].mixed);
        if (is_row)
            join_periods(a, &m->op[k].outer);
    }
    if (a->period == 0)
        return false;
    for (int k = 0; k < 2; k++) {
        a->inc[k] = increment(a, &m->op[k].mixed);
        if (is_row)
            m->op[k].stride = a->inc[k] + increment(a, &m->op[k].outer);
    }
    m->n_classes *= a->period;
    return m->n_classes <= MAX_CLASSES;
}

static bool add_axes(struct mac *m)
{
    const struct row_plan *p = m->p;
    m->n_outer = p->n_outer;
    m->n_classes = 1;
    for (int i = 0; i <= m->n_outer; i++) {
        bool row = i == m->n_outer;
        const struct expr *var = row ? p->row : p->outer[i];
        m->axis[i] = (struct mac_axis){ .var = var, .extent = var->hi + 1,
                                        .out_stride = row ? p->row_stride : p->outer_stride[i] };
        if (!add_axis(m, &m->axis[i], row))
            return false;
    }
    return true;
}

/* Computes y[i] += sum over r < 8 of s[r] * x[r][i * xs]. */
static void eight_rows(double *restrict y, int64_t ys, int64_t n, const double *s,
                       const double *const *x, int64_t xs)
{
    const double *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
    const double *x4 = x[4], *x5 = x[5], *x6 = x[6], *x7 = x[7];
    const double s0 = s[0], s1 = s[1], s2 = s[2], s3 = s[3];
    const double s4 = s[4], s5 = s[5], s6 = s[6], s7 = s[7];
#define SUM(j) ((s0 * x0[j] + s1 * x1[j]) + (s2 * x2[j] + s3 * x3[j]) + \
                ((s4 * x4[j] + s5 * x5[j]) + (s6 * x6[j] + s7 * x7[j])))
    if (ys == 1 && xs == 1) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            y[i] += SUM(i);
    } else {
        for (int64_t i = 0; i < n; i++)
            y[i * ys] += SUM(i * xs);
    }
#undef SUM
}

static void one_row(double *restrict y, int64_t ys, int64_t n, const double *s, int64_t ss,
                    const double *x, int64_t xs)
{
    for (int64_t i = 0; i < n; i++)
        y[i * ys] += s[i * ss] * x[i * xs];
}

/* The offsets in S and X of up to CHUNK points of the reduction. */
struct chunk { int n; int64_t off[2][CHUNK]; };

/* Computes one output row for one chunk. */
static void row_chunk(const struct mac *m, double *y, int64_t ys, int64_t len,
                      const double *const *at, const struct chunk *c)
{
    const double *s = at[0], *x = at[1];
    int64_t ss = m->op[0].stride, xs = m->op[1].stride;
    int r = 0;
    for (; r + 8 <= c->n && ss == 0; r += 8) {
        double scale[8];
        const double *row[8];
        for (int j = 0; j < 8; j++) {
            scale[j] = s[c->off[0][r + j]];
            row[j] = x + c->off[1][r + j];
        }
        eight_rows(y, ys, len, scale, row, xs);
    }
    for (; r < c->n; r++)
        one_row(y, ys, len, s + c->off[0][r], ss, x + c->off[1][r], xs);
}

/* A task: the phases of its class, and its n rows in Y and in the operands. */
struct run {
    int64_t phase[MAX_RANK];              /* per axis: variable % period */
    int64_t i0, len, ys;                  /* first element of the rows, length, stride in Y */
    int n;
    double *y[POINTS];
    const double *at[POINTS][2];
};

/* Returns how many values of the axis have this phase. */
static int64_t count_of(const struct mac_axis *a, int64_t phase)
{
    return phase < a->extent ? (a->extent - phase - 1) / a->period + 1 : 0;
}

/* Sets row i of the run to row number `point` of the class. */
static void row_start(const struct mac *m, struct run *run, int64_t point, int i, int64_t *env)
{
    const struct mac_axis *row = &m->axis[m->n_outer];
    int64_t out = run->phase[m->n_outer] * row->out_stride + run->i0 * run->ys, moved[2] = { 0 };
    for (int d = m->n_outer - 1; d >= 0; d--) {
        const struct mac_axis *a = &m->axis[d];
        int64_t n = count_of(a, run->phase[d]), j = point % n;
        env[a->var->var] = run->phase[d] + a->period * j;
        out += env[a->var->var] * a->out_stride;
        for (int k = 0; k < 2; k++)
            moved[k] += a->inc[k] * j;
        point /= n;
    }
    run->y[i] = m->p->how.data[m->p->n->out] + out;
    for (int k = 0; k < 2; k++)
        run->at[i][k] = m->op[k].data + sum_at(&m->op[k].outer, env) + moved[k] +
                        run->i0 * m->op[k].stride;
}

/* Makes the run of task number `task`. Returns false when its class has no such rows. */
static bool run_open(const struct mac *m, int64_t task, struct run *run, int64_t *env)
{
    int64_t class = task / m->n_runs % m->n_classes, n_points = 1;
    int64_t first = task % m->n_runs * m->points;
    for (int d = 0; d <= m->n_outer; d++) {
        run->phase[d] = class % m->axis[d].period;
        class /= m->axis[d].period;
        n_points *= d < m->n_outer ? count_of(&m->axis[d], run->phase[d]) : 1;
    }
    const struct mac_axis *row = &m->axis[m->n_outer];
    run->i0 = task / m->n_runs / m->n_classes * SEGMENT;
    run->len = count_of(row, run->phase[m->n_outer]) - run->i0;
    run->len = run->len < SEGMENT ? run->len : SEGMENT;
    run->ys = row->period * row->out_stride;
    if (run->len <= 0 || first >= n_points)
        return false;
    run->n = (int)(n_points - first < m->points ? n_points - first : m->points);
    env[row->var->var] = run->phase[m->n_outer];
    for (int i = 0; i < run->n; i++)
        row_start(m, run, first + i, i, env);
    return true;
}

/* Collects the next points of the reduction where the test is true. False: after the last. */
static bool next_chunk(const struct mac *m, struct chunk *c, int64_t *env)
{
    const struct node *n = m->p->n;
    bool more = true;
    for (c->n = 0; more && c->n < CHUNK;) {
        if (!m->cond || expr_eval(m->cond, env)) {
            for (int k = 0; k < 2; k++)
                c->off[k][c->n] = sum_at(&m->op[k].reduce, env) + sum_at(&m->op[k].mixed, env);
            c->n++;
        }
        more = reference_next_point(n->reduce, n->n_reduce, env);
    }
    return more;
}

static void run_task(const void *ctx, int64_t task, int64_t *env)
{
    const struct mac *m = ctx;
    const struct node *n = m->p->n;
    struct run run;
    struct chunk chunk;
    if (!run_open(m, task, &run, env))
        return;
    for (int i = 0; i < run.n; i++)
        for (int64_t j = 0; j < run.len; j++)
            run.y[i][j * run.ys] = n->init;
    for (int d = 0; d <= m->n_outer; d++)
        env[m->axis[d].var->var] = run.phase[d];
    first_point(n->reduce, n->n_reduce, env);
    for (bool more = true; more && !cancelled(m->p->how.cancel);) {
        more = next_chunk(m, &chunk, env);
        for (int i = 0; i < run.n; i++)
            row_chunk(m, run.y[i], run.ys, run.len, run.at[i], &chunk);
    }
}

const struct val *mac_product(const struct node *n)
{
    const struct val *v = n->body;
    if (v->kind == VAL_SELECT && val_is_const(v->b, 0))
        v = v->a;
    bool is = n->combine == COMBINE_SUM && v->kind == VAL_MUL && v->a->kind == VAL_LOAD &&
              v->b->kind == VAL_LOAD;
    return is ? v : NULL;
}

bool mac_eval(const struct row_plan *p)
{
    const struct row_val *v = p->body;
    struct mac m = { .p = p };
    if (!mac_product(p->n))
        return false;
    if (v->kind == VAL_SELECT) {
        m.cond = p->n->body->cond;
        v = v->a;
    }
    split_operand(p, v->a, &m.op[0]);
    split_operand(p, v->b, &m.op[1]);
    if (!add_axes(&m))
        return false;
    order_operands(&m);
    int64_t segments = (p->row_len + SEGMENT - 1) / SEGMENT;
    m.points = p->n_points / 16;          /* enough runs to share among threads */
    m.points = m.points < 1 ? 1 : m.points > POINTS ? POINTS : m.points;
    m.n_runs = (p->n_points + m.points - 1) / m.points;
    each_task(p, segments * m.n_classes * m.n_runs, p->work, run_task, &m);
    return true;
}
