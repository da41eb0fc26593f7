/* Samples drop and the clock rate drifts (PERF.md), so a kernel and the ceiling that it is
 * compared with are sampled alternately: whatever slows the machine down slows both. */
#include "profile/sampling.h"

#include "kernels/base/rng.h"
#include "kernels/base/subprocess.h"

#include <math.h>

#define BATCH_S 50e-6                     /* one sample lasts about this long, at least */
#define WARM_UP_RUNS 3
#define WARM_UP_MOST_S 0.5
#define MAX_BATCH (1L << 20)
#define HEAT_MOST_S 10e-3
#define GIVE_UP_ROUNDS 3                  /* one of long calls */
#define HOPELESS 2                        /* times give_up_s: not worth a warm-up */
#define HOPELESS_CALLS 3                  /* one long call */
#define CLOCK_READINGS 1000

static void run_once(const struct work *w)
{
    if (w->run)
        w->run(w->buffers);
    else
        w->run_vendor(w->vendor);
}

static void run_batch(const struct work *w)
{
    for (long i = 0; i < w->batch; i++)
        run_once(w);
}

/* Seconds a call. */
static double time_batch(struct work *w)
{
    double start = clock_s();
    if (w->team > 1) {
#pragma omp parallel num_threads(w->team)
        run_batch(w);
    } else {
        run_batch(w);
    }
    return w->call_s = (clock_s() - start) / (double)w->batch;
}

/* Does every one of a few batches fill a sample?  One that does may only have been interrupted. */
static bool fills(struct work *w, double sample_s, double until)
{
    for (int i = 0; i < WARM_UP_RUNS; i++) {
        double call_s = time_batch(w);
        if (call_s * (double)w->batch < 0.7 * sample_s)
            return false;
        if (call_s >= SAMPLING_LONG_S || clock_s() > until)
            return true;
    }
    return true;
}

/* Doubles the batch until it fills a sample: the runs on the way are the warm-up. */
static void calibrate(struct work *w, double sample_s)
{
    double until = clock_s() + WARM_UP_MOST_S;
    w->batch = 1;
    while (!fills(w, sample_s, until) && w->batch < MAX_BATCH && clock_s() < until)
        w->batch *= 2;
}

/* A batch that fills a sample, by the shortest of the n there are. */
static void recall(struct work *w, double sample_s, const double *sample, int n)
{
    double call_s = sample[0];
    for (int i = 1; i < n; i++)
        call_s = sample[i] < call_s ? sample[i] : call_s;
    w->batch = 1;
    while ((double)w->batch * call_s < sample_s && w->batch < MAX_BATCH)
        w->batch *= 2;
}

/* --- Rounds ---------------------------------------------------------------------------------- */

struct sampler {
    struct work *work;
    const struct request *q;
    const struct sampling_hooks *hooks;
    struct shared *sh;
    struct rng rng;
    int list[SERIES_COUNT], n, n_contenders;              /* the works there are */
    bool fresh[SERIES_COUNT];                             /* not called since the last renewal */
    double clock_cost;
    double least;                                         /* sample of any contender */
};

/* What ran just before has taken the caches: a short call is made once untimed, so that the sample
 * is of a hot one.  A long call refills them in a small part of its time. */
static void heat(struct sampler *s, int series)
{
    int n = s->sh->n_samples[series];
    double last = n > 0 ? s->sh->sample[series][n - 1] : s->work[series].call_s;
    bool needed = s->fresh[series] || s->n_contenders > 1;
    s->fresh[series] = false;
    if (series < SERIES_CEILING && needed && last < HEAT_MOST_S)
        run_once(&s->work[series]);
}

static double time_cold(struct sampler *s, int series)
{
    s->hooks->chill(s->hooks->ctx, series);
    double start = clock_s();
    run_once(&s->work[series]);
    double seconds = clock_s() - start - s->clock_cost;
    return seconds > 0 ? seconds : 0;
}

static void take_sample(struct sampler *s, int series)
{
    if (!s->q->cold)
        heat(s, series);
    double seconds = s->q->cold ? time_cold(s, series) : time_batch(&s->work[series]);
    s->sh->sample[series][s->sh->n_samples[series]++] = seconds;
    if (series < SERIES_CEILING && seconds < s->least)
        s->least = seconds;
}

