/* What the prompt says: refusals with their place and cure, undo and redo, completions with their
 * help, the table of commands, and where a loop comes from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "explorer/history/blame.h"
#include "explorer/history/rebase.h"
#include "kernels/program/step.h"
#include "tests/unit/history_help.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define CONV "c2d n=1 i=16 h=28 w=28 o=32 k=3 p=1"
#define GMM "gmm m=32 k=16 n=32"

static void measure(struct history *h)
{
    struct measurement m = { .outcome = OUTCOME_OK, .latency = { .min_ms = 1, .runs = 5 } };
    history_set_measured(h, history_current(h)->id, &m);
}

/* --- Refusals --------------------------------------------------------------------------------- */

/* fix: how the fix begins; "": there is none.  col, len: the marked word, from column 1. */
struct refused_line { const char *line, *text, *fix; int col, len; };

static void check_refused(struct history *h, const struct refused_line *row, int n)
{
    for (int i = 0; i < n; i++) {
        enum command_effect effect;
        struct err e;
        if (command_run(h, row[i].line, &effect, &e))
            fail_msg("`%s` is accepted", row[i].line);
        bool fix = row[i].fix[0] ? str_starts(e.fix, row[i].fix) : !e.fix[0];
        if (!streq(e.text, row[i].text) || !fix || e.at.col != row[i].col || e.at.len != row[i].len)
            fail_msg("`%s` says %s (%s) at %d, %d", row[i].line, e.text, e.fix, e.at.col, e.at.len);
        assert_string_equal(e.source, row[i].line);
    }
}

static void changes_are_refused_at_a_word(void **state)
{
    static const struct refused_line table[] = {
        { "move 1", "move needs N M|up|down", "move N M|up|down: move step N", 7, 1 },
        { "move", "move needs N M|up|down", "move N M|up|down: move step N", 5, 1 },
        { "edit 1", "edit needs N STEP", "edit N STEP: replace step N", 7, 1 },
        { "insert", "insert needs N STEP", "insert N STEP: apply STEP", 7, 1 },
        { "drop", "drop needs a step number", "drop N: remove step N", 5, 1 },
        { "move 1 2 3", "there is one word too many: \"3\"", "move N M|up|down", 10, 1 },
        { "move 1 up 1 99", "there is one word too many: \"99\"", "move N M|up|down", 13, 2 },
        { "drop 1 2", "there is one word too many: \"2\"", "drop N", 8, 1 },
        { "drop one", "\"one\" is not a number", "", 6, 3 },
        { "edit one loop unroll Conv I", "\"one\" is not a number", "", 6, 3 },
        { "move 1 two", "\"two\" is not a number", "", 8, 3 },
        { "move 1 down 100000", "step 1 cannot move down by 100000", "move 1 2", 8, 4 },
        { "move 2 down", "step 2 is the last one", "", 8, 4 },
        { "move 1 down 100001", "a step moves by 1 to 100000 places", "", 13, 6 },
        { "move 1 down 0", "a step moves by 1 to 100000 places", "", 13, 1 },
        { "move 2 up 2", "step 2 cannot move up by 2", "move 2 1", 8, 2 },
        { "move 1 up", "step 1 is the first one", "", 8, 2 },
        { "move 3 1", "branch main has no step 3", "use 1 to 2", 6, 1 },
        { "move 1 3", "branch main has no step 3", "use 1 to 2", 8, 1 },
        { "move 0 1", "step 0 is the operator as given: it cannot be changed", "use 1 to 2", 6, 1 },
        { "move -1 down", "branch main has no step -1", "use 1 to 2", 6, 2 },
        { "drop 3", "branch main has no step 3", "use 1 to 2", 6, 1 },
        { "insert 4 loop unroll Conv I", "branch main has no step 4", "use 1 to 3", 8, 1 },
        { "edit 3 loop unroll Conv I", "branch main has no step 3", "use 1 to 2", 6, 1 },
        { "edit 1 loop parallel Conv Q", "Conv has no loop Q", "its loops are N(1) O(32) ", 27, 1 },
        { "insert 2 loop unroll Conv QQQQ", "Conv has no loop QQQQ", "its loops are N(1)", 27, 4 },
    };
    static const struct refused_line undone[] = {
        { "move 2 1", "step 2 is undone, and the move would apply it",
          "redo the undone steps first, or apply another step, which drops them", 1, 4 },
        { "move 1 2", "step 1 is applied, and the move would undo it: the steps after it are "
          "undone", "redo the undone steps first", 1, 4 },
        { "redo 2", "only 1 step can be redone, not 2", "redo 1", 6, 1 },
        { "undo 2", "only 1 step can be undone, not 2", "undo 1", 6, 1 },
    };
    (void)state;
    struct history *h = history_after(CONV, "loop parallel Conv H; loop unroll Conv KW");
    check_refused(h, table, COUNT_OF(table));
    history_run(h, "undo");
    check_refused(h, undone, COUNT_OF(undone));
    history_free(h);
}

