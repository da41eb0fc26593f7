/* The list of branches with what was measured on them, and steps that the screen is opened with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/views/view.h"
#include "kernels/base/file.h"
#include "tests/unit/model_help.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/tty.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define GMM "gmm m=64 k=32 n=48"

static void measured(struct model *m, double ms, bool verified)
{
    struct history *h = m->session->history;
    struct measurement r = { .outcome = OUTCOME_OK, .verified = verified };
    r.latency.runs = 9;
    r.latency.median_ms = r.latency.min_ms = r.latency.max_ms = ms;
    history_set_measured(h, history_current(h)->id, &r);
}

/* A branch has the time of the state where it stands, as it has the misses of that state. */
static void branches_show_the_time_where_they_stand(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "B");
    assert_shows(m, "main       0/0           -");
    press(m, "Esc");
    measured(m, 7, true);
    press(m, "p");
    measured(m, 3, true);
    press(m, ": l o o p Space u n r o l l Space C Space K Enter");
    measured(m, 5, true);
    press(m, "b tiled Enter");
    press(m, ": l o o p Space s p l i t Space C Space N Space 4 Enter");
    measured(m, 1, false);
    press(m, "B");
    assert_shows(m, "main       2/2     5.00 ms");
    assert_shows(m, "tiled      3/3           -");
    press(m, "Esc");
    measured(m, 2, true);
    press(m, "B");
    assert_shows(m, "main       2/2     5.00 ms");
    assert_shows(m, "tiled      3/3     2.00 ms");
    model_free(m);
}

/* The numbers of a branch are of the step where it stands, which is not its last one after an undo.
 * The list, its hint, the message of Space and the comparison name that step. */
static void branches_name_the_step_of_their_numbers(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    measured(m, 7, true);
    press(m, "p");
    measured(m, 3, true);
    press(m, "u");
    type_line(m, "branch order");
    type_line(m, "loop reorder C K M N");
    press(m, "u B k Space =");                           /* one state on two branches */
    assert_shows(m, "A  main, step 0 of 1  (");
    assert_shows(m, "B  order, step 0 of 1  (");
    type_line(m, "mark off");
    press(m, "C-r B g");
    assert_shows(m, "main       0/1     7.00 ms");
    assert_shows(m, "order      1/1           -");
    assert_shows(m, "main stands at step 0 of 1: its numbers are of that step; Space marks it");
    press(m, "Space");
    assert_shows(m, "marked main, step 0 of 1 (last: main@1); = compares it with the");
    press(m, "=");
    assert_shows(m, "A  main, step 0 of 1  (");
    assert_shows(m, "B  order, step 1 of 1: loop reorder C K M N  (");
    press(m, "Tab");
    type_line(m, "mark 1");
    assert_shows(m, "marked order, step 1 of 1");
    model_free(m);
}

/* W says which steps made the loop under the cursor; the menu offers it. */
static void a_loop_tells_its_steps(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "W");
    assert_shows(m, "M of C: no step; it is a loop of the operator itself");
    press(m, "p");
    press(m, "Enter");
    assert_shows(m, "say which steps made this loop");
    press(m, "Esc W");
    assert_shows(m, "M of C: step 1 (loop parallel C M) set M to parallel");
    press(m, ": b l a m e Space C Space X Enter");
    assert_shows(m, "there is no such loop");
    model_free(m);
}

/* They are work that no file has: an autosave has them before the first key. */
static void steps_of_the_command_line_are_safe_at_once(void **state)
{
    (void)state;
    char file[300];
    const char *const argv[] = { "--no-auto", GMM, "--steps", file, NULL };
    static const char line[] = "loop parallel C M\n";
    struct autosave found[4];
    struct err e;
    snprintf(file, sizeof file, "%s/steps", temp_dir(NULL));
    assert_true(file_write_atomic(file, line, sizeof line - 1, &e));
    int before = session_autosaves(found, 4);
    struct tty *t = tty_start(&(struct tty_opts){ .w = 80, .h = 24, .argv = argv });
    tty_assert_shows(t, "parallel");
    tty_kill(t, 9);
    assert_int_equal(tty_end(t), -1);
    assert_int_equal(session_autosaves(found, 4), before + 1);
    struct session *s = NULL;
    assert_true(session_recover(&found[0], &s, &e));
    assert_string_equal(history_current(s->history)->step, "loop parallel C M");
    session_free(s);
}

