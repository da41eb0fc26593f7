/* Opens the child, and checks results against the reference. */
#include "profile/measure/job.h"

#include "kernels/base/file.h"
#include "profile/measure/oracle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_MEMORY_BYTES ((int64_t)1 << 30)
#define MEMORY_SHARE 0.8                  /* share of the available memory that may be used */

bool measure_memory(double need, struct err *e)
{
    double have = MEMORY_SHARE * (double)machine_memory_available();
    if (have <= 0 || need <= have)
        return true;
    return err_set(e, ERR_RANGE, "measuring needs %.1f GiB of memory, but only %.1f GiB are free "
                   "for it (%.0f %% of the available memory)", need / (1 << 30), have / (1 << 30),
                   100 * MEMORY_SHARE);
}

double measure_need(struct measure_job *const *j, int n)
{
    double need = 0, form = 0;
    for (int k = 0; k < n; k++) {
        bool same = j[k]->oracle
                 || (k > 0 && streq(j[k]->program->base->spec, j[0]->program->base->spec));
        need += same ? 0 : (double)oracle_bytes(j[k]->program);
        form = fmax(form, (double)oracle_form_bytes(j[k]->program));
        for (int i = 0; i < j[k]->func->n_params; i++)
            need += 3.0 * (double)buffer_bytes(&j[k]->func->buffer[i]);
    }
    need += form + (double)measure_vendor_bytes(j[0]);
    if (j[0]->runner)
        need -= fmin(need, 2.0 * (double)runner_bytes(j[0]->runner));
    return need;
}

static int count_buffers(struct measure_job *const *j, int n)
{
    int all = j[0]->libraries.n * VENDOR_MAX_TENSORS;
    for (int k = 0; k < n; k++)
        all += j[k]->module->n_buffers;
    return all;
}

/* Lists the buffers of the jobs one after the other. Returns their number. */
static int list_buffers(struct measure_job *const *j, int n, struct runner_buffer *buffer,
                        int *first)
{
    int at = 0;
    for (int k = 0; k < n; k++) {
        const struct module *m = j[k]->module;
        j[k]->contender = k;
        j[k]->first = first[k] = at;
        for (int i = 0; i < m->n_buffers; i++) {
            const struct buffer *b = m->buffer[i].is;
            buffer[at++] = (struct runner_buffer){
                .name = b->name, .type = b->type, .bytes = buffer_bytes(b),
                .written = m->buffer[i].last == m->n_calls ? BUFFER_RESULT : b->written,
            };
        }
    }
    return at;
}

/* Loads a kernel.  If its object was deleted from the cache folder in the meantime, it is built
 * again. */
static bool load_kernel(struct measure_job *j, enum slot slot, struct err *e)
{
    if (runner_load(j->runner, slot, j->kernel.so_path, j->entry, e))
        return true;
    return e->code == ERR_COMPILE && !file_exists(j->kernel.so_path) && measure_build_kernel(j, e)
        && runner_load(j->runner, slot, j->kernel.so_path, j->entry, e);
}

/* Whether there is memory for all jobs.  If there is not, and one job needs too much even alone,
 * sets `refused` of this job, and *e is about this job. */
static bool has_memory(struct measure_job *const *j, int n, struct err *e)
{
    bool enough = measure_memory(measure_need(j, n), e);
    for (int k = 0; k < n && !enough; k++) {
        j[k]->refused = !measure_memory(measure_need(&j[k], 1), e);
        if (j[k]->refused)
            break;
    }
    return enough;
}

/* The runner gets the options, and the instrumented kernel if there is one, of the first job. */
bool measure_open_runner(struct measure_job *const *j, int n, struct err *e)
{
    int first[PROTOCOL_MAX_CONTENDERS];
    struct measure_job *head = j[0];
    for (int k = 0; k < n; k++)
        j[k]->refused = false;
    if (!has_memory(j, n, e))
        return false;
    struct arena *pass = arena_new();
    struct runner_buffer *buffer = ARENA_ARRAY(pass, struct runner_buffer, count_buffers(j, n));
    int n_buffers = list_buffers(j, n, buffer, first);
    measure_vendor_buffers(head, n, buffer, &n_buffers);
    memcpy(first + n, head->libraries.first, sizeof(int) * (size_t)head->libraries.n);
    int64_t memory = head->opts.memory_bytes > 0 ? head->opts.memory_bytes : DEFAULT_MEMORY_BYTES;
    struct runner_opts o = {
        .path = head->opts.runner_path, .threads = head->opts.threads,
        .limit_s = head->opts.limit_s, .memory_bytes = memory + measure_vendor_bytes(head),
        .huge_pages = head->opts.huge_pages, .n_buffers = n_buffers, .buffer = buffer,
        .n_contenders = n + head->libraries.n, .first = first,
        .trace = head->has_instrumented ? &head->trace : NULL,
        .n_trace_buffers = head->func->n_buffers,
        .sim_detail = head->opts.detail != NULL,
        .cancel = head->cancel, .tick = measure_tick, .ctx = head,
    };
    bool ok = head->runner ? runner_renew(&head->runner, &o, e)
                           : runner_open(head->opts.runner, &o, &head->runner, e);
    arena_free(pass);
    if (!ok)
        return false;
    for (int k = 0; k < n; k++) {
        j[k]->runner = head->runner;
        j[k]->differed = 0;
        j[k]->m->max_rel_err = j[k]->m->error_of_bound = NAN;
        j[k]->refused = !load_kernel(j[k], SLOT_KERNEL + k, e);
        if (j[k]->refused)
            return false;
    }
    return true;
}

