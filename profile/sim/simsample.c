#include "profile/sim/simsample.h"

#include "kernels/base/arena.h"
#include "kernels/base/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FEWEST_ITERATIONS 64              /* loops with fewer iterations are not sampled */
#define MOST_PERIODS 64
#define WARM_ACCESSES 128                 /* accesses per line of L1 in the smallest sample */
#define FEWEST_PERIODS 8
#define SMALL_SHARE 0.125  /* a loop with at most this share of the budget is not sampled */
#define LEVEL_COUNTS 7  /* number of counts: the members of struct level_count, and conflicts */
#define CONFLICTS 6
/* a higher ratio of cost to budget is reported; a lower one comes from rounding to whole
 * iterations */
#define OVER_BUDGET 1.25

enum phase { PHASE_EXACT, PHASE_WARM, PHASE_FIRST, PHASE_SECOND, PHASE_OUT };

struct sample_plan {
    int64_t n, head;  /* n: number of iterations; head: how many at the start are all counted */
    /* period: iterations of a period; warm, counted: how many of these warm up, and how many are
     * counted. counted == 0: there are no periods, and all iterations of the loop are counted */
    int64_t period, warm, counted;
    int64_t at, start;  /* at: next iteration; start: where the sample of this period begins */
    enum phase phase;
    double *site, level[CACHE_LEVELS][LEVEL_COUNTS];       /* counts of the counted iterations */
    double half[2][CACHE_LEVELS], iterations[2];  /* of each half: its misses, its iterations */
    double now[CACHE_LEVELS];             /* misses of the current sample */
    /* sum: the sum of the misses of all samples; squares: the sum of the squares of these misses */
    double sum[CACHE_LEVELS], squares[CACHE_LEVELS];
    int samples;
};

struct simsample {
    const struct cachesim *s;
    const int64_t *conflicts;  /* counter of the caller; NULL: conflicts are not counted */
    int64_t conflicts_then;               /* *conflicts at the beginning of the phase */
    int n_sites, n_loops;
    struct sample_loop loop[SIMSAMPLE_MAX_MARKS];
    struct sample_plan plan[SIMSAMPLE_MAX_MARKS];
    struct rng rng;
    double all, done, left_out;  /* numbers of accesses; left_out: accesses that are not counted */
    bool samples;                         /* whether any loop is sampled */
    char how[SIMSAMPLE_HOW];
    int within;                           /* the current loop, or -1 */
    struct site_count *then;              /* counts at the beginning of the phase */
    struct level_count level_then[CACHE_LEVELS];
    /* exact counts outside of the sampled parts; simsample_close adds estimates for those parts */
    double *exact_site, exact[CACHE_LEVELS][LEVEL_COUNTS];
};

/* --- The plan --------------------------------------------------------------------------------- */

enum refusal { SAMPLED, TOO_FEW_ITERATIONS, TOO_SHORT };

/* Plans a loop. budget: how many accesses of this loop to simulate; lines: number of lines of L1.
 * If the budget is too small for the fewest useful samples, the plan has these samples nevertheless
 * and exceeds the budget: simulating the whole loop would take even longer. */
static enum refusal make_plan(struct sample_plan *p, const struct sample_loop *l, double budget,
                              double lines)
{
    double share = budget / (l->iterations * l->accesses);
    p->n = (int64_t)l->iterations;
    p->head = p->n;
    if (share >= 1)
        return SAMPLED;
    if (p->n < FEWEST_ITERATIONS)
        return TOO_FEW_ITERATIONS;
    int64_t head = (int64_t)(share * (double)p->n / 4), rest;
    head = head < 2 ? 2 : head;
    rest = p->n - head;
    /* Of the iterations that are simulated in a period, half warm up and half are counted. */
    double counted = 0.375 * share * (double)rest;
    double least = ceil(WARM_ACCESSES * lines / l->accesses);
    least = least < 2 ? 2 : 2 * ceil(least / 2);  /* even, because `each` below is even */
    int64_t periods = (int64_t)(counted / least);
    periods = periods > MOST_PERIODS ? MOST_PERIODS : periods;
    if (periods < FEWEST_PERIODS) {
        periods = FEWEST_PERIODS;
        counted = FEWEST_PERIODS * least;
    }
    int64_t each = (int64_t)(counted / (double)periods) / 2 * 2;
    if (each < 2 || (double)each > (double)rest / (double)periods / 2)
        return TOO_SHORT;
    p->head = head;
    p->period = rest / periods;
    p->warm = p->counted = each;
    return SAMPLED;
}