static void list_works(struct sampler *s)
{
    int end = s->q->cold ? SERIES_CEILING : SERIES_COUNT;
    for (int i = 0; i < end; i++) {
        if (!s->work[i].run && !s->work[i].run_vendor)
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

/* The first one sits on the pages that were placed for it. */
static bool begin_sitting(struct sampler *s, bool renew)
{
    struct shared *sh = s->sh;
    if (sh->n_sittings == PROTOCOL_MAX_SITTINGS)
        return true;
    if (renew && !s->hooks->renew(s->hooks->ctx))
        return false;
    sh->sitting[sh->n_sittings++] = sh->n_samples[s->list[0]];
    for (int i = 0; i < SERIES_COUNT; i++)
        s->fresh[i] = true;
    return true;
}

/* The least of many: what two readings of the clock cost at best. */
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
    for (int i = 0; i < s->n; i++) {
        struct work *w = &s->work[s->list[i]];
        int n = s->sh->n_samples[s->list[i]];
        if (s->q->cold)
            run_once(w);
        else if (n > 0)
            recall(w, sample_s, s->sh->sample[s->list[i]], n);
        else if (w->call_s < SAMPLING_LONG_S)
            calibrate(w, sample_s);
    }
}

/* Nothing more need be known of what is so slow. */
static bool gives_up(const struct sampler *s, int rounds)
{
    return s->q->give_up_s > 0 && s->least > s->q->give_up_s
        && rounds >= (s->least >= SAMPLING_LONG_S ? 1 : GIVE_UP_ROUNDS);
}

/* One alone that is so slow is not warmed up; then the fastest of its first calls is its sample.  A
 * short call that waited for a busy core looks like that, too, so a few of them are asked; a team
 * that waits gets its warm-up. */
static bool is_hopeless(struct sampler *s)
{
    double least = INFINITY, limit = HOPELESS * s->q->give_up_s;
    if (!(s->q->give_up_s > 0) || s->q->append || s->q->cold || s->n != 1 || s->sh->threads > 1)
        return false;
    int series = s->list[0];
    s->work[series].batch = 1;
    for (int i = 0; i < HOPELESS_CALLS; i++) {
        least = fmin(least, time_batch(&s->work[series]));
        if (least <= limit)
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
    sh->n_sittings = 0;
    for (int i = 0; i < SERIES_COUNT; i++)
        sh->n_samples[i] = 0;
}

void sampling_run(struct work work[SERIES_COUNT], const struct request *q,
                  const struct sampling_hooks *hooks, struct shared *sh)
{
    struct sampler s = { .work = work, .q = q, .hooks = hooks, .sh = sh, .rng = rng_seed(1),
                         .clock_cost = clock_cost(), .least = INFINITY };
    double begin = clock_s(), part = q->time_s / (q->sittings > 1 ? q->sittings : 1);
    list_works(&s);
    if (!q->append)
        clear(sh);
    if (is_hopeless(&s))
        return;
    warm_up(&s);
    double start = clock_s(), now = start;
    for (int runs = 0, sat = 0; has_room(&s); runs++) {
        bool late = now - begin >= q->most_s;            /* warming up may take all the time */
        if (runs > 0 && (late || (now - start >= q->time_s && runs >= q->min_runs)))
            break;
        if (gives_up(&s, runs))
            break;
        bool due = runs == 0 || (q->sittings > 1 && now - start >= sat * part);
        if (due && !begin_sitting(&s, runs > 0))
            break;
        sat += due;
        shuffle(&s);
        for (int i = 0; i < s.n; i++)
            take_sample(&s, s.list[i]);
        now = clock_s();
        double done = q->time_s > 0 ? (now - start) / q->time_s : 1;
        atomic_store(&sh->permille, done < 1 ? (int)(1000 * done) : 999);
    }
}

double sampling_ceiling(const struct summary *team, const struct summary *one_core, int threads,
                        int cores)
{
    int busy = threads < cores ? threads : cores;
    double together = team->min > 0 ? threads / team->min : 0;
    double alone = one_core->min > 0 ? busy / one_core->min : 0;
    return alone > together ? alone : together;
}
