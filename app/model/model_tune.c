/* The auto-tuner behind the screen: the command, its job, what it shows and what comes of it. */
#include "app/model/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/ui/text.h"
#include "app/model/tune_board.h"
#include "app/model/tune_words.h"
#include "app/views/view.h"
#include "app/views/view_tune.h"
#include "explorer/tune/tidy.h"
#include "sessions/tuning/tuning.h"

/* --- Where it is ------------------------------------------------------------------------------ */

bool model_tune_waits(const struct model *m)
{
    const struct tuner *t = &m->tuner;
    return t->out && t->wanted && t->hold && board_waits(t->board);
}

static enum tune_phase phase_of(const struct tuner *t, const struct tune_view *v, bool waits)
{
    if (!t->out)
        return TUNE_ENDED;
    if (!t->wanted)
        return TUNE_STOPPING;
    if (v && v->stage == STAGE_DONE)
        return TUNE_FINISHING;
    if (t->hold)
        return t->paused ? waits ? TUNE_PAUSED : TUNE_PAUSING : TUNE_LENDING;
    return v ? TUNE_RUNNING : TUNE_PREPARING;
}

void model_tune_look(struct model *m)
{
    struct tuner *t = &m->tuner;
    if (!t->board)
        return;
    bool hold = t->out && (t->paused || model_wants_measuring(m));
    if (hold != t->hold)
        board_hold(t->board, hold);
    unsigned version = board_version(t->board);
    if (hold == t->hold && version == t->seen)
        return;
    t->hold = hold;
    t->seen = version;
    m->data_stamp++;
    model_refresh(m);
}

void model_tune_forget(struct model *m)
{
    struct tuner *t = &m->tuner;
    board_drop(t->board);
    str_free(&t->end);
    str_free(&t->note);
    *t = (struct tuner){0};
}

void model_tune_status(const struct model *m, struct str *out)
{
    const struct tuner *t = &m->tuner;
    bool waits = model_tune_waits(m);
    if (!t->out)
        return;
    const struct tune_view *v = board_lock(t->board);
    str_add(out, "tuning: ");
    if (v)
        tune_view_status(out, v, phase_of(t, v, waits));
    else
        str_add(out, t->wanted ? "preparing" : "stopping");
    board_unlock(t->board);
}

void model_tune_job(const struct model *m, struct job *j)
{
    j->tune = m->tuner.opts;
    j->board = board_share(m->tuner.board);
}

/* --- Starting --------------------------------------------------------------------------------- */

static bool refuse(struct model *m, const char *text, const char *fix)
{
    model_say_error(m, text, fix);
    return false;
}

static bool show(struct model *m)
{
    return model_command(m, "view tune");
}

static struct tuning_opts default_options(const struct model *m)
{
    return (struct tuning_opts){
        .resume = true, .measure = { .threads = m->threads, .seed = 1 },
        .baselines = m->baselines ? m->baselines : 1u << VENDOR_ONEDNN,
    };
}

static void run(struct model *m, const struct tuning_opts *o, int state)
{
    struct tuner *t = &m->tuner;
    const struct history *h = m->session->history;
    int number = t->number + 1;
    model_tune_forget(m);
    *t = (struct tuner){
        .board = board_new(), .opts = *o, .number = number, .out = true, .wanted = true,
        .state = state, .from = history_current(h)->id,
        .branch = history_branch(h, history_branch_index(h))->name,
    };
    m->pane[VIEW_TUNE].scroll = (struct scroll){0};
    doc_clear(&m->pane[VIEW_TUNE].doc);
    m->data_stamp++;
}

/* It was stopped, and the user is where it began or ended. */
static bool goes_on(const struct tuner *t, int state)
{
    return t->stopped && (state == t->state || state == t->from || state == t->after);
}

