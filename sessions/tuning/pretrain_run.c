/* Training: one search after the other, each with the weights of the search before it. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "explorer/tune/kernels.h"
#include "explorer/tune/strategies.h"
#include "kernels/base/file.h"
#include "kernels/gen/gen.h"
#include "sessions/tuning/pretrain.h"
#include "sessions/records/records.h"

enum { DATA_SEED = 1 };

struct training {
    const struct pretrain *p;
    const struct pretrain_opts *o;
    struct cancel *cancel;
    struct arena *mem, *visit;           /* memory of the training, and of the current visit */
    struct records *records;             /* NULL: o->measure measures */
    const char *isa, *summary;
    struct str weights;  /* the weights after the latest visit; empty: there was no visit yet */
    uint64_t seen;  /* state of the weights file when this run last read or wrote it (file_seen) */
    int done;                            /* number of finished visits */
    /* The members below belong to the current visit. */
    struct pretrain_visit v;
    const char *spec;                    /* the workload as canonical text */
    char run[RUN_ID];                    /* "" before the first measurement */
    double best_ms;                      /* lowest measured time */
    bool lost; struct err why_lost;  /* lost: a record could not be written; why_lost: the reason */
};

/* --- Cost of a trial ------------------------------------------------------------------------ */

static bool from_records(struct training *t, struct tune_candidate *c)
{
    const char *steps = records_steps(t->visit, c->line, c->n_lines);
    const struct record *r = NULL;
    struct err e;
    int threads = t->o->threads > 0 ? t->o->threads : 1;
    if (!records_find(t->records, t->spec, threads, t->isa, steps, t->visit, &r, &e) || !r)
        return false;
    c->outcome = r->outcome;
    c->ms = r->runs > 0 ? r->min_ms : INFINITY;
    c->spread = r->spread;
    return true;
}

/* Whether the time of c is predicted instead of measured. If so, sets c->ms to the prediction of
 * the cost model, but at least the best measured time, since an extrapolation must not be rewarded.
 * The model does not learn from such times. */
static bool expected(struct training *t, struct tune_candidate *c)
{
    if (c->trial < t->p->measured || !c->scored || !(c->score > 0) || isinf(t->best_ms))
        return false;
    c->outcome = OUTCOME_OK;
    c->ms = t->best_ms / fmin(c->score, 1);
    c->model = NULL;
    t->v.expected++;
    return true;
}

static bool known(void *ctx, struct tune_candidate *c)
{
    struct training *t = ctx;
    if (expected(t, c))
        return true;
    if (t->o->measure) {
        t->o->measure(t->o->ctx, t->v.workload, c);
        t->v.measured++;
    } else if (!t->o->fresh && from_records(t, c)) {
        t->v.known++;
    } else {
        return false;
    }
    if (c->outcome == OUTCOME_OK && c->ms < t->best_ms)
        t->best_ms = c->ms;
    return true;
}

static bool start_run(struct training *t, struct err *e)
{
    struct record_run run = {
        .spec = t->spec, .isa = t->isa, .threads = t->o->threads > 0 ? t->o->threads : 1,
        .strategy = "ppo", .seed = t->p->seed, .budget = t->p->budget,
        .options = arena_printf(t->visit, "{\"pretrain\": %d}", t->v.number),
    };
    return records_run_start(t->records, &run, t->run, e);
}

static void write_down(void *ctx, const struct tune_candidate *c)
{
    struct training *t = ctx;
    struct record rec;
    struct err e;
    t->v.trials++;
    t->v.failed += c->outcome != OUTCOME_OK;
    if (c->replayed)
        return;
    t->v.measured++;
    if (c->outcome == OUTCOME_OK && c->ms < t->best_ms)
        t->best_ms = c->ms;
    if (t->lost)
        return;
    records_of_candidate(t->visit, &rec, c);
    bool ok = t->run[0] || start_run(t, &e);
    rec.run = t->run;
    rec.strategy = "ppo";
    rec.seed = DATA_SEED;
    if (!ok || !records_add(t->records, &rec, &e)) {
        t->lost = true;
        t->why_lost = e;
        atomic_store(&t->cancel->raised, 1);
    }
}

static void show(void *ctx, const struct tune_view *view)
{
    struct training *t = ctx;
    t->v.agents = view->agents;
    if (t->o->view)
        t->o->view(t->o->ctx, &t->v, view);
}

/* --- One workload --------------------------------------------------------------------------- */

/* Returns the seed of the present visit: a hash of the training's seed and the visit's number, so
 * that resuming is exact. */
static uint64_t visit_seed(const struct training *t)
{
    uint64_t of[2] = { t->p->seed, (uint64_t)t->done };
    return hash_bytes(of, sizeof of, 0) >> 1;
}

static bool search(struct training *t, struct kernels *k, struct str *weights, struct err *e)
{
    struct search_opts so = {
        .budget = t->p->budget, .seed = visit_seed(t), .strategy = &strategy_ppo,
        .entropy = t->p->entropy,
        .cold = true,                            /* agents learn more without start points */
        .weights = t->weights.len ? t->weights.data : NULL, .weights_bytes = t->weights.len,
        .weights_out = weights,
    };
    struct search_sink sink = { t, write_down, known, show };
    int n;
    const struct tune_seed *seed = kernels_seeds(k, &n);
    struct search *s = search_new(kernels_problem(k), &so, seed, n, &sink, t->cancel);
    enum search_end end = search_run(s, e);
    const struct tune_view *view = search_view(s);
    t->v.start_ms = view->start_ms;
    t->v.best_ms = t->best_ms;
    t->v.agents = view->agents;
    search_free(s);
    if (t->lost)
        *e = t->why_lost;
    return end != SEARCH_FAILED && !t->lost;
}

