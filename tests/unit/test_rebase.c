/* Changing the past of a branch: a table of changes, and random ones against a plain replay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "explorer/history/command.h"
#include "explorer/history/rebase.h"
#include "sessions/file/session.h"
#include "tests/unit/random_steps.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define CONV "c2d n=1 i=16 h=28 w=28 o=32 k=3 p=1"

static uint64_t seed = 1;

static struct history *must_open(const char *spec)
{
    struct history *h = NULL;
    struct err e;
    if (!history_new(spec, &h, &e))
        fail_msg("%s: %s", spec, e.text);
    return h;
}

static bool run(struct history *h, const char *line, struct err *e)
{
    enum command_effect effect;
    return command_run(h, line, &effect, e);
}

static void must_run(struct history *h, const char *line)
{
    struct err e;
    if (!run(h, line, &e))
        fail_msg("%s: %s", line, e.text);
}

static void measure(struct history *h)
{
    struct measurement m = { .outcome = OUTCOME_OK, .latency = { .min_ms = 1, .runs = 5 } };
    history_set_measured(h, history_current(h)->id, &m);
}

/* The steps of the current branch, ';' between them: "!" before a held one, "[" before undone
 * ones. */
static const char *shown(const struct history *h, struct str *out)
{
    int n, at;
    const int *path = history_path(h, history_branch_index(h), &n, &at);
    str_clear(out);
    for (int i = 1; i < n; i++)
        str_printf(out, "%s%s%s%s", i > 1 ? "; " : "", i == at + 1 ? "[" : "",
                   history_state(h, path[i])->held ? "!" : "", history_state(h, path[i])->step);
    return str_text(out);
}

/* lines: the steps before; change: the command. want: the steps after it, or the error. */
struct change { const char *lines[6], *change, *want; };

static void check_change(const struct change *c)
{
    struct history *h = must_open(CONV);
    struct str before = {0}, after = {0};
    struct err e;
    for (int i = 0; i < COUNT_OF(c->lines) && c->lines[i]; i++)
        must_run(h, c->lines[i]);
    shown(h, &before);
    bool ok = run(h, c->change, &e);
    if (!streq(ok ? shown(h, &after) : e.text, c->want))
        fail_msg("%s\n  gives %s\n  not   %s", c->change, ok ? str_text(&after) : e.text, c->want);
    if (!ok)
        assert_string_equal(shown(h, &after), str_text(&before));
    if (ok) {
        must_run(h, "undo");
        assert_string_equal(shown(h, &after), str_text(&before));
        must_run(h, "redo");
        assert_string_equal(shown(h, &after), c->want);
    }
    str_free(&before);
    str_free(&after);
    history_free(h);
}

