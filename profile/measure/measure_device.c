/* Runs and times kernels on the GPU of this machine. */
#include "profile/measure/job.h"

#include <stdio.h>
#include <string.h>

#include "kernels/base/rng.h"
#include "profile/build/cubin.h"
#include "profile/child/child.h"
#include "profile/child/device.h"

/* MOST_FLOPS: most FLOPs of a multiprocessor per clock without tensor cores: 128 multiply-adds.
 * MOST_TENSOR_FLOPS: the same with tensor cores: the most 16-bit operations of any GPU. MOST_MHZ:
 * the clock that is assumed when a driver reports none. */
#define MOST_FLOPS 256.0
#define MOST_TENSOR_FLOPS 8192.0
#define MOST_MHZ 3000

double measure_device_peak(const struct measure_job *j)
{
    int mhz = j->device->clock_mhz > 0 ? j->device->clock_mhz : MOST_MHZ;
    double most = func_tensor_flops(j->func) > 0 ? MOST_TENSOR_FLOPS : MOST_FLOPS;
    return 1e6 * most * mhz * j->device->multiprocessors;
}

static void refuse(struct measure_job *j, const struct err *e)
{
    j->m->device.name[0] = '\0';
    snprintf(j->m->device.reason, sizeof j->m->device.reason, "%.255s", e->text);
}

void measure_find_device(struct measure_job *j)
{
    struct err why;
    if (device_this(j->opts.runner_path, &j->device_info, &why))
        j->device = &j->device_info;
    else
        refuse(j, &why);
}

bool measure_build_device(struct measure_job *j, struct err *e)
{
    const struct gen_opts o = { .target = j->target };
    struct gen_launches launches;
    struct str text = {0};
    char arch[24];
    snprintf(arch, sizeof arch, "sm_%d%d", j->device->major, j->device->minor);
    bool ok = gen_cuda(j->func, &o, &text, &launches, e);
    j->source = ok ? hash_text(str_text(&text)) : 0;
    ok = ok && cubin_build(str_text(&text), &launches, arch, j->cancel, &j->kernel,
                          j->m->device.nvrtc, e);
    str_free(&text);
    return ok;
}

/* Stores on which GPU the kernel runs. */
static void name_device(struct measure_job *j)
{
    const struct cuda_info *i = j->device;
    struct measured_device *d = &j->m->device;
    snprintf(d->name, sizeof d->name, "%s", i->name);
    snprintf(d->driver, sizeof d->driver, "%s", i->driver);
    d->clock_mhz = i->clock_mhz;
    d->memory_mhz = i->memory_mhz;
}

bool measure_move_to_device(struct measure_job *j, struct err *e)
{
    j->on_device = true;
    j->has_instrumented = false;
    j->opts.runner = &device_runner;
    j->opts.meters |= j->asked & METER_CLOCK;
    name_device(j);
    measure_begin(j, "compiling for the GPU");
    return measure_build_kernel(j, e);
}

static bool run_there(struct measure_job *j, struct err *e)
{
    struct samples s;
    j->opts.meters |= j->asked & (METER_CLOCK | METER_CUPTI);
    j->opts.baselines = j->asked_baselines;
    return measure_move_to_device(j, e) && (j->libraries.n > 0 || measure_vendor_match(j, e))
        && measure_open_checked(j, e) && measure_time(&j, 1, 0, &s, e)
        && (!j->opts.cold || measure_time_cold(&j, 1, e));
}

/* Discards what was measured on the device, because the device failed with `why`.  The results of
 * the host twin stay. rel_err, of_bound: max_rel_err and error_of_bound of the twin. */
static void forget(struct measure_job *j, double rel_err, double of_bound, const struct err *why)
{
    struct measurement *m = j->m;
    refuse(j, why);
    m->verified = true;
    m->max_rel_err = rel_err;
    m->error_of_bound = of_bound;
    measure_drop_times(m);
    memset(m->baseline, 0, sizeof m->baseline);
}

bool measure_on_device(struct measure_job *j, struct err *e)
{
    double rel_err = j->m->max_rel_err, of_bound = j->m->error_of_bound;
    runner_close(j->runner);
    j->runner = NULL;
    if (run_there(j, e))
        return true;
    if (e->code == ERR_ENV && !j->opts.twin_later) {
        forget(j, rel_err, of_bound, e);
        return true;
    }
    if (e->code != ERR_CANCEL && e->code != ERR_KILLED)
        err_prefix(e, "on %s: ", j->device->name);
    return false;
}
