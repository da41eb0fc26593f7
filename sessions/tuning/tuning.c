/* Runs the tuner on a session: finds earlier runs, writes the records. */
#include "sessions/tuning/tuning.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explorer/tune/tidy.h"
#include "kernels/program/contract.h"
#include "sessions/tuning/tuning_impl.h"

#define SETTLE_S 120  /* a search without a named budget or time may settle after so many seconds */

/* --- Choice of the run ---------------------------------------------------------------------- */

static bool matches(const struct inquiry *q, const struct tuning_opts *o,
                    const struct record_run *run)
{
    return streq(run->options, q->options) && (!o->seed_given || run->seed == o->seed) &&
           (!o->strategy || streq(run->strategy, o->strategy));
}

/* Sets *out to whether a run seems to have all its records: its trials are numbered 1, 2, ..., at
 * least up to the number before its final, and it has a final if a trial is right.  A settled run
 * that was resumed can have more trials after its final. */
static bool is_whole(struct inquiry *q, const struct record_run *run, struct err *e, bool *out)
{
    struct record_filter f = { .run = run->id };
    const struct record *rec;
    int n, last = 0, trials = 0, final = 0;
    bool right = false;
    if (!records_list(q->records, &f, q->mem, &rec, &n, e))
        return false;
    for (int i = 0; i < n; i++) {
        bool trial = !streq(rec[i].strategy, "final");
        final = trial ? final : rec[i].trial;
        right = right || rec[i].outcome == OUTCOME_OK;
        /* rec is sorted by trial number, so each change of the number is another trial */
        trials += trial && rec[i].trial != last;
        last = trial ? rec[i].trial : last;
    }
    *out = trials > 0 && last == trials && (final > 0 ? final <= trials + 1 : !right);
    return true;
}

/* Whether the search may end before its budget is spent, when it gains little: nobody named a
 * budget or a time, and no study asks. */
static bool may_settle(const struct tuning_opts *o)
{
    return o->budget <= 0 && o->time_s <= 0 && !o->study;
}

/* Finds the latest run that can answer (q->finished), the latest that can be resumed (q->stopped),
 * and the latest that was stopped with another budget (q->other_budget); NULL: no such run. */
static bool find_runs(struct inquiry *q, const struct tuning_opts *o, struct err *e)
{
    struct record_filter f = { .spec = q->spec, .isa = q->target->isa, .threads = q->threads };
    const struct record_run *run;
    int n, budget = o->budget > 0 ? o->budget : TUNING_BUDGET;
    if (!records_runs(q->records, &f, q->mem, &run, &n, e))
        return false;
    for (int i = 0; i < n; i++) {
        if (!matches(q, o, &run[i]))
            continue;
        bool enough = run[i].state == RUN_FINISHED
                    ? o->study ? run[i].budget == budget : run[i].budget >= budget
                    : run[i].state == RUN_SETTLED && may_settle(o);
        if (enough && !q->finished) {
            bool whole;
            if (!is_whole(q, &run[i], e, &whole))
                return false;
            q->finished = whole ? &run[i] : NULL;
        }
        bool passed = run[i].state == RUN_SETTLED && q->finished && q->finished != &run[i];
        if (run[i].state == RUN_FINISHED || run[i].state == RUN_RUNNING || passed)
            continue;
        if (o->budget > 0 && run[i].budget != o->budget)
            q->other_budget = q->other_budget ? q->other_budget : &run[i];
        else if (!q->stopped)
            q->stopped = &run[i];
    }
    return true;
}

/* Refuses to resume with another budget, since all trials of a search depend on its budget. */
static bool refuse_budget(const struct inquiry *q, const struct tuning_opts *o, struct err *e)
{
    long long had = q->other_budget->budget;
    err_set(e, ERR_RANGE, "the run that ended early has a budget of %lld, not %d", had, o->budget);
    return err_fix(e,
                   "use --resume --budget %lld to continue it; without --resume a new run starts",
                   had);
}

/* Adds the run to the records, unless it is there. This is done at the first measurement, so that a
 * refused search leaves no run. */
