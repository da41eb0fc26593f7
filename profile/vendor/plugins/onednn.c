/* oneDNN: candidates (layouts and algorithms) of one operator, of which the fastest is kept. */
#include "profile/vendor/plugins/onednn_impl.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_ARGS (VENDOR_MAX_TENSORS + 2)
#define TRIAL_S 0.005                     /* seconds for timing one candidate */
#define TRIAL_RUNS 3

struct onednn_candidate {
    dnnl_primitive_t primitive;
    int n_args;
    dnnl_exec_arg_t arg[MAX_ARGS];
    /* plain[i]: arg[i] as it is in the caller's row-major buffer; NULL: not a tensor of the
     * caller */
    dnnl_memory_t plain[MAX_ARGS];
    /* indices in arg. out: of the result; residual: with choice.sum, of the tensor that is copied
     * into the result before a run whose result is read; else -1 */
    int out, residual;
    double seconds;
    char implementation[96], layout[160];
};

struct vendor_handle {
    struct vendor_problem p;
    float *buffer[VENDOR_MAX_TENSORS];
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    struct onednn_candidate best;
};

static const char *status_text(dnnl_status_t s)
{
    switch (s) {
    case dnnl_success: return "success";
    case dnnl_out_of_memory: return "out of memory";
    case dnnl_invalid_arguments: return "invalid arguments";
    case dnnl_unimplemented: return "no implementation";
    case dnnl_iterator_ends: case dnnl_runtime_error: case dnnl_not_required: break;
    }
    return "a failure at run time";
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- One candidate ---------------------------------------------------------------------------- */

static void drop(struct onednn_candidate *c)
{
    for (int i = 0; i < c->n_args; i++) {
        dnnl_memory_destroy(c->arg[i].memory);
        if (c->plain[i])
            dnnl_memory_destroy(c->plain[i]);
    }
    if (c->primitive)
        dnnl_primitive_destroy(c->primitive);
    memset(c, 0, sizeof *c);
}

static dnnl_status_t reorder(struct vendor_handle *h, dnnl_memory_t from, dnnl_memory_t to)
{
    const dnnl_memory_desc_t *a, *b;
    dnnl_primitive_desc_t pd;
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t arg[] = { { DNNL_ARG_FROM, from }, { DNNL_ARG_TO, to } };
    dnnl_memory_get_memory_desc(from, &a);
    dnnl_memory_get_memory_desc(to, &b);
    dnnl_status_t s = dnnl_reorder_primitive_desc_create(&pd, a, h->engine, b, h->engine, NULL);
    if (s != dnnl_success)
        return s;
    s = dnnl_primitive_create(&primitive, pd);
    if (s == dnnl_success) {
        s = dnnl_primitive_execute(primitive, h->stream, 2, arg);
        dnnl_stream_wait(h->stream);
        dnnl_primitive_destroy(primitive);
    }
    dnnl_primitive_desc_destroy(pd);
    return s;
}

/* Describes the data of t in the caller's buffer. md: the library's descriptor of t. If t and *md
 * have different ranks, t is the bias of a matrix product, and *md describes it as a row. The
 * caller's buffer has the same data, so *md describes it too. */
static dnnl_status_t plain_like(const struct vendor_tensor *t, const dnnl_memory_desc_t *md,
                                dnnl_memory_desc_t *out)
{
    if (t->rank != md->ndims) {
        *out = *md;
        return dnnl_success;
    }
    return onednn_plain(t, out);
}

/* Adds an argument for tensor i: memory in the library's layout. It is filled from the caller's
 * buffer, unless the tensor is the result. */
static dnnl_status_t add_tensor(struct vendor_handle *h, struct onednn_candidate *c, struct wish *w,
                                dnnl_primitive_desc_t pd, int i)
{
    const struct vendor_tensor *t = &h->p.tensor[i];
    dnnl_memory_desc_t plain;
    dnnl_memory_t own, callers;
    int arg = 0;
    const dnnl_memory_desc_t *md = onednn_wants(w, pd, i, &arg);
    md = md ? md : &w->md[i];
    dnnl_status_t s = plain_like(t, md, &plain);
    if (s != dnnl_success
        || (s = dnnl_memory_create(&own, md, h->engine, DNNL_MEMORY_ALLOCATE)) != dnnl_success)
        return s;
    s = dnnl_memory_create(&callers, &plain, h->engine, h->buffer[i] + t->offset);
    if (s != dnnl_success) {
        dnnl_memory_destroy(own);
        return s;
    }
    c->arg[c->n_args] = (dnnl_exec_arg_t){ arg, own };
    c->plain[c->n_args] = callers;
    if (t->role == ROLE_OUT)
        c->out = c->n_args;
    if (w->how.sum && i == h->p.post[0].tensor)
        c->residual = c->n_args;
    c->n_args++;
    return t->role == ROLE_OUT ? dnnl_success : reorder(h, callers, own);
}

/* Adds a vector of one repeated number, for an operand that oneDNN requires and the operator does
 * not have. */
static dnnl_status_t add_constant(struct vendor_handle *h, struct onednn_candidate *c, int arg,
                                  float value)
{
    const struct vendor_tensor *x = onednn_find(&h->p, ROLE_DATA);
    dnnl_dims_t dims = { x->shape[1] };
    dnnl_memory_desc_t md;
    dnnl_memory_t own;
    void *data;
    dnnl_status_t s = dnnl_memory_desc_init_by_tag(&md, 1, dims, dnnl_f32, dnnl_a);
    if (s != dnnl_success
        || (s = dnnl_memory_create(&own, &md, h->engine, DNNL_MEMORY_ALLOCATE)) != dnnl_success)
        return s;
    c->plain[c->n_args] = NULL;
    c->arg[c->n_args++] = (dnnl_exec_arg_t){ arg, own };
    s = dnnl_memory_get_data_handle(own, &data);
    for (int64_t i = 0; s == dnnl_success && i < x->shape[1]; i++)
        ((float *)data)[i] = value;
    return s;
}

static dnnl_status_t add_arguments(struct vendor_handle *h, struct onednn_candidate *c,
                                   struct wish *w, dnnl_primitive_desc_t pd)
{
    dnnl_status_t s = dnnl_success;
    for (int i = 0; i < h->p.n_tensors && s == dnnl_success; i++)
        s = add_tensor(h, c, w, pd, i);
    bool folded = h->p.kind == VENDOR_BATCH_NORM && !onednn_find(&h->p, ROLE_MEAN);
    if (folded && s == dnnl_success)
        s = add_constant(h, c, DNNL_ARG_MEAN, 0);
    if (folded && s == dnnl_success)
        s = add_constant(h, c, DNNL_ARG_VARIANCE, 1);
    return s;
}

static dnnl_status_t execute(struct vendor_handle *h, struct onednn_candidate *c)
{
    dnnl_status_t s = dnnl_primitive_execute(c->primitive, h->stream, c->n_args, c->arg);
    return s == dnnl_success ? dnnl_stream_wait(h->stream) : s;
}

/* Fills in the texts of *c. The layout is "nhwc, weights OIhw16i16o", "nchw to nhwc" if data and
 * result differ, or "mk, kn to mn" for a matrix product. */
static void say(struct onednn_candidate *c, struct wish *w, dnnl_primitive_desc_t pd)
{
    char x[40] = "", y[40] = "", k[48] = "";
    const dnnl_version_t *v = dnnl_version();
    const char *impl = "";
    int arg;
    dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, (void *)&impl);
    snprintf(c->implementation, sizeof c->implementation, "oneDNN %d.%d.%d %.60s", v->major,
             v->minor, v->patch, impl);
    for (int i = 0; i < w->p->n_tensors; i++) {
        const struct vendor_tensor *t = &w->p->tensor[i];
        const dnnl_memory_desc_t *md = onednn_wants(w, pd, i, &arg);
        char *to = t->role == ROLE_OUT ? y : t->role == ROLE_WEIGHTS ? k : x;
        size_t room = to == k ? sizeof k : sizeof x;
        if (md && !to[0])
            onednn_layout_name(md, onednn_letters(w->p, t), to, room);
    }
    bool matmul = w->p->kind == VENDOR_MATMUL, filters = k[0] && w->p->kind != VENDOR_BINARY;
    bool apart = strcmp(x, y) != 0;
    if (matmul)
        snprintf(c->layout, sizeof c->layout, "%.30s, %.30s to %.30s", x, k, y);
    else
        snprintf(c->layout, sizeof c->layout, "%.24s%s%.24s%s%.40s", x, apart ? " to " : "",
                 apart ? y : "", filters ? ", weights " : "", filters ? k : "");
}

