/* Samples drop and the clock rate drifts (PERF.md), so a kernel and the ceiling that it is
 * compared with are sampled alternately: whatever slows the machine down slows both. */
#include "profile/sampling.h"

#include "kernels/base/subprocess.h"

#include <stdlib.h>

#define BATCH_S 50e-6                     /* one sample lasts about this long, at least */
#define WARM_UP_RUNS 3
#define WARM_UP_MOST_S 0.5
#define MAX_BATCH (1L << 20)

static void run_batch(const struct work *w)
{
    for (long i = 0; i < w->batch; i++)
        w->run(w->buffers);
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
    if (!w->run)
        return;
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

static void take_sample(const struct work *w, struct shared *sh, int series)
{
    if (w->run && sh->n_samples[series] < PROTOCOL_MAX_SAMPLES)
        sh->sample[series][sh->n_samples[series]++] = time_batch(w);
}

void sampling_run(struct work work[SERIES_COUNT], const struct request *q, struct shared *sh)
{
    double begin = clock_s();
    double sample_s = 4 * q->time_s / PROTOCOL_MAX_SAMPLES;
    if (sample_s < BATCH_S)
        sample_s = BATCH_S;
    for (int i = 0; i < SERIES_COUNT; i++) {
        if (!q->append)
            sh->n_samples[i] = 0;
        calibrate(&work[i], sample_s);
    }
    double start = clock_s(), now = start;
    int runs = 0;
    do {
        for (int i = 0; i < SERIES_COUNT; i++)
            take_sample(&work[i], sh, i);
        runs++;
        now = clock_s();
        double done = q->time_s > 0 ? (now - start) / q->time_s : 1;
        atomic_store(&sh->permille, done < 1 ? (int)(1000 * done) : 999);
    } while (now - begin < q->most_s && runs < PROTOCOL_MAX_SAMPLES
             && (now - start < q->time_s || runs < q->min_runs));
}

double sampling_ceiling(const struct summary *team, const struct summary *one_core, int threads,
                        int cores)
{
    int busy = threads < cores ? threads : cores;
    double together = team->min > 0 ? threads / team->min : 0;
    double alone = one_core->min > 0 ? busy / one_core->min : 0;
    return alone > together ? alone : together;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

struct summary sampling_summary(double *sample, int n)
{
    if (n < 1)
        return (struct summary){0};
    qsort(sample, (size_t)n, sizeof *sample, by_value);
    double median = n % 2 ? sample[n / 2] : (sample[n / 2 - 1] + sample[n / 2]) / 2;
    double spread = sample[3 * (n - 1) / 4 + (3 * (n - 1) % 4 != 0)] - sample[(n - 1) / 4];
    return (struct summary){ sample[0], median, sample[n - 1], median > 0 ? spread / median : 0 };
}
