/* The background jobs of the model: decides which jobs should run, and takes over their results. */
#include "app/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app/ui/text.h"
#include "sessions/file/machine_file.h"
#include "sessions/report/roofline_steps.h"
#include "kernels/program/contract.h"
#include "profile/measure/gpu_memory.h"
#include "profile/measure/program_text.h"

/* The low 20 bits of the tag of a job on a session are the number of a state, a search or a
 * comparison, so this is the most states of a session. */
#define STATES_MAX (1 << 20)

/* Returns the tag of a job on the open session.  state: number of a state, search or comparison. */
static int tag_of(const struct model *m, int state)
{
    return (m->generation % 1000) * STATES_MAX + state;
}

bool model_desired_tuning(const struct model *m, struct desired_job *out)
{
    if (!m->session || (m->network && m->network->tune_wanted))
        return model_desired_network(m, LANE_TUNE, out);
    *out = (struct desired_job){ JOB_TUNE, tag_of(m, m->tuner.number % STATES_MAX) };
    return m->tuner.out && m->tuner.wanted;
}

int model_tag(const struct model *m)
{
    return m->session ? tag_of(m, history_current(m->session->history)->id) : -1;
}

/* Returns the first state of the current branch to measure: one that is not measured and whose step
 * is not held (a held step has no effect).  -1: there is none. */
static int first_unmeasured(const struct history *h)
{
    int n, at;
    const int *path = history_path(h, history_branch_index(h), &n, &at);
    for (int i = 0; i < n; i++)
        if (!history_state(h, path[i])->measured && !history_state(h, path[i])->held)
            return path[i];
    return -1;
}

/* Returns the last state that the user left before it was measured (m->late), if it precedes the
 * current state and steps are measured automatically.  -1: there is none. */
static int late_state(const struct model *m)
{
    const struct history *h = m->session->history;
    for (int i = m->late.len - 1; i >= 0 && m->autorun; i--)
        for (int id = history_current(h)->parent; id >= 0; id = history_state(h, id)->parent)
            if (id == m->late.data[i] && !history_state(h, id)->measured)
                return id;
    return -1;
}

int model_measuring(const struct model *m)
{
    struct desired_job w;
    bool measuring = model_desired_job(m, LANE_MEASURE, &w) && w.kind == JOB_MEASURE;
    return measuring ? w.tag % STATES_MAX : -1;
}

static bool view_shown(const struct model *m, enum view v)
{
    for (int p = PANE_MAIN; p <= PANE_SIDE; p++)
        if (m->frame.pane[p].h > 0 && m->view[p] == v)
            return true;
    return false;
}

void model_find_roofs(struct model *m)
{
    struct machine here;
    struct machine_model found;
    struct err why;
    if (m->roofs.looked)
        return;
    m->roofs.looked = true;
    machine_read(&here);
    if (!machine_file_load(&here, &found, &why))
        return;
    m->roofs.model = xmalloc(sizeof found);
    *m->roofs.model = found;
}

bool model_wants_roofs(const struct model *m)
{
    const struct roofs *r = &m->roofs;
    return m->session && r->wanted && !r->model && !r->failed && !r->stopped
        && roofline_steps(m->session->history, NULL, NULL, 0) > 0;
}

static void took_roofs(struct model *m, struct app_job *j)
{
    if (!j->ok && j->e.code == ERR_CANCEL)
        return;
    m->roofs.failed = !j->ok;
    if (j->ok) {
        free(m->roofs.model);
        m->roofs.model = j->model;
        j->model = NULL;
    } else {
        snprintf(m->roofs.why, sizeof m->roofs.why, "%.159s", j->e.text);
    }
}

/* Whether a search runs and is not paused.  Another measurement or a simulation would disturb
 * it. */
static bool search_runs(const struct model *m)
{
    return (m->tuner.out && !model_tune_waits(m)) || model_network_searches(m);
}

/* Finds the next measurement; false: there is none.  The order is: a comparison that the user has
 * asked for; the current state; with measure_all, the other states of the branch; the machine
 * model, if a view waits for it; the states that the user has left before they were measured. */
