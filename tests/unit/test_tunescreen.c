/* The auto-tuner on the screen: made-up searches on models without a terminal, the snapshot between
 * the two threads, and real, tiny searches by the whole program on a terminal. */
/* tests/run.sh: takes 20 s */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/model/tune_snapshot.h"
#include "app/views/view.h"
#include "sessions/records/records.h"
#include "tests/unit/golden.h"
#include "tests/unit/model_help.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/tty.h"
#include "tests/unit/tune_script.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define GMM "gmm m=16 k=16 n=16"

enum { SEED = 7, LIMIT_S = 60, ROWS = 40 };

static const char *const on_gmm[] = { "--no-auto", GMM, NULL };

static const char *folder;

static int in_private_folders(void **state)
{
    char path[300], here[400];
    (void)state;
    if (!getcwd(here, sizeof here))
        return -1;
    setenv("TILESCOPE_HOME", here, 1);
    folder = temp_dir("XDG_STATE_HOME");
    snprintf(path, sizeof path, "%s/records.db", folder);
    setenv("XDG_CACHE_HOME", folder, 1);
    setenv("TILESCOPE_RECORDS", path, 1);
    return 0;
}

/* --- Made-up searches ------------------------------------------------------------------------- */

/* As if the tuner of m had put up v and were at work, or had ended. */
static void put_up(struct model *m, const struct tune_view *v, bool out)
{
    m->tuner.snapshot = tune_snapshot_new();
    m->tuner.out = m->tuner.wanted = out;
    str_add(&m->tuner.end, out ? "" : "budget spent");
    tune_snapshot_put(m->tuner.snapshot, v, NULL, NULL, NULL);
    model_tune_look(m);
    press(m, "9");
}

/* When the search ends, the winner of the final is the first row, and the cursor goes there. */
static void the_cursor_follows_the_winner(void **state)
{
    (void)state;
    struct tune_script *s = script_new(SEED, 64, 64);
    struct model *m = model_on("gmm m=64 k=32 n=48");
    model_resize(m, 100, 60);
    put_up(m, &s->view, true);
    assert_int_equal(model_tune_selected(m), 16);
    m->tuner.out = false;
    m->tuner.winner = (struct tune_winner){
        .known = true, .in_turns = true, .ms = 2.01, .speedup = 1.95, .trial = 55, .n_timed = 2,
        .timed = { { 55, 2.05, 1.95 }, { 16, 4.12, 0.97 } },
    };
    m->data_stamp++;
    screen_of(m);
    assert_int_equal(model_tune_selected(m), 55);
    press(m, "j j");                       /* over the heading of the samples */
    assert_int_equal(model_tune_selected(m), 44);
    press(m, "k");
    assert_int_equal(model_tune_selected(m), 16);
    assert_shows(m, "trial 17: 4.12 ms in turns, 1.26 ms in the search");
    model_resize(m, 80, 60);              /* the middle of a long line is cut, not its end */
    assert_shows(m, "trial 17: 4.12 ms in turns, 1.26 ms in the search,… Enter opens it");
    model_free(m);
    script_free(s);
}

static void whole_screens(void **state)
{
    (void)state;
    static const struct { const char *name; int w, h, n; bool unicode, letters; } row[] = {
        { "80x24", 80, 24, 184, true, false }, { "120x40", 120, 40, 184, true, false },
        { "200x60", 200, 60, 700, true, false }, { "mono", 80, 24, 184, true, true },
        { "plain", 100, 30, 184, false, true },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct tune_script *s = script_new(SEED, row[i].n, 1000);
        struct model *m = model_on("gmm m=64 k=32 n=48");
        char path[96];
        snprintf(path, sizeof path, "tests/golden/screen/tuner-%s.txt", row[i].name);
        m->unicode = row[i].unicode;
        m->letters = row[i].letters;
        model_resize(m, row[i].w, row[i].h);
        put_up(m, &s->view, true);
        press(m, "j j");
        golden_check(path, screen_of(m));
        model_free(m);
        script_free(s);
    }
}

/* The cursor stays on its trial when faster ones come, and on the best while it was never moved. */
static void cursor_stays(void **state)
{
    (void)state;
    struct tune_script *early = script_new(SEED, 60, 400), *late = script_new(SEED, 200, 400);
    struct model *m = model_on("gmm m=64 k=32 n=48");
    put_up(m, &early->view, true);
    assert_int_equal(model_tune_selected(m), early->view.best);
    press(m, "05 j");
    int chosen = model_tune_selected(m);
    assert_int_not_equal(chosen, early->view.best);
    tune_snapshot_put(m->tuner.snapshot, &late->view, NULL, NULL, NULL);
    model_tune_look(m);
    assert_int_equal(model_tune_selected(m), chosen);
    const struct tune_view *seen = tune_snapshot_lock(m->tuner.snapshot);
    assert_int_equal(seen->n_arms, late->view.n_arms);
    for (int i = 0; i < seen->n_arms; i++) {              /* layouts of before got on as well */
        assert_int_equal(seen->arm[i].trials, late->view.arm[i].trials);
        assert_true(seen->arm[i].best_ms == late->view.arm[i].best_ms);
    }
    tune_snapshot_unlock(m->tuner.snapshot);
    press(m, "l");
    assert_int_equal(model_tune_selected(m), chosen + 1);
    press(m, "02 h");
    assert_int_equal(model_tune_selected(m), chosen - 1);
    press(m, "G");
    assert_shows(m, " x start stage");                    /* the head of the table stays */
    press(m, "g");
    assert_int_equal(model_tune_selected(m), late->view.best);
    model_free(m);
    script_free(early);
    script_free(late);
}

