/* The auto-tuner behind the screen: the command, its job, what it shows and what comes of it. */
#include "app/model.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/text.h"
#include "app/tune_board.h"
#include "app/view.h"
#include "app/view_tune.h"
#include "explorer/tune/strategy.h"
#include "explorer/tune/tidy.h"
#include "sessions/tuning.h"

#define MOST_TRIALS 10000000

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

/* Texts of options live for ever: the job reads them on its own thread. */
static bool read_pin(struct tuning_opts *o, const char *value)
{
    static const char *const pins[] = { "layout", "all-layouts" };
    for (int i = 0; i < COUNT_OF(pins); i++)
        if (streq(pins[i], value)) {
            o->pin = &pins[i];
            o->n_pins = 1;
            return true;
        }
    return false;
}

static bool read_word(struct model *m, struct tuning_opts *o, const char *word)
{
    long long n = 0;
    struct err e;
    const char *value = strchr(word, '=');
    value = value ? value + 1 : "";
    if (isdigit((unsigned char)word[0]) && str_to_int64(word, 1, MOST_TRIALS, &n)) {
        o->budget = (int)n;
    } else if (streq(word, "fresh")) {
        o->fresh = true;
        o->resume = false;
    } else if (str_starts(word, "seed=") && str_to_int64(value, 0, INT64_MAX, &n)) {
        o->seed_given = true;
        o->seed = (uint64_t)n;
    } else if (str_starts(word, "levels=") && str_to_int64(value, 1, 2, &n)) {
        o->levels = (int)n;
    } else if (str_starts(word, "time=") && str_to_int64(value, 1, 10000000, &n)) {
        o->time_s = (double)n;
    } else if (str_starts(word, "strategy=")) {
        const struct strategy *s = strategy_find(value, &e);
        if (!s)
            return refuse(m, e.text, e.fix);
        o->strategy = s->name;
    } else if (!str_starts(word, "pin=") || !read_pin(o, value)) {
        struct str text = {0};
        str_printf(&text, "tune does not know \"%.40s\"", word);
        refuse(m, str_text(&text),
               "tune 300 time=60 strategy=evo seed=2 levels=2 pin=layout fresh");
        str_free(&text);
        return false;
    }
    return true;
}

static struct tuning_opts default_options(const struct model *m)
{
    return (struct tuning_opts){
        .resume = true, .measure = { .threads = m->threads, .seed = 1 },
        .baselines = m->baselines ? m->baselines : 1u << VENDOR_ONEDNN,
    };
}

static bool read_options(struct model *m, const char *arg, struct tuning_opts *o)
{
    char copy[256], *rest = copy;
    snprintf(copy, sizeof copy, "%s", arg);
    for (char *word = strsep(&rest, " "); word; word = strsep(&rest, " "))
        if (word[0] && !read_word(m, o, word))
            return false;
    return true;
}

static void run(struct model *m, const struct tuning_opts *o, int state)
{
    struct tuner *t = &m->tuner;
    int number = t->number + 1;
    model_tune_forget(m);
    *t = (struct tuner){
        .board = board_new(), .opts = *o, .number = number, .out = true, .wanted = true,
        .state = state, .from = history_current(m->session->history)->id,
    };
    m->pane[VIEW_TUNE].scroll = (struct scroll){0};
    doc_clear(&m->pane[VIEW_TUNE].doc);
    m->data_stamp++;
}

/* It was stopped, and the user has done nothing else since. */
static bool goes_on(const struct tuner *t, int state)
{
    return t->stopped && (state == t->state || state == t->from || state == t->after);
}

/* Without arguments, one that was stopped goes on, from where it had started. */
static bool start(struct model *m, const char *arg)
{
    const struct tuner *t = &m->tuner;
    struct tuning_opts o = default_options(m);
    int state = history_current(m->session->history)->id;
    if (!read_options(m, arg, &o))
        return false;
    if (!arg[0] && goes_on(t, state)) {
        o = t->opts;
        o.resume = true;
        o.fresh = false;
        state = t->state;
    }
    run(m, &o, state);
    return show(m);
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
    return tidy_lines(a, spec, copy, n, &line, &n, e)
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
    return show(m);
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
    bool stayed = history_current(h)->id == m->tuner.from;
    const char *now = history_branch(h, history_branch_index(h))->name;
    if (is_start(m, t)) {
        if (t->measured)
            history_set_measured(h, m->tuner.state, &t->m);
        return true;
    }
    if (!tuning_apply(t, m->session, e))
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
    struct err e;
    bool ok = put_result(m, t, &branch, &e);
    model_edited(m);
    str_printf(&m->tuner.end, "%s", t->answered ? "known from the records"
                                                : search_end_name[t->end]);
    m->tuner.stopped = t->end == SEARCH_CANCELLED || t->end == SEARCH_TIME;
    m->tuner.after = history_current(m->session->history)->id;
    if (branch.len > 0)
        str_printf(note, "the best is on branch %s; ", str_text(&branch));
    if (t->answered)
        str_printf(note, "measured on %s, :tune fresh measures again; ", t->answered_date);
    if (m->tuner.stopped)
        str_add(note, "t goes on where it was; ");
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
    struct tuner *t = &m->tuner;
    struct str text = {0};
    if (t->asked != model_tag(m) + 1) {
        struct tuning_opts o = default_options(m);
        t->asked = model_tag(m) + 1;
        t->has_old = tuning_stopped(m->session, &o, &t->old);
    }
    if (!t->has_old)
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
             "what it finds is on branches of its own. Everything measured is kept: when it was "
             "stopped, t goes on.", width - 2, 0);
    doc_line(d, STYLE_PLAIN, "");
    doc_wrap(d, STYLE_DIM, ":tune 300 time=60 strategy=evo has the choices, :help tune says how "
             "it works.", width - 2, 0);
}

static void put_end(const struct tuner *t, struct doc *d, int width)
{
    if (t->failed)
        doc_line(d, STYLE_STRONG, "Nothing was tuned.");
    doc_wrap(d, t->failed ? STYLE_BAD : STYLE_PLAIN, str_text(&t->end), width - 2, 0);
    if (t->note.len > 0)
        doc_wrap(d, STYLE_DIM, str_text(&t->note), width - 2, 0);
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

static void put_view(const struct model *m, struct pane_doc *p, const struct tune_view *v,
                     bool waits, int width)
{
    const struct tuner *t = &m->tuner;
    int chosen = chosen_trial(p);
    struct tune_look look = {
        .phase = phase_of(t, v, waits), .end = str_text(&t->end),
        .note = str_text(&t->note), .width = width, .height = p->height,
        .letters = m->letters || !m->unicode, .selected = chosen >= 0 ? chosen : v->best,
    };
    doc_clear(&p->doc);
    tune_view_doc(&p->doc, v, &look);
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
        put_end(t, &p->doc, width);
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
