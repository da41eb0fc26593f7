/* The user interface without a terminal: keys in, screen out. */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "app/views/view.h"
#include "explorer/history/rebase.h"
#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "profile/build/nvrtc.h"
#include "tests/unit/fork_child.h"
#include "tests/unit/model_help.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define GMM "gmm m=64 k=32 n=48"
#define C2D "c2d n=1 i=8 h=14 w=14 o=32 k=3 p=1 bias=1 relu=1"

/* loops */

static void test_first_look(void **state)
{
    (void)state;
    struct model *m = model_on(C2D);
    assert_string_equal(loop_of(m), "O");
    assert_shows(m, "as given");
    assert_shows(m, "loop O of Conv: 32 iterations");
    assert_shows(m, "press : and type a step");
    assert_hides(m, "(not saved)");
    model_free(m);
}

static void test_split_by_key(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "Right");
    assert_string_equal(loop_of(m), "N");
    press(m, "S");
    assert_shows(m, ":loop split C N");
    assert_shows(m, "loop split T D F1 [F2 ...]: split loop D");
    press(m, "16 Enter");
    assert_string_equal(step_of(m), "loop split C N 16");
    assert_string_equal(loop_of(m), "N.0");
    assert_shows(m, "for m, n.0, n.1 in range(64, 3, 16):");
    assert_shows(m, " 1 loop split C N 16");
    assert_shows(m, ":loop split C N 16");
    assert_shows(m, "(not saved)");
    model_free(m);
}

/* The key offers the operand that moves with the loop. */
static void test_prefetch_by_key(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "P");
    assert_string_equal(str_text(&m->prompt.line), "loop prefetch C A at=M");
    press(m, "Esc Right P");
    assert_string_equal(str_text(&m->prompt.line), "loop prefetch C B at=N");
    press(m, "Enter");
    assert_string_equal(step_of(m), "loop prefetch C B at=N");
    press(m, "P");                                       /* there already */
    assert_string_equal(str_text(&m->prompt.line), "loop prefetch C A at=N");
    model_free(m);
}

static void test_illegal_step_changes_nothing(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "v");
    assert_string_equal(loop_of(m), "M");
    assert_int_equal(history_n_states(m->session->history), 1);
    assert_shows(m, ":loop vectorize C M");
    assert_shows(m, "cannot vectorize loop M of C");
    assert_shows(m, "Fix: ");
    assert_false(m->session->dirty);
    press(m, "j");
    assert_hides(m, "cannot vectorize");
    model_free(m);
}

/* The cursor comes to the first loop of a line, and only the last one can be vectorized. */
static void test_key_finds_the_loop_it_fits(void **state)
{
    (void)state;
    struct model *m = model_on("x = input n=4 i=16; y = relu(x)");
    assert_string_equal(loop_of(m), "N");
    press(m, "v");
    assert_string_equal(step_of(m), "loop vectorize y I");
    assert_string_equal(loop_of(m), "I");
    assert_shows(m, "the first loop of the line cannot have this");
    press(m, "v");
    assert_string_equal(step_of(m), "");
    press(m, "Left p");                   /* the first loop can have this */
    assert_string_equal(step_of(m), "loop parallel y N");
    model_free(m);
}

static void test_error_keeps_the_line(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, ": loop Space split Space C Space X Space 8 Enter");
    assert_true(m->prompt.open);
    assert_shows(m, ":loop split C X 8");
    assert_int_equal(history_n_states(m->session->history), 1);
    assert_int_equal(m->message.kind, MESSAGE_ERROR);
    assert_int_equal(m->prompt.at, strlen("loop split C X"));   /* behind the wrong word */
    assert_int_equal(m->prompt.wrong, strlen("loop split C "));
    press(m, "Backspace N Enter");
    assert_string_equal(step_of(m), "loop split C N 8");
    press(m, ": bogus Enter");
    assert_shows(m, "there is no such step or command");
    press(m, "C-e C-u udno Enter");
    assert_shows(m, "Fix: did you mean undo?");
    press(m, "C-u load Space a.yaml Enter");             /* what other programs call it */
    assert_shows(m, "cannot open a.yaml");
    press(m, "C-u open Space dep Enter");                /* an operator, and no file */
    assert_shows(m, "dep needs c=, h= and k=");
    press(m, "C-u load Space a.yaml Enter");
    press(m, "Esc : tile Space M Space 4 Enter");
    assert_shows(m, "Fix: did you mean loop split");
    press(m, "Esc ? load");
    assert_shows(m, "e FILE");
    press(m, "Esc");
    assert_false(m->prompt.open);
    model_free(m);
    m = model_on(NULL);
    press(m, ": open Space gmm Space m=8 Space k=4 Space n=8 Enter");
    assert_shows(m, "for m, n in range(8, 8)");
    model_free(m);
}

/* The layers below name options of the command line; the screen names its commands. */
static void test_options_become_commands(void **state)
{
    (void)state;
    static const struct { const char *said, *shown; } row[] = {
        { "or use --threads 1", ":threads 1" }, { "--compiler gcc or --compiler clang",
                                                  ":compiler gcc or :compiler clang" },
        { "show --what cuda -o F.cu", "show --what cuda -o F.cu" },
        { "tilescope run --threads 2 times it", "tilescope run --threads 2 times it" },
        { "a -- b --", "a -- b --" },
    };
    struct model *m = model_on(GMM);
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct err e;
        err_set(&e, ERR_ENV, "it failed");
        err_fix(&e, "%s", row[i].said);
        assert_false(model_error(m, &e));
        assert_non_null(strstr(str_text(&m->message.fix), row[i].shown));
    }
    model_free(m);
}

static void test_annotations_toggle(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "p");
    assert_string_equal(step_of(m), "loop parallel C M");
    assert_string_equal(loop_of(m), "M");
    assert_shows(m, "in parallel(64)");
    press(m, "p");                        /* two presses leave no step */
    assert_string_equal(step_of(m), "");
    assert_shows(m, "the loop is plain again: its step is taken back");
    press(m, "p U U");                    /* it was parallel before the U */
    assert_string_equal(step_of(m), "loop serial C M");
    press(m, "u");
    assert_string_equal(step_of(m), "loop unroll C M");
    press(m, "Backspace");
    assert_string_equal(step_of(m), "loop serial C M");
    model_free(m);
}

/* A move replaces the step before it, also where that came from an edit; held steps stay. */
static void test_moves_after_edits(void **state)
{
    (void)state;
    struct model *m = model_on(C2D);
    press(m, "J");
    assert_true(model_run(m, "edit 1 loop reorder Conv H W O"));
    press(m, "J");
    assert_string_equal(step_of(m), "loop reorder Conv H W I O");
    assert_int_equal(history_current(m->session->history)->parent, 0);
    press(m, "K K");
    assert_string_equal(step_of(m), "loop reorder Conv H O");
    struct history *h = m->session->history;
    struct err e;
    assert_true(history_goto(h, 0, &e));
    assert_true(history_apply_held(h, "loop reorder Conv H.0 O", NULL, &e));
    int held = history_current(h)->id;
    model_edited(m);
    screen_refresh(m);
    press(m, "J");
    assert_string_equal(step_of(m), "loop reorder Conv H O");
    assert_int_equal(history_current(h)->parent, held);
    model_free(m);
}

static void test_moves_join(void **state)
{
    (void)state;
    struct model *m = model_on(C2D);
    press(m, "J");
    assert_string_equal(step_of(m), "loop reorder Conv H O");
    press(m, "J");
    assert_string_equal(step_of(m), "loop reorder Conv H W O");
    press(m, "S-Down");
    assert_string_equal(step_of(m), "loop reorder Conv H W I O");
    assert_string_equal(loop_of(m), "O");
    press(m, "K K");
    assert_string_equal(step_of(m), "loop reorder Conv H O");
    press(m, "S-Up");
    assert_string_equal(step_of(m), "");
    press(m, "K");
    assert_string_equal(step_of(m), "loop reorder Conv O N");
    press(m, "J J");
    assert_string_equal(step_of(m), "loop reorder Conv H O");
    model_free(m);
}

/* A step that is typed may be about another stage than the cursor's. */
static void test_cursor_goes_to_the_step(void **state)
{
    (void)state;
    struct model *m = model_on(C2D);
    const struct stage *s;
    int axis;
    press(m, ": loop Space split Space BiasAdd Space O Space 8 Enter");
    assert_true(model_loop(m, &s, &axis));
    assert_string_equal(s->name, "BiasAdd");
    assert_string_equal(s->axis[axis].name, "O.0");
    press(m, ": loop Space vectorize Space ReLU Space W Enter");
    assert_true(model_loop(m, &s, &axis));
    assert_string_equal(s->name, "ReLU");
    press(m, ": layout Space reorder Space Conv Space N Space H Space W Space O Enter u");
    assert_true(model_loop(m, &s, &axis));
    assert_string_equal(s->name, "ReLU");
    model_free(m);
}

static void test_moves_stop_at_the_ends(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "K");
    assert_shows(m, "outermost loop of C already");
    press(m, "J J");
    assert_string_equal(step_of(m), "loop reorder C N K M");
    press(m, "J");
    assert_shows(m, "innermost loop of C already");
    assert_string_equal(step_of(m), "loop reorder C N K M");
    model_free(m);
}

static void test_other_loop_keys(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "f");
    assert_string_equal(step_of(m), "loop fuse C M N");
    press(m, "u r");
    assert_shows(m, ":loop reorder C M N K");
    press(m, "Esc Right c");
    assert_string_equal(step_of(m), "loop cache_write C at=N");
    model_free(m);
    m = model_on(C2D);
    press(m, "a");
    assert_shows(m, ":loop compute_at BiasAdd Conv O");
    model_free(m);
}

static void test_not_on_a_loop(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "j S");
    assert_shows(m, "the cursor is not on a loop");
    assert_false(m->prompt.open);
    model_free(m);
}

/* history */

static void test_undo_redo_and_counts(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "p : loop Space split Space C Space N Space 16 Enter J");
    assert_string_equal(step_of(m), "loop reorder C N.0 M");
    press(m, "02 u");
    assert_string_equal(step_of(m), "loop parallel C M");
    assert_int_equal(m->view[m->last_view], VIEW_NEST);
    assert_shows(m, " 3 loop reorder C N.0 M");
    press(m, "02 C-r");
    assert_string_equal(step_of(m), "loop reorder C N.0 M");
    press(m, ": focus Space steps Enter 0 2");
    assert_shows(m, "count 2: ");
    press(m, "g");                                       /* the step that has this number */
    assert_hides(m, "count 2: ");
    assert_int_equal(m->pane[DOC_LEDGER].scroll.cursor, 2);
    press(m, "0 0 G");
    assert_int_equal(m->pane[DOC_LEDGER].scroll.cursor, 0);
    press(m, "0 2 Esc G");                               /* Esc drops a count, and nothing else */
    assert_int_equal(m->pane[DOC_LEDGER].scroll.cursor, 3);
    press(m, "u u u u");
    assert_string_equal(step_of(m), "");
    assert_int_equal(m->message.kind, MESSAGE_ERROR);
    model_free(m);
}

