/* The reference for sums of products: Y[y] = init + sum over r of S[s(y) + s(r)] * X[x(y) + x(r)].
 *
 * Blocked as matrix products are: a task is a segment of the row variable times a run of up to
 * POINTS outer points; the reduction runs over it in chunks of CHUNK points whose offsets are
 * tabled once per task, eight of them per pass over the row so that eight multiply-adds share one
 * load and store of Y. */
#include "kernels/ops/reference_impl.h"

#define POINTS 64
#define CHUNK 64
#define SEGMENT 1024

struct operand { const double *data; struct sum outer, reduce; int64_t stride; };

struct mac {
    const struct row_plan *p;
    struct operand s, x;                  /* s stands still along the row when any operand does */
    int64_t n_runs;                       /* runs of outer points per segment */
    int64_t points;                       /* points per run */
};

static bool uses_any(const struct expr *e, const struct expr *const *vars, int n)
{
    for (int i = 0; i < n; i++)
        if (expr_uses(e, vars[i]))
            return true;
    return false;
}

/* Splits the offset of a load by its variables; false when a term mixes the two kinds or bends
 * along the row. */
static bool split_operand(const struct row_plan *p, const struct row_val *load, struct operand *o)
{
    const struct node *n = p->n;
    *o = (struct operand){ .data = load->data,
                           .stride = load->stride,
                           .outer.rest = load->flat.rest };
    for (int i = 0; i < load->flat.n; i++) {
        const struct sum_term *t = &load->flat.term[i];
        bool outer = uses_any(t->e, n->spatial, n->n_spatial);
        bool reduce = uses_any(t->e, n->reduce, n->n_reduce);
        if (outer && reduce)
            return false;
        if (t->e != p->row)
            sum_add(p->a, reduce ? &o->reduce : &o->outer, t->e, t->coef);
    }
    return !load->bent;
}

/* y[i] += sum over r < 8 of s[r] * x[r][i * xs] */
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

/* One output row, one chunk of n reduction points. */
static void row_chunk(const struct mac *m, double *y, int64_t len, const double *s, const double *x,
                      const int64_t *off_s, const int64_t *off_x, int n)
{
    int64_t ys = m->p->row_stride, xs = m->x.stride;
    int r = 0;
    for (; r + 8 <= n && m->s.stride == 0; r += 8) {
        double scale[8];
        const double *row[8];
        for (int j = 0; j < 8; j++) {
            scale[j] = s[off_s[r + j]];
            row[j] = x + off_x[r + j];
        }
        eight_rows(y, ys, len, scale, row, xs);
    }
    for (; r < n; r++)
        one_row(y, ys, len, s + off_s[r], m->s.stride, x + off_x[r], xs);
}

/* Where the rows of a task start. */
struct run { int n; double *y[POINTS]; const double *s[POINTS], *x[POINTS]; };

static void run_start(const struct mac *m, int64_t first, int64_t i0, int64_t *env, struct run *run)
{
    const struct row_plan *p = m->p;
    int64_t left = p->n_points - first;
    run->n = (int)(left < m->points ? left : m->points);
    for (int i = 0; i < run->n; i++) {
        run->y[i] = p->data[p->n->out] + row_seek(p, first + i, env) + i0 * p->row_stride;
        run->s[i] = m->s.data + sum_at(&m->s.outer, env) + i0 * m->s.stride;
        run->x[i] = m->x.data + sum_at(&m->x.outer, env) + i0 * m->x.stride;
    }
}

static void run_task(const void *ctx, int64_t task, int64_t *env)
{
    const struct mac *m = ctx;
    const struct row_plan *p = m->p;
    const struct node *n = p->n;
    int64_t i0 = task / m->n_runs * SEGMENT, left = p->row_len - i0;
    int64_t len = left < SEGMENT ? left : SEGMENT;
    int64_t off_s[CHUNK], off_x[CHUNK];
    struct run run;
    run_start(m, task % m->n_runs * m->points, i0, env, &run);
    for (int i = 0; i < run.n; i++)
        for (int64_t j = 0; j < len; j++)
            run.y[i][j * p->row_stride] = n->init;
    first_point(n->reduce, n->n_reduce, env);
    for (bool more = true; more && !cancelled(p->cancel);) {
        int k = 0;
        for (; more && k < CHUNK; k++) {
            off_s[k] = sum_at(&m->s.reduce, env);
            off_x[k] = sum_at(&m->x.reduce, env);
            more = reference_next_point(n->reduce, n->n_reduce, env);
        }
        for (int i = 0; i < run.n; i++)
            row_chunk(m, run.y[i], len, run.s[i], run.x[i], off_s, off_x, k);
    }
}

bool mac_eval(const struct row_plan *p)
{
    const struct row_val *v = p->body;
    struct mac m = { .p = p };
    if (p->n->combine != COMBINE_SUM || v->kind != VAL_MUL || v->a->kind != VAL_LOAD ||
        v->b->kind != VAL_LOAD)
        return false;
    bool swap = v->b->stride == 0;
    if (!split_operand(p, swap ? v->b : v->a, &m.s) || !split_operand(p, swap ? v->a : v->b, &m.x))
        return false;
    int64_t segments = (p->row_len + SEGMENT - 1) / SEGMENT;
    m.points = p->n_points / 16;          /* enough runs to share among threads */
    m.points = m.points < 1 ? 1 : m.points > POINTS ? POINTS : m.points;
    m.n_runs = (p->n_points + m.points - 1) / m.points;
    each_task(p, segments * m.n_runs, p->work, run_task, &m);
    return true;
}
