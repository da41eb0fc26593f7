#include "profile/measure/network_compare.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kernels/base/arena.h"
#include "profile/host/machine.h"
#include "profile/measure/measure_network_impl.h"
#include "profile/measure/outside.h"

#define ROUNDS 20
#define LEAST_ROUNDS 6  /* least number of rounds of slow networks: enough for an interval */
/* A pause before each turn if outside programs take part (outside.h). Threads of onnxruntime spin
 * for 20 to 40 ms after their last run, and would take a CPU from the next contender. */
#define REST_NS 50000000
/* LEAST_ROUNDS rounds suffice after LONG_S seconds, or after twice the requested time of all
 * contenders, whichever is longer. */
#define LONG_S 10.0

struct rival {
    struct net_run run;  /* the run of a network; run.net NULL: the rival is an outside program */
    struct network_measurement m;
    struct samples samples;
    const char *command;  /* starts an outside program; NULL: the rival is a network */
    struct outside *outside;
    struct measurement *result;
    /* seconds of each of the n calls so far; `samples` or *outside owns them */
    const double *seconds; int n;
    double median[ROUNDS];                /* seconds per call, by round */
    bool runs;  /* whether it takes part: it is prepared, and neither wrong nor failed so far */
    char letter;                          /* its name in progress reports: 'A' for the first one */
    struct progress progress;             /* puts the letter first, and reports to `to` */
    const struct progress *to;            /* the caller's progress; NULL: none */
};

struct race { struct rival rival[MEASURE_MAX_COMPARED]; int n, rounds; bool rests; };

/* Reports the progress of one contender, under its letter. */
static void report_rival(void *ctx, const char *what, double fraction)
{
    const struct rival *x = ctx;
    char text[96];
    snprintf(text, sizeof text, "%c: %.90s", x->letter, what);
    if (x->to && x->to->report)
        x->to->report(x->to->ctx, text, fraction);
}

/* Takes a contender out of the race, because of *e.  Returns whether the contender itself is to
 * blame; if not, the caller must end the race. */
static bool drop(struct rival *x, const struct err *e)
{
    x->runs = false;
    if (x->command) {
        outside_close(x->outside);       /* the program could still use the others' CPU */
        x->outside = NULL;
        x->result->outcome = measure_outcome(e->code);
        snprintf(x->result->reason, sizeof x->result->reason, "%.511s", e->text);
        return e->code == ERR_ENV || measure_is_result(e);
    }
    measure_end(&x->run.job, false, e);
    network_run_end(&x->run, false);
    return measure_is_result(e);
}

/* Starts the process of a contender, on one CPU if it runs in one thread.  A child stays on the CPU
 * where it began, and not all CPUs are equally fast: so all contenders share one CPU. */
static bool open_pinned(struct rival *x, int cpu, struct err *e)
{
    cpu_set_t all, one;
    bool pins = cpu >= 0 && x->run.opts->measure->threads <= 1
             && sched_getaffinity(0, sizeof all, &all) == 0;
    CPU_ZERO(&one);
    if (pins)
        CPU_SET((size_t)cpu, &one);
    pins = pins && sched_setaffinity(0, sizeof one, &one) == 0;
    if (x->command)
        x->outside = outside_open(x->command, x->run.opts->measure->limit_s, x->run.cancel, e);
    bool ok = x->command ? x->outside != NULL : network_run_open(&x->run, e);
    if (pins)
        sched_setaffinity(0, sizeof all, &all);
    return ok;
}

/* Starts an outside program. False only if the program is not to blame. */
static bool prepare_outside(struct rival *x, int cpu, struct err *e)
{
    report_rival(x, "waiting until it is ready", 0);
    x->runs = open_pinned(x, cpu, e);
    return x->runs || drop(x, e);
}