static void test_ledger_goes_to_a_step(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "p U Tab");
    assert_int_equal(m->focus, PANE_LEDGER);
    press(m, "k");
    assert_shows(m, " 1: loop parallel C M");             /* what Enter goes to, at the bottom */
    press(m, "Enter");
    assert_shows(m, ":goto 1");
    assert_string_equal(step_of(m), "loop parallel C M");
    press(m, "G Enter");
    assert_string_equal(step_of(m), "loop unroll C M");
    press(m, "k e");
    assert_shows(m, ":edit 1 loop parallel C M");
    press(m, "Esc u u j");
    static const char *const want[] = { "loop parallel C M", "loop unroll C M" };
    for (int i = 0; i < 2; i++) {                         /* undone steps can be copied, too */
        press(m, i ? "G y" : "g j y");
        assert_string_equal(step_of(m), "");
        assert_string_equal(str_text(&m->out.copy), want[i]);
    }
    press(m, "g y");
    assert_string_equal(str_text(&m->out.copy), "");
    assert_shows(m, "nothing to copy here");
    model_free(m);
    m = model_on(NULL);
    press(m, ": copy Enter");
    assert_non_null(strstr(str_text(&m->out.copy), "Start on an operator"));
    model_free(m);
}

/* Steps of the past are edited, dropped, moved and inserted; what no longer applies stays. */
static void test_ledger_changes_the_past(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, ": loop Space split Space C Space N Space 3 Space 16 Enter");
    press(m, ": loop Space unroll Space C Space N.1 Enter");
    press(m, ": loop Space parallel Space C Space M Enter Tab");
    press(m, "K");
    assert_shows(m, "2 loop parallel C M");
    press(m, "K J J");
    assert_shows(m, "3 loop parallel C M");
    press(m, "g j j j 0 2 K");
    assert_shows(m, "1 loop parallel C M");
    press(m, "0 2 J");
    assert_shows(m, "3 loop parallel C M");
    press(m, "g j j K");
    assert_shows(m, "`loop unroll C N.1`, which would then be step 1");
    press(m, "g j e C-u loop Space split Space C Space K Space 4 Space 8 Enter");
    assert_shows(m, "2 later steps replayed, 1 renamed");
    assert_shows(m, "2 loop unroll C N ");
    press(m, "g j e C-u edit Space 1 Space loop Space split Space C Space K Space 8 Space 4 Enter");
    assert_shows(m, "1 loop split C K 8 4 ");            /* "edit 1 " was there already */
    press(m, "g j e Enter");
    assert_shows(m, "step 1 is unchanged");              /* and u would take back another change */
    assert_hides(m, "u undoes this change");
    press(m, "g j e C-u edit Space 1 Space loop Space split Space C Space Q Space 8 Space 4 Enter");
    assert_shows(m, ":edit 1 loop split C Q 8 4");
    assert_shows(m, "C has no loop Q");
    press(m, "Esc g j e C-u loop Space split Space C Space K Space 4 Space 8 Enter");
    press(m, "g j i layout Space set Space B Space \"N Space K\" Enter");
    assert_shows(m, "step 1 is inserted, 3 later steps replayed");
    press(m, "g j j d");
    assert_shows(m, "2 later steps replayed");
    assert_int_equal(m->pane[DOC_LEDGER].scroll.cursor, 2);
    press(m, "u");                                       /* the cursor stays at the change */
    assert_shows(m, "2 loop split C K 4 8");
    assert_int_equal(m->pane[DOC_LEDGER].scroll.cursor, 2);
    press(m, "C-r");
    assert_int_equal(m->pane[DOC_LEDGER].scroll.cursor, 2);
    press(m, "u");
    press(m, "g j j i loop Space split Space C Space M Space 8 Space 8 Enter");
    assert_shows(m, "kept for repair");
    assert_shows(m, "5 loop parallel C M ");
    assert_shows(m, "held                 !");
    press(m, "j");
    assert_shows(m, "without effect: C has no loop M;");
    assert_shows(m, "or `loop parallel C M.1`");
    press(m, "g d");
    assert_shows(m, "step 0 is the operator as given");
    model_free(m);
}

/* Keys that stand for lines say them as they would run here; step 0 and plain layouts offer no
 * change; signs have a legend; the pane that is searched has a name. */
static void test_keys_say_what_they_do(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    model_resize(m, 100, 40);
    press(m, "1 g ?");
    press(m, "split Space this");
    assert_shows(m, "S begins  :loop split C M");
    press(m, "Esc 3 ? split Space a Space dim");
    assert_shows(m, "S begins  :layout split C");
    press(m, "Esc 3 ? split Space this");
    assert_shows(m, "S begins  :loop split STAGE LOOP");
    press(m, "Esc ? noisy");
    assert_shows(m, "differ much from run to run");
    press(m, "Esc 3 Backspace");
    assert_shows(m, "C is plain row-major already");
    assert_string_equal(step_of(m), "");
    type_line(m, "focus steps");
    press(m, "g e");
    assert_shows(m, "step 0 is the operator as given: it cannot be changed");
    assert_false(m->prompt.open);
    press(m, "i");
    assert_string_equal(str_text(&m->prompt.line), "insert 1 ");
    press(m, "loop Space parallel Space C Space M Enter");
    assert_string_equal(step_of(m), "loop parallel C M");
    press(m, "/ nowhere Enter");
    assert_shows(m, "not found in the steps");
    type_line(m, "loop split C N 5");
    assert_hides(m, "refused");
    press(m, "Tab 1");
    for (int i = 0; i < 9 && !streq(loop_of(m), "N.0"); i++)
        press(m, "Right");
    assert_shows(m, "loop N.0 of C: 9 of its 10 iterations are in this nest.");
    type_line(m, "loop reorder C N.0 K N.0 K N.0 K M");
    assert_shows(m, "loop N.0 is named twice");
    assert_shows(m, "refused: N.0; Esc leaves the line");
    press(m, "Esc");
    assert_hides(m, "refused");
    model_free(m);
}

/* The column is there as soon as a row has something to say in it. */
static void test_ledger_compares_with_libraries(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct measurement r = {
        .outcome = OUTCOME_OK, .verified = true,
        .latency = { .median_ms = 0.31, .min_ms = 0.3, .max_ms = 0.42, .runs = 41 },
        .gflops = 100, .threads = 1,
    };
    model_resize(m, 120, 40);
    history_set_measured(m->session->history, 0, &r);
    m->data_stamp++;
    screen_refresh(m);
    assert_hides(m, "vendor");
    r.baseline[VENDOR_ONEDNN] = (struct baseline){
        .available = true, .verified = true, .ratio = 1.25,
        .latency = { .median_ms = 0.4, .min_ms = 0.375, .max_ms = 0.5, .runs = 41 },
        .implementation = "oneDNN 2.6.3 brg:avx512_core", .layout = "mk, kn to mn",
    };
    snprintf(r.baseline[VENDOR_OPENBLAS].reason, sizeof r.baseline[0].reason, "was not built");
    history_set_measured(m->session->history, 0, &r);
    m->data_stamp++;
    press(m, "6");
    screen_refresh(m);
    assert_shows(m, "vendor");
    assert_shows(m, "1.25x");
    assert_shows(m, "375 µs best, 400 µs median, spread 0.0 %; 1.25 times");
    assert_shows(m, "this kernel's minimum");
    assert_shows(m, "oneDNN 2.6.3 brg:avx512_core, mk, kn to mn");
    assert_shows(m, "was not built");
    model_resize(m, 72, 40);              /* a pane that has no room for the line */
    assert_shows(m, "oneDNN 2.6.3");
    assert_shows(m, "kn to mn");
    model_resize(m, 120, 40);
    assert_int_equal(m->baselines, 0);
    press(m, "V");
    assert_shows(m, "with vendor baselines from now on");
    assert_int_equal(m->baselines, (1u << VENDOR_COUNT) - 1);
    press(m, "V");
    assert_int_equal(m->baselines, 0);
    press(m, ": b a s e l i n e s Space o p e n b l a s Enter");
    assert_int_equal(m->baselines, 1u << VENDOR_OPENBLAS);
    press(m, ": b a s e l i n e s Space n o n s e n s e Enter");
    assert_shows(m, "no baseline named 'nonsense'");
    assert_int_equal(m->baselines, 1u << VENDOR_OPENBLAS);
    model_free(m);
}

static void test_branches(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "p b tiled Enter");
    assert_shows(m, "Steps: tiled");
    press(m, "U B");
    assert_shows(m, "Branches");
    assert_shows(m, "● tiled");
    assert_string_equal(model_branch(m), "tiled");
    press(m, "Enter");
    assert_shows(m, "Steps: tiled");
    press(m, "B k p");
    assert_string_equal(str_text(&m->prompt.line), "pick main ");
    press(m, "Esc Esc : focus Space steps Enter g b");   /* on step 0, while step 1 is current */
    assert_string_equal(str_text(&m->prompt.line), "branch at 0 ");
    press(m, "early Enter");
    assert_shows(m, "Steps: early");
    assert_int_equal(history_position(m->session->history), 0);
    type_line(m, "switch tiled");
    type_line(m, "delete early");
    assert_shows(m, "1 branch deleted");
    press(m, "B k p");
    press(m, "1 C-u pick Space main Space 9 Enter");     /* a whole line behind that of the key */
    assert_shows(m, "branch main has no step 9");
    press(m, "Esc");                     /* back in the list, on the same line */
    assert_shows(m, "● tiled");
    press(m, "Enter");
    assert_shows(m, "Steps: main");
    assert_string_equal(step_of(m), "loop parallel C M");
    press(m, "B ?");                     /* the keys of the list, which is still open after it */
    assert_shows(m, "take over one step of this branch");
    press(m, "Esc");
    assert_shows(m, "● main");
    press(m, "j d Enter");
    assert_int_equal(history_n_branches(m->session->history), 1);
    press(m, "b main Enter");
    assert_int_equal(m->message.kind, MESSAGE_ERROR);
    model_free(m);
}

