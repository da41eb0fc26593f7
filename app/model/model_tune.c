/* The auto-tuner of the screen: the command `tune`, its job, and opening a trial as a branch. */
#include "app/model/model.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/model/tune_snapshot.h"
#include "app/ui/text.h"
#include "explorer/tune/strategies.h"
#include "explorer/tune/tidy.h"
#include "sessions/file/session_network.h"
#include "sessions/tuning/tuning.h"

#define MOST_TRIALS 10000000
#define MOST_SECONDS 10000000
#define EXAMPLE "tune 300 time=60 strategy=evo seed=2 levels=2 pin=layout fresh"

/* --- State of the search ---------------------------------------------------------------------- */

bool model_tune_waits(const struct model *m)
{
    const struct tuner *t = &m->tuner;
    return t->out && t->wanted && t->hold && tune_snapshot_waits(t->snapshot);
}

enum tune_phase model_tune_phase(const struct model *m, const struct tune_view *v, bool waits)
{
    const struct tuner *t = &m->tuner;
    if (!t->out)
        return TUNE_ENDED;
    if (!t->wanted)
        return TUNE_STOPPING;
    if (v && v->stage == STAGE_DONE)
        return TUNE_FINISHING;
    if (t->ending)
        return TUNE_STOPPING;
    if (t->hold)
        return t->paused ? waits ? TUNE_PAUSED : TUNE_PAUSING : TUNE_LENDING;
    return v ? TUNE_RUNNING : TUNE_PREPARING;
}

void model_tune_look(struct model *m)
{
    struct tuner *t = &m->tuner;
    model_network_look(m);
    if (!t->snapshot)
        return;
    bool hold = t->out && (t->paused || model_wants_measuring(m));
    if (hold != t->hold)
        tune_snapshot_hold(t->snapshot, hold);
    unsigned version = tune_snapshot_version(t->snapshot);
    if (hold == t->hold && version == t->seen)
        return;
    t->hold = hold;
    t->seen = version;
    m->data_stamp++;
}

void model_tuner_free(struct tuner *t)
{
    tune_snapshot_drop(t->snapshot);
    str_free(&t->end);
    str_free(&t->place);
    str_free(&t->back);
    str_free(&t->note);
    *t = (struct tuner){0};
}

void model_tune_forget(struct model *m)
{
    model_tuner_free(&m->tuner);
}

/* Returns the largest relative error that an algorithm may have if experts are to choose it in a
 * search from program p; 0: they choose no algorithm.  Returns 0 if p itself has no algorithm, so
 * that no inexact schedule competes with an exact one. */
static double accuracy_of(const struct model *m, const struct program *p)
{
    const struct session *s = m->session;
    double asked = session_expert_accuracy(s, m->network ? m->network->session : NULL);
    if (p->n_algorithms == 0)
        return 0;
    return asked > 0 ? asked : session_network_accuracy(s->accuracy);
}

void model_tune_job(const struct model *m, struct app_job *j)
{
    j->tune = m->tuner.opts;
    j->accuracy = accuracy_of(m, history_state(m->session->history, m->tuner.state)->program);
    j->snapshot = tune_snapshot_share(m->tuner.snapshot);
}

/* --- The arguments of `:tune` ----------------------------------------------------------------- */

static bool read_number(const char *word, const char *value, long long lo, long long hi,
                        long long *n, struct err *e)
{
    if (str_to_int64(value, lo, hi, n))
        return true;
    err_set(e, ERR_RANGE, "tune %.40s: expected a whole number from %lld to %lld", word, lo, hi);
    return err_fix(e, EXAMPLE);
}

/* Reads the value of pin=.  Stores a constant text, because the job needs it after the line is
 * freed. */
static bool read_pin(struct tuning_opts *o, const char *value, struct err *e)
{
    static const char *const pins[] = { "layout", "all-layouts" };
    for (int i = 0; i < COUNT_OF(pins); i++)
        if (streq(pins[i], value)) {
            o->pin = &pins[i];
            o->n_pins = 1;
            return true;
        }
    err_set(e, ERR_RANGE, "pin= takes layout or all-layouts");
    return err_fix(e, "single steps can only be pinned by `tilescope tune --pin`");
}

static bool read_strategy(struct tuning_opts *o, const char *value, struct err *e)
{
    const struct strategy *s = strategy_find(value, e);
    if (s)
        o->strategy = s->name;
    return s != NULL;
}