static dnnl_status_t make(struct vendor_handle *h, struct choice how, struct onednn_candidate *c)
{
    struct wish w = { .p = &h->p, .how = how, .engine = h->engine };
    dnnl_primitive_desc_t pd;
    memset(c, 0, sizeof *c);
    c->residual = -1;
    dnnl_status_t s = onednn_wish(&w);
    if (s != dnnl_success || (s = onednn_describe(&w, &pd)) != dnnl_success)
        return s;
    s = dnnl_primitive_create(&c->primitive, pd);
    if (s == dnnl_success)
        s = add_arguments(h, c, &w, pd);
    if (s == dnnl_success)
        s = execute(h, c);
    if (s == dnnl_success)
        say(c, &w, pd);
    dnnl_primitive_desc_destroy(pd);
    if (s != dnnl_success)
        drop(c);
    return s;
}

/* --- Candidates ------------------------------------------------------------------------------- */

static void try_out(struct vendor_handle *h, struct onednn_candidate *c)
{
    double start = now_s(), last = start;
    c->seconds = 1e30;
    for (int runs = 0; runs < TRIAL_RUNS || last - start < TRIAL_S; runs++) {
        execute(h, c);
        double t = now_s();
        c->seconds = t - last < c->seconds ? t - last : c->seconds;
        last = t;
    }
}

