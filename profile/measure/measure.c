/* Builds, checks, times and counts: each stage fills its part of the measurement, or stops the
 * measurement. */
#include "profile/measure/measure.h"
#include "profile/measure/job.h"
#include "profile/measure/meters.h"

bool measure_open_checked(struct measure_job *j, struct err *e)
{
    for (;;) {
        if (!measure_open_runner(&j, 1, e) || !measure_check(j, e))
            return false;
        if (measure_vendor_load(j, e))
            return true;
        if (e->code == ERR_CANCEL)
            return false;
        runner_close(j->runner);
        j->runner = NULL;
    }
}

/* Runs all phases in the child. Phases that matter most and disturb the child least come first. The
 * simulator comes last, because it may end by killing the child. */
static bool run_in_child(struct measure_job *j, struct err *e)
{
    struct samples s;
    if (!measure_open_checked(j, e))
        return false;
    if (j->opts.meters & METER_CLOCK
            ? !measure_time(&j, 1, 0, &s, e) || (j->opts.cold && !measure_time_cold(&j, 1, e))
            : !measure_again(j, e))
        return false;
    bool simulates = j->target->gpu ? j->opts.meters & METER_SIM : j->has_instrumented;
    return meters_count(j, e) && (!simulates || measure_sim(j, e));
}

/* Calls `run`, and calls it once more in a new child if another process killed the first child. */
static bool run_twice(struct measure_job *j, bool (*run)(struct measure_job *j, struct err *e),
                      struct err *e)
{
    if (run(j, e))
        return true;
    if (e->code != ERR_KILLED)
        return false;
    runner_close(j->runner);
    j->runner = NULL;
    if (run(j, e))
        return true;
    measure_blame(e);
    return false;
}

bool measure_twin(struct measure_job *j, struct err *e)
{
    bool ok = measure_build(j, e) && run_twice(j, run_in_child, e);
    runner_close(j->runner);
    j->runner = NULL;
    return ok;
}

/* Counts on the GPU. This comes last because CUPTI can end the runner; the times are already stored
 * then. */
static bool count_there(struct measure_job *j, struct err *e)
{
    struct err why;
    if (!j->device || !j->m->device.name[0])
        return true;
    if (meters_count(j, &why))
        return true;
    if (why.code == ERR_CANCEL) {
        *e = why;
        return false;
    }
    counts_refuse(&j->m->counts[METER_ID_CUPTI], "%.255s", why.text);
    return true;
}

static bool run(struct measure_job *j, struct err *e)
{
    if (j->device && j->opts.twin_later)
        return measure_lower(j, e) && run_twice(j, measure_on_device, e);
    return measure_build(j, e) && measure_vendor_match(j, e) && run_twice(j, run_in_child, e)
        && (!j->device || (run_twice(j, measure_on_device, e) && count_there(j, e)));
}

bool measure_program(const struct program *p, const struct measure_opts *o,
                     const struct progress *pr, const struct cancel *c, struct measurement *m,
                     struct err *e)
{
    double start = clock_s();
    struct measure_job j;
    bool ok = measure_start(&j, p, o, m, e);
    j.progress = pr;
    j.cancel = c;
    if (ok && j.target->gpu && o->meters & METER_CLOCK)
        measure_find_device(&j);
    ok = ok && run(&j, e);
    runner_close(j.runner);
    measure_vendor_finish(&j);
    measure_end(&j, ok, e);
    m->total_s = clock_s() - start;
    return ok || measure_is_result(e);
}
