#include "explorer/model/cost_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "explorer/model/rank.h"
#include "explorer/model/xgb.h"
#include "kernels/base/rng.h"
#include "kernels/base/vec.h"

#define ROUNDS 300
#define FIRST 32
#define GROWTH 1.2
#define WEIGHT_LEAST 0.05
#define PEAK_CYCLES 32.0  /* cycles_of a program at peak speed: two vector multiply-adds a cycle */
#define MOST_CORRECTION 3.0  /* natural logarithm of the largest factor that corrects an estimate */
/* Training ends after PATIENCE rounds that together lowered the error by less than the fraction
 * PROGRESS.  With gamma 0.001, trees stop splitting after about 35 rounds.  TVM's patience of 50
 * makes 85 trees, but they order unseen programs no better: the accuracy is the same to three
 * digits (make bench-model). */
#define PATIENCE 10
#define PROGRESS 0.005

struct cost_model {
    struct cost_model_opts o;
    int columns;                          /* number of columns of the samples; 0 = no samples */
    VEC(float) x;                         /* the rows of all samples */
    VEC(int) first;                       /* per sample: its first row */
    VEC(double) ms;                       /* per sample: its time; INFINITY = failed */
    VEC(double) cycles;                   /* per sample: its estimated cycles (cycles_of) */
    bool corrects;                        /* whether the ensemble corrects estimates of cycles */
    double level;                         /* if `corrects`: weighted mean of log(cycles / ms) */
    double best_ms;                       /* the least time; INFINITY = none */
    struct xgb *ensemble;                 /* the trained trees; NULL = not trained yet */
    int n_used, used[FEATURES_ALL];       /* columns that the ensemble uses */
    int trained_at;                       /* number of samples at the last training; 0 = never */
    struct { double score, ms; } window[MODEL_WINDOW];  /* last predictions (a ring buffer) */
    int predicted;  /* number of samples that an ensemble predicted before they were added */
    struct cost_model_stats stats;
};

bool cost_model_new(const struct cost_model_opts *o, struct cost_model **out, struct err *e)
{
    if (!o->random && !xgb_available(e))
        return false;
    struct cost_model *m = xcalloc(1, sizeof *m);
    m->o = *o;
    m->o.rounds = o->rounds > 0 ? o->rounds : ROUNDS;
    m->o.first = o->first > 0 ? o->first : FIRST;
    m->o.growth = o->growth > 1 ? o->growth : GROWTH;
    m->best_ms = INFINITY;
    *out = m;
    return true;
}

void cost_model_free(struct cost_model *m)
{
    if (!m)
        return;
    vec_free(&m->x);
    vec_free(&m->first);
    vec_free(&m->ms);
    vec_free(&m->cycles);
    xgb_free(m->ensemble);
    free(m);
}

struct cost_model_stats cost_model_stats(const struct cost_model *m)
{
    struct cost_model_stats s = m->stats;
    s.learned = m->ensemble != NULL;
    return s;
}

/* --- Predicting ------------------------------------------------------------------------------ */

static bool usable(const struct features *f)
{
    for (int i = 0; i < f->rows * f->columns; i++)
        if (!isfinite(f->x[i]))
            return false;
    return f->rows > 0 && f->columns > 0 && f->columns <= FEATURES_ALL;
}

/* Returns 64 times the estimated cycles of the code, divided by the least number of vector
 * multiply-adds that the operator needs (feature_work.c); 0: unknown. */
static double cycles_of(const struct features *f)
{
    double most = 0;
    for (int r = 0; f->columns == FEATURES_ALL && r < f->rows; r++)
        most = fmax(most, f->x[r * f->columns + FEATURE_WORK_CYCLES]);
    return exp2(most) - 1;
}

/* Copies the n columns used[] of every row to `to`.  Returns the end of the copy. */
static float *gather(const float *from, int rows, int columns, const int *used, int n, float *to)
{
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i++)
            *to++ = from[(size_t)r * (size_t)columns + (size_t)used[i]];
    return to;
}

static double random_score(const struct cost_model *m, const struct features *f)
{
    struct rng r = rng_seed(m->o.seed ^ features_hash(f));
    return rng_unit(&r);
}

static bool fits(const struct cost_model *m, const struct features *f)
{
    return usable(f) && (m->columns == 0 || f->columns == m->columns);
}

