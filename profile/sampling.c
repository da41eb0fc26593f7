/* Samples drop and the clock rate drifts (PERF.md), so a kernel and the ceiling that it is
 * compared with are sampled alternately: whatever slows the machine down slows both. */
#include "profile/sampling.h"

#include "kernels/base/rng.h"
#include "kernels/base/subprocess.h"

#define BATCH_S 50e-6                     /* one sample lasts about this long, at least */
#define WARM_UP_RUNS 3
#define WARM_UP_MOST_S 0.5
#define MAX_BATCH (1L << 20)
#define HEAT_MOST_S 10e-3

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
static double time_batch(const struct work *w)
{
    double start = clock_s();
    if (w->team > 1) {
#pragma omp parallel num_threads(w->team)
        run_batch(w);
    } else {
        run_batch(w);
    }
    return (clock_s() - start) / (double)w->batch;
}

/* Doubles the batch until it fills a sample: the runs on the way are the warm-up. */
static void calibrate(struct work *w, double sample_s)
{
    double begin = clock_s();
    int runs = 0;
    for (w->batch = 1;;) {
        double once = time_batch(w);
        runs++;
        if (clock_s() - begin > WARM_UP_MOST_S)
            return;
        if (once * (double)w->batch < 0.7 * sample_s && w->batch < MAX_BATCH)
            w->batch *= 2;
        else if (runs >= WARM_UP_RUNS)
            return;
    }
}

/* What ran just before has taken the caches: a short call is made once untimed, so that the sample
 * is of a hot one.  A long call refills them in a small part of its time. */
static void heat(const struct work *w, double last)
{
    if (last < HEAT_MOST_S)
        run_once(w);
}

static void take_sample(const struct work *w, struct shared *sh, int series, bool alone)
{
    int n = sh->n_samples[series];
    if (!alone)
        heat(w, n > 0 ? sh->sample[series][n - 1] : 0);
    sh->sample[series][n] = time_batch(w);
    sh->n_samples[series] = n + 1;
}

/* The works there are, and how many of them touch memory that another could have driven out. */
static int list_works(const struct work work[SERIES_COUNT], int *list, int *n_contenders)
{
    int n = 0;
    *n_contenders = 0;
    for (int i = 0; i < SERIES_COUNT; i++) {
        if (!work[i].run && !work[i].run_vendor)
            continue;
        list[n++] = i;
        *n_contenders += i < SERIES_CEILING;
    }
    return n;
}

/* A new order for each round: nothing always follows the same other. */
static void shuffle(int *list, int n, struct rng *rng)
{
    for (int i = n - 1; i > 0; i--) {
        int j = (int)rng_range(rng, 0, i), was = list[i];
        list[i] = list[j];
        list[j] = was;
    }
}

/* Rounds that are whole, and room for one more. */
static bool has_room(const struct shared *sh, const int *list, int n)
{
    for (int i = 0; i < n; i++)
        if (sh->n_samples[list[i]] >= PROTOCOL_MAX_SAMPLES)
            return false;
    return true;
}

void sampling_run(struct work work[SERIES_COUNT], const struct request *q, struct shared *sh)
{
    int list[SERIES_COUNT], n_contenders, n = list_works(work, list, &n_contenders);
    struct rng rng = rng_seed(1);
    double begin = clock_s();
    double sample_s = 4 * q->time_s / PROTOCOL_MAX_SAMPLES;
    if (sample_s < BATCH_S)
        sample_s = BATCH_S;
    for (int i = 0; i < SERIES_COUNT; i++)
        sh->n_samples[i] = q->append ? sh->n_samples[i] : 0;
    for (int i = 0; i < n; i++)
        calibrate(&work[list[i]], sample_s);
    double start = clock_s(), now = start;
    int runs = 0;
    do {
        if (!has_room(sh, list, n))
            break;
        shuffle(list, n, &rng);
        for (int i = 0; i < n; i++)
            take_sample(&work[list[i]], sh, list[i],
                        list[i] >= SERIES_CEILING || n_contenders < 2);
        runs++;
        now = clock_s();
        double done = q->time_s > 0 ? (now - start) / q->time_s : 1;
        atomic_store(&sh->permille, done < 1 ? (int)(1000 * done) : 999);
    } while (now - begin < q->most_s && (now - start < q->time_s || runs < q->min_runs));
}

double sampling_ceiling(const struct summary *team, const struct summary *one_core, int threads,
                        int cores)
{
    int busy = threads < cores ? threads : cores;
    double together = team->min > 0 ? threads / team->min : 0;
    double alone = one_core->min > 0 ? busy / one_core->min : 0;
    return alone > together ? alone : together;
}