/* Enter: its steps are a branch, and a second time that branch is gone to. */
static void trials_are_branches(void **state)
{
    (void)state;
    struct tune_script *s = script_new(SEED, 40, 40);
    struct model *m = model_on("gmm m=64 k=32 n=48");
    press(m, "p");
    put_up(m, &s->view, false);
    press(m, "j j Enter");
    const struct history *h = m->session->history;
    int trial = model_tune_selected(m);
    char name[32];
    snprintf(name, sizeof name, "trial-%d", trial + 1);
    assert_int_equal(history_n_branches(h), 2);
    assert_string_equal(history_branch(h, history_branch_index(h))->name, name);
    assert_string_equal(history_spec(h), "gmm m=64 k=32 n=48");
    const struct program *p = history_current(h)->program;
    assert_in_range(p->n_steps, 1, 2);
    assert_shows(m, s->view.trial[trial]->line[0]);
    press(m, ": switch Space main Enter : tune Space open Space");
    snprintf(name, sizeof name, "%d Enter", trial + 1);
    press(m, name);
    assert_int_equal(history_n_branches(h), 2);
    assert_ptr_equal(history_current(h)->program, p);
    press(m, ": tune Space open Space 41 Enter");
    assert_shows(m, "there is no trial 41");
    model_free(m);
    script_free(s);
}

/* Enter without a trial under the cursor says how to get one, which depends on the search. */
static void enter_needs_a_trial(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "9 Enter");
    assert_shows(m, "the cursor is not on a trial");
    assert_shows(m, "t starts the tuner");
    press(m, "Esc t Enter");
    assert_shows(m, "the cursor is not on a trial");
    assert_shows(m, "trials come as soon as they are measured");
    model_free(m);
}

static void commands_are_checked(void **state)
{
    (void)state;
    static const struct { const char *line, *says; } row[] = {
        { "tune pause", "no tuner is running" }, { "tune stop", "no tuner is running" },
        { "tune open 3", "nothing has been tuned yet" },
        { "tune 0", "tune 0: expected a whole number from 1 to 10000000" },
        { "tune -5", "tune -5: expected a whole number from 1 to 10000000" },
        { "tune 30 levels=3", "tune levels=3: expected a whole number from 1 to 2" },
        { "tune strategy=genetic", "no strategy \"genetic\"" },
        { "tune 30 pin=frob", "pin= takes layout or all-layouts" },
        { "tune pin=loops", "pin= takes layout or all-layouts" },
        { "tune 12 fast", "tune has no option \"fast\"" },
    };
    struct model *m = model_on(GMM);
    struct desired_job w;
    press(m, "9");
    assert_shows(m, "Nothing has been tuned since this session was opened.");
    assert_shows(m, "the end the best schedule is the session, or a branch");
    for (int i = 0; i < COUNT_OF(row); i++) {
        assert_false(model_command(m, row[i].line));
        assert_shows(m, row[i].says);
        assert_false(model_desired_job(m, LANE_TUNE, &w));
    }
    press(m, ": tune Space pin=frob Enter");
    assert_shows(m, "single steps can only be pinned by `tilescope tune --pin`");
    press(m, "Esc : tune Space strategy=e Tab");
    assert_shows(m, "strategy=evo");
    assert_shows(m, "strategy=exhaustive");
    press(m, "Esc Esc");
    assert_true(model_command(m, "tune 64 time=9 strategy=evo seed=3 levels=2 pin=layout fresh"));
    assert_true(model_desired_job(m, LANE_TUNE, &w));
    struct app_job *j = model_job(m, &w);
    assert_int_equal(j->kind, JOB_TUNE);
    assert_int_equal(j->tune.budget, 64);
    assert_true(j->tune.time_s == 9 && j->tune.seed == 3 && j->tune.seed_given);
    assert_string_equal(j->tune.strategy, "evo");
    assert_int_equal(j->tune.levels, 2);
    assert_string_equal(j->tune.pin[0], "layout");
    assert_true(j->tune.fresh && !j->tune.resume);
    assert_false(model_command(m, "tune 12"));
    assert_shows(m, "the tuner is running");
    assert_true(model_command(m, "tune stop"));
    assert_true(model_desired_job(m, LANE_TUNE, &w));    /* it compares its best */
    assert_int_equal(tune_snapshot_stop(j->snapshot)->raised, 1);
    assert_true(model_command(m, "tune stop"));
    assert_false(model_desired_job(m, LANE_TUNE, &w));
    job_free(j);
    model_free(m);
}

