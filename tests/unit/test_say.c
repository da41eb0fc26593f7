/* What the commands of the screen answer: refusals with their fixes, reports, and what a command
 * changes in the model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app/model/appcmd.h"
#include "app/views/view.h"
#include "tests/unit/model_help.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define GMM "gmm m=64 k=32 n=48"

/* A line and its answer. */
struct screen_answer { const char *line, *text, *fix; };

static void refuses(struct model *m, const struct screen_answer *row, int n)
{
    for (int i = 0; i < n; i++) {
        if (model_run(m, row[i].line))
            fail_msg("accepted: %s", row[i].line);
        assert_int_equal(m->message.kind, MESSAGE_ERROR);
        if (!streq(str_text(&m->message.text), row[i].text)
            || !streq(str_text(&m->message.fix), row[i].fix))
            fail_msg("%s: %s; %s", row[i].line, str_text(&m->message.text),
                     str_text(&m->message.fix));
    }
}

#define WIDER "wider takes a number of columns, -1000 to 1000"
#define EXPERT "an expert schedule has a number, 1 is the best"
#define THREADS "the number of threads is 1 to 1024"
#define BUDGET "the budget is the number of accesses above which a sample is simulated, 1 to 1e15"
#define NO_FILE "a file name is missing"
#define FILES "the screen reads and writes files only; the commands `tilescope show` and " \
              "`tilescope run` take pipes"

static void test_refusals(void **state)
{
    (void)state;
    static const struct screen_answer row[] = {
        { "wider x", WIDER, "wider 10" }, { "wider 1001", WIDER, "wider 10" },
        { "wider -1001", WIDER, "wider 10" }, { "auto maybe", "auto is on or off", "" },
        { "focus nowhere", "there is no such pane", "next, prev, steps or view" },
        { "view l", "there is no such view", "nest, access, layout, C, asm, profile, graph, "
          "roofline, tune, compare, lens or sass" },
        { "view ", "there is no such view", "nest, access, layout, C, asm, profile, graph, "
          "roofline, tune, compare, lens or sass" },
        { "view nowhere", "there is no such view", "nest, access, layout, C, asm, profile, graph, "
          "roofline, tune, compare, lens or sass" },
        { "blame C Q", "blame: there is no such loop", "blame STAGE LOOP" },
        { "blame X M", "blame: there is no such loop", "blame STAGE LOOP" },
        { "blame C", "blame: no loop is named",
          "blame STAGE LOOP, or a cursor on a line of a loop" },
        { "tour dance", "tour takes do or end", "tour do" },
        { "tour do", "there is no step of the tour to do", "tour" },
        { "expert 0", EXPERT, "expert 2" }, { "expert 65", EXPERT, "expert 2" },
        { "expert target=cuda", EXPERT, "isa cuda, then expert" },
        { "columns best best", "the column best is there twice", "" },
        { "threads 0", THREADS, "threads 4" }, { "threads 1025", THREADS, "threads 4" },
        { "sim_budget 0.5", BUDGET, "sim_budget 5e9" },
        { "sim_budget 2e15", BUDGET, "sim_budget 5e9" },
        { "sim_budget x", BUDGET, "sim_budget 5e9" },
        { "theme pink", "there is no such theme", "theme dark, light, mono or auto" },
        { "title \xff", "that title is no text in UTF-8", "" },
        { "e", NO_FILE, "e session.yaml" }, { "export", NO_FILE, "export kernel.c" },
        { "dump", NO_FILE, "dump screen.txt" }, { "snapshot", NO_FILE, "dump screen.txt" },
        { "source", NO_FILE, "source macro.txt" },
        { "export -", "- is not a file", FILES }, { "dump /dev/null", "/dev/null is not a file",
                                                    FILES },
        { "module cut x", "a kernel cannot be cut or joined here: the list of a network's kernels "
          "does that", "network shows the list of a graph without steps" },
        { "network x", "network takes off, or nothing", "network" },
        { "network off", "no network is open", "network" },
        { "tune_all", "no network is open", "e model.onnx" },
    };
    struct model *m = model_on(GMM);
    refuses(m, row, COUNT_OF(row));
    assert_true(m->threads == 1 && m->set.sim_budget == 0 && m->columns.n == 0 && m->wider == 0);
    assert_int_equal(m->tour, 0);
    assert_false(m->session->dirty || m->out.theme_chosen || m->autorun);
    assert_int_equal(m->out.dump.len, 0);
    assert_int_equal(m->view[m->focus], VIEW_NEST);
    assert_false(model_run(m, "map F5 undo"));
    assert_string_equal(str_text(&m->message.text), "no command records lines or binds keys");
    assert_true(str_starts(str_text(&m->message.fix), "source FILE runs the lines of a file, and "
                           "steps are such lines; for a key, write  keys: {F5: source FILE}  in "));
    assert_true(str_ends(str_text(&m->message.fix), "/settings.yaml (:help settings), which is "
                         "read when the program starts"));
    model_free(m);
}

