#include "profile/measure/oracle_impl.h"

#include "kernels/base/arena.h"
#include "kernels/base/rng.h"
#include "kernels/onnx/weights.h"
#include "kernels/ops/reference.h"
#include "kernels/ops/winograd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KEPT 4
#define KEPT_BYTES ((int64_t)512 << 20)

/* Kept oracles, most recently used first. */
static struct oracle *kept[KEPT];
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

/* --- Kept oracles: the caller of take() and put() holds the lock ------------------------------ */

static void drop(struct oracle *o)
{
    if (--o->users > 0)
        return;
    for (int t = 0; t < o->n_tensors; t++)
        free(o->given[t]);
    oracle_free_tensors(o->data, o->n_tensors);
    oracle_free_tensors(o->error, o->n_tensors);
    oracle_free_tensors(o->single, o->n_tensors);
    oracle_free_tensors(o->moved, o->n_tensors);
    for (struct form_error *x = o->forms, *next; x; x = next) {
        next = x->next;
        oracle_free_tensors(x->error, o->n_tensors);
        free(x->algorithms);
        free(x);
    }
    free(o->given);
    free(o->rms);
    free(o->spec);
    pthread_mutex_destroy(&o->lock);
    free(o);
}

static struct oracle *take(const struct graph *g, uint64_t seed)
{
    for (int i = 0; i < KEPT; i++) {
        struct oracle *o = kept[i];
        if (!o || o->seed != seed || o->type != g->type || !streq(o->spec, g->spec))
            continue;
        memmove(kept + 1, kept, (size_t)i * sizeof *kept);
        kept[0] = o;
        o->users++;
        return o;
    }
    return NULL;
}

static void put(struct oracle *o)
{
    int64_t bytes = o->bytes;
    if (kept[KEPT - 1])
        drop(kept[KEPT - 1]);
    memmove(kept + 1, kept, (KEPT - 1) * sizeof *kept);
    kept[0] = o;
    o->users++;
    for (int i = 1; i < KEPT; i++) {
        bytes += kept[i] ? kept[i]->bytes : 0;
        if (kept[i] && bytes > KEPT_BYTES) {
            drop(kept[i]);
            kept[i] = NULL;
        }
    }
}

/* --- Computing -------------------------------------------------------------------------------- */

static bool is_given(const struct tensor *t)
{
    return t->role == TENSOR_INPUT || t->role == TENSOR_CONST;
}

/* Returns new data for t, as elements of its type.  NULL with *e when the data cannot be read. */
static void *make_data(const struct tensor *t, uint64_t seed, struct err *e)
{
    int64_t n = tensor_elems(t);
    f32 *data = xmalloc_elems((size_t)n, sizeof *data);
    if (!weights_tensor_data(t, seed, data, e)) {
        free(data);
        return NULL;
    }
    if (t->type == &type_f32)
        return data;
    void *own = xmalloc_elems((size_t)n, (size_t)t->type->bytes);
    type_convert(&type_f32, data, t->type, own, n);
    free(data);
    return own;
}

/* Returns the root mean square of the elements that the type can hold. */
static double rms_of(const struct elem_type *type, const double *x, int64_t n)
{
    double sum = 0;
    int64_t counted = 0;
    for (int64_t i = 0; i < n; i++)
        if (fabs(x[i]) <= type->largest) {
            sum += x[i] * x[i];
            counted++;
        }
    return counted > 0 ? sqrt(sum / (double)counted) : 0;
}

/* Returns the bytes that evaluating g needs, for values and errors. */
static int64_t graph_bytes(const struct graph *g)
{
    int64_t bytes = 0;
    for (int t = 0; t < g->n_tensors; t++)
        bytes += 2 * (int64_t)sizeof(double) * tensor_elems(&g->tensor[t]);
    return bytes;
}

int64_t oracle_bytes(const struct program *p)
{
    return graph_bytes(p->base);
}

int64_t oracle_form_bytes(const struct program *p)
{
    return p->form != p->base ? graph_bytes(p->form) : 0;
}