/* While the tuner is at work nothing else is measured: it is asked to wait, and then it is. */
static void measuring_waits_its_turn(void **state)
{
    (void)state;
    struct tune_script *s = script_new(SEED, 24, 400);
    struct model *m = model_on(GMM);
    struct desired_job w;
    put_up(m, &s->view, true);
    assert_false(m->tuner.hold);
    press(m, "m");
    model_tune_look(m);
    assert_true(m->tuner.hold);
    assert_false(model_desired_job(m, LANE_MEASURE, &w));
    assert_shows(m, "letting a step be measured");
    press(m, "Esc");
    model_tune_look(m);
    assert_false(m->tuner.hold);
    press(m, "p");
    model_tune_look(m);
    assert_true(m->tuner.hold);
    assert_shows(m, "pausing");
    model_free(m);
    script_free(s);
}

/* t on a tuner at work says where it is and which keys change that. */
static void says_where_it_is(void **state)
{
    (void)state;
    struct tune_script *s = script_new(SEED, 27, 90);
    struct model *m = model_on(GMM);
    put_up(m, &s->view, true);
    press(m, "t");
    assert_shows(m, "the tuner is at 27 of 90; p pauses it, x stops it");
    press(m, "1 Esc");
    assert_shows(m, "the tuner goes on; t shows it, then x stops it");
    press(m, "Tab");
    assert_shows(m, "t then x stops the search");               /* in every other view and pane */
    press(m, "1");
    assert_shows(m, "t then x stops the search");
    press(m, "t p 1 t");
    assert_shows(m, "the tuner is at 27 of 90, paused; p lets it go on");
    assert_true(m->tuner.paused);
    press(m, "x t");
    assert_shows(m, "the tuner is at 27 of 90 and stops");
    model_free(m);
    script_free(s);
}

/* Leaving asks once: about the tuner alone, or together with the changes. */
static void leaving_asks(void **state)
{
    (void)state;
    static const struct { const char *keys, *asks; bool quit; } row[] = {
        { "q", "The tuner is at 40 of 1000. Stop it and quit? Measurements are kept.", false },
        { "q n", "Steps", false }, { "q Esc", "Steps", false }, { "q s", "Stop it", false },
        { "q y", "", true }, { "Q", "", true },
        { ": start Enter", "The tuner is at 40 of 1000. Stop it and leave?", false },
        { "1 p q", "The tuner is at 40 of 1000, and stops. Save the changes first?", false },
        { "1 p q n", "", true },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct tune_script *s = script_new(SEED, 40, 1000);
        struct model *m = model_on(GMM);
        put_up(m, &s->view, true);
        press(m, row[i].keys);
        if (row[i].asks[0])
            assert_shows(m, row[i].asks);
        assert_int_equal(m->out.quit, row[i].quit);
        assert_true(m->tuner.out);
        model_free(m);
        script_free(s);
    }
}

/* What the tuner's thread would bring back; line NULL: no new steps. */
static struct app_job *result(struct model *m, const struct desired_job *w, enum search_end end,
                              const char *line, double best_ms)
{
    struct app_job *j = model_job(m, w);
    struct tuning *t = j->tuning = xcalloc(1, sizeof *t);
    t->mem = arena_new();
    t->note = "layouts stay as they are";
    t->other_contract = "";
    t->end = end;
    t->start_ms = 8;
    t->best_ms = best_ms;
    t->speedup = 8 / best_ms;
    t->trials = end == SEARCH_CANCELLED && isinf(best_ms) ? 0 : 8;
    t->is_start = !line && best_ms == 8;
    t->n_lines = line ? 1 : 0;
    t->line = ARENA_DUP(t->mem, &line, 1);
    j->ok = true;
    return j;
}

static void bring(struct model *m, const struct desired_job *w, enum search_end end,
                  const char *line, double best_ms)
{
    struct app_job *j = result(m, w, end, line, best_ms);
    model_done(m, j);
    job_free(j);
}

static void bring_back(struct model *m, enum search_end end, const char *line, double best_ms)
{
    struct desired_job w;
    model_desired_tuning(m, &w);
    bring(m, &w, end, line, best_ms);
}

static const char *branch_of(const struct model *m)
{
    const struct history *h = m->session->history;
    return history_branch(h, history_branch_index(h))->name;
}

/* On the branch that has no steps, else on a new one, to which the user is taken unless busy. */
static void results_are_branches(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "t");
    assert_shows(m, "search of up to 1000 trials from main, step 0 of 0 (or the rest");
    bring_back(m, SEARCH_BUDGET, "loop split C M 4", 2);
    assert_string_equal(branch_of(m), "main");
    assert_string_equal(step_of(m), "loop split C M 4");
    assert_shows(m, "tuned: 2.00 ms, about 4.00x as fast as before; 1 step on branch main");
    assert_shows(m, "layouts stay as they are");
    press(m, "t");
    bring_back(m, SEARCH_BUDGET, "loop split C M 4", 2);
    assert_shows(m, "nothing is shown to be faster than this");
    assert_int_equal(history_n_branches(m->session->history), 1);
    press(m, "t");
    bring_back(m, SEARCH_BUDGET, "loop split C N 8", 2);
    assert_string_equal(branch_of(m), "tuned");
    assert_string_equal(step_of(m), "loop split C N 8");
    press(m, "u");
    assert_string_equal(step_of(m), "");
    press(m, "C-r t : loop Space split Space C Space K Space 2 Enter");
    bring_back(m, SEARCH_BUDGET, "loop split C M 2", 2);
    assert_string_equal(branch_of(m), "tuned");
    assert_string_equal(step_of(m), "loop split C K 2");
    assert_shows(m, "on branch tuned2");
    int branches = history_n_branches(m->session->history);
    press(m, "t");
    bring_back(m, SEARCH_BUDGET, NULL, 8);
    assert_shows(m, "nothing is shown to be faster than this");
    press(m, "t");
    bring_back(m, SEARCH_BUDGET, NULL, INFINITY);
    assert_shows(m, "no measured candidate is right");
    press(m, "t");
    bring_back(m, SEARCH_CANCELLED, NULL, INFINITY);
    assert_shows(m, "stopped before anything was measured");
    assert_int_equal(history_n_branches(m->session->history), branches);
    model_free(m);
}