/* Lists the layouts to try, one to three. any: whether the library may choose layouts. */
static int forms_of(const struct vendor_problem *p, bool any, enum form *out)
{
    int rank = onednn_find(p, ROLE_DATA)->rank, n = 0;
    bool image = rank >= 3 && rank <= 5;
    switch ((enum vendor_kind)p->kind) {
    case VENDOR_CONV: case VENDOR_TCONV:
        if (any) {
            out[n++] = FORM_ANY;
            if (p->kind == VENDOR_CONV)
                out[n++] = FORM_AUTO;
            return n;
        }
        break;
    case VENDOR_MATMUL:
        out[n++] = any ? FORM_ANY : FORM_FIRST;
        if (!any)
            out[n++] = FORM_B_TRANSPOSED;
        return n;
    case VENDOR_LAYER_NORM: case VENDOR_MOVE: case VENDOR_KIND_COUNT:
        image = false;
        break;
    case VENDOR_SOFTMAX:
        image = image && p->axis == 1;
        break;
    case VENDOR_POOL_MAX: case VENDOR_POOL_AVG: case VENDOR_POOL_INSIDE: case VENDOR_UNARY:
    case VENDOR_BINARY: case VENDOR_BATCH_NORM: case VENDOR_CONCAT: case VENDOR_REDUCE:
        break;
    }
    out[n++] = FORM_FIRST;
    if (image)
        out[n++] = FORM_LAST;
    if (image && any && p->kind != VENDOR_SOFTMAX)
        out[n++] = FORM_BLOCKED;
    return n;
}

/* Whether runs may accumulate into the result again and again.  Sums grow slowly; with a product
 * the result would overflow. */
static bool can_accumulate(const struct vendor_problem *p)
{
    bool filters = p->kind == VENDOR_CONV || p->kind == VENDOR_TCONV || p->kind == VENDOR_MATMUL;
    if (!filters || p->n_posts == 0 || p->post[0].tensor < 0 || p->post[0].function != BINARY_ADD)
        return false;
    const struct vendor_tensor *y = onednn_find(p, ROLE_OUT);
    for (int d = 0; d < y->rank; d++)
        if (p->tensor[p->post[0].tensor].shape[d] != y->shape[d])
            return false;
    for (int i = 1; i < p->n_posts; i++)
        if (p->post[i].tensor >= 0
            || (p->post[i].function != UNARY_RELU && p->post[i].function != UNARY_CLIP))
            return false;
    return true;
}

