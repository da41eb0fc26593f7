/* What a user expects of a screen: numbers that stay, searches, pastes, what a killed run left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "app/ui/grid_svg.h"
#include "kernels/base/file.h"
#include "profile/build/build.h"
#include "sessions/file/shipped.h"
#include "tests/unit/fork_child.h"
#include "tests/unit/model_help.h"
#include "tests/unit/svg_check.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define GMM "gmm m=64 k=32 n=48"

/* numbers */

/* Takes the result of the measurement that is due: the time alone with misses < 0. */
static void measured(struct model *m, double ms, double spread, int64_t misses)
{
    struct desired_job w;
    assert_true(model_desired_job(m, LANE_MEASURE, &w));
    struct app_job *j = model_job(m, &w);
    j->ok = j->m.verified = true;
    j->m.outcome = OUTCOME_OK;
    j->m.latency = (struct latency){ .median_ms = 1.0625 * ms, .min_ms = ms, .max_ms = 3 * ms,
                                     .spread = spread, .runs = 11 };
    j->m.load = 5.25;
    snprintf(j->m.measured_at, sizeof j->m.measured_at, "2026-11-23T02:10:00Z");
    j->m.sim.available = misses >= 0;
    j->m.sim.l1_misses = misses;
    model_done(m, j);
    job_free(j);
}

static const struct measurement *numbers(const struct model *m)
{
    return history_current(m->session->history)->measured;
}

/* A pane without room for the column of the misses says those of the step under the cursor. */
static void test_narrow_panes_say_misses(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "m");
    measured(m, 4, 0.01, 123456);
    press(m, ": focus Space steps Enter");
    model_resize(m, 90, 24);
    assert_shows(m, "0: gmm m=64 k=32 n=48, 123k misses (best of 11 runs");
    model_resize(m, 160, 24);
    assert_shows(m, "123k");
    assert_hides(m, ", 123k misses");
    model_free(m);
}

static void test_share_of_the_ceiling(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct measurement r = { .outcome = OUTCOME_OK, .verified = true, .peak_fraction = 0.76 };
    r.latency = (struct latency){ .median_ms = 3, .min_ms = 3, .runs = 11 };
    history_set_measured(m->session->history, 0, &r);
    type_line(m, "columns best peak ok");
    model_resize(m, 160, 24);
    press(m, ": focus Space steps Enter");
    assert_shows(m, "peak");
    assert_shows(m, "76 %");
    assert_shows(m, "(76 % of the FMA ceiling, best of 11 runs");
    model_free(m);
}

static void test_the_best_stays(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "m");
    measured(m, 4, 0.01, 1000);
    press(m, "m");
    measured(m, 5, 0.01, 1000);
    assert_shows(m, "best 5.00 ms; the earlier 4.00 ms stays");
    assert_true(numbers(m)->latency.min_ms == 4);
    assert_int_equal(numbers(m)->measurements, 2);
    press(m, "m");
    measured(m, 3, 0.01, 1000);
    assert_true(numbers(m)->latency.min_ms == 3);
    model_resize(m, 160, 24);
    press(m, ": focus Space steps Enter k");
    assert_shows(m, "the best of 3 measurements, of 2026-11-23 02:10 UTC");
    press(m, ": measure_fresh Enter");
    measured(m, 6, 0.01, 1000);
    assert_true(numbers(m)->latency.min_ms == 6);
    press(m, "m");
    measured(m, 7, 0.01, 1000);                          /* only that one was forced */
    assert_true(numbers(m)->latency.min_ms == 6);
    model_free(m);
}

static void test_other_ways_do_not_mix(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "m");
    measured(m, 4, 0.01, 1000);
    struct measurement two = *numbers(m);
    two.latency.min_ms = 5;
    two.threads = 2;
    assert_false(history_add_measured(m->session->history, 0, &two, false));
    assert_true(numbers(m)->latency.min_ms == 5);
    two.latency.min_ms = 6;
    strcpy(two.code, "other");
    assert_false(history_add_measured(m->session->history, 0, &two, false));
    assert_true(numbers(m)->latency.min_ms == 6);
    two.outcome = OUTCOME_CRASH;
    assert_false(history_add_measured(m->session->history, 0, &two, false));
    assert_int_equal(numbers(m)->outcome, OUTCOME_CRASH);
    model_free(m);
}

/* The time of a state whose last step is held is that of the state before it, and stays when the
 * held step is dropped. */
static void held_steps_share_their_time(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    type_line(m, "loop split C N 16");
    type_line(m, "loop reorder C N.1 N.0");
    type_line(m, "drop 1");
    assert_non_null(history_current(m->session->history)->held);
    press(m, "m");
    measured(m, 4, 0.01, 1000);
    int before = history_current(m->session->history)->parent;
    assert_true(history_state(m->session->history, before)->measured->latency.min_ms == 4);
    type_line(m, "drop 1");
    assert_int_equal(history_current(m->session->history)->id, before);
    assert_true(numbers(m)->latency.min_ms == 4);
    model_free(m);
}

/* A measurement that was made in another way never loses a time. */
static void test_other_ways_keep_the_best_time(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct history *h = m->session->history;
    struct measurement wide = { .outcome = OUTCOME_OK, .isa = "avx512", .code = "old",
                                .latency = { .min_ms = 3, .median_ms = 3, .runs = 9 } };
    struct measurement other = wide;
    history_add_measured(h, 0, &wide, false);
    strcpy(other.code, "new");            /* misses only, of another version of the code */
    other.latency = (struct latency){0};
    other.sim.available = true;
    assert_false(history_add_measured(h, 0, &other, false));
    assert_true(numbers(m)->latency.min_ms == 3 && !numbers(m)->sim.available);
    strcpy(other.isa, "avx2");            /* the user has chosen another target */
    history_add_measured(h, 0, &other, false);
    assert_true(numbers(m)->latency.runs == 0 && numbers(m)->sim.available);
    history_prefer(h, 0, "avx512", "", 1);
    assert_true(numbers(m)->latency.min_ms == 3);
    other.outcome = OUTCOME_CRASH;
    history_add_measured(h, 0, &other, false);
    assert_int_equal(numbers(m)->outcome, OUTCOME_CRASH);
    wide.latency.min_ms = 4;              /* the same way as the first: the best of both */
    assert_true(history_add_measured(h, 0, &wide, false));
    assert_true(numbers(m)->latency.min_ms == 3 && numbers(m)->measurements == 2);
    model_free(m);
}

/* The tuner times the state that it starts from, but does not simulate it. */
static void test_partial_numbers_merge(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "m");
    measured(m, 4, 0.01, 1000);
    press(m, "m");
    measured(m, 3, 0.01, -1);
    assert_true(numbers(m)->latency.min_ms == 3);
    assert_true(numbers(m)->sim.available && numbers(m)->sim.l1_misses == 1000);
    struct measurement sim = *numbers(m);
    sim.latency = (struct latency){0};
    sim.sim.l1_misses = 2000;
    history_add_measured(m->session->history, 0, &sim, false);
    assert_true(numbers(m)->latency.min_ms == 3 && numbers(m)->sim.l1_misses == 2000);
    struct measurement beside = *numbers(m), faster = beside;
    beside.baseline[0] = (struct baseline){ .available = true, .ratio = 1.5 };
    history_add_measured(m->session->history, 0, &beside, false);
    faster.latency.min_ms = 2;            /* alone: the ratio stays that of the turns */
    history_add_measured(m->session->history, 0, &faster, false);
    assert_true(numbers(m)->latency.min_ms == 2);
    assert_true(numbers(m)->baseline[0].available && numbers(m)->baseline[0].ratio == 1.5);
    history_add_measured(m->session->history, 0, &faster, true);      /* only the newest */
    assert_false(numbers(m)->baseline[0].available);
    beside.latency.min_ms = 5;            /* slower, but with a ratio: the best stays */
    history_add_measured(m->session->history, 0, &beside, false);
    assert_true(numbers(m)->latency.min_ms == 2 && numbers(m)->baseline[0].available);
    history_add_measured(m->session->history, 0, &faster, true);
    strcpy(faster.baseline[0].reason, "not installed");
    faster.latency.min_ms = 1;
    history_add_measured(m->session->history, 0, &faster, false);
    assert_string_equal(numbers(m)->baseline[0].reason, "not installed");
    model_free(m);
}

/* A row of the list says the same as the report, which soon makes room for the hint. */
static void test_reports_fade(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "m");
    measured(m, 4, 0.01, 1000);
    assert_shows(m, "measured: best 4.00 ms");
    for (int i = 0; i < 100; i++)
        model_tick(m);
    assert_hides(m, "measured: ");
    assert_shows(m, "loop M of C: 64 iterations.");
    press(m, "m");
    measured(m, 5, 0.01, 1000);
    for (int i = 0; i < 100; i++)
        model_tick(m);
    assert_shows(m, "the earlier 4.00 ms stays");        /* no row says that */
    press(m, "Esc");
    assert_shows(m, "nothing is open or running that Esc could end");
    for (int i = 0; i < 100; i++)
        model_tick(m);
    assert_hides(m, "nothing is open or running");
    model_free(m);
}

static void test_noise_is_marked(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "m");
    measured(m, 4, 0.01, 1000);
    assert_hides(m, "~✓");
    press(m, "p m");
    measured(m, 3, 0.31, 1000);
    assert_shows(m, "~✓");
    press(m, ": focus Space steps Enter j");
    assert_shows(m, "~ noisy at load 5.2: spread 31 %");
    press(m, "?");                       /* the marks come before the keys of the list of steps */
    screen_of(m);
    const struct doc *help = &m->pane[DOC_HELP].doc;
    int keys = doc_find(help, "On a step", 0, 1), marks = doc_find(help, "noisy: ", 0, 1);
    assert_true(marks >= 0 && keys > marks && marks < 16);
    press(m, "Esc");
    press(m, "6");
    assert_shows(m, "noisy:");
    assert_shows(m, "the load of the machine");
    struct measurement r = *numbers(m);                  /* its middle half is narrow */
    r.latency.spread = 0.02;
    r.latency.median_ms = 4;
    r.load = 0;
    history_set_measured(m->session->history, 1, &r);
    m->data_stamp++;
    assert_shows(m, "noisy:    the median is 33 % above the best time");
    press(m, ": focus Space steps Enter k j");
    model_resize(m, 160, 30);
    assert_shows(m, "~✓");
    assert_shows(m, "(~ noisy: the median is 33 % above the best; best of 11 runs");
    model_free(m);
}

static void test_one_statistic(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "m");
    measured(m, 4, 0.01, 1000);
    press(m, "B");
    assert_shows(m, "best");
    assert_shows(m, "4.00 ms");
    assert_hides(m, "8.00 ms");                          /* the median */
    model_free(m);
}

/* A step that was typed before the last one was measured gets its numbers when nothing else is
 * due. */
static void test_late_numbers(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "A p");
    press(m, "U");
    measured(m, 3, 0.01, 1000);
    assert_true(numbers(m)->latency.min_ms == 3);
    assert_true(model_measuring(m) == 1);
    measured(m, 4, 0.01, 1000);
    assert_true(history_state(m->session->history, 1)->measured->latency.min_ms == 4);
    assert_true(model_measuring(m) == 0);                /* A has asked for it */
    press(m, "Esc");
    assert_int_equal(model_measuring(m), -1);
    model_free(m);
}