static bool begin_run(struct inquiry *q, struct err *e)
{
    return q->t->run[0] || records_run_start(q->records, &q->fresh, q->t->run, e);
}

static bool start_run(struct tuning *t, struct inquiry *q, const struct tuning_opts *o,
                      struct err *e)
{
    const struct record_run *old = o->resume ? q->stopped : NULL;
    t->strategy = old ? old->strategy : tune_strategy(o->strategy, o->weights != NULL);
    t->seed = old ? old->seed : o->seed_given ? o->seed : 1;
    t->budget = old ? (int)old->budget : o->budget > 0 ? o->budget : TUNING_BUDGET;
    t->resumed = -1;
    if (!strategy_find(t->strategy, e))
        return false;
    if (o->resume && !o->any_budget && !o->study && !old && q->other_budget)
        return refuse_budget(q, o, e);
    if (!old) {
        struct record_run fresh = {
            .spec = q->spec, .isa = q->target->isa, .threads = q->threads, .strategy = t->strategy,
            .options = q->options, .seed = t->seed, .budget = t->budget,
        };
        t->could_resume = q->stopped ? q->stopped->id : NULL;
        q->fresh = fresh;
        return true;
    }
    if (!records_run_resume(q->records, old->id, e))
        return false;
    memcpy(t->run, old->id, RUN_ID);
    t->resumed = 0;
    struct record_filter f = { .run = t->run };
    if (!records_list(q->records, &f, q->mem, &q->known, &q->n_known, e))
        return false;
    q->known_hash = ARENA_ARRAY(q->mem, uint64_t, q->n_known + 1);
    for (int i = 0; i < q->n_known; i++) {
        q->known_hash[i] = hash_text(q->known[i].steps);
        t->resumed += !streq(q->known[i].strategy, "final");
    }
    return true;
}

/* --- While it runs -------------------------------------------------------------------------- */

static void write_down(void *ctx, const struct tune_candidate *c)
{
    struct inquiry *q = ctx;
    struct record rec;
    struct err e;
    if (c->replayed || q->lost)
        return;
    records_of_candidate(q->scratch, &rec, c);
    bool begun = begin_run(q, &e);
    rec.simulated_ms = q->opts.simulated && isfinite(c->ms) ? c->ms : 0;
    rec.run = q->t->run;
    rec.strategy = !c->seed ? q->t->strategy : c->trial == 0 ? "session" : "expert";
    rec.seed = q->data_seed;
    if (!begun || !records_add(q->records, &rec, &e)) {
        q->lost = true;
        q->why_lost = e;
        atomic_store(&q->cancel->raised, 1);
    }
    arena_reset(q->scratch);
}

static bool known(void *ctx, struct tune_candidate *c)
{
    struct inquiry *q = ctx;
    const char *steps = records_steps(q->scratch, c->line, c->n_lines);
    uint64_t hash = hash_text(steps);
    for (int i = 0; i < q->n_known; i++) {
        const struct record *r = &q->known[i];
        if (q->known_hash[i] != hash || !streq(r->steps, steps) || streq(r->strategy, "final"))
            continue;
        c->outcome = r->outcome;
        c->ms = r->runs > 0 ? r->min_ms : r->simulated_ms > 0 ? r->simulated_ms : INFINITY;
        c->spread = r->spread;
        c->reason = r->reason ? r->reason : "";
        c->compile_s = r->compile_s;
        c->measure_s = r->measure_s;
        arena_reset(q->scratch);
        return true;
    }
    arena_reset(q->scratch);
    return false;
}

static void show(void *ctx, const struct tune_view *v)
{
    struct inquiry *q = ctx;
    struct tune_view said = *v;
    snprintf(said.simulated, sizeof said.simulated, "%s", q->t->simulated ? q->t->simulated : "");
    if (q->view && q->view->view)
        q->view->view(q->view->ctx, &said);
}

/* --- The end -------------------------------------------------------------------------------- */

/* Adds the measurement of the winner alone as the last record of the run. A finished run later
 * answers with this record. */
