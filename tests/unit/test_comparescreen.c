/* The marked state beside the current one, bisecting and leaving steps out, on the screen. */
/* tests/run.sh: takes 12 s */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/golden.h"
#include "tests/unit/model_help.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static char root[512];

#define GMM "gmm m=64 k=32 n=48"

/* Does the measuring job that the model wants now. */
static void do_job(struct model *m, enum job_kind kind)
{
    struct desired_job w;
    struct cancel c = {0};
    screen_refresh(m);
    assert_true(model_desired_job(m, LANE_MEASURE, &w));
    assert_int_equal(w.kind, kind);
    struct app_job *j = model_job(m, &w);
    job_run(j, &c, NULL);
    if (!j->ok)
        fail_msg("%s", j->e.text);
    model_done(m, j);
    job_free(j);
    assert_false(model_desired_job(m, LANE_MEASURE, &w));
    screen_refresh(m);
}

static struct model *with_steps(void)
{
    struct model *m = model_on(GMM);
    type_line(m, "loop reorder C M K N");
    type_line(m, "loop vectorize C N");
    return m;
}

static void a_marked_state_is_shown_beside_the_current_one(void **state)
{
    (void)state;
    struct model *m = with_steps();
    press(m, "=");
    assert_shows(m, "No state is marked.");
    type_line(m, "focus steps");
    press(m, "g Space");
    assert_shows(m, "= 0 as given");
    press(m, "=");
    assert_shows(m, "timing both in turns");
    press(m, "Esc");
    assert_shows(m, "= times both in turns");
    press(m, "=");
    model_resize(m, 120, 40);
    char path[600];
    snprintf(path, sizeof path, "%s/tests/golden/screen/compare-120x40.txt", root);
    golden_check(path, screen_of(m));
    model_resize(m, 80, 24);
    snprintf(path, sizeof path, "%s/tests/golden/screen/compare-80x24.txt", root);
    golden_check(path, screen_of(m));
    model_resize(m, 200, 60);
    snprintf(path, sizeof path, "%s/tests/golden/screen/compare-200x60.txt", root);
    golden_check(path, screen_of(m));
    do_job(m, JOB_COMPARE);
    assert_shows(m, "time B / A: 0.");
    assert_shows(m, "faster");
    assert_shows(m, "median: ");
    assert_shows(m, " of A, ");
    assert_shows(m, "minimum: ");
    assert_shows(m, "Misses (simulated)");
    assert_shows(m, "L1 A      L1 B    change");
    assert_shows(m, "L2 A      L2 B    change");
    press(m, "Space Space");
    assert_int_equal(m->marking.what, COMPARE_ASM);
    assert_shows(m, "asm: ");
    /* Another current state: the numbers do not fit any more. */
    press(m, "u");
    assert_hides(m, "time B / A");
    assert_shows(m, "The assembly of both comes with their times.");
    /* Esc closes the comparison before anything else. */
    press(m, "5 =");
    assert_int_equal(m->view[PANE_SIDE], VIEW_COMPARE);
    press(m, "Esc");
    assert_int_equal(m->marking.wanted, false);
    press(m, "Esc");
    assert_int_equal(m->view[PANE_SIDE], VIEW_ASM);
    press(m, "= Esc q");
    assert_int_equal(m->view[PANE_SIDE], VIEW_ASM);
    assert_int_equal(m->out.quit, false);
    /* Esc goes to the same view, whatever is marked or set meanwhile. */
    press(m, "5 =");
    type_line(m, "focus steps");
    press(m, "Space =");
    type_line(m, "threads 2");
    press(m, "Esc Esc");
    assert_int_equal(m->view[PANE_SIDE], VIEW_ASM);
    assert_int_equal(m->last_view, PANE_SIDE);
    type_line(m, "threads 1");
    type_line(m, "mark off");
    assert_hides(m, "= 0 as given");
    model_free(m);
}

/* Times that spread, an interval that decides nothing, and a time that is far from the one of the
 * list of steps are said; = again times both again. */