static void test_kept_branch_is_explained(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "p m");
    measured(m, 3, 0.01, 1000);
    press(m, "u U");
    assert_shows(m, "the undone steps were measured: branch main~1 keeps them");
    press(m, "B");
    assert_shows(m, "kept from main, step 1: lo");
    press(m, "j");                                       /* the hint has it whole */
    assert_shows(m, "\n kept from main, step 1: loop parallel C M");
    press(m, "Esc m");
    measured(m, 4, 0.01, 1000);
    press(m, "u : loop Space unroll Space C Space N Enter B j j");
    assert_shows(m, "main~2");                           /* it differs from what it became, */
    assert_shows(m, "\n kept from main, step 1: loop unroll C M");
    press(m, "k");                                       /* and the older one from that */
    assert_shows(m, "\n kept from main, step 1: loop parallel C M");
    press(m, "Esc");
    struct session *s;
    struct err e;
    assert_true(session_save(m->session, "kept.yaml", &e));
    assert_true(session_load("kept.yaml", &s, &e));
    model_free(m);
    struct model_opts o = {.no_auto = true};
    m = model_new(s, &o, true);           /* a file has its branches one after the other */
    press(m, "B j j");
    assert_shows(m, "\n kept from main, step 1: loop unroll C M");
    model_free(m);
}

/* A consumer without a layout of its own takes that of its producer, whatever was typed. */
static void test_followers_say_so(void **state)
{
    (void)state;
    struct model *m = model_on("c2d n=1 i=3 h=8 w=8 o=16 k=3 p=1 relu=1");
    type_line(m, "layout set Conv \"N H W O\"");
    assert_hides(m, "takes the layout of");
    type_line(m, "layout reset ReLU");
    assert_shows(m, "ReLU takes the layout of Conv; layout set ReLU");
    assert_hides(m, "changes nothing");
    type_line(m, "layout set ReLU \"N O H W\"");
    assert_hides(m, "takes the layout of");
    assert_hides(m, "changes nothing");
    model_free(m);
}

/* A step after which the lanes of a vector lie apart in memory says so, once. */
static void test_lanes_apart(void **state)
{
    static const char apart[] = "the lanes of M lie 48 elements apart in C";
    static const char in_a[] = "the lanes of M lie 32 elements apart in A: each is loaded";
    (void)state;
    struct model *m = model_on(GMM);
    type_line(m, "loop reorder C N K M");
    assert_hides(m, "apart");
    model_resize(m, 240, 40);
    type_line(m, "loop vectorize C M");
    assert_shows(m, apart);
    assert_shows(m, in_a);
    type_line(m, "loop unroll C K");
    assert_hides(m, "apart");
    type_line(m, "layout set C \"N M\"");    /* now lanes of M are adjacent here */
    assert_hides(m, "apart");
    type_line(m, "layout set A \"K M\"");
    assert_hides(m, "apart");
    type_line(m, "layout set A \"M K\"");
    assert_shows(m, in_a);
    assert_hides(m, apart);
    type_line(m, "layout set C \"M N\"");
    assert_shows(m, apart);
    model_free(m);
    m = model_on(GMM);
    type_line(m, "loop reorder C M K N");
    type_line(m, "loop vectorize C N");
    assert_hides(m, "apart");
    type_line(m, "layout set C \"N/16 M 16n\"");
    assert_hides(m, "apart");
    type_line(m, "layout set B \"N K\"");
    assert_shows(m, "the lanes of N.1 lie 32 elements apart in B");
    assert_shows(m, "loaded by itself");
    assert_shows(m, "layout of B");
    type_line(m, "layout set B \"K N\"");
    assert_hides(m, "apart");
    model_free(m);
}

/* Steps without effect are taken, since later steps may build on them, and say so. */
static void test_steps_without_effect_say_so(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    type_line(m, "layout set B \"K N\"");
    assert_shows(m, "the step changes nothing: the layouts");
    type_line(m, "set input_layout given");
    assert_shows(m, "input A has no other layout (layout set A ...");
    type_line(m, "layout set B \"N K\"");
    assert_hides(m, "changes nothing");
    type_line(m, "loop reorder C M K N");
    assert_hides(m, "changes nothing");
    type_line(m, "loop reorder C M K N");
    assert_shows(m, "the step changes nothing: the order");
    type_line(m, "undo");                                /* only a new step says so */
    type_line(m, "redo");
    assert_hides(m, "changes nothing");
    type_line(m, "loop split C N 16");
    assert_hides(m, "changes nothing");
    type_line(m, "loop unroll C M");
    assert_hides(m, "changes nothing");
    type_line(m, "loop unroll C M");
    assert_shows(m, "the step changes nothing: the annotations");
    type_line(m, "loop vectorize C N.1");
    assert_hides(m, "changes nothing");
    type_line(m, "loop cache_write C at=K");
    assert_hides(m, "changes nothing");
    type_line(m, "loop cache_write C at=K");
    assert_shows(m, "so far the step changes nothing: the C");
    model_free(m);
}

/* A redo of a change of past steps keeps the measured steps again.  They were not undone. */
static void test_redone_change_is_explained(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    model_resize(m, 160, 24);
    press(m, "p m");
    measured(m, 3, 0.01, 1000);
    type_line(m, "edit 1 loop unroll C K");
    assert_shows(m, "the measured steps from before are branch main~1; u undoes");
    press(m, "u");
    assert_shows(m, "undid: edit 1 loop unroll C K");
    press(m, "C-r");
    assert_hides(m, "the undone steps");
    assert_shows(m, "redid: edit 1 loop unroll C K; the measured steps from before are branch "
                    "main~1 again");
    press(m, "u C-r u C-r");
    assert_int_equal(history_n_branches(m->session->history), 2);
    model_free(m);
}

/* A key that scrolls sideways says where a cut step can be read. */
static void test_cut_rows_are_told(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, ": focus Space steps Enter l");
    assert_shows(m, "no line is cut");
    type_line(m, "loop split C M 4");
    type_line(m, "loop split C N 4");
    type_line(m, "loop split C K 4");
    type_line(m, "loop reorder C M.0 N.0 K.0 M.1 N.1 K.1");
    model_resize(m, 160, 50);
    screen_of(m);
    press(m, "l");
    assert_shows(m, "a step is cut where the row ends: the bottom line has all of it");
    model_free(m);
}

/* Keys are bound in a file: commands that would bind them elsewhere say so. */
static void test_bindings_are_in_a_file(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "bind F5 loop split", "map x undo", "set keys F5", "key F5 undo", "record", "macro a",
    };
    struct model *m = model_on(GMM);
    struct str path = {0};
    model_resize(m, 300, 24);
    settings_path(&path);
    assert_true(str_text(&path)[0] == '/' && str_ends(str_text(&path), "/settings.yaml"));
    for (int i = 0; i < COUNT_OF(lines); i++) {
        type_line(m, lines[i]);
        assert_shows(m, "source FILE runs the lines of a file, and steps are such lines");
        assert_shows(m, str_text(&path));
        press(m, "Esc");
    }
    str_free(&path);
    type_line(m, "bind C M block.x");                    /* a step without its group */
    assert_hides(m, "source FILE");
    press(m, "Esc");
    type_line(m, "set theme dark");
    assert_shows(m, "theme is a command, not a setting of the operator: type it without `set`");
    assert_shows(m, "ix: theme dark");
    press(m, "Esc");
    type_line(m, "set threads=2");
    assert_shows(m, "ix: threads 2");
    press(m, "Esc");
    type_line(m, "set propagate off");
    assert_string_equal(step_of(m), "set propagate off");
    model_resize(m, 80, 24);
    press(m, "? macro");
    assert_shows(m, "source FILE");
    press(m, "Esc");
    model_free(m);
}

/* A step needs no group at the prompt if it is legal in one group only. */
static void test_groups_may_be_left_out(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    type_line(m, "loop split C M 4");
    type_line(m, "reorder C M.0 N K M.1");
    assert_string_equal(step_of(m), "loop reorder C M.0 N K M.1");
    assert_shows(m, ":loop reorder C M.0 N K M.1");
    type_line(m, "vectorize C M.1");
    assert_string_equal(step_of(m), "loop vectorize C M.1");
    type_line(m, "unroll C X");                          /* the error of the only such step */
    assert_shows(m, "C has no loop X");
    assert_shows(m, "refused: X; Esc leaves the line");
    assert_int_equal(m->prompt.at, 10);
    press(m, "Esc");
    type_line(m, "split C N 4");                         /* a loop N and a dimension N */
    assert_string_equal(step_of(m), "loop split C N 4");
    type_line(m, "undo");
    type_line(m, "loop split C N 8");
    type_line(m, "edit 4 split C N 4");                  /* stays a step of loop */
    assert_string_equal(step_of(m), "loop split C N 4");
    press(m, "Esc");
    type_line(m, "split C X 4");
    assert_shows(m, "layout split: ");
    assert_shows(m, "; loop split: C has no loop X");
    press(m, "Esc");
    model_free(m);
}

/* The same behind edit and insert, and before the line is run. */
static void test_groups_may_be_left_out_of_changes(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    type_line(m, "loop split C M 4");
    type_line(m, "loop unroll C M.1");
    press(m, ": edit Space 2 Space parallel Space C Space M.0");
    assert_shows(m, "preview: the nest after this step");
    assert_shows(m, "in parallel(16)");
    press(m, "Enter");
    assert_string_equal(step_of(m), "loop parallel C M.0");
    assert_shows(m, ":edit 2 loop parallel C M.0");
    type_line(m, "insert 2 unroll C M.1");
    assert_string_equal(history_state(m->session->history,
                                      history_current(m->session->history)->parent)->step,
                        "loop unroll C M.1");
    type_line(m, "insert 2 unroll C X");
    assert_shows(m, "C has no loop X");
    assert_int_equal(m->prompt.at, 19);
    press(m, "Esc");
    type_line(m, "insert 2 split C N 16");
    assert_shows(m, ":insert 2 loop split C N 16");
    type_line(m, "undo");
    type_line(m, "insert 2 split C M.0 2");              /* no dimension has that name */
    assert_shows(m, ":insert 2 loop split C M.0 2");
    type_line(m, "edit 9 split C N 16");
    assert_shows(m, "has no step 9");
    press(m, "Esc");
    type_line(m, "insert 1 set accuracy bf16");          /* set is a group, and a layout step */
    assert_hides(m, "layout set");
    press(m, "Esc Esc : parallel Space C Space N");
    assert_shows(m, "preview: the nest after this step");
    assert_shows(m, "in parallel(48)");
    press(m, "Esc");
    model_free(m);
}

/* A time without misses says how to simulate them. */
static void test_missing_simulation_says_how(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct measurement r = { .outcome = OUTCOME_OK, .verified = true,
                             .sim.reason = "not asked for" };
    r.latency = (struct latency){ .median_ms = 3, .min_ms = 3, .runs = 11 };
    history_set_measured(m->session->history, 0, &r);
    press(m, "6");
    m->data_stamp++;
    assert_shows(m, "sim:      not available: not asked for; m simulates it");
    model_free(m);
}

/* A star marks what was measured otherwise than the settings say now, also when nothing was
 * measured with them yet, and when the current step itself was measured otherwise. */
