#include "profile/measure/measure_network.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "kernels/onnx/weights.h"
#include "profile/measure/measure_network_impl.h"
#include "profile/measure/network_meters.h"

#define TIMED_RUNS 8  /* least number of timed runs; the least time of each call counts */
#define TIMED_LEAST 4                     /* least number of timed runs for a long network */
#define TIMED_LONG 4  /* a network is long if its timed runs take this multiple of time_s */
#define LIMIT_S 120.0                     /* time limit for one run of the network, in seconds */
#define AUTHOR_RTOL 1e-3                  /* as in ONNX's own backend tests (SPEC L.2) */
#define AUTHOR_ATOL 1e-5

static void report(const struct net_run *r, const char *what, double done)
{
    if (r->progress && r->progress->report)
        r->progress->report(r->progress->ctx, what, done);
}

/* --- Code ------------------------------------------------------------------------------------- */

static bool build(struct net_run *r, struct err *e)
{
    struct measure_job *j = &r->job;
    const struct gen_opts o = { .target = j->target, .openmp = true };
    struct str text = {0};
    report(r, "compiling", -1);
    bool ok = module_c(r->module, &o, &text, e)
           && build_shared(&j->cc, str_text(&text), j->target, module_is_parallel(r->module),
                           r->cancel, &j->kernel, e);
    str_free(&text);
    if (!ok || !(j->opts.meters & METER_CLOCK))
        return ok;
    j->ceiling_flops = gen_peak(j->target, r->net->graph->type, &text);
    j->has_ceiling = build_shared(&j->cc, str_text(&text), j->target, false, r->cancel,
                                  &j->ceiling, e);
    str_free(&text);
    return j->has_ceiling || e->code != ERR_CANCEL;
}

/* --- Data ------------------------------------------------------------------------------------- */

static const f32 *given(int n, const struct network_given *list, const char *name)
{
    for (int i = 0; i < n; i++)
        if (streq(list[i].name, name))
            return list[i].data;
    return NULL;
}

static bool prepare(struct net_run *r, struct err *e)
{
    const struct graph *g = r->net->graph;
    double since = clock_s();
    report(r, "reading the constants", -1);
    if (!network_values_make(r->net, r->job.opts.seed, r->cancel, &r->values, e))
        return false;
    for (int t = 0; t < g->n_tensors; t++) {
        const struct tensor *x = &g->tensor[t];
        if (x->role != TENSOR_INPUT)
            continue;
        int64_t n = tensor_elems(x);
        const f32 *data = given(r->opts->n_inputs, r->opts->input, x->name);
        f32 *to = r->values.value[t] = xmalloc_elems((size_t)n, sizeof *to);
        if (data)
            memcpy(to, data, (size_t)n * sizeof *data);
        else if (!weights_tensor_data(x, r->job.opts.seed, to, e))
            return false;
    }
    r->m->prepare_s = clock_s() - since;
    return true;
}

/* Fills `to`, the memory of buffer b of the module, with the data of the buffer in its layout. If a
 * call computes the buffer, fills `to` with poison. */
static void fill(const struct net_run *r, int b, void *to)
{
    const struct network_buffer *x = &r->net->buffer[b];
    const struct buffer *is = r->module->buffer[b].is;
    if (x->role == NETWORK_INPUT)
        memcpy(to, r->values.value[x->tensor], (size_t)buffer_bytes(is));
    else if (x->role == NETWORK_CONST)
        layout_pack_given(x->layout, r->values.value[x->tensor], to);
    else
        oracle_poison(to, buffer_bytes(is));
}

/* Whether buffer b of the module has a buffer of its own in the runner. */
static bool in_runner(const struct net_run *r, int b)
{
    return r->apart || r->module->plan->at[b] < 0;
}

/* Opens a runner. apart: every tensor has a buffer of its own. Otherwise the module's own buffers
 * are in one block, and one more buffer receives the times of the calls. */
