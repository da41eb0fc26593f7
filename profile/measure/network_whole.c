#include "profile/measure/network_whole.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "kernels/onnx/weights.h"
#include "kernels/ops/reference.h"

#define OF_SINGLE 8.0                     /* multiple of the error of plain float32 */
#define OF_SCALE 1e-5                     /* allowed error as a share of the largest value */

/* An evaluation of the graph node by node.  The values of a tensor are held from its first to its
 * last use, the values of an output to the end.  exact: the values as float64 computes them;
 * single: as float32 computes them.  Inputs and constants have one array for both.  v NULL: a dry
 * run, which only counts bytes. */
struct whole_run {
    const struct graph *g;
    const struct network *net;
    const struct network_values *v;
    uint64_t seed;
    int *last;                            /* per tensor: the last node that reads it */
    /* per tensor. needed: whether an output depends on it; held: whether its values are held now */
    bool *needed, *held;
    /* per tensor. inexact: whether float32 and float64 differ; jumps: whether it depends on a jump
     * of inexact values */
    bool *inexact, *jumps;
    double **exact, **single;
    double live, most;                    /* live: bytes held now; most: the most so far */
    bool ok;
    struct err *e;
};


/* Calls f for each tensor that v loads. */
static void each_load(struct whole_run *r, const struct val *v,
                      void (*f)(struct whole_run *r, int tensor, int node), int node)
{
    if (!v)
        return;
    if (v->kind == VAL_LOAD)
        f(r, v->source, node);
    each_load(r, v->a, f, node);
    each_load(r, v->b, f, node);
}

static void note_reader(struct whole_run *r, int tensor, int node)
{
    r->needed[tensor] = true;
    r->last[tensor] = r->last[tensor] > node ? r->last[tensor] : node;
}

/* Returns the first operand of v; NULL if the operand changes nothing.  This happens in a gather
 * from an axis of extent 1, whose index remains only as the condition under which 0 is added. */
static const struct val *first_of(const struct val *v)
{
    bool nothing = v->kind == VAL_KEEP && v->b->kind == VAL_CONST && v->b->value == 0;
    return nothing ? NULL : v->a;
}

/* Whether float32 and float64 differ in the value of a tensor that v loads. */
static bool is_inexact(const struct whole_run *r, const struct val *v)
{
    return v && (v->kind == VAL_LOAD ? r->inexact[v->source]
                                     : is_inexact(r, first_of(v)) || is_inexact(r, v->b));
}

/* Whether a small error of a value that v loads can become a large error of v. */
static bool jumps(const struct whole_run *r, const struct val *v)
{
    if (!v || v->kind == VAL_LOAD)
        return v && r->jumps[v->source];
    const struct val *a = first_of(v);
    return (val_decides(v->kind, false) && is_inexact(r, a))
        || (val_decides(v->kind, true) && is_inexact(r, v->b)) || jumps(r, a) || jumps(r, v->b);
}

static void whole_open(struct whole_run *r, const struct network *net, struct err *e)
{
    const struct graph *g = net->whole;
    size_t n = (size_t)g->n_tensors;
    *r = (struct whole_run){ .g = g, .net = net, .ok = true, .e = e,
                             .last = xcalloc(n, sizeof *r->last),
                             .needed = xcalloc(n, sizeof *r->needed),
                             .held = xcalloc(n, sizeof *r->held),
                             .inexact = xcalloc(n, sizeof *r->inexact),
                             .jumps = xcalloc(n, sizeof *r->jumps),
                             .exact = xcalloc(n, sizeof *r->exact),
                             .single = xcalloc(n, sizeof *r->single) };
    for (int t = 0; t < g->n_tensors; t++)
        r->needed[t] = g->tensor[t].role == TENSOR_OUTPUT;
    for (int i = g->n_nodes - 1; i >= 0; i--)
        if (r->needed[g->node[i].out])
            each_load(r, g->node[i].body, note_reader, i);
}

/* --- The evaluation --------------------------------------------------------------------------- */

static double bytes_of(const struct whole_run *r, int tensor)
{
    const struct tensor *t = &r->g->tensor[tensor];
    return (double)tensor_elems(t) * (double)sizeof(double) * (t->producer < 0 ? 1 : 2);
}

static double *new_values(const struct tensor *t)
{
    return xmalloc_elems((size_t)tensor_elems(t), sizeof(double));
}

