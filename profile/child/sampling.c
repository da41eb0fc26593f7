/* Samples times.  Speed drops for moments and the clock rate drifts (PERF.md), so a kernel and the
 * ceiling that it is compared with are sampled alternately: whatever slows the machine down slows
 * both. */
#include "profile/child/sampling.h"

#include "kernels/base/rng.h"
#include "kernels/base/subprocess.h"

#include <math.h>

#define BATCH_S 50e-6                     /* least duration of a sample */
#define DEVICE_BATCH_S 1e-3  /* least duration on a device, where the first launch begins late */
#define WARM_UP_RUNS 3
#define WARM_UP_MOST_S 0.5
#define MAX_BATCH (1L << 20)
#define HEAT_MOST_S 10e-3
#define GIVE_UP_ROUNDS 3                  /* rounds before giving up; one round for long calls */
#define HOPELESS 2  /* a kernel whose calls take more than HOPELESS * give_up_s gets no warm-up */
/* number of first calls that must be that slow; one is enough if it takes SAMPLING_LONG_S */
#define HOPELESS_CALLS 3
#define CLOCK_READINGS 1000
#define CHECK_SHARE 0.04                /* share of the time for checks */
/* most time for checking the results of single-call samples, as a share of these samples' time */
#define RESULT_SHARE 0.01
#define CHECK_PARTS 32  /* parts of time_s; each has a check, if CHECK_SHARE allows it */
#define CHECK_MOST 64                   /* most calls of one check */
#define CHECK_FIRST 8                   /* most calls of the check before the warm-up */
#define FIRST_WORTH 4  /* a slow kernel gets a first check only if time_s allows this many calls */
#define HEAT_SWITCH_S 200e-6              /* longer calls need no heating after the ceiling */

struct sampler {
    struct work *work;
    const struct request *q;
    const struct sampling_hooks *hooks;
    struct shared *sh;
    struct rng rng;
    int list[SERIES_COUNT], n, n_contenders;              /* list: the n works that are used */
    bool fresh[SERIES_COUNT];  /* whether an epoch or a check has come since the last sample */
    double clock_cost;
    double least;                                         /* smallest sample of any contender */
    double checked_s, checked_at;  /* time of all checks so far, and when the last one was made */
    double timed_s, results_s;  /* time of single-call samples, and of checking their results */
    int poisoned;  /* how often results were overwritten: alternately all elements and a few */
    bool over;                                            /* whether a hook ended the sampling */
};

/* Makes n calls, here or on a device.  Returns the seconds of all of them. */
static double run_calls(struct sampler *s, struct work *w, long n)
{
    double start = clock_s(), seconds = 0;
    w->calls += n;
    if (w->run_device) {
        s->over = s->over || !w->run_device(w->device, n, &seconds);
        return seconds;
    }
    for (long i = 0; i < n; i++)
        if (w->run)
            w->run(w->buffers);
        else
            w->run_vendor(w->vendor);
    return clock_s() - start;
}

/* Runs a batch, and returns its seconds per call. */
static double time_batch(struct sampler *s, struct work *w)
{
    if (w->team > 0) {
        w->call_s = 0;
        s->over = s->over || !s->hooks->ceiling(s->hooks->ctx, w->team, w->batch, &w->call_s);
        return w->call_s;
    }
    return w->call_s = run_calls(s, w, w->batch) / (double)w->batch;
}

/* Whether each of a few batches is long enough for a sample.  Several are tried, because one batch
 * may be long only because it was interrupted. */
static bool fills(struct sampler *s, struct work *w, double sample_s, double until)
{
    for (int i = 0; i < WARM_UP_RUNS && !s->over; i++) {
        double call_s = time_batch(s, w);
        if (call_s * (double)w->batch < 0.7 * sample_s)
            return false;
        if (call_s >= SAMPLING_LONG_S || clock_s() > until)
            return true;
    }
    return true;
}

/* Doubles the batch until it is long enough for a sample. These runs are the warm-up. */
static void calibrate(struct sampler *s, struct work *w, double sample_s)
{
    double until = clock_s() + WARM_UP_MOST_S;
    w->batch = 1;
    while (!fills(s, w, sample_s, until) && w->batch < MAX_BATCH && clock_s() < until)
        w->batch *= 2;
}

