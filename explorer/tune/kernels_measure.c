/* Ranking by the model and measuring in batches. */
#include "explorer/tune/kernels_impl.h"

#include <math.h>
#include <string.h>

#include "kernels/gen/gen.h"
#include "profile/measure/program_text.h"

enum {
    /* Limits on code size, except for seeds. gcc takes 1.5 to 2 s for every 100 KB of C.  Code of
     * more than SMALL_BYTES is not tried if it is more than twice as large as that of the fastest
     * candidate, or larger than MOST_BYTES.  Code of more than MOST_STATEMENTS statements is
     * refused before its C is generated. */
    MOST_STATEMENTS = 1024, SMALL_BYTES = 40 << 10, MOST_BYTES = 64 << 10,
    /* Code of this size must promise twice the speed of short code, because compiling it takes more
     * time. */
    DEAR_BYTES = 48 << 10
};

/* --- Features, on several threads; candidates live in the arena of their thread ------------- */

struct measure_lowering {
    struct kernels *k;
    struct tune_candidate **c;
    int n;
    atomic_int next, next_scratch;
};

static size_t most_bytes(const struct kernels *k)
{
    size_t most = 2 * k->best_bytes;
    return most < SMALL_BYTES ? SMALL_BYTES : most > MOST_BYTES ? MOST_BYTES : most;
}

/* Generates the C of a candidate into *x, unless it would have too many statements; the C of a seed
 * is always generated.  x->bytes = SIZE_MAX: there is no C.  For a GPU, no C is generated here. */
static void generate(const struct kernels *k, const struct func *f, bool seed, struct arena *a,
                     struct lowered *x)
{
    const struct target *target = target_or_host(k->o.measure.target);
    struct str text = {0};
    struct err e;
    x->bytes = SIZE_MAX;
    if (target->gpu)  /* the code for a GPU is generated when kernels_gpu.c measures */
        x->bytes = 0;
    else if ((seed || func_statements(f, k->lanes) <= MOST_STATEMENTS) &&
        program_text_code(x->p, target, &text, &x->openmp, &x->work, &e)) {
        x->bytes = text.len;
        x->code = arena_bytes(a, str_text(&text), text.len);
    }
    str_free(&text);
}

static bool lower_candidate(const struct kernels *k, struct arena *a, struct tune_candidate *c)
{
    struct lowered *x = ARENA_NEW(a, struct lowered);
    const struct func *f;
    struct err e;
    int bad;
    if (!program_replay(a, k->o.spec, c->line, c->n_lines, &x->p, &bad, &e) ||
        !program_lower(x->p, &f, &e))
        return false;
    generate(k, f, c->seed, a, x);
    if (!c->seed && x->bytes > most_bytes(k))
        return false;
    const struct feature_opts o = { .code = &x->work, .lanes = k->lanes };
    if (!features_of(a, f, &o, &x->x, &e))
        return false;
    c->features = features_hash(&x->x);
    c->model = x;
    return true;
}

static void *lower_some(void *ctx)
{
    struct measure_lowering *l = ctx;
    struct arena *a = l->k->scratch[atomic_fetch_add(&l->next_scratch, 1)];
    for (int i; (i = atomic_fetch_add(&l->next, 1)) < l->n;)
        l->c[i]->illegal = !lower_candidate(l->k, a, l->c[i]);
    return NULL;
}

static void lower_all(struct kernels *k, struct tune_candidate **c, int n)
{
    struct measure_lowering l = { .k = k, .c = c, .n = n };
    pthread_t thread[COUNT_OF(k->scratch)];
    int started = 0, want = n < 8 ? 0 : k->n_threads - 1;
    while (started < want && pthread_create(&thread[started], NULL, lower_some, &l) == 0)
        started++;
    lower_some(&l);
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
}

static void forget(void *ctx)
{
    const struct kernels *k = ctx;
    for (int i = 0; i < k->n_threads; i++)
        arena_reset(k->scratch[i]);
}

/* --- The model ----------------------------------------------------------------------------- */

/* Whether scores can rank candidates.  Before the model has learned anything, scores are estimates
 * from the code; for a GPU there are no estimates. */
static bool ranks(void *ctx)
{
    const struct kernels *k = ctx;
    return !kernels_for_gpu(k) || cost_model_stats(k->model).learned;
}

/* Returns a divisor for the score of a candidate: long code takes more time to compile. */
static double dearness(const struct lowered *x)
{
    return x->bytes < SIZE_MAX ? 1 + (double)x->bytes / DEAR_BYTES : 1;
}

static void score(void *ctx, struct arena *a, struct tune_candidate **c, int n)
{
    struct kernels *k = ctx;
    struct features *x = ARENA_ARRAY(a, struct features, n);
    double *y = ARENA_ARRAY(a, double, n);
    int m = 0;
    lower_all(k, c, n);
    for (int i = 0; i < n; i++)
        if (!c[i]->illegal)
            x[m++] = ((struct lowered *)c[i]->model)->x;
    cost_model_predict(k->model, x, m, y);
    m = 0;
    for (int i = 0; i < n; i++)
        if (!c[i]->illegal)
            c[i]->score = y[m++] / dearness(c[i]->model);
}