/* Returns the accesses of a loop that its plan simulates. */
static double planned(const struct sample_plan *p, const struct sample_loop *l)
{
    if (p->counted == 0)
        return l->iterations * l->accesses;
    double periods = floor((double)(p->n - p->head) / (double)p->period);
    return l->accesses * ((double)p->head + periods * (double)(p->warm + p->counted));
}

/* Sets p->how if the budget is exceeded by more than rounding. cost: how many accesses are
 * simulated. refusal: for each loop, why it is not sampled. */
static void say_how(struct simsample *p, double budget, double cost, const enum refusal *refusal)
{
    static const char *const why[] = {
        [SAMPLED] = "a sample cannot be smaller: 8 pieces, each with the L1 warmed up before it",
        [TOO_FEW_ITERATIONS] = "a loop with fewer than 64 iterations is not sampled",
        [TOO_SHORT] = "a loop shorter than 8 samples with their L1 warm-up is not sampled",
    };
    enum refusal most = SAMPLED;
    for (int i = 0; i < p->n_loops; i++)
        most = refusal[i] > most ? refusal[i] : most;
    if (p->all <= budget || cost <= OVER_BUDGET * budget)
        return;
    snprintf(p->how, sizeof p->how, "simulated %s %.3g accesses, more than the budget of %.3g: %s",
             p->samples ? "a sample of" : "all", p->samples ? cost : p->all, budget,
             p->n_loops == 0 ? "there is no outer loop to sample" : why[most]);
}

struct simsample *simsample_open(int n_sites, int n_loops, const struct sample_loop *loop,
                                 double all, double budget, int64_t l1_lines, uint64_t seed)
{
    struct simsample *p = xcalloc(1, sizeof *p);
    enum refusal refusal[SIMSAMPLE_MAX_MARKS] = { SAMPLED };
    double large = 0, small = 0, cost = all;
    *p = (struct simsample){ .n_sites = n_sites, .all = all, .within = -1 };
    p->n_loops = n_loops < SIMSAMPLE_MAX_MARKS ? n_loops : SIMSAMPLE_MAX_MARKS;
    p->rng = rng_seed(seed);
    p->then = xcalloc((size_t)n_sites + 1, sizeof *p->then);
    p->exact_site = xcalloc((size_t)n_sites * CACHE_LEVELS + 1, sizeof *p->exact_site);
    for (int i = 0; i < p->n_loops; i++) {
        double n = loop[i].iterations * loop[i].accesses;
        p->loop[i] = loop[i];
        *(n > SMALL_SHARE * budget ? &large : &small) += n;
    }
    double room = budget - (all - large - small) - small;
    room = room < budget / 2 ? budget / 2 : room;
    for (int i = 0; i < p->n_loops; i++) {
        double n = loop[i].iterations * loop[i].accesses;
        bool cut = all > budget && n > SMALL_SHARE * budget;
        p->plan[i].site = xcalloc((size_t)n_sites * CACHE_LEVELS + 1, sizeof(double));
        refusal[i] = make_plan(&p->plan[i], &loop[i], cut ? room * n / large : n,
                               (double)l1_lines);
        p->samples |= p->plan[i].counted > 0;
        cost -= n - planned(&p->plan[i], &loop[i]);
    }
    say_how(p, budget, cost, refusal);
    return p;
}

bool simsample_cuts(const struct simsample *p)
{
    return p->samples;
}

const char *simsample_how(const struct simsample *p)
{
    return p->how;
}