/* . and , go from difference to difference; another text begins at its top. */
static void the_cursor_goes_to_differences(void **state)
{
    (void)state;
    struct model *m = model_on("c2d n=1 i=8 h=14 w=14 o=32 k=3 p=1");
    press(m, "=");
    assert_hides(m, "next difference");   /* nothing is marked */
    press(m, ".");
    assert_shows(m, "no texts are compared here");
    type_line(m, "loop split Inp W 4");
    type_line(m, "loop split Conv KW 2");
    type_line(m, "focus steps");
    press(m, "g Space G =");
    const struct pane_doc *p = &m->pane[VIEW_COMPARE];
    int place[20], n = 0;
    do {
        press(m, ".");
        place[n++] = p->scroll.cursor;
        assert_true(strchr("-+", p->doc.lines.data[p->scroll.cursor].text[0]));
    } while (n < 2 || (n < COUNT_OF(place) && place[n - 1] > place[n - 2]));
    assert_shows(m, "there is no difference below");
    n--;
    assert_true(n > 2 && n < COUNT_OF(place) - 1);
    for (int i = n - 2; i >= 0; i--) {
        press(m, ",");
        assert_int_equal(p->scroll.cursor, place[i]);
    }
    press(m, ",");
    assert_shows(m, "there is no difference above");
    press(m, "Space");
    assert_int_equal(p->scroll.cursor, 0);
    model_free(m);
}

static void noisy_comparisons_are_said(void **state)
{
    (void)state;
    struct model *m = with_steps();
    model_resize(m, 300, 60);
    assert_true(model_run(m, "mark 0"));
    assert_true(model_run(m, "compare"));
    do_job(m, JOB_COMPARE);
    assert_shows(m, "= times both again");
    struct compared *time = m->marking.pair->time;
    for (int i = 0; i < 2; i++)
        time[i].m.latency = (struct latency){ .median_ms = 2, .min_ms = 1.95, .spread = 0.02,
                                              .runs = 9 };
    m->data_stamp++;
    assert_hides(m, "noisy:");
    assert_hides(m, "when it was measured by itself");
    struct measurement row = time[0].m;
    row.latency.median_ms /= 2.8;
    history_set_measured(m->session->history, m->marking.state, &row);
    time[0].m.latency.spread = 0.48;
    time[0].m.load = time[1].m.load = 6.25;
    time[1].ratio = (struct ratio){ 0.9, 0.61, 1.82, 0.9 };
    time[1].verdict = VERDICT_SAME;
    m->data_stamp++;
    assert_shows(m, "0.900 (0.610 to 1.820)  undecided: the interval is wider than 10 %");
    time[1].ratio = (struct ratio){ 0.86, 0.812, 0.904, 1.18 };
    time[1].verdict = stats_verdict(&time[1].ratio);
    m->data_stamp++;
    assert_shows(m, "0.860 (0.812 to 0.904)  undecided: the best times say the opposite: 1.18");
    time[1].same_code = true;
    m->data_stamp++;
    assert_shows(m, "0.860 (0.812 to 0.904)  the same code: the difference is noise");
    assert_hides(m, "undecided");
    time[1].same_code = false;
    m->data_stamp++;
    assert_shows(m, "A is noisy: the middle half spreads over 48 %; the load of the machine "
                 "was 6.2");
    assert_shows(m, "A takes ");
    assert_shows(m, " (medians) when it was measured by itself: the machine was");
    assert_shows(m, "load was 6.2 here");
    time[0].m.latency.spread = 0.02;                     /* the rule of the list of steps */
    time[1].m.latency.min_ms = 1;
    m->data_stamp++;
    assert_shows(m, "B is noisy: the median is 100 % above the best time; the load");
    assert_hides(m, "middle half");
    press(m, "=");
    assert_shows(m, "timing both in turns");
    do_job(m, JOB_COMPARE);
    model_free(m);
}

/* A job of an earlier mark is not taken for one of the mark that there is now. */
static void jobs_of_an_old_mark_are_dropped(void **state)
{
    (void)state;
    struct model *m = with_steps();
    struct desired_job w;
    assert_true(model_run(m, "mark 0"));
    assert_true(model_run(m, "compare"));
    assert_true(model_desired_job(m, LANE_MEASURE, &w));
    struct app_job *j = model_job(m, &w);
    assert_true(model_run(m, "mark 1"));
    assert_true(model_run(m, "compare"));
    j->ok = true;
    j->pair = calloc(1, sizeof *j->pair);
    model_done(m, j);
    job_free(j);
    assert_null(m->marking.pair);
    model_free(m);
}

/* Both sides are made for the instruction set of the settings. */
static void comparisons_follow_the_settings(void **state)
{
    (void)state;
    struct model *m = with_steps();
    assert_true(model_run(m, "isa plain"));
    assert_true(model_run(m, "mark 0"));
    assert_true(model_run(m, "compare"));
    do_job(m, JOB_COMPARE);
    assert_string_equal(m->marking.pair->time[1].m.isa, "plain");
    assert_true(model_run(m, "isa default"));
    assert_null(m->marking.pair);                        /* it was of other settings */
    assert_true(m->marking.state >= 0);
    model_free(m);
}

