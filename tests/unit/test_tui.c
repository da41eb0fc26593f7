/* The whole program on a terminal: what reaches the screen, and what the terminal does to the
 * program. */
/* tests/run.sh: takes 9 s */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vterm.h>
#include "app/ui/grid.h"
#include "app/ui/term.h"
#include "kernels/base/file.h"
#include "kernels/base/subprocess.h"
#include "tests/unit/fork_child.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/tty.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define GMM "gmm m=64 k=32 n=48"

static const char *const on_gmm[] = {"--no-auto", GMM, NULL};
static const char *const on_conv[] = {
    "--no-auto", "c2d n=1 i=8 h=14 w=14 o=32 k=3 p=1 bias=1 relu=1", NULL,
};
static const char *const on_nothing[] = {"--no-auto", NULL};

/* Files of examples would change the start screen with every example added. */
static int in_private_folders(void **state)
{
    const char *dir = temp_dir("XDG_STATE_HOME");
    char examples[300];
    struct err e;
    (void)state;
    setenv("XDG_CACHE_HOME", dir, 1);
    setenv("TILESCOPE_HOME", dir, 1);
    snprintf(examples, sizeof examples, "%s/examples", dir);
    if (!dir_make(examples, &e))
        return -1;
    snprintf(examples, sizeof examples, "%s/examples/tile.yaml", dir);
    static const char text[] = "tilescope: 1\ntitle: A tiled product\noperator: " GMM "\nsteps:\n"
                               "  - loop split C M 8 8\n";
    return file_write_atomic(examples, text, sizeof text - 1, &e) ? 0 : -1;
}

static struct tty *start(const char *const *argv, int w, int h)
{
    return tty_start(&(struct tty_opts){.w = w, .h = h, .argv = argv});
}

static void quit(struct tty *t)
{
    tty_send(t, "Esc : q! Enter");
    assert_int_equal(tty_wait_end(t), 0);
    assert_true(tty_is_cooked(t));
    tty_free(t);
}

static void test_sizes(void **state)
{
    (void)state;
    static const struct { int w, h; const char *name; } table[] = {
        {80, 24, "conv-80x24"}, {120, 40, "conv-120x40"}, {40, 10, "conv-40x10"},
        {160, 30, "conv-160x30"}, {28, 5, "conv-28x5"},
    };
    for (int i = 0; i < 5; i++) {
        struct tty *t = start(on_conv, table[i].w, table[i].h);
        tty_golden(t, table[i].name);
        quit(t);
    }
}

static void test_simple_terminals(void **state)
{
    (void)state;
    static const struct { const char *term, *locale, *name; } table[] = {
        {"vt100", "C.UTF-8", "vt100-utf8"}, {"vt100", "C", "vt100-c"},
        {"xterm-256color", "C", "xterm-c"}, {"linux", "C.UTF-8", "linux-utf8"},
    };
    for (int i = 0; i < 4; i++) {
        struct tty *t = tty_start(&(struct tty_opts){
            .w = 80, .h = 24, .argv = on_conv, .term = table[i].term, .locale = table[i].locale,
        });
        tty_press(t, "p k");              /* without the note of p, which depends on the cores */
        tty_golden(t, table[i].name);
        quit(t);
    }
}

static void test_a_session(void **state)
{
    (void)state;
    struct tty *t = start(on_gmm, 80, 24);
    tty_press(t, "Right S 16 Enter");
    tty_golden(t, "split");
    tty_press(t, "v");
    tty_golden(t, "illegal");
    tty_press(t, "Right S-Down v");
    tty_golden(t, "vectorized");
    tty_press(t, "u u");
    tty_golden(t, "undone");
    tty_press(t, "C-r");
    tty_assert_shows(t, ":redo");
    tty_press(t, ": layout Space set Space C Space \"M/8 Space N Space 8m\" Enter");
    tty_golden(t, "layout-set");
    tty_press(t, "2");
    tty_golden(t, "access");
    tty_press(t, "3 Down");
    tty_golden(t, "layout");
    tty_press(t, "4");
    tty_assert_shows(t, "for (long n_1 = 0; n_1 < 16; n_1++) {");
    tty_press(t, "6");
    tty_golden(t, "profile-empty");
    quit(t);
}