/* The branch that one has to go to, so that what was stopped goes on; NULL: none stands there. */
static const char *way_back(const struct model *m)
{
    const struct history *h = m->session->history;
    for (int i = 0; i < history_n_branches(h); i++)
        if (goes_on(&m->tuner, history_branch(h, i)->at))
            return history_branch(h, i)->name;
    return NULL;
}

/* The records have a stopped search that starts where the session is. */
static bool has_old(struct model *m)
{
    struct tuner *t = &m->tuner;
    if (t->asked != model_tag(m) + 1) {
        struct tuning_opts o = default_options(m);
        t->asked = model_tag(m) + 1;
        t->has_old = tuning_stopped(m->session, &o, &t->old);
    }
    return t->has_old;
}

/* What t would do, after a stop. */
static void add_promise(struct model *m, struct str *out)
{
    const char *back = way_back(m);
    if (goes_on(&m->tuner, history_current(m->session->history)->id))
        str_add(out, "t goes on where it was");
    else if (has_old(m))
        str_printf(out, "t goes on with the search that was stopped here, after %d of %d",
                   m->tuner.old.trials, m->tuner.old.budget);
    else if (back)
        str_printf(out, "t starts a new search, for the session has changed; after `:switch %s` "
                   "it goes on with the old one", back);
    else
        str_add(out, "t starts a new search, for the session has changed");
}

/* Without arguments, one that was stopped goes on, from where it had started. */
static bool start(struct model *m, const char *arg)
{
    const struct tuner *t = &m->tuner;
    struct tuning_opts o = default_options(m);
    int state = history_current(m->session->history)->id;
    bool same = goes_on(t, state), new = !arg[0] && t->stopped && !same && !has_old(m);
    struct err e;
    if (!tune_words(arg, &o, &e)) {
        model_error(m, &e);
        return false;
    }
    if (!arg[0] && same) {
        o = t->opts;
        o.resume = true;
        o.fresh = false;
        state = t->state;
    }
    run(m, &o, state);
    if (!show(m))
        return false;
    if (new)
        model_info(m, "a new search: the session has changed since the last one");
    return true;
}

/* --- While it runs ---------------------------------------------------------------------------- */

static bool pause_it(struct model *m)
{
    struct tuner *t = &m->tuner;
    if (!t->out)
        return refuse(m, "no tuner is running", "t starts it");
    t->paused = !t->paused;
    if (t->paused)
        model_info(m, "the tuner waits before its next batch; p lets it go on");
    m->data_stamp++;
    return true;
}

static bool stop_it(struct model *m)
{
    struct tuner *t = &m->tuner;
    if (!t->out)
        return refuse(m, "no tuner is running", "t starts it");
    t->wanted = t->paused = false;
    m->data_stamp++;
    return true;
}

/* t while it is out: what it does, and which keys change that. */
static bool say_where(struct model *m)
{
    const struct tuner *t = &m->tuner;
    struct str s = {0};
    model_tune_place(m, &s);
    if (!show(m))
        return false;
    if (!t->wanted)
        model_info(m, "%s and stops", str_text(&s));
    else if (t->paused)
        model_info(m, "%s, paused; p lets it go on", str_text(&s));
    else
        model_info(m, "%s; p pauses it, x stops it", str_text(&s));
    str_free(&s);
    return true;
}

void model_tune_place(const struct model *m, struct str *out)
{
    if (!m->tuner.out)
        return;
    const struct tune_view *v = board_lock(m->tuner.board);
    if (v)
        str_printf(out, "the tuner is at %d of %d", v->done, v->budget);
    else
        str_add(out, "the tuner is preparing");
    board_unlock(m->tuner.board);
}

/* --- A trial as a branch ---------------------------------------------------------------------- */

int model_tune_selected(const struct model *m)
{
    const struct pane_doc *p = &m->pane[VIEW_TUNE];
    const struct line *l = doc_at(&p->doc, &p->scroll);
    return l ? l->id : -1;
}

