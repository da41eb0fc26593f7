#include "profile/measure/network_compare.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/base/arena.h"
#include "profile/measure/measure_network_impl.h"

#define ROUNDS 20
#define LEAST_ROUNDS 6  /* rounds of networks that take seconds: enough for an interval */
#define LONG_S 10.0  /* seconds after which LEAST_ROUNDS suffice, or twice what was asked for */

struct rival {
    struct net_run run;
    struct network_measurement m;
    struct samples samples;               /* of all rounds so far; owned by the runner */
    double median[ROUNDS];                /* seconds per call, by round */
    bool runs;                            /* whether it is right so far */
    char letter;
    struct progress progress;             /* adds the letter, and reports to `to` */
    const struct progress *to;            /* the caller's progress; NULL: none */
};

struct race { struct rival rival[MEASURE_MAX_COMPARED]; int n, rounds; };

/* Reports the progress of one network, under its letter in the list. */
static void report_rival(void *ctx, const char *what, double fraction)
{
    const struct rival *x = ctx;
    char text[96];
    snprintf(text, sizeof text, "%c: %.90s", x->letter, what);
    if (x->to && x->to->report)
        x->to->report(x->to->ctx, text, fraction);
}

/* Takes a network out of the race.  Returns false if *e is not the network's own failure. */
static bool drop(struct rival *x, const struct err *e)
{
    x->runs = false;
    measure_end(&x->run.job, false, e);
    network_run_end(&x->run, false);
    return measure_is_result(e);
}

/* Opens the runner on one CPU if the network runs in one thread.  A child stays on the CPU where it
 * began, and not all CPUs are equally fast: so all networks share one. */
static bool open_pinned(struct rival *x, int cpu, struct err *e)
{
    cpu_set_t all, one;
    bool pins = cpu >= 0 && x->run.job.opts.threads == 1
             && sched_getaffinity(0, sizeof all, &all) == 0;
    CPU_ZERO(&one);
    if (pins)
        CPU_SET((size_t)cpu, &one);
    pins = pins && sched_setaffinity(0, sizeof one, &one) == 0;
    bool ok = network_run_open(&x->run, e);
    if (pins)
        sched_setaffinity(0, sizeof all, &all);
    return ok;
}

/* Builds and checks a network, and opens its runner.  False only if the network is not to blame. */
static bool prepare(struct rival *x, int cpu, struct measurement *m, struct err *e)
{
    struct measure_job *j = &x->run.job;
    struct err ignored;
    x->progress = (struct progress){ report_rival, x };
    x->run.progress = &x->progress;
    x->run.m = &x->m;
    if (!network_run_start(&x->run, m, e))
        return false;
    bool ok = network_run_check(&x->run, e) && open_pinned(x, cpu, e);
    m->max_rel_err = x->m.max_rel_err;
    m->error_of_bound = x->m.error_of_bound;
    m->build_s = x->m.build_s;
    if (!ok)
        return drop(x, e);
    j->has_ceiling = j->has_ceiling
                  && runner_load_ceiling(j->runner, j->ceiling.so_path, &ignored);
    measure_begin(j, "timing in turns");
    return x->runs = true;
}

/* Samples one network for a round. */
static bool sample(struct rival *x, int round, struct err *e)
{
    struct measure_job *j = &x->run.job;
    int had = round > 0 ? x->samples.rounds : 0;
    struct sampled what = { .ceiling = j->has_ceiling, .time_s = j->opts.time_s / ROUNDS,
                            .min_runs = 1, .append = round > 0, .as_is = true };
    if (!measure_sample(&j, 1, &what, &x->samples, e))
        return false;
    const double *all = x->samples.sample[SERIES_KERNEL];
    int new = x->samples.rounds - had;
    x->median[round] = new > 0 ? stats_summary(all + had, new).median : x->median[round - 1];
    return true;
}

/* Times all networks that are right, in rounds.  time_s: to sample each. */
static bool time_all(struct race *r, double time_s, const struct progress *pr, struct err *e)
{
    double since = clock_s(), most = fmax(LONG_S, 2 * r->n * time_s);
    for (int i = 0; i < ROUNDS && (i < LEAST_ROUNDS || clock_s() - since < most); i++) {
        if (pr && pr->report)
            pr->report(pr->ctx, "timing in turns", (double)i / ROUNDS);
        for (int k = 0; k < r->n; k++) {
            struct rival *x = &r->rival[i % 2 ? r->n - 1 - k : k];
            if (x->runs && !sample(x, i, e) && !drop(x, e))
                return false;
        }
        r->rounds = i + 1;
    }
    return true;
}

/* Stores the times of the networks, and the ratios to the first of them. */
static bool take(struct race *r, struct compared *out, struct comparison *how, struct err *e)
{
    const struct rival *first = NULL;
    int block[ROUNDS];
    for (int i = 0; i < r->rounds; i++)
        block[i] = i;
    for (int k = 0; k < r->n; k++) {
        struct rival *x = &r->rival[k];
        if (!x->runs)
            continue;
        if (!measure_take(&x->run.job, &x->samples, e)) {
            if (!drop(x, e))
                return false;
            continue;
        }
        out[k].m.verified = true;
        measure_end(&x->run.job, true, e);
        if (!first) {
            const double *ceiling = x->samples.sample[SERIES_CEILING];
            first = x;
            *how = (struct comparison){
                r->rounds, r->rounds,
                ceiling ? stats_disturbed(ceiling, x->samples.rounds) : NAN };
            continue;
        }
        out[k].ratio = stats_ratio(first->median, x->median, r->rounds, block, r->rounds,
                                   MEASURE_BOOTSTRAP_SEED);
        out[k].verdict = stats_verdict(&out[k].ratio);
    }
    return true;
}

bool measure_compare_networks(const struct network *const *net, int n,
                              const struct measure_opts *given, const struct progress *pr,
                              const struct cancel *c, struct compared *out,
                              struct comparison *how, struct err *e)
{
    double began = clock_s();
    if (n < 1 || n > MEASURE_MAX_COMPARED)
        return err_set(e, ERR_RANGE, "%d networks: from 1 to %d can be compared", n,
                       MEASURE_MAX_COMPARED);
    if (given->target && given->target->gpu) {
        err_set(e, ERR_RANGE, "networks are compared on the CPU");
        return err_fix(e, "--kernel K compares one kernel on a GPU");
    }
    struct measure_opts mo = *given;
    struct network_opts o = { .measure = &mo };
    struct race *r = xcalloc(1, sizeof *r);
    int cpu = sched_getcpu();
    bool ok = true;
    mo.meters = METER_CLOCK;
    mo.time_s = given->time_s > 0 ? given->time_s : MEASURE_COMPARE_S;
    r->n = n;
    *how = (struct comparison){ .disturbed = NAN };
    for (int k = 0; k < n; k++)
        out[k] = (struct compared){ .verdict = VERDICT_NONE };
    memory_keep();
    for (int k = 0; ok && k < n; k++) {
        struct rival *x = &r->rival[k];
        *x = (struct rival){ .letter = (char)('A' + k), .to = pr,
                             .run = { .net = net[k], .opts = &o, .cancel = c } };
        ok = prepare(x, cpu, &out[k].m, e);
    }
    ok = ok && time_all(r, mo.time_s, pr, e) && take(r, out, how, e);
    for (int k = 0; k < n; k++) {
        out[k].m.total_s = clock_s() - began;
        if (r->rival[k].runs)
            network_run_end(&r->rival[k].run, false);
    }
    memory_give_back();
    free(r);
    return ok;
}