static bool read_choice(struct tuning_opts *o, const char *word, const char *value, struct err *e)
{
    long long n = 0;
    bool ok = true;
    if (str_starts(word, "seed=")) {
        ok = read_number(word, value, 0, INT64_MAX, &n, e);
        o->seed_given = true;
        o->seed = (uint64_t)n;
    } else if (str_starts(word, "levels=")) {
        ok = read_number(word, value, 1, 2, &n, e);
        o->levels = (int)n;
    } else if (str_starts(word, "time=")) {
        ok = read_number(word, value, 1, MOST_SECONDS, &n, e);
        o->time_s = (double)n;
    } else if (str_starts(word, "strategy=")) {
        ok = read_strategy(o, value, e);
    } else if (str_starts(word, "pin=")) {
        ok = read_pin(o, value, e);
    } else {
        err_set(e, ERR_RANGE, "tune has no option \"%.40s\"", word);
        ok = str_starts(word, "objective=")
           ? err_fix(e, "a search for a GPU that is not here simulates by itself")
           : err_fix(e, EXAMPLE);
    }
    return ok;
}

static bool read_word(struct tuning_opts *o, const char *word, struct err *e)
{
    const char *value = strchr(word, '=');
    bool sign = word[0] == '-' || word[0] == '+', named = str_starts(word, "budget=");
    if (named || isdigit((unsigned char)word[sign ? 1 : 0])) {
        long long n = 0;
        bool ok = read_number(word, named ? value + 1 : word, 1, MOST_TRIALS, &n, e);
        o->budget = (int)n;
        return ok;
    }
    if (streq(word, "fresh") || streq(word, "resume")) {
        o->fresh = streq(word, "fresh");
        o->resume = !o->fresh;
        return true;
    }
    return read_choice(o, word, value ? value + 1 : "", e);
}

/* Reads the arguments of `tune` into *o, which has the defaults.  The texts of *o are constants. */
static bool read_words(const char *arg, struct tuning_opts *o, struct err *e)
{
    char copy[256], *rest = copy;
    snprintf(copy, sizeof copy, "%s", arg);
    for (char *word = strsep(&rest, " "); word; word = strsep(&rest, " "))
        if (word[0] && !read_word(o, word, e))
            return false;
    return true;
}

/* --- Starting --------------------------------------------------------------------------------- */

static struct tuning_opts default_options(const struct model *m)
{
    const struct target *gpu = m->set.target && m->set.target->gpu ? m->set.target : NULL;
    return (struct tuning_opts){
        .resume = true, .any_budget = true,
        .measure = { .threads = m->threads, .seed = 1, .target = gpu },
        .baselines = m->baselines_chosen ? m->baselines : 1u << VENDOR_ONEDNN,
        .experts = model_program(m)->n_algorithms > 0 ? TUNING_ALGORITHM_EXPERTS : 0,
    };
}

/* Begins a search from a state. */
static void run(struct model *m, const struct tuning_opts *o, int state)
{
    struct tuner *t = &m->tuner;
    const struct history *h = m->session->history;
    int number = t->number + 1;
    const struct measurement *before = history_state(h, state)->measured;
    bool timed = before && before->latency.runs > 0 && before->threads == m->threads;
    model_tune_forget(m);
    *t = (struct tuner){
        .snapshot = tune_snapshot_new(), .opts = *o, .number = number, .out = true, .wanted = true,
        .state = state, .from = history_current(h)->id,
        .branch = history_branch(h, history_branch_index(h))->name,
        .start_before_ms = timed ? before->latency.min_ms : 0,
    };
    m->pane[VIEW_TUNE].scroll = (struct scroll){0};
    doc_clear(&m->pane[VIEW_TUNE].doc);
    m->data_stamp++;
}

/* Whether the last search started from this state, or the user was there when it began or ended. */
static bool is_of_search(const struct tuner *t, int state)
{
    bool ended = t->after_branch && state == t->after;
    return state == t->state || state == t->from || ended;
}

/* Whether the last search can be resumed while this state is the current one. */
static bool goes_on(const struct tuner *t, int state)
{
    return t->stopped && is_of_search(t, state);
}

/* Whether the last search is of this state and ended by itself, and its view is not shown. */
static bool ended_unseen(const struct model *m, int state)
{
    const struct tuner *t = &m->tuner;
    return t->snapshot && (!t->stopped || t->settled) && m->view[m->last_view] != VIEW_TUNE
        && is_of_search(t, state);
}

/* Returns a branch from whose current state the stopped search can be resumed; NULL: no branch. */
static const char *way_back(const struct model *m)
{
    const struct history *h = m->session->history;
    for (int i = 0; i < history_n_branches(h); i++)
        if (goes_on(&m->tuner, history_branch(h, i)->at))
            return history_branch(h, i)->name;
    return NULL;
}

bool model_tune_asks(const struct model *m)
{
    return m->tuner.ask && m->tuner.asked != model_tag(m) + 1;
}