/* A branch on which the user went back only to start another keeps its steps. */
static void test_branch_from_an_earlier_step(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "U Right p");
    type_line(m, "goto 1");
    press(m, "b other Enter");
    assert_shows(m, "branch other starts at step 1; main is at its step 2 again");
    press(m, ": compare Space main Enter");
    assert_shows(m, "main, step 2 of 2: loop parallel C N");
    model_free(m);
}

/* A step that a key has taken back stays taken back, and so does an undone step of a file. */
static void test_branch_after_a_step_taken_back(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    enum command_effect effect;
    struct session *s;
    struct err e;
    press(m, "p p b other Enter");
    assert_int_equal(history_branch(m->session->history, 0)->at, 0);
    model_free(m);
    assert_true(session_new(GMM, &s, &e) && session_run(s, "loop unroll C K", &effect, &e)
                && session_run(s, "undo", &effect, &e) && session_save(s, "back.yaml", &e));
    session_free(s);
    assert_true(session_load("back.yaml", &s, &e) && session_run(s, "branch other", &effect, &e));
    assert_int_equal(history_branch(s->history, 0)->at, 0);
    assert_int_equal(history_branch(s->history, 0)->tip, 1);
    session_free(s);
    unlink("back.yaml");
}

/* The key bar offers Enter only on lines that lead to the nest. */
static void test_bar_offers_where_enter_leads(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "6");
    assert_hides(m, "Enter nest");
    press(m, "3");
    assert_shows(m, "Enter actions");
    model_free(m);
}

/* views */

static void test_views(void **state)
{
    (void)state;
    static const struct { const char *keys; enum view view; } table[] = {
        {"1", VIEW_NEST}, {"2", VIEW_ACCESS}, {"3", VIEW_LAYOUT}, {"4", VIEW_C}, {"5", VIEW_ASM},
        {"6", VIEW_PROFILE}, {"7", VIEW_GRAPH}, {"1 ]", VIEW_ACCESS}, {"1 [", VIEW_TUNE},
        {"8", VIEW_ROOFLINE}, {"9", VIEW_TUNE}, {"%", VIEW_SASS},
        {": view Space layout Enter", VIEW_LAYOUT}, {"6 3 j", VIEW_LAYOUT}, {"02 j", VIEW_NEST},
    };
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct model *m = model_on(GMM);
        press(m, table[i].keys);
        assert_int_equal(m->view[m->last_view], table[i].view);
        screen_of(m);
        model_free(m);
    }
}

/* The heading of a view: whole tabs, then nothing but the position, at every width. */
static void assert_clean_heading(struct model *m, int w)
{
    struct grid g;
    grid_open(&g, m->w, m->h, true);
    screen_draw(m, &g);
    for (int i = 0; i < m->hits.len; i++) {
        struct rect r = m->hits.data[i].r;
        bool last = i + 1 == m->hits.len || m->hits.data[i + 1].r.y != r.y
            || m->hits.data[i + 1].r.x < r.x;
        if (r.y == m->frame.bar.y)
            continue;
        assert_int_equal(grid_at(&g, r.x + 1, r.y)->ch, (uint32_t)m->hits.data[i].key);
        int numbers = 0, end = r.x + r.w;
        for (int x = end; last && x < m->w && grid_at(&g, x, r.y)->ch != 0x252C; x++) {
            uint32_t ch = grid_at(&g, x, r.y)->ch, before = grid_at(&g, x - 1, r.y)->ch;
            bool digit = ch >= '0' && ch <= '9';
            numbers += digit && (x == end || before < '0' || before > '9');
            if (!digit && ch != ' ' && ch != 0x2500 && ch != '-' && ch != '/' && ch != 'o'
                && ch != 'f')
                fail_msg("width %d: tabs and position collide:\n%s", w, screen_of(m));
        }
        if (last && numbers != 0 && numbers != 2 && numbers != 3)
            fail_msg("width %d: half a position:\n%s", w, screen_of(m));
    }
    grid_close(&g);
}

static void test_headings_at_every_width(void **state)
{
    (void)state;
    struct model *m = model_on(C2D);
    static const char *const views[] = {"1", "2", "3", "6", "7", "8", "9"};
    for (int w = 80; w <= 200; w++)
        for (int v = 0; v < COUNT_OF(views); v++) {
            model_resize(m, w, 14);
            press(m, views[v]);
            assert_clean_heading(m, w);
        }
    model_resize(m, 80, 24);
    press(m, "1");
    assert_shows(m, " 7 graph 8 roof 9 tune ");
    assert_shows(m, " 7/22 ");
    model_free(m);
}

static void test_graph_view(void **state)
{
    (void)state;
    struct model *m = model_on(C2D);
    press(m, "7");
    assert_shows(m, "relu(BiasAdd)");
    assert_shows(m, "N O H W");
    model_free(m);
}

static void test_access_follows_the_layout(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, ": layout Space set Space C Space \"M/8 Space N Space 8m\" Enter 2");
    assert_string_equal(step_of(m), "layout set C \"M/8 N 8m\"");
    assert_shows(m, "logical");
    assert_shows(m, "C[m.0][n][m.1]");
    model_free(m);
}

static void test_layout_keys(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "3");
    assert_int_equal(m->view[m->last_view], VIEW_LAYOUT);
    press(m, "j k");
    assert_shows(m, "tensor C, stored as");
    press(m, "e");
    assert_shows(m, ":layout set C \"M N\"");
    press(m, "Backspace Backspace Backspace N Space M Enter");
    assert_string_equal(step_of(m), "layout set C \"N M\"");
    press(m, "r");
    assert_shows(m, ":layout reorder C N M");
    press(m, "Esc Backspace");
    assert_string_equal(step_of(m), "layout reset C");
    press(m, "Left S");
    assert_shows(m, ":layout split B");
    model_free(m);
}

static void test_panes_by_size(void **state)
{
    (void)state;
    static const struct { int w, h, shown; } table[] = {
        {80, 24, 2}, {40, 10, 1}, {120, 40, 2}, {160, 48, 3}, {200, 12, 3}, {29, 24, 0}, {80, 5, 0},
    };
    struct model *m = model_on(GMM);
    for (int i = 0; i < COUNT_OF(table); i++) {
        int shown = 0;
        model_resize(m, table[i].w, table[i].h);
        screen_refresh(m);
        for (int p = 0; p < PANE_COUNT; p++)
            shown += m->frame.pane[p].h > 0;
        assert_int_equal(shown, table[i].shown);
        screen_of(m);
    }
    model_free(m);
}

static void test_zoom_and_focus(void **state)
{
    (void)state;
    struct model *other = model_on(GMM);
    assert_false(model_command(other, "focus nowhere"));
    assert_shows(other, "there is no such pane");
    assert_true(model_command(other, "focus steps"));
    assert_int_equal(other->focus, PANE_LEDGER);
    model_free(other);
    struct model *m = model_on(GMM);
    press(m, "+");
    assert_hides(m, "Steps");
    press(m, "Tab");
    assert_shows(m, "Steps");
    assert_hides(m, "for m");
    press(m, "q");
    assert_false(m->zoom);
    assert_false(m->out.quit);
    model_resize(m, 160, 40);
    press(m, "Tab Tab");
    assert_int_equal(m->focus, PANE_SIDE);
    assert_int_equal(m->view[PANE_SIDE], VIEW_PROFILE);
    press(m, "1");
    assert_int_equal(m->focus, PANE_MAIN);
    press(m, "3");
    assert_int_equal(m->focus, PANE_SIDE);
    assert_shows(m, "for m, n in");
    assert_shows(m, "3 layout");
    press(m, "Tab");
    assert_int_equal(m->focus, PANE_LEDGER);
    model_free(m);
}

static void test_search(void **state)
{
    (void)state;
    struct model *m = model_on(C2D);
    press(m, "2 / relu Enter");
    const struct pane_doc *p = &m->pane[VIEW_ACCESS];
    assert_non_null(strstr(doc_at(&p->doc, &p->scroll)->text, "ReLU"));
    int first = p->scroll.cursor;
    assert_shows(m, "line 1 of ");
    press(m, "n");
    assert_true(p->scroll.cursor > first);
    assert_shows(m, " with relu");
    press(m, "N");
    assert_int_equal(p->scroll.cursor, first);
    press(m, "/ nowhere Enter");
    assert_shows(m, "not found in this view");
    press(m, "Esc");
    assert_int_equal(m->search.len, 0);
    model_free(m);
}

/* the prompt and help */

/* A paste is typing. */
static void test_paste(void **state)
{
    (void)state;
    struct model *m = model_on(C2D);
    struct err e;
    press(m, ": loop Space Tab");
    assert_true(m->prompt.words.n > 1);
    screen_paste(m, "split Conv O 8");
    assert_int_equal(m->prompt.words.n, 0);
    press(m, "Tab");
    assert_string_equal(str_text(&m->prompt.line), "loop split Conv O 8 ");
    press(m, "Enter");
    assert_string_equal(step_of(m), "loop split Conv O 8");
    press(m, "2 /");
    screen_paste(m, "relu");
    const struct pane_doc *p = &m->pane[VIEW_ACCESS];
    assert_non_null(strstr(doc_at(&p->doc, &p->scroll)->text, "ReLU"));
    press(m, "Esc");
    assert_true(file_write_atomic("taken.yaml", "x\n", 2, &e));
    press(m, ": w Space taken.yam");
    screen_paste(m, "l");
    press(m, "Enter");
    assert_shows(m, "exists already");
    press(m, "Backspace");
    screen_paste(m, "l");
    press(m, "Enter");                                    /* another line: asked about again */
    assert_shows(m, "exists already");
    press(m, "Backspace l");
    press(m, "Enter");
    assert_shows(m, "exists already");
    screen_paste(m, " ");
    assert_hides(m, "exists already");
    press(m, "Enter");
    assert_shows(m, "exists already");
    press(m, "Enter");
    assert_shows(m, "saved to taken.yaml");
    unlink("taken.yaml");
    model_free(m);
}

