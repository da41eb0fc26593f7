/* Tunes an operator: runs the search, then compares the best candidates (the final). */
#include "explorer/tune/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "explorer/expert/simulated.h"
#include "explorer/tune/strategies.h"
#include "explorer/tune/tidy.h"

#define COMPARE_S 2.0  /* most seconds of the first comparison; fewer with a small budget */
#define COMPARE_SHARE 0.04  /* most time of the first comparison / time limit */
#define CLEARLY 1.5  /* candidates slower than this multiple of the best time are not compared */
#define WORTH 0.97  /* a finalist below this multiple of the first one's time is compared longer */
#define LONGER 4                         /* time of the second comparison / time of the first */
/* a start that takes longer than this multiple of its time in the search was disturbed */
#define DISTURBED 1.3
#define GAIN_ROUNDS 12                   /* rounds that compare the winner with a slow start */

const char *const search_end_name[] = {
    [SEARCH_BUDGET] = "budget spent", [SEARCH_EXHAUSTED] = "space exhausted",
    [SEARCH_TIME] = "time is up", [SEARCH_SETTLED] = "little to gain",
    [SEARCH_CANCELLED] = "stopped", [SEARCH_FAILED] = "failed",
};

const char *tune_strategy(const char *given, bool trained)
{
    return given ? given : trained ? "ppo" : "evo";
}

static const struct program *program_of(struct tune_result *r, const struct tune_candidate *c,
                                        const char *spec)
{
    const struct program *p;
    struct err e;
    int bad;
    return program_replay(r->mem, spec, c->line, c->n_lines, &p, &bad, &e) ? p : NULL;
}

/* --- The final ------------------------------------------------------------------------------ */

/* Whether a candidate that had outcome ok in the search has failed in a later measurement. */
static bool was_found_out(const struct tune_result *r, const struct tune_candidate *c)
{
    bool found = r->measured && c == r->best && r->m.outcome != OUTCOME_OK;
    for (int i = 0; r->compared && i < r->n_finalists; i++)
        found = found || (r->finalist[i].c == c && r->finalist[i].compared.m.outcome != OUTCOME_OK);
    return found;
}

/* Returns the fastest candidate that has not failed in a later measurement. */
static const struct tune_candidate *fastest_left(const struct tune_result *r)
{
    const struct tune_candidate *best[TUNE_FINALISTS + 2];
    int n = search_best(r->search, best, COUNT_OF(best));
    for (int i = 0; i < n; i++)
        if (!was_found_out(r, best[i]))
            return best[i];
    return NULL;
}

/* Chooses the finalists: the best two candidates, and those with nearly the same time.  If the
 * start has nearly the same time, it comes first, so that all others are compared with it. */
static void choose_finalists(struct tune_result *r)
{
    const struct tune_candidate *best[TUNE_FINALISTS];
    int n = search_best(r->search, best, TUNE_FINALISTS);
    bool start = r->start && r->start->outcome == OUTCOME_OK && n > 0 &&
                 r->start->ms < CLEARLY * best[0]->ms;
    if (start)
        r->finalist[r->n_finalists++].c = r->start;
    for (int i = 0; i < n; i++)
        if ((i < 2 || best[i]->ms < CLEARLY * best[0]->ms) && (!start || best[i] != r->start))
            r->finalist[r->n_finalists++].c = best[i];
}

/* Returns the fastest finalist that is shown to be faster than the first one; if there is none, the
 * first that did not fail.  NULL: all failed. */
static const struct tune_candidate *winner(const struct tune_result *r)
{
    const struct tune_finalist *best = &r->finalist[0];
    double ratio = 1;
    for (int i = 1; i < r->n_finalists; i++) {
        const struct tune_finalist *f = &r->finalist[i];
        bool first_lost = best == r->finalist && best->compared.m.outcome != OUTCOME_OK;
        if (f->compared.m.outcome != OUTCOME_OK)
            continue;
        if (first_lost || (f->compared.verdict == VERDICT_FASTER &&
                           f->compared.ratio.ratio < ratio)) {
            best = f;
            ratio = first_lost ? 1 : f->compared.ratio.ratio;
        }
    }
    return best->compared.m.outcome == OUTCOME_OK ? best->c : NULL;
}

