/* The clock meter: times a kernel beside the ceiling, and refuses times that are impossible. */
#include "profile/measure/job.h"

#include <math.h>
#include <stdio.h>

/* largest fraction of the ceiling that is plausible; above it the ceiling was disturbed */
#define MOST_FRACTION 1.05
/* after this many right results that differ from the first one, bits are no longer compared */
#define MOST_DIFFERENT 3
#define UNSTEADY_CHECKS 4                /* number of full checks for a kernel whose results vary */
#define AGAIN_S 1e-3  /* seconds for checking later calls when the clock was not requested */
#define TRUSTED_ROUNDS 10  /* the best ceiling of fewer samples may still be disturbed */
#define TOO_FAST 3.0  /* a kernel this many times faster than possible did something else */
#define MOST_GFLOPS 384.0  /* faster than any present core: 2 FMAs of 16 lanes at 6 GHz */
#define MOST_GBYTES 768.0  /* faster than any core stores to L1: 2 of 64 bytes at 6 GHz */
#define MOST_DEVICE_GBYTES 20e3  /* faster than any present GPU's memory, by a factor of 2 */
#define LEAST_WALK_BYTES ((int64_t)64 << 20)
#define MOST_WALK_BYTES ((int64_t)512 << 20)

static double asked_flops(const struct measure_job *j)
{
    return j->many ? j->many->asked_flops : j->program->base->flops;
}

/* Returns the FLOPs that the result needs; work that is skipped or repeated does not count. */
static double needed_flops(const struct measure_job *j)
{
    if (j->many)
        return j->many->needed_flops;
    return func_needed(j->func, j->program->base->flops);
}

static int cores_of(const struct measure_job *j)
{
    return j->opts.threads < j->machine->cores ? j->opts.threads : j->machine->cores;
}

/* Returns a speed in GFLOP/s above which a ceiling's code must be broken. */
static double beyond(const struct measure_job *j)
{
    return TOO_FAST * MOST_GFLOPS * cores_of(j);
}

static double result_bytes(const struct measure_job *j)
{
    if (j->many)
        return j->many->result_bytes;
    const struct graph *g = j->program->graph;
    double bytes = 0;
    for (int t = 0; t < g->n_tensors; t++)
        if (g->tensor[t].role == TENSOR_OUTPUT)
            bytes += (double)tensor_bytes(&g->tensor[t]);
    return bytes;
}

static double sums_of(const struct measure_job *j)
{
    return j->many ? j->many->sums(j) : func_sums(j->func, j->func->graph->main_node);
}

static bool left_work_out(double seconds, double bound_s, const char *what, struct err *e)
{
    return err_set(e, ERR_WRONG,
                   "a call took %.3g ms, but %s takes at least %.3g ms: the kernel skips work",
                   1e3 * seconds, what, 1e3 * bound_s);
}

/* Whether a time is possible. A right kernel cannot be TOO_FAST times faster than the reductions of
 * its main node and the stores of its results. No compiler can omit a step of a reduction, so each
 * step counts as a multiply-add, two FLOPs. Element-wise FLOPs do not count, since compilers can
 * remove some of them; neither do sums over partial padding.
 *
 * peak: the ceiling sampled beside the kernel, in GFLOP/s. MOST_GFLOPS per core is used instead
 * when `peak` is 0 or impossible, or when the target of the kernel is not the widest one (compilers
 * may find wider vectors). On a device, measure_device_peak is used. */
static bool is_possible(const struct measure_job *j, double seconds, double peak, struct err *e)
{
    double flops = 2 * needed_flops(j), bytes = result_bytes(j), rate = MOST_GBYTES * cores_of(j);
    char what[120];
    const struct target *widest = target_named(j->machine->isa);
    if (j->on_device) {
        peak = 1e-9 * measure_device_peak(j);
        rate = MOST_DEVICE_GBYTES;
    } else if (peak <= 0 || peak > beyond(j) || j->target->vector_bytes < widest->vector_bytes)
        peak = MOST_GFLOPS * cores_of(j);
    /* sums_of is slow: it is called only if the time is too short for twice the needed FLOPs */
    if (TOO_FAST * seconds < 1e-9 * flops / peak)
        flops = fmin(flops, 2 * sums_of(j));
    if (TOO_FAST * seconds < 1e-9 * flops / peak) {
        snprintf(what, sizeof what, "its arithmetic at %.4g GFLOP/s", peak);
        return left_work_out(seconds, 1e-9 * flops / peak, what, e);
    }
    if (TOO_FAST * seconds < 1e-9 * bytes / rate) {
        snprintf(what, sizeof what, "storing the results at %.4g GB/s", rate);
        return left_work_out(seconds, 1e-9 * bytes / rate, what, e);
    }
    return true;
}