static void test_completion(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, ": loop Space vec Tab");
    assert_string_equal(str_text(&m->prompt.line), "loop vectorize ");
    press(m, "Tab N Enter");
    assert_int_equal(m->message.kind, MESSAGE_ERROR);
    press(m, "Esc Esc : vectorize Space Tab");            /* a step without its group */
    assert_string_equal(str_text(&m->prompt.line), "vectorize C ");
    press(m, "Tab");
    assert_shows(m, " N ");
    press(m, "Esc Esc : edit Space 1 Space unroll Space Tab");
    assert_string_equal(str_text(&m->prompt.line), "edit 1 unroll C ");
    press(m, "Esc Esc : vi Tab p Tab");
    assert_string_equal(str_text(&m->prompt.line), "view profile ");
    press(m, "Esc : auto Space o Tab");
    assert_shows(m, "off");
    press(m, "Esc Esc : re Tab");
    assert_shows(m, "redraw the screen");
    press(m, "Esc Esc : cache Space zen Tab");
    assert_string_equal(str_text(&m->prompt.line), "cache zen3 ");
    press(m, "C-u isa Space pl Tab");
    assert_string_equal(str_text(&m->prompt.line), "isa plain ");
    press(m, "C-u compiler Space c Tab");
    assert_string_equal(str_text(&m->prompt.line), "compiler clang ");
    press(m, "C-u isa Space auto Enter");                /* another name of the default */
    assert_shows(m, ", the default, from now on");
    press(m, "Esc : tune Space fr Tab");
    assert_string_equal(str_text(&m->prompt.line), "tune fresh ");
    model_free(m);
}

static void test_help(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "?");
    assert_shows(m, "Keys and commands");
    assert_shows(m, "On a loop");
    press(m, "lanes");
    assert_shows(m, "with lanes");
    assert_hides(m, "undo");
    press(m, "Enter");
    assert_int_equal(m->overlay, OVERLAY_NONE);
    assert_shows(m, ":loop vectorize C M");
    press(m, "F1 layout Space unfold");
    assert_shows(m, "layout unfold T D");
    press(m, "Down Enter");
    assert_true(m->prompt.open);
    assert_true(str_starts(str_text(&m->prompt.line), "layout unf"));
    press(m, "Esc : help Space cache Enter");
    assert_shows(m, "with cache");
    press(m, "Backspace Backspace Backspace Backspace Backspace q");
    assert_int_equal(m->overlay, OVERLAY_NONE);
    press(m, "? zzzz");
    assert_shows(m, "nothing matches");
    press(m, "C-u / macro");                             /* as in other lists, / begins a filter */
    assert_shows(m, "Keys and commands with macro");
    assert_shows(m, "settings       the settings file");
    press(m, "C-u sim_budget End Enter");                 /* in the text of a topic only */
    assert_shows(m, "Help: settings");
    assert_shows(m, "simulate a sample above so many accesses");
    assert_shows(m, "with sim_budget");
    press(m, "q");
    model_free(m);
}

static void test_menu_runs_keys(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "Enter");
    assert_shows(m, "Loop M of C");
    press(m, "p");
    assert_int_equal(m->overlay, OVERLAY_NONE);
    assert_string_equal(step_of(m), "loop parallel C M");
    press(m, "Enter Down Down Enter");
    assert_string_equal(step_of(m), "loop unroll C M");
    model_free(m);
}

static void test_menu_tells_what_is_illegal(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "Enter");
    assert_shows(m, "v              cannot vectorize loop M of C");
    assert_shows(m, "a              no other stage can be computed inside this loop");
    assert_shows(m, "K S-Up         this is the outermost loop of C already");
    assert_shows(m, "p              share this loop among threads");
    press(m, "Down Enter");
    assert_int_equal(m->overlay, OVERLAY_HELP);
    assert_int_equal(m->message.kind, MESSAGE_ERROR);
    assert_int_equal(history_n_states(m->session->history), 1);
    press(m, "Up Enter");
    assert_int_equal(m->overlay, OVERLAY_NONE);
    assert_shows(m, ":loop split C M");
    press(m, "Esc Right Enter Down Down Enter");
    assert_string_equal(step_of(m), "loop unroll C N");
    model_free(m);
}

/* The layout of an input is the caller's: none of the keys that change it is offered. */
static void test_menu_of_a_layout_tells_what_is_illegal(void **state)
{
    (void)state;
    static const char *const key[] = { "e", "S", "r", "f", "U", "P" };
    static const char given[] = "Inp_in belongs to the caller, who chooses its layout";
    struct model *m = model_on("c2d n=1 i=64 h=56 w=56 o=64 k=3 p=1");
    model_resize(m, 120, 40);
    press(m, "3 g Enter");
    assert_string_equal(model_program(m)->graph->tensor[model_tensor(m)].name, "Inp_in");
    for (int i = 0; i < COUNT_OF(key); i++) {
        char row[200];
        snprintf(row, sizeof row, "%-14s %s", key[i], given);
        assert_shows(m, row);
    }
    assert_shows(m, "a              Inp_in is not a constant");
    for (int i = 0; i < 2; i++) {                        /* from the menu, and without it */
        press(m, "r");
        assert_int_equal(m->overlay, OVERLAY_NONE);
        assert_false(m->prompt.open);
        assert_shows(m, "or apply: set input_layout given");
    }
    press(m, ": set Space input_layout Space given Enter Enter");
    assert_hides(m, given);
    assert_shows(m, "r              store the dimensions in another order");
    press(m, "Esc");
    while (!streq(model_program(m)->graph->tensor[model_tensor(m)].name, "Ker"))
        press(m, "j");
    press(m, "Enter");
    assert_shows(m, "a              store this constant in the buffer of another");
    assert_shows(m, "S              split a dimension");
    model_free(m);
}

/* Opened again and again, a menu leaves nothing in the memory of the session. */
static void test_menu_tries_on_a_copy(void **state)
{
    (void)state;
    struct model *m = model_on("c2d n=1 i=4 h=8 w=8 o=8 k=3 p=1 relu=1");
    press(m, ": loop Space split Space Conv Space O Space 4 Enter");
    const struct arena *a = model_program(m)->arena;
    size_t before = arena_used_bytes(a);
    press(m, "Enter");
    assert_int_equal(m->overlay, OVERLAY_HELP);
    press(m, "Esc C Esc");
    assert_int_equal(arena_used_bytes(a), before);
    model_free(m);
}

static void test_help_topics(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "?");
    assert_shows(m, "Topics, to read with :help NAME: steps layouts loops");
    press(m, "loops");
    assert_shows(m, "how to schedule a loop nest");
    press(m, "Enter");
    assert_shows(m, "Help: loops");
    assert_shows(m, "Every loop belongs to the tensor");
    press(m, "j");
    assert_hides(m, "Every loop belongs to the tensor");
    press(m, "k");
    assert_shows(m, "Every loop belongs to the tensor");
    press(m, "C-f");
    assert_hides(m, "Every loop belongs to the tensor");
    press(m, "C-d C-u g");
    assert_shows(m, "Every loop belongs to the tensor");
    press(m, "C-d");
    assert_hides(m, "Every loop belongs to the tensor");
    press(m, "End");
    assert_shows(m, "is refused with the reason and");
    press(m, "Backspace");
    assert_shows(m, "Keys and commands");
    press(m, "Esc : help Space layouts Enter");
    assert_shows(m, "The layout of a tensor says in which order");
    press(m, "q : help Space gmm Enter");
    assert_shows(m, "matrix multiplication");
    press(m, "q");
    assert_int_equal(m->overlay, OVERLAY_NONE);
    press(m, "?");
    assert_shows(m, "On a loop");
    model_free(m);
}

/* saving and leaving */

static void test_save(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "p s");
    assert_shows(m, "save as: gmm.yaml");
    press(m, "Enter");
    assert_shows(m, "saved to gmm.yaml");
    assert_true(file_exists("gmm.yaml"));
    assert_false(m->session->dirty);
    press(m, "U");
    assert_shows(m, "gmm.yaml (changed)");
    press(m, "s");
    assert_false(m->session->dirty);
    press(m, ": title Space My Space tile Enter");
    assert_shows(m, "My tile");
    press(m, "w C-u Backspace Backspace other.yaml Enter");
    assert_true(file_exists("other.yaml"));
    model_free(m);
    m = model_on(GMM);
    press(m, "U : w Space other.yaml Enter");
    assert_shows(m, "exists already");
    press(m, "Enter");
    assert_shows(m, "saved to other.yaml");
    model_free(m);
    unlink("gmm.yaml");
    unlink("other.yaml");
}

static const char other_text[] = "tilescope: 1\noperator: " GMM "\n";

/* Nothing on the screen waits for a terminal or for somebody at the other end of a pipe. */
static void test_no_files(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "e -", "e pipe.yaml", "e /dev/tty", "w -", "w pipe.yaml", "wq pipe.yaml",
        "export pipe.yaml", "dump pipe.yaml", "dump -",
    };
    struct model *m = model_on(GMM);
    press(m, "p");
    assert_int_equal(mkfifo("pipe.yaml", 0600), 0);
    for (int i = 0; i < COUNT_OF(lines); i++) {
        assert_false(model_command(m, lines[i]));
        if (!strstr(str_text(&m->message.text), "is not a file"))
            fail_msg("%s: %s", lines[i], str_text(&m->message.text));
        assert_true(m->message.fix.len > 0);
        assert_false(m->out.quit);
        assert_string_equal(step_of(m), "loop parallel C M");
    }
    unlink("pipe.yaml");
    session_autosave_drop(m->session);
    model_free(m);
}

static void test_changed_on_disk(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct err e;
    press(m, "p s Enter U");
    assert_true(file_write_atomic("gmm.yaml", other_text, strlen(other_text), &e));
    press(m, "s");
    assert_shows(m, "gmm.yaml changed on disk");
    assert_shows(m, "Enter again overwrites it, Esc keeps it");
    press(m, "Esc");
    assert_true(m->session->dirty);
    press(m, ": w Space . / g m m . y a m l Enter");          /* the same file */
    assert_shows(m, "gmm.yaml changed on disk");
    assert_true(file_write_atomic("gmm.yaml", "newer", 5, &e));
    press(m, "Enter");                                        /* not what was asked about */
    assert_shows(m, "gmm.yaml changed on disk");
    assert_int_equal(file_seen("gmm.yaml"), file_content("newer", 5));
    press(m, "Esc");
    press(m, "q y");
    assert_shows(m, "gmm.yaml changed on disk");
    press(m, "Esc");
    assert_false(m->out.quit);
    press(m, ": wq Enter");
    assert_shows(m, "gmm.yaml changed on disk");
    press(m, "Enter");
    assert_true(m->out.quit);
    assert_false(m->session->dirty);
    unlink("gmm.yaml");
    model_free(m);
}

static void test_save_as(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct err e;
    assert_true(file_write_atomic("taken.yaml", other_text, strlen(other_text), &e));
    press(m, "p s C-u Enter");
    assert_shows(m, "no file name was given");
    press(m, "s C-u Backspace tak Tab");
    assert_shows(m, "save as: taken.yaml");
    press(m, "Enter");
    assert_shows(m, "exists already");
    assert_shows(m, "save as: taken.yaml");
    press(m, "Esc w C-u taken.yaml Enter");
    assert_shows(m, "exists already");
    press(m, "Enter");
    assert_shows(m, "saved to taken.yaml");
    press(m, ": export Space taken.yaml Enter");
    assert_shows(m, "exists already");
    press(m, "Enter");
    assert_shows(m, "C file written to taken.yaml");
    unlink("taken.yaml");
    model_free(m);
}