/* Whether the first finalist wins although another one seems faster: no other is shown to be
 * faster. */
static bool is_undecided(const struct tune_result *r)
{
    bool faster = false;
    for (int i = 1; i < r->n_finalists; i++) {
        const struct compared *c = &r->finalist[i].compared;
        if (c->m.outcome == OUTCOME_OK && c->verdict == VERDICT_FASTER)
            return false;
        faster = faster || (c->m.outcome == OUTCOME_OK && c->ratio.ratio < WORTH);
    }
    return faster && r->finalist[0].compared.m.outcome == OUTCOME_OK;
}

/* Returns the seconds for which candidates are compared. */
static double compare_time_s(const struct tune_opts *o)
{
    double s = o->compare_s > 0 ? o->compare_s : fmin(COMPARE_S, fmax(0.3, 0.005 * o->budget));
    return o->compare_s <= 0 && o->time_s > 0 ? fmin(s, fmax(0.1, COMPARE_SHARE * o->time_s)) : s;
}

/* Compares the finalists and sets r->best.  If the first comparison leaves the winner undecided,
 * compares them once more, for longer.  Returns false if it was cancelled or not possible; the
 * result is then the best candidate of the search. */
static bool compare(struct tune_result *r, const struct tune_opts *o, const struct cancel *cancel,
                    struct err *e)
{
    const struct program *p[TUNE_FINALISTS + 1];
    struct compared *out = xcalloc(TUNE_FINALISTS + 1, sizeof *out);
    struct measure_opts mo = o->kernels.measure;
    struct comparison how;
    search_show(r->search, "comparing the best in turns");
    mo.time_s = compare_time_s(o);
    for (int i = 0; i < r->n_finalists; i++)
        p[i] = program_of(r, r->finalist[i].c, o->kernels.spec);
    for (int again = 0; again < 2; again++, mo.time_s *= LONGER) {
        if (!measure_compare(p, r->n_finalists, &mo, NULL, cancel, out, &how, e))
            break;
        for (int i = 0; i < r->n_finalists; i++)
            r->finalist[i].compared = out[i];
        r->compared = true;
        r->n_rounds = how.rounds;
        if (!is_undecided(r))
            break;
    }
    free(out);
    if (!r->compared)
        return false;
    const struct tune_candidate *best = winner(r);
    r->best = best ? best : fastest_left(r);
    return true;
}

/* Whether the start took far longer in turns with the winner than in the search.  If so, something
 * else was running, and the measured gain is too large. */
static bool is_start_disturbed(const struct tune_result *r)
{
    const struct measurement *m = &r->gain[0].m;
    return m->latency.runs > 0 && m->latency.median_ms > DISTURBED * r->start->ms;
}

/* Compares the winner with a start that was too slow for the final, so that the gain is a ratio of
 * times in turns; repeats this once if the start was disturbed.  Does nothing without such a start,
 * or if GAIN_ROUNDS calls of the start take more than COMPARE_S. */
static void compare_with_start(struct tune_result *r, const struct tune_opts *o,
                               const struct cancel *cancel)
{
    const struct tune_candidate *c[2] = { r->start, r->best };
    const struct program *p[2];
    struct measure_opts mo = o->kernels.measure;
    struct comparison how;
    struct err ignored;
    bool in_final = r->compared && r->finalist[0].c == r->start;
    double start_s = r->start ? 1e-3 * r->start->ms * GAIN_ROUNDS : INFINITY;
    if (!(start_s <= COMPARE_S) || r->start->outcome != OUTCOME_OK || r->start == r->best
        || in_final)
        return;
    for (int i = 0; i < 2; i++)
        p[i] = program_of(r, c[i], o->kernels.spec);
    search_show(r->search, "comparing it with the start");
    mo.time_s = fmax(compare_time_s(o), start_s);
    for (int i = 0; i < 2 && (i == 0 || is_start_disturbed(r)); i++)
        if (!measure_compare(p, 2, &mo, NULL, cancel, r->gain, &how, &ignored))
            return;
    bool disturbed = is_start_disturbed(r);
    if (disturbed && !r->note[0])
        r->note = arena_printf(r->mem, "the start took %.3g ms in turns and %.3g ms in the search: "
                               "the machine was busy, so the ratio is that of the search",
                               r->gain[0].m.latency.median_ms, r->start->ms);
    r->gained = r->gain[1].ratio.ratio > 0 && !disturbed;
    if (r->gain[1].m.outcome != OUTCOME_OK) {
        r->measured = true;
        r->m = r->gain[1].m;
    }
}