#define MAX_CHOICES 12

static int choices_of(const struct vendor_problem *p, bool any, struct choice *out)
{
    enum form form[4];
    int n = 0, n_forms = forms_of(p, any, form);
    for (int i = 0; i < n_forms; i++) {
        out[n++] = (struct choice){ .form = form[i] };
        if (p->kind == VENDOR_REDUCE && p->n_axes > 0)
            out[n++] = (struct choice){ .form = form[i], .pool = true };
        if (can_accumulate(p))
            out[n++] = (struct choice){ .form = form[i], .sum = true };
    }
    return n;
}

static dnnl_status_t choose(struct vendor_handle *h, enum vendor_library library)
{
    struct choice how[MAX_CHOICES];
    int n = choices_of(&h->p, library == VENDOR_ONEDNN, how);
    dnnl_status_t s = dnnl_unimplemented;
    bool found = false;
    for (int i = 0; i < n; i++) {
        struct onednn_candidate c;
        dnnl_status_t made = make(h, how[i], &c);
        if (made != dnnl_success) {
            s = found ? s : made;
            continue;
        }
        if (n > 1)
            try_out(h, &c);
        if (found && c.seconds >= h->best.seconds) {
            drop(&c);
            continue;
        }
        drop(&h->best);
        h->best = c;
        found = true;
    }
    return found ? dnnl_success : s;
}

/* --- The plugin ------------------------------------------------------------------------------- */

static void close_operator(struct vendor_handle *h)
{
    if (!h)
        return;
    drop(&h->best);
    if (h->stream)
        dnnl_stream_destroy(h->stream);
    if (h->engine)
        dnnl_engine_destroy(h->engine);
    free(h);
}

static struct vendor_handle *open_operator(const struct vendor_problem *p,
                                           enum vendor_library library, int threads,
                                           void *const *buffers, char *why, size_t n)
{
    struct vendor_handle *h = calloc(1, sizeof *h);
    dnnl_status_t s = h ? dnnl_success : dnnl_out_of_memory;
    omp_set_num_threads(threads);
    if (h) {
        h->p = *p;
        for (int i = 0; i < p->n_tensors; i++)
            h->buffer[i] = buffers[i];
        s = dnnl_engine_create(&h->engine, dnnl_cpu, 0);
        if (s == dnnl_success)
            s = dnnl_stream_create(&h->stream, h->engine, dnnl_stream_default_flags);
        if (s == dnnl_success)
            s = choose(h, library);
    }
    if (s == dnnl_success)
        return h;
    snprintf(why, n, "oneDNN: %s of %s", status_text(s), p->text);
    close_operator(h);
    return NULL;
}

static bool run(struct vendor_handle *h)
{
    return execute(h, &h->best) == dnnl_success;
}

static bool output(struct vendor_handle *h)
{
    struct onednn_candidate *c = &h->best;
    dnnl_memory_t result = c->arg[c->out].memory;
    if (c->residual >= 0
        && (reorder(h, c->plain[c->residual], result) != dnnl_success
            || execute(h, c) != dnnl_success))
        return false;
    return reorder(h, result, c->plain[c->out]) == dnnl_success;
}

static const char *implementation(const struct vendor_handle *h)
{
    return h->best.implementation;
}

static const char *layout(const struct vendor_handle *h)
{
    return h->best.layout;
}

extern const struct vendor_plugin tilescope_vendor_plugin;
const struct vendor_plugin tilescope_vendor_plugin = {
    .abi = VENDOR_PLUGIN_ABI, .problem_bytes = sizeof(struct vendor_problem),
    .open = open_operator, .run = run, .output = output,
    .implementation = implementation, .layout = layout, .close = close_operator,
};