static void test_quit(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "q");
    assert_true(m->out.quit);
    m->out.quit = false;
    press(m, "p q");
    assert_shows(m, "Save the changes first?");
    assert_false(m->out.quit);
    press(m, "x c");
    assert_hides(m, "Save the changes");
    assert_false(m->out.quit);
    press(m, "q y");
    assert_shows(m, "save as: gmm.yaml");
    press(m, "Esc s Esc");
    assert_false(m->out.quit);
    press(m, "q y Enter");
    assert_true(m->out.quit);
    assert_true(file_exists("gmm.yaml"));
    unlink("gmm.yaml");
    model_free(m);
    m = model_on(GMM);
    press(m, "p q n");
    assert_true(m->out.quit);
    model_free(m);
    m = model_on(GMM);
    press(m, "p C-c");
    assert_true(m->out.quit);
    session_autosave_drop(m->session);
    model_free(m);
}

/* What a question was for is forgotten with the save that it led to. */
static void test_given_up(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "C-u Enter", "C-u loop Space unroll Space C Space K Enter", "Esc", "C-u u Enter Esc",
    };
    struct err e;
    for (int i = 0; i < COUNT_OF(keys); i++) {
        struct model *m = model_on(GMM);
        assert_true(file_write_atomic("two.yaml", other_text, strlen(other_text), &e));
        press(m, "p s Enter U");
        assert_true(file_write_atomic("gmm.yaml", other_text, strlen(other_text), &e));
        press(m, ": e Space two.yaml Enter y");
        assert_shows(m, "gmm.yaml changed on disk");
        press(m, keys[i]);
        assert_null(m->next);
        press(m, ": w Space three.yaml Enter");
        assert_shows(m, "saved to three.yaml");
        assert_string_equal(m->session->path, "three.yaml");
        assert_false(m->out.quit);
        unlink("three.yaml");
        unlink("gmm.yaml");
        model_free(m);
    }
    struct model *m = model_on(GMM);                      /* another name is the same save */
    press(m, "p : e Space two.yaml Enter y C-u four.yaml Enter");
    assert_string_equal(m->session->path, "two.yaml");
    assert_true(file_exists("four.yaml"));
    unlink("two.yaml");
    unlink("four.yaml");
    unlink("gmm.yaml");
    model_free(m);
}

static void test_dump_and_export(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct str text = {0};
    struct err e;
    press(m, ": dump Space screen.txt Enter");
    assert_true(file_read("screen.txt", 1 << 20, &text, &e));
    assert_non_null(strstr(str_text(&text), "for m, n in range(64, 48):"));
    press(m, ": dump Space screen.txt Enter");
    assert_string_equal(str_text(&m->message.text), "that file exists already");
    assert_string_equal(str_text(&m->prompt.line), "dump screen.txt");
    press(m, "Enter");
    assert_shows(m, "screen written to screen.txt");
    press(m, ": dump Space screen.svg Enter");
    str_clear(&text);
    assert_true(file_read("screen.svg", 1 << 20, &text, &e));
    assert_true(str_starts(str_text(&text), "<svg") || strstr(str_text(&text), "<svg"));
    press(m, ": dump Space /nowhere/x.txt Enter");
    assert_int_equal(m->message.kind, MESSAGE_ERROR);
    assert_true(m->prompt.open);
    press(m, "Esc : dump Enter");
    assert_int_equal(m->message.kind, MESSAGE_ERROR);
    press(m, "Esc : export Space /nowhere/x.c Enter");
    assert_int_equal(m->message.kind, MESSAGE_ERROR);
    press(m, "Esc y");
    assert_non_null(strstr(str_text(&m->out.copy), "for m, n"));
    str_free(&text);
    unlink("screen.txt");
    model_free(m);
}

/* the start screen */

static void test_start(void **state)
{
    (void)state;
    struct model *m = model_on(NULL);
    assert_shows(m, "Start on an operator");
    assert_shows(m, "matrix multiplication");
    press(m, "u");
    press(m, "G");
    model_resize(m, 120, 40);
    press(m, "g G");
    assert_shows(m, "Enter puts this on the prompt");
    press(m, ": new Space gmm Space m=4 Space kk=2 Enter");
    assert_int_equal(m->message.kind, MESSAGE_ERROR);
    assert_true(m->prompt.open);
    press(m, "End C-u new Space gmm Space m=4 Space k=2 Space n=8 Enter");
    assert_non_null(m->session);
    assert_shows(m, "for m, n in range(4, 8):");
    press(m, ": start Enter");
    assert_null(m->session);
    press(m, ": loop Space split Enter");
    assert_shows(m, "no operator is open yet");
    press(m, "Esc q");
    assert_true(m->out.quit);
    model_free(m);
}