/* Whenever zooming shows both sides, the first lines say so; narrower screens say what is lacking.
 */
static void zooming_is_offered_where_it_helps(void **state)
{
    (void)state;
    static const int columns[] = { 80, 89, 90, 92, 110, 140, 160, 185 };
    struct model *m = with_steps();
    assert_true(model_run(m, "mark 0"));
    press(m, "=");
    for (int i = 0; i < COUNT_OF(columns); i++) {
        model_resize(m, columns[i], 30);
        assert_shows(m, "(Space: next; + shows them");
        assert_true(columns[i] >= 90 || strstr(screen_of(m), "90 columns)"));
        if (columns[i] >= 90)
            assert_hides(m, "90 columns");
        press(m, "+");
        if (columns[i] >= 90)
            assert_hides(m, "+ shows them");
        press(m, "+");
    }
    model_free(m);
}

static void branches_can_be_marked(void **state)
{
    (void)state;
    struct model *m = with_steps();
    press(m, "b other Enter");
    type_line(m, "loop parallel C M");
    press(m, "B g Space");
    assert_shows(m, " =main");                           /* the list is still open */
    press(m, "=");
    assert_shows(m, "A  main, step 2 of 2: loop vectorize C N");
    type_line(m, "mark 9");
    assert_shows(m, "this branch has no step 9");
    type_line(m, "switch main");
    type_line(m, "loop unroll C K");
    type_line(m, "mark other");
    assert_shows(m, "compares it with the current branch");
    type_line(m, "bisect");
    assert_shows(m, "the marked one is not on this branch");
    assert_shows(m, "bisect 2 3 takes this branch's steps since it left the other one; =");
    press(m, "Esc");
    type_line(m, "goto 2");
    type_line(m, "bisect 3 other");
    assert_shows(m, "neither of these leads to the other");
    type_line(m, "goto 3");
    type_line(m, "mark nobody");
    assert_shows(m, "there is no branch \"nobody\"");
    press(m, "Esc");
    type_line(m, "mark off");
    type_line(m, "compare other");
    assert_shows(m, "other, step 3");
    assert_int_equal(m->marking.state, history_branch(m->session->history, 1)->at);
    type_line(m, "compare other");                       /* is no toggle */
    assert_int_equal(m->marking.state, history_branch(m->session->history, 1)->at);
    type_line(m, "compare main");
    assert_shows(m, "this is the current branch");
    press(m, "Esc");
    press(m, "B g =");                    /* main: refused, and the list stays open for another */
    assert_shows(m, "this is the current branch");
    assert_int_equal(m->overlay, OVERLAY_BRANCHES);
    press(m, "j =");
    assert_int_equal(m->overlay, OVERLAY_NONE);
    assert_shows(m, "A  other, step 3");
    type_line(m, "compare nobody");
    assert_shows(m, "a step (3), a branch, a step of one (main@3), or nest, c, asm or ablation");
    press(m, "Esc");
    type_line(m, "compare other@1");
    type_line(m, "compare other@1");                     /* the same again does not unmark it */
    assert_shows(m, "A  other, step 1 of 3");
    type_line(m, "compare other@9");
    assert_shows(m, "there is no branch \"other@9\"");
    press(m, "Esc");
    type_line(m, "compare 1");                           /* a step of this branch */
    assert_shows(m, "A  main, step 1 of");
    type_line(m, "compare 1");
    assert_shows(m, "A  main, step 1 of");
    type_line(m, "compare 99");
    assert_shows(m, "this branch has no step 9");
    model_free(m);
}

/* A state that its marked branch has no more is named by the current branch, if that has it. */
static void the_current_branch_names_a_state(void **state)
{
    (void)state;
    struct model *m = with_steps();
    struct str name = {0};
    type_line(m, "branch a");
    type_line(m, "branch b");
    type_line(m, "mark a");
    assert_string_equal(m->marking.branch, "a");
    int marked = m->marking.state;
    model_state_name(m, marked, true, &name);
    assert_string_equal(str_text(&name), "a, step 2 of 2");
    type_line(m, "switch a");
    type_line(m, "undo");
    type_line(m, "loop parallel C M");                   /* now a has lost the state */
    type_line(m, "switch main");
    str_clear(&name);
    model_state_name(m, marked, true, &name);
    assert_string_equal(str_text(&name), "main, step 2 of 2");
    type_line(m, "undo");
    type_line(m, "loop parallel C M");
    str_clear(&name);
    model_state_name(m, marked, true, &name);
    assert_string_equal(str_text(&name), "b, step 2 of 2");
    str_free(&name);
    model_free(m);
}