/* The user is on a branch without steps by then: it is his, and the result is beside it. */
static void results_leave_other_branches_alone(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct history *h = m->session->history;
    press(m, ": branch Space mine Enter : switch Space main Enter");
    press(m, ": loop Space split Space C Space K Space 2 Enter t : switch Space mine Enter");
    bring_back(m, SEARCH_BUDGET, "loop split C M 4", 2);
    assert_string_equal(branch_of(m), "mine");
    assert_string_equal(step_of(m), "");
    assert_int_equal(history_n_branches(h), 3);
    assert_string_equal(history_branch(h, 2)->name, "tuned");
    assert_string_equal(history_state(h, history_branch(h, 2)->tip)->step, "loop split C M 4");
    assert_int_equal(history_branch(h, 1)->tip, 0);
    assert_shows(m, "the best is on branch tuned");
    press(m, "t : branch Space bare Enter");              /* as bare as where it started */
    bring_back(m, SEARCH_BUDGET, "loop split C M 8", 2);
    assert_string_equal(branch_of(m), "bare");
    assert_string_equal(step_of(m), "");
    assert_shows(m, "the best is on branch tuned2");
    press(m, ": switch Space main Enter t");              /* no steps at all are the best */
    bring_back(m, SEARCH_BUDGET, NULL, 4);
    assert_string_equal(branch_of(m), "main");
    assert_string_equal(step_of(m), "");
    press(m, "C-r t : switch Space tuned Enter");
    bring_back(m, SEARCH_BUDGET, NULL, 4);
    assert_string_equal(step_of(m), "loop split C M 4");
    assert_int_equal(history_n_branches(h), 5);
    model_free(m);
}

/* At the end the view has the time and the ratio of the result, not those of the search. */
static void the_best_is_that_of_the_result(void **state)
{
    (void)state;
    struct tune_script *s = script_new(SEED, 40, 40);
    struct measurement timed = { .outcome = OUTCOME_OK };
    struct tune_result final = {
        .view = &s->view, .compared = true, .n_finalists = 2, .start = s->view.trial[0],
        .finalist = { { .c = s->view.trial[0] },
                      { .c = s->view.trial[s->view.best], .compared.ratio.ratio = 0.8 } },
    };
    struct desired_job w;
    assert_int_not_equal(s->view.best, 0);
    for (int i = 0; i < 4; i++) {
        struct model *m = model_on(GMM);
        model_resize(m, 160, 40);
        press(m, "t +");
        tune_snapshot_put(m->tuner.snapshot, &s->view, NULL, NULL, NULL);
        model_tune_look(m);
        assert_shows(m, "x as fast as the start (");
        model_desired_tuning(m, &w);
        bool won = i == 1 || i == 2;
        struct app_job *j = result(m, &w, SEARCH_BUDGET, won ? "loop split C M 4" : NULL,
                                   won ? 5 : 8);
        if (i == 2) {
            j->tuning->final_start = j->tuning->final_best = &timed;
            j->tuning->speedup = 1.25;
            j->tuning->other_contract = "A arrives as KM instead of MK";
            j->tuning->speedup_low = 1.2;
            j->tuning->speedup_high = 1.3;
        }
        j->tuning->result = i == 3 ? &final : NULL;
        model_done(m, j);
        j->tuning->result = NULL;
        job_free(j);
        assert_shows(m, i == 2 ? "best    5.00 ms, 1.25x as fast as the start (1.20 to 1.30)"
                       : i == 1 ? "best    5.00 ms, about 1.60x as fast as the start"
                       : "best    8.00 ms, the start: no trial was shown to be faster "
                         "(trial ");
        assert_shows(m, i == 0 ? " in the search)"
                       : i == 3 ? " in the search, 1.25x as fast as the start"
                       : i == 2 ? "1.25x as fast as before (1.20 to 1.30)"
                       : "about 1.60x as fast as before");
        if (i == 2) {
            assert_shows(m, "on branch main; other contract: A arrives as KM instead of MK");
            assert_shows(m, "the best is on branch main; other contract: A arrives as KM");
        } else {
            assert_hides(m, "other contract");
        }
        assert_shows(m, won ? "; 1 step on branch main"
                            : "tuned: nothing is shown to be faster than this");
        model_free(m);
    }
    script_free(s);
}

/* The best may be a branch of the user's own. Its steps are not to be undone: the note names the
 * branch, and the command that takes the user back. */
