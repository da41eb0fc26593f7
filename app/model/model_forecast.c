/* Predictions of cache misses and times: for the step on the prompt, the state under the cursor of
 * the ledger, and the steps in the menu.  A job computes them, so that no key waits. */
#include "app/model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "app/ui/text.h"
#include "profile/machine/roofline.h"
#include "profile/measure/predict.h"

#define MOST_FORESEEN 64                  /* most lines of one job */
#define MOST_TRIES 2  /* most tries of a line; the first can fail because the machine is busy */
/* A prediction from a sample with at least this standard error is called rough.  A sample of short
 * pieces can be wrong by several of these errors, because the cache is too cold there. */
#define ROUGH 0.03
#define UNCLEAR 0.3  /* a change up to this share is not told if a prediction is rough */
#define PATIENCE 10                       /* factor for the time limit of the second try */

void model_forecast_forget(struct model *m)
{
    for (int i = 0; i < m->foreseen.rows.len; i++)
        free(m->foreseen.rows.data[i].line);
    vec_free(&m->foreseen.rows);
}

static const struct foreseen *find(const struct model *m, int state, const char *line)
{
    for (int i = 0; i < m->foreseen.rows.len && m->foreseen.stamp == m->stamp; i++) {
        const struct foreseen *r = &m->foreseen.rows.data[i];
        if (r->state == state && streq(r->line, line))
            return r;
    }
    return NULL;
}

/* Returns the state under the cursor of the ledger.  -1: the ledger does not have the focus, there
 * is no state, its misses were simulated, or its step is held and has no effect. */
static int chosen_state(const struct model *m)
{
    const struct line *l = doc_at(&m->pane[DOC_LEDGER].doc, &m->pane[DOC_LEDGER].scroll);
    const struct history *h = m->session->history;
    int n, at;
    const int *path = history_path(h, history_branch_index(h), &n, &at);
    if (m->focus != PANE_LEDGER || !l || l->id < 0 || l->id >= n)
        return -1;
    const struct state *s = history_state(h, path[l->id]);
    return s->held || (s->measured && s->measured->sim.available) ? -1 : s->id;
}

/* Lists the steps whose predictions the screen shows, and sets *state to the state in which they
 * would be applied.  A line "" stands for that state itself.  Returns the number of lines, at most
 * max. */
static int wanted(const struct model *m, int *state, const char **line, int max)
{
    int n = 0;
    *state = history_current(m->session->history)->id;
    if (m->preview.program) {
        line[n++] = str_text(&m->preview.line);
    } else if (m->overlay == OVERLAY_HELP && m->help_menu) {
        for (int i = 0; i < m->menu.len && n < max; i++)
            if (m->menu.data[i].line)
                line[n++] = m->menu.data[i].line;
    } else if (m->overlay == OVERLAY_NONE && chosen_state(m) >= 0) {
        *state = chosen_state(m);
        line[n++] = "";
    }
    return n;
}

/* Whether prediction r will not change any more.  False for NULL: there is none yet. */
static bool is_final(const struct foreseen *r)
{
    return r && ((r->after.ok && r->now.ok) || r->after.why[0] || r->tries >= MOST_TRIES);
}

/* Lists the lines to predict next: those that were not tried yet; if there are none, those whose
 * first try failed.  *tries: number of this try, from 1.  Returns the number of lines. */
static int due(const struct model *m, int *state, const char **line, int *tries)
{
    int n = wanted(m, state, line, MOST_FORESEEN), kept = 0;
    for (*tries = 0; *tries < MOST_TRIES && kept == 0; ++*tries)
        for (int i = 0; i < n; i++) {
            const struct foreseen *r = find(m, *state, line[i]);
            if (!is_final(r) && (r ? r->tries : 0) == *tries)
                line[kept++] = line[i];
        }
    return kept;
}

bool model_desired_forecast(const struct model *m, int *state)
{
    const char *line[MOST_FORESEEN];
    int tries;
    return due(m, state, line, &tries) > 0;
}