/* A report stands behind the line that it answers, in as many rows as its words need there. */
static void reports_have_the_rows_that_they_need(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    for (int more = 0; more < 2; more++) {
        model_echo(m, "redo");
        model_info(m, "%*s", m->w - 2 - 5 - 2 + more, "x y");      /* behind ":redo  " */
        for (char *p = m->message.text.data; *p == ' '; p++)
            *p = 'w';
        screen_refresh(m);
        assert_int_equal(m->frame.message.h, 1 + more);
    }
    model_free(m);
}

/* The title cuts settings that do not fit, and gives them the room of the operator. */
static void the_title_cuts_what_does_not_fit(void **state)
{
    (void)state;
    struct model *m = model_on("gmm m=512 k=256 n=512");
    m->autorun = true;                                   /* no "auto off" */
    assert_true(model_run(m, "w gmm.yaml"));
    assert_shows(m, "tilescope  gmm m=512 k=256 n=512");
    type_line(m, "cache 16K/4/64");
    type_line(m, "isa sse");
    type_line(m, "compiler gcc");
    type_line(m, "threads 2");
    for (int w = 80; w <= 90; w++) {
        model_resize(m, w, 24);
        assert_shows(m, "gmm.yaml  isa sse, compiler gcc, threads 2, cache 16K/4/64");
        assert_shows(m, " tilescope  gmm m");
    }
    model_resize(m, 60, 24);
    assert_shows(m, " tilescope  gmm.yaml  isa sse, compiler gcc, threads 2, ca…");
    model_resize(m, 80, 24);
    m->progress[LANE_MEASURE] = (struct job_progress){ .kind = JOB_MEASURE, .running = true,
                                                       .what = "timing", .fraction = 0.4 };
    assert_shows(m, " tilescope  gmm.yaml  isa sse, comp");
    assert_shows(m, "… ");
    assert_shows(m, "measuring: timing 40 %");
    m->progress[LANE_MEASURE] = (struct job_progress){ .running = false };
    model_free(m);
}

/* Left and Right go to a tensor: its heading is the first row of the pane. */
static void a_tensor_begins_at_the_top_of_the_layouts(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "3 g");
    for (int i = 0; i < 2; i++) {
        const char *const keys[] = { "Right", "Left" };
        press(m, keys[i]);
        screen_refresh(m);
        const struct pane_doc *p = &m->pane[VIEW_LAYOUT];
        assert_true(p->doc.lines.data[p->scroll.cursor].heading);
        assert_int_equal(p->scroll.top, p->scroll.cursor);
        assert_true(i == 1 || p->scroll.cursor > p->height / 2);
    }
    model_free(m);
}

/* A held step has no effect, so nothing is predicted of it. */
static void held_steps_are_not_predicted(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    model_resize(m, 200, 30);
    type_line(m, "loop split C N 16 3");
    type_line(m, "loop unroll C N.1");
    type_line(m, "focus steps");
    press(m, "G");
    assert_shows(m, "predicted");
    type_line(m, "insert 2 loop split C N.1 3 1");
    type_line(m, "focus steps");
    press(m, "G k j");
    assert_shows(m, "kept for repair, without effect");
    assert_hides(m, "predicted");
    model_free(m);
}

static struct cache_config cache_of(const char *text)
{
    struct cache_config c;
    struct err e;
    if (!cache_config_parse(text, &c, &e))
        fail_msg("%s", e.text);
    return c;
}