static void a_result_may_be_a_branch_that_was_there(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    type_line(m, "loop split C M 4");
    type_line(m, "branch two");
    type_line(m, "goto 0");
    type_line(m, "loop split C K 2");
    press(m, "9 t");
    bring_back(m, SEARCH_BUDGET, "loop split C M 4", 2);
    assert_string_equal(branch_of(m), "main");
    assert_shows(m, "the best equals branch main, step 1, and is shown now; :switch two");
    assert_hides(m, "takes it back");
    type_line(m, "switch two");
    assert_shows(m, "the best equals branch main, step 1; layouts stay");
    assert_hides(m, "goes back");                        /* the user is there */
    assert_string_equal(step_of(m), "loop split C K 2");
    type_line(m, "switch main");
    press(m, "u 9 t");                                   /* an undone step of the same branch */
    bring_back(m, SEARCH_BUDGET, "loop split C M 4", 2);
    assert_string_equal(step_of(m), "loop split C M 4");
    assert_shows(m, "the best equals branch main, step 1, and is shown now; :goto 0 goes");
    type_line(m, "switch two");
    press(m, "9 t");
    type_line(m, "loop split C N 8");                    /* the user goes on meanwhile */
    bring_back(m, SEARCH_BUDGET, "loop split C M 4", 2);
    assert_string_equal(branch_of(m), "two");
    assert_string_equal(step_of(m), "loop split C N 8");
    assert_shows(m, "the best equals branch main, step 1; layouts stay");
    press(m, "t");
    bring_back(m, SEARCH_BUDGET, "loop split C N 2", 2);
    assert_shows(m, "the best is on branch tuned; :switch two goes back; ");
    model_free(m);
}

/* In a session with as many branches as there may be: the error is told, not a success. */
static void a_result_without_room_is_told(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct history *h = m->session->history;
    struct err e;
    char name[16];
    press(m, ": loop Space split Space C Space K Space 2 Enter");
    for (int i = 1; i < SESSION_MAX_BRANCHES; i++) {
        snprintf(name, sizeof name, "b%d", i);
        assert_true(history_branch_new(h, name, &e));
    }
    screen_refresh(m);
    press(m, "t");
    bring_back(m, SEARCH_BUDGET, "loop split C N 8", 2);
    assert_int_equal(history_n_branches(h), SESSION_MAX_BRANCHES);
    assert_string_equal(step_of(m), "loop split C K 2");
    assert_shows(m, "a session has at most 256 branches");
    assert_hides(m, "tuned: 2.00 ms");
    model_free(m);
}

/* A job that came back twice, or late, is taken once. */
static void results_are_taken_once(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct desired_job first;
    press(m, "t");
    assert_true(model_desired_tuning(m, &first));
    bring(m, &first, SEARCH_BUDGET, "loop split C M 4", 2);
    bring(m, &first, SEARCH_BUDGET, "loop split C N 4", 1);
    assert_string_equal(step_of(m), "loop split C M 4");
    press(m, "t");
    bring(m, &first, SEARCH_BUDGET, "loop split C N 4", 1);
    assert_true(m->tuner.out);
    assert_int_equal(history_n_branches(m->session->history), 1);
    bring_back(m, SEARCH_BUDGET, "loop split C N 8", 1);
    assert_string_equal(step_of(m), "loop split C N 8");
    model_free(m);
}

/* After a stop the same key goes on from the same start, unless the user did something else. */
static void stopped_goes_on(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct desired_job w;
    press(m, "0 5 0 t");
    int start = m->tuner.state;
    press(m, "x");
    assert_true(model_desired_job(m, LANE_TUNE, &w));
    assert_shows(m, "stopping");
    assert_shows(m, "x again skips these timings");
    press(m, "x");
    assert_false(model_desired_job(m, LANE_TUNE, &w));
    assert_shows(m, "stopping");
    bring_back(m, SEARCH_CANCELLED, "loop split C M 4", 2);
    assert_string_equal(step_of(m), "loop split C M 4");
    assert_shows(m, "t goes on where it was");
    press(m, "t");
    assert_true(model_desired_job(m, LANE_TUNE, &w));
    assert_int_equal(m->tuner.state, start);
    assert_int_equal(m->tuner.opts.budget, 50);
    press(m, "x");
    bring_back(m, SEARCH_CANCELLED, "loop split C M 8", 1);
    assert_string_equal(branch_of(m), "tuned");
    press(m, "t x");
    bring_back(m, SEARCH_CANCELLED, "loop split C M 8", 1);          /* the same winner again */
    assert_string_equal(branch_of(m), "tuned");
    assert_int_equal(history_n_branches(m->session->history), 2);
    press(m, ": loop Space split Space C Space N Space 2 Enter t");
    assert_true(model_desired_job(m, LANE_TUNE, &w));
    assert_int_equal(m->tuner.state, history_current(m->session->history)->id);
    assert_int_equal(m->tuner.opts.budget, 0);
    model_free(m);
}

