/* A job from its options to its outcome, and its reports of progress. */
#include "profile/measure/job.h"

#include "profile/child/child.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_TIME_S 0.3
#define DEFAULT_MIN_RUNS 10
#define DEFAULT_LIMIT_S 20.0
#define DEFAULT_SIM_BUDGET 5e8            /* about this many accesses take a few seconds */
#define MAX_THREADS 1024

const char *const outcome_name[] = {
    [OUTCOME_NONE] = "none", [OUTCOME_OK] = "ok", [OUTCOME_COMPILE] = "compile error",
    [OUTCOME_CRASH] = "crash", [OUTCOME_TIMEOUT] = "timeout", [OUTCOME_WRONG] = "wrong result",
    [OUTCOME_CANCEL] = "cancelled", [OUTCOME_ENV] = "environment", [OUTCOME_LIMIT] = "too large",
    [OUTCOME_ILL] = "ill-conditioned",
};

void measure_report(const struct measure_job *j, const char *what, double fraction)
{
    if (j->progress && j->progress->report)
        j->progress->report(j->progress->ctx, what, fraction);
}

void measure_begin(struct measure_job *j, const char *what)
{
    snprintf(j->doing, sizeof j->doing, "%s", what);
    j->since = clock_s();
    measure_report(j, what, -1);
}

/* Reports the fraction done while timing or simulating, and in other phases the seconds so far. */
void measure_tick(void *ctx, double done)
{
    const struct measure_job *j = ctx;
    char text[64];
    double elapsed = clock_s() - j->since;
    if (streq(j->doing, "simulating")) {
        measure_report(j, j->doing, done);
        return;
    }
    if (streq(j->doing, "timing")) {
        measure_report(j, done < 1 ? "timing" : "timing again", done - (int)done);
        return;
    }
    snprintf(text, sizeof text, elapsed < 1 ? "%s" : "%s, %.0f s", j->doing, elapsed);
    measure_report(j, text, -1);
}

void measure_blame(struct err *e)
{
    struct err killed = *e;
    if (e->code == ERR_KILLED)
        err_set(e, ERR_CRASH, "crashed: %s; a second try ended in the same way", killed.text);
}

enum outcome measure_outcome(enum err_code code)
{
    switch ((int)code) {
    case ERR_COMPILE: return OUTCOME_COMPILE;
    case ERR_CRASH: return OUTCOME_CRASH;
    case ERR_TIMEOUT: return OUTCOME_TIMEOUT;
    case ERR_WRONG: return OUTCOME_WRONG;
    case ERR_ILL: return OUTCOME_ILL;
    case ERR_CANCEL: return OUTCOME_CANCEL;
    case ERR_ENV: case ERR_BUG: case ERR_IO: case ERR_KILLED: return OUTCOME_ENV;
    default: return OUTCOME_LIMIT;       /* the program is refused */
    }
}

bool measure_is_result(const struct err *e)
{
    enum outcome o = measure_outcome(e->code);
    return o != OUTCOME_ENV && o != OUTCOME_CANCEL;
}

/* Stores a reason for every requested meter and baseline that has no result and no reason yet, and
 * for the simulator also when it was not requested. */
static void give_reasons(struct measurement *m, bool gpu, unsigned meters, unsigned baselines)
{
    const char *why[] = { SIM_NOT_ASKED, "the measurement ended before this part of it ran" };
    if (gpu)
        why[1] = m->device.name[0] ? "the kernel is for a GPU, which this meter does not count"
                 : "the kernel is for a GPU, and it was only checked, by its host twin";
    if (!m->sim.available && !m->sim.reason[0])
        snprintf(m->sim.reason, sizeof m->sim.reason, "%s", why[(meters & METER_SIM) != 0]);
    for (int i = METER_ID_PERF; i < METER_COUNT; i++)
        if (!m->counts[i].available && !m->counts[i].reason[0] && (meters & 1u << i))
            counts_refuse(&m->counts[i], "%s", why[1]);
    for (int i = 0; i < VENDOR_COUNT; i++)
        if (!m->baseline[i].available && !m->baseline[i].reason[0] && (baselines & 1u << i))
            snprintf(m->baseline[i].reason, sizeof m->baseline[i].reason, "%s", why[1]);
}