static void test_stars_follow_the_settings(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    type_line(m, "isa plain");
    for (int i = 0; i < 2; i++) {
        struct measurement r = { .outcome = OUTCOME_OK, .verified = true, .isa = "plain" };
        r.latency = (struct latency){ .median_ms = 3 + i, .min_ms = 3 + i, .runs = 11 };
        snprintf(r.compiler, sizeof r.compiler, "%s", m->stands_for.compiler);
        r.sim.available = true;
        r.sim.l1_misses = 1000 + i;
        assert_true(cache_config_parse("4K/2/64", &r.sim.cache, &(struct err){0}));
        history_set_measured(m->session->history, i, &r);
        press(m, i ? "" : "p");
    }
    type_line(m, "cache 4K/2/64");
    assert_shows(m, "cache 4K/2/64 from now on; this step's misses are of it");
    model_resize(m, 120, 24);
    assert_hides(m, "*3.00 ms");
    assert_hides(m, "*1000");
    type_line(m, "isa sse");
    assert_shows(m, "*3.00 ms");
    assert_shows(m, "*4.00 ms");
    assert_hides(m, "*1000");
    press(m, ": focus Space steps Enter k j");
    assert_shows(m, "* with isa plain, ");
    type_line(m, "isa plain");
    assert_shows(m, "isa plain from now on; this step's time is of it");
    assert_hides(m, "*4.00 ms");
    type_line(m, "cache 8K/2/64");
    assert_shows(m, "cache 8K/2/64 from now on; m measures again");
    assert_shows(m, "*1000");
    assert_shows(m, "*1001");
    model_free(m);
}

/* A session that is opened again has no settings: this machine's instruction set counts, and not
 * what the current step was measured with. */
static void test_stars_of_a_session_opened_again(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    for (int i = 0; i < 2; i++) {
        struct measurement r = { .outcome = OUTCOME_OK, .verified = true };
        r.latency = (struct latency){ .median_ms = 3 + i, .min_ms = 3 + i, .runs = 11 };
        snprintf(r.isa, sizeof r.isa, "%s", i ? "plain" : target_or_host(NULL)->isa);
        history_set_measured(m->session->history, i, &r);
        press(m, i ? "" : "p");
    }
    model_resize(m, 120, 24);
    assert_shows(m, "3.00 ms");
    assert_hides(m, "*3.00 ms");
    assert_shows(m, "*4.00 ms");
    model_free(m);
}

static void test_settings(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct desired_job w;
    press(m, "m");
    measured(m, 3, 0.01, 1000);
    type_line(m, "sim_budget 4e9");       /* what was simulated is of another budget */
    assert_shows(m, "sim_budget 4e9 from now on; m measures again");
    press(m, ": cache Space 4K/2/64 Enter : isa Space plain Enter : sim_budget Space 5e9 Enter");
    assert_shows(m, "sim_budget 5e9 from now on; m measures again");
    type_line(m, "threads 2");
    model_resize(m, 160, 24);
    assert_shows(m, "isa plain, threads 2, cache 4K/2/64, sim_budget 5e+09");
    type_line(m, "threads 1");
    model_resize(m, 80, 24);
    press(m, "p m");
    assert_true(model_desired_job(m, LANE_MEASURE, &w));
    struct app_job *j = model_job(m, &w);
    assert_true(j->set.sim_budget == 5e9 && j->set.cache.level[0].geometry.size_bytes == 4096);
    assert_string_equal(j->set.target->isa, "plain");
    j->ok = j->m.verified = true;
    j->m.outcome = OUTCOME_OK;
    j->m.latency = (struct latency){ .median_ms = 9, .min_ms = 9, .runs = 11 };
    j->m.sim.available = true;
    j->m.sim.cache = j->set.cache;
    snprintf(j->m.isa, sizeof j->m.isa, "plain");
    model_done(m, j);
    job_free(j);
    model_resize(m, 120, 24);
    assert_shows(m, "*3.00 ms");                         /* of the other instruction set */
    assert_hides(m, "+200 %");
    press(m, ": focus Space steps Enter k");
    assert_shows(m, "* with isa ");
    press(m, ": cache Space 4K/2 Enter");
    assert_true(m->prompt.open);
    press(m, "C-e C-u isa Space default Enter : cache Space default Enter");
    press(m, ": sim_budget Space default Enter");
    assert_shows(m, "sim_budget 5e8, the default, from now on; m measures again");
    press(m, ": compiler Space nosuchcc Enter");
    assert_true(m->prompt.open);
    press(m, "Esc");
    model_free(m);
}

/* A changed setting is said with its own value, also the default's, and not with the others. */
static void test_settings_say_what_changed(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct compiler cc;
    struct str says = {0};
    struct err e;
    model_resize(m, 160, 24);
    type_line(m, "threads 99");
    assert_shows(m, "measuring with 99 threads from now on");
    type_line(m, "cache 4K/2/64");
    assert_shows(m, " cache 4K/2/64 from now on; m measures again");
    type_line(m, "sim_budget 3e9");
    assert_shows(m, " sim_budget 3e9 from now on; m measures again");
    type_line(m, "isa plain");
    assert_shows(m, " isa plain from now on; m measures again");
    type_line(m, "isa");
    assert_shows(m, "isa plain; `isa default` takes it back");
    type_line(m, "isa default");
    str_printf(&says, " isa %s, the default, from now on; m measures again", target_host()->isa);
    assert_shows(m, str_text(&says));
    assert_true(compiler_find(NULL, &cc, &e));
    type_line(m, "compiler default");
    str_clear(&says);
    str_printf(&says, " compiler %s, the default, from now on; m measures again",
               basename(cc.path));
    assert_shows(m, str_text(&says));
    type_line(m, "cache");
    assert_shows(m, "cache 4K/2/64; `cache default`");
    type_line(m, "cache default");
    assert_hides(m, "cache ,");
    assert_shows(m, ", the default, from now on; m measures again");
    type_line(m, "cache");
    const char *own = strstr(str_text(&m->message.text), "cache ");
    const char *end = own ? strstr(own, ", the default") : NULL;
    assert_non_null(end);
    str_clear(&says);
    str_add_n(&says, own, (size_t)(end - own));
    type_line(m, "cache 4K/2/64");
    type_line(m, str_text(&says));                       /* the default by its own name */
    assert_shows(m, ", the default, from now on; m measures again");
    type_line(m, "threads");
    assert_shows(m, "threads 99; `threads default` takes it back");
    type_line(m, "threads default");
    assert_shows(m, "measuring with 1 thread, the default, from now on");
    assert_int_equal(m->threads, 1);
    type_line(m, "sim_budget default");
    type_line(m, "sim_budget");
    assert_shows(m, "sim_budget 5e8, the default");
    type_line(m, "compiler");
    assert_shows(m, ", the default");
    assert_hides(m, "from now on");
    str_free(&says);
    model_free(m);
}

/* A tile without a reduction inside is applied by the key as by the line. The message, the nest and
 * the list of steps note it. */
static void test_tile_without_sums(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, ": loop Space reorder Space C Space K Space M Space N Enter g Right");
    assert_string_equal(loop_of(m), "N");
    press(m, "c");
    assert_shows(m, "  C_acc keeps no partial sums: no reduction is insid");
    assert_shows(m, "# keeps no partial sums: no reduction is inside of N; reorder one");
    assert_string_equal(step_of(m), "loop cache_write C at=N");
    type_line(m, "undo");
    assert_hides(m, "partial sums");
    type_line(m, "loop cache_write C at=N");
    assert_shows(m, "  C_acc keeps no partial sums: no reduction is insid");
    model_free(m);
    m = model_on(GMM);
    type_line(m, "loop reorder C M K N");
    type_line(m, "loop cache_write C at=M");
    assert_hides(m, "partial sums");
    type_line(m, "edit 1 loop reorder C K M N");         /* a change of the past says so as well */
    assert_non_null(strstr(str_text(&m->message.text),
                           "1 later step replayed; u undoes this change; C_acc"));
    type_line(m, "edit 1 loop reorder C K N M");         /* no news */
    assert_shows(m, "1 later step replayed");
    assert_null(strstr(str_text(&m->message.text), "; C_acc"));
    model_free(m);
    m = model_on(GMM);
    press(m, "g j j c");                                 /* K, the innermost one */
    assert_shows(m, "# keeps no partial sums: no reduction is inside of K; at=N keep");
    type_line(m, "undo");
    press(m, ": loop Space reorder Space C Space K Space M Space N Enter");
    press(m, ": loop Space cache_write Space C Space at=N Enter");
    press(m, ": loop Space vectorize Space C Space N Enter");
    assert_shows(m, "Fix: undo the cache_write: no reduction is inside of N");
    model_free(m);
}

/* A step whose names now mean other loops has a star, which its line explains. */
static void test_a_star_marks_steps_of_other_loops(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    type_line(m, "loop split C M 16");
    type_line(m, "loop unroll C M.1");
    assert_hides(m, "            *");
    type_line(m, "edit 1 loop split C M 2 2 16");
    press(m, "Tab j");
    assert_shows(m, "M.1 is now another loop (extent 2, was 16)");
    assert_shows(m, "            *");
    model_free(m);
}

/* The numbers of the preview count the held steps, as those of the ledger do. */
static void test_preview_counts_held_steps(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, ": loop Space split Space C Space N Space 16 Enter");
    press(m, ": loop Space reorder Space C Space N.1 Space N.0 Enter");
    press(m, ": loop Space split Space C Space M Space 8 Enter");
    press(m, ": edit Space 1 Space loop Space unroll Space C Space K Enter");
    const struct history *h = m->session->history;
    assert_non_null(history_state(h, history_current(h)->parent)->held);
    press(m, ": edit Space 3 Space loop Space split Space C Space M Space 4");
    assert_shows(m, "in range(16, 4");
    assert_hides(m, "range(8, 8");
    model_free(m);
}

/* The preview shows what the line will do: a layout goes before the loops, and steps after a change
 * are renamed. */
static void test_preview_rebases(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, ": loop Space split Space C Space N Space 16 Enter");
    press(m, ": loop Space unroll Space C Space N.1 Enter");
    press(m, ": edit Space 1 Space loop Space split Space C Space N Space 3 Space 2 Space 8");
    assert_shows(m, "preview: the nest after this step");
    press(m, "Esc : layout Space set Space C Space \" N/16 Space M Space 16n \"");
    assert_shows(m, "preview: the nest after this step");
    assert_int_equal(history_n_states(m->session->history), 3);
    press(m, "Esc");
    model_free(m);
}

/* A step that was renamed when another one went gets its old text back: in the preview, too. */
static void test_preview_is_what_enter_makes(void **state)
{
    (void)state;
    struct model *m = model_on("gmm m=128 k=256 n=512");
    struct str before = {0}, after = {0};
    screen_paste(m, "loop split C N 32\nloop reorder C N.0 M K N.1\nloop vectorize C N.1\n");
    type_line(m, "drop 1");
    press(m, ": insert Space 1 Space loop Space split Space C Space N Space 32");
    assert_shows(m, "preview: the nest after this step");
    assert_non_null(m->preview.program);
    program_print_nest(&before, m->preview.program);
    press(m, "Enter G");
    type_line(m, "goto 3");
    program_print_nest(&after, model_program(m));
    assert_string_equal(str_text(&before), str_text(&after));
    str_free(&before);
    str_free(&after);
    model_free(m);
}

/* Held steps have no effect: they are not measured, and do not count for the tour.  What is said
 * of them is not replaced by the next measurement. */