/* From another view, t shows the search that has ended; in its view, t starts another. */
static void t_shows_what_ended(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "0 5 0 t");
    bring_back(m, SEARCH_BUDGET, "loop split C M 4", 2);
    press(m, "4 t");
    assert_false(m->tuner.out);
    assert_int_equal(m->view[m->last_view], VIEW_TUNE);
    assert_shows(m, "the search has ended; t again starts a new one, of up to 1000 trials");
    press(m, "t");
    assert_true(m->tuner.out);
    bring_back(m, SEARCH_BUDGET, "loop split C M 4", 2);
    press(m, ": loop Space split Space C Space N Space 2 Enter 4 t");        /* another state */
    assert_true(m->tuner.out);
    model_free(m);
}

/* What the tuner brings while it is asked about is not thrown away unasked. */
static void ends_while_asked(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "t q");
    assert_shows(m, "The tuner is preparing. Stop it and quit?");
    bring_back(m, SEARCH_BUDGET, "loop split C M 4", 2);
    assert_shows(m, "The tuner has ended. Still quit?");
    press(m, "y");
    assert_false(m->out.quit);
    assert_shows(m, "Save the changes first?");
    press(m, "n");
    assert_true(m->out.quit);
    model_free(m);
}

/* The note says what t would do where the user is now, and t does that. */
static void promises_are_kept(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, ": loop Space split Space C Space K Space 2 Enter 0 9 0 t");
    int start = m->tuner.state;
    bring_back(m, SEARCH_CANCELLED, "loop split C N 4", 2);
    assert_string_equal(branch_of(m), "tuned");
    assert_shows(m, "t goes on where it was");
    assert_shows(m, "t continue");
    press(m, "u");
    assert_shows(m, "t new search");
    assert_hides(m, "t goes on where it was");
    assert_shows(m, "t starts a new search");
    assert_shows(m, "after `:switch main`, t");
    press(m, ": switch Space main Enter");
    assert_shows(m, "t goes on where it was");
    press(m, ": switch Space tuned Enter t");
    assert_shows(m, "the session has changed: a new search of ");
    assert_int_not_equal(m->tuner.state, start);
    assert_int_equal(m->tuner.opts.budget, 0);
    model_free(m);
    m = model_on(GMM);
    press(m, "0 9 0 t");
    bring_back(m, SEARCH_CANCELLED, "loop split C N 4", 2);
    assert_hides(m, "takes it back");
    model_free(m);
}

/* --- The snapshot ----------------------------------------------------------------------------- */

struct poster {
    struct tune_snapshot *b;
    const struct tune_view *v;
    struct cancel cancel;
    int told;
};

static void count_told(void *ctx, const struct tune_view *v)
{
    (void)v;
    ((struct poster *)ctx)->told++;
}

static void *post(void *ctx)
{
    struct poster *p = ctx;
    tune_snapshot_put(p->b, p->v, &p->cancel, count_told, p);
    return NULL;
}

static void wait_until_held(struct tune_snapshot *b)
{
    double end = clock_s() + LIMIT_S;
    while (!tune_snapshot_waits(b)) {
        if (clock_s() > end)
            fail_msg("nobody waits");
        usleep(1000);
    }
}

static void board_holds(void **state)
{
    (void)state;
    for (int by_cancel = 0; by_cancel < 2; by_cancel++) {
        struct tune_script *s = script_new(SEED, 50, 100);
        struct poster p = { .b = tune_snapshot_new(), .v = &s->view };
        pthread_t thread;
        assert_null(tune_snapshot_lock(p.b));
        tune_snapshot_unlock(p.b);
        tune_snapshot_hold(p.b, true);
        assert_int_equal(pthread_create(&thread, NULL, post, &p), 0);
        wait_until_held(p.b);
        struct tune_snapshot *second = tune_snapshot_share(p.b);
        if (by_cancel)
            atomic_store(&p.cancel.raised, 1);
        else
            tune_snapshot_hold(p.b, false);
        pthread_join(thread, NULL);
        assert_false(tune_snapshot_waits(p.b));
        assert_int_equal(p.told, 2);
        assert_int_equal(tune_snapshot_version(p.b), 2);
        tune_snapshot_drop(p.b);
        int n = s->view.n_trials;
        double best = s->view.best_ms;
        script_free(s);                   /* the copies are the snapshot's own */
        const struct tune_view *v = tune_snapshot_lock(second);
        assert_int_equal(v->n_trials, n);
        assert_true(v->trial[v->best]->ms == best);
        for (int i = 0; i < n; i++)
            assert_int_equal(v->trial[i]->trial, i);
        tune_snapshot_unlock(second);
        tune_snapshot_drop(second);
    }
}

/* --- A real search in this process ------------------------------------------------------------ */