void oracle_free_tensors(double **of, int n)
{
    for (int t = 0; of && t < n; t++)
        free(of[t]);
    free(of);
}

/* Allocates arrays for the tensors that nodes compute and, if `given`, for inputs and constants
 * too. */
static double **new_tensors(const struct graph *g, bool given)
{
    double **of = xcalloc((size_t)g->n_tensors, sizeof *of);
    for (int t = 0; t < g->n_tensors; t++)
        if (given || !is_given(&g->tensor[t]))
            of[t] = xmalloc_elems((size_t)tensor_elems(&g->tensor[t]), sizeof **of);
    return of;
}

static void keep_outputs(const struct graph *g, double **of)
{
    for (int t = 0; t < g->n_tensors; t++)
        if (g->tensor[t].role != TENSOR_OUTPUT) {
            free(of[t]);
            of[t] = NULL;
        }
}

/* Sets decides[t] for each tensor t that v loads to compute an index or a condition. all: whether v
 * itself is part of an index or a condition. */
static void note_deciding(const struct val *v, bool all, bool *decides)
{
    if (!v)
        return;
    if (v->kind == VAL_LOAD)
        decides[v->source] |= all;
    note_deciding(v->a, all || val_decides(v->kind, false), decides);
    note_deciding(v->b, all || val_decides(v->kind, true), decides);
}

/* Returns x changed by a roundoff, up or down. decides: whether x decides an index or a condition.
 * A whole number below 1 / roundoff then stays as it is, because 5 would become index 4. (Beyond
 * 1 / roundoff every number is whole.) A number that is not whole moves by less than the distance
 * to the next number of its type, so its index does not change either. */
static double moved_by(double x, bool decides, double roundoff, struct rng *r)
{
    double move = rng_float(r) < 0 ? -roundoff : roundoff;
    bool is_whole = x == floor(x) && fabs(x) * roundoff < 1;
    return decides && is_whole ? x : x * (1 + move);
}

/* Returns arrays for all tensors, with inputs and constants filled in. moved: changes their values
 * by a roundoff (moved_by). */
static double **given_tensors(const struct oracle *o, const struct graph *g, bool moved,
                              uint64_t seed)
{
    struct rng r = rng_seed(seed);
    double **of = new_tensors(g, true);
    bool *decides = xcalloc((size_t)g->n_tensors, sizeof *decides);
    for (int i = g->n_nodes - 1; i >= 0; i--)
        note_deciding(g->node[i].body, decides[g->node[i].out], decides);
    for (int t = 0; t < g->n_tensors; t++) {
        const struct tensor *x = &g->tensor[t];
        int64_t n = is_given(x) ? tensor_elems(x) : 0;
        if (n > 0)
            x->type->read(o->given[t], n, of[t]);
        for (int64_t i = 0; i < n && moved; i++)
            of[t][i] = moved_by(of[t][i], decides[t], x->type->sum->roundoff, &r);
    }
    free(decides);
    return of;
}

bool oracle_evaluate(const struct oracle *o, const struct graph *g, enum oracle_how how,
                     const struct cancel *c, double ***out, double ***error, struct err *e)
{
    bool moved = how == ORACLE_MOVED || how == ORACLE_MOVED_AGAIN;
    double **of = given_tensors(o, g, moved, o->seed + (uint64_t)how);
    if (error)
        *error = new_tensors(g, false);
    bool ok = how == ORACLE_SINGLE ? reference_eval_single(g, of, c, e)
            : error                ? reference_error(g, of, *error, c, e)
                                   : reference_eval(g, of, c, e);
    if (error)
        keep_outputs(g, *error);
    keep_outputs(g, of);
    if (ok)
        *out = of;
    else
        oracle_free_tensors(of, g->n_tensors);
    return ok;
}

/* --- The bounds of other algorithms ----------------------------------------------------------- */

/* Fills inputs and constants of a form with the data of the base graph. Transformed weights are
 * computed in float64; error[] gets the bound of rounding them once. */
