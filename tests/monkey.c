/* `make monkey`: random keys, commands, sizes, pastes and clicks on the screen of the real program.
 *
 *     monkey [KEYS [SEED]]
 *
 * The program may end when a key ends it; it may not crash, hang or be found faulty by a sanitizer
 * (CONFIG=asan, CONFIG=tsan).  Killed at random, it may not lose the step it shows.  Prints the
 * seed first, and what was pressed before a failure; exit code 1.  Everything happens in folders of
 * its own below $TMPDIR. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vterm.h>

#include "app/ui/key.h"
#include "kernels/base/arena.h"
#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "kernels/base/str.h"
#include "kernels/base/subprocess.h"
#include "tests/unit/tty.h"

#define KEYS_A_SESSION 250
#define HUNG_S 60.0                       /* without an answer to a key (sanitizers are slow) */
#define KEPT_BYTES 65536                  /* of what the program wrote last */
#define KEY_WAIT_S 0.15                   /* for idle; a job may run on while keys are pressed */

static const char *const operator_text[] = {
    "gmm m=64 k=32 n=48", "c2d n=1 i=8 h=14 w=14 o=32 k=3 p=1 bias=1 relu=1",
    "dep n=1 c=16 h=9 w=9 k=3 p=1", "t2d n=1 i=4 h=5 w=5 o=8 k=4 s=2 p=1",
    "x = input n=6 m=40; y = softmax(x) axis=1; z = mul(y, x)",
    "x = input n=1 i=8 h=8 w=8; a = c2d(x) o=8 k=3 p=1 relu=1; b = c2d(a) o=8 k=1; y = add(b, x)",
};

/* Typed behind a colon; %d is a small number. */
static const char *const command_text[] = {
    "loop split C M %d", "loop split Conv O %d", "loop split Conv W %d", "loop reorder C K M N",
    "loop vectorize C N", "loop vectorize Conv O", "loop unroll C K", "loop parallel C M",
    "loop cache_write C at=M", "loop cache_write Conv at=H", "loop fuse C M N", "loop serial C N",
    "loop rfactor C K %d", "layout set C \"M/%d N %dm\"", "layout set Conv \"N O/%d H W %do\"",
    "layout split Inp I %d", "layout unfold Inp H tile=%d stride=2", "layout pad C M after=%d",
    "layout store_at Bias Ker O", "layout reset C", "undo %d", "redo", "branch b%d", "switch b%d",
    "switch main", "delete b%d", "goto %d", "measure", "tune budget=%d", "tune stop", "tune pause",
    "threads %d", "auto on", "auto off",
    "measure_all", "baselines", "new gmm m=%d n=%d k=8", "start", "expert", "expert %d",
    "w monkey%d.yaml", "e monkey%d.yaml", "export monkey%d.c", "help layouts", "help", "title b%d",
    "view C", "view asm", "view profile", "view roofline", "view tune", "zoom", "view access",
    "view layout", "view graph", "view lens", "lens next", "lens next %d", "lens conflict",
    "lens loop", "lens forward", "lens from %d", "lens", "lens apply",
    "loop_of", "access_of", "misses_of",
    "blame", "tune_all %d", "network off", "module cut a", "module join a b", "wq monkey%d.yaml",
    "branches", "copy", "redraw", "dump monkey%d.txt",
    "edit %d loop split C M 8", "edit %d layout reset C", "drop %d", "move %d up", "move %d down",
    "insert %d loop split C N %d", "pick main %d", "mark %d", "mark main", "mark off", "compare",
    "compare asm", "compare ablation", "bisect", "ablate", "tour", "tour do", "wider %d", "hot",
    "cache 32k:8:64", "cache default", "compiler clang", "compiler default", "isa avx2",
    "isa default", "sim_budget %d", "measure_fresh", "dump monkey%d.svg", "network",
    "columns median gflops", "columns auto", "columns ok mean", "source lines", "source no-lines",
    "", "nonsense %d", "loop", "layout set", "\"", "loop split C M \xc3\xa9 \xf0\x9f\x90\x92",
};

static const char *const special_key[] = {
    "Up", "Down", "Left", "Right", "PgUp", "PgDn", "Home", "End", "Del", "Enter", "Tab", "S-Tab",
    "Esc", "Backspace", "S-Up", "S-Down", "F1",
};

/* Read by the program as the settings of the user, and by `source lines`. */
static const char settings_text[] =
    "theme: dark\ncolumns: [best, median, change, ok]\nkeys:\n  F1: source lines\n"
    "  Z: loop split %T %D 4\n  Y: \"loop reorder %T %A \"\n  nest: {z: as j, x: edit %S %I}\n";