/* Computes the batch that is long enough for a sample, from the shortest of n earlier samples. */
static void recall(struct work *w, double sample_s, const double *sample, int n)
{
    double call_s = sample[0];
    for (int i = 1; i < n; i++)
        call_s = sample[i] < call_s ? sample[i] : call_s;
    w->batch = 1;
    while ((double)w->batch * call_s < sample_s && w->batch < MAX_BATCH)
        w->batch *= 2;
}

/* --- Checks ----------------------------------------------------------------------------------- */

/* Whether a sample is a single call whose own result is checked: a cold call, or one so long that
 * another call would cost too much. */
static bool checks_itself(const struct sampler *s, const struct work *w)
{
    return s->q->cold || (w->call_s > 0 ? w->call_s : w->first_s) >= SAMPLING_LONG_S;
}

static void look(struct sampler *s, int series)
{
    s->over = s->over || !s->hooks->same(s->hooks->ctx, series);
}

/* Checks the result of the last call; then overwrites the result, calls and checks again, `calls`
 * times. Overwriting all elements detects a kernel that returns at once. Overwriting a few detects
 * a kernel that first tests whether its result is already there. */
static void check_calls(struct sampler *s, int series, int calls)
{
    double start = clock_s();
    look(s, series);
    for (int i = 0; i < calls && !s->over; i++) {
        s->hooks->poison(s->hooks->ctx, series, s->poisoned++ % 2 == 0);
        run_calls(s, &s->work[series], 1);
        look(s, series);
    }
    s->checked_at = clock_s();
    s->checked_s += s->checked_at - start;
    s->fresh[series] = true;
}

/* Returns about how many calls fit into `seconds`, at most `most`. */
static int calls_in(const struct work *w, double seconds, int most)
{
    double call_s = w->call_s > 0 ? w->call_s : w->first_s;
    return seconds >= call_s * most ? most : seconds > 0 ? (int)(seconds / call_s) : 0;
}

/* Checks each steady contender with as many calls as fit into `seconds`, at least `least` and at
 * most `most`. If `least` is -1, skips a contender for which no call fits. A contender for which
 * checks_itself is true gets no further call: the result of its last call is checked, or nothing
 * if `least` is -1. */
static void check_each(struct sampler *s, double seconds, int least, int most)
{
    for (int i = 0; i < s->n && !s->over; i++) {
        struct work *w = &s->work[s->list[i]];
        if (!w->steady)
            continue;
        int calls = checks_itself(s, w) ? 0 : calls_in(w, seconds, most);
        if (calls > 0 || least >= 0)
            check_calls(s, s->list[i], checks_itself(s, w) || calls > least ? calls : least);
    }
}

/* Checks the result after a sample of one call, if the check is cheap compared with the call. */
static void check_result(struct sampler *s, int series, double sample_s)
{
    double start = clock_s();
    s->timed_s += sample_s;
    if (s->results_s > RESULT_SHARE * s->timed_s)
        return;
    look(s, series);
    s->results_s += clock_s() - start;
}

/* Checks results before the warm-up, so that a kernel which does nothing from its second call on is
 * not timed. At least one call is checked, even if it takes more than CHECK_SHARE of the time,
 * unless time_s is shorter than FIRST_WORTH calls. */
static void inspect_first(struct sampler *s)
{
    double slowest = 0;
    for (int i = 0; i < s->n; i++)
        slowest = fmax(slowest, s->work[s->list[i]].first_s);
    if (!s->q->append)
        check_each(s, CHECK_SHARE * s->q->time_s, FIRST_WORTH * slowest < s->q->time_s ? 1 : -1,
                   CHECK_FIRST);
}

/* Checks results about once in each of CHECK_PARTS parts of the time, and only while all checks
 * together have taken less than CHECK_SHARE of the time so far. */
static void inspect_between(struct sampler *s, double start, double now)
{
    double part = s->q->time_s / CHECK_PARTS, room = CHECK_SHARE * (now - start);
    if (now - s->checked_at >= part && s->checked_s < room)
        check_each(s, (room - s->checked_s) / (s->n_contenders > 0 ? s->n_contenders : 1), -1,
                     CHECK_MOST);
}

/* --- Rounds ---------------------------------------------------------------------------------- */

