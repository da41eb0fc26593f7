/* Measures a batch: replays known candidates, measures the rest, and reports all to the strategy,
 * the model and the sink. */
#include "explorer/tune/search_impl.h"

#include <math.h>
#include <string.h>

bool search_settled(const struct search *s)
{
    int before = s->trial.len - SETTLE_TRIALS;   /* number of trials before the last ones */
    double was = INFINITY;
    if (s->o.settle_s <= 0 || s->strategy->ordered || s->stage != STAGE_LOOPS ||
        before < s->loops_from || clock_s() - s->began_s < s->o.settle_s)
        return false;
    for (int i = 0; i < before; i++)
        if (s->trial.data[i]->outcome == OUTCOME_OK)
            was = fmin(was, s->trial.data[i]->ms);
    return isfinite(was) && s->best_ms > (1 - SETTLE_GAIN) * was;
}

bool search_should_stop(const struct search *s)
{
    return cancelled(s->cancel) || s->stop_env || search_settled(s) ||
           (s->o.time_s > 0 && clock_s() - s->limit_from_s >= s->o.time_s);
}

/* Copies a candidate from the pool into memory that lives as long as the search. */
static struct tune_candidate *keep(struct search *s, const struct tune_candidate *from)
{
    struct tune_candidate *c = arena_copy(s->keep, from, sizeof *c);
    const char **line = ARENA_ARRAY(s->keep, const char *, c->n_lines);
    for (int i = 0; i < c->n_lines; i++)
        line[i] = arena_strdup(s->keep, from->line[i]);
    c->line = line;
    c->text = arena_strdup(s->keep, from->text);
    if (from->point)
        c->point = arena_copy(s->keep, from->point, s->p->point_bytes);
    return c;
}

/* Whether a candidate was really measured: the measurement was not cancelled, and the environment
 * did not prevent it, for example by killing the compiler. */
static bool is_done(const struct tune_candidate *c)
{
    return c->outcome != OUTCOME_NONE && c->outcome != OUTCOME_CANCEL &&
           c->outcome != OUTCOME_ENV;
}

/* Notes the end of a candidate's measurement.  A candidate that was not measured gets no trial
 * number: the later ones of the batch move up. */
static void note_measured(void *ctx, struct tune_candidate *c)
{
    struct search *s = ctx;
    if (c->outcome != OUTCOME_OK)
        c->ms = INFINITY;
    c->reason = c->reason && c->reason[0] ? arena_strdup(s->keep, c->reason) : "";
    c->trial -= s->missing;
    if (!is_done(c))
        s->missing++;
    else if (s->sink.measured)
        s->sink.measured(s->sink.ctx, c);
}

static void count(struct search *s, struct tune_candidate *c)
{
    struct arm_state *arm = &s->arm.data[c->arm];
    struct tune_arm *shown = &s->arm_view.data[c->arm];
    int index = c->trial = s->trial.len;
    vec_push(&s->trial, c);
    vec_push(&arm->tried, c);
    text_set_add(&s->measured, c);
    shown->trials++;
    s->replayed += c->replayed;
    if (c->outcome != OUTCOME_OK)
        s->failed[c->outcome]++;
    shown->ok += c->outcome == OUTCOME_OK;
    if (c->ms < shown->best_ms) {
        shown->best_ms = c->ms;
        shown->best = index;
    }
    if (c->ms < s->best_ms) {
        s->best_ms = c->ms;
        s->best = index;
    }
    c->best_ms = s->best_ms;
}

static bool measure_unknown(struct search *s, struct tune_candidate **c, int n, struct err *e)
{
    struct tune_candidate *todo[TUNE_TOP];
    int n_todo = 0;
    for (int i = 0; i < n; i++) {
        if (s->sink.known && s->sink.known(s->sink.ctx, c[i])) {
            c[i]->replayed = true;
            note_measured(s, c[i]);
        } else {
            todo[n_todo++] = c[i];
        }
    }
    double began = clock_s();
    if (n_todo == 0)                     /* replayed candidates do not count for the time limit */
        s->limit_from_s = began;
    bool ok = n_todo == 0 ||
              s->p->measure(s->p->ctx, todo, n_todo, note_measured, s, s->cancel, e);
    s->measure_wall_s += clock_s() - began;
    return ok;
}

/* Tells the strategy the results arm by arm, because a batch of seeds can have several arms. */
static void tell(struct search *s, struct tune_candidate *const *c, int n)
{
    for (int from = 0, i = 1; s->strategy->learn && from < n; i++)
        if (i == n || c[i]->arm != c[from]->arm) {
            s->strategy->learn(s, s->state, c[from]->arm, c + from, i - from);
            from = i;
        }
}

bool search_measure(struct search *s, struct tune_candidate **c, int n, struct err *e)
{
    struct tune_candidate *kept[TUNE_TOP], *done[TUNE_TOP];
    int n_done = 0;
    s->missing = 0;
    search_show(s, "measuring");
    for (int i = 0; i < n; i++) {
        kept[i] = keep(s, c[i]);
        kept[i]->trial = s->trial.len + i;
        kept[i]->stage = s->stage;
    }
    bool ok = measure_unknown(s, kept, n, e);
    if (ok && s->missing > 0 && s->trial.len == 0 && kept[0]->outcome == OUTCOME_ENV)
        /* the first seed failed, so others have nothing to be compared with */
        ok = err_set(e, ERR_ENV, "%s", kept[0]->reason);
    s->stop_env = !ok && !cancelled(s->cancel);
    s->failed[OUTCOME_ENV] += ok ? s->missing : 0;
    for (int i = 0; i < n; i++)
        if (is_done(kept[i])) {
            count(s, kept[i]);
            done[n_done++] = kept[i];
        }
    s->stage_done += n_done;
    search_show(s, "learning");
    double began = clock_s();
    if (s->p->learn && n_done > 0)
        s->p->learn(s->p->ctx, done, n_done, s->cancel);
    s->model_s += clock_s() - began;
    if (s->p->accuracy)
        s->p->accuracy(s->p->ctx, &s->accuracy);
    for (int i = 0; i < n; i++)
        kept[i]->model = NULL;
    tell(s, done, n_done);
    search_show(s, "searching");
    return ok && !search_should_stop(s);
}