static void test_held_steps_have_no_effect(void **state)
{
    (void)state;
    struct model *m = model_on("c2d n=1 i=3 h=32 w=32 o=16 k=3 p=1");
    struct desired_job w;
    int n, at;
    press(m, ": layout Space set Space Conv Space \" N Space H Space W Space O \" Enter");
    press(m, ": loop Space split Space Conv Space W Space 16 Enter");
    press(m, ": loop Space reorder Space Conv Space W.1 Space W.0 Enter");
    press(m, ": auto Space on Enter : drop Space 2 Enter");
    assert_shows(m, "kept for repair");
    measured(m, 1, 0.01, 10);
    assert_shows(m, "kept for repair");
    press(m, "Down");
    assert_hides(m, "kept for repair");
    const struct history *h = m->session->history;
    const int *path = history_path(h, 0, &n, &at);
    assert_non_null(history_state(h, path[2])->held);
    press(m, ": goto Space 0 Enter");
    measured(m, 1, 0.01, 10);
    press(m, ": goto Space 1 Enter");
    assert_true(numbers(m)->latency.min_ms == 1);        /* measured with the held step */
    press(m, ": auto Space off Enter : measure_all Enter");
    assert_false(model_desired_job(m, LANE_MEASURE, &w) && w.kind == JOB_MEASURE);
    press(m, ": goto Space 2 Enter");
    m->tour = 7;
    press(m, "Down");
    assert_int_equal(m->tour, 7);
    model_free(m);
}

/* The preview says what becomes of the steps after a change; `drop` and `move` have one, too. */
static void test_preview_of_changes(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    model_resize(m, 120, 40);
    type_line(m, "loop split C N 16");
    type_line(m, "loop unroll C N.1");
    press(m, ": drop Space 1");
    assert_shows(m, "preview: the nest after this step");
    assert_shows(m, "for m in range(64):");
    assert_shows(m, "in unroll(48)");
    press(m, "Esc : insert Space 2 Space loop Space split Space C Space N.1 Space 4");
    assert_shows(m, "It becomes step 2. Step 3 would have no effect: C has no loop");
    assert_shows(m, "`loop unroll C N.1.0` or");
    press(m, "Esc : edit Space 1 Space loop Space split Space C Space N Space 8 Space 3 Space 2");
    assert_shows(m, "Step 2: N.1 is now another loop (extent 3, was 16).");
    press(m, "Esc : move Space 2 Space u");
    assert_hides(m, "preview");
    press(m, "Esc");
    type_line(m, "loop parallel C M");
    press(m, ": move Space 3 Space 1");
    assert_shows(m, "in parallel(64)");
    assert_hides(m, "no effect");
    press(m, "Esc u");
    assert_shows(m, "undid step 3: loop parallel C M");
    model_free(m);
    /* It says that a tile will spill, before anything is compiled. */
    m = model_on(GMM);
    model_resize(m, 120, 40);
    type_line(m, "isa avx2");
    type_line(m, "loop split C M 8");
    type_line(m, "loop split C N 6 8");
    type_line(m, "loop reorder C M.0 K M.1 N.0 N.1");
    type_line(m, "loop cache_write C at=M.0");
    type_line(m, "loop unroll C M.1");
    type_line(m, "loop unroll C N.0");
    press(m, ": loop Space vectorize Space C Space N.1");
    assert_shows(m, "The tile C_acc spills: takes 48 of 16 vector registers");
    press(m, "Esc");
    model_free(m);
    /* And that a tile leaves its registers. */
    m = model_on(GMM);
    model_resize(m, 120, 40);
    type_line(m, "isa avx2");
    type_line(m, "loop split C M 4");
    type_line(m, "loop split C N 16");
    type_line(m, "loop reorder C M.0 N.0 K M.1 N.1");
    type_line(m, "loop cache_write C at=N.0");
    type_line(m, "loop unroll C M.1");
    type_line(m, "loop vectorize C N.1");
    press(m, ": loop Space serial Space C Space M.1");
    assert_shows(m, "The tile C_acc leaves the registers: some loops over it");
    press(m, "Esc");
    model_free(m);
}

/* A tile is judged by the registers of the set that is used now, whatever an earlier step was
 * measured with; in a session of another machine by those of its measurements. */
static void test_tile_of_the_present_target(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct measurement sse = { .outcome = OUTCOME_OK, .isa = "sse",
                               .latency = { .min_ms = 1, .median_ms = 1, .runs = 9 } };
    model_resize(m, 120, 40);
    model_measured_here(m);
    history_set_measured(m->session->history, 0, &sse);
    type_line(m, "loop split C M 4");
    type_line(m, "loop split C N 16");
    type_line(m, "loop reorder C M.0 N.0 K M.1 N.1");
    type_line(m, "loop cache_write C at=N.0");
    type_line(m, "loop unroll C M.1");
    type_line(m, "isa sse");
    type_line(m, "loop vectorize C N.1");
    assert_shows(m, "spills: takes ");
    type_line(m, "isa default");
    assert_hides(m, "spills: takes ");
    char host[40];                        /* which has a name, too */
    snprintf(host, sizeof host, "isa %s", target_or_host(NULL)->isa);
    type_line(m, "isa sse");
    type_line(m, host);
    assert_null(m->set.target);
    snprintf(m->session->machine, sizeof m->session->machine, "Old | sse | 1 core | L1d 32K/8/64");
    m->stamp++;
    assert_shows(m, "spills: takes ");
    model_free(m);
}

/* Enter on a step that no longer applies repairs it; on others it goes there. */
static void test_enter_repairs_a_held_step(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    type_line(m, "loop split C N 6 8");
    type_line(m, "loop fuse C N.0 N.1");
    type_line(m, "edit 1 loop split C M 8 8");
    press(m, ": focus Space steps Enter G");
    assert_shows(m, "Enter repair");
    assert_hides(m, "go there");
    press(m, "Enter");
    assert_string_equal(str_text(&m->prompt.line), "edit 2 loop fuse C N.0 N.1");
    assert_shows(m, "step 2 is held: C has no loop N.0");
    press(m, "Esc k");
    assert_shows(m, "Enter go there");
    press(m, "Enter");
    assert_string_equal(step_of(m), "loop split C M 8 8");
    model_free(m);
    m = model_on(GMM);                    /* the reason proposes a step */
    type_line(m, "loop reorder C M K N");
    type_line(m, "loop vectorize C N");
    type_line(m, "edit 1 loop reorder C K N M");
    press(m, ": focus Space steps Enter G Enter");
    assert_string_equal(str_text(&m->prompt.line), "insert 2 loop reorder C K M N");
    press(m, "Enter");
    assert_hides(m, "without effect");
    assert_string_equal(step_of(m), "loop vectorize C N");
    assert_null(model_held_step(m));
    model_free(m);
    m = model_on(GMM);                    /* the layout has divided the loop as the step would */
    model_resize(m, 120, 24);
    type_line(m, "loop split C N 6 8");
    type_line(m, "loop split C M 8 8");
    type_line(m, "insert 1 layout set C \"N/8 M 8n\"");
    press(m, ": focus Space steps Enter g j j");
    assert_shows(m, "as this step would; d drops it");
    press(m, "Enter");
    assert_string_equal(str_text(&m->prompt.line), "drop 2");
    press(m, "Enter");
    assert_int_equal(model_program(m)->n_steps, 2);
    assert_null(model_held_step(m));
    model_free(m);
    m = model_on(GMM);                    /* it has divided it otherwise */
    type_line(m, "loop split C N 12 4");
    type_line(m, "insert 1 layout set C \"N/8 M 8n\"");
    press(m, ": focus Space steps Enter g j j");
    assert_shows(m, "d drops it, e edits it, i inserts");
    press(m, "Enter");
    assert_string_equal(str_text(&m->prompt.line), "drop 2");
    model_free(m);
    m = model_on("gmm m=64 k=64 n=512");  /* a reason whose fix is no step */
    type_line(m, "loop split C N 32 16");
    type_line(m, "loop reorder C M N.0 K N.1");
    type_line(m, "loop vectorize C N.1");
    type_line(m, "edit 1 loop split C N 1 512");
    press(m, ": focus Space steps Enter G Enter");
    assert_string_equal(str_text(&m->prompt.line), "edit 3 loop vectorize C N.1");
    model_free(m);
    m = model_on(GMM);                    /* a reason that lists lines */
    type_line(m, "loop unroll C M");
    type_line(m, "insert 1 loop split C M 8 8");
    press(m, ": focus Space steps Enter G");
    assert_non_null(strstr(model_held_step(m)->held,
                           "; it could be `loop unroll C M.0` or `loop unroll C M.1`"));
    press(m, "Enter");
    assert_string_equal(str_text(&m->prompt.line), "edit 2 loop unroll C M.0");
    press(m, "Enter");
    assert_string_equal(step_of(m), "loop unroll C M.0");
    model_free(m);
}

static void test_redraw_leaves_the_list_open(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "B R");
    assert_int_equal(m->overlay, OVERLAY_BRANCHES);
    assert_true(m->out.repaint);
    model_free(m);
}

/* In the list of branches, too, a time that was measured with other settings has a star. */
static void test_branches_have_stars(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct measurement here = { .outcome = OUTCOME_OK, .verified = true, .isa = "avx512",
                                .latency = { .min_ms = 3, .median_ms = 3, .runs = 9 } };
    struct measurement other = here;
    strcpy(other.isa, "avx2");
    other.threads = 2;
    other.latency.min_ms = 4;
    model_resize(m, 120, 24);
    type_line(m, "loop unroll C K");
    history_set_measured(m->session->history, 1, &here);
    type_line(m, "branch wide");
    type_line(m, "loop parallel C M");
    history_set_measured(m->session->history, 2, &other);
    type_line(m, "switch main");
    press(m, "B");
    assert_shows(m, "   3.00 ms");
    assert_shows(m, "  *4.00 ms");
    press(m, "G");
    assert_shows(m, "* wide: with isa avx2, 2 threads; main: with isa avx512, 1 thread");
    here.sim = other.sim = (struct sim_result){ .available = true, .l1_misses = 77 };
    here.sim.cache.n_levels = other.sim.cache.n_levels = 1;
    here.sim.cache.level[0].geometry = (struct cache_geometry){ 32 << 10, 8, 64 };
    other.sim.cache.level[0].geometry = (struct cache_geometry){ 16 << 10, 8, 64 };
    history_set_measured(m->session->history, 1, &here);
    history_set_measured(m->session->history, 2, &other);
    m->data_stamp++;
    assert_shows(m, "  *4.00 ms     *77");       /* another cache has a star of its own */
    here.sim.cache = other.sim.cache;
    history_set_measured(m->session->history, 1, &here);
    m->data_stamp++;
    assert_shows(m, "  *4.00 ms      77");
    here.sim.available = false;                  /* compared with the branch that was simulated */
    history_set_measured(m->session->history, 1, &here);
    m->data_stamp++;
    assert_shows(m, "  *4.00 ms      77");
    type_line(m, "branch third");
    type_line(m, "loop vectorize C N");
    here.sim.available = true;
    here.sim.cache.level[0].geometry = (struct cache_geometry){ 8 << 10, 8, 64 };
    history_set_measured(m->session->history, 3, &here);
    type_line(m, "switch main");
    press(m, "B");
    assert_shows(m, "     *77");
    model_free(m);
}

/* A change that inserts a layout above loops says what the caller gets. */
static void test_inserted_layouts_say_the_contract(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    model_resize(m, 120, 24);
    type_line(m, "loop split C N 4");
    type_line(m, "layout set C \"N/8 M 8n\"");
    assert_shows(m, "step 1 is inserted");
    assert_shows(m, "other contract: C leaves as");
    model_free(m);
}