static void test_prompt(void **state)
{
    (void)state;
    struct tty *t = start(on_gmm, 80, 24);
    tty_press(t, ": loop Space Tab");
    tty_golden(t, "completion");
    tty_press(t, "Esc sp Tab C Space N Space 8");
    tty_golden(t, "prompt");
    tty_press(t, "Enter : Up");
    tty_assert_shows(t, ":loop split C N 8");
    tty_press(t, "C-u C-k C-c");
    tty_bytes(t, "\033[200~loop parallel C M\033[201~");
    tty_assert_shows(t, ":loop parallel C M");
    tty_press(t, "Enter");
    tty_assert_shows(t, "in parallel(64)");
    quit(t);
}

/* A terminal sends Alt-d as Esc and d at once. At the prompt this must not close it and run d. */
static void test_alt_at_the_prompt(void **state)
{
    (void)state;
    struct tty *t = start(on_gmm, 80, 24);
    tty_press(t, "p Tab : undo");
    tty_bytes(t, "\033d");
    tty_assert_shows(t, ":undo");
    tty_assert_shows(t, "loop parallel C M");
    tty_bytes(t, "\033\177");            /* Alt-Backspace deletes the word */
    tty_assert_shows(t, "loop parallel C M");
    tty_press(t, "one Space two");
    tty_bytes(t, "\033[1;5D");           /* C-Left */
    tty_press(t, "X");
    tty_assert_shows(t, ":one Xtwo");
    tty_bytes(t, "\033:three");          /* Esc and the start of a line, typed fast */
    tty_assert_shows(t, "\n:three");
    tty_press(t, "Esc");
    tty_bytes(t, "\033[1;5C");           /* elsewhere C-Right does nothing, */
    tty_bytes(t, "\033[1;3D");
    tty_assert_shows(t, "loop parallel C M");
    tty_bytes(t, "\033d");               /* and Alt-d is Esc, then d */
    tty_assert_shows(t, ":drop 1");
    quit(t);
}

static void test_help(void **state)
{
    (void)state;
    struct tty *t = start(on_gmm, 80, 24);
    tty_press(t, "?");
    tty_golden(t, "help");
    tty_press(t, "undo");
    tty_golden(t, "help-filter");
    tty_press(t, "Esc Enter");
    tty_golden(t, "menu");
    quit(t);
}

static void test_start_screen(void **state)
{
    (void)state;
    struct tty *t = start(on_nothing, 80, 24);
    tty_golden(t, "start");
    tty_resize(t, 120, 24);
    tty_press(t, "g");
    tty_assert_shows(t, "operator: " GMM);                /* the file beside the list */
    tty_resize(t, 80, 24);
    tty_press(t, "g Enter");
    tty_assert_shows(t, "A tiled product");
    tty_assert_shows(t, "loop split C M 8");
    tty_send(t, "q");
    assert_int_equal(tty_end(t), 0);
}

static void test_resizing(void **state)
{
    (void)state;
    struct tty *t = start(on_gmm, 80, 24);
    tty_resize(t, 120, 30);
    tty_assert_shows(t, "┬");
    tty_resize(t, 20, 4);
    tty_assert_shows(t, "terminal too sma");
    tty_resize(t, 4, 2);
    tty_resize(t, 80, 24);
    tty_golden(t, "resized");
    quit(t);
}