static bool open_runner(struct net_run *r, bool apart, struct err *e)
{
    const struct module *m = r->module;
    const struct elem_type *type = r->net->graph->type;
    struct runner_buffer *buffer = xcalloc((size_t)m->n_buffers + 2, sizeof *buffer);
    int n = 0;
    r->apart = apart;
    for (int b = 0; b < m->n_buffers; b++) {
        bool made = r->net->buffer[b].role >= NETWORK_OUTPUT;
        if (in_runner(r, b))
            buffer[n++] = (struct runner_buffer){ m->buffer[b].is->name, type,
                                                  buffer_bytes(m->buffer[b].is),
                                                  made ? BUFFER_RESULT : 0 };
    }
    if (!apart) {
        int64_t block = m->plan->bytes > 0 ? m->plan->bytes : 64;
        buffer[n++] = (struct runner_buffer){ "the intermediates", type, block, 1 };
        buffer[n++] = (struct runner_buffer){ "the times", type, m->n_calls * type->bytes,
                                              BUFFER_RESULT };
    }
    const struct measure_opts *mo = &r->job.opts;
    struct runner_opts o = {
        .path = mo->runner_path, .threads = mo->threads, .huge_pages = true,
        .limit_s = r->opts->measure->limit_s > 0 ? mo->limit_s : LIMIT_S,
        .memory_bytes = mo->memory_bytes, .n_buffers = n, .buffer = buffer,
        .cancel = r->cancel, .tick = measure_tick, .ctx = &r->job,
    };
    bool ok = runner_open(mo->runner, &o, &r->runner, e)
           && runner_load(r->runner, SLOT_KERNEL, r->job.kernel.so_path,
                          apart ? "ts_apart" : "ts_entry", e);
    for (int b = 0, at = 0; ok && b < m->n_buffers; b++)
        if (in_runner(r, b))
            fill(r, b, runner_data(r->runner, at++));
    if (ok && !apart) {
        oracle_poison(runner_data(r->runner, n - 2), buffer[n - 2].bytes);
        oracle_poison(runner_data(r->runner, n - 1), buffer[n - 1].bytes);
    }
    free(buffer);
    return ok;
}

/* --- Checking --------------------------------------------------------------------------------- */

/* Returns the data that parameter i of a call read, in the logical shape. */
static f32 *operand_data(const struct net_run *r, int call, int i)
{
    const struct network_task *t = &r->net->task[r->net->call[call].task];
    const struct buffer *b = &t->func->buffer[i];
    int at = r->module->call[call].buffer[i];
    const struct network_buffer *x = &r->net->buffer[at];
    int64_t n = tensor_elems(&r->net->graph->tensor[x->tensor]);
    f32 *data = xmalloc_elems((size_t)n, sizeof *data);
    if (x->role == NETWORK_CONST)
        memcpy(data, r->values.value[x->tensor], (size_t)n * sizeof *data);
    else
        layout_unpack(t->program->layout[b->tensor], runner_data(r->runner, at), data);
    return data;
}

static bool check_call(struct net_run *r, int call, struct err *e)
{
    const struct network_task *t = &r->net->task[r->net->call[call].task];
    const struct program *p = t->program;
    void **data = xcalloc((size_t)p->base->n_tensors, sizeof *data);
    struct deviation worst = { r->m->max_rel_err, r->m->error_of_bound };
    const struct oracle *o;
    int result = -1;
    for (int i = 0; i < t->func->n_params; i++) {
        int tensor = t->func->buffer[i].tensor, base = program_base_tensor(p, tensor);
        if (base >= 0 && p->base->tensor[base].producer < 0)
            data[base] = operand_data(r, call, i);
        else if (base >= 0)
            result = i;
    }
    bool ok = oracle_of(p, data, r->cancel, &o, e);
    if (ok) {
        ok = oracle_compare(o, p, t->func->buffer[result].tensor,
                            runner_data(r->runner, r->module->call[call].buffer[result]),
                            r->cancel, &worst, e);
        oracle_release(o);
    }
    r->m->max_rel_err = worst.rel_err;
    r->m->error_of_bound = worst.of_bound;
    for (int i = 0; i < p->base->n_tensors; i++)
        free(data[i]);
    free(data);
    return ok;
}