/* Whether a core with this ceiling can be as fast as the kernel was.  The FLOPs that do not bound
 * the time run beside others (func_bounding); they are counted only if the kernel was faster. */
static bool may_be(const struct measure_job *j, double peak)
{
    double most = MOST_FRACTION * peak, needed;
    if (j->m->executed_gflops <= most)
        return true;
    needed = needed_flops(j);
    return (j->many ? j->many->bounding(j) : func_bounding(j->func, needed))
         * j->m->executed_gflops <= most * needed;
}

/* Stores the peak in GFLOP/s, or the reason why it is missing. If no core with this ceiling can be
 * as fast as the kernel was, something disturbed the ceiling. */
static void take_peak(struct measure_job *j, double peak)
{
    struct measurement *m = j->m;
    if (j->on_device) {
        snprintf(m->peak_reason, sizeof m->peak_reason, "no ceiling of the GPU was sampled");
    } else if (peak > beyond(j)) {
        snprintf(m->peak_reason, sizeof m->peak_reason,
                 "the sampled FMA ceiling (%.3g GFLOP/s) is beyond any machine's", peak);
    } else if (peak > 0 && may_be(j, peak)) {
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

struct latency measure_latency_of(const struct summary *seconds, int runs)
{
    const struct summary *k = seconds;
    return (struct latency){
        .median_ms = 1e3 * k->median, .min_ms = 1e3 * k->min, .max_ms = 1e3 * k->max,
        .p10_ms = 1e3 * k->p10, .p25_ms = 1e3 * k->p25, .p75_ms = 1e3 * k->p75,
        .p90_ms = 1e3 * k->p90, .spread = k->spread, .runs = runs,
        .noisy = k->spread > STATS_NOISY, .disturbed = NAN,
        .others = NAN,
    };
}

struct latency measure_latency(const struct samples *s, int series)
{
    const double *ceiling = s->sample[SERIES_CEILING];
    struct latency l = measure_latency_of(&s->of[series], s->rounds);
    if (ceiling)
        l.disturbed = stats_disturbed(ceiling, s->rounds);
    l.others = s->others;
    return l;
}

bool measure_take(struct measure_job *j, const struct samples *s, struct err *e)
{
    struct measurement *m = j->m;
    double best = s->of[SERIES_KERNEL + j->contender].min;
    double peak = 1e-9 * j->ceiling_flops
                * sampling_ceiling(&s->of[SERIES_CEILING], &s->of[SERIES_ONE_CORE],
                                   j->opts.threads, j->machine->cores);
    j->refused = !is_possible(j, best, s->rounds >= TRUSTED_ROUNDS ? peak : 0, e);
    if (j->refused)
        return false;
    m->latency = measure_latency(s, SERIES_KERNEL + j->contender);
    if (j->on_device)
        m->latency.others = NAN;          /* a GPU does not share the CPUs with other work */
    m->huge_asked = j->opts.huge_pages;
    m->huge_bytes = m->huge_asked ? s->huge_bytes : 0;
    m->huge_of_bytes = m->huge_asked ? s->room_bytes : 0;
    if (j->opts.threads > j->machine->cores)
        snprintf(m->threads_note, sizeof m->threads_note,
                 "%d threads take turns on %d core%s: not pinned", j->opts.threads,
                 j->machine->cores, j->machine->cores == 1 ? "" : "s");
    m->gflops = 1e-9 * asked_flops(j) / best;
    m->executed_gflops = 1e-9 * needed_flops(j) / best;
    take_peak(j, peak);
    m->measurements = 1;
    m->load = machine_load();
    machine_date(m->measured_at, sizeof m->measured_at);
    return true;
}

/* Judges a result that differs from the first one. It may be right (sums in another order). After
 * MOST_DIFFERENT such results, a kernel is checked by separate calls and no longer bit by bit. */
static bool judge(struct measure_job *const *j, int n, struct sampled *what,
                  const struct samples *s, struct err *e)
{
    for (int k = 0; k < n; k++) {
        if (j[k]->contender != s->differs)
            continue;
        if (++j[k]->differed == MOST_DIFFERENT)
            what->steady &= ~(1u << s->differs);
        j[k]->refused = !measure_check_again(j[k], s->differs_after, e);
        return !j[k]->refused;
    }
    UNREACHABLE();
}

static bool check_unsteady(struct measure_job *const *j, int n, struct err *e)
{
    for (int k = 0; k < n; k++)
        for (int i = 0; j[k]->differed >= MOST_DIFFERENT && i < UNSTEADY_CHECKS; i++) {
            bool right = measure_check(j[k], e);
            j[k]->refused = !right && measure_is_result(e);
            if (!right)
                return false;
        }
    return true;
}

bool measure_sample(struct measure_job *const *j, int n, struct sampled *what, struct samples *s,
                    struct err *e)
{
    for (int k = 0; k < n; k++) {
        what->contenders |= 1u << j[k]->contender;
        if (j[k]->differed < MOST_DIFFERENT)
            what->steady |= 1u << j[k]->contender;
    }
    do {
        if (!runner_time(j[0]->runner, what, s, e)
            || (s->differs >= 0 && !judge(j, n, what, s, e)))
            return false;
    } while (s->differs >= 0);
    if (!check_unsteady(j, n, e))
        return false;
    for (int k = 0; k < n; k++)
        if (s->rounds < 1 || !(s->of[SERIES_KERNEL + j[k]->contender].median > 0))
            return err_set(e, ERR_CRASH, "the samples were overwritten");
    return true;
}

bool measure_again(struct measure_job *j, struct err *e)
{
    struct samples s;
    struct sampled what = { .time_s = AGAIN_S, .min_runs = 1, .as_is = true };
    return j->first_call_s >= SAMPLING_LONG_S || measure_sample(&j, 1, &what, &s, e);
}

bool measure_time(struct measure_job *const *j, int n, int epochs, struct samples *s,
                  struct err *e)
{
    struct measure_job *head = j[0];
    struct err ignored;
    measure_begin(head, "timing");
    head->has_ceiling = head->has_ceiling
                     && runner_load_ceiling(head->runner, head->ceiling.so_path, &ignored);
    struct sampled what = { .ceiling = head->has_ceiling, .time_s = head->opts.time_s,
                            .min_runs = head->opts.min_runs, .epochs = epochs,
                            .contenders = measure_vendor_contenders(head) };
    what.time_s *= 1 + __builtin_popcount(what.contenders);
    if (!measure_sample(j, n, &what, s, e))
        return false;
    for (int k = 0; k < n; k++)
        if (!measure_take(j[k], s, e))
            return false;
    measure_vendor_take(head, s);
    return true;
}

/* Returns twice the bytes of the largest cache, within limits. */
static int64_t walk_bytes(const struct measure_job *j)
{
    const struct machine *m = j->machine;
    int64_t largest = j->on_device ? j->device->l2_bytes
                    : m->l3.size_bytes > m->l2.size_bytes ? m->l3.size_bytes : m->l2.size_bytes;
    int64_t want = 2 * largest;
    return want < LEAST_WALK_BYTES ? LEAST_WALK_BYTES
         : want > MOST_WALK_BYTES ? MOST_WALK_BYTES : want;
}

bool measure_time_cold(struct measure_job *const *j, int n, struct err *e)
{
    struct measure_job *head = j[0];
    struct samples s;
    struct sampled what = { .cold = true, .time_s = head->opts.time_s,
                            .min_runs = head->opts.min_runs, .walk_bytes = walk_bytes(head) };
    measure_begin(head, "timing");
    if (!measure_sample(j, n, &what, &s, e))
        return false;
    for (int k = 0; k < n; k++) {
        struct measurement *m = j[k]->m;
        m->cold_latency = measure_latency(&s, SERIES_KERNEL + j[k]->contender);
        snprintf(m->cold_method, sizeof m->cold_method,
                 s.flushed ? "the buffers' lines flushed"
                 : head->on_device ? "%lld MiB written in between" : "%lld MiB read in between",
                 (long long)(what.walk_bytes >> 20));
    }
    return true;
}
