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
    return m->session && r->wanted && !r->model && !r->failed
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
        int i = model_code((enum view)v);
        bool current = i < 0 || (m->code[i].have && m->code[i].tag == out->tag);
        if (view_shown(m, (enum view)v) && !current) {
            out->kind = (enum job_kind)(JOB_C + i);
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

static bool has_parallel_loop(const struct program *p)
{
    for (int i = 0; i < p->graph->n_nodes; i++)
        for (int a = 0; a < p->stage[i]->n_axes; a++)
            if (p->stage[i]->axis[a].ann == LOOP_PARALLEL && p->stage[i]->axis[a].extent > 1)
                return true;
    return false;
}

void model_threads_note(const struct model *m, struct str *out)
{
    if (m->threads > m->cores)
        str_printf(out, "; %d threads take turns on %d core%s", m->threads, m->cores,
                   m->cores == 1 ? "" : "s");
    if (m->threads > 1 && m->session && !has_parallel_loop(model_program(m)))
        str_add(out, "; one thread does all the work here, for no loop is parallel (p makes one)");
}

/* Appends notes such as "Ker is stored 4.70 times: tiles overlap", for the tensor of the step and
 * for results that can have taken over its layout; or that the tensor is not stored. */
static void note_copies(const struct program *p, const char *step, struct str *out)
{
    const struct graph *g = p->graph;
    if (!str_starts(step, "layout "))
        return;
    int named = program_layout_tensor(g, step);
    if (named >= 0 && program_is_inlined(p, named))
        str_printf(out, "%s%s is computed where it is read (loop inline), so its layout acts only "
                   "after `loop compute_root %s`", out->len ? "; " : "", g->tensor[named].name,
                   g->tensor[named].name);
    for (int t = 0; t < g->n_tensors; t++) {
        const struct layout *l = p->layout[t];
        bool result = g->tensor[t].producer >= g->main_node;
        if (l->klass == LAYOUT_DUPLICATING && l->expansion > 1 && !program_is_inlined(p, t)
            && (result || t == named))
            str_printf(out, "%s%s is stored %.2f times: tiles overlap", out->len ? "; " : "",
                       l->tensor->name, l->expansion);
    }
}

static bool same_layouts(const struct program *p, const struct program *q)
{
    bool same = p->graph->n_tensors == q->graph->n_tensors;
    for (int t = 0; same && t < p->graph->n_tensors; t++) {
        struct str now = {0}, then = {0};
        same = layout_notation(p->layout[t], &now) && layout_notation(q->layout[t], &then)
            && streq(str_text(&now), str_text(&then));
        str_free(&now);
        str_free(&then);
    }
    return same;
}

/* Whether the loops of s are those of `of`, in the same order, with the same annotations. */
static bool same_loops(const struct stage *s, const struct stage *of)
{
    bool same = s && of && s->n_axes == of->n_axes;
    for (int i = 0; same && i < s->n_axes; i++)
        same = streq(s->axis[i].name, of->axis[i].name) && s->axis[i].ann == of->axis[i].ann;
    return same;
}

static bool same_code(const struct program *p, const struct program *q)
{
    struct str now = {0}, then = {0};
    struct err ignored;
    bool openmp;
    const struct target *t = program_text_target(p, NULL);
    bool same = program_text_code(p, t, &now, &openmp, NULL, &ignored)
             && program_text_code(q, t, &then, &openmp, NULL, &ignored)
             && streq(str_text(&now), str_text(&then));
    str_free(&now);
    str_free(&then);
    return same;
}

/* Appends that a setting has no effect yet.  For `set input_layout given`, also names an input of
 * the caller that needs a layout first; a padded copy of an input is no such input. */
static void note_idle_setting(const struct program *p, const char *step, struct str *out)
{
    const struct graph *g = p->graph;
    str_printf(out, "%sso far the setting changes nothing", out->len ? "; " : "");
    if (!str_starts(step, "set input_layout given"))
        return;
    for (int t = 0; t < g->n_tensors; t++)
        if (g->tensor[t].role == TENSOR_INPUT && p->source[t] == LAYOUT_PLAIN) {
            str_printf(out, ": the caller's input %s has no other layout (layout set %s ...)",
                       g->tensor[t].name, g->tensor[t].name);
            return;
        }
}

/* If the step resets the layout of a tensor, and the tensor now takes the layout of another one by
 * propagation, appends a note and returns true. */
static bool note_follower(const struct program *p, const char *step, struct str *out)
{
    int t = str_starts(step, "layout reset ") ? program_layout_tensor(p->graph, step) : -1;
    if (t < 0 || p->source[t] != LAYOUT_PROPAGATED)
        return false;
    const struct tensor *x = &p->graph->tensor[t];
    str_printf(out, "%s%s takes the layout of %s; layout set %s \"", out->len ? "; " : "", x->name,
               p->graph->tensor[p->source_tensor[t]].name, x->name);
    for (int d = 0; d < x->rank; d++)
        str_printf(out, "%s%s", d ? " " : "", x->dim[d]);
    str_add(out, "\" gives it the plain one");
    return true;
}

void model_note_no_change(const struct program *p, const struct program *before, const char *step,
                          struct str *out)
{
    char verb[16], stage[64], loop[64];
    bool marks = history_annotation(step, verb, stage, loop);
    bool reorder = !marks && sscanf(step, "loop reorder %63s", stage) == 1;
    int node = reorder || marks ? program_stage(p, stage) : -1;
    bool layout = str_starts(step, "layout ") && same_layouts(p, before);
    bool loops = node >= 0 && node < before->graph->n_nodes
              && same_loops(p->stage[node], before->stage[node]);
    if (note_follower(p, step, out))
        return;
    if (layout || loops)
        str_printf(out, "%sthe step changes nothing: the %s as before", out->len ? "; " : "",
                   layout ? "layouts are" : marks ? "annotations of the loops are"
                                                  : "order of the loops is");
    else if (str_starts(step, "set ") && same_code(p, before))
        note_idle_setting(p, step, out);
    else if (!marks && !reorder && str_starts(step, "loop ") && same_code(p, before))
        str_printf(out, "%sso far the step changes nothing: the C is as before",
                   out->len ? "; " : "");
}

void model_note_replaced(const struct model *m, int by, struct str *out)
{
    const struct history *h = m->session->history;
    for (int i = 1; i <= history_position(h); i++) {
        int n, at, with = history_replaced_by(h, i);
        const int *path = history_path(h, history_branch_index(h), &n, &at);
        if (with > 0 && (with == by || i == by))
            str_printf(out, "%sstep %d `%s` has no effect, because of step %d",
                       out->len ? "; " : "", i, history_state(h, path[i])->step, with);
    }
}

void model_contract_note(const struct program *p, const struct program *than, struct str *out)
{
    struct str text = {0};
    if (contract_difference(&text, p, than))
        str_printf(out, "%sother contract: %s", out->len ? "; " : "", str_text(&text));
    str_free(&text);
}

/* Appends that lanes of a vector lie apart in memory where they are stored, or with `loads` where
 * they are loaded; unless the same access of `than` did so. */
static void note_lanes(const struct program *p, const struct program *than, bool loads,
                       struct str *out)
{
    struct lanes_apart now, was = {0};
    const struct func *f, *g;
    struct err ignored;
    if (!program_lower(p, &f, &ignored) || !func_lanes_apart(f, loads, &now))
        return;
    bool before = program_lower(than, &g, &ignored) && func_lanes_apart(g, loads, &was);
    if (before && streq(was.axis, now.axis) && streq(was.buffer, now.buffer)
        && was.stride == now.stride)
        return;
    str_printf(out, "%sthe lanes of %s lie %lld elements apart in %s: each is %s by itself",
               out->len ? "; " : "", now.axis, (long long)now.stride, now.buffer,
               loads ? "loaded" : "stored");
    if (loads)
        str_printf(out, ", which another layout of %s would avoid", now.buffer);
    else if (now.adjacent)
        str_printf(out, ", lanes of %s would be adjacent", now.adjacent);
}

void model_change_note(const struct program *p, const struct program *than, struct str *out)
{
    note_lanes(p, than, false, out);
    note_lanes(p, than, true, out);
    model_contract_note(p, than, out);
}

/* Appends that the program is measured with 1 thread, for the first state where that matters. */
static bool note_parallel(struct model *m, struct str *out)
{
    if (m->threads > 1 || m->cores < 2 || !has_parallel_loop(model_program(m)))
        return false;
    if (m->parallel_said == 0)
        m->parallel_said = model_tag(m) + 1;
    bool says = m->parallel_said == model_tag(m) + 1;
    if (says)
        str_printf(out, "%sparallel, but measuring with 1 thread: :threads 2",
                   out->len ? "; " : "");
    return says;
}

void model_rebased_note(struct model *m, struct str *out)
{
    note_copies(model_program(m), history_current(m->session->history)->step, out);
    note_parallel(m, out);
}

bool model_note(struct model *m, struct str *out)
{
    const struct program *p = model_program(m);
    const struct state *s = history_current(m->session->history);
    note_copies(p, s->step, out);
    if (s->parent >= 0)
        model_change_note(p, history_state(m->session->history, s->parent)->program, out);
    if (s->parent >= 0 && str_starts(s->step, "loop "))
        model_new_tile(m, s, history_state(m->session->history, s->parent), out->len ? "; " : "",
                       out);
    return note_parallel(m, out);
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

/* Appends the time of the current state, and what it changes.  stays: whether an earlier, faster
 * time is kept instead of the new one. */
static void put_timed(struct model *m, const struct measurement *r, bool stays, struct str *out)
{
    int n;
    struct ledger_row *rows = model_ledger(m, &n);
    str_add(out, "measured: best ");
    text_ms(out, r->latency.min_ms);
    if (stays) {
        str_add(out, "; the earlier ");
        text_ms(out, history_current(m->session->history)->measured->latency.min_ms);
        str_add(out, " stays (:measure_fresh replaces it)");
    }
    if (r->threads > 1)
        str_printf(out, " with %d threads", r->threads);
    for (int i = 0; i < n; i++)
        if (!stays && rows[i].here && rows[i].has_change) {
            str_add(out, ", change ");
            text_change(out, rows[i].change);
        }
    free(rows);
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

static void coded(struct model *m, struct app_job *j)
{
    struct code_text *c = &m->code[j->kind - JOB_C];
    if (!j->ok && j->e.code == ERR_CANCEL)
        return;
    str_clear(&c->text);
    c->have = true;
    c->failed = !j->ok;
    c->tag = j->tag;
    arena_free(c->mem);
    c->mem = j->mem;
    c->lines = j->ok ? j->lines : (struct code_lines){0};
    j->mem = NULL;
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