/* The shell has the terminal meanwhile, and is the one who hears of the new size. */
static void test_resizing_while_stopped(void **state)
{
    (void)state;
    struct tty *t = tty_start(&(struct tty_opts){
        .w = 100, .h = 30, .argv = on_gmm,
        .script = "set -m; \"$0\" \"$@\"; echo has stopped; read -r; fg",
    });
    tty_send(t, "C-z");
    tty_wait_shows(t, "has stopped", 10);
    assert_true(tty_is_cooked(t));
    tty_set_size(t, 80, 24);
    tty_bytes(t, "\r");
    tty_assert_shows(t, " 8 roof 9 tune ──────────\n▸for m, n in range(64, 48):\n");
    tty_assert_shows(t, "  q quit\n");
    tty_press(t, "g");
    tty_golden(t, "resized");
    quit(t);
}

/* The lines of a plot, each in its own of 256 colours. */
static void test_colours(void **state)
{
    (void)state;
    static const int colour[] = {32, 172, 36, 175, 166};
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    struct str out = {0};
    char part[4096], sgr[32];
    int fd;
    pid_t parent = getpid(), child = forkpty(&fd, NULL, NULL, &size);
    if (child == 0) {
        struct terminal *t;
        struct grid g;
        struct err e;
        end_with_parent(parent);
        setenv("TERM", "xterm-256color", 1);
        unsetenv("NO_COLOR");
        if (!term_open(&(struct term_opts){0}, &t, &e))
            _exit(1);
        grid_open(&g, 80, 24, false);
        for (int i = 0; i < COUNT_OF(colour); i++)
            grid_text(&g, 0, i, STYLE_SERIES + (unsigned)i, "x");
        term_draw(t, &g);
        term_close(t);
        _exit(0);
    }
    for (ssize_t n = 0; n >= 0; n = read(fd, part, sizeof part))
        str_add_n(&out, part, (size_t)n);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(fd);
    for (int i = 0; i < COUNT_OF(colour); i++) {
        snprintf(sgr, sizeof sgr, "38;5;%dmx", colour[i]);
        assert_non_null(strstr(str_text(&out), sgr));
    }
    str_free(&out);
}

static void test_recovery(void **state)
{
    (void)state;
    struct tty *t = start(on_gmm, 80, 24);
    tty_press(t, "p");
    tty_kill(t, SIGKILL);
    assert_int_equal(tty_end(t), -1);
    t = start(on_nothing, 80, 24);
    tty_assert_shows(t, "Unsaved work");
    tty_press(t, "Enter");
    tty_assert_shows(t, "loop parallel C M");
    tty_assert_shows(t, "these changes are not saved yet");
    tty_assert_shows(t, "the undo history is gone");
    tty_kill(t, SIGTERM);
    assert_int_equal(tty_end(t), 0);
    t = start(on_nothing, 80, 24);
    tty_assert_shows(t, "Unsaved work");
    tty_press(t, "d d");
    tty_send(t, "q");
    assert_int_equal(tty_end(t), 0);
}

static void test_asks_before_leaving(void **state)
{
    (void)state;
    struct tty *t = start(on_gmm, 80, 24);
    tty_press(t, "p q");
    tty_golden(t, "ask");
    tty_send(t, "n");
    assert_int_equal(tty_end(t), 0);
}

static void test_mouse(void **state)
{
    (void)state;
    struct tty *t = start(on_gmm, 80, 24);
    const char *tab = strstr(tty_screen(t), "2 access");
    assert_non_null(tab);
    tty_bytes(t, "\033[<0;16;6M");
    tty_bytes(t, "\033[<0;16;6m");
    tty_assert_shows(t, "logical");
    quit(t);
}

/* The one test that compiles, checks and times a kernel. */
static void test_measures(void **state)
{
    (void)state;
    static const char *const argv[] = {GMM, NULL};
    struct tty *t = tty_start(&(struct tty_opts){.w = 80, .h = 24, .argv = argv, .limit_s = 60});
    tty_assert_shows(t, "✓");
    tty_assert_shows(t, "the result is correct");
    tty_press(t, "6");
    tty_assert_shows(t, "L1 misses");
    tty_press(t, "G");
    tty_assert_shows(t, "L1 misses along the outer loops");
    tty_kill(t, SIGKILL);                                /* what is measured is not lost */
    assert_int_equal(tty_end(t), -1);
    t = start(on_nothing, 80, 24);
    tty_assert_shows(t, "Unsaved work");
    tty_press(t, "Enter");
    tty_assert_shows(t, "✓");
    tty_press(t, "q");
    tty_send(t, "n");
    assert_int_equal(tty_end(t), 0);
}