/* Fills the values of an input or constant. */
static bool read_given(struct whole_run *r, const struct tensor *t, double *to)
{
    int64_t n = tensor_elems(t);
    int of = graph_tensor(r->net->graph, t->name);
    const f32 *input = t->role == TENSOR_INPUT && of >= 0 ? r->v->value[of] : NULL;
    f32 *own = input ? NULL : xmalloc_elems((size_t)n, sizeof *own);
    bool ok = input || weights_tensor_data(t, r->seed, own, r->e);
    for (int64_t i = 0; ok && i < n; i++)
        to[i] = (double)(input ? input[i] : own[i]);
    free(own);
    return ok;
}

static void hold(struct whole_run *r, int tensor, int node)
{
    const struct tensor *t = &r->g->tensor[tensor];
    (void)node;
    if (r->held[tensor])
        return;
    r->held[tensor] = true;
    r->live += bytes_of(r, tensor);
    r->most = fmax(r->most, r->live);
    if (!r->v)
        return;
    r->exact[tensor] = new_values(t);
    r->single[tensor] = t->producer < 0 ? r->exact[tensor] : new_values(t);
    r->ok = r->ok && (t->producer >= 0 || read_given(r, t, r->exact[tensor]));
}

static void drop(struct whole_run *r, int tensor)
{
    r->live -= r->held[tensor] ? bytes_of(r, tensor) : 0;
    r->held[tensor] = false;
    if (r->single[tensor] != r->exact[tensor])
        free(r->single[tensor]);
    free(r->exact[tensor]);
    r->exact[tensor] = r->single[tensor] = NULL;
}

static void drop_read(struct whole_run *r, int tensor, int node)
{
    if (r->last[tensor] == node && r->g->tensor[tensor].role != TENSOR_OUTPUT)
        drop(r, tensor);
}

static void whole_close(struct whole_run *r)
{
    for (int t = 0; t < r->g->n_tensors; t++)
        drop(r, t);
    free(r->last);
    free(r->needed);
    free(r->held);
    free(r->inexact);
    free(r->jumps);
    free(r->exact);
    free(r->single);
}

/* Evaluates node i in float64 and in float32. */
static bool evaluate_node(struct whole_run *r, int i, const struct cancel *c)
{
    const struct node *n = &r->g->node[i];
    size_t bytes = (size_t)tensor_elems(&r->g->tensor[n->out]) * sizeof(double);
    if (!reference_eval_node(r->g, i, r->exact, false, c, r->e)
        || !reference_eval_node(r->g, i, r->single, true, c, r->e))
        return false;
    r->jumps[n->out] = jumps(r, n->body);
    r->inexact[n->out] = memcmp(r->exact[n->out], r->single[n->out], bytes) != 0;
    return true;
}

static bool evaluate(struct whole_run *r, const struct progress *pr, const struct cancel *c)
{
    double done = 0;
    for (int i = 0; i < r->g->n_nodes && r->ok; i++) {
        const struct node *n = &r->g->node[i];
        if (!r->needed[n->out])
            continue;
        if (pr && pr->report && r->v)
            pr->report(pr->ctx, "evaluating the whole graph", done / fmax(r->g->flops, 1));
        each_load(r, n->body, hold, i);
        hold(r, n->out, i);
        r->ok = r->ok && (!r->v || evaluate_node(r, i, c));
        each_load(r, n->body, drop_read, i);
        done += n->flops;
    }
    return r->ok;
}

double network_whole_bytes(const struct network *net)
{
    struct whole_run r;
    whole_open(&r, net, NULL);
    evaluate(&r, NULL, NULL);
    double most = r.most;
    whole_close(&r);
    return most;
}

/* --- Cost of a check -------------------------------------------------------------------------- */

#define SAMPLE "gmm m=64 k=512 n=256"

typedef bool evaluation(const struct graph *g, double *const *data);

static bool exactly(const struct graph *g, double *const *data)
{
    struct err e;
    return reference_eval(g, data, NULL, &e);
}

static bool singly(const struct graph *g, double *const *data)
{
    struct err e;
    return reference_eval_single(g, data, NULL, &e);
}

static bool with_bounds(const struct graph *g, double *const *data)
{
    struct err e;
    double **error = xcalloc((size_t)g->n_tensors, sizeof *error);
    for (int t = 0; t < g->n_tensors; t++)
        error[t] = g->tensor[t].producer < 0 ? NULL : new_values(&g->tensor[t]);
    bool ok = reference_error(g, data, error, NULL, &e);
    for (int t = 0; t < g->n_tensors; t++)
        free(error[t]);
    free(error);
    return ok;
}

/* Returns the seconds per FLOP of f, by the faster of two calls. */
static double seconds_per_flop(const struct graph *g, double *const *data, evaluation *f)
{
    double least = INFINITY;
    for (int i = 0; i < 2; i++) {
        double began = clock_s();
        f(g, data);
        least = fmin(least, clock_s() - began);
    }
    return least / g->flops;
}

