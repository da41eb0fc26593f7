/* Measures one candidate in the child of the batch: fills buffers, checks, and times. */
#include "profile/measure/batch_impl.h"
#include "profile/child/sampling.h"

#include <math.h>
#include <stdio.h>

#define LEAST_LIMIT_S 2  /* a busy machine may stop a call for half a second */
#define SHORT_KILL_RATIO 100
#define LONG_KILL_RATIO 10
#define LONG_KILL_S 1.0
#define FIRST_CALL_S 0.1  /* time that a first call may lose to a busy core or to the start of its
                           * thread team */
/* A candidate is sampled longer if its time is below NEAR times the fastest time.  For noisy
 * samples, NEAR_NOISY replaces NEAR.  On a quiet machine, for 95 % of the candidates, the least
 * time of the first samples was within 1 % of the least time of all samples. */
#define NEAR 1.05
#define NEAR_NOISY 1.25
#define LONGER 2  /* a near candidate is sampled for this multiple of time_s */
#define NOISY_MOST_S 0.2                  /* most seconds for repeating noisy samples */
#define MOST_USES 64  /* most candidates per child; objects with a thread team stay loaded in it */

/* Returns the time limit of a call in seconds.  limit_s: the limit of the caller, which is never
 * exceeded. */
static double call_limit_s(const struct batch *b, double limit_s)
{
    double limit = b->opts.kill_ratio > 0
                 ? b->best_s * b->opts.kill_ratio
                 : fmin(b->best_s * SHORT_KILL_RATIO, b->best_s * LONG_KILL_RATIO + LONG_KILL_S);
    return fmin(fmax(limit, LEAST_LIMIT_S), limit_s);
}

static void close_runner(struct batch *b)
{
    runner_close(b->runner);
    b->runner = NULL;
    b->used = 0;
}

static bool open_and_check(struct batch_run *r, struct candidate *x, struct err *e)
{
    struct batch *b = r->batch;
    struct measure_job *j = &x->job;
    j->runner = b->runner;
    b->stats.children += !b->runner;
    bool ok = measure_open_runner(&j, 1, e);
    b->runner = j->runner;
    b->used++;
    return ok && measure_check(j, e);
}

/* --- The clock -------------------------------------------------------------------------------- */

/* Returns the seconds per call above which a candidate is given up; 0: never. */
static double give_up_s(const struct batch *b)
{
    double ratio = b->opts.give_up_ratio;
    return isfinite(b->best_s) && ratio > 0 ? b->best_s * ratio : 0;
}

/* Takes the checked call as the only sample. */
static bool take_first_call(struct candidate *x, struct err *e)
{
    struct samples s = { .rounds = 1, .others = NAN };
    s.sample[SERIES_KERNEL] = &x->job.first_call_s;
    s.of[SERIES_KERNEL] = stats_summary(&x->job.first_call_s, 1);
    x->item->given_up = true;
    return measure_take(&x->job, &s, e);
}

/* Samples a candidate longer if it may be the fastest, and again while its samples are noisy. */
static bool look_longer(struct measure_job *j, struct samples *s, struct err *e)
{
    double end = clock_s() + NOISY_MOST_S;
    bool ok;
    do {
        struct sampled what = { .time_s = LONGER * j->opts.time_s, .as_is = true, .append = true,
                                .min_runs = j->opts.min_runs };
        ok = measure_sample(&j, 1, &what, s, e);
    } while (ok && s->of[SERIES_KERNEL].spread > STATS_NOISY && clock_s() < end);
    return ok;
}

bool batch_is_near(double best_s, double first_call_s, const struct summary *s)
{
    double least = first_call_s >= SAMPLING_LONG_S ? fmin(s->min, first_call_s) : s->min;
    return least < (s->spread > STATS_NOISY ? NEAR_NOISY : NEAR) * best_s;
}

/* Samples a candidate. If candidates can be given up and the checked call was long, takes one
 * sample first; if this sample is long too, it is the only one. */