void simsample_watch(struct simsample *p, const struct cachesim *s)
{
    p->s = s;
}

void simsample_conflicts(struct simsample *p, const int64_t *conflicts)
{
    p->conflicts = conflicts;
}

int64_t simsample_estimated(const struct simsample *p)
{
    return p->samples ? llround(p->exact[0][CONFLICTS]) : *p->conflicts;
}

void simsample_free(struct simsample *p)
{
    for (int i = 0; p && i < p->n_loops; i++)
        free(p->plan[i].site);
    if (p) {
        free(p->then);
        free(p->exact_site);
    }
    free(p);
}

/* --- Phases ----------------------------------------------------------------------------------- */

static void add_level(double to[LEVEL_COUNTS], const struct level_count *now,
                      const struct level_count *then)
{
    to[0] += (double)(now->accesses - then->accesses);
    to[1] += (double)(now->misses - then->misses);
    to[2] += (double)(now->writebacks - then->writebacks);
    to[3] += (double)(now->prefetches - then->prefetches);
    to[4] += (double)(now->useful - then->useful);
    to[5] += (double)(now->straddled - then->straddled);
}

/* Adds what was counted since the last call. phase: the phase that has ended; plan: the plan of the
 * current loop; NULL outside of marked loops. */
static void settle(struct simsample *p, enum phase phase, struct sample_plan *plan)
{
    struct level_count now[CACHE_LEVELS];
    const struct site_count *site = cachesim_counts(p->s);
    bool counted = phase == PHASE_FIRST || phase == PHASE_SECOND;
    double *to = phase == PHASE_EXACT ? p->exact_site : counted ? plan->site : NULL;
    cachesim_levels(p->s, now);
    for (int i = 0; to && i < p->n_sites; i++)
        for (int k = 0; k < CACHE_LEVELS; k++)
            to[i * CACHE_LEVELS + k] += (double)(site[i].misses[k] - p->then[i].misses[k]);
    for (int k = 0; to && k < CACHE_LEVELS; k++) {
        add_level(counted ? plan->level[k] : p->exact[k], &now[k], &p->level_then[k]);
        double misses = (double)(now[k].misses - p->level_then[k].misses);
        if (counted) {
            plan->half[phase == PHASE_SECOND][k] += misses;
            plan->now[k] += misses;
        }
    }
    int64_t conflicts = p->conflicts ? *p->conflicts : 0;
    if (to)
        (counted ? plan->level[0] : p->exact[0])[CONFLICTS]
            += (double)(conflicts - p->conflicts_then);
    p->conflicts_then = conflicts;
    memcpy(p->then, site, sizeof *site * (size_t)p->n_sites);
    memcpy(p->level_then, now, sizeof now);
}

/* Ends a sample, and adds its misses to the sums over all samples. */
static void end_sample(struct sample_plan *plan)
{
    for (int k = 0; k < CACHE_LEVELS; k++) {
        plan->sum[k] += plan->now[k];
        plan->squares[k] += plan->now[k] * plan->now[k];
        plan->now[k] = 0;
    }
    plan->samples++;
}

static enum phase phase_of(struct simsample *p, struct sample_plan *plan, int64_t at)
{
    if (plan->counted == 0 || at < plan->head)
        return PHASE_EXACT;
    int64_t in = (at - plan->head) % plan->period, length = plan->warm + plan->counted;
    if ((at - plan->head) / plan->period * plan->period + plan->period > plan->n - plan->head)
        return PHASE_OUT;  /* the last iterations, too few for a period, are skipped */
    if (in == 0)
        plan->start = rng_range(&p->rng, 0, plan->period - length);
    in -= plan->start;
    return in < 0 || in >= length ? PHASE_OUT : in < plan->warm ? PHASE_WARM
         : in < plan->warm + plan->counted / 2 ? PHASE_FIRST : PHASE_SECOND;
}

static bool is_counted(enum phase phase)
{
    return phase == PHASE_FIRST || phase == PHASE_SECOND;
}

