/* Measures candidates for a GPU: the GPU times each candidate or, if k->o.simulated is set, the
 * simulator rates it.  Before the fastest candidate of a batch becomes the best, its host twin is
 * checked, so that no kernel whose twin shows a race becomes the best. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "explorer/expert/simulated.h"
#include "explorer/tune/kernels_impl.h"
#include "profile/child/device.h"
#include "profile/sim/gpusim.h"

bool kernels_gpu_ready(struct kernels *k, struct err *e)
{
    struct cuda_info device;
    struct err why = {0};
    if (k->o.simulated) {
        k->shared = k->o.measure.gpu ? gpu_block_shared(k->o.measure.gpu) : 0;
        return true;
    }
    if (device_this(k->o.measure.runner_path, &device, &why)) {
        k->shared = device.shared_bytes;
        return true;
    }
    err_set(e, ERR_ENV, "there is no GPU to measure candidates on: %.300s", why.text);
    return err_fix(e, "--objective simulated ranks them by the GPU memory simulator");
}

static const struct program *program_of(struct kernels *k, const struct tune_candidate *c,
                                        struct err *e)
{
    const struct lowered *x = c->model;
    const struct program *p = x ? x->p : NULL;
    int bad;
    if (!p && !program_replay(k->scratch[0], k->o.spec, c->line, c->n_lines, &p, &bad, e))
        return NULL;
    if (!program_is_bound(p)) {
        err_set(e, ERR_STEP, "no loop is bound to blocks or threads of a GPU");
        return NULL;
    }
    return p;
}

static bool is_fault(const struct err *e)
{
    return e->code != ERR_CANCEL && e->code != ERR_ENV && e->code != ERR_KILLED;
}

static void take(struct tune_candidate *c, struct measurement *m, enum outcome outcome,
                 const char *reason)
{
    m->outcome = c->outcome = outcome;
    snprintf(m->reason, sizeof m->reason, "%.511s", reason);
    c->reason = m->reason;
    if (outcome == OUTCOME_OK)
        return;
    c->ms = INFINITY;
    m->latency = (struct latency){ 0 };
}

/* Rates a candidate by the simulator.  Returns false if it is cancelled, or if the environment
 * lacks something. */
static bool rate(struct kernels *k, const struct program *p, struct tune_candidate *c,
                 struct measurement *m, const struct cancel *cancel, struct err *e)
{
    struct gpu_memory_opts o = { .device = k->o.measure.gpu, .budget = EXPERT_RATED_ACCESSES };
    struct expert_rating r;
    char text[80];
    if (!expert_rate(p, &o, cancel, &r, e)) {
        if (is_fault(e))
            take(c, m, e->code == ERR_COMPILE ? OUTCOME_COMPILE : OUTCOME_LIMIT, e->text);
        return is_fault(e);
    }
    c->ms = r.ns * 1e-6;
    snprintf(text, sizeof text, "its kernel needs %lld bytes of stack", (long long)r.stack);
    take(c, m, r.stack > 0 ? OUTCOME_LIMIT : OUTCOME_OK, r.stack > 0 ? text : "");
    return true;
}

static bool run_on_device(struct kernels *k, const struct program *p, struct tune_candidate *c,
                          struct measurement *m, const struct cancel *cancel, struct err *e)
{
    struct measure_opts o = k->o.measure;
    o.meters = METER_CLOCK;
    o.baselines = 0;
    o.twin_later = true;
    if (!measure_program(p, &o, NULL, cancel, m, e))
        return false;
    c->ms = m->latency.runs > 0 ? m->latency.min_ms : INFINITY;
    c->spread = m->latency.spread;
    c->outcome = m->outcome;
    c->reason = m->reason;
    return m->outcome != OUTCOME_OK || m->latency.runs > 0
        || err_set(e, ERR_ENV, "%s", m->device.reason);
}

/* Checks a candidate by running its host twin.  A race or a wrong result makes the candidate
 * fail. */
static bool verify(struct kernels *k, const struct program *p, struct tune_candidate *c,
                   struct measurement *m, const struct cancel *cancel, struct err *e)
{
    struct measure_opts o = k->o.measure;
    struct measurement *twin = xcalloc(1, sizeof *twin);
    o.meters = 0;
    o.baselines = 0;
    o.limit_s = TUNE_TWIN_LIMIT_S;
    bool ok = measure_program(p, &o, NULL, cancel, twin, e);
    if (ok && twin->outcome != OUTCOME_OK)
        take(c, m, twin->outcome, twin->reason);
    m->verified = ok && twin->verified;
    m->max_rel_err = twin->max_rel_err;
    free(twin);
    return ok;
}

/* Verifies the fastest of the candidates that are faster than k->best_ms; if it fails, the next
 * fastest, and so on.  Returns false if verifying was not possible. */
static bool verify_best(struct kernels *k, const struct program *const *p,
                        struct tune_candidate **c, struct measurement *m, int n,
                        const struct cancel *cancel, struct err *e)
{
    for (;;) {
        int best = -1;
        for (int i = 0; i < n; i++)
            if (c[i]->outcome == OUTCOME_OK && c[i]->ms < k->best_ms
                && (best < 0 || c[i]->ms < c[best]->ms))
                best = i;
        if (best < 0)
            return true;
        if (!verify(k, p[best], c[best], &m[best], cancel, e))
            return false;
        if (c[best]->outcome == OUTCOME_OK)
            return true;
    }
}

static bool measure_all(struct kernels *k, const struct program **p, struct tune_candidate **c,
                        struct measurement *m, int n, const struct cancel *cancel, struct err *e)
{
    for (int i = 0; i < n; i++) {
        struct err why = {0};
        double began = clock_s();
        if (cancelled(cancel))
            return err_set(e, ERR_CANCEL, "cancelled");
        p[i] = program_of(k, c[i], &why);
        if (!p[i])
            take(c[i], &m[i], OUTCOME_COMPILE, why.text);
        else if (!(k->o.simulated ? rate : run_on_device)(k, p[i], c[i], &m[i], cancel, e))
            return false;
        c[i]->measure_s = clock_s() - began;
    }
    return verify_best(k, p, c, m, n, cancel, e);
}

bool kernels_gpu_measure(void *ctx, struct tune_candidate **c, int n, tune_measured_fn done,
                         void *done_ctx, const struct cancel *cancel, struct err *e)
{
    struct kernels *k = ctx;
    const struct program *p[TUNE_TOP] = { NULL };
    struct measurement *m = xcalloc((size_t)n, sizeof *m);
    bool ok = measure_all(k, p, c, m, n, cancel, e);
    for (int i = 0; i < n; i++) {
        /* After a cancel or an error, a candidate faster than the best counts as not measured,
         * because it was perhaps not verified. */
        if (!ok && (c[i]->outcome == OUTCOME_NONE || c[i]->ms < k->best_ms)) {
            c[i]->outcome = OUTCOME_CANCEL;
            c[i]->reason = "";
        }
        c[i]->m = &m[i];
        done(done_ctx, c[i]);
        c[i]->m = NULL;
    }
    free(m);
    return ok;
}