static bool measure_winner(struct tune_result *r, const struct tune_opts *o,
                           const struct cancel *cancel, struct err *e)
{
    const struct program *p = program_of(r, r->best, o->kernels.spec);
    struct measure_opts mo = o->kernels.measure;
    search_show(r->search, "measuring the best");
    if (!p)
        return err_set(e, ERR_STEP, "the steps of the best point do not apply");
    mo.meters = METER_CLOCK;
    if (o->kernels.simulated) {
        mo.meters = METER_SIM;
        mo.sim_budget = EXPERT_RATED_ACCESSES;
        mo.limit_s = TUNE_TWIN_LIMIT_S;
    }
    mo.baselines = o->baselines;
    mo.time_s = 0;
    mo.min_runs = 0;
    return r->measured = measure_program(p, &mo, NULL, cancel, &r->m, e);
}

static void note_failure(struct tune_result *r, const char *what, const struct err *e)
{
    if (!r->note[0])
        r->note = arena_printf(r->mem, "%s: %s", what, e->text);
}

/* Finishes the tuning: runs the final and, if o->compare_s is 0, measures the winner.  If comparing
 * all finalists fails, for example because memory does not suffice, compares only the first two, of
 * which the start is one if its time is near.  If that fails too, the result is that of the
 * search. */
static void finish(struct tune_result *r, const struct tune_opts *o, const struct cancel *cancel)
{
    struct err e;
    double began = clock_s();
    if (!o->kernels.simulated)            /* a simulated time has no spread */
        choose_finalists(r);
    bool done = r->n_finalists < 2 || cancelled(cancel) || compare(r, o, cancel, &e);
    if (!done && r->n_finalists > 2 && !cancelled(cancel)) {
        r->n_finalists = 2;
        done = compare(r, o, cancel, &e);
    }
    if (!done && !cancelled(cancel))
        note_failure(r, "the best were not compared; the fastest of the search is kept", &e);
    bool alone = o->compare_s == 0 && r->best && !cancelled(cancel);
    if (alone && !measure_winner(r, o, cancel, &e) && !cancelled(cancel))
        note_failure(r, "the winner was not measured again", &e);
    if (alone && r->best && !o->kernels.simulated && !cancelled(cancel))
        compare_with_start(r, o, cancel);
    if (r->best && was_found_out(r, r->best)) {
        err_set(&e, ERR_WRONG, "%s", r->m.reason);
        note_failure(r, "the winner failed when measured again; the next one is kept", &e);
        r->best = fastest_left(r);
        r->measured = r->gained = false;
    }
    r->final_s = clock_s() - began;
}

/* Measures the winner after each of its lines, and stores the measurements as r->ledger if all
 * succeed. */
static void measure_ledger(struct tune_result *r, const struct cancel *cancel)
{
    struct err e;
    double began = clock_s();
    struct measurement *m = ARENA_ARRAY(r->mem, struct measurement, r->n_lines + 1);
    search_show(r->search, "measuring it after each of its steps");
    if (kernels_measure_steps(r->kernels, r->line, r->n_lines, m, cancel, &e))
        r->ledger = m;
    r->final_s += clock_s() - began;
}

/* --- The whole ------------------------------------------------------------------------------ */

/* Tidies the lines of the winner.  A winner that is an expert's schedule is rewritten as a point of
 * the space, because points split only where needed.  The user's schedule is not rewritten. */