static void learned_scores(const struct cost_model *m, const struct features *f, int n,
                           double *score)
{
    int rows = 0, at = 0;
    struct err e;
    for (int i = 0; i < n; i++)
        rows += fits(m, &f[i]) ? f[i].rows : 0;
    float *x = xcalloc((size_t)rows * (size_t)m->n_used + 1, sizeof *x);
    float *y = xcalloc((size_t)rows + 1, sizeof *y), *next = x;
    for (int i = 0; i < n; i++)
        if (fits(m, &f[i]))
            next = gather(f[i].x, f[i].rows, f[i].columns, m->used, m->n_used, next);
    bool ok = rows > 0 && xgb_predict(m->ensemble, x, rows, m->n_used, y, &e);
    for (int i = 0; i < n; i++) {
        score[i] = ok && fits(m, &f[i]) ? 0 : -INFINITY;
        for (int r = 0; score[i] != -INFINITY && r < f[i].rows; r++)
            score[i] += y[at++];
        if (m->corrects && score[i] != -INFINITY)
            score[i] = m->best_ms * exp(score[i] + m->level) / cycles_of(&f[i]);
    }
    free(x);
    free(y);
}

void cost_model_predict(struct cost_model *m, const struct features *f, int n, double *score)
{
    if (m->ensemble) {
        learned_scores(m, f, n, score);
        return;
    }
    for (int i = 0; i < n; i++)
        score[i] = !fits(m, &f[i]) ? -INFINITY
                 : cycles_of(&f[i]) > 0 ? PEAK_CYCLES / cycles_of(&f[i]) : random_score(m, &f[i]);
}

/* --- Samples --------------------------------------------------------------------------------- */

bool cost_model_add(struct cost_model *m, const struct features *f, double latency_ms)
{
    bool failed = !(latency_ms > 0) || !isfinite(latency_ms);
    double ms = failed ? INFINITY : latency_ms;
    if (!fits(m, f))
        return false;
    m->columns = f->columns;
    if (m->ensemble) {
        int at = m->predicted++ % MODEL_WINDOW;
        cost_model_predict(m, f, 1, &m->window[at].score);
        m->window[at].ms = ms;
    }
    vec_push(&m->first, m->x.len / m->columns);
    vec_push(&m->ms, ms);
    vec_push(&m->cycles, cycles_of(f));
    for (int i = 0; i < f->rows * f->columns; i++)
        vec_push(&m->x, f->x[i]);
    m->best_ms = fmin(m->best_ms, ms);
    m->stats.samples++;
    m->stats.failed += failed;
    return true;
}

struct model_accuracy cost_model_accuracy(const struct cost_model *m)
{
    struct model_accuracy a = { .n = m->predicted < MODEL_WINDOW ? m->predicted : MODEL_WINDOW };
    double score[MODEL_WINDOW], ms[MODEL_WINDOW];
    for (int i = 0; i < a.n; i++) {
        score[i] = m->window[i].score;
        ms[i] = m->window[i].ms;
    }
    a.pair_order = rank_pair_order(score, ms, a.n);
    a.recall8 = rank_recall(score, ms, a.n, 8);
    a.known = a.n >= 16 && !isnan(a.pair_order);
    return a;
}

/* --- Training -------------------------------------------------------------------------------- */

double pack_gradient(int packs, const int *first, const double *y, const double *w,
                     const float *predicted, float *gradient, float *hessian)
{
    double squares = 0, weights = 0;
    for (int p = 0; p < packs; p++) {
        double sum = 0;
        for (int i = first[p]; i < first[p + 1]; i++)
            sum += predicted[i];
        for (int i = first[p]; i < first[p + 1]; i++) {
            gradient[i] = (float)(w[p] * (sum - y[p]));
            hessian[i] = (float)w[p];
        }
        squares += w[p] * (sum - y[p]) * (sum - y[p]);
        weights += w[p];
    }
    return weights > 0 ? sqrt(squares / weights) : 0;
}

struct packs {
    int n;
    int *first;                           /* pack p has the rows from first[p] to first[p + 1] */
    double *y, *w;
    bool corrects; double level;          /* see struct cost_model */
    /* error: the error now; mark: its value when it last fell by the fraction PROGRESS; idle:
     * number of rounds since then */
    double error, mark;
    int rounds, idle;
};

static bool on_round(void *ctx, const float *predicted, float *gradient, float *hessian)
{
    struct packs *p = ctx;
    p->error = pack_gradient(p->n, p->first, p->y, p->w, predicted, gradient, hessian);
    if (p->rounds == 0 || p->error < p->mark * (1 - PROGRESS)) {
        p->mark = p->error;
        p->idle = 0;
    }
    if (p->error < 1e-6 || p->idle++ >= PATIENCE)
        return false;
    p->rounds++;
    return true;
}

