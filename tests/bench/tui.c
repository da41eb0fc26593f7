/* How fast the screen answers: a thousand keys through a pseudo-terminal, from the key to the end
 * of the redraw that shows it.
 *
 *     make bench-tui [MODELS=bert.onnx] [KEYS=1000]
 *
 * Each case is timed idle and while a search runs in the program.  Wall time is what a user waits.
 * Without the time in which the screen's thread, or this program, could run but had no core, it is
 * that of a machine with nothing else to do.  Exit code 1 if the 99th percentile of the latter is
 * over 16 ms. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vterm.h>

#include "app/ui/key.h"
#include "kernels/base/arena.h"
#include "kernels/base/subprocess.h"
#include "tests/unit/model_help.h"
#include "tests/unit/tty.h"

#define GOAL_MS 16
#define LOST_S 60.0                       /* without an answer to a key */
#define PAUSE_S 0.004                     /* between keys: a fast typist needs 50 ms */

/* Words are names of keys, or typed letter by letter. */
static const char operator_keys[] =
    "Down Down Right S 8 Enter u S-Down S-Up v u Down p u ? Down Down Esc 2 Down PgDn 3 Down Up 4 "
    "Down Down PgDn / for Enter n N 5 PgDn PgDn Home 6 Down PgDn 7 Down 8 Down 9 Down Down = 1 Tab "
    "Down Up k j Tab B Down Esc ) ( + + 05j G g : loop Space split Space C Space M Space 4 Esc : "
    "lay Tab Esc Enter Down Esc : layout Space set Space C Space \"M/8 Space N Space 8m\" Enter "
    "Tab d Esc Space Tab = ] [ u u C-r C-r u u 1 ";
/* Esc would end a search of the network, and so does opening a kernel. */
static const char network_keys[] =
    "Down Down Down PgDn PgDn G g 05j Up ? Down Down PgDn Esc ? mul Esc / softmax Enter n N + Down "
    "Down + PgDn : module Space cut Tab Esc : wider Esc End Home : e Space /tmp Tab Esc ";
static const char kernel_keys[] =
    "Down Enter Down Down 4 Down 5 PgDn 6 Down 7 Down 8 9 1 Tab Down Tab p u q Down Enter "
    "2 3 = 1 q Up Up Enter S-Down p u u q ";

/* own_ms: the wall time without waiting for a core; cpu_ms: of the screen's thread. */
struct answer { double wall_ms, own_ms, cpu_ms; char key[24]; };

struct answers { VEC(struct answer) v; };

/* How long the first thread of a process has been on a core, and has waited for one. */
struct core_time { double on_ms, wait_ms; };

static struct core_time core_time(pid_t pid)
{
    char path[80];
    unsigned long long on = 0, wait = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, (int)pid);
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%llu %llu", &on, &wait) != 2)
        on = wait = 0;
    if (f)
        fclose(f);
    return (struct core_time){ (double)on * 1e-6, (double)wait * 1e-6 };
}

static _Noreturn void lost(struct tty *t, const char *why)
{
    printf("%s\n%s\n", why, tty_screen(t));
    kill(t->pid, SIGKILL);
    exit(1);
}

/* Shows what the program writes until a byte arrives on fd; or for that time, and returns false. */
static bool follow(struct tty *t, int fd, double limit_s)
{
    double end = clock_s() + limit_s;
    for (;;) {
        struct pollfd p[3] = { { .fd = fd, .events = POLLIN },
                               { .fd = t->master, .events = POLLIN },
                               { .fd = t->idle_fd, .events = POLLIN } };
        char bytes[65536];
        int left_ms = (int)((end - clock_s()) * 1000);
        if (poll(p, 3, left_ms > 0 ? left_ms : 0) <= 0)
            return false;
        if (p[2].revents & POLLIN && read(t->idle_fd, bytes, sizeof bytes) < 0)
            lost(t, "no pipe");
        if (p[0].revents & POLLIN)
            return read(fd, bytes, 1) == 1;
        ssize_t n = p[1].revents ? read(t->master, bytes, sizeof bytes) : 0;
        if (p[1].revents && n <= 0)
            lost(t, "the program has ended");
        vterm_input_write(t->vt, bytes, (size_t)n);
    }
}

static void press_key(struct tty *t, int drawn, const char *key, const char *word,
                      struct answers *out)
{
    struct answer a = { 0 };
    struct core_time before = core_time(t->pid), us = core_time(getpid());
    double start = clock_s();
    tty_send(t, key);
    if (!follow(t, drawn, LOST_S))
        lost(t, "no answer to a key");
    a.wall_ms = (clock_s() - start) * 1e3;
    struct core_time after = core_time(t->pid);
    a.cpu_ms = after.on_ms - before.on_ms;
    a.own_ms = a.wall_ms - (after.wait_ms - before.wait_ms)
             - (core_time(getpid()).wait_ms - us.wait_ms);
    if (streq(key, word))
        snprintf(a.key, sizeof a.key, "%s", key);
    else
        snprintf(a.key, sizeof a.key, "%s of %s", key, word);
    vec_push(&out->v, a);
    follow(t, drawn, PAUSE_S);
}

/* Is it a name of a key?  Other words are typed. */
static bool is_name(const char *word)
{
    return key_parse(word) != K_NONE;
}