static const char lines_text[] =
    "# a macro\nloop split C M 8\n\nview C\nlayout set C \"N M\"\nundo\nloop nothing\nredo\n";

struct monkey {
    struct rng r;
    struct tty *t;
    long pressed, most, sessions, killed;
    struct str recent;                    /* what this session was given */
};

static int draw(struct monkey *m, int n)
{
    return (int)rng_range(&m->r, 0, n - 1);
}

static _Noreturn void report(struct monkey *m, const char *what)
{
    size_t from = m->recent.len > 1500 ? m->recent.len - 1500 : 0;
    const char *said = m->t ? str_text(&m->t->bytes) : "";
    const char *fault = strstr(said, "runtime error:");
    fault = fault ? fault : strstr(said, "Sanitizer");
    printf("key %ld, session %ld: %s\nbefore it: %s\n%s\n%s\n", m->pressed, m->sessions, what,
           str_text(&m->recent) + from, m->t ? tty_screen(m->t) : "",
           fault ? fault - (fault - said > 80 ? 80 : fault - said) : "");
    exit(1);
}

/* Waits for what the program does with its input; false at its end. */
static bool settle(struct monkey *m, double limit)
{
    double end = clock_s() + limit;
    for (;;) {
        struct pollfd p[2] = { { .fd = m->t->master, .events = POLLIN },
                               { .fd = m->t->idle_fd, .events = POLLIN } };
        char bytes[4096], dot;
        int left_ms = (int)((end - clock_s()) * 1000);
        if (left_ms <= 0 || poll(p, 2, left_ms) <= 0)
            return true;
        if (p[0].revents) {
            ssize_t n = read(m->t->master, bytes, sizeof bytes);
            if (n <= 0)
                return false;
            vterm_input_write(m->t->vt, bytes, (size_t)n);
            if (m->t->bytes.len > KEPT_BYTES)
                str_clear(&m->t->bytes);
            str_add_n(&m->t->bytes, bytes, (size_t)n);
        } else if (p[1].revents & POLLIN) {
            if (read(m->t->idle_fd, &dot, 1) == 1)
                return true;
        } else {
            return false;
        }
    }
}

/* The end of the program: that of a key, or a failure. */
static void take_end(struct monkey *m)
{
    int status = 0;
    double limit = clock_s() + HUNG_S;
    while (waitpid(m->t->pid, &status, WNOHANG) == 0) {
        settle(m, 0.02);
        if (clock_s() > limit)
            report(m, "the program closed its terminal and does not end");
    }
    if (WIFSIGNALED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 130))
        report(m, WIFSIGNALED(status) ? "a signal ended it" : "it ended with a failure");
    tty_free(m->t);
    m->t = NULL;
}

static void send(struct monkey *m, const char *keys)
{
    m->pressed++;
    str_printf(&m->recent, "%s ", keys);
    tty_send(m->t, keys);
    if (!settle(m, KEY_WAIT_S))
        take_end(m);
}

static void type_command(struct monkey *m)
{
    char text[120], shown[140];
    const char *form = command_text[draw(m, COUNT_OF(command_text))];
    int a = 1 << draw(m, 6), b = draw(m, 4) ? a : draw(m, 40);
    /* Each form has at most two numbers. */
    const char *first = strstr(form, "%d"), *second = first ? strstr(first + 2, "%d") : NULL;
    if (second)
        snprintf(text, sizeof text, "%.*s%d%.*s%d%s", (int)(first - form), form, a,
                 (int)(second - first - 2), first + 2, b, second + 2);
    else if (first)
        snprintf(text, sizeof text, "%.*s%d%s", (int)(first - form), form, b, first + 2);
    else
        snprintf(text, sizeof text, "%s", form);
    snprintf(shown, sizeof shown, ":%s%s", text, draw(m, 5) ? "\r" : draw(m, 2) ? "\t" : "");
    str_printf(&m->recent, "[%s] ", shown);
    m->pressed += (long)strlen(shown);
    if (write(m->t->master, shown, strlen(shown)) < 0 && errno != EIO)
        report(m, "the terminal takes no bytes");
    if (!settle(m, KEY_WAIT_S))
        take_end(m);
}