/* Warms the caches after something else has used them: calls a short kernel once, untimed. A long
 * kernel needs no such call, because it fills the caches in a small part of its own time. */
static void heat(struct sampler *s, int series)
{
    int n = s->sh->n_samples[series];
    double last = n > 0 ? s->sh->sample[series][n - 1] : s->work[series].call_s;
    bool switched = s->n > s->n_contenders && last < HEAT_SWITCH_S;
    bool needed = s->fresh[series] || s->n_contenders > 1 || switched;
    s->fresh[series] = false;
    if (series < SERIES_CEILING && needed && last < HEAT_MOST_S)
        run_calls(s, &s->work[series], 1);
}

/* Overwrites the result of a steady contender before a sample if checks_itself: all elements before
 * the first sample, a few before later samples.  Returns whether it did; the caller must then check
 * the result after the sample. */
static bool spoils(struct sampler *s, int series)
{
    struct work *w = &s->work[series];
    bool it_does = w->steady && w->team == 0 && checks_itself(s, w);
    if (it_does)
        s->hooks->poison(s->hooks->ctx, series, s->sh->n_samples[series] == 0);
    return it_does;
}

static double time_cold(struct sampler *s, int series)
{
    s->hooks->chill(s->hooks->ctx, series);
    struct work *w = &s->work[series];
    double seconds = run_calls(s, w, 1) - (w->run_device ? 0 : s->clock_cost);
    return seconds > 0 ? seconds : 0;
}

static void take_sample(struct sampler *s, int series)
{
    if (!s->q->cold)
        heat(s, series);
    bool poisoned = spoils(s, series);
    double seconds = s->q->cold ? time_cold(s, series) : time_batch(s, &s->work[series]);
    if (poisoned)
        look(s, series);
    else if (s->work[series].steady && s->work[series].batch == 1)
        check_result(s, series, seconds);
    s->sh->sample[series][s->sh->n_samples[series]++] = seconds;
    if (series < SERIES_CEILING && seconds < s->least)
        s->least = seconds;
}

static void list_works(struct sampler *s)
{
    int end = s->q->cold ? SERIES_CEILING : SERIES_COUNT;
    for (int i = 0; i < end; i++) {
        const struct work *w = &s->work[i];
        if (!w->run && !w->run_vendor && !w->run_device && w->team == 0)
            continue;
        s->list[s->n++] = i;
        s->n_contenders += i < SERIES_CEILING;
    }
}

static void shuffle(struct sampler *s)
{
    for (int i = s->n - 1; i > 0; i--) {
        int j = (int)rng_range(&s->rng, 0, i), was = s->list[i];
        s->list[i] = s->list[j];
        s->list[j] = was;
    }
}

static bool has_room(const struct sampler *s)
{
    for (int i = 0; i < s->n; i++)
        if (s->sh->n_samples[s->list[i]] >= PROTOCOL_MAX_SAMPLES)
            return false;
    return s->n > 0;
}

/* Begins an epoch, unless there are PROTOCOL_MAX_EPOCHS already. renew: whether to renew the
 * buffers; false for the first epoch of a request. */
static bool begin_sitting(struct sampler *s, bool renew)
{
    struct shared *sh = s->sh;
    if (sh->n_epochs == PROTOCOL_MAX_EPOCHS)
        return true;
    if (renew && !s->hooks->renew(s->hooks->ctx))
        return false;
    sh->epoch[sh->n_epochs++] = sh->n_samples[s->list[0]];
    for (int i = 0; i < SERIES_COUNT; i++)
        s->fresh[i] = true;
    return true;
}

/* Returns the least time between two readings of the clock, in seconds. */
static double clock_cost(void)
{
    double least = 1;
    for (int i = 0; i < CLOCK_READINGS; i++) {
        double start = clock_s(), took = clock_s() - start;
        least = took < least ? took : least;
    }
    return least;
}