/* Its program, tidy, in arena a. */
static bool trial_program(struct model *m, struct arena *a, int trial, const struct program **out,
                          double *ms, struct err *e)
{
    const struct tune_view *v = board_lock(m->tuner.board);
    const char *const *line = NULL, **copy;
    const char *spec = history_spec(m->session->history);
    int n = 0, bad;
    bool there = v && trial >= 0 && trial < v->n_trials;
    *ms = there ? v->trial[trial]->ms : INFINITY;
    n = there ? v->trial[trial]->n_lines : 0;
    copy = ARENA_ARRAY(a, const char *, n + 1);
    for (int i = 0; i < n; i++)
        copy[i] = arena_strdup(a, v->trial[trial]->line[i]);
    int last = v ? v->n_trials : 0;
    board_unlock(m->tuner.board);
    if (!there) {
        err_set(e, ERR_RANGE, "there is no trial %d", trial + 1);
        return err_fix(e, last > 0 ? "tune open 1 to %d" : "trials come as soon as they are "
                       "measured", last);
    }
    return tidy_lines(a, spec, NULL, copy, n, &line, &n, e)
        && program_replay(a, spec, line, n, out, &bad, e);
}

static bool open_trial(struct model *m, const char *arg)
{
    struct history *h = m->session->history;
    const struct program *p;
    char name[32];
    long long number;
    struct err e;
    double ms;
    if (!m->tuner.board)
        return refuse(m, "nothing has been tuned yet", "t starts the tuner");
    if (!str_to_int64(arg, 1, INT32_MAX, &number))
        return refuse(m, "a trial has a number", "tune open 12");
    struct arena *a = arena_new();
    snprintf(name, sizeof name, "trial-%lld", number);
    bool ok = trial_program(m, a, (int)number - 1, &p, &ms, &e) &&
              model_enter(m, p, name, false, &e);
    if (ok) {
        struct str time = {0};
        model_edited(m);
        str_add(&time, isfinite(ms) ? ", " : "");
        if (isfinite(ms))
            text_ms(&time, ms);
        model_info(m, "trial %lld is branch %s: %d step%s%s; B lists the branches", number,
                   history_branch(h, history_branch_index(h))->name, p->n_steps,
                   p->n_steps == 1 ? "" : "s", str_text(&time));
        str_free(&time);
    } else {
        model_error(m, &e);
    }
    arena_free(a);
    return ok;
}

void model_tune_walk(struct model *m, int by)
{
    struct pane_doc *p = &m->pane[VIEW_TUNE];
    int trial = model_tune_selected(m), line = tune_view_line(&p->doc, trial + by);
    if (trial >= 0 && line >= 0)
        scroll_to(&p->doc, &p->scroll, line, p->height);
}

bool model_tune(struct model *m, const char *arg)
{
    if (streq(arg, "pause"))
        return pause_it(m);
    if (streq(arg, "stop"))
        return stop_it(m);
    if (str_starts(arg, "open") && (arg[4] == ' ' || arg[4] == 0))
        return open_trial(m, arg + 4 + strspn(arg + 4, " "));
    if (!m->tuner.out)
        return start(m, arg);
    if (arg[0])
        return refuse(m, "the tuner is running", "x in its view stops it first");
    return say_where(m);
}

/* --- Its end ---------------------------------------------------------------------------------- */

/* The result is what the search started from. */
static bool is_start(const struct model *m, const struct tuning *t)
{
    const struct program *p = history_state(m->session->history, m->tuner.state)->program;
    bool same = t->n_lines == p->n_steps;
    for (int i = 0; same && i < t->n_lines; i++)
        same = streq(t->line[i], p->steps[i]);
    return t->is_start || same;
}

/* Where the user has gone on meanwhile, the result is a branch beside that.  where: its branch. */
static bool put_result(struct model *m, const struct tuning *t, struct str *where, struct err *e)
{
    struct history *h = m->session->history;
    if (isinf(t->best_ms))
        return true;
    const char *now = history_branch(h, history_branch_index(h))->name;
    bool stayed = history_current(h)->id == m->tuner.from && streq(now, m->tuner.branch);
    if (is_start(m, t)) {
        if (t->measured)
            history_set_measured(h, m->tuner.state, &t->m);
        return true;
    }
    if (!tuning_apply(t, m->session, stayed, e))
        return false;
    str_add(where, history_branch(h, history_branch_index(h))->name);
    return stayed || history_branch_switch(h, now, e);
}