/* Bytes that are no keys. */
static void type_rubbish(struct monkey *m)
{
    char bytes[24];
    int n = 1 + draw(m, COUNT_OF(bytes) - 1);
    for (int i = 0; i < n; i++) {
        bytes[i] = (char)(1 + draw(m, 255));
        if (bytes[i] == 3 || bytes[i] == 26 || bytes[i] == 28)     /* signals of the terminal */
            bytes[i] = 27;
        str_printf(&m->recent, "<%02x>", (unsigned char)bytes[i]);
    }
    m->pressed += n;
    if (write(m->t->master, bytes, (size_t)n) < 0 && errno != EIO)
        report(m, "the terminal takes no bytes");
    if (!settle(m, KEY_WAIT_S))
        take_end(m);
}

static void type_bytes(struct monkey *m, const char *bytes, const char *what)
{
    str_add(&m->recent, what);
    m->pressed++;
    if (write(m->t->master, bytes, strlen(bytes)) < 0 && errno != EIO)
        report(m, "the terminal takes no bytes");
    if (!settle(m, KEY_WAIT_S))
        take_end(m);
}

/* A press, its release, or a turn of the wheel. */
static void click(struct monkey *m)
{
    static const int button[] = { 0, 0, 0, 64, 65, 1, 2, 35 };
    char bytes[40];
    snprintf(bytes, sizeof bytes, "\033[<%d;%d;%d%c", button[draw(m, COUNT_OF(button))],
             1 + draw(m, m->t->w + 2), 1 + draw(m, m->t->h + 2), draw(m, 4) ? 'M' : 'm');
    type_bytes(m, bytes, "(mouse) ");
}

/* One to four commands between the marks of a paste; sometimes the last mark is missing. */
static void paste(struct monkey *m)
{
    struct str text = {0};
    str_add(&text, "\033[200~");
    for (int n = 1 + draw(m, 4); n > 0; n--)
        str_printf(&text, "%s%s", command_text[draw(m, COUNT_OF(command_text))],
                   n > 1 || draw(m, 2) ? "\n" : "");
    str_add(&text, draw(m, 10) ? "\033[201~" : "");
    type_bytes(m, str_text(&text), "(paste) ");
    str_free(&text);
}

static void act(struct monkey *m)
{
    char key[8];
    int kind = draw(m, 100);
    if (kind < 45) {
        snprintf(key, sizeof key, "%c", 33 + draw(m, 94));
        if (key[0] != 'q' || draw(m, 20) == 0)
            send(m, key);
    } else if (kind < 49) {
        click(m);
    } else if (kind < 51) {
        paste(m);
    } else if (kind < 75) {
        send(m, special_key[draw(m, COUNT_OF(special_key))]);
    } else if (kind < 92) {
        if (draw(m, 3))
            send(m, "Esc");
        if (m->t)
            type_command(m);
    } else if (kind < 96) {
        tty_set_size(m->t, 1 + draw(m, 160), 1 + draw(m, 50));
        str_add(&m->recent, "(size) ");
        if (!settle(m, KEY_WAIT_S))
            take_end(m);
    } else if (kind < 98) {
        type_rubbish(m);
    } else if (draw(m, 8) == 0) {
        send(m, "C-c");
    } else {
        send(m, "Space");
    }
}

/* Is it alive?  It must still answer and leave. */
static void leave(struct monkey *m)
{
    double limit = clock_s() + HUNG_S;
    tty_set_size(m->t, 80, 24);
    tty_send(m->t, "Esc");
    settle(m, 1);
    while (m->t) {
        static const char quit[] = "\033\r\033:q!\r";
        if (write(m->t->master, quit, sizeof quit - 1) < 0 || !settle(m, 1)) {
            take_end(m);
            return;
        }
        if (clock_s() > limit)
            report(m, "it does not quit");
    }
}

/* Whether a time such as "62.6 µs" or "*62.6 µs" begins here: in a narrow pane one blank is before
 * it. */
static bool is_time(const char *s)
{
    int n = 0;
    s += *s == '*';
    sscanf(s, "%*f%n", &n);
    return n > 0 && (str_starts(s + n, " \u00b5s") || str_starts(s + n, " ms")
                     || str_starts(s + n, " ns") || str_starts(s + n, " s"));
}

/* The text of the current step on the screen, without what is cut of it; "" if there is none. */
static void shown_step(struct monkey *m, struct str *out)
{
    const char *row = strstr(tty_screen(m->t), "\u25cf");        /* marks the current one */
    int number, used = 0;
    if (!row || sscanf(row + strlen("\u25cf"), "%d %n", &number, &used) != 1 || number == 0)
        return;
    row += strlen("\u25cf") + (size_t)used;
    row += *row == '=';                                  /* it is the marked one as well */
    const char *end = row;
    while (*end && *end != '\n' && strncmp(end, "  ", 2) != 0 && !str_starts(end, "\u2026")
           && !(*end == ' ' && is_time(end + 1)))
        end++;
    str_add_n(out, row, (size_t)(end - row));
}