static void simulated(struct model *m, const char *cache, double ms)
{
    measured(m, ms, true);
    struct measurement r = *history_current(m->session->history)->measured;
    r.sim.available = true;
    r.sim.cache = cache_of(cache);
    r.sim.l1_misses = 80900;
    history_set_measured(m->session->history, history_current(m->session->history)->id, &r);
}

/* A sampled simulation has L1 only: its misses are those of the same cache. */
static void one_l1_has_one_kind_of_misses(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    model_resize(m, 160, 30);
    simulated(m, "32K/8/64", 7);
    type_line(m, "loop unroll C N");
    simulated(m, "32K/8/64,1M/16/64", 3);
    type_line(m, "focus steps");
    press(m, "g");
    assert_shows(m, "80.9k");
    assert_hides(m, "*80.9k");
    assert_hides(m, "misses of cache");
    struct ledger_row row[2];
    assert_int_equal(history_ledger(m->session->history, row, 2), 2);
    assert_true(row[1].has_misses_change);
    simulated(m, "16K/4/64,1M/16/64", 3);
    m->data_stamp++;
    assert_shows(m, "*80.9k");
    assert_shows(m, "* misses of cache 32K/8/64");
    model_free(m);
    static const struct { const char *a, *b; bool same; } of[] = {
        { "32K/8/64", "32K/8/64,1M/16/64", true }, { "32K/8/64,2M/16/64", "32K/8/64", true },
        { "32K/8/64", "32K/8/64,1M/16/64/inclusive", false },
        { "32K/8/64", "16K/8/64,1M/16/64", false },
        { "32K/8/64,1M/16/64", "32K/8/64,2M/16/64", false },
        { "32K/8/64", "32K/8/64,1M/16/64,prefetch=next", false },
    };
    for (int i = 0; i < COUNT_OF(of); i++) {
        struct cache_config a = cache_of(of[i].a), b = cache_of(of[i].b);
        if (cache_config_same_l1(&a, &b) != of[i].same)
            fail_msg("%s and %s", of[i].a, of[i].b);
    }
}

/* kill -9 loses no line of the prompt, and two programs keep the lines of both. */
static void lines_of_the_prompt_survive_a_kill(void **state)
{
    (void)state;
    const char *const argv[] = { "--no-auto", GMM, NULL };
    const struct tty_opts on_gmm = { .w = 80, .h = 24, .argv = argv };
    struct tty *t[2] = { tty_start(&on_gmm), tty_start(&on_gmm) };
    tty_bytes(t[0], ":loop parallel C M\r");
    tty_assert_shows(t[0], "parallel(");
    tty_bytes(t[1], ":loop unroll C K\r");
    tty_assert_shows(t[1], "unroll(");
    for (int i = 0; i < 2; i++) {
        tty_kill(t[i], 9);
        assert_int_equal(tty_end(t[i]), -1);
    }
    t[0] = tty_start(&on_gmm);
    tty_press(t[0], "n : Up");
    tty_assert_shows(t[0], ":loop unroll C K");
    tty_press(t[0], "Up");
    tty_assert_shows(t[0], ":loop parallel C M");
    tty_send(t[0], "Esc : q! Enter");
    assert_int_equal(tty_end(t[0]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branches_show_the_time_where_they_stand),
        cmocka_unit_test(branches_name_the_step_of_their_numbers),
        cmocka_unit_test(a_loop_tells_its_steps),
        cmocka_unit_test(steps_of_the_command_line_are_safe_at_once),
        cmocka_unit_test(reports_have_the_rows_that_they_need),
        cmocka_unit_test(the_title_cuts_what_does_not_fit),
        cmocka_unit_test(a_tensor_begins_at_the_top_of_the_layouts),
        cmocka_unit_test(held_steps_are_not_predicted),
        cmocka_unit_test(one_l1_has_one_kind_of_misses),
        cmocka_unit_test(lines_of_the_prompt_survive_a_kill),
    };
    private_folders();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