static bool desired_measurement(const struct model *m, struct desired_job *out)
{
    int state = m->measure_all ? first_unmeasured(m->session->history) : late_state(m);
    *out = (struct desired_job){ m->marking.job, tag_of(m, m->marking.number) };
    if (m->marking.wanted)
        return true;
    *out = (struct desired_job){ JOB_MACHINE, tag_of(m, 0) };
    if (model_wants_roofs(m) && !m->measure_wanted && !(m->measure_all && state >= 0))
        return true;
    if (m->measure_wanted)
        *out = (struct desired_job){ JOB_MEASURE, model_tag(m) };
    else if (state >= 0)
        *out = (struct desired_job){ JOB_MEASURE, tag_of(m, state) };
    return m->measure_wanted || state >= 0;
}

bool model_desired_job(const struct model *m, enum job_lane lane, struct desired_job *out)
{
    if (m->opening.len > 0 && lane == LANE_TEXT) {
        *out = (struct desired_job){ JOB_OPEN, m->openings };
        return true;
    }
    if (lane == LANE_TUNE)
        return model_desired_tuning(m, out);
    if (lane == LANE_MEASURE && search_runs(m))
        return false;
    if (!m->session)
        return model_desired_network(m, lane, out);
    out->tag = model_tag(m);
    if (lane == LANE_MEASURE)
        return desired_measurement(m, out);
    for (int v = 0; v < VIEW_COUNT; v++) {
        if (view_shown(m, (enum view)v) && !model_code_is_current(m, (enum view)v)) {
            out->kind = (enum job_kind)(JOB_C + model_code((enum view)v));
            return true;
        }
    }
    int state;
    out->kind = JOB_STOPPED;
    if (model_tune_asks(m))
        return true;
    if (model_desired_forecast(m, &state)) {
        *out = (struct desired_job){ JOB_FORECAST, tag_of(m, state) };
        return true;
    }
    out->kind = model_lens_fits(m) ? JOB_CURES : JOB_LENS;
    return view_shown(m, VIEW_LENS) && model_lens_is_due(m)
        && !model_wants_measuring(m) && !search_runs(m);
}

bool model_wants_measuring(const struct model *m)
{
    return m->session && (m->measure_wanted || m->marking.wanted || model_wants_roofs(m) ||
                          (m->measure_all && first_unmeasured(m->session->history) >= 0));
}

struct app_job *model_job(const struct model *m, const struct desired_job *w)
{
    if (w->kind == JOB_OPEN)
        return job_new(JOB_OPEN, str_text(&m->opening), w->tag, 1);
    if (job_info[w->kind].group == JOBS_NETWORK)
        return model_network_job(m, w);
    bool compares = job_info[w->kind].group == JOBS_MARK;
    int state = compares ? m->marking.to
              : w->kind == JOB_TUNE ? m->tuner.state : w->tag % STATES_MAX;
    char *recipe = job_recipe(history_state(m->session->history, state)->program);
    struct app_job *j = job_new(w->kind, recipe, w->tag, m->threads);
    j->baselines = m->baselines;
    j->set = m->set;
    j->lens_from = m->lensing.from;
    if (w->kind == JOB_FORECAST)
        model_forecast_job(m, j);
    if (w->kind == JOB_CURES)
        model_cures_job(m, j);
    if (w->kind == JOB_TUNE)
        model_tune_job(m, j);
    if (w->kind == JOB_STOPPED)
        model_stopped_job(m, j);
    if (compares)
        model_compare_job(m, j);
    free(recipe);
    return j;
}

/* Returns what to do after a measurement that failed: usually, to undo the step. */
static const char *fix_of(const struct model *m, const struct measurement *r)
{
    if (r->outcome == OUTCOME_ILL)
        return "keep values within what float32 and the functions take: a const value=, abs(x)";
    return history_current(m->session->history)->step[0] ? "u undoes the step" : "";
}