/* Whether a stopped search of the current state was found in the records. */
static bool found_old(const struct model *m)
{
    return m->tuner.has_old && m->tuner.asked == model_tag(m) + 1;
}

bool model_tune_has_old(struct model *m)
{
    m->tuner.ask = true;
    return found_old(m);
}

bool model_tune_continues(const struct model *m)
{
    return m->session && (found_old(m)
                          || goes_on(&m->tuner, history_current(m->session->history)->id));
}

void model_stopped_job(const struct model *m, struct app_job *j)
{
    j->tune = default_options(m);
    j->accuracy = accuracy_of(m, model_program(m));
}

void model_stopped(struct model *m, const struct app_job *j)
{
    if (j->tag != model_tag(m))
        return;
    m->tuner.ask = false;
    m->tuner.asked = j->tag + 1;
    m->tuner.has_old = j->ok;
    m->tuner.old = j->stopped;
}

/* Appends what the key t does after a search that can be resumed. */
static void add_promise(struct model *m, struct str *out)
{
    const char *back = way_back(m);
    if (goes_on(&m->tuner, history_current(m->session->history)->id))
        str_add(out, "t goes on where it was");
    else if (model_tune_has_old(m))
        str_printf(out, "t continues the search that ended early here, after %d of %d",
                   m->tuner.old.trials, m->tuner.old.budget);
    else if (back)
        str_printf(out, "t starts a new search, because the session has changed; after `:switch "
                   "%s`, t continues the old search", back);
    else
        str_add(out, "t starts a new search, because the session has changed");
}

/* Whether the user is still in the state and branch where the search ended.  Only there is the
 * command in tuner.back right. */
static bool is_where_it_ended(const struct model *m)
{
    const struct history *h = m->session->history;
    const char *branch = history_branch(h, history_branch_index(h))->name;
    return history_current(h)->id == m->tuner.after && m->tuner.after_branch
        && streq(branch, m->tuner.after_branch);
}

/* The effect of the key t and the way back depend on the current state, so tuner.note does not have
 * them. */
void model_tune_note(struct model *m, struct str *out)
{
    const struct tuner *t = &m->tuner;
    str_printf(out, "%s%s", str_text(&t->place), is_where_it_ended(m) ? str_text(&t->back) : "");
    str_printf(out, "%s%s", out->len > 0 && t->note.len > 0 ? "; " : "", str_text(&t->note));
    if (t->stopped && !t->out) {
        str_add(out, out->len > 0 ? "; " : "");
        add_promise(m, out);
    }
}

/* Returns the budget of the stopped search that can be resumed in `state`; 0: there is none. */
static int stopped_budget(struct model *m, int state)
{
    int budget = 0;
    if (goes_on(&m->tuner, state)) {
        const struct tune_view *v = tune_snapshot_lock(m->tuner.snapshot);
        budget = v ? v->budget : 0;
        tune_snapshot_unlock(m->tuner.snapshot);
    } else if (model_tune_has_old(m)) {
        budget = m->tuner.old.budget;
    }
    return budget;
}

/* Starts a search.  If there is no argument and the last search can be resumed, resumes it. */
static bool start(struct model *m, const char *arg)
{
    const struct tuner *t = &m->tuner;
    struct tuning_opts o = default_options(m);
    int state = history_current(m->session->history)->id;
    bool same = goes_on(t, state), new = !arg[0] && t->stopped && !same && !model_tune_has_old(m);
    struct err e;
    if (m->network && m->network->tune_wanted)
        return model_say_error(m, "all kernels of the network are being tuned",
                               "Esc in their list ends that");
    if (!read_words(arg, &o, &e))
        return model_error(m, &e);
    if (!arg[0] && same) {
        o = t->opts;
        o.resume = true;
        o.fresh = false;
        state = t->state;
    }
    int stopped = o.fresh ? 0 : stopped_budget(m, state);
    bool asks = model_tune_asks(m);
    run(m, &o, state);
    model_show_view(m, VIEW_TUNE);
    if (stopped > 0 && o.budget > 0 && o.budget != stopped)
        model_info(m, "a new search of %d trials; from the same step, `:tune %d` still continues "
                   "the one that ended early", o.budget, stopped);
    struct str from = {0};
    model_state_name(m, state, false, &from);
    if (!arg[0] && !same && stopped > 0)
        model_info(m, "goes on with the search of %d trials from %s that ended early; x stops",
                   stopped, str_text(&from));
    else if (!arg[0] && !same && stopped == 0)
        model_info(m, "%ssearch of %s%d trials from %s%s; `:tune 100` or 0100t makes 100; x stops",
                   new ? "the session has changed: a new " : "", o.budget ? "" : "up to ",
                   o.budget ? o.budget : TUNING_BUDGET, str_text(&from),
                   asks ? " (or the rest of one that ended early there)" : "");
    str_free(&from);
    if (model_program(m)->n_algorithms > 0)
        model_info(m, "searching direct loops, which are seldom faster than Winograd; the start "
                   "is compared with the result");
    return true;
}