static void form_given(const struct oracle *o, const struct graph *base, const struct graph *form,
                       double **of, double **error)
{
    for (int t = 0; t < form->n_tensors; t++) {
        const struct tensor *x = &form->tensor[t];
        if (!is_given(x))
            continue;
        const void *given = o->given[program_given_tensor(base, form, t)];
        int64_t n = tensor_elems(x);
        if (!x->winograd) {
            x->type->read(given, n, of[t]);
            continue;
        }
        int64_t n_weights = winograd_n_weights(x);
        double *weights = xmalloc_elems((size_t)n_weights, sizeof *weights);
        x->type->read(given, n_weights, weights);
        winograd_transform(x, weights, of[t]);
        error[t] = xmalloc_elems((size_t)n, sizeof **error);
        for (int64_t i = 0; i < n; i++)
            error[t][i] = x->type->roundoff * fabs(of[t][i]) + x->type->tiny;
        free(weights);
    }
}

/* Bounds the errors of the form of p. Returns the bounds of the outputs, by their index in the base
 * graph; NULL: cancelled. */
static double **bound_form(const struct oracle *o, const struct program *p, const struct cancel *c,
                           struct err *e)
{
    const struct graph *form = p->form;
    double **of = new_tensors(form, true), **error = new_tensors(form, false), **out = NULL;
    form_given(o, p->base, form, of, error);
    if (reference_error(form, of, error, c, e)) {
        out = xcalloc((size_t)o->n_tensors, sizeof *out);
        for (int t = 0; t < form->n_tensors; t++)
            if (form->tensor[t].role == TENSOR_OUTPUT) {
                out[program_given_tensor(p->base, form, t)] = error[t];
                error[t] = NULL;
            }
    }
    oracle_free_tensors(of, form->n_tensors);
    oracle_free_tensors(error, form->n_tensors);
    return out;
}

bool oracle_error(const struct oracle *o, const struct program *p, const struct cancel *c,
                  double *const **out, struct err *e)
{
    struct oracle *own = (struct oracle *)(uintptr_t)o;
    struct str key = {0};
    *out = o->error;
    if (p->form == p->base)
        return true;
    program_print_algorithms(&key, p);
    pthread_mutex_lock(&own->lock);
    struct form_error *x = own->forms;
    while (x && !streq(x->algorithms, str_text(&key)))
        x = x->next;
    double **error = x ? x->error : bound_form(o, p, c, e);
    if (error && !x) {
        x = xcalloc(1, sizeof *x);
        *x = (struct form_error){ own->forms, xstrdup(str_text(&key)), error };
        own->forms = x;
    }
    pthread_mutex_unlock(&own->lock);
    str_free(&key);
    *out = error;
    return error != NULL;
}

static struct oracle *new_oracle(const struct graph *g, uint64_t seed)
{
    struct oracle *o = xcalloc(1, sizeof *o);
    *o = (struct oracle){ .spec = xstrdup(g->spec), .type = g->type, .seed = seed,
                          .users = 1, .bytes = graph_bytes(g) };
    pthread_mutex_init(&o->lock, NULL);
    o->n_tensors = g->n_tensors;
    o->given = xcalloc((size_t)g->n_tensors, sizeof *o->given);
    o->rms = xcalloc((size_t)g->n_tensors, sizeof *o->rms);
    return o;
}

/* Computes the reference of o, and keeps the outputs. ok: false if the data of o could not be made.
 * bounds: whether to compute the bounds of plain arithmetic too.  Frees o if `ok` is false or the
 * computation fails. */
static bool compute(struct oracle *o, const struct graph *g, bool ok, bool bounds,
                    const struct cancel *c, struct oracle **out, struct err *e)
{
    ok = ok && oracle_evaluate(o, g, ORACLE_EXACT, c, &o->data, bounds ? &o->error : NULL, e);
    for (int t = 0; ok && t < g->n_tensors; t++)
        if (g->tensor[t].role == TENSOR_OUTPUT)
            o->rms[t] = rms_of(g->type, o->data[t], tensor_elems(&g->tensor[t]));
    if (ok)
        *out = o;
    else
        drop(o);
    return ok;
}