static bool canonical(struct training *t, struct err *e)
{
    const struct program *p;
    if (!program_new(t->visit, t->v.workload, &p, e))
        return false;
    t->spec = p->base->spec;
    return true;
}

/* Searches one workload, and takes the new weights unless the search failed or was cancelled. */
static bool visit(struct training *t, struct err *e)
{
    struct tune_lines bare = { .name = "session" };
    struct kernels_opts ko = {
        .n_seeds = 1, .schedule = &bare, .seed = visit_seed(t),
        .measure = { .threads = t->o->threads > 0 ? t->o->threads : 1, .seed = DATA_SEED,
                     .compiler = t->o->compiler, .target = t->o->target },
    };
    struct str weights = {0};
    struct kernels *k = NULL;
    double began = clock_s();
    arena_reset(t->visit);
    t->v = (struct pretrain_visit){
        .workload = t->p->workload[t->done % t->p->n], .number = t->done + 1,
        .of = t->p->n * t->p->passes, .pass = t->done / t->p->n + 1,
    };
    t->run[0] = '\0';
    t->best_ms = INFINITY;
    bool ok = canonical(t, e);
    ko.spec = t->spec;
    ok = ok && kernels_new(&ko, &k, NULL, e) && search(t, k, &weights, e);
    kernels_free(k);
    if (t->run[0]) {
        struct err ignored;
        enum run_state end = ok && !cancelled(t->cancel) ? RUN_FINISHED : RUN_STOPPED;
        records_run_end(t->records, t->run, end, &ignored);
    }
    t->v.seconds = clock_s() - began;
    if (ok && !cancelled(t->cancel)) {
        struct str old = t->weights;
        t->weights = weights;
        weights = old;
        t->done++;
    }
    str_free(&weights);
    return ok;
}

/* --- The file ------------------------------------------------------------------------------- */

#define SO_FAR "; %d of %d done"

static bool write_weights(struct training *t, struct err *e)
{
    struct agents *g = agents_new(1, NULL);
    int of = t->p->n * t->p->passes;
    const char *trained = t->done == of ? t->summary
                        : arena_printf(t->mem, "%s" SO_FAR, t->summary, t->done, of);
    bool ok = agents_load(g, str_text(&t->weights), t->weights.len, NULL, e)
           && pretrain_weights_write(g, t->o->weights, &t->seen, trained, e);
    agents_free(g);
    if (!ok && e->code == ERR_CHANGED)
        err_fix(e, "the same command with -o FILE reuses the measurements in the records");
    return ok;
}

/* Returns after how many visits weights with the description `trained` were written; -1: they come
 * from another training. */
static int visits_of(const struct training *t, const char *trained)
{
    int of = t->p->n * t->p->passes;
    if (streq(trained, t->summary))
        return of;
    for (int i = 1; i < of; i++)
        if (streq(trained, arena_printf(t->mem, "%s" SO_FAR, t->summary, i, of)))
            return i;
    return -1;
}

static bool go_on(struct training *t, struct err *e)
{
    const char *trained;
    if (!t->o->resume || !file_exists(t->o->weights))
        return true;
    if (!pretrain_weights_bytes(t->mem, t->o->weights, true, &t->weights, &trained, e))
        return false;
    t->done = visits_of(t, trained);
    if (t->done >= 0)
        return true;
    err_set(e, ERR_NAME, "these weights belong to another training: %.300s", trained);
    err_fix(e, "name another file with -o, or leave --resume out");
    return err_where(e, t->o->weights, 0, 0, "");
}

static bool train(struct training *t, struct pretrain_done *out, struct err *e)
{
    t->isa = target_or_host(t->o->target)->isa;
    t->summary = pretrain_summary(t->mem, t->p);
    t->seen = file_seen(t->o->weights);
    if (!file_may_write(t->o->weights, e) || !go_on(t, e)
        || (!t->o->measure && !records_open(t->o->records, &t->records, e)))
        return false;
    out->resumed = t->done;
    out->of = t->p->n * t->p->passes;
    while (t->done < out->of && !cancelled(t->cancel)) {
        int before = t->done;
        if (!visit(t, e) || (t->done > before && !write_weights(t, e)))
            return false;
        if (t->done > before && t->o->visited)
            t->o->visited(t->o->ctx, &t->v);
    }
    out->visits = t->done;
    out->finished = t->done == out->of;
    return true;
}

bool pretrain_run(const struct pretrain *p, const struct pretrain_opts *o, struct cancel *cancel,
                  struct pretrain_done *out, struct err *e)
{
    struct training t = { .p = p, .o = o, .cancel = cancel };
    t.mem = arena_new();
    t.visit = arena_new();
    *out = (struct pretrain_done){0};
    bool ok = train(&t, out, e);
    records_close(t.records);
    str_free(&t.weights);
    arena_free(t.visit);
    arena_free(t.mem);
    return ok;
}