/* What the command's job leaves on the snapshot; model_free frees it. */
static struct model *tuned(const char *line, bool answered)
{
    struct model *m = model_on("gmm m=8 k=16 n=32");
    struct cancel never = {0};
    struct desired_job w;
    assert_true(model_command(m, line));
    assert_true(model_desired_job(m, LANE_TUNE, &w));
    struct app_job *j = model_job(m, &w);
    job_run(j, &never, NULL);
    if (!j->ok)
        fail_msg("%s", j->e.text);
    assert_int_equal(j->tuning->answered, answered);
    const struct tune_result *r = j->tuning->result;
    if (r && r->best != r->start)          /* timed in turns, in the final or afterwards */
        assert_true(j->tuning->speedup_low > 0 && j->tuning->final_start);
    if (r && r->gained) {
        assert_true(j->tuning->final_start == &r->gain[0].m);
        assert_true(j->tuning->final_best == &r->gain[1].m);
    }
    for (int i = 0; r && r->compared && !r->gained && i < r->n_finalists; i++) {
        const struct measurement *seen = &r->finalist[i].compared.m;
        assert_true(r->finalist[i].c != r->start || j->tuning->final_start == seen);
        assert_true(r->finalist[i].c != r->best || j->tuning->final_best == seen);
    }
    struct tuning_timed timed[TUNING_MOST_TIMED];
    int n = r ? tuning_timed(r, timed) : 0;
    model_done(m, j);
    assert_int_equal(m->tuner.winner.n_timed, n);
    if (r && r->compared) {
        assert_true(n >= r->n_finalists && n <= r->n_finalists + r->gained);
        assert_int_equal(timed[0].trial, tuning_trial(r, r->best));
        assert_true(tuning_lost(timed, n, r->view) || r->view->trial[r->view->best] == r->best);
    }
    for (int i = 1; i < n; i++)
        assert_true(timed[i].trial != timed[0].trial && !(timed[i].ms < timed[i - 1].ms && i > 1));
    job_free(j);
    return m;
}

/* A run that is over looks in the records as it did at its end. */
static void past_is_what_was(void **state)
{
    (void)state;
    static const char *const line[] = { "tune 20 seed=5 strategy=evo", "tune 12 pin=all-layouts" };
    for (int k = 0; k < COUNT_OF(line); k++) {
        struct model *live = tuned(line[k], false), *past = tuned(line[k], true);
        const struct tune_view *a = tune_snapshot_lock(live->tuner.snapshot),
                               *b = tune_snapshot_lock(past->tuner.snapshot);
        assert_int_equal(a->n_trials, b->n_trials);
        assert_int_equal(a->best, b->best);
        assert_true(a->best_ms == b->best_ms && a->start_ms == b->start_ms);
        assert_memory_equal(a->failed, b->failed, sizeof a->failed);
        for (int i = 0; i < a->n_trials; i++) {
            const struct tune_candidate *x = a->trial[i], *y = b->trial[i];
            assert_string_equal(x->text, y->text);
            assert_int_equal(x->n_lines, y->n_lines);
            assert_int_equal(x->outcome, y->outcome);
            assert_int_equal(x->stage, y->stage);
            assert_int_equal(x->seed, y->seed);
            assert_true(x->ms == y->ms && x->best_ms == y->best_ms);
            assert_string_equal(a->arm[x->arm].family, b->arm[y->arm].family);
        }
        tune_snapshot_unlock(live->tuner.snapshot);
        tune_snapshot_unlock(past->tuner.snapshot);
        model_free(live);
        model_free(past);
    }
}

/* --- The whole program ------------------------------------------------------------------------ */

static int count_records(struct record_run *first, int *runs)
{
    struct arena *a = arena_new();
    struct records *r;
    struct record_filter f = { .spec = GMM };
    const struct record_run *run;
    const struct record *rec;
    struct err e;
    int n = 0;
    if (!records_open_reading(NULL, &r, &e) || !records_list(r, &f, a, &rec, &n, &e) ||
        !records_runs(r, &f, a, &run, runs, &e))
        fail_msg("%s", e.text);
    if (*runs > 0)
        *first = run[0];
    records_close(r);
    arena_free(a);
    return n;
}

static struct tty *start(int w, int h)
{
    return tty_start(&(struct tty_opts){ .w = w, .h = h, .argv = on_gmm });
}

static void quit(struct tty *t)
{
    tty_send(t, "Esc : q! Enter");
    assert_int_equal(tty_end(t), 0);
}

/* From the key to the steps, and undone again. */
static void tunes(void **state)
{
    (void)state;
    struct record_run run;
    int runs;
    struct tty *t = start(120, ROWS);
    tty_send(t, "0 1 6 t");
    tty_wait_idle(t, LIMIT_S);
    tty_assert_shows(t, "16 of 16, budget spent");
    tty_assert_shows(t, "tuned: ");
    tty_assert_shows(t, "on branch main");
    tty_assert_shows(t, "●");
    assert_int_equal(count_records(&run, &runs), 17);
    assert_int_equal(runs, 1);
    tty_press(t, "u");
    tty_assert_shows(t, ":undo");
    tty_press(t, "C-r j Enter");
    tty_assert_shows(t, "is branch ");
    tty_press(t, ": switch Space main Enter 0 9 9 u");
    quit(t);
    /* The same question again is answered at once. */
    t = start(80, 24);
    tty_send(t, "0 1 6 t");
    tty_wait_idle(t, LIMIT_S);
    tty_assert_shows(t, "from the records: ");
    tty_assert_shows(t, "measures again");
    tty_assert_shows(t, "16 of 16 trials, known from the records");
    tty_press(t, "j j Enter");
    tty_assert_shows(t, "is branch ");
    assert_int_equal(count_records(&run, &runs), 17);
    quit(t);
}