/* Appends why a correct kernel was not timed.  If it was simulated on a GPU, also says the least
 * time that the simulation predicts. */
static void put_untimed(const struct measurement *r, struct str *out)
{
    if (gpu_memory_untimed_ms(r) > 0) {
        str_add(out, "at least ");
        text_ms(out, gpu_memory_untimed_ms(r));
        str_printf(out, ", simulated on %s; ", r->sim.gpu);
    }
    str_printf(out, "the result is correct; not timed: %s",
               r->device.reason[0] ? r->device.reason : "there is no time without the clock");
}

/* Adds the result of a measurement to a message that stays, in the place of an earlier result. */
static void add_result(struct message *said, const char *result)
{
    said->own = said->own ? said->own : said->text.len;
    said->text.len = said->own;
    str_printf(&said->text, "; %s", result);
}

/* Appends what the time of the current state changes: after the change of a past step, against the
 * state before that change if it was timed in the same way; else against the row of the ledger that
 * it is compared with. */
static void put_change(const struct model *m, const struct measurement *r, struct str *out)
{
    const struct history *h = m->session->history;
    bool changed = m->message.of_change && m->came.to == history_current(h)->id;
    const struct measurement *before = changed ? history_state(h, m->came.from)->measured : NULL;
    if (before && before->outcome == OUTCOME_OK && before->latency.runs > 0
        && measurement_same_way(before, r)) {
        str_add(out, ", by this change ");
        text_change(out, r->latency.min_ms / before->latency.min_ms - 1);
        return;
    }
    int n;
    struct ledger_row *rows = model_ledger(m, &n);
    for (int i = 0; i < n; i++)
        if (rows[i].here && rows[i].has_change) {
            str_add(out, ", change ");
            text_change(out, rows[i].change);
        }
    free(rows);
}

/* Appends the time of the current state, and what it changes.  stays: whether an earlier, faster
 * time is kept instead of the new one. */
static void put_timed(struct model *m, const struct measurement *r, bool stays, struct str *out)
{
    str_add(out, "measured: best ");
    text_ms(out, r->latency.min_ms);
    if (stays) {
        str_add(out, "; the earlier ");
        text_ms(out, history_current(m->session->history)->measured->latency.min_ms);
        str_add(out, " stays (:measure_fresh replaces it)");
    }
    if (r->threads > 1)
        str_printf(out, " with %d threads", r->threads);
    if (!stays)
        put_change(m, r, out);
    str_add(out, r->verified ? "; the result is correct" : "");
}

/* Shows the result of a measurement of the current state, unless the prompt or another message has
 * priority.  stays: as for put_timed. */
static void say_measured(struct model *m, const struct measurement *r, bool stays)
{
    bool right = r->outcome == OUTCOME_OK;
    if (m->message.kind == MESSAGE_ERROR || m->prompt.open)
        return;
    if (!right) {
        str_clear(&m->message.echo);
        model_say_error(m, r->reason[0] ? r->reason : outcome_name[r->outcome],
                        fix_of(m, r));
        return;
    }
    struct str s = {0};
    if (r->latency.runs == 0)
        put_untimed(r, &s);
    else
        put_timed(m, r, stays, &s);
    if (m->message.stays) {
        add_result(&m->message, str_text(&s));
        str_free(&s);
        return;
    }
    size_t plain = s.len;
    if (r->latency.runs > 0)
        model_note(m, &s);
    str_clear(&m->message.echo);
    model_info(m, "%s", str_text(&s));
    bool fades = r->latency.runs > 0 && s.len == plain && !stays;
    m->message.fades = fades ? FADE_TICKS : 0;
    str_free(&s);
}

int model_measured_here(struct model *m)
{
    m->session->numbers = true;
    return session_measured_here(m->session);
}