static bool check_calls(struct net_run *r, struct err *e)
{
    double since = clock_s();
    for (int i = 0; i < r->module->n_calls && !r->opts->unchecked; i++) {
        char what[64];
        snprintf(what, sizeof what, "checking call %d of %d", i + 1, r->module->n_calls);
        report(r, what, (double)i / r->module->n_calls);
        if (cancelled(r->cancel))
            return err_set(e, ERR_CANCEL, "cancelled");
        if (check_call(r, i, e))
            continue;
        const struct network_call *call = &r->net->call[i];
        r->m->wrong_call = i;
        return err_prefix(e, "call %d, %s (%.120s): ", i,
                          call->part < 0 ? "a conversion"
                                         : r->net->graph
                                               ->tensor[r->net->parts.part[call->part].out].name,
                          r->net->task[call->task].spec);
    }
    r->m->check_s = clock_s() - since;
    return true;
}

/* Compares the outputs of the last run with the evaluation of the whole graph. For an unchecked
 * network, checks first that the evaluation fits into memory: fits_memory has not counted it. */
static bool compare_whole(struct net_run *r, struct whole_deviation *worst, struct err *e)
{
    double since = clock_s();
    if (r->whole.n == 0 && r->opts->unchecked && !measure_memory(network_whole_bytes(r->net), e))
        return false;
    bool ok = r->whole.n > 0
           || network_whole_make(r->net, &r->values, r->job.opts.seed, r->progress, r->cancel,
                                 &r->whole, e);
    for (int b = 0, at = 0; ok && b < r->module->n_buffers; b++) {
        if (ok && r->net->buffer[b].role == NETWORK_OUTPUT)
            ok = network_whole_compare(&r->whole, r->module->buffer[b].is->name,
                                       runner_data(r->runner, at), worst, e);
        at += in_runner(r, b);
    }
    r->m->whole_s += clock_s() - since;
    return ok;
}

/* Compares the outputs of the checked run with the whole graph. */
static bool check_whole(struct net_run *r, struct err *e)
{
    if (r->opts->unchecked)
        return true;
    r->m->whole_compared = compare_whole(r, &r->m->whole, e);
    if (r->m->whole_compared || e->code != ERR_WRONG)
        return r->m->whole_compared;
    struct err why = *e;
    return err_set(e, ERR_WRONG, "%.300s. Every kernel by itself is right, so one reads or writes "
                   "the wrong tensor", why.text);
}

/* Compares output t with the values that the author of the network expects. */
static bool check_expected(struct net_run *r, const struct tensor *t, const f32 *want,
                           const f32 *got, struct err *e)
{
    int64_t worst = -1;
    r->m->compared = true;
    for (int64_t i = 0; i < tensor_elems(t); i++) {
        double off = fabs((double)got[i] - (double)want[i]);
        double of = off / (AUTHOR_ATOL + AUTHOR_RTOL * fabs((double)want[i]));
        bool same = got[i] == want[i] || (isnan(got[i]) && isnan(want[i]));
        of = same ? 0 : isnan(of) ? INFINITY : of;
        r->m->author_abs_err = fmax(r->m->author_abs_err, off);
        if (of > r->m->author_of_bound) {
            r->m->author_of_bound = of;
            worst = i;
        }
    }
    return worst < 0 || r->m->author_of_bound <= 1
        || err_set(e, ERR_WRONG, "element %lld of %s is %.7g, but %.7g is expected: %.3g times "
                   "what 1e-5 + 1e-3 |expected| allows", (long long)worst, t->name,
                   (double)got[worst], (double)want[worst], r->m->author_of_bound);
}

/* Runs the network with a buffer for each tensor, and checks the results. */
static bool check(struct net_run *r, struct err *e)
{
    double seconds;
    measure_begin(&r->job, "running");
    if (!open_runner(r, true, e) || !runner_run(r->runner, 0, &seconds, e) || !check_calls(r, e))
        return false;
    for (int b = 0; b < r->module->n_buffers; b++) {
        int tensor = r->net->buffer[b].tensor;
        if (r->net->buffer[b].role != NETWORK_OUTPUT)
            continue;
        const struct tensor *t = &r->net->graph->tensor[tensor];
        int64_t bytes = buffer_bytes(r->module->buffer[b].is);
        f32 *got = r->values.value[tensor] = xmalloc((size_t)bytes);
        memcpy(got, runner_data(r->runner, b), (size_t)bytes);
        const f32 *want = given(r->opts->n_expected, r->opts->expected, t->name);
        if (want && !check_expected(r, t, want, got, e))
            return false;
    }
    if (!check_whole(r, e))
        return false;
    runner_close(r->runner);
    r->runner = NULL;
    return true;
}