static void test_changes(void **state)
{
    (void)state;
    static const struct change table[] = {
        { { "loop parallel Conv H", "loop unroll Conv KW" }, "drop 1", "loop unroll Conv KW" },
        { { "loop parallel Conv H", "loop unroll Conv KW" }, "edit 1 loop unroll Conv KH",
          "loop unroll Conv KH; loop unroll Conv KW" },
        { { "loop parallel Conv H", "loop unroll Conv KW" }, "insert 3 loop unroll Conv KH",
          "loop parallel Conv H; loop unroll Conv KW; loop unroll Conv KH" },
        { { "loop parallel Conv H", "loop unroll Conv KW" }, "move 1 down",
          "loop unroll Conv KW; loop parallel Conv H" },
        { { "loop parallel Conv H", "loop unroll Conv KW", "loop unroll Conv KH" }, "move 3 1",
          "loop unroll Conv KH; loop parallel Conv H; loop unroll Conv KW" },
        { { "loop parallel Conv H", "loop unroll Conv KW", "loop unroll Conv KH" }, "move 3 up 2",
          "loop unroll Conv KH; loop parallel Conv H; loop unroll Conv KW" },
        { { "loop parallel Conv H", "loop unroll Conv KW", "loop unroll Conv KH" }, "move 1 down 2",
          "loop unroll Conv KW; loop unroll Conv KH; loop parallel Conv H" },
        /* a split comes or goes: names of loops follow where there is no choice */
        { { "loop split Conv O 2 16", "loop reorder Conv N O.0 H W I KH KW O.1",
            "loop vectorize Conv O.1" }, "drop 1",
          "loop reorder Conv N H W I KH KW O; loop vectorize Conv O" },
        { { "loop reorder Conv N H W I KH KW O", "loop vectorize Conv O" },
          "insert 1 loop split Conv O 2 16",
          "loop split Conv O 2 16; loop reorder Conv N H W I KH KW O.0 O.1; "
          "loop vectorize Conv O.1" },
        { { "loop unroll Conv W" }, "insert 1 loop split Conv W 4 7",
          "loop split Conv W 4 7; !loop unroll Conv W" },
        { { "loop split Conv W 4 7", "loop unroll Conv W.1" }, "edit 1 loop split Conv W 2 14",
          "loop split Conv W 2 14; loop unroll Conv W.1" },
        /* a layout step after loops goes before them */
        { { "loop split Conv O 2 16", "loop parallel Conv H" },
          "layout set Conv \"N O/8 H W 8o\"",
          "layout set Conv \"N O/8 H W 8o\"; !loop split Conv O 2 16; loop parallel Conv H" },
        /* and so does one that is changed there */
        { { "loop split Conv W 4 7", "loop reorder Conv N O H W.0 I KH KW W.1",
            "layout set Conv \"N H W O\"", "loop parallel Conv H" },
          "edit 3 layout set Conv \"N O/16 H W 16o\"",
          "loop split Conv W 4 7; layout set Conv \"N O/16 H W 16o\"; "
          "loop reorder Conv N O.0 O.1 H W.0 I KH KW W.1; loop parallel Conv H" },
        { { "loop split Conv W 4 7", "layout set Conv \"N H W O\"" },
          "edit 2 layout set Conv \"N H W Q\"", "Conv has no dimension Q" },
        /* refused as a whole */
        { { "loop split Conv W 4 7", "loop unroll Conv W.1" }, "move 2 up",
          "`loop unroll Conv W.1`, which would then be step 1, would not apply: "
          "Conv has no loop W.1" },
        { { "loop parallel Conv H" }, "edit 1 loop parallel Conv Q", "Conv has no loop Q" },
        { { "loop parallel Conv H" }, "edit 0 loop parallel Conv N",
          "step 0 is the operator as given: it cannot be changed" },
        { { "loop parallel Conv H" }, "drop 2", "branch main has no step 2" },
        { { "loop parallel Conv H" }, "move 1 up", "step 1 is the first one" },
        { { "loop parallel Conv H" }, "move 2147483647 down",
          "branch main has no step 2147483647" },
        { { "loop parallel Conv H" }, "move -2147483648 up",
          "branch main has no step -2147483648" },
        { { "loop parallel Conv H", "loop unroll Conv KW" }, "move 2 up 2",
          "step 2 cannot move up by 2" },
        { { "loop parallel Conv H", "loop unroll Conv KW" }, "move 1 down 0",
          "a step moves by 1 to 100000 places" },
        { { "loop parallel Conv H", "loop unroll Conv KW" }, "move 1 down 2147483647",
          "a step moves by 1 to 100000 places" },
        { { "loop parallel Conv H", "loop unroll Conv KW" }, "move 1 down x",
          "\"x\" is not a number" },
        { { "loop parallel Conv H", "loop unroll Conv KW" }, "move 1 2 3",
          "there is one word too many: \"3\"" },
        { { "loop parallel Conv H" }, "move 1 down", "step 1 is the last one" },
        { { "loop parallel Conv H" }, "move 1", "move needs N M|up|down" },
        { { "loop parallel Conv H" }, "edit 1", "edit needs N STEP" },
        { { "loop parallel Conv H" }, "drop", "drop needs a step number" },
        { { "loop parallel Conv H" }, "drop one", "\"one\" is not a number" },
    };
    for (int i = 0; i < COUNT_OF(table); i++)
        check_change(&table[i]);
}

/* A held step says why, has no effect, and comes back with the change that makes it legal; so does
 * the name of a renamed one. */