static bool compute_seed(const struct graph *g, uint64_t seed, const struct cancel *c,
                         struct oracle **out, struct err *e)
{
    struct oracle *o = new_oracle(g, seed);
    bool ok = true;
    for (int t = 0; t < g->n_tensors && ok; t++)
        if (is_given(&g->tensor[t]))
            ok = (o->given[t] = make_data(&g->tensor[t], seed, e)) != NULL;
    return compute(o, g, ok, true, c, out, e);
}

bool oracle_of(const struct program *p, void *const *given, const struct cancel *c,
               const struct oracle **out, struct err *e)
{
    const struct graph *base = p->base;
    struct oracle *o = new_oracle(base, 0), *made;
    for (int t = 0; t < base->n_tensors; t++) {
        size_t bytes = (size_t)tensor_bytes(&base->tensor[t]);
        if (!is_given(&base->tensor[t]))
            continue;
        o->given[t] = xcalloc(1, bytes);
        if (given[t])
            memcpy(o->given[t], given[t], bytes);
    }
    if (!compute(o, base, true, p->form == p->base, c, &made, e))
        return false;
    *out = made;
    return true;
}

const struct oracle *oracle_kept(const struct graph *base, uint64_t seed)
{
    pthread_mutex_lock(&kept_lock);
    const struct oracle *o = take(base, seed);
    pthread_mutex_unlock(&kept_lock);
    return o;
}

const struct oracle *oracle_again(const struct oracle *o)
{
    pthread_mutex_lock(&kept_lock);
    ((struct oracle *)(uintptr_t)o)->users++;
    pthread_mutex_unlock(&kept_lock);
    return o;
}

bool oracle_acquire(const struct graph *base, uint64_t seed, const struct cancel *c,
                    const struct oracle **out, struct err *e)
{
    struct oracle *o;
    *out = oracle_kept(base, seed);
    if (!*out) {
        if (!compute_seed(base, seed, c, &o, e))
            return false;
        pthread_mutex_lock(&kept_lock);
        put(o);
        pthread_mutex_unlock(&kept_lock);
        *out = o;
    }
    return true;
}

void oracle_release(const struct oracle *o)
{
    if (!o)
        return;
    pthread_mutex_lock(&kept_lock);
    drop((struct oracle *)(uintptr_t)o);
    pthread_mutex_unlock(&kept_lock);
}

/* --- Data ------------------------------------------------------------------------------------- */

/* Returns the data of a tensor; NULL with *e when they cannot be read. The caller frees *own (NULL
 * if o has the data). */
static const void *logical_data(const struct oracle *o, const struct program *p, int tensor,
                                uint64_t seed, void **own, struct err *e)
{
    int b = program_base_tensor(p, tensor);
    *own = o ? NULL : make_data(&p->base->tensor[b], seed, e);
    return o ? o->given[b] : *own;
}

void oracle_poison(void *data, int64_t bytes)
{
    uint16_t *half = data;
    for (int64_t i = 0; i < bytes / (int64_t)sizeof *half; i++)
        half[i] = (uint16_t)BUFFER_POISON;
}

bool oracle_fill(const struct oracle *o, const struct program *p, int tensor, uint64_t seed,
                 int64_t elems, void *physical, struct err *e)
{
    const void *logical;
    void *own;
    if (!is_given(&p->graph->tensor[tensor])) {
        oracle_poison(physical, elems * p->graph->tensor[tensor].type->bytes);
        return true;
    }
    if (!(logical = logical_data(o, p, tensor, seed, &own, e)))
        return false;
    layout_pack_given(p->layout[tensor], logical, physical);
    free(own);
    for (int held = 0; held < p->graph->n_tensors; held++)
        if (p->held_in[held] == tensor) {  /* store_at: the tensor is stored in this buffer */
            if (!(logical = logical_data(o, p, held, seed, &own, e)))
                return false;
            layout_place(p->pool, p->layout[held], logical, physical);
            free(own);
        }
    return true;
}