/* Presses all the keys again and again, at least n of them. */
static void press_all(struct tty *t, int drawn, const char *keys, int n, struct answers *out)
{
    const char *at = keys;
    while (out->v.len < n || *at) {
        char word[32], key[2] = "";
        int used;
        at = *at ? at : keys;
        if (sscanf(at, "%31s %n", word, &used) != 1)
            return;
        at += used;
        if (is_name(word))
            press_key(t, drawn, word, word, out);
        for (const char *c = is_name(word) ? "" : word; *c; c++) {
            key[0] = *c;
            press_key(t, drawn, key, word, out);
        }
    }
}

static int by_wall(const void *x, const void *y)
{
    double a = ((const struct answer *)x)->wall_ms, b = ((const struct answer *)y)->wall_ms;
    return (a > b) - (a < b);
}

static int by_own(const void *x, const void *y)
{
    double a = ((const struct answer *)x)->own_ms, b = ((const struct answer *)y)->own_ms;
    return (a > b) - (a < b);
}

static int by_cpu(const void *x, const void *y)
{
    double a = ((const struct answer *)x)->cpu_ms, b = ((const struct answer *)y)->cpu_ms;
    return (a > b) - (a < b);
}

/* Prints a row of the table; false when the goal is missed. */
static bool print_row(const char *name, struct answers *a)
{
    struct answer *v = a->v.data;
    int n = a->v.len, last = n - 1, high = (n * 99 + 99) / 100 - 1;
    qsort(v, (size_t)n, sizeof *v, by_wall);
    printf("%-25s %7.2f %7.2f %7.2f  %-14s", name, v[n / 2].wall_ms, v[high].wall_ms,
           v[last].wall_ms, v[last].key);
    qsort(v, (size_t)n, sizeof *v, by_own);
    double own_ms = v[high].own_ms;
    printf(" %7.2f %7.2f %7.2f  %-14s", v[n / 2].own_ms, own_ms, v[last].own_ms, v[last].key);
    qsort(v, (size_t)n, sizeof *v, by_cpu);
    printf(" %7.2f\n", v[high].cpu_ms);
    return own_ms < GOAL_MS;
}

static bool timed(struct tty *t, int drawn, const char *name, const char *keys, int n)
{
    struct answers a = { 0 };
    press_all(t, drawn, keys, n, &a);
    bool ok = print_row(name, &a);
    vec_free(&a.v);
    return ok;
}

/* A screen to measure: keys on it, keys that would end its search ("": none), the line that
 * starts it, and the text that the screen then shows. */
struct contender { const char *what, *name, *keys, *more_keys, *tune, *says; };

static void start_tuner(struct tty *t, int drawn, const struct contender *c)
{
    if (write(t->master, c->tune, strlen(c->tune)) < 0)
        lost(t, "the terminal takes no bytes");
    for (int i = 0; !strstr(tty_screen(t), c->says); i++) {
        follow(t, drawn, 0.1);
        while (follow(t, drawn, 0))
            continue;
        if (i == 600)
            lost(t, "it does not tune");
    }
}

/* Times one, idle and while it is tuned. */
static bool run(const struct contender *c, int n)
{
    int drawn[2];
    char text[80];
    const char *argv[] = { "--no-auto", c->what, NULL };
    if (pipe(drawn) != 0)
        return false;
    snprintf(text, sizeof text, "%d", drawn[1]);
    setenv("TILESCOPE_DRAWN_FD", text, 1);
    struct tty *t = tty_start(&(struct tty_opts){ .w = 120, .h = 40, .argv = argv,
                                                  .limit_s = 600 });
    close(drawn[1]);
    snprintf(text, sizeof text, "%s, idle", c->name);
    bool ok = timed(t, drawn[0], text, c->keys, n);
    snprintf(text, sizeof text, "%s, kernels", c->name);
    if (c->more_keys[0])
        ok = timed(t, drawn[0], text, c->more_keys, n) && ok;
    start_tuner(t, drawn[0], c);
    snprintf(text, sizeof text, "%s, tuning", c->name);
    ok = timed(t, drawn[0], text, c->keys, n) && ok;
    if (!strstr(tty_screen(t), c->says))
        lost(t, "the search has ended before the keys did");
    kill(t->pid, SIGTERM);
    waitpid(t->pid, NULL, 0);
    close(drawn[0]);
    tty_free(t);
    return ok;
}

/* The name of a file that exists, shortened for the table. */
static bool run_model(const char *path, int n)
{
    char name[24];
    snprintf(name, sizeof name, "%.16s", basename(path));
    return run(&(struct contender){ path, name, network_keys, kernel_keys,
                                    ":tune_all 100000\r", "tuning" }, n);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1000;
    char **model = xcalloc((size_t)argc, sizeof *model);
    for (int i = 2; i < argc; i++)
        model[i] = realpath(argv[i], NULL);
    private_folders();
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("%d keys each at 120x40; milliseconds from a key to the end of its redraw\n\n", n);
    printf("%-25s %-40s %-40s %s\n", "", "wall time", "without waiting for a core", "on a core");
    printf("%-25s %7s %7s %7s  %-14s %7s %7s %7s  %-14s %7s\n", "", "median", "99 %", "worst",
           "key", "median", "99 %", "worst", "key", "99 %");
    bool ok = n > 0 && run(&(struct contender){ "gmm m=256 n=256 k=256", "product", operator_keys,
                                                "", ":tune 100000\r", "- tuning" }, n);
    for (int i = 2; i < argc; i++) {
        if (model[i])
            ok = run_model(model[i], n) && ok;
        else
            printf("%s is not there: its screen was not timed\n", argv[i]);
        free(model[i]);
    }
    free(model);
    return ok ? 0 : 1;
}