static void test_held(void **state)
{
    (void)state;
    struct history *h = must_open(CONV);
    struct str s = {0};
    int n, at;
    must_run(h, "loop split Conv W 4 7");
    must_run(h, "loop unroll Conv W.1");
    must_run(h, "edit 1 loop split Conv H 4 7");
    must_run(h, "insert 2 loop split Conv W 2 2 7");
    assert_string_equal(shown(h, &s), "loop split Conv H 4 7; loop split Conv W 2 2 7; "
                                      "loop unroll Conv W.1");
    must_run(h, "drop 2");
    assert_string_equal(shown(h, &s), "loop split Conv H 4 7; loop unroll Conv W");
    must_run(h, "edit 1 loop split Conv W 4 7");
    assert_string_equal(shown(h, &s), "loop split Conv W 4 7; loop unroll Conv W.1");
    must_run(h, "insert 2 loop split Conv W.1 7 1");
    const int *path = history_path(h, 0, &n, &at);
    assert_string_equal(history_state(h, path[3])->held,
                        "Conv has no loop W.1; it could be `loop unroll Conv W.1.0` or "
                        "`loop unroll Conv W.1.1`");
    assert_ptr_equal(history_state(h, path[3])->program, history_state(h, path[2])->program);
    assert_int_equal(history_current(h)->program->n_steps, 2);
    must_run(h, "drop 2");
    assert_string_equal(shown(h, &s), "loop split Conv W 4 7; loop unroll Conv W.1");
    str_free(&s);
    history_free(h);
}

/* A step whose renamed text does not apply either says both reasons, also after a file was read; a
 * refused move says the fix of the step that would not apply. */
static void test_reasons(void **state)
{
    (void)state;
    static const char want[] = "Conv has no loop O: it is divided already, into O.0 (2), O.1 (16)";
    struct session *s, *again;
    struct str text = {0};
    struct err e;
    int n, at;
    assert_true(session_new(CONV, &s, &e));
    struct history *h = s->history;
    must_run(h, "loop split Conv O 1 32");
    must_run(h, "layout set Conv \"N O/16 H W 16o\"");
    const int *path = history_path(h, 0, &n, &at);
    assert_string_equal(history_state(h, path[2])->held, want);
    session_yaml_in(s, NULL, &text);
    assert_true(session_parse("held.yaml", str_text(&text), text.len, &again, &e));
    path = history_path(again->history, 0, &n, &at);
    assert_string_equal(history_state(again->history, path[2])->held, want);
    session_free(s);
    session_free(again);
    str_free(&text);
    h = must_open(CONV);                  /* a loop that is fused is looked for in vain */
    must_run(h, "loop unroll Conv W");
    must_run(h, "loop reorder Conv N H KH W");
    must_run(h, "loop cache_write Conv at=H");
    must_run(h, "insert 1 loop fuse Conv H W");
    path = history_path(h, 0, &n, &at);
    assert_string_equal(history_state(h, path[2])->held,
                        "Conv has no loop W: it is fused into H_W (784)");
    assert_string_equal(history_state(h, path[3])->held,
                        "Conv has no loop H: it is fused into H_W (784)");
    assert_string_equal(history_state(h, path[4])->held,
                        "Conv has no loop H: it is fused into H_W (784)");
    history_free(h);
    h = must_open("gmm m=64 k=32 n=48");  /* a word that is no loop */
    must_run(h, "loop cache_read C B pad=1 at=N");
    must_run(h, "insert 1 loop fuse C M N");
    path = history_path(h, 0, &n, &at);
    assert_non_null(strstr(history_state(h, path[n - 1])->held, "it is fused into M_N"));
    history_free(h);
    h = must_open(CONV);                  /* a fused loop does not explain another one */
    must_run(h, "loop split Conv O 16");
    must_run(h, "loop reorder Conv N O.0 H W I KH KW O.1");
    must_run(h, "edit 1 loop fuse Conv H W");
    path = history_path(h, 0, &n, &at);
    assert_non_null(strstr(history_state(h, path[2])->held, "Conv has no loop O.0"));
    assert_null(strstr(history_state(h, path[2])->held, "O.0: it is fused"));
    history_free(h);
    h = must_open("gmm m=64 k=32 n=48");  /* a fix names the step to change */
    must_run(h, "loop split C N 3 16");
    must_run(h, "loop reorder C M N.0 K N.1");
    must_run(h, "loop cache_write C at=N.1");
    assert_false(run(h, "loop vectorize C N.1", &e));
    assert_string_equal(e.fix, "edit 3 loop cache_write C at=N.0 puts its tile there");
    history_free(h);
    h = must_open("gmm m=64 k=32 n=48");
    must_run(h, "loop reorder C M K N");
    must_run(h, "loop vectorize C N");
    assert_false(run(h, "move 2 up", &e));
    assert_non_null(strstr(e.text, "cannot vectorize loop N of C: loop K runs inside it"));
    assert_string_equal(e.fix, "make N the innermost loop (loop reorder C M K N) or unroll K; a "
                               "move must leave every other step legal; use e (edit) or d (drop) "
                               "instead");
    history_free(h);
    h = must_open(CONV);
    must_run(h, "loop split Conv W 4 7");
    must_run(h, "loop fuse Conv W.0 W.1");
    must_run(h, "edit 1 loop split Conv H 4 7");
    path = history_path(h, 0, &n, &at);
    assert_non_null(strstr(history_state(h, path[2])->held,
                           "Conv has no loop W.0 (its loops are N"));
    history_free(h);
}