/* Sets each label to log(estimated cycles / time) minus the weighted mean of this logarithm over
 * the samples with a time.  A label says how much faster the program is than its estimate predicts.
 * Labels are limited to MOST_CORRECTION in size; programs that failed get the least one. */
static void label_corrections(const struct cost_model *m, struct packs *p)
{
    double sum = 0, weights = 0;
    for (int i = 0; i < p->n; i++)
        if (isfinite(m->ms.data[i])) {
            sum += p->w[i] * log(m->cycles.data[i] / m->ms.data[i]);
            weights += p->w[i];
        }
    p->level = sum / weights;
    for (int i = 0; i < p->n; i++) {
        double y = isfinite(m->ms.data[i]) ? log(m->cycles.data[i] / m->ms.data[i]) - p->level
                                           : -MOST_CORRECTION;
        p->y[i] = fmax(-MOST_CORRECTION, fmin(y, MOST_CORRECTION));
    }
}

/* Whether some sample has a time, and every sample with a time has an estimate. */
static bool has_estimates(const struct cost_model *m)
{
    for (int i = 0; i < m->cycles.len; i++)
        if (isfinite(m->ms.data[i]) && !(m->cycles.data[i] > 0))
            return false;
    return isfinite(m->best_ms);
}

static void label(const struct cost_model *m, struct packs *p)
{
    p->n = m->first.len;
    p->first = xcalloc((size_t)p->n + 1, sizeof *p->first);
    p->y = xcalloc((size_t)p->n + 1, sizeof *p->y);
    p->w = xcalloc((size_t)p->n + 1, sizeof *p->w);
    memcpy(p->first, m->first.data, (size_t)p->n * sizeof *p->first);
    p->first[p->n] = m->x.len / m->columns;
    for (int i = 0; i < p->n; i++) {
        p->y[i] = isfinite(m->ms.data[i]) ? m->best_ms / m->ms.data[i] : 0;
        p->w[i] = fmax(p->y[i], WEIGHT_LEAST);
    }
    p->corrects = has_estimates(m);
    if (p->corrects)
        label_corrections(m, p);
}

/* Lists the columns whose values differ among the rows of the samples; if there are none, lists
 * column 0.  Returns their number.  Training on constant columns would only take time. */
static int varying(const struct cost_model *m, int *used)
{
    int n = 0, rows = m->x.len / m->columns;
    for (int c = 0; c < m->columns; c++)
        for (int r = 1; r < rows; r++)
            if (m->x.data[r * m->columns + c] != m->x.data[c]) {
                used[n++] = c;
                break;
            }
    if (n == 0)
        used[n++] = 0;
    return n;
}

bool cost_model_train_now(struct cost_model *m, const struct cancel *c, struct err *e)
{
    static const struct xgb_param params[] = {
        { "booster", "gbtree" }, { "tree_method", "hist" }, { "max_depth", "10" },
        { "gamma", "0.001" }, { "min_child_weight", "0" }, { "eta", "0.2" }, { "lambda", "1" },
        { "base_score", "0" }, { "max_bin", "64" }, { "seed", "0" }, { NULL, NULL },
    };
    if (m->o.random || m->first.len == 0)
        return true;
    struct packs p = { 0 };
    struct xgb_objective o = { &p, on_round };
    struct xgb *ensemble;
    int used[FEATURES_ALL], n_used = varying(m, used), rows = m->x.len / m->columns;
    double start = clock_s();
    float *x = xcalloc((size_t)rows * (size_t)n_used, sizeof *x);
    gather(m->x.data, rows, m->columns, used, n_used, x);
    label(m, &p);
    bool ok = xgb_train(x, rows, n_used, params, m->o.rounds, &o, c, &ensemble, e);
    if (ok) {
        xgb_free(m->ensemble);
        m->ensemble = ensemble;
        m->n_used = n_used;
        memcpy(m->used, used, sizeof used);
        m->corrects = p.corrects;
        m->level = p.level;
        m->trained_at = m->first.len;
        m->stats.trainings++;
        m->stats.trees = p.rounds;
        m->stats.error = p.error;
    }
    m->stats.last_train_s = clock_s() - start;
    m->stats.train_s += m->stats.last_train_s;
    free(x);
    free(p.first);
    free(p.y);
    free(p.w);
    return ok;
}

bool cost_model_train(struct cost_model *m, const struct cancel *c, struct err *e)
{
    int n = m->first.len;
    if (n < m->o.first || (m->trained_at && n < m->trained_at * m->o.growth))
        return true;
    return cost_model_train_now(m, c, e);
}
