/* The child, the check against the reference, and the clock. */
#include "profile/measure_impl.h"

#include "profile/oracle.h"

#include <stdio.h>

#define TOLERANCE 1e-4                    /* f32 (SPEC D) */
#define MOST_FRACTION 1.05               /* of the ceiling; what is above is no ceiling */
#define MEMORY_SHARE 0.8                  /* of what is available */

/* Buffers twice (here and in the child), logical copies, and the reference in double. */
static bool fits_memory(const struct job *j, struct err *e)
{
    double need = (double)oracle_bytes(j->program->base), have = (double)machine_memory_available();
    for (int i = 0; i < j->func->n_params; i++)
        need += 3.0 * 4.0 * (double)j->func->buffer[i].elems;
    if (have <= 0 || need <= MEMORY_SHARE * have)
        return true;
    return err_set(e, ERR_RANGE, "measuring it takes %.1f GiB of memory and %.1f GiB are free",
                   need / (1 << 30), have / (1 << 30));
}

bool measure_open_child(struct job *j, struct err *e)
{
    struct child_buffer buffer[PROTOCOL_MAX_BUFFERS];
    const struct func *f = j->func;
    if (!fits_memory(j, e))
        return false;
    if (f->n_params > PROTOCOL_MAX_BUFFERS)
        return err_set(e, ERR_RANGE, "%d tensors are more than can be measured", f->n_params);
    for (int i = 0; i < f->n_params; i++)
        buffer[i] = (struct child_buffer){ f->buffer[i].name, 4 * f->buffer[i].elems,
                                           f->buffer[i].written };
    struct child_opts o = {
        .runner = j->opts.runner, .threads = j->opts.threads, .limit_s = j->opts.limit_s,
        .memory_bytes = j->opts.memory_bytes, .n_buffers = f->n_params, .buffer = buffer,
        .trace = j->has_twin ? &j->trace : NULL, .n_trace_buffers = f->n_buffers,
        .sim_detail = j->opts.detail != NULL,
        .cancel = j->cancel, .tick = measure_tick, .ctx = j,
    };
    return child_open(&o, &j->child, e)
        && child_load(j->child, SLOT_KERNEL, j->kernel.so_path, e);
}

static bool compare_outputs(struct job *j, float *const *data, double *worst, struct err *e)
{
    const struct func *f = j->func;
    const struct oracle *o = NULL;
    bool ok = oracle_acquire(j->program->base, j->opts.seed, j->cancel, &o, e);
    for (int i = 0; i < f->n_params && ok; i++) {
        int t = f->buffer[i].tensor;
        if (j->program->graph->tensor[t].role == TENSOR_OUTPUT)
            ok = oracle_compare(o, j->program, t, data[i], TOLERANCE, worst, e);
    }
    oracle_release(o);
    return ok;
}

bool measure_is_right(struct job *j, float *const *data, struct err *e)
{
    double worst = 0;
    return compare_outputs(j, data, &worst, e);
}

/* Runs the kernel first: a crash need not wait for the reference. */
bool measure_check(struct job *j, struct err *e)
{
    float *data[PROTOCOL_MAX_BUFFERS];
    double seconds;
    measure_begin(j, "checking");
    for (int i = 0; i < j->func->n_params; i++) {
        const struct buffer *b = &j->func->buffer[i];
        data[i] = child_data(j->child, i);
        oracle_fill(j->program, b->tensor, j->opts.seed, b->elems, data[i]);
        if (cancelled(j->cancel))
            return err_set(e, ERR_CANCEL, "cancelled");
    }
    if (!child_check(j->child, 0, &seconds, e))
        return false;
    j->m->tolerance = TOLERANCE;
    j->m->verified = compare_outputs(j, data, &j->m->max_rel_err, e);
    return j->m->verified;
}

/* What the kernel has to do for its result: what it skips is not work, what it repeats is not
 * either. */
static double needed_flops(const struct job *j)
{
    double asked = j->program->base->flops, executed = func_flops(j->func);
    return executed > 0 && executed < asked ? executed : asked;
}

/* A kernel that is faster than the ceiling says that the ceiling was disturbed. */
static void take_peak(struct job *j, double peak)
{
    struct measurement *m = j->m;
    if (peak > 0 && m->executed_gflops <= MOST_FRACTION * peak) {
        m->peak_gflops = peak;
        m->peak_fraction = m->executed_gflops / peak;
    } else if (peak > 0) {
        snprintf(m->peak_reason, sizeof m->peak_reason,
                 "the sampled FMA ceiling (%.1f) is below the kernel: something else keeps the"
                 " cores busy", peak);
    } else {
        snprintf(m->peak_reason, sizeof m->peak_reason, "the FMA ceiling could not be sampled");
    }
}

static void take_latency(struct job *j, const struct samples *s)
{
    struct measurement *m = j->m;
    const struct summary *k = &s->of[SERIES_KERNEL];
    m->latency = (struct latency){
        .median_ms = 1e3 * k->median, .min_ms = 1e3 * k->min, .max_ms = 1e3 * k->max,
        .spread = k->spread, .runs = s->rounds,
    };
    m->gflops = 1e-9 * j->program->base->flops / k->min;
    m->executed_gflops = 1e-9 * needed_flops(j) / k->min;
    take_peak(j, 1e-9 * j->ceiling_flops
                     * sampling_ceiling(&s->of[SERIES_CEILING], &s->of[SERIES_ONE_CORE],
                                        j->opts.threads, j->machine->cores));
}

bool measure_time(struct job *j, struct err *e)
{
    struct samples s;
    struct err ignored;
    measure_begin(j, "timing");
    j->has_ceiling = j->has_ceiling
                  && child_load(j->child, SLOT_CEILING, j->ceiling.so_path, &ignored);
    struct sampled what = { .contenders = 1, .ceiling = j->has_ceiling, .time_s = j->opts.time_s,
                            .min_runs = j->opts.min_runs };
    if (!child_time(j->child, &what, &s, e))
        return false;
    if (s.rounds < 1 || !(s.of[SERIES_KERNEL].min > 0))
        return err_set(e, ERR_CRASH, "the samples were overwritten");
    take_latency(j, &s);
    return true;
}