double network_check_estimate(const struct network *net)
{
    struct arena *a = arena_new();
    const struct graph *g;
    struct err e;
    if (!graph_from_spec(a, SAMPLE, &g, &e))
        fail("%s", e.text);
    double **data = ARENA_ARRAY(a, double *, g->n_tensors), called = 0;
    for (int t = 0; t < g->n_tensors; t++) {
        int64_t n = tensor_elems(&g->tensor[t]);
        data[t] = ARENA_ARRAY(a, double, (int)n);
        for (int64_t i = 0; i < n; i++)
            data[t][i] = 1 / (double)(i % 97 + 1);
    }
    for (int i = 0; i < net->n_tasks; i++)
        called += net->task[i].count * net->task[i].program->base->flops;
    double s = called * seconds_per_flop(g, data, with_bounds)
             + net->whole->flops * (seconds_per_flop(g, data, exactly)
                                    + seconds_per_flop(g, data, singly));
    arena_free(a);
    return s;
}

/* --- Expected outputs ------------------------------------------------------------------------- */

/* Returns the expected output: its exact values, and the deviation that is allowed. */
static struct whole_output output_of(struct whole_run *r, int tensor)
{
    const struct tensor *t = &r->g->tensor[tensor];
    struct whole_output out = { .tensor = t, .exact = r->exact[tensor],
                                .jumps = r->jumps[tensor] };
    double off = 0, scale = 0, *exact = r->exact[tensor], *single = r->single[tensor];
    for (int64_t i = 0; i < tensor_elems(t); i++) {
        if (!(fabs(exact[i]) <= t->type->largest) || !isfinite(single[i])) {
            exact[i] = NAN;
            continue;
        }
        off = fmax(off, fabs(single[i] - exact[i]));
        scale = fmax(scale, fabs(exact[i]));
    }
    out.allowed = OF_SINGLE * off + OF_SCALE * scale;
    r->exact[tensor] = NULL;
    free(single);
    r->single[tensor] = NULL;
    return out;
}

bool network_whole_make(const struct network *net, const struct network_values *v, uint64_t seed,
                        const struct progress *pr, const struct cancel *c,
                        struct network_whole *out, struct err *e)
{
    struct whole_run r;
    whole_open(&r, net, e);
    r.v = v;
    r.seed = seed;
    *out = (struct network_whole){ 0 };
    bool ok = evaluate(&r, pr, c);
    if (ok)
        out->output = xcalloc((size_t)r.g->n_tensors, sizeof *out->output);
    for (int t = 0; ok && t < r.g->n_tensors; t++)
        if (r.g->tensor[t].role == TENSOR_OUTPUT)
            out->output[out->n++] = output_of(&r, t);
    whole_close(&r);
    return ok;
}

void network_whole_free(struct network_whole *w)
{
    for (int i = 0; i < w->n; i++)
        free(w->output[i].exact);
    free(w->output);
    *w = (struct network_whole){ 0 };
}

/* --- The comparison --------------------------------------------------------------------------- */

static bool judge(const struct whole_output *o, const f32 *got, struct whole_deviation *worst,
                  struct err *e)
{
    int64_t n = tensor_elems(o->tensor), at = 0, compared = 0;
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        double off = fabs((double)got[i] - o->exact[i]);
        if (isnan(o->exact[i]))
            continue;
        compared++;
        off = isfinite(got[i]) ? off : INFINITY;
        at = off > most ? i : at;
        most = fmax(most, off);
    }
    bool right = most <= o->allowed;
    if (compared == 0 || (!right && o->jumps)) {
        snprintf(worst->reason, sizeof worst->reason, "%.60s cannot be compared: %s",
                 o->tensor->name, compared == 0
                     ? "its values or intermediate values exceed float32"
                     : "rounding can change a comparison on which it depends");
        return true;
    }
    worst->abs_err = fmax(worst->abs_err, most);
    worst->of_allowed = fmax(worst->of_allowed, most > 0 ? most / o->allowed : 0);
    return right
        || err_set(e, ERR_WRONG, "element %lld of output %.60s is %.7g, but evaluating the whole "
                   "graph gives %.7g: %.3g times what plain float32 explains", (long long)at,
                   o->tensor->name, (double)got[at], o->exact[at], most / o->allowed);
}

bool network_whole_compare(const struct network_whole *w, const char *output, const f32 *got,
                           struct whole_deviation *worst, struct err *e)
{
    for (int i = 0; i < w->n; i++)
        if (streq(w->output[i].tensor->name, output))
            return judge(&w->output[i], got, worst, e);
    return err_set(e, ERR_BUG, "output %.60s is missing in the whole graph", output);
}