/* Returns the requested libraries. VENDOR_ALL means those that run where the kernel runs. */
static unsigned libraries_asked(unsigned baselines, bool gpu)
{
    unsigned near = 0;
    for (int i = 0; i < VENDOR_COUNT; i++)
        if (vendor_on_gpu((enum vendor_library)i) == gpu)
            near |= 1u << i;
    return baselines == VENDOR_ALL ? near : baselines;
}

static struct measure_opts with_defaults(const struct program *p, const struct measure_opts *o)
{
    struct measure_opts d = *o;
    d.runner = o->runner ? o->runner : &child_runner;
    d.machine = o->machine ? o->machine : machine_this();
    d.target = o->target ? o->target : target_named(program_is_bound(p) ? "cuda" : d.machine->isa);
    d.baselines = libraries_asked(o->baselines, d.target->gpu);
    if (d.target->gpu) {  /* the host twin's times and counts say nothing about the kernel */
        d.meters &= METER_SIM;
        d.baselines = 0;
    }
    d.threads = o->threads < 1 ? 1 : o->threads > MAX_THREADS ? MAX_THREADS : o->threads;
    d.time_s = o->time_s > 0 ? o->time_s : DEFAULT_TIME_S;
    d.min_runs = o->min_runs > 0 ? o->min_runs : DEFAULT_MIN_RUNS;
    d.limit_s = o->limit_s > 0 ? o->limit_s : DEFAULT_LIMIT_S;
    d.cache = cache_config_on(&o->cache, &d.machine->l1d, &d.machine->l2,
                              &d.machine->l3);
    d.sim_budget = o->sim_budget > 0 ? o->sim_budget : DEFAULT_SIM_BUDGET;
    return d;
}

bool measure_start(struct measure_job *j, const struct program *p, const struct measure_opts *o,
                   struct measurement *m, struct err *e)
{
    *j = (struct measure_job){ .program = p, .opts = with_defaults(p, o), .m = m };
    j->target = j->opts.target;
    j->asked = o->meters;
    j->asked_baselines = libraries_asked(o->baselines, j->target->gpu);
    j->machine = j->opts.machine;
    *m = (struct measurement){ .threads = j->opts.threads, .seed = o->seed,
                               .sim.cache = j->opts.cache };
    if (!compiler_find(o->compiler, &j->cc, e))
        return false;
    snprintf(m->compiler, sizeof m->compiler, "%s", j->cc.version);
    snprintf(m->code, sizeof m->code, "%08x", (unsigned)target_code());
    return true;
}

void measure_drop_times(struct measurement *m)
{
    m->latency = m->cold_latency = (struct latency){ 0 };
    m->gflops = m->executed_gflops = m->peak_gflops = m->peak_fraction = m->load = 0;
    m->cold_method[0] = m->peak_reason[0] = m->threads_note[0] = m->measured_at[0] = '\0';
    m->huge_asked = false;
    m->huge_bytes = m->huge_of_bytes = 0;
    m->measurements = 0;
}

/* Clears times and ratios of a kernel that turned out to be wrong in a later phase. */
static void take_back(struct measurement *m)
{
    m->verified = false;
    measure_drop_times(m);
    for (int i = 0; i < VENDOR_COUNT; i++)
        m->baseline[i].ratio = 0;
}

void measure_end(struct measure_job *j, bool ok, const struct err *e)
{
    struct measurement *m = j->m;
    snprintf(m->isa, sizeof m->isa, "%s", j->target->isa);
    m->outcome = ok ? OUTCOME_OK : measure_outcome(e->code);
    if (!ok) {
        snprintf(m->reason, sizeof m->reason, "%.511s", e->text);
        take_back(m);
    }
    give_reasons(m, j->target->gpu, j->asked, j->asked_baselines);
}