static void test_refused_comparisons(void **state)
{
    (void)state;
    static const struct screen_answer row[] = {
        { "compare main", "this is the current branch", "compare takes another one" },
        { "compare nobody", "there is nothing of that name to compare",
          "a step (3), a branch, a step of one (main@3), or nest, c, asm or ablation" },
        { "compare next", "no state is marked to compare with",
          "Space on a step marks it; in B, on a branch" },
        { "bisect", "bisect takes two steps, and these are the same",
          "go to another step of this branch, or bisect 2 7" },
        { "bisect 0", "bisect takes two steps, and these are the same",
          "go to another step of this branch, or bisect 2 7" },
        { "bisect 1", "this branch has no step 1", "it has no steps yet" },
        { "mark 1", "this branch has no step 1", "it has no steps yet" },
        { "ablate", "there is no step to leave out", "apply steps first" },
        { "lens dance", "lens knows no such word",
          "next, prev, forward, back, conflict, loop, from 0 or apply" },
        { "lens next 0", "the number must be from 1 to 65,536", "lens next 100" },
        { "lens next 65537", "the number must be from 1 to 65,536", "lens next 100" },
        { "lens next", "the cache is not simulated yet", "" },
        { "lens from x", "lens from takes the number of an iteration, or middle", "lens from 0" },
        { "lens from -1", "lens from takes the number of an iteration, or middle",
          "lens from 0" },
    };
    struct model *m = model_on(GMM);
    refuses(m, row, COUNT_OF(row));
    assert_false(m->marking.wanted);
    assert_int_equal(m->marking.state, -1);
    assert_true(model_run(m, "lens from 7"));
    assert_int_equal(m->lensing.from, 7);
    assert_true(model_run(m, "lens from middle"));
    assert_int_equal(m->lensing.from, -1);
    model_free(m);
}

static void test_refusals_without_an_operator(void **state)
{
    (void)state;
    static const struct screen_answer row[] = {
        { "module cut x", "a kernel cannot be cut or joined here: the list of a network's kernels "
          "does that", "e model.onnx" },
        { "network", "no graph is open yet", "e model.onnx" },
        { "tour", "no operator is open yet", "pick one from the list, or type: new c2d n=1 i=64 "
          "h=56 w=56 o=64 k=3 p=1" },
        { "undo", "no operator is open yet", "pick one from the list, or type: new c2d n=1 i=64 "
          "h=56 w=56 o=64 k=3 p=1" },
    };
    struct model *m = model_on(NULL);
    refuses(m, row, COUNT_OF(row));
    assert_true(model_run(m, "zoom"));                   /* there are no panes to zoom */
    assert_false(m->zoom);
    assert_int_equal(m->tour, 0);
    model_free(m);
}

static void test_longest_names(void **state)
{
    (void)state;
    char line[300] = "title ";
    struct model *m = model_on(GMM);
    memset(line + 6, 'x', 256);
    assert_false(model_run(m, line));
    assert_string_equal(str_text(&m->message.text), "that title is too long");
    assert_string_equal(str_text(&m->message.fix), "255 characters at most");
    assert_false(m->session->dirty);
    line[6 + 255] = 0;
    assert_true(model_run(m, line));
    assert_string_equal(m->session->title, line + 6);
    assert_true(m->session->dirty);
    memset(line, 0, sizeof line);
    memcpy(line, "compiler ", 9);
    memset(line + 9, 'x', sizeof m->set.compiler);
    assert_false(model_run(m, line));
    assert_string_equal(str_text(&m->message.text), "that name of a compiler is too long");
    assert_string_equal(m->set.compiler, "");
    session_autosave_drop(m->session);
    model_free(m);
}

/* Runs a line that is accepted; returns its report. */
static const char *report(struct model *m, const char *line)
{
    if (!model_run(m, line))
        fail_msg("%s: %s", line, str_text(&m->message.text));
    screen_refresh(m);
    return str_text(&m->message.text);
}