/* Home and End as tmux and rxvt send them, whatever $TERM says, and a key that nobody knows. */
static void test_foreign_keys(void **state)
{
    (void)state;
    static const char *const argv[] = {"--no-auto", "gmm m=8 k=8 n=8", NULL};
    static const struct { const char *bytes, *shows; } row[] = {
        {":abc\033[1~X", ":Xabc"}, {"\033[4~Y", ":XabcY"}, {"\033[7~Z", ":ZXabcY"},
        {"\033[8~.", ":ZXabcY."}, {"\033[99;9~!", ":ZXabcY.!"}, {"\033OH1\033OF2", ":1ZXabcY.!2"},
    };
    struct tty *t = start(argv, 80, 24);
    for (int i = 0; i < COUNT_OF(row); i++) {
        ssize_t n = (ssize_t)strlen(row[i].bytes);
        assert_int_equal(write(t->master, row[i].bytes, (size_t)n), n);
        tty_wait_shows(t, row[i].shows, 5);
    }
    tty_press(t, "Esc");
    quit(t);
}

static void test_cancels(void **state)
{
    (void)state;
    static const char *const argv[] = {"--no-auto", "gmm m=2048 k=2048 n=2048", NULL};
    struct tty *t = start(argv, 80, 24);
    tty_send(t, "m");
    tty_press(t, "Esc");
    tty_assert_shows(t, "measuring cancelled");
    tty_assert_shows(t, "0 as given                                               -");
    tty_send(t, "m");
    tty_send(t, "q");
    assert_int_equal(tty_end(t), 0);
}

/* What is at work gives way to what is wanted now: the first of these takes minutes. */
static void test_wants_something_else(void **state)
{
    (void)state;
    static const char *const argv[] = {"--no-auto", "gmm m=4096 k=4096 n=4096", NULL};
    struct tty *t = start(argv, 80, 24);
    tty_send(t, "m");
    tty_wait_shows(t, "| measuring", 10);
    tty_wait_shows(t, "/ measuring", 10);                 /* it turns */
    static const char keys[] = ":new gmm m=8 k=8 n=8\rm";
    assert_int_equal(write(t->master, keys, sizeof keys - 1), sizeof keys - 1);
    tty_wait_shows(t, "✓", 8);
    quit(t);
}

/* A session whose opening keeps the thread of the screen busy for many seconds. */
static void write_slow_session(const char *path)
{
    struct str text = {0};
    struct err e;
    str_add(&text, "tilescope: 1\noperator: |\n  x0 = input n=1 i=8\n");
    for (int i = 1; i < 3000; i++)
        str_printf(&text, "  x%d = relu(x%d)\n", i, i - 1);
    str_add(&text, "steps:\n");
    for (int i = 0; i < 1900; i++)
        str_printf(&text, "  - set propagate %s\n", i % 2 ? "on" : "off");
    assert_true(file_write_atomic(path, text.data, text.len, &e));
    str_free(&text);
}