/* --- Timing ----------------------------------------------------------------------------------- */

/* Whether the outputs of the run with shared memory equal those of the checked run. */
static bool same_outputs(const struct net_run *r)
{
    bool same = true;
    for (int b = 0, at = 0; b < r->module->n_buffers; b++) {
        const struct network_buffer *x = &r->net->buffer[b];
        if (x->role == NETWORK_OUTPUT)
            same = same && memcmp(r->values.value[x->tensor], runner_data(r->runner, at),
                                  (size_t)buffer_bytes(r->module->buffer[b].is)) == 0;
        at += in_runner(r, b);
    }
    return same;
}

/* Judges outputs whose bits differ from those of the checked run. An output that cannot be judged
 * is wrong. */
static bool right_again(struct measure_job *j, struct err *e)
{
    struct whole_deviation worst = { 0 };
    return compare_whole(j->many->ctx, &worst, e)
        && (!worst.reason[0]
            || err_set(e, ERR_WRONG, "the outputs differ from those of the first run, and %s",
                       worst.reason));
}

/* Makes the first run in which intermediates share memory. */
static bool run_shared(struct net_run *r, struct err *e)
{
    if (!runner_run(r->runner, 0, &r->job.first_call_s, e))
        return false;
    r->m->first_call_ms = 1e3 * r->job.first_call_s;
    if (same_outputs(r) || right_again(&r->job, e))
        return true;
    return e->code == ERR_WRONG
        && err_set(e, ERR_WRONG, "the outputs change when intermediates share memory: a kernel "
                   "reads elements that no kernel has written");
}

/* Finds the least time of each call. This takes about as long as sampling the whole network did. So
 * for a short network, the least times of the calls and of the network come from about the same
 * number of runs. times: number of the runner's buffer that receives the times of the calls. */
static bool time_calls(struct net_run *r, int times, struct err *e)
{
    int n = r->module->n_calls;
    double seconds, *least = ARENA_ARRAY(r->arena, double, n);
    if (!runner_load(r->runner, SLOT_KERNEL, r->job.kernel.so_path, "ts_timed", e))
        return false;
    double since = clock_s(), time_s = r->job.opts.time_s, done = 0;
    for (int i = 0; i < TIMED_LEAST || done < (i < TIMED_RUNS ? TIMED_LONG : 1); i++) {
        report(r, "timing each kernel", fmin((double)i / TIMED_RUNS, done));
        if (!runner_run(r->runner, 0, &seconds, e))
            return false;
        const f32 *s = runner_data(r->runner, times);
        for (int k = 0; k < n; k++)
            least[k] = i == 0 || (double)s[k] < least[k] ? (double)s[k] : least[k];
        done = (clock_s() - since) / time_s;
    }
    r->m->call_s = least;
    return true;
}

/* Returns how many of the FLOPs of all calls bound their time (func_bounding). */
static double bounding_of(const struct measure_job *j)
{
    const struct net_run *r = j->many->ctx;
    double flops = 0;
    for (int i = 0; i < r->module->n_calls; i++) {
        const struct network_task *t = &r->net->task[r->net->call[i].task];
        flops += func_bounding(t->func, func_needed(t->func, t->program->base->flops));
    }
    return flops;
}

/* Returns how many values the reductions of all calls accumulate (func_sums). */
static double sums_of(const struct measure_job *j)
{
    const struct net_run *r = j->many->ctx;
    double sums = 0;
    for (int i = 0; i < r->module->n_calls; i++) {
        const struct func *f = r->net->task[r->net->call[i].task].func;
        sums += func_sums(f, f->graph->main_node);
    }
    return sums;
}

bool network_run_open(struct net_run *r, struct err *e)
{
    if (!open_runner(r, false, e) || !run_shared(r, e))
        return false;
    r->job.runner = r->runner;
    return true;
}

static bool time_network(struct net_run *r, struct err *e)
{
    struct measure_job *j = &r->job;
    struct network_measurement *m = r->m;
    struct samples s;
    int own = 0;
    for (int b = 0; b < r->module->n_buffers; b++)
        own += r->module->plan->at[b] >= 0;
    if (!network_run_open(r, e) || !measure_time(&j, 1, 0, &s, e))
        return false;
    m->latency = j->m->latency;
    m->load = j->m->load;
    m->gflops = j->m->gflops;
    m->peak_gflops = j->m->peak_gflops;
    m->peak_fraction = j->m->peak_fraction;
    return time_calls(r, r->module->n_buffers - own + 1, e);
}