static bool record_winner(struct tuning *t, struct inquiry *q, struct err *e)
{
    struct record rec;
    if (!t->measured)
        return true;
    records_of_measurement(&rec, &t->m);
    rec.simulated_ms = t->simulated ? t->best_ms : 0;
    rec.run = t->run;
    rec.trial = t->trials + 1;
    rec.strategy = "final";
    rec.steps = records_steps(q->mem, t->line, t->n_lines);
    rec.seed = q->data_seed;
    return records_add(q->records, &rec, e);
}

bool tuning_gain(const struct tune_result *r, const struct tune_candidate *c, struct ratio *out)
{
    const struct tune_finalist *f = r->finalist;
    const struct ratio *x = r->gained && c == r->best ? &r->gain[1].ratio : NULL;
    for (int i = 1; r->compared && f[0].c == r->start && i < r->n_finalists; i++)
        if (f[i].c == c && f[i].compared.ratio.ratio > 0)
            x = &f[i].compared.ratio;
    if (x)
        *out = ratio_inverse(x);
    return x != NULL;
}

/* Returns the speedup by times that were not measured in turns; NAN: unknown. */
static double speedup_of(const struct tuning *t)
{
    return t->is_start ? 1
         : isfinite(t->start_ms) && isfinite(t->best_ms) ? t->start_ms / t->best_ms : NAN;
}

/* Returns the measurement of c from the comparison of start and winner, else from the final; NULL:
 * c was not timed in turns. */
static const struct measurement *in_turns(const struct tune_result *r,
                                          const struct tune_candidate *c)
{
    if (r->gained && (c == r->start || c == r->best))
        return &r->gain[c == r->best].m;
    for (int i = 0; r->compared && i < r->n_finalists; i++)
        if (r->finalist[i].c == c && r->finalist[i].compared.m.outcome == OUTCOME_OK)
            return &r->finalist[i].compared.m;
    return NULL;
}

static void take_result(struct tuning *t)
{
    const struct tune_result *r = t->result;
    t->end = r->end;
    t->note = r->note;
    t->trials = r->view->n_trials;
    t->replayed = r->view->replayed;
    t->start_ms = r->start ? r->start->ms : INFINITY;
    t->is_start = r->best && r->best == r->start;
    t->n_lines = r->n_lines;
    t->line = r->line;
    t->measured = r->measured && r->m.outcome == OUTCOME_OK;
    t->m = r->m;
    if (t->measured) {
        t->gflops = r->m.gflops;
        t->spread = r->m.latency.spread;
    }
    t->ledger = r->ledger;
    t->final_start = r->start ? in_turns(r, r->start) : NULL;
    t->final_best = r->best ? in_turns(r, r->best) : NULL;
    t->best_ms = t->measured && !t->simulated ? r->m.latency.min_ms
               : r->best ? r->best->ms : INFINITY;
    struct ratio gain = { .ratio = speedup_of(t) };
    tuning_gain(r, r->best, &gain);
    t->speedup = gain.ratio;
    t->speedup_low = gain.low;
    t->speedup_high = gain.high;
    memcpy(t->failed, r->view->failed, sizeof t->failed);
}

/* Returns the state of a run that ends early.  A settled run that was resumed stays settled: it
 * still answers. */
static enum run_state early_state(const struct inquiry *q)
{
    bool settled = q->t->resumed >= 0 && q->stopped->state == RUN_SETTLED;
    return settled ? RUN_SETTLED : RUN_STOPPED;
}

static bool end_run(struct tuning *t, struct inquiry *q, struct err *e)
{
    bool done = (t->end == SEARCH_BUDGET && t->trials >= t->budget)
             || t->end == SEARCH_EXHAUSTED || t->end == SEARCH_SETTLED;
    enum run_state as = t->end == SEARCH_SETTLED ? RUN_SETTLED : RUN_FINISHED;
    bool whole = done && (!t->result->best || t->measured);
    return begin_run(q, e) && (!whole || record_winner(t, q, e)) &&
           records_run_end(q->records, t->run, whole ? as : early_state(q), e);
}

static void stop_run(struct inquiry *q)
{
    struct err ignored;
    if (q->t->run[0])
        records_run_end(q->records, q->t->run, early_state(q), &ignored);
}