/* A signal, and Ctrl-C twice, end the program within a second while it works on a key. */
static void test_signals_while_busy(void **state)
{
    (void)state;
    static const int sig[] = {SIGTERM, SIGHUP, SIGINT, 0};          /* 0: two Ctrl-C */
    char path[300], keys[400];
    snprintf(path, sizeof path, "%s/slow.yaml", getenv("XDG_STATE_HOME"));
    write_slow_session(path);
    snprintf(keys, sizeof keys, ": e Space %s Enter", path);
    for (int i = 0; i < 4; i++) {
        struct tty *t = start(on_gmm, 80, 24);
        tty_send(t, keys);
        usleep(700000);
        double began = clock_s();
        for (int k = 0; !sig[i] && k < 2; k++) {
            assert_int_equal(write(t->master, "\003", 1), 1);
            usleep(100000);
        }
        if (sig[i])
            tty_kill(t, sig[i]);
        int status = tty_wait_end(t);
        double took = clock_s() - began;
        if (status != 128 + (sig[i] ? sig[i] : SIGINT) || took > 1.5)
            fail_msg("signal %d: status %d after %g s", sig[i], status, took);
        assert_true(tty_is_cooked(t));
        tty_free(t);
    }
}

/* A terminal that cannot move its cursor: our message, exit code 3. */
static void test_no_terminal(void **state)
{
    (void)state;
    static const char *const bad[] = {"no-such-terminal", "dumb", ""};
    for (int i = 0; i < 3; i++) {
        struct tty *t = tty_start(&(struct tty_opts){
            .w = 80, .h = 24, .argv = on_gmm, .term = bad[i],
        });
        tty_assert_shows(t, "cannot show a screen");
        assert_int_equal(tty_end(t), 3);
    }
}

/* However it ends, the shell gets its terminal back. */
static void test_crashes(void **state)
{
    (void)state;
    static const int sig[] = {SIGSEGV, SIGABRT, SIGFPE, SIGBUS};
    static const char *const undone[] = {"\033[?1000l", "\033[?2004l", "\033[?1049l", "\033[?25h"};
    for (int i = 0; i < 4; i++) {
        struct tty *t = start(on_gmm, 80, 24);
        assert_false(tty_is_cooked(t));
        tty_kill(t, sig[i]);
        int status = tty_wait_end(t);
        bool known = status == -sig[i] || status == 70 || status == 99;      /* 99: the sanitizer */
        if (!known)
            fail_msg("signal %d: status %d", sig[i], status);
        for (int k = 0; k < 4; k++)
            if (!strstr(str_text(&t->bytes), undone[k]))
                fail_msg("signal %d: ESC%s is missing", sig[i], undone[k] + 1);
        assert_true(tty_is_cooked(t));
        tty_free(t);
    }
}

/* vt100 has one screen only: the shell's prompt must not land in the key bar. */
static void test_leaves_an_empty_line(void **state)
{
    (void)state;
    struct tty *t = tty_start(&(struct tty_opts){
        .w = 80, .h = 24, .argv = on_gmm, .term = "vt100",
    });
    tty_assert_shows(t, "q quit");
    tty_send(t, "q");
    assert_int_equal(tty_wait_end(t), 0);
    if (strstr(tty_screen(t), "q quit"))
        fail_msg("the key bar is still there:\n%s", tty_screen(t));
    VTermPos at;
    vterm_state_get_cursorpos(vterm_obtain_state(t->vt), &at);
    assert_int_equal(at.row, 23);
    assert_int_equal(at.col, 0);
    tty_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_simple_terminals),
        cmocka_unit_test(test_a_session),
        cmocka_unit_test(test_prompt),
        cmocka_unit_test(test_alt_at_the_prompt),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_start_screen),
        cmocka_unit_test(test_resizing),
        cmocka_unit_test(test_resizing_while_stopped),
        cmocka_unit_test(test_colours), cmocka_unit_test(test_recovery),
        cmocka_unit_test(test_asks_before_leaving),
        cmocka_unit_test(test_mouse),
        cmocka_unit_test(test_measures),
        cmocka_unit_test(test_foreign_keys),
        cmocka_unit_test(test_cancels),
        cmocka_unit_test(test_wants_something_else),
        cmocka_unit_test(test_signals_while_busy),
        cmocka_unit_test(test_no_terminal),
        cmocka_unit_test(test_crashes),
        cmocka_unit_test(test_leaves_an_empty_line),
    };
    return cmocka_run_group_tests(tests, in_private_folders, NULL);
}