static void bisect_names_the_step(void **state)
{
    (void)state;
    struct model *m = model_on("gmm m=128 k=128 n=128");
    type_line(m, "bisect");
    assert_shows(m, "bisect takes two steps, and these are the same");
    type_line(m, "loop split C M 32 4");
    type_line(m, "loop reorder C M.0 K M.1 N");
    type_line(m, "bisect");               /* without a mark: from step 0 */
    assert_shows(m, "bisecting the steps between them");
    assert_true(m->marking.wanted && m->marking.from == 0 && m->marking.to == 2);
    press(m, "Esc");
    assert_false(m->marking.wanted);
    type_line(m, "mark");
    type_line(m, "bisect");
    assert_shows(m, "two steps of one branch, and the current step is the marked one");
    type_line(m, "loop unroll C M.1");
    type_line(m, "loop vectorize C N");
    type_line(m, "bisect");
    do_job(m, JOB_BISECT);
    assert_shows(m, "step 4 `loop vectorize C N` makes it ");
    model_resize(m, 160, 40);
    type_line(m, "compare");
    assert_shows(m, "step 4 `loop vectorize C N` makes it ");
    assert_hides(m, "The last :bisect");
    type_line(m, "bisect 1 4");
    do_job(m, JOB_BISECT);
    assert_shows(m, "step 4 `loop vectorize C N` makes it ");
    type_line(m, "bisect 4 1");
    do_job(m, JOB_BISECT);
    assert_shows(m, "The last :bisect was of other ");
    type_line(m, "bisect 3 3");
    assert_shows(m, "these are the same");
    type_line(m, "bisect 3 9");
    assert_shows(m, "this branch has no step 9");
    type_line(m, "branch other");
    type_line(m, "goto 1");
    assert_shows(m, "The last :bisect was of other ");
    model_free(m);
}

static void ablation_has_a_row_per_step(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    type_line(m, "ablate");
    assert_shows(m, "there is no step to leave out");
    model_free(m);
    m = with_steps();
    type_line(m, "ablate");
    assert_shows(m, "Timing the schedule without each of its steps");
    press(m, "Esc");
    assert_shows(m, "cancelled");
    type_line(m, "ablate");
    do_job(m, JOB_ABLATE);
    model_resize(m, 100, 30);
    assert_shows(m, "Without a step it is:");
    assert_shows(m, "  1 ");
    assert_shows(m, "loop vectorize C N");
    assert_hides(m, "Not the current state");
    assert_shows(m, ":ablate times all again.");
    assert_hides(m, "(Space: next)");                    /* nothing is marked to compare with */
    assert_hides(m, "Space next text");
    press(m, "Space");
    assert_shows(m, "no state is marked to compare with");
    assert_shows(m, "Without a step it is:");
    struct ablated *row = m->marking.ablation->row;
    row[0].result.ratio = (struct ratio){ 1, 0.61, 1.82, 1 };
    row[1].result.ratio = (struct ratio){ 2, 1.9, 2.1, 2 };
    row[0].result.verdict = VERDICT_SAME;
    row[1].result.verdict = VERDICT_SLOWER;
    m->data_stamp++;
    assert_shows(m, "undecided (0.61 to 1.82)");
    assert_shows(m, "1 step is undecided: the interval");
    row[1].result.ratio = (struct ratio){ 1.27, 1.24, 1.3, 0.85 };
    row[1].result.verdict = stats_verdict(&row[1].result.ratio);
    m->data_stamp++;
    assert_shows(m, "undecided (1.24 to 1.30)");
    assert_shows(m, "the best times say the opposite: 0.85");
    assert_shows(m, "2 steps are undecided: the interval");
    type_line(m, "undo");
    assert_shows(m, "Not the current state, but main, step ");
    press(m, "Esc =");                                   /* which asks for a comparison */
    assert_shows(m, "No state is marked");
    type_line(m, "compare ablation");
    assert_shows(m, "Not the current state, but main, step ");
    model_free(m);
    m = with_steps();
    type_line(m, "mark 0");
    type_line(m, "ablate");
    do_job(m, JOB_ABLATE);
    assert_shows(m, "Without a step it is:");
    type_line(m, "compare");                             /* of the marked step, as ever, */
    assert_hides(m, "Without a step it is:");
    type_line(m, "compare ablation");                    /* and the table is still there */
    assert_shows(m, "Without a step it is:");
    model_free(m);
}

