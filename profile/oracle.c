#include "profile/oracle.h"

#include "kernels/base/arena.h"
#include "kernels/ops/reference.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT 4
#define KEPT_BYTES ((int64_t)512 << 20)
#define POISON 0x7fcbadadu                /* a quiet NaN */

struct oracle {
    char *spec;
    uint64_t seed;
    int n_tensors;
    double **data;                        /* per tensor of the base graph; outputs only */
    float **given;                        /* inputs and constants only */
    double *rms;
    int64_t bytes;
    int users;                            /* the shelf is one */
};

/* Most recently used first. */
static struct oracle *shelf[KEPT];
static pthread_mutex_t shelf_lock = PTHREAD_MUTEX_INITIALIZER;

/* --- The shelf: the lock is held in all of these ---------------------------------------------- */

static void drop(struct oracle *o)
{
    if (--o->users > 0)
        return;
    for (int t = 0; t < o->n_tensors; t++) {
        free(o->data[t]);
        free(o->given[t]);
    }
    free(o->data);
    free(o->given);
    free(o->rms);
    free(o->spec);
    free(o);
}

static struct oracle *take(const char *spec, uint64_t seed)
{
    for (int i = 0; i < KEPT; i++) {
        struct oracle *o = shelf[i];
        if (!o || o->seed != seed || !streq(o->spec, spec))
            continue;
        memmove(shelf + 1, shelf, (size_t)i * sizeof *shelf);
        shelf[0] = o;
        o->users++;
        return o;
    }
    return NULL;
}

static void put(struct oracle *o)
{
    int64_t bytes = o->bytes;
    if (shelf[KEPT - 1])
        drop(shelf[KEPT - 1]);
    memmove(shelf + 1, shelf, (KEPT - 1) * sizeof *shelf);
    shelf[0] = o;
    o->users++;
    for (int i = 1; i < KEPT; i++) {
        bytes += shelf[i] ? shelf[i]->bytes : 0;
        if (shelf[i] && bytes > KEPT_BYTES) {
            drop(shelf[i]);
            shelf[i] = NULL;
        }
    }
}

/* --- Computing -------------------------------------------------------------------------------- */

static bool is_given(const struct tensor *t)
{
    return t->role == TENSOR_INPUT || t->role == TENSOR_CONST;
}

static float *make_data(const struct tensor *t, uint64_t seed)
{
    float *data = xmalloc_elems((size_t)tensor_elems(t), sizeof *data);
    reference_fill(t, seed, data);
    return data;
}

static void give_data(struct oracle *o, const struct tensor *t, int i)
{
    int64_t n = tensor_elems(t);
    o->given[i] = make_data(t, o->seed);
    o->bytes += n * (int64_t)sizeof(float);
    for (int64_t k = 0; k < n; k++)
        o->data[i][k] = o->given[i][k];
}

static double rms_of(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return n > 0 ? sqrt(sum / (double)n) : 0;
}

int64_t oracle_bytes(const struct graph *base)
{
    int64_t bytes = 0;
    for (int t = 0; t < base->n_tensors; t++)
        bytes += (int64_t)sizeof(double) * tensor_elems(&base->tensor[t]);
    return bytes;
}

/* Keeps what is given, in single precision, and the outputs; frees everything else. */
static bool compute(const struct graph *g, uint64_t seed, const struct cancel *c,
                    struct oracle **out, struct err *e)
{
    struct oracle *o = xcalloc(1, sizeof *o);
    *o = (struct oracle){ .spec = xstrdup(g->spec), .seed = seed, .users = 1 };
    o->n_tensors = g->n_tensors;
    o->data = xcalloc((size_t)g->n_tensors, sizeof *o->data);
    o->given = xcalloc((size_t)g->n_tensors, sizeof *o->given);
    o->rms = xcalloc((size_t)g->n_tensors, sizeof *o->rms);
    for (int t = 0; t < g->n_tensors; t++) {
        o->data[t] = xmalloc_elems((size_t)tensor_elems(&g->tensor[t]), sizeof **o->data);
        if (is_given(&g->tensor[t]))
            give_data(o, &g->tensor[t], t);
    }
    bool ok = reference_eval(g, o->data, c, e);
    for (int t = 0; t < g->n_tensors; t++) {
        int64_t n = tensor_elems(&g->tensor[t]);
        if (ok && g->tensor[t].role == TENSOR_OUTPUT) {
            o->rms[t] = rms_of(o->data[t], n);
            o->bytes += n * (int64_t)sizeof(double);
        } else {
            free(o->data[t]);
            o->data[t] = NULL;
        }
    }
    if (ok)
        *out = o;
    else
        drop(o);
    return ok;
}

const struct oracle *oracle_kept(const struct graph *base, uint64_t seed)
{
    pthread_mutex_lock(&shelf_lock);
    const struct oracle *o = take(base->spec, seed);
    pthread_mutex_unlock(&shelf_lock);
    return o;
}

const struct oracle *oracle_again(const struct oracle *o)
{
    pthread_mutex_lock(&shelf_lock);
    ((struct oracle *)(uintptr_t)o)->users++;
    pthread_mutex_unlock(&shelf_lock);
    return o;
}