static void picks_are_refused_at_a_word(void **state)
{
    static const struct refused_line table[] = {
        { "pick", "pick needs the name of a branch", "pick B N: apply step N", 5, 1 },
        { "pick side", "pick needs the number of a step of branch side", "", 10, 1 },
        { "pick side 1 22", "there is one word too many: \"22\"", "", 13, 2 },
        { "pick sid 1", "there is no branch \"sid\"", "did you mean \"side\"?", 6, 3 },
        { "pick side x", "\"x\" is not a number", "", 11, 1 },
        { "pick side 3", "branch side has no step 3 to apply", "use 1 to 2", 11, 1 },
        { "pick side 0", "branch side has no step 0 to apply", "use 1 to 2", 11, 1 },
        { "pick bare 1", "branch bare has no step 1 to apply", "it has no steps", 11, 1 },
        { "pick side 2", "`loop split Conv O 4` does not apply here: Conv has no loop O: it is "
          "divided already, into O.0 (4), O.1 (8)", "edit 2 loop split Conv O 4", 11, 1 },
    };
    (void)state;
    struct history *h = history_after(CONV, "branch bare; branch side; loop unroll Conv KH;"
        "loop split Conv O 4; switch main; loop parallel Conv N; loop split Conv O 8");
    check_refused(h, table, COUNT_OF(table));
    history_run(h, "pick side 1");
    assert_string_equal(history_current(h)->step, "loop unroll Conv KH");
    assert_int_equal(history_position(h), 3);
    history_free(h);
}

static void nothing_is_left_to_do(void **state)
{
    static const struct refused_line fresh[] = {
        { "undo", "there is nothing to undo: no step is applied", "apply a step first, see help", 1,
          4 },
        { "undo 1", "there is nothing to undo: no step is applied", "apply a step first, see help",
          6, 1 },
        { "redo", "there is nothing to redo: this is the last step of branch main",
          "undone steps that were measured are on a branch NAME~1 after a new step", 1, 4 },
        { "redo 0", "cannot redo 0 steps: the number must be 1 or more", "redo 1", 6, 1 },
        { "drop 1", "branch main has no step 1", "apply a step first", 6, 1 },
    };
    static const struct refused_line back[] = {
        { "undo", "there is nothing to undo: no step is applied", "redo goes forward again", 1, 4 },
    };
    (void)state;
    struct history *h = history_after(CONV, "");
    check_refused(h, fresh, COUNT_OF(fresh));
    history_run(h, "loop parallel Conv H; undo");
    check_refused(h, back, COUNT_OF(back));
    history_free(h);
}

/* --- Undo and redo ---------------------------------------------------------------------------- */