/* Files are named as in shells, and completed so. */
static void test_home_in_names(void **state)
{
    (void)state;
    char *before = xstrdup(getenv("HOME")), here[600];
    assert_non_null(getcwd(here, sizeof here));
    setenv("HOME", here, 1);
    struct model *m = model_on(GMM);
    type_line(m, "w ~/at-home.yaml");
    assert_shows(m, "at-home.yaml");
    assert_int_equal(access("at-home.yaml", R_OK), 0);
    press(m, ": e Space ~/at-h Tab");
    assert_string_equal(str_text(&m->prompt.line), "e ~/at-home.yaml ");
    press(m, "Enter");
    assert_hides(m, "cannot open");
    model_free(m);
    setenv("HOME", before, 1);
    free(before);
}

/* The reason why a step is held is shown whole, also after it was measured. */
static void test_ledger_marks(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    type_line(m, "loop split C N 16");
    press(m, "m");
    measured(m, 3, 0.31, 80900);
    model_resize(m, 120, 30);
    assert_shows(m, "80.9k ~✓");
    type_line(m, "loop unroll C N.1");
    type_line(m, "edit 1 loop split C K 8");
    type_line(m, "insert 2 loop split C N 16 3");
    type_line(m, "edit 2 loop split C N 4 4 3");
    press(m, "m");
    measured(m, 3, 0.01, 80900);
    press(m, "u");
    model_resize(m, 80, 24);
    type_line(m, "insert 3 loop split C N.1 3 1");
    press(m, ": focus Space steps Enter G");
    assert_shows(m, "held");
    assert_shows(m, "N.1.1`");
    struct measurement r = *history_state(m->session->history, 1)->measured;
    history_set_measured(m->session->history, history_current(m->session->history)->id, &r);
    m->data_stamp++;
    assert_shows(m, "held                 !");           /* they are of the steps before it */
    model_resize(m, 160, 30);
    press(m, "k j");
    assert_shows(m, "kept for repair, without effect: ");
    assert_shows(m, "; the steps before it take 3.00 ms (~ noisy at load");
    model_free(m);
}

/* A whole step on the prompt shows the nest that it would make. */
static void test_preview(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, ": loop Space split Space C Space N");
    assert_hides(m, "preview");
    press(m, "Space 16");
    assert_shows(m, "preview: the nest after this step");
    assert_shows(m, "for m, n.0, n.1 in range(64, 3, 16):");
    assert_string_equal(step_of(m), "");
    press(m, "Backspace 7");                             /* 17 does not divide 48, and may */
    assert_shows(m, "preview");
    press(m, "x");
    assert_hides(m, "preview");
    press(m, "Backspace Backspace 6 Enter");
    assert_hides(m, "preview");
    assert_string_equal(step_of(m), "loop split C N 16");
    press(m, ": edit Space 1 Space loop Space split Space C Space N Space 8");
    assert_shows(m, "for m, n.0, n.1 in range(64, 6, 8):");
    press(m, "Esc : insert Space 1 Space loop Space unroll Space C Space K");
    assert_shows(m, "in unroll(32)");
    press(m, "Esc");
    assert_hides(m, "in unroll(32)");
    m->preview.slow = true;                              /* as if the last one had taken long */
    m->preview.stamp = m->stamp;
    press(m, ": loop Space unroll Space C Space K");
    assert_shows(m, "…");
    assert_hides(m, "in unroll(32)");
    model_free(m);
}

/* Each step of the tour can be done by its line, and does something. */
static void test_tour(void **state)
{
    (void)state;
    struct model *m = model_on("c2d n=1 i=3 h=224 w=224 o=64 k=7 s=2 p=3 bias=1 relu=1");
    press(m, ": tour Enter");
    assert_shows(m, "tour: 1 of 10");
    press(m, "m");
    assert_shows(m, "tour: 1 of 10");
    measured(m, 40, 0.01, 1000);
    assert_shows(m, "tour: 2 of 10");
    press(m, "6 A");
    assert_shows(m, "tour: 4 of 10");
    for (int i = 5; i <= 10; i++) {
        char at[24];
        press(m, ": tour Space do Enter");
        snprintf(at, sizeof at, "tour: %d of 10", i);
        assert_shows(m, at);
    }
    press(m, ": loop Space unroll Space Conv Space W.1 Enter");
    assert_shows(m, "tour: done");
    press(m, ": tour Space do Enter");
    assert_true(m->prompt.open);
    press(m, "Esc Esc Esc");
    assert_hides(m, "tour:");
    for (int w = 30; w < 100; w += 7)
        for (int h = 6; h < 30; h++) {
            m->tour = 4;
            model_resize(m, w, h);
            screen_of(m);
        }
    model_free(m);
}

/* A step that is not the one the tour asks for is named, and the tour waits for the right one. */
static void test_tour_wants_its_step(void **state)
{
    (void)state;
    struct model *m = model_on("c2d n=1 i=3 h=224 w=224 o=64 k=7 s=2 p=3 bias=1 relu=1");
    m->set.target = target_named("avx2");
    press(m, ": tour Enter m");
    measured(m, 40, 0.01, 1000);
    press(m, "6 A");
    for (int i = 4; i <= 8; i++)
        press(m, ": tour Space do Enter");
    assert_shows(m, "tour: 9 of 10");
    press(m, ": loop Space cache_write Space Conv Space at=I Enter");
    assert_shows(m, "tour: 9 of 10");
    assert_shows(m, "You have  loop cache_write Conv at=I");
    press(m, "u");
    assert_shows(m, "Move to the loop w.0");
    press(m, ": loop Space cache_write Space Conv Space at=W.0 Enter");
    assert_shows(m, "tour: 10 of 10");
    model_free(m);
}

/* The tile of the tour fits the registers of the chosen instruction set, whatever it is. */
static void test_tour_fits_the_registers(void **state)
{
    (void)state;
    static const struct { const char *isa, *split; } row[] = {
        { "avx512", "split Conv W 16" }, { "avx2", "split Conv W 4" }, { "sse", "split Conv W 2" },
    };
    for (int k = 0; k < COUNT_OF(row); k++) {
        struct model *m = model_on("c2d n=1 i=3 h=224 w=224 o=64 k=7 s=2 p=3 bias=1 relu=1");
        m->set.target = target_named(row[k].isa);
        press(m, ": tour Enter m");
        measured(m, 40, 0.01, 1000);
        press(m, "6 A");
        for (int i = 4; i <= 10; i++)
            press(m, ": tour Space do Enter");
        assert_shows(m, "tour: done");
        assert_hides(m, ":tour do");
        assert_shows(m, row[k].split);
        assert_hides(m, "spills");
        assert_int_equal(m->view[m->last_view], VIEW_NEST);
        model_free(m);
    }
}

static void test_panes_resize(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    for (int w = 84; w <= 200; w += 58) {
        model_resize(m, w, 40);
        press(m, ": focus Space steps Enter");
        int was = m->frame.pane[PANE_LEDGER].w;
        press(m, ") )");
        assert_int_equal(m->frame.pane[PANE_LEDGER].w, was + 8);
        press(m, "( ( (");
        assert_int_equal(m->frame.pane[PANE_LEDGER].w, was - 4);
        press(m, ": wider Space 1000 Enter : wider Space -1000 Enter : wider Space -1000 Enter");
        assert_int_equal(m->frame.pane[PANE_LEDGER].w, 24);
        m->wider = 0;
        press(m, "Tab 1");
        was = m->frame.pane[PANE_MAIN].w;
        press(m, ")");
        if (m->frame.pane[PANE_MAIN].h > 0)
            assert_int_equal(m->frame.pane[PANE_MAIN].w, was + 4);
        m->wider = m->split = 0;
    }
    model_resize(m, 80, 40);
    press(m, ": focus Space steps Enter");
    int was = m->frame.pane[PANE_LEDGER].h;
    press(m, ")");
    assert_int_equal(m->frame.pane[PANE_LEDGER].h, was + 1);
    model_free(m);
}

/* C-u clears the line, except for the number of the step that a key put there: what is typed next
 * would be a new step else.  After a refusal as well. */
static void test_clearing_the_prompt(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, ": loop Space unroll Space C Space K Home Right Right C-u");
    assert_int_equal(m->prompt.line.len, 0);
    press(m, "loop Space unroll Space C Space K Enter : focus Space steps Enter e");
    assert_string_equal(str_text(&m->prompt.line), "edit 1 loop unroll C K");
    press(m, "Left Left C-u");
    assert_string_equal(str_text(&m->prompt.line), "edit 1 ");
    press(m, "C-u");                                     /* again: all of it */
    assert_int_equal(m->prompt.line.len, 0);
    press(m, "Esc e C-u loop Space unroll Space C Space X Enter");
    assert_shows(m, "refused: X; Esc leaves the line");
    press(m, "C-w");                                     /* the word at fault */
    assert_string_equal(str_text(&m->prompt.line), "edit 1 loop unroll C ");
    press(m, "C-u");
    assert_string_equal(str_text(&m->prompt.line), "edit 1 ");
    press(m, "loop Space unroll Space C Space X Enter Left C-w C-w");
    assert_string_equal(str_text(&m->prompt.line), "edit 1 loop X");
    press(m, "Up C-u");
    assert_string_equal(str_text(&m->prompt.line), "edit 1 ");
    press(m, "Esc : C-u");
    assert_int_equal(m->prompt.line.len, 0);
    press(m, "Esc Tab 1 r C-u");                         /* the step of a key: its words */
    assert_string_equal(str_text(&m->prompt.line), "loop reorder C ");
    press(m, "loop Space unroll Space C Space N Enter");     /* a whole line there */
    assert_string_equal(step_of(m), "loop unroll C N");
    press(m, "u r C-u reorder Space");                   /* or without its first word */
    assert_string_equal(str_text(&m->prompt.line), "loop reorder ");
    press(m, "C Space N Space M Space K Enter");
    assert_string_equal(step_of(m), "loop reorder C N M K");
    press(m, "Esc u r C-u C-u");
    assert_int_equal(m->prompt.line.len, 0);
    press(m, "Esc 3 e C-u");                             /* between the quotes */
    assert_true(str_starts(str_text(&m->prompt.line), "layout set C \"\""));
    assert_int_equal(m->prompt.at, m->prompt.line.len - 1);
    press(m, "layout Space set Space C Space \"NM\" Enter");   /* a whole line there */
    assert_string_equal(step_of(m), "layout set C \"NM\"");
    press(m, "e C-u N Space X Enter");
    assert_shows(m, "C has no dimension X");
    press(m, "C-u NX Enter");                            /* and its compact form */
    assert_shows(m, "C has no dimension X");
    press(m, "C-u C-u");
    assert_int_equal(m->prompt.line.len, 0);
    press(m, "Esc Tab G e C-u");                         /* of a step: between its quotes */
    assert_string_equal(str_text(&m->prompt.line), "edit 2 layout set C \"\"");
    press(m, "\"NM\"");                                  /* the quotes may be typed as well */
    assert_string_equal(str_text(&m->prompt.line), "edit 2 layout set C \"NM\"");
    press(m, "C-u C-u");
    assert_string_equal(str_text(&m->prompt.line), "edit 2 ");
    press(m, "C-u");
    assert_int_equal(m->prompt.line.len, 0);
    press(m, "Esc G e C-u layou t");                     /* a whole step between the quotes */
    assert_string_equal(str_text(&m->prompt.line), "edit 2 layout set C \"layout\"");
    press(m, "Space");
    assert_string_equal(str_text(&m->prompt.line), "edit 2 layout ");
    press(m, "set Space C Space \"MN\" Enter");
    assert_string_equal(step_of(m), "layout set C \"MN\"");
    press(m, "e C-u");
    prompt_insert(&m->prompt, "loop unroll C N");        /* pasted, where no quote is to come */
    assert_string_equal(str_text(&m->prompt.line), "edit 2 loop unroll C N");
    press(m, "Esc e C-u");
    prompt_insert(&m->prompt, "  :layout set C \"MN\"");
    assert_string_equal(str_text(&m->prompt.line), "edit 2 layout set C \"MN\"");
    press(m, "Esc e C-u edit Space 1");
    assert_string_equal(str_text(&m->prompt.line), "edit 2 layout set C \"edit 1\"");
    press(m, "Space loop");
    assert_string_equal(str_text(&m->prompt.line), "edit 1 loop");
    press(m, "Esc u e C-u \"NM Enter");
    assert_string_equal(step_of(m), "layout set C \"NM\"");
    press(m, "Esc Tab 3 e Home C-Right C-Right C-Right Right Del C-u");  /* the quote is lost */
    assert_string_equal(str_text(&m->prompt.line), "layout set C \"\"");
    char *branch = xstrdup(history_branch(m->session->history, 0)->name);
    press(m, "Esc b edit Space 2 Space loop Space unroll Space C Space X Enter");
    assert_shows(m, "branch");                           /* and no edit of this branch */
    assert_int_equal(m->message.kind, MESSAGE_ERROR);
    assert_true(str_starts(str_text(&m->prompt.line), "branch "));
    assert_string_equal(history_branch(m->session->history, 0)->name, branch);
    free(branch);
    press(m, "Esc b fast@2 C-u");                        /* the command of a key */
    assert_string_equal(str_text(&m->prompt.line), "branch ");
    press(m, "fast@2 Enter C-u");                        /* after a refusal as well */
    assert_string_equal(str_text(&m->prompt.line), "branch ");
    press(m, "C-u");
    assert_int_equal(m->prompt.line.len, 0);
    press(m, "Esc w");
    assert_shows(m, "save as: gmm.yaml");
    assert_shows(m, "C-u empties the name");
    press(m, "C-u");
    assert_int_equal(m->prompt.line.len, 0);
    press(m, "Esc");
    model_free(m);
}

