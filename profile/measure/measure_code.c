/* Builds shared objects from a program: the kernel, the FMA ceiling, the instrumented kernel. */
#include "profile/measure/job.h"

#include "kernels/base/rng.h"

bool measure_lower(struct measure_job *j, struct err *e)
{
    if (!program_lower(j->program, &j->func, e))
        return false;
    j->module = module_of(j->func);
    return true;
}

bool measure_build_kernel(struct measure_job *j, struct err *e)
{
    const struct gen_opts o = { .target = j->target, .openmp = true };
    struct str text = {0};
    if (j->on_device)
        return measure_build_device(j, e);
    j->entry[0] = '\0';
    bool ok = module_c(j->module, &o, &text, e);
    j->source = ok ? hash_text(str_text(&text)) : 0;
    ok = ok && build_shared(&j->cc, str_text(&text), j->target, module_is_parallel(j->module),
                           j->cancel, &j->kernel, e);
    str_free(&text);
    return ok;
}

/* Builds the ceiling. If that fails, the measurement only lacks the ratio to the ceiling. Returns
 * false only on a cancel. */
static bool build_ceiling(struct measure_job *j, struct err *e)
{
    struct str text = {0};
    j->ceiling_flops = gen_peak(j->target, j->program->graph->type, &text);
    j->has_ceiling = build_shared(&j->cc, str_text(&text), j->target, false, j->cancel,
                                  &j->ceiling, e);
    str_free(&text);
    return j->has_ceiling || e->code != ERR_CANCEL;
}

static bool build_instrumented(struct measure_job *j, struct err *e)
{
    const struct gen_opts o = { .target = j->target };
    struct str text = {0};
    if (j->target->gpu)                   /* an interpreter walks the kernel: nothing is compiled */
        return true;
    j->has_instrumented =
        gen_trace(j->func, &o, j->opts.cache.level[0].geometry.line_bytes, &text, &j->trace, e)
        && build_shared(&j->cc, str_text(&text), o.target, false, j->cancel, &j->instrumented, e);
    str_free(&text);
    return j->has_instrumented || measure_sim_refused(j, e);
}

bool measure_build(struct measure_job *j, struct err *e)
{
    measure_begin(j, "compiling");
    if ((!j->func && !measure_lower(j, e)) || !measure_build_kernel(j, e))
        return false;
    j->m->build_s = j->kernel.seconds;
    if ((j->opts.meters & METER_CLOCK) && !build_ceiling(j, e))
        return false;
    if ((j->opts.meters & METER_SIM) && !build_instrumented(j, e))
        return false;
    return true;
}