bool simsample_skip(struct simsample *p, int loop)
{
    struct sample_plan *before = p->within >= 0 ? &p->plan[p->within] : NULL;
    enum phase was = before ? before->phase : PHASE_EXACT;
    if (loop >= p->n_loops)
        loop = -1;
    struct sample_plan *plan = loop >= 0 ? &p->plan[loop] : NULL;
    enum phase phase = plan ? phase_of(p, plan, plan->at) : PHASE_EXACT;
    if (p->samples && (was != phase || before != plan))
        settle(p, was, before);
    if (plan && is_counted(plan->phase) && !is_counted(phase))
        end_sample(plan);
    p->within = loop;
    if (!plan)
        return false;
    plan->at++;
    plan->phase = phase;
    p->done += p->loop[loop].accesses;
    if (is_counted(phase))
        plan->iterations[phase == PHASE_SECOND]++;
    else if (phase != PHASE_EXACT)
        p->left_out += p->loop[loop].accesses;
    return phase == PHASE_OUT;
}

double simsample_done(const struct simsample *p)
{
    return p->all > 0 ? p->done / p->all : 0;
}

/* --- Estimates -------------------------------------------------------------------------------- */

/* Returns the square of the standard error of a loop's estimated misses of level k. weight: how
 * many iterations each counted iteration represents. */
static double square_error(const struct sample_plan *p, int k, double weight)
{
    double n = p->samples, mean = p->sum[k] / n;
    double variance = (p->squares[k] - n * mean * mean) / (n - 1);
    double left = 1 - 1 / weight;
    double spread = (variance > 0 ? variance : 0) * n * weight * weight * (left > 0 ? left : 0);
    double rate[2] = { p->half[0][k] / p->iterations[0], p->half[1][k] / p->iterations[1] };
    double bias = (rate[1] - rate[0]) / 2 * (double)(p->n - p->head);
    return spread + bias * bias;
}

static void add_loop(struct simsample *p, struct sample_plan *plan, double square[CACHE_LEVELS])
{
    double counted = plan->iterations[0] + plan->iterations[1];
    if (plan->counted == 0 || counted == 0)
        return;
    double weight = (double)(plan->n - plan->head) / counted;
    for (int i = 0; i < p->n_sites * CACHE_LEVELS; i++)
        p->exact_site[i] += weight * plan->site[i];
    for (int k = 0; k < CACHE_LEVELS; k++) {
        for (int c = 0; c < LEVEL_COUNTS; c++)
            p->exact[k][c] += weight * plan->level[k][c];
        square[k] += square_error(plan, k, weight);
    }
}

void simsample_close(struct simsample *p, struct site_count *site,
                     struct level_count level[CACHE_LEVELS], double *fraction,
                     double *error)
{
    double square[CACHE_LEVELS] = {0};
    *error = 0;
    *fraction = 1;
    if (!p->samples) {
        memcpy(site, cachesim_counts(p->s), sizeof *site * (size_t)p->n_sites);
        cachesim_levels(p->s, level);
        return;
    }
    simsample_skip(p, -1);
    settle(p, PHASE_EXACT, NULL);
    for (int i = 0; i < p->n_loops; i++) {
        if (is_counted(p->plan[i].phase))
            end_sample(&p->plan[i]);
        add_loop(p, &p->plan[i], square);
    }
    for (int i = 0; i < p->n_sites; i++)
        for (int k = 0; k < CACHE_LEVELS; k++)
            site[i].misses[k] = llround(p->exact_site[i * CACHE_LEVELS + k]);
    for (int k = 0; k < CACHE_LEVELS; k++) {
        const double *c = p->exact[k];
        level[k] = (struct level_count){ llround(c[0]), 0, llround(c[2]), llround(c[3]),
                                         llround(c[4]), llround(c[5]) };
        for (int i = 0; i < p->n_sites; i++)
            level[k].misses += site[i].misses[k];
    }
    *error = p->exact[0][1] > 0 ? sqrt(square[0]) / p->exact[0][1] : 0;
    *fraction = 1 - p->left_out / p->all;
}