/* Of the unsaved work of processes that are gone, the newest dozen. */
static void test_start_shows_the_newest(void **state)
{
    (void)state;
    enum { KILLS = 13 };
    struct autosave found[KILLS];
    struct session *s = NULL;
    struct err e;
    char *before = xstrdup(getenv("XDG_STATE_HOME")), own[600];
    snprintf(own, sizeof own, "%s/kills", before);
    setenv("XDG_STATE_HOME", own, 1);
    for (int i = 0; i < KILLS; i++) {
        pid_t child = fork_child();
        if (child == 0) {
            bool ok = session_new(GMM, &s, &e);
            snprintf(s->title, sizeof s->title, "work %02d", i);
            _exit(ok && session_autosave(s, &e) ? 0 : 1);
        }
        int status;
        waitpid(child, &status, 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(session_autosaves(found, KILLS), KILLS);
    for (int i = 0; i < KILLS; i++) {                    /* 00 is the oldest */
        struct timespec then = { .tv_sec = time(NULL) - 60 * (KILLS - atoi(found[i].title + 5)) };
        utimensat(AT_FDCWD, found[i].path, (struct timespec[]){ then, then }, 0);
    }
    struct model *m = model_on(NULL);
    model_resize(m, 80, 60);
    screen_refresh(m);
    assert_shows(m, "work 12");
    assert_shows(m, "work 01");
    assert_hides(m, "work 00");
    press(m, "g d");
    assert_shows(m, "press d again to delete this unsaved session");
    assert_shows(m, "work 12");
    press(m, "d");
    assert_hides(m, "work 12");
    assert_false(file_exists(found[0].path));
    press(m, "G d");
    assert_shows(m, "only unsaved work can be discarded here");
    model_free(m);
    for (int i = 0; i < KILLS; i++)
        unlink(found[i].path);
    setenv("XDG_STATE_HOME", before, 1);
    free(before);
}

/* An operator typed as a command opens: on the start page, and beside an open one after a
 * question. */
static void test_operators_are_commands(void **state)
{
    (void)state;
    struct model *m = model_on(NULL);
    type_line(m, "gmm m=8 k=8");
    assert_shows(m, "n");
    assert_null(m->session);
    assert_true(m->prompt.open);
    press(m, "Esc");
    type_line(m, "gmm m=8 k=8 n=16");
    assert_non_null(m->session);
    assert_shows(m, "gmm m=8 k=8 n=16");
    type_line(m, "gmm");                                 /* no operator, and no step */
    assert_shows(m, "there is no such step or command");
    press(m, "Esc");
    type_line(m, "loop unroll C K");
    type_line(m, "c2d n=1 i=8 h=8 w=8 o=8 k=3");
    assert_shows(m, "Save the changes first?");
    press(m, "n");
    assert_shows(m, "c2d n=1 i=8 h=8 w=8 o=8 k=3");
    type_line(m, "x = input n=4; y = relu(x)");
    assert_shows(m, "relu");
    model_free(m);
}

static char started_in[400];              /* the repository */

/* A model is opened as a session without changes: nothing to ask about, nothing to keep. */
static void test_onnx(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    char line[512];
    snprintf(line, sizeof line, "e %s/tests/fuzz/corpus/onnx/conv.onnx", started_in);
    if (!model_command(m, line))
        fail_msg("%s", str_text(&m->message.text));
    assert_shows(m, "gmm m=64");
    run_jobs(m);
    assert_shows(m, "for n, o, h, w in range(1, 1, 4, 3)");
    assert_hides(m, "(not saved)");
    assert_string_equal(m->session->path, "");
    assert_false(model_unsaved(m));
    press(m, "s");
    assert_shows(m, "save as: conv.yaml");
    press(m, "Esc q");
    assert_true(m->out.quit);
    m->out.quit = false;
    assert_false(model_command(m, "e missing.onnx"));
    assert_shows(m, "missing.onnx");
    assert_shows(m, "for n, o, h, w in range(1, 1, 4, 3)");
    model_free(m);
}

/* A model that is read while the question about recovered changes is open asks its own question. */
static void test_onnx_beside_a_question(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    char line[512];
    snprintf(line, sizeof line, "e %s/tests/fuzz/corpus/onnx/conv.onnx", started_in);
    press(m, "p");
    assert_true(model_command(m, line));
    m->recover = xcalloc(1, sizeof *m->recover);
    m->recover->own = true;
    m->overlay = OVERLAY_ASK;
    run_jobs(m);
    assert_shows(m, "Save the changes first?");
    press(m, "n");
    run_jobs(m);
    assert_shows(m, "for n, o, h, w in range(1, 1, 4, 3)");
    model_free(m);
}

/* A model is recent when it is shown, not when the question about unsaved changes is asked. */
static void test_onnx_that_was_cancelled(void **state)
{
    (void)state;
    static char recent[4][512];
    struct model *m = model_on(GMM);
    char line[512];
    press(m, "p");
    snprintf(line, sizeof line, "e %s/tests/fuzz/corpus/onnx/maxpool.onnx", started_in);
    assert_true(model_command(m, line));
    run_jobs(m);
    assert_shows(m, "Save the changes first?");
    press(m, "Esc");
    session_recent(recent, 4);
    assert_false(str_ends(recent[0], "/maxpool.onnx"));
    assert_true(model_command(m, line));
    run_jobs(m);
    press(m, "n");
    session_recent(recent, 4);
    assert_true(str_ends(recent[0], "/maxpool.onnx"));
    model_free(m);
}

/* Tab knows every file of a large folder. */
static void test_completes_every_file(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct arena *a = arena_new();
    const char *folder = arena_printf(a, "%s/many", temp_dir(NULL));
    struct completions c = {0};
    assert_int_equal(mkdir(folder, 0700), 0);
    for (int i = 0; i < 300; i++) {
        FILE *f = fopen(arena_printf(a, "%s/f%03d.yaml", folder, i), "w");
        assert_non_null(f);
        fclose(f);
    }
    prompt_open(&m->prompt, ':', "");
    model_complete(m, a, arena_printf(a, "e %s/", folder), &c);
    assert_int_equal(c.n, 300);
    assert_true(str_ends(c.item[0].word, "/f000.yaml"));
    assert_true(str_ends(c.item[299].word, "/f299.yaml"));
    /* other files are offered where there is nothing to open */
    fclose(fopen(arena_printf(a, "%s/f000.npz", folder), "w"));
    fclose(fopen(arena_printf(a, "%s/g.txt", folder), "w"));
    model_complete(m, a, arena_printf(a, "e %s/f000", folder), &c);
    assert_int_equal(c.n, 1);
    model_complete(m, a, arena_printf(a, "e %s/g", folder), &c);
    assert_int_equal(c.n, 1);
    model_complete(m, a, arena_printf(a, "w %s/f000", folder), &c);
    assert_int_equal(c.n, 2);
    arena_free(a);
    model_free(m);
}

static void test_operator_goes_to_the_prompt(void **state)
{
    (void)state;
    setenv("TILESCOPE_HOME", "/nowhere", 1);
    struct model *m = model_on(NULL);
    press(m, "G Enter");                                 /* models opened before are above */
    assert_true(m->prompt.open);
    assert_true(str_starts(str_text(&m->prompt.line), "new "));
    press(m, "Enter");
    assert_non_null(m->session);
    model_free(m);
}

static void test_unsaved_work_is_asked_about(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "p : new Space gmm Space m=4 Space k=2 Space n=8 Enter");
    assert_shows(m, "Save the changes first?");
    press(m, "c");
    assert_string_equal(step_of(m), "loop parallel C M");
    press(m, ": new Space gmm Space m=4 Space k=2 Space n=8 Enter n");
    assert_shows(m, "for m, n in range(4, 8):");
    model_free(m);
}

/* background work */

/* A finished job of the lane's wish, with these results. */
static struct app_job *finished(const struct model *m, enum job_lane lane, double ms, bool verified)
{
    struct desired_job w;
    assert_true(model_desired_job(m, lane, &w));
    struct app_job *j = model_job(m, &w);
    j->ok = true;
    j->m.outcome = verified ? OUTCOME_OK : OUTCOME_WRONG;
    j->m.verified = verified;
    if (verified)
        j->m.latency = (struct latency){.median_ms = ms, .min_ms = ms, .max_ms = ms, .runs = 11};
    else
        snprintf(j->m.reason, sizeof j->m.reason, "element 3 of C is off by 2");
    j->m.sim.available = true;
    j->m.sim.cache.n_levels = 1;
    j->m.sim.cache.level[0].geometry = (struct cache_geometry){32768, 8, 64};
    j->m.sim.l1_misses = (int64_t)(ms * 1000);
    j->m.sim.n = 1;
    snprintf(j->m.sim.by_tensor[0].tensor, sizeof j->m.sim.by_tensor[0].tensor, "A");
    j->m.sim.by_tensor[0].cost.l1_misses = j->m.sim.l1_misses;
    return j;
}

static void deliver(struct model *m, struct app_job *j)
{
    model_done(m, j);
    job_free(j);
}

static void test_measuring(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct desired_job w = { .kind = JOB_TUNE };
    assert_false(model_desired_job(m, LANE_MEASURE, &w));
    press(m, "m");
    assert_true(model_desired_job(m, LANE_MEASURE, &w));
    assert_int_equal(w.kind, JOB_MEASURE);
    assert_shows(m, "running");
    deliver(m, finished(m, LANE_MEASURE, 10, true));
    assert_shows(m, "10.0 ms");
    assert_shows(m, "✓");
    assert_shows(m, "measured: best 10.0 ms; the result is correct");
    assert_false(model_desired_job(m, LANE_MEASURE, &w));
    assert_false(m->session->dirty);
    press(m, "A p");
    deliver(m, finished(m, LANE_MEASURE, 4, true));
    assert_shows(m, "-60 %");
    press(m, "6");
    assert_shows(m, "latency:  4.00 ms best");
    static const char *const sum[] = { "A ", "total " };
    for (int i = 0; i < 2; i++) {                         /* 4,000 misses, and 10,000 before */
        const char *row = strstr(strstr(screen_of(m), "  change"), sum[i]);
        assert_non_null(row);
        assert_true(strstr(row, "4000    -60 %") && strstr(row, "-60 %") < strchr(row, '\n'));
    }
    press(m, "1 U");
    deliver(m, finished(m, LANE_MEASURE, 1, false));
    assert_shows(m, "element 3 of C is off by 2");
    assert_shows(m, "✗");
    model_free(m);
}

/* The autosave of the one session that this process has, or NULL; valid until the next call. */
static const char *autosaved(void)
{
    static struct str text;
    struct str dir = {0}, path = {0};
    struct err e;
    bool found = false;
    assert_true(dir_state(&dir, &e));
    str_add(&dir, "/autosave");
    DIR *d = opendir(str_text(&dir));
    for (struct dirent *entry; d && (entry = readdir(d)) != NULL;) {
        str_clear(&path);
        str_printf(&path, "%s/%s", str_text(&dir), entry->d_name);
        if (str_ends(entry->d_name, ".yaml"))
            found = file_read(str_text(&path), 1 << 20, &text, &e);
    }
    if (d)
        closedir(d);
    str_free(&dir);
    str_free(&path);
    return found ? str_text(&text) : NULL;
}

/* Numbers are kept safe at once; leaving asks about those that were asked for and have a file. */
static void test_numbers_are_kept(void **state)
{
    (void)state;
    struct session *s = NULL;
    struct err e;
    char *before = xstrdup(getenv("XDG_STATE_HOME")), own[600];
    snprintf(own, sizeof own, "%s/numbers", before);
    setenv("XDG_STATE_HOME", own, 1);
    struct model *m = model_on(GMM);
    press(m, "p s Enter");
    assert_null(autosaved());
    press(m, "m");
    deliver(m, finished(m, LANE_MEASURE, 7, true));
    assert_false(m->session->dirty);
    assert_non_null(strstr(autosaved(), "latency_ms: {median: 7,"));
    assert_non_null(strstr(autosaved(), "machine: "));
    press(m, "q");
    assert_shows(m, "Save what was measured first?");
    press(m, "c q y");
    assert_true(m->out.quit);
    assert_null(autosaved());
    assert_true(session_load("gmm.yaml", &s, &e));
    assert_true(history_current(s->history)->measured->latency.min_ms == 7);
    assert_true(s->machine[0]);
    session_free(s);
    m->out.quit = false;
    press(m, "m");
    deliver(m, finished(m, LANE_MEASURE, 8, true));
    press(m, "q n");
    assert_true(m->out.quit);
    assert_null(autosaved());
    model_free(m);

    m = model_on(GMM);                                    /* no file that could gain by it */
    press(m, "m");
    deliver(m, finished(m, LANE_MEASURE, 9, true));
    assert_non_null(strstr(autosaved(), "latency_ms: {median: 9,"));
    press(m, "q");
    assert_true(m->out.quit);
    assert_null(autosaved());
    model_free(m);

    m = model_on(NULL);                                   /* nobody asked for them */
    m->autorun = true;
    assert_true(file_write_atomic("bare.yaml", other_text, strlen(other_text), &e));
    press(m, ": e Space bare.yaml Enter");
    deliver(m, finished(m, LANE_MEASURE, 6, true));
    assert_non_null(strstr(autosaved(), "latency_ms: {median: 6,"));
    press(m, "q");
    assert_true(m->out.quit);
    assert_null(autosaved());
    model_free(m);
    unlink("gmm.yaml");
    unlink("bare.yaml");
    setenv("XDG_STATE_HOME", before, 1);
    free(before);
}

static void test_measuring_all(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct desired_job w;
    press(m, "p U u M");
    for (int i = 0; i < 3; i++)
        deliver(m, finished(m, LANE_MEASURE, 8 - i, true));
    assert_false(model_desired_job(m, LANE_MEASURE, &w));
    assert_shows(m, "every step has its numbers");
    assert_shows(m, "8.00 ms");
    assert_shows(m, "7.00 ms   -12 %");
    assert_shows(m, "6.00 ms   -14 %");
    press(m, "M");
    assert_shows(m, "every step has its numbers already");
    press(m, "C-r p M Esc");
    assert_false(model_desired_job(m, LANE_MEASURE, &w));
    model_free(m);
}

static void test_threads(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    m->cores = 2;
    press(m, "A m");
    deliver(m, finished(m, LANE_MEASURE, 8, true));
    press(m, "p");
    deliver(m, finished(m, LANE_MEASURE, 4, true));
    assert_shows(m, "measuring with 1 thread: :threads 2");
    press(m, "Right U");
    deliver(m, finished(m, LANE_MEASURE, 4.2, true));
    assert_hides(m, "measuring with 1 thread");
    assert_shows(m, "best 4.20 ms, change +5 %");
    assert_hides(m, "1t");
    press(m, ": threads Space 2 Enter Right");
    assert_shows(m, "4.20 ms  1t    +5 %");              /* the next time will be of two */
    press(m, ": loop Space serial Space C Space N Enter");
    struct app_job *j = finished(m, LANE_MEASURE, 2, true);
    assert_int_equal(j->threads, 2);
    j->m.threads = 2;
    deliver(m, j);
    assert_shows(m, "best 2.00 ms with 2 threads; the result");
    assert_shows(m, "2.00 ms  2t  ");
    assert_shows(m, "4.20 ms  1t    +5 %");
    assert_hides(m, "-52 %");
    assert_true(model_run(m, "threads 1024"));
    assert_non_null(strstr(str_text(&m->message.text), "1024 threads take turns on "));
    assert_null(strstr(str_text(&m->message.text), "no loop is parallel"));
    assert_true(model_run(m, "loop serial C M"));
    assert_true(model_run(m, "threads 2"));
    assert_non_null(strstr(str_text(&m->message.text), "no loop is parallel"));
    assert_true(model_run(m, "threads 1"));
    assert_null(strstr(str_text(&m->message.text), "no loop is parallel"));
    model_free(m);
}

/* A time that was measured with older settings is there again when they are. */
static void test_times_come_back_with_their_settings(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct compiler cc = { .version = "" };
    struct err ignored;
    compiler_find(NULL, &cc, &ignored);
    m->cores = 2;
    for (int threads = 1; threads <= 2; threads++) {
        char line[16];
        snprintf(line, sizeof line, "threads %d", threads);
        assert_true(model_run(m, line));
        press(m, "m");
        struct app_job *j = finished(m, LANE_MEASURE, 10 - 2 * threads, true);
        j->m.threads = threads;
        snprintf(j->m.isa, sizeof j->m.isa, "%s", target_or_host(NULL)->isa);
        snprintf(j->m.compiler, sizeof j->m.compiler, "%s", cc.version);
        deliver(m, j);
    }
    assert_shows(m, "6.00 ms");
    assert_true(model_run(m, "threads 1"));
    assert_shows(m, "8.00 ms");
    assert_hides(m, "6.00 ms");
    assert_true(model_run(m, "isa plain"));
    assert_shows(m, "*8.00 ms");
    assert_true(model_run(m, "isa default"));
    assert_true(model_run(m, "threads 2"));
    assert_shows(m, "6.00 ms");
    model_free(m);
}

/* No more threads are advised than this process has cores. */
static void test_threads_on_one_core(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    m->cores = 1;
    press(m, "p");
    assert_hides(m, "threads 2");
    assert_true(model_run(m, "threads 2"));
    assert_non_null(strstr(str_text(&m->message.text), "2 threads take turns on 1 core"));
    assert_true(model_run(m, "threads 1"));
    m->cores = 2;
    assert_true(model_run(m, "loop split C K 4"));
    assert_shows(m, "parallel, but measuring with 1 thread: :threads 2");
    model_free(m);
}

static void test_copies_are_told(void **state)
{
    (void)state;
    struct model *m = model_on(C2D);
    press(m, ": layout Space unfold Space ReLU Space H Space tile=4 Space stride=2 Enter");
    assert_shows(m, "ReLU is stored 1.71 times: tiles");
    assert_shows(m, " overlap");
    press(m, ": layout Space unfold Space Ker Space KH Space tile=2 Space stride=1 Enter");
    assert_shows(m, "Ker is stored 1.33 times: tiles");
    m->cores = 2;
    press(m, "u p");
    assert_shows(m, "parallel, but measuring with 1 thread");
    press(m, "p");
    type_line(m, "loop parallel Conv H");
    assert_hides(m, "measuring with 1 thread");
    model_resize(m, 160, 30);
    type_line(m, "loop inline Inp");
    type_line(m, "layout unfold Inp H tile=4 stride=2");
    assert_shows(m, "Inp is computed where it is read (loop inline), so its layout acts");
    assert_hides(m, "Inp is stored");
    model_free(m);
}

static void test_stale_results(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "A p");
    struct app_job *late = finished(m, LANE_MEASURE, 3, true);
    press(m, "U");
    deliver(m, late);
    assert_shows(m, "3.00 ms");
    struct desired_job w;
    assert_true(model_desired_job(m, LANE_MEASURE, &w));
    struct app_job *cancelled_job = finished(m, LANE_MEASURE, 9, true);
    cancelled_job->ok = false;
    cancelled_job->e.code = ERR_CANCEL;
    deliver(m, cancelled_job);
    assert_hides(m, "9.00 ms");
    assert_true(model_desired_job(m, LANE_MEASURE, &w));
    press(m, "Esc");
    assert_false(model_desired_job(m, LANE_MEASURE, &w));
    press(m, "m");
    late = finished(m, LANE_MEASURE, 7, true);
    press(m, ": new Space gmm Space m=4 Space k=2 Space n=8 Enter n");
    deliver(m, late);
    assert_hides(m, "7.00 ms");
    model_free(m);
}

