/* Takes over the result of a search: applies it to the session, and says how the search ended. */
#include "app/model/model.h"

#include <math.h>
#include <string.h>

#include "app/ui/text.h"

/* Whether the winner is the start, or has the same steps. */
static bool is_start(const struct model *m, const struct tuning *t)
{
    const struct program *p = history_state(m->session->history, m->tuner.state)->program;
    return t->is_start || str_same_lines(t->line, t->n_lines, p->steps, p->n_steps);
}

/* Applies the winner, if it is not the start.  If the user has gone to another state during the
 * search, applies it on another branch, and then returns to the user's branch.  Appends the name of
 * the branch with the winner to *where. */
static bool put_result(struct model *m, const struct tuning *t, struct str *where, struct err *e)
{
    struct history *h = m->session->history;
    if (isinf(t->best_ms))
        return true;
    const char *now = history_branch(h, history_branch_index(h))->name;
    bool stayed = history_current(h)->id == m->tuner.from && streq(now, m->tuner.branch);
    if (is_start(m, t)) {
        if (t->measured)
            history_add_measured(h, m->tuner.state, &t->m, false);
        return true;
    }
    if (!tuning_apply(t, m->session, stayed, e))
        return false;
    str_add(where, history_branch(h, history_branch_index(h))->name);
    return stayed || history_branch_switch(h, now, e);
}

/* Appends a sentence on the result. */
static void add_result(const struct model *m, struct str *out, const struct tuning *t,
                       const char *branch)
{
    if (isinf(t->best_ms)) {
        str_add(out, t->trials > 0 ? "no measured candidate is right"
                                   : "stopped before anything was measured");
        return;
    }
    if (is_start(m, t)) {
        str_printf(out, "nothing is shown to be faster than %s",
                   history_current(m->session->history)->id == m->tuner.state ? "this"
                                                                           : "its start");
        return;
    }
    const struct tune_winner *w = &m->tuner.winner;
    const struct tuning_timed *timed = tune_winner_timed(w, w->trial);
    bool turns = timed && isfinite(timed->ms) && !t->simulated;
    text_ms(out, turns ? timed->ms : t->best_ms);
    if (t->simulated) {
        str_printf(out, " simulated on %s", t->simulated);
    } else if (turns) {
        str_add(out, " in turns (best ");
        text_ms(out, t->best_ms);
        str_add_char(out, ')');
    }
    tuning_print_speedup(t, " as before", out);
    for (int i = 0; t->measured && i < VENDOR_COUNT; i++)
        if (t->m.baseline[i].available)
            str_printf(out, ", %.2fx as fast as %s", t->m.baseline[i].ratio, vendor_name[i]);
    str_printf(out, "; %d step%s on branch %s", t->n_lines, t->n_lines == 1 ? "" : "s", branch);
    if (t->other_contract[0])
        str_printf(out, "; other contract: %s", t->other_contract);
}

/* The user's branch and step before the result was applied.  branches: number of branches.  had:
 * index of a branch that had the steps of the result already; -1: no branch. */
struct user_place { const char *branch; int step, branches, had; };

static struct user_place place_before(const struct history *h, const struct tuning *t)
{
    struct user_place p = { .branches = history_n_branches(h) };
    int b = history_branch_index(h), n;
    history_path(h, b, &n, &p.step);
    p.branch = history_branch(h, b)->name;
    p.had = t->n_lines > 0 ? history_branch_with(h, t->line, t->n_lines) : -1;
    return p;
}

/* Sets to->place, which says on which branch the result is, and to->back, the command that takes
 * the user back to the place `was`. */
static void note_place(const struct history *h, const struct tuning *t,
                       const struct user_place *was, const char *branch, struct tuner *to)
{
    int n, at = was->step;
    bool shown = streq(history_branch(h, history_branch_index(h))->name, branch);
    if (was->had >= 0) {
        history_path(h, was->had, &n, &at);
        str_printf(&to->place, "the best equals branch %s, step %d", branch, at);
        str_add(&to->back, shown ? ", and is shown now" : "");
    } else {
        str_printf(&to->place, "the best is on branch %s", branch);
    }
    if (shown && !streq(was->branch, branch))
        str_printf(&to->back, "; :switch %s goes back", was->branch);
    else if (shown && at != was->step)
        str_printf(&to->back, "; :goto %d goes back", was->step);
    else if (was->had < 0 && t->n_lines > 1 && was->branches == history_n_branches(h))
        str_printf(&to->back, "; :undo %d takes it back", t->n_lines);
}