static void measured(struct model *m, const struct app_job *j)
{
    int state = j->tag % STATES_MAX;
    bool current = j->tag == model_tag(m);
    if (!j->ok && j->e.code == ERR_CANCEL)
        return;
    if (current)
        m->measure_wanted = false;
    if (!j->ok) {
        m->autorun = m->measure_all = false;
        model_error(m, &j->e);
        str_printf(&m->message.fix, "%smeasuring is off now; A turns it on again",
                   m->message.fix.len ? "; " : "");
        return;
    }
    struct str cores = {0};
    session_cores_note(m->session, &cores);
    int other = model_measured_here(m);
    bool stays = history_add_measured(m->session->history, state, &j->m, m->newest && current);
    const struct measurement *now = history_state(m->session->history, state)->measured;
    bool dropped = j->m.latency.runs == 0 && now->latency.runs > 0
                && !measurement_same_way(now, &j->m);
    m->newest = m->newest && !current;
    model_keep_safe(m);
    const struct measurement *here = history_current(m->session->history)->measured;
    if (current && dropped)
        model_info(m, "this measurement has no time, so the older one stays; :measure_fresh "
                   "replaces it");
    else if (current)
        say_measured(m, &j->m, stays);
    else if (here && m->message.kind == MESSAGE_INFO
             && (m->message.own > 0 || str_starts(str_text(&m->message.text), "measured: best")))
        say_measured(m, here, false);    /* again: the message may name a change from j's state */
    if (other > 0)
        model_info(m, "measured here: the numbers of another machine are gone (%d step%s)", other,
                   other == 1 ? "" : "s");
    if (cores.len > 0)
        model_info(m, "measured here: %s", str_text(&cores));
    str_free(&cores);
    if (m->measure_all && first_unmeasured(m->session->history) < 0) {
        m->measure_all = false;
        model_info(m, "every step has its numbers");
    }
}

/* Sets c->used. */
static void find_used(struct code_text *c)
{
    c->used = c->mem ? ARENA_ARRAY(c->mem, bool, c->lines.n_loops) : NULL;
    for (int i = 0; i < c->lines.n; i++)
        for (int k = c->lines.of[i]; k >= 0 && !c->used[k]; k = c->lines.loop[k].parent)
            c->used[k] = true;
}

static void coded(struct model *m, struct app_job *j)
{
    struct code_text *c = &m->code[j->kind - JOB_C];
    if (!j->ok && j->e.code == ERR_CANCEL)
        return;
    str_clear(&c->text);
    c->have = true;
    c->made++;
    c->failed = !j->ok;
    c->tag = j->tag;
    arena_free(c->mem);
    c->mem = j->mem;
    c->lines = j->ok ? j->lines : (struct code_lines){0};
    j->mem = NULL;
    find_used(c);
    c->ports = j->ports;
    if (j->ok)
        str_add(&c->text, str_text(&j->text));
    else
        str_printf(&c->text, "%s\n%s%s", j->e.text, j->e.fix[0] ? "Fix: " : "", j->e.fix);
}

void model_done(struct model *m, struct app_job *j)
{
    if (j->kind == JOB_OPEN)
        model_opened(m, j);
    else if (job_info[j->kind].group == JOBS_NETWORK)
        model_networked(m, j);
    else if (!m->session || j->tag / STATES_MAX != m->generation % 1000)
        return;
    else if (j->kind == JOB_MEASURE)
        measured(m, j);
    else if (job_info[j->kind].group == JOBS_MARK)
        model_compared(m, j, j->tag % STATES_MAX);
    else if (j->kind == JOB_FORECAST)
        model_forecast(m, j, j->tag % STATES_MAX);
    else if (j->kind == JOB_LENS)
        model_lensed(m, j);
    else if (j->kind == JOB_CURES)
        model_cured(m, j);
    else if (j->kind == JOB_MACHINE)
        took_roofs(m, j);
    else if (j->kind == JOB_STOPPED)
        model_stopped(m, j);
    else if (j->kind == JOB_TUNE)
        model_tuned(m, j);
    else
        coded(m, j);
    m->data_stamp++;
}

void model_tick(struct model *m)
{
    m->spin++;
    if (m->message.fades > 0 && --m->message.fades == 0)
        model_clear_message(m);
}