/* A command without its colon, whose first letter saves, is offered as a command. */
static void test_commands_are_no_file_names(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "s et Space isa Space plain Enter");
    assert_shows(m, ":set isa plain");
    assert_shows(m, "nothing was saved: that is a command, which begins with :");
    press(m, "Esc s plit Space C Space N Space 16 Enter");
    assert_shows(m, ":split C N 16");
    press(m, "Home loop Space Enter");
    assert_string_equal(step_of(m), "loop split C N 16");
    assert_int_equal(m->session->path[0], 0);
    model_free(m);
}

/* searching */

static void test_search_in_steps(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, ": loop Space unroll Space C Space K Enter");
    press(m, ": loop Space split Space C Space N Space 16 Enter : focus Space steps Enter");
    int states = history_n_states(m->session->history);
    press(m, "g / d Backspace unroll Enter");            /* d would drop a step */
    assert_int_equal(history_n_states(m->session->history), states);
    assert_int_equal(m->pane[DOC_LEDGER].scroll.cursor, 1);
    press(m, "n N");
    assert_int_equal(m->pane[DOC_LEDGER].scroll.cursor, 1);
    model_free(m);
}

/* A search selects the loop that it finds, the next key acts on it; Esc on the prompt brings the
 * loop selected before back. */
static void test_search_selects(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "1 g Right");
    char before[32], after[32];
    snprintf(before, sizeof before, "%s", model_subject(m).tensor);
    press(m, "/ N Esc");
    snprintf(after, sizeof after, "%s", model_subject(m).tensor);
    assert_string_equal(after, before);
    press(m, "g / N Enter");
    assert_string_equal(model_subject(m).tensor, "N");
    press(m, "u");
    press(m, "/ A [ Enter");
    assert_int_equal(model_subject(m).kind, SUBJECT_ACCESS);
    assert_string_equal(model_subject(m).tensor, "A");
    model_free(m);
}

static void test_search_in_lists(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, ": branch Space other Enter : branch Space third Enter B");
    press(m, "/ other Enter");
    assert_string_equal(model_branch(m), "other");
    press(m, "n");                                       /* the next match, not a new branch */
    assert_false(m->prompt.open);
    press(m, "Esc");
    model_free(m);
    m = model_on(NULL);
    press(m, "/ gmm Enter");
    assert_non_null(model_entry(m));
    assert_non_null(strstr(doc_at(&m->pane[DOC_START].doc, &m->pane[DOC_START].scroll)->text,
                           "gmm"));
    model_free(m);
}

/* The search on a page of help ends with it, and the view's search goes on. */
static void test_help_keeps_the_search_of_the_view(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "/ range Enter");
    type_line(m, "help history");
    press(m, "/ branch Enter");
    assert_string_equal(str_text(&m->search), "branch");
    press(m, "Backspace Esc");
    assert_string_equal(str_text(&m->search), "range");
    type_line(m, "help history");
    press(m, "q");
    assert_string_equal(str_text(&m->search), "range");
    press(m, "Esc");
    type_line(m, "help history");
    press(m, "/ branch Enter Backspace Esc");
    assert_string_equal(str_text(&m->search), "");
    press(m, "B n");                                     /* a new branch, and not the next match */
    assert_true(m->prompt.open);
    model_free(m);
}

static void test_failed_search_ends(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "/ rangr Enter");
    assert_shows(m, "not found in this view");
    assert_false(m->prompt.open);
    press(m, "/ r * Enter");
    assert_shows(m, "as it is typed");
    press(m, "/ rangr Enter");
    press(m, "/ Up");
    assert_shows(m, "/rangr");
    press(m, "Backspace E Enter");                       /* capitals make no difference */
    assert_false(m->prompt.open);
    assert_hides(m, "not found");
    assert_string_equal(str_text(&m->search), "rangE");
    press(m, "/ Up Backspace e Enter");
    assert_string_equal(str_text(&m->search), "range");
    press(m, ": goto Space 0 Enter / Up");
    assert_shows(m, "/range");
    press(m, "Up Up");
    assert_shows(m, "/rangr");
    press(m, "Esc : Up");                                /* commands do not see searches */
    assert_shows(m, ":goto 0");
    press(m, "Esc / Enter");
    assert_string_equal(str_text(&m->search), "range");  /* the newest */
    model_free(m);
}

/* A right kernel for a GPU that is not here has no time, and nothing says that it has one. */
static void test_gpu_without_a_device(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct desired_job w;
    press(m, "A A 8");                                   /* auto on and off */
    assert_shows(m, "Nothing timed yet.");
    type_line(m, "loop bind C M block.x");
    press(m, "m");
    assert_true(model_desired_job(m, LANE_MEASURE, &w));
    struct app_job *j = model_job(m, &w);
    j->ok = j->m.verified = true;
    j->m.outcome = OUTCOME_OK;
    snprintf(j->m.isa, sizeof j->m.isa, "cuda");
    snprintf(j->m.device.reason, sizeof j->m.device.reason, "no driver");
    j->m.sim = (struct sim_result){ .available = true, .gpu = "h100", .l1_misses = 4096,
                                    .fma_ns = 65, .l1_ns = 586, .l2_ns = 14, .dram_ns = 9 };
    model_done(m, j);
    job_free(j);
    assert_shows(m, "at least 586 ns, simulated on h100; the result is correct; not timed: no");
    assert_hides(m, "0.00 ns");
    assert_shows(m, "≥586 ns");                          /* in the steps */
    assert_shows(m, "No times: this schedule is for a GPU, and none is here.");
    assert_hides(m, "Press m");
    press(m, "B");
    assert_shows(m, "main       1/1     ≥586 ns    4096");
    press(m, "Down");
    assert_shows(m, "≥: simulated on h100");
    model_free(m);
}

/* A process with fewer cores is on the same machine: numbers stay, and the difference is told. */
static void test_fewer_cores_keep_the_numbers(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "m");
    measured(m, 4, 0.01, 1000);
    char *cores = strstr(m->session->machine, " core"), *digit = cores - 1;
    while (digit[-1] != ' ')
        digit--;
    memmove(digit + 1, cores, strlen(cores) + 1);
    *digit = '9';
    type_line(m, "loop unroll C K");
    press(m, "m");
    measured(m, 3, 0.01, 1000);
    assert_shows(m, "measured here: the other numbers are of 9 core");
    assert_shows(m, "4.00 ms");
    press(m, "m");
    measured(m, 2, 0.01, 1000);
    assert_hides(m, "of 9 core");                        /* told once */
    char *isa = strchr(m->session->machine, '|');
    isa[2] = 'x';                                        /* another instruction set */
    press(m, "m");
    measured(m, 1, 0.01, 1000);
    assert_shows(m, "the numbers of another machine are gone (2 steps)");
    assert_hides(m, "4.00 ms");
    model_free(m);
}

/* pasting */

static void test_pasted_lines_are_steps(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    screen_paste(m, "# tiles\nloop split C N 16\r\n\n  loop split C M 8\rloop unroll C K\n");
    assert_false(m->prompt.open);
    assert_int_equal(history_n_states(m->session->history), 4);
    assert_string_equal(step_of(m), "loop unroll C K");
    model_free(m);
}

static void test_paste_stops_at_a_refusal(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    screen_paste(m, "loop split C N 16\nloop split C X 8\nloop unroll C K\nloop parallel C M");
    assert_int_equal(history_n_states(m->session->history), 2);
    assert_true(m->prompt.open);
    assert_shows(m, "line 2 of the paste: ");
    assert_shows(m, ":loop split C X 8");
    press(m, "C-e C-u loop Space split Space C Space M Space 8 Enter");
    assert_shows(m, "line 4 of the paste: ");            /* M is M.0 and M.1 now */
    assert_string_equal(step_of(m), "loop unroll C K");
    press(m, "Esc");
    screen_paste(m, "loop split C X 8\nloop parallel C N.0");
    assert_shows(m, "Enter skips it");
    press(m, "Enter");
    assert_false(m->prompt.open);
    assert_string_equal(step_of(m), "loop parallel C N.0");
    press(m, ": undo Enter");
    screen_paste(m, "loop split C X 8\nloop unroll C N.0");
    press(m, "Esc");                                     /* drops the rest */
    press(m, ": undo Enter");
    assert_string_equal(step_of(m), "loop split C M 8");
    screen_paste(m, "loop unroll C K\n");                /* one line waits for Enter */
    assert_true(m->prompt.open);
    model_free(m);
}