static struct tune_winner winner_of(const struct model *m, const struct tuning *t)
{
    const struct tune_result *r = t->result;
    struct tune_winner w = {
        .known = isfinite(t->best_ms), .is_start = is_start(m, t),
        .in_turns = t->final_start && t->final_best, .ms = t->best_ms, .speedup = t->speedup,
        .low = t->speedup_low, .high = t->speedup_high,
        .trial = r ? tuning_trial(r, r->best) : -1,
    };
    w.n_timed = r ? tuning_timed(r, w.timed) : 0;
    if (w.is_start) {
        struct ratio gain = { .ratio = NAN };
        w.in_turns = r && r->view->best >= 0
                  && tuning_gain(r, r->view->trial[r->view->best], &gain);
        w.speedup = gain.ratio;
    }
    return w;
}

static void ended_well(struct model *m, const struct tuning *t)
{
    struct str said = {0}, branch = {0}, *note = &m->tuner.note;
    const struct history *h = m->session->history;
    struct user_place was = place_before(h, t);
    struct err e;
    if (t->measured && model_measured_here(m) > 0)
        str_add(note, "the numbers of another machine are gone; ");
    int states = history_n_states(h);
    m->tuner.winner = winner_of(m, t);
    bool ok = put_result(m, t, &branch, &e);
    if (branch.len > 0 || history_n_states(h) > states) {
        model_edited(m);
    } else {                              /* the session has only new measurements */
        model_changed(m);
        model_keep_safe(m);
    }
    str_printf(&m->tuner.end, "%s", t->answered ? "known from the records"
                                                : search_end_name[t->end]);
    m->tuner.settled = t->end == SEARCH_SETTLED;
    m->tuner.stopped = m->tuner.settled || t->end == SEARCH_CANCELLED || t->end == SEARCH_TIME;
    m->tuner.after = history_current(h)->id;
    m->tuner.after_branch = history_branch(h, history_branch_index(h))->name;
    if (branch.len > 0)
        note_place(h, t, &was, str_text(&branch), &m->tuner);
    if (t->answered)
        str_printf(note, "measured on %s, :tune %d fresh measures again; ", t->answered_date,
                   m->tuner.opts.budget > 0 ? m->tuner.opts.budget : TUNING_BUDGET);
    if (t->other_contract[0])
        str_printf(note, "other contract: %s; ", t->other_contract);
    str_add(note, t->note);
    while (note->len > 0 && strchr("; ", note->data[note->len - 1]))
        note->data[--note->len] = 0;
    add_result(m, &said, t, str_text(&branch));
    str_add(&said, str_text(&m->tuner.back));
    if (!ok)
        model_error(m, &e);
    else if (!m->prompt.open) {
        str_clear(&m->message.echo);      /* the line typed last is not the cause of the message */
        model_info(m, "%s: %s", t->answered ? "from the records" : "tuned", str_text(&said));
    }
    str_free(&said);
    str_free(&branch);
}

void model_tuned(struct model *m, struct app_job *j)
{
    struct tuner *t = &m->tuner;
    struct desired_job w;
    model_desired_tuning(m, &w);
    if (!t->out || j->tag != w.tag)
        return;                          /* j is the job of an earlier search */
    t->out = t->wanted = t->paused = t->hold = false;
    if (j->ok) {
        ended_well(m, j->tuning);
        return;
    }
    bool cancel = j->e.code == ERR_CANCEL;
    t->failed = !cancel;
    str_add(&t->end, cancel ? "stopped before anything was measured" : j->e.text);
    str_add(&t->note, cancel ? "" : j->e.fix);
    if (!cancel)
        model_error(m, &j->e);
}