static void warm_up(struct sampler *s)
{
    double sample_s = 4 * s->q->time_s / PROTOCOL_MAX_SAMPLES;
    if (sample_s < BATCH_S)
        sample_s = BATCH_S;
    for (int i = 0; i < s->n && !s->over; i++) {
        struct work *w = &s->work[s->list[i]];
        int n = s->sh->n_samples[s->list[i]];
        if (w->run_device)
            sample_s = sample_s < DEVICE_BATCH_S ? DEVICE_BATCH_S : sample_s;
        if (s->q->cold)
            run_calls(s, w, 1);
        else if (n > 0)
            recall(w, sample_s, s->sh->sample[s->list[i]], n);
        else if (w->call_s < SAMPLING_LONG_S)
            calibrate(s, w, sample_s);
    }
}

/* Whether every contender is so slow that sampling can stop. */
static bool gives_up(const struct sampler *s, int rounds)
{
    return s->q->give_up_s > 0 && s->least > s->q->give_up_s
        && rounds >= (s->least >= SAMPLING_LONG_S ? 1 : GIVE_UP_ROUNDS);
}

/* Whether a single kernel is too slow to be warmed up. The fastest of its first calls is then its
 * sample. A short call that had to wait for a busy core also looks slow, so a few calls are made. A
 * kernel with several threads is always warmed up. */
static bool is_hopeless(struct sampler *s)
{
    double least = INFINITY, limit = HOPELESS * s->q->give_up_s;
    if (!(s->q->give_up_s > 0) || s->q->append || s->q->cold || s->n != 1 || s->sh->threads > 1)
        return false;
    int series = s->list[0];
    s->work[series].batch = 1;
    for (int i = 0; i < HOPELESS_CALLS; i++) {
        bool poisoned = spoils(s, series);
        least = fmin(least, time_batch(s, &s->work[series]));
        if (poisoned)
            look(s, series);
        if (least <= limit || s->over)
            return false;
        if (least >= SAMPLING_LONG_S)
            break;
    }
    if (!begin_sitting(s, false))
        return false;
    s->sh->sample[series][s->sh->n_samples[series]++] = least;
    return true;
}

static void clear(struct shared *sh)
{
    sh->n_epochs = 0;
    for (int i = 0; i < SERIES_COUNT; i++)
        sh->n_samples[i] = 0;
}

void sampling_run(struct work work[SERIES_COUNT], const struct request *q,
                  const struct sampling_hooks *hooks, struct shared *sh)
{
    struct sampler s = { .work = work, .q = q, .hooks = hooks, .sh = sh, .rng = rng_seed(1),
                         .clock_cost = clock_cost(), .least = INFINITY };
    double begin = clock_s(), part = q->time_s / (q->epochs > 1 ? q->epochs : 1);
    list_works(&s);
    if (!q->append)
        clear(sh);
    if (is_hopeless(&s)) {
        check_each(&s, 0, 1, 1);
        return;
    }
    inspect_first(&s);
    warm_up(&s);
    double start = clock_s(), now = start;
    s.checked_s = 0;
    s.checked_at = start;
    for (int runs = 0, sat = 0; has_room(&s) && !s.over; runs++) {
        bool late = now - begin >= q->most_s;  /* warming up may have taken all the time */
        if (runs > 0 && (late || (now - start >= q->time_s && runs >= q->min_runs)))
            break;
        if (gives_up(&s, runs))
            break;
        bool due = runs == 0 || (q->epochs > 1 && now - start >= sat * part);
        if (due && !begin_sitting(&s, runs > 0)) {
            s.over = true;  /* after a failed renewal, buffers may have no memory */
            break;
        }
        sat += due;
        shuffle(&s);
        for (int i = 0; i < s.n && !s.over; i++)
            take_sample(&s, s.list[i]);
        now = clock_s();
        inspect_between(&s, start, now);
        double done = q->time_s > 0 ? (now - start) / q->time_s : 1;
        if (q->min_runs > 0)
            done = fmin(done, (runs + 1.0) / q->min_runs);
        atomic_store(&sh->permille, done < 1 ? (int)(1000 * done) : 999);
    }
    check_each(&s, CHECK_SHARE * (now - start) - s.checked_s, 1, CHECK_MOST);
}

double sampling_ceiling(const struct summary *team, const struct summary *one_core, int threads,
                        int cores)
{
    int busy = threads < cores ? threads : cores;
    double together = team->min > 0 ? busy / team->min : 0;
    double alone = one_core->min > 0 ? busy / one_core->min : 0;
    return alone > together ? alone : together;
}