static void test_switches(void **state)
{
    (void)state;
    static const char on[] = "every step is measured from now on";
    static const char off[] = "nothing is measured from now on until m is pressed";
    struct model *m = model_on(GMM);
    assert_string_equal(report(m, "auto on"), on);
    assert_true(m->autorun && m->measure_wanted);
    assert_string_equal(report(m, "auto off"), off);
    assert_false(m->autorun || m->measure_wanted);
    assert_string_equal(report(m, "auto"), on);
    assert_string_equal(report(m, "auto"), off);
    struct measurement r = { .outcome = OUTCOME_OK, .verified = true };
    history_set_measured(m->session->history, 0, &r);
    report(m, "auto on");                                /* but this state has its numbers */
    assert_true(m->autorun && !m->measure_wanted);
    assert_string_equal(report(m, "measure_all"), "every step has its numbers already; m measures "
                        "the current one again");
    assert_false(m->measure_all);
    assert_string_equal(report(m, "theme mono"), "`theme: mono` in settings.yaml keeps it");
    assert_true(m->out.theme_chosen && m->out.theme == THEME_MONO);
    report(m, "redraw");
    report(m, "suspend");
    assert_true(m->out.repaint && m->out.suspend && !m->out.quit);
    report(m, "zoom");
    assert_true(m->zoom);
    report(m, "zoom");
    assert_false(m->zoom);
    report(m, "tour");
    assert_int_equal(m->tour, 2);         /* its first step, measuring, is done */
    report(m, "tour end");
    assert_int_equal(m->tour, 0);
    model_free(m);
}

/* Widths add up, within the width of the screen; a wide screen has a split of its own. */
static void test_widths_add_up(void **state)
{
    (void)state;
    static const struct { int w; enum pane focus; const char *line; int wider, split; } row[] = {
        { 80, PANE_LEDGER, "wider", 4, 0 }, { 80, PANE_LEDGER, "wider 10", 14, 0 },
        { 80, PANE_MAIN, "wider", 10, 0 }, { 80, PANE_MAIN, "wider -1000", 80, 0 },
        { 80, PANE_LEDGER, "wider -1000", -80, 0 }, { 159, PANE_MAIN, "wider -81", 1, 0 },
        { 160, PANE_MAIN, "wider 3", 1, 3 }, { 160, PANE_SIDE, "wider 5", 1, -2 },
        { 160, PANE_LEDGER, "wider -1", 0, -2 },
    };
    struct model *m = model_on(GMM);
    for (int i = 0; i < COUNT_OF(row); i++) {
        model_resize(m, row[i].w, 30);
        m->focus = row[i].focus;
        report(m, row[i].line);
        if (m->wider != row[i].wider || m->split != row[i].split)
            fail_msg("row %d: %d, %d", i, m->wider, m->split);
    }
    model_free(m);
}

static void test_focus_and_views(void **state)
{
    (void)state;
    static const struct { int w; const char *line; enum pane focus, last; } row[] = {
        { 160, "focus next", PANE_SIDE, PANE_SIDE }, { 160, "focus next", PANE_LEDGER, PANE_SIDE },
        { 160, "focus next", PANE_MAIN, PANE_MAIN }, { 160, "focus prev", PANE_LEDGER, PANE_MAIN },
        { 160, "focus prev", PANE_SIDE, PANE_SIDE }, { 159, "focus next", PANE_LEDGER, PANE_SIDE },
        { 159, "focus next", PANE_SIDE, PANE_SIDE }, { 80, "focus prev", PANE_LEDGER, PANE_SIDE },
        { 80, "focus view", PANE_SIDE, PANE_SIDE }, { 80, "focus steps", PANE_LEDGER, PANE_SIDE },
    };
    static const struct { const char *line; enum view view; } shown[] = {
        { "view next", VIEW_ACCESS }, { "view prev", VIEW_NEST }, { "view prev", VIEW_TUNE },
        { "view next", VIEW_NEST }, { "view PROFILE", VIEW_PROFILE }, { "view Comp", VIEW_COMPARE },
        { "view nest", VIEW_NEST }, { "view prof", VIEW_PROFILE }, { "view c", VIEW_C },
    };
    struct model *m = model_on(GMM);
    for (int i = 0; i < COUNT_OF(shown); i++) {
        report(m, shown[i].line);
        assert_int_equal(m->view[m->focus], shown[i].view);
    }
    report(m, "view nest");
    for (int i = 0; i < COUNT_OF(row); i++) {
        model_resize(m, row[i].w, 30);
        report(m, row[i].line);
        if (m->focus != row[i].focus || m->last_view != row[i].last)
            fail_msg("row %d: %d, %d", i, (int)m->focus, (int)m->last_view);
    }
    model_free(m);
}