/* Builds and checks a network, and opens its runner.  False only if the network is not to blame. */
static bool prepare(struct rival *x, int cpu, struct err *e)
{
    struct measure_job *j = &x->run.job;
    struct measurement *m = x->result;
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

/* Returns the median of a turn.  Its first call, which finds the caches full of the data of another
 * contender, counts only if it is the only one. */
static double turn_median(const double *sample, int n)
{
    return stats_summary(sample + (n > 1), n > 1 ? n - 1 : n).median;
}

static bool sample_network(struct rival *x, bool first, struct err *e)
{
    struct measure_job *j = &x->run.job;
    struct sampled what = { .ceiling = j->has_ceiling, .time_s = j->opts.time_s / ROUNDS,
                            .min_runs = 2, .append = !first, .as_is = true };
    if (!measure_sample(&j, 1, &what, &x->samples, e))
        return false;
    x->seconds = x->samples.sample[SERIES_KERNEL];
    x->n = x->samples.rounds;
    return true;
}

/* Takes at least two runs, like sample_network, so that turn_median can leave the first one out. */
static bool sample_outside(struct rival *x, double time_s, struct err *e)
{
    int had = x->n;
    do {
        if (!outside_time(x->outside, time_s, x->run.cancel, &x->seconds, &x->n, e))
            return false;
    } while (x->n == had + 1);
    return true;
}

/* Samples one contender for a round. time_s: the sampling time of all rounds together. */
static bool sample(struct rival *x, int round, double time_s, struct err *e)
{
    int had = x->n;
    bool ok = x->outside ? sample_outside(x, time_s / ROUNDS, e)
                         : sample_network(x, round == 0, e);
    if (ok)
        x->median[round] = x->n > had ? turn_median(x->seconds + had, x->n - had)
                                      : x->median[round - 1];
    return ok;
}

/* Times all contenders that are right, in rounds. time_s: the sampling time of each contender, all
 * rounds together. */
static bool time_all(struct race *r, double time_s, const struct progress *pr, struct err *e)
{
    double since = clock_s(), most = fmax(LONG_S, 2 * r->n * time_s);
    for (int i = 0; i < ROUNDS && (i < LEAST_ROUNDS || clock_s() - since < most); i++) {
        if (pr && pr->report)
            pr->report(pr->ctx, "timing in turns", (double)i / ROUNDS);
        for (int k = 0; k < r->n; k++) {
            struct rival *x = &r->rival[i % 2 ? r->n - 1 - k : k];
            if (!x->runs)
                continue;
            if (r->rests)
                nanosleep(&(struct timespec){ .tv_nsec = REST_NS }, NULL);
            if (!sample(x, i, time_s, e) && !drop(x, e))
                return false;
        }
        r->rounds = i + 1;
    }
    return true;
}

/* Stores the times of an outside program. */
static void take_outside(const struct rival *x)
{
    const struct summary s = stats_summary(x->seconds, x->n);
    struct measurement *m = x->result;
    m->outcome = OUTCOME_OK;
    m->latency = measure_latency_of(&s, x->n);
    m->load = machine_load();
    machine_date(m->measured_at, sizeof m->measured_at);
}

/* Stores the times of a network. */
static bool take_network(struct rival *x, struct err *e)
{
    if (!measure_take(&x->run.job, &x->samples, e))
        return false;
    x->result->verified = true;
    measure_end(&x->run.job, true, e);
    return true;
}

/* Stores the times of the contenders, and the ratios to the first right one. */
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
        if (x->outside) {
            take_outside(x);
        } else if (!take_network(x, e)) {
            if (!drop(x, e))
                return false;
            continue;
        }
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
        /* `best` compares the least times of all calls, because those are printed, and not the
         * medians of the rounds. */
        out[k].ratio.best = x->result->latency.min_ms / first->result->latency.min_ms;
        out[k].verdict = stats_verdict(&out[k].ratio);
    }
    return true;
}

bool measure_compare_networks(const struct network *const *net, int n, const char *const *command,
                              int n_commands, const struct measure_opts *given,
                              const struct progress *pr, const struct cancel *c,
                              struct compared *out, struct comparison *how, struct err *e)
{
    double began = clock_s();
    int all = n + n_commands;
    if (n < 1 || all > MEASURE_MAX_COMPARED)
        return err_set(e, ERR_RANGE, "%d networks: from 1 to %d can be compared", all,
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
    r->n = all;
    r->rests = n_commands > 0;
    *how = (struct comparison){ .disturbed = NAN };
    for (int k = 0; k < all; k++)
        out[k] = (struct compared){ .verdict = VERDICT_NONE };
    memory_keep();
    for (int k = 0; ok && k < all; k++) {
        struct rival *x = &r->rival[k];
        *x = (struct rival){ .letter = (char)('A' + k), .to = pr, .result = &out[k].m,
                             .command = k < n ? NULL : command[k - n],
                             .run = { .net = k < n ? net[k] : NULL, .opts = &o, .cancel = c } };
        ok = x->command ? prepare_outside(x, cpu, e) : prepare(x, cpu, e);
    }
    ok = ok && time_all(r, mo.time_s, pr, e) && take(r, out, how, e);
    for (int k = 0; k < all; k++) {
        struct rival *x = &r->rival[k];
        out[k].m.total_s = clock_s() - began;
        if (x->runs && x->run.net)
            network_run_end(&x->run, false);
        outside_close(x->outside);
    }
    memory_give_back();
    free(r);
    return ok;
}