/* Checks that the memory suffices. Every buffer exists in this process and in the runner, and
 * constants exist a third time, as the network stores them. In addition, the reference of the
 * largest kernel or of the whole graph must fit. */
static bool fits_memory(const struct net_run *r, struct err *e)
{
    double need = 0, largest = 0;
    for (int b = 0; b < r->module->n_buffers; b++) {
        double bytes = (double)buffer_bytes(r->module->buffer[b].is);
        need += (r->net->buffer[b].role == NETWORK_CONST ? 3 : 2) * bytes;
    }
    for (int k = 0; k < r->net->n_tasks; k++) {
        const struct program *p = r->net->task[k].program;
        largest = fmax(largest, (double)oracle_bytes(p) + (double)oracle_form_bytes(p));
    }
    if (!r->opts->unchecked)
        largest = fmax(largest, network_whole_bytes(r->net));
    return measure_memory(need + largest, e);
}

/* Returns what the sampling needs to know about the network. */
static struct measure_many work_of(struct net_run *r)
{
    struct measure_many all = { .bounding = bounding_of, .sums = sums_of, .check = right_again,
                                .ctx = r };
    for (int i = 0; i < r->module->n_calls; i++) {
        const struct network_task *t = &r->net->task[r->net->call[i].task];
        all.asked_flops += t->program->base->flops;
        all.needed_flops += func_needed(t->func, t->program->base->flops);
    }
    for (int b = 0; b < r->module->n_buffers; b++)
        if (r->net->buffer[b].role == NETWORK_OUTPUT)
            all.result_bytes += (double)buffer_bytes(r->module->buffer[b].is);
    return all;
}

bool network_run_start(struct net_run *r, struct measurement *single, struct err *e)
{
    struct network_measurement *m = r->m;
    const struct network *net = r->net;
    r->module = net->module;
    *m = (struct network_measurement){ .wrong_call = -1 };
    if (!measure_start(&r->job, net->task[0].program, r->opts->measure, single, e))
        return false;
    r->job.progress = r->progress;
    r->job.cancel = r->cancel;
    m->threads = r->job.opts.threads;
    m->seed = r->job.opts.seed;
    snprintf(m->isa, sizeof m->isa, "%s", r->job.target->isa);
    snprintf(m->compiler, sizeof m->compiler, "%s", r->job.cc.version);
    r->work = work_of(r);
    r->job.many = &r->work;
    m->flops = r->work.asked_flops;
    return true;
}

bool network_run_check(struct net_run *r, struct err *e)
{
    bool ok = fits_memory(r, e) && build(r, e) && prepare(r, e) && check(r, e);
    r->m->build_s = r->job.kernel.seconds;
    return ok;
}

void network_run_end(struct net_run *r, bool keep)
{
    runner_close(r->runner);
    network_whole_free(&r->whole);
    if (keep && r->opts->values)
        *r->opts->values = r->values;
    else
        network_values_free(&r->values);
}

bool measure_network(struct arena *a, const struct network *net, const struct network_opts *o,
                     const struct progress *pr, const struct cancel *c,
                     struct network_measurement *m, struct err *e)
{
    struct net_run r = { .net = net, .opts = o, .cancel = c, .progress = pr, .arena = a, .m = m };
    struct measurement single = { 0 };
    if (!network_run_start(&r, &single, e))
        return false;
    memory_keep();
    bool ok = network_run_check(&r, e)
           && (!(r.job.opts.meters & METER_CLOCK) || time_network(&r, e));
    network_run_end(&r, ok);
    memory_give_back();
    if (ok && r.job.opts.meters & ~(unsigned)METER_CLOCK)
        ok = network_meters(a, net, o->measure, pr, c, &m->kernel, e);
    m->verified = ok && !o->unchecked;
    m->outcome = ok ? OUTCOME_OK : measure_outcome(e->code);
    if (!ok)
        snprintf(m->reason, sizeof m->reason, "%.511s", e->text);
    return ok || measure_is_result(e);
}