/* What is said after each line, and the past step that it is about: 0 if it is about none. */
static void undo_says_which_step(void **state)
{
    static const struct { const char *line, *said; int at; } table[] = {
        { "drop 2", NULL, 0 }, { "undo", "undid: drop 2", 2 }, { "redo", "redid: drop 2", 2 },
        { "undo", "undid: drop 2", 2 }, { "goto 3", "", 0 },
        { "move 1 3", NULL, 0 }, { "undo", "undid: move 1 3", 1 },
        { "redo", "redid: move 1 3", 3 },
        { "insert 2 loop unroll Conv I", NULL, 0 },
        { "undo", "undid: insert 2 loop unroll Conv I", 2 },
        { "redo", "redid: insert 2 loop unroll Conv I", 2 },
        { "undo 2", "undid 2 changes; this is step 3", 0 },
        { "undo", "undid step 3: loop unroll Conv KH", 0 },
        { "undo 2", "undid 2 steps; this is step 0", 0 }, { "redo 3", NULL, 0 },
        { "drop 1", NULL, 0 }, { "loop unroll Conv I", NULL, 0 },
        { "loop parallel Conv O", NULL, 0 },
        { "undo 3", "undid 1 change and 2 steps; this is step 3", 0 },
        { "redo 3", "redid 1 change and 2 steps; this is step 4", 0 },
        { "goto 2", "left step 4; `goto 4` goes back there", 0 },
        { "branch x", "branch x starts at step 2; main is at its step 4 again", 0 },
        { "branch y", "", 0 }, { "goto 1", "left step 2; `goto 2` goes back there", 0 },
    };
    (void)state;
    struct history *h = history_after(CONV, "loop parallel Conv H; loop unroll Conv KW;"
                                            "loop unroll Conv KH");
    assert_int_equal(history_said_at(h), 0);
    for (int i = 0; i < COUNT_OF(table); i++) {
        history_run(h, table[i].line);
        if (table[i].said && (!streq(history_said(h), table[i].said)
                              || history_said_at(h) != table[i].at))
            fail_msg("%s says %s (%d)", table[i].line, history_said(h), history_said_at(h));
    }
    history_free(h);
}

/* The branch that keeps measured steps goes with the undo of the change, unless it went on. */
static void kept_branches_come_and_go(void **state)
{
    (void)state;
    struct history *h = history_after(CONV, "loop parallel Conv H; loop unroll Conv KW");
    measure(h);
    history_run(h, "drop 1");
    assert_int_equal(history_n_branches(h), 2);
    history_run(h, "undo");
    assert_int_equal(history_n_branches(h), 1);
    assert_string_equal(history_said(h), "undid: drop 1");
    history_run(h, "redo");
    assert_int_equal(history_n_branches(h), 2);
    assert_string_equal(history_said(h), "redid: drop 1; the measured steps from before are "
                                         "branch main~1 again");
    history_run(h, "switch main~1; loop unroll Conv KH; switch main; undo");
    assert_int_equal(history_n_branches(h), 2);
    history_run(h, "redo");
    assert_int_equal(history_n_branches(h), 3);
    assert_string_equal(history_said(h), "redid: drop 1; the measured steps from before are "
                                         "branch main~2 again");
    history_free(h);
}

/* An undo on another branch does not take back the change. */
static void changes_belong_to_a_branch(void **state)
{
    (void)state;
    struct history *h = history_after(CONV, "loop parallel Conv H; loop unroll Conv KW; drop 1;"
                                            "branch x; undo");
    assert_string_equal(history_said(h), "undid step 1: loop unroll Conv KW");
    assert_int_equal(history_position(h), 0);
    history_run(h, "switch main; undo");
    assert_string_equal(history_said(h), "undid: drop 1");
    assert_int_equal(history_position(h), 2);
    history_free(h);
}

/* --- Tables ----------------------------------------------------------------------------------- */

static void first_words_are_known(void **state)
{
    static const struct { const char *line; bool rebases; } table[] = {
        { "edit 1 loop unroll C K", true }, { "drop", true }, { " \tmove 1 2", true },
        { "insert\t1", true }, { "edits 1", false }, { "edi 1", false }, { "branch x", false },
        { "goto 1", false }, { "pick x 1", false }, { "", false }, { "Drop 1", false },
    };
    static const char *const meant[][2] = {
        { "laoyut", "layout" }, { "lop", "loop" }, { "undoo", "undo" }, { "brnach", "branch" },
        { "mesure", "measure" }, { "algoritm", "algorithm" }, { "xyzzyq", NULL },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++)
        if (command_rebases(table[i].line) != table[i].rebases)
            fail_msg("%s", table[i].line);
    for (int i = 0; i < COUNT_OF(meant); i++) {
        const char *got = command_meant(meant[i][0]);
        if (!meant[i][1] ? got != NULL : !got || !streq(got, meant[i][1]))
            fail_msg("%s means %s", meant[i][0], got ? got : "nothing");
    }
}