bool oracle_acquire(const struct graph *base, uint64_t seed, const struct cancel *c,
                    const struct oracle **out, struct err *e)
{
    struct oracle *o;
    *out = oracle_kept(base, seed);
    if (!*out) {
        if (!compute(base, seed, c, &o, e))
            return false;
        pthread_mutex_lock(&shelf_lock);
        put(o);
        pthread_mutex_unlock(&shelf_lock);
        *out = o;
    }
    return true;
}

void oracle_release(const struct oracle *o)
{
    if (!o)
        return;
    pthread_mutex_lock(&shelf_lock);
    drop((struct oracle *)(uintptr_t)o);
    pthread_mutex_unlock(&shelf_lock);
}

/* --- Data and verdict --------------------------------------------------------------------------
 */

int oracle_base_tensor(const struct program *p, int tensor)
{
    const struct graph *g = p->graph, *base = p->base;
    int nth = 0;
    if (g->tensor[tensor].role == TENSOR_INTER)
        return -1;
    for (int t = 0; t < tensor; t++)
        nth += g->tensor[t].role != TENSOR_INTER;
    for (int t = 0; t < base->n_tensors; t++)
        if (base->tensor[t].role != TENSOR_INTER && nth-- == 0)
            return t;
    UNREACHABLE();
}

/* *own is to be freed; what is not the caller's own is the oracle's. */
static const float *logical_data(const struct oracle *o, const struct program *p, int tensor,
                                 uint64_t seed, float **own)
{
    int b = oracle_base_tensor(p, tensor);
    *own = o ? NULL : make_data(&p->base->tensor[b], seed);
    return o ? o->given[b] : *own;
}

void oracle_fill(const struct oracle *o, const struct program *p, int tensor, uint64_t seed,
                 int64_t elems, float *physical)
{
    const uint32_t poison = POISON;
    float *own;
    if (!is_given(&p->graph->tensor[tensor])) {
        for (int64_t i = 0; i < elems; i++)
            memcpy(&physical[i], &poison, sizeof poison);
        return;
    }
    layout_pack(p->layout[tensor], logical_data(o, p, tensor, seed, &own), physical);
    free(own);
    for (int guest = 0; guest < p->graph->n_tensors; guest++)
        if (p->host[guest] == tensor) {               /* store_at: kept in the same buffer */
            layout_place(p->pool, p->layout[guest], logical_data(o, p, guest, seed, &own),
                         physical);
            free(own);
        }
}

static bool is_poison(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits == POISON;
}

/* "Conv[0][3][17][5]" */
static void name_element(const struct tensor *t, int64_t flat, char *out, size_t n)
{
    int64_t index[MAX_RANK];
    for (int d = t->rank - 1; d >= 0; d--) {
        index[d] = flat % t->shape[d];
        flat /= t->shape[d];
    }
    int len = snprintf(out, n, "%.60s", t->name);
    for (int d = 0; d < t->rank && len < (int)n; d++)
        len += snprintf(out + len, n - (size_t)len, "[%lld]", (long long)index[d]);
}

struct tally { int64_t n, wrong, first; double max; };

static struct tally tally(const float *got, const double *ref, int64_t n, double rms,
                          double tolerance)
{
    struct tally t = { .n = n, .first = -1 };
    double floor = rms > FLT_MIN ? rms : FLT_MIN;
    for (int64_t i = 0; i < n; i++) {
        double size = fabs(ref[i]) > floor ? fabs(ref[i]) : floor;
        double err = isfinite(got[i]) ? fabs((double)got[i] - ref[i]) / size : ORACLE_INFINITE;
        if (err > t.max)
            t.max = err;
        if (err <= tolerance)
            continue;
        if (t.wrong++ == 0)
            t.first = i;
    }
    return t;
}

static bool blame(const struct tensor *t, const struct tally *y, float got, double ref,
                  struct err *e)
{
    char where[200], what[64], share[64], size[64] = "";
    double percent = 100 * (double)y->wrong / (double)y->n;
    name_element(t, y->first, where, sizeof where);
    if (is_poison(got))
        snprintf(what, sizeof what, "was never written");
    else
        snprintf(what, sizeof what, "is %.6g", got);
    if (percent >= 1)
        snprintf(share, sizeof share, "%.0f %% of elements", percent);
    else
        snprintf(share, sizeof share, "%lld of %lld elements", (long long)y->wrong,
                 (long long)y->n);
    if (y->max < ORACLE_INFINITE)
        snprintf(size, sizeof size, "max rel err %.2g, ", y->max);
    return err_set(e, ERR_WRONG, "%s %s, reference %.6g (%s%s)", where, what, ref, size, share);
}

bool oracle_compare(const struct oracle *o, const struct program *p, int tensor,
                    const float *physical, double tolerance, double *max_rel_err, struct err *e)
{
    int b = oracle_base_tensor(p, tensor);
    const struct tensor *t = &p->base->tensor[b];
    int64_t n = tensor_elems(t);
    float *got = xmalloc_elems((size_t)n, sizeof *got);
    layout_unpack(p->layout[tensor], physical, got);
    struct tally y = tally(got, o->data[b], n, o->rms[b], tolerance);
    bool ok = y.wrong == 0 || blame(t, &y, got[y.first], o->data[b][y.first], e);
    if (y.max > *max_rel_err)
        *max_rel_err = y.max;
    free(got);
    return ok;
}