/* A split of a loop that a layout has divided already is pointed out. */
static void test_idle_splits(void **state)
{
    (void)state;
    struct history *h = must_open(CONV);
    struct str s = {0};
    must_run(h, "loop split Conv O 16");
    must_run(h, "loop split Conv W 4");
    must_run(h, "layout set Conv \"N O/16 H W 16o\"");
    history_rebased_print(h, &s);
    assert_string_equal(str_text(&s), "step 1 is inserted, 2 later steps replayed, 1 renamed; "
                        "step 2: it divides nothing now: O.1 has 16 iterations; u undoes this "
                        "change");
    str_free(&s);
    history_free(h);
}

/* The moved step is no other step. */
static void moves_count_the_others(void **state)
{
    (void)state;
    struct history *h = must_open("gmm m=64 k=32 n=512");
    struct str s = {0};
    must_run(h, "loop split C N 32");
    must_run(h, "loop split C M 8");
    must_run(h, "move 1 2");
    history_rebased_print(h, &s);
    assert_string_equal(str_text(&s), "1 other step replayed; u undoes this change");
    str_clear(&s);
    must_run(h, "loop split C K 4");
    must_run(h, "move 3 1");
    history_rebased_print(h, &s);
    assert_string_equal(str_text(&s), "2 other steps replayed; u undoes this change");
    str_free(&s);
    history_free(h);
}

/* Only the steps that this change gives another effect are listed, not those of earlier changes. */
static void other_loops_are_listed(void **state)
{
    (void)state;
    struct history *h = must_open("gmm m=64 k=32 n=512");
    struct str s = {0};
    must_run(h, "loop split C N 32");
    must_run(h, "loop split C M 8");
    must_run(h, "loop unroll C M.1");
    must_run(h, "loop unroll C N.1");
    must_run(h, "loop serial C M.1");
    must_run(h, "edit 1 loop split C N 32 4 4");           /* step 4 gets a note */
    must_run(h, "edit 2 loop split C M 8 4 2");
    history_rebased_print(h, &s);
    assert_string_equal(str_text(&s), "3 later steps replayed; step 3: M.1 is now another loop "
                        "(extent 4, was 8), and 1 later step has another effect now, too (5); u "
                        "undoes this change");
    str_free(&s);
    history_free(h);
}