/* A step that cannot act with one thread is no step that makes no difference. */
static void ablation_names_steps_that_cannot_act(void **state)
{
    (void)state;
    struct model *m = with_steps();
    type_line(m, "loop parallel C M");
    type_line(m, "ablate");
    do_job(m, JOB_ABLATE);
    struct ablation *a = m->marking.ablation;
    assert_non_null(a);
    for (int i = 0; i < a->n; i++)
        a->row[i].result.verdict = i < a->n - 1 ? VERDICT_SLOWER : VERDICT_SAME;
    m->data_stamp++;
    model_resize(m, 150, 30);
    assert_shows(m, "3 steps, 1 thread");
    assert_shows(m, "cannot act with one thread");
    assert_shows(m, "Every other step makes a difference. 1 step needs more threads to act.");
    a->row[0].result.verdict = VERDICT_NONE;
    a->row[0].result.m.outcome = OUTCOME_LIMIT;
    snprintf(a->row[0].result.m.reason, sizeof a->row[0].result.m.reason, "of 9 GiB of code");
    m->data_stamp++;
    assert_shows(m, "too large");
    assert_shows(m, "of 9 GiB of code");
    assert_hides(m, "makes a difference.");
    model_free(m);
}

/* The layouts that a caller sees are said where two states are compared, and after X. */
static void other_contracts_are_said(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    type_line(m, "set input_layout given");
    type_line(m, "layout set A \"K M\"");
    assert_shows(m, "other contract: A arrives as KM instead of MK");
    press(m, "b plain Enter");
    type_line(m, "goto 0");
    press(m, "B");
    assert_shows(m, "-          other contract");
    press(m, "k k k k");
    assert_shows(m, "main: other contract: A arrives as KM instead of MK");
    model_free(m);
    m = model_on("c2d n=1 i=64 h=56 w=56 o=64 k=3 p=1");
    press(m, "X");
    const struct program *p = model_program(m);
    struct str text = {0};
    model_contract_note(p, history_state(m->session->history, 0)->program, &text);
    if (text.len > 0)
        assert_non_null(strstr(str_text(&m->message.text), "other contract: "));
    assert_true(text.len > 0);
    str_free(&text);
    model_free(m);
}

/* Esc on a prompt that a key of the list of branches opened goes back to the list. */
static void esc_goes_back_to_the_list(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    type_line(m, "split C M 4");
    press(m, "b plain Enter B k p");
    assert_true(m->prompt.open && m->overlay == OVERLAY_NONE);
    press(m, "Esc");
    assert_true(!m->prompt.open && m->overlay == OVERLAY_BRANCHES);
    press(m, "q");
    assert_true(m->overlay == OVERLAY_NONE);
    press(m, ": Esc");
    assert_true(!m->prompt.open && m->overlay == OVERLAY_NONE);
    press(m, "B k p C-u C-u goto Space 0 Enter");         /* it ran: nothing leads back */
    assert_true(!m->prompt.open);
    model_paste(m, "unroll");
    press(m, "Esc");
    assert_true(!m->prompt.open && m->overlay == OVERLAY_NONE);
    model_free(m);
}

int main(void)
{
    setenv("TILESCOPE_CFLAGS", "-O0", 0);  /* what is checked does not depend on gcc's work */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_marked_state_is_shown_beside_the_current_one),
        cmocka_unit_test(zooming_is_offered_where_it_helps),
        cmocka_unit_test(branches_can_be_marked),
        cmocka_unit_test(jobs_of_an_old_mark_are_dropped),
        cmocka_unit_test(comparisons_follow_the_settings),
        cmocka_unit_test(the_current_branch_names_a_state),
        cmocka_unit_test(bisect_names_the_step),
        cmocka_unit_test(the_cursor_goes_to_differences),
        cmocka_unit_test(noisy_comparisons_are_said),
        cmocka_unit_test(ablation_has_a_row_per_step),
        cmocka_unit_test(ablation_names_steps_that_cannot_act),
        cmocka_unit_test(other_contracts_are_said), cmocka_unit_test(esc_goes_back_to_the_list),
    };
    if (!getcwd(root, sizeof root))
        return 1;
    setenv("TILESCOPE_HOME", root, 0);
    private_folders();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