/* A key does not overwrite a file that came with the program. */
static void test_shipped_files_ask_for_a_name(void **state)
{
    char here[512];
    (void)state;
    struct session *s;
    struct err e;
    assert_true(getcwd(here, sizeof here) && mkdir("examples", 0700) == 0);
    assert_int_equal(setenv("TILESCOPE_HOME", here, 1), 0);
    assert_true(session_new(GMM, &s, &e) && session_save(s, "examples/first.yaml", &e));
    struct model *m = model_new(s, &(struct model_opts){ .no_auto = true }, true);
    model_resize(m, 100, 30);
    press(m, "s");
    assert_true(m->prompt.open && m->prompt.mark == PROMPT_SAVE);
    assert_string_equal(str_text(&m->prompt.line), "first.yaml");
    assert_shows(m, "examples/first.yaml is shipped with tilescope: choose a name of your own");
    press(m, "Enter s");
    assert_shows(m, "saved to first.yaml");
    assert_false(m->prompt.open);
    model_free(m);
    assert_true(shipped_file("examples/first.yaml"));
    assert_true(mkdir("share", 0700) == 0         /* another installation is there as well */
                && mkdir("share/tilescope", 0700) == 0
                && mkdir("share/tilescope/examples", 0700) == 0);
    assert_true(session_new(GMM, &s, &e)
                && session_save(s, "share/tilescope/examples/second.yaml", &e));
    session_free(s);
    assert_int_equal(setenv("PREFIX", here, 1), 0);
    assert_true(shipped_file("share/tilescope/examples/second.yaml"));
    assert_true(shipped_file("examples/first.yaml"));
    assert_false(shipped_file("first.yaml"));
    unsetenv("PREFIX");
    unsetenv("TILESCOPE_HOME");
}

/* pictures */

static void test_picture_of_the_screen(void **state)
{
    (void)state;
    struct model *m = model_on("x = input n=4; y = relu(x)");
    struct grid g;
    struct str svg = {0};
    press(m, ": title Space a<b&c Enter");
    screen_refresh(m);
    grid_open(&g, m->w, m->h, true);
    screen_draw(m, &g);
    grid_svg(&g, &svg);
    svg_check(str_text(&svg));
    assert_non_null(strstr(str_text(&svg), "a&lt;b&amp;c"));
    assert_non_null(strstr(str_text(&svg), " fill=\"#0087af\" font-weight=\"bold\">tilescope<"));
    grid_close(&g);
    str_free(&svg);
    model_free(m);
}

/* A tensor's name is never the last row of the layout view. */
static void test_no_orphaned_heading(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "3 + g");
    int seen = 0;
    for (int h = 10; h < 60; h++) {
        model_resize(m, 80, h);
        screen_refresh(m);
        const struct pane_doc *p = &m->pane[VIEW_LAYOUT];
        int last = doc_row(&p->doc, &p->scroll, p->height - 1, p->height);
        if (last >= p->doc.lines.len - 1 || !p->doc.lines.data[last].heading)
            continue;
        assert_hides(m, p->doc.lines.data[last].text);
        seen++;
    }
    assert_true(seen > 0);
    model_free(m);
}

/* a killed run */

/* Leaves the autosave of a process that was killed with one step on s. */
static void leave_killed(struct session *s)
{
    int status;
    struct err e;
    pid_t child = fork_child();
    if (child == 0) {
        enum command_effect effect;
        bool ok = session_run(s, "loop unroll C K", &effect, &e) && session_autosave(s, &e);
        _exit(ok ? 0 : 1);
    }
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

static void test_killed_run_is_offered(void **state)
{
    (void)state;
    struct session *s;
    struct err e;
    assert_true(session_new(GMM, &s, &e) && session_save(s, "killed.yaml", &e));
    leave_killed(s);
    session_free(s);
    static const struct { const char *key; int states; bool again; } answer[] = {
        { "n", 1, true }, { "y", 2, false },
    };
    for (int i = 0; i < 2; i++) {
        assert_true(session_load("./killed.yaml", &s, &e));
        struct model_opts o = {.no_auto = true};
        struct model *m = model_new(s, &o, true);
        assert_shows(m, "ago? killed.yaml");
        press(m, answer[i].key);
        assert_int_equal(history_n_states(m->session->history), answer[i].states);
        assert_int_equal(m->session->dirty, answer[i].states > 1);
        struct autosave found;
        assert_int_equal(session_autosave_of(m->session, &found), answer[i].again);
        session_autosave_drop(m->session);
        model_free(m);
    }
}

/* The settings of a killed run come back with its steps: times are comparable again. */
static void test_killed_run_keeps_settings(void **state)
{
    (void)state;
    struct session *s;
    struct err e;
    int status;
    struct model_opts o = {.no_auto = true};
    assert_true(session_new(GMM, &s, &e) && session_save(s, "threads.yaml", &e));
    pid_t child = fork_child();
    if (child == 0) {
        struct model *m = model_new(s, &o, true);
        type_line(m, "loop unroll C K");
        type_line(m, "threads 2");
        _exit(0);
    }
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    session_free(s);
    assert_true(session_load("./threads.yaml", &s, &e));
    struct model *m = model_new(s, &o, true);
    assert_int_equal(m->threads, 1);
    press(m, "y");
    assert_shows(m, "then: threads 2");
    assert_int_equal(m->threads, 2);
    session_autosave_drop(m->session);
    model_free(m);
}

/* New measurements alone are on the start page, and nobody is asked. */
static void test_numbers_alone_are_not_offered(void **state)
{
    (void)state;
    struct session *s, *again;
    struct autosave found[8];
    struct err e;
    int status;
    assert_true(session_new(GMM, &s, &e) && session_save(s, "numbers.yaml", &e));
    pid_t child = fork_child();
    if (child == 0) {
        s->numbers = true;
        _exit(session_autosave(s, &e) ? 0 : 1);
    }
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    struct autosave none;
    assert_false(session_autosave_of(s, &none));
    int n = session_autosaves(found, 8), at = 0;
    while (at < n && !str_ends(found[at].original, "numbers.yaml"))
        at++;
    assert_true(at < n && found[at].numbers);
    assert_true(session_recover(&found[at], &again, &e));
    assert_true(again->numbers && !again->dirty);
    session_autosave_drop(again);
    session_free(again);
    session_free(s);
}

/* Measured steps are work, also when they are undone: they can be redone until one quits. */
static void test_undone_measurements_are_changes(void **state)
{
    (void)state;
    struct session *s;
    struct err e;
    assert_true(session_new(GMM, &s, &e) && session_save(s, "measured.yaml", &e));
    session_free(s);
    assert_true(session_load("measured.yaml", &s, &e));
    struct model *m = model_new(s, &(struct model_opts){ .no_auto = true }, true);
    type_line(m, "loop unroll C K");
    press(m, "m");
    measured(m, 3, 0.31, 80900);
    press(m, "u");
    assert_shows(m, "(changed)");
    model_free(m);
}

/* An undo back to the steps of the file leaves no change, and nothing to offer later.  Other ways
 * there, other branches and another title are changes. */
static void test_undone_changes_are_none(void **state)
{
    (void)state;
    struct session *s;
    struct autosave found;
    struct err e;
    assert_true(session_new(GMM, &s, &e) && session_run(s, "loop split C M 4",
                                                        &(enum command_effect){ 0 }, &e));
    assert_true(session_save(s, "undone.yaml", &e));
    session_free(s);
    assert_true(session_load("undone.yaml", &s, &e));
    struct model *m = model_new(s, &(struct model_opts){ .no_auto = true }, true);
    type_line(m, "goto 1");                              /* where it is already */
    assert_hides(m, "(changed)");
    type_line(m, "loop unroll C M.1");
    assert_shows(m, "undone.yaml (changed)");
    press(m, "u");
    assert_hides(m, "(changed)");
    assert_false(session_autosave_of(m->session, &found));
    press(m, "u");
    assert_shows(m, "(changed)");                        /* before the steps of the file */
    press(m, "C-r");
    assert_hides(m, "(changed)");
    press(m, "C-r");
    assert_shows(m, "(changed)");
    type_line(m, "goto 1");              /* which undoes nothing: the step is kept */
    assert_shows(m, "(changed)");
    type_line(m, "edit 1 loop split C M 8");
    press(m, "u");
    assert_hides(m, "(changed)");
    type_line(m, "drop 1");
    press(m, "u");
    assert_hides(m, "(changed)");
    type_line(m, "loop unroll C K");
    type_line(m, "title other");
    press(m, "u");
    assert_shows(m, "(changed)");
    press(m, "C-r");
    type_line(m, "w");
    type_line(m, "loop unroll C M.1");
    press(m, "u");
    assert_hides(m, "(changed)");                        /* what was saved is the file's */
    type_line(m, "branch b");
    type_line(m, "loop unroll C M.1");
    press(m, "u");
    assert_shows(m, "(changed)");
    type_line(m, "switch main");
    type_line(m, "delete b");
    press(m, "u C-r");
    assert_hides(m, "(changed)");
    type_line(m, "undo");
    type_line(m, "loop split C N 4");                    /* replaces a step of the file */
    press(m, "u");
    assert_shows(m, "(changed)");
    type_line(m, "w");
    press(m, "C-r u q");
    assert_true(m->out.quit);
    model_free(m);
    unlink("undone.yaml");
}

/* Without a file, the same operator finds it: on the command line, by `new` and on its own. */
static void test_killed_operator_is_offered(void **state)
{
    (void)state;
    struct session *s;
    struct err e;
    assert_true(session_new("gmm m=24 k=16 n=8", &s, &e));
    leave_killed(s);
    session_free(s);
    struct model *m = model_on("gmm m=24 k=16 n=16");
    assert_hides(m, "ago?");
    type_line(m, "new gmm n=8 m=24 k=16");
    assert_shows(m, "ago? gmm m=24 k=16 n=8");
    press(m, "y");
    assert_string_equal(step_of(m), "loop unroll C K");
    assert_true(m->session->dirty);
    session_autosave_drop(m->session);
    model_free(m);
}

/* A file is recent when it is shown, not when the question about unsaved changes is asked. */
static void a_cancelled_open_is_not_recent(void **state)
{
    (void)state;
    static char recent[4][512];
    char path[2][600], line[640];
    const char *dir = getenv("TMPDIR");
    struct session *s;
    struct err e;
    assert_true(session_new(GMM, &s, &e));
    for (int i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "%s/recent%d.yaml", dir ? dir : "/tmp", i);
        assert_true(session_save(s, path[i], &e));
    }
    session_free(s);
    struct model *m = model_on(GMM);
    type_line(m, "loop unroll C K");
    snprintf(line, sizeof line, "open %s", path[0]);
    type_line(m, line);
    assert_int_equal(m->overlay, OVERLAY_ASK);
    press(m, "Esc");
    session_recent(recent, 4);
    assert_string_equal(recent[0], path[1]);
    type_line(m, line);
    press(m, "n");
    session_recent(recent, 4);
    assert_string_equal(recent[0], path[0]);
    for (int i = 0; i < 2; i++)
        unlink(path[i]);
    model_free(m);
}

/* Ranking is offered only where something is predicted. */
static void menus_without_predictions_keep_their_order(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    model_resize(m, 100, 30);
    press(m, "1 g Enter");
    assert_shows(m, "Tab fewest misses first");
    press(m, "Tab");
    assert_shows(m, "Tab in their order");
    press(m, "Esc 3 Enter");
    assert_shows(m, "Layout of ");
    assert_hides(m, "Tab ");
    press(m, "Tab");
    assert_hides(m, " first");
    model_free(m);
}

/* A preview whose last lines change shows the lines above them, too, if there is room. */
static void previews_leave_no_rows_empty(void **state)
{
    (void)state;
    struct model *m = model_on("x = input m=64 k=32; w = input k=32 n=48; C = matmul(x, w);"
                               " R = relu(C)");
    model_resize(m, 100, 30);
    press(m, ": loop Space vectorize Space R Space N");
    assert_shows(m, "preview: the nest after this step");
    assert_shows(m, "for n in vectorize(48)");
    assert_shows(m, "for m, n in range(64, 48)");
    model_free(m);
}