static void add_result(const struct model *m, struct str *out, const struct tuning *t,
                       const char *branch)
{
    if (isinf(t->best_ms)) {
        str_add(out, "nothing that was measured is right");
        return;
    }
    if (is_start(m, t)) {
        str_add(out, "nothing is shown to be faster than this");
        return;
    }
    text_ms(out, t->best_ms);
    if (isfinite(t->start_ms))
        str_printf(out, ", %.2fx as fast as before", t->start_ms / t->best_ms);
    for (int i = 0; t->measured && i < VENDOR_COUNT; i++)
        if (t->m.baseline[i].available)
            str_printf(out, ", %.2fx as fast as %s", t->m.baseline[i].ratio, vendor_name[i]);
    str_printf(out, "; %d step%s on branch %s", t->n_lines, t->n_lines == 1 ? "" : "s", branch);
}

static void ended_well(struct model *m, const struct tuning *t)
{
    struct str said = {0}, branch = {0}, *note = &m->tuner.note;
    int branches = history_n_branches(m->session->history);
    struct err e;
    if (t->measured && model_measured_here(m) > 0)
        str_add(note, "the numbers of another machine are gone; ");
    bool ok = put_result(m, t, &branch, &e);
    model_edited(m);
    str_printf(&m->tuner.end, "%s", t->answered ? "known from the records"
                                                : search_end_name[t->end]);
    m->tuner.stopped = t->end == SEARCH_CANCELLED || t->end == SEARCH_TIME;
    m->tuner.after = history_current(m->session->history)->id;
    if (branch.len > 0)
        str_printf(note, "the best is on branch %s; ", str_text(&branch));
    if (branch.len > 0 && t->n_lines > 1 && branches == history_n_branches(m->session->history))
        str_printf(note, "0%du undoes it; ", t->n_lines);
    if (t->answered)
        str_printf(note, "measured on %s, :tune fresh measures again; ", t->answered_date);
    str_add(note, t->note);
    while (note->len > 0 && strchr("; ", note->data[note->len - 1]))
        note->data[--note->len] = 0;
    add_result(m, &said, t, str_text(&branch));
    if (!ok)
        model_error(m, &e);
    else if (!m->prompt.open)
        model_info(m, "%s: %s", t->answered ? "from the records" : "tuned", str_text(&said));
    str_free(&said);
    str_free(&branch);
}

