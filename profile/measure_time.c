/* The clock. */
#include "profile/measure_impl.h"

#include <math.h>
#include <stdio.h>

#define MOST_FRACTION 1.05               /* of the ceiling; what is above is no ceiling */
#define LEAST_WALK_BYTES ((int64_t)64 << 20)
#define MOST_WALK_BYTES ((int64_t)512 << 20)

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

struct latency measure_latency(const struct samples *s, int series)
{
    const struct summary *k = &s->of[series];
    const double *ceiling = s->sample[SERIES_CEILING];
    return (struct latency){
        .median_ms = 1e3 * k->median, .min_ms = 1e3 * k->min, .max_ms = 1e3 * k->max,
        .p10_ms = 1e3 * k->p10, .p25_ms = 1e3 * k->p25, .p75_ms = 1e3 * k->p75,
        .p90_ms = 1e3 * k->p90, .spread = k->spread, .runs = s->rounds,
        .noisy = k->spread > STATS_NOISY,
        .disturbed = ceiling ? stats_disturbed(ceiling, s->rounds) : NAN,
    };
}

void measure_take(struct job *j, const struct samples *s)
{
    struct measurement *m = j->m;
    m->latency = measure_latency(s, SERIES_KERNEL + j->contender);
    m->huge_asked = j->opts.huge_pages;
    m->huge_bytes = m->huge_asked ? s->huge_bytes : 0;
    m->huge_of_bytes = m->huge_asked ? s->room_bytes : 0;
    if (j->opts.threads > j->machine->cores)
        snprintf(m->threads_note, sizeof m->threads_note,
                 "%d threads take turns on %d core%s: not pinned", j->opts.threads,
                 j->machine->cores, j->machine->cores == 1 ? "" : "s");
    double best = s->of[SERIES_KERNEL + j->contender].min;
    m->gflops = 1e-9 * j->program->base->flops / best;
    m->executed_gflops = 1e-9 * needed_flops(j) / best;
    take_peak(j, 1e-9 * j->ceiling_flops
                     * sampling_ceiling(&s->of[SERIES_CEILING], &s->of[SERIES_ONE_CORE],
                                        j->opts.threads, j->machine->cores));
}

bool measure_sample(struct job *const *j, int n, struct sampled *what, struct samples *s,
                    struct err *e)
{
    for (int k = 0; k < n; k++)
        what->contenders |= 1u << j[k]->contender;
    if (!child_time(j[0]->child, what, s, e))
        return false;
    for (int k = 0; k < n; k++)
        if (s->rounds < 1 || !(s->of[SERIES_KERNEL + j[k]->contender].median > 0))
            return err_set(e, ERR_CRASH, "the samples were overwritten");
    return true;
}

bool measure_time(struct job *const *j, int n, int sittings, struct samples *s, struct err *e)
{
    struct job *head = j[0];
    struct err ignored;
    measure_begin(head, "timing");
    head->has_ceiling = head->has_ceiling
                     && child_load(head->child, SLOT_CEILING, head->ceiling.so_path, &ignored);
    struct sampled what = { .ceiling = head->has_ceiling, .time_s = head->opts.time_s,
                            .min_runs = head->opts.min_runs, .sittings = sittings,
                            .contenders = measure_vendor_contenders(head) };
    what.time_s *= 1 + __builtin_popcount(what.contenders);
    if (!measure_sample(j, n, &what, s, e))
        return false;
    for (int k = 0; k < n; k++)
        measure_take(j[k], s);
    measure_vendor_take(head, s);
    return true;
}

/* Twice the largest cache, within reason. */
static int64_t walk_bytes(const struct machine *m)
{
    int64_t largest = m->l3.size_bytes > m->l2.size_bytes ? m->l3.size_bytes : m->l2.size_bytes;
    int64_t want = 2 * largest;
    return want < LEAST_WALK_BYTES ? LEAST_WALK_BYTES
         : want > MOST_WALK_BYTES ? MOST_WALK_BYTES : want;
}

bool measure_time_cold(struct job *const *j, int n, struct err *e)
{
    struct job *head = j[0];
    struct samples s;
    struct sampled what = { .cold = true, .time_s = head->opts.time_s,
                            .min_runs = head->opts.min_runs,
                            .walk_bytes = walk_bytes(head->machine) };
    measure_begin(head, "timing");
    if (!measure_sample(j, n, &what, &s, e))
        return false;
    for (int k = 0; k < n; k++) {
        struct measurement *m = j[k]->m;
        m->cold_latency = measure_latency(&s, SERIES_KERNEL + j[k]->contender);
        snprintf(m->cold_method, sizeof m->cold_method,
                 s.flushed ? "the buffers' lines flushed" : "%lld MiB read in between",
                 (long long)(what.walk_bytes >> 20));
    }
    return true;
}