static void test_no_compiler(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "A");
    struct app_job *j = finished(m, LANE_MEASURE, 3, true);
    j->ok = false;
    err_set(&j->e, ERR_ENV, "no C compiler");
    err_fix(&j->e, "install gcc");
    deliver(m, j);
    assert_shows(m, "no C compiler");
    assert_shows(m, "install gcc; measuring is off now");
    assert_false(m->autorun);
    model_free(m);
}

static void test_code_comes_from_jobs(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct desired_job w;
    assert_false(model_desired_job(m, LANE_TEXT, &w));
    press(m, "4");
    assert_shows(m, "writing the C code");
    assert_true(model_desired_job(m, LANE_TEXT, &w));
    assert_int_equal(w.kind, JOB_C);
    struct app_job *j = model_job(m, &w);
    job_run(j, NULL, NULL);
    assert_true(j->ok);
    deliver(m, j);
    assert_shows(m, "for (long");
    assert_false(model_desired_job(m, LANE_TEXT, &w));
    press(m, "p");
    assert_shows(m, "for (long");
    press(m, "1");
    press(m, "p 4");
    assert_true(model_desired_job(m, LANE_TEXT, &w));
    model_free(m);
}

/* `e` and `open` take an operator as the command line does. */
static void test_an_operator_is_opened_as_a_file_is(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    type_line(m, "e gmm m=8 k=8 n=8");
    assert_string_equal(history_spec(m->session->history), "gmm m=8 k=8 n=8");
    type_line(m, "e gmm.yaml");
    assert_shows(m, "gmm.yaml");
    model_free(m);
}

/* A loop of one iteration is no loop in the code: the next inner one stands for it. */
static void test_code_follows_a_loop_of_one_iteration(void **state)
{
    (void)state;
    struct model *m = model_on("c2d n=1 i=4 h=8 w=8 o=8 k=3");
    struct desired_job w;
    model_resize(m, 80, 18);
    press(m, "g h h h h");
    assert_string_equal(loop_of(m), "N");
    press(m, "4");
    assert_true(model_desired_job(m, LANE_TEXT, &w));
    struct app_job *j = model_job(m, &w);
    job_run(j, NULL, NULL);
    deliver(m, j);
    assert_shows(m, "▸    for (long o = 0; o < 8; o++) {");
    model_free(m);
}

/* C and assembly mark the lines of the loop under the cursor of the nest; Enter goes back from a
 * line to its loop; H goes to the hottest. */
static void test_code_follows_the_cursor(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct desired_job w;
    model_resize(m, 80, 18);              /* no code fits the pane as a whole, for whatever CPU */
    press(m, "j j 4");
    assert_string_equal(loop_of(m), "K");
    assert_true(model_desired_job(m, LANE_TEXT, &w));
    struct app_job *j = model_job(m, &w);
    job_run(j, NULL, NULL);
    deliver(m, j);
    assert_shows(m, "▸            for (long k = 0; k < 32; k++) {");
    assert_shows(m, "c0 += A[32*m + k] * B[48*k + n];");  /* with its body */
    press(m, "4 Enter");
    assert_string_equal(loop_of(m), "K");
    assert_int_equal(m->focus, PANE_MAIN);
    press(m, "4 k k Enter");
    assert_string_equal(loop_of(m), "N");
    press(m, "4 g Enter");
    assert_shows(m, "this line belongs to no loop of the nest");
    press(m, "1 g h 4");
    assert_shows(m, "▸    for (long m = 0;");
    press(m, "H W");
    assert_shows(m, "W waits for the code; any other key takes it back");
    screen_paste(m, "w");                                /* the prompt takes no waiting key */
    assert_true(m->waiting == 0);
    press(m, "Esc k Enter");
    assert_shows(m, "Enter waits for the code");
    press(m, "W");
    assert_true(model_desired_job(m, LANE_TEXT, &w));
    assert_int_equal(w.kind, JOB_ASM);
    j = model_job(m, &w);
    job_run(j, NULL, NULL);
    bool ok = j->ok;
    deliver(m, j);
    if (ok) {
        assert_shows(m, "loop K of C: ");
        assert_shows(m, " % of executed instructions; ");
        assert_shows(m, " instructions, in N M");
        assert_shows(m, "K of C: no step; it is a loop");  /* what the waiting W says */
        assert_hides(m, "waits for the code");
        m->data_stamp++;                                 /* another job has ended, */
        screen_refresh(m);                               /* and the cursor stays */
        int at = m->pane[VIEW_ASM].scroll.cursor;
        press(m, "Enter");                               /* the heading leads to its loop, too */
        assert_string_equal(loop_of(m), "K");
        press(m, "Esc");                                 /* back to the same line */
        assert_int_equal(m->view[m->focus], VIEW_ASM);
        assert_int_equal(m->pane[VIEW_ASM].scroll.cursor, at);
    }
    model_free(m);
}

/* What is cancelled before it starts has no result. */
static void test_cancelled_jobs(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct cancel raised = { .raised = 1 };
    static const enum job_kind kind[] = { JOB_MEASURE, JOB_ASM };
    for (int i = 0; i < COUNT_OF(kind); i++) {
        struct app_job *j = model_job(m, &(struct desired_job){ .kind = kind[i],
                                                                .tag = model_tag(m) });
        job_run(j, &raised, NULL);
        assert_false(j->ok);
        assert_int_equal(j->e.code, ERR_CANCEL);
        job_free(j);
    }
    model_free(m);
}

static struct app_job *run_text_job(struct model *m)
{
    struct desired_job w;
    assert_true(model_desired_job(m, LANE_TEXT, &w));
    struct app_job *j = model_job(m, &w);
    job_run(j, NULL, NULL);
    return j;
}

/* SASS is of a GPU. */
static void test_sass_of_a_cpu(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "%");
    deliver(m, run_text_job(m));
    assert_shows(m, "SASS is the machine code of a GPU");
    assert_shows(m, " Fix: 5 shows its assembly");
    model_free(m);
}

/* Loops that are bound to a GPU have CUDA C, PTX and SASS, or the reason why there is none. */
static void test_code_of_a_gpu(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct err e;
    type_line(m, "loop bind C M block.x");
    type_line(m, "loop bind C N thread.x");
    press(m, "4");
    deliver(m, run_text_job(m));
    assert_shows(m, "const int m = blockIdx.x;");
    press(m, "g");
    for (int i = 0; i < 10; i++)
        press(m, "j");
    press(m, "Enter");
    assert_string_equal(loop_of(m), "N");
    press(m, "4");
    assert_shows(m, "▸    const int n = threadIdx.x;");
    setenv("TILESCOPE_NVRTC", "/nowhere/libnvrtc.so", 1);
    press(m, "5");
    deliver(m, run_text_job(m));
    assert_shows(m, "NVRTC cannot be loaded");
    assert_shows(m, "4 shows");
    press(m, "%");
    deliver(m, run_text_job(m));
    assert_shows(m, "NVRTC cannot be loaded");
    assert_shows(m, "the PTX");
    assert_hides(m, "?Fix:");
    unsetenv("TILESCOPE_NVRTC");
    model_free(m);
    if (!nvrtc_there(&e))
        return;
    m = model_on(GMM);
    type_line(m, "loop bind C M block.x");
    press(m, "5");
    deliver(m, run_text_job(m));
    assert_shows(m, ".visible .entry kernel_0(");
    model_free(m);
}