static bool compare_outputs(const struct measure_job *j, const struct oracle *o, void *const *data,
                            struct deviation *worst, struct err *e)
{
    const struct func *f = j->func;
    bool ok = true;
    for (int i = 0; i < f->n_params && ok; i++) {
        int t = f->buffer[i].tensor;
        if (j->program->graph->tensor[t].role == TENSOR_OUTPUT)
            ok = oracle_compare(o, j->program, t, data[i], j->cancel, worst, e);
    }
    return ok;
}

bool measure_is_right(struct measure_job *j, void *const *data, struct err *e)
{
    struct deviation worst = { 0 };
    const struct oracle *o;
    if (!oracle_acquire(j->program->base, j->opts.seed, j->cancel, &o, e))
        return false;
    bool ok = compare_outputs(j, o, data, &worst, e);
    oracle_release(o);
    return ok;
}

static bool fill_buffers(struct measure_job *j, const struct oracle *o, struct err *e)
{
    measure_begin(j, "checking");
    for (int i = 0; i < j->func->n_params; i++) {
        const struct buffer *b = &j->func->buffer[i];
        if (!oracle_fill(o, j->program, b->tensor, j->opts.seed, b->elems,
                         runner_data(j->runner, j->first + i), e))
            return false;
        if (cancelled(j->cancel))
            return err_set(e, ERR_CANCEL, "cancelled");
    }
    return true;
}

/* Compares the outputs up to the first wrong one, and merges the worst deviation into the
 * measurement. */
static bool judge_outputs(struct measure_job *j, const struct oracle *o, struct err *e)
{
    void **data = xcalloc((size_t)j->func->n_params + 1, sizeof *data);
    for (int i = 0; i < j->func->n_params; i++)
        data[i] = runner_data(j->runner, j->first + i);
    struct deviation worst = {0};
    if (!isnan(j->m->max_rel_err))        /* not the first comparison */
        worst = (struct deviation){ j->m->max_rel_err, j->m->error_of_bound };
    bool ok = compare_outputs(j, o, data, &worst, e);
    free(data);
    j->m->tolerance = oracle_tolerance(j->program);
    j->m->max_rel_err = worst.rel_err;
    j->m->error_of_bound = worst.of_bound;
    return ok;
}

/* Runs the kernel before the reference is computed, so that a crash is reported at once. */
bool measure_check(struct measure_job *j, struct err *e)
{
    if (j->many)
        return runner_run(j->runner, j->contender, &j->first_call_s, e) && j->many->check(j, e);
    const struct graph *base = j->program->base;
    const struct oracle *o = j->oracle ? oracle_again(j->oracle) : oracle_kept(base, j->opts.seed);
    bool ok = fill_buffers(j, o, e)
           && runner_run(j->runner, j->contender, &j->first_call_s, e)
           && (o || oracle_acquire(base, j->opts.seed, j->cancel, &o, e));
    if (ok)
        ok = j->m->verified = judge_outputs(j, o, e);
    oracle_release(o);
    return ok;
}

static bool judge_now(struct measure_job *j, struct err *e)
{
    const struct oracle *o = j->oracle ? oracle_again(j->oracle) : NULL;
    if (!o && !oracle_acquire(j->program->base, j->opts.seed, j->cancel, &o, e))
        return false;
    bool ok = judge_outputs(j, o, e);
    oracle_release(o);
    return ok;
}

bool measure_check_again(struct measure_job *j, int64_t calls, struct err *e)
{
    if (j->many ? j->many->check(j, e) : judge_now(j, e))
        return true;
    return err_prefix(e, "after %lld calls ", (long long)calls);
}