static bool open_search(struct inquiry *q, struct err *e)
{
    const struct tuning_opts *o = &q->opts;
    struct tuning *t = q->t;
    q->search = (struct tune_opts){
        .kernels = {
            .spec = q->spec, .n_seeds = q->n_schedules, .schedule = q->schedule,
            .n_pins = q->n_pins, .pin = q->pin, .fixed = q->fixed, .simulated = o->simulated,
            .layouts = { .levels = o->levels }, .measure = o->measure, .seed = t->seed,
        },
        .budget = t->budget, .joint = o->joint, .seed = t->seed, .strategy = t->strategy,
        .settle_s = may_settle(o) && t->resumed < 0 ? SETTLE_S : 0,
        .cold = o->cold, .ledger = !o->study && !o->no_ledger, .baselines = o->baselines,
        .weights = o->weights, .weights_bytes = o->weights_bytes, .follow = o->follow,
        .stop = o->stop,
    };
    struct search_sink sink = { q, write_down, q->n_known > 0 ? known : NULL, show };
    return tune_open(&q->search, &sink, q->cancel, &t->result, e);
}

/* Whether the winner has the same steps as the session. */
static bool won_by_session(const struct tuning *t, struct inquiry *q)
{
    const char *const *line;
    struct err none;
    int n;
    return tidy_lines(q->mem, q->spec, q->target, q->schedule[0].line, q->schedule[0].n,
                      &line, &n, &none) &&
           streq(records_steps(q->mem, line, n), records_steps(q->mem, t->line, t->n_lines));
}

static void take_winner(struct tuning *t, const struct record *r)
{
    t->line = records_lines(t->mem, r->steps, &t->n_lines);
    t->best_ms = t->simulated ? r->simulated_ms : r->min_ms;
    t->gflops = r->gflops;
    t->spread = r->spread;
}

/* Fills t from a finished run: its winner, the time of its first trial (the session's schedule),
 * and the failures.  The winner is the last final, or a faster trial after a final, if a settled
 * run was resumed. */
static bool answer(struct tuning *t, struct inquiry *q, struct err *e)
{
    const struct record_run *run = q->finished;
    struct record_filter f = { .run = run->id };
    const struct record *rec;
    int n;
    bool ended = false;
    if (!records_list(q->records, &f, t->mem, &rec, &n, e))
        return false;
    t->answered = true;
    t->answered_date = arena_strdup(t->mem, run->ended);
    t->resumed = -1;
    memcpy(t->run, run->id, RUN_ID);
    t->strategy = arena_strdup(t->mem, run->strategy);
    t->seed = run->seed;
    t->budget = (int)run->budget;
    t->end = run->state == RUN_SETTLED ? SEARCH_SETTLED : SEARCH_BUDGET;
    for (int i = 0; i < n; i++) {
        const struct record *r = &rec[i];
        double ms = t->simulated ? r->simulated_ms : r->min_ms;
        bool final = streq(r->strategy, "final"), right = r->outcome == OUTCOME_OK;
        if (final || (ended && right && ms < t->best_ms))
            take_winner(t, r);
        ended = ended || final;
        if (final)
            continue;
        t->trials++;
        if (!right)
            t->failed[r->outcome]++;
        else if (r->trial == 1)
            t->start_ms = ms;
    }
    t->is_start = isfinite(t->best_ms) && won_by_session(t, q);
    t->speedup = speedup_of(t);
    return true;
}