void model_tuned(struct model *m, struct job *j)
{
    struct tuner *t = &m->tuner;
    struct wish w;
    model_tune_wish(m, &w);
    if (!t->out || j->tag != w.tag)
        return;                          /* of a run that has come back, or was forgotten */
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

/* --- The view --------------------------------------------------------------------------------- */

/* What an earlier session, or one that was killed, left behind. */
static bool put_stopped(struct model *m, struct doc *d, int width)
{
    const struct tuner *t = &m->tuner;
    struct str text = {0};
    if (!has_old(m))
        return false;
    str_printf(&text, "Tuning this was stopped after %d of %d trials", t->old.trials,
               t->old.budget);
    if (t->old.best_ms > 0) {
        str_add(&text, ", the best at ");
        text_ms(&text, t->old.best_ms);
    }
    str_add(&text, ": t goes on with it.");
    doc_wrap(d, STYLE_PLAIN, str_text(&text), width - 2, 0);
    str_free(&text);
    return true;
}

static void put_nothing(struct model *m, struct doc *d, int width)
{
    if (!put_stopped(m, d, width))
        doc_wrap(d, STYLE_PLAIN, "Nothing has been tuned in this session yet.", width - 2, 0);
    doc_line(d, STYLE_PLAIN, "");
    doc_wrap(d, STYLE_DIM, "t searches layouts and loops together for a faster schedule, from "
             "where the session is: 1000 measurements, 0300t only 300. It runs in the background; "
             "at the end the best schedule is the session, or a branch when there are steps "
             "already. Everything measured is kept: when it was stopped, t goes on.", width - 2, 0);
    doc_line(d, STYLE_PLAIN, "");
    doc_wrap(d, STYLE_DIM, ":tune 300 time=60 strategy=evo has the choices, :help tune says how "
             "it works.", width - 2, 0);
}

/* How it ended is known; what t would do changes with where the user is. */
static void add_note(struct model *m, struct str *out)
{
    str_add(out, str_text(&m->tuner.note));
    if (m->tuner.stopped && !m->tuner.out) {
        str_add(out, out->len > 0 ? "; " : "");
        add_promise(m, out);
    }
}

static void put_end(struct model *m, struct doc *d, int width)
{
    const struct tuner *t = &m->tuner;
    struct str note = {0};
    add_note(m, &note);
    if (t->failed)
        doc_line(d, STYLE_STRONG, "Nothing was tuned.");
    doc_wrap(d, t->failed ? STYLE_BAD : STYLE_PLAIN, str_text(&t->end), width - 2, 0);
    if (note.len > 0)
        doc_wrap(d, STYLE_DIM, str_text(&note), width - 2, 0);
    str_free(&note);
}

/* The trial that the cursor is on; -1 while it is on the first, so that it follows the best. */
static int chosen_trial(const struct pane_doc *p)
{
    const struct line *l = doc_at(&p->doc, &p->scroll);
    for (int i = 0; i < p->doc.lines.len; i++)
        if (p->doc.lines.data[i].id >= 0)
            return i == p->scroll.cursor || !l ? -1 : l->id;
    return -1;
}

static int first_trial(const struct doc *d)
{
    int i = 0;
    while (i < d->lines.len && d->lines.data[i].id < 0)
        i++;
    return i;
}

static void put_view(struct model *m, struct pane_doc *p, const struct tune_view *v,
                     bool waits, int width)
{
    const struct tuner *t = &m->tuner;
    int chosen = chosen_trial(p);
    struct str note = {0};
    add_note(m, &note);
    struct tune_look look = {
        .phase = phase_of(t, v, waits), .end = str_text(&t->end),
        .note = str_text(&note), .width = width, .height = p->height,
        .letters = m->letters || !m->unicode, .selected = chosen >= 0 ? chosen : v->best,
    };
    doc_clear(&p->doc);
    tune_view_doc(&p->doc, v, &look);
    str_free(&note);
    p->doc.head = first_trial(&p->doc);
    p->scroll.cursor = chosen >= 0 ? tune_view_line(&p->doc, chosen) : p->doc.head;
}

void view_tune_build(struct model *m, struct pane_doc *p, int width)
{
    struct tuner *t = &m->tuner;
    struct tune_view none = {
        .budget = t->opts.budget > 0 ? t->opts.budget : TUNING_BUDGET, .best = -1, .doing = "",
        .best_ms = INFINITY, .start_ms = INFINITY, .left_s = NAN,
    };
    bool waits = model_tune_waits(m);
    if (!t->board) {
        doc_clear(&p->doc);
        put_nothing(m, &p->doc, width);
        return;
    }
    const struct tune_view *v = board_lock(t->board);
    if (v || t->out) {
        put_view(m, p, v ? v : &none, waits, width);
    } else {
        doc_clear(&p->doc);
        put_end(m, &p->doc, width);
    }
    board_unlock(t->board);
}

void view_tune_about(const struct model *m, struct str *out)
{
    if (!m->tuner.board)
        return;
    const struct tune_view *v = board_lock(m->tuner.board);
    if (v)
        tune_view_hint(out, v, model_tune_selected(m));
    board_unlock(m->tuner.board);
}