/* --- During the search ------------------------------------------------------------------------ */

static bool pause_it(struct model *m)
{
    struct tuner *t = &m->tuner;
    if (!t->out)
        return model_say_error(m, "no tuner is running", "t starts it");
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
        return model_say_error(m, "no tuner is running", "t starts it");
    m->data_stamp++;
    t->paused = false;
    if (t->ending || !t->wanted) {
        t->wanted = false;
        return true;
    }
    t->ending = true;
    atomic_store(&tune_snapshot_stop(t->snapshot)->raised, 1);
    model_info(m, "the search ends; its best candidates are still timed in turns with the start. "
               "x again skips these timings");
    return true;
}

/* The key t after a search that the user has not looked at: shows its view, so that a new search
 * does not replace it unseen. */
static bool show_ended(struct model *m)
{
    model_show_view(m, VIEW_TUNE);
    if (m->tuner.settled)
        model_info(m, "the search has ended, for there was little to gain; t again continues it");
    else
        model_info(m, "the search has ended; t again starts a new one, of up to %d trials",
                   TUNING_BUDGET);
    return true;
}

/* The key t during a search: shows its view, and says how far it is and which keys pause or stop
 * it. */
static bool say_where(struct model *m)
{
    const struct tuner *t = &m->tuner;
    struct str s = {0};
    model_tune_place(m, &s);
    model_show_view(m, VIEW_TUNE);
    if (!t->wanted || t->ending)
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
    const struct tune_view *v = tune_snapshot_lock(m->tuner.snapshot);
    if (v)
        str_printf(out, "the tuner is at %d of %d", v->done, v->budget);
    else
        str_add(out, "the tuner is preparing");
    tune_snapshot_unlock(m->tuner.snapshot);
}

/* --- A trial as a branch ---------------------------------------------------------------------- */

int model_tune_selected(const struct model *m)
{
    const struct pane_doc *p = &m->pane[VIEW_TUNE];
    const struct line *l = doc_at(&p->doc, &p->scroll);
    return l ? l->id : -1;
}

/* Builds the program of a trial in arena a, with its steps in tidy form (tidy.h).  *ms: the
 * trial's time in the search; INFINITY: it has none. */
static bool trial_program(struct model *m, struct arena *a, int trial, const struct program **out,
                          double *ms, struct err *e)
{
    const struct tune_view *v = tune_snapshot_lock(m->tuner.snapshot);
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
    tune_snapshot_unlock(m->tuner.snapshot);
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
    int branches = history_n_branches(h);
    if (!m->tuner.snapshot)
        return model_say_error(m, "nothing has been tuned yet", "t starts the tuner");
    if (!str_to_int64(arg, 1, INT32_MAX, &number))
        return model_say_error(m, "tune open needs the number of a trial", "tune open 12");
    struct arena *a = arena_new();
    snprintf(name, sizeof name, "trial-%lld", number);
    bool ok = trial_program(m, a, (int)number - 1, &p, &ms, &e) &&
              model_enter(m, p, name, false, &e);
    if (ok) {
        struct str time = {0};
        model_edited(m);
        str_add(&time, isfinite(ms) ? ", " : "");
        if (isfinite(ms)) {
            text_ms(&time, ms);
            str_add(&time, " in the search");
        }
        model_info(m, "trial %lld is branch %s%s: %d step%s%s; B lists the branches", number,
                   history_branch(h, history_branch_index(h))->name,
                   history_n_branches(h) > branches ? "" : ", which had its steps", p->n_steps,
                   p->n_steps == 1 ? "" : "s", str_text(&time));
        m->message.stays = true;  /* the user can compare this time with the one measured now */
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
    int trial = model_tune_selected(m), line = doc_find_id(&p->doc, trial + by);
    if (trial >= 0 && line >= 0)
        doc_scroll_to(&p->doc, &p->scroll, line, p->height);
}

bool model_tune(struct model *m, const char *arg)
{
    if (streq(arg, "pause"))
        return pause_it(m);
    if (streq(arg, "stop"))
        return stop_it(m);
    if (str_begins(arg, "open"))
        return open_trial(m, arg + 4 + strspn(arg + 4, " "));
    if (!m->tuner.out && !arg[0] && ended_unseen(m, history_current(m->session->history)->id))
        return show_ended(m);
    if (!m->tuner.out)
        return start(m, arg);
    if (arg[0])
        return model_say_error(m, "the tuner is running", "x in its view stops it first");
    return say_where(m);
}