bool tuning_open(const struct session *s, const struct tuning_opts *o,
                 const struct search_sink *view, struct cancel *cancel, struct inquiry **out,
                 struct err *e)
{
    struct inquiry *q = xcalloc(1, sizeof *q);
    struct tuning *t = q->t = xcalloc(1, sizeof *t);
    q->opts = *o;
    q->view = view;
    q->cancel = cancel;
    q->data_seed = o->measure.seed;
    q->mem = t->mem = arena_new();
    q->scratch = arena_new();
    t->note = t->other_contract = "";
    t->start_ms = t->best_ms = INFINITY;
    t->spread = NAN;
    bool ok = tuning_ask(q, s, o, e) && records_open(o->records, &q->records, e);
    if (ok) {
        t->spec = q->spec;
        t->simulated = o->simulated ? arena_strdup(t->mem, tuning_gpu(o)->name) : NULL;
        t->isa = q->target->isa;
        t->threads = q->threads;
        t->records_file = arena_strdup(t->mem, records_file(q->records));
        ok = find_runs(q, o, e);
    }
    if (ok && q->finished && !o->fresh && (o->study || !(o->resume && q->stopped)))
        ok = answer(t, q, e);
    else if (ok)
        ok = start_run(t, q, o, e) && open_search(q, e);
    if (ok)
        *out = q;
    else
        tuning_drop(q);
    return ok;
}

bool tuning_go(struct inquiry *q, int trials, double time_s, struct err *e)
{
    if (q->t->answered)
        return true;
    q->search.budget = trials < q->t->budget ? trials : q->t->budget;
    q->search.time_s = time_s;
    bool ok = tune_go(q->t->result, e) && !q->lost;
    if (q->lost)
        *e = q->why_lost;
    return ok;
}

const struct tune_result *tuning_now(const struct inquiry *q)
{
    return q->t->result;
}

static void free_inquiry(struct inquiry *q)
{
    records_close(q->records);
    arena_free(q->scratch);
    free(q);
}

void tuning_drop(struct inquiry *q)
{
    if (!q)
        return;
    struct tuning *t = q->t;
    if (!t->answered)
        stop_run(q);
    free_inquiry(q);
    tuning_free(t);
}

/* Notes in which layouts the winner's inputs and outputs differ from those of the session. */
static void note_contract(struct tuning *t, const struct inquiry *q)
{
    const struct program *was, *now;
    struct str text = {0};
    struct err ignored;
    int bad;
    if (isfinite(t->best_ms) && !t->is_start
        && program_replay(t->mem, q->spec, q->schedule[0].line, q->schedule[0].n, &was, &bad,
                          &ignored)
        && program_replay(t->mem, q->spec, t->line, t->n_lines, &now, &bad, &ignored))
        contract_difference(&text, now, was);
    t->other_contract = arena_strdup(t->mem, str_text(&text));
    str_free(&text);
}

bool tuning_close(struct inquiry *q, double compare_s, struct tuning **out, struct err *e)
{
    struct tuning *t = q->t;
    bool ok = true;
    q->search.compare_s = compare_s;
    if (!t->answered) {
        ok = tune_end(t->result, e);
        if (ok)
            take_result(t);
        ok = ok && end_run(t, q, e);
        if (!ok)
            stop_run(q);
    }
    if (ok)
        note_contract(t, q);
    free_inquiry(q);
    if (ok)
        *out = t;
    else
        tuning_free(t);
    return ok;
}

bool tuning_run(const struct session *s, const struct tuning_opts *o,
                const struct search_sink *view, struct cancel *cancel, struct tuning **out,
                struct err *e)
{
    struct inquiry *q;
    if (!tuning_open(s, o, view, cancel, &q, e))
        return false;
    if (tuning_go(q, q->t->budget, o->time_s, e))
        return tuning_close(q, 0, out, e);
    tuning_drop(q);
    return false;
}

bool tuning_stopped(const struct session *s, const struct tuning_opts *o,
                    struct tuning_stopped *out)
{
    struct inquiry q = { .mem = arena_new() };
    struct err ignored;
    bool found = tuning_ask(&q, s, o, &ignored)
              && records_open_reading(o->records, &q.records, &ignored)
              && find_runs(&q, o, &ignored) && q.stopped;
    if (found)
        *out = (struct tuning_stopped){
            /* the final of a settled run is a record, but no trial */
            (int)q.stopped->n_records - (q.stopped->state == RUN_SETTLED),
            (int)q.stopped->budget, q.stopped->best_ms,
        };
    records_close(q.records);
    arena_free(q.mem);
    return found;
}

void tuning_free(struct tuning *t)
{
    if (!t)
        return;
    tune_free(t->result);
    arena_free(t->mem);
    free(t);
}