static bool tidy(struct tune_result *r, const char *spec, const struct target *target,
                 struct err *e)
{
    const struct tune_problem *p = kernels_problem(r->kernels);
    const struct tune_candidate *c = r->best;
    const char *const *line, *const *typed;
    int n, m;
    if (!c)
        return true;
    line = c->line;
    n = c->n_lines;
    if (c->seed && c != r->start && c->point && p->n_knobs(p->ctx, c->arm) > 0 &&
        p->point_lines(p->ctx, c->arm, c->point, r->mem, &typed, &m) &&
        tidy_same(spec, target, line, n, typed, m)) {
        line = typed;
        n = m;
    }
    return tidy_lines(r->mem, spec, target, line, n, &r->line, &r->n_lines, e);
}

static void search_fastest(struct tune_result *r)
{
    const struct tune_candidate *best;
    if (search_best(r->search, &best, 1) == 1)
        r->best = best;
}

static bool open_search(struct tune_result *r, const struct search_sink *sink, struct err *e)
{
    const struct tune_opts *o = r->opts;
    const struct strategy *strategy
        = strategy_find(tune_strategy(o->strategy, o->weights != NULL), e);
    if (!strategy)
        return false;
    struct search_opts so = {
        .budget = o->budget, .joint = o->joint, .seed = o->seed, .time_s = o->time_s,
        .settle_s = o->settle_s, .rounds = o->rounds, .prefilter = o->prefilter, .cold = o->cold,
        .weights = o->weights, .weights_bytes = o->weights_bytes,
        .strategy = strategy, .follow = o->follow, .stop = o->stop,
    };
    int n;
    const struct tune_seed *seed = kernels_seeds(r->kernels, &n);
    r->layouts = kernels_layouts(r->kernels);
    r->search = search_new(kernels_problem(r->kernels), &so, seed, n, sink, r->cancel);
    return true;
}

bool tune_open(const struct tune_opts *o, const struct search_sink *sink,
               const struct cancel *cancel, struct tune_result **out, struct err *e)
{
    struct tune_result *r = xcalloc(1, sizeof *r);
    r->note = "";
    r->mem = arena_new();
    r->opts = o;
    r->cancel = cancel;
    if (!kernels_new(&o->kernels, &r->kernels, &r->note, e) || !open_search(r, sink, e)) {
        tune_free(r);
        return false;
    }
    *out = r;
    return true;
}

bool tune_go(struct tune_result *r, struct err *e)
{
    if (search_extend(r->search, r->opts->budget, r->opts->time_s))
        r->end = search_run(r->search, e);
    r->view = search_view(r->search);
    if (r->view->n_trials > 0 && r->view->trial[0]->seed)
        r->start = r->view->trial[0];
    return r->end != SEARCH_FAILED;
}

bool tune_end(struct tune_result *r, struct err *e)
{
    const struct tune_opts *o = r->opts;
    search_fastest(r);
    if (!cancelled(r->cancel) && o->compare_s >= 0)
        finish(r, o, r->cancel);
    if (r->best)
        r->points = kernels_points(r->kernels, r->best->arm);
    if (!tidy(r, o->kernels.spec, o->kernels.measure.target, e))
        return false;
    bool gpu = o->kernels.measure.target && o->kernels.measure.target->gpu;
    if (o->ledger && !gpu && r->measured && !cancelled(r->cancel))
        measure_ledger(r, r->cancel);
    return true;
}

bool tune_run(const struct tune_opts *o, const struct search_sink *sink,
              const struct cancel *cancel, struct tune_result **out, struct err *e)
{
    struct tune_result *r;
    if (!tune_open(o, sink, cancel, &r, e))
        return false;
    if (!tune_go(r, e) || !tune_end(r, e)) {
        tune_free(r);
        return false;
    }
    *out = r;
    return true;
}

void tune_free(struct tune_result *r)
{
    if (!r)
        return;
    search_free(r->search);
    kernels_free(r->kernels);
    arena_free(r->mem);
    free(r);
}