void model_forecast_job(const struct model *m, struct app_job *j)
{
    const char *line[MOST_FORESEEN];
    int state, tries, n = due(m, &state, line, &tries);
    for (int i = 0; i < n; i++)
        str_printf(&j->text, "%s" JOB_END_ROW, line[i]);
    if (m->preview.program)
        j->other = job_recipe(m->preview.program);
    j->patience = tries > 1 ? PATIENCE : 1;
    j->stamp = m->stamp;
}

/* Stores the prediction of a line, or with line "" of the state itself.  Replaces the prediction of
 * an earlier try. */
static void add_row(struct model *m, const struct forecast *after, const struct forecast *now,
                    int state)
{
    struct foreseen *r = (struct foreseen *)find(m, state, after->line);
    if (!r) {
        vec_push(&m->foreseen.rows, ((struct foreseen){ .state = state,
                                                        .line = xstrdup(after->line) }));
        r = &m->foreseen.rows.data[m->foreseen.rows.len - 1];
    }
    r->tries++;
    r->after = after->line[0] ? *after : *now;
    r->now = *now;
}

void model_forecast(struct model *m, const struct app_job *j, int state)
{
    struct foreseeing *f = &m->foreseen;
    if ((!j->ok && j->e.code == ERR_CANCEL) || j->stamp != m->stamp)
        return;
    if (f->stamp != m->stamp)
        model_forecast_forget(m);
    f->stamp = m->stamp;
    model_find_roofs(m);
    for (int i = 0; i < j->n_cures; i++)
        add_row(m, &j->cure[i], &j->now, state);
}

static bool is_rough(const struct forecast *f)
{
    return f->misses.error >= ROUGH;
}

/* Returns the misses of the state of r: those on the screen if they were simulated for the cache in
 * use, else the predicted ones; 0: unknown.  *rough: whether they are roughly predicted. */
static double misses_now(const struct model *m, const struct foreseen *r, bool *rough)
{
    const struct measurement *is = history_state(m->session->history, r->state)->measured;
    struct cache_config cache = predict_cache(&m->set.cache);
    bool has = is && is->sim.available && cache_config_same_l1(&is->sim.cache, &cache);
    *rough = has ? is->sim.error >= ROUGH : r->now.ok && is_rough(&r->now);
    return has ? (double)is->sim.l1_misses : r->now.ok ? (double)r->now.misses.l1_misses : 0;
}

/* Appends the separator and the change of the misses, such as "-94 %".  If it is rough: "about
 * -94 %", or for a small one `unclear`; NULL: nothing.  Appends nothing if the misses without the
 * step are unknown or 0. */
static void add_change(const struct model *m, struct str *out, const char *separator,
                       const struct foreseen *r, const char *unclear)
{
    bool rough;
    double now = misses_now(m, r, &rough);
    if (now <= 0)
        return;
    double change = (double)r->after.misses.l1_misses / now - 1;
    rough = rough || is_rough(&r->after);
    if (rough && fabs(change) < UNCLEAR) {
        if (unclear)
            str_printf(out, "%s%s", separator, unclear);
        return;
    }
    str_printf(out, "%s%s", separator, rough ? "about " : "");
    text_change(out, change);
}

/* Returns the predicted milliseconds; 0: unknown (model_forecast_has_time, forecast_ms). */
static double predicted_ms(const struct model *m, const struct forecast *f)
{
    return model_forecast_has_time(m) ? forecast_ms(f, m->roofs.model, m->set.target) : 0;
}

/* Returns the relative change of the predicted time from `now` to `after`: -0.5 is half the time.
 * NAN: one of the two times is unknown, or `now` is NULL. */
static double time_change(const struct model *m, const struct forecast *after,
                          const struct forecast *now)
{
    double ms = predicted_ms(m, after), was = now && now->ok ? predicted_ms(m, now) : 0;
    return ms > 0 && was > 0 ? ms / was - 1 : NAN;
}

bool model_forecast_has_time(const struct model *m)
{
    const struct target *t = target_or_host(m->set.target);
    bool own_cache = m->set.cache.n_levels == 0;          /* the misses are of this machine */
    return m->roofs.model && m->threads <= 1 && !t->gpu && own_cache
        && roofline_predict_ms(m->roofs.model, t->isa, (struct gen_cycles){ 1, 1 }, 1) > 0;
}