/* The column of an error is one of the line, however its command is written. */
static void errors_have_columns_of_the_line(void **state)
{
    (void)state;
    static const struct { const char *line; int col; } row[] = {
        { "gmm m=x k=8 n=8", 7 }, { "new gmm m=x k=8 n=8", 11 }, { "new   gmm m=x k=8 n=8", 13 },
        { "open gmm m=x k=8 n=8", 12 }, { "cache 4K/x", 7 }, { "cache  4K/x", 8 },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct model *m = model_on("gmm m=24 k=16 n=8");
        type_line(m, row[i].line);
        if (m->error_col != row[i].col)
            fail_msg("%s: column %d", row[i].line, m->error_col);
        model_free(m);
    }
}

/* A line that was copied with its colon runs as it is. */
static void a_colon_of_the_prompt_is_no_command(void **state)
{
    (void)state;
    struct model *m = model_on("gmm m=64 k=32 n=48");
    type_line(m, ": :loop split C K 8");
    assert_string_equal(step_of(m), "loop split C K 8");
    type_line(m, ":nonsense");
    assert_shows(m, "there is no such step or command");
    assert_string_equal(str_text(&m->prompt.line), "nonsense");
    press(m, ":");                       /* after a refusal it begins an empty line */
    assert_string_equal(str_text(&m->prompt.line), "");
    press(m, "a : Esc");
    model_free(m);
}

/* The file is written, and the command that compiles it is said. */
static void export_says_how_to_compile(void **state)
{
    (void)state;
    struct model *m = model_on("gmm m=64 k=32 n=48");
    model_resize(m, 120, 40);
    type_line(m, "export made.c");
    assert_shows(m, "C file written to made.c; compile and run it (its first lines say how): ");
    assert_int_equal(access("made.c", R_OK), 0);
    model_free(m);
}

/* A session may have the name that the program would get: the command gives the program another. */
static void export_spares_files_that_are_no_programs(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct str text = {0};
    struct err e;
    model_resize(m, 300, 40);
    type_line(m, "w conv");
    assert_shows(m, "saved to conv.yaml");               /* a name without an ending gets one */
    assert_int_equal(rename("conv.yaml", "conv"), 0);
    type_line(m, "export conv.c");
    assert_shows(m, " conv.c -o ./conv.out -lm && ./conv.out");
    assert_true(file_read("conv.c", 1 << 20, &text, &e));
    assert_non_null(strstr(str_text(&text), " conv.c -o ./conv.out -lm && ./conv.out\n"));
    str_free(&text);
    assert_int_equal(mkdir("conv.out", 0777), 0);        /* nor can gcc write to a folder */
    press(m, "Esc");
    type_line(m, "export conv.c");
    press(m, "Enter");
    assert_shows(m, " -o ./conv.out.out -lm && ./conv.out.out");
    assert_int_equal(chmod("conv", 0755), 0);            /* which makes it no program */
    press(m, "Esc");
    type_line(m, "export conv.c");
    press(m, "Enter");
    assert_shows(m, " -o ./conv.out.out -lm && ./conv.out.out");
    assert_true(file_write_atomic("conv", "\177ELF...", 7, &e));  /* a program is made again */
    press(m, "Esc");
    type_line(m, "export conv.c");
    press(m, "Enter");
    assert_shows(m, " -o ./conv -lm && ./conv");
    assert_int_equal(mkdir("out", 0777), 0);             /* the file says it for its own folder */
    press(m, "Esc");
    type_line(m, "export out/conv.c");
    assert_shows(m, " out/conv.c -o out/conv -lm && out/conv");
    str_clear(&text);
    assert_true(file_read("out/conv.c", 1 << 20, &text, &e));
    assert_non_null(strstr(str_text(&text), " conv.c -o ./conv -lm && ./conv\n"));
    str_free(&text);
    model_free(m);
}

/* A step that says how a loop runs, after another one that said so otherwise. */
static void replaced_steps_are_named(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    m->autorun = false;
    model_resize(m, 120, 40);
    type_line(m, "loop reorder C M K N");
    type_line(m, "loop unroll C N");
    type_line(m, "loop vectorize C N");
    assert_shows(m, "step 2 `loop unroll C N` has no effect, because of step 3");
    press(m, "Tab k");
    assert_shows(m, "no effect: by step 3 the loop runs in another way");
    type_line(m, "edit 3 loop parallel C M");
    assert_hides(m, "no effect");
    type_line(m, "edit 3 loop vectorize C N");
    assert_shows(m, "`loop unroll C N` has no effect, because");
    model_free(m);
}

/* The key m says which step it measures, wherever the cursor is. */
static void measuring_names_the_step(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    m->autorun = false;
    type_line(m, "loop split C N 4");
    type_line(m, "loop unroll C N.1");
    press(m, "Tab k m");
    assert_shows(m, "measuring step 2");
    model_free(m);
}

/* Numbers of other settings say so in the profile. */
static void the_profile_knows_old_settings(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct measurement one = { .outcome = OUTCOME_OK, .verified = true,
                               .latency = { .runs = 5, .min_ms = 7, .median_ms = 7 } };
    snprintf(one.isa, sizeof one.isa, "%s", target_or_host(NULL)->isa);
    history_add_measured(m->session->history, 0, &one, false);
    m->data_stamp++;
    model_resize(m, 160, 40);
    press(m, "6");
    assert_hides(m, "before the settings were changed");
    type_line(m, "threads 2");
    assert_shows(m, "Measured before the settings were changed: with");
    assert_shows(m, "1 thread. m measures again.");
    type_line(m, "threads default");
    assert_hides(m, "before the settings were changed");
    model_free(m);
}

/* Steps that were only undone would be lost: one is let go, several are asked about. */
static void undone_steps_are_not_lost(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    m->autorun = false;
    type_line(m, "loop split C N 4");
    press(m, "u");
    assert_false(model_unsaved(m));
    type_line(m, "loop split C N 4");
    type_line(m, "loop unroll C N.1");
    type_line(m, "loop split C M 4");
    type_line(m, "goto 2");
    type_line(m, "undo 2");
    assert_true(model_unsaved(m));
    assert_shows(m, "(not saved)");
    press(m, "Esc q");
    assert_shows(m, "Save the changes first?");
    model_free(m);
}

/* In the list of completions Down and Up choose like Tab and S-Tab; without a list they bring back
 * earlier lines. */
static void arrows_choose_in_the_list(void **state)
{
    (void)state;
    struct model *m = model_on("gmm m=64 k=32 n=48");
    type_line(m, "split C M 4");
    press(m, ": loop Space s Tab Down");
    char *first = xstrdup(str_text(&m->prompt.line));
    assert_true(str_starts(first, "loop s") && strlen(first) > strlen("loop s"));
    press(m, "Down");
    assert_string_not_equal(str_text(&m->prompt.line), first);
    press(m, "Up");
    assert_string_equal(str_text(&m->prompt.line), first);
    press(m, "Esc C-u Up");                              /* the list is closed */
    assert_string_equal(str_text(&m->prompt.line), "split C M 4");
    free(first);
    model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrows_choose_in_the_list), cmocka_unit_test(test_narrow_panes_say_misses),
        cmocka_unit_test(test_share_of_the_ceiling),
        cmocka_unit_test(test_the_best_stays),
        cmocka_unit_test(test_gpu_without_a_device),
        cmocka_unit_test(test_fewer_cores_keep_the_numbers),
        cmocka_unit_test(test_other_ways_do_not_mix),
        cmocka_unit_test(held_steps_share_their_time),
        cmocka_unit_test(test_other_ways_keep_the_best_time),
        cmocka_unit_test(test_partial_numbers_merge),
        cmocka_unit_test(test_noise_is_marked),
        cmocka_unit_test(test_one_statistic),
        cmocka_unit_test(test_late_numbers),
        cmocka_unit_test(test_kept_branch_is_explained),
        cmocka_unit_test(test_lanes_apart),
        cmocka_unit_test(test_steps_without_effect_say_so),
        cmocka_unit_test(test_followers_say_so),
        cmocka_unit_test(test_redone_change_is_explained),
        cmocka_unit_test(test_tile_of_the_present_target),
        cmocka_unit_test(test_enter_repairs_a_held_step),
        cmocka_unit_test(test_redraw_leaves_the_list_open),
        cmocka_unit_test(test_branches_have_stars),
        cmocka_unit_test(test_inserted_layouts_say_the_contract),
        cmocka_unit_test(test_home_in_names),
        cmocka_unit_test(test_reports_fade), cmocka_unit_test(test_stars_follow_the_settings),
        cmocka_unit_test(test_stars_of_a_session_opened_again),
        cmocka_unit_test(test_cut_rows_are_told), cmocka_unit_test(test_bindings_are_in_a_file),
        cmocka_unit_test(test_groups_may_be_left_out),
        cmocka_unit_test(test_groups_may_be_left_out_of_changes),
        cmocka_unit_test(test_missing_simulation_says_how),
        cmocka_unit_test(test_settings), cmocka_unit_test(test_settings_say_what_changed),
        cmocka_unit_test(test_tile_without_sums),
        cmocka_unit_test(test_preview),
        cmocka_unit_test(test_preview_of_changes), cmocka_unit_test(test_ledger_marks),
        cmocka_unit_test(test_preview_is_what_enter_makes), cmocka_unit_test(test_preview_rebases),
        cmocka_unit_test(test_held_steps_have_no_effect),
        cmocka_unit_test(test_clearing_the_prompt),
        cmocka_unit_test(test_a_star_marks_steps_of_other_loops),
        cmocka_unit_test(test_preview_counts_held_steps),
        cmocka_unit_test(test_tour),
        cmocka_unit_test(test_tour_wants_its_step),
        cmocka_unit_test(test_tour_fits_the_registers),
        cmocka_unit_test(test_panes_resize),
        cmocka_unit_test(test_commands_are_no_file_names),
        cmocka_unit_test(test_search_in_steps),
        cmocka_unit_test(test_search_selects),
        cmocka_unit_test(test_search_in_lists),
        cmocka_unit_test(test_help_keeps_the_search_of_the_view),
        cmocka_unit_test(test_failed_search_ends),
        cmocka_unit_test(test_pasted_lines_are_steps),
        cmocka_unit_test(test_shipped_files_ask_for_a_name),
        cmocka_unit_test(test_paste_stops_at_a_refusal),
        cmocka_unit_test(test_picture_of_the_screen),
        cmocka_unit_test(test_no_orphaned_heading),
        cmocka_unit_test(a_cancelled_open_is_not_recent),
        cmocka_unit_test(menus_without_predictions_keep_their_order),
        cmocka_unit_test(previews_leave_no_rows_empty),
        cmocka_unit_test(errors_have_columns_of_the_line),
        cmocka_unit_test(a_colon_of_the_prompt_is_no_command),
        cmocka_unit_test(export_says_how_to_compile),
        cmocka_unit_test(export_spares_files_that_are_no_programs),
        cmocka_unit_test(undone_steps_are_not_lost),
        cmocka_unit_test(replaced_steps_are_named), cmocka_unit_test(measuring_names_the_step),
        cmocka_unit_test(the_profile_knows_old_settings),
        cmocka_unit_test(test_killed_run_is_offered),
        cmocka_unit_test(test_killed_run_keeps_settings),
        cmocka_unit_test(test_numbers_alone_are_not_offered),
        cmocka_unit_test(test_undone_measurements_are_changes),
        cmocka_unit_test(test_undone_changes_are_none),
        cmocka_unit_test(test_killed_operator_is_offered),
    };
    return cmocka_run_group_tests(tests, set_up_folders, NULL);
}