/* Paused it does nothing; killed it loses nothing; started again it goes on; stopped it is over. */
static void pauses_dies_goes_on(void **state)
{
    (void)state;
    struct record_run run;
    int runs;
    struct tty *t = start(80, 24);
    tty_send(t, ": tune Space 300 Space seed=2 Enter");
    tty_wait_shows(t, "x as fast as the start", LIMIT_S);
    tty_send(t, "p");
    tty_wait_idle(t, LIMIT_S);
    tty_assert_shows(t, ", paused");
    int before = count_records(&run, &runs);
    assert_true(before > 17);
    tty_press(t, "Enter");
    tty_assert_shows(t, "is branch ");
    tty_kill(t, SIGKILL);
    assert_int_equal(tty_end(t), -1);
    assert_int_equal(count_records(&run, &runs), before);
    t = start(80, 40);                    /* a noisy machine has a longer note */
    tty_assert_shows(t, "Open the unsaved changes");       /* the branch of the trial */
    tty_press(t, "n");
    tty_press(t, "9");
    tty_assert_shows(t, "of 300 trials, the best at");
    tty_send(t, "t");
    tty_wait_shows(t, "measuring,", LIMIT_S);
    tty_send(t, "x");
    tty_wait_idle(t, LIMIT_S);
    tty_assert_shows(t, "of 300 trials, stopped");
    tty_assert_shows(t, "takes it back; t goes on where it");
    assert_true(count_records(&run, &runs) >= before);
    assert_int_equal(runs, 2);
    tty_send(t, "t");
    tty_wait_shows(t, "measuring,", LIMIT_S);
    tty_send(t, "x");
    tty_wait_idle(t, LIMIT_S);
    tty_send(t, ": tune Space 40 Enter");            /* another budget is another search */
    tty_wait_shows(t, "a new search of 40 trials; from the same step, `:tune 300` still", LIMIT_S);
    tty_wait_shows(t, "measuring,", LIMIT_S);
    tty_send(t, "Q");                     /* leaving is stopping, too */
    assert_int_equal(tty_end(t), 0);
    count_records(&run, &runs);
    assert_int_equal(runs, 3);
    assert_int_equal(run.state, RUN_STOPPED);
}

static void says_what_cannot_be_tuned(void **state)
{
    (void)state;
    static const char *const on_softmax[] = { "--no-auto", "softmax m=4 n=8", NULL };
    struct tty *t = tty_start(&(struct tty_opts){ .w = 80, .h = 24, .argv = on_softmax });
    tty_press(t, "t");
    tty_assert_shows(t, "Nothing was tuned.");
    tty_assert_shows(t, "neither a convolution nor");
    tty_assert_shows(t, "c1d c2d");
    tty_send(t, "q");
    assert_int_equal(tty_end(t), 0);
}

/* Opening the records, and perhaps asking a compiler for its version, is no work between a key and
 * its redraw. */
static void a_job_looks_for_stopped_searches(void **state)
{
    struct desired_job w;
    struct cancel c = {0};
    (void)state;
    struct model *m = model_on("gmm m=64 k=32 n=48");
    assert_false(model_desired_job(m, LANE_TEXT, &w));
    press(m, "9");
    assert_true(model_desired_job(m, LANE_TEXT, &w));
    assert_int_equal(w.kind, JOB_STOPPED);
    struct app_job *j = model_job(m, &w);
    m->progress[LANE_TEXT] = (struct job_progress){ .running = true, .kind = w.kind };
    assert_shows(m, "looking for searches");
    m->progress[LANE_TEXT].running = false;
    job_run(j, &c, NULL);
    model_done(m, j);
    job_free(j);
    screen_refresh(m);
    assert_false(model_desired_job(m, LANE_TEXT, &w));
    press(m, "1 p 9");                   /* another state */
    assert_true(model_desired_job(m, LANE_TEXT, &w));
    model_free(m);
}

int main(void)
{
    setenv("TILESCOPE_CFLAGS", "-O0", 0);  /* what is checked does not depend on gcc's work */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_screens),
        cmocka_unit_test(the_cursor_follows_the_winner), cmocka_unit_test(cursor_stays),
        cmocka_unit_test(trials_are_branches), cmocka_unit_test(enter_needs_a_trial),
        cmocka_unit_test(commands_are_checked),
        cmocka_unit_test(measuring_waits_its_turn), cmocka_unit_test(results_are_branches),
        cmocka_unit_test(a_result_without_room_is_told),
        cmocka_unit_test(the_best_is_that_of_the_result),
        cmocka_unit_test(a_result_may_be_a_branch_that_was_there),
        cmocka_unit_test(results_are_taken_once),
        cmocka_unit_test(results_leave_other_branches_alone),
        cmocka_unit_test(stopped_goes_on), cmocka_unit_test(t_shows_what_ended),
        cmocka_unit_test(says_where_it_is),
        cmocka_unit_test(leaving_asks), cmocka_unit_test(ends_while_asked),
        cmocka_unit_test(promises_are_kept), cmocka_unit_test(board_holds),
        cmocka_unit_test(past_is_what_was),
        cmocka_unit_test(tunes), cmocka_unit_test(pauses_dies_goes_on),
        cmocka_unit_test(says_what_cannot_be_tuned),
        cmocka_unit_test(a_job_looks_for_stopped_searches),
    };
    return cmocka_run_group_tests_name("tunescreen", tests, in_private_folders, NULL);
}