/* Whether an unsaved session of that process has a step. */
static bool is_kept(pid_t pid, const char *step)
{
    struct arena *a = arena_new();
    struct str dir = {0}, head = {0};
    struct err e;
    int n = 0;
    bool found = false;
    str_printf(&head, "# autosave of process %ld ", (long)pid);
    bool known = dir_state(&dir, &e);
    str_add(&dir, "/autosave");
    const char **name = dir_list(a, str_text(&dir), ".yaml", &n);
    for (int i = 0; known && i < n && !found; i++) {
        struct str text = {0};
        const char *path = arena_printf(a, "%s/%s.yaml", str_text(&dir), name[i]);
        found = file_read_regular(path, 1 << 24, &text, &e)
             && str_starts(str_text(&text), str_text(&head)) && strstr(str_text(&text), step);
        str_free(&text);
    }
    str_free(&dir);
    str_free(&head);
    arena_free(a);
    return found;
}

/* Kills the program; what was not saved must be in an autosave. */
static void kill_it(struct monkey *m)
{
    struct str step = {0};
    pid_t pid = m->t->pid;
    tty_set_size(m->t, 200, 60);
    for (int i = 0; i < 4 && m->t; i++) {
        tty_send(m->t, "Esc");
        if (!settle(m, 1))
            take_end(m);
    }
    if (m->t && strstr(tty_screen(m->t), "Steps")
        && (strstr(tty_screen(m->t), "(changed)") || strstr(tty_screen(m->t), "(not saved)")))
        shown_step(m, &step);
    if (m->t && step.len > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        m->killed++;
        if (!is_kept(pid, str_text(&step)))
            report(m, "killed, it has lost a step");
        tty_free(m->t);
        m->t = NULL;
    }
    str_free(&step);
}

static void session(struct monkey *m)
{
    const char *argv[] = { "--no-auto", operator_text[draw(m, COUNT_OF(operator_text))], NULL };
    long end = m->pressed + KEYS_A_SESSION;
    m->sessions++;
    str_clear(&m->recent);
    str_printf(&m->recent, "tilescope %s '%s': ", argv[0], argv[1]);
    m->t = tty_start(&(struct tty_opts){ .w = 20 + draw(m, 120), .h = 6 + draw(m, 40),
                                         .argv = argv, .limit_s = (int)HUNG_S });
    while (m->t && m->pressed < end && m->pressed < m->most)
        act(m);
    if (m->t && draw(m, 4) == 0)
        kill_it(m);
    if (m->t)
        leave(m);
}

static void write_file(const char *path, const char *text)
{
    struct err e;
    if (!file_write_atomic(path, text, strlen(text), &e)) {
        printf("%s\n", e.text);
        exit(1);
    }
}

/* Nothing of the user's is read or written. */
static void enter_private_folder(void)
{
    static const char *const variable[] = { "HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME",
                                            "XDG_CONFIG_HOME", "XDG_DATA_HOME" };
    static char dir[200];
    const char *base = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/tilescope-monkey-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(dir) || chdir(dir) != 0) {
        perror(dir);
        exit(1);
    }
    for (int i = 0; i < COUNT_OF(variable); i++)
        setenv(variable[i], dir, 1);
    printf("in %s\n", dir);
    if (mkdir("tilescope", 0777) != 0)
        exit(1);
    write_file("tilescope/settings.yaml", settings_text);
    write_file("lines", lines_text);
}

int main(int argc, char **argv)
{
    struct monkey m = { .most = argc > 1 ? atol(argv[1]) : 2000 };
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    double start = clock_s(), said = start;
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("seed %llu\n", (unsigned long long)seed);
    m.r = rng_seed(seed);
    enter_private_folder();
    while (m.pressed < m.most) {
        session(&m);
        if (clock_s() - said > 30) {
            said = clock_s();
            printf("%ld keys, %ld sessions, %.0f s\n", m.pressed, m.sessions, said - start);
        }
    }
    printf("%ld keys in %ld sessions (%ld killed), %.0f s: clean\n", m.pressed, m.sessions,
           m.killed, clock_s() - start);
    str_free(&m.recent);
    return 0;
}