/* A result that nobody has taken yet is not worked on again. */
static void test_untaken_results(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    struct job_queue *q;
    struct job_progress p;
    struct desired_job w;
    struct err e;
    press(m, "4");
    assert_true(model_desired_job(m, LANE_TEXT, &w));
    assert_true(job_queue_open(&q, &e));
    job_queue_start(q, model_job(m, &w));
    struct pollfd fd = {.fd = job_queue_fd(q), .events = POLLIN};
    assert_int_equal(poll(&fd, 1, 60000), 1);            /* a job for C reports its end only */
    job_queue_progress(q, LANE_TEXT, &p);
    assert_true(p.running && p.busy);
    assert_int_equal(p.kind, w.kind);
    assert_int_equal(p.tag, w.tag);
    job_queue_progress(q, LANE_MEASURE, &p);
    assert_false(p.running);
    struct app_job *j = job_queue_take(q);
    assert_true(j && j->ok);
    job_free(j);
    job_queue_progress(q, LANE_TEXT, &p);
    assert_false(p.running || p.busy);
    job_queue_close(q);
    model_free(m);
}

/* anything at all */

static void test_mouse(void **state)
{
    (void)state;
    struct model *m = model_on(C2D);
    screen_of(m);
    for (int i = 0; i < m->hits.len; i++)
        if (m->hits.data[i].key == '6') {
            struct rect at = m->hits.data[i].r;
            struct mouse_event e = {.x = at.x, .y = at.y, .press = true};
            screen_mouse(m, &e);
            break;
        }
    assert_int_equal(m->view[m->last_view], VIEW_PROFILE);
    struct mouse_event ledger = {.x = 10, .y = m->frame.pane[PANE_LEDGER].y + 1, .press = true};
    screen_mouse(m, &ledger);
    assert_int_equal(m->focus, PANE_LEDGER);
    struct mouse_event wheel = {.x = 10, .y = m->frame.pane[PANE_SIDE].y + 2, .wheel = 1};
    screen_mouse(m, &wheel);
    assert_int_equal(m->focus, PANE_SIDE);
    press(m, "1 p p u u Tab");                            /* Enter goes to the cursor's step */
    assert_int_equal(m->focus, PANE_LEDGER);
    model_resize(m, 200, 40);
    press(m, "End");
    assert_true(m->frame.pane[PANE_LEDGER].h > 8);
    ledger.double_click = true;
    ledger.y = m->frame.pane[PANE_LEDGER].y + 8;          /* below the last step */
    screen_mouse(m, &ledger);
    assert_string_equal(step_of(m), "");
    ledger.y = m->frame.pane[PANE_LEDGER].y + 2;
    screen_mouse(m, &ledger);
    assert_string_equal(step_of(m), "loop parallel Conv O");
    session_autosave_drop(m->session);
    model_free(m);
}

static void test_every_size(void **state)
{
    (void)state;
    static const char *const open[] = {"1", "2", "3", "4", "6", "?", "B", "Tab", ":", "Enter"};
    for (int k = 0; k < COUNT_OF(open); k++) {
        struct model *m = model_on(GMM);
        press(m, "p");
        press(m, open[k]);
        for (int w = 1; w < 180; w += w < 44 ? 1 : 7)
            for (int h = 1; h < 50; h += h < 14 ? 1 : 5) {
                model_resize(m, w, h);
                screen_refresh(m);
                screen_of(m);
            }
        session_autosave_drop(m->session);
        model_free(m);
    }
}

static void random_keys(uint64_t seed, int n)
{
    static const int keys[] = {
        K_TAB, K_ENTER, K_ESC, K_BACKSPACE, K_UP, K_DOWN, K_LEFT, K_RIGHT, K_PGUP, K_PGDN, K_HOME,
        K_END, K_DEL, K_BACKTAB, K_SHIFT_UP, K_SHIFT_DOWN, K_F1, 18, 21, 4, 23, 11, 0x4E2D, 0x301,
    };
    struct rng r = rng_seed(seed);
    struct model *m = model_on(seed % 2 ? GMM : C2D);
    for (int i = 0; i < n; i++) {
        int64_t kind = rng_range(&r, 0, 9);
        if (kind == 0)
            model_resize(m, (int)rng_range(&r, 1, 170), (int)rng_range(&r, 1, 50));
        else if (kind < 5)
            screen_key(m, keys[rng_range(&r, 0, COUNT_OF(keys) - 1)]);
        else
            screen_key(m, (int)rng_range(&r, ' ', '~'));
        if (i % 7 == 0)
            screen_of(m);
        m->out.quit = false;
    }
    if (m->session)
        session_autosave_drop(m->session);
    model_free(m);
}

static void test_random_keys(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++)
        random_keys(seed, 1500);
}

/* A step made of words that completion offers. */
static void random_line(struct model *m, struct rng *r, struct str *line)
{
    static const char *const first[] = {"loop", "loop", "loop", "layout", "layout", "set"};
    struct arena *a = arena_new();
    str_clear(line);
    str_printf(line, "%s ", first[rng_range(r, 0, COUNT_OF(first) - 1)]);
    m->prompt.mark = ':';
    for (int i = 0; i < 8; i++) {
        struct completions c = {0};
        model_complete(m, a, str_text(line), &c);
        if (c.n == 0 || (i > 2 && rng_range(r, 0, 4) == 0))
            break;
        const char *word = c.item[rng_range(r, 0, c.n - 1)].word;
        str_printf(line, "%s%s", word, str_ends(word, "=") ? "4 " : " ");
    }
    arena_free(a);
}

/* Programs of all shapes: every view can show every state that steps lead to. */
static void test_random_steps(void **state)
{
    (void)state;
    static const char *const views[] = {"1", "2", "3", "6", "Tab"};
    int applied = 0;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct rng r = rng_seed(seed);
        struct model *m = model_on(seed % 2 ? C2D : GMM);
        struct str line = {0};
        model_resize(m, seed % 3 ? 80 : 160, 30);
        for (int i = 0; i < 120; i++) {
            random_line(m, &r, &line);
            applied += model_command(m, str_text(&line));
            screen_refresh(m);
            press(m, views[rng_range(&r, 0, COUNT_OF(views) - 1)]);
            press(m, rng_range(&r, 0, 9) ? "Right Down" : "u u u");
            screen_of(m);
        }
        str_free(&line);
        session_autosave_drop(m->session);
        model_free(m);
    }
    print_message("%d of 720 random steps applied\n", applied);
    assert_true(applied > 60);
}

static int in_private_folders(void **state)
{
    (void)state;
    if (!getcwd(started_in, sizeof started_in))
        return -1;
    private_folders();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_look),
        cmocka_unit_test(test_split_by_key),
        cmocka_unit_test(test_prefetch_by_key),
        cmocka_unit_test(test_illegal_step_changes_nothing),
        cmocka_unit_test(test_key_finds_the_loop_it_fits),
        cmocka_unit_test(test_options_become_commands),
        cmocka_unit_test(test_error_keeps_the_line),
        cmocka_unit_test(test_annotations_toggle),
        cmocka_unit_test(test_moves_join),
        cmocka_unit_test(test_moves_after_edits),
        cmocka_unit_test(test_cursor_goes_to_the_step),
        cmocka_unit_test(test_moves_stop_at_the_ends),
        cmocka_unit_test(test_other_loop_keys),
        cmocka_unit_test(test_not_on_a_loop),
        cmocka_unit_test(test_undo_redo_and_counts),
        cmocka_unit_test(test_ledger_goes_to_a_step),
        cmocka_unit_test(test_ledger_changes_the_past),
        cmocka_unit_test(test_keys_say_what_they_do),
        cmocka_unit_test(test_ledger_compares_with_libraries),
        cmocka_unit_test(test_branches),
        cmocka_unit_test(test_branch_from_an_earlier_step),
        cmocka_unit_test(test_branch_after_a_step_taken_back),
        cmocka_unit_test(test_bar_offers_where_enter_leads),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_headings_at_every_width),
        cmocka_unit_test(test_graph_view),
        cmocka_unit_test(test_access_follows_the_layout),
        cmocka_unit_test(test_layout_keys),
        cmocka_unit_test(test_panes_by_size),
        cmocka_unit_test(test_zoom_and_focus),
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_paste),
        cmocka_unit_test(test_completion),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_menu_runs_keys),
        cmocka_unit_test(test_menu_tells_what_is_illegal),
        cmocka_unit_test(test_menu_of_a_layout_tells_what_is_illegal),
        cmocka_unit_test(test_menu_tries_on_a_copy),
        cmocka_unit_test(test_help_topics),
        cmocka_unit_test(test_save),
        cmocka_unit_test(test_no_files),
        cmocka_unit_test(test_changed_on_disk),
        cmocka_unit_test(test_save_as),
        cmocka_unit_test(test_quit),
        cmocka_unit_test(test_given_up),
        cmocka_unit_test(test_dump_and_export),
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_start_shows_the_newest),
        cmocka_unit_test(test_onnx), cmocka_unit_test(test_operators_are_commands),
        cmocka_unit_test(test_onnx_beside_a_question),
        cmocka_unit_test(test_onnx_that_was_cancelled),
        cmocka_unit_test(test_completes_every_file),
        cmocka_unit_test(test_operator_goes_to_the_prompt),
        cmocka_unit_test(test_unsaved_work_is_asked_about),
        cmocka_unit_test(test_measuring),
        cmocka_unit_test(test_numbers_are_kept),
        cmocka_unit_test(test_measuring_all),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_threads_on_one_core),
        cmocka_unit_test(test_times_come_back_with_their_settings),
        cmocka_unit_test(test_copies_are_told),
        cmocka_unit_test(test_stale_results),
        cmocka_unit_test(test_no_compiler),
        cmocka_unit_test(test_code_comes_from_jobs),
        cmocka_unit_test(test_an_operator_is_opened_as_a_file_is),
        cmocka_unit_test(test_code_follows_the_cursor),
        cmocka_unit_test(test_code_follows_a_loop_of_one_iteration),
        cmocka_unit_test(test_code_of_a_gpu),
        cmocka_unit_test(test_sass_of_a_cpu),
        cmocka_unit_test(test_cancelled_jobs),
        cmocka_unit_test(test_untaken_results),
        cmocka_unit_test(test_mouse),
        cmocka_unit_test(test_every_size),
        cmocka_unit_test(test_random_keys),
        cmocka_unit_test(test_random_steps),
    };
    return cmocka_run_group_tests(tests, in_private_folders, NULL);
}
