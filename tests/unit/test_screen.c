/* The list of branches with what was measured on them, and steps that the screen is opened with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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
    assert_shows(m, "main                         0/0           -");
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
    assert_shows(m, "main                         2/2     5.00 ms");
    assert_shows(m, "tiled                        3/3           -");
    press(m, "Esc");
    measured(m, 2, true);
    press(m, "B");
    assert_shows(m, "main                         2/2     5.00 ms");
    assert_shows(m, "tiled                        3/3     2.00 ms");
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
    assert_shows(m, "main                         0/1     7.00 ms");
    assert_shows(m, "order                        1/1           -");
    assert_shows(m, "main stands at step 0 of 1: its numbers are of that step; Space marks it");
    press(m, "Space");
    assert_shows(m, "marked main, step 0 of 1; = compares it with the current step");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branches_show_the_time_where_they_stand),
        cmocka_unit_test(branches_name_the_step_of_their_numbers),
        cmocka_unit_test(a_loop_tells_its_steps),
        cmocka_unit_test(steps_of_the_command_line_are_safe_at_once),
        cmocka_unit_test(reports_have_the_rows_that_they_need),
    };
    private_folders();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