void model_forecast_brief(const struct model *m, const char *line, struct str *out)
{
    const struct foreseen *r = find(m, history_current(m->session->history)->id, line);
    double change = r && r->after.ok ? time_change(m, &r->after, &r->now) : NAN;
    if (isfinite(change)) {
        str_add(out, "time ");
        text_time_change(out, change);
        str_add(out, ", ");
    }
    if (r && r->after.ok && r->now.ok) {
        str_add(out, "misses");
        add_change(m, out, " ", r, "about the same");
    } else if (!is_final(r)) {
        str_add(out, "misses …");
    } else if (r->after.ok) {
        text_count(out, r->after.misses.l1_misses);
        str_add(out, " misses");
    } else {
        str_add(out, "not predicted");
    }
}

/* Whether prediction x is better than prediction y; one that spills a tile, or takes it out of the
 * registers, is worse than one that does not.  NULL stands for a missing prediction. */
static bool is_better(const struct model *m, const struct foreseen *x, const struct foreseen *y)
{
    if (!x || !y || !x->after.ok || !y->after.ok)
        return x && x->after.ok && !(y && y->after.ok);
    bool costs = x->after.tile != TILE_STAYS, other_costs = y->after.tile != TILE_STAYS;
    if (costs != other_costs)
        return !costs;
    double ms = predicted_ms(m, &x->after), other_ms = predicted_ms(m, &y->after);
    if ((ms > 0) != (other_ms > 0))
        return ms > 0;
    return ms != other_ms ? ms < other_ms
                          : x->after.misses.l1_misses < y->after.misses.l1_misses;
}

bool model_forecast_before(const struct model *m, const char *line, const char *other)
{
    int state = history_current(m->session->history)->id;
    return is_better(m, line ? find(m, state, line) : NULL, other ? find(m, state, other) : NULL);
}

/* Appends the change of the time from `now`, such as "; time about -91 %".  If `now` is NULL or its
 * time is unknown, appends the time, such as "; about 0.26 ms".  Appends nothing if that is
 * unknown, too, but says so if a spill is the reason.  timed: the measurement of `now`, by
 * which the change is bounded (forecast_bounded); NULL: it is not. */
static void add_time(const struct model *m, const struct forecast *after,
                     const struct forecast *now, const struct measurement *timed,
                     struct str *out)
{
    double ms = predicted_ms(m, after), change = time_change(m, after, now);
    change = forecast_bounded(change, timed, m->set.target);
    if (after->tile == TILE_SPILLS && model_forecast_has_time(m))
        str_add(out, "; no time is predicted, since a tile spills");
    if (isfinite(change)) {
        str_add(out, "; ");
        text_about_time(out, change);
    } else if (ms > 0) {
        str_add(out, "; about ");
        text_ms(out, ms);
    }
}

void model_forecast_print(const struct model *m, const char *line, struct str *out)
{
    int state = line[0] ? history_current(m->session->history)->id : chosen_state(m);
    if (state < 0)
        return;
    const struct foreseen *r = find(m, state, line);
    const struct measurement *timed = history_state(m->session->history, state)->measured;
    if (!r || !r->after.ok) {
        str_add(out, !is_final(r) ? "predicted …" : "not predicted: ");
        if (is_final(r))
            str_add(out, r->after.why[0] ? r->after.why : "that takes too long");
        return;
    }
    str_add(out, is_rough(&r->after) ? "predicted roughly " : "predicted ");
    text_count(out, r->after.misses.l1_misses);
    str_add(out, " L1 misses");
    if (line[0])
        add_change(m, out, ", ", r, NULL);
    /* an algorithm changes the number of FLOPs */
    bool bounded = line[0] && !strstr(line, "algorithm");
    if (line[0] || !timed || timed->latency.runs == 0)
        add_time(m, &r->after, line[0] ? &r->now : NULL, bounded ? timed : NULL, out);
}