/* A name that a change gives to another part of a split loop is pointed out. */
static void test_other_loops(void **state)
{
    (void)state;
    struct history *h = must_open("gmm m=64 k=32 n=512");
    struct str s = {0};
    int n, at;
    must_run(h, "loop split C N 32");
    must_run(h, "loop reorder C N.0 M K N.1");
    must_run(h, "loop unroll C N.1");
    must_run(h, "edit 1 loop split C N 64");              /* the innermost part, as it was */
    assert_int_equal(history_rebased(h)->other, 0);
    must_run(h, "edit 1 loop split C N 32 4 4");
    history_rebased_print(h, &s);
    assert_string_equal(str_text(&s), "2 later steps replayed; step 2: N.1 is now another loop "
                        "(extent 4, was 64), and 1 later step has another effect now, too (3); "
                        "u undoes this change");
    const int *path = history_path(h, 0, &n, &at);
    assert_string_equal(history_state(h, path[3])->note,
                        "N.1 is now another loop (extent 4, was 64)");
    must_run(h, "insert 4 loop parallel C N.0");
    str_clear(&s);
    history_rebased_print(h, &s);
    assert_string_equal(str_text(&s), "step 4 is inserted; u undoes this change");
    path = history_path(h, 0, &n, &at);
    assert_non_null(history_state(h, path[3])->note);     /* it stays */
    must_run(h, "undo");
    must_run(h, "undo");
    path = history_path(h, 0, &n, &at);
    assert_null(history_state(h, path[3])->note);
    str_free(&s);
    history_free(h);
}

/* A move keeps which steps are applied. */
static void test_moves_beside_undone_steps(void **state)
{
    (void)state;
    struct history *h = must_open(CONV);
    struct str s = {0};
    struct err e;
    int n, at;
    must_run(h, "loop parallel Conv H");
    must_run(h, "loop unroll Conv KW");
    must_run(h, "loop unroll Conv KH");
    measure(h);
    must_run(h, "loop unroll Conv I");
    must_run(h, "undo");
    must_run(h, "move 3 up");             /* the current one, above an undone one */
    history_path(h, 0, &n, &at);
    assert_int_equal(at, 3);
    assert_string_equal(shown(h, &s), "loop parallel Conv H; loop unroll Conv KH; "
                                      "loop unroll Conv KW; [loop unroll Conv I");
    assert_int_equal(history_current(h)->program->n_steps, 3);
    history_path(h, 1, &n, &at);          /* the branch that keeps the measured steps */
    assert_int_equal(at, 3);
    assert_non_null(history_state(h, history_branch(h, 1)->at)->measured);
    assert_false(run(h, "move 3 down", &e));
    assert_string_equal(e.text, "step 3 is applied, and the move would undo it: the steps after it "
                                "are undone");
    assert_false(run(h, "move 4 2", &e));
    assert_string_equal(e.text, "step 4 is undone, and the move would apply it");
    str_free(&s);
    history_free(h);
}

/* All steps that no longer apply are named. */
static void test_held_are_named(void **state)
{
    (void)state;
    struct history *h = must_open("gmm m=64 k=32 n=512");
    struct str s = {0};
    must_run(h, "loop split C N 32");
    must_run(h, "loop split C M 4");
    must_run(h, "loop unroll C M.1");
    must_run(h, "loop parallel C M.0");
    must_run(h, "edit 1 loop fuse C M N");
    history_rebased_print(h, &s);
    assert_string_equal(str_text(&s), "3 later steps replayed; 3 no longer apply and are kept for "
                        "repair (steps 2, 3, 4); u undoes this change");
    str_free(&s);
    history_free(h);
}

/* A change back to known steps has their measurements. */
static void test_known_steps_are_measured(void **state)
{
    (void)state;
    struct history *h = must_open(CONV);
    must_run(h, "loop parallel Conv H");
    must_run(h, "loop unroll Conv KW");
    must_run(h, "loop unroll Conv KH");
    measure(h);
    must_run(h, "drop 2");
    assert_null(history_current(h)->measured);
    must_run(h, "insert 2 loop unroll Conv KW");
    assert_string_equal(history_current(h)->step, "loop unroll Conv KH");
    assert_non_null(history_current(h)->measured);
    must_run(h, "edit 2 loop unroll Conv I");
    assert_null(history_current(h)->measured);
    history_free(h);
}