static void rows_have_name_and_syntax(void **state)
{
    static const struct { int row; const char *text, *help; } table[] = {
        { STEP_LOOP_UNROLL, "loop unroll T D", "unroll loop D completely" },
        { STEP_SET, "set KEY VALUE", "change a setting: propagate on|off, " },
        { STEP_KIND_COUNT, "undo [N]", "go back N steps (default 1); " },
        { STEP_KIND_COUNT + 1, "redo [N]", "redo N undone steps (default 1)" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct command_row row = command_row(table[i].row);
        struct str out = {0};
        command_row_print(&out, &row);
        assert_string_equal(str_text(&out), table[i].text);
        assert_true(str_starts(row.help, table[i].help));
        str_free(&out);
    }
    struct command_row last = command_row(command_rows() - 1);
    struct str out = {0};
    command_row_print(&out, &last);
    assert_string_equal(str_text(&out), "measure");
    str_free(&out);
}

/* --- Completion ------------------------------------------------------------------------------- */

/* want: the words with their help, '|' between them. */
static void completions_have_help(void **state)
{
    static const struct { const char *line, *want; } table[] = {
        { "lay", "layout: change how a tensor is stored" },
        { "loo", "loop: change the loops of a stage" },
        { "swit", "switch: switch to branch B, at its current step" },
        { "layout split Ker", "Ker: O=32 I=16 KH=3 KW=3" },
        { "loop split Con", "Conv: N(1) O(32) H(28) W(28) I(16) KH(3) KW(3)" },
        { "loop vec", "vectorize: T D: run loop D (at most 256) in vector lanes" },
        { "loop unroll Conv ", "N: 1|O: 32|H: 28|W: 28|I: 16, a reduction|KH: 3, a reduction|"
          "KW: 3, a reduction" },
        { "loop cache_write Conv at=K", "at=KH: 3, a reduction|at=KW: 3, a reduction" },
        { "loop split Conv H ", "2: 28 = 14 x 2|4: 28 = 7 x 4|7: 28 = 4 x 7|14: 28 = 2 x 14" },
        { "loop split Conv H 2 ", "2: 14 = 7 x 2|7: 14 = 2 x 7|14: 14 = 1 x 14" },
        { "loop split Conv I ", "2: 16 = 8 x 2|4: 16 = 4 x 4|8: 16 = 2 x 8" },
        { "loop pipeline Conv O st", "stages=: stages=N" },
        { "set pro", "propagate: on|off" }, { "set propagate of", "off: propagate" },
        { "layout set Conv ", "\"N O H W\": the current layout" },
        { "move 1 ", "up: one place earlier|down: one place later" }, { "move 1 up ", "" },
        { "goto ", "0: the bare operator|1: loop parallel Conv N" },
        { "drop ", "1: loop parallel Conv N" },
        { "switch ", "one: 1 step|two: 2 steps" }, { "pick ", "one: 1 step|two: 2 steps" },
        { "pick two ", "1: loop unroll Conv KH|2: loop unroll Conv KW" }, { "pick three ", "" },
        { "pick two 1 ", "" }, { "undo 1 ", "" },
        { "insert 2 loop unroll Conv K", "KH: 3, a reduction|KW: 3, a reduction" },
        { "insert 3 loop unroll Conv K", "" }, { "edit 0 loop unroll Conv K", "" },
    };
    static const struct { const char *line, *words; } names[] = {
        { "loop bind Conv N ", "block.x block.y block.z thread.x thread.y thread.z" },
        { "loop bind Conv N thread.z ", "" },
        { "layout unfold Inp H ", "tile= stride= size=" },
        { "layout unfold Inp H tile=4 ", "stride= size=" },
        { "layout unfold Inp H tile=4 s", "stride= size=" },
        { "layout fuse Conv N ", "O H W" }, { "layout fuse Conv N H w ", "O" },
        { "algorithm Conv winograd m=2 ", "" }, { "algorithm conv w", "winograd" },
        { "edit 1 set mul", "multiply" }, { "edit 1 loop pi", "pipeline" }, { "edit 1 ", "layout "
          "loop algorithm set" }, { "insert 1 l", "layout loop" },
    };
    (void)state;
    struct history *h = history_after(CONV, "branch one; loop unroll Conv KH; branch two;"
        "loop unroll Conv KW; switch main; loop parallel Conv N");
    for (int i = 0; i < COUNT_OF(table) + COUNT_OF(names); i++) {
        int k = i - COUNT_OF(table);
        const char *line = k < 0 ? table[i].line : names[k].line;
        struct arena *a = arena_new();
        struct completions c;
        struct str got = {0};
        command_complete(a, h, line, NULL, &c);
        for (int w = 0; w < c.n; w++)
            str_printf(&got, k < 0 ? "%s%s: %s" : "%s%s", w ? k < 0 ? "|" : " " : "",
                       c.item[w].word, c.item[w].help);
        if (!streq(str_text(&got), k < 0 ? table[i].want : names[k].words))
            fail_msg("\"%s\" gives %s", line, str_text(&got));
        str_free(&got);
        arena_free(a);
    }
    history_free(h);
}

/* --- Blame ------------------------------------------------------------------------------------ */

static void loops_come_from_steps(void **state)
{
    static const struct { const char *lines, *loop, *want; } table[] = {
        { "", "N", "no step; it is a loop of the operator itself" },
        { "loop unroll C K", "M", "no step; it is a loop of the operator itself" },
        { "loop unroll C K; loop serial C K", "K", "step 1 (loop unroll C K) set K to unroll; "
          "step 2 (loop serial C K) set K to serial" },
        { "loop fuse C M N; loop split C M_N 8", "M_N.1", "step 1 (loop fuse C M N) made M_N; "
          "step 2 (loop split C M_N 8) made M_N.1" },
        { "loop split C K 4; loop fuse C M N; loop parallel C M_N", "M_N",
          "step 2 (loop fuse C M N) made M_N; step 3 (loop parallel C M_N) set M_N to parallel" },
        { "loop cache_write C at=M", "M", "step 1 (loop cache_write C at=M) uses M" },
        { "loop cache_write C at=M", "N", "no step; it is a loop of the operator itself" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct history *h = history_after(GMM, table[i].lines);
        struct str out = {0};
        blame_loop(&out, h, "C", table[i].loop);
        if (!str_starts(str_text(&out), table[i].loop) || !str_ends(str_text(&out), table[i].want)
            || out.len != strlen(table[i].loop) + strlen(" of C: ") + strlen(table[i].want))
            fail_msg("%s: %s", table[i].lines, str_text(&out));
        str_free(&out);
        history_free(h);
    }
    struct history *h = history_after(GMM, "loop unroll C K");
    struct str out = {0};
    blame_print(&out, h);
    assert_string_equal(str_text(&out), "M of C: no step; it is a loop of the operator itself\n"
                                        "N of C: no step; it is a loop of the operator itself\n"
                                        "K of C: step 1 (loop unroll C K) set K to unroll\n");
    str_free(&out);
    history_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_refused_at_a_word),
        cmocka_unit_test(picks_are_refused_at_a_word), cmocka_unit_test(nothing_is_left_to_do),
        cmocka_unit_test(undo_says_which_step), cmocka_unit_test(kept_branches_come_and_go),
        cmocka_unit_test(changes_belong_to_a_branch), cmocka_unit_test(first_words_are_known),
        cmocka_unit_test(rows_have_name_and_syntax), cmocka_unit_test(completions_have_help),
        cmocka_unit_test(loops_come_from_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