static bool look_once(struct measure_job *j, double limit_s, struct samples *s, struct err *e)
{
    struct sampled one = { .min_runs = 1, .give_up_s = limit_s, .as_is = true };
    struct sampled some = { .time_s = j->opts.time_s, .min_runs = j->opts.min_runs,
                            .give_up_s = limit_s, .as_is = true };
    if (limit_s > 0 && j->first_call_s >= SAMPLING_LONG_S) {
        if (!measure_sample(&j, 1, &one, s, e))
            return false;
        if (s->of[SERIES_KERNEL].min >= SAMPLING_LONG_S)
            return true;
    }
    return measure_sample(&j, 1, &some, s, e);
}

static bool sample(struct batch_run *r, struct candidate *x, struct err *e)
{
    struct batch *b = r->batch;
    struct measure_job *j = &x->job;
    struct samples s;
    double limit_s = give_up_s(b);
    if (limit_s > 0 && j->first_call_s > limit_s + FIRST_CALL_S)
        return take_first_call(x, e);
    if (!look_once(j, limit_s, &s, e)
        || (batch_is_near(b->best_s, j->first_call_s, &s.of[SERIES_KERNEL])
            && !look_longer(j, &s, e)))
        return false;
    x->item->given_up = limit_s > 0 && s.of[SERIES_KERNEL].min > limit_s;
    return measure_take(j, &s, e);
}

/* Checks and samples a candidate.  If it fails in a child that has run other candidates, it is
 * tried once more in a new child, since memory or threads of an earlier candidate may be the cause.
 * After a timeout, a cancel or ERR_KILLED the candidate is not tried again. */
static bool check_and_sample(struct batch_run *r, struct candidate *x, struct err *e)
{
    struct batch *b = r->batch;
    if (b->used >= MOST_USES)
        close_runner(b);
    bool first = b->runner == NULL;
    if (open_and_check(r, x, e) && sample(r, x, e))
        return true;
    close_runner(b);
    if (first || e->code == ERR_TIMEOUT || e->code == ERR_CANCEL || e->code == ERR_KILLED)
        return false;
    if (open_and_check(r, x, e) && sample(r, x, e))
        return true;
    close_runner(b);
    return false;
}

/* Fills in what a batch does not measure. Linux counts the CPU time of the batch's own compilers
 * together with that of other programs. Therefore the share of other work is unknown if compilers
 * ran meanwhile. */
static void take_unknown(const struct batch_run *r, struct measurement *m)
{
    snprintf(m->peak_reason, sizeof m->peak_reason, "a batch does not sample the FMA ceiling");
    if (r->beside)
        m->latency.others = NAN;
}

/* If the time limit of a call comes from the fastest candidate, says so in the message of a
 * timeout; the child does not know where the limit comes from. */
static void explain_timeout(const struct batch *b, double limit_s, double own_s, struct err *e)
{
    if (e->code == ERR_TIMEOUT && limit_s < own_s)
        err_set(e, ERR_TIMEOUT, "one call did not end within %.3g s, the limit here because the "
                "fastest candidate takes %.3g ms", limit_s, 1e3 * b->best_s);
}

bool batch_measure(struct batch_run *r, struct candidate *x, struct err *e)
{
    struct batch *b = r->batch;
    double start = clock_s(), own_s = x->job.opts.limit_s;
    x->job.opts.limit_s = call_limit_s(b, own_s);
    bool ok = check_and_sample(r, x, e) || (e->code == ERR_KILLED && check_and_sample(r, x, e));
    if (!batch_killed(&b->children_killed, !ok && e->code == ERR_KILLED, e))
        return false;
    if (!ok)
        measure_blame(e);
    x->item->measure_s = clock_s() - start;
    if (ok)
        take_unknown(r, &x->item->m);
    else
        explain_timeout(b, x->job.opts.limit_s, own_s, e);
    if (!ok && !measure_is_result(e))
        return false;
    batch_end(r, x, ok, e);
    return true;
}