static void test_marks(void **state)
{
    (void)state;
    static const char of_a_step[] = "marked main, step 0 of 1; = compares it with the current "
                                    "step, :bisect finds the step in between that matters most";
    struct model *m = model_on(GMM);
    type_line(m, "loop parallel C M");
    assert_string_equal(report(m, "mark 0"), of_a_step);
    assert_int_equal(m->marking.state, 0);
    assert_null(m->marking.branch);
    assert_string_equal(report(m, "mark 0"), "nothing is marked");
    assert_int_equal(m->marking.state, -1);
    assert_string_equal(report(m, "mark main@0"), of_a_step);
    assert_string_equal(m->marking.branch, "main");
    assert_string_equal(report(m, "mark off"), "nothing is marked");
    assert_string_equal(report(m, "bisect 1 0"), "bisecting the steps between them; Esc cancels");
    assert_true(m->marking.wanted && m->marking.job == JOB_BISECT);
    assert_true(m->marking.from == 0 && m->marking.to == 1);       /* the older one first */
    press(m, "Esc");
    assert_string_equal(str_text(&m->message.text), "cancelled; nothing was compared");
    assert_false(m->marking.wanted);
    session_autosave_drop(m->session);
    model_free(m);
}

/* A count begins with 0, and stops at 100000; Esc drops it. */
static void test_counts(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "0 5");
    assert_string_equal(str_text(&m->message.text),
                        "count 5: the next key takes it, Esc drops it");
    assert_true(m->counting && m->count == 5);
    press(m, "9 9 9 9");
    assert_int_equal(m->count, 59999);
    press(m, "9");
    assert_int_equal(m->count, 100000);
    press(m, "Esc");
    assert_true(!m->counting && m->count == 0);
    press(m, "0 2 j");
    assert_true(!m->counting && m->count == 0);
    model_free(m);
}

/* Other words for commands, and what is suggested for a line that begins with none. */
static void test_words_of_commands(void **state)
{
    (void)state;
    static const struct { const char *line, *says; } near[] = {
        { "zzzzzzzz x", "? lists them all, Tab completes" }, { "  udno", "did you mean undo?" },
        { "load a.yaml", "did you mean e FILE? (open a session, an ONNX model, or an operator: "
          "e gmm m=8 k=8 n=8)" },
    };
    static const struct { const char *line; int id; } find[] = {
        { "quit", APP_QUIT }, { "exit", APP_QUIT }, { "close", APP_QUIT }, { "save", APP_WRITE },
        { "write", APP_WRITE }, { "read", APP_OPEN }, { "w", APP_WRITE }, { "wq", APP_WRITE_QUIT },
        { "run", -1 }, { "tile", -1 }, { "sav", -1 }, { "saves", -1 }, { "undo", -1 },
    };
    static const struct { const char *line; bool known; } known[] = {
        { "loop", true }, { "loop split C", true }, { "loops", false }, { "loo", false },
        { "", false }, { "e x", true }, { "redraw", true }, { "split", false },
    };
    struct str out = {0};
    for (int i = 0; i < COUNT_OF(near); i++, str_clear(&out)) {
        appcmd_nearest(near[i].line, &out);
        assert_string_equal(str_text(&out), near[i].says);
    }
    for (int i = 0; i < COUNT_OF(find); i++)
        if (appcmd_find(find[i].line, strlen(find[i].line)) != find[i].id)
            fail_msg("%s", find[i].line);
    assert_int_equal(appcmd_find("open a.yaml", 4), APP_OPEN);
    for (int i = 0; i < COUNT_OF(known); i++)
        if (appcmd_known(known[i].line) != known[i].known)
            fail_msg("%s", known[i].line);
    assert_string_equal(appcmd_synonyms("undo"), "");
    assert_int_equal(appcmd_by_synonym("undo"), -1);
    appcmd_hint("  focus st", &out);
    assert_string_equal(str_text(&out), "focus next|prev|steps|view: move to a pane");
    str_clear(&out);
    appcmd_hint("focu", &out);
    assert_string_equal(str_text(&out), "");
    str_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_refused_comparisons),
        cmocka_unit_test(test_refusals_without_an_operator),
        cmocka_unit_test(test_longest_names),
        cmocka_unit_test(test_switches),
        cmocka_unit_test(test_widths_add_up),
        cmocka_unit_test(test_focus_and_views),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_words_of_commands),
    };
    private_folders();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