/* Undo goes back in the order of time: first over the steps that came after a change. */
static void test_undo_over_later_steps(void **state)
{
    (void)state;
    static const char *const later[] = { "loop unroll Conv KH", "loop unroll Conv KW" };
    struct history *h = must_open(CONV);
    struct str s = {0};
    must_run(h, "loop split Conv W 4");
    must_run(h, "edit 1 loop split Conv W 7");
    must_run(h, later[0]);
    must_run(h, later[1]);
    for (int i = 0; i < 3; i++)
        must_run(h, "undo");
    assert_string_equal(history_said(h), "undid: edit 1 loop split Conv W 7");
    assert_string_equal(shown(h, &s), "loop split Conv W 4");
    must_run(h, "redo");
    assert_string_equal(shown(h, &s), "loop split Conv W 7; [loop unroll Conv KH; "
                        "loop unroll Conv KW");
    must_run(h, "redo 2");
    assert_string_equal(shown(h, &s), "loop split Conv W 7; loop unroll Conv KH; "
                        "loop unroll Conv KW");
    str_free(&s);
    history_free(h);
}

static void test_said(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        { "undo", "undid step 3: loop unroll Conv KH" },
        { "undo 2", "undid 2 steps; this is step 0" },
        { "redo", "redid step 1: loop parallel Conv H" },
        { "redo 2", "redid 2 steps; this is step 3" },
        { "goto 1", "left step 3; `goto 3` goes back there" }, { "goto 3", NULL }, { "goto 3", "" },
        { "drop 2", NULL }, { "undo", "undid: drop 2" }, { "redo", "redid: drop 2" },
        { "edit 1 loop parallel Conv N", NULL }, { "undo", "undid: edit 1 loop parallel Conv N" },
        { "move 2 up", NULL }, { "undo", "undid: move 2 1" },
        { "edit 1 loop parallel Conv N", NULL }, { "drop 2", NULL },
        { "undo 2", "undid 2 changes; this is step 2" },
        { "redo 2", "redid 2 changes; this is step 1" },
        { "undo 4", "undid 3 changes and 1 step; this is step 2" },
        { "redo 4", NULL }, { "undo 4", NULL }, { "redo", NULL },
        { "edit 2 loop unroll Conv KH", NULL }, { "goto 1", NULL },
        { "undo", "went back to step 3; the next undo reverts: edit 2 loop unroll Conv KH" },
        { "undo", "undid: edit 2 loop unroll Conv KH" },
    };
    struct history *h = must_open(CONV);
    must_run(h, "loop parallel Conv H");
    must_run(h, "loop unroll Conv KW");
    must_run(h, "loop unroll Conv KH");
    assert_string_equal(history_said(h), "");
    for (int i = 0; i < COUNT_OF(table); i++) {
        must_run(h, table[i][0]);
        if (table[i][1])
            assert_string_equal(history_said(h), table[i][1]);
    }
    history_free(h);
}

/* Measured steps that a change replaces stay as a branch; a series of moves makes only one. */
static void test_kept(void **state)
{
    (void)state;
    struct history *h = must_open(CONV);
    struct str s = {0};
    must_run(h, "loop parallel Conv H");
    must_run(h, "loop unroll Conv KW");
    must_run(h, "loop unroll Conv KH");
    must_run(h, "drop 2");
    assert_int_equal(history_n_branches(h), 1);
    must_run(h, "undo");
    measure(h);
    must_run(h, "move 3 up");
    assert_int_equal(history_n_branches(h), 2);
    assert_string_equal(history_rebased(h)->kept, "main~1");
    measure(h);
    must_run(h, "move 2 up");
    assert_int_equal(history_n_branches(h), 2);
    must_run(h, "undo");
    must_run(h, "undo");
    assert_int_equal(history_n_branches(h), 1);
    assert_non_null(history_current(h)->measured);
    must_run(h, "redo");
    assert_string_equal(history_branch(h, 1)->name, "main~1");
    history_rebased_print(h, &s);
    str_free(&s);
    history_free(h);
}