static void learn(void *ctx, struct tune_candidate **c, int n, const struct cancel *cancel)
{
    struct kernels *k = ctx;
    struct err e;
    for (int i = 0; i < n; i++) {
        const struct lowered *l = c[i]->model;
        if (c[i]->ms < k->best_ms) {
            k->best_ms = c[i]->ms;
            k->best_bytes = l && l->bytes < SIZE_MAX ? l->bytes : 0;
        }
        if (l)
            cost_model_add(k->model, &l->x, c[i]->ms);
    }
    cost_model_train(k->model, cancel, &e);
}

static void accuracy(void *ctx, struct tune_accuracy *out)
{
    struct model_accuracy a = cost_model_accuracy(((struct kernels *)ctx)->model);
    *out = (struct tune_accuracy){ a.known, a.pair_order, a.recall8, a.n };
}

/* --- Measuring ----------------------------------------------------------------------------- */

static void item_measured(void *ctx, struct batch_item *item)
{
    struct kernels *k = ctx;
    struct tune_candidate *c = k->measured[item - k->item];
    c->m = &item->m;
    c->outcome = item->m.outcome;
    c->ms = item->m.latency.runs > 0 ? item->m.latency.min_ms : INFINITY;
    c->spread = item->m.latency.spread;
    c->reason = item->m.reason;
    c->compile_s = item->compile_s;
    c->measure_s = item->measure_s;
    k->done(k->done_ctx, c);
    c->m = NULL;
}

static bool open_batch(struct kernels *k, const struct cancel *cancel, struct err *e)
{
    struct batch_opts o = { .measure = k->o.measure, .jobs = k->o.jobs, .soon = true,
                            .measured = item_measured, .ctx = k };
    const struct program *bare;
    if (k->batch)
        return true;
    return program_new(k->scratch[0], k->o.spec, &bare, e) &&
           batch_new(bare, &o, cancel, &k->batch, e);
}

/* Reports that a candidate is not a valid program.  Only a seed can be invalid here. */
static void refuse(struct kernels *k, struct tune_candidate *c, const struct err *e)
{
    c->outcome = OUTCOME_COMPILE;
    c->reason = e->text;
    k->done(k->done_ctx, c);
}

/* Fills in a batch item.  A seed that could not be scored has no lowered form; its lines are
 * replayed here. */
static bool open_item(struct kernels *k, const struct tune_candidate *c, struct batch_item *item,
                      struct err *e)
{
    const struct lowered *x = c->model;
    int bad;
    if (!x)
        return program_replay(k->scratch[0], k->o.spec, c->line, c->n_lines, &item->p, &bad, e);
    *item = (struct batch_item){ .p = x->p, .code = x->code, .openmp = x->openmp };
    return true;
}

static bool measure(void *ctx, struct tune_candidate **c, int n, tune_measured_fn done,
                    void *done_ctx, const struct cancel *cancel, struct err *e)
{
    struct kernels *k = ctx;
    struct tune_candidate *real[TUNE_TOP];
    struct batch_item item[TUNE_TOP] = {0};
    int m = 0;
    if (!open_batch(k, cancel, e))
        return false;
    k->item = item;
    k->measured = real;
    k->done = done;
    k->done_ctx = done_ctx;
    for (int i = 0; i < n; i++) {
        struct err why = {0};
        if (open_item(k, c[i], &item[m], &why))
            real[m++] = c[i];
        else
            refuse(k, c[i], &why);
    }
    if (!isinf(k->best_ms))
        batch_expect(k->batch, k->best_ms);
    return m == 0 || batch_run(k->batch, item, m, NULL, cancel, e);
}

bool kernels_measure_steps(struct kernels *k, const char *const *line, int n,
                           struct measurement *out, const struct cancel *cancel, struct err *e)
{
    struct batch_opts o = { .measure = k->o.measure, .jobs = k->o.jobs, .give_up_ratio = -1,
                            .kill_ratio = 100 };
    struct batch_item *item = xcalloc((size_t)n + 1, sizeof *item);
    struct batch *batch = NULL;
    struct arena *a = arena_new();
    bool ok = program_new(a, k->o.spec, &item[0].p, e);
    for (int i = 0; ok && i < n; i++)
        ok = program_apply_line(item[i].p, line[i], &item[i + 1].p, e);
    ok = ok && batch_new(item[0].p, &o, cancel, &batch, e);
    if (ok && !isinf(k->best_ms))
        batch_expect(batch, k->best_ms);
    ok = ok && batch_run(batch, item, n + 1, NULL, cancel, e);
    for (int i = 0; i <= n; i++)
        out[i] = item[i].m;
    batch_free(batch);
    arena_free(a);
    free(item);
    return ok;
}

static void walls(void *ctx, double *compile_s, double *run_s)
{
    const struct kernels *k = ctx;
    if (!k->batch)
        return;
    struct batch_stats s = batch_stats(k->batch);
    *compile_s = s.compile_s;
    *run_s = s.measure_s;
}

void kernels_measure_problem(struct tune_problem *p)
{
    p->ranks = ranks;
    p->forget = forget;
    p->score = score;
    p->learn = learn;
    p->accuracy = accuracy;
    p->measure = measure;
    p->walls = walls;
}