/* A change keeps no branch of steps that another branch has, with numbers as good. */
static void test_twins_are_not_kept(void **state)
{
    (void)state;
    struct history *h = must_open(CONV);
    must_run(h, "loop parallel Conv H");
    must_run(h, "loop unroll Conv KW");
    measure(h);
    must_run(h, "edit 2 loop unroll Conv KH");
    assert_string_equal(history_rebased(h)->kept, "main~1");
    measure(h);
    must_run(h, "edit 2 loop unroll Conv KW");
    assert_string_equal(history_rebased(h)->kept, "main~2");
    assert_non_null(history_current(h)->measured);       /* as main~1 */
    must_run(h, "edit 2 loop unroll Conv I");
    assert_null(history_rebased(h)->kept);
    measure(h);
    must_run(h, "drop 1");
    assert_string_equal(history_rebased(h)->kept, "main~3");
    assert_int_equal(history_n_branches(h), 4);
    must_run(h, "undo");
    must_run(h, "edit 2 loop unroll Conv KW");           /* with a better time than in main~1 */
    struct measurement better = *history_current(h)->measured;
    better.latency.min_ms *= 0.5;
    history_set_measured(h, history_current(h)->id, &better);
    must_run(h, "edit 2 loop unroll Conv KH");
    assert_non_null(history_rebased(h)->kept);
    history_free(h);
}

/* Held steps survive the file. */
static void test_file(void **state)
{
    (void)state;
    struct session *s, *again;
    struct err e;
    struct str text = {0}, one = {0}, two = {0};
    assert_true(session_new(CONV, &s, &e));
    must_run(s->history, "loop unroll Conv W");
    must_run(s->history, "insert 1 loop split Conv W 4 7");
    session_yaml_in(s, NULL, &text);
    assert_non_null(strstr(str_text(&text), "{held: loop unroll Conv W}"));
    if (!session_parse("held.yaml", str_text(&text), text.len, &again, &e))
        fail_msg("%s", e.text);
    assert_string_equal(shown(again->history, &one), shown(s->history, &two));
    str_free(&text);
    str_free(&one);
    str_free(&two);
    session_free(s);
    session_free(again);
}

/* What must hold after every change: each state is its parent plus its step, or its parent. */
static void check_path(const struct history *h, const char *line)
{
    int n, at;
    struct arena *a = arena_new();
    const struct program *p;
    struct err e;
    const int *path = history_path(h, history_branch_index(h), &n, &at);
    assert_true(program_new(a, history_spec(h), &p, &e));
    for (int i = 1; i < n; i++) {
        const struct state *s = history_state(h, path[i]);
        const struct program *next;
        struct str want = {0}, got = {0};
        bool ok = program_apply_line(p, s->step, &next, &e);
        if (ok == (s->held != NULL))
            fail_msg("after %s: step %d `%s` is %s", line, i, s->step,
                     s->held ? "held" : "applied");
        p = ok ? next : p;
        program_print_nest(&want, p);
        program_print_nest(&got, s->program);
        assert_string_equal(str_text(&got), str_text(&want));
        str_free(&want);
        str_free(&got);
    }
    arena_free(a);
}

static void random_change(struct arena *a, struct rng *r, struct history *h)
{
    int n, at;
    const char *line;
    struct err e;
    struct str before = {0}, after = {0};
    const int *path = history_path(h, history_branch_index(h), &n, &at);
    int i = (int)rng_range(r, 1, n), kind = (int)rng_range(r, 0, 5);
    const struct program *p = history_state(h, path[i - 1])->program;
    const char *step = rng_range(r, 0, 1) ? random_loop_step(a, r, p) : random_layout_step(a, r, p);
    if (kind == 0)
        line = arena_printf(a, "edit %d %s", i, step);
    else if (kind == 1)
        line = arena_printf(a, "drop %d", i);
    else if (kind == 2)
        line = arena_printf(a, "move %d %d", i, (int)rng_range(r, 1, n));
    else if (kind == 3)
        line = arena_printf(a, "insert %d %s", i, step);
    else
        line = step;
    shown(h, &before);
    if (run(h, line, &e)) {
        check_path(h, line);
        if (command_rebases(line) && !streq(shown(h, &after), str_text(&before))) {
            must_run(h, "undo");
            if (!streq(shown(h, &after), str_text(&before)))
                fail_msg("undo of %s\n gives %s\n not   %s", line, str_text(&after),
                         str_text(&before));
            must_run(h, "redo");
        }
    } else if (!streq(shown(h, &after), str_text(&before))) {
        fail_msg("%s was refused, but changed the steps", line);
    }
    str_free(&before);
    str_free(&after);
}

static void test_random(void **state)
{
    (void)state;
    static const char *const specs[] = { CONV, "gmm m=32 k=16 n=32 bias=1 relu=1",
                                         "dep n=1 c=16 h=14 w=14 k=3 p=1" };
    for (int trial = 0; trial < 60; trial++) {
        struct rng r = rng_seed(seed + (uint64_t)trial);
        struct history *h = must_open(specs[trial % COUNT_OF(specs)]);
        struct arena *a = arena_new();
        for (int i = 0; i < 40; i++)
            random_change(a, &r, h);
        arena_free(a);
        history_free(h);
    }
}

/* pick B N: a step of another branch, renamed or inserted before loop steps where it must be. */
static void check_pick(void **state)
{
    static const struct { const char *line, *steps, *error; } picks[] = {
        { "pick tiled 1", "loop parallel Conv N; loop split Conv O 4", NULL },
        { "pick tiled 2", "loop parallel Conv N; loop split Conv O 4; loop unroll Conv KW", NULL },
        { "pick tiled 1", NULL, "`loop split Conv O 4` does not apply here: Conv has no "
          "loop O: it is divided already, into O.0 (8), O.1 (4)" },
        { "pick tiled", NULL, "pick needs the number of a step of branch tiled" },
        { "pick", NULL, "pick needs the name of a branch" },
        { "pick tilde 1", NULL, "there is no branch \"tilde\"" },
        { "pick tiled 9", NULL, "branch tiled has no step 9 to apply" },
        { "pick tiled 0", NULL, "branch tiled has no step 0 to apply" },
        { "pick tiled 1 2", NULL, "there is one word too many: \"2\"" },
    };
    (void)state;
    struct history *h = must_open(CONV);
    struct str text = {0};
    struct err e;
    static const char *const lines[] = {
        "branch tiled", "loop split Conv O 4", "loop unroll Conv KW", "switch main",
        "loop parallel Conv N",
    };
    for (int i = 0; i < COUNT_OF(lines); i++)
        if (!run(h, lines[i], &e))
            fail_msg("%s: %s", lines[i], e.text);
    for (int i = 0; i < COUNT_OF(picks); i++) {
        bool ok = run(h, picks[i].line, &e);
        assert_int_equal(ok, picks[i].steps != NULL);
        if (ok)
            assert_string_equal(shown(h, &text), picks[i].steps);
        else
            assert_string_equal(e.text, picks[i].error);
    }
    str_free(&text);
    history_free(h);
}

/* The tensor B of a bmm is not its loop B. */
static void test_tensor_called_as_a_loop(void **state)
{
    (void)state;
    struct history *h = must_open("bmm b=4 m=16 k=16 n=16");
    struct str text = {0};
    struct err e;
    must_run(h, "branch tiled");
    must_run(h, "loop split C B 2 2");
    must_run(h, "loop split C M 4");
    must_run(h, "loop cache_read C B at=M.0");
    must_run(h, "drop 2");
    assert_string_equal(shown(h, &text), "loop split C B 2 2; loop cache_read C B at=M");
    must_run(h, "undo");
    must_run(h, "switch main");
    must_run(h, "loop fuse C B M");
    assert_false(run(h, "pick tiled 3", &e));
    assert_non_null(strstr(e.text, "C has no loop M.0"));
    assert_null(strstr(e.text, "fused"));
    str_free(&text);
    history_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes), cmocka_unit_test(test_held),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(other_loops_are_listed),
        cmocka_unit_test(test_other_loops), cmocka_unit_test(test_idle_splits),
        cmocka_unit_test(test_moves_beside_undone_steps),
        cmocka_unit_test(moves_count_the_others),
        cmocka_unit_test(test_held_are_named),
        cmocka_unit_test(test_twins_are_not_kept), cmocka_unit_test(test_known_steps_are_measured),
        cmocka_unit_test(test_undo_over_later_steps), cmocka_unit_test(test_said),
           cmocka_unit_test(test_kept),
        cmocka_unit_test(test_file),    cmocka_unit_test(test_random),
        cmocka_unit_test(check_pick), cmocka_unit_test(test_tensor_called_as_a_loop),
    };
    if (getenv("TS_SEED"))
        seed = strtoull(getenv("TS_SEED"), NULL, 10);
    printf("# TS_SEED=%llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
